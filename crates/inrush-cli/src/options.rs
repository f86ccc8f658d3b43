//! Flags become the engine's configuration. What one flag alone cannot tell is checked here.

use std::io::IsTerminal;
use std::sync::Arc;

use anyhow::{Context, Result};
use inrush::config::{DeadLetters, IndexCreation, LoadConfig, Replies};
use inrush::source::{Charset, ColumnType, CsvOptions, Format, FormatOptions, Header};
use inrush::transport::aws::AwsOptions;
use inrush::transport::sigv4::{Service, Signer};
use inrush::transport::{Credentials, Secret, TlsOptions};

use crate::args::{self, AuthArgs, AwsService, LoadArgs, ReplyDetail, SourceArgs};
use crate::failure::UsageError;
use crate::job::Job;
use crate::json_file;

/// What stands for the local node in `--to`.
pub(crate) const LOCAL: &str = "local";

/// The engine's configuration, without an address where the local node is meant.
pub(crate) fn config(job: &Job) -> Result<LoadConfig> {
    let LoadArgs { index: to, auth, sizes, errors, .. } = &job.args;
    let index = match &to.index {
        Some(index) => index.clone(),
        None if job.args.source.from_dead_letters.is_some() => {
            // Every letter that was sent names its index where the job's was not fixed; a default is needed all the same.
            return Err(UsageError::new("no index given").hint("name it with --index, as in the first load").into());
        }
        None => return Err(UsageError::new("no index given").hint("name it with --index NAME").into()),
    };
    let urls: Vec<String> = to.to.iter().filter(|url| *url != LOCAL).cloned().collect();
    if to.to.iter().any(|url| url == LOCAL) && !urls.is_empty() {
        return Err(UsageError::new("--to names the local node and others; a load goes to one cluster").into());
    }
    let mut config = LoadConfig::new(urls, index);
    config.credentials = credentials(auth, config.to.first().map_or("", String::as_str))?;
    config.tls = tls(auth)?;
    config.action = to.action.unwrap_or_default();
    config.id = to.id.clone();
    config.routing = to.routing.clone();
    config.version = to.version_field.clone();
    config.pipeline = to.pipeline.clone();
    config.drop = to.drop.clone();
    config.create = IndexCreation {
        mapping: to.mapping.as_deref().map(|path| json_file::read(path, "mappings")).transpose()?,
        settings: to.settings.as_deref().map(|path| json_file::read(path, "settings")).transpose()?,
        shards: to.shards,
        replicas: to.replicas,
        recreate: to.recreate && confirm_recreate(&config, to.yes)?,
        patterns: job.patterns.clone(),
    };
    if let Some(on_conflict) = errors.on_conflict {
        config.on_conflict = on_conflict;
    }
    if let Some(max_errors) = errors.max_errors {
        config.max_errors = max_errors;
    }
    config.verify = !errors.no_verify;
    config.dead_letters = match (&errors.dead_letters, &job.args.source.job) {
        (Some(path), _) => DeadLetters::File(path.clone()),
        (None, Some(job)) => DeadLetters::Folder(job.parent().unwrap_or_else(|| "".as_ref()).to_owned()),
        (None, None) => DeadLetters::DefaultFile,
    };
    config.replies = match sizes.replies {
        Some(ReplyDetail::Summary) => Replies::Summary,
        Some(ReplyDetail::Items) | None => Replies::Items,
    };
    let limits = &mut config.limits;
    let set = |target: &mut usize, value: Option<u64>| {
        if let Some(value) = value {
            *target = usize::try_from(value).unwrap_or(usize::MAX);
        }
    };
    set(&mut limits.batch_bytes, sizes.batch_bytes);
    set(&mut limits.memory, sizes.memory);
    set(&mut limits.workers, sizes.workers.map(u64::from));
    set(&mut limits.document_bytes_max, sizes.max_document_bytes);
    limits.batch_docs = sizes.batch_docs;
    limits.in_flight = sizes.in_flight.unwrap_or(limits.in_flight);
    limits.linger = sizes.linger.unwrap_or(limits.linger);
    limits.request_timeout = sizes.request_timeout.unwrap_or(limits.request_timeout);
    limits.retry_for = sizes.retry_for.unwrap_or(limits.retry_for);
    limits.retries = sizes.retries.unwrap_or(limits.retries);
    limits.pause_max = sizes.pause_for.unwrap_or(limits.pause_max);
    config.check().map_err(UsageError::new)?;
    Ok(config)
}

/// How the sources are to be read.
pub(crate) fn format(args: &SourceArgs, document_bytes_max: usize) -> Result<FormatOptions> {
    let columns_given = args.separator.is_some() || args.quote.is_some() || args.no_header || args.all_strings;
    let columns_given = columns_given || !args.columns.is_empty() || !args.schema.is_empty();
    if let Some(format) = args.format
        && columns_given
        && !format.has_columns()
    {
        let message = format!("flags for columns mean nothing with --format {}", format.name());
        return Err(UsageError::new(message).hint("leave them out, or use --format csv").into());
    }
    let charset = match &args.charset {
        Some(name) => Some(name.parse::<Charset>().map_err(UsageError::new)?),
        None => None,
    };
    Ok(FormatOptions {
        format: args.format.map(|format| match format {
            args::Format::Ndjson => Format::Ndjson,
            args::Format::Csv => Format::Csv,
            args::Format::Tsv => Format::Tsv,
            args::Format::Text => Format::Text,
        }),
        charset,
        text_field: args.field.clone().unwrap_or_else(|| "message".to_owned()),
        csv: CsvOptions {
            separator: args.separator,
            quote: match args.quote {
                None => Some(b'"'),
                Some(args::Quote::Character(quote)) => Some(quote),
                Some(args::Quote::None) => None,
            },
            header: match (args.columns.is_empty(), args.no_header) {
                (false, _) => Header::Names(args.columns.clone()),
                (true, true) => Header::Numbered,
                (true, false) => Header::FirstRow,
            },
            schema: args.schema.iter().map(|entry| column_type(entry)).collect::<Result<_, _>>()?,
            all_strings: args.all_strings,
            ..CsvOptions::default()
        },
        document_bytes_max,
    })
}

fn column_type(entry: &str) -> Result<(String, ColumnType), UsageError> {
    // A column's name may have a colon; a type has none.
    let (name, column_type) = entry
        .rsplit_once(':')
        .ok_or_else(|| UsageError::new(format!("--schema {entry:?} has no type; write it like price:float")))?;
    Ok((name.to_owned(), column_type.parse().map_err(UsageError::new)?))
}

fn confirm_recreate(config: &LoadConfig, yes: bool) -> Result<bool> {
    let Some(name) = config.index.fixed() else {
        return Err(UsageError::new("--recreate needs one index, not a name with placeholders").into());
    };
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let message = format!("--recreate deletes {name} with all its documents, and there is nobody to ask");
        return Err(UsageError::new(message).hint("add --yes if that is meant").into());
    }
    eprint_line(&format!("{name} will be deleted with all its documents. Go on? [y/N] "));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(true);
    }
    Err(UsageError::new("not confirmed; nothing was done").into())
}

fn eprint_line(text: &str) {
    use std::io::Write;
    // Nobody is there to read it if this fails.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn tls(auth: &AuthArgs) -> Result<TlsOptions> {
    if auth.cert.is_some() != auth.key.is_some() {
        return Err(UsageError::new("--cert and --key go together; give both").into());
    }
    Ok(TlsOptions {
        ca_file: auth.ca.clone(),
        client_cert_file: auth.cert.clone(),
        client_key_file: auth.key.clone(),
        insecure: auth.insecure,
    })
}

const PASSWORD_ENV: &str = "INRUSH_PASSWORD";
const API_KEY_ENV: &str = "INRUSH_API_KEY";
const BEARER_ENV: &str = "INRUSH_BEARER";

fn credentials(auth: &AuthArgs, first_url: &str) -> Result<Credentials> {
    let key = auth.api_key_file.is_some() || auth.api_key_env.is_some();
    let bearer = auth.bearer_file.is_some() || auth.bearer_env.is_some();
    let ways = [auth.user.is_some(), key, bearer, auth.aws_sigv4.is_some()];
    if ways.iter().filter(|way| **way).count() > 1 {
        return Err(UsageError::new(
            "more than one way to log in is given; choose --user, an API key, a bearer token or --aws-sigv4",
        )
        .into());
    }
    if auth.user.is_none() && (auth.password_file.is_some() || auth.password_env.is_some()) {
        return Err(UsageError::new("a password is given without --user").into());
    }
    if auth.aws_sigv4.is_none() && (auth.aws_region.is_some() || auth.aws_profile.is_some()) {
        return Err(UsageError::new("--aws-region and --aws-profile mean nothing without --aws-sigv4").into());
    }
    if let Some(user) = &auth.user {
        let password = match secret(auth.password_file.as_deref(), auth.password_env.as_deref(), PASSWORD_ENV)? {
            Some(password) => password,
            None if std::io::stdin().is_terminal() => Secret::new(
                rpassword::prompt_password(format!("Password of {user}: ")).context("cannot read the password")?,
            ),
            None => {
                let message = format!("--user {user} has no password");
                let hint = format!("give it with --password-file, or in the environment as {PASSWORD_ENV}");
                return Err(UsageError::new(message).hint(hint).into());
            }
        };
        return Ok(Credentials::basic(user, password)?);
    }
    if let Some(service) = auth.aws_sigv4 {
        let service = match service {
            AwsService::Es => Service::Es,
            AwsService::Aoss => Service::Aoss,
        };
        let options =
            AwsOptions { service: Some(service), region: auth.aws_region.clone(), profile: auth.aws_profile.clone() };
        let host = first_url.split("//").last().unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
        return Ok(Credentials::SigV4(Arc::new(Signer::find(&options, host)?)));
    }
    if bearer || !key && std::env::var_os(BEARER_ENV).is_some() {
        let token = secret(auth.bearer_file.as_deref(), auth.bearer_env.as_deref(), BEARER_ENV)?;
        return Ok(token.map_or(Credentials::None, Credentials::Bearer));
    }
    let key = secret(auth.api_key_file.as_deref(), auth.api_key_env.as_deref(), API_KEY_ENV)?;
    Ok(key.map_or(Credentials::None, Credentials::ApiKey))
}

/// A secret from a file, the variable that was named, or the usual one if it is set.
fn secret(file: Option<&std::path::Path>, variable: Option<&str>, usual: &str) -> Result<Option<Secret>> {
    match (file, variable) {
        (Some(_), Some(_)) => {
            Err(UsageError::new("a secret is given by file and by environment; give one of them").into())
        }
        (Some(file), None) => Ok(Some(Secret::from_file(file)?)),
        (None, Some(variable)) => Ok(Some(Secret::from_env(variable)?)),
        (None, None) if std::env::var_os(usual).is_some() => Ok(Some(Secret::from_env(usual)?)),
        (None, None) => Ok(None),
    }
}

//! Opens what is to be read: files, dead letters, or an index of another cluster.

use std::ffi::OsString;
use std::io::IsTerminal;

use anyhow::Result;
use inrush::carry_over::{self, Carried};
use inrush::cluster::product::detect;
use inrush::cluster::{ClusterError, ClusterInfo, connect};
use inrush::config::LoadConfig;
use inrush::source::index::{IndexAddress, IndexModel, IndexOptions, IndexSource};
use inrush::source::{Format, FormatOptions, Source, SourceError, SourceSpec, Warnings};
use inrush::transport::{HttpErrorKind, HttpOptions};
use inrush::{Action, FieldPath, LoadError};
use serde_json::Value;

use super::load;
use crate::args::{FormatArgs, FromAuthArgs, LoadArgs, SourceArgs};
use crate::auth::{self, Surroundings};
use crate::failure::{Hint, UsageError};
use crate::sql::{self, Tables};
use crate::{database, options};

/// The part of `--memory` that pages of another index may take.
const MEMORY_PART: usize = 4;

/// A source, and what the target is to be made like.
pub(crate) struct Opened {
    pub(crate) source: Box<dyn Source>,
    pub(crate) model: Option<Model>,
}

/// Opens the sources of a load.
pub(crate) async fn open(args: &LoadArgs, config: &mut LoadConfig) -> Result<Opened> {
    let source = &args.source;
    if source.from_dead_letters.is_none() {
        let of_query = source.sql.given().is_some();
        let index = if of_query { None } else { index_address(&source.sources, &source.reading)? };
        if let Some(address) = index {
            return index_of_load(args, address, config).await;
        }
        if let Some(flag) = source.from.given() {
            return Err(not_an_index(flag).into());
        }
    }
    let source = open_rows(source, args.index.id.clone(), config.limits.document_bytes_max).await?;
    Ok(Opened { source, model: None })
}

/// Opens what is no index: files, a database, or the result of a query over files, in which `id` is the field with the ids.
pub(super) async fn open_rows(
    args: &SourceArgs,
    id: Option<FieldPath>,
    document_bytes_max: usize,
) -> Result<Box<dyn Source>> {
    if args.sql.given().is_some() {
        check_files(&args.sources, &args.reading)?;
    }
    if let Some(database) = database::open(args, document_bytes_max)? {
        return Ok(database);
    }
    tell_of_terminal(&args.sources);
    let (input, format) = specs(args, document_bytes_max)?;
    if let Some(query) = sql::query(&args.sql)? {
        return Tables { args: &args.sql, input, format }.source(&query, id).await;
    }
    // A file that is not there is the command line's mistake as long as nothing was done.
    let wrong = |error: SourceError| UsageError::new(error.to_string());
    Ok(Box::new(inrush::source::open(&input, format, &Warnings::default()).map_err(wrong)?))
}

/// Says what is waited for where a person has to type the source.
pub(super) fn tell_of_terminal(sources: &[OsString]) {
    if sources.iter().any(|source| source == "-") && std::io::stdin().is_terminal() {
        tracing::warn!("reading from the terminal; Ctrl-D on a line of its own ends");
    }
}

/// What is read where it is no index, and how.
pub(super) fn specs(args: &SourceArgs, document_bytes_max: usize) -> Result<(Vec<SourceSpec>, FormatOptions)> {
    if let Some(path) = &args.from_dead_letters {
        options::check_dead_letters(args)?;
        let format =
            FormatOptions { format: Some(Format::DeadLetters), document_bytes_max, ..FormatOptions::default() };
        return Ok((vec![SourceSpec::Path(path.clone())], format));
    }
    check_some(args)?;
    let format = options::format(&args.reading, document_bytes_max)?;
    Ok((options::sources(&args.sources, &args.reading)?, format))
}

/// That something is read, and that flags about formats are for some of it.
pub(super) fn check_some(args: &SourceArgs) -> Result<(), UsageError> {
    if !args.sources.is_empty() {
        return Ok(());
    }
    if args.sql.table.is_empty() {
        return Err(UsageError::new("nothing to load").hint("name files, globs in quotes, or - for stdin"));
    }
    let told = FormatArgs { workbook_bytes: None, ..args.reading.clone() };
    match told.given_for_files() {
        None => Ok(()),
        Some(flag) => Err(UsageError::new(format!("{flag} is for a SOURCE, and there are only tables of --table"))
            .hint("make the file that it is for the SOURCE, which is the table `input`")),
    }
}

/// The index that is the source, if it is one.
pub(super) fn index_address(sources: &[OsString], reading: &FormatArgs) -> Result<Option<IndexAddress>> {
    let format_is_told = reading.format.is_some() || reading.parse.is_some();
    let is_meant = |source: &&OsString| source.to_str().is_some_and(|url| IndexAddress::is_meant(url, format_is_told));
    let Some(url) = sources.iter().find(is_meant).and_then(|source| source.to_str()) else { return Ok(None) };
    if sources.len() > 1 {
        let hint =
            "take one after the other; several indices of one cluster go into one URL: https://host:9200/a,b,logs-*";
        return Err(UsageError::new(format!("{url} is an index, and is given beside other sources")).hint(hint).into());
    }
    if let Some(flag) = reading.given() {
        return Err(UsageError::new(format!("{flag} means nothing for the index {url}, whose documents are JSON"))
            .hint("leave it out")
            .into());
    }
    Ok(Some(IndexAddress::parse(url).map_err(auth::usage)?))
}

/// Queries of ours are asked of files.
pub(super) fn check_files(sources: &[OsString], reading: &FormatArgs) -> Result<()> {
    let refused = |what: &str, hint: &str| {
        Err(UsageError::new(format!("a query in SQL is asked of files, and the source is {what}")).hint(hint).into())
    };
    if database::address(sources)?.is_some() {
        return refused("a database", "ask the database itself, with --db-query");
    }
    match index_address(sources, reading)? {
        None => Ok(()),
        Some(_) => refused("an index", "choose documents of the index with --query"),
    }
}

/// A flag for an index, where none is read.
pub(super) fn not_an_index(flag: &str) -> UsageError {
    UsageError::new(format!("{flag} is for an index of another cluster, and no SOURCE is one"))
        .hint("name it as in https://host:9200/index, or leave the flag out")
}

/// Where an index is read, as whom, and which documents of it.
pub(super) fn index_options(address: IndexAddress, from: &FromAuthArgs, query: Option<&str>) -> Result<IndexOptions> {
    let mut options = IndexOptions::new(address);
    options.query = query.map(parse_query).transpose()?;
    options.tls = auth::tls(&from.to_auth())?;
    options.credentials = auth::credentials_of_source(from, &options.address.node, &Surroundings::of_process())?;
    Ok(options)
}

pub(super) async fn open_index(options: IndexOptions) -> Result<IndexSource> {
    IndexSource::open(options, &Warnings::default()).await.map_err(of_source)
}

async fn index_of_load(args: &LoadArgs, address: IndexAddress, config: &mut LoadConfig) -> Result<Opened> {
    let LoadArgs { source: SourceArgs { from, .. }, index: to, .. } = args;
    check(args)?;
    let mut options = index_options(address, &from.auth, from.query.as_deref())?;
    options.keep_ids = to.id.is_none();
    options.keep_routing = to.routing.is_none();
    options.keep_versions = from.keep_versions;
    options.catch_up = from.catch_up;
    options.document_bytes_max = config.limits.document_bytes_max;
    options.request_timeout = config.limits.request_timeout;
    options.retry_for = config.limits.retry_for;
    // Of what --memory allows; the batches have the rest.
    options.memory = options.memory.min(config.limits.memory / MEMORY_PART);
    let batches = config.limits.batch_bytes.unwrap_or(1) * config.limits.in_flight.unwrap_or(1) as usize;
    config.limits.memory = (config.limits.memory - options.memory).max(batches);
    let source = open_index(options).await?;
    tracing::info!("{} has {} documents", source.names().join(", "), source.docs());
    let model = (from.copy_mapping || from.copy_settings).then(|| Model {
        info: source.info().clone(),
        models: source.models(),
        mapping: from.copy_mapping,
        settings: from.copy_settings,
    });
    Ok(Opened { source: Box::new(source), model })
}

/// Flags that do not go together when an index is read.
fn check(args: &LoadArgs) -> Result<(), UsageError> {
    let LoadArgs { source: SourceArgs { from, .. }, index: to, .. } = args;
    let twice = |ours: &str, other: &str| UsageError::new(format!("{ours} and {other} are given; choose one"));
    if from.copy_mapping && to.mapping.is_some() {
        return Err(twice("--copy-mapping", "--mapping"));
    }
    if to.map.is_some() {
        return Err(UsageError::new("--map auto reads the sources twice, and the index has a mapping already")
            .hint("take it over with --copy-mapping"));
    }
    if from.copy_settings && to.settings.is_some() {
        return Err(twice("--copy-settings", "--settings"));
    }
    if from.keep_versions && to.version_field.is_some() {
        return Err(twice("--keep-versions", "--version"));
    }
    if to.id_from.is_some() {
        return Err(UsageError::new("--id-from is for documents without ids, and those of an index have some")
            .hint("leave it out, or name a field with --id"));
    }
    if from.keep_versions && to.id.is_some() {
        return Err(UsageError::new("--keep-versions is for documents that keep their ids").hint("leave --id out"));
    }
    if from.keep_versions && to.action.is_some_and(|action| action != Action::Index) {
        return Err(UsageError::new("servers take external versions only with the action index")
            .hint("leave --keep-versions or --action out"));
    }
    Ok(())
}

/// The query of `--query`, whether it is given as a search has it or as what stands under `query` there.
fn parse_query(given: &str) -> Result<Value, UsageError> {
    let wrong = |problem: String| UsageError::new(format!("--query: {problem}"));
    let text = match given.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot read {path}: {error}")))?,
        None => given.to_owned(),
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("not valid JSON: {error}")))?;
    let Value::Object(mut object) = value else {
        return Err(wrong("expected a JSON object such as {\"term\": {\"color\": \"red\"}}".to_owned()));
    };
    match object.remove("query") {
        Some(query) if object.is_empty() => Ok(query),
        Some(_) => {
            let others: Vec<_> = object.keys().map(|other| format!("`{other}`")).collect();
            Err(wrong(format!("holds {} besides `query`; only the query is used", others.join(", "))))
        }
        None if object.len() == 1 => Ok(Value::Object(object)),
        None => Err(wrong("expected one query, as a search has it under `query`".to_owned())),
    }
}

/// What goes wrong before anything is read is told with the flags of the source.
fn of_source(error: impl Into<LoadError>) -> anyhow::Error {
    let error = error.into();
    let hint = match &error {
        LoadError::Cluster(ClusterError::Http(error)) if error.kind == HttpErrorKind::NotSent => {
            "check that the cluster runs, and that SOURCE names its address, with http:// or https:// as it speaks"
        }
        LoadError::Cluster(ClusterError::LogIn { .. }) => {
            "the cluster of SOURCE asks for credentials: --from-user, --from-api-key-file, or INRUSH_FROM_API_KEY"
        }
        LoadError::Cluster(ClusterError::Forbidden { .. }) => {
            "reading an index takes the privileges read and view_index_metadata; maintenance and monitor for --catch-up"
        }
        LoadError::Cluster(ClusterError::Target { .. } | ClusterError::Refused { status: 404, .. }) => {
            return UsageError::new(error.to_string()).into();
        }
        _ => return load::usage(error),
    };
    match error {
        LoadError::Cluster(error) => anyhow::Error::new(error).context(Hint(hint.to_owned())),
        other => load::usage(other),
    }
}

/// What the target is to be made like, if it is not there yet.
pub(crate) struct Model {
    info: ClusterInfo,
    models: Vec<IndexModel>,
    mapping: bool,
    settings: bool,
}

impl Model {
    /// Puts mapping and settings into the configuration, as far as the target takes them, and says what it does not.
    pub(super) async fn copy(self, config: &mut LoadConfig) -> Result<()> {
        let http = HttpOptions {
            request_timeout: config.limits.request_timeout,
            tls: config.tls.clone(),
            ..HttpOptions::default()
        };
        let transport = connect(&config.to, config.credentials.clone(), &http).await.map_err(load::usage)?;
        let to = detect(&transport).await.map_err(|error| load::usage(LoadError::Cluster(error)))?;
        let differ = |flag: &str, why: String| {
            UsageError::new(format!("{flag}: {why}")).hint("load one index at a time, or give a file of your own")
        };
        if self.mapping {
            let model = carry_over::common(&self.models, "mappings", |model| &model.mappings)
                .map_err(|why| differ("--copy-mapping", why))?;
            let Carried { value, notes } = carry_over::mapping(&model.mappings, &self.info, &to);
            tell("--copy-mapping", &notes);
            config.create.mapping = Some(value);
        }
        if self.settings {
            let carried = |model: &IndexModel| carry_over::settings(&model.settings, &self.info, &to);
            let model =
                carry_over::common(&self.models, "settings", carried).map_err(|why| differ("--copy-settings", why))?;
            let Carried { value, notes } = carried(model);
            tell("--copy-settings", &notes);
            config.create.settings = Some(value);
        }
        Ok(())
    }
}

fn tell(flag: &str, notes: &[String]) {
    for note in notes {
        tracing::warn!("{flag}: {note}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_is_given_in_either_form() {
        assert_eq!(parse_query(r#"{"term":{"a":1}}"#).unwrap(), json!({"term": {"a": 1}}));
        assert_eq!(parse_query(r#"{"query":{"match_all":{}}}"#).unwrap(), json!({"match_all": {}}));
        for (text, problem) in [
            (r#"{"query":{},"size":3}"#, "holds `size` besides `query`"),
            (r#"{"term":{},"terms":{}}"#, "expected one query"),
            ("{}", "expected one query"),
            ("[]", "expected a JSON object"),
            ("{", "not valid JSON"),
            ("@/nowhere/at/all", "cannot read /nowhere/at/all"),
        ] {
            let error = parse_query(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}

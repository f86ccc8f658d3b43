//! Flags become the engine's configuration. What one flag alone cannot tell is checked here; nothing is asked, started or
//! sent.

mod finish;

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::Result;
use inrush::Action;
use inrush::config::{DeadLetters, Encoding, Gentle, GuardConfig, IndexCreation, LoadConfig, MaxErrors, Replies};
use inrush::source::{
    Charset, ColumnType, CsvOptions, DatabaseAddress, Format, FormatOptions, Header, Parse, SheetOptions, SourceSpec,
    StoreOptions, Timestamps,
};
use inrush::transport::NodeUrl;

use crate::args::{
    self, EncodingArg, FormatArgs, IndexArgs, LoadArgs, Quote, ReplyDetail, Shards, SizeArgs, SourceArgs,
};
use crate::auth::{self, Surroundings};
use crate::failure::UsageError;
use crate::job::Job;
use crate::overwrites::Inputs;
use crate::{json_file, state, units};

/// What stands for the local node in `--to`.
const LOCAL: &str = "local";

/// The engine's configuration, without an address where the local node is meant. `recreate` is not confirmed yet.
pub(crate) fn config(job: &Job, surroundings: &Surroundings<'_>) -> Result<LoadConfig> {
    let LoadArgs { source, index: to, auth, sizes, errors, resume, .. } = &job.args;
    let outputs = [("--trace", sizes.trace.as_ref()), ("--dead-letters", errors.dead_letters.as_ref())];
    Inputs::of_load(&job.args).check(outputs)?;
    let finish = finish::finish(&job.args)?;
    let alias = finish.swap.as_ref().map(|swap| swap.alias.parse()).transpose();
    let Some(index) = to.index.clone().or(alias.map_err(UsageError::new)?) else {
        let hint = match source.from_dead_letters {
            Some(_) => "name the one of the first load with --index NAME",
            None => "name it with --index NAME",
        };
        return Err(UsageError::new("no index given").hint(hint).into());
    };
    let urls = urls(&to.to)?;
    let mut config = LoadConfig::new(urls.iter().map(NodeUrl::to_string).collect(), index);
    config.tls = auth::tls(auth)?;
    config.action = to.action.unwrap_or_default();
    config.id = to.id.clone();
    config.id_from = to.id_from;
    config.routing = to.routing.clone();
    config.version = to.version_field.clone();
    config.pipeline = to.pipeline.clone();
    config.drop = to.drop.clone();
    config.create = creation(to, job)?;
    config.on_conflict = errors.on_conflict.unwrap_or(config.on_conflict);
    config.max_errors =
        if errors.strict { MaxErrors::Count(0) } else { errors.max_errors.unwrap_or(config.max_errors) };
    config.tolerate = errors.tolerate;
    config.allow_empty = errors.allow_empty;
    config.verify = !errors.no_verify;
    config.trace = sizes.trace.clone();
    config.durability = to.durability.unwrap_or_default();
    config.under_policy = to.under_policy;
    config.guard = GuardConfig {
        leave_settings: to.leave_settings,
        replicas_off: to.replicas_off,
        replicas_off_confirmed: to.yes,
        state: resume.state.clone(),
    };
    config.dead_letters = match (&errors.dead_letters, &source.job) {
        (Some(path), _) => DeadLetters::File(path.clone()),
        (None, Some(job)) => DeadLetters::Folder(job.parent().unwrap_or_else(|| "".as_ref()).to_owned()),
        (None, None) => DeadLetters::DefaultFile,
    };
    config.replies = match sizes.replies {
        Some(ReplyDetail::Summary) => Replies::Summary,
        Some(ReplyDetail::Items) | None => Replies::Items,
    };
    config.encoding = sizes.encoding.and_then(encoding);
    config.bulk_routing = sizes.bulk_routing.unwrap_or_default();
    config.compression = sizes.compression.and_then(|given| given.0);
    config.finish = finish;
    config.resume = resume.resume;
    config.once = resume.once;
    config.state = state::folder(resume.state.as_deref(), |name| std::env::var_os(name));
    limits(&mut config, sizes)?;
    if to.recreate && config.index.fixed().is_none() {
        return Err(UsageError::new("--recreate needs one index, and --index has placeholders")
            .hint("delete the indices that are meant yourself")
            .into());
    }
    check_id(&config, to, source.from_dead_letters.is_some())?;
    if to.mixed.is_some() && to.map.is_none() {
        return Err(UsageError::new("--mixed says how --map auto makes a mapping, and that is not given")
            .hint("add --map auto, or leave --mixed out")
            .into());
    }
    if errors.dry_run && resume.resume {
        return Err(UsageError::new(
            "--dry-run looks at the beginning of the sources, and --resume goes on in the middle",
        )
        .hint("leave one of them out")
        .into());
    }
    config.check().map_err(UsageError::new)?;
    // Last, because it may ask for a password.
    config.credentials = auth::credentials(auth, &urls, surroundings)?;
    Ok(config)
}

/// The form in which documents are sent; `None` is for what proves best.
pub(crate) fn encoding(given: EncodingArg) -> Option<Encoding> {
    match given {
        EncodingArg::Auto => None,
        EncodingArg::Json => Some(Encoding::Json),
        EncodingArg::Smile => Some(Encoding::Smile),
    }
}

/// The cluster's nodes; none for the local node.
pub(crate) fn urls(to: &[String]) -> Result<Vec<NodeUrl>> {
    if to.iter().any(|url| url == LOCAL) {
        if to.iter().any(|url| url != LOCAL) {
            return Err(UsageError::new("--to names the local node and others; a load goes to one cluster").into());
        }
        return Ok(Vec::new());
    }
    to.iter()
        .map(|text| match NodeUrl::parse(text).map_err(auth::usage)? {
            (url, None) => Ok(url),
            // Arguments can be read by every user of the machine.
            (url, Some(_)) => Err(UsageError::new(format!("the address of {url} holds a user name or password"))
                .hint("give the user with --user, and the password with --password-file or INRUSH_PASSWORD")
                .into()),
        })
        .collect()
}

fn creation(to: &IndexArgs, job: &Job) -> Result<IndexCreation, UsageError> {
    Ok(IndexCreation {
        mapping: match &to.mapping {
            Some(path) => Some(json_file::read(path, "mappings")?),
            None => job.mapping.clone(),
        },
        settings: match &to.settings {
            Some(path) => Some(json_file::read(path, "settings")?),
            None => job.settings.clone(),
        },
        // `auto` is chosen once the sources are open.
        shards: match to.shards {
            Some(Shards::Count(shards)) => Some(shards),
            Some(Shards::Auto) | None => None,
        },
        replicas: to.replicas,
        recreate: to.recreate,
        patterns: job.patterns.clone(),
    })
}

fn limits(config: &mut LoadConfig, sizes: &SizeArgs) -> Result<(), UsageError> {
    let limits = &mut config.limits;
    let set = |target: &mut usize, value: Option<u64>| {
        if let Some(value) = value {
            *target = usize::try_from(value).unwrap_or(usize::MAX);
        }
    };
    set(&mut limits.memory, sizes.memory);
    set(&mut limits.workers, sizes.workers.map(u64::from));
    set(&mut limits.document_bytes_max, sizes.max_document_bytes);
    limits.batch_docs = sizes.batch_docs;
    limits.batch_bytes = sizes.batch_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.in_flight = sizes.in_flight;
    limits.gentle = sizes.gentle.then(Gentle::default);
    limits.max_rate = sizes.max_rate;
    limits.linger = sizes.linger.unwrap_or(limits.linger);
    limits.request_timeout = sizes.request_timeout.unwrap_or(limits.request_timeout);
    limits.retry_for = sizes.retry_for.unwrap_or(limits.retry_for);
    limits.retries = sizes.retries.unwrap_or(limits.retries);
    limits.pause_max = sizes.pause_for.unwrap_or(limits.pause_max);

    let memory = limits.memory as u64;
    let (batch, in_flight) = (sizes.batch_bytes.unwrap_or(1), limits.in_flight.unwrap_or(1));
    let needed = batch.saturating_mul(u64::from(in_flight));
    if needed > memory {
        let given = [
            sizes.batch_bytes.map(|bytes| format!("--batch-bytes {}", units::bytes_exact(bytes))),
            limits.in_flight.map(|n| format!("--in-flight {n}")),
        ];
        let default = if sizes.memory.is_some() { "" } else { " (default)" };
        return Err(UsageError::new(format!(
            "{} needs {} of memory, more than --memory {}{default}",
            given.into_iter().flatten().collect::<Vec<_>>().join(" x "),
            units::bytes_exact(needed),
            units::bytes_exact(memory),
        ))
        .hint(format!("give --memory {}, or less of the others", units::bytes_exact(needed))));
    }
    Ok(())
}

/// Dead letters bring the ids that they were sent with.
fn check_id(config: &LoadConfig, to: &IndexArgs, dead_letters: bool) -> Result<(), UsageError> {
    let action = match config.action {
        Action::Update => "update",
        Action::Upsert => "upsert",
        Action::Delete => "delete",
        Action::Index | Action::Create => return Ok(()),
    };
    if dead_letters {
        return Err(UsageError::new(format!("--action {action} means nothing with --from-dead-letters"))
            .hint("leave it out: each letter names its own action and id"));
    }
    if to.id.is_none() {
        return Err(UsageError::new(format!("--action {action} needs to know the ids"))
            .hint("name the field that holds them with --id FIELD"));
    }
    Ok(())
}

/// How the sources are to be read.
pub(crate) fn format(args: &FormatArgs, document_bytes_max: usize) -> Result<FormatOptions, UsageError> {
    let for_columns = [
        ("--separator", args.separator.is_some()),
        ("--quote", args.quote.is_some()),
        ("--escape", args.escape.is_some()),
        ("--no-header", args.no_header),
        ("--columns", !args.columns.is_empty()),
        ("--schema", !args.schema.is_empty()),
        ("--all-strings", args.all_strings),
        ("--null", !args.null.is_empty()),
    ];
    let for_lines = [
        ("--parse", args.parse.is_some()),
        ("--parse-regex", args.parse_regex.is_some()),
        ("--fixed-width", !args.fixed_width.is_empty()),
    ];
    let parsed = for_lines.iter().find(|(_, given)| *given).map(|(flag, _)| *flag);
    if let (Some(flag), Some(format)) = (parsed, args.format.filter(|format| *format != args::Format::Text)) {
        let message = format!("{flag} is for text and means nothing with --format {}", format.name());
        return Err(UsageError::new(message).hint("leave it out, or use --format text"));
    }
    if let (Some(flag), Some(_)) = (parsed, &args.field) {
        return Err(
            UsageError::new(format!("--field means nothing with {flag}, which names the fields")).hint("leave it out")
        );
    }
    let for_sheets = [
        ("--sheet", args.sheet.is_some()),
        ("--header-row", args.header_row.is_some()),
        ("--workbook-bytes", args.workbook_bytes.is_some()),
    ];
    if let Some(format) = args.format.filter(|format| *format != args::Format::Excel)
        && let Some((flag, _)) = for_sheets.iter().find(|(_, given)| *given)
    {
        let message = format!("{flag} is for workbooks and means nothing with --format {}", format.name());
        return Err(UsageError::new(message).hint("leave it out, or use --format excel"));
    }
    // Of them, those that say where names come from are for workbooks, and types for lines with parts, as well.
    let means_something = |flag: &str, format: args::Format| match flag {
        _ if format.has_columns() => true,
        "--no-header" | "--columns" => format == args::Format::Excel,
        "--schema" => parsed.is_some(),
        _ => false,
    };
    if let Some(format) = args.format
        && let Some((flag, _)) = for_columns.iter().find(|(flag, given)| *given && !means_something(flag, format))
    {
        return Err(UsageError::new(format!("{flag} is for CSV and means nothing with --format {}", format.name()))
            .hint("leave it out, or use --format csv"));
    }
    if let (Some(format), Some(_)) = (args.format, &args.field)
        && format != args::Format::Text
    {
        let message = format!("--field is for text and means nothing with --format {}", format.name());
        return Err(UsageError::new(message).hint("leave it out, or use --format text"));
    }
    Ok(FormatOptions {
        format: args.format.map(|format| match format {
            args::Format::Ndjson => Format::Ndjson,
            args::Format::Csv => Format::Csv,
            args::Format::Tsv => Format::Tsv,
            args::Format::Text => Format::Text,
            args::Format::Json => Format::Json,
            args::Format::Hits => Format::Hits,
            args::Format::Parquet => Format::Parquet,
            args::Format::Arrow => Format::Arrow,
            args::Format::Avro => Format::Avro,
            args::Format::Excel => Format::Excel,
            args::Format::Smile => Format::Smile,
            args::Format::Bulk => Format::Bulk,
        }),
        records: args.records.clone(),
        charset: args.charset.as_deref().map(str::parse::<Charset>).transpose().map_err(UsageError::new)?,
        text_field: args.field.clone().unwrap_or_else(|| "message".to_owned()),
        parse: parse(args),
        csv: CsvOptions {
            separator: args.separator,
            quote: match args.quote {
                None => Some(b'"'),
                Some(Quote::Character(quote)) => Some(quote),
                Some(Quote::None) => None,
            },
            escape: args.escape,
            header: match (args.columns.is_empty(), args.no_header) {
                (false, _) => Header::Names(args.columns.clone()),
                (true, true) => Header::Numbered,
                (true, false) => Header::FirstRow,
            },
            schema: args.schema.iter().map(|entry| column_type(entry)).collect::<Result<_, _>>()?,
            all_strings: args.all_strings,
            nulls: args.null.clone(),
            ..CsvOptions::default()
        },
        document_bytes_max,
        sheet: SheetOptions {
            sheet: args.sheet.clone(),
            header_row: args.header_row,
            bytes_max: args.workbook_bytes.unwrap_or(SheetOptions::default().bytes_max),
        },
        validate: args.validate,
        hive_partitions: !args.no_hive_partitions,
        only_columns: None,
        timestamps: timestamps(args),
    })
}

/// How timestamps of columns are written.
pub(crate) fn timestamps(args: &FormatArgs) -> Timestamps {
    match args.timestamps {
        None | Some(args::Timestamps::Iso) => Timestamps::Iso,
        Some(args::Timestamps::EpochMillis) => Timestamps::EpochMillis,
    }
}

/// Where to read files.
pub(crate) fn sources(sources: &[OsString], args: &FormatArgs) -> Result<Vec<SourceSpec>, UsageError> {
    if let Some(database) = sources.iter().find_map(|source| source.to_str().and_then(DatabaseAddress::new)) {
        return Err(UsageError::new(format!(
            "{database} is a database, which `inrush load`, `verify` and `mapping` read"
        ))
        .hint("for the other commands, export what is meant to a file"));
    }
    let options = StoreOptions::parse(&args.store_option)
        .map_err(|problem| UsageError::new(format!("--store-option: {problem}")))?;
    let options = Arc::new(options);
    Ok(sources.iter().map(|source| SourceSpec::with_options(source, &options)).collect())
}

/// What lines of text are made of.
fn parse(args: &FormatArgs) -> Option<Parse> {
    if !args.fixed_width.is_empty() {
        return Some(Parse::FixedWidth(args.fixed_width.clone()));
    }
    args.parse_regex.clone().map(Parse::Regex).or(args.parse.map(Parse::Named))
}

fn column_type(entry: &str) -> Result<(String, ColumnType), UsageError> {
    // A column's name may have a colon; a type has none.
    let (name, column_type) = entry
        .rsplit_once(':')
        .ok_or_else(|| UsageError::new(format!("--schema {entry:?} has no type")).hint("write it like price:float"))?;
    let column_type =
        column_type.parse().map_err(|problem: String| UsageError::new(format!("--schema {entry:?}: {problem}")))?;
    Ok((name.to_owned(), column_type))
}

/// Flags that say how to read sources, where there are dead letters instead.
pub(crate) fn check_dead_letters(args: &SourceArgs) -> Result<(), UsageError> {
    if !args.sources.is_empty() {
        return Err(UsageError::new("sources and --from-dead-letters are given").hint("load one after the other"));
    }
    match args.reading.given().or_else(|| args.from.given()).or_else(|| args.sql.given()) {
        None => Ok(()),
        Some(flag) => Err(UsageError::new(format!("{flag} means nothing with --from-dead-letters"))
            .hint("leave it out: dead letters are documents already")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};
    use inrush::config::{Compression, GzipLevel, OldWrites, Tolerance, WaitFor};

    use super::*;

    fn job(arguments: &str) -> Job {
        let command = LoadArgs::augment_args(Command::new("load"));
        let arguments = std::iter::once("load").chain(arguments.split_whitespace());
        let args = LoadArgs::from_arg_matches(&command.try_get_matches_from(arguments).unwrap()).unwrap();
        Job::of(args)
    }

    fn try_config(arguments: &str) -> Result<LoadConfig> {
        let job = job(arguments);
        config(&job, &Surroundings { is_set: &|_| false, terminal: false })
    }

    fn problem(arguments: &str) -> String {
        let error = try_config(arguments).map(drop).and_then(|()| {
            let args = job(arguments).args.source;
            if args.from_dead_letters.is_some() {
                check_dead_letters(&args)?;
            }
            Ok(format(&args.reading, 1).map(drop)?)
        });
        let error = error.unwrap_err();
        assert!(error.is::<UsageError>(), "{error:?}");
        let mut out = Vec::new();
        crate::failure::print(&error, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn flags_reach_the_configuration() {
        let config = try_config(
            "a.csv --index t --to http://a,https://b:9201 --id x --action create --batch-bytes 1MiB --in-flight 8 --memory 8MiB \
             --batch-docs 10 --retries 0 --pause-for 0 --no-verify --replies summary --shards 3 --workers 2",
        )
        .unwrap();
        assert_eq!(config.to, ["http://a:9200", "https://b:9201"]);
        assert_eq!((config.limits.batch_bytes, config.limits.in_flight), (Some(1 << 20), Some(8)));
        assert_eq!((config.limits.batch_docs, config.limits.retries, config.limits.workers), (Some(10), 0, 2));
        assert!(config.limits.pause_max.is_zero() && !config.verify);
        assert_eq!((config.replies, config.create.shards), (Replies::Summary, Some(3)));
        assert_eq!((config.encoding, config.compression), (None, None));
        let config = try_config("a --index t --encoding smile --compression gzip:6").unwrap();
        let gzip = Compression::Gzip(GzipLevel::new(6).unwrap());
        assert_eq!((config.encoding, config.compression), (Some(Encoding::Smile), Some(gzip)));
        let config = try_config("a --index t --encoding auto --compression auto --no-verify").unwrap();
        assert_eq!((config.encoding, config.compression), (None, None));
        assert!(config.credentials.is_none());
        assert!(try_config("a --index t --to local").unwrap().to.is_empty());
        let config = try_config(
            "a --alias t --delete-old --old-writes catch-up --id i --force-merge 1 --wait-for replicated --wait-timeout 5m",
        )
        .unwrap();
        let finish = config.finish;
        assert_eq!((config.index.as_str(), finish.force_merge), ("t", Some(1)));
        assert_eq!((finish.wait_for, finish.wait_timeout.as_secs()), (Some(WaitFor::Replicated), 300));
        let swap = finish.swap.unwrap();
        assert_eq!((swap.alias.as_str(), swap.delete_old, swap.old_writes), ("t", true, OldWrites::CatchUp));
        let config = try_config("a --alias t --allow-shrink 80% --tolerate 0.1% --allow-empty").unwrap();
        assert_eq!((config.tolerate, config.allow_empty), (Some(Tolerance::Percent(0.1)), true));
        assert_eq!(config.finish.swap.unwrap().shrink_max.to_string(), "80");
        assert_eq!(try_config("a --index t-2 --alias t").unwrap().index.as_str(), "t-2");
        assert!(try_config("a --index t").unwrap().to.is_empty());
    }

    #[test]
    fn combinations_that_cannot_be_are_refused_with_what_to_do() {
        for (arguments, expected) in [
            ("a", "hint: name it with --index NAME"),
            ("--from-dead-letters d", "the one of the first load"),
            ("a --index t --action update", "error: --action update needs to know the ids\nhint: name the field"),
            ("a --index t --action upsert", "--action upsert needs"),
            ("a --index t --action delete", "--action delete needs"),
            ("a --index t --version v", "--id"),
            ("a --index t --version v --id i --action create", "only with actions index and delete"),
            ("--from-dead-letters d --index t --action delete", "each letter names its own action"),
            (
                "a --index t --batch-bytes 32MiB --in-flight 4",
                "--batch-bytes 32MiB x --in-flight 4 needs 128MiB of memory, more than --memory 64MiB (default)\n\
                 hint: give --memory 128MiB",
            ),
            ("a --index t --id i --id-from content", "an id has one origin"),
            ("a --index t --id i --action delete --id-from content", "an id has one origin"),
            ("a --index t --resume --recreate --yes", "give one of them"),
            ("a --index t --mixed keep", "add --map auto"),
            ("a --index t --delete-old", "--delete-old means nothing without --alias"),
            ("a --index t --allow-shrink 80%", "--allow-shrink means nothing without --alias"),
            ("a --index t --old-writes block", "--old-writes means nothing without --alias"),
            ("a --index t --warm w", "--warm means nothing without --alias"),
            ("a --index t --alias t", "leave --index out"),
            ("a --index t-{n} --alias t", "--index has placeholders"),
            ("a --alias t --recreate --yes", "nothing to --recreate"),
            ("a --alias T", "lower case"),
            ("a --alias t --old-writes catch-up", "name the field that holds them with --id FIELD"),
            ("a --alias t --warm none.ndjson", "cannot read none.ndjson"),
            ("--from-dead-letters d --alias t", "nothing but dead letters"),
            ("a --index t --replies summary --pipeline p", "--replies summary"),
            ("a --index t --replies summary --id i", "use action create"),
            ("a --index t --replies summary --durability async", "--replies summary"),
            ("a --index t-{x} --durability async", "placeholders"),
            ("a --index t-{x} --bulk-routing one-shard", "--bulk-routing one-shard needs one index"),
            ("a --index t --leave-settings --durability async", "--leave-settings"),
            ("a --index x-{t} --recreate --yes", "--recreate needs one index"),
            ("a --index t --to local --to http://a", "one cluster"),
            ("a --index t --to ftp://a", "expected http or https"),
            ("a --index t --to http://a --user u", "INRUSH_PASSWORD"),
            ("a --index t --cert c", "go together"),
            ("a --index t --mapping none.json", "cannot read none.json"),
            ("a --index t --format csv --field f", "--field is for text"),
            ("a --index t --format ndjson --columns a", "--columns is for CSV"),
            ("a --index t --format parquet --null NA", "--null is for CSV"),
            ("a --index t --format csv --sheet Data", "--sheet is for workbooks"),
            ("a --index t --format csv --parse combined", "--parse is for text"),
            ("a --index t --parse combined --field f", "--field means nothing with --parse"),
            ("a --index t --format text --null NA", "--null is for CSV"),
            ("a --index t --schema price", "write it like price:float"),
            ("a --index t --schema price:money", "money"),
            ("a --index t --charset klingon", "klingon"),
            ("a --index t --from-dead-letters d", "sources and --from-dead-letters"),
            ("--index t --from-dead-letters d --format csv", "--format means nothing"),
            ("--index t --from-dead-letters d --null NA", "--null means nothing"),
        ] {
            let problem = problem(arguments);
            assert!(problem.contains(expected), "{arguments}: {problem}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        let problem = problem("a --index t --to https://u:hunter2@search:9200");
        assert!(problem.contains("--password-file") && !problem.contains("hunter2"), "{problem}");
    }

    #[test]
    fn formats() {
        let args =
            job("a --index t --format tsv --quote none --schema a:b:float,c:string --no-header").args.source.reading;
        let format = format(&args, 7).unwrap();
        assert_eq!((format.format, format.document_bytes_max), (Some(Format::Tsv), 7));
        assert_eq!((format.csv.quote, format.csv.header), (None, Header::Numbered));
        assert_eq!(format.csv.schema[0], ("a:b".to_owned(), ColumnType::Float));
    }
}

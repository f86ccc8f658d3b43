//! Opens the sources: files, dead letters, a database, the result of a query, or an index of
//! another cluster.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_core::FieldPath;
use serde_json::Value;

use super::query::Tables;
use super::{Environment, Model, checks, database, kafka, query, windows};
use crate::options::{
    DatabaseSourceOptions, IndexSourceOptions, LoadOptions, OpenSource, OptionError, OptionErrorKind, OptionGroup,
    QueryOptions, ReadingOptions, SearchQuery, SourceLoginOptions, SourceOptions,
};
use inrush_kafka::KafkaAddress;
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;
use inrush_sources::index::{IndexAddress, IndexModels, IndexOptions};
use inrush_sources::{
    self, DatabaseAddress, FileOptions, Format, FormatOptions, OpenError, Registry, Request, Source, SourceError,
    SourceSpec, StoreOptions, Warnings, open as open_files,
};

/// The part of the memory for pages of a source index.
const MEMORY_PART: usize = 4;

/// A source, and the model for the target.
pub(super) struct Opened {
    pub(super) source: Box<dyn Source>,
    pub(super) reopen: Option<OpenSource>,
    pub(super) model: Option<Model>,
}

/// The parts of the options that are about sources. `id`: the field with the ids of a query's rows.
pub(super) struct Rows<'a> {
    pub(super) source: &'a SourceOptions,
    pub(super) reading: ReadingOptions,
    pub(super) database: &'a DatabaseSourceOptions,
    pub(super) query: &'a QueryOptions,
    pub(super) id: Option<FieldPath>,
    pub(super) document_bytes_max: usize,
    pub(super) registry: &'a Registry,
}

impl<'a> Rows<'a> {
    pub(super) fn of(options: &'a LoadOptions, document_bytes_max: usize, registry: &'a Registry) -> Self {
        Rows {
            source: &options.source,
            reading: options.reading.clone(),
            database: &options.database,
            query: &options.query,
            id: options.target.id.clone(),
            document_bytes_max,
            registry,
        }
    }

    /// Whether there is a query, or an option of one.
    fn has_query(&self) -> bool {
        self.query.given().next().is_some()
    }
}

/// Opens the sources of a load.
pub(super) async fn open(
    options: &LoadOptions,
    config: &mut LoadConfig,
    environment: &Environment,
) -> Result<Opened, LoadError> {
    let LoadOptions { source, reading, query, index_source, source_login, .. } = options;
    if source.from_dead_letters.is_some() {
        checks::of_dead_letters(options)?;
    } else {
        let of_query = query.given().next().is_some();
        let index = if of_query { None } else { index_address(&source.sources, reading)? };
        if let Some(address) = index {
            return index_of_load(options, address, config, environment).await;
        }
        let topics = kafka::address(&source.sources, reading)?;
        if let Some(address) = topics {
            return topics_of_load(options, address, config, environment).await;
        }
        kafka::no_topics(options)?;
        not_an_index(index_source, source_login)?;
    }
    let rows = Rows::of(options, config.limits.document_bytes_max, &environment.registry);
    let (source, reopen) = open_rows(&rows).await?;
    Ok(Opened { source, reopen, model: None })
}

/// Opens sources other than an index: files, a database, the result of a query over files, or a
/// source of a kind that the program added.
pub(super) async fn open_rows(rows: &Rows<'_>) -> Result<(Box<dyn Source>, Option<OpenSource>), LoadError> {
    if rows.has_query() {
        check_files(&rows.source.sources, &rows.reading)?;
    }
    let mut request = Request::new(&rows.source.sources);
    if let Some(database) = database::options(rows)? {
        request = request.with(database);
    } else if let Some(path) = &rows.source.from_dead_letters {
        return dead_letters(path.clone(), rows.document_bytes_max);
    } else {
        check_some(rows.source, rows.query, &rows.reading)?;
        let format = rows.reading.format_options(rows.document_bytes_max)?;
        if let Some(query) = query::text(rows.query)? {
            let input = rows.reading.specs(&rows.source.sources)?;
            let tables = Tables { options: rows.query, input, format };
            return Ok((tables.source(&query, rows.id.clone()).await?, None));
        }
        request = request.files(FileOptions { format, stores: rows.reading.stores(&rows.source.sources)? });
    }
    let inrush_sources::Opened { source, reopen, .. } = rows.registry.open(&request).await.map_err(not_opened)?;
    Ok((source, reopen))
}

/// The documents of a file of dead letters.
fn dead_letters(path: PathBuf, document_bytes_max: usize) -> Result<(Box<dyn Source>, Option<OpenSource>), LoadError> {
    let format = FormatOptions { format: Some(Format::DeadLetters), document_bytes_max, ..FormatOptions::default() };
    let open = move || -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(open_files(&[SourceSpec::Path(path.clone())], format.clone(), &Warnings::default())?))
    };
    Ok((open().map_err(|error| not_opened(error.into()))?, Some(Arc::new(open))))
}

/// The error of a source that was not opened. A missing file is a usage error, because nothing was
/// done yet.
fn not_opened(error: OpenError) -> LoadError {
    let error = match error {
        OpenError::Arguments { message, hint } => OptionError::conflict(message).hint(hint),
        OpenError::Cluster(error) => return LoadError::OfSource(Box::new(error.into())),
        OpenError::Source(error) => OptionError::unusable(error.to_string()).coded(error.code),
        error => OptionError::unusable(error.to_string()),
    };
    error.of("sources").into()
}

impl ReadingOptions {
    /// The files and their places.
    ///
    /// # Errors
    /// Options for object stores that cannot be used, and a database, which is not a file.
    pub fn specs(&self, sources: &[OsString]) -> Result<Vec<SourceSpec>, OptionError> {
        if let Some(database) = sources.iter().find_map(|source| source.to_str().and_then(DatabaseAddress::new)) {
            let message = format!("{database} is a database, which `inrush load`, `verify` and `mapping` read");
            return Err(OptionError::conflict(message).hint("for the other commands, export it to a file"));
        }
        if let Some(address) = kafka::address(sources, self)? {
            let message = format!("{address} is read by `inrush load` only");
            return Err(OptionError::conflict(message).of("sources"));
        }
        let options = self.stores(sources)?;
        Ok(sources.iter().map(|source| SourceSpec::with_options(source, &options)).collect())
    }
}

/// Checks that there is a source, and that options about formats apply to one of the sources.
pub(super) fn check_some(
    source: &SourceOptions,
    query: &QueryOptions,
    reading: &ReadingOptions,
) -> Result<(), OptionError> {
    if !source.sources.is_empty() {
        return Ok(());
    }
    if query.table.is_empty() {
        return Err(OptionError::new(OptionErrorKind::Missing, "nothing to load")
            .of("sources")
            .hint("name files, globs in quotes, or - for stdin"));
    }
    match reading.for_files().find(|info| info.name != "workbook_bytes") {
        None => Ok(()),
        Some(info) => {
            let message =
                format!("option `{}` is for a SOURCE, but there are only tables of option `table`", info.name);
            Err(OptionError::conflict(message)
                .of(info.name)
                .hint("give its file as the SOURCE, which is the table `input`"))
        }
    }
}

/// The source index, if there is one.
pub(super) fn index_address(
    sources: &[OsString],
    reading: &ReadingOptions,
) -> Result<Option<IndexAddress>, OptionError> {
    let format_is_told = reading.format.is_some() || reading.parse.is_some();
    let is_meant = |source: &&OsString| source.to_str().is_some_and(|url| IndexAddress::is_meant(url, format_is_told));
    let Some(url) = sources.iter().find(is_meant).and_then(|source| source.to_str()) else { return Ok(None) };
    if sources.len() > 1 {
        let hint =
            "load one after the other; several indices of one cluster go into one URL: https://host:9200/a,b,logs-*";
        return Err(OptionError::conflict(format!("{url} is an index, which has to be the only source")).hint(hint));
    }
    if let Some(info) = reading.given().next() {
        let message = format!("option `{}` does not apply to the index {url}, whose documents are JSON", info.name);
        return Err(OptionError::conflict(message).of(info.name).hint("leave it out"));
    }
    let address = IndexAddress::parse(url)
        .map_err(|error| OptionError::unusable(error.to_string()).coded(inrush_core::Code::BadAddress).of("sources"))?;
    Ok(Some(address))
}

impl ReadingOptions {
    /// Settings of object stores, for these sources.
    fn stores(&self, sources: &[OsString]) -> Result<Arc<StoreOptions>, OptionError> {
        let options = StoreOptions::parse(&self.store_option);
        let options = Arc::new(options.map_err(|problem| OptionError::value("store_option", problem))?);
        let is_url = |source: &OsString| matches!(SourceSpec::with_options(source, &options), SourceSpec::Url(_));
        if !self.store_option.is_empty() && !sources.iter().any(is_url) {
            return Err(OptionError::conflict("option `store_option` is for object stores, but no source is in one")
                .of("store_option")
                .hint("leave it out, or name the source with its address, as in s3://bucket/logs/*.parquet"));
        }
        Ok(options)
    }
}

impl LoadOptions {
    /// Whether the source is an index of another cluster.
    ///
    /// # Errors
    /// An index together with other sources, or with options about formats.
    pub fn reads_index(&self) -> Result<bool, OptionError> {
        Ok(index_address(&self.source.sources, &self.reading)?.is_some())
    }

    /// Refuses a dry run of a source that it would change: a member of a consumer group takes
    /// partitions from others, and commits where it begins.
    ///
    /// # Errors
    /// The source is a topic.
    pub fn check_dry_run(&self) -> Result<(), OptionError> {
        self.fetch.refuse("a dry run")?;
        self.watch.refuse("a dry run")?;
        if !self.reads_topics()? {
            return Ok(());
        }
        let message = "a dry run of topics would join their consumer group and change it";
        Err(OptionError::conflict(message).of("sources").hint(
            "load into an index for trials, with a new option `group` and option `until=latest`; `inrush lag` shows the offsets of a group",
        ))
    }

    /// Whether the source is a topic of Kafka.
    ///
    /// # Errors
    /// Topics together with other sources, or with options about formats.
    pub fn reads_topics(&self) -> Result<bool, OptionError> {
        Ok(kafka::address(&self.source.sources, &self.reading)?.is_some())
    }
}

/// Refuses a query over other sources than files.
pub(super) fn check_files(sources: &[OsString], reading: &ReadingOptions) -> Result<(), OptionError> {
    let refused = |what: &str, hint: &str| {
        Err(OptionError::conflict(format!("a query in SQL reads files, but the source is {what}")).of("sql").hint(hint))
    };
    if database::address(sources)?.is_some() {
        return refused("a database", "run the query in the database, with option `db_query`");
    }
    if kafka::address(sources, reading)?.is_some() {
        let hint = "`inrush load` of one query reads windows of a topic, without option `explain`";
        return refused("a topic", hint);
    }
    match index_address(sources, reading)? {
        None => Ok(()),
        Some(_) => refused("an index", "select documents of the index with option `query`"),
    }
}

/// Refuses options for a source index without one.
pub(super) fn not_an_index(from: &IndexSourceOptions, login: &SourceLoginOptions) -> Result<(), OptionError> {
    match from.given().chain(login.given()).next() {
        None => Ok(()),
        Some(info) => {
            let message =
                format!("option `{}` is for an index of another cluster, but no SOURCE is an index", info.name);
            Err(OptionError::conflict(message)
                .of(info.name)
                .hint("name the index as in https://host:9200/index, or leave the option out"))
        }
    }
}

async fn index_of_load(
    options: &LoadOptions,
    address: IndexAddress,
    config: &mut LoadConfig,
    environment: &Environment,
) -> Result<Opened, LoadError> {
    let LoadOptions { index_source, source_login, target, .. } = options;
    checks::of_index(options)?;
    let IndexSourceOptions { query, keep_versions, catch_up, copy_mapping, copy_settings } = index_source;
    let mut index = IndexOptions::new(address);
    index.query = query.as_ref().map(search_query).transpose()?;
    index.tls = source_login.tls()?;
    index.credentials = source_login.credentials(&index.address.node, environment)?;
    index.keep_ids = target.id.is_none();
    index.keep_routing = target.routing.is_none();
    index.keep_versions = *keep_versions;
    index.catch_up = *catch_up;
    index.document_bytes_max = config.limits.document_bytes_max;
    index.request_timeout = config.limits.request_timeout;
    index.retry_for = config.limits.retry_for;
    // A part of the memory. Batches have the rest.
    index.memory = index.memory.min(config.limits.memory / MEMORY_PART);
    let batches = config.limits.batch_bytes.unwrap_or(1) * config.limits.in_flight.unwrap_or(1) as usize;
    config.limits.memory = (config.limits.memory - index.memory).max(batches);
    let request = Request::new(&options.source.sources).with(index);
    let inrush_sources::Opened { source, reopen, models, .. } =
        environment.registry.open(&request).await.map_err(not_opened)?;
    let model = models.and_then(|IndexModels { info, models, docs, .. }| {
        tracing::info!("{} has {docs} documents", source.describe().title());
        let (mapping, settings) = (*copy_mapping, *copy_settings);
        (mapping || settings).then_some(Model { info, models, mapping, settings })
    });
    Ok(Opened { source, reopen, model })
}

async fn topics_of_load(
    options: &LoadOptions,
    address: KafkaAddress,
    config: &mut LoadConfig,
    environment: &Environment,
) -> Result<Opened, LoadError> {
    windows::check(options)?;
    let topics = kafka::options(options, address, config, environment)?;
    // Tables are read before the group is joined.
    let windows = windows::of_load(options, config).await?;
    let request = Request::new(&options.source.sources).with(topics);
    let inrush_sources::Opened { source, reopen, .. } =
        environment.registry.open(&request).await.map_err(not_opened)?;
    Ok(match windows {
        Some(over) => Opened { source: over(source), reopen: None, model: None },
        None => Opened { source, reopen, model: None },
    })
}

/// The query, given in the syntax of a search or as the part under `query`.
fn search_query(given: &SearchQuery) -> Result<Value, OptionError> {
    let wrong = |problem: String| OptionError::value("query", problem);
    let value: Value = match given {
        SearchQuery::Json(value) => value.clone(),
        SearchQuery::Text(text) => {
            let text = match text.strip_prefix('@') {
                Some(path) => {
                    std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot read {path}: {error}")))?
                }
                None => text.clone(),
            };
            serde_json::from_str(&text).map_err(|error| wrong(format!("not valid JSON: {error}")))?
        }
    };
    let Value::Object(mut object) = value else {
        return Err(wrong("expected a JSON object such as {\"term\": {\"color\": \"red\"}}".to_owned()));
    };
    match object.remove("query") {
        Some(query) if object.is_empty() => Ok(query),
        Some(_) => {
            let others: Vec<_> = object.keys().map(|other| format!("`{other}`")).collect();
            Err(wrong(format!("holds {} besides `query`, but only the query is used", others.join(", "))))
        }
        None if object.len() == 1 => Ok(Value::Object(object)),
        None => Err(wrong("expected one query, as under `query` of a search".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_is_given_in_either_form() {
        let parse = |text: &str| search_query(&SearchQuery::Text(text.to_owned()));
        assert_eq!(parse(r#"{"term":{"a":1}}"#).unwrap(), json!({"term": {"a": 1}}));
        assert_eq!(parse(r#"{"query":{"match_all":{}}}"#).unwrap(), json!({"match_all": {}}));
        assert_eq!(search_query(&SearchQuery::Json(json!({"term": {}}))).unwrap(), json!({"term": {}}));
        for (text, problem) in [
            (r#"{"query":{},"size":3}"#, "holds `size` besides `query`"),
            (r#"{"term":{},"terms":{}}"#, "expected one query"),
            ("{}", "expected one query"),
            ("[]", "expected a JSON object"),
            ("{", "not valid JSON"),
            ("@/nowhere/at/all", "cannot read /nowhere/at/all"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}

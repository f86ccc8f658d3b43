//! The kinds of sources, as the options of a load see them: what is done with a kind, the options
//! that are its own, and how they become a source. A kind is a file here and an entry in [`KINDS`].

mod database;
mod files;
mod index;
pub(super) mod kafka;

use std::sync::Arc;

pub(super) use files::{READ_ONCE, check_some};
use inrush_cluster::BoxFuture;
use inrush_kafka::KafkaKind;
use inrush_load::LoadError;
use inrush_load::config::{Limits, LoadConfig};
use inrush_sources::index::IndexKind;
use inrush_sources::{
    DatabaseKind, FileOptions, FilesKind, FormatOptions, Limited, OpenError, Reopen, Request, Source, SourceError,
    SourceKind,
};

use super::{Environment, Model, format};
use crate::options::{LoadOptions, OptionError, OptionGroup, OptionInfo, OrAuto, ReadingOptions};

/// The kinds, in the order in which they check the arguments. Arguments that no other kind
/// recognises are files. Where an option is for several kinds, messages name the first.
static KINDS: [(&dyn SourceKind, &Kind); 4] = [
    (&IndexKind, &index::INDICES),
    (&DatabaseKind, &database::DATABASES),
    (&KafkaKind, &kafka::TOPICS),
    (&FilesKind, &files::FILES),
];

/// The part of the memory of a load that its source takes.
const MEMORY_PART: usize = 4;

/// A kind of source.
pub(super) struct Kind {
    /// Its sources, as in `databases`.
    pub(super) many: &'static str,
    /// How a source is named, as in `name a database as in postgres://user@host/database`.
    pub(super) example: &'static str,
    /// Why a source of this kind is the only one of a load. `None`: there may be several.
    pub(super) alone: Option<&'static str>,
    /// The options that are for this kind.
    pub(super) options: &'static [&'static [OptionInfo]],
    /// The options of files that are for this kind, too.
    pub(super) reads: fn(&ReadingOptions, &str) -> bool,
    /// Why the other options of files are not for this kind, as in `whose rows have types`.
    pub(super) read_as: &'static str,
    /// Whether the documents have ids without an option that names them.
    pub(super) has_ids: bool,
    /// What is done with the sources besides loading them.
    pub(super) can: fn(Use) -> Can,
    /// Opens the sources.
    pub(super) open: for<'a> fn(Opening<'a>) -> BoxFuture<'a, Result<Opened, LoadError>>,
}

/// What a command, or an option of a load, does with the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Use {
    /// Load them.
    Load,
    /// Read their beginning, and change nothing.
    DryRun,
    /// Bake them, which reads them again where a build failed.
    Bake,
    /// Compare them with an index.
    Verify,
    /// Load them several times, each time with other settings.
    Sweep,
    /// Write them in another format.
    Convert,
    /// Infer a mapping of all documents.
    Infer,
    /// Infer the mapping of the index before the load.
    Map,
    /// Choose the number of shards before the load.
    Shards,
    /// Be the tables of queries.
    Query,
}

/// Whether sources of a kind can be used in a way.
pub(super) enum Can {
    Do,
    /// The use reads files. This is what to do instead.
    NoFiles(&'static str),
    /// The use reads the sources twice. This is why it cannot.
    Once(&'static str),
    /// What is wrong, and what to do instead.
    Never(&'static str, &'static str),
}

impl Use {
    /// The option that is about this use.
    fn option(self) -> &'static str {
        match self {
            Use::Map => "map",
            Use::Shards => "shards",
            Use::Query => "sql",
            Use::Load | Use::DryRun | Use::Bake | Use::Verify | Use::Sweep | Use::Convert | Use::Infer => "sources",
        }
    }

    /// What reads files, as the beginning of a sentence.
    fn reads_files(self) -> &'static str {
        match self {
            Use::Bake => "a bake reads files",
            Use::Sweep => "a sweep reads files for each run",
            Use::Convert => "a conversion reads files",
            Use::Query => "a query in SQL reads files",
            _ => "files are needed here",
        }
    }
}

/// The sources that were found, and their kind.
pub(super) struct Found<'a> {
    pub(super) kind: &'static Kind,
    /// The source as messages name it, without secrets.
    name: String,
    /// Opens the sources. `None`: no argument names them.
    source: Option<&'a dyn SourceKind>,
}

/// An open source, and the model for the target.
pub(super) struct Opened {
    pub(super) source: Box<dyn Source>,
    pub(super) reopen: Option<Reopen>,
    pub(super) model: Option<Model>,
}

impl From<inrush_sources::Opened> for Opened {
    fn from(opened: inrush_sources::Opened) -> Self {
        Opened { source: opened.source, reopen: opened.reopen, model: None }
    }
}

impl Opened {
    /// The first records only, if there is a limit.
    fn limited(self, records: Option<u64>) -> Self {
        let Some(records) = records else { return self };
        let reopen = self.reopen.map(|open| -> Reopen {
            Arc::new(move || -> Result<Box<dyn Source>, SourceError> { Ok(Box::new(Limited::new(open()?, records))) })
        });
        Opened { source: Box::new(Limited::new(self.source, records)), reopen, model: self.model }
    }
}

/// All that a kind needs to open its sources.
pub(super) struct Opening<'a> {
    pub(super) load: &'a LoadOptions,
    /// A kind may change it: it takes memory, for example.
    pub(super) config: &'a mut LoadConfig,
    pub(super) environment: &'a Environment,
    source: &'a dyn SourceKind,
}

impl Opening<'_> {
    /// A request for the sources, without options.
    pub(super) fn request(&self) -> Request {
        Request::new(&self.load.source.sources)
    }

    /// Opens the sources of the request.
    pub(super) async fn open(&self, request: &Request) -> Result<inrush_sources::Opened, LoadError> {
        self.source.open(request).await.map_err(not_opened)
    }
}

/// Takes memory for a source, at most this, from that of the load. Batches have the rest.
pub(super) fn take_memory(limits: &mut Limits, most: usize) -> usize {
    let memory = most.min(limits.memory / MEMORY_PART);
    let batches = limits.batch_bytes.unwrap_or(1) * limits.in_flight.unwrap_or(1) as usize;
    limits.memory = (limits.memory - memory).max(batches);
    memory
}

/// Refuses the options of rows since the last load for a use that is no load.
fn check_since(load: &LoadOptions, what: Use) -> Result<(), OptionError> {
    let is_load = matches!(what, Use::Load | Use::DryRun);
    let given = load.database.given().find(|info| !is_load && matches!(info.name, "since" | "since_overlap"));
    let Some(info) = given else { return Ok(()) };
    let message = format!("option `{}` is for loads, which keep the last value; all rows are read here", info.name);
    Err(OptionError::conflict(message).of(info.name).hint("leave it out, or choose the rows with option `db_query`"))
}

/// Refuses a limit of a source whose highest value is kept, because that would be the value of rows
/// beyond the limit.
fn check_limit_since(load: &LoadOptions, source: &dyn Source) -> Result<(), OptionError> {
    if load.shape.limit.is_none() || source.describe().since.is_none() {
        return Ok(());
    }
    let message = "option `limit` leaves rows out that option `since` would count as read";
    Err(OptionError::conflict(message).of("limit").hint("leave option `limit` or option `since` out"))
}

/// Refuses a limit of a source that goes on where an earlier run ended: how many records it had by
/// then is not known.
fn check_limit(load: &LoadOptions, source: &dyn Source) -> Result<(), OptionError> {
    let option = match (load.resume.resume, load.resume.once) {
        (true, _) => "resume",
        (_, true) => "once",
        _ => return Ok(()),
    };
    if load.shape.limit.is_none() || !source.describe().own_numbers {
        return Ok(());
    }
    let message = format!(
        "option `limit` does not work with option `{option}` here: this source goes on where the earlier run ended, \
         and the limit would count from there"
    );
    Err(OptionError::conflict(message).of("limit").hint(format!("leave option `limit` or option `{option}` out")))
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

/// Finds the kind of the sources. Only this asks the kinds whose the arguments are.
///
/// # Errors
/// Sources that exclude each other.
pub(super) fn find<'a>(load: &LoadOptions, added: &'a [Arc<dyn SourceKind>]) -> Result<Found<'a>, OptionError> {
    let sources = &load.source.sources;
    if load.source.from_dead_letters.is_some() {
        if !sources.is_empty() {
            return Err(OptionError::conflict("sources and option `from_dead_letters` exclude each other")
                .of("from_dead_letters")
                .hint("load one after the other"));
        }
        return Ok(Found { kind: &files::DEAD_LETTERS, name: String::new(), source: None });
    }
    // Whether an address is a file depends on these.
    let format =
        FormatOptions { format: load.reading.format, parse: format::parse(&load.reading), ..Default::default() };
    let request = Request::new(sources).files(FileOptions { format, ..FileOptions::default() });
    let own = added.iter().map(|source| (&**source, &files::OF_PROGRAM));
    let kinds = own.chain(KINDS.iter().map(|(source, kind)| (*source, *kind)));
    let found = kinds.into_iter().find_map(|(source, kind)| Some((source, kind, source.find(&request)?)));
    let Some((source, kind, name)) = found else {
        return Ok(Found { kind: &files::FILES, name: String::new(), source: None });
    };
    match kind.alone {
        Some(hint) if sources.len() > 1 => {
            let message = format!("{name} is {}, which has to be the only source", one(source));
            Err(OptionError::conflict(message).of("sources").hint(hint))
        }
        _ => Ok(Found { kind, name, source: Some(source) }),
    }
}

/// A source of this kind with its article, as in `an index`.
fn one(source: &dyn SourceKind) -> String {
    let article = if source.name().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {}", source.name())
}

impl Kind {
    /// Whether the option is for this kind.
    fn owns(&self, option: &str) -> bool {
        self.options.iter().copied().flatten().any(|info| info.name == option)
    }
}

impl Found<'_> {
    /// Documents that a program hands over.
    pub(super) fn of_program() -> Self {
        Found { kind: &files::HANDED_OVER, name: String::new(), source: None }
    }

    fn source(&self) -> &dyn SourceKind {
        self.source.unwrap_or(&FilesKind)
    }

    /// Refuses a use of the sources that is not possible, and options for other sources.
    ///
    /// # Errors
    /// The first that is refused.
    pub(super) fn check(&self, load: &LoadOptions, what: Use) -> Result<(), OptionError> {
        if load.query.given().next().is_some() {
            self.check_use(Use::Query)?;
        }
        self.check_options(load)?;
        self.check_use(what)?;
        check_since(load, what)?;
        if load.target.map.is_some() {
            self.check_use(Use::Map)?;
        }
        if load.target.shards == Some(OrAuto::Auto) {
            self.check_use(Use::Shards)?;
        }
        Ok(())
    }

    /// Refuses a use that is not possible.
    pub(super) fn check_use(&self, what: Use) -> Result<(), OptionError> {
        let (message, hint) = match ((self.kind.can)(what), what) {
            (Can::Do, _) => return Ok(()),
            (Can::Never(message, hint), _) => (message.to_owned(), hint),
            (Can::NoFiles(hint), _) => {
                (format!("{}, but the source is {}", what.reads_files(), one(self.source())), hint)
            }
            (Can::Once(why), Use::Shards) => {
                (format!("option `shards=auto` reads the sources twice, but {why}"), "give a number of shards")
            }
            (Can::Once(why), _) => (
                format!("option `map=auto` reads the sources twice, but {why}"),
                "give a mapping with option `mapping`",
            ),
        };
        Err(OptionError::conflict(message).of(what.option()).hint(hint))
    }

    /// Refuses given options that are for other sources.
    fn check_options(&self, load: &LoadOptions) -> Result<(), OptionError> {
        let is_ours = |info: &OptionInfo| self.kind.owns(info.name) || (self.kind.reads)(&load.reading, info.name);
        for info in load.given().filter(|info| !is_ours(info)) {
            let Some(owner) = KINDS.iter().find(|(_, kind)| kind.owns(info.name)) else { continue };
            let (message, hint) = self.refused(info.name, *owner);
            return Err(OptionError::conflict(message).of(info.name).hint(hint));
        }
        Ok(())
    }

    /// What is wrong with an option for another kind, and what to do.
    fn refused(&self, option: &str, (source, owner): (&dyn SourceKind, &Kind)) -> (String, String) {
        let leave_it_out = "leave it out".to_owned();
        if std::ptr::eq(self.kind, &files::DEAD_LETTERS) {
            let message = format!("option `{option}` does not work with option `from_dead_letters`");
            return (message, format!("{leave_it_out}: dead letters are documents already"));
        }
        if std::ptr::eq(self.kind, &files::HANDED_OVER) {
            return (format!("option `{option}` is for {}, but the program gives documents", owner.many), leave_it_out);
        }
        if std::ptr::eq(owner, &files::FILES) {
            let (kind, name) = (self.source().name(), &self.name);
            let why = match option {
                "vectors" => "where the order of documents is not known: row i goes into document i",
                _ => self.kind.read_as,
            };
            return (format!("option `{option}` does not apply to the {kind} {name}, {why}"), leave_it_out);
        }
        (
            format!("option `{option}` is for {}, but no SOURCE is {}", owner.many, one(source)),
            format!("{}, or leave the option out", owner.example),
        )
    }

    /// Opens the sources once more, for what is decided before the load.
    pub(super) async fn open_again(
        &self,
        load: &LoadOptions,
        config: &LoadConfig,
        environment: &Environment,
    ) -> Result<Box<dyn Source>, LoadError> {
        let (mut load, mut config) = (load.clone(), config.clone());
        // No column of a query is taken as the id.
        (load.target.id, config.id) = (None, None);
        Ok(self.open(&load, &mut config, environment).await?.source)
    }

    /// Opens the sources.
    pub(super) async fn open(
        &self,
        load: &LoadOptions,
        config: &mut LoadConfig,
        environment: &Environment,
    ) -> Result<Opened, LoadError> {
        let opened = (self.kind.open)(Opening { load, config, environment, source: self.source() }).await?;
        check_limit(load, &*opened.source)?;
        check_limit_since(load, &*opened.source)?;
        Ok(opened.limited(load.shape.limit.map(|records| u64::from(records.get()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(sources: &[&str]) -> LoadOptions {
        let mut load = LoadOptions::default();
        load.source.sources = sources.iter().map(Into::into).collect();
        load
    }

    #[test]
    fn the_kind_follows_from_the_arguments() {
        for (argument, kind) in [
            ("a.ndjson", "files"),
            ("-", "files"),
            ("https://host/a.csv.gz", "files"),
            ("s3://bucket/logs/*.parquet", "files"),
            ("https://host:9200/logs", "index"),
            ("postgres://me:hunter2@host/db", "database"),
            ("kafka://broker/orders", "topic"),
        ] {
            let load = load(&[argument]);
            let found = find(&load, &[]).unwrap();
            assert_eq!(found.source().name(), kind, "{argument}");
            assert!(!found.name.contains("hunter2"), "{}", found.name);
        }
        let mut with_format = load(&["https://host:9200/logs"]);
        with_format.give("format", "ndjson").unwrap();
        for load in [with_format, load(&[])] {
            assert_eq!(find(&load, &[]).unwrap().source().name(), "files");
        }
        for (sources, expected) in [
            (["a.csv", "mysql://h/db"], "mysql://h/db is a database, which has to be the only source"),
            (["https://h:9200/a", "https://h:9200/b"], "https://h:9200/a is an index, which has to be"),
            (["kafka://h/a", "a.csv"], "kafka://h:9092/a is a topic, which has to be"),
        ] {
            let error = find(&load(&sources), &[]).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn options_of_other_kinds_are_refused() {
        let sources = ["https://h:9200/a", "mysql://h/db", "kafka://h/a", "a.csv"];
        for (argument, (_, kind)) in sources.into_iter().zip(KINDS) {
            let load = load(&[argument]);
            assert!(std::ptr::eq(find(&load, &[]).unwrap().kind, kind), "{argument}");
        }
        for (source, name, value, expected) in [
            ("a.csv", "split_by", "id", "option `split_by` is for databases, but no SOURCE is a database"),
            ("a.csv", "from_user", "u", "is for an index of another cluster, but no SOURCE is an index"),
            ("a.csv", "group", "g", "option `group` is for topics of Kafka, but no SOURCE is a topic"),
            ("kafka://h/a", "db_table", "t", "option `db_table` is for databases, but no SOURCE is a database"),
            ("https://h:9200/a", "group", "g", "option `group` is for topics of Kafka"),
            ("mysql://h/db", "query", "{}", "is for an index of another cluster, but no SOURCE is an index"),
            ("mysql://h/db", "records", "a", "does not apply to the database mysql://h/db, whose rows have types"),
            ("https://h:9200/a", "null", "x", "does not apply to the index https://h:9200/a, whose documents are JSON"),
            ("mysql://h/db", "vectors", "v=a.npy", "does not apply to the database mysql://h/db, where the order of"),
            ("kafka://h/a", "vectors", "v=a.npy", "does not apply to the topic kafka://h:9092/a, where the order of"),
            ("https://h:9200/a", "vectors", "v=a.npy", "does not apply to the index https://h:9200/a, where the order"),
            ("kafka://h/a", "format", "csv", "does not apply to the topic kafka://h:9092/a, whose values are single"),
            ("mysql://h/db", "sql", "SELECT 1", "a query in SQL reads files, but the source is a database"),
            ("https://h:9200/a", "map", "auto", "the index has one already"),
            ("kafka://h/a", "shards", "auto", "a member of a group reads records once"),
        ] {
            let mut load = load(&[source]);
            load.give(name, value).unwrap();
            let error = find(&load, &[]).unwrap().check(&load, Use::Load).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.option(), Some(name));
        }
    }

    /// A source with or without numbers of its own.
    struct Empty(bool);

    impl Source for Empty {
        fn describe(&self) -> inrush_sources::SourceInfo {
            let mut info = inrush_sources::SourceInfo::new(["empty"]);
            info.own_numbers = self.0;
            info
        }

        fn next(&mut self, _: usize) -> Result<inrush_sources::Step, SourceError> {
            Ok(inrush_sources::Step::End)
        }
    }

    #[test]
    fn a_limit_counts_from_the_beginning_of_the_source() {
        for name in ["resume", "once"] {
            let mut load = load(&["https://h:9200/a"]);
            load.give(name, serde_json::json!(true)).unwrap();
            assert!(check_limit(&load, &Empty(true)).is_ok(), "{name} without a limit");
            load.give("limit", "3").unwrap();
            let error = check_limit(&load, &Empty(true)).unwrap_err();
            assert_eq!(error.option(), Some("limit"));
            assert!(error.to_string().contains(&format!("does not work with option `{name}`")), "{error}");
            assert!(check_limit(&load, &Empty(false)).is_ok(), "the records of a file are counted again");
        }
        let mut load = load(&["https://h:9200/a"]);
        load.give("limit", "3").unwrap();
        assert!(check_limit(&load, &Empty(true)).is_ok());
    }

    #[test]
    fn sources_are_used_as_they_can_be() {
        let refused = |source: &str, what: Use| find(&load(&[source]), &[]).unwrap().check_use(what).err();
        for source in ["a.csv", "-"] {
            for what in [Use::DryRun, Use::Bake, Use::Verify, Use::Sweep, Use::Convert, Use::Infer, Use::Query] {
                assert!(refused(source, what).is_none(), "{source} {what:?}");
            }
        }
        for (source, what, expected) in [
            ("mysql://h/db", Use::Bake, "a bake reads files, but the source is a database"),
            ("mysql://h/db", Use::Sweep, "a sweep reads files for each run, but the source is a database"),
            ("kafka://h/a", Use::Convert, "a conversion reads files, but the source is a topic"),
            ("https://h:9200/a", Use::Infer, "an index has a mapping already"),
            ("kafka://h/a", Use::DryRun, "would join their consumer group"),
            ("kafka://h/a", Use::Verify, "would join their consumer group"),
            ("kafka://h/a", Use::Query, "the source is a topic, which has no end"),
        ] {
            let error = refused(source, what).unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn rows_since_the_last_load_are_for_loads() {
        for (name, value) in [("since", "changed_at"), ("since_overlap", "5m")] {
            let mut load = load(&["mysql://h/db"]);
            load.give(name, value).unwrap();
            for what in [Use::Verify, Use::Convert, Use::Infer] {
                let error = find(&load, &[]).unwrap().check(&load, what).unwrap_err();
                assert!(error.to_string().contains(&format!("option `{name}` is for loads")), "{error}");
                assert_eq!(error.option(), Some(name));
            }
            for what in [Use::Load, Use::DryRun] {
                assert!(find(&load, &[]).unwrap().check(&load, what).is_ok(), "{what:?}");
            }
        }
    }

    #[test]
    fn a_quarter_of_the_memory_is_for_the_source_at_most() {
        let mut limits = Limits { memory: 100, batch_bytes: Some(30), in_flight: Some(3), ..Limits::default() };
        assert_eq!((take_memory(&mut limits, 10), limits.memory), (10, 90));
        // The batches have their memory in any case.
        assert_eq!((take_memory(&mut limits, 1000), limits.memory), (22, 90));
    }
}

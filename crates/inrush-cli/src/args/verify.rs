//! The flags of `inrush verify`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};
use inrush_commands::options::{
    DatabaseSourceOptions, LoginOptions, OptionValue, QueryOptions, ReadingOptions, SearchQuery, ShapeOptions,
    SourceLoginOptions, WatchOptions,
};
use inrush_core::{FieldPath, IndexTemplate};
use inrush_load::config::IdFrom;

use super::{Options, OutputArgs, one_of};

/// Compare a source with an index: the number of documents, and the documents that are missing in
/// the index, only there, or different.
#[derive(Debug, Args)]
#[command(after_help = "\
inrush reads the source and looks its documents up by id. Contents are compared as values: the order of keys and the notation
of numbers do not matter. If an id occurs several times in the source, the last document counts, as with load. Memory stays
small; ids are sorted in temporary files (TMPDIR), which take about 50 bytes per document.

Exit status:
  0    equal, as far as compared; `not proven` lists what could not be compared
  1    the comparison failed
  2    usage
  4    different
  130  interrupted")]
pub(crate) struct VerifyArgs {
    /// Files, globs in quotes ('logs/*.ndjson.zst'), - for stdin, a database, or an index of a
    /// cluster (https://host:9200/index, whose documents are matched by their ids), as for load
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath, required_unless_present = "table", help_heading = "Source")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) reading: Options<ReadingOptions>,
    #[command(flatten)]
    pub(crate) database: Options<DatabaseSourceOptions>,
    #[command(flatten)]
    pub(crate) sql: Options<QueryOptions>,
    #[command(flatten)]
    pub(crate) shape: Options<ShapeOptions>,
    #[command(flatten)]
    pub(crate) what: CompareArgs,
    /// The query that selects the documents of a source index, as JSON or @FILE, in the syntax of a
    /// search. Default: all
    #[arg(long, value_name = "JSON|@FILE", value_parser = SearchQuery::parse, help_heading = "Source: an index of another cluster")]
    pub(crate) query: Option<SearchQuery>,
    #[command(flatten)]
    pub(crate) source_login: Options<SourceLoginOptions>,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    #[command(flatten)]
    pub(crate) watch: Options<WatchOptions>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The index to compare with, and the comparison.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison", group = ArgGroup::new("ids").args(["id", "id_from"]))]
pub(crate) struct CompareArgs {
    /// Index, alias or data stream
    #[arg(long, value_name = "NAME")]
    pub(crate) index: IndexTemplate,
    /// Nodes of the cluster, as for load. Default: as for load
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) to: Vec<String>,
    /// The field that holds the id. Without it and --id-from, documents are only counted
    #[arg(long, value_name = "FIELD")]
    pub(crate) id: Option<FieldPath>,
    /// The origin of the ids that the load generated, `position` or `content`; needs the same
    /// sources by the same names in the same order
    #[arg(long, value_name = "WHAT", conflicts_with = "id", value_parser = one_of::<IdFrom>())]
    pub(crate) id_from: Option<IdFrom>,
    /// The field that holds the routing value, if the load used one
    #[arg(long, value_name = "FIELD", requires = "ids")]
    pub(crate) routing: Option<FieldPath>,
    /// Compare N random ids, 1 to 100000, instead of all; their documents are kept in memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) sample: Option<u32>,
    /// Write the missing or different documents to FILE, one JSON object per line, for `inrush load
    /// FILE` with the same --id, --routing and --drop; overwritten, and empty if there are none
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) missing: Option<PathBuf>,
}

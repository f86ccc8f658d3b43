//! The flags of `inrush convert`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use inrush_commands::options::{
    ByteSize, DatabaseSourceOptions, OptionValue, QueryOptions, ReadingOptions, SearchQuery, ShapeOptions,
    SourceLoginOptions,
};
use inrush_core::{Action, FieldPath};

use super::{Options, OutputArgs, one_of};

/// Convert documents from one format into another, or write those of an index, a database or a
/// query to a file, a folder or an object store.
#[derive(Debug, Args)]
#[command(after_help = "\
Output: NDJSON; SMILE, a binary form of JSON, which load reads, too; bulk bodies for /INDEX/_bulk; CSV and Parquet. In CSV a
field in an object has a column such as a.b, and an array is its JSON; in Parquet they are groups and lists. A record that is
not a document, or that the format cannot represent exactly, ends the conversion with an error that names the record. OUT
then does not exist: it is written to a temporary file beside it, which is renamed at the end; an object appears at the end,
too. For CSV and Parquet the documents of stdin, an index, a database or a query are kept in a second one (in TMPDIR where
OUT is no file; of a folder in a store, in the folder of the state).

A folder gets files part-000001.ndjson and so on, each when it is complete, and _inrush.json, which says which are. Readers of
folders skip that name. The folder is new or empty. After a crash, a signal or a failure the same command with --resume goes on.

Exit status:
  0  everything is in OUT
  1  a source could not be read, or a record could not be converted; there is no OUT, or a folder with complete parts
  2  usage
  130  interrupted; there is no OUT, or a folder with complete parts")]
pub(crate) struct ConvertArgs {
    /// File, folder, glob in quotes ('logs/*.ndjson.zst'), - for stdin, a database, or an index of
    /// a cluster (https://host:9200/index), as for load
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath, help_heading = "Source")]
    pub(crate) source: OsString,
    #[command(flatten)]
    pub(crate) reading: Options<ReadingOptions>,
    #[command(flatten)]
    pub(crate) database: Options<DatabaseSourceOptions>,
    #[command(flatten)]
    pub(crate) sql: Options<QueryOptions>,
    #[command(flatten)]
    pub(crate) shape: Options<ShapeOptions>,
    /// The query that selects the documents of an index, as JSON or @FILE, in the syntax of a
    /// search. Default: all
    #[arg(long, value_name = "JSON|@FILE", value_parser = SearchQuery::parse, help_heading = "Source: an index of another cluster")]
    pub(crate) query: Option<SearchQuery>,
    /// Write the id of a document as INDEX:ID, so that documents of several indices with one id
    /// stay apart
    #[arg(long, help_heading = "Source: an index of another cluster")]
    pub(crate) index_in_id: bool,
    #[command(flatten)]
    pub(crate) source_login: Options<SourceLoginOptions>,
    /// File or object (s3://bucket/key) to write, overwritten; a folder, whose name ends with /
    /// (out/, s3://bucket/out/) or which is there; or - for stdout. The file name extension sets
    /// the format: .ndjson, .jsonl, .json; .smile; .bulk; .csv; .parquet. After it, .gz and .zst
    /// compress. --store-option is for OUT, too
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Format of OUT. Default: by its file name extension
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) out_format: Option<OutFormat>,
    /// Compression of OUT, for a folder or stdout. Default: by the file name extension; none for a
    /// folder and stdout
    #[arg(long, value_enum, value_name = "COMPRESSION", help_heading = "Output")]
    pub(crate) out_compression: Option<OutCompression>,
    /// A folder: bytes of a file, about; the documents that reach them end it. Default: 128MiB
    #[arg(long, value_name = "SIZE", value_parser = ByteSize::parse, help_heading = "Output")]
    pub(crate) part_bytes: Option<ByteSize>,
    /// A folder: go on where the same command was cut off. Options or sources that have changed are
    /// refused. Documents that were written to an index meanwhile are read as well
    #[arg(long, help_heading = "Output")]
    pub(crate) resume: bool,
    /// Bulk bodies: the action for each document. Default: index
    #[arg(long, value_parser = one_of::<Action>(), help_heading = "Output")]
    pub(crate) action: Option<Action>,
    /// Write the id of each document into this field of it. The source is an index, or a file with
    /// ids. Bulk bodies have the ids in their action lines
    #[arg(long, value_name = "FIELD", help_heading = "Output")]
    pub(crate) id_as: Option<String>,
    /// Bulk bodies: the field that holds the id. Default: the ids of the source
    #[arg(long, value_name = "FIELD", help_heading = "Output")]
    pub(crate) id: Option<FieldPath>,
    /// Bulk bodies: the field that holds the routing value. Default: that of the source
    #[arg(long, value_name = "FIELD", help_heading = "Output")]
    pub(crate) routing: Option<FieldPath>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutFormat {
    /// One JSON document per line
    Ndjson,
    /// SMILE documents, each followed by 0xFF
    Smile,
    /// The body of a bulk request, as NDJSON
    Bulk,
    /// The body of a bulk request, as SMILE
    BulkSmile,
    /// A header and one row per document
    Csv,
    /// Parquet, compressed with zstd
    Parquet,
}

/// The compression of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutCompression {
    /// None
    None,
    /// gzip
    Gzip,
    /// zstd
    Zstd,
}

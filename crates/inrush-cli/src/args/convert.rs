//! What `inrush convert` can be told.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use inrush::options::ReadingOptions;
use inrush::{Action, FieldPath};

use super::{LogArgs, Options, one_of};

/// Convert documents from one format into another, as they stream by.
#[derive(Debug, Args)]
#[command(after_help = "\
Whatever load reads can be read. What is written: NDJSON; SMILE, binary JSON, which loads again; ready bulk bodies, to be sent to
/INDEX/_bulk; CSV and Parquet of flat documents. A record that is no document, or that the format cannot say exactly, ends it with an error that names it, and
OUT is not there then: it is written beside its place and moved there at the end.

Exit status:
  0  everything is in OUT
  1  a source could not be read, or a record could not be converted; there is no OUT
  2  usage")]
pub(crate) struct ConvertArgs {
    /// File, folder, glob in quotes ('logs/*.ndjson.zst'), or - for stdin, as for load
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath, help_heading = "Source")]
    pub(crate) source: OsString,
    #[command(flatten)]
    pub(crate) reading: Options<ReadingOptions>,
    /// File to write, overwritten, or - for stdout. Its ending tells the format: .ndjson, .jsonl, .json; .smile; .bulk; .csv; .parquet
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Format of OUT, where its ending does not tell
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) out_format: Option<OutFormat>,
    /// Bulk bodies: what happens with each document. Default: index
    #[arg(long, value_parser = one_of::<Action>(), help_heading = "Output")]
    pub(crate) action: Option<Action>,
    /// Bulk bodies: the field that holds the id. Default: no ids
    #[arg(long, value_name = "FIELD", help_heading = "Output")]
    pub(crate) id: Option<FieldPath>,
    /// Bulk bodies: the field that holds the routing value. Default: none
    #[arg(long, value_name = "FIELD", help_heading = "Output")]
    pub(crate) routing: Option<FieldPath>,
    /// Print what was done as one JSON object on stdout
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutFormat {
    /// One JSON document a line
    Ndjson,
    /// SMILE documents, each followed by 0xFF
    Smile,
    /// The body of a bulk request, as NDJSON
    Bulk,
    /// The body of a bulk request, as SMILE
    BulkSmile,
    /// A header and one row a document
    Csv,
    /// Parquet, compressed with zstd
    Parquet,
}

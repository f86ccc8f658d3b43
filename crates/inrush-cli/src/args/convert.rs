//! The flags of `inrush convert`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use inrush_commands::options::ReadingOptions;
use inrush_core::{Action, FieldPath};

use super::{LogArgs, Options, one_of};

/// Convert documents from one format into another, as a stream.
#[derive(Debug, Args)]
#[command(after_help = "\
Input: every source of `inrush load`. Output: NDJSON; SMILE, a binary form of JSON, which load reads, too; bulk bodies for
/INDEX/_bulk; CSV and Parquet for flat documents. A record that is not a document, or that the format cannot represent
exactly, ends the conversion with an error that names the record. OUT then does not exist: it is written to a temporary file
beside it, which is renamed at the end.

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
    /// File to write, overwritten, or - for stdout. The file name extension sets the format:
    /// .ndjson, .jsonl, .json; .smile; .bulk; .csv; .parquet
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Format of OUT. Default: by its file name extension
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) out_format: Option<OutFormat>,
    /// Bulk bodies: the action for each document. Default: index
    #[arg(long, value_parser = one_of::<Action>(), help_heading = "Output")]
    pub(crate) action: Option<Action>,
    /// Bulk bodies: the field that holds the id. Default: no ids
    #[arg(long, value_name = "FIELD", help_heading = "Output")]
    pub(crate) id: Option<FieldPath>,
    /// Bulk bodies: the field that holds the routing value. Default: none
    #[arg(long, value_name = "FIELD", help_heading = "Output")]
    pub(crate) routing: Option<FieldPath>,
    /// Print the result as one JSON object on stdout
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
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

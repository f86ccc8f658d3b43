//! The flags of `inrush mapping`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use inrush_commands::mapping::{KnownProduct, Mixed};
use inrush_commands::options::{DatabaseSourceOptions, QueryOptions, ReadingOptions, ShapeOptions};

use super::{LogArgs, Options, one_of};

/// Infer a mapping from data, for `inrush load --mapping`.
#[derive(Debug, Args)]
#[command(after_help = "\
All documents are read, unless --rows limits them. The mapping goes to stdout or --out. Notes for decisions by a person go to
stderr: fields that hold numbers and text, with their rows; dates that could be read in two ways; and similar.

Whole numbers become integer or long, others double; strings that all look like a date, an IP address, a boolean or a point
get that type; strings that repeat or are one word become keyword, other strings text with a keyword subfield. Objects of lat
and lon become geo_point. Memory is bounded: at most 10,000 fields are examined.

Exit status:
  0  a mapping was written; check the notes and the records that are not documents
  1  a source could not be read, or has no documents
  2  usage")]
pub(crate) struct MappingArgs {
    /// Files, globs in quotes ('logs/*.ndjson.zst'), - for stdin, or a database, as for load
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath, required_unless_present = "table", help_heading = "Source")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) reading: Options<ReadingOptions>,
    #[command(flatten)]
    pub(crate) database: Options<DatabaseSourceOptions>,
    #[command(flatten)]
    pub(crate) query: Options<QueryOptions>,
    #[command(flatten)]
    pub(crate) shape: Options<ShapeOptions>,
    /// The type of a field that is an object in some documents and a value in others, or a number
    /// in some and text in others. Default widen
    #[arg(long, value_name = "HOW", value_parser = one_of::<Mixed>(), help_heading = "Output")]
    pub(crate) mixed: Option<Mixed>,
    /// The product whose type vectors get: lists of 32 to 4,096 numbers, of equal length in every
    /// document. Default elasticsearch
    #[arg(long, value_name = "PRODUCT", value_parser = one_of::<KnownProduct>(), help_heading = "Output")]
    pub(crate) product: Option<KnownProduct>,
    /// Read only the first N records
    #[arg(long, value_name = "N", conflicts_with = "limit", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Output")]
    pub(crate) rows: Option<u64>,
    /// Write the mapping to FILE instead of stdout; overwritten
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print mapping, notes and counts as one JSON object on stdout
    #[arg(long, conflicts_with = "out", help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

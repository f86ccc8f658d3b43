//! The flags that say how sources are read: formats, and what each of them has to be told.

use clap::{Args, ValueEnum};
use inrush::source::{FixedColumn, LogFormat, RecordsPath};

use crate::units::parse_bytes_positive;

/// How sources are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source")]
pub(crate) struct FormatArgs {
    /// Format of the sources. Default: told from the first bytes of each ({ is ndjson, or json
    /// where a value goes over several lines, [ is json; Parquet, Arrow, Avro, workbooks) and the
    /// ending of its name (.ndjson, .jsonl, .json; .csv, .tsv, .psv; .txt, .log are text)
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// JSON: the field with the documents, where they are inside of an object: an array, as in
    /// features, hits.hits, or as a JSON pointer (/a.b/c). Read as it comes, however long. Default:
    /// each value is a document, and each element of an array
    #[arg(long, value_name = "PATH", value_parser = str::parse::<RecordsPath>)]
    pub(crate) records: Option<RecordsPath>,
    /// Text: the field that holds each line. Default: message
    #[arg(long, value_name = "FIELD")]
    pub(crate) field: Option<String>,
    /// Text: each line is one of a web server's access log, `combined` or `common`; its parts become fields. A line that is
    /// something else is a dead letter
    #[arg(long, value_name = "FORMAT", value_parser = str::parse::<LogFormat>, conflicts_with_all = ["parse_regex", "fixed_width"])]
    pub(crate) parse: Option<LogFormat>,
    /// Text: the named groups of a regular expression become fields, as in '^(?<level>\w+) (?<text>.*)'; types from --schema.
    /// A line that does not match is a dead letter
    #[arg(long, value_name = "REGEX", conflicts_with = "fixed_width")]
    pub(crate) parse_regex: Option<String>,
    /// Text: columns of fixed width, in characters from 1, as in id:1-8,name:9-40,rest:41-; types from --schema
    #[arg(long, value_name = "NAME:FIRST-LAST,…", value_delimiter = ',')]
    pub(crate) fixed_width: Vec<FixedColumn>,
    /// CSV: what separates cells, one ASCII character, or `tab`. Default: a comma, a tab with --format tsv
    #[arg(long, value_name = "CHAR", value_parser = parse_separator)]
    pub(crate) separator: Option<u8>,
    /// CSV: what encloses cells that hold separators, one ASCII character, or `none`. Default: "
    #[arg(long, value_name = "CHAR", value_parser = parse_quote)]
    pub(crate) quote: Option<Quote>,
    /// CSV: what takes the meaning of a quote, separator, line end or itself after it, one ASCII
    /// character, as in '\' for MySQL's exports; \N without quotes is an empty cell then. Default:
    /// none, a quote inside of quotes is doubled
    #[arg(long, value_name = "CHAR", value_parser = parse_escape)]
    pub(crate) escape: Option<u8>,
    /// Workbooks: the sheet, by name or number from 1. Default: the first one that is not hidden
    #[arg(long, value_name = "SHEET")]
    pub(crate) sheet: Option<String>,
    /// Workbooks: the row that has the names of the columns, from 1; what is above it is left out. Default: the first one that
    /// is not empty
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) header_row: Option<u32>,
    /// Workbooks: the most that one may unpack to, with its pictures, because a sheet is held in memory; about two to three times as much is
    /// taken. Default 512MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_positive)]
    pub(crate) workbook_bytes: Option<u64>,
    /// CSV, workbooks: the first row is data. Columns are named by --columns, else c1, c2, …
    #[arg(long)]
    pub(crate) no_header: bool,
    /// CSV, workbooks: names of the columns in order, for files without a header: the first row is data
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// CSV, --parse-regex, --fixed-width: types of columns instead of the ones that are found, as in id:string,price:float.
    /// An integer 007 or +5 is 7 or 5, as an id, too
    #[arg(long, value_name = "COLUMN:TYPE,…", value_delimiter = ',')]
    pub(crate) schema: Vec<String>,
    /// CSV: every column is a string, but those that --schema names
    #[arg(long)]
    pub(crate) all_strings: bool,
    /// CSV: cells with this content count as empty, as in NA or \N: the field is absent; repeated for several
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) null: Vec<String>,
    /// NDJSON, JSON: check that every document is a JSON object before it is sent; others are dead
    /// letters. Costs about a second of one core for a gigabyte. Default: the cluster finds out
    #[arg(long)]
    pub(crate) validate: bool,
    /// Folders in a path such as year=2024 are no fields. By default the documents of the files in them get them, as whole numbers or
    /// strings, unless they have such a field of their own
    #[arg(long)]
    pub(crate) no_hive_partitions: bool,
    /// Parquet, Arrow, Avro, SQL, data frames: how timestamps are written. epoch-millis is less work for the cluster, and needs a mapping that says
    /// that the field is a date; values that are no whole milliseconds are written as iso [default: iso]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) timestamps: Option<Timestamps>,
    /// Object stores: what the environment does not say, as in endpoint=http://localhost:7070, region=eu-west-1, allow_http=true or
    /// anonymous=true; repeated for several. No secrets: those come from the environment (AWS_*, GOOGLE_*, AZURE_*), the AWS profile or
    /// the machine's identity
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) store_option: Vec<String>,
    /// Character set of the sources, as in latin1 (which is windows-1252, as browsers take it),
    /// utf-16le or shift_jis; bytes that it does not have become U+FFFD, with a warning. With ascii
    /// any other byte ends the source. Default: UTF-8, or what a byte order mark says; a record
    /// that is no UTF-8 is a dead letter
    #[arg(long, value_name = "NAME")]
    pub(crate) charset: Option<String>,
}

impl FormatArgs {
    /// The first flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        self.given_for_files().or(self.timestamps.map(|_| "--timestamps"))
    }

    /// The first flag that was given and means something only where files are read.
    pub(crate) fn given_for_files(&self) -> Option<&'static str> {
        [
            ("--format", self.format.is_some()),
            ("--records", self.records.is_some()),
            ("--field", self.field.is_some()),
            ("--charset", self.charset.is_some()),
            ("--separator", self.separator.is_some()),
            ("--quote", self.quote.is_some()),
            ("--escape", self.escape.is_some()),
            ("--no-header", self.no_header),
            ("--columns", !self.columns.is_empty()),
            ("--schema", !self.schema.is_empty()),
            ("--all-strings", self.all_strings),
            ("--null", !self.null.is_empty()),
            ("--sheet", self.sheet.is_some()),
            ("--header-row", self.header_row.is_some()),
            ("--workbook-bytes", self.workbook_bytes.is_some()),
            ("--parse", self.parse.is_some()),
            ("--parse-regex", self.parse_regex.is_some()),
            ("--fixed-width", !self.fixed_width.is_empty()),
            ("--validate", self.validate),
            ("--no-hive-partitions", self.no_hive_partitions),
            ("--store-option", !self.store_option.is_empty()),
        ]
        .into_iter()
        .find(|(_, given)| *given)
        .map(|(flag, _)| flag)
    }
}

/// How timestamps of columns are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Timestamps {
    /// Text, as in 2024-01-31T10:00:00.123Z
    Iso,
    /// Milliseconds since 1970, a number
    EpochMillis,
}

/// How the sources are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object a line
    Ndjson,
    /// Cells separated by commas, or by --separator
    Csv,
    /// Cells separated by tabs
    Tsv,
    /// Every line is a document with one field, --field
    Text,
    /// JSON values, one after another: each is a document, over any lines; of an array, each
    /// element is
    #[value(alias = "json-array")]
    Json,
    /// The same values, which are search hits: of a search's reply (with --records hits.hits), or
    /// as elasticdump writes them. The document is `_source`, its id `_id`
    Hits,
    /// Parquet
    Parquet,
    /// Arrow IPC, stream or file, also Feather V2
    Arrow,
    /// Avro
    Avro,
    /// A sheet of a workbook: .xlsx, .xlsm, .xlsb, .xls or .ods
    Excel,
    /// SMILE documents, each followed by 0xFF, as inrush convert writes them
    Smile,
    /// Bodies of bulk requests: action lines and documents; what an action line says wins over the flags
    Bulk,
}

impl Format {
    /// Whether the flags for columns mean something.
    pub(crate) fn has_columns(self) -> bool {
        match self {
            Format::Csv | Format::Tsv => true,
            Format::Ndjson
            | Format::Text
            | Format::Json
            | Format::Hits
            | Format::Parquet
            | Format::Arrow
            | Format::Avro
            | Format::Excel
            | Format::Smile
            | Format::Bulk => false,
        }
    }

    /// As it is given to `--format`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Text => "text",
            Format::Json => "json",
            Format::Hits => "hits",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Avro => "avro",
            Format::Excel => "excel",
            Format::Smile => "smile",
            Format::Bulk => "bulk",
        }
    }
}

/// What encloses cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quote {
    Character(u8),
    None,
}

fn parse_separator(text: &str) -> Result<u8, String> {
    if text == "tab" { Ok(b'\t') } else { parse_character(text, "tab") }
}

fn parse_quote(text: &str) -> Result<Quote, String> {
    if text == "none" { Ok(Quote::None) } else { parse_character(text, "none").map(Quote::Character) }
}

fn parse_escape(text: &str) -> Result<u8, String> {
    parse_character(text, "\\")
}

fn parse_character(text: &str, word: &str) -> Result<u8, String> {
    let text = if text == "\\t" { "\t" } else { text };
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n') => Ok(*byte),
        _ => Err(format!("expected one ASCII character, or `{word}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_one_character() {
        assert_eq!(parse_separator(";"), Ok(b';'));
        assert_eq!(parse_separator("tab"), Ok(b'\t'));
        assert_eq!(parse_separator("\\t"), Ok(b'\t'));
        assert_eq!(parse_quote("'"), Ok(Quote::Character(b'\'')));
        assert_eq!(parse_quote("none"), Ok(Quote::None));
        assert_eq!(parse_escape("\\"), Ok(b'\\'));
        for bad in ["", ";;", "é", "\n"] {
            assert!(parse_separator(bad).is_err(), "{bad:?}");
        }
    }
}

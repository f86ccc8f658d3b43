//! The formats of records, by their names.

use std::str::FromStr;

use serde::Serialize;

use crate::vector_format::VectorFormat;

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Format {
    /// One JSON document a line (`ndjson`, also `jsonl`).
    Ndjson,
    /// Cells with separators, a header above them, and quotes (`csv`).
    Csv,
    /// The same with tabs (`tsv`).
    Tsv,
    /// Lines of text. Each becomes a document with one field (`text`).
    Text,
    /// JSON values one after another, with any line breaks (`json`, also `json-array`). Each value
    /// is a document. Of an array, each element is a document.
    Json,
    /// JSON values that are search hits, as a search returns them and as elasticdump writes them
    /// (`hits`). The document is the `_source`, the id the `_id`, the routing value the `_routing`.
    Hits,
    /// Parquet (`parquet`).
    Parquet,
    /// Arrow IPC, stream or file, which is also Feather V2 (`arrow`).
    Arrow,
    /// Avro object container files (`avro`).
    Avro,
    /// A sheet of a workbook: `.xlsx`, `.xlsm`, `.xlsb`, `.xls` or `.ods` (`excel`).
    Excel,
    /// SMILE documents, each with its header and followed by `0xFF` (`smile`).
    Smile,
    /// A file of vectors, as one of `npy`, `fvecs`, `bvecs`, `ivecs`, `fbin`, `u8bin` and `i8bin`.
    /// Each row becomes a document with one field.
    Vectors(VectorFormat),
    /// Bodies of bulk requests (`bulk`): action lines, each followed by its document unless the
    /// action is a delete. Values of an action line take precedence over the options of the job.
    Bulk,
    /// The dead letters of an earlier load (`dead-letters`): one JSON object a line, with the
    /// `document`, or else its `text` or `base64`, and the `action` it was sent with.
    DeadLetters,
}

impl Format {
    /// The name in options.
    pub fn name(self) -> &'static str {
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
            Format::Vectors(format) => format.name(),
            Format::Bulk => "bulk",
            Format::DeadLetters => "dead-letters",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "ndjson" | "jsonl" => Ok(Format::Ndjson),
            "csv" => Ok(Format::Csv),
            "tsv" => Ok(Format::Tsv),
            "text" => Ok(Format::Text),
            "json" | "json-array" => Ok(Format::Json),
            "hits" => Ok(Format::Hits),
            "parquet" => Ok(Format::Parquet),
            "arrow" => Ok(Format::Arrow),
            "avro" => Ok(Format::Avro),
            "excel" => Ok(Format::Excel),
            "smile" => Ok(Format::Smile),
            "bulk" => Ok(Format::Bulk),
            "dead-letters" => Ok(Format::DeadLetters),
            _ => VectorFormat::by_name(name).map(Format::Vectors).ok_or_else(|| {
                format!(
                    "unknown format {name:?}; expected ndjson, json, hits, csv, tsv, text, parquet, arrow, avro, excel, smile, npy, fvecs, bvecs, ivecs, fbin, u8bin, i8bin, bulk or dead-letters"
                )
            }),
        }
    }
}

impl Format {
    /// Whether the sources are JSON text with nothing between the documents.
    pub(super) fn is_json(self) -> bool {
        matches!(self, Format::Ndjson | Format::Json | Format::Hits)
    }

    /// Whether the documents may be extended JSON.
    pub(crate) fn takes_extended_json(self) -> bool {
        matches!(self, Format::Ndjson | Format::Json)
    }

    /// Whether the format is binary, so that its bytes must not be converted from a charset.
    pub(super) fn is_binary(self) -> bool {
        match self {
            Format::Parquet | Format::Arrow | Format::Avro | Format::Excel | Format::Smile | Format::Vectors(_) => true,
            Format::Ndjson
            | Format::Json
            | Format::Hits
            | Format::Csv
            | Format::Tsv
            | Format::Text
            | Format::Bulk
            | Format::DeadLetters => false,
        }
    }
}

//! Converts documents from one format into another, as a stream. A record that the format cannot
//! represent ends the conversion with an error that names it: nothing is left out or changed
//! silently.

mod csv;
mod documents;
#[cfg(feature = "parquet")]
mod parquet;
mod table;

use std::collections::HashMap;
use std::io::{self, Write};

use inrush_core::{Action, Code, DocBlock, FieldPath, SourceId};
use inrush_sources::CHUNK_BYTES;
use inrush_sources::{Source, SourceError};

/// The output format.
#[derive(Clone, Debug)]
pub enum Target {
    /// NDJSON, one document per line.
    Ndjson,
    /// SMILE documents, each with its header and followed by `0xFF`.
    Smile,
    /// The body of a bulk request as NDJSON: an action line before each document. The request's
    /// path names the index.
    Bulk(BulkLines),
    /// The body of a bulk request as SMILE.
    BulkSmile(BulkLines),
    /// CSV: a header, and one row per document. Documents have to be flat. The source is read
    /// twice.
    Csv,
    /// Parquet: one row per document. Documents have to be flat, and each field of one type. The
    /// source is read twice.
    Parquet,
}

/// The content of action lines.
#[derive(Clone, Debug, Default)]
pub struct BulkLines {
    /// The action for each document. Default `index`.
    pub action: Action,
    /// The field that holds the id.
    pub id: Option<FieldPath>,
    /// The field that holds the routing value.
    pub routing: Option<FieldPath>,
}

/// The result of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Documents.
    pub docs: u64,
    /// Bytes of the sources, before decompression.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// Why a conversion failed. The output written before is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The source cannot be read any further.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A record is not a document, or the format cannot represent it.
    #[error("{source_name} row {row}: {problem}")]
    Record {
        /// The source's name.
        source_name: String,
        /// Line or row, from 1.
        row: u64,
        /// The kind.
        code: Code,
        /// The value found, the value expected, and what to do.
        problem: String,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
    /// The output is impossible as a whole.
    #[error("{0}")]
    Impossible(String),
}

impl ConvertError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            ConvertError::Source(error) => error.code,
            ConvertError::Record { code, .. } => *code,
            ConvertError::Impossible(_) => Code::NotConvertible,
            ConvertError::Write(_) => Code::OutputFailed,
        }
    }
}

/// Converts `source` into `target`. `again` opens the source once more, for formats that read it
/// twice.
///
/// # Errors
/// [`ConvertError`]. The first record that is not a document, or that the format cannot represent,
/// ends the conversion.
pub fn convert(
    source: &mut dyn Source,
    again: impl FnOnce() -> Result<Box<dyn Source>, SourceError>,
    target: &Target,
    out: impl Write + Send,
) -> Result<Converted, ConvertError> {
    let info = source.describe();
    if info.is_endless {
        return Err(ConvertError::Impossible(format!("{} never ends, and a file has an end", info.title())));
    }
    let mut out = Counted { out, bytes: 0 };
    let mut converted = match target {
        Target::Ndjson => documents::ndjson(source, &mut out)?,
        Target::Smile => documents::smile(source, &mut out)?,
        Target::Bulk(lines) => documents::bulk(source, lines, false, &mut out)?,
        Target::BulkSmile(lines) => documents::bulk(source, lines, true, &mut out)?,
        Target::Csv => {
            let columns = table::columns(source)?;
            csv::write(again()?.as_mut(), &columns, &mut out)?
        }
        #[cfg(feature = "parquet")]
        Target::Parquet => {
            let columns = table::columns(source)?;
            parquet::write(again()?.as_mut(), &columns, &mut out)?
        }
        #[cfg(not(feature = "parquet"))]
        Target::Parquet => {
            let why = "this build cannot write parquet; build it with the cargo feature parquet";
            return Err(ConvertError::Impossible(why.to_owned()));
        }
    };
    out.flush()?;
    converted.bytes_written = out.bytes;
    Ok(converted)
}

/// Calls `each` with every block, whose records are all documents, and the names of its rows.
fn for_each_block(
    source: &mut dyn Source,
    mut each: impl FnMut(DocBlock, &Rows<'_>) -> Result<(), ConvertError>,
) -> Result<Converted, ConvertError> {
    let names = source.describe().names;
    let mut lines: HashMap<(SourceId, u32), u64> = HashMap::new();
    let mut converted = Converted::default();
    while let Some(chunk) = source.next_chunk(CHUNK_BYTES)? {
        let block = chunk.into_block();
        // A block knows only its own lines.
        let before = lines.entry((block.origin.source, block.origin.partition)).or_default();
        let name = names.get(block.origin.source.0 as usize).map_or("-", String::as_str);
        let lines = block.records.iter().map(|record| *before + 1 + u64::from(record.line)).collect();
        let rows = Rows { name, lines };
        *before += block.lines;
        if let Some(reject) = block.rejects.first() {
            return Err(rows.coded(reject.record as usize, reject.kind, reject.reason.clone()));
        }
        converted.docs += block.records.len() as u64;
        converted.bytes_read += block.bytes_read;
        each(block, &rows)?;
    }
    Ok(converted)
}

/// The source and rows of a block, for errors.
struct Rows<'a> {
    name: &'a str,
    lines: Vec<u64>,
}

impl Rows<'_> {
    fn error(&self, record: usize, problem: impl Into<String>) -> ConvertError {
        self.coded(record, Code::NotConvertible, problem.into())
    }

    /// An error of this kind, such as that of a record that is no document.
    fn coded(&self, record: usize, code: Code, problem: String) -> ConvertError {
        let row = self.lines.get(record).copied().unwrap_or(0);
        ConvertError::Record { source_name: self.name.to_owned(), row, code, problem }
    }
}

struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.out.write(data)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

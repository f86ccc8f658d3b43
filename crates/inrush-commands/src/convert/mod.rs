//! Converts documents from one format into another, as a stream. A record that the format cannot
//! represent ends the conversion with an error that names it: nothing is left out or changed
//! silently.

mod csv;
mod documents;
mod packed;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod shape;
mod value;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use packed::Packed;
pub use packed::Packing;

use inrush_core::{Action, Code, DocBlock, FieldPath, SourceId};
use inrush_sources::CHUNK_BYTES;
use inrush_sources::{Format, FormatOptions, Source, SourceError, SourceSpec, Warnings, open};

/// The output format.
#[derive(Clone, Debug)]
pub enum OutputFormat {
    /// NDJSON, one document per line.
    Ndjson,
    /// SMILE documents, each with its header and followed by `0xFF`.
    Smile,
    /// The body of a bulk request as NDJSON: an action line before each document. The request's
    /// path names the index.
    Bulk(BulkLines),
    /// The body of a bulk request as SMILE.
    BulkSmile(BulkLines),
    /// CSV: a header, and one row per document. A field in an object has a column with the names of
    /// both, as in `a.b`; an array is its JSON. The source is read twice.
    Csv,
    /// Parquet: one row per document, objects as groups and arrays as lists. Each field has to be
    /// of one type. The source is read twice.
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

/// The output.
#[derive(Clone, Debug)]
pub struct Output {
    /// The format.
    pub target: OutputFormat,
    /// The compression. Parquet has its own.
    pub packing: Packing,
    /// Documents get their ids as a field of this name. The source has to know ids, as an index
    /// does.
    pub id_as: Option<String>,
}

impl From<OutputFormat> for Output {
    /// Without compression and ids.
    fn from(target: OutputFormat) -> Self {
        Output { target, packing: Packing::None, id_as: None }
    }
}

/// How the documents are read once more, for formats that need two readings.
pub enum Again<'a> {
    /// The same source is opened once more.
    Open(Box<dyn FnOnce() -> Result<Box<dyn Source>, SourceError> + 'a>),
    /// The source can be read once, or may change. The documents are kept in this file, which the
    /// caller has made and deletes.
    Keep(&'a Path),
}

/// The result of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Documents.
    pub docs: u64,
    /// Bytes of the sources, before decompression.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// What the output lacks, in sentences for the user.
    pub notes: Vec<String>,
}

/// Why a conversion failed. The output written before is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The source cannot be read any further.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A record is not a document, or the format cannot represent it.
    #[error("{source_name} {}: {problem}", place(*row, id.as_deref()))]
    Record {
        /// The source's name.
        source_name: String,
        /// Line or row, from 1.
        row: u64,
        /// The id of the document, where the source is an index, whose documents have no order.
        id: Option<String>,
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
    /// The caller ended the conversion.
    #[error("the conversion was stopped")]
    Stopped,
}

fn place(row: u64, id: Option<&str>) -> String {
    id.map_or_else(|| format!("row {row}"), |id| format!("document {id:?}"))
}

impl ConvertError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            ConvertError::Source(error) => error.code,
            ConvertError::Record { code, .. } => *code,
            ConvertError::Impossible(_) => Code::NotConvertible,
            ConvertError::Write(_) => Code::OutputFailed,
            ConvertError::Stopped => Code::Interrupted,
        }
    }
}

/// Converts `source`. `watch` is told after each block how far it is, and answers whether to go on.
///
/// # Errors
/// [`ConvertError`]. The first record that is not a document, or that the format cannot represent,
/// ends the conversion.
pub fn convert(
    source: &mut dyn Source,
    again: Again<'_>,
    output: &Output,
    watch: &dyn Fn(&Converted) -> bool,
    out: impl Write + Send,
) -> Result<Converted, ConvertError> {
    let info = source.describe();
    if info.is_endless {
        return Err(ConvertError::Impossible(format!("{} never ends, and a file has an end", info.title())));
    }
    let mut out = Packed::new(output.packing, out)?;
    let by_id = info.has_ids && info.own_numbers;
    let reading = Reading { source, names: &info.names, id_as: output.id_as.as_deref(), by_id, watch };
    let mut converted = match &output.target {
        OutputFormat::Ndjson => documents::ndjson(reading, &mut out)?,
        OutputFormat::Smile => documents::smile(reading, &mut out)?,
        OutputFormat::Bulk(lines) => documents::bulk(reading, lines, false, &mut out)?,
        OutputFormat::BulkSmile(lines) => documents::bulk(reading, lines, true, &mut out)?,
        OutputFormat::Csv => {
            let mut columns = csv::Columns::default();
            let mut again = twice(reading, again, |document| columns.add(document))?;
            again.read((&info.names, watch), |reading| csv::write(reading, &columns, &mut out))?
        }
        #[cfg(feature = "parquet")]
        OutputFormat::Parquet => {
            let mut shapes = shape::Shapes::default();
            let mut again = twice(reading, again, |document| shapes.add(document))?;
            again.read((&info.names, watch), |reading| parquet::write(reading, &shapes, &mut out))?
        }
        #[cfg(not(feature = "parquet"))]
        OutputFormat::Parquet => {
            let why = "this build cannot write parquet; build it with the cargo feature parquet";
            return Err(ConvertError::Impossible(why.to_owned()));
        }
    };
    converted.bytes_written = out.finish()?;
    Ok(converted)
}

/// Is told how far a conversion is, and answers whether to go on.
type Watch<'a> = &'a dyn Fn(&Converted) -> bool;

/// A source that is read to its end.
struct Reading<'a> {
    source: &'a mut dyn Source,
    /// The names of the sources in errors.
    names: &'a [String],
    id_as: Option<&'a str>,
    /// Whether errors name documents by their ids.
    by_id: bool,
    watch: Watch<'a>,
}

impl Reading<'_> {
    /// Calls `each` with every block, whose records are all documents, and the names of its rows.
    fn for_each_block(
        self,
        mut each: impl FnMut(DocBlock, &Rows<'_>) -> Result<(), ConvertError>,
    ) -> Result<Converted, ConvertError> {
        let mut lines: HashMap<(SourceId, u32), u64> = HashMap::new();
        let mut converted = Converted::default();
        while let Some(chunk) = self.source.next_chunk(CHUNK_BYTES)? {
            let mut block = chunk.into_block();
            // A block knows only its own lines.
            let before = lines.entry((block.origin.source, block.origin.partition)).or_default();
            let name = self.names.get(block.origin.source.0 as usize).map_or("-", String::as_str);
            let lines = block.records.iter().map(|record| *before + 1 + u64::from(record.line)).collect();
            let ids = match self.by_id {
                true => block.meta.iter().map(|meta| meta.id.clone()).collect(),
                false => Vec::new(),
            };
            let rows = Rows { name, lines, ids };
            *before += block.lines;
            if let Some(reject) = block.rejects.first() {
                return Err(rows.coded(reject.record as usize, reject.kind, reject.reason.clone()));
            }
            if let Some(field) = self.id_as {
                add_ids(&mut block, field).map_err(|(record, problem)| rows.error(record, problem))?;
            }
            converted.docs += block.records.len() as u64;
            converted.bytes_read += block.bytes_read;
            each(block, &rows)?;
            if !(self.watch)(&converted) {
                return Err(ConvertError::Stopped);
            }
        }
        Ok(converted)
    }
}

/// Puts the id of each document into a field of it. An error names the record.
fn add_ids(block: &mut DocBlock, field: &str) -> Result<(), (usize, String)> {
    let name = serde_json::Value::from(field).to_string();
    let mut data = Vec::with_capacity(block.data.len() + block.records.len() * (name.len() + 32));
    let mut records = Vec::with_capacity(block.records.len());
    for (at, record) in block.records.iter().enumerate() {
        let document = block.record(at);
        let Some(id) = block.meta.get(at).and_then(|meta| meta.id.as_deref()) else {
            return Err((at, "the source has no id for this document, so no field can have it".to_owned()));
        };
        let fields = value::fields(document).map_err(|problem| (at, problem))?;
        if fields.iter().any(|(other, _)| other == field) {
            return Err((at, format!("the document has a field `{field}` already; choose another name for the ids")));
        }
        // It is an object.
        let rest = document.trim_ascii_start().get(1..).unwrap_or_default();
        // A block has far less than 4 GiB.
        let start = data.len() as u32;
        data.extend_from_slice(format!("{{{name}:{}", serde_json::Value::from(id)).as_bytes());
        if !fields.is_empty() {
            data.push(b',');
        }
        data.extend_from_slice(rest);
        let mut moved = *record;
        (moved.start, moved.end) = (start, data.len() as u32);
        records.push(moved);
    }
    block.data = data.into();
    block.records = records;
    Ok(())
}

/// Reads the documents for what all of them have, and returns the source of a second reading.
fn twice(
    reading: Reading<'_>,
    again: Again<'_>,
    mut each: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<Second, ConvertError> {
    let id_as = reading.id_as.map(str::to_owned);
    let mut look = |block: &DocBlock, rows: &Rows<'_>| {
        (0..block.records.len())
            .try_for_each(|record| each(block.record(record)).map_err(|problem| rows.error(record, problem)))
    };
    match again {
        Again::Open(open) => {
            reading.for_each_block(|block, rows| look(&block, rows))?;
            Ok(Second { source: open()?, id_as, kept: None })
        }
        Again::Keep(path) => {
            let cannot = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            let mut out = BufWriter::new(File::create(path).map_err(cannot)?);
            let names = reading.names;
            let first = reading.for_each_block(|block, rows| {
                look(&block, rows)?;
                for record in 0..block.records.len() {
                    out.write_all(block.record(record)).and_then(|()| out.write_all(b"\n")).map_err(cannot)?;
                }
                Ok(())
            })?;
            out.flush().map_err(cannot)?;
            // They are documents, also where they look like another format, and the folder says
            // nothing about them.
            let format =
                FormatOptions { format: Some(Format::Ndjson), hive_partitions: false, ..FormatOptions::default() };
            let source = open(&[SourceSpec::new(path)], format, &Warnings::default())?;
            // Rows of several sources are those of all.
            let name = if let [name] = names { name.clone() } else { "the documents".to_owned() };
            // They have their ids as a field.
            Ok(Second { source: Box::new(source), id_as: None, kept: Some((name, first.bytes_read)) })
        }
    }
}

/// The source of a second reading.
struct Second {
    source: Box<dyn Source>,
    id_as: Option<String>,
    /// The name of a source whose documents were kept, and the bytes that were read of it.
    kept: Option<(String, u64)>,
}

impl Second {
    /// Writes the output by reading the source. `names`: those of the sources.
    fn read(
        &mut self,
        (names, watch): (&[String], Watch<'_>),
        write: impl FnOnce(Reading<'_>) -> Result<Converted, ConvertError>,
    ) -> Result<Converted, ConvertError> {
        let names = self.kept.as_ref().map_or(names, |(name, _)| std::slice::from_ref(name));
        let id_as = self.id_as.as_deref();
        let reading = Reading { source: self.source.as_mut(), names, id_as, by_id: false, watch };
        let mut converted = write(reading)?;
        if let Some((_, bytes_read)) = self.kept {
            converted.bytes_read = bytes_read;
        }
        Ok(converted)
    }
}

/// The source and rows of a block, for errors.
struct Rows<'a> {
    name: &'a str,
    lines: Vec<u64>,
    /// The ids of the records, where errors name them. Else empty.
    ids: Vec<Option<String>>,
}

impl Rows<'_> {
    fn error(&self, record: usize, problem: impl Into<String>) -> ConvertError {
        self.coded(record, Code::NotConvertible, problem.into())
    }

    /// An error of this kind, such as that of a record that is no document.
    fn coded(&self, record: usize, code: Code, problem: String) -> ConvertError {
        let row = self.lines.get(record).copied().unwrap_or(0);
        let id = self.ids.get(record).cloned().flatten();
        ConvertError::Record { source_name: self.name.to_owned(), row, id, code, problem }
    }
}

//! Converts documents from one format into another, as a stream. A record that the format cannot
//! represent ends the conversion with an error that names it: nothing is left out or changed
//! silently.

mod csv;
mod documents;
mod export;
mod form;
mod object;
mod packed;
#[cfg(feature = "parquet")]
mod parquet;
mod place;
mod reading;
#[cfg(feature = "parquet")]
mod shape;
mod state;
mod value;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub use export::{Export, Exported, export};
use form::Form;
pub use object::{Bucket, ObjectWriter};
use packed::Packed;
pub use packed::Packing;
pub use place::Place;
use reading::{Changes, Reading};

use inrush_core::encode::Shape;
use inrush_core::{Action, Code, FieldPath, Shaping};
use inrush_sources::{Format, FormatOptions, Source, SourceError, SourceInfo, SourceSpec, Warnings, open};

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
    /// Changes of each document. Fields of [`BulkLines`] are found as they were before.
    pub shaping: Shaping,
    /// Documents get their ids as a field of this name. The source has to know ids, as an index
    /// does.
    pub id_as: Option<String>,
}

impl Output {
    /// The changes of each document. The encoder of bulk bodies makes its own.
    fn changes(&self) -> Changes {
        let shape = match &self.target {
            OutputFormat::Bulk(_) | OutputFormat::BulkSmile(_) => Shape::default(),
            _ => Shape::new(&self.shaping),
        };
        Changes { shape, id_as: self.id_as.clone() }
    }
}

impl From<OutputFormat> for Output {
    /// Without compression, changes and ids.
    fn from(target: OutputFormat) -> Self {
        Output { target, packing: Packing::None, shaping: Shaping::default(), id_as: None }
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
    /// The output was not begun, or is not gone on with, and stays as it is.
    #[error("{0}")]
    Refused(String),
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
            ConvertError::Refused(_) => Code::StateUnusable,
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
    check_that_it_ends(&source.describe())?;
    let mut out = Packed::new(output.packing, out)?;
    let mut form = Form::new(output)?;
    form.prepare(source);
    let changes = output.changes();
    let mut reading = Reading::new(source, changes.clone(), watch);
    let mut converted = if form.is_table() {
        let mut second = twice(reading, again, &mut form)?;
        let again = if second.kept.is_none() { changes.clone() } else { Changes::default() };
        let mut reading = Reading::new(second.source.as_mut(), again, watch);
        if let Some((name, _)) = &second.kept {
            reading = reading.named(vec![name.clone()]);
        }
        form.write(&mut reading, &mut out)?;
        let converted = reading.progress().converted.clone();
        second.kept.map_or(converted.clone(), |(_, bytes_read)| Converted { bytes_read, ..converted })
    } else {
        form.write(&mut reading, &mut out)?;
        reading.progress().converted.clone()
    };
    converted.notes = form.notes().into_iter().chain(changes.shape.warnings()).collect();
    converted.bytes_written = out.finish()?;
    Ok(converted)
}

fn check_that_it_ends(info: &SourceInfo) -> Result<(), ConvertError> {
    match info.is_endless {
        true => Err(ConvertError::Impossible(format!("{} never ends, and a file has an end", info.title()))),
        false => Ok(()),
    }
}

/// The source of a second reading.
struct Second {
    source: Box<dyn Source>,
    /// The name of a source whose documents were kept, with their ids as a field, and the bytes
    /// that were read of it.
    kept: Option<(String, u64)>,
}

/// Reads the documents for what all of them have, and returns the source of a second reading.
fn twice(mut reading: Reading<'_>, again: Again<'_>, form: &mut Form) -> Result<Second, ConvertError> {
    match again {
        Again::Open(open) => {
            see(&mut reading, form)?;
            Ok(Second { source: open()?, kept: None })
        }
        Again::Keep(path) => {
            let cannot = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            let names = reading.source.describe().names;
            let mut out = BufWriter::new(File::create(path).map_err(cannot)?);
            reading.for_each_block(|block, rows| {
                for record in 0..block.records.len() {
                    let document = block.record(record);
                    form.see(document).map_err(|problem| rows.error(record, problem))?;
                    out.write_all(document).and_then(|()| out.write_all(b"\n")).map_err(cannot)?;
                }
                Ok(0)
            })?;
            out.flush().map_err(cannot)?;
            // Rows of several sources are those of all.
            let name = if let [name] = &names[..] { name.clone() } else { "the documents".to_owned() };
            Ok(Second { source: open_kept(path)?, kept: Some((name, reading.progress().converted.bytes_read)) })
        }
    }
}

/// Reads the documents for what all of them have.
fn see(reading: &mut Reading<'_>, form: &mut Form) -> Result<(), ConvertError> {
    reading.for_each_block(|block, rows| {
        for record in 0..block.records.len() {
            form.see(block.record(record)).map_err(|problem| rows.error(record, problem))?;
        }
        Ok(0)
    })
}

/// Opens documents that were kept, in a file or in the parts of a folder. They are documents, also
/// where they look like another format, and the folder says nothing about them.
fn open_kept(path: &Path) -> Result<Box<dyn Source>, SourceError> {
    let format = FormatOptions { format: Some(Format::Ndjson), hive_partitions: false, ..FormatOptions::default() };
    Ok(Box::new(open(&[SourceSpec::new(path)], format, &Warnings::default())?))
}

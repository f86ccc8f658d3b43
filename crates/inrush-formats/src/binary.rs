//! Opens files of binary formats.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use inrush_core::SourceId;

use super::SourceError;
#[cfg(feature = "columns")]
use super::columns::{self, BatchFile, Batches as _, RowWriter};
use super::cut_file::ReadFile;
use super::format::Format;
use super::input::Input;
use super::raw::Seekable;
use super::reading::Reading;
#[cfg(feature = "excel")]
use super::sheet::SheetFile;

/// A file of a known binary format.
pub(crate) struct BinaryFile<'a> {
    pub(crate) id: SourceId,
    pub(crate) name: &'a str,
    /// The file, if it can be read at any offset: it is neither a pipe nor compressed.
    pub(crate) seekable: Option<Seekable>,
    /// The contents, decompressed.
    pub(crate) contents: Input,
    /// Bytes of the file that were used.
    pub(crate) consumed: Arc<AtomicU64>,
    /// Fields that the names of its folders stand for, as name and JSON value.
    pub(crate) constants: &'a [(String, String)],
}

/// Opens a file of a binary `format`.
pub(crate) fn open(reading: &Reading, format: Format, file: BinaryFile<'_>) -> Result<Box<dyn ReadFile>, SourceError> {
    match format {
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let open = ParquetOpen { reading, id: file.id, name: file.name, constants: file.constants };
            match file.seekable {
                None => Err(needs_file(file.name, format)),
                Some(Seekable::File(seekable)) => open.from(seekable),
                Some(Seekable::Remote(remote)) => remote.open_parquet(open),
            }
        }
        #[cfg(feature = "arrow")]
        Format::Arrow => {
            let batches = columns::ipc::IpcFile::open(file.contents, file.name, file.consumed)?;
            let writer = writer(reading, &batches.schema(), file.name, file.constants);
            Ok(Box::new(BatchFile::new(file.id, batches, writer)))
        }
        #[cfg(feature = "avro")]
        Format::Avro => {
            let batches = columns::avro::AvroFile::open(file.contents, file.name, file.consumed)?;
            let writer = writer(reading, &batches.schema(), file.name, file.constants);
            Ok(Box::new(BatchFile::new(file.id, batches, writer)))
        }
        #[cfg(feature = "excel")]
        Format::Excel => {
            use std::io::Read as _;
            use std::sync::atomic::Ordering;
            let (mut contents, mut data) = (file.contents, Vec::new());
            contents.read_to_end(&mut data).map_err(|e| SourceError::io(file.name, "cannot be read", e))?;
            let bytes = file.consumed.load(Ordering::Relaxed);
            Ok(Box::new(SheetFile::open(reading, file.id, file.name, data.into(), bytes)?))
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(not_built(file.name, format)),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow => Err(not_built(file.name, format)),
        #[cfg(not(feature = "avro"))]
        Format::Avro => Err(not_built(file.name, format)),
        #[cfg(not(feature = "excel"))]
        Format::Excel => Err(not_built(file.name, format)),
        Format::Ndjson
        | Format::Json
        | Format::Hits
        | Format::Csv
        | Format::Tsv
        | Format::Text
        | Format::Bulk
        | Format::DeadLetters => Err(SourceError::new(file.name, format!("{} is text", format.name()))),
        Format::Smile => {
            // SMILE is framed as text is, so it never reaches this function.
            Err(SourceError::new(file.name, format!("{} has no columns", format.name())))
        }
    }
}

/// A Parquet file that is about to be opened.
#[cfg(feature = "parquet")]
pub struct ParquetOpen<'a> {
    reading: &'a Reading,
    id: SourceId,
    /// The path or URL.
    pub name: &'a str,
    constants: &'a [(String, String)],
}

#[cfg(feature = "parquet")]
impl ParquetOpen<'_> {
    /// Opens the file with these `parts` as its contents.
    ///
    /// # Errors
    /// A footer that cannot be read, or contradicts itself.
    pub fn from(self, parts: impl columns::parquet::Parts) -> Result<Box<dyn ReadFile>, SourceError> {
        let ParquetOpen { reading, id, name, constants } = self;
        let only = reading.options.only_columns.as_deref();
        let batches = columns::parquet::ParquetFile::open(parts, name, only, &reading.warnings)?;
        let writer = writer(reading, &batches.schema(), name, constants);
        Ok(Box::new(BatchFile::new(id, batches, writer)))
    }
}

#[cfg(feature = "columns")]
fn writer(reading: &Reading, schema: &arrow_schema::Schema, name: &str, constants: &[(String, String)]) -> RowWriter {
    let (most, documents) = (reading.options.document_bytes_max, Arc::clone(&reading.documents));
    RowWriter::new(schema, constants, most, name, &reading.warnings, documents)
        .with_timestamps(reading.options.timestamps)
}

#[cfg(feature = "parquet")]
fn needs_file(name: &str, format: Format) -> SourceError {
    let format = format.name();
    SourceError::new(
        name,
        format!(
            "{format} is read from its end, so it must be an uncompressed file and not a pipe; save or unpack it first"
        ),
    )
}

#[cfg(not(all(feature = "parquet", feature = "arrow", feature = "avro", feature = "excel")))]
fn not_built(name: &str, format: Format) -> SourceError {
    let format = format.name();
    SourceError::new(name, format!("this build cannot read {format}; build it with the cargo feature {format}"))
        .coded(inrush_core::Code::NotInThisBuild)
}

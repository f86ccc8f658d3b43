//! Opens files of formats that are no text.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use inrush_core::SourceId;

use super::SourceError;
#[cfg(feature = "columns")]
use super::columns::{self, BatchFile, Batches as _, RowWriter};
use super::cut_file::ReadFile;
use super::format::Format;
use super::input::Input;
use super::open::Shared;
#[cfg(feature = "excel")]
use super::sheet::SheetFile;
use super::store::Object;

/// A file whose format is known, and is no text.
pub(super) struct BinaryFile<'a> {
    pub(super) id: SourceId,
    pub(super) name: &'a str,
    /// The file, where it can be read at any place: neither a pipe nor compressed.
    pub(super) seekable: Option<Seekable>,
    /// What is in it, decompressed.
    pub(super) contents: Input,
    /// Bytes used of the file.
    pub(super) consumed: Arc<AtomicU64>,
    /// Fields that its folders stand for, as name and JSON value.
    pub(super) constants: &'a [(String, String)],
}

/// A file that can be read at any place.
pub(super) enum Seekable {
    File(File),
    Object(Arc<Object>),
}

/// Opens a file of a binary `format`.
pub(super) fn open(shared: &Shared, format: Format, file: BinaryFile<'_>) -> Result<Box<dyn ReadFile>, SourceError> {
    match format {
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            use super::store::ranges::ObjectRanges;
            match file.seekable {
                None => Err(needs_file(file.name, format)),
                Some(Seekable::File(seekable)) => open_parquet(shared, file.id, file.name, file.constants, seekable),
                Some(Seekable::Object(object)) => {
                    let no_parts = || {
                        let message = "parquet is read from its end, and the server does not give parts of this file, or does not say of which version they are (ETag, Last-Modified); download it first";
                        SourceError::new(file.name, message)
                    };
                    let ranges = ObjectRanges::open(object)
                        .ok_or_else(no_parts)?
                        .map_err(|e| SourceError::io(file.name, "cannot be read", e))?;
                    open_parquet(shared, file.id, file.name, file.constants, ranges)
                }
            }
        }
        #[cfg(feature = "arrow")]
        Format::Arrow => {
            let batches = columns::ipc::IpcFile::open(file.contents, file.name, file.consumed)?;
            let writer = writer(shared, &batches.schema(), file.name, file.constants);
            Ok(Box::new(BatchFile::new(file.id, batches, writer)))
        }
        #[cfg(feature = "avro")]
        Format::Avro => {
            let batches = columns::avro::AvroFile::open(file.contents, file.name, file.consumed)?;
            let writer = writer(shared, &batches.schema(), file.name, file.constants);
            Ok(Box::new(BatchFile::new(file.id, batches, writer)))
        }
        #[cfg(feature = "excel")]
        Format::Excel => {
            use std::io::Read as _;
            use std::sync::atomic::Ordering;
            let (mut contents, mut data) = (file.contents, Vec::new());
            contents.read_to_end(&mut data).map_err(|e| SourceError::io(file.name, "cannot be read", e))?;
            let bytes = file.consumed.load(Ordering::Relaxed);
            Ok(Box::new(SheetFile::open(shared, file.id, file.name, data.into(), bytes)?))
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
            // It is cut as text is, and comes here by mistake only.
            Err(SourceError::new(file.name, format!("{} has no columns", format.name())))
        }
    }
}

#[cfg(feature = "parquet")]
fn open_parquet(
    shared: &Shared,
    id: SourceId,
    name: &str,
    constants: &[(String, String)],
    parts: impl columns::parquet::Parts,
) -> Result<Box<dyn ReadFile>, SourceError> {
    let batches =
        columns::parquet::ParquetFile::open(parts, name, shared.options.only_columns.as_deref(), &shared.warnings)?;
    let writer = writer(shared, &batches.schema(), name, constants);
    Ok(Box::new(BatchFile::new(id, batches, writer)))
}

#[cfg(feature = "columns")]
fn writer(shared: &Shared, schema: &arrow_schema::Schema, name: &str, constants: &[(String, String)]) -> RowWriter {
    let (most, documents) = (shared.options.document_bytes_max, Arc::clone(&shared.documents));
    RowWriter::new(schema, constants, most, name, &shared.warnings, documents)
        .with_timestamps(shared.options.timestamps)
}

#[cfg(feature = "parquet")]
fn needs_file(name: &str, format: Format) -> SourceError {
    let format = format.name();
    SourceError::new(
        name,
        format!(
            "{format} is read from its end, so it has to be an uncompressed file and no pipe; save or unpack it first"
        ),
    )
}

#[cfg(not(all(feature = "parquet", feature = "arrow", feature = "avro", feature = "excel")))]
fn not_built(name: &str, format: Format) -> SourceError {
    let format = format.name();
    SourceError::new(name, format!("this build cannot read {format}; build it with the cargo feature {format}"))
}

//! Opens files of binary formats.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use inrush_core::SourceId;

use super::SourceError;
#[cfg(feature = "columns")]
use super::columns::{self, BatchFile, Batches as _};
use super::cut_file::ReadFile;
use super::format::Format;
use super::input::Input;
#[cfg(feature = "parquet")]
use super::open_columns::ParquetOpen;
#[cfg(feature = "columns")]
use super::open_columns::writer;
use super::raw::Seekable;
#[cfg(feature = "excel")]
use super::sheet::SheetFile;
use super::state::Reading;

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
        #[cfg(feature = "columns")]
        Format::Vectors(vectors) => {
            let field = &reading.options.vector_field;
            let batches = columns::VectorFile::open(vectors, file.contents, file.name, field, file.consumed)?;
            let writer = writer(reading, &batches.schema(), file.name, file.constants);
            Ok(Box::new(BatchFile::new(file.id, batches, writer)))
        }
        #[cfg(not(feature = "columns"))]
        Format::Vectors(_) => Err(not_built(file.name, Format::Arrow)),
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

//! Opens files of formats that are no text.

use std::fs::File;

use inrush_core::SourceId;

use super::SourceError;
use super::cut_file::ReadFile;
use super::format::Format;
use super::open::Shared;

/// Opens a file of a binary `format`. `seekable` is the file, where it can be read at any place: neither a pipe nor compressed.
pub(super) fn open(
    shared: &Shared,
    id: SourceId,
    name: &str,
    format: Format,
    seekable: Option<File>,
) -> Result<Box<dyn ReadFile>, SourceError> {
    match format {
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            use super::columns::parquet::ParquetFile;
            let batches = ParquetFile::open(seekable.ok_or_else(|| needs_file(name, format))?, name)?;
            let writer = super::columns::RowWriter::new(
                batches.schema(),
                &[],
                shared.options.document_bytes_max,
                name,
                &shared.warnings,
                std::sync::Arc::clone(&shared.documents),
            );
            Ok(Box::new(super::columns::BatchFile::new(id, batches, writer)))
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(not_built(name, format)),
        Format::Ndjson | Format::Csv | Format::Tsv | Format::Text | Format::DeadLetters => {
            Err(SourceError::new(name, format!("{} is text", format.name())))
        }
    }
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

#[cfg(not(feature = "parquet"))]
fn not_built(name: &str, format: Format) -> SourceError {
    let format = format.name();
    SourceError::new(name, format!("this build cannot read {format}; build it with the cargo feature {format}"))
}

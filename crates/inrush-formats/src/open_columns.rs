//! Opens files with columns.

use std::sync::Arc;

use inrush_core::FieldType;
#[cfg(feature = "parquet")]
use inrush_core::SourceId;

#[cfg(feature = "parquet")]
use super::SourceError;
use super::columns::RowWriter;
#[cfg(feature = "parquet")]
use super::columns::{self, BatchFile, Batches as _};
#[cfg(feature = "parquet")]
use super::cut_file::ReadFile;
use super::state::Reading;

/// A Parquet file that is about to be opened.
#[cfg(feature = "parquet")]
pub struct ParquetOpen<'a> {
    pub(crate) reading: &'a Reading,
    pub(crate) id: SourceId,
    /// The path or URL.
    pub name: &'a str,
    pub(crate) constants: &'a [(String, String)],
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

/// The writer of a file's rows. `constants`: fields of all its documents, as name and JSON value.
pub(crate) fn writer(
    reading: &Reading,
    schema: &arrow_schema::Schema,
    name: &str,
    constants: &[(String, String)],
) -> RowWriter {
    let (most, documents) = (reading.options.document_bytes_max, Arc::clone(&reading.documents));
    // Fields of type `binary` take base64 only. The text of an id must not depend on other rows.
    reading.binary_forms.base64(reading.rows.fields.all(FieldType::Binary));
    reading.binary_forms.base64(reading.texts.iter().map(String::as_str));
    RowWriter::new(schema, constants, most, name, &reading.warnings, documents)
        .with_timestamps(reading.options.timestamps)
        .with_nulls(reading.rows.nulls)
        .with_binary(reading.options.binary, &reading.binary_forms)
        .with_texts(&reading.texts, schema)
        .with_fields(&reading.rows, schema)
}

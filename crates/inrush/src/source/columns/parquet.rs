//! Parquet files, one row group after another.

use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;

use super::Batches;
use crate::source::SourceError;
use crate::source::guard::{guarded, text};

/// What a batch may cost in memory while it waits to become documents, bytes.
const BATCH_BYTES: u64 = 2 << 20;

/// The most rows of a batch.
const BATCH_ROWS_MAX: u64 = 16 << 10;

/// A Parquet file. It is decoded in batches of about [`BATCH_BYTES`], so a large row group costs no more memory than a small one.
pub(in crate::source) struct ParquetFile {
    file: File,
    name: String,
    metadata: ArrowReaderMetadata,
    bytes: u64,
    rows: u64,
    rows_read: u64,
    /// The next row group, and what is being read of the one before.
    next_group: usize,
    reader: Option<ParquetRecordBatchReader>,
}

impl ParquetFile {
    /// Reads the footer.
    pub(in crate::source) fn open(file: File, name: &str) -> Result<Self, SourceError> {
        let bytes = file.metadata().map_err(|e| SourceError::io(name, "cannot be read", e))?.len();
        let metadata = guarded(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(text));
        let metadata = metadata.map_err(|problem| {
            SourceError::new(
                name,
                format!("the footer, without which no row can be found, cannot be read: {problem}; is the file complete, and Parquet?"),
            )
        })?;
        let rows = metadata.metadata().row_groups().iter().map(rows_of).sum();
        Ok(ParquetFile {
            file,
            name: name.to_owned(),
            metadata,
            bytes,
            rows,
            rows_read: 0,
            next_group: 0,
            reader: None,
        })
    }

    pub(in crate::source) fn schema(&self) -> SchemaRef {
        Arc::clone(self.metadata.schema())
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        let groups = self.metadata.metadata().row_groups();
        loop {
            if let Some(reader) = &mut self.reader {
                match guarded(|| reader.next().transpose().map_err(text))? {
                    Some(batch) => return Ok(Some(batch)),
                    None => self.reader = None,
                }
            }
            let Some(group) = groups.get(self.next_group) else { return Ok(None) };
            self.next_group += 1;
            let file = self.file.try_clone().map_err(text)?;
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_row_groups(vec![self.next_group - 1])
                .with_batch_size(batch_rows(group));
            self.reader = Some(guarded(|| builder.build().map_err(text))?);
        }
    }
}

impl Batches for ParquetFile {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SourceError> {
        match self.read() {
            Ok(batch) => {
                self.rows_read = match &batch {
                    Some(batch) => self.rows_read + batch.num_rows() as u64,
                    None => self.rows,
                };
                Ok(batch)
            }
            Err(problem) => {
                let (group, groups) = (self.next_group, self.metadata.metadata().num_row_groups());
                let before = self.rows_read;
                let message = format!(
                    "row group {group} of {groups} cannot be read any further: {problem}; the {before} rows before it were read"
                );
                Err(SourceError::new(&self.name, message))
            }
        }
    }

    /// The file's bytes in proportion to its rows: pages of several columns are read ahead, so where the file is being read says less.
    fn bytes_read(&self) -> u64 {
        if self.rows_read >= self.rows {
            return self.bytes;
        }
        (u128::from(self.bytes) * u128::from(self.rows_read) / u128::from(self.rows)) as u64
    }
}

fn rows_of(group: &RowGroupMetaData) -> u64 {
    u64::try_from(group.num_rows()).unwrap_or(0)
}

/// How many rows of a group a batch has.
fn batch_rows(group: &RowGroupMetaData) -> usize {
    // Where the file says how long its text is when no value is shared any more, that counts.
    let bytes: i64 = group
        .columns()
        .iter()
        .map(|column| column.uncompressed_size().max(column.unencoded_byte_array_data_bytes().unwrap_or(0)))
        .sum();
    let row_bytes = u64::try_from(bytes).unwrap_or(0) / rows_of(group).max(1);
    (BATCH_BYTES / row_bytes.max(1)).clamp(16, BATCH_ROWS_MAX) as usize
}

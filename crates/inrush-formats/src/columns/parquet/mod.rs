//! Parquet files, read one row group after another.

mod int96;

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::ChunkReader;

use super::Batches;
use super::footer::Footer;
use crate::SourceError;
use crate::catch_panic::{guarded, text};
use crate::warnings::Warnings;

/// The memory that a batch may take while it waits to become documents, bytes.
const BATCH_BYTES: u64 = 2 << 20;

/// The most rows of a batch.
const BATCH_ROWS_MAX: u64 = 16 << 10;

/// The contents of a Parquet file.
pub trait Parts: ChunkReader + 'static {
    /// The same file, for another reader.
    fn again(&self) -> io::Result<Self>
    where
        Self: Sized;

    /// Announces that the rows of `group` are read next.
    fn expect(&self, group: &RowGroupMetaData);
}

impl Parts for File {
    fn again(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn expect(&self, _: &RowGroupMetaData) {}
}

/// A Parquet file. It is decoded in batches of about `BATCH_BYTES`, so a large row group takes no
/// more memory than a small one.
pub struct ParquetFile<F> {
    file: F,
    name: String,
    metadata: ArrowReaderMetadata,
    /// The columns that are read, by their positions, ascending. `None`: all columns.
    wanted: Option<Vec<usize>>,
    /// Whether at most the group's number of rows is read from a group; see [`Footer::roomy`].
    by_rows: bool,
    bytes: u64,
    rows: u64,
    rows_read: u64,
    /// The number of rows up to the end of the group that is being read.
    rows_to_group_end: u64,
    /// The next row group, and the reader of the one before.
    next_group: usize,
    reader: Option<ParquetRecordBatchReader>,
}

impl<F: Parts> ParquetFile<F> {
    /// Reads the footer. `only` names the columns to read; `None` reads all.
    pub fn open(file: F, name: &str, only: Option<&[String]>, warnings: &Warnings) -> Result<Self, SourceError> {
        let bytes = file.len();
        let failed = |message| SourceError::new(name, message);
        let metadata = guarded(|| read_footer(&file)).map_err(|problem| {
            failed(format!(
                "the footer, without which no row can be found, cannot be read: {problem}; is the file complete, and Parquet?"
            ))
        });
        let (metadata, by_rows) = metadata?;
        let metadata = guarded(|| in_reach(&file, metadata, name, warnings)).map_err(failed)?;
        let fields = metadata.schema().fields().iter().enumerate();
        let wanted =
            only.map(|only| fields.filter(|(_, field)| only.contains(field.name())).map(|(at, _)| at).collect());
        let rows = metadata.metadata().row_groups().iter().map(rows_of).sum();
        Ok(ParquetFile {
            file,
            name: name.to_owned(),
            metadata,
            wanted,
            by_rows,
            bytes,
            rows,
            rows_read: 0,
            rows_to_group_end: 0,
            next_group: 0,
            reader: None,
        })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        let groups = self.metadata.metadata().row_groups();
        loop {
            if let Some(reader) = &mut self.reader {
                match guarded(|| reader.next().transpose().map_err(text))? {
                    Some(batch) => {
                        self.rows_read += batch.num_rows() as u64;
                        return Ok(Some(batch));
                    }
                    None => self.reader = None,
                }
            }
            if self.rows_read != self.rows_to_group_end {
                let (rows, read) = (self.rows_to_group_end, self.rows_read);
                return Err(format!("there should be {rows} rows up to its end, and there are {read}"));
            }
            let Some(group) = groups.get(self.next_group) else { return Ok(None) };
            self.next_group += 1;
            self.rows_to_group_end += rows_of(group);
            if rows_of(group) == 0 {
                continue;
            }
            guarded(|| {
                self.file.expect(group);
                Ok(())
            })?;
            let file = self.file.again().map_err(text)?;
            let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_row_groups(vec![self.next_group - 1])
                .with_batch_size(batch_rows(group));
            if self.by_rows {
                builder = builder.with_limit(rows_of(group) as usize);
            }
            if let Some(wanted) = &self.wanted {
                let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
                builder = builder.with_projection(mask);
            }
            self.reader = Some(guarded(|| builder.build().map_err(text))?);
        }
    }
}

impl<F: Parts> Batches for ParquetFile<F> {
    fn schema(&self) -> SchemaRef {
        let schema = self.metadata.schema();
        match &self.wanted {
            None => Arc::clone(schema),
            Some(wanted) => {
                Arc::new(Schema::new(wanted.iter().map(|at| Arc::clone(&schema.fields()[*at])).collect::<Vec<_>>()))
            }
        }
    }

    #[cfg(feature = "sql")]
    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SourceError> {
        match self.read() {
            Ok(batch) => Ok(batch),
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

    /// The bytes of the file in proportion to its rows. The read position would say less: pages of
    /// several columns are read ahead.
    fn bytes_read(&self) -> u64 {
        if self.rows_read >= self.rows {
            return self.bytes;
        }
        (u128::from(self.bytes) * u128::from(self.rows_read) / u128::from(self.rows)) as u64
    }
}

/// Reads the footer and corrects writer errors in it. Also returns whether groups have to be read
/// [`ParquetFile::by_rows`].
fn read_footer<F: Parts>(file: &F) -> Result<(ArrowReaderMetadata, bool), String> {
    let said = ArrowReaderMetadata::load(file, ArrowReaderOptions::new()).map_err(text)?;
    let footer = Footer::new(said.metadata(), file.len())?;
    let metadata = ArrowReaderMetadata::try_new(Arc::new(footer.metadata), ArrowReaderOptions::new()).map_err(text)?;
    Ok((metadata, footer.roomy))
}

/// The footer with 96-bit timestamps in a unit that reaches all of them.
fn in_reach<F: Parts>(
    file: &F,
    metadata: ArrowReaderMetadata,
    name: &str,
    warnings: &Warnings,
) -> Result<ArrowReaderMetadata, String> {
    let Some(unit) = int96::unit(file, &metadata)? else { return Ok(metadata) };
    // Spark has no nanoseconds, so its values lose nothing.
    let keys = metadata.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    if !keys.map(|entry| &entry.key).any(|key| key.starts_with("org.apache.spark.")) {
        warnings.add(name, "coarser_timestamps", "", 1, || {
            let unit = format!("{unit:?}").to_lowercase();
            format!("a 96-bit timestamp is before 1677 or after 2262, where nanoseconds do not reach: all such columns are read by the {unit}")
        });
    }
    int96::in_unit(&metadata, unit)
}

fn rows_of(group: &RowGroupMetaData) -> u64 {
    u64::try_from(group.num_rows()).unwrap_or(0)
}

/// The number of rows of a batch of this group.
fn batch_rows(group: &RowGroupMetaData) -> usize {
    // The length of the text without shared values counts, if the file states it.
    let bytes: i64 = group
        .columns()
        .iter()
        .map(|column| column.uncompressed_size().max(column.unencoded_byte_array_data_bytes().unwrap_or(0)))
        .sum();
    let row_bytes = u64::try_from(bytes).unwrap_or(0) / rows_of(group).max(1);
    (BATCH_BYTES / row_bytes.max(1)).clamp(16, BATCH_ROWS_MAX) as usize
}

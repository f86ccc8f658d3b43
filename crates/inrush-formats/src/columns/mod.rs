//! Columnar data: record batches of Arrow (from Parquet and similar formats) are written as JSON
//! directly.
//!
//! A file is read in batches, in its order, under the lock of the source. The reading threads make
//! documents of them in parallel ([`rows::RowWriter`]).

#[cfg(feature = "avro")]
pub(crate) mod avro;
#[cfg(feature = "avro")]
mod avro_schema;
mod beside;
#[cfg(feature = "parquet")]
mod footer;
mod fractions;
#[cfg(feature = "arrow")]
pub(crate) mod ipc;
#[cfg(feature = "parquet")]
pub mod parquet;
mod rows;
#[cfg(feature = "sql")]
pub(crate) mod table;
mod typed;
mod value;
mod vector_file;
mod whole;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
pub use beside::put_beside;
use inrush_core::block::Origin;
use inrush_core::{Code, Columns, DocBlock, SourceId};
pub use rows::RowWriter;
#[cfg(feature = "sql")]
pub use table::ColumnarFile;
pub use value::forms::BinaryForms;
pub use value::json;
pub(crate) use vector_file::VectorFile;

use super::cut_file::ReadFile;
use super::{Chunk, SourceError};

/// Record batches of one schema, in order.
pub trait Batches: Send {
    /// The next batch. It may have no rows. `None` at the end, after which the function is not
    /// called again.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SourceError>;

    /// The columns of all batches.
    fn schema(&self) -> SchemaRef;

    /// The total number of rows, if known.
    #[cfg(feature = "sql")]
    fn rows(&self) -> Option<u64> {
        None
    }

    /// Bytes of the file that count as read so far. At the end: all of them.
    fn bytes_read(&self) -> u64;
}

/// Rows that become documents.
pub struct Rows {
    /// The rows.
    pub batch: RecordBatch,
    /// Writes the documents of the rows.
    pub writer: Arc<RowWriter>,
    /// The position of the rows in the source.
    pub origin: Origin,
    /// Bytes that were read from the file for these rows.
    pub bytes_read: u64,
}

impl Rows {
    /// Makes the documents of the rows.
    pub fn into_block(self) -> DocBlock {
        self.into_block_and_columns(false).0
    }

    /// As [`Rows::into_block`], with the values of the documents if they are wanted.
    pub(crate) fn into_block_and_columns(self, with_columns: bool) -> (DocBlock, Option<Columns>) {
        let block = self.writer.block(&self.batch, self.origin, self.bytes_read);
        // Of a row that is too large only the beginning is kept.
        let is_whole = !block.rejects.iter().any(|reject| reject.kind == Code::TooLarge);
        let columns = if with_columns && is_whole { self.writer.columns(&self.batch) } else { None };
        (block, columns)
    }
}

/// Splits a batch into pieces whose documents have about the wanted length.
#[derive(Default)]
pub struct Pieces {
    /// The remaining rows, and the number of rows of a piece.
    left: Option<(RecordBatch, usize)>,
}

impl Pieces {
    /// Takes a batch, whose pieces are to make about `bytes` of documents. Remaining rows of the
    /// previous batch are dropped.
    pub fn fill(&mut self, batch: RecordBatch, writer: &RowWriter, bytes: usize) {
        let rows = rows_in(writer.estimate(&batch), batch.num_rows(), bytes);
        self.left = (batch.num_rows() > 0).then_some((batch, rows));
    }

    /// The next piece.
    pub fn next_piece(&mut self) -> Option<RecordBatch> {
        let (batch, rows) = self.left.take()?;
        let rows = rows.min(batch.num_rows());
        if rows < batch.num_rows() {
            self.left = Some((batch.slice(rows, batch.num_rows() - rows), rows));
        }
        Some(batch.slice(0, rows))
    }
}

/// A source of batches, read piece by piece.
pub struct BatchFile<B> {
    id: SourceId,
    batches: B,
    writer: Arc<RowWriter>,
    pieces: Pieces,
    /// Whether the batches have ended.
    ended: bool,
    /// Bytes that the chunks have reported.
    reported: u64,
}

impl<B: Batches> BatchFile<B> {
    /// A source that has not read anything of `batches` yet.
    pub fn new(id: SourceId, batches: B, writer: RowWriter) -> Self {
        BatchFile { id, batches, writer: Arc::new(writer), pieces: Pieces::default(), ended: false, reported: 0 }
    }

    /// The next rows, which make about `bytes` of documents.
    fn next_rows(&mut self, bytes: usize) -> Result<Option<RecordBatch>, SourceError> {
        loop {
            if let Some(piece) = self.pieces.next_piece() {
                return Ok(Some(piece));
            }
            if self.ended {
                return Ok(None);
            }
            match self.batches.next_batch()? {
                Some(batch) => {
                    RowWriter::see(&mut self.writer, &batch);
                    self.pieces.fill(batch, &self.writer, bytes);
                }
                None => self.ended = true,
            }
        }
    }
}

/// How many of `rows` make documents of about `bytes`, if all of them make about `estimate` bytes.
/// At least one.
pub fn rows_in(estimate: usize, rows: usize, bytes: usize) -> usize {
    rows.div_ceil(estimate.div_ceil(bytes.max(1)).max(1)).max(1)
}

impl<B: Batches> ReadFile for BatchFile<B> {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let rows = self.next_rows(bytes).map_err(|error| error.of(self.id))?;
        let total = self.batches.bytes_read();
        let bytes_read = total - std::mem::replace(&mut self.reported, total);
        let origin = Origin { source: self.id, ..Origin::default() };
        Ok(match rows {
            Some(batch) => {
                let writer = Arc::clone(&self.writer);
                Some(Chunk::Rows(Rows { batch, writer, origin, bytes_read }))
            }
            None if bytes_read > 0 => Some(Chunk::Docs(DocBlock { origin, bytes_read, ..DocBlock::default() })),
            None => None,
        })
    }

    #[cfg(feature = "sql")]
    fn table(&self) -> Option<ColumnarFile> {
        Some(ColumnarFile { schema: self.batches.schema(), rows: self.batches.rows() })
    }
}

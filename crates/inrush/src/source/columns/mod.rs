//! Columnar data: Arrow record batches, which Parquet and the like are read into, straight to JSON.
//!
//! A file is read in batches under the source's lock, in its order; the threads that read make documents of them side by
//! side ([`rows::RowWriter`]).

#[cfg(feature = "avro")]
pub(super) mod avro;
#[cfg(feature = "arrow")]
pub(super) mod ipc;
mod nested;
#[cfg(feature = "parquet")]
pub(super) mod parquet;
mod rows;
mod time;
mod value;

use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_core::block::Origin;
use inrush_core::{DocBlock, SourceId};

pub(crate) use rows::RowWriter;

use super::cut_file::ReadFile;
use super::{Chunk, SourceError};

/// Record batches of one schema, in order.
pub(crate) trait Batches: Send {
    /// The next batch; `None` at the end, after which it is not called again. It may be without rows.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SourceError>;

    /// Bytes of the file that count as read by now. At the end: all of them.
    fn bytes_read(&self) -> u64;
}

/// A source of batches, handed out in pieces.
pub(crate) struct BatchFile<B> {
    id: SourceId,
    batches: B,
    writer: Arc<RowWriter>,
    /// What is left of a batch, and how many rows a piece of it has.
    current: Option<(RecordBatch, usize)>,
    /// There are no more batches.
    ended: bool,
    /// Bytes that chunks have reported.
    reported: u64,
}

impl<B: Batches> BatchFile<B> {
    pub(crate) fn new(id: SourceId, batches: B, writer: RowWriter) -> Self {
        BatchFile { id, batches, writer: Arc::new(writer), current: None, ended: false, reported: 0 }
    }

    /// The next rows, whose documents are about `bytes` long.
    fn next_rows(&mut self, bytes: usize) -> Result<Option<RecordBatch>, SourceError> {
        loop {
            if let Some((batch, rows)) = self.current.take() {
                let rows = rows.min(batch.num_rows());
                let piece = batch.slice(0, rows);
                if rows < batch.num_rows() {
                    self.current = Some((batch.slice(rows, batch.num_rows() - rows), rows));
                }
                return Ok(Some(piece));
            }
            if self.ended {
                return Ok(None);
            }
            let Some(batch) = self.batches.next_batch()? else {
                self.ended = true;
                return Ok(None);
            };
            if batch.num_rows() > 0 {
                let rows = rows_in(self.writer.estimate(&batch), batch.num_rows(), bytes);
                self.current = Some((batch, rows));
            }
        }
    }
}

/// How many of `rows`, whose documents are about `estimate` bytes in all, make documents of about `bytes`; at least one.
pub(super) fn rows_in(estimate: usize, rows: usize, bytes: usize) -> usize {
    rows.div_ceil(estimate.div_ceil(bytes.max(1)).max(1)).max(1)
}

impl<B: Batches> ReadFile for BatchFile<B> {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let rows = self.next_rows(bytes).map_err(|error| error.of(self.id))?;
        let total = self.batches.bytes_read();
        let bytes_read = total - std::mem::replace(&mut self.reported, total);
        let origin = Origin { source: self.id, ..Origin::default() };
        Ok(match rows {
            Some(rows) => {
                let writer = Arc::clone(&self.writer);
                Some(Chunk::Deferred(Box::new(move || writer.block(&rows, origin, bytes_read))))
            }
            None if bytes_read > 0 => Some(Chunk::Docs(DocBlock { origin, bytes_read, ..DocBlock::default() })),
            None => None,
        })
    }
}

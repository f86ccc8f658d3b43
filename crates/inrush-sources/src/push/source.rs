//! The end of the channel for the engine.

use std::sync::{Arc, MutexGuard, PoisonError};

#[cfg(feature = "columns")]
use arrow_array::Array;
use inrush_cluster::clock;
#[cfg(feature = "columns")]
use inrush_core::RowForm;
#[cfg(feature = "columns")]
use inrush_core::block::Origin;
#[cfg(feature = "columns")]
use inrush_formats::columns::{Rows, rows_in};

#[cfg(feature = "columns")]
use super::queue::RowsPiece;
use super::queue::{Piece, Shared, State};
use crate::{Chunk, IDLE_AFTER, Source, SourceError, SourceInfo, Step};

/// The documents of [`Sender`](super::Sender)s. In a position, the line is the number of the
/// document or row, and the byte is the sum of the lengths before it.
pub struct PushSource {
    shared: Arc<Shared>,
    /// Bytes that were returned so far.
    bytes: u64,
    bytes_total: Option<u64>,
}

impl Drop for PushSource {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Source for PushSource {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new([self.shared.options.name.clone()]);
        info.bytes_total = self.bytes_total;
        info.is_fed = true;
        info.warnings = Some(self.shared.warnings.clone());
        info
    }

    #[cfg(feature = "columns")]
    fn form_rows(&mut self, form: &RowForm) {
        let mut state = self.shared.state();
        state.rows = form.clone();
        state.each_writer(|writer, schema| {
            writer.set_nulls(form.nulls);
            writer.set_fields(form, schema);
        });
    }

    /// Rows may wait already: the program sends them while the load begins.
    #[cfg(feature = "columns")]
    fn keep_texts(&mut self, fields: &[String]) {
        let mut state = self.shared.state();
        state.texts = fields.to_vec();
        state.each_writer(|writer, schema| writer.set_texts(fields, schema));
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        let shared = Arc::clone(&self.shared);
        let until = clock::now() + IDLE_AFTER;
        let mut state = shared.state();
        state.gather_bytes = want_bytes.max(1);
        loop {
            if let Some(piece) = state.pieces.pop_front() {
                return Ok(Step::Chunk(self.take(state, piece, want_bytes)));
            }
            let left = until.saturating_duration_since(clock::now());
            let wait = match state.may_wait(&shared.options) {
                Some(wait) if wait.is_zero() => {
                    state.close_gathered();
                    continue;
                }
                Some(wait) => wait.min(left),
                None => {
                    if let Some(end) = &mut state.end {
                        return std::mem::replace(end, Ok(())).map(|()| Step::End);
                    }
                    state.flush = false;
                    left
                }
            };
            if left.is_zero() {
                return Ok(Step::Idle);
            }
            state = shared.more.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl PushSource {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        PushSource { shared, bytes: 0, bytes_total: None }
    }

    /// Sets an estimate of all bytes. A load changes the settings of its index only for a large
    /// known size.
    #[must_use]
    pub fn with_bytes_total(mut self, bytes: Option<u64>) -> Self {
        self.bytes_total = bytes;
        self
    }

    #[cfg_attr(not(feature = "columns"), expect(unused_variables, reason = "only rows are cut"))]
    fn take(&mut self, state: MutexGuard<'_, State>, piece: Piece, bytes: usize) -> Chunk {
        match piece {
            Piece::Documents(gathered) => {
                self.shared.free(state, gathered.cost());
                let first_byte = self.bytes;
                self.bytes += gathered.bytes();
                Chunk::Docs(gathered.block(first_byte))
            }
            #[cfg(feature = "columns")]
            Piece::Rows(rows) => self.take_rows(state, rows, bytes),
        }
    }

    /// Takes rows of about `bytes` from the beginning of a batch.
    #[cfg(feature = "columns")]
    fn take_rows(&mut self, mut state: MutexGuard<'_, State>, rows: RowsPiece, bytes: usize) -> Chunk {
        let all = rows.batch.num_rows();
        let count = rows_in(rows.row_bytes * all, all, bytes).min(all);
        let batch = rows.batch.slice(0, count);
        let (writer, freed) = (Arc::clone(&rows.writer), rows.row_bytes * count);
        if count < all {
            let rest = RowsPiece { batch: rows.batch.slice(count, all - count), ..rows };
            state.pieces.push_front(Piece::Rows(rest));
        }
        self.shared.free(state, freed);
        let size = |column: &dyn Array| column.to_data().get_slice_memory_size().unwrap_or(0) as u64;
        let bytes_read = batch.columns().iter().map(|column| size(column)).sum();
        Chunk::Rows(Rows { batch, writer, origin: Origin::default(), bytes_read })
    }
}

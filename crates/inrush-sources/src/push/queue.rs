//! The queue between senders and source.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[cfg(feature = "columns")]
use arrow_array::RecordBatch;
use inrush_cluster::clock::{self, Instant};
use inrush_formats::Warnings;
#[cfg(feature = "columns")]
use inrush_formats::buffer::BufferPool;
#[cfg(feature = "columns")]
use inrush_formats::columns::{BinaryForms, RowWriter};
use tokio::sync::Notify;

use super::gathered::{Gathered, OVERHEAD};
use super::{Closed, Document, PushOptions};
use crate::SourceError;

/// Bytes of documents that are gathered before the source reports its read size.
const GATHERED_BYTES: usize = 256 << 10;

/// State that senders and source share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Notified when a piece is ready, or the end is reached.
    pub(super) more: Condvar,
    /// Notified when a piece was taken, for threads and for tasks.
    room: Condvar,
    room_for_tasks: Notify,
    pub(super) options: PushOptions,
    pub(super) warnings: Warnings,
    #[cfg(feature = "columns")]
    pub(super) pool: Arc<BufferPool>,
}

pub(super) struct State {
    pub(super) pieces: VecDeque<Piece>,
    gathered: Gathered,
    /// Time since which the first gathered document waits.
    since: Option<Instant>,
    /// Size at which the gathered documents become a piece.
    pub(super) gather_bytes: usize,
    /// Bytes of all waiting documents and rows.
    waiting: usize,
    /// Documents and rows that were sent so far.
    pub(super) given: u64,
    /// The gathered documents become a piece at once.
    pub(super) flush: bool,
    /// The end of the source, with its error where there is one.
    pub(super) end: Option<Result<(), SourceError>>,
    /// The source accepts nothing more.
    closed: bool,
    #[cfg(feature = "columns")]
    writer: Option<(arrow_schema::SchemaRef, Arc<RowWriter>)>,
    /// The form of documents that are made of rows.
    #[cfg(feature = "columns")]
    pub(super) rows: inrush_core::RowForm,
    /// Fields whose original text is kept.
    #[cfg(feature = "columns")]
    pub(super) texts: Vec<String>,
}

pub(super) enum Piece {
    Documents(Gathered),
    #[cfg(feature = "columns")]
    Rows(RowsPiece),
}

#[cfg(feature = "columns")]
pub(super) struct RowsPiece {
    pub(super) batch: RecordBatch,
    pub(super) writer: Arc<RowWriter>,
    /// About the bytes of each row's document.
    pub(super) row_bytes: usize,
}

/// The result of an offered document.
pub(super) enum Offer {
    Taken,
    /// There is no room.
    Full,
}

impl Shared {
    pub(super) fn new(options: PushOptions) -> Self {
        Shared {
            state: Mutex::new(State::default()),
            more: Condvar::new(),
            room: Condvar::new(),
            room_for_tasks: Notify::new(),
            options,
            warnings: Warnings::default(),
            #[cfg(feature = "columns")]
            pool: BufferPool::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete when the lock is released, also after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a document if there is room for it.
    pub(super) fn offer(&self, document: &Document) -> Result<Offer, Closed> {
        let mut state = self.state();
        if state.closed {
            return Err(Closed);
        }
        if !self.has_room(&mut state, document) {
            return Ok(Offer::Full);
        }
        self.gather_document(state, document);
        Ok(Offer::Taken)
    }

    /// Takes a document, and waits in this thread for room.
    pub(super) fn wait_and_take(&self, document: &Document) -> Result<(), Closed> {
        let mut state = self.state();
        while !state.closed {
            if self.has_room(&mut state, document) {
                self.gather_document(state, document);
                return Ok(());
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Err(Closed)
    }

    /// Whether there is room for a document. Where there is none, the gathered documents become a
    /// piece at once, because their room is free after they are taken.
    fn has_room(&self, state: &mut State, document: &Document) -> bool {
        let fits = state.waiting == 0 || state.waiting + document.body.len() + OVERHEAD <= self.options.memory;
        if !fits {
            state.flush = true;
            self.more.notify_one();
        }
        fits
    }

    fn gather_document(&self, state: MutexGuard<'_, State>, document: &Document) {
        let Document { body, meta } = document;
        self.gather(state, body.len(), |gathered| gathered.push(body, meta.clone(), self.options.document_bytes_max));
    }

    /// Takes a document or a rejected text, however much is waiting.
    pub(super) fn add(&self, bytes: usize, push: impl FnOnce(&mut Gathered)) -> Result<(), Closed> {
        let state = self.state();
        if state.closed {
            return Err(Closed);
        }
        self.gather(state, bytes, push);
        Ok(())
    }

    fn gather(&self, mut state: MutexGuard<'_, State>, bytes: usize, push: impl FnOnce(&mut Gathered)) {
        // Positions in a block are 32 bits.
        if state.gathered.len() + bytes.min(self.options.document_bytes_max) > i32::MAX as usize {
            state.close_gathered();
        }
        push(&mut state.gathered);
        state.waiting += bytes + OVERHEAD;
        state.given += 1;
        let first = state.since.is_none();
        if first {
            state.since = Some(clock::now());
        }
        let full = state.gathered.len() >= state.gather_bytes;
        if full {
            state.close_gathered();
        }
        drop(state);
        if first || full {
            self.more.notify_one();
        }
    }

    /// Takes a record batch, however much is waiting.
    #[cfg(feature = "columns")]
    pub(super) fn add_rows(&self, batch: RecordBatch) -> Result<(), Closed> {
        let mut state = self.state();
        if state.closed {
            return Err(Closed);
        }
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let schema = batch.schema();
        let writer = match &state.writer {
            Some((known, writer)) if *known == schema => Arc::clone(writer),
            _ => {
                let PushOptions { document_bytes_max, name, timestamps, binary, .. } = &self.options;
                let pool = Arc::clone(&self.pool);
                let writer = RowWriter::new(&schema, &[], *document_bytes_max, name, &self.warnings, pool);
                let writer = writer.with_timestamps(*timestamps).with_nulls(state.rows.nulls);
                let writer = writer.with_binary(binary.fixed(), &BinaryForms::default());
                Arc::new(writer.with_texts(&state.texts, &schema).with_fields(&state.rows, &schema))
            }
        };
        state.writer = Some((schema, Arc::clone(&writer)));
        // Documents that were sent before the batch come first.
        state.close_gathered();
        let row_bytes = writer.estimate(&batch).div_ceil(batch.num_rows());
        state.waiting += row_bytes * batch.num_rows();
        state.given += batch.num_rows() as u64;
        state.pieces.push_back(Piece::Rows(RowsPiece { batch, writer, row_bytes }));
        drop(state);
        self.more.notify_one();
        Ok(())
    }

    /// Waits in this thread for room, for at most `wait`. Returns whether there is room.
    pub(super) fn wait_for_room(&self, wait: Duration) -> Result<bool, Closed> {
        let memory = self.options.memory;
        let full = |state: &mut State| state.waiting >= memory && !state.closed;
        let waited = self.room.wait_timeout_while(self.state(), wait, full);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.closed { Err(Closed) } else { Ok(!timeout.timed_out()) }
    }

    /// Completes when a piece is taken after this call.
    pub(super) fn taken(&self) -> tokio::sync::futures::Notified<'_> {
        self.room_for_tasks.notified()
    }

    /// Frees the room of `bytes` that were taken.
    pub(super) fn free(&self, mut state: MutexGuard<'_, State>, bytes: usize) {
        state.waiting = state.waiting.saturating_sub(bytes);
        drop(state);
        self.room.notify_all();
        self.room_for_tasks.notify_waiters();
    }

    /// Ends the source, with its error where there is one. Only the first call counts.
    pub(super) fn end(&self, end: Result<(), SourceError>) {
        self.state().end.get_or_insert(end);
        self.more.notify_all();
    }

    /// Closes the source and drops everything that waits.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.end.get_or_insert(Ok(()));
        state.pieces.clear();
        state.gathered = Gathered::default();
        drop(state);
        self.more.notify_all();
        self.room.notify_all();
        self.room_for_tasks.notify_waiters();
    }
}

impl Default for State {
    fn default() -> Self {
        State {
            pieces: VecDeque::new(),
            gathered: Gathered::default(),
            since: None,
            gather_bytes: GATHERED_BYTES,
            waiting: 0,
            given: 0,
            flush: false,
            end: None,
            closed: false,
            #[cfg(feature = "columns")]
            writer: None,
            #[cfg(feature = "columns")]
            rows: inrush_core::RowForm::default(),
            #[cfg(feature = "columns")]
            texts: Vec::new(),
        }
    }
}

impl State {
    /// Changes the writers of rows that wait, and that of later ones.
    #[cfg(feature = "columns")]
    pub(super) fn each_writer(&mut self, change: impl Fn(&mut RowWriter, &arrow_schema::Schema)) {
        if let Some((schema, writer)) = &mut self.writer {
            change(Arc::make_mut(writer), schema);
        }
        for piece in &mut self.pieces {
            if let Piece::Rows(rows) = piece {
                change(Arc::make_mut(&mut rows.writer), rows.batch.schema_ref());
            }
        }
    }

    /// Makes a piece of the gathered documents.
    pub(super) fn close_gathered(&mut self) {
        self.since = None;
        self.flush = false;
        if !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            self.pieces.push_back(Piece::Documents(gathered));
        }
    }

    /// Time that the gathered documents may still wait for more. `None` where there are none.
    pub(super) fn may_wait(&self, options: &PushOptions) -> Option<Duration> {
        let left = options.linger.saturating_sub(self.since?.elapsed());
        let hurried = self.flush || self.waiting >= options.memory || self.end.is_some();
        Some(if hurried { Duration::ZERO } else { left })
    }
}

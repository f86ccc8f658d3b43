//! The queue between senders and source.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "columns")]
use arrow_array::RecordBatch;
use inrush_formats::Warnings;
#[cfg(feature = "columns")]
use inrush_formats::buffer::BufferPool;
#[cfg(feature = "columns")]
use inrush_formats::columns::RowWriter;
use tokio::sync::Notify;

use super::gathered::{Gathered, OVERHEAD};
use super::{Closed, Document, PushOptions};
use crate::SourceError;

/// How many bytes of documents are gathered before the source says how much it takes at once.
const GATHERED_BYTES: usize = 256 << 10;

/// What senders and source share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Notified when there is something to take, or the end has come.
    pub(super) more: Condvar,
    /// Notified when something was taken, for threads and for tasks.
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
    /// Since when the first gathered document has waited.
    since: Option<Instant>,
    /// The size at which what was gathered becomes a piece.
    pub(super) gather_bytes: usize,
    /// Bytes of everything that waits.
    waiting: usize,
    /// Documents and rows that were given so far.
    pub(super) given: u64,
    /// What was gathered goes on at once.
    pub(super) flush: bool,
    /// Nothing more will come, and why if something went wrong.
    pub(super) end: Option<Result<(), SourceError>>,
    /// Nothing is taken any more.
    closed: bool,
    #[cfg(feature = "columns")]
    writer: Option<(arrow_schema::SchemaRef, Arc<RowWriter>)>,
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
    /// Bytes of each row's document, about.
    pub(super) row_bytes: usize,
}

/// What becomes of a document that is offered.
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
        // Each change is complete when the lock is left, also by a panic.
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

    /// Takes a document, and waits in this thread until there is room for it.
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

    /// Whether there is room for a document. Where there is none, what was gathered goes on at
    /// once: its place becomes free when it is taken.
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

    /// Takes a document, or something that is none, however much waits.
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
            state.since = Some(Instant::now());
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

    /// Takes a record batch, however much waits.
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
                let PushOptions { document_bytes_max, name, timestamps, .. } = &self.options;
                let pool = Arc::clone(&self.pool);
                let writer = RowWriter::new(&schema, &[], *document_bytes_max, name, &self.warnings, pool);
                let writer = Arc::new(writer.with_timestamps(*timestamps));
                state.writer = Some((schema, Arc::clone(&writer)));
                writer
            }
        };
        // What was given before comes before.
        state.close_gathered();
        let row_bytes = writer.estimate(&batch).div_ceil(batch.num_rows());
        state.waiting += row_bytes * batch.num_rows();
        state.given += batch.num_rows() as u64;
        state.pieces.push_back(Piece::Rows(RowsPiece { batch, writer, row_bytes }));
        drop(state);
        self.more.notify_one();
        Ok(())
    }

    /// Waits in this thread until there is room, for `wait` at most; whether there is.
    pub(super) fn wait_for_room(&self, wait: Duration) -> Result<bool, Closed> {
        let memory = self.options.memory;
        let full = |state: &mut State| state.waiting >= memory && !state.closed;
        let waited = self.room.wait_timeout_while(self.state(), wait, full);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.closed { Err(Closed) } else { Ok(!timeout.timed_out()) }
    }

    /// Completes when something is taken after this call.
    pub(super) fn taken(&self) -> tokio::sync::futures::Notified<'_> {
        self.room_for_tasks.notified()
    }

    /// `bytes` that waited were taken.
    pub(super) fn free(&self, mut state: MutexGuard<'_, State>, bytes: usize) {
        state.waiting = state.waiting.saturating_sub(bytes);
        drop(state);
        self.room.notify_all();
        self.room_for_tasks.notify_waiters();
    }

    /// Nothing more will come, and why if something went wrong. The first call counts.
    pub(super) fn end(&self, end: Result<(), SourceError>) {
        self.state().end.get_or_insert(end);
        self.more.notify_all();
    }

    /// Nothing is taken any more; what waits is thrown away.
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
        }
    }
}

impl State {
    /// What was gathered becomes a piece.
    pub(super) fn close_gathered(&mut self) {
        self.since = None;
        self.flush = false;
        if !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            self.pieces.push_back(Piece::Documents(gathered));
        }
    }

    /// How long what was gathered may still wait for more; `None` where nothing was gathered.
    pub(super) fn may_wait(&self, options: &PushOptions) -> Option<Duration> {
        let left = options.linger.saturating_sub(self.since?.elapsed());
        let hurried = self.flush || self.waiting >= options.memory || self.end.is_some();
        Some(if hurried { Duration::ZERO } else { left })
    }
}

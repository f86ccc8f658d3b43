//! A source that a program feeds from threads of its own, which may wait: documents one by one, which are gathered into blocks, and
//! record batches, whose rows become documents in the reading threads. For programs that are asynchronous there is
//! [`super::push`].

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "columns")]
use arrow_array::{Array, RecordBatch};
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, DocMeta, Reject};
use inrush_formats::buffer::BufferPool;
#[cfg(feature = "columns")]
use inrush_formats::columns::{RowWriter, rows_in};
use inrush_formats::one_line::one_line;
use memchr::memchr2;

use super::push::{Closed, PushOptions};
use super::{Chunk, Source, SourceError, Warnings, too_large, too_large_head};

/// How many bytes of documents are gathered as long as nobody has said how much is read at once.
const GATHERED_BYTES: usize = 256 << 10;

/// What a waiting document costs besides its contents, bytes.
const OVERHEAD: usize = 32;

/// Makes a source and what feeds it. The source ends with [`Feed::end`].
pub fn feed(options: PushOptions) -> (Feed, FeedSource) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State { gather_bytes: GATHERED_BYTES, ..State::default() }),
        more: Condvar::new(),
        room: Condvar::new(),
        options,
        warnings: Warnings::default(),
        pool: BufferPool::new(),
    });
    (Feed { shared: Arc::clone(&shared) }, FeedSource { shared, bytes: 0, bytes_total: None })
}

struct Shared {
    state: Mutex<State>,
    /// Told when there is something to take, or nothing more will come.
    more: Condvar,
    /// Told when something was taken.
    room: Condvar,
    options: PushOptions,
    warnings: Warnings,
    pool: Arc<BufferPool>,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Piece>,
    gathered: Gathered,
    /// Since when the first gathered document has waited.
    since: Option<Instant>,
    /// At which size what was gathered becomes a piece.
    gather_bytes: usize,
    /// Bytes of everything that waits.
    waiting: usize,
    /// Documents and rows that were given so far.
    given: u64,
    /// What was gathered goes on at once.
    flush: bool,
    /// Nothing more will come, and why if something went wrong.
    end: Option<Result<(), SourceError>>,
    /// Nobody takes anything any more.
    closed: bool,
    #[cfg(feature = "columns")]
    writer: Option<(arrow_schema::SchemaRef, Arc<RowWriter>)>,
}

enum Piece {
    Documents(Gathered),
    #[cfg(feature = "columns")]
    Rows(Rows),
}

/// Documents in one buffer.
#[derive(Default)]
struct Gathered {
    data: Vec<u8>,
    ends: Vec<u32>,
    metas: Vec<DocMeta>,
    rejects: Vec<Reject>,
    /// Bytes that were given, those of rejects included.
    bytes: u64,
}

#[cfg(feature = "columns")]
struct Rows {
    batch: RecordBatch,
    writer: Arc<RowWriter>,
    /// Bytes of each row's document, about.
    row_bytes: usize,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete when the lock is left, also by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What was gathered becomes a piece.
    fn close_gathered(&mut self) {
        self.since = None;
        self.flush = false;
        if !self.gathered.ends.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            self.pieces.push_back(Piece::Documents(gathered));
        }
    }
}

/// Feeds a load. Cheap to clone; documents of one thread keep their order.
#[derive(Clone)]
pub struct Feed {
    shared: Arc<Shared>,
}

impl Feed {
    /// Waits until less than [`PushOptions::memory`] bytes wait to be taken, but no longer than `wait`; whether there is room.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub fn wait_for_room(&self, wait: Duration) -> Result<bool, Closed> {
        let shared = &self.shared;
        let full = |state: &mut State| state.waiting >= shared.options.memory && !state.closed;
        let waited = shared.room.wait_timeout_while(shared.state(), wait, full);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.closed { Err(Closed) } else { Ok(!timeout.timed_out()) }
    }

    /// Hands over a document: one JSON object, or nothing for an action that has none. Never waits; ask
    /// [`Feed::wait_for_room`] before. It is gathered with others for at most [`PushOptions::linger`].
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub fn add(&self, body: &[u8], meta: DocMeta) -> Result<(), Closed> {
        let bytes_max = self.shared.options.document_bytes_max;
        self.gather(body.len(), |gathered| {
            let record = gathered.ends.len() as u32;
            if body.len() > bytes_max {
                gathered.rejects.push(too_large(record, body.len() as u64, bytes_max));
                gathered.data.extend_from_slice(too_large_head(body));
            } else {
                let start = gathered.data.len();
                gathered.data.extend_from_slice(body);
                if memchr2(b'\n', b'\r', body).is_some() {
                    gathered.rejects.extend(one_line(record, &mut gathered.data[start..]));
                }
            }
            if meta != DocMeta::default() {
                gathered.metas.resize(record as usize, DocMeta::default());
                gathered.metas.push(meta);
            }
        })
    }

    /// Hands over something that is no document: a dead letter with `text` in the document's place.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub fn reject(&self, text: &[u8], kind: &'static str, reason: String) -> Result<(), Closed> {
        self.gather(text.len(), |gathered| {
            let record = gathered.ends.len() as u32;
            gathered.rejects.push(Reject { record, kind, reason });
            gathered.data.extend_from_slice(too_large_head(text));
        })
    }

    fn gather(&self, bytes: usize, push: impl FnOnce(&mut Gathered)) -> Result<(), Closed> {
        let mut state = self.shared.state();
        if state.closed {
            return Err(Closed);
        }
        // Positions in a block are 32 bits.
        if state.gathered.data.len() + bytes.min(self.shared.options.document_bytes_max) > i32::MAX as usize {
            state.close_gathered();
        }
        push(&mut state.gathered);
        let end = state.gathered.data.len() as u32;
        state.gathered.ends.push(end);
        state.gathered.bytes += bytes as u64;
        state.waiting += bytes + OVERHEAD;
        state.given += 1;
        let first = state.since.is_none();
        if first {
            state.since = Some(Instant::now());
        }
        let full = state.gathered.data.len() >= state.gather_bytes;
        if full {
            state.close_gathered();
        }
        drop(state);
        if first || full {
            self.shared.more.notify_one();
        }
        Ok(())
    }

    /// Hands over a record batch. Each row becomes a document, in the reading threads. Never waits; ask
    /// [`Feed::wait_for_room`] before. Batches may differ in their schema.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    #[cfg(feature = "columns")]
    pub fn add_rows(&self, batch: RecordBatch) -> Result<(), Closed> {
        let shared = &self.shared;
        let mut state = shared.state();
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
                let bytes_max = shared.options.document_bytes_max;
                let (name, pool) = (&shared.options.name, Arc::clone(&shared.pool));
                let writer = RowWriter::new(&schema, &[], bytes_max, name, &shared.warnings, pool);
                let writer = Arc::new(writer.with_timestamps(shared.options.timestamps));
                state.writer = Some((schema, Arc::clone(&writer)));
                writer
            }
        };
        // What was given before comes before.
        state.close_gathered();
        let row_bytes = writer.estimate(&batch).div_ceil(batch.num_rows());
        state.waiting += row_bytes * batch.num_rows();
        state.given += batch.num_rows() as u64;
        state.pieces.push_back(Piece::Rows(Rows { batch, writer, row_bytes }));
        drop(state);
        shared.more.notify_one();
        Ok(())
    }

    /// Counts numbers that JSON has no text for, which whoever made the documents left out: a warning of the report.
    pub fn left_out(&self, not_finite: u64) {
        let message = || "NaN or infinity, which JSON has no number for: it is left out, and null in a list".to_owned();
        self.shared.warnings.add(&self.shared.options.name, "not_finite", "", not_finite, message);
    }

    /// What was gathered goes on without waiting for more.
    pub fn flush(&self) {
        self.shared.state().flush = true;
        self.shared.more.notify_one();
    }

    /// Documents and rows that were handed over so far.
    pub fn given(&self) -> u64 {
        self.shared.state().given
    }

    /// Nothing more will come: the source ends after what was handed over. Further calls do nothing.
    pub fn end(&self) {
        self.shared.state().end.get_or_insert(Ok(()));
        self.shared.more.notify_all();
    }

    /// Nothing more will come because something went wrong: the source ends with this error after what was handed over.
    pub fn fail(&self, message: impl Into<String>) {
        let error = SourceError::new(&self.shared.options.name, message);
        self.shared.state().end.get_or_insert(Err(error));
        self.shared.more.notify_all();
    }

    /// Nothing is taken any more; what waits is thrown away.
    pub fn close(&self) {
        self.shared.close();
    }
}

impl Shared {
    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.end.get_or_insert(Ok(()));
        state.pieces.clear();
        state.gathered = Gathered::default();
        drop(state);
        self.more.notify_all();
        self.room.notify_all();
    }
}

/// The documents that come from a [`Feed`]. A position's line is the number of the document or row.
pub struct FeedSource {
    shared: Arc<Shared>,
    /// Given so far.
    bytes: u64,
    bytes_total: Option<u64>,
}

impl Drop for FeedSource {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Source for FeedSource {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        state.gather_bytes = bytes.max(1);
        loop {
            if let Some(piece) = state.pieces.pop_front() {
                return Ok(Some(self.take(state, piece, bytes)));
            }
            if state.gathered.ends.is_empty()
                && let Some(end) = &mut state.end
            {
                return std::mem::replace(end, Ok(())).map(|()| None);
            }
            let since = state.since.map(|since| shared.options.linger.saturating_sub(since.elapsed()));
            let full = state.waiting >= shared.options.memory;
            match since {
                Some(left) if state.flush || full || state.end.is_some() || left.is_zero() => state.close_gathered(),
                Some(left) => {
                    state = shared.more.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    state.flush = false;
                    state = shared.more.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn is_fed(&self) -> bool {
        true
    }

    fn names(&self) -> Vec<String> {
        vec![self.shared.options.name.clone()]
    }

    fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    fn warnings(&self) -> Option<Warnings> {
        Some(self.shared.warnings.clone())
    }
}

impl FeedSource {
    /// About how many bytes will come: a load changes the settings of its index only where that is known to be much.
    #[must_use]
    pub fn with_bytes_total(mut self, bytes: Option<u64>) -> Self {
        self.bytes_total = bytes;
        self
    }

    fn take(&mut self, mut state: MutexGuard<'_, State>, piece: Piece, bytes: usize) -> Chunk {
        match piece {
            Piece::Documents(gathered) => {
                state.waiting = state.waiting.saturating_sub(gathered.bytes as usize + gathered.ends.len() * OVERHEAD);
                drop(state);
                self.shared.room.notify_all();
                let first_byte = self.bytes;
                self.bytes += gathered.bytes;
                Chunk::Docs(gathered.block(first_byte))
            }
            #[cfg(feature = "columns")]
            Piece::Rows(rows) => {
                let all = rows.batch.num_rows();
                let count = rows_in(rows.row_bytes * all, all, bytes).min(all);
                let batch = rows.batch.slice(0, count);
                let writer = Arc::clone(&rows.writer);
                state.waiting = state.waiting.saturating_sub(rows.row_bytes * count);
                if count < all {
                    let rest = Rows { batch: rows.batch.slice(count, all - count), ..rows };
                    state.pieces.push_front(Piece::Rows(rest));
                }
                drop(state);
                self.shared.room.notify_all();
                Chunk::Deferred(Box::new(move || {
                    let size = |column: &dyn Array| column.to_data().get_slice_memory_size().unwrap_or(0) as u64;
                    let bytes_read = batch.columns().iter().map(|column| size(column)).sum();
                    writer.block(&batch, Origin::default(), bytes_read)
                }))
            }
        }
    }
}

impl Gathered {
    fn block(self, first_byte: u64) -> DocBlock {
        let mut start = 0;
        let ends = self.ends.iter().enumerate();
        let records: Vec<Record> = ends
            .map(|(at, end)| {
                let record = Record { start, end: *end, byte: start, line: at as u32 };
                start = *end;
                record
            })
            .collect();
        let mut meta = self.metas;
        if !meta.is_empty() {
            meta.resize(records.len(), DocMeta::default());
        }
        let origin = Origin { first_byte, ..Origin::default() };
        let (lines, bytes_read) = (records.len() as u64, self.bytes);
        DocBlock { origin, lines, data: self.data.into(), records, rejects: self.rejects, meta, bytes_read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);

    fn options() -> PushOptions {
        PushOptions { linger: NEVER, ..PushOptions::default() }
    }

    fn texts(source: &mut FeedSource, bytes: usize) -> Option<Vec<String>> {
        let block = source.next_chunk(bytes).unwrap()?.into_block();
        assert_eq!(block.lines, block.records.len() as u64);
        Some((0..block.records.len()).map(|i| String::from_utf8(block.record(i).to_vec()).unwrap()).collect())
    }

    #[test]
    fn documents_come_out_in_order_with_what_is_known_of_them() {
        let (feed, mut source) = feed(PushOptions { document_bytes_max: 10, ..options() });
        let meta = DocMeta::default().with_id("7".to_owned());
        feed.add(b"{\"a\":\n1}", DocMeta::default()).unwrap();
        feed.add(b"{}", meta.clone()).unwrap();
        feed.add(b"{\"a\":\"0123456789\"}", DocMeta::default()).unwrap();
        feed.reject(b"<object>", "not_serializable", "no".into()).unwrap();
        feed.end();
        let block = source.next_chunk(1000).unwrap().unwrap().into_block();
        assert_eq!((block.record(0), block.record(3)), (&b"{\"a\": 1}"[..], &b"<object>"[..]));
        assert_eq!(block.meta, [DocMeta::default(), meta, DocMeta::default(), DocMeta::default()]);
        let rejects: Vec<_> = block.rejects.iter().map(|reject| (reject.record, reject.kind)).collect();
        assert_eq!(rejects, [(2, "too_large"), (3, "not_serializable")]);
        assert_eq!((block.records[1].byte, block.records[1].line, block.bytes_read), (8, 1, 36));
        assert!(source.next_chunk(1000).unwrap().is_none() && feed.given() == 4);
    }

    #[test]
    fn what_is_gathered_goes_on_when_it_is_full_old_or_hurried() {
        let (feed, mut source) = feed(PushOptions { memory: 1000, ..options() });
        source.shared.state().gather_bytes = 4;
        for _ in 0..3 {
            feed.add(b"{}", DocMeta::default()).unwrap();
        }
        assert_eq!(texts(&mut source, 4).map(|t| t.len()), Some(2), "full");
        feed.flush();
        assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(1), "hurried");
        feed.add(&[b' '; 2000], DocMeta::default()).unwrap();
        assert_eq!(feed.wait_for_room(Duration::ZERO), Ok(false));
        assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(1), "whoever feeds waits for room");
        assert_eq!(feed.wait_for_room(Duration::ZERO), Ok(true));

        let (feed, mut source) = super::feed(PushOptions { linger: Duration::ZERO, ..options() });
        feed.add(b"{}", DocMeta::default()).unwrap();
        assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(1), "old");
    }

    #[test]
    fn an_error_follows_what_was_given_before() {
        let (feed, mut source) = feed(options());
        feed.add(b"{}", DocMeta::default()).unwrap();
        feed.fail("the generator raised ValueError");
        feed.end();
        assert_eq!(texts(&mut source, 1000), Some(vec!["{}".into()]));
        let Err(error) = source.next_chunk(1000) else { panic!("it failed") };
        assert_eq!(error.to_string(), "push: the generator raised ValueError");
    }

    #[test]
    fn whoever_feeds_notices_that_the_load_has_ended() {
        let (feed, source) = feed(options());
        drop(source);
        assert_eq!(feed.add(b"{}", DocMeta::default()), Err(Closed));
        assert_eq!(feed.wait_for_room(NEVER), Err(Closed));
    }

    #[cfg(feature = "columns")]
    #[test]
    fn rows_are_cut_and_keep_their_place_among_documents() {
        use arrow_array::{ArrayRef, Int64Array, StringArray};

        let (feed, mut source) = feed(options());
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5));
        feed.add(b"{\"first\":1}", DocMeta::default()).unwrap();
        feed.add_rows(RecordBatch::try_from_iter([("n", numbers)]).unwrap()).unwrap();
        let words: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        feed.add_rows(RecordBatch::try_from_iter([("w", words)]).unwrap()).unwrap();
        feed.end();
        let mut all = Vec::new();
        let mut blocks = 0;
        while let Some(texts) = texts(&mut source, 80) {
            all.extend(texts);
            blocks += 1;
        }
        let expected =
            ["{\"first\":1}", "{\"n\":0}", "{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{\"w\":\"x\"}"];
        assert_eq!(all, expected);
        assert!(blocks > 3, "{blocks}");
    }
}

//! The rows of a query over windows as a source.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use datafusion::common::DataFusionError;
use datafusion::physical_plan::execute_stream;
use futures_util::StreamExt;
use inrush_core::Code;
use inrush_core::{DocBlock, SourceId};
use inrush_sources::{
    Chunk, Feedback, IDLE_AFTER, Lag, Partition, Repeats, Source, SourceError, SourceInfo, Step, Warnings,
};

use super::super::reading::Reading;
use super::super::result::{NAME, SqlSource};
use super::super::shape::Object;
use super::Windows;
use super::book::{Book, ROWS};
use super::records::{Place, Window};
use super::search::failing;

/// Columns that are remembered. Records with more names than that, such as ids, have only the
/// columns of their own window.
const COLUMNS_MAX: usize = 10_000;

/// The longest interval of settled positions. Windows are held until they are settled.
const SETTLED_EVERY: std::time::Duration = std::time::Duration::from_millis(250);

/// The rows of a query over the windows of a source, as documents.
pub struct WindowSource {
    windows: Windows,
    source: Box<dyn Source>,
    shared: Arc<Shared>,
    clock: fn() -> Instant,
    /// Warnings and, at first, records of tables that are not rows.
    found: Reading,
    /// The columns so far.
    columns: Object,
    /// The window that is read, and when it began.
    open: Window,
    began: Option<Instant>,
    run: Option<Run>,
    /// Blocks that are returned next.
    ready: VecDeque<DocBlock>,
    /// The end of the source.
    end: Option<Result<(), SourceError>>,
    has_ended: bool,
}

/// The running query of a window.
struct Run {
    window: Window,
    generation: u32,
    rows: SqlSource,
    /// Rows of the window before those of the next rejects.
    passed: u64,
    /// Rows that do not fit the columns: the number in the window, the kind and the reason.
    odd: Vec<(u64, Code, String)>,
}

impl Run {
    /// Notes records of `input` that do not fit the columns.
    fn note(&mut self, block: &DocBlock) {
        for reject in &block.rejects {
            let row = self.passed + u64::from(block.records[reject.record as usize].line);
            self.odd.push((row, reject.kind, reject.reason.clone()));
        }
        self.passed += block.lines;
    }

    /// The window, whose odd records are no rows.
    fn into_window(self) -> Window {
        let Run { mut window, odd, .. } = self;
        if !odd.is_empty() {
            let places = window.places();
            let place = |(row, kind, reason): (u64, _, _)| Some((*places.get(row as usize)?, kind, reason));
            window.reject(odd.into_iter().filter_map(place).collect());
        }
        window
    }
}

impl WindowSource {
    pub(super) fn new(windows: Windows, source: Box<dyn Source>, clock: fn() -> Instant) -> Self {
        let tables: usize = windows.session.tables.iter().map(|table| table.names.len()).sum();
        let rows = SourceId(1 + tables as u32);
        let shared = Arc::new(Shared { book: Mutex::new(Book::new(rows)), inner: source.feedback() });
        let found = std::mem::take(&mut *windows.session.found.lock().unwrap_or_else(PoisonError::into_inner));
        let found = found.for_next_query();
        let mut ready = VecDeque::new();
        while let Some(mut block) = found.pop_rejects() {
            // No partition of the source has this number.
            block.origin.partition = ROWS;
            ready.push_back(block);
        }
        let columns = windows.declared();
        let (open, began, run, end, has_ended) = (Window::default(), None, None, None, false);
        WindowSource { windows, source, shared, clock, found, columns, open, began, run, ready, end, has_ended }
    }

    fn title(&self) -> String {
        self.source.describe().title()
    }

    fn failed(&self, why: impl Into<String>) -> SourceError {
        SourceError::new(NAME, why).coded(Code::BadQuery).of(self.shared.book().rows())
    }

    /// Takes lost partitions out of the window that is read, and ends a query whose rows are not
    /// wanted any more.
    fn forget_lost(&mut self) {
        let (lost, is_current) = {
            let mut book = self.shared.book();
            let is_current = self.run.as_ref().is_none_or(|run| book.is_current(run.generation));
            (book.take_lost(), is_current)
        };
        if !lost.is_empty() {
            self.open.forget(&lost);
        }
        if !is_current {
            self.run = None;
        }
    }

    /// Whether the window that is read ends now.
    fn is_due(&self) -> bool {
        let options = &self.windows.options;
        let is_full = options.window.docs().is_some_and(|docs| self.open.rows() as u64 >= docs.get())
            || self.open.bytes() >= options.memory / 2;
        let is_over = || self.began.is_some_and(|began| (self.clock)() - began >= options.window.time());
        !self.open.is_empty() && (is_full || self.end.is_some() || self.shared.is_waiting() || is_over())
    }

    /// Reads records until the window ends. `None` if it has not ended yet, or the source has
    /// ended.
    fn read(&mut self, want_bytes: usize) -> Option<Window> {
        let asked = (self.clock)();
        loop {
            self.forget_lost();
            if self.is_due() {
                self.began = None;
                return Some(std::mem::take(&mut self.open));
            }
            let held = self.open.bytes() + self.shared.book().bytes();
            let is_full = held >= self.windows.options.memory;
            if self.end.is_some() || is_full || (self.clock)() - asked >= IDLE_AFTER {
                return None;
            }
            match self.source.next(want_bytes) {
                Ok(Step::Chunk(chunk)) => {
                    self.open.push(chunk.into_block(), self.windows.options.skip_deletions);
                    let clock = self.clock;
                    self.began.get_or_insert_with(clock);
                }
                Ok(Step::Idle) if self.is_due() => {}
                Ok(Step::Idle) => return None,
                Ok(Step::End) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
    }

    /// Begins the query of the next window. `None`: it has begun, or there was nothing to do.
    fn next_window(&mut self, want_bytes: usize) -> Result<Option<Step>, SourceError> {
        let again = self.shared.book().take_again();
        let Some(mut window) = again.or_else(|| self.read(want_bytes)) else {
            return match self.end.take() {
                None => Ok(Some(Step::Idle)),
                Some(Err(error)) => Err(error),
                Some(Ok(())) => {
                    self.has_ended = true;
                    Ok(Some(Step::End))
                }
            };
        };
        window.widen(&mut self.columns);
        if self.columns.fields().len() > COLUMNS_MAX {
            self.columns = self.windows.declared();
            window.widen(&mut self.columns);
        }
        let generation = self.shared.book().begin(&mut window);
        self.start(window, generation).map(|()| None)
    }

    fn start(&mut self, window: Window, generation: u32) -> Result<(), SourceError> {
        if window.rows() == 0 {
            self.finish(window, generation);
            return Ok(());
        }
        let (documents, reading) = (window.documents(&window.places()), self.found.for_next_query());
        let rows = self.windows.query(documents, &self.columns, &self.title(), reading);
        let rows = rows.map_err(|why| self.failed(why))?;
        self.run = Some(Run { window, generation, rows, passed: 0, odd: Vec::new() });
        Ok(())
    }

    /// The next rows of the running query. `None`: it goes on, or has ended.
    fn rows(&mut self, mut run: Run, want_bytes: usize) -> Result<Option<Step>, SourceError> {
        match run.rows.next(want_bytes) {
            Ok(Step::Chunk(Chunk::Rows(mut rows))) => {
                let origin = self.shared.book().number(run.generation, rows.batch.num_rows() as u64);
                let Some(origin) = origin else { return Ok(None) };
                // Tables are read again in each window.
                (rows.origin, rows.bytes_read) = (origin, 0);
                self.run = Some(run);
                Ok(Some(Step::Chunk(Chunk::Rows(rows))))
            }
            Ok(Step::Chunk(other)) => {
                run.note(&other.into_block());
                self.run = Some(run);
                Ok(None)
            }
            Ok(Step::Idle) => {
                self.run = Some(run);
                Ok(Some(Step::Idle))
            }
            Ok(Step::End) => {
                let generation = run.generation;
                self.finish(run.into_window(), generation);
                Ok(None)
            }
            Err(error) => self.without_failing(run, error).map(|()| None),
        }
    }

    fn finish(&mut self, mut window: Window, generation: u32) {
        let rejects = if window.is_told { Vec::new() } else { window.rejects() };
        window.is_told = true;
        if let Some(end) = self.shared.book().finish(generation, window) {
            self.ready.extend(rejects);
            self.ready.push_back(end);
        }
    }

    /// Runs the query again without the records with which it fails.
    fn without_failing(&mut self, run: Run, error: SourceError) -> Result<(), SourceError> {
        // Anything else is a table that cannot be read.
        let is_of_query = error.name == NAME;
        let generation = run.generation;
        let mut window = run.into_window();
        let places = window.places();
        let title = self.title();
        let found = if is_of_query { failing(&places, |places| self.runs(&window, places, &title)) } else { None };
        let Some(found) = found.filter(|found| !found.is_empty()) else { return Err(error) };
        tracing::debug!("records of a window with which the query fails: {}", found.len());
        let reject =
            |(place, why): (Place, String)| (place, Code::QueryFailed, format!("the query fails with it: {why}"));
        window.reject(found.into_iter().map(reject).collect());
        self.start(window, generation)
    }

    /// Whether the query runs over these records.
    fn runs(&self, window: &Window, places: &[Place], title: &str) -> Result<(), String> {
        let query = self.windows.query(window.documents(places), &self.columns, title, Reading::default())?;
        let query = query.into_query();
        let handle = query.workers.handle().ok_or("its threads have ended")?;
        let result = handle.block_on(async {
            let mut rows = execute_stream(Arc::clone(&query.physical), Arc::clone(&query.context))?;
            while let Some(batch) = rows.next().await {
                batch?;
            }
            Ok::<(), DataFusionError>(())
        });
        result.map_err(|error| query.scene.explain_in_line(&error))
    }
}

impl Source for WindowSource {
    fn describe(&self) -> SourceInfo {
        let tables = self.windows.session.tables.iter().flat_map(|table| table.names.iter().cloned());
        let mut info = self.source.describe();
        info.names = [info.title()].into_iter().chain(tables).chain([NAME.to_owned()]).collect();
        info.bytes_total = None;
        info.repeats = Repeats::Unordered;
        info.has_ids = false;
        info.has_deletions = false;
        info.settled_every = info.settled_every.min(SETTLED_EVERY);
        info.warnings = Some(self.warnings());
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        loop {
            self.forget_lost();
            if let Some(block) = self.ready.pop_front() {
                return Ok(Step::Chunk(Chunk::Docs(block)));
            }
            if self.has_ended {
                return Ok(Step::End);
            }
            let step = match self.run.take() {
                Some(run) => self.rows(run, want_bytes),
                None => self.next_window(want_bytes),
            };
            if let Some(step) = step.inspect_err(|_| self.has_ended = true)? {
                return Ok(step);
            }
        }
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::clone(&self.shared) as Arc<dyn Feedback>)
    }
}

impl WindowSource {
    fn warnings(&self) -> Warnings {
        self.found.warnings.clone()
    }
}

/// What the reader and the feedback share.
struct Shared {
    book: Mutex<Book>,
    inner: Option<Arc<dyn Feedback>>,
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        // After a panic of the reader nothing is read any more.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feedback for Shared {
    fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
        let positions = self.book().settle(up_to);
        if let Some(inner) = &self.inner {
            inner.settled(&positions);
        }
    }

    fn stop(&self) {
        self.inner.iter().for_each(|inner| inner.stop());
    }

    fn close(&self) {
        self.inner.iter().for_each(|inner| inner.close());
    }

    fn is_waiting(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.is_waiting())
    }

    fn lost(&self) -> Vec<Partition> {
        let mut lost = self.inner.as_ref().map_or_else(Vec::new, |inner| inner.lost());
        if !lost.is_empty() {
            let rows = self.book().lose(&lost);
            lost.extend(rows);
        }
        lost
    }

    fn ended(&self) -> Vec<Partition> {
        let mut ended = self.inner.as_ref().map_or_else(Vec::new, |inner| inner.ended());
        let mut book = self.book();
        book.forget(&ended);
        ended.extend(book.take_ended());
        ended
    }

    fn lag(&self) -> Option<Lag> {
        self.inner.as_ref().and_then(|inner| inner.lag())
    }
}

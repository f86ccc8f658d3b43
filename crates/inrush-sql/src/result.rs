//! The rows of a query as a source of documents.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use arrow_array::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures_util::StreamExt;
use inrush_core::block::Origin;
use inrush_core::{Code, DocBlock, FieldType, RowForm, SourceId};
use inrush_formats::buffer::BufferPool;
use inrush_formats::columns::{BinaryForms, Pieces, RowWriter};
use inrush_sources::{Chunk, Fingerprint, IDLE_AFTER, Repeats, Rows, RowsRead, Source, SourceError, SourceInfo, Step};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use super::QueryOptions;
use super::passed::Passed;
use super::reading::Reading;
use super::table::Table;
use super::wrong::Scene;

/// The name of the result in reports and dead letters.
pub(super) const NAME: &str = "query";

/// Batches of the result that wait to become documents.
const AHEAD: usize = 2;

/// The threads of queries.
#[derive(Debug)]
pub(super) struct Workers(Option<Runtime>);

impl Workers {
    pub(super) fn start(threads: usize) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("sql")
            .enable_all()
            .build()?;
        Ok(Workers(Some(runtime)))
    }

    pub(super) fn handle(&self) -> Option<Handle> {
        self.0.as_ref().map(|runtime| runtime.handle().clone())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Does not wait, because waiting is not allowed in the threads of another runtime.
            runtime.shutdown_background();
        }
    }
}

/// A planned query.
pub(super) struct Query {
    pub(super) sql: String,
    pub(super) scene: Arc<Scene>,
    pub(super) physical: Arc<dyn ExecutionPlan>,
    pub(super) context: Arc<TaskContext>,
    pub(super) workers: Arc<Workers>,
    /// Fields of the result that are text because of a few values.
    pub(super) few_texts: Vec<(String, Passed)>,
}

/// The rows of a query. The query runs from the first call of [`Source::next`], and ends when this
/// is dropped.
pub struct SqlSource {
    query: Query,
    tables: Vec<Arc<Table>>,
    reading: Arc<Reading>,
    repeats: Repeats,
    writer: Arc<RowWriter>,
    running: Option<Running>,
    pieces: Pieces,
    /// Fields of the result that are text because of a few values, and the columns that they are.
    few_texts: Vec<(String, Passed)>,
    /// Bytes that chunks have reported.
    reported: u64,
    ended: bool,
}

/// A running query.
struct Running {
    batches: Receiver<Result<RecordBatch, String>>,
    /// The query stops when this is dropped.
    _stop: oneshot::Sender<()>,
}

impl SqlSource {
    pub(super) fn new(
        mut query: Query,
        tables: Vec<Arc<Table>>,
        reading: Arc<Reading>,
        repeats: Repeats,
        options: &QueryOptions,
    ) -> Self {
        let schema = query.physical.schema();
        let few_texts = std::mem::take(&mut query.few_texts);
        let (most, pool) = (options.document_bytes_max, BufferPool::new());
        let writer =
            RowWriter::new(&schema, &[], most, NAME, &reading.warnings, pool).with_timestamps(options.timestamps);
        let writer = writer.with_binary(options.binary.fixed(), &BinaryForms::default());
        let repeats = match repeats {
            Repeats::Always if !tables.iter().all(|table| table.repeats) => Repeats::Once,
            other => other,
        };
        SqlSource {
            query,
            tables,
            reading,
            repeats,
            writer: Arc::new(writer),
            running: None,
            pieces: Pieces::default(),
            few_texts,
            reported: 0,
            ended: false,
        }
    }

    /// The index of the result in [`SourceInfo::names`].
    fn id(&self) -> SourceId {
        SourceId(self.tables.iter().map(|table| table.names.len() as u32).sum())
    }

    fn run(&self) -> Result<Running, SourceError> {
        let failed = |error: &dyn std::fmt::Display| {
            SourceError::new(NAME, format!("cannot be run: {error}")).coded(Code::BadQuery)
        };
        let stream = {
            // Operators start their work in the runtime in which they are called.
            let handle = self.query.workers.handle().ok_or_else(|| failed(&"its threads have ended"))?;
            let _entered = handle.enter();
            execute_stream(Arc::clone(&self.query.physical), Arc::clone(&self.query.context))
        };
        let mut stream = stream
            .map_err(|error| SourceError::new(NAME, self.query.scene.explain_in_line(&error)).coded(Code::BadQuery))?;
        let (sender, batches) = sync_channel(AHEAD);
        let (stop, mut stopped) = oneshot::channel();
        let (workers, scene) = (Arc::clone(&self.query.workers), Arc::clone(&self.query.scene));
        let forward = move || {
            let Some(handle) = workers.handle() else { return };
            handle.block_on(async move {
                loop {
                    let batch = tokio::select! {
                        batch = stream.next() => batch,
                        _ = &mut stopped => return,
                    };
                    let Some(batch) = batch else { return };
                    let failed = batch.is_err();
                    // A thread of its own, which may block and read tables.
                    if sender.send(batch.map_err(|error| scene.explain_in_line(&error))).is_err() || failed {
                        return;
                    }
                }
            });
        };
        std::thread::Builder::new()
            .name("sql-result".to_owned())
            .spawn(forward)
            .map_err(|error| failed(&error).coded(Code::NoThreads))?;
        Ok(Running { batches, _stop: stop })
    }

    /// Bytes of the tables that were read since the last call.
    fn bytes_read(&mut self) -> u64 {
        let bytes = self.reading.bytes();
        bytes - std::mem::replace(&mut self.reported, bytes)
    }

    fn rejects(&mut self) -> Option<Chunk> {
        let mut block = self.reading.pop_rejects()?;
        block.bytes_read = self.bytes_read();
        Some(Chunk::Docs(block))
    }

    /// A chunk that only reports how much of the tables was read.
    fn progress(&mut self) -> Option<Chunk> {
        let bytes_read = self.bytes_read();
        let origin = Origin { source: self.id(), ..Origin::default() };
        (bytes_read > 0).then(|| Chunk::Docs(DocBlock { origin, bytes_read, ..DocBlock::default() }))
    }

    fn failed(&mut self, why: String) -> SourceError {
        self.ended = true;
        self.running = None;
        match self.reading.failed() {
            Some(error) => error,
            None => SourceError::new(NAME, why).coded(Code::BadQuery).of(self.id()),
        }
    }
}

impl Source for SqlSource {
    fn describe(&self) -> SourceInfo {
        let files = self.tables.iter().flat_map(|table| table.names.iter().cloned());
        let tables: Vec<String> = self.tables.iter().map(|table| table.reading()).collect();
        let totals = self.reading.totals();
        let mut info = SourceInfo::new(files.chain([NAME.to_owned()]));
        info.bytes_total = totals.bytes;
        info.repeats = self.repeats;
        info.reading = format!("{} {}", self.query.sql, tables.join(" "));
        info.rows = Some(RowsRead { read: self.reading.rows(), total: totals.rows });
        info.warnings = Some(self.reading.warnings.clone());
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        loop {
            if let Some(rejects) = self.rejects() {
                return Ok(Step::Chunk(rejects));
            }
            if let Some(batch) = self.pieces.next_piece() {
                let origin = Origin { source: self.id(), ..Origin::default() };
                let (writer, bytes_read) = (Arc::clone(&self.writer), self.bytes_read());
                return Ok(Step::Chunk(Chunk::Rows(Rows { batch, writer, origin, bytes_read })));
            }
            if self.ended {
                return Ok(Step::End);
            }
            let running = match &self.running {
                Some(running) => running,
                None => {
                    self.few_texts.drain(..).for_each(|(field, passed)| passed.warn(&field, &self.reading.warnings));
                    let running = self.run().inspect_err(|_| self.ended = true)?;
                    self.running.insert(running)
                }
            };
            match running.batches.recv_timeout(IDLE_AFTER) {
                Ok(Ok(batch)) => self.pieces.fill(batch, &self.writer, want_bytes),
                Ok(Err(why)) => return Err(self.failed(why)),
                Err(RecvTimeoutError::Timeout) => return Ok(self.progress().map_or(Step::Idle, Step::Chunk)),
                Err(RecvTimeoutError::Disconnected) => {
                    self.ended = true;
                    self.running = None;
                    if let Some(rest) = self.rejects().or_else(|| self.progress()) {
                        return Ok(Step::Chunk(rest));
                    }
                }
            }
        }
    }

    fn form_rows(&mut self, form: &RowForm) {
        // Where the target has text, strings are right.
        self.few_texts.retain(|(field, _)| form.fields.of(field) != Some(FieldType::Text));
        let schema = self.query.physical.schema();
        // The query runs from the first chunk on, which shares the writer.
        if let Some(writer) = Arc::get_mut(&mut self.writer) {
            writer.set_nulls(form.nulls);
            writer.set_fields(form, &schema);
        }
    }

    fn keep_texts(&mut self, fields: &[String]) {
        let schema = self.query.physical.schema();
        if let Some(writer) = Arc::get_mut(&mut self.writer) {
            writer.set_texts(fields, &schema);
        }
    }

    /// The fingerprints of the files of all tables.
    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        let files = self.tables.iter().map(|table| table.fingerprints());
        Ok(files.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

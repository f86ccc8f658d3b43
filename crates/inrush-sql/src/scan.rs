//! Reads a table for a query. Several threads take turns at its source, as those of a load do.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, ScalarValue, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties, StatisticsArgs,
};
use inrush_core::{DocBlock, SourceId};
use inrush_sources::{Chunk, Source, SourceError, Warnings};

use super::decode::Decoder;
use super::reading::{Lines, Reading};
use super::table::Table;

/// Estimated size of the documents of one batch, bytes.
const BATCH_BYTES: usize = 1 << 20;

/// Batches that wait for the query, for each thread.
const AHEAD: usize = 2;

/// A table in the form that a query uses.
#[derive(Debug)]
pub(super) struct Provider {
    table: Arc<Table>,
    reading: Arc<Reading>,
    threads: usize,
    scans: AtomicUsize,
}

impl Provider {
    pub(super) fn new(table: Arc<Table>, reading: Arc<Reading>, threads: usize) -> Self {
        Provider { table, reading, threads: threads.max(1), scans: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl TableProvider for Provider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.table.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(columns) => Arc::new(self.table.schema.project(columns)?),
            None => self.schema(),
        };
        self.reading.plan(self.table.bytes, self.table.rows);
        // A query may read a table several times. Records that are not rows are reported once.
        let first = self.scans.fetch_add(1, Ordering::Relaxed) == 0;
        let work = Work::new(Arc::clone(&self.table), Arc::clone(&self.reading), Arc::clone(&schema), first);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Arc::new(Scan { work: Arc::new(work), threads: self.threads, properties: Arc::new(properties) }))
    }
}

/// One scan of a table.
#[derive(Debug)]
struct Scan {
    work: Arc<Work>,
    threads: usize,
    properties: Arc<PlanProperties>,
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table { name, names, .. } = &*self.work.table;
        let columns: Vec<&str> = self.work.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "Read: table={name}, files={}, columns=[{}]", names.len(), columns.join(", "))
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &str {
        "Read"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    /// The estimated size of the table. A join decides by it which side to keep in memory.
    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.work.schema);
        let about = |total: u64| Precision::Inexact(usize::try_from(total).unwrap_or(usize::MAX));
        if let Some(rows) = self.work.table.rows {
            statistics.num_rows = about(rows);
        }
        if let Some(bytes) = self.work.table.bytes {
            statistics.total_byte_size = about(bytes);
        }
        Ok(Arc::new(statistics))
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.work.schema), AHEAD * self.threads);
        for _ in 0..self.threads {
            let (sender, work) = (stream.tx(), Arc::clone(&self.work));
            stream.spawn_blocking(move || {
                // The receiver is closed when the query needs no more rows.
                while let Some(batch) = work.next()? {
                    if sender.blocking_send(Ok(batch)).is_err() {
                        break;
                    }
                }
                Ok(())
            });
        }
        Ok(stream.build())
    }
}

/// The state that the threads of a scan share.
#[derive(Debug)]
pub(super) struct Work {
    table: Arc<Table>,
    reading: Arc<Reading>,
    schema: SchemaRef,
    decoder: Decoder,
    /// The lines of reported rejects. `None` in a second scan, which reports none.
    told: Option<Mutex<Lines>>,
    turn: Mutex<Turn>,
}

#[derive(Default)]
struct Turn {
    rows: Option<Box<dyn Source>>,
    next: u64,
    ended: bool,
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("next", &self.next).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Work {
    /// Reads the columns of `schema`. With `told`, records that are not rows are passed to
    /// `reading`.
    pub(super) fn new(table: Arc<Table>, reading: Arc<Reading>, schema: SchemaRef, told: bool) -> Self {
        let decoder = Decoder::new(Arc::clone(&schema), &table.shape);
        Work { table, reading, schema, decoder, told: told.then(Mutex::default), turn: Mutex::default() }
    }

    /// The next rows. `None` at the end.
    pub(super) fn next(&self) -> Result<Option<RecordBatch>> {
        let Some((number, chunk)) = self.take().map_err(|error| self.failed(error))? else { return Ok(None) };
        let (batch, bytes_read) = match chunk {
            Chunk::Rows(rows) => {
                let (batch, source) = (rows.batch, rows.origin.source);
                self.tell(number, &DocBlock { origin: rows.origin, ..DocBlock::default() }, Vec::new());
                (self.columns(&batch, source)?, rows.bytes_read)
            }
            other => {
                let block = other.into_block();
                let (batch, rejects) = self.decoder.rows(&block).map_err(DataFusionError::Execution)?;
                self.tell(number, &block, rejects);
                (batch, block.bytes_read)
            }
        };
        self.reading.add(bytes_read, batch.num_rows() as u64);
        Ok(Some(batch))
    }

    fn take(&self) -> std::result::Result<Option<(u64, Chunk)>, SourceError> {
        // A thread that panicked has ended the query.
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if turn.ended {
            return Ok(None);
        }
        if turn.rows.is_none() {
            let warnings = if self.told.is_some() { self.reading.warnings.clone() } else { Warnings::default() };
            self.table.warn(&warnings);
            let columns = self.schema.fields().iter().map(|field| field.name().clone()).collect();
            turn.rows = Some(self.table.read(columns, &warnings).inspect_err(|_| turn.ended = true)?);
        }
        let Some(rows) = &mut turn.rows else { return Ok(None) };
        let chunk = rows.next_chunk(BATCH_BYTES);
        let Ok(Some(chunk)) = chunk else {
            turn.ended = true;
            turn.rows = None;
            return chunk.map(|_| None);
        };
        turn.next += 1;
        Ok(Some((turn.next - 1, chunk)))
    }

    fn tell(&self, number: u64, block: &DocBlock, rejects: Vec<inrush_core::Reject>) {
        let Some(lines) = &self.told else { return };
        let blocks = lines.lock().unwrap_or_else(PoisonError::into_inner).push(number, block, rejects);
        for mut block in blocks {
            block.origin.source.0 += self.table.first_source;
            self.reading.push_rejects(block);
        }
    }

    /// The rows of a columnar file with all columns of the table that are wanted.
    fn columns(&self, batch: &RecordBatch, SourceId(file): SourceId) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let folders: HashMap<&str, &ScalarValue> = self
            .table
            .folders
            .get(file as usize)
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), value))
            .collect();
        let column = |field: &arrow_schema::FieldRef| -> Result<ArrayRef> {
            match (batch.column_by_name(field.name()), folders.get(field.name().as_str())) {
                (Some(column), _) => Ok(Arc::clone(column)),
                (None, Some(value)) => value.to_array_of_size(rows),
                (None, None) => Ok(new_null_array(field.data_type(), rows)),
            }
        };
        let columns = self.schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        let count = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &count)?)
    }

    fn failed(&self, error: SourceError) -> DataFusionError {
        let text = error.to_string();
        let source_id = error.source_id.map(|SourceId(id)| SourceId(id + self.table.first_source));
        self.reading.fail(SourceError { source_id, ..error });
        DataFusionError::Execution(text)
    }
}

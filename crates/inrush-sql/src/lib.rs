//! SQL between the sources and the documents: each row of a query's result is a document.
//!
//! [`Session`] holds tables, [`Session::query`] makes a [`inrush_sources::Source`] of a query.
//! DataFusion plans and runs the query, in threads of its own. Tables are read by the same code as
//! without SQL (`scan`), and rows become documents by the code of columnar files.
//!
//! ```no_run
//! use inrush_sources::{FormatOptions, SourceSpec};
//! use inrush_sql::{Session, SessionOptions, QueryOptions, TableSpec};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let input = TableSpec {
//!     name: "input".into(),
//!     sources: vec![SourceSpec::new("sales.csv")],
//!     format: FormatOptions::default(),
//! };
//! let session = Session::open(vec![input], SessionOptions::default()).await?;
//! let sql = "SELECT town, sum(price) AS total FROM input GROUP BY town";
//! // A load reads it as it reads a file.
//! let source = session.query(sql, QueryOptions::default()).await?;
//! # Ok(())
//! # }
//! ```

mod constants;
mod decode;
mod exact;
mod functions;
mod keep;
mod order;
mod passed;
mod reading;
mod result;
mod scan;
mod shape;
mod table;
mod times;
mod wrong;

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use inrush_core::{Code, FieldPath};
use inrush_sources::{Binary, SourceError, Timestamps};
pub use result::SqlSource;
pub use table::TableSpec;
pub use wrong::QueryError;

use self::reading::Reading;
use self::result::{Query, Workers};
use self::scan::Provider;
use self::table::Table;
use self::wrong::Scene;

/// Rows of a batch between the operators of a query. DataFusion counts each value of a nested
/// aggregate that it merges as if it had the size of its whole batch, so the counted memory grows
/// with the square of this (seen with 55.2: 94 MB for 2,400 sales in batches of 4096 rows).
const BATCH_ROWS: usize = 256;

/// The number of partitions of DataFusion's work. With more than one, every group is computed in
/// parts that are merged, with the consequence above. Reading tables and writing documents, which
/// is most of the work, have threads of their own.
const PARTS: usize = 1;

/// The memory and threads of a [`Session`].
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Memory for sorting, grouping and joining, bytes. Work beyond it uses temporary files
    /// (`TMPDIR`), but one side of a join has to fit. All queries of a session share it. Batches
    /// in flight are not counted: a few MiB for each thread. Default 1 GiB.
    pub memory: usize,
    /// Whether several queries will run: then tables of text are read once, and kept in temporary
    /// files (`TMPDIR`). Default: no, each query reads them.
    pub keep_text: bool,
    /// Threads that read each table. Default: as many as the machine can run in parallel.
    pub threads: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            memory: 1 << 30,
            keep_text: false,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
        }
    }
}

/// How the rows of a query become documents.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// The field that holds the id. A load can be resumed only if the result is ordered by it.
    pub id: Option<FieldPath>,
    /// The largest document, bytes. A larger one is a reject of kind `too_large`. Default 100 MiB.
    pub document_bytes_max: usize,
    /// How timestamps are written. Default: ISO 8601.
    pub timestamps: Timestamps,
    /// How binary values are written. Default: as base64, also for [`Binary::Auto`], because the
    /// rows of a query come in no fixed order.
    pub binary: Binary,
}

impl Default for QueryOptions {
    fn default() -> Self {
        QueryOptions {
            id: None,
            document_bytes_max: 100 << 20,
            timestamps: Timestamps::default(),
            binary: Binary::default(),
        }
    }
}

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// A table cannot be read.
    #[error("table {table}: {error}")]
    Table {
        /// The name of the table.
        table: String,
        /// The reason. Its text is part of the message.
        error: SourceError,
    },
    /// The query is not valid SQL, names an unknown table, column or function, or cannot be run
    /// here.
    #[error("{0}")]
    Query(QueryError),
}

impl SqlError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            SqlError::Table { error, .. } => error.code,
            SqlError::Query(_) => Code::BadQuery,
        }
    }

    fn new(message: String) -> Self {
        SqlError::Query(QueryError::new(message))
    }
}

/// The tables that queries can use, with the memory and the threads that all queries share.
#[derive(Debug)]
pub struct Session {
    tables: Vec<Arc<Table>>,
    environment: Arc<RuntimeEnv>,
    workers: Arc<Workers>,
    threads: usize,
    memory: usize,
    /// Rejects found while tables were kept. The first query gets them.
    found: Mutex<Arc<Reading>>,
}

impl Session {
    /// Finds the columns of the tables. Text sources are read from beginning to end for that, and
    /// once more if they are kept ([`SessionOptions::keep_text`]). Rows that cannot be read are
    /// then among the documents of the first query.
    ///
    /// # Errors
    /// [`SqlError::Table`] if a source cannot be read, has no documents, or has files with
    /// different types for a column.
    pub async fn open(specs: Vec<TableSpec>, options: SessionOptions) -> Result<Self, SqlError> {
        let threads = options.threads.max(1);
        let workers =
            Workers::start(threads).map_err(|e| SqlError::new(format!("cannot start {threads} threads: {e}")))?;
        let found = Arc::new(Reading::default());
        let reading = Arc::clone(&found);
        let opened = tokio::task::spawn_blocking(move || open_tables(specs, threads, options.keep_text, &reading));
        let tables = opened.await.map_err(|e| SqlError::new(format!("reading the tables failed: {e}")))??;
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::OsTmpDirectory)
            .with_max_temp_directory_size(u64::MAX);
        // The pool names the operators that use the memory, if there is not enough.
        let named = std::num::NonZeroUsize::MIN.saturating_add(2);
        let memory = Arc::new(TrackConsumersPool::new(FairSpillPool::new(options.memory), named));
        let environment = RuntimeEnvBuilder::new().with_memory_pool(memory).with_disk_manager_builder(disk).build_arc();
        let environment = environment.map_err(|error| SqlError::new(error.strip_backtrace()))?;
        let workers = Arc::new(workers);
        Ok(Session { tables, environment, workers, threads, memory: options.memory, found: Mutex::new(found) })
    }

    /// The rows of a query as documents. The query runs when they are read.
    ///
    /// # Errors
    /// [`SqlError::Query`] if the text is not a query, or the tables cannot answer it.
    pub async fn query(&self, sql: &str, options: QueryOptions) -> Result<SqlSource, SqlError> {
        let found = std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        let reading = Arc::new(found.for_next_query());
        let Planned { session, scene, logical, physical } = self.plan(sql, &reading).await?;
        let repeats = order::repeats(&logical, &physical, options.id.as_ref());
        let repeats = repeats.map_err(|error| SqlError::Query(scene.explain(&error)))?;
        let workers = Arc::clone(&self.workers);
        let few_texts = passed::few_texts(&logical, &self.tables);
        let query = Query { sql: sql.to_owned(), scene, physical, context: session.task_ctx(), workers, few_texts };
        Ok(SqlSource::new(query, self.tables.clone(), reading, repeats, &options))
    }

    /// The tables with their columns, and the plan of the query, as text.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub async fn explain(&self, sql: &str) -> Result<String, SqlError> {
        let Planned { logical, physical, .. } = self.plan(sql, &Arc::default()).await?;
        let mut text = String::new();
        for table in &self.tables {
            text.push_str(&format!("table {}\n", table.name));
            for field in table.schema.fields() {
                text.push_str(&format!("  {}: {}\n", field.name(), field.data_type()));
            }
        }
        text.push_str("result\n");
        for field in logical.schema().fields() {
            text.push_str(&format!("  {}: {}\n", field.name(), field.data_type()));
        }
        text.push_str(&format!("plan\n{}", displayable(physical.as_ref()).indent(false)));
        Ok(text)
    }

    async fn plan(&self, sql: &str, reading: &Arc<Reading>) -> Result<Planned, SqlError> {
        let session = self.session(reading).map_err(|error| SqlError::new(error.strip_backtrace()))?;
        let scene = Arc::new(Scene::new(sql, self.tables.clone(), &session.state()));
        scene.check().map_err(SqlError::Query)?;
        match plan(&session, sql).await {
            Ok((logical, physical)) => Ok(Planned { session, scene, logical, physical }),
            Err(error) => {
                // Explaining the error may read tables.
                let explained = tokio::task::spawn_blocking(move || scene.explain(&error)).await;
                Err(explained
                    .map_or_else(|e| SqlError::new(format!("planning the query failed: {e}")), SqlError::Query))
            }
        }
    }

    fn session(&self, reading: &Arc<Reading>) -> Result<SessionContext, DataFusionError> {
        let mut config = SessionConfig::new().with_target_partitions(PARTS).with_batch_size(BATCH_ROWS);
        // The memory that a sort reserves for merging its spilled data. DataFusion's 10 MiB would
        // be more than all of a small memory.
        let execution = &mut config.options_mut().execution;
        execution.sort_spill_reservation_bytes = execution.sort_spill_reservation_bytes.min(self.memory / 8);
        execution.time_zone = Some(times::SESSION.to_owned());
        let parser = &mut config.options_mut().sql_parser;
        // Fields keep their names as written, without quotes.
        parser.enable_ident_normalization = false;
        parser.map_string_types_to_utf8view = false;
        // Makes errors have a position.
        parser.collect_spans = true;
        let mut session = SessionContext::new_with_config_rt(config, Arc::clone(&self.environment));
        let functions = functions::functions().into_iter().chain(times::functions());
        functions.for_each(|function| session.register_udf(function));
        session.register_udaf(exact::sum());
        session.add_analyzer_rule(Arc::new(exact::Arithmetic));
        session.register_function_rewrite(Arc::new(constants::Beside))?;
        session.register_function_rewrite(Arc::new(times::Zones))?;
        for table in &self.tables {
            let provider = Provider::new(Arc::clone(table), Arc::clone(reading), self.threads);
            session.register_table(datafusion::common::TableReference::bare(table.name.clone()), Arc::new(provider))?;
        }
        Ok(session)
    }
}

/// A query that can be run.
struct Planned {
    session: SessionContext,
    scene: Arc<Scene>,
    logical: LogicalPlan,
    physical: Arc<dyn ExecutionPlan>,
}

async fn plan(session: &SessionContext, sql: &str) -> Result<(LogicalPlan, Arc<dyn ExecutionPlan>), DataFusionError> {
    let state = session.state();
    let mut statement = state.sql_to_statement(sql, &state.config_options().sql_parser.dialect)?;
    constants::keep_digits(&mut statement);
    let logical = state.statement_to_plan(statement).await?;
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false).verify_plan(&logical)?;
    let physical = state.create_physical_plan(&logical).await?;
    try_functions(&physical)?;
    Ok((logical, physical))
}

/// Tries the functions of a plan before anything is read. Functions report unsupported arguments
/// only when they are created or called, which is when the query runs. Here aggregate and window
/// functions are created, and functions of columns and constants are called without rows.
fn try_functions(plan: &Arc<dyn ExecutionPlan>) -> Result<(), DataFusionError> {
    let of_windows = |functions: &[Arc<dyn WindowExpr>]| {
        functions.iter().try_for_each(|function| function.create_window_fn().map(drop))
    };
    let tried = plan.apply(|plan| {
        let operator: &dyn Any = plan.as_ref();
        if let Some(aggregate) = operator.downcast_ref::<AggregateExec>() {
            aggregate.aggr_expr().iter().try_for_each(|function| function.create_accumulator().map(drop))?;
        } else if let Some(window) = operator.downcast_ref::<WindowAggExec>() {
            of_windows(window.window_expr())?;
        } else if let Some(window) = operator.downcast_ref::<BoundedWindowAggExec>() {
            of_windows(window.window_expr())?;
        } else if let (true, [input]) =
            (operator.is::<ProjectionExec>() || operator.is::<FilterExec>(), plan.children().as_slice())
        {
            let none = RecordBatch::new_empty(input.schema());
            plan.apply_expressions(&mut |expression| {
                expression.apply(|part| {
                    if !is_plain_call(part)? {
                        return Ok(TreeNodeRecursion::Continue);
                    }
                    part.evaluate(&none)?;
                    Ok(TreeNodeRecursion::Jump)
                })
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    });
    tried.map(drop)
}

/// Whether an expression is made by functions of columns and constants only. Subqueries do not
/// count, because they have no result yet.
fn is_plain_call(expression: &Arc<dyn PhysicalExpr>) -> Result<bool, DataFusionError> {
    let mut plain = true;
    expression.apply(|part| {
        let part: &dyn Any = part.as_ref();
        plain &=
            part.is::<Column>() || part.is::<Literal>() || part.is::<CastExpr>() || part.is::<ScalarFunctionExpr>();
        Ok(if plain { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    let root: &dyn Any = expression.as_ref();
    Ok(plain && root.is::<ScalarFunctionExpr>())
}

/// Opens the tables. With `keep_text`, those of text are kept; `found` receives their records that
/// are not rows.
fn open_tables(
    specs: Vec<TableSpec>,
    threads: usize,
    keep_text: bool,
    found: &Arc<Reading>,
) -> Result<Vec<Arc<Table>>, SqlError> {
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for spec in specs {
        let name = spec.name.clone();
        if tables.iter().any(|table| table.name == name) {
            return Err(SqlError::new(format!("there are two tables named {name}")));
        }
        let first_source = tables.iter().map(|table| table.names.len() as u32).sum::<u32>();
        let open = || {
            let table = Arc::new(Table::open(spec, first_source, threads)?);
            if keep_text && table.is_text() {
                return keep::keep(&table, found, threads).map(Arc::new);
            }
            Ok(table)
        };
        tables.push(open().map_err(|error| SqlError::Table { table: name, error })?);
    }
    Ok(tables)
}

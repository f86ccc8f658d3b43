//! A query over a source that never ends: the records of a window are its table `input`, and the
//! rows of its result are the documents.
//!
//! ```text
//! source ── records ──> window ── query ──> rows ──> engine
//!    ^                                                 │
//!    └── positions of whole windows ── book <── settled rows
//! ```

mod book;
mod records;
mod search;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::common::DataFusionError;
use inrush_core::{Coalesce, DocBlock};
use inrush_sources::{ColumnType, Repeats, Source};

pub use self::source::WindowSource;
use super::reading::Reading;
use super::result::Query;
use super::shape::Object;
use super::table::Table;
use super::wrong::{QueryError, Scene};
use super::{Keep, Planned, QueryOptions, Session, SessionOptions, SqlError, SqlSource, TableSpec, Unplanned};

/// The name of the table with the records of a window.
const INPUT: &str = "input";

/// How the records of a source become windows.
#[derive(Clone, Debug)]
pub struct WindowOptions {
    /// When a window ends. It begins with its first record.
    pub window: Coalesce,
    /// Bytes of the records that are held: those of the window that is read, and those whose rows
    /// are not settled. A window ends at half of them.
    pub memory: usize,
    /// Types of columns. Other columns have the type of their values in the first window with some.
    pub columns: Vec<(String, ColumnType)>,
    /// Whether records that delete a document are left out. Otherwise they are dead letters.
    pub skip_deletions: bool,
    /// How rows become documents.
    pub rows: QueryOptions,
}

impl WindowOptions {
    /// Windows that end so, with defaults for the rest.
    pub fn new(window: Coalesce) -> Self {
        WindowOptions {
            window,
            memory: 32 << 20,
            columns: Vec::new(),
            skip_deletions: false,
            rows: QueryOptions::default(),
        }
    }
}

/// A query over the windows of a source, which was checked as far as that is possible without a
/// record.
#[derive(Debug)]
pub struct Windows {
    session: Session,
    sql: String,
    options: WindowOptions,
}

impl Session {
    /// Opens the tables of a query over windows, besides `input`. Each is read once, and kept in a
    /// temporary file for all windows. [`SessionOptions::keep_text`] has no effect.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub async fn open_beside(specs: Vec<TableSpec>, options: SessionOptions) -> Result<Self, SqlError> {
        // The source of the windows is the first one.
        Self::open_keeping(specs, options, Keep::All, 1).await
    }

    /// A query over the windows of a source.
    ///
    /// # Errors
    /// [`SqlError::Query`] if the text is not a query, names a table that does not exist, or does
    /// not read `input`.
    pub fn windows(self, sql: &str, options: WindowOptions) -> Result<Windows, SqlError> {
        let failed = |error: DataFusionError| SqlError::new(error.strip_backtrace());
        let state = self.session(&self.tables, &Arc::default()).map_err(failed)?.state();
        let scene = Scene::new(sql, self.tables.clone(), &state);
        scene.check().map_err(SqlError::Query)?;
        let statement = state.sql_to_statement(sql, &state.config_options().sql_parser.dialect);
        let statement = statement.map_err(|error| SqlError::Query(scene.explain(&error)))?;
        let names = state.resolve_table_references(&statement).map_err(failed)?;
        let refused =
            |message: String, hint: &str| Err(SqlError::Query(QueryError { message, hint: Some(hint.to_owned()) }));
        if self.tables.iter().any(|table| table.name == INPUT) {
            return refused(
                format!("there are two tables named {INPUT}: the records of a window, and one of option `table`"),
                "give the table another name",
            );
        }
        let known: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).chain([INPUT]).collect();
        if let Some(unknown) = names.iter().map(|name| name.table()).find(|name| !known.contains(name)) {
            return refused(
                format!("there is no table {unknown}; tables: {}", known.join(", ")),
                "option `table=NAME=PATH` adds one",
            );
        }
        if !names.iter().any(|name| name.table() == INPUT) {
            return refused(
                format!("the query does not read the table {INPUT}, which has the records of a window"),
                "select from it",
            );
        }
        Ok(Windows { session: self, sql: sql.to_owned(), options })
    }
}

impl Windows {
    /// The rows of the query over windows of `source`, whose documents have numbers of the source
    /// ([`inrush_sources::SourceInfo::own_numbers`]).
    pub fn over(self, source: Box<dyn Source>) -> WindowSource {
        WindowSource::new(self, source, std::time::Instant::now)
    }

    /// The columns that are known before the first record.
    fn declared(&self) -> Object {
        let mut columns = Object::default();
        self.options.columns.iter().for_each(|(name, column_type)| columns.declare(name, *column_type));
        columns
    }

    /// The query over these documents, which come from the source `title`.
    fn query(
        &self,
        blocks: Vec<DocBlock>,
        columns: &Object,
        title: &str,
        reading: Reading,
    ) -> Result<SqlSource, String> {
        let reading = Arc::new(reading);
        let input = Table::of_documents(INPUT, title, columns.clone(), blocks);
        let tables: Vec<Arc<Table>> =
            [Arc::new(input)].into_iter().chain(self.session.tables.iter().cloned()).collect();
        let handle = self.session.workers.handle().ok_or("its threads have ended")?;
        let planned = handle.block_on(self.session.plan_over(&tables, &self.sql, &reading));
        let Planned { session, scene, physical, .. } = planned.map_err(|unplanned| match unplanned {
            Unplanned::Refused(error) => error.to_string(),
            Unplanned::Failed(scene, error) => with_hint(scene.explain_in_line(&error)),
        })?;
        let workers = Arc::clone(&self.session.workers);
        let query = Query { sql: self.sql.clone(), scene, physical, context: session.task_ctx(), workers };
        Ok(SqlSource::new(query, tables, reading, Repeats::Unordered, &self.options.rows))
    }
}

/// Adds what to do about a column that no record has had, or that has another type than usual.
fn with_hint(why: String) -> String {
    if why.contains("no column") || why.contains("is text") {
        format!("{why}; columns of {INPUT} are those of the records so far, and option `schema` declares others")
    } else {
        why
    }
}

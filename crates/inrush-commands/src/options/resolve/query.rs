//! A query in SQL over files as the source.

use inrush_core::{Coalesce, FieldPath};

use super::kafka;
use super::sources::{check_files, check_some, not_an_index};
use crate::options::{LoadOptions, OptionError, OptionGroup, QueryOptions};
use inrush_load::LoadError;
use inrush_load::config::Limits;
use inrush_sources::{ColumnType, FormatOptions, Source, SourceSpec};

/// The query in SQL, if there is one.
pub(super) fn text(options: &QueryOptions) -> Result<Option<String>, OptionError> {
    let query = match (&options.sql, &options.sql_file) {
        (Some(sql), _) => Some(sql.clone()),
        (None, Some(path)) => Some(std::fs::read_to_string(path).map_err(|error| {
            OptionError::unusable(format!("cannot read the query in {}: {error}", path.display()))
                .coded(inrush_core::Code::of_io(&error))
                .of("sql_file")
        })?),
        (None, None) => None,
    };
    match (&query, options.given().next()) {
        (None, Some(info)) => Err(OptionError::conflict(format!("option `{}` needs a query", info.name))
            .of(info.name)
            .hint("give a query with option `sql` or option `sql_file`")),
        _ => Ok(query),
    }
}

/// Explains the query.
pub(super) async fn explain(options: &LoadOptions) -> Result<String, LoadError> {
    let Some(query) = text(&options.query)? else {
        return Err(OptionError::conflict("option `explain` needs a query")
            .hint("give a query with option `sql`")
            .into());
    };
    let LoadOptions { source, reading, .. } = options;
    check_files(&source.sources, reading)?;
    let format = reading.format_options(Limits::default().document_bytes_max)?;
    let tables = Tables { options: &options.query, input: reading.specs(&source.sources)?, format };
    Ok(tables.explain(&query).await?)
}

/// The tables of several queries, all from the same sources.
pub(super) fn tables_of_outputs(options: &LoadOptions, document_bytes_max: usize) -> Result<Tables<'_>, OptionError> {
    check_some(&options.source, &options.query, &options.reading)?;
    if let Some(info) = options.database.given().next() {
        let message = format!("option `{}` is for databases, but no SOURCE is a database", info.name);
        return Err(OptionError::conflict(message).of(info.name).hint("leave it out"));
    }
    check_files(&options.source.sources, &options.reading)?;
    not_an_index(&options.index_source, &options.source_login)?;
    kafka::no_topics(options)?;
    let input = options.reading.specs(&options.source.sources)?;
    Ok(Tables { options: &options.query, input, format: options.reading.format_options(document_bytes_max)? })
}

/// The tables of queries.
#[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "nothing reads them without SQL"))]
pub(super) struct Tables<'a> {
    pub(super) options: &'a QueryOptions,
    /// The table `input`, unless there is none.
    pub(super) input: Vec<SourceSpec>,
    pub(super) format: FormatOptions,
}

/// How records of a topic become windows, and what their query reads and writes.
#[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "nothing reads it without SQL"))]
pub(super) struct WindowPlan {
    pub(super) window: Coalesce,
    pub(super) memory: usize,
    /// Types of columns.
    pub(super) columns: Vec<(String, ColumnType)>,
    /// Whether records that delete a document are left out.
    pub(super) skip_deletions: bool,
}

/// Makes the source of a query's rows of the source of its records.
pub(super) type Over = Box<dyn FnOnce(Box<dyn Source>) -> Box<dyn Source> + Send>;

#[cfg(feature = "sql")]
mod built {
    use super::{FieldPath, FormatOptions, OptionError, Over, Source, SourceSpec, Tables, WindowPlan};
    use inrush_sources::SheetOptions;
    use inrush_sql::{QueryError, QueryOptions, Session, SessionOptions, SqlError, TableSpec, WindowOptions};

    impl Tables<'_> {
        /// Opens the session, which finds the columns of the tables.
        async fn open(self, queries: usize) -> Result<Session, OptionError> {
            let mut options = self.session();
            options.keep_text = queries > 1;
            Session::open(self.specs(), options).await.map_err(usage)
        }

        fn session(&self) -> SessionOptions {
            let mut options = SessionOptions::default();
            if let Some(memory) = self.options.sql_memory {
                options.memory = memory.as_usize();
            }
            options
        }

        fn specs(self) -> Vec<TableSpec> {
            let mut specs = Vec::new();
            if !self.input.is_empty() {
                specs.push(TableSpec { name: "input".to_owned(), sources: self.input, format: self.format.clone() });
            }
            for table in &self.options.table {
                // The format is detected for each table. The limits are those of the load.
                let sheet = SheetOptions { bytes_max: self.format.sheet.bytes_max, ..SheetOptions::default() };
                let document_bytes_max = self.format.document_bytes_max;
                let format = FormatOptions { document_bytes_max, sheet, ..FormatOptions::default() };
                let sources = vec![SourceSpec::new(&table.path)];
                specs.push(TableSpec { name: table.name.clone(), sources, format });
            }
            specs
        }

        /// A query over windows of a source, whose records are its table `input`.
        pub(in super::super) async fn windows(self, sql: &str, plan: WindowPlan) -> Result<Over, OptionError> {
            let mut options = WindowOptions::new(plan.window);
            options.memory = plan.memory;
            options.columns = plan.columns;
            options.skip_deletions = plan.skip_deletions;
            let (document_bytes_max, timestamps) = (self.format.document_bytes_max, self.format.timestamps);
            options.rows = QueryOptions { id: None, document_bytes_max, timestamps };
            let session = self.session();
            let session = Session::open_beside(self.specs(), session).await.map_err(usage)?;
            let windows = session.windows(sql, options).map_err(usage)?;
            Ok(Box::new(move |source| Box::new(windows.over(source))))
        }

        /// The documents of a query; `id` is the field that holds their id.
        pub(in super::super) async fn source(
            self,
            sql: &str,
            id: Option<FieldPath>,
        ) -> Result<Box<dyn Source>, OptionError> {
            let mut sources = self.sources(vec![(sql, id)]).await?;
            // There is one source for each query.
            sources.pop().ok_or_else(|| OptionError::conflict("there is no query"))
        }

        /// The documents of several queries, each with the field that holds their id.
        pub(in super::super) async fn sources(
            self,
            queries: Vec<(&str, Option<FieldPath>)>,
        ) -> Result<Vec<Box<dyn Source>>, OptionError> {
            let (document_bytes_max, timestamps) = (self.format.document_bytes_max, self.format.timestamps);
            let session = self.open(queries.len()).await?;
            let mut sources: Vec<Box<dyn Source>> = Vec::new();
            for (sql, id) in queries {
                let options = QueryOptions { id, document_bytes_max, timestamps };
                sources.push(Box::new(session.query(sql, options).await.map_err(usage)?));
            }
            Ok(sources)
        }

        /// Explains a query.
        pub(super) async fn explain(self, sql: &str) -> Result<String, OptionError> {
            self.open(1).await?.explain(sql).await.map_err(usage)
        }
    }

    /// Nothing was sent yet, so an error of the query is a usage error.
    fn usage(error: SqlError) -> OptionError {
        let code = error.code();
        match error {
            SqlError::Query(QueryError { message, hint: Some(hint) }) => OptionError::unusable(message).hint(hint),
            other => OptionError::unusable(other.to_string()),
        }
        .coded(code)
        .of("sql")
    }
}

#[cfg(not(feature = "sql"))]
mod built {
    use super::{FieldPath, OptionError, Over, Source, Tables, WindowPlan};

    impl Tables<'_> {
        pub(in super::super) async fn source(
            self,
            _: &str,
            _: Option<FieldPath>,
        ) -> Result<Box<dyn Source>, OptionError> {
            Err(not_built())
        }

        pub(in super::super) async fn sources(
            self,
            _: Vec<(&str, Option<FieldPath>)>,
        ) -> Result<Vec<Box<dyn Source>>, OptionError> {
            Err(not_built())
        }

        pub(in super::super) async fn windows(self, _: &str, _: WindowPlan) -> Result<Over, OptionError> {
            Err(not_built())
        }

        pub(super) async fn explain(self, _: &str) -> Result<String, OptionError> {
            Err(not_built())
        }
    }

    fn not_built() -> OptionError {
        OptionError::unusable("this inrush was built without SQL")
            .coded(inrush_core::Code::NotInThisBuild)
            .of("sql")
            .hint("build it with the cargo feature sql, or with `make release`")
    }
}

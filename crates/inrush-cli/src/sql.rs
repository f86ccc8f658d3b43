//! `--sql`: from flags to a source of documents.

use anyhow::Result;
#[cfg(feature = "sql")]
use inrush::source::SheetOptions;
use inrush::source::{FormatOptions, Source, SourceSpec};

use crate::args::SqlArgs;
use crate::failure::UsageError;

/// The query that was asked for, if there is one.
pub(crate) fn query(args: &SqlArgs) -> Result<Option<String>, UsageError> {
    let query = match (&args.sql, &args.sql_file) {
        (Some(sql), _) => Some(sql.clone()),
        (None, Some(path)) => Some(
            std::fs::read_to_string(path)
                .map_err(|error| UsageError::new(format!("cannot read the query in {}: {error}", path.display())))?,
        ),
        (None, None) => None,
    };
    match (&query, args.given()) {
        (None, Some(flag)) => {
            Err(UsageError::new(format!("{flag} means nothing without a query"))
                .hint("give one with --sql or --sql-file"))
        }
        _ => Ok(query),
    }
}

/// What a query is asked of.
#[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "nobody reads them without SQL"))]
pub(crate) struct Tables<'a> {
    pub(crate) args: &'a SqlArgs,
    /// The table `input`, unless there is none.
    pub(crate) input: Vec<SourceSpec>,
    pub(crate) format: FormatOptions,
}

#[cfg(feature = "sql")]
mod built {
    use inrush::FieldPath;
    use inrush::sql::{Database, DatabaseOptions, QueryError, QueryOptions, SqlError, TableSpec};

    use super::{FormatOptions, Result, SheetOptions, Source, SourceSpec, Tables, UsageError};

    impl Tables<'_> {
        /// Reads what has to be known of the tables.
        async fn open(self, queries: usize) -> Result<Database> {
            let mut specs = Vec::new();
            if !self.input.is_empty() {
                specs.push(TableSpec { name: "input".to_owned(), sources: self.input, format: self.format.clone() });
            }
            for (name, path) in &self.args.table {
                // How it is written is told by itself; limits are those of the load.
                let sheet = SheetOptions { bytes_max: self.format.sheet.bytes_max, ..SheetOptions::default() };
                let document_bytes_max = self.format.document_bytes_max;
                let format = FormatOptions { document_bytes_max, sheet, ..FormatOptions::default() };
                specs.push(TableSpec { name: name.clone(), sources: vec![SourceSpec::new(path)], format });
            }
            let mut options = DatabaseOptions { keep_text: queries > 1, ..DatabaseOptions::default() };
            if let Some(memory) = self.args.sql_memory {
                options.memory = usize::try_from(memory).unwrap_or(usize::MAX);
            }
            Database::open(specs, options).await.map_err(usage)
        }

        /// The documents of a query; `id` is the field that holds their id.
        pub(crate) async fn source(self, sql: &str, id: Option<FieldPath>) -> Result<Box<dyn Source>> {
            let mut sources = self.sources(vec![(sql, id)]).await?;
            // There is one for each query.
            sources.pop().ok_or_else(|| UsageError::new("there is no query").into())
        }

        /// The documents of several queries, each with the field that holds their id.
        pub(crate) async fn sources(self, queries: Vec<(&str, Option<FieldPath>)>) -> Result<Vec<Box<dyn Source>>> {
            let (document_bytes_max, timestamps) = (self.format.document_bytes_max, self.format.timestamps);
            let database = self.open(queries.len()).await?;
            let mut sources: Vec<Box<dyn Source>> = Vec::new();
            for (sql, id) in queries {
                let options = QueryOptions { id, document_bytes_max, timestamps };
                sources.push(Box::new(database.query(sql, options).await.map_err(usage)?));
            }
            Ok(sources)
        }

        /// How a query is going to be run.
        pub(crate) async fn explain(self, sql: &str) -> Result<String> {
            self.open(1).await?.explain(sql).await.map_err(usage)
        }
    }

    /// Nothing was sent yet, and the command line can be mended.
    fn usage(error: SqlError) -> anyhow::Error {
        match error {
            SqlError::Query(QueryError { message, hint: Some(hint) }) => UsageError::new(message).hint(hint).into(),
            other => UsageError::new(other.to_string()).into(),
        }
    }
}

#[cfg(not(feature = "sql"))]
mod built {
    use inrush::FieldPath;

    use super::{Result, Source, Tables, UsageError};

    impl Tables<'_> {
        pub(crate) async fn source(self, _: &str, _: Option<FieldPath>) -> Result<Box<dyn Source>> {
            Err(not_built().into())
        }

        pub(crate) async fn sources(self, _: Vec<(&str, Option<FieldPath>)>) -> Result<Vec<Box<dyn Source>>> {
            Err(not_built().into())
        }

        pub(crate) async fn explain(self, _: &str) -> Result<String> {
            Err(not_built().into())
        }
    }

    fn not_built() -> UsageError {
        UsageError::new("this inrush was built without SQL")
            .hint("build one with it: cargo build --release -p inrush-cli --features sql, or make release")
    }
}

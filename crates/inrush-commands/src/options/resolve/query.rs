//! A query in SQL over files as the source.

use inrush_core::FieldPath;

use super::Environment;
use super::kinds::{self, Found, Use};
use crate::options::{LoadOptions, OptionError, OptionGroup, QueryOptions, ReadingOptions};
use inrush_load::LoadError;
use inrush_load::config::Limits;
use inrush_sources::{FormatOptions, Source, SourceSpec};

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
    let environment = Environment::empty();
    check_zone(options, &query)?;
    let found = kinds::find(options, &environment.kinds)?;
    let tables = tables(options, Limits::default().document_bytes_max, &found)?;
    Ok(tables.explain(&query).await?)
}

/// The tables of queries, all from the same sources.
pub(super) fn tables<'a>(
    options: &'a LoadOptions,
    document_bytes_max: usize,
    found: &Found<'_>,
) -> Result<Tables<'a>, OptionError> {
    let LoadOptions { source, reading, query, shape, .. } = options;
    found.check(options, Use::Query)?;
    kinds::check_some(&source.sources, query, reading)?;
    check_ids(reading)?;
    let input = reading.specs(&source.sources)?;
    let mut format = reading.format_options(document_bytes_max)?;
    format.csv.time_zone = shape.time_zone;
    Ok(Tables { options: query, input, format })
}

/// Refuses a query over documents whose ids or order it would lose.
pub(super) fn check_ids(reading: &ReadingOptions) -> Result<(), OptionError> {
    if !reading.vectors.is_empty() {
        let message = "option `vectors` puts row i into document i, and rows of a query come in no fixed order";
        let hint = "load the documents without a query, or leave option `vectors` out";
        return Err(OptionError::conflict(message).of("vectors").hint(hint));
    }
    if !reading.extended_json {
        return Ok(());
    }
    let message = "option `extended_json` makes an id of `_id`, and rows of a query have no such id";
    Err(OptionError::conflict(message)
        .of("extended_json")
        .hint("load the documents without a query, or leave option `extended_json` out"))
}

/// Refuses a zone that times of a query would not have: its functions take a text without a zone
/// for UTC. Columns that option `schema` calls a timestamp come with their offset.
pub(super) fn check_zone(options: &LoadOptions, sql: &str) -> Result<(), OptionError> {
    let Some(zone) = &options.shape.time_zone else { return Ok(()) };
    let words: Vec<&str> = sql.split_ascii_whitespace().collect();
    let words = words.join(" ").to_ascii_lowercase();
    let of_schema = options.reading.schema.iter().any(|column| column.column_type.is_timestamp());
    if of_schema || !words.contains("to_timestamp") || words.contains("at time zone") {
        return Ok(());
    }
    let message =
        "option `time_zone` has no effect on to_timestamp of a query, which takes times without a zone for UTC";
    Err(OptionError::conflict(message)
        .of("time_zone")
        .hint(format!("write to_timestamp(…) AT TIME ZONE '{zone}' in the query")))
}

/// The tables of queries.
#[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "nothing reads them without SQL"))]
pub(super) struct Tables<'a> {
    pub(super) options: &'a QueryOptions,
    /// The table `input`, unless there is none.
    pub(super) input: Vec<SourceSpec>,
    pub(super) format: FormatOptions,
}

#[cfg(feature = "sql")]
mod built {
    use super::{FieldPath, FormatOptions, OptionError, Source, SourceSpec, Tables};
    use inrush_sources::SheetOptions;
    use inrush_sql::{QueryError, QueryOptions, Session, SessionOptions, SqlError, TableSpec};

    impl Tables<'_> {
        /// Opens the session, which finds the columns of the tables.
        async fn open(self, queries: usize) -> Result<Session, OptionError> {
            let mut options = SessionOptions { keep_text: queries > 1, ..SessionOptions::default() };
            if let Some(memory) = self.options.sql_memory {
                options.memory = memory.as_usize();
            }
            Session::open(self.specs(), options).await.map_err(usage)
        }

        fn specs(self) -> Vec<TableSpec> {
            let mut specs = Vec::new();
            if !self.input.is_empty() {
                let mut format = self.format.clone();
                // These are about the rows of the result, and about all tables.
                let has_tables = !self.options.table.is_empty();
                format.given.0.retain(|(name, formats)| {
                    let is_of_tables = *name == "workbook_bytes" && has_tables;
                    !is_of_tables && !formats.is_some_and(|formats| formats.is_of_rows)
                });
                specs.push(TableSpec { name: "input".to_owned(), sources: self.input, format });
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

        /// How the rows of a query become documents; `id` is the field that holds their id.
        fn rows(&self, id: Option<FieldPath>) -> QueryOptions {
            let FormatOptions { document_bytes_max, timestamps, binary, .. } = self.format;
            QueryOptions { id, document_bytes_max, timestamps, binary }
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
            let rows = self.rows(None);
            let session = self.open(queries.len()).await?;
            let mut sources: Vec<Box<dyn Source>> = Vec::new();
            for (sql, id) in queries {
                let options = QueryOptions { id, ..rows.clone() };
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
    use super::{FieldPath, OptionError, Source, Tables};

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_zone_is_in_the_query_where_the_query_reads_times() {
        let check = |sql: &str, more: Option<(&str, serde_json::Value)>| {
            let mut options = LoadOptions::default();
            options.give("time_zone", json!("Europe/Paris")).unwrap();
            if let Some((name, value)) = more {
                options.give(name, value).unwrap();
            }
            check_zone(&options, sql).map_err(|error| error.option().map(str::to_owned))
        };
        let reads = "SELECT try_To_Timestamp(at) AS at FROM input";
        assert_eq!(check(reads, None), Err(Some("time_zone".to_owned())));
        assert_eq!(check(reads, Some(("schema", json!(["at:timestamp"])))), Ok(()));
        for sql in ["SELECT at FROM input", "SELECT to_timestamp(at) AT TIME\nZONE 'Europe/Paris' AS at FROM input"] {
            assert_eq!(check(sql, None), Ok(()), "{sql}");
        }
        assert_eq!(check_zone(&LoadOptions::default(), reads).map_err(|error| error.to_string()), Ok(()));
    }
}

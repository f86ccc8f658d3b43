//! Options of sources: files, a database, the result of a query.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::options::LoaderBuilder;
use crate::options::{ByteSize, NamedTable, Outputs, Scope, Whole};

options! {
    /// The sources.
    pub struct SourceOptions in LoaderBuilder.source, "Source", outputs(Outputs::All) {
        /// Files, folders, globs in quotes ('logs/*.ndjson.zst'), or - for stdin; gzip, zstd, bzip2
        /// and xz are detected from the content. Also files on web servers (https://host/a.csv.gz),
        /// files, folders and globs of object stores (s3://bucket/logs/*.parquet, gs://, az://,
        /// abfss://), a database (postgres://user@host/db), or one or more indices of another
        /// cluster: https://host:9200/index, 'https://host:9200/logs-*'
        sources[source]: Vec<OsString> = "SOURCE", scope(Scope::Argument);
        /// Load the documents of a dead-letter file again, instead of a SOURCE
        from_dead_letters: Option<PathBuf> = "FILE";
    }
}

options! {
    /// The part of a database that is read, and how.
    pub struct DatabaseSourceOptions in LoaderBuilder.database, "Source", outputs(Outputs::All) {
        /// Databases (postgres://user@host/db, mysql://user@host/db, sqlite:///path): the table or
        /// view to read, as in orders or public.orders
        db_table: Option<String> = "NAME", conflicts(&["db_query"]);
        /// Databases: the query whose rows become documents, as in 'SELECT … FROM …'; @FILE reads
        /// it from a file
        db_query: Option<String> = "SQL";
        /// Databases: the column whose ranges are read in parallel; it should have an index
        split_by: Option<String> = "COLUMN",
            default("tables of Postgres are read in ranges of pages, other sources by one connection");
        /// Databases: read only rows that are new or changed since the last complete load, by this
        /// column, whose values grow: the time of the last change, or a number. The highest value
        /// is kept in option `state`. Rows with the last value are read again, so documents need
        /// option `id`; option `forget` begins anew. See docs/how-to/every-night.md
        since: Option<String> = "COLUMN", default("all rows");
        /// Databases: how much earlier than the last value rows are read, for transactions that
        /// were open at the last load; for columns of times
        since_overlap: Option<Duration> = "DURATION", default("1m");
        /// Databases: connections that read in parallel
        db_readers: Option<Whole<1, 64>> = "N", default("4");
        /// Databases: file that holds the password
        source_password_file: Option<PathBuf> = "FILE", default("PGPASSWORD, ~/.pgpass or MYSQL_PWD");
    }
}

options! {
    /// A query between the sources and the documents.
    pub struct QueryOptions in LoaderBuilder.query, "SQL" {
        /// Load the result of a query instead of the sources, which are its table `input`; each row
        /// is a document. Names are case-sensitive; see docs/sql.md
        sql: Option<String> = "QUERY", outputs(Outputs::Own), conflicts(&["sql_file"]);
        /// The same with the query in a file
        sql_file: Option<PathBuf> = "FILE", outputs(Outputs::Own);
        /// SQL: a further table from a file, folder or glob, as in artists='data/artists*.csv';
        /// repeatable. Options of formats do not apply to it, except option `workbook_bytes`
        table: Vec<NamedTable> = "NAME=PATH", outputs(Outputs::All);
        /// SQL: memory for sorting, grouping and joining; work beyond it uses temporary files
        /// (TMPDIR)
        sql_memory: Option<ByteSize> = "SIZE", outputs(Outputs::All), default("1GiB");
    }
}

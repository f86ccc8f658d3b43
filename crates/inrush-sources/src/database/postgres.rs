//! Postgres: several connections read parts of one snapshot with `COPY`.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use inrush_formats::Warnings;
use inrush_formats::buffer::BufferPool;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, Executor, Row};

use super::catalogue::{self, PgColumn};
use super::columns::Columns;
use super::copy::CopyDecode;
use super::ranges::{RANGES_PER_READER, conditions, subquery, whole_numbers};
use super::reading::{Opened, Outgoing, Rows, Stopped, answered, explain, safe};
use super::since::{Marked, both, is_time};
use super::values::Kind;
use super::{DatabaseOptions, DatabaseRows as Wanted, SinceColumn};
use crate::repeat::Repeats;
use crate::{Decode, Since, SinceValue};

/// Smallest size of the pieces of rows, bytes.
const PIECE_BYTES: usize = 256 << 10;

/// The number of the type `numeric`.
const NUMERIC: u32 = 1700;

/// The first version that finds pages of a table without reading the pages before them.
const PAGES_SINCE: u32 = 140_000;

/// Settings of the form of values, which replace the defaults of server and user.
pub(super) const SETTINGS: [&str; 7] = [
    "SET LOCAL TIME ZONE 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'iso_8601'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 1",
    // A reader waits while the cluster is busy, for any time.
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
];

/// Limits of a transaction's time that only newer servers have.
const WITHOUT_LIMITS: &str =
    "SELECT set_config(name, '0', true) FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout'";

/// Connects, and finds the columns and ranges.
pub(super) async fn open(options: DatabaseOptions, name: String, warnings: Warnings) -> Result<Opened, String> {
    let connect = connect_options(&options)?;
    let mut first = begin(&connect, None).await?;
    let (select, table) = match &options.rows {
        Wanted::Table(name) => {
            let table = Table::find(&mut first, name).await?;
            (format!("SELECT * FROM {}", table.name), Some(table))
        }
        Wanted::Query(query) => (format!("SELECT * FROM {} AS rows_of_query", subquery(query)), None),
    };
    let columns = catalogue::columns(&mut first, &select).await.map_err(|e| explain(&e))?;
    let since = match &options.since {
        Some(wanted) => Some(marked(&mut first, &select, &columns, wanted).await?),
        None => None,
    };
    let columns = columns.into_iter().map(|column| (column.name, column.kind)).collect();
    let ranges = match (&options.split_by, &table) {
        (Some(column), _) => by_column(&mut first, &select, column, &options).await?,
        (None, Some(table)) => table.ranges(&mut first, &select, &options).await?,
        (None, None) => vec!["TRUE".to_owned()],
    };
    let mut connections = vec![first];
    let wanted = options.readers.max(1).min(ranges.len());
    if wanted > 1 {
        // The first transaction must last until the others have its snapshot.
        let snapshot = text(&mut connections[0], "SELECT pg_export_snapshot()").await?;
        while connections.len() < wanted {
            match begin(&connect, Some(&snapshot)).await {
                Ok(connection) => connections.push(connection),
                Err(problem) => {
                    let readers = connections.len();
                    warnings.add(&name, "fewer_readers", "", 1, || {
                        format!("only {readers} of {wanted} connections read, because the database refused the next one: {problem}")
                    });
                    break;
                }
            }
        }
    }
    Ok(Opened {
        readers: connections.len(),
        repeats: Repeats::Unordered,
        fingerprints: Vec::new(),
        columns: Columns::new(columns, &name, &warnings),
        since,
        begin: Box::new(move |network, outgoing, columns, since| {
            // An index of the column finds the rows. Ranges of pages would read the whole table.
            let ranges = match (&since, &options.split_by) {
                (Some(_), None) => vec!["TRUE".to_owned()],
                _ => ranges,
            };
            let conditions = ranges.iter().map(|range| both(range, since.as_deref()));
            let statements = conditions.map(|condition| copy_statement(&select, &condition)).collect();
            let statements = Arc::new(Mutex::new(statements));
            let document_bytes_max = options.document_bytes_max;
            let decoder: Arc<dyn Decode> =
                Arc::new(CopyDecode { columns, document_bytes_max, pool: BufferPool::new() });
            for connection in connections {
                let reader = Reader {
                    connection,
                    statements: Arc::clone(&statements),
                    decoder: Arc::clone(&decoder),
                    outgoing: outgoing.clone(),
                };
                network.spawn(reader.run());
            }
        }),
    })
}

pub(super) fn connect_options(options: &DatabaseOptions) -> Result<PgConnectOptions, String> {
    let connect =
        PgConnectOptions::from_str(options.address.expose()).map_err(|e| format!("is not a valid address: {e}"))?;
    let connect = match connect.get_application_name() {
        Some(_) => connect,
        None => connect.application_name("inrush"),
    };
    let connect = connect.disable_statement_logging();
    Ok(match &options.password {
        Some(password) => connect.password(password.expose()),
        None => connect,
    })
}

/// Connects, and begins a read-only transaction that sees one state of the database: that of
/// `snapshot`, where one is given.
async fn begin(connect: &PgConnectOptions, snapshot: Option<&str>) -> Result<PgConnection, String> {
    answered(connect_and_begin(connect, snapshot)).await
}

async fn connect_and_begin(connect: &PgConnectOptions, snapshot: Option<&str>) -> Result<PgConnection, String> {
    let mut connection = PgConnection::connect_with(connect).await.map_err(|e| explain(&e))?;
    let mut statements = vec!["BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY".to_owned()];
    statements.extend(snapshot.map(|snapshot| format!("SET TRANSACTION SNAPSHOT {}", literal(snapshot))));
    statements.extend(SETTINGS.map(str::to_owned));
    statements.push(WITHOUT_LIMITS.to_owned());
    for statement in statements {
        connection.execute(sqlx::raw_sql(safe(&statement))).await.map_err(|e| explain(&e))?;
    }
    Ok(connection)
}

/// The single value of a query.
pub(super) async fn text(connection: &mut PgConnection, query: &str) -> Result<String, String> {
    let row = connection.fetch_one(safe(query)).await.map_err(|e| explain(&e))?;
    row.try_get(0).map_err(|e| explain(&e))
}

fn copy_statement(select: &str, condition: &str) -> String {
    match condition {
        "TRUE" => format!("COPY {} TO STDOUT", subquery(select)),
        condition => format!("COPY ({select} WHERE {condition}) TO STDOUT"),
    }
}

/// A table in the catalogue.
struct Table {
    /// Name with its schema, quoted.
    name: String,
    /// Whether it has rows of its own in pages. A view or a partitioned table has none.
    plain: bool,
    pages: i64,
}

impl Table {
    async fn find(connection: &mut PgConnection, name: &str) -> Result<Table, String> {
        // The name as SQL reads it, or else as it is written, for names with capitals.
        let quoted: Vec<String> = name.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect();
        let candidates = [name.to_owned(), quoted.join(".")];
        for candidate in candidates {
            let query = format!(
                "SELECT format('%I.%I', n.nspname, c.relname), c.relkind IN ('r', 'm'), \
                 (pg_relation_size(c.oid) / current_setting('block_size')::bigint)::bigint \
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass({})",
                literal(&candidate)
            );
            // An invalid name is an error of the query, which would end the transaction.
            connection.execute("SAVEPOINT look").await.map_err(|e| explain(&e))?;
            let found = match connection.fetch_optional(safe(&query)).await {
                Err(sqlx::Error::Database(_)) => {
                    connection.execute("ROLLBACK TO SAVEPOINT look").await.map_err(|e| explain(&e))?;
                    None
                }
                found => found.map_err(|e| explain(&e))?,
            };
            connection.execute("RELEASE SAVEPOINT look").await.map_err(|e| explain(&e))?;
            if let Some(row) = found {
                let get = |e: sqlx::Error| explain(&e);
                return Ok(Table {
                    name: row.try_get(0).map_err(get)?,
                    plain: row.try_get(1).map_err(get)?,
                    pages: row.try_get(2).map_err(get)?,
                });
            }
        }
        let others = text(
            connection,
            "SELECT coalesce(string_agg(t, ', '), 'none') FROM (SELECT format('%I.%I', schemaname, tablename) AS t \
             FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1 LIMIT 20) AS tables",
        )
        .await?;
        Err(format!("there is no table {name}; the database has {others}"))
    }

    /// Ranges of pages, or of a primary key that is one whole number.
    async fn ranges(
        &self,
        connection: &mut PgConnection,
        select: &str,
        options: &DatabaseOptions,
    ) -> Result<Vec<String>, String> {
        if options.readers <= 1 {
            return Ok(vec!["TRUE".to_owned()]);
        }
        let version: u32 = text(connection, "SELECT current_setting('server_version_num')").await?.parse().unwrap_or(0);
        if self.plain && version >= PAGES_SINCE {
            // Rows that are written meanwhile are behind the table's end, and not in the snapshot.
            let bounds = whole_numbers(0, i128::from(self.pages.max(1)) - 1, options.readers * RANGES_PER_READER);
            let bounds: Vec<String> = bounds.iter().map(|page| format!("'({page},0)'::tid")).collect();
            return Ok(conditions("ctid", &bounds, false));
        }
        let query = format!(
            "SELECT min(a.attname::text) FROM pg_index i \
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
             WHERE i.indrelid = {}::regclass AND i.indisprimary AND i.indnkeyatts = 1 \
             AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)",
            literal(&self.name)
        );
        let row = connection.fetch_one(safe(&query)).await.map_err(|e| explain(&e))?;
        match row.try_get::<Option<String>, _>(0).map_err(|e| explain(&e))? {
            Some(key) => by_column(connection, select, &key, options).await,
            None => Ok(vec!["TRUE".to_owned()]),
        }
    }
}

/// Ranges of a column: of equal width for whole numbers, and of equal numbers of rows otherwise,
/// which costs a scan of the column.
async fn by_column(
    connection: &mut PgConnection,
    select: &str,
    column: &str,
    options: &DatabaseOptions,
) -> Result<Vec<String>, String> {
    let quoted = format!("\"{}\"", column.replace('"', "\"\""));
    let ranges = options.readers * RANGES_PER_READER;
    let of_column = format!("SELECT {quoted} AS key FROM {} AS rows_to_split", subquery(select));
    let described = catalogue::columns(connection, &of_column).await.map_err(|e| {
        format!("rows cannot be split by the column {column}: {}; name another one with option `split_by`", explain(&e))
    })?;
    let is_whole = described.first().is_some_and(|column| column.kind == Kind::Integer);
    let bounds = if is_whole {
        let query = format!("SELECT min(key)::text, max(key)::text FROM {} AS keys", subquery(&of_column));
        let row = connection.fetch_one(safe(&query)).await.map_err(|e| explain(&e))?;
        let number = |at: usize| row.try_get::<Option<String>, _>(at).ok().flatten().and_then(|text| text.parse().ok());
        match (number(0), number(1)) {
            (Some(least), Some(most)) => whole_numbers(least, most, ranges),
            _ => Vec::new(),
        }
    } else {
        let parts: Vec<String> = (1..ranges).map(|n| (n as f64 / ranges as f64).to_string()).collect();
        let query = format!(
            "SELECT DISTINCT bound::text AS literal, bound FROM unnest((SELECT percentile_disc(ARRAY[{}]) WITHIN GROUP (ORDER BY key) \
             FROM {} AS keys)) AS bound WHERE bound IS NOT NULL ORDER BY bound",
            parts.join(","),
            subquery(&of_column)
        );
        let rows = connection.fetch_all(safe(&query)).await.map_err(|e| {
            format!(
                "rows cannot be split by the column {column}: {}; name another one with option `split_by`",
                explain(&e)
            )
        })?;
        let bounds: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get::<String, _>(0)).collect();
        bounds.map_err(|e| explain(&e))?.iter().map(|bound| literal(bound)).collect()
    };
    Ok(conditions(&quoted, &bounds, true))
}

/// The column of option `since`, and its highest value.
async fn marked(
    connection: &mut PgConnection,
    select: &str,
    columns: &[PgColumn],
    wanted: &SinceColumn,
) -> Result<Marked, String> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let PgColumn { name, kind, oid } = &columns[wanted.place(&names)?];
    let is_exact = match kind {
        Kind::Integer | Kind::Decimal | Kind::DateTime | Kind::Moment | Kind::Text => true,
        Kind::Float => *oid == NUMERIC,
        _ => false,
    };
    let type_name = text(connection, &format!("SELECT format_type({oid}, -1)")).await?;
    if !is_exact {
        return Err(wanted.refused(&format!("values of the type {type_name} have no exact order")));
    }
    let key = format!("\"{}\"", name.replace('"', "\"\""));
    // A time later than now would hide all rows that come before it, and so would a number above
    // all others. What is below all others is read each time. `-Infinity` is no number before
    // Postgres 14.
    let (counts, others) = match kind {
        kind if is_time(kind) => ("AND key <= now()", Some(format!("{key} = '-infinity'"))),
        _ if *oid == NUMERIC => {
            ("AND key::text NOT IN ('NaN', 'Infinity', '-Infinity')", Some(format!("{key} < '-1e130000'::numeric")))
        }
        _ => ("", None),
    };
    // The rows are in the order of the values, and not of their text, which has the same name in
    // the result.
    let query = format!(
        "SELECT key::text FROM (SELECT {key} AS key FROM {} AS rows_since) AS keys \
         WHERE key IS NOT NULL {counts} ORDER BY keys.key DESC LIMIT 1",
        subquery(select)
    );
    let row = connection.fetch_optional(safe(&query)).await.map_err(|e| wanted.refused(&explain(&e)))?;
    let value: Option<String> = row.map(|row| row.try_get(0)).transpose().map_err(|e| explain(&e))?;
    let last = value.map(|value| SinceValue { kind: type_name, value });
    let since = Since { column: name.clone(), last };
    Ok(Marked { since, key, others, overlap: wanted.overlap(is_time(kind))?, literal: value_literal })
}

/// A value with its type, so that an index of the column is used.
fn value_literal(value: &SinceValue, overlap: Option<u64>) -> Result<String, String> {
    let SinceValue { kind, value } = value;
    let typed = format!("{}::{kind}", literal(value));
    Ok(match overlap {
        // Days are compared with the whole day.
        Some(seconds) if kind == "date" => format!("({typed} - interval '{seconds} seconds')::date"),
        Some(seconds) => format!("{typed} - interval '{seconds} seconds'"),
        None => typed,
    })
}

/// A text literal. What a backslash means in a plain one depends on a setting of the server.
fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

/// A connection that reads one range after another.
struct Reader {
    connection: PgConnection,
    statements: Arc<Mutex<VecDeque<String>>>,
    decoder: Arc<dyn Decode>,
    outgoing: Outgoing,
}

impl Reader {
    async fn run(mut self) {
        let result = loop {
            let statement = self.statements.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(statement) = statement else { break Ok(()) };
            match self.read(&statement).await {
                Ok(()) => {}
                Err(Stopped::Gone) => return,
                Err(Stopped::Failed(problem)) => break Err(problem),
            }
        };
        let outgoing = self.outgoing.clone();
        // Closes the connection in order where that is possible. The transaction wrote nothing.
        let _ = self.connection.close().await;
        outgoing.end(result).await;
    }

    async fn read(&mut self, statement: &str) -> Result<(), Stopped> {
        let mut lines = self.connection.copy_out_raw(statement).await?;
        let mut piece = BytesMut::new();
        while let Some(data) = lines.next().await {
            piece.extend_from_slice(&data?);
            if piece.len() < PIECE_BYTES {
                continue;
            }
            // A message usually has whole rows, but the protocol does not guarantee it. Values have
            // no line ends in this format.
            if let Some(end) = memchr::memrchr(b'\n', &piece) {
                let rows = piece.split_to(end + 1).freeze();
                send(&self.outgoing, &self.decoder, rows).await?;
            }
        }
        if !piece.is_empty() {
            send(&self.outgoing, &self.decoder, piece.freeze()).await?;
        }
        Ok(())
    }
}

async fn send(outgoing: &Outgoing, decoder: &Arc<dyn Decode>, rows: Bytes) -> Result<(), Stopped> {
    let bytes = rows.len();
    Ok(outgoing.send(Rows::Lines(rows, Arc::clone(decoder)), bytes).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_values_are_literals_of_their_type() {
        let of = |kind: &str, value: &str, overlap| {
            value_literal(&SinceValue { kind: kind.to_owned(), value: value.to_owned() }, overlap).unwrap()
        };
        assert_eq!(of("bigint", "5", None), "'5'::bigint");
        assert_eq!(of("text", "it's", None), "'it''s'::text");
        assert_eq!(of("text", "it's \\", None), "E'it''s \\\\'::text");
        assert_eq!(of("date", "2026-01-31", Some(60)), "('2026-01-31'::date - interval '60 seconds')::date");
        let time = "'2026-01-31 10:00:00'::timestamp without time zone - interval '60 seconds'";
        assert_eq!(of("timestamp without time zone", "2026-01-31 10:00:00", Some(60)), time);
    }
}

//! MySQL and MariaDB. One connection reads one state of the database. With option `split_by`
//! several connections read, and their states may differ by milliseconds: the connections cannot
//! share a snapshot, and a loader must not stop all writers.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::TryStreamExt;
use inrush_formats::Warnings;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection, Executor, Row, SqlSafeStr, SqlStr, Statement as _,
    TypeInfo, ValueRef,
};

use super::columns::{Columns, Document};
use super::ranges::{RANGES_PER_READER, conditions, subquery, whole_numbers};
use super::reading::{Opened, Stopped, answered, explain};
use super::rows::RowBlocks;
use super::sqlite::end;
use super::values::{Kind, push_base64, push_value};
use super::{DatabaseOptions, DatabaseRows as Wanted};
use crate::repeat::Repeats;

/// Connects, and finds the columns and ranges.
pub(super) async fn open(options: DatabaseOptions, name: String, warnings: Warnings) -> Result<Opened, String> {
    let connect = connect_options(&options)?;
    let mut first = begin(&connect).await?;
    let select = match &options.rows {
        Wanted::Table(table) => {
            let quoted: Vec<String> = table.split('.').map(quote).collect();
            format!("SELECT * FROM {}", quoted.join("."))
        }
        Wanted::Query(query) => format!("SELECT * FROM {} AS rows_of_query", subquery(query)),
    };
    let described = first.prepare(safe(&select)).await.map_err(|e| explain(&e))?;
    let columns = described.columns().iter();
    let columns: Vec<(String, MySqlKind)> =
        columns.map(|column| (column.name().to_owned(), kind(column.type_info().name()))).collect();
    let kinds: Arc<[MySqlKind]> = columns.iter().map(|(_, kind)| kind.clone()).collect();
    let columns = columns.into_iter().map(|(name, kind)| match kind {
        MySqlKind::Text(kind) => (name, kind),
        MySqlKind::Bits | MySqlKind::Bytes => (name, Kind::Text),
    });
    let columns = Arc::new(Columns::new(columns.collect(), &name, &warnings));
    let ranges = match &options.split_by {
        Some(column) => by_column(&mut first, &select, column, &options).await?,
        None => vec!["TRUE".to_owned()],
    };
    let mut connections = vec![first];
    while connections.len() < options.readers.max(1).min(ranges.len()) {
        connections.push(begin(&connect).await?);
    }
    if connections.len() > 1 {
        let readers = connections.len();
        warnings.add(&name, "several_snapshots", "", 1, || {
            format!("{readers} connections read, and may see different states of the database if rows were written while they began; leave option `split_by` out to read a single state")
        });
    }
    let statements: VecDeque<String> = ranges.iter().map(|condition| format!("{select} WHERE {condition}")).collect();
    let statements = Arc::new(Mutex::new(statements));
    Ok(Opened {
        readers: connections.len(),
        repeats: Repeats::Unordered,
        fingerprints: Vec::new(),
        begin: Box::new(move |network, outgoing| {
            for mut connection in connections {
                let (statements, kinds, outgoing) = (Arc::clone(&statements), Arc::clone(&kinds), outgoing.clone());
                let mut blocks = RowBlocks::new(Arc::clone(&columns), options.document_bytes_max, outgoing.clone());
                network.spawn(async move {
                    let result = loop {
                        let next = statements.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some(statement) = next else { break Ok(()) };
                        if let Err(stopped) = read(&mut connection, &statement, &kinds, &mut blocks).await {
                            break Err(stopped);
                        }
                    };
                    // The transaction wrote nothing, so its end does not matter.
                    let _ = connection.close().await;
                    end(result, &outgoing).await;
                });
            }
        }),
    })
}

pub(super) fn connect_options(options: &DatabaseOptions) -> Result<MySqlConnectOptions, String> {
    let text = options.address.expose();
    // The library knows the protocol only as `mysql`.
    let text = text.strip_prefix("mariadb://").map_or_else(|| text.to_owned(), |rest| format!("mysql://{rest}"));
    let connect = MySqlConnectOptions::from_str(&text).map_err(|e| format!("is not a valid address: {e}"))?;
    let of_environment = std::env::var("MYSQL_PWD").ok().filter(|_| !has_password(&text));
    let password = options.password.as_ref().map(|password| password.expose().to_owned()).or(of_environment);
    let connect = match password {
        Some(password) => connect.password(&password),
        None => connect,
    };
    Ok(connect.disable_statement_logging())
}

fn has_password(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|url| url.password().is_some())
}

/// Connects, and begins a read-only transaction that sees one state of the database.
async fn begin(connect: &MySqlConnectOptions) -> Result<MySqlConnection, String> {
    answered(connect_and_begin(connect)).await
}

async fn connect_and_begin(connect: &MySqlConnectOptions) -> Result<MySqlConnection, String> {
    let mut connection = connect.connect().await.map_err(|e| explain(&e))?;
    let statements = [
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET SESSION time_zone = '+00:00'",
        // A reader waits while the cluster is busy.
        "SET SESSION net_write_timeout = 31536000",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ];
    for statement in statements {
        connection.execute(sqlx::raw_sql(statement)).await.map_err(|e| explain(&e))?;
    }
    Ok(connection)
}

/// Statements that are built here contain only names and queries of the user, who may run any
/// query.
pub(super) fn safe(statement: &str) -> SqlStr {
    AssertSqlSafe(statement).into_sql_str()
}

pub(super) fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Ranges of equal width of a column with whole numbers.
async fn by_column(
    connection: &mut MySqlConnection,
    select: &str,
    column: &str,
    options: &DatabaseOptions,
) -> Result<Vec<String>, String> {
    let quoted = quote(column);
    let query = format!(
        "SELECT CAST(min({quoted}) AS CHAR), CAST(max({quoted}) AS CHAR) FROM {} AS rows_to_split",
        subquery(select)
    );
    let row = connection.fetch_one(safe(&query)).await.map_err(|e| explain(&e))?;
    let value = |at: usize| row.try_get::<Option<String>, _>(at).map_err(|e| explain(&e));
    let (Some(least), Some(most)) = (value(0)?, value(1)?) else { return Ok(vec!["TRUE".to_owned()]) };
    let (Ok(least), Ok(most)) = (least.parse(), most.parse()) else {
        return Err(format!(
            "rows cannot be split by the column {column}, which has no whole numbers; name another one with option `split_by`"
        ));
    };
    Ok(conditions(&quoted, &whole_numbers(least, most, options.readers * RANGES_PER_READER), true))
}

async fn read(
    connection: &mut MySqlConnection,
    statement: &str,
    kinds: &[MySqlKind],
    blocks: &mut RowBlocks,
) -> Result<(), Stopped> {
    // The statement is not prepared, so the server writes values as text with all digits.
    let mut rows = sqlx::raw_sql(safe(statement)).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        if blocks.push(|document| push(&row, kinds, document)) {
            blocks.flush().await?;
        }
    }
    Ok(blocks.flush().await?)
}

/// Form of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MySqlKind {
    /// Text of this kind.
    Text(Kind),
    /// `BIT(n)`: the bytes of a number.
    Bits,
    Bytes,
}

pub(super) fn kind(name: &str) -> MySqlKind {
    MySqlKind::Text(match name.trim_end_matches(" UNSIGNED") {
        "BOOLEAN" => Kind::Bool,
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" | "YEAR" => Kind::Integer,
        "FLOAT" | "DOUBLE" => Kind::Float,
        "DECIMAL" => Kind::Decimal,
        "JSON" => Kind::Json,
        "DATE" | "DATETIME" => Kind::DateTime,
        "TIMESTAMP" => Kind::Moment,
        "BIT" => return MySqlKind::Bits,
        "TINYBLOB" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB" | "BINARY" | "VARBINARY" | "GEOMETRY" => {
            return MySqlKind::Bytes;
        }
        _ => Kind::Text,
    })
}

pub(super) fn push(row: &MySqlRow, kinds: &[MySqlKind], document: &mut Document<'_>) {
    for (place, kind) in kinds.iter().enumerate() {
        if row.try_get_raw(place).map_or(true, |value| value.is_null()) {
            continue;
        }
        let Ok(bytes) = row.try_get_unchecked::<&[u8], _>(place) else { continue };
        match kind {
            MySqlKind::Text(_) => document.push(place, bytes),
            MySqlKind::Bits => {
                let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
                document
                    .push_with(place, |out, none| push_value(&Kind::Integer, number.to_string().as_bytes(), out, none));
            }
            MySqlKind::Bytes => document.push_with(place, |out, _| {
                push_base64(bytes, out);
                true
            }),
        }
    }
}

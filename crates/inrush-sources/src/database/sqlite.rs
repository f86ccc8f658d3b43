//! SQLite: one connection reads the rows in SQLite's order, which is the same while the file is
//! unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt;
use inrush_formats::Warnings;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection, Executor, Row, SqlSafeStr, Statement as _, TypeInfo,
    ValueRef,
};

use super::columns::{Columns, Document};
use super::ranges::subquery;
use super::reading::{Opened, Outgoing, Stopped, explain};
use super::rows::RowBlocks;
use super::values::{Kind, push_base64, push_string, push_value};
use super::{DatabaseOptions, DatabaseRows as Wanted};
use crate::repeat::{Fingerprint, Repeats};

/// Opens the file, and finds the columns.
pub(super) async fn open(options: DatabaseOptions, name: String, warnings: Warnings) -> Result<Opened, String> {
    if options.split_by.is_some() {
        return Err("one connection reads SQLite, so it cannot be split; leave option `split_by` out".to_owned());
    }
    let path = PathBuf::from(options.address.path());
    // SQLite's own error would not have the cause.
    let fingerprints = fingerprints(&path).map_err(|e| format!("cannot be opened: {e}"))?;
    let connect = SqliteConnectOptions::new().filename(&path).read_only(true).disable_statement_logging();
    let mut connection = connect.connect().await.map_err(|e| explain(&e))?;
    // The transaction sees one state of the database while other processes write.
    connection.execute("BEGIN").await.map_err(|e| explain(&e))?;
    let select = match &options.rows {
        Wanted::Table(table) => table_query(&mut connection, table).await?,
        Wanted::Query(query) => format!("SELECT * FROM {}", subquery(query)),
    };
    let described = connection.prepare(AssertSqlSafe(select.as_str()).into_sql_str()).await.map_err(|e| explain(&e))?;
    // In SQLite a value has a type, and a column only prefers one.
    let columns = described.columns().iter().map(|column| (column.name().to_owned(), Kind::Text));
    let columns = Arc::new(Columns::new(columns.collect(), &name, &warnings));
    Ok(Opened {
        readers: 1,
        repeats: Repeats::Always,
        fingerprints,
        begin: Box::new(move |network, outgoing| {
            network.spawn(async move {
                let blocks = RowBlocks::new(columns, options.document_bytes_max, outgoing.clone());
                end(read(&mut connection, &select, blocks).await, &outgoing).await;
                // The transaction wrote nothing, so its end does not matter.
                let _ = connection.close().await;
            });
        }),
    })
}

/// Sends the result of a reader.
pub(super) async fn end(result: Result<(), Stopped>, outgoing: &Outgoing) {
    match result {
        Ok(()) => outgoing.end(Ok(())).await,
        Err(Stopped::Failed(problem)) => outgoing.end(Err(problem)).await,
        Err(Stopped::Gone) => {}
    }
}

/// Fingerprints of the file, and of the write-ahead log beside it.
fn fingerprints(path: &Path) -> std::io::Result<Vec<Fingerprint>> {
    let mut fingerprints = vec![Fingerprint::of(path)?];
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if let Ok(log) = Fingerprint::of(Path::new(&log)) {
        fingerprints.push(log);
    }
    Ok(fingerprints)
}

async fn table_query(connection: &mut SqliteConnection, table: &str) -> Result<String, String> {
    let names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name";
    let rows = connection.fetch_all(names).await.map_err(|e| explain(&e))?;
    let names: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
    match names.iter().find(|name| name.eq_ignore_ascii_case(table)) {
        Some(name) => Ok(format!("SELECT * FROM \"{}\"", name.replace('"', "\"\""))),
        None => Err(format!("there is no table {table}; the database has {}", names.join(", "))),
    }
}

async fn read(connection: &mut SqliteConnection, select: &str, mut blocks: RowBlocks) -> Result<(), Stopped> {
    let mut rows = connection.fetch(AssertSqlSafe(select));
    while let Some(row) = rows.try_next().await? {
        if blocks.push(|document| push(&row, document)) {
            blocks.flush().await?;
        }
    }
    Ok(blocks.flush().await?)
}

/// Writes each value by its own type.
pub(super) fn push(row: &SqliteRow, document: &mut Document<'_>) {
    for place in 0..row.len() {
        let Ok(value) = row.try_get_raw(place) else { continue };
        if value.is_null() {
            continue;
        }
        match value.type_info().name() {
            "INTEGER" => {
                if let Ok(number) = row.try_get_unchecked::<i64, _>(place) {
                    document.push_with(place, |out, none| {
                        push_value(&Kind::Integer, number.to_string().as_bytes(), out, none)
                    });
                }
            }
            "REAL" => {
                if let Ok(number) = row.try_get_unchecked::<f64, _>(place) {
                    document
                        .push_with(place, |out, none| push_value(&Kind::Float, shortest(number).as_bytes(), out, none));
                }
            }
            "BLOB" => {
                if let Ok(bytes) = row.try_get_unchecked::<&[u8], _>(place) {
                    document.push_with(place, |out, _| {
                        push_base64(bytes, out);
                        true
                    });
                }
            }
            // SQLite allows text that is not UTF-8, and JSON does not.
            _ => {
                if let Ok(bytes) = row.try_get_unchecked::<&[u8], _>(place) {
                    document.push_with(place, |out, _| {
                        push_string(String::from_utf8_lossy(bytes).as_bytes(), out);
                        true
                    });
                }
            }
        }
    }
}

/// The shortest digits that read back as the same number. JSON has no `inf`.
pub(super) fn shortest(number: f64) -> String {
    format!("{number:?}")
}

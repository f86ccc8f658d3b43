//! SQLite: one connection reads the rows in SQLite's order, which is the same while the file is
//! unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt;
use inrush_formats::Warnings;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection, Executor, Row, SqlSafeStr, SqlStr, Statement as _,
    TypeInfo, ValueRef,
};

use super::columns::{Columns, Document};
use super::ranges::{self, subquery};
use super::reading::{Opened, Stopped, explain};
use super::rows::RowBlocks;
use super::since::Marked;
use super::values::{Kind, push_base64, push_string, push_value};
use super::{DatabaseOptions, DatabaseRows as Wanted, SinceColumn};
use crate::repeat::{Fingerprint, Repeats};
use crate::{Since, SinceValue};

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
    let columns =
        columns(&mut connection, AssertSqlSafe(select.as_str()).into_sql_str()).await.map_err(|e| explain(&e))?;
    let since = match &options.since {
        Some(wanted) => Some(marked(&mut connection, &select, &columns, wanted).await?),
        None => None,
    };
    let columns = Columns::new(columns, &name, &warnings);
    Ok(Opened {
        readers: 1,
        // The rows are others after each load.
        repeats: if since.is_some() { Repeats::Unordered } else { Repeats::Always },
        fingerprints,
        columns,
        since,
        begin: Box::new(move |network, outgoing, columns, condition| {
            let select = condition.map_or(select.clone(), |condition| format!("{select} WHERE {condition}"));
            network.spawn(async move {
                let blocks = RowBlocks::new(Arc::new(columns), options.document_bytes_max, outgoing.clone());
                outgoing.close(read(&mut connection, &select, blocks).await).await;
                // The transaction wrote nothing, so its end does not matter.
                let _ = connection.close().await;
            });
        }),
    })
}

/// Names of a statement's columns, and their kinds: in SQLite a value has a type, and a column only
/// prefers one. In a column of decimals SQLite stores a whole number as an integer, so that its
/// kind is that of floats.
pub(super) async fn columns(
    connection: &mut SqliteConnection,
    statement: SqlStr,
) -> Result<Vec<(String, Kind)>, sqlx::Error> {
    let described = connection.prepare(statement).await?;
    let mut columns = Vec::new();
    for column in described.columns() {
        let origin = column.origin();
        let declared: Option<String> = match origin.table_column() {
            None => None,
            Some(origin) => {
                let query = sqlx::query_scalar("SELECT type FROM pragma_table_info(?) WHERE name = ?");
                query.bind(&*origin.table).bind(&*origin.name).fetch_optional(&mut *connection).await?
            }
        };
        let kind = if declared.is_some_and(|declared| has_fractions(&declared)) { Kind::Float } else { Kind::Text };
        columns.push((column.name().to_owned(), kind));
    }
    Ok(columns)
}

/// Whether a declared type is one of decimals, with digits behind the point or of any number of
/// them: `DECIMAL(10,2)`, `NUMERIC`, and not `DECIMAL(10)`.
fn has_fractions(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    if !declared.starts_with("DEC") && !declared.starts_with("NUM") {
        return false;
    }
    match declared.split_once('(') {
        None => true,
        Some((_, sizes)) => {
            let scale = sizes.trim_end_matches([')', ' ']).split_once(',').map_or("0", |(_, scale)| scale);
            scale.trim() != "0"
        }
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

/// The column of option `since`, and its highest value.
async fn marked(
    connection: &mut SqliteConnection,
    select: &str,
    columns: &[(String, Kind)],
    wanted: &SinceColumn,
) -> Result<Marked, String> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let column = names[wanted.place(&names)?];
    let key = quote(column);
    let rows = subquery(select);
    // An index has both at its ends, and a statement with one of them looks there.
    let query = format!("SELECT (SELECT max({key}) FROM {rows}), (SELECT min({key}) FROM {rows})");
    let row = connection.fetch_one(AssertSqlSafe(query)).await.map_err(|e| explain(&e))?;
    let type_of = |place: usize| -> Result<Option<String>, String> {
        let value = row.try_get_raw(place).map_err(|e| explain(&e))?;
        Ok((!value.is_null()).then(|| value.type_info().name().to_owned()))
    };
    let (most, least) = (type_of(0)?, type_of(1)?);
    let last = match (most.as_deref(), least.as_deref()) {
        (None, _) => None,
        (Some("INTEGER"), _) => Some((NUMBER, row.try_get_unchecked::<i64, _>(0).map(|number| number.to_string()))),
        (Some("REAL"), _) => Some((NUMBER, row.try_get_unchecked::<f64, _>(0).map(shortest))),
        (Some("TEXT"), Some("TEXT")) => Some(("TEXT", row.try_get_unchecked::<String, _>(0))),
        (Some("TEXT"), _) => return Err(wanted.refused("it has numbers and text, and text is above all numbers")),
        (Some(other), _) => return Err(wanted.refused(&format!("its highest value is a {other}"))),
    };
    let last = match last {
        None => None,
        Some((kind, value)) => Some(SinceValue { kind: kind.to_owned(), value: value.map_err(|e| explain(&e))? }),
    };
    if let Some(last) = last.as_ref().filter(|last| last.kind == NUMBER && !is_number(&last.value)) {
        return Err(wanted.refused(&format!("its highest value is {}", last.value)));
    }
    let since = Since { column: column.to_owned(), last };
    Ok(Marked { since, key, others: None, overlap: wanted.overlap(false)?, literal })
}

/// Whole numbers and floats, which SQLite compares with each other.
const NUMBER: &str = "number";

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A value by its type.
fn literal(value: &SinceValue, _: Option<u64>) -> Result<String, String> {
    let SinceValue { kind, value } = value;
    match kind.as_str() {
        "TEXT" => Ok(ranges::literal(value)),
        NUMBER if is_number(value) => Ok(value.clone()),
        _ => Err(format!("the last value of option `since`, {value:?}, is not one of the type {kind}")),
    }
}

async fn table_query(connection: &mut SqliteConnection, table: &str) -> Result<String, String> {
    let names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name";
    let rows = connection.fetch_all(names).await.map_err(|e| explain(&e))?;
    let names: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
    match names.iter().find(|name| name.eq_ignore_ascii_case(table)) {
        Some(name) => Ok(format!("SELECT * FROM {}", quote(name))),
        None => Err(format!("there is no table {table}; the database has {}", names.join(", "))),
    }
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
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
            document.push_null(place);
            continue;
        }
        match value.type_info().name() {
            "INTEGER" => {
                let number = row.try_get_unchecked::<i64, _>(place);
                if let (true, Ok(number)) = (document.has_floats(place), &number) {
                    document.push(place, number.to_string().as_bytes());
                } else if let Ok(number) = number {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_fractions_unless_their_type_has_none() {
        for with in ["DECIMAL", "decimal(10,5)", "NUMERIC", "NUMERIC(10, 2)", "DEC(4,1)", "NUMBER(10,2)"] {
            assert!(has_fractions(with), "{with}");
        }
        for without in ["DECIMAL(10)", "NUMERIC(10,0)", "decimal( 5 , 0 )", "INTEGER", "REAL", "", "DATE", "BOOLEAN"] {
            assert!(!has_fractions(without), "{without}");
        }
    }
}

//! Look-ups in SQLite. Each key is a parameter, as text; SQLite converts it to a number where it is
//! compared with a column of numbers.

use inrush_formats::Warnings;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqlSafeStr, SqlStr, TypeInfo, ValueRef};

use super::super::ranges::subquery;
use super::super::reading::explain;
use super::super::sqlite::{columns, push, shortest};
use super::{Database, Found, Layout, Template, Wanted, parameters, repeated};

pub(super) struct Sqlite {
    connect: SqliteConnectOptions,
    template: Template,
    layout: Layout,
}

/// Opens the file, and checks the query.
pub(super) async fn open(wanted: &Wanted, warnings: &Warnings) -> Result<Sqlite, String> {
    let template = Template::parse(&wanted.query)?;
    let path = wanted.address.path();
    // SQLite's own error would not have the cause.
    std::fs::File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let connect = SqliteConnectOptions::new().filename(path).read_only(true).disable_statement_logging();
    let failed = |error: sqlx::Error| explain(&error);
    let mut connection = connect.connect().await.map_err(failed)?;
    let columns = columns(&mut connection, statement(&template, 1)).await.map_err(failed)?;
    let layout = Layout::new(columns, wanted, warnings)?;
    // The connection was for the check only.
    let _ = connection.close().await;
    Ok(Sqlite { connect, template, layout })
}

/// The statement with this number of keys. It has names and a query of the user, who may run any
/// query.
fn statement(template: &Template, keys: usize) -> SqlStr {
    let query = subquery(&template.with_marks(parameters(keys)));
    AssertSqlSafe(format!("SELECT * FROM {query}")).into_sql_str()
}

/// The text of a key.
fn text(row: &SqliteRow, place: usize) -> Option<Vec<u8>> {
    let value = row.try_get_raw(place).ok().filter(|value| !value.is_null())?;
    match value.type_info().name() {
        "INTEGER" => Some(row.try_get_unchecked::<i64, _>(place).ok()?.to_string().into_bytes()),
        "REAL" => Some(shortest(row.try_get_unchecked::<f64, _>(place).ok()?).into_bytes()),
        _ => row.try_get_unchecked::<&[u8], _>(place).ok().map(<[u8]>::to_vec),
    }
}

impl Database for Sqlite {
    type Connection = SqliteConnection;

    async fn connect(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.connect.connect().await
    }

    fn key(&self, id: &str) -> Result<String, String> {
        Ok(id.to_owned())
    }

    async fn ask(&self, connection: &mut SqliteConnection, keys: &[String]) -> Result<Vec<Found>, sqlx::Error> {
        let mut query = sqlx::query(statement(&self.template, keys.len()));
        for key in repeated(keys, &self.template) {
            query = query.bind(key.to_owned());
        }
        let answer: Vec<SqliteRow> = query.fetch_all(connection).await?;
        let mut rows = self.layout.rows();
        for row in &answer {
            let key = text(row, self.layout.key);
            rows.push(key.as_deref(), |document| push(row, document));
        }
        Ok(rows.end())
    }
}

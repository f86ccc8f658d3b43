//! Look-ups in MySQL and MariaDB.
//!
//! Each key is a parameter. Values of rows come as text by a cast, so documents are those of a
//! source.

use inrush_formats::Warnings;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow};
use sqlx::{ConnectOptions, Connection, Executor, Row, ValueRef};

use super::super::mysql::{
    MySqlKind, ROWS, SESSION, as_table, columns, connect_options, exact_floats, of_documents, push, reference,
};
use super::super::reading::{explain, safe};
use super::super::values::{Kind, without_zeros};
use super::{Database, Found, Layout, Template, Wanted, parameters, repeated, source_options, whole_number};

pub(super) struct MySql {
    connect: MySqlConnectOptions,
    template: Template,
    /// The columns of a row, as text where they have one.
    texts: String,
    columns: Vec<(String, MySqlKind)>,
    layout: Layout,
}

/// Connects, and checks the query.
pub(super) async fn open(wanted: &Wanted, warnings: &Warnings) -> Result<MySql, String> {
    let template = Template::parse(&wanted.query)?;
    let connect = connect_options(&source_options(wanted))?;
    let failed = |error: sqlx::Error| explain(&error);
    let mut connection = begin(&connect).await.map_err(failed)?;
    let columns = columns(&mut connection, &template.with_marks(1)).await.map_err(failed)?;
    let numbered = !as_table("", &columns).0.is_empty();
    let text = |place: usize| match columns[place].1 {
        MySqlKind::Text(_) | MySqlKind::Float(_) => {
            format!("CAST({} AS CHAR)", reference(&columns, numbered, place))
        }
        MySqlKind::Bits | MySqlKind::Bytes => reference(&columns, numbered, place),
    };
    let exact = exact_floats(&columns, numbered).into_iter().map(|float| format!("CAST({float} AS CHAR)"));
    let texts: Vec<String> = (0..columns.len()).map(text).chain(exact).collect();
    let layout = Layout::new(of_documents(&columns), wanted, warnings)?;
    let database = MySql { connect, template, texts: texts.join(", "), columns, layout };
    connection.prepare(safe(&database.statement(1))).await.map_err(failed)?;
    // The connection was for the check only.
    let _ = connection.close().await;
    Ok(database)
}

async fn begin(connect: &MySqlConnectOptions) -> Result<MySqlConnection, sqlx::Error> {
    let mut connection = connect.connect().await?;
    // Each statement sees the newest state.
    for setting in [SESSION, "SET SESSION TRANSACTION READ ONLY"] {
        connection.execute(sqlx::raw_sql(setting)).await?;
    }
    Ok(connection)
}

impl MySql {
    /// The statement with this number of keys.
    fn statement(&self, keys: usize) -> String {
        let (with, from) = as_table(&self.template.with_marks(parameters(keys)), &self.columns);
        format!("{with}SELECT {} FROM {from} AS {ROWS}", self.texts)
    }

    /// Whether the column of the key has whole numbers. The server would compare a number and a
    /// text as floats, so the keys are bound as numbers.
    fn has_numbers(&self) -> bool {
        self.columns[self.layout.key].1 == MySqlKind::Text(Kind::Integer)
    }
}

impl Database for MySql {
    type Connection = MySqlConnection;

    async fn connect(&self) -> Result<MySqlConnection, sqlx::Error> {
        begin(&self.connect).await
    }

    fn key(&self, id: &str) -> Result<String, String> {
        if self.has_numbers() { whole_number(id) } else { Ok(id.to_owned()) }
    }

    async fn ask(&self, connection: &mut MySqlConnection, keys: &[String]) -> Result<Vec<Found>, sqlx::Error> {
        let statement = self.statement(keys.len());
        let mut query = sqlx::query(safe(&statement));
        for key in repeated(keys, &self.template) {
            query = match (self.has_numbers(), key.parse::<i64>(), key.parse::<u64>()) {
                (true, Ok(number), _) => query.bind(number),
                (true, Err(_), Ok(number)) => query.bind(number),
                _ => query.bind(key),
            };
        }
        let answer: Vec<MySqlRow> = query.fetch_all(connection).await?;
        let mut rows = self.layout.rows();
        for row in &answer {
            let place = self.layout.key;
            let is_null = row.try_get_raw(place).map_or(true, |value| value.is_null());
            let key = if is_null { None } else { row.try_get_unchecked::<&[u8], _>(place).ok() };
            let key = if self.has_numbers() { key.map(without_zeros) } else { key };
            rows.push(key, |document| push(row, self.columns.iter().map(|(_, kind)| kind), document));
        }
        Ok(rows.end())
    }
}

//! Look-ups in MySQL and MariaDB.
//!
//! Each key is a parameter. Values of rows come as text by a cast, so documents are those of a
//! source.

use inrush_formats::Warnings;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow};
use sqlx::{Column as _, ConnectOptions, Connection, Executor, Row, Statement as _, TypeInfo, ValueRef};

use super::super::mysql::{MySqlKind, connect_options, kind, push, quote, safe};
use super::super::ranges::subquery;
use super::super::reading::explain;
use super::super::values::Kind;
use super::{Database, Found, Layout, Template, Wanted, parameters, repeated, source_options, whole_number};

/// Settings of a session. Each statement sees the newest state.
const SETTINGS: [&str; 2] = ["SET SESSION time_zone = '+00:00'", "SET SESSION TRANSACTION READ ONLY"];

pub(super) struct MySql {
    connect: MySqlConnectOptions,
    template: Template,
    /// The columns of a row, as text where they have one.
    texts: String,
    kinds: Vec<MySqlKind>,
    layout: Layout,
}

/// Connects, and checks the query.
pub(super) async fn open(wanted: &Wanted, warnings: &Warnings) -> Result<MySql, String> {
    let template = Template::parse(&wanted.query)?;
    let connect = connect_options(&source_options(wanted))?;
    let failed = |error: sqlx::Error| explain(&error);
    let mut connection = begin(&connect).await.map_err(failed)?;
    let whole = format!("SELECT * FROM {} AS looked_up", subquery(&template.with_marks(1)));
    let described = connection.prepare(safe(&whole)).await.map_err(failed)?;
    let columns: Vec<(String, MySqlKind)> =
        described.columns().iter().map(|column| (column.name().to_owned(), kind(column.type_info().name()))).collect();
    let text = |(name, kind): &(String, MySqlKind)| {
        let name = format!("looked_up.{}", quote(name));
        match kind {
            MySqlKind::Text(_) => format!("CAST({name} AS CHAR)"),
            MySqlKind::Bits | MySqlKind::Bytes => name,
        }
    };
    let texts: Vec<String> = columns.iter().map(text).collect();
    let kinds: Vec<MySqlKind> = columns.iter().map(|(_, kind)| kind.clone()).collect();
    let columns = columns.into_iter().map(|(name, kind)| match kind {
        MySqlKind::Text(kind) => (name, kind),
        MySqlKind::Bits | MySqlKind::Bytes => (name, Kind::Text),
    });
    let layout = Layout::new(columns.collect(), wanted, warnings)?;
    let database = MySql { connect, template, texts: texts.join(", "), kinds, layout };
    connection.prepare(safe(&database.statement(1))).await.map_err(failed)?;
    // The connection was for the check only.
    let _ = connection.close().await;
    Ok(database)
}

async fn begin(connect: &MySqlConnectOptions) -> Result<MySqlConnection, sqlx::Error> {
    let mut connection = connect.connect().await?;
    for setting in SETTINGS {
        connection.execute(sqlx::raw_sql(setting)).await?;
    }
    Ok(connection)
}

impl MySql {
    /// The statement with this number of keys.
    fn statement(&self, keys: usize) -> String {
        let query = subquery(&self.template.with_marks(parameters(keys)));
        format!("SELECT {} FROM {query} AS looked_up", self.texts)
    }

    /// Whether the column of the key has whole numbers. The server would compare a number and a
    /// text as floats, so the keys are bound as numbers.
    fn has_numbers(&self) -> bool {
        self.kinds[self.layout.key] == MySqlKind::Text(Kind::Integer)
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
            rows.push(key, |document| push(row, &self.kinds, document));
        }
        Ok(rows.end())
    }
}

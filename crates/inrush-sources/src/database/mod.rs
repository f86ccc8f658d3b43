//! Tables and queries of databases: Postgres, MySQL and MariaDB, SQLite (cargo feature
//! `databases`).
//!
//! All rows belong to one state of the database. Several connections read Postgres at once and
//! share a snapshot ([`postgres`]). Their rows arrive as the text of `COPY`, and the reading
//! threads make documents of it. One connection reads the other databases ([`rows`]); MySQL is read
//! by more where the user asks for it.

mod address;
#[cfg(feature = "databases")]
mod catalogue;
#[cfg(feature = "databases")]
mod columns;
#[cfg(feature = "databases")]
mod copy;
#[cfg(feature = "databases")]
pub(crate) mod fetch;
mod kind;
#[cfg(feature = "databases")]
mod mysql;
#[cfg(feature = "databases")]
mod parameters;
#[cfg(feature = "databases")]
mod postgres;
#[cfg(feature = "databases")]
mod ranges;
#[cfg(feature = "databases")]
mod reading;
#[cfg(feature = "databases")]
mod rows;
#[cfg(feature = "databases")]
mod since;
#[cfg(feature = "databases")]
mod sqlite;
#[cfg(feature = "databases")]
mod values;

use std::time::Duration;

pub use address::DatabaseAddress;
#[cfg(feature = "databases")]
use address::Product;
use inrush_cluster::transport::Secret;
#[cfg(feature = "databases")]
use inrush_formats::Warnings;
pub use kind::DatabaseKind;
#[cfg(feature = "databases")]
pub use reading::Database;

use crate::SourceError;

/// Options of a database source.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// Address of the database.
    pub address: DatabaseAddress,
    /// The rows to read.
    pub rows: DatabaseRows,
    /// Column whose ranges are read at the same time. It should have an index, and whole numbers
    /// should be spread evenly. Default: tables of Postgres are read in ranges of their pages, and
    /// everything else by one connection.
    pub split_by: Option<String>,
    /// Column by which only rows since the last load are read. Default: all rows are read.
    pub since: Option<SinceColumn>,
    /// Largest number of connections. Default: 4.
    pub readers: usize,
    /// Password. Default: the password of the address, then `PGPASSWORD` and `.pgpass`, or
    /// `MYSQL_PWD`.
    pub password: Option<Secret>,
    /// Largest document, bytes. A larger row is a reject of kind `too_large`.
    pub document_bytes_max: usize,
}

/// The column by which only rows since the last load are read.
#[derive(Clone, Debug)]
pub struct SinceColumn {
    /// Name of the column.
    pub column: String,
    /// How much earlier than the last value rows are read. Default: a minute for times, nothing for
    /// other values.
    pub overlap: Option<Duration>,
}

/// The rows to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseRows {
    /// All rows of a table or view, with or without its schema in the name.
    Table(String),
    /// The result of a `SELECT`.
    Query(String),
}

impl DatabaseOptions {
    /// Options to read `rows` with up to four connections.
    pub fn new(address: DatabaseAddress, rows: DatabaseRows) -> Self {
        DatabaseOptions {
            address,
            rows,
            split_by: None,
            since: None,
            readers: 4,
            password: None,
            document_bytes_max: 100 << 20,
        }
    }

    /// Name of the source for messages.
    #[cfg(feature = "databases")]
    fn name(&self) -> String {
        match &self.rows {
            DatabaseRows::Table(table) => format!("{} table {table}", self.address),
            DatabaseRows::Query(_) => format!("{} query", self.address),
        }
    }
}

/// Connects to the database and checks the table or query, without reading rows. Waits for the
/// database.
///
/// # Errors
/// The database cannot be reached, or has no such table, column or query.
#[cfg(feature = "databases")]
pub fn open_database(options: &DatabaseOptions, warnings: &Warnings) -> Result<Database, SourceError> {
    let (wanted, of_rows, title) = (options.clone(), warnings.clone(), options.name());
    Database::open(options, warnings, async move {
        match wanted.address.product() {
            Product::Postgres => postgres::open(wanted, title, of_rows).await,
            Product::MySql => mysql::open(wanted, title, of_rows).await,
            Product::Sqlite => sqlite::open(wanted, title, of_rows).await,
        }
    })
}

/// The error of a build without the feature `databases`.
#[cfg(not(feature = "databases"))]
pub fn without_databases(options: &DatabaseOptions) -> SourceError {
    let message = "this build of inrush has no databases; build it with the cargo feature databases";
    SourceError::new(options.address.to_string(), message).coded(inrush_core::Code::NotInThisBuild)
}

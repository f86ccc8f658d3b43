//! Tables and queries of databases: Postgres, MySQL and MariaDB, SQLite (cargo feature `databases`).
//!
//! What is read is one state of the database. Postgres is read by several connections side by side that share a
//! snapshot ([`postgres`]); rows come as the text of `COPY` and become documents in the threads that read. The others
//! are read by one connection ([`rows`]), MySQL by more where somebody asks for it.

mod address;
#[cfg(feature = "databases")]
mod columns;
#[cfg(feature = "databases")]
mod copy;
mod kind;
#[cfg(feature = "databases")]
mod mysql;
#[cfg(feature = "databases")]
mod nested;
#[cfg(feature = "databases")]
mod postgres;
#[cfg(feature = "databases")]
mod ranges;
#[cfg(feature = "databases")]
mod reading;
#[cfg(feature = "databases")]
mod rows;
#[cfg(feature = "databases")]
mod sqlite;
#[cfg(feature = "databases")]
mod values;

pub use address::DatabaseAddress;
use inrush_cluster::transport::Secret;
#[cfg(feature = "databases")]
use inrush_formats::Warnings;
pub(crate) use kind::DatabaseKind;
#[cfg(feature = "databases")]
pub use reading::Database;

use crate::SourceError;

/// What is read of a database, and how.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// Where it is.
    pub address: DatabaseAddress,
    /// What is read.
    pub rows: DatabaseRows,
    /// The column whose ranges are read side by side. It should have an index, and be spread evenly where it is a
    /// number. Default: tables of Postgres are read in ranges of their pages, everything else by one connection.
    pub split_by: Option<String>,
    /// Connections that read side by side. Default 4.
    pub readers: usize,
    /// The password. Default: that of the address, then `PGPASSWORD` and `.pgpass`, or `MYSQL_PWD`.
    pub password: Option<Secret>,
    /// The largest document, bytes; a larger row is a reject of kind `too_large`.
    pub document_bytes_max: usize,
}

/// What is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseRows {
    /// All rows of a table or view, which may be written with its schema.
    Table(String),
    /// What a `SELECT` gives.
    Query(String),
}

impl DatabaseOptions {
    /// All rows of `rows`, by four connections where that is possible.
    pub fn new(address: DatabaseAddress, rows: DatabaseRows) -> Self {
        DatabaseOptions { address, rows, split_by: None, readers: 4, password: None, document_bytes_max: 100 << 20 }
    }

    /// What people call it.
    #[cfg(feature = "databases")]
    fn name(&self) -> String {
        match &self.rows {
            DatabaseRows::Table(table) => format!("{} table {table}", self.address),
            DatabaseRows::Query(_) => format!("{} query", self.address),
        }
    }
}

/// Connects, and looks at what is to be read, without reading it yet. Waits for the database.
///
/// # Errors
/// Where the database cannot be reached, or has no such table, column or query; and in a build without the feature `databases`.
#[cfg(feature = "databases")]
pub fn open_database(options: &DatabaseOptions, warnings: &Warnings) -> Result<Database, SourceError> {
    Database::open(options, warnings)
}

/// The error of a build without the feature `databases`.
#[cfg(not(feature = "databases"))]
pub fn without_databases(options: &DatabaseOptions) -> SourceError {
    let message = "this inrush was built without databases; build it with the cargo feature databases";
    SourceError::new(options.address.to_string(), message)
}

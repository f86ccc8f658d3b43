//! A database as the source.

use std::ffi::OsString;

use anyhow::Result;
use inrush::source::{DatabaseAddress, DatabaseOptions, DatabaseRows, Source};
use inrush::transport::Secret;

use crate::args::SourceArgs;
use crate::auth;
use crate::failure::UsageError;

/// Connects to the database that is the source, if it is one. Waits for it.
pub(crate) fn open(args: &SourceArgs, document_bytes_max: usize) -> Result<Option<Box<dyn Source>>> {
    let Some(address) = address(&args.sources)? else {
        return match args.database.given() {
            None => Ok(None),
            Some(flag) => Err(UsageError::new(format!("{flag} is for databases, and no SOURCE is one"))
                .hint("name it as in postgres://user@host/database, or leave the flag out")
                .into()),
        };
    };
    if args.from_dead_letters.is_some() {
        let message = "a database and --from-dead-letters are given";
        return Err(UsageError::new(message).hint("load one after the other").into());
    }
    if let Some(flag) = args.reading.given() {
        return Err(UsageError::new(format!("{flag} means nothing for {address}, whose rows have types"))
            .hint("leave it out")
            .into());
    }
    let database = &args.database;
    let rows = match (&database.db_table, &database.db_query) {
        (Some(table), _) => DatabaseRows::Table(table.clone()),
        (None, Some(query)) => DatabaseRows::Query(query_text(query)?),
        (None, None) => {
            return Err(UsageError::new(format!("what is to be read of {address}?"))
                .hint("name a table with --db-table, or give a query with --db-query")
                .into());
        }
    };
    let mut options = DatabaseOptions::new(address, rows);
    options.split_by = database.split_by.clone();
    options.readers = database.db_readers.map_or(options.readers, |readers| readers as usize);
    options.document_bytes_max = document_bytes_max;
    options.password =
        database.source_password_file.as_deref().map(Secret::from_file).transpose().map_err(auth::usage)?;
    connect(&options).map(Some)
}

#[cfg(feature = "databases")]
fn connect(options: &DatabaseOptions) -> Result<Box<dyn Source>> {
    let opened = inrush::source::open_database(options, &inrush::source::Warnings::default());
    Ok(Box::new(opened.map_err(|error| UsageError::new(error.to_string()))?))
}

#[cfg(not(feature = "databases"))]
fn connect(options: &DatabaseOptions) -> Result<Box<dyn Source>> {
    Err(UsageError::new(inrush::source::without_databases(options).to_string()).into())
}

/// The database among the sources, which has to be the only one.
pub(crate) fn address(sources: &[OsString]) -> Result<Option<DatabaseAddress>, UsageError> {
    let database = |source: &OsString| source.to_str().and_then(DatabaseAddress::new);
    match sources {
        [source] => Ok(database(source)),
        sources => match sources.iter().find_map(database) {
            None => Ok(None),
            Some(address) => {
                Err(UsageError::new(format!("{address} is a database, and is given beside other sources"))
                    .hint("load one after the other"))
            }
        },
    }
}

fn query_text(given: &str) -> Result<String, UsageError> {
    match given.strip_prefix('@') {
        None => Ok(given.to_owned()),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| UsageError::new(format!("--db-query: cannot read {path}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(sources: &[&str]) -> SourceArgs {
        SourceArgs { sources: sources.iter().map(OsString::from).collect(), ..SourceArgs::default() }
    }

    #[track_caller]
    fn refused(args: &SourceArgs, expected: &str) {
        let error = open(args, 1000).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_missing_or_too_much_is_told() {
        assert!(open(&args(&["a.csv", "-"]), 1000).unwrap().is_none());
        refused(&args(&["postgres://me:pw@h/db"]), "what is to be read of postgres://me@h/db?");
        refused(&args(&["a.csv", "mysql://h/db"]), "beside other sources");
        let mut flags = args(&["a.csv"]);
        flags.database.split_by = Some("id".to_owned());
        refused(&flags, "--split-by is for databases");
        let mut reading = args(&["postgres://h/db"]);
        reading.reading.records = Some("a".parse().unwrap());
        refused(&reading, "--records means nothing for postgres://h/db");
        let mut file = args(&["postgres://h/db"]);
        file.database.db_query = Some("@/nowhere/at/all".to_owned());
        refused(&file, "cannot read /nowhere/at/all");
    }

    #[cfg(not(feature = "databases"))]
    #[test]
    fn a_build_without_says_so() {
        let mut table = args(&["postgres://h/db"]);
        table.database.db_table = Some("t".to_owned());
        refused(&table, "cargo build --features databases");
    }
}

//! A database as the source.

use std::ffi::OsString;

use super::sources::Rows;
use crate::options::{DatabaseSourceOptions, OptionError, OptionErrorKind, OptionGroup};
use inrush_cluster::transport::Secret;
use inrush_sources::{DatabaseAddress, DatabaseOptions, DatabaseRows};

/// The options of the source database, if there is one.
pub(super) fn options(rows: &Rows<'_>) -> Result<Option<DatabaseOptions>, OptionError> {
    let database = rows.database;
    let Some(address) = address(&rows.source.sources)? else {
        return match database.given().next() {
            None => Ok(None),
            Some(info) => Err(OptionError::conflict(format!(
                "option `{}` is for databases, but no SOURCE is a database",
                info.name
            ))
            .of(info.name)
            .hint("name a database as in postgres://user@host/database, or leave the option out")),
        };
    };
    if rows.source.from_dead_letters.is_some() {
        let message = "a database and option `from_dead_letters` exclude each other";
        return Err(OptionError::conflict(message).of("from_dead_letters").hint("load one after the other"));
    }
    if let Some(info) = rows.reading.given().next() {
        let message = format!("option `{}` does not apply to {address}, whose rows have types", info.name);
        return Err(OptionError::conflict(message).of(info.name).hint("leave it out"));
    }
    let DatabaseSourceOptions { db_table, db_query, split_by, db_readers, source_password_file } = database;
    let content = match (db_table, db_query) {
        (Some(table), _) => DatabaseRows::Table(table.clone()),
        (None, Some(query)) => DatabaseRows::Query(database_query(query)?),
        (None, None) => {
            let message = format!("no table or query given for {address}");
            return Err(OptionError::new(OptionErrorKind::Missing, message)
                .of("db_table")
                .hint("name a table with option `db_table`, or give a query with option `db_query`"));
        }
    };
    let mut options = DatabaseOptions::new(address, content);
    options.split_by.clone_from(split_by);
    options.readers = db_readers.map_or(options.readers, |readers| readers.get() as usize);
    options.document_bytes_max = rows.document_bytes_max;
    options.password = source_password_file
        .as_deref()
        .map(Secret::from_file)
        .transpose()
        .map_err(|error| OptionError::unusable(error.to_string()).coded(error.code()).of("source_password_file"))?;
    Ok(Some(options))
}

/// The database among the sources, which has to be the only source.
pub(super) fn address(sources: &[OsString]) -> Result<Option<DatabaseAddress>, OptionError> {
    let database = |source: &OsString| source.to_str().and_then(DatabaseAddress::new);
    match sources {
        [source] => Ok(database(source)),
        sources => match sources.iter().find_map(database) {
            None => Ok(None),
            Some(address) => {
                Err(OptionError::conflict(format!("{address} is a database, which has to be the only source"))
                    .of("sources")
                    .hint("load one after the other"))
            }
        },
    }
}

fn database_query(given: &str) -> Result<String, OptionError> {
    match given.strip_prefix('@') {
        None => Ok(given.to_owned()),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| OptionError::value("db_query", format!("cannot read {path}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{LoadOptions, SourceOptions};
    use inrush_sources::Registry;

    fn load(sources: &[&str]) -> LoadOptions {
        let sources = sources.iter().map(OsString::from).collect();
        LoadOptions { source: SourceOptions { sources, ..SourceOptions::default() }, ..LoadOptions::default() }
    }

    #[track_caller]
    fn refused(options: &LoadOptions, expected: &str) {
        let error = super::options(&Rows::of(options, 1000, &Registry::default())).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn missing_options_and_those_for_other_sources_are_refused() {
        let registry = Registry::default();
        assert!(options(&Rows::of(&load(&["a.csv", "-"]), 1000, &registry)).unwrap().is_none());
        refused(&load(&["postgres://me:pw@h/db"]), "no table or query given for postgres://me@h/db");
        refused(&load(&["a.csv", "mysql://h/db"]), "the only source");
        let mut file = load(&["a.csv"]);
        file.give("split_by", "id").unwrap();
        refused(&file, "option `split_by` is for databases");
        let mut reading = load(&["postgres://h/db"]);
        reading.give("records", "a").unwrap();
        refused(&reading, "option `records` does not apply to postgres://h/db");
        let mut query = load(&["postgres://h/db"]);
        query.give("db_query", "@/nowhere/at/all").unwrap();
        refused(&query, "cannot read /nowhere/at/all");
    }
}

//! Databases.

use inrush_cluster::BoxFuture;
use inrush_cluster::transport::Secret;
use inrush_load::LoadError;
use inrush_sources::{DatabaseAddress, DatabaseOptions, DatabaseRows, SinceColumn};

use super::{Can, Kind, Opened, Opening, Use};
use crate::options::{DatabaseSourceOptions, LoadOptions, OptionError, OptionErrorKind};

pub(super) static DATABASES: Kind = Kind {
    many: "databases",
    example: "name a database as in postgres://user@host/database",
    alone: Some("load one after the other"),
    options: &[DatabaseSourceOptions::TABLE],
    reads: |_, _| false,
    read_as: "whose rows have types",
    has_ids: false,
    can: |what| match what {
        Use::Load | Use::DryRun | Use::Verify | Use::Infer | Use::Map | Use::Shards | Use::Convert => Can::Do,
        Use::Query => Can::NoFiles("run the query in the database, with option `db_query`"),
        Use::Bake => Can::NoFiles("load it with `inrush load`"),
        Use::Sweep => Can::NoFiles("write it to a file with `inrush convert`"),
    },
    open,
};

fn open(opening: Opening<'_>) -> BoxFuture<'_, Result<Opened, LoadError>> {
    Box::pin(async move {
        let options = options(opening.load, opening.config.limits.document_bytes_max)?;
        Ok(opening.open(&opening.request().with(options)).await?.into())
    })
}

fn options(load: &LoadOptions, document_bytes_max: usize) -> Result<DatabaseOptions, OptionError> {
    // The kind was found by it.
    let address = load.source.sources.first().and_then(|source| source.to_str()).and_then(DatabaseAddress::new);
    let address = address.ok_or_else(|| OptionError::unusable("no database is named").of("sources"))?;
    let DatabaseSourceOptions { db_table, db_query, split_by, since, since_overlap, db_readers, source_password_file } =
        &load.database;
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
    options.since = since.clone().map(|column| SinceColumn { column, overlap: *since_overlap });
    if since.is_none() && since_overlap.is_some() {
        return Err(OptionError::conflict("option `since_overlap` is for option `since`, which is not given")
            .of("since_overlap")
            .hint("name the column with option `since`, or leave the option out"));
    }
    options.readers = db_readers.map_or(options.readers, |readers| readers.get() as usize);
    options.document_bytes_max = document_bytes_max;
    options.password = source_password_file
        .as_deref()
        .map(Secret::from_file)
        .transpose()
        .map_err(|error| OptionError::unusable(error.to_string()).coded(error.code()).of("source_password_file"))?;
    Ok(options)
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

    #[track_caller]
    fn refused(name: &str, value: &str, expected: &str) {
        let mut load = LoadOptions::default();
        load.give("sources", "postgres://me:pw@h/db").unwrap();
        load.give(name, value).unwrap();
        let error = options(&load, 1000).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_table_or_a_query_is_needed() {
        refused("split_by", "id", "no table or query given for postgres://me@h/db");
        refused("since_overlap", "5m", "no table or query given");
        refused("db_query", "@/nowhere/at/all", "cannot read /nowhere/at/all");
    }
}

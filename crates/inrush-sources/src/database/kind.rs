//! Databases as a kind of source.

use std::ffi::OsString;

use super::{DatabaseAddress, DatabaseOptions};
use crate::registry::{OpenError, Opened, Opening, Request, SourceKind};

/// Databases, by the scheme of their addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseKind;

fn address(request: &Request) -> Option<DatabaseAddress> {
    let address = |argument: &OsString| argument.to_str().and_then(DatabaseAddress::new);
    request.arguments.iter().find_map(address)
}

impl SourceKind for DatabaseKind {
    fn name(&self) -> &'static str {
        "database"
    }

    fn find(&self, request: &Request) -> Option<String> {
        address(request).map(|address| address.to_string())
    }

    fn open<'a>(&'a self, request: &'a Request) -> Opening<'a> {
        Box::pin(async move {
            let nothing =
                || OpenError::arguments("no database is given", "name one, such as postgres://user@host/database");
            let address = address(request).ok_or_else(nothing)?;
            request.only_one(&address.to_string(), "a database", "load one source after another")?;
            let Some(options) = request.options::<DatabaseOptions>() else {
                let message = format!("no table or query given for {address}");
                return Err(OpenError::arguments(message, "name a table, or give a query"));
            };
            open(options)
        })
    }
}

#[cfg(feature = "databases")]
fn open(options: &DatabaseOptions) -> Result<Opened, OpenError> {
    Ok(Opened::new(super::open_database(options, &inrush_formats::Warnings::default())?))
}

#[cfg(not(feature = "databases"))]
fn open(options: &DatabaseOptions) -> Result<Opened, OpenError> {
    Err(super::without_databases(options).into())
}

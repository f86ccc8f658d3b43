//! The options of look-ups, and the place of records that they name.

use std::sync::Arc;

use inrush_cluster::transport::{Credentials, Secret, TlsOptions};

use crate::fetch::batches::Batches;
use crate::fetch::web::Web;
use crate::fetch::{Fetch, FetchError};
use crate::{DatabaseAddress, Warnings};

/// A place of records, and how it is asked for them.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// The place.
    pub from: FetchFrom,
    /// The field or column of a record that has its id. Default: `id`. A field `_id` is left out of
    /// documents, because servers refuse it.
    pub id: String,
    /// Largest document, bytes. A larger one is refused.
    pub document_bytes_max: usize,
}

/// A place of records.
#[derive(Clone, Debug)]
pub enum FetchFrom {
    /// A database.
    Database {
        /// Its address.
        address: DatabaseAddress,
        /// A `SELECT` with `$keys` in place of the keys: `= ANY($keys)` in Postgres, and
        /// `IN ($keys)` in MySQL and SQLite.
        query: String,
        /// The password. Default: as that of a source.
        password: Option<Secret>,
    },
    /// A web service.
    Web {
        /// Its address. Without a body it has `{keys}` in place of the keys.
        url: String,
        /// The body of a POST, which is JSON with `{keys}` or `{keys:number}` in place of the keys.
        /// Default: a GET.
        body: Option<String>,
        /// The login.
        credentials: Credentials,
        /// Certificates.
        tls: TlsOptions,
    },
}

impl FetchOptions {
    /// Options of look-ups by the field `id`.
    pub fn new(from: FetchFrom) -> Self {
        FetchOptions { from, id: "id".to_owned(), document_bytes_max: 100 << 20 }
    }
}

/// Connects to a database and checks the query, or checks the address of a web service. `warnings`
/// gets those about values of records.
///
/// # Errors
/// The database cannot be reached or refuses the query, or an address or body cannot be used.
pub async fn open_fetch(options: FetchOptions, warnings: &Warnings) -> Result<Arc<dyn Fetch>, FetchError> {
    let FetchOptions { from, id, document_bytes_max } = options;
    match from {
        FetchFrom::Web { url, body, credentials, tls } => {
            let web = Web::new(&url, body.as_deref(), credentials, tls, id)?;
            Ok(Arc::new(Batches::new(web, document_bytes_max)))
        }
        #[cfg(feature = "databases")]
        FetchFrom::Database { address, query, password } => {
            let wanted = crate::database::fetch::Wanted { address, query, password, id, document_bytes_max };
            crate::database::fetch::open(wanted, warnings).await
        }
        #[cfg(not(feature = "databases"))]
        FetchFrom::Database { address, query, password } => {
            let _ = (query, password, warnings);
            let message = "this build of inrush has no databases; build it with the cargo feature databases";
            Err(FetchError::new(format!("{address}: {message}")))
        }
    }
}

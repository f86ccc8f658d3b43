//! Files that are read over the network: on web servers, and in object stores (cargo feature
//! `cloud`). Folders of object stores into which a bake writes, too ([`Blobs`]).
//!
//! [`find`] finds a file before the load begins. It is then read in order ([`Object::stream`]) or,
//! where its format needs that, in parts ([`ranges::ObjectRanges`]). After a broken connection,
//! reading continues at the next byte.

mod blobs;
#[cfg(feature = "cloud")]
mod bucket;
#[cfg(feature = "cloud")]
mod client;
#[cfg(feature = "cloud")]
mod folder;
mod http;
mod object;
#[cfg(feature = "parquet")]
mod ranges;
mod stream;
#[cfg(test)]
mod tests;
mod url;

use inrush_core::Code;
use inrush_formats::chosen::Choice;
use std::sync::Arc;

pub use blobs::{Blob, BlobError, Blobs};
pub(super) use object::{FetchError, Object};
pub(super) use stream::ObjectStream;
use url::Address;
pub use url::{SourceUrl, Store, StoreOptions};

use super::SourceError;
use super::archives::promises_an_archive;
use super::network::Network;

/// Opens the folder `folder` of a bucket, or of a container of Azure. Endpoint, region and
/// credentials are those of the environment, with `options` over them, as for sources.
///
/// # Errors
/// An option that the store does not know, no credentials, or a build without the cargo feature
/// `cloud`.
#[cfg(feature = "cloud")]
pub async fn open_blobs(
    store: Store,
    bucket: &str,
    folder: &str,
    options: &StoreOptions,
) -> Result<Box<dyn Blobs>, BlobError> {
    Ok(Box::new(folder::BucketFolder::open(store, bucket, folder, options).await?))
}

/// This build has no object stores.
///
/// # Errors
/// Always.
#[cfg(not(feature = "cloud"))]
#[allow(clippy::unused_async, reason = "the same signature as with the cargo feature cloud")]
pub async fn open_blobs(_: Store, _: &str, _: &str, _: &StoreOptions) -> Result<Box<dyn Blobs>, BlobError> {
    Err(FetchError::last("this build of inrush has no object stores; build it with the cargo feature cloud").into())
}

/// Opens the folder of an object store that `url` is in. Also returns the name of the object in it,
/// which is empty where the address ends with `/`.
///
/// # Errors
/// As [`open_blobs`], and for an address without a bucket or of a web server.
#[cfg(feature = "cloud")]
pub async fn open_blobs_of(url: &SourceUrl) -> Result<(Box<dyn Blobs>, String), BlobError> {
    let Address::Bucket { store, scheme, authority, key } = url.address().map_err(FetchError::last)? else {
        return Err(FetchError::last("is on a web server, and files are written only to object stores").into());
    };
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", &key));
    let bucket = format!("{scheme}://{authority}");
    let blobs = folder::BucketFolder::at(store, &authority, &bucket, folder, &url.options).await?;
    Ok((Box::new(blobs), name.to_owned()))
}

/// This build has no object stores.
///
/// # Errors
/// Always.
#[cfg(not(feature = "cloud"))]
#[allow(clippy::unused_async, reason = "the same signature as with the cargo feature cloud")]
pub async fn open_blobs_of(_: &SourceUrl) -> Result<(Box<dyn Blobs>, String), BlobError> {
    Err(FetchError::last("this build of inrush has no object stores; build it with the cargo feature cloud").into())
}

/// A file on a server, for a reader of its parts.
pub(super) struct RemoteObject(pub(super) Arc<Object>);

#[cfg(not(feature = "parquet"))]
impl inrush_formats::raw::RemoteFile for RemoteObject {}

/// A file on a server, and how the user chooses it.
pub(super) struct Found {
    pub(super) object: Object,
    /// Its path below the folder or pattern of the address, or its name.
    pub(super) below: String,
    /// It was found there, and the user did not name it.
    pub(super) is_listed: bool,
}

/// The files of `url` that `choice` may take, in a stable order. `format_is_given` says that the
/// user gave the format.
pub(super) fn find(
    url: &SourceUrl,
    format_is_given: bool,
    choice: &Arc<Choice>,
    network: &Arc<Network>,
) -> Result<Vec<Found>, SourceError> {
    let failed = |message: String| SourceError::new(url.to_string(), message).coded(Code::RemoteFailed);
    let address = url.address().map_err(failed)?;
    if !url.is_file(format_is_given) {
        return Err(failed(
            "the file's name has no known extension, so its format is unknown; name the format, such as option `format=ndjson`"
                .to_owned(),
        ));
    }
    let (options, of_files) = (Arc::clone(&url.options), Arc::clone(network));
    let choice = Arc::clone(choice);
    let found = match address {
        Address::Http(url) => wait(network, async move {
            let below = url.path().rsplit('/').next().unwrap_or_default().to_owned();
            if !may_take(&choice, &below) {
                return Ok(Vec::new());
            }
            let object = http::find(url, &options, of_files).await?;
            Ok(vec![Found { object, below, is_listed: false }])
        }),
        #[cfg(feature = "cloud")]
        Address::Bucket { store, scheme, authority, key } => {
            let place = bucket::Place { store, scheme, authority, key };
            wait(network, async move { bucket::find(place, &options, &choice, of_files).await })
        }
        #[cfg(not(feature = "cloud"))]
        Address::Bucket { scheme, .. } => {
            let message = format!(
                "this build of inrush has no object stores, so {scheme}:// cannot be read; build it with the cargo feature cloud"
            );
            return Err(SourceError::new(url.to_string(), message).coded(Code::NotInThisBuild));
        }
    };
    found.map_err(|error| failed(error.to_string()))
}

/// Whether a file may be read. Of an archive the members are chosen.
pub(super) fn may_take(choice: &Choice, below: &str) -> bool {
    if promises_an_archive(below) { !choice.leaves_out_all_of(below) } else { choice.takes(below) }
}

/// Waits for `task`, also in a thread of another runtime.
fn wait<T: Send + 'static>(
    network: &Network,
    task: impl Future<Output = Result<T, FetchError>> + Send + 'static,
) -> Result<T, FetchError> {
    network.begin(task).recv().unwrap_or_else(|_| Err(FetchError::last("the task that reads the file panicked")))
}

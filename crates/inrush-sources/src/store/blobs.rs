//! A folder of an object store that files are written into, and taken from.

use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::object::FetchError;

/// A folder of an object store. Names are those of objects in it, with `/` between their parts.
/// Each request is repeated for a minute where that may help.
///
/// A large object is written in parts: [`Blobs::begin`], [`Blobs::put_part`] for each part, and
/// [`Blobs::complete`], by which the object appears. An upload that is not completed takes space in
/// the store until [`Blobs::abort`].
pub trait Blobs: Send + Sync {
    /// All objects whose names begin with the folder `below`; all of them if it is empty. Not in
    /// any order.
    fn list<'a>(&'a self, below: &'a str) -> BoxFuture<'a, Result<Vec<Blob>, BlobError>>;

    /// The contents of an object.
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Bytes, BlobError>>;

    /// Writes an object, also in place of another one.
    fn write<'a>(&'a self, name: &'a str, contents: Bytes) -> BoxFuture<'a, Result<(), BlobError>>;

    /// Deletes an object. It is no error if there is none.
    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BlobError>>;

    /// Begins to write an object in parts. Returns the id of the upload.
    fn begin<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, BlobError>>;

    /// Writes a part; the first one has the number 0. All but the last one have the same size, at
    /// least 5 MiB. Returns the id of the part.
    fn put_part<'a>(
        &'a self,
        name: &'a str,
        upload: &'a str,
        number: usize,
        part: Bytes,
    ) -> BoxFuture<'a, Result<String, BlobError>>;

    /// Makes the object of its parts, whose ids are in their order.
    fn complete<'a>(
        &'a self,
        name: &'a str,
        upload: &'a str,
        parts: Vec<String>,
    ) -> BoxFuture<'a, Result<(), BlobError>>;

    /// Deletes the parts that were written. It is no error if the upload is gone.
    fn abort<'a>(&'a self, name: &'a str, upload: &'a str) -> BoxFuture<'a, Result<(), BlobError>>;
}

/// An object in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Its name in the folder.
    pub name: String,
    /// Its size, bytes.
    pub size: u64,
}

/// Why a request to an object store failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobError {
    /// The problem, without the name of the object.
    pub message: String,
    /// Whether the same request may succeed later.
    pub passes: bool,
    /// Whether credentials are missing, or do not allow the request.
    pub is_denied: bool,
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BlobError {}

impl From<FetchError> for BlobError {
    fn from(error: FetchError) -> Self {
        BlobError { message: error.message, passes: error.again, is_denied: false }
    }
}

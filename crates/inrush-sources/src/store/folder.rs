//! A folder of a bucket, for files that are written there.

use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::future::BoxFuture;
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::blobs::{Blob, BlobError, Blobs};
use super::client::{Client, build, explain, is_denied};
use super::object::FetchError;
use super::url::{Store, StoreOptions};

/// Longest silence of a connection. The reply to a part comes once all of it is sent, which lasts
/// on a slow network.
const SILENCE_MAX: Duration = Duration::from_secs(300);

/// A folder of a bucket.
pub(super) struct BucketFolder {
    client: Client,
    store: Store,
    folder: Path,
}

impl BucketFolder {
    /// Opens a folder of a bucket, which need not be there.
    ///
    /// # Errors
    /// Options that the store does not know, or no credentials.
    pub(super) async fn open(
        store: Store,
        bucket: &str,
        folder: &str,
        options: &StoreOptions,
    ) -> Result<BucketFolder, FetchError> {
        let scheme = match store {
            Store::S3 => "s3",
            Store::Gcs => "gs",
            Store::Azure => "az",
        };
        BucketFolder::at(store, bucket, &format!("{scheme}://{bucket}"), folder, options).await
    }

    /// The same for the bucket with the address `url`, whose name in it is `authority`.
    pub(super) async fn at(
        store: Store,
        authority: &str,
        url: &str,
        folder: &str,
        options: &StoreOptions,
    ) -> Result<BucketFolder, FetchError> {
        let client = build(store, authority, url, options, SILENCE_MAX).await?;
        BucketFolder::new(client, store, folder)
    }

    fn new(client: Client, store: Store, folder: &str) -> Result<BucketFolder, FetchError> {
        let folder =
            Path::parse(folder).map_err(|error| FetchError::last(format!("is not a valid folder: {error}")))?;
        Ok(BucketFolder { client, store, folder })
    }

    fn path(&self, name: &str) -> Result<Path, FetchError> {
        let key = if self.folder.as_ref().is_empty() { name.to_owned() } else { format!("{}/{name}", self.folder) };
        Path::parse(key).map_err(|error| FetchError::last(format!("is not a valid key: {error}")))
    }

    /// The name of an object whose key begins with the folder.
    fn name(&self, key: &Path) -> Option<String> {
        let rest = key.as_ref().strip_prefix(self.folder.as_ref())?;
        Some(rest.trim_start_matches('/').to_owned())
    }

    fn explain(&self, error: &object_store::Error) -> BlobError {
        let is_denied = is_denied(error);
        let FetchError { message, again, .. } = explain(self.store, error, "");
        BlobError { message, passes: again && !is_denied, is_denied }
    }
}

impl Blobs for BucketFolder {
    fn list<'a>(&'a self, below: &'a str) -> BoxFuture<'a, Result<Vec<Blob>, BlobError>> {
        Box::pin(async move {
            let folder = if below.is_empty() { self.folder.clone() } else { self.path(below)? };
            let folder = (!folder.as_ref().is_empty()).then_some(&folder);
            let found: Vec<_> =
                self.client.objects.list(folder).try_collect().await.map_err(|error| self.explain(&error))?;
            // Consoles make an empty object of the folder itself.
            let blob = |meta: object_store::ObjectMeta| {
                let name = self.name(&meta.location).filter(|name| !name.is_empty())?;
                Some(Blob { name, size: meta.size })
            };
            Ok(found.into_iter().filter_map(blob).collect())
        })
    }

    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Bytes, BlobError>> {
        Box::pin(async move {
            let path = self.path(name)?;
            let read = async { self.client.objects.get(&path).await?.bytes().await };
            read.await.map_err(|error| self.explain(&error))
        })
    }

    fn write<'a>(&'a self, name: &'a str, contents: Bytes) -> BoxFuture<'a, Result<(), BlobError>> {
        Box::pin(async move {
            let path = self.path(name)?;
            let written = self.client.objects.put(&path, contents.into()).await;
            written.map(drop).map_err(|error| self.explain(&error))
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
        Box::pin(async move { gone(self.client.objects.delete(&self.path(name)?).await).map_err(|e| self.explain(&e)) })
    }

    fn begin<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, BlobError>> {
        Box::pin(async move {
            let path = self.path(name)?;
            self.client.parts.create_multipart(&path).await.map_err(|error| self.explain(&error))
        })
    }

    fn put_part<'a>(
        &'a self,
        name: &'a str,
        upload: &'a str,
        number: usize,
        part: Bytes,
    ) -> BoxFuture<'a, Result<String, BlobError>> {
        Box::pin(async move {
            let (path, upload) = (self.path(name)?, upload.to_owned());
            let put = self.client.parts.put_part(&path, &upload, number, part.into()).await;
            put.map(|part| part.content_id).map_err(|error| self.explain(&error))
        })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        upload: &'a str,
        parts: Vec<String>,
    ) -> BoxFuture<'a, Result<(), BlobError>> {
        Box::pin(async move {
            let (path, upload) = (self.path(name)?, upload.to_owned());
            let parts = parts.into_iter().map(|content_id| PartId { content_id }).collect();
            let completed = self.client.parts.complete_multipart(&path, &upload, parts).await;
            completed.map(drop).map_err(|error| self.explain(&error))
        })
    }

    fn abort<'a>(&'a self, name: &'a str, upload: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
        Box::pin(async move {
            let (path, upload) = (self.path(name)?, upload.to_owned());
            gone(self.client.parts.abort_multipart(&path, &upload).await).map_err(|error| self.explain(&error))
        })
    }
}

/// An object that is gone need not be deleted.
fn gone(deleted: object_store::Result<()>) -> object_store::Result<()> {
    match deleted {
        Err(object_store::Error::NotFound { .. }) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    fn folder(of: &str) -> BucketFolder {
        BucketFolder::new(Client::new(InMemory::new()), Store::S3, of).unwrap()
    }

    #[tokio::test]
    async fn objects_have_names_in_their_folder() {
        for of in ["", "backups/of search"] {
            let folder = folder(of);
            folder.write("whole/index-1", Bytes::from_static(b"abc")).await.unwrap();
            folder.write("empty/x", Bytes::from_static(b"x")).await.unwrap();
            assert_eq!(folder.list("whole").await.unwrap(), [Blob { name: "whole/index-1".to_owned(), size: 3 }]);
            assert_eq!(folder.list("").await.unwrap().len(), 2);
            assert_eq!(&folder.read("whole/index-1").await.unwrap()[..], b"abc");
            folder.delete("empty/x").await.unwrap();
            folder.delete("empty/x").await.unwrap();
            assert_eq!(folder.list("empty").await.unwrap(), []);
        }
    }

    #[tokio::test]
    async fn parts_make_an_object() {
        let folder = folder("a");
        let upload = folder.begin("large").await.unwrap();
        let second = folder.put_part("large", &upload, 1, Bytes::from_static(b"c")).await.unwrap();
        let first = folder.put_part("large", &upload, 0, Bytes::from_static(b"ab")).await.unwrap();
        assert_eq!(folder.list("").await.unwrap(), []);
        folder.complete("large", &upload, vec![first, second]).await.unwrap();
        assert_eq!(&folder.read("large").await.unwrap()[..], b"abc");
        let upload = folder.begin("other").await.unwrap();
        folder.abort("other", &upload).await.unwrap();
        assert_eq!(folder.list("").await.unwrap().len(), 1);
        let error = folder.read("other").await.unwrap_err();
        assert_eq!((error.message.as_str(), error.passes), ("does not exist", false));
    }

    #[test]
    fn a_folder_that_cannot_be_named_is_refused() {
        let error = BucketFolder::new(Client::new(InMemory::new()), Store::S3, "a//b").err().unwrap();
        assert!(error.to_string().contains("is not a valid folder"), "{error}");
    }
}

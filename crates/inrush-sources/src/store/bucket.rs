//! Files in object stores: S3, Google Cloud Storage, Azure.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt};
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::client::{build, explain};
use super::object::{Fetch, FetchError, Object, Part, RetryLimits};
use super::url::{Store, StoreOptions};
use crate::network::Network;

/// Longest silence of a connection before it counts as broken.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// A place in a bucket.
pub(super) struct Place {
    pub(super) store: Store,
    pub(super) scheme: String,
    pub(super) authority: String,
    pub(super) key: String,
}

/// The files of a key, sorted by key: the file with this exact key, else the files that match it as
/// a pattern, else the files below it as a folder.
pub(super) async fn find(
    place: Place,
    options: &StoreOptions,
    network: Arc<Network>,
) -> Result<Vec<Object>, FetchError> {
    let Place { store, scheme, authority, key } = place;
    let url = format!("{scheme}://{authority}");
    let client = build(store, &authority, &url, options, SILENCE_MAX).await?;
    let bucket = Bucket { store: client.objects, kind: store };
    let is_folder = key.is_empty() || key.ends_with('/');
    let mut found = Vec::new();
    if !is_folder && let Ok(path) = Path::parse(&key) {
        match bucket.store.head(&path).await {
            Ok(meta) => found.push(meta),
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(bucket.explain(error)),
        }
    }
    if found.is_empty() {
        found = if key.contains(['*', '?', '[']) { bucket.matching(&key).await? } else { bucket.below(&key).await? };
    }
    found.sort_by(|a, b| a.location.cmp(&b.location));
    let object = |meta: ObjectMeta| Object {
        name: format!("{url}/{}", meta.location),
        path: meta.location.to_string(),
        size: Some(meta.size),
        version: Some(version(&meta)),
        ranges: true,
        fetch: Arc::new(BucketFile { bucket: bucket.clone(), path: meta.location.clone() }),
        retry_limits: RetryLimits::default(),
        network: Arc::clone(&network),
    };
    Ok(found.into_iter().map(object).collect())
}

/// Version that tells a file from a later one with the same key. Lists have ETags without quotes,
/// and times with more digits than replies.
fn version(meta: &ObjectMeta) -> String {
    match &meta.e_tag {
        Some(tag) => tag.trim_matches('"').to_owned(),
        None => meta.last_modified.timestamp().to_string(),
    }
}

#[derive(Clone)]
struct Bucket {
    store: Arc<dyn ObjectStore>,
    kind: Store,
}

impl Bucket {
    /// The files whose keys match `pattern`. As for local files, `*` does not match a `/`, and `**`
    /// does.
    async fn matching(&self, pattern: &str) -> Result<Vec<ObjectMeta>, FetchError> {
        let parsed = Pattern::new(pattern)
            .map_err(|e| FetchError::last(format!("is not a valid glob pattern: {} at character {}", e.msg, e.pos)))?;
        let first = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
        let folder = pattern[..first].rfind('/').map_or("", |end| &pattern[..end]);
        let rules = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        let mut found = self.list(folder).await?;
        found.retain(|meta| parsed.matches_with(meta.location.as_ref(), rules));
        if found.is_empty() {
            return Err(FetchError::last("matches no file"));
        }
        Ok(found)
    }

    /// All files below a folder. Names that begin with `.` or `_` are skipped, because they are not
    /// data, such as `_SUCCESS`.
    async fn below(&self, folder: &str) -> Result<Vec<ObjectMeta>, FetchError> {
        let folder = folder.trim_end_matches('/');
        let mut found = self.list(folder).await?;
        found.retain(|meta| {
            let key = meta.location.as_ref();
            let rest = key.strip_prefix(folder).unwrap_or(key);
            !rest.split('/').any(|part| part.starts_with(['.', '_']))
        });
        if found.is_empty() {
            return Err(FetchError::last("does not exist, neither as a file nor as a folder with files"));
        }
        Ok(found)
    }

    async fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>, FetchError> {
        let folder = Path::parse(folder).map_err(|e| FetchError::last(format!("is not a valid key: {e}")))?;
        let folder = (!folder.as_ref().is_empty()).then_some(&folder);
        self.store.list(folder).try_collect().await.map_err(|error| self.explain(error))
    }

    fn explain(&self, error: object_store::Error) -> FetchError {
        explain(self.kind, &error, "; for public files, give option `store_option=anonymous=true`")
    }
}

/// A file in a bucket.
struct BucketFile {
    bucket: Bucket,
    path: Path,
}

impl Fetch for BucketFile {
    fn get(&self, from: u64, to: Option<u64>) -> BoxFuture<'static, Result<Part, FetchError>> {
        let (bucket, path) = (self.bucket.clone(), self.path.clone());
        let range = match to {
            Some(to) => Some(GetRange::Bounded(from..to)),
            None if from == 0 => None,
            None => Some(GetRange::Offset(from)),
        };
        Box::pin(async move {
            let options = GetOptions { range, ..GetOptions::default() };
            let result = bucket.store.get_opts(&path, options).await.map_err(|error| bucket.explain(error))?;
            let (from, version, size) = (result.range.start, Some(version(&result.meta)), Some(result.meta.size));
            let body = result.into_stream().map(move |piece| piece.map_err(|error| bucket.explain(error))).boxed();
            Ok(Part { from, version, size, body })
        })
    }
}

//! Files in object stores: S3, Google Cloud Storage, Azure.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::{StreamExt, TryStreamExt};
use glob::{MatchOptions, Pattern};
use inrush_formats::chosen::Choice;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::client::{build, explain};
use super::object::{Fetch, FetchError, Object, Part, WAITS};
use super::url::{Store, StoreOptions};
use super::{Found, may_take};
use crate::lake::{Lake, may_hold_rows};
use crate::network::Network;

/// Longest silence of a connection before it counts as broken.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The most keys of a folder that are looked at to recognise a table: those of one reply.
const NAMES_MAX: usize = 1000;

/// A place in a bucket.
pub(super) struct Place {
    pub(super) store: Store,
    pub(super) scheme: String,
    pub(super) authority: String,
    pub(super) key: String,
}

/// The files of a key, sorted by key: the file with this exact key, else the files that match it as
/// a pattern, else the files below it as a folder. Of these, those that `choice` may take.
pub(super) async fn find(
    place: Place,
    options: &StoreOptions,
    choice: &Choice,
    network: Arc<Network>,
) -> Result<Vec<Found>, FetchError> {
    let Place { store, scheme, authority, key } = place;
    let url = format!("{scheme}://{authority}");
    let client = build(store, &authority, &url, options, SILENCE_MAX).await?;
    let bucket = Bucket { store: client.objects, kind: store };
    let Listed { folder, is_listed, wanted, .. } = bucket.files(&key, choice).await?;
    let object = |meta: &ObjectMeta| Object {
        name: format!("{url}/{}", meta.location),
        path: meta.location.to_string(),
        size: Some(meta.size),
        version: Some(version(meta)),
        ranges: true,
        fetch: Arc::new(BucketFile { bucket: bucket.clone(), path: meta.location.clone() }),
        waits: WAITS,
        network: Arc::clone(&network),
    };
    let found = |meta: ObjectMeta| Found { object: object(&meta), below: below(&folder, &meta), is_listed };
    Ok(wanted.into_iter().map(found).collect())
}

/// The path of a file below a folder.
fn below(folder: &str, meta: &ObjectMeta) -> String {
    let key = meta.location.as_ref();
    key.strip_prefix(folder).unwrap_or(key).trim_start_matches('/').to_owned()
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

/// Files of a folder, some of which are wanted.
struct Listed {
    folder: String,
    /// They were found there, and the user did not name the one.
    is_listed: bool,
    /// Keys of all files below the folder.
    keys: Vec<Path>,
    wanted: Vec<ObjectMeta>,
}

impl Bucket {
    /// The files of a key, as [`find`] returns them.
    async fn files(&self, key: &str, choice: &Choice) -> Result<Listed, FetchError> {
        let is_folder = key.is_empty() || key.ends_with('/');
        let mut listed = None;
        if !is_folder && let Ok(path) = Path::parse(key) {
            match self.store.head(&path).await {
                Ok(meta) => {
                    let folder = key.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
                    listed = Some(Listed { folder, is_listed: false, keys: Vec::new(), wanted: vec![meta] });
                }
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.explain(error)),
            }
        }
        let mut listed = match listed {
            Some(listed) => listed,
            None if key.contains(['*', '?', '[']) => self.matching(key).await?,
            None => self.below(key).await?,
        };
        let folder = &listed.folder;
        listed.wanted.retain(|meta| may_take(choice, &below(folder, meta)));
        self.check_tables(&listed).await?;
        listed.wanted.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(listed)
    }

    /// Refuses files of tables that are more than their files.
    async fn check_tables(&self, listed: &Listed) -> Result<(), FetchError> {
        let rows: Vec<Vec<&str>> = listed
            .wanted
            .iter()
            .map(|meta| meta.location.as_ref())
            .filter(|key| may_hold_rows(key))
            .map(|key| key.split('/').collect())
            .collect();
        if rows.is_empty() {
            return Ok(());
        }
        let below = listed.keys.iter().map(|key| key.as_ref().split('/').collect::<Vec<_>>());
        let below = below.filter_map(|parts| Lake::of_parts(&parts).map(|(len, lake)| (parts[..len].join("/"), lake)));
        let mut tables: Vec<(String, Lake)> = below.collect();
        tables.dedup();
        tables.extend(self.tables_above(&listed.folder).await);
        for (folder, lake) in tables {
            let len = if folder.is_empty() { 0 } else { folder.split('/').count() };
            let is_inside = |parts: &&Vec<&str>| parts[..len.min(parts.len())].join("/") == folder;
            if rows.iter().filter(is_inside).any(|parts| parts.get(len) != Some(&lake.log())) {
                let folder = if folder.is_empty() { "the bucket".to_owned() } else { format!("folder {folder}") };
                return Err(FetchError::last(lake.refusal(&folder)));
            }
        }
        Ok(())
    }

    /// Tables whose folder is this one or above it. A folder that may not be listed is passed over.
    async fn tables_above(&self, folder: &str) -> Vec<(String, Lake)> {
        let mut above = vec![folder.trim_matches('/')];
        while let Some(last) = above.last().copied().filter(|last| !last.is_empty()) {
            above.push(last.rsplit_once('/').map_or("", |(above, _)| above));
        }
        let asked = above.iter().flat_map(|folder| Lake::all().map(move |lake| (*folder, lake)));
        let found = asked.map(|(folder, lake)| async move {
            let log = if folder.is_empty() { lake.log().to_owned() } else { format!("{folder}/{}", lake.log()) };
            let names = self.store.list(Some(&Path::parse(log).ok()?)).take(NAMES_MAX);
            let mut names =
                std::pin::pin!(names.filter_map(|meta| async { meta.ok()?.location.filename().map(str::to_owned) }));
            while let Some(name) = names.next().await {
                if lake.has(&name) {
                    return Some((folder.to_owned(), lake));
                }
            }
            None
        });
        join_all(found).await.into_iter().flatten().collect()
    }

    /// The files whose keys match `pattern`. As for local files, `*` does not match a `/`, and `**`
    /// does.
    async fn matching(&self, pattern: &str) -> Result<Listed, FetchError> {
        let parsed = Pattern::new(pattern)
            .map_err(|e| FetchError::last(format!("is not a valid glob pattern: {} at character {}", e.msg, e.pos)))?;
        let first = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
        let folder = pattern[..first].rfind('/').map_or("", |end| &pattern[..end]);
        let rules = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        let mut wanted = self.list(folder).await?;
        let keys = wanted.iter().map(|meta| meta.location.clone()).collect();
        wanted.retain(|meta| parsed.matches_with(meta.location.as_ref(), rules));
        if wanted.is_empty() {
            return Err(FetchError::last("matches no file"));
        }
        Ok(Listed { folder: folder.to_owned(), is_listed: true, keys, wanted })
    }

    /// All files below a folder. Names that begin with `.` or `_` are skipped, because they are not
    /// data, such as `_SUCCESS`.
    async fn below(&self, folder: &str) -> Result<Listed, FetchError> {
        let folder = folder.trim_end_matches('/');
        let mut wanted = self.list(folder).await?;
        let keys = wanted.iter().map(|meta| meta.location.clone()).collect();
        wanted.retain(|meta| {
            let key = meta.location.as_ref();
            let rest = key.strip_prefix(folder).unwrap_or(key);
            !rest.split('/').any(|part| part.starts_with(['.', '_']))
        });
        if wanted.is_empty() {
            return Err(FetchError::last("does not exist, neither as a file nor as a folder with files"));
        }
        Ok(Listed { folder: folder.to_owned(), is_listed: true, keys, wanted })
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

#[cfg(test)]
mod tests {
    use inrush_formats::chosen::Chosen;
    use object_store::memory::InMemory;

    use super::*;

    async fn found(keys: &[&str], key: &str) -> Result<Vec<String>, String> {
        chosen(keys, key, Chosen::default()).await
    }

    async fn chosen(keys: &[&str], key: &str, chosen: Chosen) -> Result<Vec<String>, String> {
        let store = InMemory::new();
        for key in keys {
            store.put(&Path::parse(key).unwrap(), "x".into()).await.unwrap();
        }
        let bucket = Bucket { store: Arc::new(store), kind: Store::S3 };
        let found = bucket.files(key, &Choice::new(chosen)).await.map_err(|error| error.to_string())?;
        Ok(found.wanted.into_iter().map(|meta| meta.location.to_string()).collect())
    }

    #[tokio::test]
    async fn files_of_tables_are_refused_however_they_are_named() {
        let row = "lake/t/day=1/part-0.parquet";
        for (log, name) in [
            ("lake/t/_delta_log/00000000000000000000.json", "Delta Lake"),
            ("lake/t/.hoodie/hoodie.properties", "Hudi"),
            ("lake/t/metadata/version-hint.text", "Iceberg"),
            ("lake/t/metadata/00000-1b2c.metadata.json", "Iceberg"),
            ("lake/t/schema/schema-0", "Paimon"),
        ] {
            for key in [
                row,
                "lake/t/day=1",
                "lake/t/day=1/",
                "lake/t",
                "lake",
                "",
                "lake/t/*/*.parquet",
                "lake/**/*.parquet",
                "*/*/day=*/part-?.parquet",
            ] {
                let refused = found(&[row, log, "lake/u/a.parquet"], key).await.unwrap_err();
                assert!(refused.contains(&format!("folder lake/t is a table of {name}")), "{key}: {refused}");
                assert!(refused.contains("read.format("), "{refused}");
            }
            assert_eq!(found(&[row, log, "lake/u/a.parquet"], "lake/u").await.unwrap(), ["lake/u/a.parquet"]);
        }
        let at_top = found(&["_delta_log/0.json", "a/part-0.parquet"], "a").await.unwrap_err();
        assert!(at_top.contains("the bucket is a table of Delta Lake"), "{at_top}");
    }

    #[tokio::test]
    async fn files_are_chosen_by_their_paths_below_the_key() {
        let keys = ["d/a.csv", "d/b.md", "d/t/_delta_log/0.json", "d/t/a.parquet", "d/x/c.csv", "d/y.zip"];
        let of = |include: &[&str], exclude: &[&str]| {
            let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
            Chosen { include: patterns(include), exclude: patterns(exclude) }
        };
        for key in ["d", "d/", "d/**/*"] {
            // The members of an archive are chosen later. A table that is left out is not refused.
            let found = chosen(&keys, key, of(&["*.csv"], &[])).await.unwrap();
            assert_eq!(found, ["d/a.csv", "d/x/c.csv", "d/y.zip"], "{key}");
            let found = chosen(&keys, key, of(&["/*.csv"], &["*.zip"])).await.unwrap();
            assert_eq!(found, ["d/a.csv"], "{key}");
            assert_eq!(chosen(&keys, key, of(&["d"], &["y.*"])).await.unwrap(), [""; 0], "{key}");
        }
        assert_eq!(chosen(&keys, "d/a.csv", of(&[], &["a.*"])).await.unwrap(), [""; 0]);
        assert_eq!(chosen(&keys, "d/a.csv", of(&["a.csv"], &["d"])).await.unwrap(), ["d/a.csv"]);
    }

    #[tokio::test]
    async fn logs_and_other_folders_are_read() {
        let log = "t/_delta_log/0.checkpoint.parquet";
        assert_eq!(found(&[log, "t/a.parquet"], log).await.unwrap(), [log]);
        let keys = ["t/metadata/photos.json", "t/a.parquet", "t/notes.csv"];
        assert_eq!(found(&keys, "t/a.parquet").await.unwrap(), ["t/a.parquet"]);
        assert_eq!(found(&["t/_delta_log/0.json", "t/notes.csv"], "t/notes.csv").await.unwrap(), ["t/notes.csv"]);
    }
}

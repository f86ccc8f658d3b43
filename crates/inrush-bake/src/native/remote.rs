//! A repository in an object store. This machine takes the snapshot without documents from there,
//! and writes the whole one, below the folder of the bake.

use std::fs;
use std::io;
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use inrush_cluster::BoxFuture;
use inrush_cluster::api::snapshots::Repository;
use inrush_sources::{BlobError, Blobs, Store, StoreOptions, open_blobs};
use serde_json::Value;

use super::super::config::BakeError;
use super::super::files;
use super::super::place::Shared;
use super::super::state::Saved;
use super::folders::WHOLE;
use super::refuse;

mod upload;

pub(in super::super) use upload::Upload;
pub(super) use upload::Watcher;

/// Requests in flight; each has at most one part of an object in memory.
const AT_ONCE: usize = 4;
const PAUSE: Duration = Duration::from_secs(1);
/// How long a request is repeated without a warning, and the time from one to the next.
const WARNED_AFTER: Duration = Duration::from_secs(5);
const WARNED_EACH: Duration = Duration::from_secs(60);
/// What to do without credentials.
const NEEDED: &str = "; give this machine credentials that may list, read, write and delete objects there, in the environment, the profile or as its own identity, and then option `resume`";
/// How long requests are repeated that delete what a bake has left.
const DELETE_FOR: Duration = Duration::from_secs(90);
/// The beginning of the names of files of an index. What such an object holds never changes.
const DATA: &str = "__";
/// How often what other machines still write is deleted, and how many pauses long nothing has to
/// come. A framework kills its tasks within seconds after a job has failed.
const DELETIONS_MAX: u32 = 20;
const QUIET_PAUSES: u32 = 5;
/// The place of notes about objects that other machines write in parts.
const NOTES: &str = "notes";

/// A place in an object store.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) store: Store,
    bucket: String,
    folder: String,
}

impl Address {
    /// The place of a repository.
    ///
    /// # Errors
    /// A type that is not written to from here.
    pub(super) fn of(repository: &Repository) -> Result<Address, String> {
        let (store, bucket) = match repository.kind.as_str() {
            "s3" => (Store::S3, "bucket"),
            "gcs" => (Store::Gcs, "bucket"),
            "azure" => (Store::Azure, "container"),
            other => {
                return Err(format!(
                    "the repository is of the type {other}, and files are only written into folders and object stores"
                ));
            }
        };
        let text = |key: &str| repository.settings.get(key).and_then(Value::as_str);
        let folder = text("base_path").unwrap_or_default().trim_matches('/').to_owned();
        let bucket = text(bucket).ok_or_else(|| format!("the repository does not say its {bucket}"))?.to_owned();
        Ok(Address { store, bucket, folder })
    }
}

/// The folder of a bake in an object store.
pub(super) struct Remote {
    blobs: Box<dyn Blobs>,
    retry_for: Duration,
    /// The time before a request is repeated.
    pause: Duration,
    /// When a warning said last that the store does not answer.
    warned: Mutex<Option<Instant>>,
}

/// Something that is done beside others.
type Work<'a, T> = BoxFuture<'a, Result<T, BakeError>>;

impl Remote {
    /// The folder of a bake, if its repository is in an object store. Requests are repeated for
    /// `retry_for` where that may help.
    ///
    /// # Errors
    /// A sentence: a repository of another type, or no way to it from this machine.
    pub(super) async fn open(
        shared: &Shared,
        options: &StoreOptions,
        retry_for: Duration,
    ) -> Result<Option<Remote>, String> {
        if shared.folder.is_some() {
            return Ok(None);
        }
        let Address { store, bucket, folder } = Address::of(&shared.repository)?;
        // Everything below the folder is deleted later, so it has to be a bake's own.
        if !folder.rsplit('/').next().is_some_and(|last| last.starts_with("inrush-bake-")) {
            return Err(format!("the folder \"{folder}\" of the bucket {bucket} is not a bake's own"));
        }
        let blobs = open_blobs(store, &bucket, &folder, options).await;
        let blobs = blobs.map_err(|error| format!("this machine cannot reach the bucket {bucket}: {error}"))?;
        Ok(Some(Remote { blobs, retry_for, pause: PAUSE, warned: Mutex::default() }))
    }

    /// Checks that this machine may list the folder.
    ///
    /// # Errors
    /// A sentence with what the store says.
    pub(super) async fn check(&self) -> Result<(), String> {
        let listed = self.blobs.list("").await;
        listed.map(drop).map_err(|error| {
            format!("this machine cannot read the repository's object store: {error} (option `repository_option`)")
        })
    }

    /// Copies the objects below `below` that are `wanted` by their names into a folder, in place of
    /// it. All of them are in memory at once.
    pub(super) async fn download(
        &self,
        below: &str,
        into: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), BakeError> {
        let mut files = Vec::new();
        for name in self.names(below).await?.into_iter().filter(|name| wanted(name)) {
            let contents = self.again(&name, || self.blobs.read(&name)).await?;
            let inside = Path::new(name.strip_prefix(below).unwrap_or(&name).trim_start_matches('/'));
            if !inside.components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(refuse(format!("the object {name} is no file of a repository")));
            }
            files.push((into.join(inside), contents));
        }
        let into = into.to_owned();
        let written = blocking(move || {
            files::remove(&into)?;
            fs::create_dir_all(&into)?;
            files.into_iter().try_for_each(|(path, contents)| {
                fs::create_dir_all(path.parent().unwrap_or(&into))?;
                fs::write(path, contents)
            })
        });
        written.await.map_err(|error| refuse(format!("cannot keep a copy of the empty snapshot: {error}")))
    }

    /// Notes which object is written in parts, for the machine of the bake; `None` deletes the
    /// note.
    pub(super) async fn note(&self, name: &str, upload: Option<&Upload>) -> Result<(), BakeError> {
        let name = format!("{NOTES}/{name}");
        let Some(upload) = upload else { return self.delete(&name).await };
        let note = Bytes::from(serde_json::to_vec(upload).map_err(|error| refuse(error.to_string()))?);
        self.again(&name, || self.blobs.write(&name, note.clone())).await
    }

    /// Deletes the parts of an object that [`Remote::note`] has noted, and the note.
    pub(super) async fn abort_noted(&self, name: &str) -> Result<(), BakeError> {
        let note = format!("{NOTES}/{name}");
        if self.names(NOTES).await?.contains(&note) {
            let upload = self.again(&note, || self.blobs.read(&note)).await?;
            let upload = serde_json::from_slice(&upload).map_err(|error| refuse(format!("{note}: {error}")))?;
            self.abort(Some(&upload)).await?;
        }
        self.delete(&note).await
    }

    /// The names of the objects below `below`.
    pub(super) async fn names(&self, below: &str) -> Result<Vec<String>, BakeError> {
        let found = self.again(below, || self.blobs.list(below)).await?;
        Ok(found.into_iter().map(|blob| blob.name).collect())
    }

    /// Deletes what was begun here and on other machines, and everything that is there.
    pub(super) async fn delete_all(&self, begun: Option<&Upload>) -> Result<(), BakeError> {
        self.abort(begun).await?;
        for note in self.names(NOTES).await? {
            let upload = match self.again(&note, || self.blobs.read(&note)).await {
                Ok(upload) => upload,
                // The machine that wrote it has deleted it meanwhile.
                Err(_) if !self.names(NOTES).await?.contains(&note) => continue,
                Err(error) => return Err(error),
            };
            let upload = serde_json::from_slice(&upload);
            self.abort(Some(&upload.map_err(|error| refuse(format!("{note}: {error}")))?)).await?;
        }
        let all = self.again("", || self.blobs.list("")).await?;
        let deletions: Vec<Work<'_, ()>> = all.iter().map(|blob| self.delete(&blob.name).boxed()).collect();
        stream::iter(deletions).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// The same while other machines may still write. The lists of shards go first, by which these
    /// know that the bake has not ended; then everything, until nothing more has come for a while.
    pub(super) async fn delete_all_shared(&self, begun: Option<&Upload>) -> Result<(), BakeError> {
        for name in self.names(WHOLE).await?.iter().filter(|name| !is_data(name)) {
            self.delete(name).await?;
        }
        for _ in 0..DELETIONS_MAX {
            self.delete_all(begun).await?;
            tokio::time::sleep(self.pause * QUIET_PAUSES).await;
            if self.names("").await?.is_empty() {
                return Ok(());
            }
        }
        Err(refuse("other machines still write there".to_owned()))
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), BakeError> {
        self.again(name, || self.blobs.delete(name)).await
    }

    /// Deletes the parts of an object that was begun.
    pub(super) async fn abort(&self, begun: Option<&Upload>) -> Result<(), BakeError> {
        match begun {
            Some(Upload { name, id }) => self.again(name, || self.blobs.abort(name, id)).await,
            None => Ok(()),
        }
    }

    /// Sends a request, and repeats it while that may help.
    async fn again<'a, T>(
        &self,
        name: &str,
        work: impl Fn() -> BoxFuture<'a, Result<T, BlobError>>,
    ) -> Result<T, BakeError> {
        let begun = Instant::now();
        loop {
            match work().await {
                Ok(done) => return Ok(done),
                Err(error) if error.passes && begun.elapsed() < self.retry_for => {
                    if self.is_warning_due(begun, Instant::now()) {
                        let left = self.retry_for.saturating_sub(begun.elapsed()).as_secs();
                        tracing::warn!(
                            "the object store does not answer; the request is repeated for {left} s: {name} {error}"
                        );
                    }
                    tokio::time::sleep(self.pause).await;
                }
                Err(error) => {
                    let what_to_do = if error.is_denied { NEEDED } else { "" };
                    return Err(refuse(format!("the repository's object store: {name} {error}{what_to_do}")));
                }
            }
        }
    }

    /// Whether it is time to say that a request is repeated, which was sent first at `begun`. One
    /// warning stands for all requests.
    fn is_warning_due(&self, begun: Instant, now: Instant) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = now.duration_since(begun) >= WARNED_AFTER
            && warned.is_none_or(|warned| now.duration_since(warned) >= WARNED_EACH);
        if is_due {
            *warned = Some(now);
        }
        is_due
    }
}

/// Deletes everything that a bake without a builder has in an object store.
///
/// # Errors
/// A sentence that says what stays, and why.
pub(in super::super) async fn remove(saved: &Saved, options: &StoreOptions) -> Result<(), String> {
    let Some(native) = &saved.native else { return Ok(()) };
    let deleted = async {
        match Remote::open(&saved.shared, &options.over(&native.options), DELETE_FOR).await? {
            Some(remote) => {
                let deleted = match native.elsewhere {
                    true => remote.delete_all_shared(native.upload.as_ref()).await,
                    false => remote.delete_all(native.upload.as_ref()).await,
                };
                deleted.map_err(|error| error.to_string())
            }
            None => Ok(()),
        }
    };
    let place = saved.shared.repository.settings.get("base_path").and_then(Value::as_str).unwrap_or_default();
    deleted.await.map_err(|why| {
        let how = match native.options == StoreOptions::default() {
            true => String::new(),
            false => format!(
                " (reached with the options of the earlier run: {}; others take their place if option `repository_option` gives them)",
                native.options
            ),
        };
        format!("the objects below {place} in the repository's object store stay: {why}{how}")
    })
}

/// Whether this is the name of a file of an index, and not of a list.
pub(super) fn is_data(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.starts_with(DATA))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    // It is cancelled only with the whole runtime.
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use inrush_sources::Blob;
    use serde_json::json;

    use super::upload::PART_BYTES;
    use super::*;

    /// A store in memory. Each request fails once before it succeeds.
    #[derive(Default)]
    struct Fake {
        objects: Mutex<BTreeMap<String, Bytes>>,
        uploads: Mutex<BTreeMap<String, BTreeMap<usize, Bytes>>>,
        failed: Mutex<BTreeMap<String, u32>>,
        /// Whether no credentials are good enough.
        is_denied: Mutex<bool>,
    }

    impl Fake {
        fn once<'a, T: Send + 'a>(
            &'a self,
            what: String,
            work: impl FnOnce() -> T + Send + 'a,
        ) -> BoxFuture<'a, Result<T, BlobError>> {
            let times = {
                let mut failed = self.failed.lock().unwrap();
                let times = failed.entry(what).or_default();
                *times += 1;
                *times
            };
            let is_denied = *self.is_denied.lock().unwrap();
            let message = if is_denied { "is not for you" } else { "is away" }.to_owned();
            let error = BlobError { message, passes: !is_denied, is_denied };
            Box::pin(async move { if is_denied || times == 1 { Err(error) } else { Ok(work()) } })
        }
    }

    /// A client of the store.
    struct Client(Arc<Fake>);

    impl Blobs for Client {
        fn list<'a>(&'a self, below: &'a str) -> BoxFuture<'a, Result<Vec<Blob>, BlobError>> {
            let objects = self.0.objects.lock().unwrap().clone();
            let found = objects.into_iter().filter(|(name, _)| name.starts_with(below));
            let found = found.map(|(name, contents)| Blob { name, size: contents.len() as u64 }).collect();
            self.0.once(format!("list {below}"), || found)
        }

        fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Bytes, BlobError>> {
            self.0.once(format!("read {name}"), || self.0.objects.lock().unwrap()[name].clone())
        }

        fn write<'a>(&'a self, name: &'a str, contents: Bytes) -> BoxFuture<'a, Result<(), BlobError>> {
            self.0.once(format!("write {name}"), || {
                drop(self.0.objects.lock().unwrap().insert(name.to_owned(), contents))
            })
        }

        fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
            self.0.once(format!("delete {name}"), || drop(self.0.objects.lock().unwrap().remove(name)))
        }

        fn begin<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, BlobError>> {
            self.0.once(format!("begin {name}"), || {
                let mut uploads = self.0.uploads.lock().unwrap();
                let id = format!("upload {}", uploads.len());
                uploads.insert(id.clone(), BTreeMap::new());
                id
            })
        }

        fn put_part<'a>(
            &'a self,
            _: &'a str,
            upload: &'a str,
            number: usize,
            part: Bytes,
        ) -> BoxFuture<'a, Result<String, BlobError>> {
            self.0.once(format!("put {number}"), move || {
                self.0.uploads.lock().unwrap().get_mut(upload).unwrap().insert(number, part);
                number.to_string()
            })
        }

        fn complete<'a>(
            &'a self,
            name: &'a str,
            upload: &'a str,
            parts: Vec<String>,
        ) -> BoxFuture<'a, Result<(), BlobError>> {
            self.0.once(format!("complete {name}"), move || {
                let written = self.0.uploads.lock().unwrap().remove(upload).unwrap();
                let whole: Vec<u8> = parts.iter().flat_map(|part| written[&part.parse().unwrap()].to_vec()).collect();
                self.0.objects.lock().unwrap().insert(name.to_owned(), whole.into());
            })
        }

        fn abort<'a>(&'a self, _: &'a str, upload: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
            self.0.once(format!("abort {upload}"), || drop(self.0.uploads.lock().unwrap().remove(upload)))
        }
    }

    fn remote(fake: &Arc<Fake>, retry_for: Duration) -> Remote {
        let blobs = Box::new(Client(Arc::clone(fake)));
        Remote { blobs, retry_for, pause: Duration::ZERO, warned: Mutex::default() }
    }

    fn repository(kind: &str, settings: Value) -> Repository {
        Repository { kind: kind.to_owned(), settings: settings.as_object().cloned().unwrap(), crypto_metadata: None }
    }

    #[test]
    fn places_are_those_of_the_repository() {
        let found = Address::of(&repository("s3", json!({"bucket": "b", "base_path": "/a/of search/"}))).unwrap();
        assert_eq!(found, Address { store: Store::S3, bucket: "b".to_owned(), folder: "a/of search".to_owned() });
        let found = Address::of(&repository("azure", json!({"container": "c"}))).unwrap();
        assert_eq!((found.store, found.bucket.as_str(), found.folder.as_str()), (Store::Azure, "c", ""));
        assert!(Address::of(&repository("hdfs", json!({}))).unwrap_err().contains("type hdfs"));
        assert!(Address::of(&repository("gcs", json!({}))).unwrap_err().contains("does not say its bucket"));
    }

    #[tokio::test]
    async fn folders_go_to_the_store_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, copy) = (folder.path().join("whole"), folder.path().join("copy"));
        fs::create_dir_all(whole.join("indices/a/0")).unwrap();
        let large: Vec<u8> = (0..2 * PART_BYTES + 5).map(|n| (n % 251) as u8).collect();
        fs::write(whole.join("index-1"), "list").unwrap();
        fs::write(whole.join("indices/a/0/__0"), &large).unwrap();
        fs::write(whole.join("indices/a/0/__1"), "small").unwrap();
        let fake = Arc::new(Fake::default());
        let remote = remote(&fake, Duration::from_secs(60));
        let (recorded, shown) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let record = |upload: Option<Upload>| {
            recorded.lock().unwrap().push(upload.map(|upload| upload.name));
            Ok(())
        };
        let show = |written, all| shown.lock().unwrap().push((written, all));
        let watcher = Watcher { record: &record, show: &show };
        let bytes = remote.upload(&whole, "whole", &watcher).await.unwrap();
        assert_eq!(bytes, large.len() as u64 + 9);
        assert_eq!(*recorded.lock().unwrap(), [Some("whole/indices/a/0/__0".to_owned()), None]);
        assert_eq!(shown.lock().unwrap().last(), Some(&(bytes, bytes)));
        assert!(fake.uploads.lock().unwrap().is_empty(), "no part is left");
        remote.download("whole", &copy, |_| true).await.unwrap();
        assert_eq!(fs::read(copy.join("indices/a/0/__0")).unwrap(), large);
        assert_eq!(fs::read_to_string(copy.join("index-1")).unwrap(), "list");
        // What is there is not written again; lists are.
        fs::write(whole.join("index-1"), "LIST").unwrap();
        recorded.lock().unwrap().clear();
        remote.upload(&whole, "whole", &watcher).await.unwrap();
        assert_eq!(*recorded.lock().unwrap(), []);
        assert_eq!(&fake.objects.lock().unwrap()["whole/index-1"][..], b"LIST");
    }

    #[tokio::test]
    async fn without_credentials_no_request_is_repeated() {
        let fake = Arc::new(Fake::default());
        *fake.is_denied.lock().unwrap() = true;
        let error = remote(&fake, Duration::from_secs(60)).delete("x").await.unwrap_err().to_string();
        assert!(error.contains("is not for you; give this machine credentials"), "{error}");
        assert_eq!(fake.failed.lock().unwrap()["delete x"], 1);
    }

    #[test]
    fn a_silent_store_is_a_warning_now_and_then() {
        let remote = remote(&Arc::default(), Duration::from_secs(600));
        let begun = Instant::now();
        let due = |begun: Instant, second: u64| remote.is_warning_due(begun, begun + Duration::from_secs(second));
        assert!(!due(begun, 0) && !due(begun, 4) && due(begun, 5) && !due(begun, 6) && !due(begun, 64));
        assert!(due(begun, 65));
        // Another request that waits as long.
        assert!(!due(begun, 66) && due(begun, 125));
    }

    #[tokio::test]
    async fn nothing_is_left() {
        let fake = Arc::new(Fake::default());
        let remote = remote(&fake, Duration::from_secs(60));
        fake.objects.lock().unwrap().insert("empty/index-0".to_owned(), Bytes::new());
        for id in ["u", "v", "w"] {
            fake.uploads.lock().unwrap().insert(id.to_owned(), BTreeMap::new());
        }
        let begun = |id: &str| Upload { name: "whole/x".to_owned(), id: id.to_owned() };
        // Those of other machines are noted in the store.
        remote.note("0-1", Some(&begun("v"))).await.unwrap();
        remote.note("1-2", Some(&begun("w"))).await.unwrap();
        remote.note("2-3", Some(&begun("gone"))).await.unwrap();
        remote.note("2-3", None).await.unwrap();
        for name in ["whole/indices/a/0/__0", "whole/indices/a/0/index-x"] {
            fake.objects.lock().unwrap().insert(name.to_owned(), Bytes::from_static(b"x"));
        }
        // Of a shard's folder only the lists are read, however large the files of others are.
        let folder = tempfile::tempdir().unwrap();
        remote.download("whole/indices/a/0", &folder.path().join("lists"), |name| !is_data(name)).await.unwrap();
        let lists = fs::read_dir(folder.path().join("lists")).unwrap();
        assert_eq!(lists.map(|list| list.unwrap().file_name()).collect::<Vec<_>>(), ["index-x"]);
        let begun = begun("u");
        remote.delete_all_shared(Some(&begun)).await.unwrap();
        assert!(fake.objects.lock().unwrap().is_empty() && fake.uploads.lock().unwrap().is_empty());
        // What does not help is not repeated for ever.
        let short = self::remote(&Arc::default(), Duration::ZERO);
        assert!(short.delete_all(None).await.unwrap_err().to_string().contains("is away"));
    }
}

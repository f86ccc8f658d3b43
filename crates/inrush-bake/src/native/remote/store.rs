//! A repository in an object store. This machine takes the snapshot without documents from there,
//! and writes the whole one, below the folder of the bake.

use std::fs;
use std::io;
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use inrush_cluster::api::snapshots::Repository;
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::{BoxFuture, Wait};
use inrush_sources::{BlobError, Blobs, Store, StoreOptions, open_blobs};
use serde_json::Value;

use super::super::names::refuse;
use crate::config::BakeError;
use crate::files;
use crate::record::{Saved, Shared, Upload, WHOLE};

/// Requests in flight; each has at most one part of an object in memory.
pub(super) const AT_ONCE: usize = 4;
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
pub(in super::super) struct Address {
    pub(in super::super) store: Store,
    bucket: String,
    folder: String,
}

impl Address {
    /// The place of a repository.
    ///
    /// # Errors
    /// A type that is not written to from here.
    pub(in super::super) fn of(repository: &Repository) -> Result<Address, String> {
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
pub(in super::super) struct Remote {
    pub(super) blobs: Box<dyn Blobs>,
    retry_for: Duration,
    /// The time before a request is repeated.
    pause: Duration,
    /// When a warning said last that the store does not answer.
    warned: Mutex<Option<Instant>>,
}

/// Something that is done beside others.
pub(super) type Work<'a, T> = BoxFuture<'a, Result<T, BakeError>>;

impl Remote {
    /// The folder of a bake, if its repository is in an object store. Requests are repeated for
    /// `retry_for` where that may help.
    ///
    /// # Errors
    /// A sentence: a repository of another type, or no way to it from this machine.
    pub(in super::super) async fn open(
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
    pub(in super::super) async fn check(&self) -> Result<(), String> {
        let listed = self.blobs.list("").await;
        listed.map(drop).map_err(|error| {
            format!("this machine cannot read the repository's object store: {error} (option `repository_option`)")
        })
    }

    /// Copies the objects below `below` that are `wanted` by their names into a folder, in place of
    /// it. All of them are in memory at once.
    pub(in super::super) async fn download(
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
    pub(in super::super) async fn note(&self, name: &str, upload: Option<&Upload>) -> Result<(), BakeError> {
        let name = format!("{NOTES}/{name}");
        let Some(upload) = upload else { return self.delete(&name).await };
        let note = Bytes::from(serde_json::to_vec(upload).map_err(|error| refuse(error.to_string()))?);
        self.again(&name, || self.blobs.write(&name, note.clone())).await
    }

    /// Deletes the parts of an object that [`Remote::note`] has noted, and the note.
    pub(in super::super) async fn abort_noted(&self, name: &str) -> Result<(), BakeError> {
        let note = format!("{NOTES}/{name}");
        if self.names(NOTES).await?.contains(&note) {
            let upload = self.again(&note, || self.blobs.read(&note)).await?;
            let upload = serde_json::from_slice(&upload).map_err(|error| refuse(format!("{note}: {error}")))?;
            self.abort(Some(&upload)).await?;
        }
        self.delete(&note).await
    }

    /// The names of the objects below `below`.
    pub(in super::super) async fn names(&self, below: &str) -> Result<Vec<String>, BakeError> {
        let found = self.again(below, || self.blobs.list(below)).await?;
        Ok(found.into_iter().map(|blob| blob.name).collect())
    }

    /// Deletes what was begun here and on other machines, and everything that is there.
    pub(in super::super) async fn delete_all(&self, begun: Option<&Upload>) -> Result<(), BakeError> {
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
    pub(in super::super) async fn delete_all_shared(&self, begun: Option<&Upload>) -> Result<(), BakeError> {
        for name in self.names(WHOLE).await?.iter().filter(|name| !is_data(name)) {
            self.delete(name).await?;
        }
        for _ in 0..DELETIONS_MAX {
            self.delete_all(begun).await?;
            clock::sleep(self.pause * QUIET_PAUSES).await;
            if self.names("").await?.is_empty() {
                return Ok(());
            }
        }
        Err(refuse("other machines still write there".to_owned()))
    }

    pub(in super::super) async fn delete(&self, name: &str) -> Result<(), BakeError> {
        self.again(name, || self.blobs.delete(name)).await
    }

    /// Deletes the parts of an object that was begun.
    pub(in super::super) async fn abort(&self, begun: Option<&Upload>) -> Result<(), BakeError> {
        match begun {
            Some(Upload { name, id }) => self.again(name, || self.blobs.abort(name, id)).await,
            None => Ok(()),
        }
    }

    /// Sends a request, and repeats it while that may help.
    pub(super) async fn again<'a, T>(
        &self,
        name: &str,
        work: impl Fn() -> BoxFuture<'a, Result<T, BlobError>>,
    ) -> Result<T, BakeError> {
        let wait = Wait::new(self.retry_for);
        let pause = |error: BlobError| {
            if self.is_warning_due(wait.elapsed(), clock::now()) {
                let left = wait.left().as_secs();
                tracing::warn!(
                    "the object store does not answer; the request is repeated for {left} s: {name} {error}"
                );
            }
            clock::sleep(self.pause).map(Ok)
        };
        wait.ask_and_pause(work, |error| error.passes, pause).await.map_err(|error| {
            let what_to_do = if error.is_denied { NEEDED } else { "" };
            refuse(format!("the repository's object store: {name} {error}{what_to_do}"))
        })
    }

    /// Whether it is time to say that a request is repeated, which was sent first so long ago. One
    /// warning stands for all requests.
    fn is_warning_due(&self, ago: Duration, now: Instant) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = ago >= WARNED_AFTER && warned.is_none_or(|warned| now.duration_since(warned) >= WARNED_EACH);
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
    let Some(native) = saved.native() else { return Ok(()) };
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
pub(in super::super) fn is_data(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.starts_with(DATA))
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    // It is cancelled only with the whole runtime.
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests;

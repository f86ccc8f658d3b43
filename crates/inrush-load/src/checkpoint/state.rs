//! Checkpoints on disk: one file for each job, which is replaced as a whole, and a lock that keeps
//! a second load of the job out.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use inrush_cluster::api::stats::IndexStats;
use inrush_core::Checkpoint;
use inrush_node::lock_file::{self, Held};
use inrush_node::user;
use serde::{Deserialize, Serialize};

use super::job::Job;
use crate::cutover::Noted;
use crate::dead_letter::SavedLetters;
use crate::private;

/// Format of the file. Another number means another version of inrush, which may count documents in
/// another way.
const FORMAT: u32 = 1;

/// State of an interrupted load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) job: Job,
    /// Ids of the runs, in their order.
    pub(crate) runs: Vec<String>,
    /// Duration of the runs up to the checkpoint, seconds.
    pub(crate) seconds: f64,
    /// Documents of a fixed index before the first run, where they could be counted.
    pub(crate) before: Option<u64>,
    /// Those of them with a vector, by field.
    #[serde(default)]
    pub(crate) vectors_before: BTreeMap<String, u64>,
    /// The same count for each index that a placeholder named.
    pub(crate) before_each: BTreeMap<String, Option<u64>>,
    /// Sizes of the indices before the first run, where the user may read them.
    #[serde(default)]
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    /// The indices that got documents, with their UUIDs where the user may read them.
    pub(crate) indices: BTreeMap<String, Option<String>>,
    pub(crate) dead_letters: SavedLetters,
    /// State of the swap, for a load that swaps an alias.
    #[serde(default)]
    pub(crate) swap: Option<Noted>,
    pub(crate) progress: Checkpoint,
}

#[derive(Serialize)]
struct FileOut<'a> {
    format: u32,
    #[serde(flatten)]
    saved: &'a Saved,
}

#[derive(Deserialize)]
struct Form {
    format: u32,
}

/// An error of the state folder.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The folder cannot be read or written.
    #[error("state folder {folder}: {what}: {cause}", folder = folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// Another user has run the same load, and this one may not take its lock.
    #[error("{path} belongs to {owner}, who ran this load, and cannot be opened: {cause}", path = path.display())]
    Owned {
        /// The lock.
        path: PathBuf,
        /// Its owner.
        owner: String,
        /// The system's error.
        cause: io::Error,
    },
    /// Another process runs the same load.
    #[error(
        "another load of the same sources into the same index is running{process}; start this one again after its end"
    )]
    Locked {
        /// The process that holds the lock, as the end of a sentence.
        process: String,
    },
}

/// The checkpoint of one job, locked for this process.
#[derive(Debug)]
pub struct CheckpointFile {
    folder: PathBuf,
    path: PathBuf,
    lock_path: PathBuf,
    /// A file with room for the first checkpoint ([`CheckpointFile::reserve`]).
    reserved: Mutex<Option<File>>,
    _lock: Held,
}

impl CheckpointFile {
    /// Creates the folder if it does not exist, and takes the job's lock.
    pub fn open(folder: &Path, key: &str) -> Result<Self, StateError> {
        let io = |what| move |cause| StateError::Io { folder: folder.to_owned(), what, cause };
        std::fs::create_dir_all(folder).map_err(io("cannot be created"))?;
        let lock_path = folder.join(format!("{key}.lock"));
        loop {
            let mut lock = match lock_file::open(&lock_path) {
                Ok(lock) => lock,
                Err(cause) => return Err(not_opened(&lock_path, cause).unwrap_or_else(io("cannot be written to"))),
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(locked(lock)),
                Err(TryLockError::Error(cause)) => return Err(io("cannot be locked")(cause)),
            }
            // The last holder may have removed the file after this process opened it and before it
            // got the lock.
            let ours = lock.metadata().map_err(io("cannot be read"))?.ino();
            if std::fs::metadata(&lock_path).is_ok_and(|now| now.ino() == ours) {
                let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
                let path = folder.join(format!("{key}.json"));
                let (folder, reserved) = (folder.to_owned(), Mutex::default());
                return Ok(CheckpointFile { folder, path, lock_path, reserved, _lock: Held::of(lock) });
            }
        }
    }

    /// Path of the checkpoint's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The checkpoint of an earlier run, where one exists.
    ///
    /// # Errors
    /// The checkpoint exists and cannot be used, and why.
    pub(crate) fn read(&self) -> Result<Option<Saved>, String> {
        read(&self.path)
    }

    /// The user whose checkpoint of this load is here, where that is another one than this.
    pub(crate) fn other_owner(&self) -> Option<String> {
        user::other_owner(&self.path)
    }

    /// Other loads of this folder that can be resumed.
    pub fn others(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let mut titles: Vec<String> = paths
            .filter(|path| path.extension().is_some_and(|e| e == "json") && *path != self.path)
            .filter_map(|path| Some(read(&path).ok()??.job.title()))
            .collect();
        titles.sort();
        titles
    }

    /// Replaces the last checkpoint. The new one is durable when this returns.
    pub(crate) fn write(&self, saved: &Saved) -> io::Result<()> {
        self.replace(&serde_json::to_vec(&FileOut { format: FORMAT, saved })?)
    }

    /// Writes a file of this size beside the checkpoint, which the next
    /// [`CheckpointFile::replace`] turns into the checkpoint. So a full disk is known before the
    /// load changes anything.
    pub(crate) fn reserve(&self, bytes: usize) -> io::Result<()> {
        let file = private::reserve(&self.unused_tmp()?, bytes)?;
        *self.reserved() = Some(file);
        Ok(())
    }

    fn reserved(&self) -> std::sync::MutexGuard<'_, Option<File>> {
        // The file is there or not, so a panic of another thread leaves nothing half done.
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tmp(&self) -> PathBuf {
        self.path.with_extension("tmp")
    }

    /// The path of the file that is to become another one. A killed run may have left it. It is
    /// deleted and not written to, because it may be a link to another file.
    fn unused_tmp(&self) -> io::Result<PathBuf> {
        let tmp = self.tmp();
        match std::fs::remove_file(&tmp) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(tmp),
        }
    }

    /// Replaces the content of the file. The new content is durable when this returns.
    pub fn replace(&self, text: &[u8]) -> io::Result<()> {
        self.replace_file(&self.path, text)
    }

    /// Replaces another file of this job in the same way.
    pub fn replace_file(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        let reserved = self.reserved().take();
        // Error reasons quote documents, so only the owner may read the file.
        match reserved {
            Some(file) => private::replace_by(Ok(file), path, &self.tmp(), text)?,
            None => private::replace(path, &self.unused_tmp()?, text)?,
        }
        File::open(&self.folder)?.sync_all()
    }

    /// Path of the file that records the end of the load.
    pub fn ended_path(&self) -> PathBuf {
        self.path.with_extension("ended")
    }

    /// Deletes the checkpoint, because nothing is left to resume.
    pub fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

impl Drop for CheckpointFile {
    /// Removes the room for a checkpoint that was not written, and the lock file of a job without a
    /// checkpoint. A lock file that is left behind blocks no load.
    fn drop(&mut self) {
        if self.reserved().take().is_some() {
            let _ = std::fs::remove_file(self.tmp());
        }
        if !self.path.exists() {
            let _ = std::fs::remove_file(&self.lock_path);
        }
    }
}

/// A running load that holds this lock.
fn locked(mut lock: File) -> StateError {
    let mut process = String::new();
    // The process id is only for the message.
    let _ = lock.read_to_string(&mut process);
    let process = process.trim();
    let process = if process.is_empty() { String::new() } else { format!(" (process {process})") };
    StateError::Locked { process }
}

/// Why a lock of another user cannot be opened. The error comes back where it is another one.
fn not_opened(path: &Path, cause: io::Error) -> Result<StateError, io::Error> {
    let owner = user::other_owner(path).filter(|_| cause.kind() == io::ErrorKind::PermissionDenied);
    let Some(owner) = owner else { return Err(cause) };
    match File::open(path) {
        Ok(lock) => match lock.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(locked(lock)),
            tried => {
                drop(tried.map(|()| Held::of(lock)));
                Ok(StateError::Owned { path: path.to_owned(), owner, cause })
            }
        },
        Err(_) => Ok(StateError::Owned { path: path.to_owned(), owner, cause }),
    }
}

pub(super) fn read(path: &Path) -> Result<Option<Saved>, String> {
    let damaged = |what: String| format!("the checkpoint {} cannot be used: {what}", path.display());
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(damaged(e.to_string())),
    };
    let form: Form = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    if form.format != FORMAT {
        return Err(damaged(format!(
            "another version of inrush wrote it (format {}, expected format {FORMAT})",
            form.format
        )));
    }
    let saved: Saved = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    saved.progress.check().map_err(|e| damaged(e.to_string()))?;
    Ok(Some(saved))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_checkpoint_takes_the_room_that_was_reserved_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let state = CheckpointFile::open(folder.path(), "k").unwrap();
        state.replace(b"old").unwrap();
        state.reserve(1000).unwrap();
        assert_eq!((std::fs::read(state.path()).unwrap().as_slice(), files()), (&b"old"[..], 3));
        state.replace(b"new").unwrap();
        assert_eq!((std::fs::read(state.path()).unwrap().as_slice(), files()), (&b"new"[..], 2));
        state.reserve(1000).unwrap();
        drop(state);
        assert_eq!((std::fs::read(folder.path().join("k.json")).unwrap().as_slice(), files()), (&b"new"[..], 2));
    }

    #[test]
    fn links_in_the_folder_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let state = folder.path().join("state");
        std::fs::create_dir(&state).unwrap();
        symlink(&victim, state.join("k.tmp")).unwrap();
        CheckpointFile::open(&state, "k").unwrap().replace(b"{}").unwrap();
        assert_eq!(std::fs::read(state.join("k.json")).unwrap(), b"{}");
        symlink(&victim, state.join("l.lock")).unwrap();
        let error = CheckpointFile::open(&state, "l").unwrap_err().to_string();
        assert!(error.contains("cannot be written to"), "{error}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}

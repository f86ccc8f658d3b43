//! Checkpoints on disk: one file for each job, which is replaced as a whole, and a lock that keeps
//! a second load of the job out.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use inrush_cluster::api::stats::IndexStats;
use inrush_core::Checkpoint;
use inrush_node::lock_file;
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
pub struct State {
    folder: PathBuf,
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl State {
    /// Creates the folder if it does not exist, and takes the job's lock.
    pub fn open(folder: &Path, key: &str) -> Result<Self, StateError> {
        let io = |what| move |cause| StateError::Io { folder: folder.to_owned(), what, cause };
        std::fs::create_dir_all(folder).map_err(io("cannot be created"))?;
        let lock_path = folder.join(format!("{key}.lock"));
        loop {
            let mut lock = lock_file::open(&lock_path).map_err(io("cannot be written to"))?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut process = String::new();
                    // The process id is only for the message.
                    let _ = lock.read_to_string(&mut process);
                    let process = process.trim();
                    let process = if process.is_empty() { String::new() } else { format!(" (process {process})") };
                    return Err(StateError::Locked { process });
                }
                Err(TryLockError::Error(cause)) => return Err(io("cannot be locked")(cause)),
            }
            // The last holder may have removed the file after this process opened it and before it
            // got the lock.
            let ours = lock.metadata().map_err(io("cannot be read"))?.ino();
            if std::fs::metadata(&lock_path).is_ok_and(|now| now.ino() == ours) {
                let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
                let path = folder.join(format!("{key}.json"));
                return Ok(State { folder: folder.to_owned(), path, lock_path, _lock: lock });
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

    /// Replaces the content of the file. The new content is durable when this returns.
    pub fn replace(&self, text: &[u8]) -> io::Result<()> {
        self.replace_file(&self.path, text)
    }

    /// Replaces another file of this job in the same way.
    pub fn replace_file(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        let tmp = self.path.with_extension("tmp");
        // A killed run may have left the file. It is deleted and not written to, because it may be
        // a link to another file.
        match std::fs::remove_file(&tmp) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        // Error reasons quote documents, so only the owner may read the file.
        private::replace(path, &tmp, text)?;
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

impl Drop for State {
    /// Removes the lock file of a job without a checkpoint. A lock file that is left behind blocks
    /// no load.
    fn drop(&mut self) {
        if !self.path.exists() {
            let _ = std::fs::remove_file(&self.lock_path);
        }
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
    fn links_in_the_folder_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let state = folder.path().join("state");
        std::fs::create_dir(&state).unwrap();
        symlink(&victim, state.join("k.tmp")).unwrap();
        State::open(&state, "k").unwrap().replace(b"{}").unwrap();
        assert_eq!(std::fs::read(state.join("k.json")).unwrap(), b"{}");
        symlink(&victim, state.join("l.lock")).unwrap();
        let error = State::open(&state, "l").unwrap_err().to_string();
        assert!(error.contains("cannot be written to"), "{error}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}

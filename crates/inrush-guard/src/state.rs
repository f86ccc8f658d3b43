//! The state of this machine's loads: for each load a lock, which it holds while its process lives,
//! and a record of its changes, which replaces a lost lease in the cluster.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use inrush_core::settings_guard::Changes;
use inrush_node::lock_file::{self, Held};
use inrush_node::user;
use serde::{Deserialize, Serialize};

/// The changes of a load on one index. It is written with fsync and rename before the settings
/// change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) index: String,
    /// The id of the lease.
    #[serde(rename = "uuid")]
    pub(crate) lease: String,
    pub(crate) changes: Changes,
}

/// The lock and record of a load in this process.
#[derive(Debug)]
pub struct LocalState {
    folder: PathBuf,
    holder: String,
    /// The system releases the lock when the process ends, however it ends.
    _lock: Held,
}

/// Default folder of the records.
pub fn default_folder() -> Option<PathBuf> {
    user::state_folder(user::variable)
}

impl LocalState {
    /// Takes the lock of the load `holder` in `folder`, which is created if it does not exist.
    ///
    /// # Errors
    /// The folder or the lock cannot be created or locked.
    pub fn new(folder: &Path, holder: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut lock = lock_file::open(&lock_path(folder, holder))?;
        lock.lock()?;
        lock.set_len(0)?;
        lock.write_all(boot_id().unwrap_or_default().as_bytes())?;
        Ok(LocalState { folder: folder.to_owned(), holder: holder.to_owned(), _lock: Held::of(lock) })
    }

    pub(crate) fn save(&self, record: &Record) -> io::Result<()> {
        let path = record_path(&self.folder, &self.holder);
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer(&mut file, record)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Removes the lock and the record, because no setting has to be restored.
    pub fn remove(self) {
        remove(&self.folder, &self.holder);
    }
}

/// Whether the load `holder` is alive. `None` where this machine cannot tell: the load ran
/// elsewhere, before the last restart of the machine, or with another state folder.
pub fn is_alive(folder: &Path, holder: &str) -> Option<bool> {
    if holder.is_empty() || !holder.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let path = lock_path(folder, holder);
    // The locks of other machines may be invisible on a shared folder.
    if fs::read_to_string(&path).ok()? != boot_id()? {
        return None;
    }
    let lock = File::open(&path).ok()?;
    match lock.try_lock() {
        Ok(()) => {
            drop(Held::of(lock));
            Some(false)
        }
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Records of loads that are certainly dead, with their ids. It removes locks of dead loads without
/// a record.
pub(crate) fn left_behind(folder: &Path) -> Vec<(String, Record)> {
    let names: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    for name in &names {
        let holder = name.to_str().and_then(|name| name.strip_prefix("guard-")?.strip_suffix(".lock"));
        if let Some(holder) = holder
            && is_alive(folder, holder) == Some(false)
            && !record_path(folder, holder).exists()
        {
            remove(folder, holder);
        }
    }
    let holders = names
        .into_iter()
        .filter_map(|name| Some(name.to_str()?.strip_prefix("guard-")?.strip_suffix(".json")?.to_owned()));
    let record = |holder: String| {
        let text = fs::read_to_string(record_path(folder, &holder)).ok()?;
        // A lock from before a restart of the machine belongs to a dead process.
        let restarted = fs::read_to_string(lock_path(folder, &holder)).ok() != boot_id();
        let dead = restarted || is_alive(folder, &holder) == Some(false);
        Some((holder, serde_json::from_str(&text).ok()?)).filter(|_| dead)
    };
    holders.filter_map(record).collect()
}

/// Removes the lock and the record of the load `holder`.
pub fn remove(folder: &Path, holder: &str) {
    for path in [record_path(folder, holder), lock_path(folder, holder)] {
        // The next recovery finds and removes files that are left.
        let _ = fs::remove_file(path);
    }
}

fn record_path(folder: &Path, holder: &str) -> PathBuf {
    folder.join(format!("guard-{holder}.json"))
}

fn lock_path(folder: &Path, holder: &str) -> PathBuf {
    folder.join(format!("guard-{holder}.lock"))
}

/// An id that changes at each start of the machine, and differs between machines. Linux only.
fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use inrush_core::settings_guard::Change;

    use super::*;

    #[test]
    fn a_lock_tells_who_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/too");
        let state = LocalState::new(&path, "a-1").unwrap();
        assert_eq!(is_alive(&path, "a-1"), Some(true));
        assert_eq!(is_alive(&path, "b"), None);
        assert_eq!(is_alive(&path, "../a-1"), None);
        let change = Change { original: None, applied: "60s".into() };
        let record = Record { index: "x".into(), lease: "u".into(), changes: [("s".to_owned(), change)].into() };
        state.save(&record).unwrap();
        assert_eq!(left_behind(&path), []);
        drop(state);
        assert_eq!(is_alive(&path, "a-1"), Some(false));
        assert_eq!(left_behind(&path), [("a-1".to_owned(), record.clone())]);
        // This load crashed before it changed a setting.
        drop(LocalState::new(&path, "b").unwrap());
        assert_eq!(left_behind(&path).len(), 1);
        assert!(!lock_path(&path, "b").exists());
        // This lock is from before a restart of the machine, or from another machine.
        fs::write(lock_path(&path, "a-1"), "another boot").unwrap();
        assert_eq!(is_alive(&path, "a-1"), None);
        remove(&path, "a-1");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }
}

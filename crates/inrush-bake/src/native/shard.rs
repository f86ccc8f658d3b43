//! A shard that is built in this process for a bake of another one.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_cluster::transport::Transport;
use inrush_core::{Action, OnConflict};
use inrush_load::config::LoadConfig;
use inrush_load::{Report, Status};
use inrush_lucene::ShardSnapshot;
use inrush_node::lock_file::Held;
use inrush_sources::StoreOptions;
use tempfile::TempDir;

use super::load::{account, cannot_write, end, load_config, plan_words, transport};
use super::names::{random, refuse};
use super::order::{BuiltShard, Place, ShardOrder};
use super::remote::{Remote, Watcher, is_data};
use super::writers::Writers;
use crate::config::BakeError;
use crate::files;
use crate::record::{Upload, WHOLE};

/// One attempt to build a shard. A load through [`ShardBuild::transport`] gives it the documents.
pub struct ShardBuild {
    shard: u32,
    index: String,
    attempt: String,
    /// Where the files of the index grow.
    folder: PathBuf,
    store: Option<InStore>,
    conflicts: (Action, OnConflict),
    transport: Arc<Transport>,
    writers: Arc<Writers>,
}

/// What an attempt has if the repository is in an object store.
struct InStore {
    remote: Remote,
    /// The folder of the shard in the store.
    path: String,
    scratch: Scratch,
    /// Random bytes for the names of the files.
    names: [u8; 16],
}

impl fmt::Debug for ShardBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardBuild").field("shard", &self.shard).field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl ShardBuild {
    /// Begins an attempt. `load` are the options with which its documents are loaded, `options` how
    /// this machine reaches the object store of the repository, if it is in one. Then the files are
    /// in the folder for temporary files until the shard is whole. Must be called in a tokio
    /// runtime of several threads.
    ///
    /// # Errors
    /// The folder of the bake is not there, or cannot be written to; no way to the object store; an
    /// order of another version.
    pub async fn begin(
        order: &ShardOrder,
        shard: u32,
        load: &LoadConfig,
        options: &StoreOptions,
    ) -> Result<Self, BakeError> {
        let blueprint = &order.blueprint;
        let seed = inrush_cluster::run_id::seed();
        let attempt = format!("{shard}-{seed:x}");
        let of_attempt = |what: &str| random(&order.id, &format!("{what} {seed}"), shard as usize);
        let (folder, store) = match &order.place {
            Place::Folder(tasks) => (tasks.join(&attempt), None),
            Place::Store { shared, shards } => {
                let remote = Remote::open(shared, options, load.limits.retry_for).await.map_err(refuse)?;
                let path = shards.get(shard as usize).cloned();
                let (Some(remote), Some(path)) = (remote, path) else {
                    return Err(refuse(format!("the order has no place for shard {shard}")));
                };
                let scratch = Scratch::make().map_err(cannot_write)?;
                let folder = scratch.folder.path().join("index");
                let path = format!("{WHOLE}/{path}");
                let mut names = [0; 16];
                names.copy_from_slice(&of_attempt("names")[..16]);
                (folder, Some(InStore { remote, path, scratch, names }))
            }
        };
        make(&folder)?;
        let plan = blueprint.shard(shard as usize, folder.clone(), of_attempt("ids"))?;
        let plan = blueprint.plan(vec![plan], Some(shard), (order.memory, 1))?;
        let writers = Arc::new(Writers::start(plan).map_err(cannot_write)?);
        let transport = transport(blueprint.product, &blueprint.version, &blueprint.index, &writers)?;
        let index = blueprint.index.clone();
        let conflicts = (blueprint.action, load.on_conflict);
        Ok(ShardBuild { shard, index, attempt, folder, store, conflicts, transport, writers })
    }

    /// The configuration of the load.
    ///
    /// # Errors
    /// The name of the index cannot be used.
    pub fn config(&self, load: &LoadConfig) -> Result<LoadConfig, BakeError> {
        load_config(load, &self.index)
    }

    /// The way of the documents.
    pub fn transport(&self) -> Arc<Transport> {
        Arc::clone(&self.transport)
    }

    /// Ends the attempt, after the load with this report. An attempt that fails leaves nothing.
    ///
    /// # Errors
    /// [`BakeError::NotNative`] if a document needs a server, [`BakeError::NotLoaded`] with the
    /// report if the load did not finish, others if the shard cannot be written.
    pub async fn end(self, report: Report) -> Result<BuiltShard, BakeError> {
        let folder = self.folder.clone();
        let built = self.built(report).await;
        if built.is_err()
            && let Err(error) = files::remove(&folder)
        {
            tracing::debug!("{} is deleted with the bake only: {error}", folder.display());
        }
        built
    }

    async fn built(self, mut report: Report) -> Result<BuiltShard, BakeError> {
        plan_words(&mut report);
        let is_whole = matches!(report.status, Status::Complete | Status::Incomplete);
        let committed = end(&self.writers, is_whole).await?;
        if !is_whole {
            return Err(BakeError::NotLoaded(Box::new(report)));
        }
        let docs = account(&mut report, &committed, self.conflicts, &self.index)?;
        let from_columns = committed.iter().map(|shard| shard.from_columns).sum();
        let folder = self.folder.clone();
        let lists = match self.store {
            Some(store) => store.send(folder, &self.attempt).await?,
            None => {
                // Another machine reads it.
                let synced = tokio::task::spawn_blocking(move || files::sync(&folder)).await;
                synced.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(cannot_write)?;
                BTreeMap::new()
            }
        };
        Ok(BuiltShard { shard: self.shard, attempt: self.attempt, lists, docs, from_columns, report })
    }
}

/// Makes the folder of an attempt.
fn make(folder: &Path) -> Result<(), BakeError> {
    let needed = "the machine of each task has to have the folder of option `repository_path` at the same path, and its user has to be that of the bake";
    // The folder around it is not made: if it is gone, the bake has ended.
    fs::create_dir(folder).map_err(|error| refuse(format!("cannot create {}: {error}; {needed}", folder.display())))?;
    let owner = |folder: &Path| folder.metadata().map(|found| found.uid()).map_err(cannot_write);
    // The machine of the bake moves it, and deletes what is in it.
    if let Some(around) = folder.parent()
        && owner(folder)? != owner(around)?
    {
        files::remove(folder).map_err(cannot_write)?;
        return Err(refuse(format!("{} belongs to another user; {needed}", around.display())));
    }
    Ok(())
}

/// A folder for the files of a shard until they are in an object store. Its lock is free when the
/// process is gone, also one that was killed.
struct Scratch {
    folder: TempDir,
    _lock: Held,
}

/// The beginning of the names of such folders, and the name of the file that is locked.
const SCRATCH: &str = "inrush-shard-";
const LOCK: &str = "lock";

impl Scratch {
    /// Makes one, and deletes those of processes that were killed.
    fn make() -> io::Result<Scratch> {
        Scratch::sweep(&std::env::temp_dir());
        let folder = TempDir::with_prefix(SCRATCH)?;
        let lock = fs::File::create(folder.path().join(LOCK))?;
        lock.try_lock()?;
        Ok(Scratch { folder, _lock: Held::of(lock) })
    }

    fn sweep(all: &Path) {
        for entry in fs::read_dir(all).into_iter().flatten().flatten() {
            let is_ours = entry.file_name().to_string_lossy().starts_with(SCRATCH);
            // Without the file it is about to be made, or another user's.
            let Some(lock) = is_ours.then(|| fs::File::open(entry.path().join(LOCK)).ok()).flatten() else { continue };
            if lock.try_lock().is_ok()
                && let Err(error) = files::remove(&entry.path())
            {
                tracing::debug!("{} stays: {error}", entry.path().display());
            }
        }
    }
}

impl InStore {
    /// Copies the files of the index into the store, and returns the lists of them. What cannot be
    /// copied whole is deleted again.
    async fn send(self, index: PathBuf, attempt: &str) -> Result<BTreeMap<String, Vec<u8>>, BakeError> {
        let filled = self.scratch.folder.path().join("filled");
        // Those that the target has written: the driver replaces them when the job has ended. Files
        // of other attempts are beside them.
        self.remote.download(&self.path, &filled, |name| !is_data(name)).await?;
        let (folder, names) = (filled.clone(), self.names);
        let work = tokio::task::spawn_blocking(move || fill(&folder, &index, names)).await;
        let lists = work.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(cannot_write)?;
        match self.upload(&filled, attempt).await {
            Ok(()) => Ok(lists),
            Err(error) => {
                if let Err(left) = self.take_back(attempt).await {
                    tracing::debug!("files of {attempt} are deleted with the bake only: {left}");
                }
                Err(error)
            }
        }
    }

    async fn upload(&self, filled: &Path, attempt: &str) -> Result<(), BakeError> {
        let runtime = tokio::runtime::Handle::current();
        let record = |upload: Option<Upload>| {
            let note = self.remote.note(attempt, upload.as_ref());
            tokio::task::block_in_place(|| runtime.block_on(note))
        };
        let watcher = Watcher { record: &record, show: &|_, _| {} };
        self.remote.upload(filled, &self.path, &watcher).await?;
        // The bake deletes the lists first.
        let is_open = self.remote.names(&self.path).await?.iter().any(|name| !is_data(name));
        if is_open { Ok(()) } else { Err(refuse("the bake has ended".to_owned())) }
    }

    /// Deletes what this attempt has written.
    async fn take_back(&self, attempt: &str) -> Result<(), BakeError> {
        self.remote.abort_noted(attempt).await?;
        let ours = ShardSnapshot::file_prefix(self.names);
        for name in self.remote.names(&self.path).await? {
            if name.rsplit('/').next().is_some_and(|name| name.starts_with(&ours)) {
                self.remote.delete(&name).await?;
            }
        }
        Ok(())
    }
}

/// Puts the files of an index into the folder of its shard, and takes the lists of them out.
fn fill(folder: &Path, index: &Path, names: [u8; 16]) -> io::Result<BTreeMap<String, Vec<u8>>> {
    ShardSnapshot::open(folder)?.fill(index, names)?;
    let mut lists = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !is_data(&name) {
            lists.insert(name, fs::read(&path)?);
            fs::remove_file(path)?;
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_processes_that_were_killed_are_deleted() {
        let all = tempfile::tempdir().unwrap();
        let [left, used, begun, other] = ["inrush-shard-a", "inrush-shard-b", "inrush-shard-c", "x"].map(|name| {
            let folder = all.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        });
        for folder in [&left, &used, &other] {
            fs::write(folder.join(LOCK), "").unwrap();
            fs::write(folder.join("_0.fdt"), "x").unwrap();
        }
        let lock = fs::File::open(used.join(LOCK)).unwrap();
        lock.try_lock().unwrap();
        Scratch::sweep(all.path());
        assert_eq!([&left, &used, &begun, &other].map(|folder| folder.exists()), [false, true, true, true]);
        drop(lock);
        Scratch::sweep(all.path());
        assert!(!used.exists());
    }
}

//! The file with the record of a bake, and the folder for the checkpoints of its load.

use std::path::{Path, PathBuf};

use inrush_load::LoadError;
use inrush_load::checkpoint::{CheckpointFile, Job, StateError};
use inrush_load::config::LoadConfig;
use inrush_sources::Source;

use super::saved::{FORMAT, Saved};
use crate::config::BakeError;

/// The record file of one bake, locked for this process.
#[derive(Debug)]
pub(crate) struct Keep {
    state: CheckpointFile,
    folder: PathBuf,
    /// Whether a bake that fails leaves what it has built, for a later run.
    pub(crate) stays: bool,
}

impl Keep {
    /// Opens the file of the job, and reads the record of an earlier run.
    ///
    /// # Errors
    /// A folder that cannot be used, another running bake of the same job, a file that cannot be
    /// read.
    pub(crate) fn open(
        config: &LoadConfig,
        stays: bool,
        source: &dyn Source,
    ) -> Result<(Keep, Job, Option<Saved>), BakeError> {
        let refuse = |why: String| BakeError::Load(LoadError::State(why));
        let folder = config.state.as_ref().map(|state| state.path.join("bakes"));
        let folder =
            folder.ok_or_else(|| refuse("a bake needs a state folder; name one with option `state`".to_owned()))?;
        let job = Job::new(config, source)?;
        let state = CheckpointFile::open(&folder, &job.key()).map_err(|error| match error {
            StateError::Io { .. } => refuse(format!("{error}; name another folder with option `state`")),
            StateError::Owned { .. } => refuse(format!("{error}; start this bake as that user")),
            StateError::Locked { .. } => BakeError::Load(LoadError::Busy(error.to_string())),
        })?;
        let saved = match std::fs::read(state.path()) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            text => {
                let cannot = |why: String| {
                    refuse(format!("the record of an earlier run in {} cannot be used: {why}", state.path().display()))
                };
                let saved: Saved = serde_json::from_slice(&text.map_err(|e| cannot(e.to_string()))?)
                    .map_err(|e| cannot(e.to_string()))?;
                if saved.format != FORMAT {
                    return Err(cannot(format!(
                        "another version of inrush wrote it (format {}, expected format {FORMAT})",
                        saved.format
                    )));
                }
                Some(saved)
            }
        };
        Ok((Keep { state, folder, stays }, job, saved))
    }

    /// Writes the record. After this it survives a crash.
    ///
    /// # Errors
    /// An error if it cannot be written. Then the recorded action must not be done.
    pub(crate) fn write(&self, saved: &Saved) -> Result<(), String> {
        let written =
            serde_json::to_vec(saved).map_err(std::io::Error::from).and_then(|text| self.state.replace(&text));
        written.map_err(|e| {
            format!(
                "cannot record the progress of the bake in {}: {e}; free disk space, then give option `resume`",
                self.path().display()
            )
        })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.state.path().to_owned()
    }

    /// The folder for the checkpoints of the load.
    pub(crate) fn of_load(&self, id: &str) -> PathBuf {
        self.folder.join(format!("load-{id}"))
    }

    /// Deletes the checkpoints of the load.
    pub(crate) fn forget_load(&self, id: &str) -> Result<(), String> {
        delete(&self.of_load(id))
    }

    /// Whether a load was begun, whose checkpoints are in its folder.
    pub(crate) fn has_checkpoint(&self, id: &str) -> bool {
        let files = std::fs::read_dir(self.of_load(id).join("checkpoints")).into_iter().flatten();
        files.filter_map(Result::ok).any(|file| file.path().extension().is_some_and(|extension| extension == "json"))
    }

    /// Whether documents were loaded, so that a resumed bake can continue.
    pub(crate) fn is_begun(&self, saved: &Saved) -> bool {
        saved.loaded.is_some() || self.has_checkpoint(&saved.id)
    }

    /// Deletes the record: there is nothing to resume any more.
    pub(crate) fn remove(&self, id: &str) -> Result<(), String> {
        self.forget_load(id)?;
        self.state.remove().map_err(|e| format!("cannot delete {}: {e}", self.path().display()))
    }
}

fn delete(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("cannot delete {}: {e}", folder.display())),
        _ => Ok(()),
    }
}

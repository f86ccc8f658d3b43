//! What is written down of a bake, before it is done: whatever ends a run, the next one knows what is there and what has to be undone.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::builder::Note;
use super::config::BakeError;
use super::fitting::Plan;
use super::place::Shared;
use super::report::BakeStep;
use super::throttle::Throttle;
use crate::checkpoint::{Job, State, StateError};
use crate::cluster::snapshots::Identity;
use crate::config::LoadConfig;
use crate::error::LoadError;
use crate::finish::Noted;
use crate::report::Report;
use crate::source::Source;

/// The form of the file.
const FORMAT: u32 = 1;

/// All that is known of a bake.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    format: u32,
    pub(super) job: Job,
    /// Part of all names that this bake gives.
    pub(super) id: String,
    /// The index.
    pub(super) index: String,
    /// Of one that takes the place of another.
    pub(super) swap: Option<Noted>,
    pub(super) plan: Plan,
    pub(super) shared: Shared,
    pub(super) builder: Note,
    pub(super) steps: Vec<BakeStep>,
    /// The index on the builder, once it is made.
    pub(super) made: Option<Identity>,
    /// How the load has ended, once it has, and how many documents the builder's index holds then.
    pub(super) loaded: Option<(Box<Report>, u64)>,
    /// The snapshot is whole.
    pub(super) snapshot: bool,
    /// The target has the repository, or may have it.
    pub(super) registered: bool,
    /// The target's throttles are changed, or may be.
    pub(super) throttle: Option<Throttle>,
    /// The target has the index, whole or in part, or may have it.
    pub(super) restoring: bool,
    /// The target has the whole index: nothing is undone any more.
    pub(super) published: bool,
}

impl Saved {
    pub(super) fn new(job: Job, id: String, index: String, plan: Plan, shared: Shared, builder: Note) -> Saved {
        Saved {
            format: FORMAT,
            job,
            id,
            index,
            swap: None,
            plan,
            shared,
            builder,
            steps: Vec::new(),
            made: None,
            loaded: None,
            snapshot: false,
            registered: false,
            throttle: None,
            restoring: false,
            published: false,
        }
    }

    /// What the repository is called on both sides.
    pub(super) fn repository(&self) -> String {
        format!("inrush-bake-{}", self.id)
    }
}

/// The file of one bake, locked for this process.
#[derive(Debug)]
pub(super) struct Keep {
    state: State,
    folder: PathBuf,
}

impl Keep {
    /// Finds the file of the job, and what an earlier run has left in it.
    ///
    /// # Errors
    /// A folder that cannot be used, another bake of the same job, a file that cannot be read.
    pub(super) fn open(config: &LoadConfig, source: &dyn Source) -> Result<(Keep, Job, Option<Saved>), BakeError> {
        let refuse = |why: String| BakeError::Load(LoadError::State(why));
        let folder = config.state.as_ref().map(|state| state.path.join("bakes"));
        let folder = folder.ok_or_else(|| refuse("a bake needs a state folder; name one with --state".to_owned()))?;
        let job = Job::new(config, source)?;
        let state = State::open(&folder, &job.key()).map_err(|error| match error {
            StateError::Io { .. } => refuse(format!("{error}; name another with --state")),
            StateError::Locked { .. } => refuse(error.to_string()),
        })?;
        let saved = match std::fs::read(state.path()) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            text => {
                let cannot = |why: String| {
                    refuse(format!(
                        "what an earlier run has written down in {} cannot be used: {why}",
                        state.path().display()
                    ))
                };
                let saved: Saved = serde_json::from_slice(&text.map_err(|e| cannot(e.to_string()))?)
                    .map_err(|e| cannot(e.to_string()))?;
                if saved.format != FORMAT {
                    return Err(cannot(format!(
                        "another version of inrush wrote it (format {}, this one knows {FORMAT})",
                        saved.format
                    )));
                }
                Some(saved)
            }
        };
        Ok((Keep { state, folder }, job, saved))
    }

    /// Writes it down. After this it survives whatever happens.
    ///
    /// # Errors
    /// What may not be done then.
    pub(super) fn write(&self, saved: &Saved) -> Result<(), String> {
        let written =
            serde_json::to_vec(saved).map_err(std::io::Error::from).and_then(|text| self.state.replace(&text));
        written.map_err(|e| {
            format!("cannot write down what is done in {}: {e}; make room, then --resume", self.path().display())
        })
    }

    /// The file.
    pub(super) fn path(&self) -> PathBuf {
        self.state.path().to_owned()
    }

    /// Where the load into the builder keeps its checkpoints.
    pub(super) fn of_load(&self, id: &str) -> PathBuf {
        self.folder.join(format!("load-{id}"))
    }

    /// Forgets how far the load into the builder was.
    pub(super) fn forget_load(&self, id: &str) -> Result<(), String> {
        let folder = self.of_load(id);
        match std::fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("cannot delete {}: {e}", folder.display()))
            }
            _ => Ok(()),
        }
    }

    /// There is nothing to resume any more.
    pub(super) fn remove(&self, id: &str) -> Result<(), String> {
        self.forget_load(id)?;
        self.state.remove().map_err(|e| format!("cannot delete {}: {e}", self.path().display()))
    }
}

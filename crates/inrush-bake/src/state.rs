//! What is written down of a bake, before it is done: whatever ends a run, the next one knows what is there and what has to be undone.

use std::path::{Path, PathBuf};

use inrush_cluster::api::snapshots::Identity;
use inrush_load::LoadError;
use inrush_load::Report;
use inrush_load::checkpoint::{Job, State, StateError};
use inrush_load::config::LoadConfig;
use inrush_load::cutover::Noted;
use inrush_sources::Source;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builder::Note;
use super::config::{BakeError, Layout};
use super::fitting::Plan;
use super::place::Shared;
use super::report::BakeStep;
use super::throttle::Throttle;

/// The form of the file.
const FORMAT: u32 = 1;

/// All that is known of a bake.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    format: u32,
    pub(super) job: Job,
    /// Part of all names that this bake gives.
    pub(super) id: String,
    /// The index, or the alias of all.
    pub(super) index: String,
    /// What several builders build; none for one.
    pub(super) layout: Option<Layout>,
    /// Whose part the index becomes.
    pub(super) data_stream: Option<String>,
    /// Of one that takes the place of another.
    pub(super) swap: Option<Noted>,
    /// How the index is made that the target gets.
    pub(super) plan: Plan,
    pub(super) shared: Shared,
    /// What is built apart.
    pub(super) parts: Vec<Part>,
    /// The index that shards are put into.
    pub(super) whole: Option<Whole>,
    pub(super) steps: Vec<BakeStep>,
    /// The target has the repositories, or may have them.
    pub(super) registered: bool,
    /// The target's throttles are changed, or may be.
    pub(super) throttle: Option<Throttle>,
    /// The target has the index, whole or in part, or may have it.
    pub(super) restoring: bool,
    /// A request to publish it got no answer, and whether it was carried out is not known: nothing is undone before that is.
    #[serde(default)]
    pub(super) in_doubt: bool,
    /// The target has the whole index: nothing is undone any more.
    pub(super) published: bool,
}

/// What one builder builds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    /// The servers; several where they are one cluster.
    pub(super) nodes: Vec<Note>,
    /// What the index is called there.
    pub(super) index: String,
    /// How it is made there.
    pub(super) plan: Plan,
    /// The index, once it is made.
    pub(super) made: Option<Identity>,
    /// How the load has ended, once it has, and how many documents the index holds then.
    pub(super) loaded: Option<(Box<Report>, u64)>,
    /// The snapshot is whole.
    pub(super) snapshot: bool,
    /// Of one that is put together with others: the mapping of what is in the snapshot.
    pub(super) mapping: Value,
}

/// An index without documents, the shards of which are replaced by those of the parts. It is the first builder's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Whole {
    pub(super) made: Option<Identity>,
    pub(super) snapshot: bool,
    /// The shards are in their places.
    pub(super) stitched: bool,
}

/// An index that the target gets.
#[derive(Clone, Debug)]
pub(super) struct Handover {
    pub(super) index: String,
    /// What its repository is called on both sides.
    pub(super) repository: String,
    pub(super) shared: Shared,
    /// The index on the builder.
    pub(super) made: Option<Identity>,
    /// How many documents it has to hold.
    pub(super) docs: u64,
}

impl Saved {
    pub(super) fn new(job: Job, id: String, index: String, plan: Plan, shared: Shared, parts: Vec<Part>) -> Saved {
        Saved {
            format: FORMAT,
            job,
            id,
            index,
            layout: None,
            data_stream: None,
            swap: None,
            plan,
            shared,
            parts,
            whole: None,
            steps: Vec::new(),
            registered: false,
            throttle: None,
            restoring: false,
            in_doubt: false,
            published: false,
        }
    }

    /// What the repository of a part is called on both sides, and where it is.
    pub(super) fn repository_of(&self, part: usize) -> (String, Shared) {
        match self.parts.len() {
            1 => (self.repository(), self.shared.clone()),
            _ => (format!("{}-{}", self.repository(), part + 1), self.shared.within(&format!("part-{}", part + 1))),
        }
    }

    /// The same of the index that shards are put into.
    pub(super) fn repository_of_whole(&self) -> (String, Shared) {
        (format!("{}-whole", self.repository()), self.shared.within("whole"))
    }

    /// The indices that the target gets.
    pub(super) fn handovers(&self) -> Vec<Handover> {
        let docs = |part: &Part| part.loaded.as_ref().map_or(0, |(_, docs)| *docs);
        if let Some(whole) = &self.whole {
            let (repository, shared) = self.repository_of_whole();
            let docs = self.parts.iter().map(docs).sum();
            return vec![Handover { index: self.index.clone(), repository, shared, made: whole.made.clone(), docs }];
        }
        let handover = |(at, part): (usize, &Part)| {
            let (repository, shared) = self.repository_of(at);
            Handover { index: part.index.clone(), repository, shared, made: part.made.clone(), docs: docs(part) }
        };
        self.parts.iter().enumerate().map(handover).collect()
    }

    /// Whether everything is in repositories, as the target is to get it.
    pub(super) fn is_built(&self) -> bool {
        self.parts.iter().all(|part| part.snapshot) && self.whole.as_ref().is_none_or(|whole| whole.stitched)
    }

    fn repository(&self) -> String {
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
        let folder =
            folder.ok_or_else(|| refuse("a bake needs a state folder; name one with option `state`".to_owned()))?;
        let job = Job::new(config, source)?;
        let state = State::open(&folder, &job.key()).map_err(|error| match error {
            StateError::Io { .. } => refuse(format!("{error}; name another with option `state`")),
            StateError::Locked { .. } => BakeError::Load(LoadError::Busy(error.to_string())),
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
            format!(
                "cannot write down what is done in {}: {e}; make room, and continue with option `resume`",
                self.path().display()
            )
        })
    }

    /// The file.
    pub(super) fn path(&self) -> PathBuf {
        self.state.path().to_owned()
    }

    /// Where the load into the builder of a part keeps its checkpoints.
    pub(super) fn of_load(&self, id: &str, part: usize) -> PathBuf {
        self.folder.join(format!("load-{id}")).join(part.to_string())
    }

    /// Forgets how far the load into the builder of a part was.
    pub(super) fn forget_load(&self, id: &str, part: usize) -> Result<(), String> {
        delete(&self.of_load(id, part))
    }

    /// There is nothing to resume any more.
    pub(super) fn remove(&self, id: &str) -> Result<(), String> {
        delete(&self.folder.join(format!("load-{id}")))?;
        self.state.remove().map_err(|e| format!("cannot delete {}: {e}", self.path().display()))
    }
}

fn delete(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("cannot delete {}: {e}", folder.display())),
        _ => Ok(()),
    }
}

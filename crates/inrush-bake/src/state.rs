//! The record of a bake. Each action is recorded before it is done, so after any end of a run the
//! next one knows what exists and what has to be undone.

use std::path::{Path, PathBuf};

use inrush_cluster::api::snapshots::Identity;
use inrush_load::LoadError;
use inrush_load::Report;
use inrush_load::checkpoint::{Job, State, StateError};
use inrush_load::config::LoadConfig;
use inrush_load::cutover::Noted;
use inrush_node::Product;
use inrush_sources::{Source, StoreOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builder::Note;
use super::config::{BakeError, Engine, Layout};
use super::native;
use super::place::Shared;
use super::plan::Plan;
use super::report::BakeStep;
use super::throttle::Throttle;

/// The version of the file's format.
const FORMAT: u32 = 1;

/// The record of a bake.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    format: u32,
    pub(super) job: Job,
    /// A part of all names that this bake gives.
    pub(super) id: String,
    /// The index, or the alias of all indices.
    pub(super) index: String,
    /// What several builders build. `None` for one builder.
    pub(super) layout: Option<Layout>,
    /// The data stream to which the index will be attached.
    pub(super) data_stream: Option<String>,
    /// The swap, if the index takes the place of another one.
    pub(super) swap: Option<Noted>,
    /// How the index on the target is created.
    pub(super) plan: Plan,
    pub(super) shared: Shared,
    /// The parts that are built separately.
    pub(super) parts: Vec<Part>,
    /// The index that the shards are put into.
    pub(super) whole: Option<Whole>,
    /// For an index that is built in this process, without a builder.
    #[serde(default)]
    pub(super) native: Option<Native>,
    /// Why a builder is needed, where the options left the choice.
    #[serde(default)]
    pub(super) server_because: Option<String>,
    pub(super) steps: Vec<BakeStep>,
    /// Whether the target has the repositories, or may have them.
    pub(super) registered: bool,
    /// The former throttle, if the target's throttle is changed, or may be.
    pub(super) throttle: Option<Throttle>,
    /// Whether the target has the index, whole or in part, or may have it.
    pub(super) restoring: bool,
    /// Whether a request to publish the index got no reply, so that its outcome is unknown. Nothing
    /// is undone before it is known.
    #[serde(default)]
    pub(super) in_doubt: bool,
    /// Whether the target has the whole index. Then nothing is undone any more.
    pub(super) published: bool,
}

/// The part of one builder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    /// The servers. Several if they form one cluster.
    pub(super) nodes: Vec<Note>,
    /// The name of the index on the builder.
    pub(super) index: String,
    /// How the index is created on the builder.
    pub(super) plan: Plan,
    /// The index, once it is created.
    pub(super) made: Option<Identity>,
    /// The report of the load and the number of documents in the index, once the load has ended.
    pub(super) loaded: Option<(Box<Report>, u64)>,
    /// Whether the snapshot is complete.
    pub(super) snapshot: bool,
    /// For a part that is put together with others: the mapping of the index in the snapshot.
    pub(super) mapping: Value,
    /// Without a builder: the fields that documents have added to that mapping, as a mapping.
    #[serde(default)]
    pub(super) new_fields: Option<Value>,
}

/// An index without documents, whose shards are replaced by those of the parts. The first builder
/// creates it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Whole {
    pub(super) made: Option<Identity>,
    pub(super) snapshot: bool,
    /// Whether the shards are in their places.
    pub(super) stitched: bool,
}

/// A bake without a builder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Native {
    pub(super) product: Product,
    /// The version of the target's oldest node.
    pub(super) version: String,
    /// Whether the target has the repository for the index without documents, or may have it.
    pub(super) registered: bool,
    /// Whether the target has the index without documents, or may have it.
    pub(super) making: bool,
    /// Whether its snapshot is copied.
    pub(super) copied: bool,
    /// The file for dead letters, once the load may have written to it.
    pub(super) letters: Option<PathBuf>,
    /// The object that is written to an object store in parts, or may be.
    #[serde(default)]
    pub(super) upload: Option<native::Upload>,
    /// How this machine reaches the object store. There are no secrets among them.
    #[serde(default)]
    pub(super) options: StoreOptions,
    /// Whether other machines build shards, or may have begun to.
    #[serde(default)]
    pub(super) elsewhere: bool,
}

impl Native {
    /// One that has not begun. `version` is that of the target's oldest node.
    pub(super) fn new(product: Product, version: String, options: StoreOptions) -> Native {
        let (registered, making, copied) = (false, false, false);
        let (letters, upload, elsewhere) = (None, None, false);
        Native { product, version, registered, making, copied, letters, upload, options, elsewhere }
    }
}

/// An index that the target gets.
#[derive(Clone, Debug)]
pub(super) struct Handover {
    pub(super) index: String,
    /// The name of its repository on both sides.
    pub(super) repository: String,
    pub(super) shared: Shared,
    /// The index on the builder.
    pub(super) made: Option<Identity>,
    /// How many documents it must hold.
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
            native: None,
            server_because: None,
            steps: Vec::new(),
            registered: false,
            throttle: None,
            restoring: false,
            in_doubt: false,
            published: false,
        }
    }

    /// The name of a part's repository on both sides, and its location.
    pub(super) fn repository_of(&self, part: usize) -> (String, Shared) {
        match self.parts.len() {
            1 => (self.repository(), self.shared.clone()),
            _ => (format!("{}-{}", self.repository(), part + 1), self.shared.within(&format!("part-{}", part + 1))),
        }
    }

    /// The same for the index that the shards are put into.
    pub(super) fn repository_of_whole(&self) -> (String, Shared) {
        (format!("{}-whole", self.repository()), self.shared.within("whole"))
    }

    /// The indices that the target gets.
    pub(super) fn handovers(&self) -> Vec<Handover> {
        let docs = |part: &Part| part.loaded.as_ref().map_or(0, |(_, docs)| *docs);
        if self.native.is_some() {
            let (repository, shared) = self.repository_of_whole();
            let Part { made, .. } = &self.parts[0];
            let docs = docs(&self.parts[0]);
            return vec![Handover { index: self.index.clone(), repository, shared, made: made.clone(), docs }];
        }
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

    /// Whether everything for the target is in the repositories.
    pub(super) fn is_built(&self) -> bool {
        self.parts.iter().all(|part| part.snapshot) && self.whole.as_ref().is_none_or(|whole| whole.stitched)
    }

    /// What builds the index.
    pub(super) fn engine(&self) -> Engine {
        if self.native.is_some() { Engine::Native } else { Engine::Server }
    }

    /// What builds the index, for messages.
    pub(super) fn title(&self) -> String {
        let nodes: Vec<&Note> = self.parts.iter().flat_map(|part| &part.nodes).collect();
        match nodes.as_slice() {
            [] => native::title(),
            [one] => one.title(),
            [first, ..] => format!("{} x {}", nodes.len(), first.title()),
        }
    }

    fn repository(&self) -> String {
        format!("inrush-bake-{}", self.id)
    }
}

/// The record file of one bake, locked for this process.
#[derive(Debug)]
pub(super) struct Keep {
    state: State,
    folder: PathBuf,
}

impl Keep {
    /// Opens the file of the job, and reads the record of an earlier run.
    ///
    /// # Errors
    /// A folder that cannot be used, another running bake of the same job, a file that cannot be
    /// read.
    pub(super) fn open(config: &LoadConfig, source: &dyn Source) -> Result<(Keep, Job, Option<Saved>), BakeError> {
        let refuse = |why: String| BakeError::Load(LoadError::State(why));
        let folder = config.state.as_ref().map(|state| state.path.join("bakes"));
        let folder =
            folder.ok_or_else(|| refuse("a bake needs a state folder; name one with option `state`".to_owned()))?;
        let job = Job::new(config, source)?;
        let state = State::open(&folder, &job.key()).map_err(|error| match error {
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
        Ok((Keep { state, folder }, job, saved))
    }

    /// Writes the record. After this it survives a crash.
    ///
    /// # Errors
    /// An error if it cannot be written. Then the recorded action must not be done.
    pub(super) fn write(&self, saved: &Saved) -> Result<(), String> {
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
    pub(super) fn path(&self) -> PathBuf {
        self.state.path().to_owned()
    }

    /// The folder for the checkpoints of a part's load.
    pub(super) fn of_load(&self, id: &str, part: usize) -> PathBuf {
        self.folder.join(format!("load-{id}")).join(part.to_string())
    }

    /// Deletes the checkpoints of a part's load.
    pub(super) fn forget_load(&self, id: &str, part: usize) -> Result<(), String> {
        delete(&self.of_load(id, part))
    }

    /// Deletes the record: there is nothing to resume any more.
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

//! The checkpoint before the first document: find it, check it, and write the first new one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::clock::Instant;
use inrush_cluster::transport::Transport;
use inrush_core::Checkpoint;
use inrush_sources::{Repeats, Source};
use tokio::sync::mpsc::UnboundedSender;

use super::claim::{BEGUN, Claiming};
use super::job::Job;
use super::records::Kept;
use super::state::{CheckpointFile, Saved, StateError};
use super::{Checkpointer, uuid, write};
use crate::config::LoadConfig;
use crate::cutover::Noted;
use crate::dead_letter::{SavedLetters, SyncPoint, Unsynced};
use crate::error::LoadError;
use crate::event::Event;
use crate::told::Told;

/// The state of a job before it begins.
pub(crate) struct Opened {
    pub(super) state: CheckpointFile,
    pub(super) job: Job,
    /// The checkpoint to resume from.
    pub(crate) saved: Option<Saved>,
    /// With option `once`: why the load cannot resume from the checkpoint.
    pub(super) unusable: Option<String>,
    /// With option `once`: the record that the load will claim.
    pub(super) claiming: Option<Box<Claiming>>,
    /// With option `once`: the record of the load.
    pub(super) record: Option<Kept>,
}

/// Room for what a checkpoint learns of the index between [`Opened::reserve`] and
/// [`Opened::begin`], bytes: its name, UUID, size, count and fields with vectors.
const INDEX_BYTES: usize = 8 << 10;

/// Finds the job's checkpoint and locks it. `None` where the load keeps no checkpoints.
///
/// # Errors
/// [`LoadError::State`] with the remedy: an unusable folder, no checkpoint to resume from, or
/// changed options or sources. [`LoadError::Busy`] where another process runs the same load.
pub(crate) fn open(config: &LoadConfig, source: &dyn Source) -> Result<Option<Opened>, LoadError> {
    let Some(folder) = &config.state else { return Ok(None) };
    let info = source.describe();
    if info.repeats != Repeats::Always {
        return check_no_checkpoints(config, info.rows.is_some()).map(|()| None);
    }
    let job = Job::new(config, source)?;
    if config.once && job.sources.iter().any(|source| source.index_uuid.is_some()) {
        return Err(refuse(
            "option `once` cannot detect changes of a source index; leave option `once` out (the documents keep their ids, so a repeated copy stores each once), or give option `resume` to resume an interrupted copy",
        ));
    }
    let path = folder.path.join("checkpoints");
    // A load that does not need the folder goes on without it.
    let unusable = |why: String, remedy: &str| {
        if folder.required || config.resume || config.once {
            return Err(refuse(format!("{why}; {remedy}")));
        }
        config.told.warn(format!(
            "{why}; this load keeps no checkpoints and cannot be resumed; name another folder with option `state`"
        ));
        Ok(None)
    };
    let state = match CheckpointFile::open(&path, &job.key()) {
        Ok(state) => state,
        Err(e @ StateError::Io { .. }) => return unusable(e.to_string(), "name another folder with option `state`"),
        Err(e @ StateError::Owned { .. }) => return unusable(e.to_string(), AS_OWNER),
        Err(e @ StateError::Locked { .. }) => return Err(LoadError::Busy(e.to_string())),
    };
    let found = state.read();
    if let Some(owner) = state.other_owner() {
        if let Err(why) = &found {
            return unusable(format!("{why}; it belongs to {owner}, whose load was interrupted"), AS_OWNER);
        }
        // Without the checkpoint its owner could only load from the beginning.
        if !config.resume && !config.once {
            let why = format!(
                "this load would replace the checkpoint {} of {owner}, whose load was interrupted",
                state.path().display()
            );
            let remedy = "give option `resume` to continue that load; to load from the beginning, delete the checkpoint or name another folder with option `state`";
            return unusable(why, remedy);
        }
    }
    if config.once {
        return Ok(Some(Opened::once(state, job, found)));
    }
    if !config.resume {
        warn_of_earlier_run(&config.told, found, &job);
        return Ok(Some(Opened::new(state, job, None)));
    }
    Opened::resumed(state, job, found, &path).map(Some)
}

/// Refuses options that need checkpoints, for a source that cannot be read again in the same order.
fn check_no_checkpoints(config: &LoadConfig, is_query: bool) -> Result<(), LoadError> {
    if config.once {
        return Err(refuse(
            "option `once` needs sources that can be read again in the same order; stdin, Postgres, MySQL and a query without ORDER BY its id cannot; load files, or leave option `once` out (with option `id` a repeated load stores each document once)",
        ));
    }
    if config.resume && is_query {
        return Err(refuse(
            "only a query of files that ends with ORDER BY the id field (option `id`) has a checkpoint to resume from: without a fixed order, documents that were never sent would be skipped; load again without option `resume` (with option `id` a repeated load stores each document once)",
        ));
    }
    if config.resume {
        return Err(refuse(
            "this source has no checkpoint to resume from, because it can be read only once (such as stdin) or has no fixed order (such as Postgres and MySQL); load files, or load again without option `resume` (with option `id` a repeated load stores each document once)",
        ));
    }
    Ok(())
}

/// Warns that this run starts from the beginning although an interrupted run left a checkpoint.
fn warn_of_earlier_run(told: &Told, found: Result<Option<Saved>, String>, job: &Job) {
    match found {
        Ok(None) => {}
        Ok(Some(saved)) => {
            let index = saved.swap.map(|noted| format!("; its index {} is kept", noted.index()));
            let resumable = saved.job.differences(job).is_empty();
            // Of the log only: this run makes up for the earlier one.
            tracing::warn!(
                "an earlier run of this load has read {} documents and did not end complete; this run starts from the beginning{}{}",
                saved.progress.counts.docs_read,
                if resumable { " (option `resume` would continue it)" } else { "" },
                index.unwrap_or_default()
            );
        }
        Err(why) => told.warn(format!("{why}; a new checkpoint replaces it")),
    }
}

/// What a user does whose checkpoint cannot be read.
const FROM_BEGINNING: &str =
    "leave option `resume` out to load from the beginning (with option `id` no document is duplicated)";

/// What a user does who may not use the files of another one. No file of a state folder may be read
/// by others, because it may quote documents, unless its owner allows it.
const AS_OWNER: &str = "start this load as that user, or let this user read and write the files of this load there (they may quote documents)";

pub(super) fn refuse(why: impl Into<String>) -> LoadError {
    LoadError::State(why.into())
}

/// State of the load when a run begins.
pub(crate) struct FirstCheckpoint<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) started: Instant,
    /// Documents of the fixed index.
    pub(crate) before: Option<u64>,
    /// Those of them with a vector, by field.
    pub(crate) vectors_before: BTreeMap<String, u64>,
    /// The index of all documents, where one is known.
    pub(crate) index: Option<&'a str>,
    /// Its size.
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    pub(crate) letters: SyncPoint,
    pub(crate) swap: Option<Noted>,
}

impl Opened {
    fn new(state: CheckpointFile, job: Job, saved: Option<Saved>) -> Self {
        Opened { state, job, saved, unusable: None, claiming: None, record: None }
    }

    /// The state of a load with option `once`.
    fn once(state: CheckpointFile, job: Job, found: Result<Option<Saved>, String>) -> Self {
        let (saved, unusable) = match found {
            Ok(None) => (None, None),
            Ok(Some(saved)) => {
                let differences = saved.job.differences(&job);
                let why = || format!("this is not the interrupted load: {}", differences.join("; "));
                let unusable = (!differences.is_empty()).then(why);
                (Some(saved), unusable)
            }
            Err(why) => (None, Some(why)),
        };
        Opened { unusable, ..Opened::new(state, job, saved) }
    }

    /// The state of a load with option `resume`.
    fn resumed(
        state: CheckpointFile,
        job: Job,
        found: Result<Option<Saved>, String>,
        folder: &Path,
    ) -> Result<Self, LoadError> {
        let Some(saved) = found.map_err(|why| refuse(format!("{why}; {FROM_BEGINNING}")))? else {
            let others = match state.others() {
                others if others.is_empty() => String::new(),
                others => format!("; loads that can be resumed: {}", others.join("; ")),
            };
            return Err(refuse(format!(
                "there is no checkpoint of this load in {}: the load never began, finished, or had another index, cluster, action, id or other sources; leave option `resume` out to load from the beginning{others}",
                folder.display()
            )));
        };
        let differences = saved.job.differences(&job);
        if !differences.is_empty() {
            return Err(refuse(format!(
                "this is not the interrupted load: {}; undo these changes, or leave option `resume` out to load from the beginning",
                differences.join("; ")
            )));
        }
        Ok(Opened::new(state, job, Some(saved)))
    }

    /// Restores the record where the load does not begin.
    pub(crate) async fn withdraw(self) {
        if let Some(record) = self.record {
            record.withdraw().await;
        }
    }

    /// Takes the room of the first checkpoint on the disk, before the load changes anything in the
    /// cluster. Returns false where that is not possible and not required.
    ///
    /// # Errors
    /// [`LoadError::State`] where it is required.
    pub(crate) fn reserve(
        &self,
        config: &LoadConfig,
        run_id: &str,
        letters: &SavedLetters,
        swap: Option<&Noted>,
    ) -> Result<bool, LoadError> {
        let first = self.first(run_id, letters, swap.cloned());
        let reserved = serde_json::to_vec(&first)
            .map_err(std::io::Error::from)
            .and_then(|text| self.state.reserve(text.len() + INDEX_BYTES));
        match reserved {
            Ok(()) => Ok(true),
            Err(error) => cannot_write(config, &self.state, &error).map(|()| false),
        }
    }

    /// The first checkpoint of this run, without what is known of the index.
    fn first(&self, run_id: &str, letters: &SavedLetters, swap: Option<Noted>) -> Saved {
        let mut saved = self.saved.clone().unwrap_or_else(|| Saved {
            job: self.job.clone(),
            runs: Vec::new(),
            seconds: 0.0,
            before: None,
            vectors_before: BTreeMap::new(),
            before_each: BTreeMap::new(),
            sizes_before: BTreeMap::new(),
            indices: BTreeMap::new(),
            dead_letters: letters.clone(),
            swap,
            progress: Checkpoint::default(),
        });
        saved.job = self.job.clone();
        saved.runs.push(run_id.to_owned());
        saved.dead_letters = letters.clone();
        saved
    }

    /// Writes the first checkpoint, which replaces an earlier one that is not resumed. `None` where
    /// that is not possible and not required.
    pub(crate) async fn begin(
        mut self,
        config: &LoadConfig,
        transport: Arc<Transport>,
        events: UnboundedSender<Event>,
        first: FirstCheckpoint<'_>,
    ) -> Result<Option<Checkpointer>, LoadError> {
        let (record, started) = (self.record.take(), first.started);
        let written = self.write_first(config, &transport, first).await;
        let kept = match (record, &written) {
            (Some(record), Ok(Some((_, saved)))) => {
                let events = events.clone();
                let overtaken = move || drop(events.send(Event::Overtaken));
                let Some(kept) = record.sends(saved.indices.clone(), overtaken).await? else {
                    return Err(LoadError::Busy(BEGUN.to_owned()));
                };
                Some(kept)
            }
            (Some(record), _) => {
                record.withdraw().await;
                None
            }
            (None, _) => None,
        };
        // Documents are sent while a later checkpoint is written.
        let brief = Arc::new(transport.brief());
        Ok(written?.map(|(state, saved)| Checkpointer::new(state, brief, events, saved, config, started, kept)))
    }

    async fn write_first(
        self,
        config: &LoadConfig,
        transport: &Transport,
        first: FirstCheckpoint<'_>,
    ) -> Result<Option<(Arc<CheckpointFile>, Saved)>, LoadError> {
        let FirstCheckpoint { run_id, before, vectors_before, index, sizes_before, letters, swap, .. } = first;
        let mut saved = self.first(run_id, &letters.saved, swap);
        if self.saved.is_none() {
            (saved.before, saved.vectors_before, saved.sizes_before) = (before, vectors_before, sizes_before);
        }
        if let Some(index) = index
            && !saved.indices.contains_key(index)
        {
            if !saved.indices.is_empty() {
                let before: Vec<&str> = saved.indices.keys().map(String::as_str).collect();
                config.told.warn(format!(
                    "documents go to {index} now; those of the interrupted run went to {}",
                    before.join(", ")
                ));
            }
            saved.indices.insert(index.to_owned(), uuid(transport, index).await?);
        }
        let state = Arc::new(self.state);
        match write(Arc::clone(&state), saved.clone(), Unsynced::default()).await {
            Ok(()) => Ok(Some((state, saved))),
            Err(error) => cannot_write(config, &state, &error).map(|()| None),
        }
    }
}

/// Refuses a load whose first checkpoint cannot be written, or warns that it cannot be resumed.
fn cannot_write(config: &LoadConfig, state: &CheckpointFile, error: &std::io::Error) -> Result<(), LoadError> {
    let why = format!("cannot write the checkpoint {}: {error}", state.path().display());
    if config.state.as_ref().is_some_and(|folder| folder.required) || config.resume || config.once {
        return Err(refuse(format!("{why}; free disk space, or name another folder with option `state`")));
    }
    config.told.warn(format!("{why}; this load cannot be resumed"));
    Ok(())
}

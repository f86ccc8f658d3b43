//! The checkpoint before the first document: find it, check it, and write the first new one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::transport::Transport;
use inrush_core::Checkpoint;
use inrush_sources::{Repeats, Source};
use tokio::sync::mpsc::UnboundedSender;

use super::claim::BEGUN;
use super::job::Job;
use super::records::Kept;
use super::state::{Saved, State, StateError};
use super::{Checkpointer, uuid, write};
use crate::config::LoadConfig;
use crate::cutover::Noted;
use crate::dead_letter::{SyncPoint, Unsynced};
use crate::error::LoadError;
use crate::event::Event;

/// The state of a job before it begins.
pub(crate) struct Opened {
    pub(super) state: State,
    pub(super) job: Job,
    /// The checkpoint to resume from.
    pub(crate) saved: Option<Saved>,
    /// With option `once`: why the load cannot resume from the checkpoint.
    pub(super) unusable: Option<String>,
    /// With option `once`: the record of the load.
    pub(super) record: Option<Kept>,
}

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
    let state = match State::open(&path, &job.key()) {
        Ok(state) => state,
        Err(e @ StateError::Io { .. }) if !folder.required && !config.resume && !config.once => {
            tracing::warn!(
                "{e}; this load keeps no checkpoints and cannot be resumed; name another folder with option `state`"
            );
            return Ok(None);
        }
        Err(e @ StateError::Io { .. }) => return Err(refuse(format!("{e}; name another folder with option `state`"))),
        Err(e @ StateError::Locked { .. }) => return Err(LoadError::Busy(e.to_string())),
    };
    let found = state.read();
    if config.once {
        return Ok(Some(Opened::once(state, job, found)));
    }
    if !config.resume {
        warn_of_earlier_run(found, &job);
        return Ok(Some(Opened { state, job, saved: None, unusable: None, record: None }));
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
fn warn_of_earlier_run(found: Result<Option<Saved>, String>, job: &Job) {
    match found {
        Ok(None) => {}
        Ok(Some(saved)) => {
            let index = saved.swap.map(|noted| format!("; its index {} is kept", noted.index()));
            let resumable = saved.job.differences(job).is_empty();
            tracing::warn!(
                "an earlier run of this load was interrupted after {} documents; this run starts from the beginning{}{}",
                saved.progress.counts.docs_read,
                if resumable { " (option `resume` would continue it)" } else { "" },
                index.unwrap_or_default()
            );
        }
        Err(why) => tracing::warn!("{why}; a new checkpoint replaces it"),
    }
}

pub(super) fn refuse(why: impl Into<String>) -> LoadError {
    LoadError::State(why.into())
}

/// State of the load when a run begins.
pub(crate) struct FirstCheckpoint<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) started: Instant,
    /// Documents of the fixed index.
    pub(crate) before: Option<u64>,
    /// The index of all documents, where one is known.
    pub(crate) index: Option<&'a str>,
    /// Its size.
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    pub(crate) letters: SyncPoint,
    pub(crate) swap: Option<Noted>,
}

impl Opened {
    /// The state of a load with option `once`.
    fn once(state: State, job: Job, found: Result<Option<Saved>, String>) -> Self {
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
        Opened { state, job, saved, unusable, record: None }
    }

    /// The state of a load with option `resume`.
    fn resumed(state: State, job: Job, found: Result<Option<Saved>, String>, folder: &Path) -> Result<Self, LoadError> {
        let Some(saved) = found.map_err(|why| refuse(format!("{why}; load again without option `resume`")))? else {
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
        Ok(Opened { state, job, saved: Some(saved), unusable: None, record: None })
    }

    /// Restores the record where the load does not begin.
    pub(crate) async fn withdraw(self) {
        if let Some(record) = self.record {
            record.withdraw().await;
        }
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
        Ok(written?.map(|(state, saved)| Checkpointer::new(state, transport, events, saved, config, started, kept)))
    }

    async fn write_first(
        self,
        config: &LoadConfig,
        transport: &Transport,
        first: FirstCheckpoint<'_>,
    ) -> Result<Option<(Arc<State>, Saved)>, LoadError> {
        let Opened { state, job, saved, .. } = self;
        let FirstCheckpoint { run_id, before, index, sizes_before, letters, swap, .. } = first;
        let mut saved = saved.unwrap_or_else(|| Saved {
            job: job.clone(),
            runs: Vec::new(),
            seconds: 0.0,
            before,
            before_each: BTreeMap::new(),
            sizes_before,
            indices: BTreeMap::new(),
            dead_letters: letters.saved.clone(),
            swap,
            progress: Checkpoint::default(),
        });
        saved.job = job;
        saved.runs.push(run_id.to_owned());
        saved.dead_letters = letters.saved;
        if let Some(index) = index
            && !saved.indices.contains_key(index)
        {
            if !saved.indices.is_empty() {
                let before: Vec<&str> = saved.indices.keys().map(String::as_str).collect();
                tracing::warn!(
                    "documents go to {index} now; those of the interrupted run went to {}",
                    before.join(", ")
                );
            }
            saved.indices.insert(index.to_owned(), uuid(transport, index).await?);
        }
        let state = Arc::new(state);
        if let Err(e) = write(Arc::clone(&state), saved.clone(), Unsynced::default()).await {
            let why = format!("cannot write the checkpoint {}: {e}", state.path().display());
            if config.state.as_ref().is_some_and(|folder| folder.required) || config.resume || config.once {
                return Err(refuse(format!("{why}; free disk space, or name another folder with option `state`")));
            }
            tracing::warn!("{why}; this load cannot be resumed");
            return Ok(None);
        }
        Ok(Some((state, saved)))
    }
}

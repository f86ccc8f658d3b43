//! Before the first document: is there a checkpoint, may this load go on from it, and can others be written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use inrush_core::Checkpoint;
use tokio::sync::mpsc::UnboundedSender;

use super::job::Job;
use super::state::{Saved, State, StateError};
use super::{Checkpointer, uuid, write};
use crate::cluster::index;
use crate::cluster::stats::IndexStats;
use crate::config::LoadConfig;
use crate::dead_letter::SyncPoint;
use crate::error::LoadError;
use crate::finish::Noted;
use crate::run::Event;
use crate::source::{Repeats, Source};
use crate::transport::Transport;

/// The state of a job that has not begun.
pub(crate) struct Opened {
    state: State,
    job: Job,
    /// The checkpoint to go on from.
    pub(crate) saved: Option<Saved>,
}

/// Looks for the job's checkpoint and locks it. `None` where there will be none.
///
/// # Errors
/// [`LoadError::State`] with what to do: a folder that cannot be used, another loader of the same job, nothing to resume, or something
/// that was changed since.
pub(crate) fn open(config: &LoadConfig, source: &dyn Source) -> Result<Option<Opened>, LoadError> {
    let Some(folder) = &config.state else { return Ok(None) };
    if source.repeats() != Repeats::Always {
        if config.resume {
            return Err(refuse(
                "a source that can be read only once, such as stdin, has no checkpoint to resume from; load files, or load again without --resume (with --id no document is there twice)",
            ));
        }
        return Ok(None);
    }
    let job = Job::new(config, source)?;
    let path = folder.path.join("checkpoints");
    let state = match State::open(&path, &job.key()) {
        Ok(state) => state,
        Err(e @ StateError::Io { .. }) if !folder.required && !config.resume => {
            tracing::warn!("{e}; no checkpoint is kept, and this load cannot be resumed; name another with --state");
            return Ok(None);
        }
        Err(e @ StateError::Io { .. }) => return Err(refuse(format!("{e}; name another with --state"))),
        Err(e @ StateError::Locked { .. }) => return Err(refuse(e.to_string())),
    };
    let found = state.read();
    if !config.resume {
        match found {
            Ok(None) => {}
            Ok(Some(saved)) => {
                let index = saved.swap.map(|noted| format!("; its index {} is left as it is", noted.index()));
                tracing::warn!(
                    "an earlier run of this load was cut off after {} documents; this one starts from the beginning, --resume would go on{}",
                    saved.progress.counts.docs_read,
                    index.unwrap_or_default()
                );
            }
            Err(why) => tracing::warn!("{why}; it is replaced"),
        }
        return Ok(Some(Opened { state, job, saved: None }));
    }
    let Some(saved) = found.map_err(|why| refuse(format!("{why}; load again without --resume")))? else {
        let others = match state.others() {
            others if others.is_empty() => String::new(),
            others => format!(". What can be resumed: {}", others.join("; ")),
        };
        return Err(refuse(format!(
            "there is no checkpoint of this load in {}: it never began, came to its end, or had another index, cluster, action, id or other sources; leave --resume out to load from the beginning{others}",
            path.display()
        )));
    };
    let differences = saved.job.differences(&job);
    if !differences.is_empty() {
        return Err(refuse(format!(
            "this is not the load that was cut off: {}; restore that, or leave --resume out to load from the beginning",
            differences.join("; ")
        )));
    }
    Ok(Some(Opened { state, job, saved: Some(saved) }))
}

fn refuse(why: impl Into<String>) -> LoadError {
    LoadError::State(why.into())
}

/// Whether the indices that took documents are still the same ones.
pub(crate) async fn check_indices(saved: &Saved, transport: &Transport) -> Result<(), LoadError> {
    for (name, before) in &saved.indices {
        let Some(before) = before else { continue };
        let problem = match index::uuids(transport, name).await {
            // What may not be looked at any more may still be written to.
            Err(e) if e.status() == Some(403) => continue,
            found => match found?.get(name) {
                Some(now) if now == before => continue,
                Some(_) => "was deleted and made anew",
                None => "does not exist any more",
            },
        };
        return Err(refuse(format!(
            "the index {name} {problem} since the load was cut off, so what was loaded is gone; leave --resume out to load from the beginning"
        )));
    }
    Ok(())
}

/// What is known when a run begins.
pub(crate) struct Beginning<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) started: Instant,
    /// Documents that the fixed index held.
    pub(crate) before: Option<u64>,
    /// The index that takes documents, where it is known.
    pub(crate) index: Option<&'a str>,
    /// What it is like.
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    pub(crate) letters: SyncPoint,
    pub(crate) swap: Option<Noted>,
}

impl Opened {
    /// Writes the first checkpoint, which replaces one that is not gone on from. `None` where that is not possible and not required.
    pub(crate) async fn begin(
        self,
        config: &LoadConfig,
        transport: Arc<Transport>,
        events: UnboundedSender<Event>,
        beginning: Beginning<'_>,
    ) -> Result<Option<Checkpointer>, LoadError> {
        let Opened { state, job, saved } = self;
        let Beginning { run_id, started, before, index, sizes_before, letters, swap } = beginning;
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
                    "documents go to {index} now; those of the run that was cut off went to {}",
                    before.join(", ")
                );
            }
            saved.indices.insert(index.to_owned(), uuid(&transport, index).await?);
        }
        let state = Arc::new(state);
        if let Err(e) = write(Arc::clone(&state), saved.clone(), None).await {
            let why = format!("cannot write the checkpoint {}: {e}", state.path().display());
            if config.state.as_ref().is_some_and(|folder| folder.required) || config.resume {
                return Err(refuse(format!("{why}; make room, or name another folder with --state")));
            }
            tracing::warn!("{why}; this load cannot be resumed");
            return Ok(None);
        }
        Ok(Some(Checkpointer::new(state, transport, events, saved, config, started)))
    }
}

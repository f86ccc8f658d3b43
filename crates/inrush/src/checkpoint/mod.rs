//! Checkpoints: when they are written, and what is checked before a load goes on from one. What they hold is decided in
//! `inrush-core` ([`inrush_core::Checkpoint`]).
//!
//! A block of documents may be sent only when a checkpoint on disk says so (its horizon), so the horizon is moved ahead early, by about
//! what is sent between two checkpoints, in a task of its own. A write that fails ends the run: nothing beyond the last horizon was sent, so the
//! checkpoint on disk stays true.

mod job;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_core::ledger::Partition;
use inrush_core::{Checkpoint, Flow, ItemBlock};
use tokio::sync::mpsc::UnboundedSender;

use crate::cluster::{ClusterError, index};
use crate::config::LoadConfig;
use crate::dead_letter::SyncPoint;
use crate::error::LoadError;
use crate::run::Event;
use crate::source::{Repeats, Source};
use crate::transport::Transport;
use job::Job;
pub(crate) use state::{Saved, SavedLetters};
use state::{State, StateError};

/// The horizon is so far ahead at least, bytes of documents.
const STEP_BYTES_MIN: u64 = 256 << 10;
/// The horizon is no further ahead, bytes of documents: after a crash all of it is sent again.
const STEP_BYTES_MAX: u64 = 64 << 20;

/// A rate is judged over so long a time at least: at the beginning blocks come as fast as they are read, not as they are sent.
const RATE_WINDOW_MIN: Duration = Duration::from_millis(250);

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
    let state = match State::open(&folder.path, &job.key()) {
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
            Ok(Some(saved)) => tracing::warn!(
                "an earlier run of this load was cut off after {} documents; this one starts from the beginning, --resume would go on",
                saved.progress.counts.docs_read
            ),
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
            folder.path.display()
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

/// What tells the index from a later one of the same name; `None` where it does not exist or may not be looked at.
async fn uuid(transport: &Transport, name: &str) -> Result<Option<String>, ClusterError> {
    match index::uuids(transport, name).await {
        Ok(mut uuids) => Ok(uuids.remove(name)),
        Err(e) if e.status() == Some(403) => Ok(None),
        Err(e) => Err(e),
    }
}

/// What is known when a run begins.
pub(crate) struct Beginning<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) started: Instant,
    /// Documents that the fixed index held.
    pub(crate) before: Option<u64>,
    /// The index that takes documents, where it is known.
    pub(crate) index: Option<&'a str>,
    pub(crate) letters: SyncPoint,
}

/// Writes checkpoints while a load goes on.
pub(crate) struct Checkpointer {
    state: Arc<State>,
    transport: Arc<Transport>,
    events: UnboundedSender<Event>,
    saved: Saved,
    seconds_before: f64,
    started: Instant,
    writing: bool,
    last_write: Instant,
    last_took: Duration,
    settled: u64,
    /// Bytes that were admitted since the last write.
    admitted: u64,
    /// Where the last block that was admitted ends, and how far ahead the horizon was set.
    at: Option<(Partition, u64)>,
    step_docs: u64,
    every: Duration,
}

/// A write that has ended.
pub(crate) struct Written {
    result: Result<Checkpoint, String>,
    indices: BTreeMap<String, Option<String>>,
    took: Duration,
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
        let Beginning { run_id, started, before, index, letters } = beginning;
        let mut saved = saved.unwrap_or_else(|| Saved {
            job: job.clone(),
            runs: Vec::new(),
            seconds: 0.0,
            before,
            before_each: BTreeMap::new(),
            indices: BTreeMap::new(),
            dead_letters: letters.saved.clone(),
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
        let seconds_before = saved.seconds;
        Ok(Some(Checkpointer {
            state,
            transport,
            events,
            settled: saved.progress.counts.docs_read,
            saved,
            seconds_before,
            started,
            writing: false,
            last_write: Instant::now(),
            last_took: Duration::ZERO,
            admitted: 0,
            at: None,
            step_docs: 0,
            every: config.state.as_ref().map_or(Duration::ZERO, |folder| folder.every),
        }))
    }
}

impl Checkpointer {
    /// A block was admitted.
    pub(crate) fn admitted(&mut self, block: &ItemBlock) {
        self.admitted += block.body.len() as u64;
        self.at = Some((block.partition(), block.origin.first_doc + u64::from(block.len())));
    }

    /// An index that a placeholder named was counted.
    pub(crate) fn counted(&mut self, index: &str, before: Option<u64>) {
        self.saved.before_each.insert(index.to_owned(), before);
    }

    /// Whether one is to be written now. `waiting`: blocks that are to be admitted next.
    /// `read_all`: no others will come.
    pub(crate) fn is_due(&self, flow: &Flow, waiting: &VecDeque<ItemBlock>, read_all: bool) -> bool {
        if self.writing || flow.stopped().is_some() {
            return false;
        }
        let blocked = waiting.front().is_some_and(|block| !flow.may_take(block));
        let half_used =
            !read_all && self.at.is_some_and(|(partition, at)| flow.horizon(partition) < at + self.step_docs / 2);
        let progress = flow.counts().docs_read != self.settled && self.last_write.elapsed() >= self.every;
        blocked || flow.repeats_wait() || half_used || progress
    }

    /// Begins to write one; [`Event::Checkpoint`] tells how it went. `letters`: the dead letters so far, none of which is only counted.
    pub(crate) fn start(&mut self, flow: &Flow, waiting: &VecDeque<ItemBlock>, read_all: bool, letters: SyncPoint) {
        let mut saved = self.snapshot(&letters);
        saved.progress = flow.checkpoint(&self.horizons(waiting, read_all));
        self.settled = saved.progress.counts.docs_read;
        self.last_write = Instant::now();
        self.writing = true;
        let (state, transport, events) = (Arc::clone(&self.state), Arc::clone(&self.transport), self.events.clone());
        tokio::spawn(async move {
            let begun = Instant::now();
            // What settles in an index is worth nothing if that is another one later, so its identity comes along.
            for name in saved.progress.indices.keys() {
                if !saved.indices.contains_key(name) {
                    // Whatever keeps us from looking it up keeps nobody from loading.
                    let uuid = uuid(&transport, name).await.unwrap_or_default();
                    saved.indices.insert(name.clone(), uuid);
                }
            }
            let indices = saved.indices.clone();
            let progress = saved.progress.clone();
            let path = state.path().to_owned();
            let result = match write(state, saved, letters.file).await {
                Ok(()) => Ok(progress),
                Err(e) => Err(format!(
                    "cannot write the checkpoint {}: {e}; nothing was sent that the last one does not allow: make room, then load again with --resume",
                    path.display()
                )),
            };
            let _ = events.send(Event::Checkpoint(Written { result, indices, took: begun.elapsed() }));
        });
    }

    /// A write has ended: the checkpoint, or why there is none.
    pub(crate) fn ended(&mut self, written: Written) -> Result<Checkpoint, String> {
        self.writing = false;
        self.saved.indices = written.indices;
        self.last_took = written.took;
        written.result
    }

    /// Whether a write is under way.
    pub(crate) fn is_writing(&self) -> bool {
        self.writing
    }

    /// Writes the last one, when nothing is under way any more.
    pub(crate) async fn finish(&self, last: Checkpoint, letters: SyncPoint) -> Result<(), String> {
        let mut saved = self.snapshot(&letters);
        saved.progress = last;
        write(Arc::clone(&self.state), saved, letters.file).await.map_err(|e| {
            format!(
                "the last checkpoint could not be written to {}: {e}; --resume goes on from the one before",
                self.state.path().display()
            )
        })
    }

    /// There is nothing to resume any more.
    pub(crate) fn remove(&self) {
        if let Err(e) = self.state.remove() {
            tracing::warn!("cannot remove the checkpoint {}, which has had its day: {e}", self.state.path().display());
        }
    }

    /// The checkpoint's file.
    pub(crate) fn path(&self) -> PathBuf {
        self.state.path().to_owned()
    }

    /// How long earlier runs took, s.
    pub(crate) fn seconds_before(&self) -> f64 {
        self.seconds_before
    }

    /// Whether this run goes on from an earlier one.
    pub(crate) fn is_resumed(&self) -> bool {
        self.saved.runs.len() > 1
    }

    fn snapshot(&self, letters: &SyncPoint) -> Saved {
        Saved {
            seconds: self.seconds_before + self.started.elapsed().as_secs_f64(),
            dead_letters: letters.saved.clone(),
            ..self.saved.clone()
        }
    }

    /// How far documents may be sent after the next checkpoint: all that waits, and in the partition that is being read about as much as
    /// is sent until the one after that.
    fn horizons(&mut self, waiting: &VecDeque<ItemBlock>, read_all: bool) -> BTreeMap<Partition, u64> {
        let mut horizons: BTreeMap<Partition, u64> = BTreeMap::new();
        for block in waiting {
            let end = block.origin.first_doc + u64::from(block.len());
            horizons.entry(block.partition()).and_modify(|h| *h = end.max(*h)).or_insert(end);
        }
        let elapsed = self.last_write.elapsed().max(RATE_WINDOW_MIN).as_secs_f64();
        let rate = std::mem::take(&mut self.admitted) as f64 / elapsed;
        let ahead = self.every.max(4 * self.last_took);
        let step_bytes = ((rate * ahead.as_secs_f64()) as u64).clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
        let last = waiting.back().filter(|block| !block.is_empty());
        if let Some(block) = last {
            let bytes = (block.body.len() as u64 / u64::from(block.len())).max(1);
            self.step_docs = step_bytes.div_ceil(bytes);
        }
        let at = last.map(|b| (b.partition(), b.origin.first_doc + u64::from(b.len()))).or(self.at);
        if let (Some((partition, end)), false) = (at, read_all) {
            horizons.insert(partition, end + self.step_docs);
        }
        horizons
    }
}

/// Writes a checkpoint, dead letters first.
async fn write(state: Arc<State>, saved: Saved, letters: Option<std::fs::File>) -> std::io::Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        if let Some(letters) = letters {
            letters.sync_all()?;
        }
        state.write(&saved)
    });
    // Cancelled only with the whole runtime.
    written.await.unwrap_or_else(|e| Err(std::io::Error::other(e)))
}

//! The checkpoints of a running load: when one is due, its horizons, and its write beside the load.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::transport::Transport;
use inrush_core::ledger::Partition;
use inrush_core::{Checkpoint, Flow, ItemBlock};
use tokio::sync::mpsc::UnboundedSender;

use super::records::Kept;
use super::state::{CheckpointFile, Saved};
use super::{uuid, write};
use crate::config::LoadConfig;
use crate::cutover::ResumeCommand;
use crate::dead_letter::SyncPoint;
use crate::event::{Event, Written};
use crate::report::Report;

/// Smallest distance of the horizon, bytes of documents.
const STEP_BYTES_MIN: u64 = 256 << 10;
/// Largest distance of the horizon, bytes of documents. After a crash all of them are sent again.
const STEP_BYTES_MAX: u64 = 64 << 20;

/// Largest number of partitions with horizons. More partitions at the same time cost more
/// checkpoints.
const PARTITIONS_AT_ONCE: usize = 16;

/// Shortest time that a rate is measured over. At the start, blocks come as fast as they are read,
/// and not as they are sent.
const RATE_WINDOW_MIN: Duration = Duration::from_millis(250);

/// Writes the checkpoints of a running load.
pub(crate) struct Checkpointer {
    state: Arc<CheckpointFile>,
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
    /// End of the last admitted block of each partition that is being read, the most recent last.
    at: Vec<(Partition, u64)>,
    step_docs: u64,
    every: Duration,
    /// With option `once`: the record of the load.
    kept: Option<Kept>,
}

impl Checkpointer {
    /// A checkpointer whose first checkpoint, `saved`, is on disk.
    pub(super) fn new(
        state: Arc<CheckpointFile>,
        transport: Arc<Transport>,
        events: UnboundedSender<Event>,
        saved: Saved,
        config: &LoadConfig,
        started: Instant,
        kept: Option<Kept>,
    ) -> Self {
        Checkpointer {
            state,
            transport,
            events,
            seconds_before: saved.seconds,
            settled: saved.progress.counts.docs_read,
            saved,
            started,
            writing: false,
            last_write: clock::now(),
            last_took: Duration::ZERO,
            admitted: 0,
            at: Vec::new(),
            step_docs: 0,
            every: config.state.as_ref().map_or(Duration::ZERO, |folder| folder.every),
            kept,
        }
    }

    /// Handles an admitted block.
    pub(crate) fn admitted(&mut self, block: &ItemBlock) {
        self.admitted += block.body.len() as u64;
        note(&mut self.at, block);
    }

    /// Handles the count of an index that a placeholder named.
    pub(crate) fn counted(&mut self, index: &str, before: Option<u64>) {
        self.saved.before_each.insert(index.to_owned(), before);
    }

    /// Handles the size of an index of a placeholder before the load.
    pub(crate) fn sized(&mut self, index: &str, size: IndexStats) {
        self.saved.sizes_before.entry(index.to_owned()).or_insert(size);
    }

    /// Whether a checkpoint is due. `waiting` has the blocks that are admitted next, and `read_all`
    /// says that no others will come.
    pub(crate) fn is_due(&self, flow: &Flow, waiting: &VecDeque<ItemBlock>, read_all: bool) -> bool {
        if self.writing || flow.stopped().is_some() {
            return false;
        }
        let blocked = waiting.front().is_some_and(|block| !flow.may_take(block));
        let half_used =
            !read_all && self.at.iter().any(|(partition, at)| flow.horizon(*partition) < at + self.step_docs / 2);
        let progress = flow.counts().docs_read != self.settled && self.last_write.elapsed() >= self.every;
        blocked || flow.has_waiting_repeats() || half_used || progress
    }

    /// Begins to write a checkpoint. [`Event::Checkpoint`] reports the result. `letters` contains
    /// all dead letters so far.
    pub(crate) fn start(&mut self, flow: &Flow, waiting: &VecDeque<ItemBlock>, read_all: bool, letters: SyncPoint) {
        let mut saved = self.snapshot(&letters);
        saved.progress = flow.checkpoint(&self.horizons(waiting, read_all));
        self.settled = saved.progress.counts.docs_read;
        self.last_write = clock::now();
        self.writing = true;
        let command = self.resume_command();
        let (state, transport, events) = (Arc::clone(&self.state), Arc::clone(&self.transport), self.events.clone());
        tokio::spawn(async move {
            let begun = clock::now();
            // A checkpoint is valid for an index only as long as that index exists, so it contains
            // its UUID.
            for name in saved.progress.indices.keys() {
                if !saved.indices.contains_key(name) {
                    // The load continues without the UUID where the user may not read it.
                    let uuid = uuid(&transport, name).await.unwrap_or_default();
                    saved.indices.insert(name.clone(), uuid);
                }
            }
            let indices = saved.indices.clone();
            let progress = saved.progress.clone();
            let path = state.path().to_owned();
            let result = match write(state, saved, letters.unsynced).await {
                Ok(()) => Ok(progress),
                Err(e) => Err(format!(
                    "cannot write the checkpoint {}: {e}; the last checkpoint is still valid: free disk space, then run {command}",
                    path.display()
                )),
            };
            let _ = events.send(Event::Checkpoint(Written { result, indices, took: begun.elapsed() }));
        });
    }

    /// Handles the end of a write. Returns the checkpoint, or the error.
    pub(crate) fn ended(&mut self, written: Written) -> Result<Checkpoint, String> {
        self.writing = false;
        self.saved.indices = written.indices;
        self.last_took = written.took;
        written.result
    }

    /// Whether a write is running.
    pub(crate) fn is_writing(&self) -> bool {
        self.writing
    }

    /// Writes the last checkpoint, when no request is in flight any more.
    pub(crate) async fn finish(&self, last: Checkpoint, letters: SyncPoint) -> Result<(), String> {
        let mut saved = self.snapshot(&letters);
        saved.progress = last;
        write(Arc::clone(&self.state), saved, letters.unsynced).await.map_err(|e| {
            format!(
                "the last checkpoint could not be written to {}: {e}; {} resumes from the one before it",
                self.state.path().display(),
                self.resume_command()
            )
        })
    }

    /// Deletes the checkpoint, because nothing is left to resume. With option `once` it records the
    /// report before.
    pub(crate) async fn end(self, report: &Report) {
        if let Some(kept) = self.kept {
            kept.end(self.saved.indices.clone(), report, |path, text| self.state.replace_file(path, text)).await;
        }
        if let Err(e) = self.state.remove() {
            tracing::warn!(
                "cannot remove the checkpoint {}, which is not needed any more: {e}",
                self.state.path().display()
            );
        }
    }

    /// The command that resumes the load.
    fn resume_command(&self) -> &'static str {
        ResumeCommand { once: self.kept.is_some() }.text()
    }

    /// Path of the checkpoint's file.
    pub(crate) fn path(&self) -> PathBuf {
        self.state.path().to_owned()
    }

    /// Duration of earlier runs, seconds.
    pub(crate) fn seconds_before(&self) -> f64 {
        self.seconds_before
    }

    /// Whether this run resumes an earlier one.
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

    /// Horizons of the next checkpoint: the end of all waiting blocks, and in the partitions that
    /// are being read, about the documents that are sent until the checkpoint after it.
    fn horizons(&mut self, waiting: &VecDeque<ItemBlock>, read_all: bool) -> BTreeMap<Partition, u64> {
        let mut horizons: BTreeMap<Partition, u64> = BTreeMap::new();
        for block in waiting {
            let end = block.end_doc();
            horizons.entry(block.partition()).and_modify(|h| *h = end.max(*h)).or_insert(end);
        }
        let elapsed = self.last_write.elapsed().max(RATE_WINDOW_MIN).as_secs_f64();
        let rate = std::mem::take(&mut self.admitted) as f64 / elapsed;
        let ahead = self.every.max(4 * self.last_took);
        let step_bytes = ((rate * ahead.as_secs_f64()) as u64).clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
        let last = waiting.back().filter(|block| !block.is_empty());
        if let Some(block) = last {
            let bytes = (block.body.len() as u64 / (block.end_doc() - block.origin.first_doc).max(1)).max(1);
            self.step_docs = step_bytes.div_ceil(bytes);
        }
        let mut at = self.at.clone();
        waiting.iter().filter(|block| !block.is_empty()).for_each(|block| note(&mut at, block));
        if !read_all {
            horizons.extend(at.into_iter().map(|(partition, end)| (partition, end + self.step_docs)));
        }
        horizons
    }
}

/// Records the end of the block. Files are read one after another, so only the last one continues.
/// The shards of an index are read at the same time.
fn note(at: &mut Vec<(Partition, u64)>, block: &ItemBlock) {
    if !block.origin.own_numbers {
        at.clear();
    }
    at.retain(|(partition, _)| *partition != block.partition());
    if at.len() == PARTITIONS_AT_ONCE {
        at.remove(0);
    }
    at.push((block.partition(), block.end_doc()));
}

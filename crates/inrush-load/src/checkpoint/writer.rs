//! While a load goes on: when a checkpoint is due, how far ahead it allows to send, and writing it beside the load.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::transport::Transport;
use inrush_core::ledger::Partition;
use inrush_core::{Checkpoint, Flow, ItemBlock};
use tokio::sync::mpsc::UnboundedSender;

use super::record::Kept;
use super::state::{Saved, State};
use super::{uuid, write};
use crate::config::LoadConfig;
use crate::cutover::GoOn;
use crate::dead_letter::SyncPoint;
use crate::event::{Event, Written};
use crate::report::Report;

/// The horizon is so far ahead at least, bytes of documents.
const STEP_BYTES_MIN: u64 = 256 << 10;
/// The horizon is no further ahead, bytes of documents: after a crash all of it is sent again.
const STEP_BYTES_MAX: u64 = 64 << 20;

/// So many partitions are read side by side at most, as far as horizons are concerned; more of them cost checkpoints.
const PARTITIONS_AT_ONCE: usize = 16;

/// A rate is judged over so long a time at least: at the beginning blocks come as fast as they are read, not as they are sent.
const RATE_WINDOW_MIN: Duration = Duration::from_millis(250);

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
    /// Where the last blocks that were admitted end, of each partition that is being read, the last one last; and how far ahead the
    /// horizon was set.
    at: Vec<(Partition, u64)>,
    step_docs: u64,
    every: Duration,
    /// Of a load that is to be made once.
    kept: Option<Kept>,
}

impl Checkpointer {
    /// The first checkpoint, `saved`, is on disk.
    pub(super) fn new(
        state: Arc<State>,
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
            last_write: Instant::now(),
            last_took: Duration::ZERO,
            admitted: 0,
            at: Vec::new(),
            step_docs: 0,
            every: config.state.as_ref().map_or(Duration::ZERO, |folder| folder.every),
            kept,
        }
    }

    /// A block was admitted.
    pub(crate) fn admitted(&mut self, block: &ItemBlock) {
        self.admitted += block.body.len() as u64;
        note(&mut self.at, block);
    }

    /// An index that a placeholder named was counted.
    pub(crate) fn counted(&mut self, index: &str, before: Option<u64>) {
        self.saved.before_each.insert(index.to_owned(), before);
    }

    /// What an index of a placeholder was like before the load.
    pub(crate) fn sized(&mut self, index: &str, size: IndexStats) {
        self.saved.sizes_before.entry(index.to_owned()).or_insert(size);
    }

    /// Whether one is to be written now. `waiting`: blocks that are to be admitted next.
    /// `read_all`: no others will come.
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

    /// Begins to write one; [`Event::Checkpoint`] tells how it went. `letters`: the dead letters so far, none of which is only counted.
    pub(crate) fn start(&mut self, flow: &Flow, waiting: &VecDeque<ItemBlock>, read_all: bool, letters: SyncPoint) {
        let mut saved = self.snapshot(&letters);
        saved.progress = flow.checkpoint(&self.horizons(waiting, read_all));
        self.settled = saved.progress.counts.docs_read;
        self.last_write = Instant::now();
        self.writing = true;
        let command = self.go_on();
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
                    "cannot write the checkpoint {}: {e}; nothing was sent that the last one does not allow: make room, then give {command}",
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
                "the last checkpoint could not be written to {}: {e}; {} goes on from the one before",
                self.state.path().display(),
                self.go_on()
            )
        })
    }

    /// There is nothing to resume any more. Of a load that is to be made once, how it ended is
    /// written down before.
    pub(crate) async fn end(self, report: &Report) {
        if let Some(kept) = self.kept {
            kept.end(self.saved.indices.clone(), report, |path, text| self.state.replace_file(path, text)).await;
        }
        if let Err(e) = self.state.remove() {
            tracing::warn!("cannot remove the checkpoint {}, which has had its day: {e}", self.state.path().display());
        }
    }

    /// What goes on from a checkpoint.
    fn go_on(&self) -> &'static str {
        GoOn { once: self.kept.is_some() }.command()
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

/// Notes where the block ends. Files are read one after another, so that only the last one goes on; the shards of an index are read
/// side by side.
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

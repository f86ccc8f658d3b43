//! The one loop of a load: events in, commands out, until the flow is done. Everything that decides
//! is in `inrush-core`; everything that waits is a task or a thread that answers with an [`Event`].

mod commands;
mod settled;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::transport::Transport;
use inrush_core::{Encoding, Flow, ItemBlock, PauseTotal, Stop, Time};
use inrush_sources::SourceError;
use tokio::sync::mpsc;

use crate::checkpoint::{self, Checkpointer};
use crate::config::IndexCreation;
use crate::dead_letter::DeadLetterWriter;
use crate::event::{Event, Hold};
use crate::feedback::ToSource;
use crate::idle::{Change, Idle};
use crate::notify::{IDLE_LONG, Notifier};
use crate::outcomes::SettlementSender;
use crate::reader::{Gate, Sequencer};
use crate::send::BulkEndpoint;
use crate::targets::{self, Targets};

/// How often the progress is made known.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What the loop works with.
pub(crate) struct Run {
    pub(crate) flow: Flow,
    pub(crate) transport: Arc<Transport>,
    pub(crate) endpoint: Arc<BulkEndpoint>,
    pub(crate) gate: Arc<Gate>,
    /// Tells the readers whether items are wanted as SMILE.
    pub(crate) smile: Arc<AtomicBool>,
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
    pub(crate) sender: mpsc::UnboundedSender<Event>,
    /// Makes events for the observers.
    pub(crate) notifier: Notifier,
    pub(crate) dead_letters: DeadLetterWriter,
    /// The program that asked for the end of each document.
    pub(crate) settlements: Option<SettlementSender>,
    pub(crate) started: Instant,
    pub(crate) create: Arc<IndexCreation>,
    pub(crate) request_timeout: Duration,
    pub(crate) fixed_index: Option<String>,
    /// Whether the documents of an index that a placeholder names are counted before the first of
    /// ours.
    pub(crate) count_before: bool,
    pub(crate) checkpointer: Option<Checkpointer>,
    /// What earlier runs of a resumed load counted before the first document of ours, by index that
    /// a placeholder named.
    pub(crate) counts_before: BTreeMap<String, Option<u64>>,
    /// An index to refresh beside the last requests, because it is refreshed rarely during the
    /// load.
    pub(crate) refresh_early: Option<String>,
    pub(crate) targets: Targets,
    /// What tells the indices from others of their names that are made later.
    pub(crate) uuids: BTreeMap<String, String>,
    /// How often the health of the indices is looked at.
    pub(crate) health_every: Duration,
    /// What indices were like before the load, by their names.
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    /// Where the source wants to hear what is settled.
    pub(crate) to_source: Option<ToSource>,
}

/// What the loop leaves behind.
pub(crate) struct Finished {
    pub(crate) flow: Flow,
    pub(crate) dead_letters: DeadLetterWriter,
    /// Documents before the load where they could be counted, by index that a placeholder named.
    pub(crate) counts_before: BTreeMap<String, Option<u64>>,
    pub(crate) checkpointer: Option<Checkpointer>,
    /// Why the last checkpoint could not be written.
    pub(crate) checkpoint_failure: Option<String>,
    /// A source is not what it was when the load began, so that no checkpoint can be gone on from.
    pub(crate) source_changed: bool,
    pub(crate) pauses: Vec<PauseTotal>,
    /// Why the source was not told all that is settled.
    pub(crate) source_not_told: Option<String>,
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    /// Whoever stops the load still does so here.
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
}

/// Blocks on their way into the flow: put in order, and held until their indices are there.
#[derive(Default)]
struct Intake {
    sequencer: Sequencer,
    waiting: VecDeque<ItemBlock>,
    asked: BTreeSet<String>,
    ready: BTreeMap<String, Option<u64>>,
    /// How many blocks there are in all, once that is known.
    blocks: Option<u64>,
    /// Why the source ended before its end. What was read is loaded first.
    broken: Option<String>,
    /// It is not what it was when the load began.
    changed: bool,
    idle: Idle,
}

impl Intake {
    /// Whether every block of the source has come.
    fn has_read_all(&self) -> bool {
        self.blocks == Some(self.sequencer.count())
    }

    /// Bytes of blocks whose indices are not there yet, which the flow does not know of.
    fn waiting_bytes(&self) -> u64 {
        self.waiting.iter().map(|block| block.body.len() as u64 + block.smile_bytes()).sum()
    }
}

impl Run {
    /// Runs until all is done.
    pub(crate) async fn run(mut self) -> Finished {
        let mut intake = Intake { ready: std::mem::take(&mut self.counts_before), ..Intake::default() };
        let mut tick = tokio::time::interval(PROGRESS_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let (transport, names) = (Arc::clone(&self.transport), self.targets.subscribe());
        let uuids = std::mem::take(&mut self.uuids);
        tokio::spawn(targets::observe(transport, names, uuids, self.health_every, self.sender.clone()));
        loop {
            let now = self.now();
            self.watch_idle(now, &mut intake);
            while let Some(command) = self.flow.poll(now) {
                self.obey(command);
            }
            self.smile.store(self.flow.encoding() == Encoding::Smile, Ordering::Relaxed);
            self.gate.set_room(self.flow.input_room().saturating_sub(intake.waiting_bytes()));
            if self.flow.is_done() {
                if let Some(why) = intake.broken.take() {
                    self.fail(now, why);
                }
                break;
            }
            self.notifier.round(now, &self.flow);
            self.keep_checkpoint(&intake);
            self.tell_source();
            let due = self.flow.poll_timeout().map(|t| tokio::time::Instant::from_std(self.started + t.since_start()));
            tokio::select! {
                event = self.events.recv() => {
                    let Some(event) = event else { break };
                    self.handle(event, &mut intake);
                    // What has come meanwhile is taken along before anything new is sent.
                    for _ in 0..64 {
                        let Ok(event) = self.events.try_recv() else { break };
                        self.handle(event, &mut intake);
                    }
                }
                () = sleep_until(due) => {}
                _ = tick.tick() => self.show_progress(&intake),
            }
        }
        self.gate.close();
        self.show_progress(&intake);
        let pauses = self.flow.pauses(self.now());
        let checkpoint_failure = self.keep_last_checkpoint().await;
        self.notifier.drained(self.now(), &self.flow);
        let source_not_told = self.tell_source_last(checkpoint_failure.is_none()).await;
        Finished {
            checkpointer: self.checkpointer,
            checkpoint_failure,
            source_not_told,
            source_changed: intake.changed,
            flow: self.flow,
            dead_letters: self.dead_letters,
            counts_before: intake.ready,
            pauses,
            sizes_before: self.sizes_before,
            events: self.events,
        }
    }

    fn now(&self) -> Time {
        Time::from_start(self.started.elapsed())
    }

    fn handle(&mut self, event: Event, intake: &mut Intake) {
        let now = self.now();
        match event {
            Event::Block { number, block } => {
                self.notifier.read(now, &block);
                self.gate.arrived();
                intake.sequencer.push(number, block);
                while let Some(block) = intake.sequencer.next_block() {
                    intake.waiting.push_back(block);
                }
                self.admit(now, intake);
            }
            Event::SourceIdle { blocks } => intake.idle.handle_idle(blocks),
            Event::SourceEnd { blocks, result } => {
                intake.blocks = Some(blocks);
                self.notifier.source_ended(now, result.as_ref().err());
                self.refresh_early();
                intake.changed = result.as_ref().is_err_and(SourceError::is_change);
                intake.broken = result.err().map(|error| format!("cannot read on: {error}"));
                self.admit(now, intake);
            }
            Event::ReaderDied => self.fail(now, "a reader stopped in the middle; please report this".to_owned()),
            Event::Attempt { request, wall, node, attempt } => {
                self.flow.handle_cpu(cpu_time());
                self.flow.handle_attempt(now, request, wall, node, attempt);
            }
            Event::Gone { request } => self.flow.handle_gone(now, request),
            Event::Compared { request, results } => self.flow.handle_compared(now, request, &results),
            Event::Flushed { request, flushed } => self.flow.handle_flushed(now, request, flushed),
            Event::AcceptedFormats(forms) => self.flow.handle_probe(forms.smile, forms.gzip),
            Event::Checkpoint(written) => self.checkpoint_ended(now, written, intake),
            Event::Index { name, result: Ok(count) } => {
                if let Some(checkpointer) = &mut self.checkpointer {
                    checkpointer.counted(&name, count);
                }
                intake.ready.insert(name, count);
                self.admit(now, intake);
            }
            Event::Index { name, result: Err(why) } => {
                self.fail(now, format!("cannot prepare the index {name}: {why}"))
            }
            Event::Size { name, size } => {
                if let Some(checkpointer) = &mut self.checkpointer {
                    checkpointer.sized(&name, size);
                }
                self.sizes_before.entry(name).or_insert(size);
            }
            Event::Told(told) => self.source_told(now, told),
            Event::Replaced(name) => self.fail(now, targets::replaced(&name)),
            Event::Overtaken => self.fail(now, checkpoint::OVERTAKEN.to_owned()),
            Event::Trouble(trouble) => self.flow.handle_cluster_pause(now, trouble),
            Event::Hold(hold) => {
                let hold = match hold {
                    Hold::Pause => true,
                    Hold::Resume => false,
                    Hold::Toggle => !self.flow.is_pause_requested(),
                };
                self.flow.handle_pause_request(now, hold);
                // Whoever asked wants to see it.
                self.show_progress(intake);
            }
            Event::EndSource => match &self.to_source {
                Some(to_source) => to_source.stop(),
                None => self.stop(now, Stop::Interrupted),
            },
            Event::Stop => self.stop(now, Stop::Interrupted),
        }
    }

    /// Ends the load early.
    fn stop(&mut self, now: Time, why: Stop) {
        self.flow.handle_stop(now, why);
        self.gate.close();
        if let Some(to_source) = &self.to_source {
            to_source.stop();
        }
    }

    /// Keeps the time in which the source has nothing, and all before is settled.
    fn watch_idle(&mut self, now: Time, intake: &mut Intake) {
        let waits_for_others = self.flow.stopped().is_some() || self.flow.paused().is_some();
        let rests = !waits_for_others && intake.waiting.is_empty() && self.flow.is_settled();
        let change = intake.idle.update(now, intake.sequencer.count(), rests);
        self.notifier.idle(now, change);
        // What is measured across a short one is known to be limited by the source.
        if matches!(change, Change::Ended(lasted) if lasted >= IDLE_LONG) {
            self.flow.handle_idle_end(now);
        }
    }

    /// Hands blocks to the flow, in order, as far as their indices are there.
    fn admit(&mut self, now: Time, intake: &mut Intake) {
        while let Some(block) = intake.waiting.front() {
            let missing: Vec<&String> = block.indices.iter().filter(|i| !intake.ready.contains_key(*i)).collect();
            if !missing.is_empty() {
                for name in missing {
                    if intake.asked.insert(name.clone()) {
                        self.make_index(name.clone());
                    }
                }
                return;
            }
            if self.flow.stopped().is_none() && !self.flow.may_take(block) {
                // The next checkpoint allows it.
                return;
            }
            let Some(block) = intake.waiting.pop_front() else { return };
            if self.flow.stopped().is_some() {
                continue;
            }
            if let Some(checkpointer) = &mut self.checkpointer {
                checkpointer.admitted(&block);
            }
            if let Err(e) = self.flow.handle_block(now, block) {
                return self.fail(now, e.to_string());
            }
        }
        if intake.has_read_all() {
            self.flow.handle_source_end();
        }
    }

    fn dead_letters_failed(&mut self, e: &io::Error) {
        let path = self.dead_letters.path().display().to_string();
        self.fail(self.now(), format!("cannot write dead letters to {path}: {e}; documents would be lost"));
    }

    fn fail(&mut self, now: Time, why: String) {
        self.stop(now, Stop::Failed(why));
    }

    fn show_progress(&mut self, intake: &Intake) {
        let now = self.now();
        self.notifier.progress(now, &self.flow, intake.idle.lasts(now), &self.transport);
        self.targets.update(&self.flow.tally().indices);
        if let Err(e) = self.dead_letters.flush() {
            self.dead_letters_failed(&e);
        }
    }
}

/// What this process has taken of all cores.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

async fn sleep_until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

//! The loop of a load: it passes events to the flow and executes the flow's commands until the flow
//! is done. `inrush-core` makes all decisions. Tasks and threads do all waiting, and answer with an
//! [`Event`].

mod commands;
mod earlier;
mod settled;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::transport::Transport;
use inrush_core::{Code, Encoding, Flow, ItemBlock, OnConflict, PauseTotal, Stop, StopReason, Time};
use inrush_sources::{Lag, SourceError};
use tokio::sync::mpsc;

use crate::beginnings::Beginnings;
use crate::checkpoint::{self, Checkpointer};
use crate::config::IndexCreation;
use crate::dead_letter::DeadLetterWriter;
use crate::event::{Event, PauseRequest};
use crate::feedback::SourceFeedback;
use crate::grace::Grace;
use crate::idle::{Change, Idle};
use crate::notify::{IDLE_LONG, Notifier};
use crate::outcomes::SettlementSender;
use crate::over::Watcher;
use crate::reader::{Gate, Sequencer};
use crate::send::BulkEndpoint;
use crate::targets::{self, Targets};
pub(crate) use earlier::EarlierRuns;

/// Interval between updates of the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// State of the loop.
pub(crate) struct Run {
    pub(crate) flow: Flow,
    /// For requests for which nothing waits long: documents are sent meanwhile.
    pub(crate) transport: Arc<Transport>,
    /// For requests that documents wait for.
    pub(crate) patient: Arc<Transport>,
    pub(crate) endpoint: Arc<BulkEndpoint>,
    /// Finds out when requests without an answer are over.
    pub(crate) watcher: Watcher,
    /// Whether other runs may have sent requests that still run.
    pub(crate) earlier: EarlierRuns,
    pub(crate) gate: Arc<Gate>,
    /// Tells the readers whether to encode items as SMILE.
    pub(crate) smile: Arc<AtomicBool>,
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
    pub(crate) sender: mpsc::UnboundedSender<Event>,
    /// Makes the events for the observers.
    pub(crate) notifier: Notifier,
    pub(crate) dead_letters: DeadLetterWriter,
    /// Receiver of the end of each document, where the program asked for it.
    pub(crate) settlements: Option<SettlementSender>,
    pub(crate) started: Instant,
    pub(crate) create: Arc<IndexCreation>,
    /// The shards before the first document.
    pub(crate) beginnings: Arc<Beginnings>,
    /// What a 409 means that nothing else explains.
    pub(crate) on_conflict: OnConflict,
    /// All requests name a pipeline.
    pub(crate) has_pipeline: bool,
    pub(crate) request_timeout: Duration,
    pub(crate) fixed_index: Option<String>,
    /// Whether the load counts an index that a placeholder names before it sends to it.
    pub(crate) count_before: bool,
    pub(crate) checkpointer: Option<Checkpointer>,
    /// Documents of earlier runs' indices before their first document, by index that a placeholder
    /// named.
    pub(crate) counts_before: BTreeMap<String, Option<u64>>,
    /// Index that is refreshed while the last requests are in flight, because the load made its
    /// refreshes rare.
    pub(crate) refresh_early: Option<String>,
    pub(crate) targets: Targets,
    /// UUIDs by index, which tell an index from a later one of the same name.
    pub(crate) uuids: BTreeMap<String, String>,
    /// Interval between checks of the indices' health.
    pub(crate) health_every: Duration,
    /// Sizes of the indices before the load, by name.
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    /// Reports settled positions to the source, where the source asks for them.
    pub(crate) source_feedback: Option<SourceFeedback>,
    /// The time for the end after a stop.
    pub(crate) grace: Grace,
}

/// The result of the loop.
pub(crate) struct Finished {
    pub(crate) flow: Flow,
    pub(crate) dead_letters: DeadLetterWriter,
    /// Documents before the load where they could be counted, by index that a placeholder named.
    pub(crate) counts_before: BTreeMap<String, Option<u64>>,
    pub(crate) checkpointer: Option<Checkpointer>,
    /// Why the last checkpoint could not be written.
    pub(crate) checkpoint_failure: Option<String>,
    /// The source changed while it was read, so no run can resume the load.
    pub(crate) source_changed: bool,
    pub(crate) pauses: Vec<PauseTotal>,
    /// Why the source did not get all settled positions.
    pub(crate) feedback_failure: Option<String>,
    /// How far the source is behind, where it says so.
    pub(crate) lag: Option<Lag>,
    /// Why it is not known whether requests of earlier runs are over.
    pub(crate) earlier_failure: Option<String>,
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    /// Receives a stop of the caller during the steps after the loop.
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
}

/// Blocks before the flow: sorted into the source's order, and held until their indices exist.
#[derive(Default)]
struct Intake {
    sequencer: Sequencer,
    waiting: VecDeque<ItemBlock>,
    asked: BTreeSet<String>,
    ready: BTreeMap<String, Option<u64>>,
    /// Number of all blocks of the source, once it is known.
    blocks: Option<u64>,
    /// Why the source ended early. Documents read before are loaded first.
    source_error: Option<StopReason>,
    /// The source changed since the load began.
    changed: bool,
    idle: Idle,
}

impl Intake {
    /// Whether every block of the source has arrived.
    fn has_read_all(&self) -> bool {
        self.blocks == Some(self.sequencer.count())
    }

    /// Bytes of waiting blocks, which the flow does not count.
    fn waiting_bytes(&self) -> u64 {
        self.waiting.iter().map(|block| block.body.len() as u64 + block.extra_bytes()).sum()
    }
}

impl Run {
    /// Runs until the flow is done.
    pub(crate) async fn run(mut self) -> Finished {
        let mut intake = Intake { ready: std::mem::take(&mut self.counts_before), ..Intake::default() };
        let mut tick = clock::interval(PROGRESS_EVERY);
        tick.set_missed_tick_behavior(clock::MissedTickBehavior::Skip);
        let (transport, names) = (Arc::clone(&self.transport), self.targets.subscribe());
        tokio::spawn(Arc::clone(&self.beginnings).follow(Arc::clone(&transport), names.clone()));
        let uuids = std::mem::take(&mut self.uuids);
        tokio::spawn(targets::observe(transport, names, uuids, self.health_every, self.sender.clone()));
        loop {
            let now = self.now();
            self.watch_idle(now, &mut intake);
            while let Some(command) = self.flow.poll(now) {
                self.execute(command);
            }
            if self.flow.stopped().is_some() {
                // The flow may have stopped by itself. What follows then waits no longer than after
                // a stop by the caller, because the cluster may be what stopped it.
                self.grace.begin();
            }
            self.smile.store(self.flow.encoding() == Encoding::Smile, Ordering::Relaxed);
            let waiting = intake.waiting_bytes() + self.dead_letters.waiting_bytes();
            self.gate.set_room(self.flow.input_room().saturating_sub(waiting));
            if self.flow.is_done() {
                if let Some(StopReason { code, message }) = intake.source_error.take() {
                    self.fail(now, code, message);
                }
                break;
            }
            self.notifier.round(now, &self.flow);
            self.keep_checkpoint(&intake);
            self.report_settled();
            let due = self.flow.poll_timeout().map(|t| self.started + t.since_start());
            tokio::select! {
                event = self.events.recv() => {
                    let Some(event) = event else { break };
                    self.handle(event, &mut intake);
                    // Handles the events that have arrived meanwhile before it sends anything new.
                    for _ in 0..64 {
                        let Ok(event) = self.events.try_recv() else { break };
                        self.handle(event, &mut intake);
                    }
                }
                () = sleep_until(due) => {}
                _ = tick.tick() => {
                    self.show_progress(&intake);
                    self.follow_source(&mut intake);
                }
            }
        }
        self.gate.close();
        self.show_progress(&intake);
        let pauses = self.flow.pauses(self.now());
        let checkpoint_failure = self.keep_last_checkpoint().await;
        self.notifier.drained(self.now(), &self.flow);
        let (feedback_failure, lag) = self.report_last_settled(checkpoint_failure.is_none()).await;
        Finished {
            checkpointer: self.checkpointer,
            checkpoint_failure,
            feedback_failure,
            lag,
            earlier_failure: self.earlier.failure(),
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
            Event::SourceEnd { blocks, result } => self.source_ended(now, intake, blocks, result),
            Event::ReaderDied => {
                self.fail(now, Code::Defect, "a reading thread panicked, which is a defect of inrush; please report it")
            }
            Event::Attempt { request, wall, node, attempt } => {
                self.flow.handle_cpu(cpu_time());
                self.flow.handle_attempt(now, request, wall, node, attempt);
            }
            Event::Gone { request } => self.flow.handle_gone(now, request),
            Event::Over { request, over } => self.flow.handle_over(now, request, over),
            Event::ReadBack { request, results } => self.flow.handle_read_back(request, &results),
            Event::EarlierOver(result) => {
                self.earlier.ended(result);
                self.admit(now, intake);
            }
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
                self.fail(now, Code::IndexNotPrepared, format!("cannot prepare the index {name}: {why}"))
            }
            Event::Size { name, size } => {
                if let Some(checkpointer) = &mut self.checkpointer {
                    checkpointer.sized(&name, size);
                }
                self.sizes_before.entry(name).or_insert(size);
            }
            Event::FeedbackSent(result) => self.feedback_sent(now, result),
            Event::Replaced(name) => self.fail(now, Code::IndexReplaced, targets::replaced(&name)),
            Event::Overtaken => self.fail(now, Code::Overtaken, checkpoint::OVERTAKEN),
            Event::ClusterPause(pause) => self.flow.handle_cluster_pause(now, pause),
            Event::PauseRequest(pause) => {
                let pause = match pause {
                    PauseRequest::Pause => true,
                    PauseRequest::Resume => false,
                    PauseRequest::Toggle => !self.flow.is_pause_requested(),
                };
                self.flow.handle_pause_request(now, pause);
                // The caller sees the effect at once.
                self.show_progress(intake);
            }
            Event::EndSource => match &self.source_feedback {
                Some(source_feedback) => source_feedback.stop(),
                None => self.stop(now, Stop::Interrupted),
            },
            Event::Stop => self.stop(now, Stop::Interrupted),
        }
    }

    fn source_ended(&mut self, now: Time, intake: &mut Intake, blocks: u64, result: Result<(), SourceError>) {
        intake.blocks = Some(blocks);
        self.notifier.source_ended(now, result.as_ref().err());
        self.refresh_early();
        intake.changed = result.as_ref().is_err_and(SourceError::is_change);
        let stop =
            |error: SourceError| StopReason::new(error.code, format!("cannot read the source any further: {error}"));
        intake.source_error = result.err().map(stop);
        self.admit(now, intake);
    }

    /// Ends the load early.
    fn stop(&mut self, now: Time, why: Stop) {
        if why == Stop::Interrupted {
            self.grace.begin();
        }
        self.flow.handle_stop(now, why);
        self.gate.close();
        if let Some(source_feedback) = &self.source_feedback {
            source_feedback.stop();
        }
    }

    /// Measures the time in which the source has no documents and all earlier ones are settled.
    fn watch_idle(&mut self, now: Time, intake: &mut Intake) {
        let waits_for_others = self.flow.stopped().is_some() || self.flow.paused().is_some();
        let rests = !waits_for_others && intake.waiting.is_empty() && self.flow.is_settled();
        let change = intake.idle.update(now, intake.sequencer.count(), rests);
        self.notifier.idle(now, change);
        // The tuner already knows that a sample across a short idle time was limited by the source.
        if matches!(change, Change::Ended(lasted) if lasted >= IDLE_LONG) {
            self.flow.handle_idle_end(now);
        }
    }

    /// Passes blocks to the flow, in order, up to the first one whose index does not exist yet.
    fn admit(&mut self, now: Time, intake: &mut Intake) {
        while let Some(block) = intake.waiting.front() {
            let missing: Vec<&String> = block.indices.iter().filter(|i| !intake.ready.contains_key(*i)).collect();
            if !missing.is_empty() {
                for name in missing {
                    if intake.asked.insert(name.clone()) {
                        self.create_index(name.clone());
                    }
                }
                return;
            }
            if self.flow.stopped().is_none() && self.waits_for_earlier(block.partition(), &intake.waiting) {
                return;
            }
            if self.flow.stopped().is_none() && !self.flow.may_take(block) {
                // The next checkpoint makes room for it.
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
                return self.fail(now, Code::Defect, e.to_string());
            }
        }
        if intake.has_read_all() {
            self.flow.handle_source_end();
        }
    }

    fn dead_letters_failed(&mut self, e: &io::Error) {
        let path = self.dead_letters.place();
        self.fail(
            self.now(),
            Code::DeadLettersFailed,
            format!("cannot write dead letters to {path}: {e}; the load stops so that no document is lost"),
        );
    }

    fn fail(&mut self, now: Time, code: Code, why: impl Into<String>) {
        self.stop(now, Stop::failed(code, why));
    }

    fn show_progress(&mut self, intake: &Intake) {
        let now = self.now();
        let lag = self.source_feedback.as_mut().and_then(SourceFeedback::lag);
        self.notifier.progress(now, &self.flow, intake.idle.lasts(now), lag, &self.transport);
        self.targets.update(&self.flow.tally().indices);
        if let Err(e) = self.dead_letters.flush() {
            self.dead_letters_failed(&e);
        }
    }
}

/// CPU time of this process on all cores.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => clock::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

//! The one loop of a load: events in, commands out, until the flow is done. Everything that decides is in
//! `inrush-core`; everything that waits is a task or a thread that answers with an [`Event`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::api::wire::probe;
use inrush_cluster::api::{ClusterError, Created, index, life, stats};
use inrush_cluster::transport::Transport;
use inrush_core::Settlement;
use inrush_core::body_format::BodyFormatChange;
use inrush_core::flow::Item;
use inrush_core::ledger::Partition;
use inrush_core::tune::Decision;
use inrush_core::{Command, Encoding, Flow, ItemBlock, Note, PauseTotal, Stop, Time};
use inrush_sources::{RowsRead, SourceError};
use tokio::sync::{mpsc, watch};

use crate::checkpoint::{self, Checkpointer};
use crate::config::IndexCreation;
use crate::dead_letter::DeadLetterWriter;
use crate::event::{Event, Hold};
use crate::feedback::ToSource;
use crate::idle::Idle;
use crate::progress::{Phase, Progress};
use crate::reader::{Gate, Sequencer};
use crate::send::BulkEndpoint;
use crate::targets::{self, Targets};
use crate::trace::TraceWriter;

/// How often the progress is made known.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// How long the source has nothing before the progress says so: a short pause is no news.
const IDLE_SHOWN: Duration = Duration::from_secs(1);

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
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) dead_letters: DeadLetterWriter,
    /// Who wants to hear what became of each document.
    pub(crate) settlements: Option<mpsc::UnboundedSender<Settlement>>,
    pub(crate) bytes_total: Option<u64>,
    /// Rows behind the documents.
    pub(crate) rows: Option<RowsRead>,
    pub(crate) started: Instant,
    pub(crate) create: Arc<IndexCreation>,
    pub(crate) trace: Option<TraceWriter>,
    pub(crate) request_timeout: Duration,
    pub(crate) fixed_index: Option<String>,
    /// Whether the documents of an index that a placeholder names are counted before the first of ours.
    pub(crate) count_before: bool,
    pub(crate) checkpointer: Option<Checkpointer>,
    /// What earlier runs of a resumed load counted before the first document of ours, by index that a placeholder named.
    pub(crate) counts_before: BTreeMap<String, Option<u64>>,
    /// An index to refresh beside the last requests, because it is refreshed rarely during the load.
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
    /// What was settled when the checkpoint that is being written was taken.
    pub(crate) settled_at_checkpoint: BTreeMap<Partition, u64>,
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
    pub(crate) first_block: Option<Instant>,
    pub(crate) ended: Instant,
    pub(crate) pauses: Vec<PauseTotal>,
    /// How long the source had nothing while everything before was settled.
    pub(crate) idle: Duration,
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
    first_block: Option<Instant>,
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
        let (pauses, idle) = (self.flow.pauses(self.now()), intake.idle.total(self.now()));
        let checkpoint_failure = self.keep_last_checkpoint().await;
        let ended = Instant::now();
        let source_not_told = self.tell_source_last(checkpoint_failure.is_none()).await;
        Finished {
            checkpointer: self.checkpointer,
            checkpoint_failure,
            source_not_told,
            idle,
            source_changed: intake.changed,
            flow: self.flow,
            dead_letters: self.dead_letters,
            counts_before: intake.ready,
            first_block: intake.first_block,
            ended,
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
                intake.first_block.get_or_insert_with(Instant::now);
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
            Event::Forms(forms) => self.flow.handle_probe(forms.smile, forms.gzip),
            Event::Checkpoint(written) => {
                let Some(checkpointer) = &mut self.checkpointer else { return };
                match checkpointer.ended(written) {
                    Ok(checkpoint) => {
                        self.flow.handle_checkpoint(&checkpoint);
                        if let Some(to_source) = &mut self.to_source {
                            to_source.start(std::mem::take(&mut self.settled_at_checkpoint), None);
                        }
                        self.admit(now, intake);
                    }
                    Err(why) => self.fail(now, why),
                }
            }
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
            Event::Told(told) => {
                if let Some(to_source) = &mut self.to_source {
                    to_source.ended();
                }
                if let Err(why) = told {
                    self.fail(now, format!("dead letters cannot be synced to disk: {why}; documents would be lost"));
                }
            }
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
        if intake.idle.update(now, intake.sequencer.count(), rests) {
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

    /// Begins to write a checkpoint where one is due. Here all commands were obeyed, so the dead letters that are counted are written.
    fn keep_checkpoint(&mut self, intake: &Intake) {
        let read_all = intake.has_read_all();
        let Some(checkpointer) = &mut self.checkpointer else { return };
        if !checkpointer.is_due(&self.flow, &intake.waiting, read_all) {
            return;
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => {
                if self.to_source.is_some() {
                    self.settled_at_checkpoint = self.flow.settled_below();
                }
                checkpointer.start(&self.flow, &intake.waiting, read_all, letters);
            }
            Err(e) => self.dead_letters_failed(&e),
        }
    }

    /// Tells the source what is settled, where it is time to and there are no checkpoints to wait for. As
    /// in [`Run::keep_checkpoint`], dead letters that are counted are written.
    fn tell_source(&mut self) {
        let Some(to_source) = self.to_source.as_mut().filter(|to_source| to_source.is_due()) else { return };
        if self.checkpointer.is_some() {
            return;
        }
        let settled = self.flow.settled_below();
        if !to_source.has_news(&settled) {
            return;
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => to_source.start(settled, letters.file),
            Err(e) => self.dead_letters_failed(&e),
        }
    }

    /// Tells the source what is settled at the end, unless a checkpoint was to say so (`written`: it does).
    /// Returns why it was not told.
    async fn tell_source_last(&mut self, written: bool) -> Option<String> {
        let to_source = self.to_source.take().filter(|_| written)?;
        match self.dead_letters.sync_point() {
            Ok(letters) => {
                let longest = self.flow.drain_max();
                to_source.finish(self.flow.settled_below(), letters.file, longest).await.err()
            }
            Err(e) => {
                Some(format!("the source was not told what is settled, because dead letters could not be written: {e}"))
            }
        }
    }

    /// When nothing is under way any more. Returns why it could not be written.
    async fn keep_last_checkpoint(&mut self) -> Option<String> {
        let checkpointer = self.checkpointer.as_mut()?;
        while checkpointer.is_writing() {
            if let Event::Checkpoint(written) = self.events.recv().await? {
                // Whether it was written matters no more.
                let _ = checkpointer.ended(written);
            }
        }
        match self.dead_letters.sync_point() {
            Ok(letters) => checkpointer.finish(self.flow.last_checkpoint(), letters).await.err(),
            Err(e) => Some(format!("the last checkpoint was not written, because dead letters could not be: {e}")),
        }
    }

    fn dead_letters_failed(&mut self, e: &io::Error) {
        let path = self.dead_letters.path().display().to_string();
        self.fail(self.now(), format!("cannot write dead letters to {path}: {e}; documents would be lost"));
    }

    fn fail(&mut self, now: Time, why: String) {
        self.stop(now, Stop::Failed(why));
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Send(request) => {
                let (transport, endpoint, sender) =
                    (Arc::clone(&self.transport), Arc::clone(&self.endpoint), self.sender.clone());
                tokio::spawn(async move {
                    let id = request.id;
                    let (wall, node, attempt) = endpoint.send(&transport, request).await;
                    let _ = sender.send(Event::Attempt { request: id, wall, node, attempt });
                });
            }
            Command::AwaitGone { request } => {
                let (transport, endpoint, sender) =
                    (Arc::clone(&self.transport), Arc::clone(&self.endpoint), self.sender.clone());
                let longest = self.request_timeout;
                tokio::spawn(async move {
                    endpoint.await_gone(transport, request, longest).await;
                    let _ = sender.send(Event::Gone { request });
                });
            }
            Command::Compare { request, items } => self.compare(request, items),
            Command::Flush { request, index } => {
                let (transport, sender) = (Arc::clone(&self.transport), self.sender.clone());
                tokio::spawn(async move {
                    let flushed = life::flush(&transport, &index).await;
                    let _ = sender.send(Event::Flushed { request, flushed });
                });
            }
            Command::Probe(knobs) => {
                let (transport, sender) = (Arc::clone(&self.transport), self.sender.clone());
                let index = self.fixed_index.clone();
                tokio::spawn(async move {
                    let forms = probe(&transport, index.as_deref(), knobs.smile, knobs.gzip.is_some()).await;
                    let _ = sender.send(Event::Forms(forms));
                });
            }
            Command::DeadLetter(letter) => {
                if let Err(e) = self.dead_letters.write(&letter) {
                    self.dead_letters_failed(&e);
                }
            }
            Command::Settled(settlement) => {
                if let Some(settlements) = &self.settlements {
                    // Whoever stopped listening has the report.
                    let _ = settlements.send(settlement);
                }
            }
            Command::Note(note) => {
                if let (Note::Plan(decision), Some(trace)) = (&note, &mut self.trace) {
                    trace.decision(decision);
                }
                tell(&note);
            }
            Command::Sample { sample, heard, now } => {
                if let Some(trace) = &mut self.trace {
                    trace.sample(now, sample, heard);
                }
            }
            Command::Break { now } => {
                if let Some(trace) = &mut self.trace {
                    trace.break_at(now);
                }
            }
        }
    }

    fn make_index(&self, name: String) {
        let (transport, create, sender) = (Arc::clone(&self.transport), Arc::clone(&self.create), self.sender.clone());
        let count = self.count_before;
        let sized = self.sizes_before.contains_key(&name);
        tokio::spawn(async move {
            if !sized {
                // None yet, if it is missing.
                let size = stats::stats(&transport, &name).await.unwrap_or_default();
                let _ = sender.send(Event::Size { name: name.clone(), size });
            }
            let result = ensure_index(&transport, &create, &name, count).await.map_err(|e| e.to_string());
            let _ = sender.send(Event::Index { name, result });
        });
    }

    /// What is refreshed while the last requests are under way is not waited for at the end.
    fn refresh_early(&mut self) {
        if let Some(index) = self.refresh_early.take() {
            let transport = Arc::clone(&self.transport);
            // The one at the end counts; whether this one succeeds does not.
            tokio::spawn(async move { stats::refresh(&transport, &index).await });
        }
    }

    fn compare(&self, request: u64, items: Vec<Item>) {
        let (transport, sender, index) = (Arc::clone(&self.transport), self.sender.clone(), self.fixed_index.clone());
        tokio::spawn(async move {
            let results = crate::compare::compare(&transport, index.as_deref(), &items).await;
            let _ = sender.send(Event::Compared { request, results });
        });
    }

    fn show_progress(&mut self, intake: &Intake) {
        let phase = match (self.flow.stopped(), self.flow.paused()) {
            (Some(stop), _) => {
                let why = match stop {
                    Stop::Interrupted => "interrupted",
                    Stop::Failed(why) => why,
                };
                Phase::Draining(match self.flow.in_flight() {
                    0 => why.to_owned(),
                    _ => {
                        let seconds = self.flow.drain_max().as_secs_f64();
                        format!("{why}; requests that were sent are waited for, at most {seconds} s")
                    }
                })
            }
            (None, Some(pause)) => Phase::Paused(pause.why.clone()),
            (None, None) if intake.idle.lasts(self.now()) >= IDLE_SHOWN => Phase::Idle,
            (None, None) => Phase::Loading,
        };
        let counts = self.flow.counts();
        let plan = self.flow.plan();
        let progress = Progress {
            docs_read: self.flow.ledger_opened(),
            docs_settled: counts.docs_read,
            docs_dead_lettered: counts.docs_dead_lettered,
            bytes_read: counts.bytes_read,
            bytes_total: self.bytes_total,
            rows_read: self.rows.as_ref().map(|rows| rows.read.load(Ordering::Relaxed)),
            rows_total: self.rows.as_ref().and_then(|rows| rows.total),
            bytes_sent: counts.bytes_sent,
            retried_items: counts.retried_items,
            requests: counts.requests,
            in_flight: self.flow.in_flight(),
            plan_in_flight: plan.in_flight,
            plan_batch_bytes: plan.batch_bytes,
            body_format: self.flow.body_format(),
            seconds: self.started.elapsed().as_secs_f64(),
            phase,
        };
        self.progress.send_replace(progress);
        self.targets.update(&self.flow.tally().indices);
        if let Some(trace) = &mut self.trace {
            trace.flush();
        }
        if let Err(e) = self.dead_letters.flush() {
            self.dead_letters_failed(&e);
        }
    }
}

/// Makes an index that a document names, unless it is there. Returns how many documents it holds, if that is to be known (`count`)
/// and the user may count: whoever may write but not read loads all the same, only the proof is missing.
async fn ensure_index(
    transport: &Transport,
    create: &IndexCreation,
    name: &str,
    count: bool,
) -> Result<Option<u64>, ClusterError> {
    if !index::exists(transport, name).await?
        && index::create(transport, name, &create.for_index(name)).await? == Created::New
    {
        return Ok(Some(0));
    }
    if !count {
        return Ok(None);
    }
    match stats::count_now(transport, name).await {
        Err(e) if e.status() == Some(403) => Ok(None),
        counted => counted.map(Some),
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

fn tell(note: &Note) {
    match note {
        Note::Paused(pause) => tracing::warn!("paused: {}", pause.why),
        Note::Resumed => tracing::warn!("resumed"),
        Note::BodyLimit(bytes) => {
            tracing::warn!("the server refused a request as too large; batches stay below {bytes} bytes from now on");
        }
        Note::Lost(why) => tracing::warn!("a request got no answer and will be sent again: {why}"),
        Note::Plan(Decision { from, to, why, .. }) => tracing::info!(
            "plan: {} requests of {} bytes instead of {} of {}: {why}",
            to.in_flight,
            to.batch_bytes,
            from.in_flight,
            from.batch_bytes
        ),
        Note::BodyFormat(BodyFormatChange { from, to, why, forced: true }) => {
            tracing::warn!("requests go as {to} instead of {from} from now on: {why}");
        }
        Note::BodyFormat(BodyFormatChange { from, to, why, forced: false }) => {
            tracing::info!("requests go as {to} instead of {from}: {why}");
        }
        Note::SentAgain(docs) => {
            tracing::warn!(
                "a shard started again, or another copy took over: {docs} documents that no flush had made durable are sent again"
            );
        }
        Note::WillRetry(why) => tracing::info!("a request will be sent again: {why}"),
    }
}

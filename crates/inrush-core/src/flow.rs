//! The flow: sends batches and processes answers until every document is settled. It combines the
//! waiting items (`Pending`), the requests in flight (`Slot`), the ledger and the tuner.
//!
//! It is a state machine. `handle_*` methods take events, [`Flow::poll`] returns the next command,
//! and
//! [`Flow::poll_timeout`] the time of the next call. It does not wait, lock or read a clock.

mod answer;
mod body_format;
mod command;
mod compare;
mod durable;
mod feedback;
mod give_up;
mod lost;
mod open;
mod pair;
mod pause;
mod resume;
mod retry;
mod settle;
mod slot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::batch::Tracked;
use crate::body_format::{BodyFormat, Compression, Encoding};
use crate::coalesce::Coalesce;
use crate::items::ItemBlock;
use crate::ledger::{Ledger, LedgerError, Partition, Watermark};
use crate::outcome::OnConflict;
use crate::pending::Pending;
use crate::rate::{Pace, Rate};
use crate::report::{Counts, Tally};
use crate::retry::{Jitter, RetryPolicy};
use crate::time::Time;
use crate::tune::{BodyFormatChoices, BodyFormatTuner, Learned, Plan, Recollection, Tuner};
pub use command::{Command, Comparison, DeadLetter, Item, Note, Request, Settlement};
use durable::Durable;
pub use durable::{Flushed, PrimaryTerms};
pub use give_up::{MaxErrors, Stop};
pub use open::{LastWrite, Left, Order, Over, ReadBack};
pub use pair::Pairing;
use pause::Pauses;
pub use pause::{Pause, PauseKind, PauseTotal};
use slot::{Slot, SlotState};

/// The configuration of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowConfig {
    /// Bytes of documents in memory, documents that were read ahead included.
    pub memory: u64,
    /// An upper bound on the rate. Default: none.
    pub rate: Option<Rate>,
    /// Report every sample with [`Command::Sample`].
    pub samples: bool,
    /// Report the end of each document with [`Command::Settled`].
    pub settlements: bool,
    /// How long documents wait for a batch to fill up.
    pub linger: Duration,
    /// Of several operations with one id that wait, only the last is sent. Default: all are sent.
    pub coalesce: Option<Coalesce>,
    /// Limits of retries.
    pub retry: RetryPolicy,
    /// How long a condition of the whole index or cluster may last.
    pub pause_max: Duration,
    /// How long a stopped flow waits for requests in flight.
    pub drain_max: Duration,
    /// What a 409 means that no attempt of this run explains.
    pub on_conflict: OnConflict,
    /// All items carry external versions. Their order does not matter then.
    pub versioned: bool,
    /// The server may apply parts of a body before it refuses the rest.
    pub incremental_bulk: bool,
    /// Replies have no entries unless there are errors.
    pub summary_replies: bool,
    /// How entries of replies are matched to items.
    pub pairing: Pairing,
    /// When to stop because of dead letters.
    pub max_errors: MaxErrors,
    /// The server makes ids of the documents themselves. So a document without an id that is sent
    /// again takes its own place.
    pub ids_of_documents: bool,
    /// The seed of the jitter.
    pub seed: u64,
}

/// The state machine of a load. See the [module](self).
pub struct Flow {
    config: FlowConfig,
    tuner: Box<dyn Tuner>,
    pending: Pending,
    slots: BTreeMap<u64, Slot>,
    /// The slot of each request in flight.
    requests: BTreeMap<u64, u64>,
    next_id: u64,
    ledger: Ledger,
    tally: Tally,
    /// The first ids that no document to delete had.
    not_found: Vec<String>,
    commands: VecDeque<Command>,
    jitter: Jitter,
    /// Bytes of blocks that are not fully settled, as JSON.
    buffered: u64,
    /// Bytes of their SMILE form and their columns.
    buffered_extra: u64,
    body_format_tuner: BodyFormatTuner,
    /// Routing values, one for each shard. Batches without ids use them in turn.
    routing_values: VecDeque<Arc<str>>,
    source_ended: bool,
    stop: Option<(Stop, Time)>,
    /// The flow was stopped because of dead letters.
    too_many: bool,
    pauses: Pauses,
    /// When the cluster last accepted a document.
    last_progress: Time,
    /// The largest body, learned from a 413.
    body_limit: u64,
    pace: Option<Pace>,
    /// Counts of earlier runs of the same job.
    earlier: Counts,
    /// The value of `possible_duplicates` that the checkpoint on disk allows.
    repeats_allowed: u64,
    /// Partitions that another consumer reads now.
    lost: lost::Lost,
    /// Requests without an answer, and their ids.
    open: open::Open,
    /// Documents that wait for a flush, where the index acknowledges before it syncs.
    durable: Option<Durable>,
}

impl Flow {
    /// A new flow.
    pub fn new(config: FlowConfig, tuner: Box<dyn Tuner>) -> Self {
        Flow {
            pending: match config.coalesce {
                Some(option) => Pending::coalescing(option),
                None => Pending::new(!config.versioned),
            },
            pace: config.rate.map(Pace::new),
            jitter: Jitter::new(config.seed),
            body_format_tuner: BodyFormatTuner::new(BodyFormat::PLAIN, BodyFormatChoices::default(), ""),
            config,
            tuner,
            slots: BTreeMap::new(),
            requests: BTreeMap::new(),
            next_id: 0,
            ledger: Ledger::default(),
            tally: Tally::default(),
            not_found: Vec::new(),
            commands: VecDeque::new(),
            buffered: 0,
            buffered_extra: 0,
            routing_values: VecDeque::new(),
            source_ended: false,
            stop: None,
            too_many: false,
            pauses: Pauses::default(),
            last_progress: Time::START,
            body_limit: u64::MAX,
            earlier: Counts::default(),
            repeats_allowed: u64::MAX,
            lost: lost::Lost::new(),
            open: open::Open::default(),
            durable: None,
        }
    }

    /// Takes the next block of its partition.
    ///
    /// # Errors
    /// The block does not fit the ledger: a defect of this program.
    pub fn handle_block(&mut self, now: Time, mut items: ItemBlock) -> Result<(), LedgerError> {
        if self.is_lost(items.partition()) {
            return Ok(());
        }
        let id = match items.origin.own_numbers {
            false => self.ledger.open(&items.origin, items.len())?,
            true => {
                let numbers = items.records.iter().map(|record| record.line).collect();
                self.ledger.open_numbered(&items.origin, numbers, items.lines)?
            }
        };
        self.tally.counts.bytes_read += items.bytes_read;
        let mut rejects = std::mem::take(&mut items.rejects).into_iter().peekable();
        let unsettled = self.ledger.unsettled(id);
        if unsettled.is_empty() {
            return Ok(());
        }
        self.buffered += items.body.len() as u64;
        self.buffered_extra += items.extra_bytes();
        let sent_before = self.sent_before(&items);
        let block = Arc::new(Tracked { id, items, sent_before });
        for records in unsettled {
            // An earlier run wrote these to its dead letters.
            while rejects.next_if(|reject| reject.record < records.start).is_some() {}
            let mut next = records.start;
            while let Some(reject) = rejects.next_if(|reject| reject.record < records.end) {
                self.queue_records(now, &block, next..reject.record);
                next = reject.record + 1;
                self.dead_letter(
                    now,
                    DeadLetter {
                        position: block.items.position(reject.record),
                        status: 0,
                        kind: reject.kind.name().to_owned(),
                        reason: reject.reason,
                        action: None,
                        meta: reject.meta,
                        document: reject.text,
                    },
                );
                if self.ledger.settle(id, reject.record..reject.record + 1)? {
                    self.free(&block);
                }
            }
            self.queue_records(now, &block, next..records.end);
        }
        Ok(())
    }

    /// Marks the end of the sources.
    pub fn handle_source_end(&mut self) {
        self.source_ended = true;
    }

    /// Ends the run early. Nothing new is sent; answers to requests in flight are awaited for at
    /// most
    /// [`FlowConfig::drain_max`].
    pub fn handle_stop(&mut self, now: Time, why: Stop) {
        if self.stop.is_none() {
            self.stop = Some((why, now));
            self.pauses_changed(now);
        }
    }

    /// How many bytes may be read; 0 for none. Reading ahead is limited to what the next batches
    /// need: older data has left the processor's cache when it is sent. Where operations wait for
    /// later ones, only the memory limits it.
    pub fn input_room(&self) -> u64 {
        if self.stop.is_some() {
            return 0;
        }
        let plan = self.plan();
        let in_flight_bytes = plan.batch_bytes.saturating_mul(u64::from(plan.in_flight));
        let acked = self.durable.as_ref().map_or(0, Durable::acked_bytes);
        // Each batch that fills in parallel may be nearly full.
        let filling = plan.batch_bytes.saturating_mul(self.pending.groups() - 1);
        let ahead = in_flight_bytes
            .saturating_mul(2)
            .saturating_add(filling)
            .saturating_sub(self.buffered.saturating_sub(acked));
        let ids = self.pending.windows_overhead() + self.pending.open_bytes() + self.open.bytes();
        let held = self.buffered + self.buffered_extra + self.packed_bytes() + ids;
        let room = self.config.memory.saturating_sub(held);
        // SMILE takes about the size of the JSON again, columns up to twice that.
        let room = match (self.encoding(), self.buffered_extra) {
            (Encoding::Smile, _) => room / 2,
            (Encoding::Json, 0) => room,
            (Encoding::Json, _) => room / 3,
        };
        if self.config.coalesce.is_some() { room } else { room.min(ahead) }
    }

    /// The next command.
    pub fn poll(&mut self, now: Time) -> Option<Command> {
        self.give_up_if_due(now);
        if self.commands.is_empty() {
            self.flush_if_due(now);
        }
        if self.commands.is_empty() {
            self.start_requests(now);
        }
        if self.commands.is_empty() {
            self.read_back_if_due();
        }
        self.commands.pop_front()
    }

    /// When [`Flow::poll`] has a command even if no event occurs before.
    pub fn poll_timeout(&self) -> Option<Time> {
        let waiting = self.slots.values().filter_map(|slot| match slot.state {
            SlotState::Waiting { until } if self.may_be_retried(slot) => Some(until),
            SlotState::Waiting { .. }
            | SlotState::Sent { .. }
            | SlotState::AwaitingGone
            | SlotState::Comparing { .. } => None,
        });
        let probing = self.pauses.condition.is_some() && self.anything_sent();
        let waiting = if self.pauses.is_held() || probing { None } else { waiting.min() };
        let waiting = waiting.map(|until| self.paced(until));
        let start = match self.may_start_slot() {
            true => self.start_due(),
            false => None,
        };
        let drain = self.stop.as_ref().map(|(_, at)| *at + self.config.drain_max);
        // After a stop the end of a pause no longer matters.
        let pause = self.pauses.end(self.config.pause_max).filter(|_| self.stop.is_none());
        [waiting, start, drain, pause, self.flush_due()].into_iter().flatten().min()
    }

    /// Whether everything is done: all documents are settled, or the run is stopped and drained.
    pub fn is_done(&self) -> bool {
        self.commands.is_empty()
            && self.slots.is_empty()
            && self.durable.as_ref().is_none_or(Durable::is_done)
            && (self.stop.is_some() || (self.source_ended && self.pending.is_drained() && !self.has_to_read()))
    }

    /// Why the run ended early.
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref().map(|(why, _)| why)
    }

    /// Whether the run was stopped because of dead letters. Their final number is known once the
    /// answers to requests in flight have arrived.
    pub fn stopped_by_errors(&self) -> bool {
        self.too_many
    }

    /// How long a stopped flow waits for requests in flight.
    pub fn drain_max(&self) -> Duration {
        self.config.drain_max
    }

    /// Ends the accounting: documents that are not settled count as given back.
    ///
    /// # Errors
    /// The counts and the ledger disagree. That is a defect, and the report must not be trusted.
    pub fn close(&mut self) -> Result<(), LedgerError> {
        self.tally.counts.docs_given_back = self.ledger.in_flight() + self.ledger.given_back();
        self.ledger.check(&self.tally.counts)
    }

    /// The numbers so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Ids of documents to delete that were not there, the first 100 of them.
    pub fn not_found(&self) -> &[String] {
        &self.not_found
    }

    /// The counts so far.
    pub fn counts(&self) -> &Counts {
        &self.tally.counts
    }

    /// Requests in flight or waiting for a retry.
    pub fn in_flight(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The plan of the tuner, below the server's body limit and with requests that fit the rate.
    pub fn plan(&self) -> Plan {
        let mut plan = self.tuner.plan();
        plan.batch_bytes = plan.batch_bytes.min(self.body_limit);
        match &self.pace {
            Some(pace) => pace.piece(plan),
            None => plan,
        }
    }

    /// The plan without the current experiment of the tuner, below the server's body limit: the
    /// setting to use for another load of this kind.
    pub fn steady_plan(&self) -> Plan {
        let plan = self.tuner.steady_plan();
        Plan { batch_bytes: plan.batch_bytes.min(self.body_limit), ..plan }
    }

    /// The reason for the plan, in words.
    pub fn plan_why(&self) -> String {
        self.tuner.why()
    }

    /// What the next load may begin with. `None` where too little was measured.
    pub fn learned(&self) -> Option<Learned> {
        let learned = self.tuner.learned()?;
        let body_bytes_max = (self.body_limit != u64::MAX).then_some(self.body_limit);
        Some(Learned { body_bytes_max, format: self.body_format_tuner.learned(), ..learned })
    }

    /// What became of the plan that an earlier load had learned. `None` where there was none.
    pub fn recollection(&self) -> Option<&Recollection> {
        self.tuner.recollection()
    }

    /// The progress of each partition without gaps.
    pub fn watermarks(&self) -> Vec<(Partition, Watermark)> {
        self.ledger.partitions().map(|p| (p, self.ledger.watermark(p))).collect()
    }

    /// Records read so far, settled or not.
    pub fn ledger_opened(&self) -> u64 {
        self.ledger.opened()
    }

    fn may_start_slot(&self) -> bool {
        let paused = self.pauses.condition.is_some() || self.pauses.is_held();
        self.stop.is_none() && !paused && (self.slots.len() as u32) < self.plan().in_flight
    }

    /// When the next batch may start, given what is pending and the rate, if no event occurs.
    fn start_due(&self) -> Option<Time> {
        if self.durable.as_ref().is_some_and(Durable::has_again) {
            return Some(self.paced(Time::START));
        }
        let is_full = self.pending.is_full(&self.plan()) || self.source_ended;
        let ready = self.pending.oldest().map(|oldest| if is_full { oldest } else { oldest + self.config.linger });
        let due = ready.into_iter().chain(self.pending.next_window_end()).min()?;
        Some(self.paced(due))
    }

    /// `at`, or later if the rate demands it.
    fn paced(&self, at: Time) -> Time {
        self.pace.as_ref().map_or(at, |pace| pace.next().max(at))
    }

    fn anything_sent(&self) -> bool {
        self.slots.values().any(|slot| matches!(slot.state, SlotState::Sent { .. }))
    }

    fn start_requests(&mut self, now: Time) {
        if self.paced(now) > now {
            return;
        }
        loop {
            // During a condition, one request at a time probes whether the condition has passed.
            if self.pauses.is_held() || (self.pauses.condition.is_some() && self.anything_sent()) {
                return;
            }
            let due = self.slots.values().filter_map(|slot| match slot.state {
                SlotState::Waiting { until } if until <= now && self.may_be_retried(slot) => Some((until, slot.id)),
                _ => None,
            });
            let Some((_, id)) = due.min() else { break };
            self.send(now, id);
            if !self.commands.is_empty() {
                return;
            }
        }
        if !self.may_start_slot() {
            return;
        }
        let plan = self.plan();
        let no_room = self.input_room() == 0;
        let wanted = if no_room { plan.batch_bytes } else { 0 };
        self.pending.end_windows(now, if self.source_ended { u64::MAX } else { wanted });
        let lingered = self.pending.oldest().is_some_and(|oldest| now.since(oldest) >= self.config.linger);
        let flush = self.source_ended || lingered || no_room;
        let full = self.pending.is_full(&plan);
        let slot = match self.slot_again(now) {
            Some(slot) => slot,
            None if self.pending.is_empty() || !(flush || full) => return,
            None => {
                let batch = loop {
                    let batch = self.pending.take(now, &plan, self.encoding());
                    if batch.is_empty() {
                        return;
                    }
                    let batch = self.without_lost(now, batch);
                    if !batch.is_empty() {
                        break batch;
                    }
                };
                let mut slot = Slot::new(self.next_id(), now, batch, !(full || self.pending.has_plenty(&plan)));
                self.route(&mut slot);
                slot
            }
        };
        let id = slot.id;
        let may_be_sent = self.may_be_retried(&slot);
        self.slots.insert(id, slot);
        if may_be_sent {
            self.send(now, id);
        }
    }

    /// Sends batches without ids to one shard each, with these routing values in turn. The values
    /// stay with the documents: reads, updates and deletes by id need them.
    pub fn route_batches(&mut self, values: impl IntoIterator<Item = String>) {
        self.routing_values = values.into_iter().map(Arc::from).collect();
    }

    /// Gives a new batch the next routing value, unless an item determines its own shard.
    fn route(&mut self, slot: &mut Slot) {
        for part in &mut slot.parts {
            if part.batch.without_id() == u64::from(part.batch.items) && part.batch.shard.is_none() {
                part.routing = self.routing_values.front().cloned();
                self.routing_values.rotate_left(1.min(self.routing_values.len()));
            }
        }
    }

    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Sends the first part of a slot.
    fn send(&mut self, now: Time, slot_id: u64) {
        if !self.lost.is_empty() && !self.has_unlost(now, slot_id) {
            self.slots.remove(&slot_id);
            return;
        }
        let request = self.next_id();
        let sent = |slot: &&Slot| matches!(slot.state, SlotState::Sent { .. });
        // Plus this request, which waits until now.
        let in_flight = self.slots.values().filter(sent).count() as u32 + 1;
        let epoch = self.durable.as_ref().map_or(0, |durable| durable.epoch);
        let format = self.body_format();
        let front = self.slots.get(&slot_id).and_then(|slot| slot.parts.front());
        let marks = front.is_some_and(|part| self.wants_marks(&part.batch));
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        let Some(part) = slot.parts.front_mut() else {
            self.slots.remove(&slot_id);
            return;
        };
        if std::mem::take(&mut part.last_uncertain) {
            let repeated = if self.config.ids_of_documents { 0 } else { part.batch.without_id() };
            self.tally.counts.possible_duplicates += repeated;
        }
        if part.failures > 0 {
            self.tally.counts.retried_items += u64::from(part.batch.items);
        }
        part.in_flight = in_flight;
        part.epoch = epoch;
        part.item_replies |= marks;
        part.ids_asked = marks || (self.config.pairing == Pairing::Ids && part.batch.has_ids());
        let body = part.body(format);
        self.tally.counts.requests += 1;
        if body.format.compression == Compression::None {
            // Compressed bodies are counted when their size is known.
            self.tally.counts.bytes_sent += body.len();
        }
        if let Some(pace) = &mut self.pace {
            pace.sent(now, part.batch.bytes, part.batch.items);
        }
        slot.state = SlotState::Sent { request };
        let command = Command::Send(Request {
            id: request,
            body,
            items: part.batch.items,
            routing: part.routing.clone(),
            shard: part.batch.shard,
            item_replies: part.item_replies || !self.config.summary_replies,
            item_ids: part.ids_asked,
        });
        self.requests.insert(request, slot_id);
        self.commands.push_back(command);
    }
}

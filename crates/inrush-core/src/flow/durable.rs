//! Durability of documents in an index that acknowledges before it syncs its translog
//! (`index.translog.durability: async`).
//!
//! A node that fails can lose acknowledged documents of such an index. So the flow keeps the bytes
//! and ids of acknowledged documents. A flush settles them if it was sent later, succeeded on all
//! assigned copies, and the index has the same UUID and primary terms as when the documents were
//! sent. If the terms changed, all documents that wait, and those of all requests sent before, are
//! sent again as possibly indexed.

use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;

use super::slot::{Part, Slot};
use super::{Command, Flow, Note, Stop};
use crate::batch::{Batch, Segment};
use crate::codes::Code;
use crate::outcome::Settled;
use crate::time::Time;

/// How long an acknowledged document waits for a flush at most. The servers' own default of
/// `index.translog.sync_interval`.
const FLUSH_EVERY: Duration = Duration::from_secs(5);

/// A flush is sent when a quarter of the memory is acknowledged and not flushed. Requests in flight
/// take half of the memory; the last quarter is for documents that are acknowledged during the
/// flush.
const FLUSH_PART: u64 = 4;

/// The identity of an index and of its primaries. If it is unchanged, no shard has lost an
/// acknowledged document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryTerms {
    /// The index.
    pub index: String,
    /// The UUID of the index. It changes when the index is created again.
    pub uuid: String,
    /// The primary term of each shard. It increases when another copy becomes the primary, and when
    /// the primary restarts.
    pub terms: Vec<u64>,
}

/// The result of a flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// It succeeded on all assigned copies of all shards. These terms were read after it.
    Done(PrimaryTerms),
    /// It failed, or its result is unknown; with the reason.
    Failed(String),
}

#[derive(Debug)]
pub(super) struct Durable {
    terms: PrimaryTerms,
    /// Increases with every change of the terms.
    pub(super) epoch: u32,
    flush_bytes: u64,
    /// In the order of the acknowledgements.
    acked: VecDeque<Acked>,
    acked_bytes: u64,
    in_flight: Option<InFlight>,
    /// No flush is sent before this time, because the last one failed.
    not_before: Time,
    failing: Option<Failing>,
    /// Items that were sent under earlier terms.
    again: VecDeque<Batch>,
}

#[derive(Debug)]
struct Acked {
    items: Segment,
    settled: Settled,
    index: Option<String>,
    uncertain: bool,
    at: Time,
}

/// A flush in flight, and how many of the oldest acknowledgements it covers.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    request: u64,
    covers: usize,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    since: Time,
    times: u32,
}

impl Durable {
    /// Bytes that were acknowledged and wait for a flush.
    pub(super) fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }

    pub(super) fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    pub(super) fn is_done(&self) -> bool {
        self.acked.is_empty() && self.again.is_empty() && self.in_flight.is_none()
    }

    /// Items without an id that will be sent again.
    pub(super) fn repeats(&self) -> u64 {
        self.again.iter().map(Batch::without_id).sum()
    }

    fn push(&mut self, acked: Acked) {
        self.acked_bytes += acked.items.bytes();
        self.acked.push_back(acked);
    }

    fn send_again(&mut self, items: Segment, batch_bytes: u64, batch_docs: u32) {
        match self.again.back_mut() {
            Some(last) if last.bytes + items.bytes() <= batch_bytes && last.items + items.len() <= batch_docs => {
                last.push(items);
            }
            _ => {
                let mut batch = Batch::default();
                batch.push(items);
                self.again.push_back(batch);
            }
        }
    }
}

impl Flow {
    /// From now on, documents are settled by flushes only. To be called before the first block,
    /// with terms that were read after the last request of an earlier run.
    pub fn wait_for_flushes(&mut self, terms: PrimaryTerms) {
        self.durable = Some(Durable {
            terms,
            epoch: 0,
            flush_bytes: self.config.memory / FLUSH_PART,
            acked: VecDeque::new(),
            acked_bytes: 0,
            in_flight: None,
            not_before: Time::START,
            failing: None,
            again: VecDeque::new(),
        });
    }

    /// Takes the result of a flush.
    pub fn handle_flushed(&mut self, now: Time, request: u64, flushed: Flushed) {
        let Some(durable) = &mut self.durable else { return };
        let Some(flush) = durable.in_flight.take_if(|flush| flush.request == request) else { return };
        match flushed {
            Flushed::Done(terms) if terms == durable.terms => {
                durable.failing = None;
                let settled: Vec<Acked> = durable.acked.drain(..flush.covers).collect();
                durable.acked_bytes -= settled.iter().map(|acked| acked.items.bytes()).sum::<u64>();
                for Acked { items, settled, index, uncertain, .. } in settled {
                    self.count(&items, settled, index.as_deref(), uncertain);
                    self.release(now, &items, Some(settled));
                }
            }
            Flushed::Done(terms) if terms.uuid == durable.terms.uuid && terms.index == durable.terms.index => {
                durable.failing = None;
                self.primaries_changed(terms);
            }
            Flushed::Done(terms) => {
                let why = format!(
                    "the index {} was deleted and created again during the load; its documents are gone",
                    terms.index
                );
                self.handle_stop(now, Stop::failed(Code::IndexReplaced, why));
                // No later flush can prove more.
                self.give_up_durable(now, true);
            }
            Flushed::Failed(why) => self.flush_failed(now, &why),
        }
    }

    /// Records the acknowledgement of items.
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        part: &Part,
        settled: Settled,
        index: Option<&str>,
        items: &Segment,
    ) {
        let plan = self.plan();
        let Some(durable) = &mut self.durable else {
            self.count(items, settled, index, part.uncertain);
            return self.release(now, items, Some(settled));
        };
        if let Some(other) = index.filter(|index| *index != durable.terms.index) {
            let why = format!(
                "documents went to {other}, through a pipeline or a moved alias, but option `durability=async` flushes {} only; load into {other} itself, or use option `durability=request`",
                durable.terms.index
            );
            self.handle_stop(now, Stop::failed(Code::NotDurable, why));
            let mut batch = Batch::default();
            batch.push(items.clone());
            return self.settle_batch(now, &batch, Settled::Unknown, None, false);
        }
        if part.epoch != durable.epoch {
            // The request was sent under earlier terms, and may have been applied under them.
            return durable.send_again(items.clone(), plan.batch_bytes, plan.batch_docs);
        }
        let (items, index) = (items.clone(), index.map(str::to_owned));
        durable.push(Acked { items, settled, index, uncertain: part.uncertain, at: now });
    }

    /// When the next flush is due, if no event occurs.
    pub(super) fn flush_due(&self) -> Option<Time> {
        let durable = self.durable.as_ref().filter(|durable| durable.in_flight.is_none())?;
        let oldest = durable.acked.front()?.at;
        let due = match durable.acked_bytes >= durable.flush_bytes || self.only_a_flush_helps() {
            true => oldest,
            false => oldest + FLUSH_EVERY,
        };
        Some(due.max(durable.not_before))
    }

    /// Whether nothing is in flight, and nothing can be sent until a flush releases ids or memory,
    /// or the flush is the last action.
    fn only_a_flush_helps(&self) -> bool {
        let more =
            self.stop.is_none() && (!self.pending.is_empty() || self.durable.as_ref().is_some_and(Durable::has_again));
        let blocked = self.source_ended || self.stop.is_some() || self.pending.held() > 0 || self.input_room() == 0;
        self.slots.is_empty() && !more && blocked
    }

    pub(super) fn flush_if_due(&mut self, now: Time) {
        if self.flush_due().is_none_or(|due| due > now) {
            return;
        }
        let request = self.next_id();
        let Some(durable) = &mut self.durable else { return };
        durable.in_flight = Some(InFlight { request, covers: durable.acked.len() });
        self.commands.push_back(Command::Flush { request, index: durable.terms.index.clone() });
    }

    /// A slot for items that have to be sent again.
    pub(super) fn slot_again(&mut self, now: Time) -> Option<Slot> {
        let batch = self.durable.as_mut()?.again.pop_front()?;
        self.tally.counts.retried_items += u64::from(batch.items);
        let id = self.next_id();
        Some(Slot::resend(id, now, batch))
    }

    /// At a stop: items that would be sent again are unknown. When the drain time is over (`over`),
    /// so are items that no flush has made durable.
    pub(super) fn give_up_durable(&mut self, now: Time, over: bool) {
        let Some(durable) = &mut self.durable else { return };
        let mut batches = take(&mut durable.again);
        if over {
            durable.in_flight = None;
            durable.acked_bytes = 0;
            for acked in take(&mut durable.acked) {
                let mut batch = Batch::default();
                batch.push(acked.items);
                batches.push_back(batch);
            }
        }
        for batch in batches {
            self.settle_batch(now, &batch, Settled::Unknown, None, false);
        }
    }

    fn primaries_changed(&mut self, terms: PrimaryTerms) {
        let plan = self.plan();
        let Some(durable) = &mut self.durable else { return };
        durable.terms = terms;
        durable.epoch += 1;
        durable.acked_bytes = 0;
        let acked = take(&mut durable.acked);
        let docs: u64 = acked.iter().map(|acked| u64::from(acked.items.len())).sum();
        for acked in acked {
            durable.send_again(acked.items, plan.batch_bytes, plan.batch_docs);
        }
        self.commands.push_back(Command::Note(Note::SentAgain(docs)));
    }

    fn flush_failed(&mut self, now: Time, why: &str) {
        let Some(durable) = &mut self.durable else { return };
        let failing = durable.failing.get_or_insert(Failing { since: now, times: 0 });
        failing.times += 1;
        let Failing { since, times } = *failing;
        let until = now + self.wait(times);
        if let Some(durable) = &mut self.durable {
            durable.not_before = until;
        }
        self.commands.push_back(Command::Note(Note::WillRetry(format!("a flush failed: {why}"))));
        let tried = now.since(since);
        if self.stop.is_none() && tried >= self.config.retry.retry_for {
            let seconds = tried.as_secs_f64();
            let why =
                format!("no flush succeeded for {seconds:.0} s, so acknowledged documents are not durable: {why}");
            self.handle_stop(now, Stop::failed(Code::NotDurable, why));
        }
    }
}

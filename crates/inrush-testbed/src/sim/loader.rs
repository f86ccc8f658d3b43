//! A loader: permits, batches, retries within a permit, and the judged controller. It follows the
//! flow of `inrush-core`, without documents.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use inrush_core::nodes::{NodePool, NodeSignal};
use inrush_core::retry::{Jitter, RetryPolicy};
use inrush_core::time::Time;
use inrush_core::tune::{Plan, Sample, SampleOutcome, Tuner};

use super::agenda::{Nanos, nanos, seconds};
use super::documents::{Batch, Source};
use super::keys::LoaderConfig;
use super::link::Link;
use super::request::{Fate, Request};
use super::rng::Rng;
use super::scenario::Scenario;

/// Time that documents wait for a batch to fill: the default of inrush.
const LINGER: Nanos = 1_000_000_000;

/// Documents that are sent together and share a history.
#[derive(Clone, Copy, Debug)]
struct Piece {
    batch: Batch,
    setbacks: u32,
    source_limited: bool,
    /// True for the rest of a larger piece.
    remainder: bool,
}

/// A request with its retries.
#[derive(Debug)]
struct Permit {
    pieces: VecDeque<Piece>,
    /// The loader holds a request as a whole until all of it has ended.
    bytes: u64,
    /// The time of the next attempt; `None` while one is in flight.
    waits_until: Option<Nanos>,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learnt {
    pub(super) sample: Sample,
    pub(super) accepted_bytes: f64,
}

/// One loader.
pub(super) struct Loader {
    number: usize,
    pub(super) tuner: Box<dyn Tuner>,
    pub(super) link: Link,
    pool: NodePool,
    starts: Nanos,
    ends: Nanos,
    source: Source,
    bytes_per_second: Option<f64>,
    memory: u64,
    /// Bytes read and not sent, at `read_at`; counted only for a source with a rate.
    pending: f64,
    read_at: Nanos,
    taken_at: Nanos,
    permits: BTreeMap<u64, Permit>,
    next_permit: u64,
    bytes_under_way: u64,
    body_limit: u64,
    retry: RetryPolicy,
    jitter: Jitter,
    took_step: Duration,
}

impl Loader {
    pub(super) fn new(
        scenario: &Scenario,
        config: &LoaderConfig,
        number: usize,
        seed: u64,
        tuner: Box<dyn Tuner>,
    ) -> Self {
        let mut rng = Rng::new(seed, "loader", number);
        let jitter = Jitter::new((rng.unit() * 1e15) as u64);
        Loader {
            number,
            tuner,
            link: Link::new(&scenario.link, config.cpu_mb_per_second),
            pool: NodePool::new(scenario.cluster.nodes),
            starts: nanos(config.start_seconds),
            ends: nanos(config.end_seconds.unwrap_or(scenario.seconds).min(scenario.seconds)),
            source: Source::new(&scenario.documents, &mut rng),
            bytes_per_second: config.source_mb_per_second.map(|mb| mb * 1e6),
            memory: scenario.bounds().memory,
            pending: 0.0,
            read_at: nanos(config.start_seconds),
            taken_at: nanos(config.start_seconds),
            permits: BTreeMap::new(),
            next_permit: 0,
            bytes_under_way: 0,
            body_limit: u64::MAX,
            retry: RetryPolicy::default(),
            jitter,
            took_step: Duration::from_secs_f64(scenario.cluster.took_step_ms / 1000.0),
        }
    }

    pub(super) fn starts(&self) -> Nanos {
        self.starts
    }

    pub(super) fn set_source(&mut self, now: Nanos, mb_per_second: f64) {
        self.read(now);
        self.bytes_per_second = Some(mb_per_second * 1e6);
    }

    /// The next request that is due.
    pub(super) fn poll(&mut self, now: Nanos) -> Option<Request> {
        if now < self.starts || now >= self.ends {
            return None;
        }
        let due = self.permits.iter().find(|(_, permit)| permit.waits_until.is_some_and(|until| until <= now));
        if let Some((&id, _)) = due {
            return self.send(now, id);
        }
        let plan = self.plan();
        if !self.may_start(&plan) {
            return None;
        }
        self.read(now);
        let full = self.is_full(&plan);
        if !full && now < self.taken_at + LINGER && self.pending < self.room(&plan) {
            return None;
        }
        if !full && self.pending < 1.0 {
            return None;
        }
        let bytes = if self.bytes_per_second.is_none() || full {
            plan.batch_bytes
        } else {
            (self.pending as u64).min(plan.batch_bytes)
        };
        let batch = self.source.take(bytes, &plan);
        self.pending -= batch.bytes as f64;
        self.taken_at = now;
        self.bytes_under_way += batch.bytes;
        self.next_permit += 1;
        let piece = Piece { batch, setbacks: 0, source_limited: !full, remainder: false };
        let permit = Permit { pieces: VecDeque::from([piece]), bytes: batch.bytes, waits_until: None };
        self.permits.insert(self.next_permit, permit);
        self.send(now, self.next_permit)
    }

    /// The time at which [`Loader::poll`] has a request without any further event.
    pub(super) fn poll_timeout(&self, now: Nanos) -> Option<Nanos> {
        let again = self.permits.values().filter_map(|permit| permit.waits_until).min();
        let plan = self.plan();
        let fill = match self.bytes_per_second {
            Some(rate) if self.may_start(&plan) && self.room(&plan) >= 1.0 => {
                let missing = (plan.batch_bytes as f64).min(self.room(&plan)) - self.pending;
                Some((self.read_at + nanos(missing.max(0.0) / rate) + 1).min(self.taken_at + LINGER))
            }
            _ => None,
        };
        let next = [again, fill].into_iter().flatten().min()?;
        Some(next.max(now + 1_000)).filter(|&at| at < self.ends)
    }

    /// Takes a reply, or the end of a connection without one.
    pub(super) fn handle_answer(&mut self, now: Nanos, request: &Request) -> Option<Learnt> {
        self.read(now);
        self.pool.finished(request.pick, signal(request), time(now));
        let permit = self.permits.get_mut(&request.permit)?;
        let piece = permit.pieces.pop_front()?;
        let (outcome, rejected, accepted) = match request.fate {
            Fate::Items => (SampleOutcome::Answered, request.rejected, piece.batch.docs - request.rejected),
            Fate::Refused => (SampleOutcome::Refused, piece.batch.docs, 0),
            Fate::TooLarge => (SampleOutcome::TooLarge, 0, 0),
            Fate::Lost => (SampleOutcome::Lost, 0, 0),
        };
        let share = f64::from(accepted) / f64::from(piece.batch.docs);
        let accepted_bytes = piece.batch.bytes as f64 * share;
        let left = Batch { docs: piece.batch.docs - accepted, bytes: piece.batch.bytes - accepted_bytes as u64 };
        if left.docs > 0 {
            match outcome {
                // The document becomes a dead letter.
                SampleOutcome::TooLarge if left.docs == 1 => permit.waits_until = Some(now),
                SampleOutcome::TooLarge => {
                    self.body_limit = self.body_limit.min((piece.batch.bytes / 2).max(1));
                    let (a, b) = halves(left);
                    permit.pieces.push_front(Piece { batch: b, remainder: true, ..piece });
                    permit.pieces.push_front(Piece { batch: a, remainder: true, ..piece });
                    permit.waits_until = Some(now);
                }
                SampleOutcome::Answered | SampleOutcome::Refused | SampleOutcome::Lost => {
                    let setbacks = if accepted > 0 && accepted >= rejected { 1 } else { piece.setbacks + 1 };
                    let halved =
                        outcome == SampleOutcome::Refused && may_be_too_large(left, setbacks, request.in_flight);
                    let again = Piece { setbacks, remainder: piece.remainder || accepted > 0 || halved, ..piece };
                    if halved {
                        let (a, b) = halves(left);
                        permit.pieces.push_front(Piece { batch: b, ..again });
                        permit.pieces.push_front(Piece { batch: a, ..again });
                    } else {
                        permit.pieces.push_front(Piece { batch: left, ..again });
                    }
                    let wait = self.retry.wait(setbacks, &mut self.jitter);
                    permit.waits_until = Some(now + wait.as_nanos() as Nanos);
                }
            }
        } else {
            permit.waits_until = Some(now);
        }
        if permit.pieces.is_empty() {
            self.bytes_under_way -= permit.bytes;
            self.permits.remove(&request.permit);
        }
        let sample = Sample {
            sent: time(request.sent),
            wall: Duration::from_nanos(now - request.sent),
            took: self.took(request),
            bytes: piece.batch.bytes,
            docs: piece.batch.docs,
            accepted,
            rejected,
            outcome,
            in_flight: request.in_flight,
            source_limited: piece.source_limited || !self.is_full(&self.plan()),
            remainder: piece.remainder,
            node: request.pick.node as u16,
        };
        Some(Learnt { sample, accepted_bytes })
    }

    /// The tuner's plan, below the limit that a 413 showed.
    pub(super) fn plan(&self) -> Plan {
        let mut plan = self.tuner.plan();
        plan.batch_bytes = plan.batch_bytes.min(self.body_limit);
        plan
    }

    fn send(&mut self, now: Nanos, permit_id: u64) -> Option<Request> {
        let permit = self.permits.get_mut(&permit_id)?;
        permit.waits_until = None;
        let in_flight = self.permits.values().filter(|permit| permit.waits_until.is_none()).count() as u32;
        let permit = self.permits.get(&permit_id)?;
        let batch = permit.pieces.front()?.batch;
        Some(Request {
            loader: self.number,
            permit: permit_id,
            pick: self.pool.pick(time(now)),
            batch,
            sent: now,
            arrived: 0,
            finished: 0,
            in_flight,
            fate: Fate::Items,
            rejected: 0,
            tasks: 0,
            idle_since: None,
            answered: false,
        })
    }

    /// `took` of the reply, in the steps of the server's clock.
    fn took(&self, request: &Request) -> Option<Duration> {
        if request.fate != Fate::Items || self.took_step.is_zero() {
            return None;
        }
        let step = self.took_step.as_nanos() as Nanos;
        let steps = |at: Nanos| at / step * step;
        Some(Duration::from_nanos(steps(request.finished).saturating_sub(steps(request.arrived))))
    }

    /// True if a permit is free and a full batch fits into the memory.
    fn may_start(&self, plan: &Plan) -> bool {
        let fits = self.bytes_under_way == 0 || self.bytes_under_way + plan.batch_bytes <= self.memory;
        fits && (self.permits.len() as u32) < plan.in_flight
    }

    fn is_full(&self, plan: &Plan) -> bool {
        self.bytes_per_second.is_none() || self.pending >= plan.batch_bytes as f64
    }

    /// Limit of the bytes read and not sent: that of inrush's read-ahead, which may use half of the
    /// memory in addition.
    fn room(&self, plan: &Plan) -> f64 {
        let ahead = plan.batch_bytes.saturating_mul(u64::from(plan.in_flight)).saturating_mul(2);
        (self.memory + self.memory / 2).min(ahead).saturating_sub(self.bytes_under_way) as f64
    }

    /// Reads from the source until `now`.
    fn read(&mut self, now: Nanos) {
        let Some(rate) = self.bytes_per_second else { return };
        let elapsed = seconds(now.saturating_sub(self.read_at));
        self.read_at = self.read_at.max(now);
        let room = self.room(&self.plan());
        self.pending = (self.pending + rate * elapsed).min(room.max(self.pending));
    }
}

/// [`Nanos`] as the time of the tuner.
pub(super) fn time(now: Nanos) -> Time {
    Time::from_start(Duration::from_nanos(now))
}

/// The state of a node, as the transport would report it to the pool.
fn signal(request: &Request) -> NodeSignal {
    match request.fate {
        Fate::Items | Fate::TooLarge => NodeSignal::Answered,
        Fate::Refused => NodeSignal::Overloaded,
        Fate::Lost if request.arrived == 0 => NodeSignal::Failed,
        Fate::Lost => NodeSignal::Unclear,
    }
}

/// As `Part::may_be_too_large` of inrush-core.
fn may_be_too_large(batch: Batch, refusals: u32, in_flight: u32) -> bool {
    refusals.is_multiple_of(3) && in_flight <= 2 && batch.bytes > 1 << 20 && batch.docs > 1
}

fn halves(batch: Batch) -> (Batch, Batch) {
    let docs = batch.docs.div_ceil(2);
    let bytes = (u128::from(batch.bytes) * u128::from(docs) / u128::from(batch.docs)) as u64;
    (Batch { docs, bytes }, Batch { docs: batch.docs - docs, bytes: batch.bytes - bytes })
}

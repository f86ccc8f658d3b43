//! Makes the events of the loop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use inrush_cluster::transport::Transport;
use inrush_core::tune::{Sample, SampleOutcome};
use inrush_core::{DeadLetter, Flow, ItemBlock, Note, Request, Stop, Time};
use inrush_sources::{Lag, RowsRead, SourceError};

use crate::idle::Change;
use crate::observe::{LoadEvent, Observers};
use crate::progress::{Phase, Progress};

/// Shortest idle time of the source that the progress shows. Nothing is measured across it.
pub(crate) const IDLE_LONG: Duration = Duration::from_secs(1);

/// Notifies the observers, and keeps the last reported values.
pub(crate) struct Notifier {
    observers: Observers,
    bytes_total: Option<u64>,
    /// Rows that the documents are made of.
    rows: Option<RowsRead>,
    phase: Phase,
    is_paused: bool,
    /// The reason of the last change of the plan.
    plan_why: Option<Arc<str>>,
    /// Settled documents in the last event.
    settled: u64,
    /// Health of each node in the last event.
    healthy: Vec<bool>,
}

impl Notifier {
    /// A notifier for a source of this size and a cluster with this number of nodes.
    pub(crate) fn new(observers: Observers, bytes_total: Option<u64>, rows: Option<RowsRead>, nodes: usize) -> Self {
        Notifier {
            observers,
            bytes_total,
            rows,
            phase: Phase::Starting,
            is_paused: false,
            plan_why: None,
            settled: 0,
            healthy: vec![true; nodes],
        }
    }

    pub(crate) fn read(&self, now: Time, block: &ItemBlock) {
        let event = LoadEvent::Read { docs: u64::from(block.len()), bytes: block.bytes_read };
        self.observers.notify(now.since_start(), event);
    }

    pub(crate) fn idle(&self, now: Time, change: Change) {
        match change {
            Change::None => {}
            Change::Began => self.observers.notify(now.since_start(), LoadEvent::SourceIdle),
            Change::Ended(_) => self.observers.notify(now.since_start(), LoadEvent::SourceResumed),
        }
    }

    pub(crate) fn source_ended(&self, now: Time, error: Option<&SourceError>) {
        self.observers.notify(now.since_start(), LoadEvent::SourceEnded(error));
    }

    pub(crate) fn sent(&self, request: &Request) {
        self.observers.notify_detail_now(|| LoadEvent::RequestSent(request));
    }

    pub(crate) fn answered(&mut self, now: Time, request: u64, sample: &Sample, heard: bool, transport: &Transport) {
        let event = LoadEvent::RequestAnswered { request, sample, heard };
        self.observers.notify_detail(now.since_start(), event);
        // A retry may find the node healthy before the next progress.
        if sample.outcome != SampleOutcome::Answered && self.observers.want_details() {
            self.nodes(now, transport);
        }
    }

    pub(crate) fn measurement_reset(&self, now: Time) {
        self.observers.notify_detail(now.since_start(), LoadEvent::MeasurementReset);
    }

    pub(crate) fn dead_letter(&self, letter: &DeadLetter) {
        self.observers.notify_detail_now(|| LoadEvent::DeadLetter(letter));
    }

    pub(crate) fn note(&mut self, now: Time, note: &Note) {
        let event = match note {
            Note::Paused(pause) => {
                self.is_paused = true;
                LoadEvent::Paused(pause)
            }
            Note::Resumed => {
                self.is_paused = false;
                LoadEvent::Resumed { by_stop: false }
            }
            Note::BodyLimit(bytes) => LoadEvent::BodyLimited(*bytes),
            Note::Lost(why) => LoadEvent::RequestLost(why),
            Note::WillRetry(why) => LoadEvent::RequestRetried(why),
            Note::SentAgain(docs) => LoadEvent::DocsResent(*docs),
            Note::Plan(decision) => {
                self.plan_why = Some(decision.why.as_str().into());
                LoadEvent::PlanChanged(decision)
            }
            Note::BodyFormat(change) => LoadEvent::BodyFormatChanged(change),
        };
        self.observers.notify(now.since_start(), event);
    }

    /// Handles the end of a round of the loop.
    pub(crate) fn round(&mut self, now: Time, flow: &Flow) {
        if self.is_paused && flow.paused().is_none() {
            // A stop ends a pause without a note.
            self.is_paused = false;
            self.observers.notify(now.since_start(), LoadEvent::Resumed { by_stop: true });
        }
        let settled = flow.counts().docs_read;
        if settled != self.settled && self.observers.want_details() {
            self.settled = settled;
            self.observers.notify_detail(now.since_start(), LoadEvent::Settled(flow.counts()));
        }
    }

    /// Reports phase, states of nodes and progress. `idle` is the current idle time of the source,
    /// and `lag` how far it is behind.
    pub(crate) fn progress(
        &mut self,
        now: Time,
        flow: &Flow,
        idle: Duration,
        lag: Option<Arc<Lag>>,
        transport: &Transport,
    ) {
        let phase = phase(flow, idle);
        let is_new = phase != self.phase;
        self.phase = phase;
        if self.observers.want_details() {
            self.nodes(now, transport);
        }
        // The progress comes first: it has no new phase beside the numbers of the one before.
        let progress = Progress { lag, ..self.snapshot(now, flow) };
        self.observers.notify(now.since_start(), LoadEvent::Progress(&progress));
        if is_new {
            self.observers.notify(now.since_start(), LoadEvent::Phase(&self.phase));
        }
    }

    /// Handles the moment at which no request is in flight any more.
    pub(crate) fn drained(&mut self, now: Time, flow: &Flow) {
        self.round(now, flow);
        self.observers.notify(now.since_start(), LoadEvent::Drained);
    }

    fn nodes(&mut self, now: Time, transport: &Transport) {
        for (node, was) in self.healthy.iter_mut().enumerate() {
            let is = transport.is_node_healthy(node);
            if std::mem::replace(was, is) != is {
                let event = if is { LoadEvent::NodeHealthy(node) } else { LoadEvent::NodeUnhealthy(node) };
                self.observers.notify_detail(now.since_start(), event);
            }
        }
    }

    fn snapshot(&self, now: Time, flow: &Flow) -> Progress {
        let (counts, plan) = (flow.counts(), flow.plan());
        Progress {
            docs_read: flow.ledger_opened(),
            docs_settled: counts.docs_read,
            docs_dead_lettered: counts.docs_dead_lettered,
            docs_superseded: counts.docs_superseded,
            bytes_read: counts.bytes_read,
            bytes_total: self.bytes_total,
            rows_read: self.rows.as_ref().map(|rows| rows.read.load(Ordering::Relaxed)),
            rows_total: self.rows.as_ref().and_then(|rows| rows.total),
            bytes_sent: counts.bytes_sent,
            retried_items: counts.retried_items,
            requests: counts.requests,
            in_flight: flow.in_flight(),
            plan_in_flight: plan.in_flight,
            plan_batch_bytes: plan.batch_bytes,
            plan_why: self.plan_why.clone(),
            memory_bytes: flow.held_bytes(),
            body_format: flow.body_format(),
            seconds: now.since_start().as_secs_f64(),
            phase: self.phase.clone(),
            counts: counts.clone(),
            lag: None,
        }
    }
}

fn phase(flow: &Flow, idle: Duration) -> Phase {
    match (flow.stopped(), flow.paused()) {
        (Some(stop), _) => {
            let why = match stop {
                Stop::Interrupted => "interrupted",
                Stop::Failed(failure) => &failure.message,
            };
            Phase::Draining(match flow.in_flight() {
                0 => why.to_owned(),
                _ => {
                    let seconds = flow.drain_max().as_secs_f64();
                    format!("{why}; waiting up to {seconds} s for requests in flight")
                }
            })
        }
        (None, Some(pause)) => Phase::Paused(pause.why.clone()),
        (None, None) if flow.waits_for_order() => Phase::Paused(
            "later operations wait until the cluster shows that a request without an answer is over".to_owned(),
        ),
        (None, None) if idle >= IDLE_LONG => Phase::Idle,
        (None, None) => Phase::Loading,
    }
}

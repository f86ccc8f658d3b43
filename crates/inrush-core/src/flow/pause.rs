//! Pauses. Nothing is sent while the caller requests a pause, or while the driver reports that the
//! cluster cannot accept documents. A condition that documents met is probed with one request at a
//! time. Requests in flight are completed in any case.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::slot::SlotState;
use super::{Command, Flow, Note};
use crate::outcome::Condition;
use crate::time::Time;

/// The kind of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PauseKind {
    /// The caller requested it, and ends it.
    ByHand,
    /// A primary shard of a target index is missing.
    IndexRed,
    /// The disk of a node with shards of a target index is above its high watermark.
    DiskHigh,
    /// [`Condition::WriteBlock`].
    WriteBlock,
    /// [`Condition::FloodStage`].
    FloodStage,
    /// [`Condition::IndexMissing`].
    IndexMissing,
    /// [`Condition::IndexClosed`].
    IndexClosed,
    /// [`Condition::CreateBlock`].
    CreateBlock,
}

/// Why nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The kind.
    pub kind: PauseKind,
    /// The condition and its remedy.
    pub why: String,
}

/// All pauses of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PauseTotal {
    /// The kind.
    pub kind: PauseKind,
    /// The reason of the last one.
    pub why: String,
    /// The number of pauses.
    pub times: u64,
    /// Their total duration, seconds.
    pub seconds: f64,
}

impl PauseTotal {
    /// `times` pauses of one kind that lasted `seconds` together. `why`: the reason of the last
    /// one.
    pub fn new(kind: PauseKind, why: impl Into<String>, times: u64, seconds: f64) -> Self {
        PauseTotal { kind, why: why.into(), times, seconds }
    }
}

/// The reasons to pause, and how long pauses lasted.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    requested: bool,
    cluster: Option<Pause>,
    /// The condition that documents met.
    pub(super) condition: Option<Condition>,
    /// The current pause and its start.
    now: Option<(Pause, Time)>,
    held_since: Option<Time>,
    totals: Vec<PauseTotal>,
}

impl Pauses {
    /// Whether nothing may be sent, not even a probe.
    pub(super) fn is_held(&self) -> bool {
        self.requested || self.cluster.is_some()
    }

    /// When the pause has lasted too long. A requested pause has no limit.
    pub(super) fn end(&self, pause_max: Duration) -> Option<Time> {
        self.now.as_ref().filter(|(pause, _)| pause.kind != PauseKind::ByHand).map(|(_, since)| *since + pause_max)
    }

    fn cause(&self) -> Option<Pause> {
        let by_request = || Pause { kind: PauseKind::ByHand, why: "by hand".to_owned() };
        let met = || self.condition.map(Pause::from);
        self.requested.then(by_request).or_else(|| self.cluster.clone()).or_else(met)
    }
}

impl From<Condition> for Pause {
    fn from(condition: Condition) -> Self {
        let kind = match condition {
            Condition::WriteBlock => PauseKind::WriteBlock,
            Condition::FloodStage => PauseKind::FloodStage,
            Condition::IndexMissing => PauseKind::IndexMissing,
            Condition::IndexClosed => PauseKind::IndexClosed,
            Condition::CreateBlock => PauseKind::CreateBlock,
        };
        Pause { kind, why: condition.advice().to_owned() }
    }
}

impl Flow {
    /// The caller requests a pause or ends it. Repeated calls with the same value have no effect.
    pub fn handle_pause_request(&mut self, now: Time, paused: bool) {
        self.pauses.requested = paused;
        self.pauses_changed(now);
    }

    /// Whether the caller requests a pause.
    pub fn is_pause_requested(&self) -> bool {
        self.pauses.requested
    }

    /// The driver reports a condition of the cluster in which nothing should be sent; `None` when
    /// it has passed.
    pub fn handle_cluster_pause(&mut self, now: Time, pause: Option<Pause>) {
        self.pauses.cluster = pause;
        self.pauses_changed(now);
    }

    /// The current pause.
    pub fn paused(&self) -> Option<&Pause> {
        self.pauses.now.as_ref().map(|(pause, _)| pause)
    }

    /// The pauses so far by kind, the current one included.
    pub fn pauses(&self, now: Time) -> Vec<PauseTotal> {
        let mut totals = self.pauses.totals.clone();
        if let Some((pause, since)) = &self.pauses.now
            && let Some(total) = totals.iter_mut().find(|total| total.kind == pause.kind)
        {
            total.seconds += now.since(*since).as_secs_f64();
        }
        totals
    }

    /// Documents met a condition of their whole index; `None` if they did not.
    pub(super) fn met(&mut self, now: Time, condition: Option<Condition>) {
        // The first condition counts until it has passed.
        if condition.is_none() || self.pauses.condition.is_none() {
            self.pauses.condition = condition;
            self.pauses_changed(now);
        }
    }

    /// Starts or ends a pause when its reasons have changed. After a stop there are no pauses.
    pub(super) fn pauses_changed(&mut self, now: Time) {
        let held = self.pauses.is_held() && self.stop.is_none();
        match (held, self.pauses.held_since) {
            (true, None) => self.pauses.held_since = Some(now),
            (false, Some(since)) => {
                self.pauses.held_since = None;
                self.exclude_pause(now, now.since(since));
            }
            (true, Some(_)) | (false, None) => {}
        }
        let next = self.pauses.cause().filter(|_| self.stop.is_none());
        match (&mut self.pauses.now, next) {
            (None, None) => {}
            (Some((pause, _)), Some(next)) if pause.kind == next.kind => *pause = next,
            (_, next) => {
                self.pauses.totals = self.pauses(now);
                self.tuner_break(now);
                self.body_format_tuner.handle_break(now);
                let had = self.pauses.now.take().is_some();
                match next {
                    Some(pause) => {
                        self.begin(&pause);
                        self.pauses.now = Some((pause.clone(), now));
                        self.commands.push_back(Command::Note(Note::Paused(pause)));
                    }
                    None if had && self.stop.is_none() => self.commands.push_back(Command::Note(Note::Resumed)),
                    None => {}
                }
            }
        }
    }

    fn begin(&mut self, pause: &Pause) {
        let totals = &mut self.pauses.totals;
        match totals.iter_mut().find(|total| total.kind == pause.kind) {
            Some(total) => {
                total.times += 1;
                total.why.clone_from(&pause.why);
            }
            None => totals.push(PauseTotal::new(pause.kind, pause.why.clone(), 1, 0.0)),
        }
    }

    /// Excludes an intended pause from retry budgets and from the time without progress.
    fn exclude_pause(&mut self, now: Time, held: Duration) {
        self.last_progress = (self.last_progress + held).min(now);
        for slot in self.slots.values_mut() {
            let comparing = match &mut slot.state {
                SlotState::Comparing { part, .. } => Some(part),
                SlotState::Sent { .. } | SlotState::Waiting { .. } | SlotState::AwaitingGone => None,
            };
            for part in slot.parts.iter_mut().chain(comparing) {
                part.first_sent = (part.first_sent + held).min(now);
                part.failed = part.failed.map(|failed| (failed + held).min(now));
            }
        }
    }
}

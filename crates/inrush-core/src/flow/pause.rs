//! Pauses. Nothing at all is sent while somebody holds the flow by hand, or while its driver sees trouble in the cluster; a
//! condition that documents met is probed with one request at a time. What is under way ends in any case.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::slot::SlotState;
use super::{Command, Flow, Note};
use crate::outcome::Condition;
use crate::time::Time;

/// What kind of pause it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    /// Somebody asked for it. Lasts until somebody ends it.
    ByHand,
    /// A primary shard of an index that is written to is not there.
    IndexRed,
    /// The disk of a node with shards of such an index is above its high watermark.
    DiskHigh,
    /// [`Condition::WriteBlock`].
    WriteBlock,
    /// [`Condition::FloodStage`].
    FloodStage,
    /// [`Condition::IndexMissing`].
    IndexMissing,
    /// [`Condition::IndexClosed`].
    IndexClosed,
}

/// Why nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Which kind.
    pub kind: PauseKind,
    /// What it is, and what to do about it.
    pub why: String,
}

/// All pauses of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseTotal {
    /// Which kind.
    pub kind: PauseKind,
    /// What the last of them was about.
    pub why: String,
    /// How many there were.
    pub times: u64,
    /// How long they took together.
    pub seconds: f64,
}

/// What keeps a flow from sending, and how long it did.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    requested: bool,
    cluster: Option<Pause>,
    /// What documents met.
    pub(super) condition: Option<Condition>,
    /// What of these counts now, and since when.
    now: Option<(Pause, Time)>,
    held_since: Option<Time>,
    totals: Vec<PauseTotal>,
}

impl Pauses {
    /// Whether nothing may be sent, not even to find out whether it would be taken.
    pub(super) fn is_held(&self) -> bool {
        self.requested || self.cluster.is_some()
    }

    /// When the pause has lasted for too long. One by hand never does.
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
        };
        Pause { kind, why: condition.advice().to_owned() }
    }
}

impl Flow {
    /// Somebody holds the flow, or lets go of it. Any number of calls with the same value count once.
    pub fn handle_pause_request(&mut self, now: Time, paused: bool) {
        self.pauses.requested = paused;
        self.pauses_changed(now);
    }

    /// Whether it is held by hand.
    pub fn is_pause_requested(&self) -> bool {
        self.pauses.requested
    }

    /// What the driver sees in the cluster that is no time to send; nothing any more with `None`.
    pub fn handle_cluster_pause(&mut self, now: Time, pause: Option<Pause>) {
        self.pauses.cluster = pause;
        self.pauses_changed(now);
    }

    /// Why nothing is sent at the moment.
    pub fn paused(&self) -> Option<&Pause> {
        self.pauses.now.as_ref().map(|(pause, _)| pause)
    }

    /// The pauses so far by kind, the one that lasts included.
    pub fn pauses(&self, now: Time) -> Vec<PauseTotal> {
        let mut totals = self.pauses.totals.clone();
        if let Some((pause, since)) = &self.pauses.now
            && let Some(total) = totals.iter_mut().find(|total| total.kind == pause.kind)
        {
            total.seconds += now.since(*since).as_secs_f64();
        }
        totals
    }

    /// Documents met a condition of their whole index, or none any more.
    pub(super) fn met(&mut self, now: Time, condition: Option<Condition>) {
        // The first one counts until it has passed.
        if condition.is_none() || self.pauses.condition.is_none() {
            self.pauses.condition = condition;
            self.pauses_changed(now);
        }
    }

    /// Keeps the books on pauses. After a stop there are none.
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
            None => totals.push(PauseTotal { kind: pause.kind, why: pause.why.clone(), times: 1, seconds: 0.0 }),
        }
    }

    /// A time in which nothing was sent on purpose spends no retries, and is nothing that the cluster did.
    fn exclude_pause(&mut self, now: Time, held: Duration) {
        self.last_progress = (self.last_progress + held).min(now);
        for slot in self.slots.values_mut() {
            let comparing = match &mut slot.state {
                SlotState::Comparing { part, .. } => Some(part),
                SlotState::Sent { .. } | SlotState::Waiting { .. } | SlotState::AwaitingGone => None,
            };
            for part in slot.parts.iter_mut().chain(comparing) {
                part.first_sent = (part.first_sent + held).min(now);
            }
        }
    }
}

//! What the tuner is asked and what it is told.

mod auto;
mod body_format;
mod delay;
mod gentle;
mod knobs;
mod loss;
mod settling;
#[cfg(test)]
mod tests;
mod trial;
mod window;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Time;

pub use auto::AutoTuner;
pub use body_format::{BodyFormatChoices, BodyFormatTuner};
pub use gentle::{Gentle, GentleTuner};

/// How large requests are, and how many are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Bytes of one request's body as JSON, before compression. A larger document travels alone.
    pub batch_bytes: u64,
    /// Documents in one request.
    pub batch_docs: u32,
    /// Requests under way at once, those that wait for a retry included.
    pub in_flight: u32,
}

/// What became of one request, as far as the tuner cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was answered item by item; some of the items may have been rejected because of load.
    Answered,
    /// The whole request was refused because of load: 429, a circuit breaker.
    Refused,
    /// It was too large for the server: 413.
    TooLarge,
    /// No answer came: a timeout or a broken connection, nobody to send it to, or a gateway or a broken server said so (500 and above).
    Lost,
}

/// What one attempt of one request taught.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When it was handed over.
    pub sent: Time,
    /// From handing it over to the last byte of the reply, or to giving up on it.
    pub wall: Duration,
    /// The part of `wall` that the server accounts for. Elasticsearch 8's clock goes in steps of 200 ms, and 0 is common: only means over
    /// many say something.
    pub took: Option<Duration>,
    /// Bytes of its body as JSON, in whatever form it was sent.
    pub bytes: u64,
    /// Its documents.
    pub docs: u32,
    /// Documents that were taken, or refused for good: the cluster has done its work on them.
    pub accepted: u32,
    /// Documents that were refused because of load.
    pub rejected: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Requests under way when it was sent, itself included; those that wait for a repetition are not.
    pub in_flight: u32,
    /// The source or the rate that was set, not the cluster, was the limit: the batch was sent before it was full, or nothing was waiting when a
    /// permit was free.
    pub source_limited: bool,
    /// It is what was left of a larger request, the part that was rejected or a half of it: it is small, and how long it takes says nothing of the
    /// plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remainder: bool,
    /// The node that it went to, by its place in the list of nodes.
    pub node: u16,
}

impl Sample {
    /// The part of `bytes` that was accepted: what the tuner maximises a second.
    pub fn accepted_bytes(&self) -> u64 {
        match self.docs {
            0 => 0,
            docs => (u128::from(self.bytes) * u128::from(self.accepted) / u128::from(docs)) as u64,
        }
    }
}

/// A change of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// When.
    pub at: Time,
    /// Until now.
    pub from: Plan,
    /// From now on.
    pub to: Plan,
    /// In words a person can read, with the figures it rests on.
    pub why: String,
}

/// Within what a tuner may choose. A knob whose ends are equal is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Smallest and largest body, bytes.
    pub batch_bytes: (u64, u64),
    /// Most documents in one request.
    pub batch_docs: u32,
    /// Fewest and most requests under way.
    pub in_flight: (u32, u32),
    /// `batch_bytes` times `in_flight` stays below, bytes. Less than what a loader may hold in memory: a batch that is filled meanwhile needs room, or
    /// every request is sent before it is full, which tells nothing of the cluster.
    pub memory: u64,
}

/// Decides on the plan. A state machine without clock or randomness of its own: the same calls give the same plans.
pub trait Tuner: Send {
    /// What to do from now on.
    fn plan(&self) -> Plan;

    /// The plan that stands while something else is tried or measured for a moment: what to give to somebody who asks for the best plan.
    fn steady_plan(&self) -> Plan {
        self.plan()
    }

    /// Learns from an attempt that has ended, in the order in which they end.
    fn handle_sample(&mut self, now: Time, sample: &Sample);

    /// Nothing was sent for a while until now, on purpose: what would be measured across it says nothing of the cluster.
    fn handle_break(&mut self, _now: Time) {}

    /// Whether the plan holds still, so that something else can be compared meanwhile.
    fn is_settled(&self) -> bool {
        true
    }

    /// The next change that was made and not told yet.
    fn poll_decision(&mut self) -> Option<Decision>;

    /// What the plan is based on, for the report, in words a person can read.
    fn why(&self) -> String;
}

/// A plan that never changes.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(pub Plan);

impl Tuner for Fixed {
    fn plan(&self) -> Plan {
        self.0
    }

    fn handle_sample(&mut self, _: Time, _: &Sample) {}

    fn poll_decision(&mut self) -> Option<Decision> {
        None
    }

    fn why(&self) -> String {
        "fixed values".to_owned()
    }
}

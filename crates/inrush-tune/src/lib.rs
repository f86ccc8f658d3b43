//! Tuners: they choose batch size, requests in flight and body format from the results of requests.
//! They know neither documents nor servers. As in `inrush-core` above them there is no clock,
//! thread, file, socket or randomness: [`time::Time`] is an argument.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod auto;
mod body_format;
mod chance;
mod delay;
pub mod format;
mod gentle;
pub mod jitter;
mod knobs;
mod learned;
mod loss;
mod remembering;
mod settling;
#[cfg(test)]
mod tests;
pub mod time;
mod trial;
mod window;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Time;

pub use auto::AutoTuner;
pub use body_format::{BodyFormatChoices, BodyFormatTuner};
pub use gentle::{Gentle, GentleTuner};
pub use learned::{Learned, Recollection, Unloaded};
pub use remembering::RememberingTuner;

/// The size of requests and the number in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Bytes of one request body as JSON, before compression. A larger document is sent alone.
    pub batch_bytes: u64,
    /// Documents in one request.
    pub batch_docs: u32,
    /// Requests in flight, including those that wait for a retry.
    pub in_flight: u32,
}

/// The result of a request, as far as a tuner needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleOutcome {
    /// Answered item by item. Some items may have been rejected because of load.
    Answered,
    /// Refused as a whole because of load: 429, a circuit breaker.
    Refused,
    /// Too large for the server: 413.
    TooLarge,
    /// No answer: a timeout, a broken connection, no server, or a status of 500 and above from a
    /// gateway or a failing server.
    Lost,
}

/// What one attempt of a request showed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When the attempt was sent.
    pub sent: Time,
    /// From sending to the last byte of the reply, or to giving up.
    pub wall: Duration,
    /// The part of `wall` that the server reports. The clock of Elasticsearch 8 advances in steps
    /// of 200 ms, and 0 is common: only means over many attempts are meaningful.
    pub took: Option<Duration>,
    /// Bytes of the body as JSON, also where its format was another one.
    pub bytes: u64,
    /// Documents of the request.
    pub docs: u32,
    /// Documents that were accepted, or refused for good: the cluster has processed them.
    pub accepted: u32,
    /// Documents that were refused because of load.
    pub rejected: u32,
    /// The result.
    pub outcome: SampleOutcome,
    /// Requests in flight when it was sent, including itself, without those that wait for a retry.
    pub in_flight: u32,
    /// The source or the configured rate was the limit, not the cluster: the batch was sent before
    /// it was full, or nothing was waiting when a permit was free.
    pub source_limited: bool,
    /// The request was the rest of a larger one: its rejected items, or a half. It is small, and
    /// its duration says nothing about the plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remainder: bool,
    /// The node, by its index in the list of nodes.
    pub node: u16,
}

impl Sample {
    /// The part of `bytes` that was accepted. A tuner maximizes its rate.
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
    /// The plan before.
    pub from: Plan,
    /// The plan from now on.
    pub to: Plan,
    /// The reason in words, with its figures.
    pub why: String,
}

/// The bounds of a tuner. A value with equal bounds is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The smallest and the largest body, bytes.
    pub batch_bytes: (u64, u64),
    /// The most documents in one request.
    pub batch_docs: u32,
    /// The fewest and the most requests in flight.
    pub in_flight: (u32, u32),
    /// The upper bound of `batch_bytes` x `in_flight`, bytes. It is less than the memory of the
    /// loader: a batch that is being filled needs room, too. Otherwise every request is sent before
    /// it is full, and shows nothing about the cluster.
    pub memory: u64,
}

/// Chooses the plan. A state machine without a clock or randomness: equal calls give equal plans.
pub trait Tuner: Send {
    /// The current plan.
    fn plan(&self) -> Plan;

    /// The plan without the current experiment: the one to recommend.
    fn steady_plan(&self) -> Plan {
        self.plan()
    }

    /// Takes an attempt that has ended. Attempts arrive in the order of their ends.
    fn handle_sample(&mut self, now: Time, sample: &Sample);

    /// Nothing was sent for a while on purpose. Measurements across this moment are void.
    fn handle_break(&mut self, _now: Time) {}

    /// Whether the plan is stable, so that something else can be compared.
    fn is_settled(&self) -> bool {
        true
    }

    /// The next change of the plan that was not reported yet.
    fn poll_decision(&mut self) -> Option<Decision>;

    /// The reason for the plan, in words, for the report.
    fn why(&self) -> String;

    /// What the next load may begin with. `None` where too little was measured.
    fn learned(&self) -> Option<Learned> {
        None
    }

    /// What became of the plan that an earlier load had learned. `None` where there was none.
    fn recollection(&self) -> Option<&Recollection> {
        None
    }
}

/// A tuner with a fixed plan.
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

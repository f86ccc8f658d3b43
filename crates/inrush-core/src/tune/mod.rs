//! What the tuner is asked and what it is told. Fixed values stand in for it until there is a controller.

use std::time::Duration;

use serde::Serialize;

use crate::time::Time;

/// How large requests are, and how many are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Bytes of one request's body, before compression. A larger document travels alone.
    pub batch_bytes: u64,
    /// Documents in one request.
    pub batch_docs: u32,
    /// Requests under way at once, those that wait for a retry included.
    pub in_flight: u32,
}

/// What one request taught.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Bytes of its body.
    pub bytes: u64,
    /// Its documents.
    pub docs: u32,
    /// From handing it over to the last byte of the reply.
    pub wall: Duration,
    /// The part of it that the server accounts for.
    pub took: Option<Duration>,
    /// Documents that were taken.
    pub accepted: u32,
    /// Documents that were refused because of load.
    pub rejected: u32,
    /// The request was too large for the server.
    pub too_large: bool,
    /// The source, not the cluster, was the limit when it was sent.
    pub source_limited: bool,
}

/// Decides on the plan. A state machine: the same calls give the same plans.
pub trait Tuner: Send {
    /// What to do from now on.
    fn plan(&self) -> Plan;

    /// Learns from a finished request.
    fn handle_sample(&mut self, now: Time, sample: &Sample);

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

    fn why(&self) -> String {
        "fixed values".to_owned()
    }
}

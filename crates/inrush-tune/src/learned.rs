//! What a load learned of a cluster, for the loads after it.

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::format::BodyFormat;

/// The most seconds that a memory counts.
const SECONDS_MOST: f64 = 3600.0;

/// What a tuner knows at the end of a load. The next load into the same index begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// The plan that was measured last.
    pub plan: Plan,
    /// Accepted bytes per second with this plan.
    pub bytes_per_second: f64,
    /// Mean wall time of a request with this plan, seconds.
    pub wall_seconds: f64,
    /// Mean size of a document, bytes of its part of a request.
    pub doc_bytes: f64,
    /// Part of the documents that were rejected, 0 to 1.
    pub rejected: f64,
    /// Wall time of a request on an otherwise idle cluster, where it was measured.
    pub unloaded: Option<Unloaded>,
    /// Seconds that were measured, in this load and the loads that it began with.
    pub seconds: f64,
    /// Largest body that the way to the cluster takes, bytes, where a refusal showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes_max: Option<u64>,
    /// Encoding and compression, where they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<BodyFormat>,
}

/// The wall time of an unloaded request, as a line over the bytes of its body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unloaded {
    /// Wall time of a body of `body_bytes`, seconds.
    pub wall_seconds: f64,
    /// Bytes of that body.
    pub body_bytes: f64,
    /// Part of `wall_seconds` that does not grow with the body, 0 to 1.
    pub fixed: f64,
}

impl Learned {
    /// What is to be remembered of a load that began with `before`. `None` where the load was too
    /// short to confirm or to replace it.
    pub fn after(mut self, before: Option<&Learned>, recollection: Option<&Recollection>) -> Option<Learned> {
        if let Some(before) = before {
            match recollection {
                Some(Recollection::Held) => {
                    self.seconds = (self.seconds + before.seconds).min(SECONDS_MOST);
                    self.unloaded = self.unloaded.or(before.unloaded);
                    self.format = self.format.or(before.format);
                    let limits = [self.body_bytes_max, before.body_bytes_max];
                    self.body_bytes_max = limits.into_iter().flatten().min();
                }
                Some(Recollection::Contradicted(_)) => {}
                Some(Recollection::Unchecked) | None => return None,
            }
        }
        self.seconds = self.seconds.min(SECONDS_MOST);
        Some(self)
    }

    /// Whether all numbers are possible ones. A file may hold others.
    pub fn is_sound(&self) -> bool {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let part = |value: f64| (0.0..=1.0).contains(&value);
        let unloaded = |line: &Unloaded| positive(line.wall_seconds) && positive(line.body_bytes) && part(line.fixed);
        self.plan.batch_bytes > 0
            && self.plan.in_flight > 0
            && [self.bytes_per_second, self.wall_seconds, self.doc_bytes].into_iter().all(positive)
            && part(self.rejected)
            && self.seconds.is_finite()
            && self.unloaded.as_ref().is_none_or(unloaded)
            && self.body_bytes_max != Some(0)
    }
}

/// What became of a plan that a load began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recollection {
    /// Not enough was measured yet.
    Unchecked,
    /// The first requests confirm it.
    Held,
    /// The first requests contradict it, for this reason. The load went on without it.
    Contradicted(String),
}

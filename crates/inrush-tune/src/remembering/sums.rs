//! Sums over the requests of one plan.

use std::time::Duration;

use crate::{Sample, SampleOutcome};

/// Sums over requests that were sent under one plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// Answered requests, without the rests of larger ones. All other sums but the last two are
    /// theirs.
    pub(super) answered: u32,
    in_flight: u64,
    wall_seconds: f64,
    bytes: u64,
    accepted_bytes: u64,
    docs: u64,
    /// Documents of all attempts, and those of them that were rejected or lost.
    all_docs: u64,
    rejected: u64,
}

impl Sums {
    pub(super) fn add(&mut self, sample: &Sample) {
        self.all_docs += u64::from(sample.docs);
        self.rejected += match sample.outcome {
            SampleOutcome::Answered => u64::from(sample.rejected),
            SampleOutcome::Refused | SampleOutcome::Lost => u64::from(sample.docs),
            SampleOutcome::TooLarge => 0,
        };
        if sample.outcome == SampleOutcome::Answered && !sample.remainder {
            self.answered += 1;
            self.in_flight += u64::from(sample.in_flight);
            self.wall_seconds += sample.wall.as_secs_f64();
            self.bytes += sample.bytes;
            self.accepted_bytes += sample.accepted_bytes();
            self.docs += u64::from(sample.docs);
        }
    }

    /// Accepted bytes per second, by Little's law: requests in flight x bytes / wall time.
    pub(super) fn bytes_per_second(&self) -> f64 {
        let in_flight = self.in_flight as f64 / f64::from(self.answered.max(1));
        in_flight * self.accepted_bytes as f64 / self.wall_seconds.max(1e-9)
    }

    /// Accepted bytes per second, if all of them were accepted within `lasted`.
    pub(super) fn accepted_bytes_in(&self, lasted: Duration) -> f64 {
        self.accepted_bytes as f64 / lasted.as_secs_f64().max(1e-9)
    }

    /// Mean wall time of a request, seconds.
    pub(super) fn wall_seconds(&self) -> f64 {
        self.wall_seconds / f64::from(self.answered.max(1))
    }

    /// Mean size of a document, bytes.
    pub(super) fn doc_bytes(&self) -> f64 {
        self.bytes as f64 / self.docs.max(1) as f64
    }

    /// The part of the documents that was rejected or lost, 0 to 1.
    pub(super) fn rejected(&self) -> f64 {
        self.rejected as f64 / self.all_docs.max(1) as f64
    }
}

//! The times of answers, as a histogram. Pure.

use serde::{Deserialize, Serialize};

/// The upper bounds of the buckets of answers, seconds.
const BOUNDS: [f64; 12] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// The times of answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    buckets: [u64; BOUNDS.len()],
    /// Answers above the last bound.
    pub(crate) more: u64,
    /// The sum of all times, seconds.
    pub(crate) wall: f64,
    /// The part of `wall` that servers report as their own.
    pub(crate) took: f64,
}

impl Latency {
    /// An answer after `wall` seconds, `took` of which the server reports as its own.
    pub(crate) fn answered(&mut self, wall: f64, took: f64) {
        match BOUNDS.iter().position(|bound| wall <= *bound) {
            Some(bucket) => self.buckets[bucket] += 1,
            None => self.more += 1,
        }
        self.wall += wall;
        self.took += took;
    }

    /// Answers so far.
    pub(crate) fn answers(&self) -> u64 {
        self.buckets.iter().sum::<u64>() + self.more
    }

    /// The answers since an earlier moment.
    pub(crate) fn since(&self, earlier: &Latency) -> Latency {
        Latency {
            buckets: std::array::from_fn(|at| self.buckets[at].saturating_sub(earlier.buckets[at])),
            more: self.more.saturating_sub(earlier.more),
            wall: (self.wall - earlier.wall).max(0.0),
            took: (self.took - earlier.took).max(0.0),
        }
    }

    /// Adds other answers.
    pub(crate) fn add(&mut self, other: &Latency) {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(bucket, more)| *bucket += more);
        self.more += other.more;
        self.wall += other.wall;
        self.took += other.took;
    }

    /// The upper bound of each bucket, and the number of its answers.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        BOUNDS.into_iter().zip(self.buckets).collect()
    }
}

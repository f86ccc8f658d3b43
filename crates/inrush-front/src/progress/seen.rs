//! The progress of the last minutes, and its phase in words. Pure.

use inrush_load::{Phase, Progress};

use super::format::{RateWindow, finishing, has_rate, seconds_left};
use super::graph::Graph;

/// The progress of the last minutes.
#[derive(Debug, Default)]
pub struct Seen {
    rates: RateWindow,
    graph: Graph,
}

impl Seen {
    /// Adds the present.
    pub fn see(&mut self, now: &Progress) {
        if now.phase != Phase::Starting {
            self.rates.begin(now);
            self.rates.see(now);
            self.graph.see(now);
        }
    }

    /// Documents a second, and bytes of the source.
    pub fn rates(&self, now: &Progress) -> (u64, u64) {
        let whole = |rate: Option<f64>| rate.filter(|_| has_rate(&now.phase)).unwrap_or(0.0).round() as u64;
        (whole(self.rates.docs_per_second()), whole(self.rates.bytes_per_second()))
    }

    /// The rates of the last minutes.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The time left, seconds.
    pub fn seconds_left(&self, now: &Progress) -> Option<u64> {
        seconds_left(now, &self.rates)
    }
}

/// The phase with its cause or its progress.
pub fn phase_text(phase: &Phase) -> String {
    match phase {
        Phase::Starting => OPENING.to_owned(),
        Phase::Paused(why) | Phase::Draining(why) => format!("{}: {why}", phase.name()),
        Phase::Baking(step) => format!("bake: {step}"),
        Phase::Refreshing => "refreshing, so that the documents can be counted".to_owned(),
        Phase::Verifying => "verifying: counting the documents".to_owned(),
        phase => finishing(phase),
    }
}

/// The phase before the first document.
pub const OPENING: &str = "opening the source and the cluster";

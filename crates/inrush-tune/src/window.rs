//! Statistics of the attempts in one window.

use crate::time::Time;
use crate::{Sample, SampleOutcome};

/// Sums over the attempts that were sent from a moment on. By Little's law the rate follows from
/// the requests in flight and the mean wall time. Counting completions between two moments has an
/// error if they come in bursts; this has not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Attempts that were sent earlier belong to another plan and do not count.
    from: Time,
    samples: u32,
    docs: u64,
    rejected: u64,
    /// Requests without an answer, and their documents.
    lost: (u32, u64),
    /// Answered attempts and their sums.
    answered: u32,
    bytes: u64,
    accepted_bytes: u64,
    wall_seconds: f64,
    wall_squares: f64,
    /// Answers with the server's time, and the sum of these times.
    timed: u32,
    took_seconds: f64,
    in_flight: u64,
    source_limited: u32,
    /// Bytes accepted by attempts that ended in the window, whenever they were sent.
    completed_bytes: u64,
}

impl Window {
    pub(super) fn new(from: Time) -> Self {
        Window {
            from,
            samples: 0,
            docs: 0,
            rejected: 0,
            lost: (0, 0),
            answered: 0,
            bytes: 0,
            accepted_bytes: 0,
            wall_seconds: 0.0,
            wall_squares: 0.0,
            timed: 0,
            took_seconds: 0.0,
            in_flight: 0,
            source_limited: 0,
            completed_bytes: 0,
        }
    }

    /// Adds an attempt. Returns whether it shows how long the plan's requests take.
    pub(super) fn add(&mut self, sample: &Sample) -> bool {
        self.completed_bytes += sample.accepted_bytes();
        if sample.sent < self.from {
            return false;
        }
        self.docs += u64::from(sample.docs);
        self.rejected += match sample.outcome {
            SampleOutcome::Answered => u64::from(sample.rejected),
            SampleOutcome::Refused => u64::from(sample.docs),
            SampleOutcome::Lost | SampleOutcome::TooLarge => 0,
        };
        if sample.outcome == SampleOutcome::Lost {
            self.lost = (self.lost.0 + 1, self.lost.1 + u64::from(sample.docs));
        }
        if sample.remainder {
            return false;
        }
        self.samples += 1;
        self.source_limited += u32::from(sample.source_limited);
        self.in_flight += u64::from(sample.in_flight);
        if sample.outcome == SampleOutcome::Answered {
            self.answered += 1;
            self.bytes += sample.bytes;
            self.accepted_bytes += sample.accepted_bytes();
            let wall = sample.wall.as_secs_f64();
            self.wall_seconds += wall;
            self.wall_squares += wall * wall;
            self.timed += u32::from(sample.took.is_some());
            self.took_seconds += sample.took.unwrap_or_default().as_secs_f64();
        }
        true
    }

    pub(super) fn from(&self) -> Time {
        self.from
    }

    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    /// The mean wall time of an answered attempt, seconds.
    pub(super) fn wall(&self) -> Option<f64> {
        (self.answered > 0).then(|| self.wall_seconds / f64::from(self.answered))
    }

    /// The mean time that the server reports, seconds, if every answer has it. Where the server's
    /// clock advances in steps, both ends are rounded alike, so the mean is right although single
    /// values are not.
    pub(super) fn took(&self) -> Option<f64> {
        (self.timed > 0 && self.timed == self.answered).then(|| self.took_seconds / f64::from(self.timed))
    }

    /// The standard error of the mean wall time, and so of the rate, as a part of it. Attempts that
    /// wait in one queue are not independent, so this is a lower bound.
    pub(super) fn error(&self) -> f64 {
        let n = f64::from(self.answered.max(1));
        let mean = self.wall_seconds / n;
        let variance = (self.wall_squares / n - mean * mean).max(0.0);
        if mean > 0.0 { (variance / n).sqrt() / mean } else { 0.0 }
    }

    /// The mean body of an answered attempt, bytes.
    pub(super) fn body(&self) -> f64 {
        self.bytes as f64 / f64::from(self.answered.max(1))
    }

    /// The mean number of requests in flight.
    pub(super) fn in_flight(&self) -> f64 {
        self.in_flight as f64 / f64::from(self.samples.max(1))
    }

    /// Accepted bytes per second.
    pub(super) fn rate(&self) -> f64 {
        if self.wall_seconds <= 0.0 {
            return 0.0;
        }
        self.in_flight() * self.accepted_bytes as f64 / self.wall_seconds
    }

    /// Accepted bytes per second by completions until `now`. [`Window::rate`] under-represents slow
    /// attempts that are still in flight; this does not. That matters where plans of different
    /// sizes are compared. Bursts make it coarse over short windows.
    pub(super) fn completed_rate(&self, now: Time) -> f64 {
        self.completed_bytes as f64 / now.since(self.from).as_secs_f64().max(1e-6)
    }

    /// Whether anything was accepted. Rejected requests do not show how long work takes.
    pub(super) fn accepted(&self) -> bool {
        self.accepted_bytes > 0
    }

    /// The part of the documents that was rejected or lost, 0 to 1.
    pub(super) fn rejected_ratio(&self) -> f64 {
        (self.rejected + self.lost.1) as f64 / self.docs.max(1) as f64
    }

    /// Whether no more was rejected than chance rejects of this part of the documents: within two
    /// standard errors, and but for one request without an answer.
    pub(super) fn is_clean(&self, tolerated: f64) -> bool {
        let expected = tolerated * self.docs as f64;
        self.lost.0 <= 1 && self.rejected as f64 <= expected + 2.0 * expected.sqrt()
    }

    /// Whether the source limited the requests in more than a quarter of the attempts.
    pub(super) fn source_was_the_limit(&self) -> bool {
        self.source_limited * 4 > self.samples
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_rest_of_a_request_says_nothing_about_the_plan() {
        let sample = Sample {
            sent: Time::START,
            wall: Duration::from_millis(100),
            took: None,
            bytes: 1000,
            docs: 10,
            accepted: 9,
            rejected: 1,
            outcome: SampleOutcome::Answered,
            in_flight: 4,
            source_limited: false,
            remainder: false,
            node: 0,
        };
        let left =
            Sample { wall: Duration::from_millis(2), bytes: 100, docs: 1, accepted: 0, remainder: true, ..sample };
        let mut window = Window::new(Time::START);
        assert!(window.add(&sample) && !window.add(&left) && window.add(&sample));
        assert_eq!((window.samples(), window.wall(), window.body()), (2, Some(0.1), 1000.0));
        assert!((window.rejected_ratio() - 3.0 / 21.0).abs() < 1e-9, "documents are documents");
    }
}

//! One arm of a comparison: from the change of format to its first answers, and from there to a
//! rate.

use std::time::Duration;

use super::super::Sample;
use super::super::window::Window;
use super::is_complete;
use crate::format::BodyFormat;
use crate::time::Time;

/// If no answer in the new format comes for this time, and for this number of wall times, the
/// comparison is abandoned.
const OVERDUE: Duration = Duration::from_secs(10);
const OVERDUE_WALLS: u32 = 6;

/// The result of an arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Accepted source bytes per second.
    pub(super) rate: f64,
    /// The standard error of the rate, as a part of it.
    pub(super) error: f64,
    /// Processor time of the client.
    pub(super) cpu_seconds: f64,
    /// Source bytes accepted meanwhile.
    pub(super) bytes: f64,
}

#[derive(Debug)]
pub(super) struct Arm {
    format: BodyFormat,
    since: Time,
    wall: Duration,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Requests of the other arm return first.
    Settling {
        /// How many of them may still be in flight.
        others: u32,
        /// When the first request of this arm returned.
        first_back: Option<Time>,
    },
    Measuring {
        window: Window,
        cpu: Duration,
    },
}

impl Arm {
    /// An arm from a change at `now` on. `last` was the last attempt before it.
    pub(super) fn new(format: BodyFormat, now: Time, last: &Sample) -> Self {
        let state = State::Settling { others: last.in_flight.saturating_sub(1), first_back: None };
        Arm { format, since: now, wall: last.wall, state }
    }

    /// An arm without a change: requests in flight belong to it.
    pub(super) fn measuring(format: BodyFormat, now: Time, cpu: Duration) -> Self {
        Arm { format, since: now, wall: Duration::ZERO, state: State::Measuring { window: Window::new(now), cpu } }
    }

    /// Whether the arm has waited too long for its first answers.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        matches!(self.state, State::Settling { .. }) && now.since(self.since) > OVERDUE.max(self.wall * OVERDUE_WALLS)
    }

    /// Takes an attempt. Returns the rate once it is known; as an error if the source was the
    /// limit, and the rate is a lower bound.
    pub(super) fn handle(
        &mut self,
        now: Time,
        sample: &Sample,
        format: BodyFormat,
        cpu: Duration,
    ) -> Option<Result<Measured, Measured>> {
        match &mut self.state {
            State::Settling { others, first_back } => {
                if sample.sent < self.since || format != self.format {
                    *others = others.saturating_sub(u32::from(sample.sent < self.since));
                    return None;
                }
                // A straggler is not awaited: the transition ends when two successive requests have
                // returned.
                let followed = first_back.is_some_and(|first| sample.sent >= first);
                first_back.get_or_insert(now);
                if *others == 0 || followed {
                    self.state = State::Measuring { window: Window::new(now), cpu };
                }
                None
            }
            State::Measuring { window, cpu: before } => {
                if !window.add(sample) || !is_complete(window, now, sample, Duration::from_secs(2)) {
                    return None;
                }
                let limited = window.source_was_the_limit();
                // Both arms have the same shape, so Little's law applies, and bursts of few
                // requests do not make the rate coarse.
                let rate = if limited { window.completed_rate(now) } else { window.rate() };
                let bytes = rate * now.since(window.from()).as_secs_f64();
                let cpu_seconds = cpu.saturating_sub(*before).as_secs_f64();
                let measured = Measured { rate, error: window.error(), cpu_seconds, bytes };
                Some(if limited { Err(measured) } else { Ok(measured) })
            }
        }
    }
}

//! One arm of a comparison: from the change to its first requests back, and from there to a rate.

use std::time::Duration;

use super::super::Sample;
use super::super::window::Window;
use super::is_complete;
use crate::body_format::BodyFormat;
use crate::time::Time;

/// Nothing comes in the form that is wanted for so long, and longer than so many requests take: the comparison is broken off.
const OVERDUE: Duration = Duration::from_secs(10);
const OVERDUE_WALLS: u32 = 6;

/// What an arm came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Accepted bytes of source per second.
    pub(super) rate: f64,
    /// Its standard error, as a part of it.
    pub(super) error: f64,
    /// Work of the client.
    pub(super) cpu_seconds: f64,
    /// What was accepted meanwhile, bytes of source.
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
    /// Requests of the other arm come back first.
    Settling {
        /// How many may still be under way.
        others: u32,
        /// When the first one of this arm came back.
        first_back: Option<Time>,
    },
    Measuring {
        window: Window,
        cpu: Duration,
    },
}

impl Arm {
    /// From a change at `now` on; `last` was the last attempt before it.
    pub(super) fn new(format: BodyFormat, now: Time, last: &Sample) -> Self {
        let state = State::Settling { others: last.in_flight.saturating_sub(1), first_back: None };
        Arm { format, since: now, wall: last.wall, state }
    }

    /// Where nothing changes: what is under way is of this arm.
    pub(super) fn measuring(format: BodyFormat, now: Time, cpu: Duration) -> Self {
        Arm { format, since: now, wall: Duration::ZERO, state: State::Measuring { window: Window::new(now), cpu } }
    }

    /// Whether nothing came of it for too long.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        matches!(self.state, State::Settling { .. }) && now.since(self.since) > OVERDUE.max(self.wall * OVERDUE_WALLS)
    }

    /// Takes an attempt. Returns the rate once it is known; as an error where the source was the limit: it is at least so much then.
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
                // A straggler is not waited for: when two requests that followed each other have come back, it is over.
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
                // Both arms have the same shape, so that nothing speaks against Little's law, and few requests in bursts do not make it coarse.
                let rate = if limited { window.completed_rate(now) } else { window.rate() };
                let bytes = rate * now.since(window.from()).as_secs_f64();
                let cpu_seconds = cpu.saturating_sub(*before).as_secs_f64();
                let measured = Measured { rate, error: window.error(), cpu_seconds, bytes };
                Some(if limited { Err(measured) } else { Ok(measured) })
            }
        }
    }
}

//! Time in the core: a duration since the start of the run. The caller has the clock.

use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment of the run, measured from its start. The engine takes it from a monotonic clock, the
/// simulator from virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(Duration);

impl Time {
    /// The start of the run.
    pub const START: Time = Time(Duration::ZERO);

    /// The moment `elapsed` after the start of the run.
    pub const fn from_start(elapsed: Duration) -> Self {
        Time(elapsed)
    }

    /// The time from the start of the run to this moment.
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, rhs: Duration) -> Time {
        Time(self.0.saturating_add(rhs))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, rhs: Duration) -> Time {
        Time(self.0.saturating_sub(rhs))
    }
}

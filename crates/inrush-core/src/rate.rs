//! An upper bound on the rate of sending, independent of the tuner.

use std::time::Duration;

use crate::time::Time;
use crate::tune::Plan;

/// The most that may be sent in a second, retries included. At least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bytes of request bodies, before compression.
    Bytes(u64),
    /// Documents.
    Docs(u64),
}

/// No request holds more than this time allows, so that a low rate does not become a series of
/// bursts.
const PIECE: Duration = Duration::from_millis(500);

/// Spaces requests: each delays the next one by the time that its content takes at this rate.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate: Rate,
    next: Time,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Self {
        Pace { rate, next: Time::START }
    }

    /// The earliest time of the next request.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The plan with requests no larger than the rate allows in [`PIECE`].
    pub(crate) fn piece(&self, mut plan: Plan) -> Plan {
        let part = |rate: u64| ((rate as f64 * PIECE.as_secs_f64()) as u64).max(1);
        match self.rate {
            Rate::Bytes(rate) => plan.batch_bytes = plan.batch_bytes.min(part(rate)),
            Rate::Docs(rate) => {
                plan.batch_docs = plan.batch_docs.min(u32::try_from(part(rate)).unwrap_or(u32::MAX));
            }
        }
        plan
    }

    /// Records a request. Idle time is not made up for.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64, docs: u32) {
        let seconds = match self.rate {
            Rate::Bytes(rate) => bytes as f64 / rate.max(1) as f64,
            Rate::Docs(rate) => f64::from(docs) / rate.max(1) as f64,
        };
        self.next = self.next.max(now) + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spaced_by_their_content() {
        let at = |ms| Time::from_start(Duration::from_millis(ms));
        let mut pace = Pace::new(Rate::Bytes(1000));
        assert_eq!(pace.next(), Time::START);
        pace.sent(at(0), 500, 1);
        pace.sent(at(500), 250, 1);
        assert_eq!(pace.next(), at(750));
        // Idle time gives no credit.
        pace.sent(at(5000), 1000, 1);
        assert_eq!(pace.next(), at(6000));
        let mut docs = Pace::new(Rate::Docs(10));
        docs.sent(at(0), 1_000_000, 5);
        assert_eq!(docs.next(), at(500));
    }

    #[test]
    fn a_request_is_no_longer_than_half_a_second() {
        let plan = Plan { batch_bytes: 1 << 20, batch_docs: u32::MAX, in_flight: 4 };
        assert_eq!(Pace::new(Rate::Bytes(1000)).piece(plan).batch_bytes, 500);
        assert_eq!(Pace::new(Rate::Bytes(u64::MAX)).piece(plan), plan);
        assert_eq!(Pace::new(Rate::Docs(1)).piece(plan).batch_docs, 1);
        assert_eq!(Pace::new(Rate::Docs(40)).piece(plan).batch_docs, 20);
    }
}

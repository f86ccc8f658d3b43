//! What to make of rejections, refusals and lost requests: less under way, at most once a round trip, and a ceiling that is
//! remembered and tried again later, at growing intervals.

use std::time::Duration;

use crate::time::Time;
use crate::tune::{Outcome, Sample};

/// What is left under way after a loss.
pub(super) const CUT: f64 = 0.7;
/// So close to a ceiling growth stops.
const BELOW_CEILING: f64 = 0.85;
/// Cuts in a row after which it is asked whether they help at all.
const CUTS_UNTIL_DOUBT: u32 = 2;
const RETRY_FIRST: Duration = Duration::from_secs(10);
const RETRY_LONGEST: Duration = Duration::from_secs(300);
/// After so long half of the rejections that seemed not to depend on us have to prove it again.
const AMBIENT_HALF_LIFE: Duration = Duration::from_secs(60);

/// What a loss asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Less under way; `ratio` of the documents did not get in. A queue that is full (`of_items`) counts requests, not their bytes.
    Cut { ratio: f64, of_items: bool },
    /// Cutting did not help: it was not our load, so back to so many bytes under way.
    Restore { bytes_in_flight: f64, ratio: f64 },
}

/// Rejections are judged by a cumulative sum (Page 1954) of the likelihood of `LIKELY` times the tolerated part against the tolerated
/// part itself: chance losses add little, an overflowing queue is known after a few requests.
const LIKELY: f64 = 6.0;
const ALARM: f64 = 5.0;
/// A request that got no answer for so long (longer than connecting may take) is no chance loss: an alarm by itself, unless losses were found not to
/// depend on us. With few requests under way and a time limit of minutes, a second
/// one would come much too late.
const UNANSWERED: Duration = Duration::from_secs(15);
/// Attempts without alarm after which a cut has helped.
const CLEAN_SAMPLES: u32 = 100;
/// Attempts since the first cut that it takes to say that cuts do not help.
const DOUBT_SAMPLES: u32 = 40;
/// Cuts have helped if less than this part of the rejections at the first of them is left since then.
const HELPED: f64 = 0.25;
/// Above it rejections are never taken for bad luck, as a part of the documents. Items that found a queue full never are while fewer requests
/// could be under way.
const AMBIENT_MOST: f64 = 0.12;

#[derive(Debug)]
pub(super) struct Loss {
    /// The part of documents that may be rejected without a cut.
    tolerated: f64,
    /// Attempts that were sent earlier belong to what was cut.
    from: Time,
    /// Whether the cluster has answered anything since then.
    answered: bool,
    /// Cumulative sum, see [`LIKELY`].
    score: f64,
    /// The part that was rejected lately.
    ratio: f64,
    /// Attempts since the last cut.
    samples: u32,
    /// Cuts without a clean stretch between them.
    cuts: u32,
    /// Bytes under way and the rejected part at the first of them.
    first: (f64, f64),
    /// Rejected attempts, in parts, and all attempts since then.
    since_first: (f64, u32),
    ceiling: Option<f64>,
    retry_at: Time,
    retry_after: Duration,
    /// The part of rejections that do not depend on us, and when it was seen.
    ambient: Option<(f64, Time)>,
}

impl Loss {
    pub(super) fn new(tolerated: f64) -> Self {
        Loss {
            tolerated,
            from: Time::START,
            answered: true,
            score: 0.0,
            ratio: 0.0,
            samples: 0,
            cuts: 0,
            first: (0.0, 0.0),
            since_first: (0.0, 0),
            ceiling: None,
            retry_at: Time::START,
            retry_after: RETRY_FIRST,
            ambient: None,
        }
    }

    /// Learns from an attempt, with `bytes_in_flight` bytes and `in_flight` requests planned, which are the `fewest` there can be or not.
    pub(super) fn handle(
        &mut self,
        now: Time,
        sample: &Sample,
        bytes_in_flight: f64,
        (in_flight, fewest): (u32, bool),
    ) -> Option<Verdict> {
        if sample.sent < self.from {
            return None;
        }
        // While nobody answers at all, less under way cannot help: one cut is enough until somebody does.
        self.answered |= sample.outcome != Outcome::Lost;
        if !self.answered && sample.wall < UNANSWERED {
            return None;
        }
        let rejected = match sample.outcome {
            Outcome::Answered => f64::from(sample.rejected) / f64::from(sample.docs.max(1)),
            Outcome::Refused | Outcome::Lost => 1.0,
            Outcome::TooLarge => 0.0,
        };
        self.samples += 1;
        if self.cuts > 0 {
            self.since_first.0 += rejected;
            self.since_first.1 += 1;
        }
        let over = f64::from(self.samples.min((4 * in_flight).max(64)));
        self.ratio += (rejected - self.ratio) / over;
        let usual = self.usual(now);
        let likely = (usual * LIKELY).min(0.5);
        let step = rejected * (likely / usual).ln() + (1.0 - rejected) * ((1.0 - likely) / (1.0 - usual)).ln();
        let unanswered = sample.outcome == Outcome::Lost && sample.wall >= UNANSWERED && self.ambient.is_none();
        self.score = if unanswered { ALARM } else { (self.score + step).max(0.0) };
        if self.score < ALARM {
            if self.samples.is_multiple_of((4 * in_flight).max(CLEAN_SAMPLES)) {
                self.clean(now, bytes_in_flight);
            }
            return None;
        }
        let ratio = self.ratio;
        if self.cuts == 0 {
            self.first = (bytes_in_flight, ratio);
        }
        self.cuts += 1;
        let (since_first, attempts) = (self.since_first(), self.since_first.1);
        let in_vain = attempts >= DOUBT_SAMPLES && since_first > 0.4 * self.first.1;
        if self.cuts == 1 {
            self.since_first = (0.0, 0);
        }
        (self.from, self.answered) = (now, false);
        (self.score, self.ratio, self.samples) = (0.0, 0.0, 0);
        let of_items = sample.outcome == Outcome::Answered;
        let doubted = if of_items { fewest && self.cuts > 1 } else { self.cuts > CUTS_UNTIL_DOUBT };
        if doubted && in_vain && since_first < AMBIENT_MOST {
            self.cuts = 0;
            self.ceiling = None;
            self.ambient = Some((since_first, now));
            return Some(Verdict::Restore { bytes_in_flight: self.first.0, ratio: since_first });
        }
        if sample.outcome != Outcome::Lost {
            self.set_ceiling(now, bytes_in_flight);
        }
        Some(Verdict::Cut { ratio, of_items })
    }

    /// The most bytes under way that growth may aim at.
    pub(super) fn growth_limit(&self, now: Time) -> f64 {
        match self.ceiling {
            Some(ceiling) if now < self.retry_at => ceiling * BELOW_CEILING,
            // A retry goes a little above, not far.
            Some(ceiling) => ceiling * 1.1,
            None => f64::INFINITY,
        }
    }

    /// More than `bytes_in_flight` bytes brought less: not again for a while.
    pub(super) fn set_ceiling(&mut self, now: Time, bytes_in_flight: f64) {
        // The second time at or above a known ceiling says that it still stands.
        let known = self.ceiling.is_some_and(|c| bytes_in_flight > c * BELOW_CEILING);
        self.retry_after = if known { (self.retry_after * 2).min(RETRY_LONGEST) } else { RETRY_FIRST };
        self.ceiling = Some(bytes_in_flight);
        self.retry_at = now + self.retry_after;
    }

    /// Everything learned about ceilings belongs to a cluster that has changed.
    pub(super) fn forget(&mut self) {
        self.ceiling = None;
        self.retry_after = RETRY_FIRST;
    }

    /// The part of documents that may be rejected while more is put under way.
    pub(super) fn growth_tolerates(&self, now: Time) -> f64 {
        (self.tolerated / 2.0).max(self.ambient(now))
    }

    /// The part of documents that may be rejected without an alarm.
    fn usual(&self, now: Time) -> f64 {
        self.tolerated.max(self.ambient(now))
    }

    /// Half as much again as does not depend on us.
    fn ambient(&self, now: Time) -> f64 {
        let Some((ratio, seen)) = self.ambient else { return 0.0 };
        1.5 * ratio * 0.5_f64.powf(now.since(seen).as_secs_f64() / AMBIENT_HALF_LIFE.as_secs_f64())
    }

    /// The rejected part since the first cut.
    fn since_first(&self) -> f64 {
        let (rejected, attempts) = self.since_first;
        rejected / f64::from(attempts.max(1))
    }

    /// A stretch without alarm.
    fn clean(&mut self, now: Time, bytes_in_flight: f64) {
        let since_first = self.since_first();
        if since_first < HELPED * self.first.1 || since_first < self.tolerated {
            self.cuts = 0;
        }
        if self.ambient.is_some() && self.ratio > self.tolerated {
            self.ambient = Some((self.ratio, now));
        }
        if self.ceiling.is_some_and(|ceiling| bytes_in_flight > ceiling) {
            self.forget();
        }
    }
}

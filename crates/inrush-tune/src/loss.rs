//! The reaction to rejections, refusals and lost requests: fewer bytes in flight, at most once a
//! round trip, and a ceiling that is remembered and tried again at growing intervals.

use std::time::Duration;

use super::chance::Scatter;
use super::window::Window;
use crate::time::Time;
use crate::{Sample, SampleOutcome};

/// The part that remains in flight after a loss.
pub(super) const CUT: f64 = 0.7;
/// Growth stops at this part of the ceiling.
const BELOW_CEILING: f64 = 0.85;
/// After this number of cuts in a row, the tuner checks whether cuts help.
const CUTS_UNTIL_DOUBT: u32 = 1;
const RETRY_FIRST: Duration = Duration::from_secs(10);
const RETRY_LONGEST: Duration = Duration::from_secs(300);
/// After this time, half of the rejections that seemed independent of this load have to prove it
/// again.
const AMBIENT_HALF_LIFE: Duration = Duration::from_secs(60);

/// The reaction to a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Reduce the requests in flight; `ratio` of the documents were rejected. `of`: the outcome of
    /// the request that gave the alarm. A full queue, which rejects items of answered requests,
    /// counts requests; a full memory, which refuses requests, counts bytes.
    Cut { ratio: f64, of: SampleOutcome },
    /// Cuts did not help, so this load was not the cause: return to these bytes in flight.
    Restore { bytes_in_flight: f64, ratio: f64 },
}

/// Rejections are judged by a cumulative sum (Page 1954) of the log-likelihood ratio between
/// `LIKELY` times the tolerated part and the tolerated part itself. Single losses add little; an
/// overflowing queue is detected after a few requests.
const LIKELY: f64 = 6.0;
const ALARM: f64 = 5.0;
/// A request without an answer for this time (longer than connecting may take) is an alarm by
/// itself, unless losses were found to be independent of this load. With few requests in flight and
/// a time limit of minutes, a second one would come much too late.
const UNANSWERED: Duration = Duration::from_secs(15);
/// Attempts without an alarm after which a cut has helped.
const CLEAN_SAMPLES: u32 = 100;
/// Attempts since the first cut that are needed to conclude that cuts do not help.
const DOUBT_SAMPLES: u32 = 40;
/// Cuts have helped if less than this part of the initial rejections remains.
const HELPED: f64 = 0.25;
/// Above this part of the documents, rejections are never taken as independent of this load. Items
/// that found a queue full are never taken so while fewer requests are possible.
const AMBIENT_MOST: f64 = 0.12;

#[derive(Debug)]
pub(super) struct Loss {
    /// The part of documents that may be rejected without a cut.
    tolerated: f64,
    /// Attempts that were sent earlier belong to the plan before the cut.
    from: Time,
    /// Whether the cluster has answered since then.
    answered: bool,
    /// The cumulative sum; see [`LIKELY`].
    score: f64,
    /// The part that was rejected lately.
    ratio: f64,
    /// Attempts since the last cut.
    samples: u32,
    /// Cuts without a clean period between them.
    cuts: u32,
    /// Bytes in flight and the rejected part at the first of them.
    first: (f64, f64),
    /// Since then: the sum of the rejected parts, and the number of attempts.
    since_first: (f64, u32),
    ceiling: Option<f64>,
    retry_at: Time,
    retry_after: Duration,
    /// These three before the last cut.
    before: (Option<f64>, Time, Duration),
    /// The part of rejections that is independent of this load, and when it was seen.
    ambient: Option<(f64, Time)>,
    /// How rejected documents are spread over the requests.
    scatter: Scatter,
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
            before: (None, Time::START, RETRY_FIRST),
            ambient: None,
            scatter: Scatter::default(),
        }
    }

    /// Takes an attempt. `bytes_in_flight`: as planned; then the planned requests in flight, and
    /// whether fewer are impossible.
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
        // While the cluster does not answer, fewer requests cannot help: one cut is enough until it
        // answers.
        self.answered |= sample.outcome != SampleOutcome::Lost;
        if !self.answered && sample.wall < UNANSWERED {
            return None;
        }
        let of_items = sample.outcome == SampleOutcome::Answered;
        if of_items {
            self.scatter.add(sample.docs, sample.rejected);
        }
        let chance = self.scatter.chance().filter(|&ratio| ratio > self.tolerated / 2.0 && ratio < AMBIENT_MOST);
        // Known before there is an alarm: rejections keep the plan from growing.
        if let Some(ratio) = chance.filter(|&ratio| self.cuts == 0 && self.ambient(now) < ratio) {
            self.ambient = Some((ratio, now));
        }
        self.add(now, sample, in_flight);
        if self.score < ALARM {
            if self.samples.is_multiple_of((4 * in_flight).max(CLEAN_SAMPLES)) {
                self.clean(now, bytes_in_flight);
            }
            return None;
        }
        match chance.filter(|_| of_items) {
            Some(ratio) => self.chance(now, ratio),
            None => Some(self.alarm(now, sample.outcome, bytes_in_flight, fewest)),
        }
    }

    /// Adds an attempt to the sums.
    fn add(&mut self, now: Time, sample: &Sample, in_flight: u32) {
        let rejected = match sample.outcome {
            SampleOutcome::Answered => f64::from(sample.rejected) / f64::from(sample.docs.max(1)),
            SampleOutcome::Refused | SampleOutcome::Lost => 1.0,
            SampleOutcome::TooLarge => 0.0,
        };
        self.samples += 1;
        if self.cuts > 0 {
            self.since_first.0 += rejected;
            self.since_first.1 += 1;
        }
        let over = f64::from(self.samples.min((4 * in_flight).max(64)));
        // A remainder of a few documents proves less than a request.
        let weight = if sample.remainder { self.scatter.weight(sample.docs) } else { 1.0 };
        self.ratio += weight * (rejected - self.ratio) / over;
        let usual = self.usual(now);
        let likely = f64::max((usual * LIKELY).min(0.5), 2.0 * usual);
        let step = rejected * (likely / usual).ln() + (1.0 - rejected) * ((1.0 - likely) / (1.0 - usual)).ln();
        let unanswered = sample.outcome == SampleOutcome::Lost && sample.wall >= UNANSWERED && self.ambient.is_none();
        self.score = if unanswered { ALARM } else { (self.score + weight * step).max(0.0) };
    }

    /// Judges an alarm after an attempt with this outcome.
    fn alarm(&mut self, now: Time, outcome: SampleOutcome, bytes_in_flight: f64, fewest: bool) -> Verdict {
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
        // Documents that are rejected in blocks found a queue full. Where requests have too few
        // documents to tell, the cuts have to.
        let of_items = outcome == SampleOutcome::Answered;
        let of_queue = of_items && !self.scatter.is_unclear();
        let doubted = match outcome {
            _ if of_queue => fewest && self.cuts > 1,
            // A node refuses what its memory does not hold.
            SampleOutcome::Refused => self.cuts > CUTS_UNTIL_DOUBT + 1,
            SampleOutcome::Answered | SampleOutcome::Lost | SampleOutcome::TooLarge => self.cuts > CUTS_UNTIL_DOUBT,
        };
        if doubted && in_vain && since_first < AMBIENT_MOST {
            self.cuts = 0;
            self.ceiling = None;
            self.ambient = Some((since_first, now));
            return Verdict::Restore { bytes_in_flight: self.first.0, ratio: since_first };
        }
        self.before = (self.ceiling, self.retry_at, self.retry_after);
        if outcome != SampleOutcome::Lost {
            self.set_ceiling(now, bytes_in_flight);
        }
        Verdict::Cut { ratio, of: outcome }
    }

    /// Each request has its share of the rejected documents, so chance rejects them and no queue.
    /// Takes cuts back.
    fn chance(&mut self, now: Time, ratio: f64) -> Option<Verdict> {
        self.ambient = Some((ratio, now));
        self.score = 0.0;
        self.ceiling = None;
        let cuts = std::mem::take(&mut self.cuts);
        (cuts > 0).then_some(Verdict::Restore { bytes_in_flight: self.first.0, ratio })
    }

    /// The most bytes in flight that growth may reach.
    pub(super) fn growth_limit(&self, now: Time) -> f64 {
        match self.ceiling {
            Some(ceiling) if now < self.retry_at => ceiling * BELOW_CEILING,
            // A retry exceeds the ceiling a little.
            Some(ceiling) => ceiling * 1.1,
            None => f64::INFINITY,
        }
    }

    /// Sets a ceiling: more than `bytes_in_flight` brought a lower rate. Not again for a while.
    pub(super) fn set_ceiling(&mut self, now: Time, bytes_in_flight: f64) {
        // A second time at or above a known ceiling confirms it.
        let known = self.ceiling.is_some_and(|c| bytes_in_flight > c * BELOW_CEILING);
        self.retry_after = if known { (self.retry_after * 2).min(RETRY_LONGEST) } else { RETRY_FIRST };
        self.ceiling = Some(bytes_in_flight);
        self.retry_at = now + self.retry_after;
    }

    /// The plan that caused the last cut was an experiment: there was none. With smaller bodies
    /// (`of_smaller`) more requests were in flight, but no more bytes: the ceiling is that of
    /// before.
    pub(super) fn forgive(&mut self, of_smaller: bool) {
        self.cuts = 0;
        if of_smaller {
            (self.ceiling, self.retry_at, self.retry_after) = self.before;
        }
    }

    /// Forgets ceilings, because the cluster has changed.
    pub(super) fn forget(&mut self) {
        self.ceiling = None;
        self.retry_after = RETRY_FIRST;
    }

    /// Whether the plan may grow after a window, by what was rejected in it.
    pub(super) fn allows_growth(&self, now: Time, window: &Window) -> bool {
        match self.ambient(now) {
            ambient if ambient > 0.0 => window.is_clean(ambient),
            _ => window.rejected_ratio() < self.tolerated / 2.0,
        }
    }

    /// The part of documents that may be rejected without an alarm.
    fn usual(&self, now: Time) -> f64 {
        self.tolerated.max(self.ambient(now))
    }

    /// One and a half times the part that is independent of this load.
    fn ambient(&self, now: Time) -> f64 {
        let Some((ratio, seen)) = self.ambient else { return 0.0 };
        1.5 * ratio * 0.5_f64.powf(now.since(seen).as_secs_f64() / AMBIENT_HALF_LIFE.as_secs_f64())
    }

    /// The rejected part since the first cut.
    fn since_first(&self) -> f64 {
        let (rejected, attempts) = self.since_first;
        rejected / f64::from(attempts.max(1))
    }

    /// Ends a period without an alarm.
    fn clean(&mut self, now: Time, bytes_in_flight: f64) {
        let since_first = self.since_first();
        if since_first < HELPED * self.first.1 || since_first < self.tolerated {
            self.cuts = 0;
        }
        if self.ambient.is_some() && self.ratio > self.tolerated {
            self.ambient = Some((self.ratio.min(AMBIENT_MOST), now));
        }
        if self.ceiling.is_some_and(|ceiling| bytes_in_flight > ceiling) {
            self.forget();
        }
    }
}

//! Checks in the first seconds of a load whether what an earlier load learned still holds.

use std::time::Duration;

use super::sums::Sums;
use crate::time::Time;
use crate::{Learned, Plan, Sample, SampleOutcome};

/// Documents that are larger or smaller by this factor are other documents.
const OTHER_DOCUMENTS: f64 = 2.0;
/// Below this part of the remembered rate a round contradicts it. Rounds on real servers vary by a
/// third.
const SLOW: f64 = 0.6;
/// Below this part one round is enough.
const VERY_SLOW: f64 = 0.35;
/// This part of the documents may be rejected beside those that are remembered.
const REJECTED_MORE: f64 = 0.05;
/// The longest check, unless a request takes a good part of it.
const LONGEST: Duration = Duration::from_secs(3);
/// The longest check in remembered wall times.
const LONGEST_WALLS: f64 = 4.0;
/// A round takes at least this time.
const ROUND: Duration = Duration::from_millis(250);
/// With more requests in flight than this, a round is a quarter of them, and counts those that end
/// in it. A request that is sent now ends only after all the others, which takes seconds on a
/// cluster that is much slower than the remembered one.
const MANY: u32 = 16;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// More requests are needed.
    Open,
    /// The requests are as those of the earlier load.
    Held,
    /// Too little came back in time.
    Undecided,
    /// They differ, for this reason.
    Contradicted(String),
}

/// Compares rounds of requests with the remembered ones. The first round meets a new mapping, cold
/// caches and connections that are being made, so it only shows the size of the documents.
#[derive(Debug)]
pub(super) struct Check {
    learned: Learned,
    /// The remembered plan within the bounds of this load.
    plan: Plan,
    first: bool,
    slow_rounds: u32,
    /// The end of the check. Known once the first request was sent.
    until: Option<Time>,
    round: Round,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    from: Time,
    sums: Sums,
}

impl Round {
    fn new(from: Time) -> Self {
        Round { from, sums: Sums::default() }
    }
}

impl Check {
    pub(super) fn new(learned: Learned, plan: Plan) -> Self {
        Check { learned, plan, first: true, slow_rounds: 0, until: None, round: Round::new(Time::START) }
    }

    /// Nothing was sent for a while on purpose: the round begins again.
    pub(super) fn handle_break(&mut self, now: Time) {
        self.round = Round::new(now);
        self.until = None;
    }

    /// Whether a request was lost, refused, or rejected in more than the remembered part.
    pub(super) fn is_trouble(&self, sample: &Sample) -> bool {
        let usual = (self.learned.rejected + REJECTED_MORE) * f64::from(sample.docs);
        sample.outcome != SampleOutcome::Answered || f64::from(sample.rejected) > usual
    }

    pub(super) fn handle(&mut self, now: Time, sample: &Sample) -> Verdict {
        let longest = LONGEST.max(Duration::from_secs_f64((LONGEST_WALLS * self.learned.wall_seconds).min(60.0)));
        let until = *self.until.get_or_insert(sample.sent + longest);
        self.add(now, sample);
        let lasts = self.first || now.since(self.round.from) >= ROUND;
        if self.round.sums.answered >= self.enough() && lasts {
            return self.judge(now);
        }
        if now >= until { self.judge_late(now) } else { Verdict::Open }
    }

    /// Whether a round counts what ends in it, whenever it was sent.
    fn counts_ends(&self) -> bool {
        self.plan.in_flight > MANY
    }

    fn add(&mut self, now: Time, sample: &Sample) {
        match (self.counts_ends(), sample.source_limited) {
            // What ends says nothing of the cluster if the source was the limit in between.
            (true, true) => self.round = Round::new(now),
            (false, true) => {}
            (counts_ends, false) => {
                if counts_ends || sample.sent >= self.round.from {
                    self.round.sums.add(sample);
                }
            }
        }
    }

    /// The answers that a round needs.
    fn enough(&self) -> u32 {
        match self.plan.in_flight {
            many if many > MANY => (many / 4).max(MANY),
            few if self.first => few,
            few => few.max(4),
        }
    }

    fn bytes_per_second(&self, now: Time) -> f64 {
        match self.counts_ends() {
            true => self.round.sums.accepted_bytes_in(now.since(self.round.from)),
            false => self.round.sums.bytes_per_second(),
        }
    }

    /// Judges a complete round.
    fn judge(&mut self, now: Time) -> Verdict {
        let rate = self.bytes_per_second(now);
        let round = std::mem::replace(&mut self.round, Round::new(now)).sums;
        if let Some(why) = self.other_documents(&round) {
            return Verdict::Contradicted(why);
        }
        if std::mem::replace(&mut self.first, false) {
            return Verdict::Open;
        }
        let rejected = round.rejected();
        let ratio = rate / self.learned.bytes_per_second;
        let rejects = rejected > self.learned.rejected + REJECTED_MORE;
        if ratio >= SLOW && !rejects {
            return Verdict::Held;
        }
        self.slow_rounds += 1;
        if rejects && ratio >= SLOW {
            return match self.slow_rounds {
                1 => Verdict::Open,
                _ => Verdict::Contradicted(format!("{:.1} % of the documents were rejected", rejected * 100.0)),
            };
        }
        if ratio < VERY_SLOW || self.slow_rounds >= 2 {
            return Verdict::Contradicted(self.slow(&round, rate));
        }
        Verdict::Open
    }

    /// Judges what has come back when the time is up.
    fn judge_late(&self, now: Time) -> Verdict {
        let (few, rate) = (self.round.sums.answered < 2, self.bytes_per_second(now));
        let slow = rate < SLOW * self.learned.bytes_per_second;
        if few || !slow { Verdict::Undecided } else { Verdict::Contradicted(self.slow(&self.round.sums, rate)) }
    }

    fn other_documents(&self, round: &Sums) -> Option<String> {
        let bytes = round.doc_bytes();
        let ratio = bytes / self.learned.doc_bytes;
        let other = !(1.0 / OTHER_DOCUMENTS..=OTHER_DOCUMENTS).contains(&ratio);
        other.then(|| format!("documents have {bytes:.0} bytes, and {:.0} before", self.learned.doc_bytes))
    }

    fn slow(&self, round: &Sums, bytes_per_second: f64) -> String {
        format!(
            "a request takes {:.0} ms, and {:.0} before, and the rate is {:.1} MB/s instead of {:.1}",
            round.wall_seconds() * 1e3,
            self.learned.wall_seconds * 1e3,
            bytes_per_second / 1e6,
            self.learned.bytes_per_second / 1e6
        )
    }
}

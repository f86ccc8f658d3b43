//! Paired comparisons: windows of two arms in turn, until the evidence is sufficient.

use crate::Plan;

/// The evidence that a comparison requires.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The assumed spread of one paired comparison (of logarithms), before there is evidence.
    spread: f64,
    /// A gain counts if it exceeds its threshold by this number of standard errors...
    errors: f64,
    /// ...after this number of pairs.
    pairs_min: u32,
    /// A loss counts after this number of pairs, if the mean is below its threshold by this number
    /// of standard errors.
    pairs_to_lose: u32,
    errors_to_lose: f64,
    /// The comparison ends after this number of pairs.
    pairs_max: u32,
    /// The standard errors required at the end. Infinity: an unproven gain is not taken.
    errors_at_end: f64,
    /// A gain (of logarithms) that needs no repetition.
    clear_gain: f64,
    /// A loss (of logarithms) that needs no repetition.
    clear_loss: f64,
}

/// For choices that are reviewed soon. Windows of one plan differ by 5 to 10 % on most clusters;
/// those of others show it.
const QUICK: Rule = Rule {
    spread: 0.08,
    errors: 1.5,
    pairs_min: 2,
    pairs_to_lose: 1,
    errors_to_lose: 1.0,
    pairs_max: 6,
    errors_at_end: 0.0,
    clear_gain: CLEAR,
    clear_loss: CLEAR,
};
/// For fewer requests: their gain has to be shown, because on most clusters many cost only latency.
/// On a node with 2 processors and 2 GiB, 64 MiB in flight cost 9 to 15 % of the rate, and 16 MiB
/// nothing (`bench/runs/2026-11-21-bytes-in-flight/README.md`). The comparison ends as soon as they
/// are not better in the mean: it takes the time in which bodies of another size could be found.
const FEWER: Rule = Rule { spread: 0.16, errors_to_lose: 0.0, errors_at_end: 1.0, ..QUICK };
/// For choices that last a minute or more. Half-second windows of the same format differed by up to
/// a half on a server that merges. The numbers are a judgement.
const CAREFUL: Rule = Rule {
    spread: 0.25,
    errors: 2.0,
    pairs_min: 3,
    pairs_to_lose: 1,
    errors_to_lose: 1.0,
    pairs_max: 12,
    errors_at_end: f64::INFINITY,
    clear_gain: f64::INFINITY,
    clear_loss: CLEAR_LOSS,
};
/// The weight of the assumed spread, in comparisons.
const SPREAD_WEIGHT: f64 = 2.0;
/// A single window that is better or worse by this much (of logarithms) needs no repetition:
/// servers vary by less.
const CLEAR: f64 = 0.3;
/// The same for losses of body formats: keeping the old one by mistake costs only a later
/// comparison, and each comparison is long.
const CLEAR_LOSS: f64 = 0.15;

/// The result of a comparison. The gain is a factor on bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    Open,
    Better { gain: f64 },
    NotBetter { gain: f64 },
}

/// A comparison of two plans.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The plan that is kept unless the other one is better.
    pub(super) current: Plan,
    /// The plan to take if it is better.
    pub(super) better: Plan,
    /// The plans that are compared. Sizes are compared with equal bytes in flight.
    arms: [Plan; 2],
    pairs: Pairs,
    /// The plans differ in the number of requests.
    of_number: bool,
}

impl Trial {
    /// A comparison of sizes. `worth`: the smallest gain that counts, as a factor.
    pub(super) fn new(current: Plan, better: Plan, arms: [Plan; 2], worth: f64) -> Self {
        Trial { current, better, arms, pairs: Pairs::new(worth), of_number: false }
    }

    /// A comparison with fewer requests of the same size.
    pub(super) fn of_number(current: Plan, fewer: Plan, worth: f64) -> Self {
        let pairs = Pairs { rule: FEWER, ..Pairs::new(worth) };
        Trial { current, better: fewer, arms: [current, fewer], pairs, of_number: true }
    }

    /// Whether the plans differ in the number of requests, and not in their size.
    pub(super) fn is_of_number(&self) -> bool {
        self.of_number
    }

    /// The plan of the current window.
    pub(super) fn plan(&self) -> Plan {
        self.arms[usize::from(self.pairs.is_other())]
    }

    /// Whether the current window measures the new plan.
    pub(super) fn is_other(&self) -> bool {
        self.pairs.is_other()
    }

    /// From now on, no single window is sufficient evidence.
    pub(super) fn believe_no_single_window(&mut self) {
        (self.pairs.rule.clear_gain, self.pairs.rule.clear_loss) = (f64::INFINITY, f64::INFINITY);
    }

    /// From now on, a loss needs several pairs as well: stalls hit one window or the other.
    pub(super) fn need_more_pairs(&mut self) {
        self.pairs.rule.pairs_to_lose = 3;
    }

    /// Whether both plans have the same number of requests in flight.
    pub(super) fn is_of_sizes_only(&self) -> bool {
        self.arms[0].in_flight == self.arms[1].in_flight
    }

    /// See [`Pairs::handle`].
    pub(super) fn handle(&mut self, rate: f64, error: f64) -> Verdict {
        self.pairs.handle(rate, error)
    }
}

/// The rates of two arms, measured in turn.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// Smaller gains are a tie, and the current choice stays.
    worth: f64,
    rule: Rule,
    /// Logarithms of the rates of windows without a partner, one for each arm.
    first: Option<f64>,
    second: Option<f64>,
    /// The largest standard error of a window's rate, as a part of it.
    error: f64,
    pairs: u32,
    sum: f64,
    squares: f64,
}

impl Pairs {
    /// `worth`: the smallest gain that counts, as a factor.
    pub(super) fn new(worth: f64) -> Self {
        let (worth, rule) = (worth.ln(), QUICK);
        Pairs { worth, rule, first: None, second: None, error: 0.0, pairs: 0, sum: 0.0, squares: 0.0 }
    }

    /// For choices that last. Only a gain of `at_once`, as a factor, needs no repetition, and an
    /// unproven gain is not taken.
    pub(super) fn careful(worth: f64, at_once: f64) -> Self {
        Pairs { rule: Rule { clear_gain: at_once.ln(), ..CAREFUL }, ..Pairs::new(worth) }
    }

    /// Whether the current window measures the new arm.
    pub(super) fn is_other(&self) -> bool {
        self.first.is_some() && self.second.is_none()
    }

    /// Whether this rate of the new arm is sufficient evidence without repetition.
    pub(super) fn is_clear(&self, rate: f64, error: f64) -> bool {
        // Four standard errors exceed the variation between windows.
        let beyond = 4.0 * self.error.max(error);
        let gain = self.first.map(|before| rate.max(1.0).ln() - before);
        self.pairs == 0 && self.is_other() && gain.is_some_and(|gain| gain > self.rule.clear_gain.max(beyond))
    }

    /// Takes the rate of the window that ended, bytes per second, and its standard error, as a part
    /// of it.
    pub(super) fn handle(&mut self, rate: f64, error: f64) -> Verdict {
        let clear = self.is_clear(rate, error);
        self.error = self.error.max(error);
        let rate = rate.max(1.0).ln();
        match (self.first, self.second) {
            (None, _) => {
                self.first = Some(rate);
                Verdict::Open
            }
            (Some(before), None) => {
                let gain = rate - before;
                if clear {
                    return Verdict::Better { gain: gain.exp() };
                }
                if self.pairs == 0 && gain < -self.rule.clear_loss.max(4.0 * self.error) {
                    return Verdict::NotBetter { gain: gain.exp() };
                }
                self.second = Some(rate);
                Verdict::Open
            }
            (Some(before), Some(tried)) => {
                let gain = tried - (before + rate) / 2.0;
                self.first = Some(rate);
                self.second = None;
                self.pairs += 1;
                self.sum += gain;
                self.squares += gain * gain;
                self.judge()
            }
        }
    }

    fn judge(&self) -> Verdict {
        let n = f64::from(self.pairs);
        let mean = self.sum / n;
        let scatter = (self.squares - n * mean * mean).max(0.0);
        let spread = self.rule.spread.max(1.2 * self.error);
        let variance = (SPREAD_WEIGHT * spread * spread + scatter) / (SPREAD_WEIGHT + n - 1.0);
        let error = (variance / n).sqrt();
        let gain = mean.exp();
        if self.pairs >= self.rule.pairs_min && mean - self.rule.errors * error > self.worth {
            Verdict::Better { gain }
        } else if self.pairs >= self.rule.pairs_to_lose && mean + self.rule.errors_to_lose * error < self.worth * 1.5 {
            Verdict::NotBetter { gain }
        } else if self.pairs < self.rule.pairs_max {
            Verdict::Open
        } else if mean - self.rule.errors_at_end * error > self.worth {
            Verdict::Better { gain }
        } else {
            Verdict::NotBetter { gain }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_swing_decides_nothing_that_stays() {
        let decided = |mut pairs: Pairs, rates: &[f64]| {
            let mut verdicts = rates.iter().map(|rate| pairs.handle(*rate, 0.02));
            verdicts.find(|verdict| *verdict != Verdict::Open)
        };
        // The server became faster when the other arm started.
        let warming_up = [&[100.0][..], &[140.0; 30]].concat();
        assert!(matches!(decided(Pairs::new(1.03), &warming_up), Some(Verdict::Better { .. })));
        let careful = Pairs::careful(1.03, 2.0);
        assert!(matches!(decided(careful.clone(), &warming_up), Some(Verdict::NotBetter { .. })));
        assert!(matches!(decided(careful.clone(), &[100.0, 300.0]), Some(Verdict::Better { .. })));
        let twice = [100.0, 140.0, 101.0, 139.0, 99.0];
        assert!(matches!(decided(Pairs::new(1.03), &twice), Some(Verdict::Better { .. })));
        assert_eq!(decided(careful.clone(), &twice), None);
        let often = [101.0, 140.0].repeat(12);
        assert!(matches!(decided(careful, &often), Some(Verdict::Better { .. })));
    }
}

//! A paired comparison of two plans: windows of the one and the other in turn, until the evidence is enough either way.

use crate::tune::Plan;

/// Spread of one paired comparison (of logarithms) that is assumed before there is evidence: servers swing by 10-20 %.
const SPREAD: f64 = 0.1;
/// How many comparisons the assumption weighs.
const SPREAD_WEIGHT: f64 = 2.0;
const PAIRS_MAX: u32 = 6;

/// What a comparison came to. The gain is a factor on bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    Open,
    Better { gain: f64 },
    NotBetter { gain: f64 },
}

#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The plan that stands until the other has proved better.
    pub(super) current: Plan,
    pub(super) other: Plan,
    /// Gains below this are a tie, and the current plan stays.
    worth: f64,
    before: f64,
    tried: Option<f64>,
    pairs: u32,
    sum: f64,
    squares: f64,
}

impl Trial {
    /// `rate`: bytes per second of the window of `current` that has just ended. `worth`: the smallest gain that counts, as a factor.
    pub(super) fn new(current: Plan, other: Plan, rate: f64, worth: f64) -> Self {
        Trial { current, other, worth: worth.ln(), before: rate.ln(), tried: None, pairs: 0, sum: 0.0, squares: 0.0 }
    }

    /// The plan of the window under way.
    pub(super) fn plan(&self) -> Plan {
        if self.tried.is_none() { self.other } else { self.current }
    }

    /// Takes the rate of the window that ended, bytes per second.
    pub(super) fn handle(&mut self, rate: f64) -> Verdict {
        let rate = rate.max(1.0).ln();
        match self.tried.take() {
            None => {
                let gain = rate - self.before;
                // So much is beyond what swings from window to window.
                if self.pairs == 0 && gain > 4.0 * SPREAD {
                    return Verdict::Better { gain: gain.exp() };
                }
                if self.pairs == 0 && gain < -2.0 * SPREAD {
                    return Verdict::NotBetter { gain: gain.exp() };
                }
                self.tried = Some(rate);
                Verdict::Open
            }
            Some(tried) => {
                let gain = tried - (self.before + rate) / 2.0;
                self.before = rate;
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
        let variance = (SPREAD_WEIGHT * SPREAD * SPREAD + scatter) / (SPREAD_WEIGHT + n - 1.0);
        let error = (variance / n).sqrt();
        let gain = mean.exp();
        if mean - error > self.worth {
            Verdict::Better { gain }
        } else if mean + error < self.worth * 1.5 {
            Verdict::NotBetter { gain }
        } else if self.pairs < PAIRS_MAX {
            Verdict::Open
        } else if mean > self.worth {
            Verdict::Better { gain }
        } else {
            Verdict::NotBetter { gain }
        }
    }
}

//! The two knobs and what holds them: bounds, memory, and what a 413 taught.

use super::{Bounds, Plan};

/// Where a run begins, within the bounds.
const START_BYTES: u64 = 2 << 20;
const START_IN_FLIGHT: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Knobs {
    bounds: Bounds,
}

impl Knobs {
    pub(super) fn new(bounds: Bounds) -> Self {
        Knobs { bounds }
    }

    pub(super) fn start(&self) -> Plan {
        self.plan(START_BYTES as f64, f64::from(START_IN_FLIGHT))
    }

    /// Bytes under way, if every request is full.
    pub(super) fn bytes_in_flight(plan: &Plan) -> f64 {
        plan.batch_bytes as f64 * f64::from(plan.in_flight)
    }

    /// For messages.
    pub(super) fn words(plan: &Plan) -> String {
        let kib = plan.batch_bytes as f64 / 1024.0;
        let size = if kib < 1024.0 { format!("{kib:.0} KiB") } else { format!("{:.1} MiB", kib / 1024.0) };
        format!("{} x {size}", plan.in_flight)
    }

    /// So many times as many requests under way, or larger ones where their number is at its end. Moves by at least one request if
    /// `factor` comes near it.
    pub(super) fn scaled(&self, plan: &Plan, factor: f64) -> Plan {
        let (fewest, most) = self.bounds.in_flight;
        let wanted = f64::from(plan.in_flight) * factor;
        let in_flight = wanted.round().clamp(f64::from(fewest), f64::from(most));
        let rest = (wanted / in_flight).clamp(0.25, 4.0);
        let at_end = (factor > 1.0 && in_flight == f64::from(most)) || (factor < 1.0 && in_flight == f64::from(fewest));
        let batch_bytes = plan.batch_bytes as f64 * if at_end { rest } else { 1.0 };
        self.plan(batch_bytes, in_flight)
    }

    /// Bodies larger or smaller by a power of two near `factor`, a quarter to eight times; half of it makes no difference.
    pub(super) fn sized(&self, plan: &Plan, factor: f64) -> Plan {
        let doublings = factor.log2().clamp(-3.0, 2.0);
        self.plan(plan.batch_bytes as f64 * 2.0_f64.powf(doublings.trunc()), f64::from(plan.in_flight))
    }

    /// Like [`Knobs::scaled`], but no further than to `limit` bytes under way, and never down.
    pub(super) fn grown(&self, plan: &Plan, factor: f64, limit: f64) -> Plan {
        let limit = limit.min(self.bounds.memory as f64);
        let factor = factor.min(limit / Knobs::bytes_in_flight(plan));
        let to = if factor <= 1.0 { *plan } else { self.scaled(plan, factor) };
        let most = (limit / to.batch_bytes as f64).floor();
        if f64::from(to.in_flight) > most {
            self.plan(to.batch_bytes as f64, most.max(f64::from(plan.in_flight)))
        } else {
            to
        }
    }

    /// Like [`Knobs::scaled`] for less, but no fewer than two requests, and their size stays.
    pub(super) fn lessened(&self, plan: &Plan, factor: f64) -> Plan {
        let in_flight = (f64::from(plan.in_flight) * factor).round().max(2.0).min(f64::from(plan.in_flight));
        self.plan(plan.batch_bytes as f64, in_flight)
    }

    /// Three quarters of the requests that keep the cluster busy, of the same size, where `growth` times as many are under way.
    pub(super) fn drained(&self, plan: &Plan, growth: f64) -> Plan {
        self.plan(plan.batch_bytes as f64, (f64::from(plan.in_flight) / growth * 0.75).round())
    }

    /// Bodies larger by about `factor` with the same bytes under way, so that neither the queue nor the share of a loader among
    /// several changes. At least two requests. Where the bounds fix their number, or where there are very few and nobody else is
    /// there (`alone`), it stays, and more bytes are under way.
    pub(super) fn resized(&self, plan: &Plan, factor: f64, alone: bool) -> Plan {
        let n = f64::from(plan.in_flight);
        if self.in_flight_is_fixed() {
            return self.plan(plan.batch_bytes as f64 * factor, n);
        }
        if n <= 3.0 && alone {
            return self.plan(plan.batch_bytes as f64 * factor, n);
        }
        let in_flight = (n / factor).round().max(2.0).min(f64::from(self.bounds.in_flight.1));
        self.plan(plan.batch_bytes as f64 * n / in_flight, in_flight)
    }

    /// Whether only the size of the bodies is left to choose.
    pub(super) fn in_flight_is_fixed(&self) -> bool {
        self.bounds.in_flight.0 == self.bounds.in_flight.1
    }

    /// The plan within the bounds as they are now.
    pub(super) fn within(&self, plan: &Plan) -> Plan {
        self.plan(plan.batch_bytes as f64, f64::from(plan.in_flight))
    }

    /// Whether there is no room below memory and `limit` for one more request of this size.
    pub(super) fn is_full(&self, plan: &Plan, limit: f64) -> bool {
        Knobs::bytes_in_flight(plan) + plan.batch_bytes as f64 > self.limit(limit)
    }

    /// The most bytes under way, below `limit`.
    pub(super) fn limit(&self, limit: f64) -> f64 {
        limit.min(self.bounds.memory as f64)
    }

    /// So many requests of the same size.
    pub(super) fn with_in_flight(&self, plan: &Plan, in_flight: u32) -> Plan {
        self.plan(plan.batch_bytes as f64, f64::from(in_flight))
    }

    /// So many times as many requests of the same size.
    pub(super) fn more(&self, plan: &Plan, factor: f64) -> Plan {
        self.plan(plan.batch_bytes as f64, (f64::from(plan.in_flight) * factor).round())
    }

    /// A body of `refused` bytes was too large: half of it is the most from now on.
    pub(super) fn limit_body(&mut self, plan: &Plan, refused: u64) -> Plan {
        let (smallest, largest) = self.bounds.batch_bytes;
        let largest = largest.min((refused / 2).max(1));
        self.bounds.batch_bytes = (smallest.min(largest), largest);
        self.plan(plan.batch_bytes as f64, f64::from(plan.in_flight))
    }

    /// The nearest plan within the bounds. Where memory does not allow both, there are fewer requests.
    fn plan(&self, batch_bytes: f64, in_flight: f64) -> Plan {
        let (smallest, largest) = self.bounds.batch_bytes;
        let (fewest, most) = self.bounds.in_flight;
        let memory = self.bounds.memory as f64;
        let room = (memory / f64::from(fewest.max(1))).max(smallest as f64);
        let batch_bytes = batch_bytes.min(room).clamp(smallest as f64, largest.max(smallest) as f64);
        let in_flight = in_flight.min((memory / batch_bytes).floor()).clamp(f64::from(fewest), f64::from(most));
        Plan { batch_bytes: batch_bytes as u64, batch_docs: self.bounds.batch_docs, in_flight: in_flight as u32 }
    }
}

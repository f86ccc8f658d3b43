//! Batch size and requests in flight, within the bounds, memory and the server's body limit.

use super::{Bounds, Plan};

/// The start of a run, within the bounds.
const START_BYTES: u64 = 2 << 20;
const START_IN_FLIGHT: u32 = 2;
/// A drain keeps this multiple of the requests that keep the cluster busy. Fewer would leave it
/// idle.
const FEW: f64 = 1.3;

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

    /// Bytes in flight if every request is full.
    pub(super) fn bytes_in_flight(plan: &Plan) -> f64 {
        plan.batch_bytes as f64 * f64::from(plan.in_flight)
    }

    /// The plan in words, for messages.
    pub(super) fn words(plan: &Plan) -> String {
        let kib = plan.batch_bytes as f64 / 1024.0;
        let size = if kib < 1024.0 { format!("{kib:.0} KiB") } else { format!("{:.1} MiB", kib / 1024.0) };
        format!("{} x {size}", plan.in_flight)
    }

    /// Multiplies the requests in flight by `factor`. Where their number is at its bound, the batch
    /// size changes instead. Changes by at least one request if `factor` comes close to it.
    pub(super) fn scaled(&self, plan: &Plan, factor: f64) -> Plan {
        let (fewest, most) = self.bounds.in_flight;
        let wanted = f64::from(plan.in_flight) * factor;
        let in_flight = wanted.round().clamp(f64::from(fewest), f64::from(most));
        let rest = (wanted / in_flight).clamp(0.25, 4.0);
        let at_end = (factor > 1.0 && in_flight == f64::from(most)) || (factor < 1.0 && in_flight == f64::from(fewest));
        let batch_bytes = plan.batch_bytes as f64 * if at_end { rest } else { 1.0 };
        self.plan(batch_bytes, in_flight)
    }

    /// Multiplies the batch size by a power of two near `factor`, from 1/8 to 4. Factors between
    /// 1/2 and 2 change nothing.
    pub(super) fn sized(&self, plan: &Plan, factor: f64) -> Plan {
        let doublings = factor.log2().clamp(-3.0, 2.0);
        self.plan(plan.batch_bytes as f64 * 2.0_f64.powf(doublings.trunc()), f64::from(plan.in_flight))
    }

    /// The largest body of which this number fits into the memory, as a multiple of the plan's.
    pub(super) fn room_for(&self, plan: &Plan, number: f64) -> f64 {
        self.bounds.memory as f64 / number / plan.batch_bytes as f64
    }

    /// Multiplies the batch size by `factor` and keeps the number of requests, up to `limit` bytes
    /// in flight; beyond that there are fewer, but two at least.
    pub(super) fn larger(&self, plan: &Plan, factor: f64, limit: f64) -> Plan {
        let body = plan.batch_bytes as f64 * factor;
        let in_flight = f64::from(plan.in_flight).min((self.limit(limit) / body).floor()).max(2.0);
        self.plan(body, in_flight)
    }

    /// As [`Knobs::scaled`] for growth, up to `limit` bytes in flight.
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

    /// As [`Knobs::scaled`] for reduction: at least two requests, and their size stays.
    pub(super) fn lessened(&self, plan: &Plan, factor: f64) -> Plan {
        let in_flight = (f64::from(plan.in_flight) * factor).round().max(2.0).min(f64::from(plan.in_flight));
        self.plan(plan.batch_bytes as f64, in_flight)
    }

    /// A few more requests than keep the cluster busy, of the same size. `growth` times as many are
    /// in flight.
    pub(super) fn drained(&self, plan: &Plan, growth: f64) -> Plan {
        self.plan(plan.batch_bytes as f64, (f64::from(plan.in_flight) / growth * FEW).round())
    }

    /// Multiplies the batch size by about `factor` with the same bytes in flight, so that neither
    /// the queue nor the share among several loaders changes. At least two requests. If the bounds
    /// fix their number, or if there are very few and no other loader (`alone`), the number stays
    /// and the bytes in flight change.
    pub(super) fn resized(&self, plan: &Plan, factor: f64, alone: bool) -> Plan {
        let n = f64::from(plan.in_flight);
        if self.in_flight_is_fixed() {
            return self.plan(plan.batch_bytes as f64 * factor, n);
        }
        if n <= 3.0 && alone && factor > 1.0 {
            return self.plan(plan.batch_bytes as f64 * factor, n);
        }
        let in_flight = (n / factor).round().max(2.0).min(f64::from(self.bounds.in_flight.1));
        self.plan(plan.batch_bytes as f64 * n / in_flight, in_flight)
    }

    /// Whether only the batch size can change.
    pub(super) fn in_flight_is_fixed(&self) -> bool {
        self.bounds.in_flight.0 == self.bounds.in_flight.1
    }

    /// The plan within the current bounds.
    pub(super) fn within(&self, plan: &Plan) -> Plan {
        self.plan(plan.batch_bytes as f64, f64::from(plan.in_flight))
    }

    /// Whether memory and `limit` leave no room for another request of this size.
    pub(super) fn is_full(&self, plan: &Plan, limit: f64) -> bool {
        Knobs::bytes_in_flight(plan) + plan.batch_bytes as f64 > self.limit(limit)
    }

    /// The most bytes in flight, at most `limit`.
    pub(super) fn limit(&self, limit: f64) -> f64 {
        limit.min(self.bounds.memory as f64)
    }

    /// The plan with this number of requests of the same size.
    pub(super) fn with_in_flight(&self, plan: &Plan, in_flight: u32) -> Plan {
        self.plan(plan.batch_bytes as f64, f64::from(in_flight))
    }

    /// The plan with `factor` times as many requests of the same size.
    pub(super) fn more(&self, plan: &Plan, factor: f64) -> Plan {
        self.plan(plan.batch_bytes as f64, (f64::from(plan.in_flight) * factor).round())
    }

    /// Learns from a refused body: half its size is the maximum from now on.
    pub(super) fn limit_body(&mut self, plan: &Plan, refused: u64) -> Plan {
        let (smallest, largest) = self.bounds.batch_bytes;
        let largest = largest.min((refused / 2).max(1));
        self.bounds.batch_bytes = (smallest.min(largest), largest);
        self.plan(plan.batch_bytes as f64, f64::from(plan.in_flight))
    }

    /// The nearest plan within the bounds. If memory does not allow both values, there are fewer
    /// requests.
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

//! Documents of various sizes, taken in batches without a look at each.

use inrush_core::tune::Plan;

use super::keys::Documents;
use super::rng::Rng;

/// Number of drawn sizes; they repeat afterwards.
const RING: usize = 1 << 14;

/// An endless source.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Sums of the sizes before each position of the ring, and after the last one.
    sums: Vec<u64>,
    /// Documents taken so far.
    next: u64,
}

/// Documents that are sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) docs: u32,
    pub(super) bytes: u64,
}

impl Source {
    pub(super) fn new(documents: &Documents, rng: &mut Rng) -> Self {
        let ring = if documents.sigma == 0.0 { 1 } else { RING };
        let mut sums = Vec::with_capacity(ring + 1);
        let mut sum = 0;
        sums.push(0);
        for _ in 0..ring {
            let size = (documents.bytes * rng.lognormal(documents.sigma)).clamp(1.0, documents.max_bytes);
            sum += size.round() as u64;
            sums.push(sum);
        }
        Source { sums, next: 0 }
    }

    /// The next documents, up to `bytes` and up to `batch_docs` of the plan; at least one.
    pub(super) fn take(&mut self, bytes: u64, plan: &Plan) -> Batch {
        let ring = (self.sums.len() - 1) as u64;
        let total = self.sums[ring as usize];
        let from = self.sum_before(self.next);
        let goal = from + bytes;
        let rounds = goal / total;
        let in_ring = self.sums.partition_point(|&sum| sum <= goal % total) as u64 - 1;
        let end = (rounds * ring + in_ring).min(self.next + u64::from(plan.batch_docs)).max(self.next + 1);
        let batch = Batch { docs: (end - self.next) as u32, bytes: self.sum_before(end) - from };
        self.next = end;
        batch
    }

    fn sum_before(&self, doc: u64) -> u64 {
        let ring = (self.sums.len() - 1) as u64;
        (doc / ring) * self.sums[ring as usize] + self.sums[(doc % ring) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(batch_docs: u32) -> Plan {
        Plan { batch_bytes: 0, batch_docs, in_flight: 1 }
    }

    #[test]
    fn equal_documents_fill_batches() {
        let documents = Documents { bytes: 100.0, ..Documents::default() };
        let mut source = Source::new(&documents, &mut Rng::new(1, "documents", 0));
        assert_eq!(source.take(1000, &plan(100)), Batch { docs: 10, bytes: 1000 });
        assert_eq!(source.take(1099, &plan(100)), Batch { docs: 10, bytes: 1000 });
        assert_eq!(source.take(1000, &plan(3)), Batch { docs: 3, bytes: 300 });
        assert_eq!(source.take(10, &plan(100)), Batch { docs: 1, bytes: 100 });
    }

    #[test]
    fn a_heavy_tail_keeps_its_mean_and_its_bounds() {
        let documents = Documents { bytes: 1000.0, sigma: 1.5, ..Documents::default() };
        let mut source = Source::new(&documents, &mut Rng::new(1, "documents", 0));
        let (mut docs, mut bytes) = (0, 0);
        for _ in 0..5000 {
            let batch = source.take(50_000, &plan(1_000_000));
            assert!(batch.bytes <= 50_000 || batch.docs == 1, "{batch:?}");
            docs += u64::from(batch.docs);
            bytes += batch.bytes;
        }
        let mean = bytes as f64 / docs as f64;
        assert!((mean - 1000.0).abs() < 60.0, "{mean}");
    }
}

//! What a source hears, and what is heard of a source that has nothing for now.

use std::collections::BTreeMap;

use super::Flow;
use crate::ledger::Partition;
use crate::time::Time;

impl Flow {
    /// By partition, the number below which every record is settled and its end is known.
    pub fn settled_below(&self) -> BTreeMap<Partition, u64> {
        self.ledger.settled_below()
    }

    /// Whether every record that was taken is settled.
    pub fn is_settled(&self) -> bool {
        self.ledger.in_flight() == 0
    }

    /// Bytes of documents that were taken and are not settled, in all forms.
    pub fn held_bytes(&self) -> u64 {
        self.buffered + self.buffered_extra
    }

    /// The source waits until documents are settled that it returned before. Their windows end
    /// ([`crate::Coalesce`]).
    pub fn handle_source_wait(&mut self, now: Time) {
        self.pending.end_windows(now, u64::MAX);
    }

    /// The source had nothing until now, and everything before was settled: what would be measured
    /// across that time says nothing of the cluster.
    pub fn handle_idle_end(&mut self, now: Time) {
        self.tuner_break(now);
        self.body_format_tuner.handle_break(now);
    }
}

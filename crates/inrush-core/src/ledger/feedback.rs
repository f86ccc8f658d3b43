//! What a source hears of its documents: how far each partition is settled with a known end.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Ledger, Partition};
use crate::items::ItemBlock;

impl Ledger {
    /// By partition, the number below which every record is settled and its end is known. A record
    /// whose end stayed unknown ([`crate::Settled::Unknown`]) holds its partition back for good.
    pub fn settled_below(&self) -> BTreeMap<Partition, u64> {
        let below = |&partition: &Partition| {
            let unknown = self.partitions.get(&partition).and_then(|blocks| blocks.unknown_from).unwrap_or(u64::MAX);
            (partition, self.watermark(partition).docs.min(unknown))
        };
        self.partitions.keys().map(below).collect()
    }

    /// The source has no more blocks of these partitions, and needs their settled positions no
    /// more. They are forgotten, each once nothing of it is open. Checkpoints need all partitions.
    pub(crate) fn forget(&mut self, ended: impl IntoIterator<Item = Partition>) {
        if self.has_horizons {
            return;
        }
        self.ended.extend(ended);
        let partitions = &mut self.partitions;
        self.ended.retain(|partition| {
            let is_open = partitions.get(partition).is_some_and(|blocks| !blocks.open.is_empty());
            if !is_open {
                partitions.remove(partition);
            }
            is_open
        });
    }

    /// The end of these records stayed unknown.
    pub(crate) fn note_unknown(&mut self, items: &ItemBlock, records: Range<u32>) {
        if let (Some(blocks), false) = (self.partitions.get_mut(&items.partition()), records.is_empty()) {
            let first = items.number(records.start);
            blocks.unknown_from = Some(blocks.unknown_from.map_or(first, |from| from.min(first)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Origin, Record, SourceId};

    fn items(first_doc: u64, numbers: &[u32], span: u64) -> ItemBlock {
        let record = |line: &u32| Record { start: 0, end: 0, byte: 0, line: *line };
        let origin = Origin { first_doc, own_numbers: true, ..Origin::default() };
        ItemBlock { origin, lines: span, records: numbers.iter().map(record).collect(), ..ItemBlock::default() }
    }

    #[test]
    fn a_partition_with_numbers_of_its_own_may_start_anywhere() {
        let mut ledger = Ledger::default();
        let block = items(5_000_000, &[2, 3], 10);
        let id = ledger.open_numbered(&block.origin, vec![2, 3], 10).unwrap();
        let partition = (SourceId(0), 0);
        assert_eq!(ledger.settled_below(), BTreeMap::from([(partition, 5_000_002)]));
        ledger.settle(id, 0..2).unwrap();
        assert_eq!(ledger.settled_below()[&partition], 5_000_010);
        let gap = items(5_000_011, &[0], 1);
        assert!(ledger.open_numbered(&gap.origin, vec![0], 1).is_err(), "only the first block may");
    }

    #[test]
    fn a_partition_that_has_ended_is_forgotten_once_it_is_settled() {
        let mut ledger = Ledger::default();
        let open = |ledger: &mut Ledger, partition| {
            let origin = Origin { partition, ..items(7, &[0, 1], 2).origin };
            ledger.open_numbered(&origin, vec![0, 1], 2).unwrap()
        };
        let (first, second) = (open(&mut ledger, 0), open(&mut ledger, 1));
        ledger.settle(first, 0..2).unwrap();
        ledger.settle(second, 0..1).unwrap();
        ledger.forget([(SourceId(0), 0), (SourceId(0), 1), (SourceId(0), 2)]);
        assert_eq!(ledger.settled_below(), BTreeMap::from([((SourceId(0), 1), 8)]));
        ledger.settle(second, 1..2).unwrap();
        ledger.forget([]);
        assert!(ledger.settled_below().is_empty() && ledger.ended.is_empty());
        assert_eq!((ledger.opened(), ledger.settled(), ledger.in_flight()), (4, 4, 0));
    }

    #[test]
    fn nothing_beyond_an_unknown_end_is_settled() {
        let mut ledger = Ledger::default();
        let block = items(0, &[0, 1, 2, 3], 4);
        let id = ledger.open_numbered(&block.origin, vec![0, 1, 2, 3], 4).unwrap();
        ledger.note_unknown(&block, 2..3);
        ledger.note_unknown(&block, 3..3);
        ledger.settle(id, 0..4).unwrap();
        let partition = (SourceId(0), 0);
        assert_eq!((ledger.watermark(partition).docs, ledger.settled_below()[&partition]), (4, 2));
    }
}

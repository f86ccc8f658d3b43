//! The partitions that this member has, and how far each of them is.

use std::collections::BTreeMap;

use inrush_sources::PartitionLag;

use crate::client::{Offsets, TopicPartition};
use crate::written::Written;

/// How many numbers are remembered. Documents of older ones are settled long ago.
const NAMED: usize = 10_000;

/// The partitions of a member. Each gets a number of its own every time that it is assigned, by
/// which the engine knows it.
#[derive(Debug, Default)]
pub(crate) struct Assignment {
    owned: BTreeMap<TopicPartition, Owned>,
    numbers: u32,
    /// The commit that has no answer yet, by the numbers of its partitions: one that has left and
    /// come back meanwhile has another number.
    sent: Option<Vec<(u32, i64)>>,
    /// The partitions by number, also of those that were taken away.
    named: BTreeMap<u32, TopicPartition>,
    /// The numbers that were taken away since the engine was told.
    ended: Vec<u32>,
}

/// How far a partition is. Offsets are those after the last record.
#[derive(Debug)]
struct Owned {
    number: u32,
    /// Given to the engine.
    given: i64,
    /// Passed by the client at a time when everything before it was given. Beyond `given` where
    /// offsets at the end are those of markers.
    position: i64,
    /// Everything below is settled.
    settled: i64,
    /// Committed. -1 where nothing is.
    committed: i64,
    /// Where the load ends.
    until: Option<i64>,
    /// The group wants it back, and records of it are passed over.
    is_leaving: bool,
    /// Where it ends, as the brokers said last.
    end: i64,
    /// When the records were written that are not settled.
    written: Written,
}

impl Owned {
    fn to_commit(&self) -> i64 {
        if self.settled >= self.given { self.settled.max(self.position) } else { self.settled }
    }
}

impl Assignment {
    /// Adds a partition that is read from `start` on. Returns its number.
    pub(crate) fn add(&mut self, at: TopicPartition, start: i64, committed: Option<i64>, until: Option<i64>) -> u32 {
        let number = self.numbers;
        self.numbers += 1;
        self.named.insert(number, at.clone());
        if self.named.len() > NAMED {
            self.named.pop_first();
        }
        let committed = committed.unwrap_or(-1);
        let (given, position, settled, end) = (start, start, start, start);
        let (is_leaving, written) = (false, Written::default());
        let owned = Owned { number, given, position, settled, committed, until, is_leaving, end, written };
        self.ended.extend(self.owned.insert(at, owned).map(|before| before.number));
        number
    }

    /// The group wants this partition back. Records from `end` on are not given to the engine, or
    /// were taken back before it had them.
    pub(crate) fn leaves(&mut self, at: &TopicPartition, end: i64) {
        if let Some(owned) = self.owned.get_mut(at) {
            owned.is_leaving = true;
            owned.given = owned.given.min(end);
            owned.position = owned.position.min(end);
        }
    }

    /// Records from `end` on of the partition with this number are not given to the engine.
    pub(crate) fn ends(&mut self, number: u32, end: i64) {
        if let Some(owned) = self.owned.values_mut().find(|owned| owned.number == number) {
            owned.given = owned.given.min(end);
            owned.position = owned.position.min(end);
            owned.is_leaving = true;
        }
    }

    /// Whether documents of a partition that leaves are not settled.
    pub(crate) fn is_waiting(&self) -> bool {
        self.owned.values().any(|owned| owned.is_leaving && owned.settled < owned.given)
    }

    /// Takes partitions away. What is settled of them later means nothing any more.
    pub(crate) fn remove(&mut self, partitions: &[TopicPartition]) {
        let removed = partitions.iter().filter_map(|at| self.owned.remove(at));
        self.ended.extend(removed.map(|owned| owned.number));
    }

    /// The numbers that were taken away since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }

    /// The numbers of these partitions.
    pub(crate) fn numbers(&self, partitions: &[TopicPartition]) -> Vec<u32> {
        partitions.iter().filter_map(|at| self.owned.get(at)).map(|owned| owned.number).collect()
    }

    /// The partition that has or had this number.
    pub(crate) fn named(&self, number: u32) -> Option<&TopicPartition> {
        self.named.get(&number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.owned.len()
    }

    pub(crate) fn partitions(&self) -> Vec<TopicPartition> {
        self.owned.keys().cloned().collect()
    }

    /// Records before `end` were given to the engine.
    pub(crate) fn give(&mut self, at: &TopicPartition, end: i64) {
        if let Some(owned) = self.owned.get_mut(at) {
            owned.given = owned.given.max(end);
        }
    }

    /// Everything below `up_to` of the partition with this number is settled.
    pub(crate) fn settle(&mut self, number: u32, up_to: i64) {
        if let Some(owned) = self.owned.values_mut().find(|owned| owned.number == number) {
            owned.settled = owned.settled.max(up_to);
            owned.written.settle(owned.settled);
        }
    }

    /// The first of the records that were given last was written at `millis` since 1970.
    pub(crate) fn written(&mut self, at: &TopicPartition, millis: i64) {
        if let Some(owned) = self.owned.get_mut(at) {
            owned.written.push(owned.given, millis);
        }
    }

    /// The brokers say that partitions end here.
    pub(crate) fn at_ends(&mut self, ends: &Offsets) {
        for (at, end) in ends {
            if let Some(owned) = self.owned.get_mut(at) {
                owned.end = *end;
            }
        }
    }

    /// How far each partition is behind at `now`, in milliseconds since 1970.
    pub(crate) fn lag(&self, now: i64) -> Vec<PartitionLag> {
        let lag = |(at, owned): (&TopicPartition, &Owned)| {
            // More was read since the brokers were asked.
            let end = owned.end.max(owned.given).max(owned.position);
            let mut lag = PartitionLag::new(at, (owned.committed >= 0).then_some(owned.committed), end);
            lag.records = u64::try_from(end - owned.to_commit()).unwrap_or_default();
            // The clocks of the writer and of this machine may differ.
            lag.seconds = owned.written.first().map(|millis| now.saturating_sub(millis).max(0) as f64 / 1000.0);
            lag
        };
        self.owned.iter().map(lag).collect()
    }

    /// The client is at these offsets, and everything before them was given to the engine, up to
    /// where the load ends.
    pub(crate) fn at_positions(&mut self, positions: &Offsets) {
        for (at, position) in positions {
            if let Some(owned) = self.owned.get_mut(at).filter(|owned| !owned.is_leaving) {
                owned.position = owned.position.max(*position).min(owned.until.unwrap_or(i64::MAX));
            }
        }
    }

    /// What can be committed, and is not.
    pub(crate) fn to_commit(&self) -> Offsets {
        let new = self.owned.iter().filter(|(_, owned)| owned.to_commit() > owned.committed);
        new.map(|(at, owned)| (at.clone(), owned.to_commit())).collect()
    }

    /// What is sent to be committed now: nothing while a commit has no answer yet.
    pub(crate) fn send(&mut self) -> Offsets {
        if self.sent.is_some() {
            return Offsets::new();
        }
        let offsets = self.to_commit();
        if !offsets.is_empty() {
            self.sent = Some(offsets.iter().map(|(at, offset)| (self.owned[at].number, *offset)).collect());
        }
        offsets
    }

    /// The answer to the commit that was sent.
    pub(crate) fn answered(&mut self, is_committed: bool) {
        let sent = self.sent.take().filter(|_| is_committed);
        for (number, offset) in sent.into_iter().flatten() {
            if let Some(owned) = self.owned.values_mut().find(|owned| owned.number == number) {
                owned.committed = owned.committed.max(offset);
            }
        }
    }

    /// The broker has committed these offsets.
    pub(crate) fn committed(&mut self, offsets: &Offsets) {
        for (at, offset) in offsets {
            if let Some(owned) = self.owned.get_mut(at) {
                owned.committed = owned.committed.max(*offset);
            }
        }
    }

    /// Whether everything that was given of these partitions is settled.
    pub(crate) fn is_settled(&self, partitions: &[TopicPartition]) -> bool {
        let mut owned = partitions.iter().filter_map(|at| self.owned.get(at));
        owned.all(|owned| owned.settled >= owned.given)
    }

    /// Whether everything that is settled is committed.
    pub(crate) fn is_committed(&self) -> bool {
        self.owned.values().all(|owned| owned.committed >= owned.to_commit())
    }

    /// Whether each partition is read to where the load ends.
    pub(crate) fn is_at_end(&self) -> bool {
        self.owned.values().all(|owned| owned.until.is_some_and(|until| owned.given.max(owned.position) >= until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(partition: i32) -> TopicPartition {
        TopicPartition::new("orders", partition)
    }

    fn offsets<const N: usize>(offsets: [(i32, i64); N]) -> Offsets {
        offsets.into_iter().map(|(partition, offset)| (at(partition), offset)).collect()
    }

    #[test]
    fn what_is_settled_is_committed_once() {
        let mut assignment = Assignment::default();
        let first = assignment.add(at(0), 100, Some(100), None);
        let second = assignment.add(at(1), 7, None, None);
        assert_eq!(assignment.to_commit(), offsets([(1, 7)]), "where a new group begins is kept");
        assignment.give(&at(0), 150);
        assignment.settle(first, 120);
        assignment.settle(second, 7);
        assert_eq!(assignment.to_commit(), offsets([(0, 120), (1, 7)]));
        assert_eq!(assignment.send(), offsets([(0, 120), (1, 7)]));
        assert!(assignment.send().is_empty() && !assignment.is_committed(), "one commit at a time");
        assignment.answered(false);
        assert_eq!(assignment.send(), offsets([(0, 120), (1, 7)]));
        assignment.answered(true);
        assert!(assignment.to_commit().is_empty());
        assignment.settle(first, 130);
        assignment.committed(&offsets([(0, 130)]));
        assert!(assignment.is_committed() && !assignment.is_settled(&[at(0)]) && assignment.is_settled(&[at(1)]));
    }

    #[test]
    fn offsets_of_markers_are_committed_once_everything_before_them_is_settled() {
        let mut assignment = Assignment::default();
        let number = assignment.add(at(0), 0, Some(0), Some(52));
        assignment.give(&at(0), 50);
        assignment.at_positions(&offsets([(0, 60), (1, 9)]));
        assert!(assignment.is_at_end());
        assignment.settle(number, 49);
        assert_eq!(assignment.to_commit(), offsets([(0, 49)]));
        assignment.settle(number, 50);
        assert_eq!(assignment.to_commit(), offsets([(0, 52)]));
    }

    #[test]
    fn a_partition_that_leaves_is_committed_up_to_what_the_engine_has() {
        let mut assignment = Assignment::default();
        let number = assignment.add(at(0), 0, Some(0), None);
        assignment.give(&at(0), 50);
        assignment.at_positions(&offsets([(0, 55)]));
        assignment.leaves(&at(0), 20);
        assignment.at_positions(&offsets([(0, 70)]));
        assert!(assignment.is_waiting());
        assignment.settle(number, 20);
        assert!(assignment.is_settled(&[at(0)]) && !assignment.is_waiting());
        assert_eq!(assignment.to_commit(), offsets([(0, 20)]));
    }

    #[test]
    fn the_lag_is_what_is_not_settled() {
        let mut assignment = Assignment::default();
        let first = assignment.add(at(0), 100, Some(100), None);
        let second = assignment.add(at(1), 0, None, None);
        assignment.at_ends(&offsets([(0, 150), (1, 10), (2, 7)]));
        let lags = |assignment: &Assignment| {
            let lags = assignment.lag(9_000).into_iter();
            lags.map(|lag| (lag.committed, lag.end, lag.records, lag.seconds)).collect::<Vec<_>>()
        };
        assert_eq!(lags(&assignment), [(Some(100), 150, 50, None), (None, 10, 10, None)]);
        assignment.give(&at(0), 120);
        assignment.written(&at(0), 2_000);
        assignment.give(&at(0), 160);
        assignment.written(&at(0), 4_500);
        assignment.settle(first, 110);
        assert_eq!(lags(&assignment)[0], (Some(100), 160, 50, Some(7.0)), "more was read than the brokers said");
        assignment.settle(first, 120);
        assert_eq!(lags(&assignment)[0], (Some(100), 160, 40, Some(4.5)));
        // Offset 9 is that of a marker.
        assignment.give(&at(1), 9);
        assignment.written(&at(1), 20_000);
        assert_eq!(lags(&assignment)[1], (None, 10, 10, Some(0.0)), "the clock of the writer is ahead");
        assignment.settle(second, 9);
        assignment.at_positions(&offsets([(1, 10)]));
        assignment.committed(&offsets([(1, 10)]));
        assert_eq!(lags(&assignment)[1], (Some(10), 10, 0, None));
    }

    #[test]
    fn a_partition_that_comes_back_has_another_number() {
        let mut assignment = Assignment::default();
        let before = assignment.add(at(0), 0, None, None);
        assignment.give(&at(0), 50);
        assignment.remove(&[at(0)]);
        assert!(assignment.is_empty());
        let after = assignment.add(at(0), 30, Some(30), None);
        assignment.settle(before, 50);
        assert!(before != after && assignment.to_commit().is_empty());
        assignment.settle(after, 40);
        assert_eq!(assignment.send(), offsets([(0, 40)]));
        assignment.remove(&[at(0)]);
        let number = assignment.add(at(0), 10, Some(10), None);
        assignment.answered(true);
        assert!(assignment.is_committed() && assignment.to_commit().is_empty(), "the answer came too late for it");
        assignment.settle(number, 20);
        assert_eq!(assignment.to_commit(), offsets([(0, 20)]), "it was reset to an earlier offset");
        assert!(!assignment.is_at_end(), "it has no end");
    }

    #[test]
    fn partitions_that_were_taken_away_take_no_memory() {
        let mut assignment = Assignment::default();
        for number in 0..100_000 {
            assert_eq!(assignment.add(at(0), 0, None, None), number);
            match number % 2 {
                // It is assigned again without having been taken away.
                0 => assert!(assignment.take_ended().is_empty()),
                _ => {
                    assert_eq!(assignment.take_ended(), [number - 1]);
                    assignment.remove(&[at(0), at(1)]);
                    assert_eq!(assignment.take_ended(), [number]);
                }
            }
            assert!(assignment.named.len() <= NAMED && assignment.ended.is_empty());
        }
        assert!(assignment.is_empty());
    }
}

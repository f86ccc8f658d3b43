//! Random scripts of the group, the brokers and the engine: an offset is committed only if every
//! record before it is settled, and at the end everything is committed that is settled.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const PARTITIONS: i32 = 3;

#[derive(Clone, Debug)]
enum Act {
    /// Records are written, after this number of offsets without one.
    Write(i32, u8, i64),
    /// A poll brings records of a partition.
    Records(i32, u8),
    /// The group changes, if it can.
    Assign(i32),
    Revoke(i32),
    /// Whether the commit without an answer was made before.
    Lose(i32, bool),
    /// Another member reads records and commits them, where it has the partition.
    Other(i32, u8),
    Take(u8),
    /// The engine settles blocks of the partition with this number, from the last one.
    Settle(u8, u8),
    Answer(bool),
    /// The next commit that is waited for is refused, for now or for ever.
    Refuse(bool),
    Unreachable,
    Pass(u16),
}

fn act() -> impl Strategy<Value = Act> {
    let partition = || 0..PARTITIONS;
    let gap = prop_oneof![8 => Just(0), 4 => 1_i64..9, 1 => Just(5_000_000_000)];
    prop_oneof![
        3 => (partition(), 1_u8..9, gap).prop_map(|(at, count, gap)| Act::Write(at, count, gap)),
        8 => (partition(), 1_u8..9).prop_map(|(at, count)| Act::Records(at, count)),
        3 => partition().prop_map(Act::Assign),
        1 => partition().prop_map(Act::Revoke),
        1 => (partition(), any::<bool>()).prop_map(|(at, is_made)| Act::Lose(at, is_made)),
        2 => (partition(), 1_u8..9).prop_map(|(at, count)| Act::Other(at, count)),
        4 => (1_u8..5).prop_map(Act::Take),
        6 => (0_u8..4, 1_u8..5).prop_map(|(number, blocks)| Act::Settle(number, blocks)),
        4 => any::<bool>().prop_map(Act::Answer),
        1 => any::<bool>().prop_map(Act::Refuse),
        1 => Just(Act::Unreachable),
        3 => (1_u16..2000).prop_map(Act::Pass),
    ]
}

/// What the script knows of a number that the member has given to a partition.
struct Number {
    partition: i32,
    /// The end of the last block that the engine has.
    given: i64,
    settled: i64,
    /// The ends of the blocks that are not settled.
    blocks: Vec<i64>,
}

struct Script {
    scene: Scene,
    numbers: BTreeMap<u32, Number>,
    /// The offsets of each partition that any member has settled.
    done: Vec<BTreeSet<i64>>,
}

impl Script {
    fn new(is_bounded: bool) -> Script {
        let scene = Scene::with(|options| options.until = is_bounded.then_some(Until::Latest));
        scene.cluster().logs = (0..PARTITIONS).map(|partition| (at(partition), Log::new(0..5))).collect();
        Script { scene, numbers: BTreeMap::new(), done: vec![BTreeSet::new(); PARTITIONS as usize] }
    }

    /// Whether a partition is with this member, or on its way to or from it.
    fn is_here(&self, partition: i32) -> bool {
        let consumer = &self.scene.consumer;
        let at = at(partition);
        self.scene.assigned().contains_key(&at)
            || consumer.arriving.as_ref().is_some_and(|(partitions, _)| partitions.contains(&at))
            || consumer.leaving.as_ref().is_some_and(|leaving| leaving.partitions.contains(&at))
    }

    /// Whether the group waits for this member.
    fn is_rebalancing(&self) -> bool {
        self.scene.consumer.arriving.is_some() || self.scene.consumer.leaving.is_some()
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Write(partition, count, gap) => {
                let mut cluster = self.scene.cluster();
                let log = cluster.logs.get_mut(&at(partition)).unwrap();
                let first = log.end + gap;
                log.end = first + i64::from(count);
                log.offsets.extend(first..log.end);
                // The marker of a transaction.
                log.end += gap.min(1);
            }
            Act::Records(partition, count) => self.scene.records(partition, count.into()),
            Act::Assign(partition) if !self.is_rebalancing() && !self.is_here(partition) => {
                self.scene.assign([partition]);
            }
            Act::Revoke(partition) if !self.is_rebalancing() && self.is_here(partition) => {
                self.scene.revoke([partition]);
            }
            Act::Lose(partition, is_made) if self.is_here(partition) => {
                self.fail_commit(is_made);
                self.scene.lose([partition]);
                // It was sent again before the member knew.
                self.fail_commit(false);
            }
            Act::Other(partition, count) if !self.is_here(partition) => self.other(partition, count),
            Act::Take(blocks) => self.take(blocks),
            Act::Settle(number, blocks) => {
                let number = self.numbers.keys().rev().nth(number.into()).copied();
                number.into_iter().for_each(|number| self.settle(number, blocks.into()));
            }
            Act::Answer(is_made) if self.scene.cluster().unanswered.is_some() => {
                self.scene.answer(if is_made { Ok(()) } else { Err(is_away()) });
            }
            Act::Refuse(passes) => {
                let refusal = if passes { is_away() } else { ClientError::lasting("unknown member") };
                self.scene.cluster().refusals.push_back(refusal);
            }
            Act::Unreachable => self.scene.cluster().unreachable = 1,
            Act::Pass(milliseconds) => pass(Duration::from_millis(milliseconds.into())),
            _ => {}
        }
        self.scene.goes_on();
        for reader in &self.scene.consumer.readers.all {
            let (partition, start) = (reader.at.partition, reader.next);
            let number = Number { partition, given: start, settled: start, blocks: Vec::new() };
            self.numbers.entry(reader.number).or_insert(number);
        }
        self.check();
    }

    /// The group has gone on without this member, and takes no commit of it any more.
    fn fail_commit(&mut self, is_made: bool) {
        let unanswered = self.scene.cluster().unanswered.clone();
        if let Some((offsets, was_made)) = unanswered {
            if is_made && !was_made {
                self.scene.cluster().committed.extend(offsets);
            }
            self.scene.answer(Err(is_away()));
        }
    }

    fn other(&mut self, partition: i32, count: u8) {
        let mut cluster = self.scene.cluster();
        let committed = cluster.committed.get(&at(partition)).copied().unwrap_or(0);
        let next = cluster.logs[&at(partition)].offsets.iter().filter(|offset| **offset >= committed);
        let read: Vec<i64> = next.take(count.into()).copied().collect();
        if let Some(last) = read.last() {
            cluster.committed.insert(at(partition), last + 1);
            self.done[partition as usize].extend(read);
        }
    }

    fn take(&mut self, blocks: u8) {
        for _ in 0..blocks {
            let Some((number, first, end)) = self.scene.take_one() else { return };
            let number = self.numbers.get_mut(&number).unwrap();
            assert_eq!(number.given, first, "the numbers of a partition have no gaps");
            number.given = end;
            number.blocks.push(end);
        }
    }

    fn settle(&mut self, number: u32, blocks: usize) {
        let known = self.numbers.get_mut(&number).unwrap();
        let settled = known.blocks.drain(..blocks.min(known.blocks.len())).next_back();
        if let Some(end) = settled {
            let log = &self.scene.cluster().logs[&at(known.partition)];
            let new = log.offsets.iter().filter(|offset| (known.settled..end).contains(*offset));
            self.done[known.partition as usize].extend(new);
            known.settled = end;
            self.scene.settle(number, end);
        }
    }

    fn check(&self) {
        let cluster = self.scene.cluster();
        for (at, committed) in &cluster.committed {
            let before = cluster.logs[at].offsets.iter().filter(|offset| *offset < committed);
            let lost: Vec<_> = before.filter(|offset| !self.done[at.partition as usize].contains(offset)).collect();
            assert!(lost.is_empty(), "{at} is committed up to {committed}, and not settled at {lost:?}");
        }
    }

    fn end(mut self) {
        self.scene.cluster().refusals.clear();
        self.scene.cluster().unreachable = 0;
        self.scene.shared.change(|state| state.is_stopped = true);
        pass(ASK_AGAIN);
        self.act(&Act::Take(u8::MAX));
        for number in self.numbers.keys().copied().collect::<Vec<_>>() {
            self.settle(number, usize::MAX);
        }
        self.scene.goes_on();
        self.check();
        assert!(self.scene.is_ended() && !self.is_rebalancing());
        let owned = self.scene.consumer.readers.all.iter().map(|reader| (reader.at.clone(), reader.number));
        let owned: BTreeMap<TopicPartition, u32> = owned.collect();
        let committed = self.scene.close();
        for (at, number) in owned {
            let number = &self.numbers[&number];
            assert_eq!(number.given, number.settled);
            assert!(committed.get(&at).is_some_and(|committed| *committed >= number.settled), "{at}: {committed:?}");
        }
    }
}

proptest! {
    #[test]
    fn only_offsets_are_committed_whose_records_are_settled(
        acts in prop::collection::vec(act(), 1..120),
        is_bounded in any::<bool>(),
    ) {
        let mut script = Script::new(is_bounded);
        for act in &acts {
            script.act(act);
        }
        script.end();
    }
}

//! The consumer and a script in the place of the brokers.

mod committing;
mod ending;
mod gaps;
mod lag;
mod memory;
mod rebalancing;
mod scripts;

use std::sync::Mutex;

use super::*;
use crate::KafkaAddress;
use crate::client::scripted::{Cluster, Log, Scripted, Step, now, pass};
use crate::shared::Next;

fn at(partition: i32) -> TopicPartition {
    TopicPartition::new("orders", partition)
}

fn offsets<const N: usize>(offsets: [(i32, i64); N]) -> Offsets {
    offsets.into_iter().map(|(partition, offset)| (at(partition), offset)).collect()
}

/// A block that the engine has taken: the number of its partition, its first offset, and the one
/// after its last.
type Taken = (u32, i64, i64);

/// A member, its brokers and its engine.
struct Scene {
    cluster: Arc<Mutex<Cluster>>,
    shared: Arc<Shared>,
    consumer: Consumer<Scripted>,
}

impl Scene {
    /// Each of two partitions has 100 records.
    fn new() -> Scene {
        Scene::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut KafkaOptions)) -> Scene {
        let mut options = KafkaOptions::new(KafkaAddress::parse("kafka://broker/orders").unwrap());
        options.commit_every = Duration::from_millis(10);
        change(&mut options);
        let cluster = Arc::new(Mutex::new(Cluster::default()));
        let shared = Arc::new(Shared::new());
        let consumer = Consumer::new(Scripted(Arc::clone(&cluster)), Arc::new(options), None, Arc::clone(&shared), now);
        let scene = Scene { cluster, shared, consumer };
        scene.cluster().logs = (0..2).map(|partition| (at(partition), Log::new(0..100))).collect();
        scene
    }

    fn cluster(&self) -> std::sync::MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap()
    }

    /// Polls until the script is at its end, and once more.
    fn run(&mut self) -> Result<(), ClientError> {
        while !self.cluster().polls.is_empty() {
            self.consumer.turn()?;
        }
        self.consumer.turn()
    }

    fn goes_on(&mut self) {
        self.run().unwrap();
    }

    /// The next poll brings this number of records of a partition.
    fn records(&mut self, partition: i32, count: usize) {
        let step = Step { records: vec![(at(partition), count)], then: Ok(Polled::Records) };
        self.cluster().polls.push_back(step);
        self.goes_on();
    }

    fn polls(&mut self, polled: Polled) -> Result<(), ClientError> {
        self.cluster().polls.push_back(Step { records: Vec::new(), then: Ok(polled) });
        self.run()
    }

    fn event(&mut self, polled: Polled) {
        self.polls(polled).unwrap();
    }

    fn assign<const N: usize>(&mut self, partitions: [i32; N]) {
        self.event(Polled::Assigned(partitions.map(at).into()));
    }

    fn revoke<const N: usize>(&mut self, partitions: [i32; N]) {
        self.event(Polled::Revoked(partitions.map(at).into()));
    }

    fn lose<const N: usize>(&mut self, partitions: [i32; N]) {
        self.event(Polled::Lost(partitions.map(at).into()));
    }

    /// The commit that has no answer is answered.
    fn answer(&mut self, answer: Result<(), ClientError>) {
        self.event(Polled::Committed(answer));
    }

    /// The engine takes a block, where one waits.
    fn take_one(&self) -> Option<Taken> {
        match self.shared.next(Duration::ZERO).unwrap() {
            Next::Chunk(chunk) => {
                let block = chunk.into_block();
                let first = block.origin.first_doc as i64;
                Some((block.origin.partition, first, first + block.lines as i64))
            }
            Next::Nothing | Next::End => None,
        }
    }

    fn take(&self) -> Vec<Taken> {
        std::iter::from_fn(|| self.take_one()).collect()
    }

    /// The engine has settled everything below an offset.
    fn settle(&self, number: u32, up_to: i64) {
        self.shared.change(|state| state.assignment.settle(number, up_to));
    }

    fn assigned(&self) -> Offsets {
        self.cluster().assigned.clone()
    }

    fn committed(&self) -> Offsets {
        self.cluster().committed.clone()
    }

    fn is_ended(&self) -> bool {
        self.shared.state().is_at_end
    }

    /// The engine needs the source no more, and the thread ends.
    fn close(self) -> Offsets {
        self.shared.change(|state| state.is_closed = true);
        self.consumer.run();
        self.cluster.lock().unwrap().committed.clone()
    }
}

fn is_away() -> ClientError {
    ClientError::retriable("the coordinator is away")
}

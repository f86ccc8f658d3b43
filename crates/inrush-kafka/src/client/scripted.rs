//! A client that follows a script, without threads, a network or time.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_cluster::clock::{self, Instant};

use super::{Client, ClientError, Offsets, Polled, Record, TopicPartition};

thread_local! {
    static NOW: Cell<Instant> = Cell::new(clock::now());
}

/// The time of this thread's script. A poll that brings nothing lets it pass.
pub(crate) fn now() -> Instant {
    NOW.get()
}

pub(crate) fn pass(time: Duration) {
    NOW.set(NOW.get() + time);
}

/// The brokers, and what the client was told to do.
#[derive(Default)]
pub(crate) struct Cluster {
    /// What the next polls bring. Afterwards they bring nothing.
    pub(crate) polls: VecDeque<Step>,
    pub(crate) logs: BTreeMap<TopicPartition, Log>,
    /// What is committed.
    pub(crate) committed: Offsets,
    /// All commits that were sent.
    pub(crate) commits: Vec<Offsets>,
    /// The commit that has no answer yet, and whether the brokers have made it already.
    pub(crate) unanswered: Option<(Offsets, bool)>,
    /// The partitions whose ends were asked for, and not answered.
    pub(crate) asked_ends: Option<Vec<TopicPartition>>,
    /// The answers to the next commits that are waited for. Afterwards they succeed.
    pub(crate) refusals: VecDeque<ClientError>,
    /// This number of questions fails.
    pub(crate) unreachable: u32,
    /// The partitions that are read, and the offsets that they are at.
    pub(crate) assigned: Offsets,
    /// Assigned partitions from which a record came.
    has_come: BTreeSet<TopicPartition>,
    pub(crate) paused: BTreeSet<TopicPartition>,
}

/// The records that a partition has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) first: i64,
    pub(crate) offsets: Vec<i64>,
    /// The offset after the last one, which may be that of a marker.
    pub(crate) end: i64,
}

/// What a poll brings: records of these partitions, and then an event.
pub(crate) struct Step {
    pub(crate) records: Vec<(TopicPartition, usize)>,
    pub(crate) then: Result<Polled, ClientError>,
}

/// The client of a cluster.
pub(crate) struct Scripted(pub(crate) Arc<Mutex<Cluster>>);

impl Log {
    pub(crate) fn new(offsets: impl IntoIterator<Item = i64>) -> Log {
        let offsets: Vec<i64> = offsets.into_iter().collect();
        let end = offsets.last().map_or(0, |last| last + 1);
        Log { first: 0, offsets, end }
    }
}

impl Cluster {
    fn ask(&mut self) -> Result<(), ClientError> {
        if self.unreachable > 0 {
            self.unreachable -= 1;
            return Err(ClientError::retriable("no broker answers"));
        }
        Ok(())
    }

    /// Only what this member reads may be committed.
    fn sent(&mut self, offsets: &Offsets) {
        for at in offsets.keys() {
            assert!(self.assigned.contains_key(at), "{at} is not assigned");
        }
        self.commits.push(offsets.clone());
    }

    /// Hands over records until `take` has enough. Returns whether there were any.
    fn hand_over(&mut self, at: &TopicPartition, count: usize, take: &mut dyn FnMut(Record<'_>) -> bool) -> usize {
        let Some(position) = self.assigned.get_mut(at).filter(|_| !self.paused.contains(at)) else { return count };
        let offsets = &self.logs[at].offsets;
        let from = *position;
        for (done, offset) in offsets.iter().filter(|offset| **offset >= from).take(count).enumerate() {
            self.has_come.insert(at.clone());
            *position = offset + 1;
            let (topic, partition) = (&*at.topic, at.partition);
            let (key, value): (&[u8], &[u8]) = (b"key", &[b'1'; 100]);
            let (key, value) = (Some(key), Some(value));
            let timestamp = Some(1_000 * offset);
            if !take(Record { topic, partition, offset: *offset, key, value, timestamp, headers: &[] }) {
                return done + 1;
            }
        }
        count
    }
}

impl Scripted {
    fn cluster(&self) -> std::sync::MutexGuard<'_, Cluster> {
        self.0.lock().unwrap()
    }
}

impl Client for Scripted {
    fn poll(&mut self, wait: Duration, take: &mut dyn FnMut(Record<'_>) -> bool) -> Result<Polled, ClientError> {
        let mut cluster = self.cluster();
        let Some(mut step) = cluster.polls.pop_front() else {
            pass(wait.max(Duration::from_millis(1)));
            return Ok(Polled::Nothing);
        };
        while let Some((at, count)) = step.records.first_mut() {
            let done = cluster.hand_over(at, *count, take);
            *count -= done;
            if *count > 0 {
                cluster.polls.push_front(step);
                return Ok(Polled::Records);
            }
            step.records.remove(0);
        }
        match &step.then {
            Ok(Polled::Committed(answer)) => {
                let (offsets, is_made) = cluster.unanswered.take().expect("a commit was sent");
                if answer.is_ok() && !is_made {
                    cluster.committed.extend(offsets);
                }
            }
            Ok(Polled::Ends(_)) => assert!(cluster.asked_ends.take().is_some(), "the ends were asked for"),
            Ok(Polled::Lost(partitions)) => {
                for at in partitions {
                    cluster.assigned.remove(at);
                }
            }
            _ => {}
        }
        step.then
    }

    fn assign(&mut self, starts: &Offsets) -> Result<(), ClientError> {
        let mut cluster = self.cluster();
        for (at, start) in starts {
            assert_eq!(cluster.assigned.insert(at.clone(), *start), None, "{at} is assigned already");
            cluster.has_come.remove(at);
            cluster.paused.remove(at);
        }
        Ok(())
    }

    fn unassign(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        let mut cluster = self.cluster();
        cluster.assigned.retain(|at, _| !partitions.contains(at));
        cluster.paused.retain(|at| !partitions.contains(at));
        Ok(())
    }

    fn commit(&mut self, offsets: &Offsets) -> Result<(), ClientError> {
        let mut cluster = self.cluster();
        cluster.sent(offsets);
        // Commits are made one after the other.
        if let Some((before, is_made)) = &mut cluster.unanswered
            && !std::mem::replace(is_made, true)
        {
            let before = before.clone();
            cluster.committed.extend(before);
        }
        if let Some(refusal) = cluster.refusals.pop_front() {
            return Err(refusal);
        }
        cluster.committed.extend(offsets.clone());
        Ok(())
    }

    fn commit_later(&mut self, offsets: &Offsets) {
        let mut cluster = self.cluster();
        cluster.sent(offsets);
        assert_eq!(cluster.unanswered.replace((offsets.clone(), false)), None, "one commit at a time");
    }

    fn committed(&mut self, partitions: &[TopicPartition]) -> Result<Offsets, ClientError> {
        let mut cluster = self.cluster();
        cluster.ask()?;
        let known = partitions.iter().filter_map(|at| Some((at.clone(), *cluster.committed.get(at)?)));
        Ok(known.collect())
    }

    fn bounds(&mut self, partitions: &[TopicPartition]) -> Result<BTreeMap<TopicPartition, (i64, i64)>, ClientError> {
        let mut cluster = self.cluster();
        cluster.ask()?;
        let bounds = partitions.iter().map(|at| (at.clone(), (cluster.logs[at].first, cluster.logs[at].end)));
        Ok(bounds.collect())
    }

    fn ask_ends(&mut self, partitions: &[TopicPartition]) {
        let before = self.cluster().asked_ends.replace(partitions.to_vec());
        assert_eq!(before, None, "one question at a time");
    }

    fn offsets_at(&mut self, _partitions: &[TopicPartition], _time: i64) -> Result<Offsets, ClientError> {
        Ok(Offsets::new())
    }

    fn positions(&mut self) -> Result<Offsets, ClientError> {
        let cluster = self.cluster();
        let come = cluster.assigned.iter().filter(|(at, _)| cluster.has_come.contains(*at));
        // Markers at the end are passed over.
        let position = |(at, position): (&TopicPartition, &i64)| {
            let log = &cluster.logs[at];
            let is_at_end = log.offsets.last().is_none_or(|last| last < position);
            (at.clone(), if is_at_end { *position.max(&log.end) } else { *position })
        };
        Ok(come.map(position).collect())
    }

    fn partitions(&mut self) -> Result<Vec<TopicPartition>, ClientError> {
        let mut cluster = self.cluster();
        cluster.ask()?;
        Ok(cluster.logs.keys().cloned().collect())
    }

    fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        self.cluster().paused.extend(partitions.iter().cloned());
        Ok(())
    }

    fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        self.cluster().paused.retain(|at| !partitions.contains(at));
        Ok(())
    }
}

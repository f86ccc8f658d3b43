//! The meeting point of the thread that reads topics and the engine.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inrush_cluster::clock;
use inrush_formats::{Chunk, SourceError};
use inrush_sources::{Partition, TopicPartition, Topics};

use crate::assignment::Assignment;
use crate::values::{Hints, Needs};

/// State under one lock.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Told when a block comes or goes, when documents are settled, and at the end.
    changed: Condvar,
    /// Hints at options that would read the values better, by the look of the values.
    pub(crate) hints: Arc<Hints>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) assignment: Assignment,
    queue: VecDeque<Block>,
    /// Numbers of partitions of which the engine gets no more blocks.
    given_up: Vec<u32>,
    /// Numbers of partitions whose documents the engine gives back.
    lost: Vec<u32>,
    /// Of all blocks that wait, bytes.
    pub(crate) queued_bytes: usize,
    /// The load is to end, with the records that were read.
    pub(crate) is_stopped: bool,
    /// No more blocks come.
    pub(crate) is_at_end: bool,
    /// The engine needs the source no more.
    pub(crate) is_closed: bool,
    /// The thread has returned.
    pub(crate) is_gone: bool,
    error: Option<SourceError>,
}

/// A block that waits for the engine.
pub(crate) struct Block {
    /// The number of its partition.
    pub(crate) number: u32,
    /// Its first offset.
    pub(crate) first: i64,
    pub(crate) bytes: usize,
    /// Schemas that have to be known before the engine gets the block. Later blocks wait, too.
    pub(crate) needs: Needs,
    pub(crate) chunk: Chunk,
}

/// What the engine gets next.
pub(crate) enum Next {
    Chunk(Chunk),
    Nothing,
    End,
}

impl State {
    /// Takes the blocks of a partition out of the queue. Returns the first offset of them.
    pub(crate) fn drop_blocks(&mut self, number: u32) -> Option<i64> {
        let (mut bytes, mut first) = (0, None);
        self.queue.retain(|block| {
            let stays = block.number != number;
            if !stays {
                bytes += block.bytes;
                first = first.or(Some(block.first));
            }
            stays
        });
        self.queued_bytes -= bytes;
        first
    }

    /// Takes out the blocks of partitions whose next block needs something that is not known. They
    /// are read again by the next load.
    fn give_up(&mut self) {
        while let Some(block) = self.queue.front()
            && !block.needs.are_known()
        {
            let (number, first) = (block.number, block.first);
            self.drop_blocks(number);
            self.assignment.ends(number, first);
            self.given_up.push(number);
        }
    }

    /// Whether the engine gets no more blocks of this partition.
    pub(crate) fn is_given_up(&self, number: u32) -> bool {
        self.given_up.contains(&number)
    }

    /// The engine gives back what it has not sent of these partitions.
    pub(crate) fn lose(&mut self, numbers: impl IntoIterator<Item = u32>) {
        self.lost.extend(numbers);
    }

    /// The numbers of partitions that were lost since the last call.
    pub(crate) fn take_lost(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.lost)
    }

    /// Adds a block.
    pub(crate) fn push(&mut self, block: Block) {
        self.queued_bytes += block.bytes;
        self.queue.push_back(block);
    }
}

impl Shared {
    pub(crate) fn new() -> Self {
        Shared { state: Mutex::default(), changed: Condvar::new(), hints: Arc::default() }
    }

    /// The state. A panic elsewhere leaves it whole: nothing is changed in several steps.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes those who wait for that.
    pub(crate) fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let done = work(&mut self.state());
        self.changed.notify_all();
        done
    }

    /// Waits until `enough`, for `longest` at most. Whether it came to that.
    pub(crate) fn wait(&self, longest: Duration, mut enough: impl FnMut(&State) -> bool) -> bool {
        let waiting = self.changed.wait_timeout_while(self.state(), longest, |state| !enough(state));
        !waiting.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// The next block, for which it waits for `longest` at most.
    ///
    /// # Errors
    /// That of the thread, once.
    pub(crate) fn next(&self, longest: Duration) -> Result<Next, SourceError> {
        let until = clock::now() + longest;
        let mut state = self.state();
        loop {
            if state.is_stopped {
                state.give_up();
            }
            if let Some(block) = state.queue.pop_front_if(|block| block.needs.are_known()) {
                state.queued_bytes -= block.bytes;
                drop(state);
                self.changed.notify_all();
                return Ok(Next::Chunk(block.chunk));
            }
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            if state.is_at_end && state.queue.is_empty() {
                return Ok(Next::End);
            }
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                return Ok(Next::Nothing);
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The engine has settled these. After the last record, and after a stop, it waits, for
    /// `longest` at most, until that is committed.
    pub(crate) fn settled(&self, up_to: &BTreeMap<Partition, u64>, longest: Duration) {
        let is_ending = self.change(|state| {
            for ((_, number), offset) in up_to {
                // Offsets have 63 bits.
                state.assignment.settle(*number, *offset as i64);
            }
            state.is_at_end || state.is_stopped
        });
        let is_done = |state: &State| state.is_gone || (state.is_at_end && state.assignment.is_committed());
        if is_ending && !self.wait(longest, is_done) {
            tracing::warn!(
                "the broker has not answered the last commit within {} s; records after the one before are read again",
                longest.as_secs()
            );
        }
    }

    /// Ends the stream of blocks, with an error where there is one.
    pub(crate) fn end(&self, error: Option<SourceError>) {
        self.change(|state| {
            state.is_at_end = true;
            if state.error.is_none() {
                state.error = error;
            }
        });
    }
}

impl Topics for Shared {
    fn find(&self, number: u32) -> Option<TopicPartition> {
        self.state().assignment.named(number).cloned()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

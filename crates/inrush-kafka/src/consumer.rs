//! The thread that reads topics: it polls the client, gathers records, commits what is settled, and
//! answers the group.

mod ends;
mod gap;
mod readers;

use inrush_cluster::clock::Instant;
use inrush_core::Code;
use std::sync::Arc;
use std::time::Duration;

use inrush_formats::SourceError;

use self::ends::EndsQuestion;
use self::gap::{Gap, REMEDY};
use self::readers::Readers;
use crate::client::{Client, ClientError, Offsets, Polled, TopicPartition};
use crate::shared::{Block, Shared};
use crate::values::{Needs, Shape};
use crate::{KafkaOptions, OnGap, PartitionOffset, Start, Until};

/// Records of one poll, so that time-outs are looked at in between.
const BATCH: usize = 5_000;

/// How long a full queue is waited for before the partitions are paused. A pause costs what the
/// client has fetched already.
const FULL_FOR: Duration = Duration::from_secs(1);

/// How often the client's positions are looked at.
const POSITIONS_EVERY: Duration = Duration::from_millis(200);

/// After this time brokers are asked again that did not answer.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// After this time the last commit is tried again.
const COMMIT_AGAIN: Duration = Duration::from_millis(200);

/// The last part of the time of partitions that leave is for requests in flight.
const ANSWERS_PART: u32 = 4;

/// How often a member without partitions looks whether the others are at the end.
const OTHERS_EVERY: Duration = Duration::from_secs(2);

/// How long a member without partitions waits before it says so.
const QUIET_FOR: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;

/// A member of the group, and what it reads.
pub(crate) struct Consumer<C> {
    client: C,
    options: Arc<KafkaOptions>,
    shared: Arc<Shared>,
    /// The clock.
    now: fn() -> Instant,
    readers: Readers,
    /// Partitions that the group gives to this member, and when the brokers are asked where to
    /// begin with them.
    arriving: Option<(Vec<TopicPartition>, Instant)>,
    leaving: Option<Leaving>,
    is_joined: bool,
    is_paused: bool,
    is_ending: bool,
    is_commit_refused: bool,
    full_for: Duration,
    committed_at: Instant,
    positions_at: Instant,
    others_at: Instant,
    began: Instant,
    has_told_of_waiting: bool,
    /// Where all partitions end, for a member that looks at the whole group.
    ends: Option<Offsets>,
    ends_question: EndsQuestion,
}

/// Partitions that the group wants back.
struct Leaving {
    partitions: Vec<TopicPartition>,
    /// When the engine gives back what it has not sent.
    take_back_at: Instant,
    is_taken_back: bool,
    /// When they are let go, settled or not.
    until: Instant,
}

/// Where reading of a partition begins and ends.
struct Begin {
    at: TopicPartition,
    start: i64,
    committed: Option<i64>,
    until: Option<i64>,
    /// Where it ends now.
    end: i64,
}

impl<C: Client> Consumer<C> {
    pub(crate) fn new(
        client: C,
        options: Arc<KafkaOptions>,
        shape: Option<Arc<Shape>>,
        shared: Arc<Shared>,
        clock: fn() -> Instant,
    ) -> Self {
        let now = clock();
        Consumer {
            client,
            now: clock,
            readers: Readers::new(Arc::clone(&options), shape, Arc::clone(&shared.hints)),
            options,
            shared,
            arriving: None,
            leaving: None,
            is_joined: false,
            is_paused: false,
            is_ending: false,
            is_commit_refused: false,
            full_for: FULL_FOR,
            committed_at: now,
            positions_at: now,
            others_at: now,
            began: now,
            has_told_of_waiting: false,
            ends: None,
            ends_question: EndsQuestion::new(now),
        }
    }

    /// Reads until the engine needs the source no more. Errors end the stream of blocks.
    pub(crate) fn run(mut self) {
        while !self.shared.state().is_closed {
            if let Err(error) = self.turn() {
                let title = self.options.address.to_string();
                self.shared.end(Some(SourceError::new(title, error.to_string()).coded(Code::BrokerFailed)));
                break;
            }
        }
        self.commit_rest();
    }

    /// Commits what the engine still settles, also after an error, until it needs the source no
    /// more.
    fn commit_rest(&mut self) {
        let until = (self.now)() + self.options.settle_for;
        loop {
            let left = until.saturating_duration_since((self.now)());
            self.shared.wait(left, |state| state.is_closed || !state.assignment.to_commit().is_empty());
            let (last, is_closed) = {
                let state = self.shared.state();
                (state.assignment.to_commit(), state.is_closed)
            };
            if !last.is_empty() {
                match self.client.commit(&last) {
                    Ok(()) => self.shared.change(|state| state.assignment.committed(&last)),
                    Err(error) if error.is_retriable && !left.is_zero() => {
                        tracing::debug!("the last commit of group {}: {error}; it is tried again", self.options.group);
                        self.shared.wait(COMMIT_AGAIN, |_| false);
                        continue;
                    }
                    Err(error) => {
                        tracing::warn!("the last commit of group {}: {error}", self.options.group);
                        return;
                    }
                }
            }
            if is_closed || left.is_zero() {
                return;
            }
        }
    }

    /// One poll, and what is due after it.
    fn turn(&mut self) -> Result<(), ClientError> {
        let now = (self.now)();
        let wait = self.readers.wait(now);
        let (readers, mut left) = (&mut self.readers, BATCH);
        let is_ending = self.is_ending;
        let polled = self.client.poll(wait, &mut |record| {
            if !is_ending {
                readers.push(record, now);
            }
            left -= 1;
            left > 0 && !readers.is_full()
        })?;
        match polled {
            Polled::Nothing => self.nothing()?,
            Polled::Records => {}
            Polled::Assigned(partitions) => self.arriving = Some((partitions, (self.now)())),
            Polled::Revoked(partitions) => self.revoked(partitions),
            Polled::Lost(partitions) => self.lost(&partitions)?,
            Polled::Committed(answer) => self.commit_answered(answer)?,
            Polled::Ends(answer) => self.ends_answered(answer),
            Polled::Gap(found) => return Err(self.gap(&found)),
        }
        self.check_back()?;
        self.give(false);
        self.assign()?;
        self.leave()?;
        self.commit();
        self.ask_ends();
        self.room()?;
        self.end()
    }

    /// The client has no record. So its positions are those of everything that was gathered.
    fn nothing(&mut self) -> Result<(), ClientError> {
        self.give(true);
        if self.is_ending {
            return Ok(());
        }
        let now = (self.now)();
        if now.duration_since(self.positions_at) >= POSITIONS_EVERY && !self.shared.state().assignment.is_empty() {
            self.positions_at = now;
            match self.client.positions() {
                Ok(positions) => self.shared.state().assignment.at_positions(&positions),
                Err(error) => tracing::debug!("positions: {error}"),
            }
        }
        if !self.is_joined && !self.has_told_of_waiting && now.duration_since(self.began) >= QUIET_FOR {
            self.has_told_of_waiting = true;
            tracing::info!(
                "waiting for group {} to assign partitions; a member that was killed keeps its own until its session ends",
                self.options.group
            );
        }
        Ok(())
    }

    /// Begins with the partitions that have arrived. Brokers that do not answer are asked again.
    fn assign(&mut self) -> Result<(), ClientError> {
        let Some((partitions, when)) = &self.arriving else { return Ok(()) };
        if (self.now)() < *when {
            return Ok(());
        }
        let partitions = partitions.clone();
        let begins = match self.begins(&partitions) {
            Ok(begins) => begins,
            Err(error) if error.is_retriable => {
                tracing::warn!("group {}: {error}; the brokers are asked again", self.options.group);
                self.arriving = Some((partitions, (self.now)() + ASK_AGAIN));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.arriving = None;
        self.is_joined = true;
        let starts: Offsets = begins.iter().map(|begin| (begin.at.clone(), begin.start)).collect();
        let ends: Offsets = begins.iter().map(|begin| (begin.at.clone(), begin.end)).collect();
        for Begin { at, start, committed, until, .. } in begins {
            let number = self.shared.state().assignment.add(at.clone(), start, committed, until);
            self.readers.add(at, number, start, until);
        }
        self.shared.state().assignment.at_ends(&ends);
        self.client.assign(&starts)?;
        if self.is_paused || self.is_ending {
            self.client.pause(&partitions)?;
        }
        let owned = self.shared.state().assignment.len();
        tracing::info!("group {}: this member reads {owned} partitions", self.options.group);
        Ok(())
    }

    /// Where to begin with partitions, and where to end.
    fn begins(&mut self, partitions: &[TopicPartition]) -> Result<Vec<Begin>, ClientError> {
        let committed = self.client.committed(partitions)?;
        let bounds = self.client.bounds(partitions)?;
        let named = match &self.options.from {
            Start::Time(time) => self.client.offsets_at(partitions, *time)?,
            Start::Offsets(offsets) => named(offsets, partitions),
            Start::Earliest | Start::Latest => Offsets::new(),
        };
        let ends = match self.options.until {
            Some(Until::Time(time)) => self.client.offsets_at(partitions, time)?,
            Some(Until::Latest) | None => Offsets::new(),
        };
        let begin = |at: &TopicPartition| {
            let unknown =
                || ClientError::retriable(format!("the broker does not say where partition {at} begins and ends"));
            let &(first, last) = bounds.get(at).ok_or_else(unknown)?;
            let committed = committed.get(at).copied();
            let ends_alone = self.options.until.filter(|_| !self.options.ends_together);
            let until = ends_alone.map(|_| ends.get(at).copied().unwrap_or(last));
            let asked = match &self.options.from {
                Start::Offsets(_) => committed.or_else(|| named.get(at).copied()),
                Start::Earliest | Start::Latest | Start::Time(_) => committed,
            };
            let gap = asked.map(|offset| Gap { at, offset, first, last }).filter(Gap::is_gap);
            if let Some(gap) = gap {
                let start = match self.options.on_gap {
                    OnGap::Stop => return Err(gap.error(&self.options.group)),
                    OnGap::Earliest => first,
                    OnGap::Latest => last,
                };
                let text = format!("group {}: {gap}; reading goes on at offset {start}", self.options.group);
                tracing::warn!("{text}");
                self.shared.hints.warnings().add(&at.topic, "offset_gap", "", 1, || text);
                // Where reading goes on is committed, also if that is an earlier offset.
                return Ok(Begin { at: at.clone(), start, committed: None, until, end: last });
            }
            let start = match (committed, &self.options.from) {
                (Some(offset), _) => offset,
                (None, Start::Earliest) => first,
                (None, Start::Latest) => last,
                (None, Start::Time(_)) => named.get(at).copied().unwrap_or(last),
                (None, Start::Offsets(_)) => named.get(at).copied().unwrap_or(first),
            };
            Ok(Begin { at: at.clone(), start, committed, until, end: last })
        };
        let begins: Vec<Begin> = partitions.iter().map(begin).collect::<Result<_, _>>()?;
        let known = committed.len();
        if self.options.from != Start::Earliest && known > 0 {
            tracing::info!(
                "group {} has committed offsets of {known} partitions, which are read from there; \
                 option `from` applies to the others",
                self.options.group
            );
        }
        Ok(begins)
    }

    /// The group wants these partitions back. Nothing more is read of them; what the engine has is
    /// waited for.
    fn revoked(&mut self, partitions: Vec<TopicPartition>) {
        let removed = self.readers.remove(&partitions);
        self.shared.change(|state| {
            for (at, number, end) in removed {
                // Blocks that the engine does not have yet are read by the next member.
                let first = state.drop_blocks(number);
                state.assignment.leaves(&at, first.unwrap_or(end));
            }
        });
        self.do_not_begin(&partitions);
        let until = (self.now)() + self.options.settle_for;
        let take_back_at = until - self.options.settle_for / ANSWERS_PART;
        self.leaving = Some(Leaving { partitions, take_back_at, is_taken_back: false, until });
    }

    /// Forgets partitions that have arrived and are gone before reading could begin.
    fn do_not_begin(&mut self, partitions: &[TopicPartition]) {
        if let Some((arriving, _)) = &mut self.arriving {
            arriving.retain(|at| !partitions.contains(at));
        }
        self.arriving.take_if(|(arriving, _)| arriving.is_empty());
    }

    /// Another member has these partitions already.
    fn lost(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        tracing::warn!(
            "group {} has given {} partitions to another member, because this one was not heard of in time; \
             it reads again what was not committed",
            self.options.group,
            partitions.len()
        );
        let removed = self.readers.remove(partitions);
        self.shared.change(|state| {
            // A document that still waits could overwrite what the other member writes.
            for (_, number, _) in removed {
                state.drop_blocks(number);
            }
            let numbers = state.assignment.numbers(partitions);
            state.lose(numbers);
            state.assignment.remove(partitions);
        });
        self.do_not_begin(partitions);
        if let Some(leaving) = &mut self.leaving {
            leaving.partitions.retain(|at| !partitions.contains(at));
        }
        self.leaving.take_if(|leaving| leaving.partitions.is_empty());
        self.client.unassign(partitions)
    }

    /// Lets partitions go that the group wants back, once their documents are settled or their time
    /// is over. Shortly before, the engine gives back what it has not sent, so that nothing is
    /// written after the next member begins but what a request in flight has.
    fn leave(&mut self) -> Result<(), ClientError> {
        let Some(leaving) = &mut self.leaving else { return Ok(()) };
        let (partitions, now) = (&leaving.partitions, (self.now)());
        let is_settled = self.shared.state().assignment.is_settled(partitions);
        let has_time = now < leaving.until;
        if !is_settled && !leaving.is_taken_back && now >= leaving.take_back_at {
            leaving.is_taken_back = true;
            self.shared.change(|state| {
                let numbers = state.assignment.numbers(partitions);
                state.lose(numbers);
            });
        }
        if !is_settled && has_time {
            return Ok(());
        }
        if !is_settled {
            tracing::warn!(
                "group {} wants {} partitions back; their documents were not settled within {} s, and are read again",
                self.options.group,
                partitions.len(),
                self.options.settle_for.as_secs()
            );
        }
        let mut last = self.shared.state().assignment.to_commit();
        last.retain(|at, _| partitions.contains(at));
        if !last.is_empty()
            && let Err(error) = self.client.commit(&last)
        {
            if error.is_retriable && has_time {
                tracing::debug!("the last commit of partitions that leave: {error}; it is tried again");
                return Ok(());
            }
            tracing::warn!("the last commit of partitions that leave: {error}; the next member reads them again");
        }
        let Some(Leaving { partitions, .. }) = self.leaving.take() else { return Ok(()) };
        self.shared.change(|state| state.assignment.remove(&partitions));
        self.client.unassign(&partitions)
    }

    /// Commits what was settled since the last time.
    fn commit(&mut self) {
        let is_urgent = self.is_ending && !self.is_commit_refused;
        if (self.now)().duration_since(self.committed_at) < self.options.commit_every && !is_urgent {
            return;
        }
        let offsets = self.shared.state().assignment.send();
        if !offsets.is_empty() {
            self.committed_at = (self.now)();
            self.client.commit_later(&offsets);
        }
    }

    /// # Errors
    /// The brokers do not let this member commit.
    fn commit_answered(&mut self, answer: Result<(), ClientError>) -> Result<(), ClientError> {
        self.is_commit_refused = answer.is_err();
        self.shared.change(|state| state.assignment.answered(answer.is_ok()));
        match answer {
            Err(error) if error.is_final => Err(error),
            Err(error) => {
                tracing::warn!("commit of group {}: {error}; it is tried again", self.options.group);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// The error where a broker does not have the next offset of a partition. `found`: what the
    /// client says, which does not name the partition.
    fn gap(&mut self, found: &str) -> ClientError {
        let positions = self.readers.positions();
        let partitions: Vec<TopicPartition> = positions.keys().cloned().collect();
        let bounds = self.client.bounds(&partitions).unwrap_or_default();
        let gaps = positions.iter().filter_map(|(at, offset)| {
            let &(first, last) = bounds.get(at)?;
            Some(Gap { at, offset: *offset, first, last }).filter(Gap::is_gap)
        });
        gaps.map(|gap| gap.error(&self.options.group)).next().unwrap_or_else(|| {
            ClientError::lasting(format!(
                "group {}: the broker does not have an offset: {found}; {REMEDY}",
                self.options.group
            ))
        })
    }

    /// A record came with an offset before those that were read. That is a record that came twice,
    /// or the partition was cut off before the position of this member.
    fn check_back(&mut self) -> Result<(), ClientError> {
        let Some((at, offset)) = self.readers.went_back.take() else { return Ok(()) };
        match self.client.bounds(std::slice::from_ref(&at)) {
            Ok(bounds) => {
                let Some(&(first, last)) = bounds.get(&at) else { return Ok(()) };
                let gap = Gap { at: &at, offset, first, last };
                match self.options.on_gap {
                    _ if !gap.is_gap() => Ok(()),
                    OnGap::Stop => Err(gap.error(&self.options.group)),
                    OnGap::Earliest | OnGap::Latest => Err(ClientError::lasting(format!(
                        "group {}: {gap}; start the load again: it goes on as option `on_offset_gap` says",
                        self.options.group
                    ))),
                }
            }
            Err(error) => {
                tracing::debug!("the bounds of {at}: {error}");
                Ok(())
            }
        }
    }

    /// Gives gathered records to the engine: those of full blocks, or `all`.
    fn give(&mut self, all: bool) {
        let blocks = self.readers.take(all, (self.now)());
        if blocks.is_empty() {
            return;
        }
        self.shared.change(|state| {
            for (at, number, maker, mut gathered) in blocks {
                if state.is_given_up(number) {
                    continue;
                }
                state.assignment.give(&at, gathered.end());
                if let Some(millis) = gathered.written() {
                    state.assignment.written(&at, millis);
                }
                let (first, bytes) = (gathered.first(), gathered.cost());
                let needs = Needs::new(maker.shape.as_ref(), gathered.schemas());
                state.push(Block { number, first, bytes, needs, chunk: gathered.chunk(number, maker) });
            }
        });
    }

    /// Waits while the engine has enough to do, and pauses the partitions if that takes long.
    fn room(&mut self) -> Result<(), ClientError> {
        let most = self.options.memory / 2;
        if self.is_paused {
            let is_low = self.shared.state().queued_bytes <= most / 2;
            if is_low && !self.is_ending {
                self.is_paused = false;
                let partitions = self.readers.unfinished();
                self.client.resume(&partitions)?;
            }
            return Ok(());
        }
        let has_room = |queued: usize| queued <= most;
        if has_room(self.shared.state().queued_bytes) {
            return Ok(());
        }
        let came = self
            .shared
            .wait(self.full_for, |state| has_room(state.queued_bytes) || state.is_closed || state.is_stopped);
        if !came {
            self.is_paused = true;
            let partitions = self.shared.state().assignment.partitions();
            self.client.pause(&partitions)?;
        }
        Ok(())
    }

    /// Ends the stream of blocks where the load is stopped, or is at its end.
    fn end(&mut self) -> Result<(), ClientError> {
        if self.is_ending {
            return Ok(());
        }
        for at in self.readers.newly_at_end() {
            self.client.pause(&[at])?;
        }
        let (is_stopped, is_empty, is_at_end) = {
            let state = self.shared.state();
            (state.is_stopped, state.assignment.is_empty(), state.assignment.is_at_end())
        };
        let is_over = match self.options.until {
            _ if is_stopped => true,
            None => false,
            Some(_) if !self.is_joined || self.arriving.is_some() || self.leaving.is_some() => false,
            Some(_) if is_empty || self.options.ends_together => self.is_group_at_end().or_else(|error| {
                let passes = error.is_retriable;
                tracing::warn!("group {}: {error}", self.options.group);
                if passes { Ok(false) } else { Err(error) }
            })?,
            Some(_) => is_at_end,
        };
        if is_over {
            self.give(true);
            self.is_ending = true;
            let partitions = self.shared.state().assignment.partitions();
            self.client.pause(&partitions)?;
            self.shared.end(None);
        }
        Ok(())
    }

    /// Whether the group has committed everything up to the ends that its partitions had at the
    /// first call. So a member without partitions can end, and one that waits for the others.
    fn is_group_at_end(&mut self) -> Result<bool, ClientError> {
        let now = (self.now)();
        if now.duration_since(self.others_at) < OTHERS_EVERY {
            return Ok(false);
        }
        self.others_at = now;
        let partitions = self.client.partitions()?;
        if self.ends.is_none() {
            let by_time = match self.options.until {
                Some(Until::Time(time)) => self.client.offsets_at(&partitions, time)?,
                _ => Offsets::new(),
            };
            let bounds = self.client.bounds(&partitions)?;
            let ends = bounds.into_iter().filter(|(_, (first, last))| first < last);
            self.ends =
                Some(ends.map(|(at, (_, last))| (at.clone(), by_time.get(&at).copied().unwrap_or(last))).collect());
        }
        let committed = self.client.committed(&partitions)?;
        let ends = self.ends.iter().flatten();
        Ok(ends.into_iter().all(|(at, end)| committed.get(at).is_some_and(|committed| committed >= end)))
    }
}

/// The offsets that the user names for these partitions.
fn named(offsets: &[PartitionOffset], partitions: &[TopicPartition]) -> Offsets {
    let offset =
        |at: &TopicPartition| offsets.iter().find(|named| named.is_of(at)).map(|named| (at.clone(), named.offset));
    partitions.iter().filter_map(offset).collect()
}

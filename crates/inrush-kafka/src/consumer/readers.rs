//! The partitions that are read, and the records that are gathered of each.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::clock::Instant;

use crate::client::{Offsets, Record, TopicPartition};
use crate::gather::{Gathered, KeyPlaces, Maker, Versions, two_places};
use crate::values::{Hints, Shape};
use crate::{KafkaOptions, VersionFrom};

/// How long a poll waits for a record. Also how late a commit or an end may be noticed.
const POLL: Duration = Duration::from_millis(50);

/// Records are given to the engine after this time, though there are few.
const GATHER_FOR: Duration = Duration::from_millis(100);

/// The partitions that are read.
pub(super) struct Readers {
    pub(super) all: Vec<Reader>,
    /// The one of the last record.
    pub(super) last: usize,
    pub(super) options: Arc<KafkaOptions>,
    pub(super) shape: Option<Arc<Shape>>,
    hints: Arc<Hints>,
    pub(super) block_bytes: usize,
    pub(super) gathered_since: Option<Instant>,
    /// Blocks that end with a gap that is too wide for them.
    pub(super) before_gap: Vec<Ready>,
    pub(super) versions: Option<Versions>,
    /// Where versions are offsets, until a key was seen in two partitions.
    pub(super) key_places: Option<KeyPlaces>,
    /// A partition of which a record with an earlier offset came than this one, the next.
    pub(super) went_back: Option<(TopicPartition, i64)>,
}

/// Records that are ready for the engine, with the number of their partition.
pub(super) type Ready = (TopicPartition, u32, Arc<Maker>, Gathered);

pub(super) struct Reader {
    pub(super) at: TopicPartition,
    pub(super) number: u32,
    /// The offset after the last block.
    pub(super) next: i64,
    pub(super) until: Option<i64>,
    pub(super) is_at_end: bool,
    pub(super) gathered: Gathered,
    pub(super) maker: Arc<Maker>,
}

impl Readers {
    pub(super) fn new(options: Arc<KafkaOptions>, shape: Option<Arc<Shape>>, hints: Arc<Hints>) -> Self {
        let versions = options.versions.as_ref().map(Versions::of);
        let key_places = (options.versions == Some(VersionFrom::Offset)).then(KeyPlaces::new);
        Readers {
            all: Vec::new(),
            last: 0,
            versions,
            key_places,
            options,
            shape,
            hints,
            block_bytes: inrush_sources::CHUNK_BYTES,
            gathered_since: None,
            before_gap: Vec::new(),
            went_back: None,
        }
    }

    pub(super) fn add(&mut self, at: TopicPartition, number: u32, start: i64, until: Option<i64>) {
        let maker = Maker {
            at: at.clone(),
            shape: self.shape.clone(),
            hints: Arc::clone(&self.hints),
            position: format!("{}-{}-", at.topic, at.partition),
            ids: self.options.ids,
            versions: self.versions.clone(),
            on_null: self.options.on_null,
            document_bytes_max: self.options.document_bytes_max,
        };
        let gathered = Gathered::new(start);
        let is_at_end = false;
        self.all.push(Reader { at, number, next: start, until, is_at_end, gathered, maker: Arc::new(maker) });
        // All partitions together gather no more than a part of the memory.
        let share = self.options.memory / 8 / self.all.len();
        self.block_bytes = inrush_sources::CHUNK_BYTES.min(share.max(16 << 10));
    }

    /// Removes readers with the records that they have gathered. Returns their numbers and where
    /// the blocks before end.
    pub(super) fn remove(&mut self, partitions: &[TopicPartition]) -> Vec<(TopicPartition, u32, i64)> {
        let removed = self.all.extract_if(.., |reader| partitions.contains(&reader.at));
        let removed = removed.map(|reader| (reader.at, reader.number, reader.next)).collect();
        self.before_gap.retain(|(at, ..)| !partitions.contains(at));
        self.last = 0;
        removed
    }

    pub(super) fn push(&mut self, record: Record<'_>, now: Instant) {
        let is_it = |reader: &Reader| reader.at.partition == record.partition && *reader.at.topic == *record.topic;
        if !self.all.get(self.last).is_some_and(is_it) {
            match self.all.iter().position(is_it) {
                Some(found) => self.last = found,
                // Of a partition that was taken away.
                None => return,
            }
        }
        let reader = &mut self.all[self.last];
        if reader.is_at_end {
            return;
        }
        if record.offset < reader.gathered.end() {
            self.went_back = Some((reader.at.clone(), reader.gathered.end()));
            return;
        }
        if reader.until.is_some_and(|until| record.offset >= until) {
            reader.is_at_end = true;
            return;
        }
        if !reader.gathered.has_room(record.offset) {
            // Compaction has left billions of offsets without a record.
            let (at, number, maker) = (reader.at.clone(), reader.number, Arc::clone(&reader.maker));
            let before = std::mem::replace(&mut reader.gathered, Gathered::new(record.offset));
            self.before_gap.push((at, number, maker, before.up_to(record.offset)));
            reader.next = record.offset;
        }
        reader.gathered.begin(record.timestamp);
        reader.gathered.push(record.offset, record.key, record.value, self.options.document_bytes_max);
        if matches!(self.versions, Some(Versions::Timestamp)) {
            reader.gathered.push_timestamp(record.timestamp);
        }
        if let Some(shape) = &self.shape {
            reader.gathered.push_more(&record, shape);
        }
        self.check_place(record.key);
        if self.gathered_since.is_none() {
            self.gathered_since = Some(now);
        }
    }

    /// Warns once of a key that is in two partitions, where versions are offsets.
    fn check_place(&mut self, key: Option<&[u8]>) {
        let (Some(key), Some(places)) = (key, &mut self.key_places) else { return };
        let reader = &self.all[self.last];
        if let Some(other) = places.other(key, reader.number)
            && let Some(other) = self.all.iter().find(|reader| reader.number == other)
        {
            tracing::warn!("{}", two_places(key, &other.at, &reader.at));
            self.key_places = None;
        }
    }

    /// Whether the reader of the last record has a whole block.
    pub(super) fn is_full(&self) -> bool {
        self.all.get(self.last).is_some_and(|reader| reader.gathered.cost() >= self.block_bytes)
    }

    /// How long a poll may wait, so that gathered records are given in time.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        match self.gathered_since {
            None => POLL,
            Some(since) => POLL.min(GATHER_FOR.saturating_sub(now.duration_since(since))),
        }
    }

    /// The blocks that are full. All of them if that is asked for, or if the first record has
    /// waited long enough.
    pub(super) fn take(&mut self, all: bool, now: Instant) -> Vec<Ready> {
        let is_late = self.gathered_since.is_some_and(|since| now.duration_since(since) >= GATHER_FOR);
        let all = all || is_late;
        if !all && !self.is_full() && self.before_gap.is_empty() {
            return Vec::new();
        }
        let mut blocks = std::mem::take(&mut self.before_gap);
        for reader in &mut self.all {
            let is_due = all || reader.gathered.cost() >= self.block_bytes;
            if is_due && !reader.gathered.is_empty() {
                reader.next = reader.gathered.end();
                let gathered = std::mem::replace(&mut reader.gathered, Gathered::new(reader.next));
                blocks.push((reader.at.clone(), reader.number, Arc::clone(&reader.maker), gathered));
            }
        }
        if all {
            self.gathered_since = None;
        }
        blocks
    }

    /// The partitions whose end was reached since the last call.
    pub(super) fn newly_at_end(&mut self) -> Vec<TopicPartition> {
        let mut ended = Vec::new();
        for reader in &mut self.all {
            if reader.is_at_end && reader.until.take().is_some() {
                ended.push(reader.at.clone());
            }
        }
        ended
    }

    /// The next offset of each partition.
    pub(super) fn positions(&self) -> Offsets {
        self.all.iter().map(|reader| (reader.at.clone(), reader.gathered.end())).collect()
    }

    /// The partitions of which records are still wanted.
    pub(super) fn unfinished(&self) -> Vec<TopicPartition> {
        self.all.iter().filter(|reader| !reader.is_at_end).map(|reader| reader.at.clone()).collect()
    }
}

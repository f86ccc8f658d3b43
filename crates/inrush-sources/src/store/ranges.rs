//! A file on a server for a reader of its parts: Parquet.
//!
//! The columns of a row group are next to each other in the file, and its rows are read from all
//! columns at once. So the current block of each column is held, and the next block is being
//! fetched. A column that is smaller than a block is fetched whole, together with its neighbours.

use inrush_core::Code;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use inrush_formats::columns::parquet::Parts;
use inrush_formats::raw::RemoteFile;
use inrush_formats::{ParquetOpen, ReadFile, SourceError};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::RemoteObject;
use super::object::{FetchError, Object};

/// Bytes of the file's end that are held. The footers of most files fit into it.
const TAIL_BYTES: u64 = 64 << 10;

/// Bytes of the held blocks of a row group. As many bytes are being fetched.
const BLOCKS_BYTES: u64 = 32 << 20;

/// Smallest and largest block, bytes.
const BLOCK_BYTES: Range<u64> = 256 << 10..8 << 20;

/// Largest number of concurrent requests for beginnings of columns.
const REQUESTS_MAX: usize = 8;

/// A file in parts. Clones share the held blocks.
#[derive(Clone)]
pub(crate) struct ObjectRanges(Arc<Shared>);

impl RemoteFile for RemoteObject {
    fn open_parquet(self: Box<Self>, open: ParquetOpen<'_>) -> Result<Box<dyn ReadFile>, SourceError> {
        let no_parts = || {
            let message = "parquet is read from its end, and the server does not send parts of this file, or no version with them (ETag, Last-Modified); download it first";
            SourceError::new(open.name, message).coded(Code::RemoteFailed)
        };
        let ranges = ObjectRanges::open(self.0)
            .ok_or_else(no_parts)?
            .map_err(|e| SourceError::io(open.name, "cannot be read", e))?;
        open.from(ranges)
    }
}

impl Parts for ObjectRanges {
    fn again(&self) -> io::Result<Self> {
        Ok(self.clone())
    }

    fn expect(&self, group: &RowGroupMetaData) {
        self.expect(group.columns().iter().map(|column| {
            let (start, len) = column.byte_range();
            start..start.saturating_add(len)
        }));
    }
}

struct Shared {
    object: Arc<Object>,
    size: u64,
    tail: Bytes,
    group: Mutex<Group>,
}

/// The held blocks of a row group.
#[derive(Default)]
struct Group {
    /// The segments, in the order of the file, without overlaps.
    segments: Vec<Segment>,
    /// Beginnings of columns that were not requested yet.
    beginnings: VecDeque<usize>,
    /// Number of beginnings that were requested and have not arrived.
    requested: usize,
}

/// Bytes of one request.
struct Segment {
    range: Range<u64>,
    /// It continues the segment before it, in the same column.
    continues: bool,
    state: State,
}

enum State {
    /// Not requested yet, or not needed any more.
    Away,
    Coming(Receiver<Result<Bytes, FetchError>>),
    Here(Bytes),
}

impl ObjectRanges {
    /// Reads the end of the file. `None` where the server sends no parts of it.
    pub(crate) fn open(object: Arc<Object>) -> Option<io::Result<Self>> {
        let size = object.size.filter(|_| object.ranges)?;
        let tail = request(&object, size.saturating_sub(TAIL_BYTES)..size);
        Some(receive(&tail).map(|tail| ObjectRanges(Arc::new(Shared { object, size, tail, group: Mutex::default() }))))
    }

    /// Announces the bytes that will be read next: the columns of a row group, each from its
    /// beginning to its end.
    pub(crate) fn expect(&self, columns: impl Iterator<Item = Range<u64>>) {
        let tail_start = self.tail_start();
        let mut group = self.lock();
        *group = Group::new(columns.map(|column| column.start..column.end.min(tail_start)).collect());
        self.request_beginnings(&mut group);
    }

    fn tail_start(&self) -> u64 {
        self.0.size - self.0.tail.len() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Group> {
        // A panic of a decoder ends the file, so its state does not matter.
        self.0.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request_segment(&self, segment: &mut Segment) {
        if matches!(segment.state, State::Away) {
            segment.state = State::Coming(request(&self.0.object, segment.range.clone()));
        }
    }

    fn request_beginnings(&self, group: &mut Group) {
        while group.requested < REQUESTS_MAX {
            let Some(next) = group.beginnings.pop_front() else { return };
            if matches!(group.segments[next].state, State::Away) {
                self.request_segment(&mut group.segments[next]);
                group.requested += 1;
            }
        }
    }

    /// The held bytes from byte `at` on: at least one, and at most those of one request.
    fn piece(&self, at: u64) -> io::Result<Bytes> {
        let tail_start = self.tail_start();
        if at >= tail_start {
            return Ok(self.0.tail.slice((at - tail_start) as usize..));
        }
        let mut group = self.lock();
        let place = group.segments.partition_point(|segment| segment.range.end <= at);
        match group.segments.get(place) {
            Some(segment) if segment.range.contains(&at) => {}
            // No column contains these bytes, such as an index of pages.
            _ => {
                drop(group);
                return receive(&request(&self.0.object, at..tail_start.min(at + TAIL_BYTES)));
            }
        }
        if group.segments[place].continues {
            group.segments[place - 1].state = State::Away;
        }
        self.request_segment(&mut group.segments[place]);
        if let Some(next) = group.segments.get_mut(place + 1).filter(|next| next.continues) {
            self.request_segment(next);
        }
        let Segment { range, continues, state } = &mut group.segments[place];
        let from = (at - range.start) as usize;
        if let State::Here(bytes) = state {
            return Ok(bytes.slice(from..));
        }
        let State::Coming(receiver) = std::mem::replace(state, State::Away) else { unreachable!("it was asked for") };
        let is_beginning = !*continues;
        let bytes = receive(&receiver)?;
        *state = State::Here(bytes.clone());
        if is_beginning {
            group.requested = group.requested.saturating_sub(1);
            self.request_beginnings(&mut group);
        }
        Ok(bytes.slice(from..))
    }
}

impl Group {
    fn new(mut columns: Vec<Range<u64>>) -> Self {
        columns.retain(|column| !column.is_empty());
        columns.sort_by_key(|column| column.start);
        let share = BLOCKS_BYTES / (columns.len() as u64).max(1);
        let block = share.clamp(BLOCK_BYTES.start, BLOCK_BYTES.end);
        let mut segments: Vec<Segment> = Vec::new();
        let mut end = 0;
        for column in columns {
            // The columns of a damaged file may overlap.
            let column = column.start.max(end)..column.end;
            if column.is_empty() {
                continue;
            }
            end = column.end;
            let is_small = column.end - column.start <= block;
            if let Some(last) = segments.last_mut()
                && is_small
                && !last.continues
                && last.range.end == column.start
                && column.end - last.range.start <= block
            {
                last.range.end = column.end;
                continue;
            }
            let mut start = column.start;
            while start < column.end {
                let next = column.end.min(start + block);
                segments.push(Segment { range: start..next, continues: start > column.start, state: State::Away });
                start = next;
            }
        }
        let beginnings = (0..segments.len()).filter(|at| !segments[*at].continues).collect();
        Group { segments, beginnings, requested: 0 }
    }
}

fn request(object: &Arc<Object>, range: Range<u64>) -> Receiver<Result<Bytes, FetchError>> {
    let file = Arc::clone(object);
    object.network.begin(async move { file.read(range).await })
}

fn receive(receiver: &Receiver<Result<Bytes, FetchError>>) -> io::Result<Bytes> {
    match receiver.recv() {
        Ok(bytes) => bytes.map_err(FetchError::into_io),
        Err(_) => Err(io::Error::other("the task that reads the file panicked")),
    }
}

impl Length for ObjectRanges {
    fn len(&self) -> u64 {
        self.0.size
    }
}

impl ChunkReader for ObjectRanges {
    type T = RangesRead;

    fn get_read(&self, start: u64) -> Result<RangesRead, ParquetError> {
        Ok(RangesRead { ranges: self.clone(), at: start, piece: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let external = |error: io::Error| ParquetError::External(Box::new(error));
        if start.checked_add(length as u64).is_none_or(|end| end > self.0.size) {
            let message = format!("{length} bytes at {start} are beyond the end of the file at byte {}", self.0.size);
            return Err(ParquetError::EOF(message));
        }
        if length == 0 {
            return Ok(Bytes::new());
        }
        let mut first = self.piece(start).map_err(external)?;
        if first.len() >= length {
            first.truncate(length);
            return Ok(first);
        }
        let mut data = Vec::with_capacity(length);
        data.extend_from_slice(&first);
        while data.len() < length {
            let piece = self.piece(start + data.len() as u64).map_err(external)?;
            data.extend_from_slice(&piece[..piece.len().min(length - data.len())]);
        }
        Ok(data.into())
    }
}

/// Reads from a position on.
pub(crate) struct RangesRead {
    ranges: ObjectRanges,
    at: u64,
    piece: Bytes,
}

impl Read for RangesRead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() {
            if self.at >= self.ranges.0.size {
                return Ok(0);
            }
            self.piece = self.ranges.piece(self.at)?;
        }
        let n = self.piece.len().min(buf.len());
        buf[..n].copy_from_slice(&self.piece.split_to(n));
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::Fake;
    use super::*;

    fn data(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n * 31 % 251) as u8).collect()
    }

    fn ranges(group: &Group) -> Vec<(u64, u64, bool)> {
        group.segments.iter().map(|s| (s.range.start, s.range.end, s.continues)).collect()
    }

    #[test]
    fn small_columns_come_together_and_large_ones_in_blocks() {
        const M: u64 = 1 << 20;
        let group = Group::new(vec![0..10, 10..20, 30..40]);
        assert_eq!(ranges(&group), [(0, 20, false), (30, 40, false)]);
        let group = Group::new(vec![0..100, 100..17 * M, 17 * M..17 * M + 5]);
        let blocks = [(0, 100, false), (100, 8 * M + 100, false), (8 * M + 100, 16 * M + 100, true)];
        assert_eq!(ranges(&group)[..3], blocks);
        assert_eq!(ranges(&group)[3..], [(16 * M + 100, 17 * M, true), (17 * M, 17 * M + 5, false)]);
        // A damaged file.
        assert_eq!(ranges(&Group::new(vec![0..10, 5..8, 9..12, 20..20])), [(0, 12, false)]);
    }

    #[test]
    fn columns_are_fetched_once_each() {
        let all = data(3_000_000);
        let fake = Arc::new(Fake::new(all.clone()));
        let ranges = ObjectRanges::open(fake.object()).unwrap().unwrap();
        ranges.expect([4..1_000_000, 1_000_000..1_000_100, 1_000_100..2_900_000].into_iter());
        for at in (4..1_000_000 - 1000).step_by(1000) {
            for start in [at, 1_000_100 + at] {
                assert_eq!(ranges.get_bytes(start, 1000).unwrap(), all[start as usize..][..1000]);
            }
        }
        // One request for the tail, and one for all columns.
        assert_eq!(fake.requests.lock().unwrap().len(), 2);
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_what_is_there(
            cuts in proptest::collection::vec(0u64..2_000_000, 0..6),
            reads in proptest::collection::vec((0u64..2_000_000, 0usize..700_000), 1..12),
        ) {
            let all = data(2_000_000);
            let fake = Arc::new(Fake::new(all.clone()));
            let ranges = ObjectRanges::open(fake.object()).unwrap().unwrap();
            let mut cuts = cuts;
            cuts.sort_unstable();
            ranges.expect(cuts.windows(2).map(|two| two[0]..two[1]));
            for (start, len) in reads {
                let end = (start as usize + len).min(all.len());
                let expected = &all[start as usize..end];
                prop_assert!(ranges.get_bytes(start, expected.len()).unwrap() == expected);
                let mut read = Vec::new();
                ranges.get_read(start).unwrap().take(len as u64).read_to_end(&mut read).unwrap();
                prop_assert!(read == expected);
            }
        }
    }
}

//! The index of one shard: segments that several threads write, and the commit that names them.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::build::segment::{SegmentBuilder, SegmentOptions};
use crate::fields::document::Refused;
use crate::fields::ids::IdMaker;
use crate::fields::mapping::Mapping;
use crate::formats::commit::{Segment, write_commit};
use crate::formats::output::ID_BYTES;

/// How a shard is built.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// The folder of the index, which must exist and have no segments.
    pub folder: PathBuf,
    /// The primary term of the shard, from 1 on.
    pub primary_term: u64,
    /// Bytes that one writer may have in memory; a segment ends when half of it is used, as writing
    /// it needs as much again at most. A segment has one document at least, however little this is.
    pub memory_max: usize,
    /// Random bytes, of which the ids of segments and of documents are made.
    pub random: [u8; 32],
}

/// The index of a shard while it is built.
///
/// Each thread has a [`ShardWriter`] of its own. Documents with one id must go to one writer, and
/// not twice: which of two would be the newer one is not known here.
pub struct Shard<'m> {
    options: ShardOptions,
    mapping: &'m Mapping,
    next_segment: AtomicU64,
    next_writer: AtomicU64,
    /// Documents in segments that are written; the next sequence number.
    docs: AtomicU64,
    segments: Mutex<Vec<Segment>>,
}

/// Bits of the number in an id that one writer counts with.
const WRITER_BITS: u32 = 40;
/// The memory is looked at after this number of bytes of documents.
const LOOK_BYTES: usize = 64 << 10;
/// Bytes in memory at which a segment ends in any case: places in them have 32 bits.
const SEGMENT_MEMORY_MAX: usize = 2 << 30;

impl<'m> Shard<'m> {
    /// Begins the index of a shard.
    #[must_use]
    pub fn new(options: ShardOptions, mapping: &'m Mapping) -> Self {
        Self {
            options,
            mapping,
            next_segment: AtomicU64::new(0),
            next_writer: AtomicU64::new(0),
            docs: AtomicU64::new(0),
            segments: Mutex::new(Vec::new()),
        }
    }

    /// A writer for one thread. At most 255 writers of a shard make ids.
    pub fn writer(&self) -> ShardWriter<'_, 'm> {
        let number = self.next_writer.fetch_add(1, Ordering::Relaxed);
        let mut random = [0; 9];
        random.copy_from_slice(&self.options.random[..9]);
        ShardWriter { shard: self, segment: None, ids: IdMaker::new(random, number << WRITER_BITS), unseen: 0 }
    }

    /// Writes the commit of the generation `generation`, by which the shard is opened. Returns how
    /// many documents it has.
    ///
    /// `user_data` is that of the commit of the empty shard; the last sequence number is set in it.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or is there.
    pub fn commit(self, generation: u64, user_data: &[(String, String)]) -> io::Result<u64> {
        let docs = self.docs.into_inner();
        let mut segments = self.segments.into_inner().unwrap_or_else(PoisonError::into_inner);
        segments.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        let own = ["max_seq_no", "local_checkpoint"];
        let last = (docs as i64 - 1).to_string();
        let mut data: Vec<(String, String)> =
            user_data.iter().filter(|(key, _)| !own.contains(&key.as_str())).cloned().collect();
        data.extend(own.map(|key| (key.to_owned(), last.clone())));
        let id = id(&self.options.random, u64::MAX);
        write_commit(&self.options.folder, generation, &id, &segments, &data, self.mapping.target.lucene)?;
        Ok(docs)
    }
}

/// The id of a segment, or of the commit.
fn id(random: &[u8; 32], number: u64) -> [u8; ID_BYTES] {
    let mut id = [0; ID_BYTES];
    id.copy_from_slice(&random[16..]);
    for (byte, with) in id.iter_mut().zip(number.to_be_bytes()) {
        *byte ^= with;
    }
    id
}

/// Writes documents into segments of a shard, on one thread.
pub struct ShardWriter<'s, 'm> {
    shard: &'s Shard<'m>,
    segment: Option<SegmentBuilder<'m>>,
    ids: IdMaker,
    /// Bytes of documents since the memory was looked at.
    unseen: usize,
}

/// Why a document did not go into a shard.
#[derive(Debug)]
pub enum AddError {
    /// The document is refused; all others can follow.
    Refused(Refused),
    /// A file could not be written; the shard is unusable.
    Io(io::Error),
}

impl std::fmt::Display for AddError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(_) => write!(f, "the document is refused"),
            Self::Io(_) => write!(f, "the index cannot be written"),
        }
    }
}

impl std::error::Error for AddError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Io(error) => Some(error),
        }
    }
}

impl ShardWriter<'_, '_> {
    /// Adds a document, with an id that is made here if it has none.
    ///
    /// # Errors
    ///
    /// If it is refused, or a full segment cannot be written.
    pub fn add(&mut self, source: &[u8], id: Option<&str>) -> Result<(), AddError> {
        let segment = match &mut self.segment {
            Some(segment) => segment,
            none => {
                let number = self.shard.next_segment.fetch_add(1, Ordering::Relaxed);
                let options = SegmentOptions {
                    folder: self.shard.options.folder.clone(),
                    number,
                    id: self::id(&self.shard.options.random, number),
                };
                none.insert(SegmentBuilder::new(options, self.shard.mapping).map_err(AddError::Io)?)
            }
        };
        match id {
            Some(id) => segment.add_with_id(source, id),
            None => segment.add(source, &mut self.ids),
        }
        .map_err(AddError::Refused)?;
        self.unseen += source.len();
        if self.unseen < LOOK_BYTES {
            return Ok(());
        }
        self.unseen = 0;
        let full = segment.memory() >= (self.shard.options.memory_max / 2).min(SEGMENT_MEMORY_MAX);
        if full { self.end_segment().map_err(AddError::Io) } else { Ok(()) }
    }

    fn end_segment(&mut self) -> io::Result<()> {
        let Some(segment) = self.segment.take().filter(|segment| segment.docs() > 0) else { return Ok(()) };
        let first = self.shard.docs.fetch_add(u64::from(segment.docs()), Ordering::Relaxed);
        let segment = segment.finish(first, self.shard.options.primary_term)?;
        self.shard.segments.lock().unwrap_or_else(PoisonError::into_inner).push(segment);
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, or two documents of a segment have one id.
    pub fn finish(mut self) -> io::Result<()> {
        self.end_segment()
    }
}

//! The index of one shard: segments that several threads write, and the commit that names them.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use inrush_core::Columns;

use crate::build::content::Content;
use crate::build::duplicates::{Built, resolve};
use crate::build::segment::{SegmentBuilder, SegmentOptions};
use crate::build::syncing::Syncing;
use crate::fields::ids::{IdMaker, Keep, MADE_BYTES, decode_made};
use crate::fields::live::LiveMapping;
use crate::fields::refused::Refused;
use crate::formats::commit::{Segment, write_commit};
use crate::formats::live_docs::write_live_docs;
use crate::formats::output::ID_BYTES;

/// How a shard is built.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// The folder of the index, which must exist and have no segments.
    pub folder: PathBuf,
    /// The primary term of the shard, from 1 on.
    pub primary_term: u64,
    /// Bytes in memory at which the segment of a writer ends. Writing it needs as much again at
    /// most. A segment has one document at least, however little this is.
    pub segment_memory: usize,
    /// Random bytes, of which the ids of segments are made.
    pub random: [u8; 32],
    /// Which of several documents with one id stays.
    pub keep: Keep,
}

/// What is in the index of a shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Committed {
    /// Documents that a search finds.
    pub docs: u64,
    /// Documents that another one with the same id took the place of. They are not among `docs`.
    pub duplicates: u64,
    /// Documents that were indexed from columns and not from their text, duplicates included.
    pub from_columns: u64,
}

/// The index of a shard while it is built.
///
/// Each thread has a [`ShardWriter`] of its own. Which of several documents with one id came last
/// is known from the order in one writer, and between writers from [`ShardWriter::arrive`].
pub struct Shard<'m> {
    options: ShardOptions,
    mapping: &'m LiveMapping,
    next_segment: AtomicU64,
    /// Documents in segments that are written; the next sequence number.
    docs: AtomicU64,
    /// The same with nested objects.
    places: AtomicU64,
    from_columns: AtomicU64,
    segments: Mutex<Vec<Built>>,
    syncing: Mutex<Syncing>,
}

/// The most documents that Lucene takes in one index (`IndexWriter.MAX_DOCS`).
const PLACES_MAX: u64 = i32::MAX as u64 - 128;
/// Bits of the number in an id that one writer counts with.
const WRITER_BITS: u32 = 40;
/// The memory is looked at after this number of bytes of documents.
const LOOK_BYTES: usize = 64 << 10;
/// Bytes in memory at which a segment ends in any case: places in them have 32 bits.
const SEGMENT_MEMORY_MAX: usize = 2 << 30;

impl<'m> Shard<'m> {
    /// Begins the index of a shard.
    #[must_use]
    pub fn new(options: ShardOptions, mapping: &'m LiveMapping) -> Self {
        Self {
            options,
            mapping,
            next_segment: AtomicU64::new(0),
            docs: AtomicU64::new(0),
            places: AtomicU64::new(0),
            from_columns: AtomicU64::new(0),
            segments: Mutex::new(Vec::new()),
            syncing: Mutex::default(),
        }
    }

    fn segment_memory(&self) -> usize {
        self.options.segment_memory.min(SEGMENT_MEMORY_MAX)
    }

    /// A writer for one thread.
    pub fn writer(&self) -> ShardWriter<'_, 'm> {
        ShardWriter { shard: self, segment: None, content: None, unseen: 0, arrival: 0 }
    }

    /// Deletes the documents that another one with the same id takes the place of, and writes the
    /// commit of the generation `generation`, by which the shard is opened.
    ///
    /// `user_data` is that of the commit of the empty shard; the last sequence number is set in it.
    /// The files of segments are on disk then. Their folder, the commit, and what says which
    /// documents are deleted may not be yet.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written, or is there.
    pub fn commit(self, generation: u64, user_data: &[(String, String)]) -> io::Result<Committed> {
        let (folder, docs) = (&self.options.folder, self.docs.into_inner());
        let mut segments = self.segments.into_inner().unwrap_or_else(PoisonError::into_inner);
        segments.sort_by(|Built { segment: a, .. }, Built { segment: b, .. }| {
            (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name))
        });
        let in_segments: u64 = segments.iter().map(|built| u64::from(built.segment.duplicates)).sum();
        let duplicates = in_segments + resolve(folder, &mut segments, self.options.keep)?;
        let segments: Vec<Segment> = segments.into_iter().map(|built| built.segment).collect();
        for segment in segments.iter().filter(|segment| segment.deleted.count() > 0) {
            write_live_docs(folder, &segment.name, &segment.id, segment.docs, &segment.deleted)?;
        }
        let mut own = vec![("max_seq_no", docs as i64 - 1), ("local_checkpoint", docs as i64 - 1)];
        if duplicates > 0 || !self.mapping.current().source.is_whole() {
            // Operations that were deleted, or whose document is not kept, are not among the
            // history that a copy may ask for.
            own.push(("min_retained_seq_no", docs as i64));
        }
        let mut data: Vec<(String, String)> =
            user_data.iter().filter(|(key, _)| own.iter().all(|(own, _)| own != key)).cloned().collect();
        data.extend(own.iter().map(|(key, number)| ((*key).to_owned(), number.to_string())));
        let id = id(&self.options.random, u64::MAX);
        self.syncing.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        write_commit(folder, generation, &id, &segments, &data, self.mapping.current().target.lucene)?;
        Ok(Committed { docs: docs - duplicates, duplicates, from_columns: self.from_columns.into_inner() })
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

/// The id of a document.
#[derive(Debug, Clone)]
pub enum DocumentId<'a> {
    /// One that came with the document.
    Given(Cow<'a, str>),
    /// One of [`MadeIds`].
    Made(MadeId),
}

impl DocumentId<'_> {
    /// The id as clients see it.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Given(id) => Cow::Borrowed(id),
            Self::Made(id) => Cow::Owned(id.text()),
        }
    }
}

/// A document that is added.
#[derive(Debug, Clone)]
pub struct NewDocument<'a> {
    /// Its text.
    pub source: &'a [u8],
    /// Its id.
    pub id: DocumentId<'a>,
    /// Its routing value, which chose its shard.
    pub routing: Option<Cow<'a, str>>,
}

impl<'a> NewDocument<'a> {
    /// A document with an id.
    #[must_use]
    pub fn with_id(source: &'a [u8], id: &'a str) -> Self {
        NewDocument { source, id: DocumentId::Given(id.into()), routing: None }
    }

    /// A document without one, with an id of [`MadeIds`].
    #[must_use]
    pub fn without_id(source: &'a [u8], id: MadeId) -> Self {
        NewDocument { source, id: DocumentId::Made(id), routing: None }
    }
}

/// Makes ids for documents without one. Those of several shards of an index have one maker, as the
/// shard of a document depends on its id.
#[derive(Debug, Clone)]
pub struct MadeIds(IdMaker);

/// An id that was made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadeId([u8; MADE_BYTES]);

impl MadeIds {
    /// Ids that begin with `random` bytes. Several makers of an index with the same bytes have
    /// numbers of their own, up to 255.
    #[must_use]
    pub fn new(random: [u8; 9], number: u8) -> Self {
        Self(IdMaker::new(random, u64::from(number) << WRITER_BITS))
    }

    /// The next id.
    #[inline]
    pub fn make(&mut self) -> MadeId {
        MadeId(self.0.make())
    }
}

impl MadeId {
    /// The id as it is indexed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The id as clients see it.
    #[must_use]
    pub fn text(&self) -> String {
        decode_made(&self.0)
    }
}

/// Writes documents into segments of a shard, on one thread.
pub struct ShardWriter<'s, 'm> {
    shard: &'s Shard<'m>,
    segment: Option<SegmentBuilder<'m>>,
    /// The memory of the last segment.
    content: Option<Content>,
    /// Bytes of documents since the memory was looked at.
    unseen: usize,
    arrival: u64,
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

impl<'m> ShardWriter<'_, 'm> {
    /// The documents that follow came after all those of this shard, also of other writers, that
    /// came with a lesser number. Until the first call it is 0.
    pub fn arrive(&mut self, number: u64) {
        self.arrival = number;
    }

    /// Adds a document.
    ///
    /// # Errors
    ///
    /// If it is refused, or a full segment cannot be written.
    pub fn add(&mut self, document: &NewDocument) -> Result<(), AddError> {
        let segment = self.segment().map_err(AddError::Io)?;
        match segment.add(document) {
            Ok(()) => self.look(document.source.len()).map_err(AddError::Io),
            Err(Refused::Full) if segment.docs() > 0 => {
                self.end_segment().map_err(AddError::Io)?;
                self.add(document)
            }
            Err(refused) => Err(AddError::Refused(refused)),
        }
    }

    /// Adds those documents of which `columns` say all that is indexed, each with its record there:
    /// the values are those of the text, and the segment is the same. Returns the others, by their
    /// places among the rows; they are for [`ShardWriter::add`], which also refuses.
    ///
    /// # Errors
    ///
    /// If a full segment cannot be written.
    ///
    /// # Panics
    ///
    /// If the columns have no such record.
    pub fn add_rows(&mut self, columns: &Columns, rows: &[(u32, NewDocument)]) -> io::Result<Vec<usize>> {
        let (mut left, mut start) = (Vec::new(), 0);
        while start < rows.len() {
            let mut bytes = 0;
            let fits = |(_, document): &&(u32, NewDocument)| {
                bytes += document.source.len();
                bytes <= LOOK_BYTES
            };
            let count = rows[start..].iter().take_while(fits).count().max(1);
            let some = &rows[start..start + count];
            left.extend(self.segment()?.add_rows(columns, some).into_iter().map(|at| start + at));
            self.look(some.iter().map(|(_, document)| document.source.len()).sum())?;
            start += count;
        }
        Ok(left)
    }

    /// The segment that takes documents.
    fn segment(&mut self) -> io::Result<&mut SegmentBuilder<'m>> {
        let segment = match &mut self.segment {
            Some(segment) => segment,
            none => {
                let number = self.shard.next_segment.fetch_add(1, Ordering::Relaxed);
                let options = SegmentOptions {
                    folder: self.shard.options.folder.clone(),
                    number,
                    id: self::id(&self.shard.options.random, number),
                };
                none.insert(SegmentBuilder::new(options, self.shard.mapping, self.content.take())?)
            }
        };
        segment.arrive(self.arrival);
        Ok(segment)
    }

    /// Ends the segment if it is full. The memory is looked at now and then only.
    fn look(&mut self, bytes: usize) -> io::Result<()> {
        self.unseen += bytes;
        if self.unseen < LOOK_BYTES {
            return Ok(());
        }
        self.unseen = 0;
        let is_full = self.segment.as_ref().is_some_and(|segment| segment.is_full(self.shard.segment_memory()));
        if is_full { self.end_segment() } else { Ok(()) }
    }

    fn end_segment(&mut self) -> io::Result<()> {
        let Some(segment) = self.segment.take() else { return Ok(()) };
        if segment.docs() == 0 {
            return segment.discard();
        }
        let first = self.shard.docs.fetch_add(u64::from(segment.docs()), Ordering::Relaxed);
        self.shard.from_columns.fetch_add(u64::from(segment.from_columns), Ordering::Relaxed);
        let (built, files, content) =
            segment.finish(first, self.shard.options.primary_term, self.shard.options.keep)?;
        self.content = content.emptied(self.shard.segment_memory());
        let places = u64::from(built.segment.docs);
        if self.shard.places.fetch_add(places, Ordering::Relaxed) + places > PLACES_MAX {
            return Err(io::Error::other(format!(
                "the shard has more than {PLACES_MAX} documents, nested objects included, which Lucene does not take; choose more shards"
            )));
        }
        let folder = &self.shard.options.folder;
        let syncing = &self.shard.syncing;
        syncing.lock().unwrap_or_else(PoisonError::into_inner).take(files.iter().map(|file| folder.join(file)))?;
        self.shard.segments.lock().unwrap_or_else(PoisonError::into_inner).push(built);
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.end_segment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::mapping::Mapping;
    use crate::fields::target::{KnownProduct, ServerVersion};

    #[test]
    fn a_shard_with_too_many_documents_is_an_error() {
        let target = ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
        let mapping =
            Mapping::parse(&serde_json::json!({ "properties": { "n": { "type": "long" } } }), target).unwrap();
        let folder = std::env::temp_dir().join(format!("inrush-lucene-many-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (keep, random) = (Keep::Last, [7; 32]);
        let options = ShardOptions { folder: folder.clone(), primary_term: 1, segment_memory: 1 << 20, random, keep };
        let mapping = LiveMapping::new(mapping);
        let shard = Shard::new(options, &mapping);
        shard.places.store(PLACES_MAX - 1, Ordering::Relaxed);
        let write = |count| {
            let mut writer = shard.writer();
            (0..count).for_each(|_| writer.add(&NewDocument::with_id(b"{}", "x")).unwrap());
            writer.finish()
        };
        write(1).unwrap();
        let error = write(1).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(error.contains("more than 2147483519 documents") && error.contains("more shards"), "{error}");
    }
}

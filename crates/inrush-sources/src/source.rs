//! The trait of everything that documents are read from, its description, and the way back to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use inrush_core::ledger::Partition;
use inrush_formats::{Chunk, SourceError, Warnings};

use super::repeat::{Fingerprint, Repeats};

/// How long [`Source::next`] waits for documents before it returns [`Step::Idle`].
pub const IDLE_AFTER: Duration = Duration::from_millis(100);

/// The shortest time between two calls of [`Source::next`] while a source is idle. A source that
/// does not wait itself is asked no more often.
pub const IDLE_MIN: Duration = Duration::from_millis(10);

/// How often a source hears what is settled, unless it says otherwise.
const SETTLED_EVERY: Duration = Duration::from_secs(1);

/// A source of documents. It is read from its beginning to its end, by one thread at a time.
///
/// Only [`Source::describe`] and [`Source::next`] have to be written. A source that never ends also
/// has [`Source::feedback`], which hears what is settled and can be told to end.
///
/// # Example
///
/// A source that counts until it is stopped, and pauses between two documents:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
///
/// use inrush_sources::{
///     Chunk, DocBlock, Feedback, IDLE_AFTER, Origin, Partition, Record, Source, SourceError,
///     SourceInfo, Step,
/// };
///
/// #[derive(Default)]
/// struct Counter {
///     next: u64,
///     paused: bool,
///     shared: Arc<Shared>,
/// }
///
/// #[derive(Default)]
/// struct Shared {
///     stopped: AtomicBool,
///     settled: AtomicU64,
/// }
///
/// impl Source for Counter {
///     fn describe(&self) -> SourceInfo {
///         let mut info = SourceInfo::new(["counter"]);
///         info.is_endless = true;
///         info
///     }
///
///     fn next(&mut self, _want_bytes: usize) -> Result<Step, SourceError> {
///         if self.shared.stopped.load(Ordering::Relaxed) {
///             return Ok(Step::End);
///         }
///         self.paused = !self.paused;
///         if self.paused {
///             std::thread::sleep(IDLE_AFTER);
///             return Ok(Step::Idle);
///         }
///         let data = format!("{{\"n\":{}}}", self.next).into_bytes();
///         self.next += 1;
///         let record = Record { start: 0, end: data.len() as u32, byte: 0, line: 0 };
///         let block = DocBlock {
///             origin: Origin::default(),
///             lines: 1,
///             bytes_read: data.len() as u64,
///             data: data.into(),
///             records: vec![record],
///             ..DocBlock::default()
///         };
///         Ok(Step::Chunk(Chunk::Docs(block)))
///     }
///
///     fn feedback(&self) -> Option<Arc<dyn Feedback>> {
///         Some(Arc::clone(&self.shared) as Arc<dyn Feedback>)
///     }
/// }
///
/// impl Feedback for Shared {
///     fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
///         for (_, &docs) in up_to {
///             self.settled.store(docs, Ordering::Relaxed);
///         }
///     }
///
///     fn stop(&self) {
///         self.stopped.store(true, Ordering::Relaxed);
///     }
/// }
///
/// let mut counter = Counter::default();
/// assert!(matches!(counter.next(1000), Ok(Step::Idle)));
/// assert!(matches!(counter.next(1000), Ok(Step::Chunk(_))));
/// counter.feedback().ok_or("it has one")?.stop();
/// assert!(matches!(counter.next(1000), Ok(Step::End)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Source: Send {
    /// The description of the source, as it is before the first chunk. Called a few times; does not
    /// wait.
    fn describe(&self) -> SourceInfo;

    /// The next piece, of about `want_bytes` or of one record if that is larger. Waits for
    /// documents for [`IDLE_AFTER`] at most, and returns [`Step::Idle`] then. Only a read of the
    /// operating system, as of a pipe that is silent, may take longer. After [`Step::End`] and
    /// after an error every call returns [`Step::End`].
    ///
    /// # Errors
    /// The source cannot be read any further. What it returned before is valid.
    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError>;

    /// The way back to the source, which is used while another thread may be inside of
    /// [`Source::next`]. Called once, before the first chunk. Default: the source hears nothing.
    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        None
    }

    /// Starts where an earlier run ended: by partition, the number below which everything is
    /// settled. Called before the first chunk. Sources without numbers of their own
    /// ([`SourceInfo::own_numbers`]) are read from their beginnings, and the engine passes over
    /// what is settled. Default: nothing.
    fn resume(&mut self, _settled: &BTreeMap<Partition, u64>) {}

    /// Fields that ids, routing values and the like are made of. From now on their text as the
    /// source has it stands in [`inrush_core::DocMeta::texts`], where the document may write
    /// another one. Called before the first chunk. Default: nothing.
    fn keep_texts(&mut self, _fields: &[String]) {}

    /// A fingerprint of each part of the source, one for each of [`SourceInfo::names`]. Only of
    /// [`Repeats::Always`]. Reads the beginnings of files. Default: none.
    ///
    /// # Errors
    /// A part that cannot be read.
    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        Ok(Vec::new())
    }

    /// Opens all parts that can be read more than once, so that one that cannot be read is known
    /// before anything is deleted for the load. Default: nothing is opened.
    ///
    /// # Errors
    /// The first part that cannot be read, and why.
    fn check_all(&self) -> Result<(), SourceError> {
        Ok(())
    }

    /// The next chunk, however long the source is idle before; `None` at the end. For readers that
    /// have nothing else to do meanwhile.
    ///
    /// # Errors
    /// As [`Source::next`].
    fn next_chunk(&mut self, want_bytes: usize) -> Result<Option<Chunk>, SourceError> {
        loop {
            let asked = Instant::now();
            match self.next(want_bytes)? {
                Step::Chunk(chunk) => return Ok(Some(chunk)),
                Step::End => return Ok(None),
                Step::Idle => std::thread::sleep(IDLE_MIN.saturating_sub(asked.elapsed())),
            }
        }
    }
}

/// What [`Source::next`] returns.
pub enum Step {
    /// Documents, or what they are made of.
    Chunk(Chunk),
    /// Nothing for now. Documents that were returned before are sent without waiting for more once
    /// the linger time is over.
    Idle,
    /// Nothing any more.
    End,
}

impl Step {
    /// The chunk, or the end where there is none.
    pub fn or_end(chunk: Option<Chunk>) -> Self {
        chunk.map_or(Step::End, Step::Chunk)
    }
}

/// The way back to a source: what became of its documents, and that it is to end.
///
/// Both methods are called while another thread may be inside of [`Source::next`], so they must not
/// wait for that.
///
/// # Partitions that are taken away
///
/// A consumer group may take a partition from a source in the middle of a load, and give it back
/// later. That needs no other methods. The source stops returning documents of the partition, waits
/// until [`Feedback::settled`] has reached the last one that it returned, for as long as the group
/// allows, commits, and lets the partition go. It commits nothing beyond what was settled by then:
/// another consumer reads the rest. A partition that comes back begins where that consumer ended,
/// and the numbers of one [`Partition`] have no gaps; so the source gives it a [`Partition`] of its
/// own for each time that it gets it, and ignores what is settled of one that it has lost.
pub trait Feedback: Send + Sync {
    /// Everything below `up_to` is settled: indexed, left out as configured, or a dead letter that
    /// is synced to disk. By partition, and only those that have moved since the last call; the
    /// numbers are those of [`Source::resume`]. Where the load keeps checkpoints, one that says so
    /// is on disk.
    ///
    /// A document whose end stayed unknown, because no request got an answer, is not settled, and
    /// nothing beyond it in its partition is.
    ///
    /// Called every [`SourceInfo::settled_every`] and after the last document, on a thread that may
    /// wait, one call at a time. The load does not end before the last call has returned.
    fn settled(&self, up_to: &BTreeMap<Partition, u64>);

    /// The source is to end soon: [`Source::next`] returns what was fetched already, and then
    /// [`Step::End`]. May be called more than once, and after the end. Must not wait.
    fn stop(&self);
}

/// The description of a source before its first chunk.
///
/// ```
/// use inrush_sources::{Repeats, SourceInfo};
///
/// let mut info = SourceInfo::new(["a.ndjson", "b.ndjson"]);
/// info.bytes_total = Some(1 << 20);
/// info.repeats = Repeats::Always;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceInfo {
    /// The name of each part, indexed by [`inrush_core::SourceId`]: a path, `-`, a URL.
    pub names: Vec<String>,
    /// Bytes to read in all, before decompression. Default: not known.
    pub bytes_total: Option<u64>,
    /// What another reading would give. Default: [`Repeats::Unordered`], so that there are neither
    /// checkpoints nor ids from positions.
    pub repeats: Repeats,
    /// All options on which the documents and their order depend, in any form that tells one from
    /// another. Default: empty.
    pub reading: String,
    /// The rows behind the documents, where those are not the same. Default: none.
    #[doc(hidden)]
    pub rows: Option<RowsRead>,
    /// Whether all documents bring ids of their own. Default: no.
    pub has_ids: bool,
    /// Whether they bring versions, too, to be written as external ones. Default: no.
    pub has_versions: bool,
    /// Whether the source numbers its documents itself
    /// ([`inrush_core::block::Origin::own_numbers`]) and can start in the middle. Default: no.
    pub own_numbers: bool,
    /// Whether a program hands the documents over while the load runs, so that none can be read
    /// before it begins. Default: no.
    pub is_fed: bool,
    /// Whether the source ends only when it is told to ([`Feedback::stop`]). Default: no.
    pub is_endless: bool,
    /// How often [`Feedback::settled`] is called, at most. Default: 1 s.
    pub settled_every: Duration,
    /// Where the source counts what its reader should know although nothing failed. Default: none.
    pub warnings: Option<Warnings>,
}

impl SourceInfo {
    /// A source with these names, and the defaults for everything else.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        SourceInfo {
            names: names.into_iter().map(Into::into).collect(),
            bytes_total: None,
            repeats: Repeats::Unordered,
            reading: String::new(),
            rows: None,
            has_ids: false,
            has_versions: false,
            own_numbers: false,
            is_fed: false,
            is_endless: false,
            settled_every: SETTLED_EVERY,
            warnings: None,
        }
    }

    /// The names in one line, for messages.
    pub fn title(&self) -> String {
        self.names.join(", ")
    }
}

/// How many rows a source has read, where they are not its documents: those of the tables of a
/// query.
#[derive(Clone, Debug)]
pub struct RowsRead {
    /// So far; it goes on.
    pub read: Arc<AtomicU64>,
    /// In all, where that is known.
    pub total: Option<u64>,
}

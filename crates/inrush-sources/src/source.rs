//! The trait of a source, the description of a source, and the feedback to it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use inrush_cluster::clock;
use inrush_core::RowForm;
use inrush_core::ledger::Partition;
use inrush_formats::{Chunk, SourceError, Warnings};

use super::dead_letters::DeadLetterSink;
use super::lag::Lag;
use super::repeat::{Fingerprint, Repeats};
use super::since::{Since, SinceValue};

/// How long [`Source::next`] waits for documents before it returns [`Step::Idle`].
pub const IDLE_AFTER: Duration = Duration::from_millis(100);

/// The shortest time between two calls of [`Source::next`] while a source is idle. A source that
/// does not wait itself is asked no more often.
pub const IDLE_MIN: Duration = Duration::from_millis(10);

/// Default interval of [`Feedback::settled`].
const SETTLED_EVERY: Duration = Duration::from_secs(1);

/// A source of documents. One thread at a time reads it from its beginning to its end.
///
/// Only [`Source::describe`] and [`Source::next`] are required. A source that never ends also
/// implements [`Source::feedback`], which receives settled positions and the request to stop.
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
    /// The description of the source before its first chunk. Called a few times. Does not wait.
    fn describe(&self) -> SourceInfo;

    /// The next chunk, of about `want_bytes`, or of one record if that is larger. Waits for
    /// documents for at most [`IDLE_AFTER`], and then returns [`Step::Idle`]. Only a read of the
    /// operating system, such as a read of a silent pipe, may take longer. After [`Step::End`] and
    /// after an error every call returns [`Step::End`].
    ///
    /// # Errors
    /// The source cannot be read any further. Chunks that it returned before are valid.
    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError>;

    /// The feedback to the source. It is used while another thread may be inside [`Source::next`].
    /// Called once, before the first chunk. Default: no feedback.
    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        None
    }

    /// Starts where an earlier run ended. `settled` has the number below which all documents are
    /// settled, by partition. Called before the first chunk. A source without numbers of its own
    /// ([`SourceInfo::own_numbers`]) is read from its beginning, and the engine skips settled
    /// documents. Default: does nothing.
    fn resume(&mut self, _settled: &BTreeMap<Partition, u64>) {}

    /// The ends of the partitions now: all documents that are written from now on have at least
    /// this number. Only for a source with [`SourceInfo::own_numbers`]. Called before the first
    /// chunk, on a thread that may wait. Default: none.
    ///
    /// # Errors
    /// The source does not say where it ends.
    #[doc(hidden)]
    fn ends(&self) -> Result<BTreeMap<Partition, u64>, SourceError> {
        Ok(BTreeMap::new())
    }

    /// Fields that ids, routing values and the like are made of. From now on
    /// [`inrush_core::DocMeta::texts`] holds their text as it is in the source, where the document
    /// may have another form of it. Called before the first chunk. Default: does nothing.
    fn keep_texts(&mut self, _fields: &[String]) {}

    /// How documents that are made of rows are written for the load: nulls, and fields of the
    /// target. Called before the first chunk. Default: does nothing.
    #[doc(hidden)]
    fn form_rows(&mut self, _form: &RowForm) {}

    /// Reads only rows since this value, with those that have it, of the column that
    /// [`SourceInfo::since`] names. Called before the first chunk, and only for a source that names
    /// one. Default: does nothing.
    ///
    /// # Errors
    /// A value that the column cannot have.
    #[doc(hidden)]
    fn read_since(&mut self, _value: &SinceValue) -> Result<(), SourceError> {
        Ok(())
    }

    /// Fingerprints of the parts of the source, one for each of [`SourceInfo::names`]. Only for a
    /// source with [`Repeats::Always`]. It reads the beginnings of files. Default: none.
    ///
    /// # Errors
    /// A part that cannot be read.
    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        Ok(Vec::new())
    }

    /// Opens all parts that can be read more than once, so that an unreadable one is known before
    /// the load deletes anything. Default: opens nothing.
    ///
    /// # Errors
    /// The first unreadable part, and why.
    fn check_all(&self) -> Result<(), SourceError> {
        Ok(())
    }

    /// The next chunk, after any idle time. `None` at the end. For a reader that has nothing else
    /// to do.
    ///
    /// # Errors
    /// As [`Source::next`].
    fn next_chunk(&mut self, want_bytes: usize) -> Result<Option<Chunk>, SourceError> {
        loop {
            let asked = clock::now();
            match self.next(want_bytes)? {
                Step::Chunk(chunk) => return Ok(Some(chunk)),
                Step::End => return Ok(None),
                Step::Idle => clock::block(IDLE_MIN.saturating_sub(asked.elapsed())),
            }
        }
    }
}

/// A result of [`Source::next`].
pub enum Step {
    /// Documents, or data that documents are made of.
    Chunk(Chunk),
    /// No documents for now. Documents that were returned before are sent after the linger time.
    Idle,
    /// The end of the source.
    End,
}

impl Step {
    /// The chunk, or the end where there is none.
    pub fn or_end(chunk: Option<Chunk>) -> Self {
        chunk.map_or(Step::End, Step::Chunk)
    }
}

/// The feedback to a source: its settled documents, and the request to stop.
///
/// All methods are called while another thread may be inside [`Source::next`], so they must not
/// wait for that call.
///
/// # Partitions that are taken away
///
/// A consumer group may take a partition from a source in the middle of a load, and give it back
/// later. The source stops returning documents of the partition. [`Feedback::is_waiting`] is true
/// from then on, until [`Feedback::settled`] has reached the last document that it returned, for as
/// long as the group allows. Then it commits and releases the partition. It commits nothing beyond
/// the settled position: another consumer reads the rest. A partition that comes back begins where
/// that consumer ended, and the numbers of one [`Partition`] have no gaps. So the source uses a new
/// [`Partition`] each time, and ignores settled positions of a partition that it has lost.
pub trait Feedback: Send + Sync {
    /// Documents below `up_to` are settled: indexed, left out as configured, or a dead letter that
    /// is on disk or kept by [`SourceInfo::dead_letters`]. The map has the partitions that changed
    /// since the last call, with the numbers of [`Source::resume`]. Where the load keeps
    /// checkpoints, one on disk contains these positions.
    ///
    /// A document with an unknown result, because no request got an answer, is not settled. Nor are
    /// the documents behind it in its partition.
    ///
    /// Called every [`SourceInfo::settled_every`] where there are changes, and after the last
    /// document in any case, on a thread that may wait, one call at a time. The load does not end
    /// before the last call returns.
    fn settled(&self, up_to: &BTreeMap<Partition, u64>);

    /// Ends the source soon: [`Source::next`] returns documents that are fetched already, and then
    /// [`Step::End`]. May be called more than once, and after the end. Must not wait.
    fn stop(&self);

    /// The load needs the source no more. Returns once the source has released its connections.
    /// Called once, after the last [`Feedback::settled`], on a thread that may wait. Default: does
    /// nothing.
    fn close(&self) {}

    /// Whether the source waits for [`Feedback::settled`], because a partition is to be taken away.
    /// Meanwhile no document waits for a later one with the same id. Called ten times a second.
    /// Must not wait. Default: never.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Partitions that the source has lost since the last call: another consumer reads the rest of
    /// them. Documents of them that wait are given back, so that they do not replace newer ones.
    /// Called ten times a second. Must not wait. Default: none.
    fn lost(&self) -> Vec<Partition> {
        Vec::new()
    }

    /// Partitions of which the source returns no more documents, and whose settled positions it
    /// needs no more, since the last call. The load forgets them, so that a source whose partitions
    /// change all the time takes no memory for the old ones. Called ten times a second. Must not
    /// wait. Default: none.
    fn ended(&self) -> Vec<Partition> {
        Vec::new()
    }

    /// How far the source is behind the ends of its partitions, by what it knows. Called every
    /// second, and after the last [`Feedback::settled`]. Must not wait. Default: its partitions
    /// have no ends.
    fn lag(&self) -> Option<Lag> {
        None
    }
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
    /// Name of each part, indexed by [`inrush_core::SourceId`]: a path, `-`, or a URL.
    pub names: Vec<String>,
    /// Bytes of the whole source, before decompression. Default: unknown.
    pub bytes_total: Option<u64>,
    /// Result of reading the source again. Default: [`Repeats::Unordered`], without checkpoints and
    /// without ids from positions.
    pub repeats: Repeats,
    /// All options that change the documents or their order, in any form that differs where they
    /// differ. A checkpoint records it, so a form that stays in later versions of the source lets
    /// them continue its loads. Default: empty.
    pub reading: String,
    /// Rows that the documents are made of, where they are not the documents. Default: none.
    #[doc(hidden)]
    pub rows: Option<RowsRead>,
    /// The column by which rows since the last load are read. Default: none.
    #[doc(hidden)]
    pub since: Option<Since>,
    /// Whether all documents have ids of their own. Default: false.
    pub has_ids: bool,
    /// Whether documents may name an action and an index of their own. Default: false.
    pub has_operations: bool,
    /// Whether all documents have external versions. The order of documents with one id does not
    /// matter then. Default: false.
    pub has_versions: bool,
    /// Whether deletions have none, although documents have external versions. The order matters
    /// then. Default: false.
    pub has_unversioned_deletions: bool,
    /// Whether operations of the source may delete documents. Default: false.
    pub has_deletions: bool,
    /// Whether the source numbers its documents itself
    /// ([`inrush_core::block::Origin::own_numbers`]) and can start in the middle. Default: false.
    pub own_numbers: bool,
    /// Whether a program sends the documents while the load runs, so that none can be read before
    /// the load begins. Default: false.
    pub is_fed: bool,
    /// Whether the source ends only after [`Feedback::stop`]. Default: false.
    pub is_endless: bool,
    /// Shortest interval of [`Feedback::settled`]. Default: 1 s.
    pub settled_every: Duration,
    /// Counts of warnings about the source's content. Default: none.
    pub warnings: Option<Warnings>,
    /// Topics of the partitions, for dead letters. Default: none.
    pub topics: Option<Arc<dyn Topics>>,
    /// A place of the source for dead letters. There is no file then, unless the load names one.
    /// Default: none.
    pub dead_letters: Option<Arc<dyn DeadLetterSink>>,
}

impl SourceInfo {
    /// A source with these names, and defaults for the other fields.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        SourceInfo {
            names: names.into_iter().map(Into::into).collect(),
            bytes_total: None,
            repeats: Repeats::Unordered,
            reading: String::new(),
            rows: None,
            since: None,
            has_ids: false,
            has_operations: false,
            has_versions: false,
            has_unversioned_deletions: false,
            has_deletions: false,
            own_numbers: false,
            is_fed: false,
            is_endless: false,
            settled_every: SETTLED_EVERY,
            warnings: None,
            topics: None,
            dead_letters: None,
        }
    }

    /// The names in one line, for messages.
    pub fn title(&self) -> String {
        self.names.join(", ")
    }
}

/// The topics of a source whose partitions come and go while the load runs.
pub trait Topics: fmt::Debug + Send + Sync {
    /// The topic, and its partition, that has this number
    /// ([`inrush_core::block::Origin::partition`]). `None` if the number was never used, or long
    /// ago.
    fn find(&self, number: u32) -> Option<TopicPartition>;
}

/// A partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: Arc<str>,
    /// The number of the partition in its topic, from 0.
    pub partition: i32,
}

impl TopicPartition {
    /// This partition of this topic.
    pub fn new(topic: &str, partition: i32) -> Self {
        TopicPartition { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    /// `orders/3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

/// Rows that a source has read, where they are not its documents: the rows of a query's tables.
#[derive(Clone, Debug)]
pub struct RowsRead {
    /// Rows read so far. The number grows while the source is read.
    pub read: Arc<AtomicU64>,
    /// All rows, where their number is known.
    pub total: Option<u64>,
}

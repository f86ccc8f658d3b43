//! Commands of a flow to its driver.

use std::sync::Arc;

use bytes::Bytes;

use super::{LastWrite, Pause};
use crate::block::{DocMeta, Position, SourceId};
use crate::body_format::{Body, BodyFormatChange};
use crate::outcome::Settled;
use crate::time::Time;
use crate::tune::{BodyFormatChoices, Decision, Sample};

/// The next action of the driver.
#[derive(Debug)]
pub enum Command {
    /// Send a request to `_bulk`, and answer with [`super::Flow::handle_attempt`].
    Send(Request),
    /// An attempt was lost. Wait until the cluster no longer works on it, as far as that can be
    /// known, then answer with [`super::Flow::handle_gone`]. Otherwise retries would pile up on a
    /// busy cluster.
    AwaitGone {
        /// The lost request.
        request: u64,
    },
    /// A request may still be carried out, although no answer can be expected. Find out when it is
    /// over, and answer with [`super::Flow::handle_over`]. Later operations on its ids wait for
    /// that.
    AwaitOver {
        /// The request.
        request: u64,
    },
    /// Read what the index has under these ids; answer with [`super::Flow::handle_read_back`].
    ReadBack {
        /// The number to answer with.
        request: u64,
        /// The ids, and what their last operations left.
        writes: Vec<LastWrite>,
    },
    /// Find out what wrote the documents of these ids; answer with
    /// [`super::Flow::handle_compared`].
    Compare {
        /// The number to answer with.
        request: u64,
        /// The items that met them.
        items: Vec<Item>,
    },
    /// Flush the index on all copies, read its primary terms after that, and answer with
    /// [`super::Flow::handle_flushed`].
    Flush {
        /// The number to answer with.
        request: u64,
        /// The concrete index, not an alias.
        index: String,
    },
    /// Ask the cluster which of these formats it accepts, and answer with
    /// [`super::Flow::handle_probe`].
    Probe(BodyFormatChoices),
    /// Write a dead letter.
    DeadLetter(Box<DeadLetter>),
    /// The end of adjacent documents; only with [`super::FlowConfig::settlements`]. Dead letters
    /// have a command of their own.
    Settled(Settlement),
    /// Show the user a note.
    Note(Note),
    /// Record a sample; only with [`super::FlowConfig::samples`].
    Sample {
        /// The request.
        request: u64,
        /// The sample.
        sample: Sample,
        /// Whether the tuner received the sample. It does not while body formats are compared, and
        /// not for attempts without work of the cluster.
        heard: bool,
        /// When.
        now: Time,
    },
    /// Record a gap: the tuner's measurements across this moment are void. Only with
    /// [`super::FlowConfig::samples`].
    Break {
        /// When.
        now: Time,
    },
}

/// A bulk request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The number of the request, unique in the run.
    pub id: u64,
    /// The body. The driver stores the compressed form in it.
    pub body: Arc<Body>,
    /// The number of items.
    pub items: u32,
    /// The routing value that sends all items, which have no ids, to one shard.
    pub routing: Option<Arc<str>>,
    /// The shard of all items, if known. Sending to the node with its primary saves a hop.
    pub shard: Option<u16>,
    /// Request one entry for each item, even if the run uses summaries.
    pub item_replies: bool,
    /// Request the id of each entry, because positions alone do not match entries to items.
    pub item_ids: bool,
}

/// A bulk item that met a document of its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The action line, without line end.
    pub action: Bytes,
    /// The document as it is sent; empty for a delete.
    pub document: Bytes,
    /// The index of the document, as the reply names it.
    pub index: Option<String>,
    /// The reason of the 409.
    pub reason: String,
    /// See [`DocMeta::is_in`].
    pub is_in: bool,
    /// An earlier attempt, whose answer is not known, may have written the document.
    pub is_repeated: bool,
}

/// What wrote the document in the index that an item met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// This operation: the cluster made the id for it.
    Written,
    /// A repetition by the cluster: the document has the content of the item, and was written
    /// during the load, before another primary took over.
    Repeated,
    /// An earlier load wrote it, and could not know that ([`DocMeta::is_in`]).
    IsIn,
    /// The content of the item. What wrote it is not known.
    Equal,
    /// Different content, or no document.
    Different,
    /// It was there before the load began.
    Older,
    /// Nothing says that the load wrote it, so it was not read.
    Other,
    /// The document could not be read.
    Failed(String),
}

/// Adjacent documents with the same end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settlement {
    /// Their source.
    pub source: SourceId,
    /// The partition of the source.
    pub partition: u32,
    /// Documents of the partition before the first one.
    pub first_doc: u64,
    /// The number of documents.
    pub docs: u32,
    /// The end of the documents.
    pub settled: Settled,
}

/// A document that was not indexed, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The position in the source.
    pub position: Position,
    /// The item's status; 0 if the document was not sent.
    pub status: u16,
    /// The error type of the server, or of `inrush` if the document was not sent.
    pub kind: String,
    /// The message of the server, or of `inrush`.
    pub reason: String,
    /// The action line; `None` if the record never became an item.
    pub action: Option<Bytes>,
    /// What the source knows about a record that never became an item, such as its id.
    pub meta: Option<Box<DocMeta>>,
    /// The document, or the part of it that was read.
    pub document: Bytes,
}

impl DeadLetter {
    /// A dead letter of a document that was not sent.
    pub fn new(position: Position, kind: impl Into<String>, reason: impl Into<String>, document: Bytes) -> Self {
        let (kind, reason) = (kind.into(), reason.into());
        DeadLetter { position, status: 0, kind, reason, action: None, meta: None, document }
    }

    /// Sets [`DeadLetter::status`].
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        DeadLetter { status, ..self }
    }

    /// Sets [`DeadLetter::action`].
    #[must_use]
    pub fn with_action(self, action: impl Into<Option<Bytes>>) -> Self {
        DeadLetter { action: action.into(), ..self }
    }

    /// Sets [`DeadLetter::meta`].
    #[must_use]
    pub fn with_meta(self, meta: DocMeta) -> Self {
        DeadLetter { meta: Some(Box::new(meta)), ..self }
    }
}

/// A message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Sending pauses.
    Paused(Pause),
    /// Sending resumes.
    Resumed,
    /// The server's limit on bodies was met. Batches are at most this many bytes from now on.
    BodyLimit(u64),
    /// An attempt was lost, with the reason.
    Lost(String),
    /// A request was refused or could not be sent, and will be retried; with the reason.
    WillRetry(String),
    /// A shard of the index restarted, or another copy became the primary. This many documents were
    /// acknowledged but not flushed, and are sent again.
    SentAgain(u64),
    /// The tuner changed the plan.
    Plan(Decision),
    /// The body format changes.
    BodyFormat(BodyFormatChange),
}

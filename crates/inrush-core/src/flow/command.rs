//! What a flow tells its driver.

use std::sync::Arc;

use bytes::Bytes;

use super::Pause;
use crate::block::{Position, SourceId};
use crate::body_format::{Body, BodyFormatChange};
use crate::outcome::Settled;
use crate::time::Time;
use crate::tune::{BodyFormatChoices, Decision, Sample};

/// What to do next.
#[derive(Debug)]
pub enum Command {
    /// Send this to `_bulk`, and answer with [`super::Flow::handle_attempt`].
    Send(Request),
    /// An attempt was lost on the way: wait until the cluster no longer works on it, as far as that can be told, then answer with
    /// [`super::Flow::handle_gone`]. Nothing is piled on a cluster that is still busy with it.
    AwaitGone {
        /// The request whose attempt was lost.
        request: u64,
    },
    /// Read these documents and compare; answer with [`super::Flow::handle_compared`].
    Compare {
        /// The request they were part of.
        request: u64,
        /// Their action lines and contents.
        items: Vec<Item>,
    },
    /// Flush the index on all copies, look at it afterwards, and answer with [`super::Flow::handle_flushed`].
    Flush {
        /// The number to answer with.
        request: u64,
        /// The index itself, no alias.
        index: String,
    },
    /// Ask the cluster which of these it takes, and answer with [`super::Flow::handle_probe`].
    Probe(BodyFormatChoices),
    /// Write this down.
    DeadLetter(Box<DeadLetter>),
    /// Neighbouring documents whose end is known; only with [`super::FlowConfig::settlements`]. Dead letters are told as such.
    Settled(Settlement),
    /// Tell the user.
    Note(Note),
    /// Write down what an attempt taught; only with [`super::FlowConfig::samples`].
    Sample {
        /// What it taught.
        sample: Sample,
        /// Whether the tuner was told: not while forms are compared, and not what no work of the cluster lies behind.
        heard: bool,
        /// When.
        now: Time,
    },
    /// Write down that what the tuner would measure across this moment says nothing; only with [`super::FlowConfig::samples`].
    Break {
        /// When.
        now: Time,
    },
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its number, unique in the run.
    pub id: u64,
    /// The body. Whoever compresses it keeps the result in it.
    pub body: Arc<Body>,
    /// How many items.
    pub items: u32,
    /// The value that sends all items, which have no ids, to one shard.
    pub routing: Option<Arc<str>>,
    /// The shard that all items lead to, where that is known: the node with its primary saves a hop.
    pub shard: Option<u16>,
    /// Ask for one entry an item even if the run is content with summaries.
    pub item_replies: bool,
    /// Ask for the id of each entry, because a position alone does not tell whose entry it is.
    pub item_ids: bool,
}

/// One bulk item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its action line, without line end.
    pub action: Bytes,
    /// The document as it is sent; empty for a delete.
    pub document: Bytes,
}

/// What the index holds under an item's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same content.
    Equal,
    /// Other content, or nothing.
    Different,
    /// It could not be read.
    Failed(String),
}

/// Neighbouring documents that ended in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Their source.
    pub source: SourceId,
    /// The part of the source that is read in order.
    pub partition: u32,
    /// How many documents of the partition stand before the first one.
    pub first_doc: u64,
    /// How many they are.
    pub docs: u32,
    /// How they ended.
    pub settled: Settled,
}

/// A document that is not in, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Where it stands in its source.
    pub position: Position,
    /// The item's status; 0 where it was never sent.
    pub status: u16,
    /// The server's name for the error, or ours.
    pub kind: String,
    /// The server's words, or ours.
    pub reason: String,
    /// The action line; `None` where the record never became an item.
    pub action: Option<Bytes>,
    /// The document, or what was read of it.
    pub document: Bytes,
}

/// Something a person should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Nothing is sent until this has passed.
    Paused(Pause),
    /// It has passed.
    Resumed,
    /// The server's limit on bodies was met; batches stay below so many bytes from now on.
    BodyLimit(u64),
    /// An attempt was lost, and why.
    Lost(String),
    /// A request was refused or could not be sent and will be sent again, and why.
    WillRetry(String),
    /// A shard of the index started again, or another copy of it took over: so many documents that were acknowledged and not flushed
    /// are sent again.
    SentAgain(u64),
    /// The tuner has changed the plan.
    Plan(Decision),
    /// Requests go in another form from now on, and why.
    BodyFormat(BodyFormatChange),
}

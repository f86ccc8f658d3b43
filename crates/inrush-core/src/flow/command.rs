//! What a flow tells its driver.

use bytes::Bytes;

use super::Pause;
use crate::block::Position;
use crate::tune::{Decision, Sample};

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
    /// Write this down.
    DeadLetter(Box<DeadLetter>),
    /// Tell the user.
    Note(Note),
    /// Write down what an attempt taught; only with [`super::FlowConfig::samples`].
    Sample(Sample),
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its number, unique in the run.
    pub id: u64,
    /// The body in slices.
    pub body: Vec<Bytes>,
    /// How many items.
    pub items: u32,
    /// The length of the body.
    pub bytes: u64,
    /// Ask for one entry an item even if the run is content with summaries.
    pub item_replies: bool,
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
    Trouble(String),
    /// A shard of the index started again, or another copy of it took over: so many documents that were acknowledged and not flushed
    /// are sent again.
    SentAgain(u64),
    /// The tuner has changed the plan.
    Plan(Decision),
}

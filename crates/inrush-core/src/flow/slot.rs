//! Slots: one permit each, with a request in flight and the consequences of its answer. Retries and
//! halves of a request stay inside its permit, so a cluster in trouble gets fewer requests, not
//! more.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::compare::Met;
use crate::batch::Batch;
use crate::body_format::{Body, BodyFormat};
use crate::codes::Code;
use crate::reply::ItemError;
use crate::time::Time;

/// During a pause the wait doubles this many times: by default from 100 ms to 3.2 s.
const PAUSED_SETBACKS_MAX: u32 = 5;

/// After this number of attempts in a row without progress, a refusal may be about the size of the
/// body.
const REFUSALS_UNTIL_DOUBT: u32 = 3;
/// Requests in flight, with this one, up to which others do not explain the refusals.
const FEW_IN_FLIGHT: u32 = 2;
/// Bytes of a body that every node takes.
const BODY_BYTES_TAKEN: u64 = 1 << 20;

/// How often a document is sent again because another request made the mapping of a field. Once is
/// enough for one field; a document may have several, and a node gets to know a mapping late.
const REMAPS_MAX: u32 = 3;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: u64,
    /// The rest of the request. The front part is sent next.
    pub(super) parts: VecDeque<Part>,
    pub(super) state: SlotState,
}

#[derive(Debug)]
pub(super) enum SlotState {
    Sent {
        request: u64,
    },
    Waiting {
        until: Time,
    },
    AwaitingGone,
    /// `until`: when the next part may be sent.
    Comparing {
        request: u64,
        part: Part,
        met: Vec<Met>,
        until: Time,
    },
}

/// Items that are sent together and share a history.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) batch: Batch,
    /// An earlier attempt may have been applied.
    pub(super) uncertain: bool,
    /// An earlier run sent the items, or this one did and a restart may have lost them. Later
    /// operations on their ids may have followed.
    pub(super) replayed: bool,
    /// The last attempt may have been applied. A retry may duplicate items without an id.
    pub(super) last_uncertain: bool,
    /// Request entries even where summaries are enough.
    pub(super) item_replies: bool,
    /// The ids of entries were requested in the last attempt.
    pub(super) ids_asked: bool,
    /// Attempts since one got an item accepted.
    pub(super) failures: u32,
    /// Attempts that met the mapping which another request had made of a field meanwhile.
    pub(super) remaps: u32,
    /// Attempts since one got at least half of the items accepted. The wait doubles with each.
    pub(super) setbacks: u32,
    pub(super) first_sent: Time,
    /// The first failure since then.
    pub(super) failed: Option<Time>,
    /// Requests in flight at the last attempt.
    pub(super) in_flight: u32,
    /// The part was sent before the batch was full.
    pub(super) source_limited: bool,
    /// The part is the rest of a larger one.
    pub(super) remainder: bool,
    /// The epoch of the index's primary terms at the last attempt.
    pub(super) epoch: u32,
    /// The format of the last attempt.
    pub(super) format: BodyFormat,
    /// Whether the part may only be sent in the format that every server accepts.
    pub(super) plain: Plain,
    /// The compressed body, for a retry.
    pub(super) body: Option<Arc<Body>>,
    /// The routing value that sends all items to one shard, the same in every retry.
    pub(super) routing: Option<Arc<str>>,
}

/// Whether a part has to be sent as uncompressed JSON, independent of the format of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// It may be sent like others.
    No,
    /// The server refused the part in another format. If it accepts plain JSON, the format is the
    /// cause.
    Tried,
    /// The server refused plain JSON as well: the content is the cause.
    Yes,
}

impl Slot {
    pub(super) fn new(id: u64, now: Time, batch: Batch, source_limited: bool) -> Self {
        let sent_before = batch.sent_before();
        let part = Part {
            batch,
            uncertain: sent_before,
            replayed: sent_before,
            last_uncertain: sent_before,
            item_replies: false,
            ids_asked: false,
            failures: 0,
            remaps: 0,
            setbacks: 0,
            first_sent: now,
            failed: None,
            in_flight: 0,
            source_limited,
            remainder: false,
            epoch: 0,
            format: BodyFormat::PLAIN,
            plain: Plain::No,
            body: None,
            routing: None,
        };
        Slot { id, parts: VecDeque::from([part]), state: SlotState::Waiting { until: now } }
    }

    /// A slot for items that were sent before, with unknown result.
    pub(super) fn resend(id: u64, now: Time, batch: Batch) -> Self {
        let mut slot = Slot::new(id, now, batch, true);
        slot.parts.iter_mut().for_each(|part| {
            (part.uncertain, part.replayed, part.last_uncertain) = (true, true, true);
        });
        slot
    }
}

impl Part {
    /// Other items with the same history.
    pub(super) fn with(&self, batch: Batch) -> Part {
        Part { remainder: self.remainder || batch.items < self.batch.items, batch, body: None, ..self.clone() }
    }

    /// Whether its items may meet the mapping of another request once more.
    pub(super) fn may_remap(&self) -> bool {
        self.remaps < REMAPS_MAX
    }

    /// Whether this refusal ends a row of attempts without progress while little else was under
    /// way: a node or gateway may refuse each body of this size without saying so. Each third
    /// attempt halves the body, because other loads may be the cause all the same, or requests of
    /// this one that wait.
    pub(super) fn may_be_too_large(&self) -> bool {
        let often = (self.setbacks + 1).is_multiple_of(REFUSALS_UNTIL_DOUBT);
        often && self.in_flight <= FEW_IN_FLIGHT && self.batch.bytes > BODY_BYTES_TAKEN
    }

    /// After an attempt that met a condition of the whole index. Waiting for its end costs no
    /// retries, because the pause has a limit of its own. The wait grows, so that a cluster in
    /// trouble gets few requests, but stays short enough to notice the end.
    pub(super) fn paused(self, now: Time) -> Part {
        Part { first_sent: now, failed: None, failures: 0, setbacks: self.setbacks.min(PAUSED_SETBACKS_MAX), ..self }
    }

    /// After an attempt that may have been applied, or certainly was not.
    pub(super) fn unsure(self, uncertain: bool) -> Part {
        Part { uncertain: self.uncertain || uncertain, last_uncertain: self.last_uncertain || uncertain, ..self }
    }
}

/// The error that caused a retry.
#[derive(Clone, Debug, Default)]
pub(super) struct LastError {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) reason: String,
    /// The wait that the server asked for.
    pub(super) retry_after: Duration,
}

impl fmt::Display for LastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            0 => f.write_str(&self.reason),
            status if self.kind.is_empty() => write!(f, "{status}: {}", self.reason),
            status => write!(f, "{status} {}: {}", self.kind, self.reason),
        }
    }
}

impl LastError {
    /// An error of the server.
    pub(super) fn new(status: u16, error: &ItemError) -> Self {
        let retry_after = Duration::ZERO;
        LastError { status, kind: error.kind.clone(), reason: error.reason.clone(), retry_after }
    }

    /// An error on this side.
    pub(super) fn client(kind: Code, reason: String) -> Self {
        LastError { status: 0, kind: kind.name().to_owned(), reason, retry_after: Duration::ZERO }
    }
}

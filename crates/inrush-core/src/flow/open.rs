//! Requests without a complete answer, and the order of operations behind them.
//!
//! The cluster may carry out such a request at any later time: its node may hang, or a proxy may
//! have sent it on. So a later operation on one of its ids waits until the request is over, as far
//! as the cluster can tell ([`Command::AwaitOver`]). Where a later operation followed, the id is
//! read at the end of the load: its document has to be the one that the last operation left
//! ([`Command::ReadBack`]).

use std::collections::BTreeMap;
use std::hash::BuildHasherDefault;

use bytes::Bytes;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::slot::Part;
use super::{Command, Flow};
use crate::batch::{Batch, Segment};
use crate::ledger::BlockId;
use crate::order::AlreadyHashed;
use crate::outcome::Settled;
use crate::reply::WriteMark;
use crate::time::Time;

/// Share of the memory for ids that were open, and the same again for what their last operations
/// left: one part of this number.
const KNOWN_PART: u64 = 8;
/// Memory of such an id, bytes: its entry in the map.
const KNOWN_BYTES: u64 = 96;
/// Ids that are read with one request.
const READ_AT_ONCE: usize = 1000;
/// Ids that the report names.
const NAMED_MAX: usize = 10;

/// Whether a request without an answer can still be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// No node works on it any more.
    Ended,
    /// That could not be found out in time; with the reason.
    Unknown(String),
}

/// An id that is read at the end of a load, and what the last operation left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// The index, by the reply.
    pub index: Option<String>,
    /// The action line of the last operation.
    pub action: Bytes,
    /// The state of the document.
    pub left: Left,
}

/// The state in which an operation has left a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// This write was the last one.
    Write(WriteMark),
    /// This content. The operation may have been carried out twice, so the last write is unknown.
    Document(Bytes),
    /// There is none.
    Absent,
}

/// What the index has under an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// What the last operation left.
    Same,
    /// Something was written after it.
    Written,
    /// It could not be read, with the reason.
    Failed(String),
}

/// What is known about the order of operations behind requests without an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Order {
    /// Ids that were read at the end.
    pub checked: u64,
    /// Ids that something was written to between the later operations of this run, or after the
    /// last of them.
    pub written: u64,
    /// Some of the latter.
    pub named: Vec<String>,
    /// Ids with a later operation for which it is unknown whether an earlier request can still be
    /// carried out, or which could not be read.
    pub unknown: u64,
    /// The reason for the first of them.
    pub why: Option<String>,
    /// Ids whose earlier requests are over, and whose last write is not known: a later operation
    /// was sent twice as well. An id that the memory had no room for counts with each request.
    pub unchecked: u64,
}

impl Order {
    fn was_written(&mut self, action: &[u8]) {
        self.written += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(String::from_utf8_lossy(action).into_owned());
        }
    }
}

/// Whether the action line is one of an update, whose document is a part of what the index has.
fn is_update(action: &[u8]) -> bool {
    action.starts_with(b"{\"update\"")
}

/// An id that a request without an answer had.
#[derive(Debug)]
struct Known {
    /// The operation of the latest such request.
    operation: (BlockId, u32),
    /// It is unknown whether these requests are over.
    is_unknown: bool,
    /// The replies do not tell every write.
    is_unchecked: bool,
    /// An operation followed the one of the first such request.
    is_followed: bool,
    /// The last operation that followed.
    last: Option<Last>,
    /// The version that this operation left, and whether it is one of a delete. `None` if the
    /// operation may have been carried out twice.
    version: Option<(u64, bool)>,
}

impl Known {
    fn new(operation: (BlockId, u32)) -> Self {
        Known { operation, is_unknown: false, is_unchecked: false, is_followed: false, last: None, version: None }
    }

    /// Keeps what the last operation left. `bytes`: the memory of all ids for that, of which there
    /// are at most `most`; what does not fit is not read at the end.
    fn leaves(&mut self, last: Option<Last>, bytes: &mut u64, most: u64) {
        *bytes -= self.last.as_ref().map_or(0, Last::bytes);
        let fits = |last: &Last| *bytes + last.bytes() <= most;
        self.last = last.map(|last| if fits(&last) { last } else { Last::Unknown });
        *bytes += self.last.as_ref().map_or(0, Last::bytes);
    }

    /// Whether nothing was written between this operation and the one before, as far as its reply
    /// says. `expected`: the version that the one before left, and whether it was a delete.
    fn is_next(
        &mut self,
        settled: Settled,
        (expected, mark): (Option<(u64, bool)>, Option<WriteMark>),
        [is_repeated, is_whole, replaces]: [bool; 3],
    ) -> bool {
        match (expected, mark) {
            // The reply to a `create` or an update says whether the document was there.
            _ if !replaces && self.is_present() && settled == Settled::Created => false,
            // An earlier attempt may explain every other result.
            _ if is_repeated => true,
            _ if !replaces && self.is_absent() => settled == Settled::Created,
            _ if is_whole => true,
            (Some((before, _)), Some(mark)) if settled == Settled::Noop => mark.version == before,
            // The version of a deleted document is forgotten after a time.
            (Some((before, deleted)), Some(mark)) => mark.version == before + 1 || (deleted && mark.version == 1),
            (None, _) | (_, None) => {
                self.is_unchecked |= self.last.is_some();
                true
            }
        }
    }

    /// Whether the last operation left no document.
    fn is_absent(&self) -> bool {
        matches!(&self.last, Some(Last::Read(last)) if last.left == Left::Absent)
    }

    /// Whether it left one.
    fn is_present(&self) -> bool {
        matches!(&self.last, Some(Last::Read(last)) if last.left != Left::Absent)
    }
}

#[derive(Debug)]
enum Last {
    Read(Box<LastWrite>),
    /// It is unknown what the operation left.
    Unknown,
}

impl Last {
    fn bytes(&self) -> u64 {
        let Last::Read(write) = self else { return 0 };
        let document = if let Left::Document(document) = &write.left { document.len() } else { 0 };
        (size_of::<LastWrite>() + write.action.len() + document) as u64
    }
}

/// A request that may still be carried out.
#[derive(Debug)]
struct OpenRequest {
    keys: Vec<u64>,
    /// How many of these ids the memory had no room for, without those that have a version.
    beyond: u64,
}

#[derive(Debug, Default)]
pub(super) struct Open {
    requests: BTreeMap<u64, OpenRequest>,
    known: HashMap<u64, Known, BuildHasherDefault<AlreadyHashed>>,
    /// Memory of what the last operations left, bytes.
    left_bytes: u64,
    /// Ids with a later operation, which are read in this request.
    reading: Option<(u64, Vec<LastWrite>)>,
    /// The ids were read.
    is_read: bool,
    to_read: Vec<LastWrite>,
    order: Order,
}

impl Open {
    /// Memory of the ids and of what their last operations left, bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.known.len() as u64 * KNOWN_BYTES + self.left_bytes
    }

    /// Whether an item has an id that a request without an answer had.
    fn knows_any(&self, batch: &Batch) -> bool {
        !self.known.is_empty() && keys(batch).any(|(_, _, key)| self.known.contains_key(&key))
    }
}

/// The items of a batch with an id: the segment, the item in its block, and the hash of the id.
fn keys(batch: &Batch) -> impl Iterator<Item = (&Segment, u32, u64)> {
    batch.segments.iter().flat_map(|segment| {
        (segment.first..segment.end).filter_map(move |item| Some((segment, item, segment.block.items.key(item)?)))
    })
}

impl Flow {
    /// A request may still be carried out, although no more is heard of it.
    pub(super) fn open(&mut self, request: u64, part: &Part) {
        if !self.pending.keeps_order() {
            return;
        }
        let most = self.config.memory / KNOWN_PART / KNOWN_BYTES;
        let (mut hashes, mut beyond) = (Vec::new(), 0);
        for (segment, item, key) in keys(&part.batch) {
            let operation = (segment.block.id, item);
            hashes.push(key);
            let is_full = self.open.known.len() as u64 >= most;
            match self.open.known.entry(key) {
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.is_followed |= known.operation != operation;
                    (known.operation, known.version) = (operation, None);
                }
                // The server refuses an older version, however late it comes.
                Entry::Vacant(_) if is_full => beyond += u64::from(!segment.block.items.has_version(item)),
                Entry::Vacant(room) => drop(room.insert(Known::new(operation))),
            }
        }
        if hashes.is_empty() {
            return;
        }
        self.pending.open(&hashes);
        self.open.requests.insert(request, OpenRequest { keys: hashes, beyond });
        self.commands.push_back(Command::AwaitOver { request });
    }

    /// A request without an answer is over, or nothing more can be found out about it. Later
    /// operations on its ids are sent.
    pub fn handle_over(&mut self, now: Time, request: u64, over: Over) {
        let Some(OpenRequest { keys, beyond }) = self.open.requests.remove(&request) else { return };
        match over {
            Over::Ended => self.open.order.unchecked += beyond,
            Over::Unknown(why) => {
                for key in &keys {
                    if let Some(known) = self.open.known.get_mut(key) {
                        known.is_unknown = true;
                    }
                }
                self.open.order.unknown += beyond;
                self.open.order.why.get_or_insert(why);
            }
        }
        self.pending.close(now, &keys);
    }

    /// Whether operations on one id take effect in the order of the source.
    pub fn keeps_order(&self) -> bool {
        self.pending.keeps_order()
    }

    /// What is known about the order of operations behind requests without an answer.
    pub fn order(&self) -> &Order {
        &self.open.order
    }

    /// Whether nothing can be done before a request without an answer is over.
    pub fn waits_for_order(&self) -> bool {
        let waits = self.slots.is_empty() && self.pending.is_empty() && self.pending.held() > 0;
        waits && !self.open.requests.is_empty()
    }

    /// Whether the marks of the items' writes are needed.
    pub(super) fn wants_marks(&self, batch: &Batch) -> bool {
        self.open.knows_any(batch)
    }

    /// Remembers what operations on ids that were open have left. `marks`: those of the items.
    pub(super) fn note_writes(
        &mut self,
        segment: &Segment,
        settled: Settled,
        index: Option<&str>,
        marks: &[Option<WriteMark>],
    ) {
        if self.open.known.is_empty() {
            return;
        }
        let most = self.config.memory / KNOWN_PART;
        let Open { known: all, left_bytes, order, .. } = &mut self.open;
        for (at, item) in (segment.first..segment.end).enumerate() {
            let items = &segment.block.items;
            let Some(known) = items.key(item).and_then(|key| all.get_mut(&key)) else { continue };
            if items.has_version(item) {
                // The server refuses an older version, however late it comes.
                known.leaves(None, left_bytes, most);
                known.version = None;
                continue;
            }
            let is_repeated = known.operation == (segment.block.id, item);
            known.is_followed |= !is_repeated;
            if !known.is_followed {
                // A late repetition leaves the same document.
                continue;
            }
            let (action, document) = items.action_and_document(item);
            let mark = marks.get(at).copied().flatten();
            let (is_whole, replaces) =
                (!is_update(&action), action.starts_with(b"{\"index\"") || action.starts_with(b"{\"delete\""));
            let left = match settled {
                Settled::Deleted | Settled::NotFound => Some(Left::Absent),
                // The document may be an older one: then the operation left it as it was.
                Settled::AlreadyThere if !known.is_absent() => {
                    known.last.get_or_insert(Last::Unknown);
                    continue;
                }
                Settled::Created | Settled::Updated | Settled::Noop | Settled::AlreadyThere => match mark {
                    Some(mark) if !is_repeated => Some(Left::Write(mark)),
                    _ => is_whole.then(|| Left::Document(Bytes::copy_from_slice(&document))),
                },
                Settled::Unknown => None,
                // Nothing was written under this id.
                Settled::Conflicting | Settled::Dropped | Settled::Redirected | Settled::Superseded => continue,
            };
            known.is_unchecked |= !replaces && matches!(known.last, Some(Last::Unknown));
            let action = Bytes::copy_from_slice(&action);
            let expected = known.version.take();
            known.version = mark.filter(|_| !is_repeated).map(|mark| (mark.version, left == Some(Left::Absent)));
            let is_next = known.is_next(settled, (expected, mark), [is_repeated, is_whole, replaces]);
            if !is_next {
                order.was_written(&action);
            }
            let last = match left {
                Some(left) => Last::Read(Box::new(LastWrite { index: index.map(str::to_owned), action, left })),
                None => Last::Unknown,
            };
            known.leaves(Some(last), left_bytes, most);
        }
    }

    /// Remembers refusals that contradict the last operation: a `create` that met a document
    /// (`exists`), or an update that met none.
    pub(super) fn note_refusals(&mut self, segment: &Segment, exists: bool) {
        if self.open.known.is_empty() {
            return;
        }
        let Open { known: all, left_bytes, order, .. } = &mut self.open;
        for item in segment.first..segment.end {
            let items = &segment.block.items;
            let Some(known) = items.key(item).and_then(|key| all.get_mut(&key)) else { continue };
            if if exists { known.is_absent() } else { known.is_present() } {
                known.leaves(None, left_bytes, 0);
                known.version = None;
                order.was_written(&items.action_and_document(item).0);
            }
        }
    }

    /// Whether ids have to be read before the run is done.
    pub(super) fn has_to_read(&self) -> bool {
        let any = || self.open.known.values().any(|known| known.last.is_some());
        self.open.reading.is_some() || !self.open.to_read.is_empty() || (!self.open.is_read && any())
    }

    /// Reads the ids with a later operation, once everything else is done.
    pub(super) fn read_back_if_due(&mut self) {
        let settled = self.source_ended && self.slots.is_empty() && self.pending.is_drained();
        let durable = self.durable.as_ref().is_none_or(super::Durable::is_done);
        if self.stop.is_some() || !settled || !durable || self.open.reading.is_some() {
            return;
        }
        if !std::mem::replace(&mut self.open.is_read, true) {
            for known in self.open.known.values_mut() {
                match known.last.take() {
                    None => {}
                    Some(Last::Read(last)) => {
                        self.open.order.unknown += u64::from(known.is_unknown);
                        self.open.order.unchecked += u64::from(known.is_unchecked && !known.is_unknown);
                        self.open.to_read.push(*last);
                    }
                    Some(Last::Unknown) => {
                        self.open.order.unknown += u64::from(known.is_unknown);
                        self.open.order.unchecked += u64::from(!known.is_unknown);
                    }
                }
            }
        }
        if self.open.to_read.is_empty() {
            return;
        }
        let rest = self.open.to_read.len().saturating_sub(READ_AT_ONCE);
        let writes = self.open.to_read.split_off(rest);
        let request = self.next_id();
        self.open.reading = Some((request, writes.clone()));
        self.commands.push_back(Command::ReadBack { request, writes });
    }

    /// The state of the ids of [`Command::ReadBack`], in their order.
    pub fn handle_read_back(&mut self, request: u64, found: &[ReadBack]) {
        let Some((_, writes)) = self.open.reading.take_if(|(reading, _)| *reading == request) else { return };
        let order = &mut self.open.order;
        for (at, write) in writes.iter().enumerate() {
            match found.get(at) {
                Some(ReadBack::Same) => order.checked += 1,
                Some(ReadBack::Written) => {
                    order.checked += 1;
                    order.was_written(&write.action);
                }
                Some(ReadBack::Failed(why)) => {
                    order.unknown += 1;
                    order.why.get_or_insert_with(|| why.clone());
                }
                None => order.unknown += 1,
            }
        }
    }
}

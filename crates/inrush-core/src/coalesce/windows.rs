//! The windows of ids, and the order of operations with one id.
//!
//! An operation that is replaced keeps its place: the later one is sent when the earlier one would
//! have been. So an id that changes all the time is sent once a window, and memory is released in
//! the order of reading.

use std::collections::VecDeque;
use std::hash::BuildHasherDefault;

use hashbrown::HashMap;

use super::Coalesce;
use super::replace::{is_whole, replaces};
use crate::batch::Segment;
use crate::order::AlreadyHashed;
use crate::outcome::Settled;
use crate::time::Time;

/// Memory of an id besides its documents, bytes: its entries in the map, in its queue and in a
/// queue of turns, with the space that these keep free.
const ID_BYTES: u64 = 256;

/// Memory of a replaced operation besides its document, bytes.
const REPLACED_BYTES: u64 = 32;

/// What the end of an operation means for the earlier ones that it replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The index has this or a newer state of the id. The replaced ones are superseded.
    Done,
    /// The index has the state from before. The last replaced one is sent.
    Refused,
    /// The index has one of both states. The ends of the replaced ones are unknown as well.
    Unknown,
}

impl End {
    /// `None`: a dead letter.
    pub(crate) fn of(settled: Option<Settled>) -> Self {
        match settled {
            None | Some(Settled::Dropped | Settled::Redirected) => End::Refused,
            Some(Settled::Unknown) => End::Unknown,
            Some(
                Settled::Created
                | Settled::Updated
                | Settled::Deleted
                | Settled::Noop
                | Settled::NotFound
                | Settled::AlreadyThere
                | Settled::Conflicting
                | Settled::Superseded,
            ) => End::Done,
        }
    }
}

/// Operations that wait, by the hash of their id. At most one operation of an id is in flight.
#[derive(Debug)]
pub(crate) struct Windows {
    option: Coalesce,
    ids: HashMap<u64, Id, BuildHasherDefault<AlreadyHashed>>,
    /// Turns whose window is open, in the order of their first operations.
    open: VecDeque<Opened>,
    /// Turns whose window has ended.
    ready: VecDeque<Turn>,
    /// Bytes of the operations whose turn is in `ready`.
    ready_bytes: u64,
    ready_since: Option<Time>,
    /// Turns that wait for the operation in flight.
    held: usize,
    /// Operations that were pushed.
    pushed: u64,
    /// Replaced operations that are not settled.
    replaced: u64,
}

/// The turn of an operation: the hash of its id, and the number of the first one that it replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    key: u64,
    number: u64,
}

#[derive(Debug)]
struct Opened {
    turn: Turn,
    at: Time,
}

#[derive(Debug)]
struct Id {
    /// The operation in flight.
    sent: Option<Sent>,
    /// The operations that wait, in order. Usually there is one.
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Sent {
    number: u64,
    /// The operations that it replaced, in order.
    replaced: Vec<Segment>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    item: Segment,
    /// The operations that it replaced, in order.
    replaced: Vec<Segment>,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Open,
    Ready,
    /// The turn came while another operation of the id was in flight.
    Held,
}

impl Windows {
    pub(crate) fn new(option: Coalesce) -> Self {
        Windows {
            option,
            ids: HashMap::default(),
            open: VecDeque::new(),
            ready: VecDeque::new(),
            ready_bytes: 0,
            ready_since: None,
            held: 0,
            pushed: 0,
            replaced: 0,
        }
    }

    /// Takes one item with an id.
    pub(crate) fn push(&mut self, now: Time, key: u64, item: Segment) {
        self.pushed += 1;
        let id = self.ids.entry(key).or_insert_with(|| Id { sent: None, waiting: VecDeque::with_capacity(1) });
        if let Some(last) = id.waiting.back_mut()
            && replaces(&item, &last.item)
        {
            if last.place == Place::Ready {
                self.ready_bytes = self.ready_bytes - last.item.bytes() + item.bytes();
            }
            last.replaced.push(std::mem::replace(&mut last.item, item));
            self.replaced += 1;
            return;
        }
        let turn = Turn { key, number: self.pushed };
        let may_wait = is_whole(&item);
        id.waiting.push_back(Waiting { number: turn.number, item, replaced: Vec::new(), place: Place::Open });
        if may_wait {
            return self.open.push_back(Opened { turn, at: now });
        }
        let open = id.waiting.iter().filter(|waiting| waiting.place == Place::Open);
        let turns: Vec<Turn> = open.map(|waiting| Turn { key, number: waiting.number }).collect();
        for turn in turns {
            self.make_ready(now, turn);
        }
    }

    /// Ends windows: those that are due, and the oldest ones until `bytes_wanted` bytes are ready.
    pub(crate) fn end(&mut self, now: Time, bytes_wanted: u64) {
        while let Some(&Opened { turn, at }) = self.open.front() {
            let docs = self.option.docs().is_some_and(|docs| self.pushed - turn.number >= docs.get());
            if !docs && now < at + self.option.time() && self.ready_bytes >= bytes_wanted {
                return;
            }
            self.open.pop_front();
            self.make_ready(now, turn);
        }
    }

    /// When the oldest window ends by time.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.open.front().map(|opened| opened.at + self.option.time())
    }

    /// Whether a window is open.
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The number of operations whose window has ended.
    pub(crate) fn ready(&self) -> u64 {
        self.ready.len() as u64
    }

    /// Their bytes.
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.ready_bytes
    }

    /// The time from which the oldest one of them is ready.
    pub(crate) fn ready_since(&self) -> Option<Time> {
        self.ready_since
    }

    /// The number of operations that wait for the one in flight.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Memory besides the documents, bytes.
    pub(crate) fn overhead(&self) -> u64 {
        self.ids.len() as u64 * ID_BYTES + self.replaced * REPLACED_BYTES
    }

    /// Takes the next operation to be sent. It is in flight until [`Windows::settled`].
    pub(crate) fn next(&mut self, now: Time) -> Option<Segment> {
        while let Some(turn) = self.ready.pop_front() {
            // The times of the others are not stored, so they wait at most one more linger.
            self.ready_since = (!self.ready.is_empty()).then_some(now);
            let Some(id) = self.ids.get_mut(&turn.key) else { continue };
            let at = id.waiting.iter().position(|waiting| waiting.number == turn.number);
            let Some((at, waiting)) = at.and_then(|at| Some((at, id.waiting.get_mut(at)?))) else { continue };
            self.ready_bytes -= waiting.item.bytes();
            if at > 0 || id.sent.is_some() {
                waiting.place = Place::Held;
                self.held += 1;
                continue;
            }
            let Waiting { number, item, replaced, .. } = id.waiting.pop_front()?;
            id.sent = Some(Sent { number, replaced });
            return Some(item);
        }
        None
    }

    /// The operation of the id that was in flight has ended. Returns the replaced ones that end
    /// with it.
    pub(crate) fn settled(&mut self, now: Time, key: u64, end: End) -> Vec<Segment> {
        let replaced = self.settled_open(key, end);
        let Some(id) = self.ids.get_mut(&key) else { return replaced };
        if id.sent.take().is_none() {
            return replaced;
        }
        match id.waiting.front() {
            None => drop(self.ids.remove(&key)),
            Some(next) if next.place == Place::Held => {
                let turn = Turn { key, number: next.number };
                self.held -= 1;
                self.make_ready_first(now, turn);
            }
            Some(_) => {}
        }
        replaced
    }

    /// As [`Windows::settled`], where a request without an answer may still write the id: no other
    /// operation of it is sent until [`Windows::settled`].
    pub(crate) fn settled_open(&mut self, key: u64, end: End) -> Vec<Segment> {
        let Some(id) = self.ids.get_mut(&key) else { return Vec::new() };
        let Some(Sent { number, replaced }) = &mut id.sent else { return Vec::new() };
        let (number, mut replaced) = (*number, std::mem::take(replaced));
        if end == End::Refused
            && let Some(last) = replaced.pop()
        {
            match id.waiting.front_mut() {
                Some(next) if replaces(&next.item, &last) => {
                    replaced.push(last);
                    replaced.append(&mut next.replaced);
                    next.replaced = replaced;
                }
                _ => {
                    self.replaced -= 1;
                    self.held += 1;
                    id.waiting.push_front(Waiting { number, item: last, replaced, place: Place::Held });
                }
            }
            replaced = Vec::new();
        }
        self.replaced -= replaced.len() as u64;
        replaced
    }

    /// Ends the window of a turn, unless it has ended.
    fn make_ready(&mut self, now: Time, turn: Turn) {
        if self.set_ready(now, turn, Place::Open) {
            self.ready.push_back(turn);
        }
    }

    /// The id of a turn has become free. It is sent first.
    fn make_ready_first(&mut self, now: Time, turn: Turn) {
        if self.set_ready(now, turn, Place::Held) {
            self.ready.push_front(turn);
        }
    }

    fn set_ready(&mut self, now: Time, turn: Turn, from: Place) -> bool {
        let Some(id) = self.ids.get_mut(&turn.key) else { return false };
        let mut waiting =
            id.waiting.iter_mut().filter(|waiting| waiting.number == turn.number && waiting.place == from);
        let Some(waiting) = waiting.next() else { return false };
        waiting.place = Place::Ready;
        self.ready_bytes += waiting.item.bytes();
        self.ready_since.get_or_insert(now);
        true
    }
}

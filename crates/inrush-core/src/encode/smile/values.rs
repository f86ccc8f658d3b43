//! String values that a document has more than once.

use xxhash_rust::xxh3::xxh3_64;

use super::token::{self, can_refer};

/// Twice as many as there can be values, so that a free one is always near.
const SLOTS: usize = 2 * token::SHARED_MAX as usize;

/// The short string values of this document: where they were written, by their hash.
#[derive(Debug)]
pub(super) struct Values {
    slots: Vec<Slot>,
    /// Tells the table of this document, since it was emptied last, from all others.
    epoch: u64,
    count: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    epoch: u64,
    hash: u32,
    /// Where its bytes begin in the output.
    start: u32,
    reference: u16,
    len: u8,
}

impl Values {
    pub(super) fn new() -> Self {
        Values { slots: vec![Slot::default(); SLOTS], epoch: 0, count: 0 }
    }

    /// Begins a document.
    pub(super) fn begin(&mut self) {
        self.epoch += 1;
        self.count = 0;
    }

    /// What refers to the value that was written from `start` on, if the document had it before. If not, it can be referred to from now on.
    /// At most 64 bytes.
    pub(super) fn share(&mut self, written: &[u8], start: usize) -> Option<u32> {
        let value = &written[start..];
        let hash = xxh3_64(value);
        let home = hash as usize % SLOTS;
        let mut at = home;
        let hash = (hash >> 32) as u32;
        while self.slots[at].epoch == self.epoch {
            let slot = &self.slots[at];
            let first = slot.start as usize;
            if slot.hash == hash && &written[first..first + usize::from(slot.len)] == value {
                return Some(u32::from(slot.reference));
            }
            at = (at + 1) % SLOTS;
        }
        if self.count == token::SHARED_MAX {
            self.epoch += 1;
            self.count = 0;
            at = home;
        }
        if can_refer(self.count) {
            let (reference, len) = (self.count as u16, value.len() as u8);
            self.slots[at] = Slot { epoch: self.epoch, hash, start: start as u32, reference, len };
        }
        self.count += 1;
        None
    }
}

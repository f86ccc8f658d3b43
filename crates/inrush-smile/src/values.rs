//! String values that a document has more than once.

use alloc::vec;
use alloc::vec::Vec;

use xxhash_rust::xxh3::xxh3_64;

use crate::token::{self, can_refer};

/// Twice the number of values, so that a free slot is always near.
const SLOTS: usize = 2 * token::SHARED_MAX as usize;

/// The short string values of this document by hash, with their offsets in the output.
#[derive(Debug)]
pub(crate) struct Values {
    slots: Vec<Slot>,
    /// Identifies the table of this document since the table was last cleared.
    epoch: u64,
    count: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    epoch: u64,
    hash: u32,
    /// The offset of the value in the output.
    start: u32,
    reference: u16,
    len: u8,
}

impl Values {
    pub(crate) fn new() -> Self {
        Values { slots: vec![Slot::default(); SLOTS], epoch: 0, count: 0 }
    }

    /// Begins a document.
    pub(crate) fn begin(&mut self) {
        self.epoch += 1;
        self.count = 0;
    }

    /// Returns the reference of the value that was written from `start` on, if the document had it
    /// before. Otherwise the value can be referred to from now on. At most 64 bytes.
    pub(crate) fn share(&mut self, written: &[u8], start: usize) -> Option<u32> {
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

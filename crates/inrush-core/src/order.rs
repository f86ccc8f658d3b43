//! Documents with the same id take effect in source order.
//!
//! Bulk requests are not ordered, and a retried item comes after its successors in the same
//! request. So at most one document of an id is in flight: a later one is held until the earlier
//! one is settled. A collision of the 64-bit hashes only holds a document back without need.

use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

/// The ids in flight, by hash, each with the items that wait for it.
#[derive(Debug)]
pub(crate) struct IdsInFlight<T> {
    ids: HashMap<u64, Option<VecDeque<T>>, BuildHasherDefault<AlreadyHashed>>,
    held: usize,
}

impl<T> Default for IdsInFlight<T> {
    fn default() -> Self {
        IdsInFlight { ids: HashMap::default(), held: 0 }
    }
}

impl<T> IdsInFlight<T> {
    /// Marks the id as in flight and returns `true`. If it already is, holds back `item` and
    /// returns `false`.
    pub(crate) fn enter(&mut self, key: u64, item: impl FnOnce() -> T) -> bool {
        match self.ids.entry(key) {
            hashbrown::hash_map::Entry::Vacant(entry) => {
                entry.insert(None);
                true
            }
            hashbrown::hash_map::Entry::Occupied(mut entry) => {
                entry.get_mut().get_or_insert_default().push_back(item());
                self.held += 1;
                false
            }
        }
    }

    /// Settles the id's document. Returns the next item that waited for the id; it takes the place.
    pub(crate) fn leave(&mut self, key: u64) -> Option<T> {
        let next = self.ids.get_mut(&key)?.as_mut().and_then(|held| held.pop_front());
        match next {
            Some(item) => {
                self.held -= 1;
                Some(item)
            }
            None => {
                self.ids.remove(&key);
                None
            }
        }
    }

    /// The number of documents held back.
    pub(crate) fn held(&self) -> usize {
        self.held
    }
}

/// A hasher for keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ones_wait_in_order() {
        let mut ids = IdsInFlight::default();
        assert!(ids.enter(7, || "a1"));
        assert!(!ids.enter(7, || "a2"));
        assert!(!ids.enter(7, || "a3"));
        assert!(ids.enter(8, || "b1"));
        assert_eq!(ids.held(), 2);
        assert_eq!(ids.leave(7), Some("a2"));
        assert!(!ids.enter(7, || "a4"));
        assert_eq!(ids.leave(7), Some("a3"));
        assert_eq!(ids.leave(7), Some("a4"));
        assert_eq!(ids.leave(7), None);
        assert_eq!(ids.leave(8), None);
        assert!(ids.enter(7, || "a5"));
        assert_eq!(ids.held(), 0);
    }
}

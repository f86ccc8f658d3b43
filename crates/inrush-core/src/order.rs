//! Documents with the same id take effect in source order.
//!
//! Nothing is ordered between bulk requests, and inside of one a retried item comes after its successors. So no two
//! documents with the same id are under way at once: a later one is held back until the earlier one is settled.
//! A collision of the 64-bit hashes only holds a document back for nothing.

use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

/// The ids under way, by hash, with what waits for each of them.
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
    /// Marks the id as under way. If it is already, `item` is made and held back, and the answer is `false`.
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

    /// The id's document is settled. The next one that waited for it takes its place and is returned.
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

    /// How many documents are held back.
    pub(crate) fn held(&self) -> usize {
        self.held
    }
}

/// The keys are hashes themselves.
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

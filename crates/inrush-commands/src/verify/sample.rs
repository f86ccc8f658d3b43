//! A random sample of the ids of a source of unknown length, each with its last document.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;

use super::found::key_of;
use super::read::Record;

/// Keeps the documents whose ids have the smallest hashes, so each id of the source has the same
/// chance, however often it occurs. A discarded id cannot come back, and an id that stays was kept
/// from its first document on, so the kept document is its last one.
pub(super) struct Sample {
    size: usize,
    hasher: RandomState,
    kept: BTreeMap<(u64, Vec<u8>), Record>,
}

impl Sample {
    /// A sample of `size` ids, different each time.
    pub(super) fn new(size: usize) -> Self {
        Sample { size, hasher: RandomState::new(), kept: BTreeMap::new() }
    }

    pub(super) fn offer(&mut self, record: Record) {
        let key = key_of(&record.key.id, record.key.routing.as_deref());
        let place = (self.hasher.hash_one(&key), key);
        let full = self.kept.len() >= self.size;
        if full && self.kept.last_key_value().is_none_or(|(last, _)| *last < place) {
            return;
        }
        // A slice would keep its whole chunk in memory.
        let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
        self.kept.insert(place, Record { document: copy(&record.document), raw: copy(&record.raw), ..record });
        if self.kept.len() > self.size {
            self.kept.pop_last();
        }
    }

    /// The records, in the order of the source.
    pub(super) fn into_records(self) -> Vec<Record> {
        let mut records: Vec<Record> = self.kept.into_values().collect();
        records.sort_by_key(|record| record.place);
        records
    }
}

#[cfg(test)]
mod tests {
    use inrush_cluster::api::lookup::Wanted;

    use super::*;
    use crate::verify::read::Place;

    #[test]
    fn each_id_is_there_once_with_its_last_document() {
        for size in [1, 7, 100, 1_000] {
            let mut sample = Sample::new(size);
            for n in 0..1_000_u64 {
                let document = Bytes::from(n.to_string());
                sample.offer(Record {
                    key: Wanted { id: (n % 100).to_string(), routing: None },
                    raw: document.clone(),
                    document,
                    place: Place { source: 0, line: n },
                });
            }
            let records = sample.into_records();
            assert_eq!(records.len(), size.min(100));
            assert!(records.iter().all(|record| record.place.line >= 900), "{records:?}");
            assert!(records.iter().all(|record| record.document == record.place.line.to_string()));
            assert!(records.is_sorted_by_key(|record| record.place.line));
        }
    }
}

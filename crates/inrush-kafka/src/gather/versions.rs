//! External versions of documents, from their records.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use inrush_core::Code;
use inrush_core::{Action, DocMeta, MetaFields, VersionType};

use crate::VersionFrom;
use crate::client::TopicPartition;
use crate::values::Problem;

/// The timestamp of a record without one.
pub(crate) const NO_TIME: i64 = -1;

/// Where versions come from.
#[derive(Clone)]
pub(crate) enum Versions {
    Offset,
    Timestamp,
    Field(Arc<MetaFields>),
}

impl Versions {
    pub(crate) fn of(from: &VersionFrom) -> Self {
        match from {
            VersionFrom::Offset => Versions::Offset,
            VersionFrom::Timestamp => Versions::Timestamp,
            VersionFrom::Field(path) => {
                Versions::Field(Arc::new(MetaFields { version: Some(path.clone()), ..MetaFields::default() }))
            }
        }
    }

    /// Adds the version to what is known of a document. A record that is read again has the same
    /// version, and is no conflict. A deletion whose id is that of the key has no document, so it
    /// has no field either.
    pub(super) fn add(&self, meta: DocMeta, offset: i64, timestamp: i64) -> Result<DocMeta, Problem> {
        let meta = meta.with_version_type(VersionType::ExternalGte);
        match self {
            // Offsets are not negative.
            Versions::Offset => Ok(meta.with_version(offset as u64)),
            Versions::Timestamp => match u64::try_from(timestamp) {
                Ok(version) => Ok(meta.with_version(version)),
                Err(_) => {
                    Err((Code::BadVersion, "the record has no timestamp, and versions are timestamps".to_owned()))
                }
            },
            Versions::Field(_) if meta.action == Some(Action::Delete) && meta.id.is_some() => Ok(meta),
            Versions::Field(fields) => Ok(meta.with_fields(Arc::clone(fields))),
        }
    }
}

/// The partitions that keys were seen in lately. Offsets of two partitions do not compare, so a key
/// in both of them has no order.
pub(crate) struct KeyPlaces {
    /// The hash of a key and the number of its partition, at a place that the hash names.
    seen: Vec<(u64, u32)>,
    hasher: RandomState,
}

/// Keys that are remembered at most. A key takes the place of another one.
const PLACES: usize = 1 << 16;

impl KeyPlaces {
    pub(crate) fn new() -> Self {
        KeyPlaces { seen: vec![(0, u32::MAX); PLACES], hasher: RandomState::new() }
    }

    /// The number of another partition that has a record with this key.
    pub(crate) fn other(&mut self, key: &[u8], number: u32) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let place = &mut self.seen[hash as usize % PLACES];
        let (before, other) = std::mem::replace(place, (hash, number));
        (before == hash && other != number && other != u32::MAX).then_some(other)
    }
}

/// The warning about a key in two partitions.
pub(crate) fn two_places(key: &[u8], one: &TopicPartition, other: &TopicPartition) -> String {
    let key: String = String::from_utf8_lossy(key).chars().take(64).collect();
    format!(
        "key {key:?} is in {one} and in {other}. Versions are offsets, and those of two partitions do not compare, \
         so an older record may stay; give option `version_from=timestamp`, or write the key to one partition"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_two_partitions_is_found() {
        let mut places = KeyPlaces::new();
        assert_eq!([places.other(b"a", 0), places.other(b"b", 1), places.other(b"a", 0)], [None; 3]);
        assert_eq!(places.other(b"a", 1), Some(0));
        let text = two_places(b"a", &TopicPartition::new("orders", 0), &TopicPartition::new("orders", 1));
        assert!(text.starts_with("key \"a\" is in orders/0 and in orders/1"), "{text}");
    }

    #[test]
    fn each_document_has_the_version_that_is_asked_for() {
        let delete = DocMeta::default().with_action(Action::Delete).with_id("a".to_owned());
        let version = |versions: &Versions, meta: &DocMeta, timestamp| {
            versions.add(meta.clone(), 7, timestamp).map(|meta| {
                assert_eq!(meta.version_type, VersionType::ExternalGte);
                (meta.version, meta.fields.is_some())
            })
        };
        let document = DocMeta::default();
        for meta in [&delete, &document] {
            assert_eq!(version(&Versions::Offset, meta, NO_TIME), Ok((Some(7), false)));
            assert_eq!(version(&Versions::Timestamp, meta, 5), Ok((Some(5), false)));
            assert_eq!(version(&Versions::Timestamp, meta, NO_TIME).unwrap_err().0, Code::BadVersion);
        }
        let field = Versions::of(&"updated.at".parse().unwrap());
        assert_eq!(version(&field, &document, NO_TIME), Ok((None, true)));
        assert_eq!(version(&field, &delete, NO_TIME), Ok((None, false)));
    }
}

//! Ids that documents of several indices have: in one index, such documents are one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use inrush_core::{DocMeta, SourceId};

use super::super::Warnings;

/// The most ids that are remembered. Of more ids, one in two is, then one in four, and so on.
const IDS_MAX: usize = 1 << 20;

/// Looks for ids of documents in several indices.
pub(super) struct SharedIds {
    /// The names of the indices, by the number of the source.
    names: Vec<String>,
    seen: Mutex<Seen>,
}

/// The ids so far, of which one in `2^halved` is remembered.
#[derive(Default)]
struct Seen {
    /// The index of an id, by its hash.
    indices: HashMap<u64, SourceId>,
    halved: u32,
    has_any: bool,
}

impl SharedIds {
    /// Nothing to look for where there is only one index.
    pub(super) fn of(names: Vec<String>) -> Option<Self> {
        (names.len() > 1).then(|| SharedIds { names, seen: Mutex::default() })
    }

    /// Adds documents of an index, and warns about those with an id of another one.
    pub(super) fn add(&self, expression: &str, source: SourceId, documents: &[DocMeta], warnings: &Warnings) {
        let ids = documents.iter().filter_map(|document| document.id.as_deref());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            let Some(other) = seen.add(id, source, IDS_MAX) else { continue };
            let message = || self.message(id, other, source);
            if !std::mem::replace(&mut seen.has_any, true) {
                tracing::warn!("{}", message());
            }
            // Those that are not remembered are most likely as many.
            warnings.add(expression, "id_in_several_indices", "", 1 << seen.halved, message);
        }
    }

    fn message(&self, id: &str, first: SourceId, second: SourceId) -> String {
        let name = |source: SourceId| self.names.get(source.0 as usize).map_or("another index", String::as_str);
        let id: String = id.chars().take(64).collect();
        format!(
            "documents of several indices have the same id, and in one index only the last one is left: {id:?} is in \
             {} and in {}; to keep them apart give option `index_in_id`, or load each index into one of its own",
            name(first),
            name(second)
        )
    }
}

impl Seen {
    /// Remembers an id. Returns the index of the document that has it already.
    fn add(&mut self, id: &str, source: SourceId, most: usize) -> Option<SourceId> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let hash = hasher.finish();
        if !self.remembers(hash) {
            return None;
        }
        let before = self.indices.insert(hash, source);
        if self.indices.len() > most {
            self.halved += 1;
            let halved = self.halved;
            self.indices.retain(|hash, _| remembers(*hash, halved));
        }
        before.filter(|before| *before != source)
    }

    fn remembers(&self, hash: u64) -> bool {
        remembers(hash, self.halved)
    }
}

fn remembers(hash: u64, halved: u32) -> bool {
    hash.trailing_zeros() >= halved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs(ids: &[&str]) -> Vec<DocMeta> {
        ids.iter().map(|id| DocMeta::default().with_id(Some((*id).to_owned()))).collect()
    }

    #[test]
    fn an_id_of_two_indices_is_counted_once_for_each_further_index() {
        let warnings = Warnings::default();
        let shared = SharedIds::of(vec!["c-1".into(), "c-2".into(), "c-3".into()]).unwrap();
        shared.add("c-*", SourceId(0), &docs(&["1", "2", "3"]), &warnings);
        assert!(warnings.list().is_empty());
        // The same document is read again after a change.
        shared.add("c-*", SourceId(0), &docs(&["1"]), &warnings);
        assert!(warnings.list().is_empty());
        shared.add("c-*", SourceId(1), &docs(&["1", "4"]), &warnings);
        shared.add("c-*", SourceId(2), &docs(&["1", "3", "5"]), &warnings);
        let list = warnings.list();
        assert_eq!((list.len(), list[0].count), (1, 3));
        assert!(list[0].message.contains("\"1\" is in c-1 and in c-2"), "{}", list[0].message);
        assert!(list[0].message.contains("option `index_in_id`"), "{}", list[0].message);
    }

    #[test]
    fn one_index_and_documents_without_ids_have_nothing_to_look_for() {
        assert!(SharedIds::of(vec!["a".into()]).is_none());
        let warnings = Warnings::default();
        let shared = SharedIds::of(vec!["a".into(), "b".into()]).unwrap();
        shared.add("a,b", SourceId(0), &[DocMeta::default()], &warnings);
        shared.add("a,b", SourceId(1), &[DocMeta::default()], &warnings);
        assert!(warnings.list().is_empty());
    }

    #[test]
    fn of_many_ids_a_part_is_remembered_and_stands_for_the_others() {
        let mut seen = Seen::default();
        let mut shared = 0u64;
        for source in 0..2 {
            for id in 0..40_000 {
                if seen.add(&id.to_string(), SourceId(source), 1000).is_some() {
                    shared += 1 << seen.halved;
                }
            }
        }
        assert!(seen.indices.len() <= 1000);
        assert!((30_000..50_000).contains(&shared), "{shared}");
    }
}

//! Documents with a vector, counted as the cluster acknowledged them, and how many of them the
//! index must have. A server that loses a vector of a document that it has taken shows by this
//! alone.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// What an acknowledged operation did to a field with a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorMark {
    /// The document has a vector since.
    With,
    /// The document has none since.
    Without,
    /// The operation changes a part of the document, and this field is none of it.
    AsItWas,
}

/// The documents of an index by what a load did to one of its fields with vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct VectorCounts {
    /// New documents with a vector.
    pub created_with: u64,
    /// New documents without one.
    pub created_without: u64,
    /// Replaced or changed documents that have a vector since.
    pub updated_with: u64,
    /// Replaced or changed documents that have none since.
    pub updated_without: u64,
    /// Changed documents whose vector, or lack of one, stayed.
    pub updated_as_it_was: u64,
}

impl VectorCounts {
    /// Counts a new document.
    #[doc(hidden)]
    pub fn created(&mut self, mark: VectorMark) {
        match mark {
            VectorMark::With => self.created_with += 1,
            // There was nothing that could stay.
            VectorMark::Without | VectorMark::AsItWas => self.created_without += 1,
        }
    }

    /// Counts a replaced or changed document.
    #[doc(hidden)]
    pub fn updated(&mut self, mark: VectorMark) {
        match mark {
            VectorMark::With => self.updated_with += 1,
            VectorMark::Without => self.updated_without += 1,
            VectorMark::AsItWas => self.updated_as_it_was += 1,
        }
    }

    /// Adds the counts of other documents.
    #[doc(hidden)]
    pub fn add(&mut self, more: &VectorCounts) {
        self.created_with += more.created_with;
        self.created_without += more.created_without;
        self.updated_with += more.updated_with;
        self.updated_without += more.updated_without;
        self.updated_as_it_was += more.updated_as_it_was;
    }

    /// Whether these are the counts of all documents of a load: none was left out.
    #[doc(hidden)]
    pub fn are_of_all(&self, created: u64, updated: u64) -> bool {
        let with_or_without = self.updated_with + self.updated_without + self.updated_as_it_was;
        (self.created_with + self.created_without, with_or_without) == (created, updated)
    }

    /// How many documents of the index have a vector after the load. It is one number unless
    /// documents that may have had one were replaced, changed or deleted.
    #[doc(hidden)]
    pub fn expected(&self, before: VectorsBefore, deleted: u64) -> RangeInclusive<u64> {
        // Each document that got a vector, or was deleted without one, was without one before: at
        // the beginning, or since an operation of this load.
        let without = before.docs.saturating_sub(before.with) + self.created_without + self.updated_without;
        let all = before.with + self.created_with;
        let most = (all + without.min(self.updated_with + deleted)).saturating_sub(deleted);
        let least = all.saturating_sub(self.updated_without + deleted);
        least..=most.max(least)
    }
}

/// An index before a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorsBefore {
    /// Its documents.
    pub docs: u64,
    /// Those with a vector.
    pub with: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// An index: whether each document has a vector.
    type Model = BTreeMap<u8, bool>;

    fn with(model: &Model) -> u64 {
        model.values().filter(|with| **with).count() as u64
    }

    /// Carries operations out: `None` deletes.
    fn load(model: &mut Model, operations: &[(u8, Option<VectorMark>)]) -> (VectorCounts, u64) {
        let (mut counts, mut deleted) = (VectorCounts::default(), 0);
        for &(id, mark) in operations {
            let old = model.get(&id).copied();
            match (mark, old) {
                (None, old) => {
                    deleted += u64::from(old.is_some());
                    model.remove(&id);
                }
                (Some(mark), None) => {
                    counts.created(mark);
                    model.insert(id, mark == VectorMark::With);
                }
                (Some(mark), Some(old)) => {
                    counts.updated(mark);
                    model.insert(id, mark == VectorMark::With || (mark == VectorMark::AsItWas && old));
                }
            }
        }
        (counts, deleted)
    }

    fn operations(marks: Vec<Option<VectorMark>>) -> impl Strategy<Value = Vec<(u8, Option<VectorMark>)>> {
        prop::collection::vec((0..12u8, prop::sample::select(marks)), 0..40)
    }

    fn any_operations() -> impl Strategy<Value = Vec<(u8, Option<VectorMark>)>> {
        use VectorMark::{AsItWas, With, Without};
        operations(vec![None, Some(With), Some(Without), Some(AsItWas)])
    }

    proptest! {
        #[test]
        fn what_the_index_has_is_expected(
            mut model in prop::collection::btree_map(0..12u8, any::<bool>(), 0..12),
            operations in any_operations(),
        ) {
            let before = VectorsBefore { docs: model.len() as u64, with: with(&model) };
            let (counts, deleted) = load(&mut model, &operations);
            let expected = counts.expected(before, deleted);
            prop_assert!(expected.contains(&with(&model)), "{expected:?} {}", with(&model));
        }

        /// Ids that come twice, and deletions, leave nothing open where all documents have a
        /// vector.
        #[test]
        fn where_all_documents_have_one_it_is_one_number(
            ids in prop::collection::btree_set(0..12u8, 0..12),
            operations in operations(vec![None, Some(VectorMark::With)]),
        ) {
            let mut model: Model = ids.into_iter().map(|id| (id, true)).collect();
            let before = VectorsBefore { docs: model.len() as u64, with: with(&model) };
            let (counts, deleted) = load(&mut model, &operations);
            prop_assert_eq!(counts.expected(before, deleted), with(&model)..=with(&model));
        }
    }

    #[test]
    fn replaced_documents_leave_a_range() {
        let counts = VectorCounts { created_with: 5, created_without: 1, updated_with: 3, ..VectorCounts::default() };
        assert_eq!(counts.expected(VectorsBefore::default(), 0), 5..=6, "one of the new ones may have got it");
        assert_eq!(counts.expected(VectorsBefore { docs: 9, with: 4 }, 0), 9..=12);
        let counts = VectorCounts { updated_without: 2, updated_as_it_was: 7, ..VectorCounts::default() };
        assert_eq!(counts.expected(VectorsBefore { docs: 9, with: 9 }, 1), 6..=9);
        assert!(counts.are_of_all(0, 9) && !counts.are_of_all(0, 8) && !counts.are_of_all(1, 9));
    }
}

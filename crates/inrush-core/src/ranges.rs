//! Sets of document numbers, stored as ranges.

use serde::{Deserialize, Serialize};

/// Disjoint ranges `(first, end)` in ascending order, adjacent ones merged. Memory grows with the
/// number of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `first..end`. Appending in ascending order takes constant time.
    pub fn add(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let from = self.0.partition_point(|r| r.1 < first);
        let to = self.0.partition_point(|r| r.0 <= end);
        let merged = match self.0.get(from..to) {
            Some([a, .., b]) => (first.min(a.0), end.max(b.1)),
            Some([a]) => (first.min(a.0), end.max(a.1)),
            _ => (first, end),
        };
        self.0.splice(from..to, [merged]);
    }

    /// Removes `first..end`.
    pub fn remove(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let from = self.0.partition_point(|r| r.1 <= first);
        let to = self.0.partition_point(|r| r.0 < end);
        let mut rest = Vec::new();
        if let Some(touched) = self.0.get(from..to)
            && let (Some(a), Some(b)) = (touched.first(), touched.last())
        {
            rest.extend((a.0 < first).then_some((a.0, first)));
            rest.extend((b.1 > end).then_some((end, b.1)));
            self.0.splice(from..to, rest);
        }
    }

    /// The parts of the set that lie in `first..end`.
    pub fn within(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let from = self.0.partition_point(|r| r.1 <= first);
        self.0[from..].iter().take_while(move |r| r.0 < end).map(move |r| (r.0.max(first), r.1.min(end)))
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// The number of elements.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|r| r.1 - r.0).sum()
    }

    /// One more than the largest element; 0 for the empty set.
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |r| r.1)
    }

    /// Whether the ranges are disjoint, ascending and merged. Ranges read from a file may not be.
    pub fn is_sound(&self) -> bool {
        self.0.iter().all(|r| r.0 < r.1) && self.0.windows(2).all(|w| w[0].1 < w[1].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set(steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..12), 0..40), window in (0u64..40, 0u64..20)) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (add, first, len) in steps {
                let all = first..first + len;
                if add {
                    ranges.add(first, first + len);
                    set.extend(all);
                } else {
                    ranges.remove(first, first + len);
                    all.for_each(|n| { set.remove(&n); });
                }
                prop_assert!(ranges.is_sound(), "{:?}", ranges);
                prop_assert_eq!(ranges.iter().flat_map(|(a, b)| a..b).collect::<BTreeSet<_>>(), set.clone());
            }
            prop_assert_eq!(ranges.count(), set.len() as u64);
            prop_assert_eq!(ranges.end(), set.last().map_or(0, |n| n + 1));
            let (first, end) = (window.0, window.0 + window.1);
            let expected: Vec<u64> = set.range(first..end).copied().collect();
            prop_assert_eq!(ranges.within(first, end).flat_map(|(a, b)| a..b).collect::<Vec<_>>(), expected);
        }
    }
}

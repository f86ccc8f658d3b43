//! The doc values of bytes.
//!
//! Source: what the servers make of a field of the type `binary`: how many values a document has,
//! and each with its length, in the order of their bytes. Elasticsearch has each once, OpenSearch
//! some of them more than once ([`unique_as_opensearch`]).

use crate::build::values::Blobs;
use crate::formats::doc_values::DocValuesWriter;
use crate::formats::output::Put;

/// Adds the doc values of bytes. `repeats`: some of a document's values are kept more than once.
pub(super) fn add_bytes(
    (doc_values, number): (&mut DocValuesWriter, u32),
    blobs: &mut Blobs,
    repeats: bool,
    max_doc: u32,
) {
    let count = blobs.len();
    let groups = Groups::new(blobs.docs.finish(max_doc), count);
    let blobs = &*blobs;
    doc_values.add_binary(number, groups.docs(max_doc), |visit| {
        let (mut own, mut value) = (Vec::new(), Vec::new());
        for range in groups.ranges() {
            own.clear();
            own.extend(range.map(|at| blobs.get(at)));
            own.sort_unstable();
            match repeats {
                true => unique_as_opensearch(&mut own),
                false => own.dedup(),
            }
            value.clear();
            value.put_vint(own.len() as u32);
            for bytes in &own {
                value.put_vint(bytes.len() as u32);
                value.put(bytes);
            }
            visit(&value);
        }
    });
}

/// Leaves sorted values out as OpenSearch does (`CollectionUtils.uniquify`; 2.19, 3.6 and 3.8 were
/// tried): a value is compared with the one that was at the place of the last value that was kept,
/// and not with that.
fn unique_as_opensearch(sorted: &mut Vec<&[u8]>) {
    let Some(mut before) = sorted.first().copied() else { return };
    let mut kept = 1;
    for at in 1..sorted.len() {
        let value = sorted[at];
        if value != before {
            before = sorted[kept];
            sorted[kept] = value;
            kept += 1;
        }
    }
    sorted.truncate(kept);
}

/// The values of each document.
pub(super) struct Groups {
    /// The documents, and where the values of each end; none if each document has one.
    groups: Option<(Vec<u32>, Vec<usize>)>,
    count: usize,
}

impl Groups {
    /// `docs` are those of the values, as [`crate::build::column::Docs::finish`] has them.
    pub(super) fn new(docs: Option<&[u32]>, count: usize) -> Self {
        let grouped = |docs: &[u32]| {
            let (mut each, mut ends) = (Vec::new(), Vec::new());
            for same in docs.chunk_by(|a, b| a == b) {
                each.push(same[0]);
                ends.push(ends.last().copied().unwrap_or(0) + same.len());
            }
            (each, ends)
        };
        Self { groups: docs.map(grouped), count }
    }

    /// The documents that have a value, each once; none if all have one.
    pub(super) fn docs(&self, max_doc: u32) -> Option<&[u32]> {
        self.groups.as_ref().map(|(docs, _)| docs.as_slice()).filter(|docs| docs.len() != max_doc as usize)
    }

    /// How many documents have a value.
    pub(super) fn len(&self) -> usize {
        self.groups.as_ref().map_or(self.count, |(docs, _)| docs.len())
    }

    /// The places of the values of each document.
    pub(super) fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        (0..self.len()).map(|at| match &self.groups {
            None => at..at + 1,
            Some((_, ends)) => at.checked_sub(1).map_or(0, |before| ends[before])..ends[at],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an index of OpenSearch 3.8.0 has them.
    #[test]
    fn some_values_are_kept_more_than_once() {
        for (given, kept) in [
            ("", ""),
            ("a", "a"),
            ("aa", "a"),
            ("aab", "ab"),
            ("aabbccddde", "abbccdde"),
            ("aaaabccddddefg", "abccddddefg"),
            ("aaaabccccddeeeefff", "abccccddeeeefff"),
        ] {
            let mut values: Vec<&[u8]> = given.as_bytes().chunks(1).collect();
            unique_as_opensearch(&mut values);
            assert_eq!(values.concat(), kept.as_bytes(), "{given}");
        }
    }
}

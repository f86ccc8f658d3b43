//! The report of a comparison.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

/// The most examples of each kind.
const EXAMPLES: usize = 5;

/// The result of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyOutcome {
    /// The index holds the documents of the source, as far as compared
    /// ([`VerifyReport::not_proven`]).
    Equal,
    /// The index does not hold the documents of the source.
    Different,
}

/// The numbers of a comparison. A number that was not determined is absent.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The result of the comparison.
    pub result: VerifyOutcome,
    /// Index, alias or data stream.
    pub index: String,
    /// Documents in the source, including those that cannot be loaded.
    pub docs_read: u64,
    /// Records of the source that no load could send (not readable, without an id, too large), so
    /// they cannot be in the index.
    pub docs_rejected: u64,
    /// Documents in the source that a later one with the same id replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_replaced: Option<u64>,
    /// Documents in the index.
    pub docs_in_index: u64,
    /// Documents of the source that were looked up: the last one of each id, or those of the
    /// sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_compared: Option<u64>,
    /// Documents of the source that are not in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_missing: Option<u64>,
    /// Documents with other contents in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_different: Option<u64>,
    /// Documents of the index that are not in the source. With a sample, the least number possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_extra: Option<u64>,
    /// Documents in the sample, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<u64>,
    /// The parts that were not compared, with the reasons.
    pub not_proven: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The first few documents of each kind.
    pub examples: Examples,
    /// The file with the missing or different documents, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "inrush_sources::path_json::shown")]
    pub missing_file: Option<PathBuf>,
    /// The duration, seconds.
    pub seconds: f64,
}

/// The first few documents of each kind, in the order of the source. Extra documents are in the
/// order of their ids.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Examples {
    /// In the source only.
    pub missing: Vec<Example>,
    /// Different in the index.
    pub different: Vec<Example>,
    /// In the index only.
    pub extra: Vec<Example>,
    /// Records that no load could send.
    pub rejected: Vec<Example>,
}

/// One document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The id, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The routing value, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<String>,
    /// The source: a path, or `-`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Line or row in the source, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The difference, or the reason of the rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Keeps the first few examples by their position in the source.
#[derive(Default)]
pub(super) struct First(BTreeMap<(u32, u64), Example>);

impl First {
    pub(super) fn add(&mut self, source: u32, line: u64, example: impl FnOnce() -> Example) {
        let last = self.0.last_key_value().map(|(place, _)| *place);
        if self.0.len() >= EXAMPLES && last.is_some_and(|last| last <= (source, line)) {
            return;
        }
        self.0.insert((source, line), example());
        if self.0.len() > EXAMPLES {
            self.0.pop_last();
        }
    }

    pub(super) fn into_examples(self) -> Vec<Example> {
        self.0.into_values().collect()
    }
}

/// Whether there is room for one more example.
pub(super) fn has_room(examples: &[Example]) -> bool {
    examples.len() < EXAMPLES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_kept() {
        let mut first = First::default();
        for line in [9, 3, 7, 1, 8, 2, 6] {
            first.add(0, line, || Example { id: None, routing: None, source: None, line: Some(line), detail: None });
        }
        let lines: Vec<u64> = first.into_examples().into_iter().filter_map(|example| example.line).collect();
        assert_eq!(lines, [1, 2, 3, 6, 7]);
    }
}

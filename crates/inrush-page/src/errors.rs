//! Dead letters by reason, with the first documents of each. Pure.

use std::collections::BTreeMap;

use inrush_core::DeadLetter;
use inrush_core::report::{ErrorCount, ErrorKey, Tally, error_key};

use crate::marks::cut;
use crate::snapshot::{ErrorGroup, Example};

/// Groups that viewers get.
const GROUPS_MAX: usize = 50;
/// Examples of a group.
const EXAMPLES_MAX: usize = 3;
/// Groups that keep examples.
const WITH_EXAMPLES_MAX: usize = 100;
/// Bytes of an example's reason.
const REASON_MAX: usize = 500;
/// Bytes of an example's document.
const DOCUMENT_MAX: usize = 300;

/// The dead letters so far. The groups are those of the report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    tally: Tally,
    examples: BTreeMap<ErrorKey, Vec<Example>>,
    is_new: bool,
}

impl Errors {
    /// Adds a dead letter of the source with this name.
    pub(crate) fn add(&mut self, letter: &DeadLetter, source: &str) {
        self.is_new = true;
        self.tally.dead_letter(letter.status, &letter.kind, &letter.reason);
        let key = error_key(letter.status, &letter.kind, &letter.reason);
        let is_full = self.examples.len() == WITH_EXAMPLES_MAX && !self.examples.contains_key(&key);
        if is_full || self.examples.get(&key).is_some_and(|examples| examples.len() == EXAMPLES_MAX) {
            return;
        }
        // Only the beginning is decoded: a document may have many megabytes.
        let document = &letter.document[..letter.document.len().min(DOCUMENT_MAX * 4)];
        self.examples.entry(key).or_default().push(Example {
            source: source.to_owned(),
            line: letter.position.line,
            reason: cut(&letter.reason, REASON_MAX),
            document: cut(&String::from_utf8_lossy(document), DOCUMENT_MAX),
        });
    }

    /// The groups of all parts of the load, which replace those before.
    pub(crate) fn of_parts<'a>(&mut self, groups: impl Iterator<Item = &'a ErrorGroup>) {
        self.is_new = true;
        self.tally = Tally::default();
        for group in groups {
            let ErrorGroup { error, examples } = group;
            let one = std::slice::from_ref(error);
            self.tally.absorb(&inrush_core::report::Counts::default(), &BTreeMap::new(), one);
            let key = error_key(error.status, &error.kind, &error.reason);
            if self.examples.len() < WITH_EXAMPLES_MAX || self.examples.contains_key(&key) {
                let kept = self.examples.entry(key).or_default();
                let new: Vec<_> = examples.iter().filter(|example| !kept.contains(example)).cloned().collect();
                kept.extend(new.into_iter().take(EXAMPLES_MAX - kept.len().min(EXAMPLES_MAX)));
            }
        }
    }

    /// The errors of the report at the end, also those of earlier runs.
    pub(crate) fn end(&mut self, errors: &[ErrorCount]) {
        self.is_new = true;
        self.tally = Tally::default();
        self.tally.absorb(&inrush_core::report::Counts::default(), &BTreeMap::new(), errors);
    }

    /// The most frequent groups. The others are one group at the end.
    pub(crate) fn groups(&self) -> Vec<ErrorGroup> {
        let errors = self.tally.errors();
        let rest: u64 = errors.iter().skip(GROUPS_MAX - 1).map(|error| error.count).sum();
        let has_rest = errors.len() > GROUPS_MAX;
        let shown = if has_rest { GROUPS_MAX - 1 } else { GROUPS_MAX };
        let group = |error: ErrorCount| {
            let key = error_key(error.status, &error.kind, &error.reason);
            let examples = self.examples.get(&key).cloned().unwrap_or_default();
            let reason = cut(&error.reason, REASON_MAX);
            ErrorGroup { error: ErrorCount::new(error.status, error.kind, reason, error.count), examples }
        };
        let other = || ErrorGroup { error: ErrorCount::new(0, "other", "other reasons", rest), examples: Vec::new() };
        errors.into_iter().take(shown).map(group).chain(has_rest.then(other)).collect()
    }

    /// The groups, if they have changed since the last call.
    pub(crate) fn take_new(&mut self) -> Option<Vec<ErrorGroup>> {
        std::mem::take(&mut self.is_new).then(|| self.groups())
    }

    /// The sums by error type, for the metrics.
    pub(crate) fn by_type(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for error in self.tally.errors() {
            *sums.entry(error.kind).or_default() += error.count;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inrush_core::Position;

    use super::*;

    fn letter(kind: &str, reason: &str, document: &str) -> DeadLetter {
        DeadLetter::new(Position::default(), kind, reason, Bytes::from(document.to_owned())).with_status(400)
    }

    #[test]
    fn reasons_are_grouped_as_in_the_report() {
        let mut errors = Errors::default();
        for n in 0..10 {
            let reason = format!("[1:{n}] failed to parse field [a] in document with id '{n}'");
            errors.add(&letter("document_parsing_exception", &reason, "{\"a\":\"<b>x</b>\"}"), "a.ndjson");
        }
        errors.add(&letter("other_exception", "no", &"x".repeat(5_000)), "a.ndjson");
        let groups = errors.take_new().unwrap();
        assert_eq!((groups.len(), groups[0].error.count, groups[0].examples.len()), (2, 10, 3));
        assert!(groups[1].examples[0].document.len() <= DOCUMENT_MAX);
        assert_eq!(groups[0].examples[0].document, "{\"a\":\"<b>x</b>\"}");
        assert!(errors.take_new().is_none());
        errors.end(&[ErrorCount::new(400, "other_exception", "no", 7)]);
        let groups = errors.groups();
        assert_eq!((groups.len(), groups[0].error.count, groups[0].examples.len()), (1, 7, 1));
    }

    #[test]
    fn many_kinds_are_bounded_and_none_is_lost() {
        let mut errors = Errors::default();
        for n in 0..1_000 {
            errors.add(&letter(&format!("kind_{n}"), "no", &"y".repeat(10_000)), "a");
        }
        let groups = errors.groups();
        assert_eq!(groups.len(), GROUPS_MAX);
        assert_eq!(groups.iter().map(|group| group.error.count).sum::<u64>(), 1_000);
        assert!(serde_json::to_string(&groups).unwrap().len() < 100_000);
    }
}

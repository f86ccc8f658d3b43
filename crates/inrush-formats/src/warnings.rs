//! Warnings: what a user should know although nothing failed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most different warnings that are kept. Further ones are only counted together.
const DISTINCT_MAX: usize = 200;

/// The kind of [`fractions_of`].
pub const FRACTIONS: &str = "fractions_cut";

/// The kind of a warning about numbers or dates with texts among them that stand for "no value".
pub(crate) const PLACEHOLDERS: &str = "placeholder_as_text";

/// The kind of a warning about a column that is text because of a few cells of another kind.
pub(crate) const FEW_TEXTS: &str = "few_texts";

/// The kind of a warning about a column that is text because its numbers have another point.
pub(crate) const POINTS: &str = "points_as_text";

/// The kind of a warning about points that are taken for those between groups of digits.
pub(crate) const POINTS_AS_GROUPS: &str = "points_as_groups";

/// The kind of a warning about a column that is text because of blanks around its cells.
pub(crate) const BLANKS: &str = "blanks_around_cells";

/// The kind of a warning about blanks around the names of columns.
pub(crate) const BLANKS_IN_NAMES: &str = "blanks_in_names";

/// The kind of a warning about points that are taken for those of fractions.
pub(crate) const GROUPS_AS_FRACTIONS: &str = "groups_as_fractions";

/// The kind of a warning about a column that is text in its first row only.
pub(crate) const FIRST_TEXT: &str = "text_in_first_row";

/// The kind of a warning about rows whose cells are all empty.
pub(crate) const EMPTY_ROWS: &str = "empty_rows";

/// The kind of [`title_of`].
pub(crate) const TITLE: &str = "title_as_header";

/// The kinds of warnings about names or types of the columns of a whole table.
pub const OF_TABLES: [&str; 9] = [
    BLANKS,
    BLANKS_IN_NAMES,
    FEW_TEXTS,
    FIRST_TEXT,
    GROUPS_AS_FRACTIONS,
    PLACEHOLDERS,
    POINTS,
    POINTS_AS_GROUPS,
    TITLE,
];

/// The warning about a row of names that looks like a title, from the columns with values: whether
/// each has a name. Half of them have none, without the first one, which may be that of an index.
pub(crate) fn title_of(columns: impl IntoIterator<Item = bool>, remedy: &str) -> Option<String> {
    let named: Vec<bool> = columns.into_iter().collect();
    let (names, unnamed) =
        (named.iter().filter(|named| **named).count(), named.iter().skip(1).filter(|named| !**named));
    (names > 0 && 2 * unnamed.count() >= named.len() && named.len() > 1).then(|| {
        format!(
            "the row with the names of the columns has {names} of {}, as a title has; if it is one, {remedy}",
            named.len()
        )
    })
}

/// The warning about numbers with fractions in a field that the target maps for whole numbers.
pub fn fractions_of(field: &str) -> String {
    format!(
        "the numbers have fractions, but the target maps the field {field} for whole numbers and finds only the whole part; load into an index that maps it as double"
    )
}

/// Counts warnings by kind, source and column. Clones share their counts.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    entries: Arc<Mutex<BTreeMap<Key, Entry>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    source: String,
    kind: &'static str,
    column: String,
}

#[derive(Debug)]
struct Entry {
    count: u64,
    message: String,
    /// Whether the message comes from [`Warnings::explain`].
    explained: bool,
}

/// A warning of one kind about one source, and about one column if it concerns a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The path, `-` or URL.
    pub source: String,
    /// A short machine-readable name, such as `replaced_characters` or `type_misfit`.
    pub kind: &'static str,
    /// The column, or empty.
    pub column: String,
    /// Number of occurrences.
    pub count: u64,
    /// What happened the first time, and what to do.
    pub message: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}: ", self.source)?;
        }
        if !self.column.is_empty() {
            write!(f, "column {}: ", self.column)?;
        }
        f.write_str(&self.message)?;
        if self.count > 1 { write!(f, " ({} times)", self.count) } else { Ok(()) }
    }
}

impl Warnings {
    /// Adds an occurrence of what may be said of each of many sources. Only the first one is named,
    /// and the others are counted.
    pub(crate) fn add_of_each(&self, source: &str, kind: &'static str, message: impl FnOnce() -> String) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        match entries.iter_mut().find(|(key, _)| key.kind == kind) {
            Some((_, entry)) => entry.count += 1,
            None => Warnings::add_to(
                &mut entries,
                Key { source: source.to_owned(), kind, column: String::new() },
                1,
                message,
            ),
        }
    }

    /// Adds `count` occurrences. The message of the first call stays.
    pub fn add(&self, source: &str, kind: &'static str, column: &str, count: u64, message: impl FnOnce() -> String) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key { source: source.to_owned(), kind, column: column.to_owned() };
        Warnings::add_to(&mut entries, key, count, message);
    }

    fn add_to(entries: &mut BTreeMap<Key, Entry>, key: Key, count: u64, message: impl FnOnce() -> String) {
        if let Some(entry) = entries.get_mut(&key) {
            entry.count += count;
        } else if entries.len() < DISTINCT_MAX {
            entries.insert(key, Entry { count, message: message(), explained: false });
        } else {
            let rest = Key { source: String::new(), kind: "further_warnings", column: String::new() };
            let message =
                || Entry { count: 0, message: "further warnings that are not listed".to_owned(), explained: false };
            entries.entry(rest).or_insert_with(message).count += count;
        }
    }

    /// Replaces the message by a more exact one for the first occurrence. The first such message
    /// stays.
    pub fn explain(&self, source: &str, kind: &'static str, column: &str, message: String) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key { source: source.to_owned(), kind, column: column.to_owned() };
        if let Some(entry) = entries.get_mut(&key).filter(|entry| !entry.explained) {
            entry.message = message;
            entry.explained = true;
        }
    }

    /// All warnings so far, by source, kind and column. Those of several sources that say the same
    /// are one: that of the first source.
    pub fn list(&self) -> Vec<Warning> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<(Warning, u64)> = Vec::new();
        for (key, entry) in entries.iter() {
            let is_same = |warning: &Warning| {
                (warning.kind, &warning.column, &warning.message) == (key.kind, &key.column, &entry.message)
            };
            if let Some((warning, others)) = list.iter_mut().find(|(warning, _)| is_same(warning)) {
                warning.count += entry.count;
                *others += 1;
                continue;
            }
            let Key { source, kind, column } = key.clone();
            list.push((Warning { source, kind, column, count: entry.count, message: entry.message.clone() }, 0));
        }
        for (warning, others) in list.iter_mut().filter(|(_, others)| *others > 0) {
            let sources = if *others == 1 { "source" } else { "sources" };
            warning.message.push_str(&format!("; the same in {others} other {sources}"));
        }
        list.into_iter().map(|(warning, _)| warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_warnings_are_one_with_a_count() {
        let warnings = Warnings::default();
        warnings.clone().add("a", "k", "x", 2, || "first".into());
        warnings.add("a", "k", "x", 3, || "second".into());
        warnings.add("a", "k", "y", 1, || "other".into());
        let list = warnings.list();
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].count, list[0].message.as_str()), (5, "first"));
        assert_eq!(list[0].to_string(), "a: column x: first (5 times)");
        assert_eq!(list[1].to_string(), "a: column y: other");
    }

    #[test]
    fn equal_warnings_of_several_sources_are_one() {
        let warnings = Warnings::default();
        for (source, count) in [("a", 2), ("b", 3), ("c", 1)] {
            warnings.add(source, "k", "x", count, || "left out".into());
            warnings.add(source, "line", "x", 1, || format!("line 1 of {source}"));
        }
        let list: Vec<String> = warnings.list().iter().map(ToString::to_string).collect();
        assert_eq!(
            list,
            [
                "a: column x: left out; the same in 2 other sources (6 times)",
                "a: column x: line 1 of a",
                "b: column x: line 1 of b",
                "c: column x: line 1 of c",
            ]
        );
    }

    #[test]
    fn what_is_said_of_each_source_names_the_first_one() {
        let warnings = Warnings::default();
        for source in ["b", "a", "c"] {
            warnings.add_of_each(source, "k", || format!("first of {source}"));
            warnings.add(source, "l", "", 1, || format!("other of {source}"));
        }
        let shown: Vec<String> = warnings.list().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a: other of a", "b: first of b (3 times)", "b: other of b", "c: other of c"]);
    }

    #[test]
    fn a_title_has_names_for_few_columns() {
        let told = |columns: &[bool]| title_of(columns.iter().copied(), "x");
        let message = told(&[true, false, false, false]).unwrap();
        assert!(message.contains("has 1 of 4"), "{message}");
        for columns in [&[true, false][..], &[true, true, false, false], &[false, true, false, false]] {
            assert!(told(columns).is_some(), "{columns:?}");
        }
        for columns in [&[][..], &[true], &[false], &[true, true], &[false, true], &[false; 3], &[true, true, false]] {
            assert_eq!(told(columns), None, "{columns:?}");
        }
    }

    #[test]
    fn the_number_of_different_warnings_is_bounded() {
        let warnings = Warnings::default();
        for i in 0..1000 {
            warnings.add("a", "k", &i.to_string(), 1, String::new);
        }
        let list = warnings.list();
        assert_eq!(list.len(), DISTINCT_MAX + 1);
        assert_eq!(list.iter().map(|w| w.count).sum::<u64>(), 1000);
    }
}

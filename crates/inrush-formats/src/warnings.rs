//! Warnings: what a user should know although nothing failed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most different warnings that are kept. Further ones are only counted together.
const DISTINCT_MAX: usize = 200;

/// The kind of [`fractions_of`].
pub const FRACTIONS: &str = "fractions_cut";

/// The kind of a warning about numbers or dates with texts among them that stand for "no value".
pub const PLACEHOLDERS: &str = "placeholder_as_text";

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
    /// Adds `count` occurrences. The message of the first call stays.
    pub fn add(&self, source: &str, kind: &'static str, column: &str, count: u64, message: impl FnOnce() -> String) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key { source: source.to_owned(), kind, column: column.to_owned() };
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

    /// All warnings so far, by source, kind and column.
    pub fn list(&self) -> Vec<Warning> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .map(|(key, entry)| Warning {
                source: key.source.clone(),
                kind: key.kind,
                column: key.column.clone(),
                count: entry.count,
                message: entry.message.clone(),
            })
            .collect()
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

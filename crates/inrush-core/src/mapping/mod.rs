//! A mapping from data: looks at documents one by one and says which type each field should have, and where the documents
//! contradict each other.
//!
//! [`Schema`] collects in bounded memory, [`Schema::advise`] decides. The types are those that both products have.

mod advise;
mod field;
mod shape;
mod visit;

use serde::de::DeserializeSeed;
use serde_json::Value;

use field::Field;
use visit::{Budget, FieldSeed};

/// Fields that are looked at, those of all objects together; what comes later is only counted. The servers' own default limit is
/// 1,000 a mapping.
pub const FIELDS_MAX: usize = 10_000;

/// Levels of objects that are looked at, as `index.mapping.depth.limit` of the servers.
pub const DEPTH_MAX: usize = 20;

/// What the documents seen so far have in common.
#[derive(Debug, Default)]
pub struct Schema {
    root: Field,
    docs: u64,
    budget: Budget,
}

/// Where a document stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPosition {
    /// Which of the sources, from 0.
    pub source: u32,
    /// Its line or row, from 1.
    pub row: u64,
}

/// What becomes of a field whose values are of several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mixed {
    /// Numbers and texts become keywords; of objects and values the servers take the more frequent
    /// kind, and refuse the other.
    #[default]
    Widen,
    /// No document is refused: a field of objects and values is kept, and not searchable.
    Keep,
    /// The same, and a field of numbers, dates, addresses or points has that type where most values
    /// are; the others are not searchable.
    Ignore,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The mapping, as `{"properties": …}`.
    pub mapping: Value,
    /// What a person should know, by field.
    pub notes: Vec<Note>,
    /// Documents that were looked at.
    pub docs: u64,
}

/// One thing to know about one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The field's full path, `a.b`; empty for the whole mapping.
    pub field: String,
    /// How serious it is.
    pub kind: NoteKind,
    /// What was found, and what to do.
    pub text: String,
}

/// How serious a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// Documents contradict each other; the text says whether some would be refused.
    Conflict,
    /// A decision that could have been another.
    Choice,
}

impl Schema {
    /// Looks at one document.
    ///
    /// # Errors
    /// What is no JSON object; it is not counted, but what was read before the mistake may have been looked at.
    pub fn add(&mut self, document: &[u8], position: RowPosition) -> Result<(), serde_json::Error> {
        let mut json = serde_json::Deserializer::from_slice(document);
        let seed = FieldSeed { field: &mut self.root, budget: &mut self.budget, position, depth: 0, in_array: false };
        seed.deserialize(&mut json)?;
        json.end()?;
        self.docs += 1;
        Ok(())
    }

    /// Documents that were looked at.
    pub fn docs(&self) -> u64 {
        self.docs
    }

    /// The mapping that these documents want. `names`: what people call each source; notes name it where there are several.
    pub fn advise(&self, names: &[String]) -> Advice {
        self.advise_mixed(names, Mixed::default())
    }

    /// The same, where fields of several kinds may be mapped otherwise.
    pub fn advise_mixed(&self, names: &[String], mixed: Mixed) -> Advice {
        let mut found = advise::Found::default();
        let mapping = advise::root(&self.root, names, mixed, &mut found);
        let advise::Found { mut notes, arrays_of_objects } = found;
        if !arrays_of_objects.is_empty() {
            notes.push(Note {
                field: String::new(),
                kind: NoteKind::Choice,
                text: format!(
                    "arrays of objects ({}): a search that combines their fields also finds what stands in different elements; where that matters, map them as \"type\": \"nested\"",
                    arrays_of_objects.join(", ")
                ),
            });
        }
        if self.budget.fields_left_out > 0 {
            notes.push(Note {
                field: String::new(),
                kind: NoteKind::Choice,
                text: format!(
                    "there are more than {FIELDS_MAX} different fields, probably names that are data; only the first {FIELDS_MAX} were looked at. Put such names into values, or map their object as `flattened` (Elasticsearch), `flat_object` (OpenSearch) or with \"enabled\": false"
                ),
            });
        }
        if self.budget.too_deep > 0 {
            notes.push(Note {
                field: String::new(),
                kind: NoteKind::Conflict,
                text: format!(
                    "objects stand in each other more than {DEPTH_MAX} levels deep, which the servers refuse unless index.mapping.depth.limit is raised"
                ),
            });
        }
        notes.sort_by(|a, b| (a.kind, &a.field).cmp(&(b.kind, &b.field)));
        Advice { mapping, notes, docs: self.docs }
    }
}

#[cfg(test)]
mod tests;

//! Mapping inference: derives a mapping from documents, and finds fields whose values contradict
//! each other.
//!
//! [`Schema::add`] collects statistics in bounded memory; [`Schema::advise`] decides. The types are
//! those that Elasticsearch and OpenSearch have in common.

mod advise;
mod field;
mod shape;
mod visit;

use serde::de::DeserializeSeed;
use serde_json::{Value, json};

use field::Field;
use visit::{Budget, FieldSeed};

use crate::vectors::SeenVector;

/// Distinct fields that are observed, over all objects. Further fields are only counted. The
/// default limit of the servers is 1,000 fields a mapping.
pub const FIELDS_MAX: usize = 10_000;

/// Nested levels of objects that are observed: the servers' default of `index.mapping.depth.limit`.
pub const DEPTH_MAX: usize = 20;

/// The statistics of the documents so far.
#[derive(Debug, Default)]
pub struct Schema {
    root: Field,
    docs: u64,
    budget: Budget,
}

/// The position of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPosition {
    /// The index of the source, from 0.
    pub source: u32,
    /// The line or row, from 1.
    pub row: u64,
}

/// The mapping of a field with values of several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mixed {
    /// Numbers and text become keywords. Of objects and values, the mapping takes the more frequent
    /// kind, and servers refuse the other.
    #[default]
    Widen,
    /// No document is refused. A field of objects and values is stored, but not searchable.
    Keep,
    /// As `Keep`. In addition, a field of mostly numbers, dates, addresses or points gets that
    /// type; its other values are not searchable.
    Ignore,
}

/// An inferred mapping with notes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Advice {
    /// The mapping, as `{"properties": …}`.
    pub mapping: Value,
    /// Notes for the user, by field.
    pub notes: Vec<Note>,
    /// Fields that are vectors in all documents. The mapping has them as numbers, which every
    /// server takes; [`crate::vectors::upgrade`] gives them the types of one.
    #[doc(hidden)]
    pub vectors: Vec<SeenVector>,
    /// Names of the fields of whole numbers beyond a long and not below zero, outermost first. The
    /// mapping has them as keywords, which every server takes; [`map_unsigned`] makes numbers of
    /// them.
    #[doc(hidden)]
    pub unsigned: Vec<Vec<String>>,
    /// Fields that servers refuse in any mapping, with the cure: `a` is a value, and `a.b` makes it
    /// an object.
    pub clashes: Vec<String>,
    /// The number of documents observed.
    pub docs: u64,
}

/// A note on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The full path of the field, `a.b`; empty for the whole mapping.
    pub field: String,
    /// The kind of the note.
    pub kind: NoteKind,
    /// The finding, and what to do.
    pub text: String,
}

impl Note {
    /// A note on a decision with alternatives.
    pub fn choice(field: String, text: String) -> Self {
        Note { field, kind: NoteKind::Choice, text }
    }
}

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// Documents contradict each other. The text says whether some would be refused.
    Conflict,
    /// A decision with alternatives.
    Choice,
    /// An option would read the values with another type.
    Reading,
}

impl Schema {
    /// Observes one document.
    ///
    /// # Errors
    /// The document is not a JSON object. It is not counted, but fields before the error may have
    /// been observed.
    pub fn add(&mut self, document: &[u8], position: RowPosition) -> Result<(), serde_json::Error> {
        let mut json = serde_json::Deserializer::from_slice(document);
        let seed = FieldSeed { field: &mut self.root, budget: &mut self.budget, position, depth: 0, in_array: false };
        seed.deserialize(&mut json)?;
        json.end()?;
        self.docs += 1;
        Ok(())
    }

    /// The number of documents observed.
    pub fn docs(&self) -> u64 {
        self.docs
    }

    /// The mapping for these documents. `names`: the names of the sources; notes mention them if
    /// there are several.
    pub fn advise(&self, names: &[String]) -> Advice {
        self.advise_mixed(names, Mixed::default())
    }

    /// As [`Schema::advise`], with a choice for fields of several kinds.
    pub fn advise_mixed(&self, names: &[String], mixed: Mixed) -> Advice {
        let mut found = advise::Found::default();
        let mapping = advise::root(&self.root, names, mixed, &mut found);
        let advise::Found { mut notes, arrays_of_objects, clashes } = found;
        let mut vectors = Vec::new();
        vectors_of(&self.root, self.docs, &mut Vec::new(), &mut vectors);
        let mut unsigned = Vec::new();
        unsigned_of(&self.root, &mut Vec::new(), &mut unsigned);
        if !arrays_of_objects.is_empty() {
            notes.push(Note {
                field: String::new(),
                kind: NoteKind::Choice,
                text: format!(
                    "arrays of objects ({}): a search that combines their fields also matches values of different elements; if that matters, map them as \"type\": \"nested\"",
                    arrays_of_objects.join(", ")
                ),
            });
        }
        if self.budget.fields_left_out > 0 {
            notes.push(Note {
                field: String::new(),
                kind: NoteKind::Choice,
                text: format!(
                    "there are more than {FIELDS_MAX} different fields, so names are probably data; only the first {FIELDS_MAX} were observed. Move such names into values, or map their object as `flattened` (Elasticsearch), `flat_object` (OpenSearch) or with \"enabled\": false"
                ),
            });
        }
        if self.budget.too_deep > 0 {
            notes.push(Note {
                field: String::new(),
                kind: NoteKind::Conflict,
                text: format!(
                    "objects are nested more than {DEPTH_MAX} levels deep, which servers refuse unless index.mapping.depth.limit is raised"
                ),
            });
        }
        notes.sort_by(|a, b| (a.kind, &a.field).cmp(&(b.kind, &b.field)));
        Advice { mapping, notes, vectors, unsigned, clashes, docs: self.docs }
    }
}

/// Adds the fields in `field` that are vectors. `above` has the names on its path.
fn vectors_of(field: &Field, docs: u64, above: &mut Vec<String>, found: &mut Vec<SeenVector>) {
    for (name, child) in &field.children {
        above.push(name.clone());
        match child.vector(docs) {
            Some((dims, squares)) => found.push(SeenVector::new(above.clone(), dims, squares)),
            None if child.objects_in_arrays.any() => {}
            None => vectors_of(child, docs, above, found),
        }
        above.pop();
    }
}

/// Adds the fields in `field` that are beyond a long. `above` has the names on its path.
fn unsigned_of(field: &Field, above: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (name, child) in &field.children {
        above.push(name.clone());
        if child.is_unsigned() {
            found.push(above.clone());
        }
        unsigned_of(child, above, found);
        above.pop();
    }
}

/// Gives the fields of these names the type `unsigned_long`, which the server has.
pub fn map_unsigned(mapping: &mut Value, unsigned: &[Vec<String>]) {
    for names in unsigned {
        let place = names.iter().try_fold(&mut *mapping, |above, name| above.get_mut("properties")?.get_mut(name));
        if let Some(place) = place {
            *place = json!({ "type": "unsigned_long" });
        }
    }
}

#[cfg(test)]
mod tests;

//! A field that a document adds to the mapping.

use serde_json::{Map, Value};

use crate::fields::refused::Refused;

/// Where a mapping has the definition of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Of a field that is indexed, or of an object.
    Properties,
    /// Of a runtime field, which searches compute.
    Runtime,
}

/// A field or an object that a document adds to the mapping.
#[derive(Debug, PartialEq)]
pub(crate) struct NewField {
    /// Its full name.
    pub(crate) path: String,
    pub(crate) section: Section,
    pub(crate) definition: Value,
    /// Whether a template made it.
    pub(super) by_template: bool,
}

impl NewField {
    /// Adds it to a mapping.
    pub(crate) fn define(&self, mapping: &mut Map<String, Value>) {
        match self.section {
            Section::Properties => define(mapping, &self.path, &self.definition),
            Section::Runtime => {
                let fields = mapping.entry("runtime").or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(fields) = fields {
                    fields.insert(self.path.clone(), self.definition.clone());
                }
            }
        }
    }

    /// Takes a further value of its document, of which `other` would be made. `first_decides`: a
    /// value that is no object is read as one of the field that the first made.
    pub(super) fn take(&mut self, other: Self, first_decides: bool) -> Result<(), Refused> {
        match (self.section, other.section) {
            (Section::Properties, Section::Properties) => self.check_same(&other, first_decides),
            // The last value makes the type.
            (Section::Runtime, Section::Runtime) => {
                *self = other;
                Ok(())
            }
            _ => Err(two_sections(&self.path)),
        }
    }

    fn check_same(&self, other: &Self, first_decides: bool) -> Result<(), Refused> {
        let [from, to] = [self, other].map(|field| field.type_name().to_owned());
        let field = self.path.clone();
        match from == to {
            _ if self.definition == other.definition => Ok(()),
            true if self.by_template || other.by_template => {
                Err(Refused::Unsupported(format!("the new field {field:?} with two definitions in one document")))
            }
            _ if first_decides && from != "object" && to != "object" => Ok(()),
            _ => Err(Refused::Changed { field, from, to }),
        }
    }

    pub(super) fn type_name(&self) -> &str {
        self.definition["type"].as_str().unwrap_or_default()
    }
}

/// Adds the definition of a member to that of the object that has it.
fn define(object: &mut Map<String, Value>, path: &str, definition: &Value) {
    let members = object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    // `properties` is an object, or parsing the mapping would have failed.
    let Value::Object(members) = members else { return };
    match path.split_once('.') {
        None => drop(members.insert(path.to_owned(), definition.clone())),
        Some((first, rest)) => {
            let below = members.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                define(below, rest, definition);
            }
        }
    }
}

/// The refusal of a document that adds a runtime field and another field or object of its name.
/// The servers keep both and refuse some of the documents.
pub(super) fn two_sections(path: &str) -> Refused {
    Refused::Unsupported(format!("the new field {path:?}, with and without `runtime` in one document,"))
}

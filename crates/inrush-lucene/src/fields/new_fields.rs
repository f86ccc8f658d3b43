//! What a document adds to the mapping.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::fields::document::is_blank;
use crate::fields::dynamic::Detection;
use crate::fields::json::Scalar;
use crate::fields::mapping::{Dynamic, Product};
use crate::fields::refused::{NO_OBJECT, Refused};

/// The number of decimals of a new field of which Elasticsearch makes a vector.
const VECTOR_MIN: usize = 128;

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

    /// Takes a further value of its document, of which `other` would be made.
    fn take(&mut self, other: Self) -> Result<(), Refused> {
        match (self.section, other.section) {
            (Section::Properties, Section::Properties) => self.check_same(&other),
            // The last value makes the type.
            (Section::Runtime, Section::Runtime) => {
                *self = other;
                Ok(())
            }
            _ => Err(two_sections(&self.path)),
        }
    }

    fn check_same(&self, other: &Self) -> Result<(), Refused> {
        let [from, to] = [self, other].map(|field| field.type_name().to_owned());
        let field = self.path.clone();
        match from == to {
            _ if self.definition == other.definition => Ok(()),
            true if self.by_template || other.by_template => {
                Err(Refused::Unsupported(format!("the new field {field:?} with two definitions in one document")))
            }
            _ => Err(Refused::Changed { field, from, to }),
        }
    }

    fn type_name(&self) -> &str {
        self.definition["type"].as_str().unwrap_or_default()
    }
}

/// Adds the definition of a member to that of the object that has it.
fn define(object: &mut Map<String, Value>, path: &str, definition: &Value) {
    let members = object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    // What is no object is none in the mapping that was read.
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

/// The members of a document that its mapping does not have: objects before what is in them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NewFields {
    members: Vec<NewField>,
    /// The place of each in `members`.
    places: HashMap<String, usize>,
    /// How many decimals in arrays there are of a field.
    in_arrays: HashMap<String, usize>,
}

impl NewFields {
    /// Notes an object.
    pub(crate) fn add_object(&mut self, path: &str, detection: &Detection) -> Result<(), Refused> {
        self.add(detection.object(path)?)
    }

    /// Notes a value of a field, which may be in an array of it. Its object says `dynamic` of new
    /// fields.
    pub(crate) fn add_value(
        &mut self,
        path: &str,
        value: &Scalar,
        (dynamic, in_array): (Dynamic, bool),
        detection: &Detection,
    ) -> Result<(), Refused> {
        let Some(field) = detection.field(path, value, dynamic)? else { return Ok(()) };
        let is_float = field.section == Section::Properties && field.type_name() == "float" && !field.by_template;
        self.add(field)?;
        if is_float && in_array && detection.product == Product::Elasticsearch {
            let in_arrays = self.in_arrays.entry(path.to_owned()).or_default();
            *in_arrays += 1;
            if *in_arrays >= VECTOR_MIN {
                return Err(Refused::Unsupported(format!("the new field {path:?} of {VECTOR_MIN} decimals and more")));
            }
        }
        Ok(())
    }

    fn add(&mut self, field: NewField) -> Result<(), Refused> {
        // The whole document may have such a field in OpenSearch, an object in it may not.
        if field.path.rsplit_once('.').is_some_and(|(_, name)| is_blank(name)) {
            return Err(Refused::Name(field.path));
        }
        if let Some(place) = self.places.get(&field.path) {
            return self.members[*place].take(field);
        }
        self.places.insert(field.path.clone(), self.members.len());
        self.members.push(field);
        Ok(())
    }

    /// Each new member.
    pub(crate) fn members(&self) -> &[NewField] {
        &self.members
    }

    /// The full name of the first one.
    pub(crate) fn first(&self) -> &str {
        self.members.first().map_or("", |field| &field.path)
    }
}

/// Why a document is refused that is read again, with its new fields. A server reads it twice, too:
/// where it finds an object and a value of one name only then, it keeps the fields.
pub(crate) fn refused_again(refused: Refused) -> Refused {
    match refused {
        Refused::NoObject(field) | Refused::Value { field, expected: NO_OBJECT, .. } => two_sections(&field),
        refused => refused,
    }
}

/// Why a document is not taken that makes a runtime field and another one, or an object, of a name.
/// The servers keep both and refuse some of the documents.
fn two_sections(path: &str) -> Refused {
    Refused::Unsupported(format!("the new field {path:?}, with and without `runtime` in one document,"))
}

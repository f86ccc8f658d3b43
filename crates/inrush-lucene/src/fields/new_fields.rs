//! What a document adds to the mapping.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::fields::document::is_blank;
use crate::fields::dynamic::{Detection, NewKind};
use crate::fields::json::Scalar;
use crate::fields::mapping::{Dynamic, Product};
use crate::fields::refused::Refused;

/// The number of decimals of a new field of which Elasticsearch makes a vector.
const VECTOR_MIN: usize = 128;

/// Where a mapping has the definition of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Of a field that is indexed, or of an object.
    Properties,
    /// Of a field that searches compute.
    Runtime,
}

/// A field that a document adds to the mapping.
#[derive(Debug)]
pub(crate) struct NewField<'a> {
    /// Its full name.
    pub(crate) path: &'a str,
    pub(crate) section: Section,
    pub(crate) definition: Value,
}

impl NewField<'_> {
    /// Adds it to a mapping.
    pub(crate) fn define(&self, mapping: &mut Map<String, Value>) {
        match self.section {
            Section::Properties => define(mapping, self.path, &self.definition),
            Section::Runtime => {
                let fields = mapping.entry("runtime").or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(fields) = fields {
                    fields.insert(self.path.to_owned(), self.definition.clone());
                }
            }
        }
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

/// A member of a document that its mapping does not have.
#[derive(Debug, PartialEq)]
struct Member {
    path: String,
    section: Section,
    kind: NewKind,
}

/// The members of a document that its mapping does not have: objects before what is in them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NewFields {
    members: Vec<Member>,
    /// The place of each in `members`.
    places: HashMap<String, usize>,
    /// How many decimals in arrays there are of a field.
    in_arrays: HashMap<String, usize>,
}

impl NewFields {
    /// Notes an object.
    pub(crate) fn add_object(&mut self, path: &str, detection: &Detection) -> Result<(), Refused> {
        let kind = detection.by_template(path, NewKind::Object)?;
        self.add(path, Section::Properties, kind, detection)
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
        let Some(kind) = detection.kind(path, value)? else { return Ok(()) };
        let section = detection.section(kind, dynamic);
        self.add(path, section, kind, detection)?;
        if section == Section::Runtime {
            return Ok(());
        }
        if kind == NewKind::Float && in_array && detection.product == Product::Elasticsearch {
            let in_arrays = self.in_arrays.entry(path.to_owned()).or_default();
            *in_arrays += 1;
            if *in_arrays >= VECTOR_MIN {
                return Err(Refused::Unsupported(format!("the new field {path:?} of {VECTOR_MIN} decimals and more")));
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &str, section: Section, kind: NewKind, detection: &Detection) -> Result<(), Refused> {
        // The whole document may have such a field in OpenSearch, an object in it may not.
        if path.rsplit_once('.').is_some_and(|(_, name)| is_blank(name)) {
            return Err(Refused::Name(path.to_owned()));
        }
        let Some(place) = self.places.get(path) else {
            self.places.insert(path.to_owned(), self.members.len());
            self.members.push(Member { path: path.to_owned(), section, kind });
            return Ok(());
        };
        let member = &mut self.members[*place];
        match (member.section, section) {
            (Section::Properties, Section::Properties) => detection.check_same(path, member.kind, kind),
            // The last value makes the type.
            (Section::Runtime, Section::Runtime) => {
                member.kind = kind;
                Ok(())
            }
            _ => Err(two_sections(path)),
        }
    }

    /// Each new member.
    ///
    /// # Errors
    ///
    /// If one is below another that is no object.
    pub(crate) fn definitions<'a>(&'a self, detection: &Detection) -> Result<Vec<NewField<'a>>, Refused> {
        let field = |Member { path, section, kind }: &'a Member| match section {
            Section::Runtime if self.is_below_field(path) => Err(two_sections(path)),
            _ => Ok(NewField { path, section: *section, definition: detection.definition(*kind, *section) }),
        };
        self.members.iter().map(field).collect()
    }

    /// Whether one of the new members that are indexed is on the way to a field.
    fn is_below_field(&self, path: &str) -> bool {
        path.match_indices('.').filter_map(|(end, _)| self.places.get(&path[..end])).any(|place| {
            let above = &self.members[*place];
            above.section == Section::Properties && above.kind != NewKind::Object
        })
    }

    /// The full name of the first one.
    pub(crate) fn first(&self) -> &str {
        self.members.first().map_or("", |member| &member.path)
    }
}

/// Why a document is not taken that makes a field for searches alone and another one of a name. The
/// servers keep the fields and refuse some of the documents.
fn two_sections(path: &str) -> Refused {
    Refused::Unsupported(format!("the new field {path:?}, with and without `runtime` in one document,"))
}

//! What a document adds to the mapping.

use std::collections::HashMap;

use crate::fields::dynamic::Detection;
use crate::fields::json::Scalar;
use crate::fields::new_field::{NewField, Section, two_sections};
use crate::fields::object::{Dynamic, is_blank};
use crate::fields::refused::{NO_OBJECT, Refused};
use crate::fields::target::KnownProduct;

/// The number of decimals of a new field of which Elasticsearch makes a vector.
const VECTOR_MIN: usize = 128;

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
        self.add(detection.object(path)?, detection)
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
        self.add(field, detection)?;
        if is_float && in_array && detection.product == KnownProduct::Elasticsearch {
            let in_arrays = self.in_arrays.entry(path.to_owned()).or_default();
            *in_arrays += 1;
            if *in_arrays >= VECTOR_MIN {
                return Err(Refused::Unsupported(format!("the new field {path:?} of {VECTOR_MIN} decimals and more")));
            }
        }
        Ok(())
    }

    fn add(&mut self, field: NewField, detection: &Detection) -> Result<(), Refused> {
        // The whole document may have such a field in OpenSearch, an object in it may not.
        if field.path.rsplit_once('.').is_some_and(|(_, name)| is_blank(name)) {
            return Err(Refused::Name(field.path));
        }
        if let Some(place) = self.places.get(&field.path) {
            return self.members[*place].take(field, detection.first_decides);
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

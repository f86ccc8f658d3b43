//! Which columns documents have.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::source::json::json_type;

/// An object below the document with more different fields than this is no struct, but a map from ids or the like.
const FIELDS_MAX: usize = 1000;

/// What all values of a place have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Shape {
    /// Nothing but nulls.
    #[default]
    Null,
    Bool,
    /// Whole numbers from -2^63 to 2^63 - 1.
    Int,
    /// Whole numbers from -2^63 to 2^64 - 1.
    Wide,
    Float,
    /// Strings, or a mixture of strings, numbers and booleans.
    Text,
    List(Box<Shape>),
    Object(Object),
    /// Values that have nothing in common: objects here and numbers there.
    Json,
}

/// Fields in the order in which they were first seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Object {
    fields: Vec<(String, Shape)>,
    places: HashMap<String, usize>,
}

impl Object {
    fn field(&mut self, name: &str) -> &mut Shape {
        let at = match self.places.get(name) {
            Some(at) => *at,
            None => {
                self.places.insert(name.to_owned(), self.fields.len());
                self.fields.push((name.to_owned(), Shape::Null));
                self.fields.len() - 1
            }
        };
        &mut self.fields[at].1
    }

    /// Columns that are there even if no document has a value in them.
    pub(super) fn add(&mut self, columns: &[String]) {
        for name in columns {
            self.field(name);
        }
    }

    pub(super) fn fields(&self) -> &[(String, Shape)] {
        &self.fields
    }

    /// The columns of documents.
    pub(super) fn schema(&self) -> Schema {
        Schema::new(self.arrow())
    }

    /// Looks at one document. What is no JSON object, or no JSON, is not looked at to its end.
    pub(super) fn observe(&mut self, document: &[u8]) {
        let mut json = serde_json::Deserializer::from_slice(document);
        // The scan finds it again, and knows where it stands.
        let _ = (&mut json).deserialize_any(Document(self));
    }

    pub(super) fn join(&mut self, other: Object) {
        for (name, shape) in other.fields {
            let field = self.field(&name);
            *field = std::mem::take(field).join(shape);
        }
    }

    fn arrow(&self) -> Fields {
        self.fields.iter().map(|(name, shape)| Arc::new(Field::new(name, shape.data_type(), true))).collect()
    }
}

impl Shape {
    /// The column's type.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Shape::Null | Shape::Text => DataType::Utf8,
            Shape::Bool => DataType::Boolean,
            Shape::Int => DataType::Int64,
            Shape::Wide => DataType::Decimal128(20, 0),
            Shape::Float => DataType::Float64,
            Shape::List(item) => DataType::List(Arc::new(Field::new_list_field(item.data_type(), true))),
            // A struct needs a field.
            Shape::Object(object) if object.fields.is_empty() => json_type(),
            Shape::Object(object) => DataType::Struct(object.arrow()),
            Shape::Json => json_type(),
        }
    }

    /// What is in common to this and `other`.
    fn join(self, other: Shape) -> Shape {
        use Shape::{Bool, Float, Int, Json, List, Null, Object, Text, Wide};
        match (self, other) {
            (a, b) if a == b => a,
            (Null, shape) | (shape, Null) => shape,
            (Int, Wide) | (Wide, Int) => Wide,
            (Float, Int | Wide) | (Int | Wide, Float) => Float,
            (Bool | Int | Wide | Float | Text, Bool | Int | Wide | Float | Text) => Text,
            (List(a), List(b)) => List(Box::new(a.join(*b))),
            (Object(mut a), Object(b)) => {
                a.join(b);
                if a.fields.len() > FIELDS_MAX { Json } else { Object(a) }
            }
            _ => Json,
        }
    }

    fn see(&mut self, scalar: Shape) {
        if *self != scalar {
            *self = std::mem::take(self).join(scalar);
        }
    }
}

/// A document into its columns.
struct Document<'a>(&'a mut Object);

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key_seed(NameSeed)? {
            map.next_value_seed(self.0.field(&name))?;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Shape {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Shape {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.see(Shape::Bool);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.see(Shape::Int);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.see(if i64::try_from(value).is_ok() { Shape::Int } else { Shape::Wide });
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.see(Shape::Float);
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.see(Shape::Text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.become_if_null(Shape::List(Box::default()));
        if let Shape::List(item) = self {
            while seq.next_element_seed(&mut **item)?.is_some() {}
            return Ok(());
        }
        *self = Shape::Json;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.become_if_null(Shape::Object(Object::default()));
        if let Shape::Object(object) = self {
            while let Some(Name(name)) = map.next_key_seed(NameSeed)? {
                map.next_value_seed(object.field(&name))?;
            }
            if object.fields.len() <= FIELDS_MAX {
                return Ok(());
            }
        }
        *self = Shape::Json;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

impl Shape {
    fn become_if_null(&mut self, shape: Shape) {
        if *self == Shape::Null {
            *self = shape;
        }
    }
}

/// The name of a field, without a copy where it has no escapes.
struct Name<'de>(Cow<'de, str>);

struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Name<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name<'de>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(documents: &[&str]) -> String {
        let mut parts = [Object::default(), Object::default()];
        for (i, document) in documents.iter().enumerate() {
            parts[i % 2].observe(document.as_bytes());
        }
        let [mut all, other] = parts;
        all.join(other);
        let mut whole = Object::default();
        documents.iter().for_each(|document| whole.observe(document.as_bytes()));
        let sorted = |object: &Object| {
            let schema = object.schema();
            let mut fields: Vec<String> =
                schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type())).collect();
            fields.sort();
            fields.join("; ")
        };
        assert_eq!(sorted(&all), sorted(&whole), "in parts and as a whole");
        sorted(&whole)
    }

    #[test]
    fn numbers_and_text_have_a_common_type() {
        assert_eq!(columns(&[r#"{"a":1,"b":null}"#, r#"{"a":-2}"#]), "a: Int64; b: Utf8");
        assert_eq!(columns(&[r#"{"a":1}"#, r#"{"a":2.5}"#]), "a: Float64");
        assert_eq!(columns(&[r#"{"a":1}"#, r#"{"a":"x"}"#, r#"{"a":true}"#]), "a: Utf8");
        assert_eq!(columns(&[r#"{"a":1}"#, r#"{"a":18446744073709551615}"#]), "a: Decimal128(20, 0)");
    }

    #[test]
    fn nested_values_have_the_fields_of_all() {
        assert_eq!(
            columns(&[r#"{"o":{"x":1}}"#, r#"{"o":null}"#, r#"{"o":{"y":[1,2.5]}}"#, r#"{"o":{}}"#]),
            r#"o: Struct("x": Int64, "y": List(Float64))"#
        );
        assert_eq!(
            columns(&[r#"{"l":[]}"#, r#"{"l":[{"a":1},{"b":"x"}]}"#]),
            r#"l: List(Struct("a": Int64, "b": Utf8))"#
        );
    }

    #[test]
    fn what_has_nothing_in_common_stays_json() {
        let json = json_type().to_string();
        assert_eq!(columns(&[r#"{"a":1}"#, r#"{"a":{"x":1}}"#]), format!("a: {json}"));
        assert_eq!(columns(&[r#"{"a":[1]}"#, r#"{"a":"x"}"#]), format!("a: {json}"));
        assert_eq!(columns(&[r#"{"a":{}}"#]), format!("a: {json}"));
        let ids: Vec<String> = (0..=FIELDS_MAX).map(|id| format!("\"k{id}\":1")).collect();
        assert_eq!(columns(&[&format!("{{\"m\":{{{}}}}}", ids.join(","))]), format!("m: {json}"));
    }

    #[test]
    fn what_is_no_document_says_nothing() {
        assert_eq!(columns(&["[1]", "7", "{\"a\":1", "what"]), "a: Int64");
    }
}

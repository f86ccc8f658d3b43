//! Determines the columns of documents.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, Fields, Schema};
use inrush_formats::columns::json::json_type;
use inrush_formats::numbers::{Holder, Numbers};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The most different fields of an object below the document. An object with more is treated as a
/// map with ids or similar keys, not as a struct.
const FIELDS_MAX: usize = 1000;

/// The greatest depth. Deeper values are kept as JSON, because each level is read once more for
/// every level above it.
const DEPTH_MAX: usize = 64;

/// The common properties of all values of a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Shape {
    /// Only nulls.
    #[default]
    Null,
    Bool,
    Number(Numbers),
    /// Strings, or a mixture of strings, numbers and booleans.
    Text,
    List(Box<Shape>),
    Object(Object),
    /// Values of different kinds: objects here and numbers there.
    Json,
}

/// Fields in the order in which they were first seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Object {
    fields: Vec<(String, Shape)>,
    places: HashMap<String, usize>,
    /// Of the fields of a document, in the same order. Shorter if the last ones have no values.
    tallies: Vec<Tally>,
}

/// The values of a column by their kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) numbers: u64,
    pub(super) texts: u64,
    /// Texts of digits alone.
    codes: u64,
}

/// The fewest numbers beside which other values are told. Fewer show nothing.
const NUMBERS_MIN: u64 = 10;

impl Tally {
    fn see(&mut self, value: &str) {
        match value.as_bytes() {
            [b'"', text @ .., b'"'] if text.iter().all(u8::is_ascii_digit) => self.codes += 1,
            [b'"' | b't' | b'f', ..] => self.texts += 1,
            [b'-' | b'0'..=b'9', ..] => self.numbers += 1,
            _ => {}
        }
    }

    /// Whether the texts are few: one, or one of a hundred values.
    fn has_few_texts(&self) -> bool {
        let most = if self.texts == 1 { NUMBERS_MIN } else { 100 * self.texts };
        self.codes == 0 && self.texts > 0 && self.numbers >= most.max(NUMBERS_MIN)
    }
}

impl Object {
    fn place(&mut self, name: &str) -> usize {
        if let Some(at) = self.places.get(name) {
            return *at;
        }
        self.places.insert(name.to_owned(), self.fields.len());
        self.fields.push((name.to_owned(), Shape::Null));
        self.fields.len() - 1
    }

    fn field(&mut self, name: &str) -> &mut Shape {
        let at = self.place(name);
        &mut self.fields[at].1
    }

    fn tally(&mut self, at: usize) -> &mut Tally {
        if self.tallies.len() <= at {
            self.tallies.resize(at + 1, Tally::default());
        }
        &mut self.tallies[at]
    }

    /// The columns that are text because of a few of their values, which are numbers otherwise.
    pub(super) fn few_texts(&self) -> impl Iterator<Item = (&str, Tally)> {
        let few = self.fields.iter().zip(&self.tallies).filter(|(_, tally)| tally.has_few_texts());
        few.filter(|((_, shape), _)| *shape == Shape::Text).map(|((name, _), tally)| (name.as_str(), *tally))
    }

    /// Adds columns that exist even if no document has a value in them.
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

    /// Adds one document. Reading stops where it is not a JSON object, or not JSON.
    pub(super) fn observe(&mut self, document: &[u8]) {
        let mut json = serde_json::Deserializer::from_slice(document);
        // The scan finds the error again, and knows its position.
        let _ = json.deserialize_any(Members { object: self, depth: 0 });
    }

    pub(super) fn join(&mut self, other: Object) {
        for (from, (name, shape)) in other.fields.into_iter().enumerate() {
            let at = self.place(&name);
            let field = &mut self.fields[at].1;
            *field = std::mem::take(field).join(shape);
            if let Some(more) = other.tallies.get(from) {
                let tally = self.tally(at);
                tally.numbers += more.numbers;
                tally.texts += more.texts;
                tally.codes += more.codes;
            }
        }
    }

    fn arrow(&self) -> Fields {
        self.fields.iter().map(|(name, shape)| Arc::new(Field::new(name, shape.data_type(), true))).collect()
    }
}

impl Shape {
    /// The type of the column.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Shape::Null | Shape::Text => DataType::Utf8,
            Shape::Bool => DataType::Boolean,
            Shape::Number(numbers) => match numbers.holder() {
                Holder::Integer => DataType::Int64,
                Holder::Double | Holder::Rounded => DataType::Float64,
                Holder::Decimal(precision, scale) if precision <= DECIMAL128_MAX_PRECISION => {
                    DataType::Decimal128(precision, scale as i8)
                }
                Holder::Decimal(precision, scale) => DataType::Decimal256(precision, scale as i8),
                Holder::Nothing => json_type(),
            },
            Shape::List(item) => DataType::List(Arc::new(Field::new_list_field(item.data_type(), true))),
            // A struct needs a field.
            Shape::Object(object) if object.fields.is_empty() => json_type(),
            Shape::Object(object) => DataType::Struct(object.arrow()),
            Shape::Json => json_type(),
        }
    }

    /// Whether values are kept as their JSON.
    pub(super) fn is_json(&self) -> bool {
        match self {
            Shape::Json => true,
            Shape::Number(numbers) => numbers.holder() == Holder::Nothing,
            Shape::Object(object) => object.fields.is_empty(),
            _ => false,
        }
    }

    /// The digits after the point with which the numbers are written out, if some have powers of
    /// ten and all become decimals.
    pub(super) fn scale_of_powers(&self) -> Option<u8> {
        match self {
            Shape::Number(numbers) => numbers.scale_of_powers(),
            _ => None,
        }
    }

    /// Whether some of its numbers lose digits.
    pub(super) fn rounds(&self) -> bool {
        match self {
            Shape::Number(numbers) => numbers.holder() == Holder::Rounded,
            Shape::List(item) => item.rounds(),
            Shape::Object(object) => object.fields.iter().any(|(_, shape)| shape.rounds()),
            _ => false,
        }
    }

    /// The common shape of this and `other`.
    fn join(self, other: Shape) -> Shape {
        use Shape::{Bool, Json, List, Null, Number, Object, Text};
        match (self, other) {
            (a, b) if a == b => a,
            (Null, shape) | (shape, Null) => shape,
            (Number(a), Number(b)) => Number(a.join(b)),
            (Bool | Number(_) | Text, Bool | Number(_) | Text) => Text,
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

impl Shape {
    /// Adds one value, nested in `depth` others. Reading stops where it is not JSON.
    fn observe(&mut self, value: &str, depth: usize) {
        let mut json = serde_json::Deserializer::from_str(value);
        match value.as_bytes().first() {
            None | Some(b'n') => {}
            Some(b't' | b'f') => self.see(Shape::Bool),
            Some(b'"') => self.see(Shape::Text),
            Some(b'[' | b'{') if depth >= DEPTH_MAX => *self = Shape::Json,
            Some(b'[') => {
                self.become_if_null(Shape::List(Box::default()));
                match self {
                    // The scan reports why the value ends early.
                    Shape::List(item) => drop(json.deserialize_seq(Items { item, depth: depth + 1 })),
                    _ => *self = Shape::Json,
                }
            }
            Some(b'{') => {
                self.become_if_null(Shape::Object(Object::default()));
                if let Shape::Object(object) = self {
                    drop(json.deserialize_map(Members { object, depth: depth + 1 }));
                    if object.fields.len() <= FIELDS_MAX {
                        return;
                    }
                }
                *self = Shape::Json;
            }
            Some(_) => match self {
                Shape::Number(numbers) => numbers.see(value),
                _ => self.see(Shape::Number(Numbers::of(value))),
            },
        }
    }

    fn become_if_null(&mut self, shape: Shape) {
        if *self == Shape::Null {
            *self = shape;
        }
    }
}

/// Reads the members of an object into fields.
struct Members<'a> {
    object: &'a mut Object,
    depth: usize,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key_seed(NameSeed)? {
            // Values are read as text, because a parsed number has lost digits.
            let value: &RawValue = map.next_value()?;
            let at = self.object.place(&name);
            self.object.fields[at].1.observe(value.get(), self.depth);
            if self.depth == 0 {
                self.object.tally(at).see(value.get());
            }
        }
        Ok(())
    }
}

/// Reads the values of an array.
struct Items<'a> {
    item: &'a mut Shape,
    depth: usize,
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element::<&RawValue>()? {
            self.item.observe(value.get(), self.depth);
        }
        Ok(())
    }
}

/// The name of a field, without a copy if it has no escapes.
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
    fn numbers_have_a_type_that_keeps_their_digits() {
        assert_eq!(columns(&[r#"{"a":[1]}"#, r#"{"a":[2866.0, 2866.5]}"#]), "a: List(Float64)");
        assert_eq!(columns(&[r#"{"a":9007199254740993}"#, r#"{"a":0.5}"#]), "a: Decimal128(17, 1)");
        assert_eq!(columns(&[r#"{"a":1234567890123456.78}"#, r#"{"a":1}"#]), "a: Decimal128(18, 2)");
        assert_eq!(columns(&[r#"{"a":1e50}"#, r#"{"a":0.1234567890123456789}"#]), "a: Decimal256(70, 19)");
        assert_eq!(columns(&[r#"{"a":1e300}"#, r#"{"a":0.1234567890123456789}"#]), "a: Float64");
        assert_eq!(columns(&[r#"{"a":1e400}"#, r#"{"a":1}"#]), format!("a: {}", json_type()));
    }

    #[test]
    fn what_is_very_deep_is_kept_as_json() {
        let document = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(columns(&[&document]).contains("$json"));
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

    #[test]
    fn a_million_levels_are_survived() {
        let deep = format!("{{\"b\":{}1{}}}", "[{\"b\":".repeat(500_000), "}]".repeat(500_000));
        assert!(columns(&[r#"{"a":1}"#, &deep]).contains("a: Int64"));
    }
}

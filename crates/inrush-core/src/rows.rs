//! What a load needs of documents that are made of rows: whether a row names its nulls, and what
//! the target's mapping says of fields that can be written in more than one way.

mod field_type;
mod new_texts;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use self::field_type::FieldType;
use self::field_type::field_type;
use self::new_texts::NewTexts;
use crate::Action;
use crate::shaping::{Rename, Shaping};
use crate::vectors::{Packing, VectorField};

/// How deep fields of objects are looked at.
const DEPTH_MAX: usize = 50;

/// The form of documents that are made of rows: those of databases, CSV, columnar files, workbooks
/// and queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowForm {
    /// Whether a column without a value is a `null` in the document. If not, it is absent, which
    /// an update takes for a field that stays.
    pub nulls: bool,
    /// The fields of the target, as far as they are known.
    pub fields: FieldTypes,
    /// Whether vectors are packed. It may change while rows are written.
    pub packing: Packing,
}

impl RowForm {
    /// The form for a load with this action into an index with these fields.
    pub fn new(action: Action, fields: FieldTypes) -> Self {
        let nulls = matches!(action, Action::Update | Action::Upsert);
        RowForm { nulls, fields, packing: Packing::default() }
    }

    /// Packs vectors while `packing` is on.
    #[must_use]
    pub fn with_packing(self, packing: Packing) -> Self {
        RowForm { packing, ..self }
    }
}

/// The fields of a mapping that [`FieldType`] has a word for, and those with vectors, by their
/// paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldTypes {
    types: BTreeMap<String, FieldType>,
    vectors: BTreeMap<String, VectorField>,
    /// Vectors in nested objects.
    nested: BTreeSet<String>,
    new_texts: NewTexts,
}

impl FieldTypes {
    /// The fields of the body of `mappings`.
    pub fn of_mapping(mapping: &Value) -> Self {
        let mut fields = FieldTypes { new_texts: NewTexts::of_mapping(mapping), ..FieldTypes::default() };
        if let Some(properties) = mapping.get("properties").and_then(Value::as_object) {
            add(properties, ("", false), 0, &mut fields);
        }
        fields
    }

    /// The type of the field at this path, or of one that a dynamic template would make.
    pub fn of(&self, path: &str) -> Option<FieldType> {
        self.types.get(path).copied().or_else(|| self.new_texts.has(path).then_some(FieldType::Text))
    }

    /// The vector of the field at this path.
    pub fn vector(&self, path: &str) -> Option<VectorField> {
        self.vectors.get(path).copied()
    }

    /// The fields with vectors, and their paths.
    pub fn vectors(&self) -> impl Iterator<Item = (&str, &VectorField)> {
        self.vectors.iter().map(|(path, field)| (path.as_str(), field))
    }

    /// Whether the field of this path is in a nested object, which the server keeps as a document
    /// of its own.
    pub fn is_nested(&self, path: &str) -> bool {
        self.nested.contains(path)
    }

    /// The same fields without those of vectors.
    #[must_use]
    pub fn without_vectors(self) -> Self {
        FieldTypes { types: self.types, new_texts: self.new_texts, ..FieldTypes::default() }
    }

    /// The same fields without those of texts.
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        self.types.retain(|_, found| *found != FieldType::Text);
        self.new_texts = NewTexts::default();
        self
    }

    /// The same fields by the names that they have in the source. A column that gets another name
    /// has the type of that one, or none, also if a field of its old name is in the mapping.
    #[must_use]
    pub fn of_source(mut self, shaping: &Shaping) -> Self {
        let (mut types, mut vectors) = (Vec::new(), Vec::new());
        for Rename { from, to } in shaping.renames() {
            let (from, to) = (from.as_str().to_owned(), to.as_str());
            vectors.push((from.clone(), self.vector(to)));
            types.push((from, self.of(to)));
        }
        for (from, _) in &types {
            self.types.remove(from);
            self.vectors.remove(from);
            self.new_texts.know(from);
        }
        self.types.extend(types.into_iter().filter_map(|(from, found)| Some((from, found?))));
        self.vectors.extend(vectors.into_iter().filter_map(|(from, found)| Some((from, found?))));
        self
    }

    /// Paths of the mapping's fields of this type.
    pub fn all(&self, wanted: FieldType) -> impl Iterator<Item = &str> {
        self.types.iter().filter(move |(_, found)| **found == wanted).map(|(path, _)| path.as_str())
    }
}

/// Adds the fields of an object: its path, and whether it is in a nested one.
fn add(properties: &Map<String, Value>, (above, is_nested): (&str, bool), depth: usize, fields: &mut FieldTypes) {
    for (name, field) in properties {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        fields.new_texts.know(&path);
        if let Some(below) = field.get("properties").and_then(Value::as_object).filter(|_| depth < DEPTH_MAX) {
            let is_nested = is_nested || field.get("type").is_some_and(|kind| kind == "nested");
            add(below, (&path, is_nested), depth + 1, fields);
        }
        if let Some(found) = VectorField::of(field) {
            if is_nested {
                fields.nested.insert(path.clone());
            }
            fields.vectors.insert(path, found);
        } else if let Some(found) = field_type(field) {
            fields.types.insert(path, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn renamed_fields_are_known_by_their_names_in_the_source() {
        let fields = FieldTypes::of_mapping(&json!({"properties": {"n": {"type": "long"}, "o": {"type": "long"}}}));
        let shaping = Shaping { rename: vec!["Number=n".parse().unwrap()], ..Shaping::default() };
        let fields = fields.of_source(&shaping);
        assert_eq!((fields.of("Number"), fields.of("o")), (Some(FieldType::Whole), Some(FieldType::Whole)));
        let vectors = FieldTypes::of_mapping(&json!({"properties": {
            "o": {"properties": {"v": {"type": "dense_vector", "dims": 8}}},
            "w": {"type": "knn_vector", "dimension": 9},
            "n": {"type": "nested", "properties": {"p": {"properties": {"v": {"type": "dense_vector", "dims": 8}}}}},
        }}));
        assert_eq!(["o.v", "w", "n.p.v", "x"].map(|path| vectors.is_nested(path)), [false, false, true, false]);
        let shaping = Shaping { rename: vec!["embedding=o.v".parse().unwrap()], ..Shaping::default() };
        let vectors = vectors.of_source(&shaping);
        let length = |path| vectors.vector(path).and_then(|field| field.length);
        assert_eq!([length("embedding"), length("o.v"), length("w"), length("o")], [Some(8), Some(8), Some(9), None]);
        assert_eq!(vectors.without_vectors(), FieldTypes::default());
    }

    #[test]
    fn a_column_that_gets_another_name_loses_the_type_of_its_old_one() {
        let fields = FieldTypes::of_mapping(&json!({"properties": {
            "v": {"type": "dense_vector", "dims": 8},
            "n": {"type": "long"},
            "f": {"type": "double"},
        }}));
        let of = |renames: &[&str]| {
            let rename = renames.iter().map(|rename| rename.parse().unwrap()).collect();
            let fields = fields.clone().of_source(&Shaping { rename, ..Shaping::default() });
            let length = |path| fields.vector(path).and_then(|field| field.length);
            (["v", "n", "f", "x"].map(length), ["v", "n", "f", "x"].map(|path| fields.of(path)))
        };
        let (whole, fraction) = (Some(FieldType::Whole), Some(FieldType::Fraction));
        assert_eq!(of(&["v=v_raw", "n=n_raw"]), ([None; 4], [None, None, fraction, None]));
        // Swaps: two types, a vector and a type, a vector and a field of no type.
        assert_eq!(of(&["n=f", "f=n"]), ([Some(8), None, None, None], [None, fraction, whole, None]));
        assert_eq!(of(&["v=n", "n=v"]), ([None, Some(8), None, None], [whole, None, fraction, None]));
        assert_eq!(of(&["v=x", "x=v"]), ([None, None, None, Some(8)], [None, whole, fraction, None]));
    }

    #[test]
    fn fields_are_known_by_their_paths() {
        let fields = FieldTypes::of_mapping(&json!({"properties": {
            "n": {"type": "long"},
            "o": {"properties": {"p": {"type": "scaled_float", "scaling_factor": 100}, "k": {"type": "keyword"}}},
            "d": {"type": "date", "format": "yyyy-MM-dd HH:mm:ss"},
            "e": {"type": "date"},
            "q": {"properties": {"b": {"type": "binary"}}},
        }}));
        let of = |path| fields.of(path);
        assert_eq!(
            (of("n"), of("o.p"), of("d")),
            (Some(FieldType::Whole), Some(FieldType::Fraction), Some(FieldType::SpacedDate))
        );
        assert_eq!((of("o"), of("o.k"), of("e"), of("x")), (None, Some(FieldType::Text), None, None));
        assert_eq!(fields.all(FieldType::SpacedDate).collect::<Vec<_>>(), ["d"]);
        assert_eq!(fields.all(FieldType::Binary).collect::<Vec<_>>(), ["q.b"]);
        assert_eq!(FieldTypes::of_mapping(&json!({})), FieldTypes::default());
        let without = fields.clone().without_texts();
        assert_eq!((without.of("o.k"), without.of("n")), (None, Some(FieldType::Whole)));
    }

    #[test]
    fn new_fields_of_dynamic_templates_are_texts() {
        let templates = json!([{"ids": {"match": "*_id", "mapping": {"type": "keyword"}}}]);
        let mapping = json!({"properties": {"an_id": {"type": "ip"}}, "dynamic_templates": templates});
        let fields = FieldTypes::of_mapping(&mapping);
        let shaping = Shaping { rename: vec!["zip_id=zip".parse().unwrap()], ..Shaping::default() };
        let renamed = fields.clone().of_source(&shaping);
        assert_eq!(["an_id", "zip_id", "zip"].map(|path| fields.of(path)), [None, Some(FieldType::Text), None]);
        assert_eq!(["zip_id", "a_id"].map(|path| renamed.of(path)), [None, Some(FieldType::Text)]);
        assert_eq!(fields.without_texts().of("zip_id"), None);
    }

    #[test]
    fn updates_name_their_nulls() {
        let nulls = |action| RowForm::new(action, FieldTypes::default()).nulls;
        assert!(nulls(Action::Update) && nulls(Action::Upsert));
        assert!(!nulls(Action::Index) && !nulls(Action::Create) && !nulls(Action::Delete));
    }
}

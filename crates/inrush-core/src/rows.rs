//! What a load needs of documents that are made of rows: whether a row names its nulls, and what
//! the target's mapping says of fields that can be written in more than one way.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

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

/// How a field of the target takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Whole numbers. The server indexes only the whole part of a fraction.
    Whole,
    /// Numbers with fractions.
    Fraction,
    /// Dates in a format with a blank between date and time, and without ISO 8601.
    SpacedDate,
    /// Bytes in base64.
    Binary,
}

/// The fields of a mapping that [`FieldType`] has a word for, and those with vectors, by their
/// paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldTypes {
    types: BTreeMap<String, FieldType>,
    vectors: BTreeMap<String, VectorField>,
}

impl FieldTypes {
    /// The fields of the body of `mappings`.
    pub fn of_mapping(mapping: &Value) -> Self {
        let mut fields = FieldTypes::default();
        if let Some(properties) = mapping.get("properties").and_then(Value::as_object) {
            add(properties, "", 0, &mut fields);
        }
        fields
    }

    /// The type of the field at this path.
    pub fn of(&self, path: &str) -> Option<FieldType> {
        self.types.get(path).copied()
    }

    /// The vector of the field at this path.
    pub fn vector(&self, path: &str) -> Option<VectorField> {
        self.vectors.get(path).copied()
    }

    /// The fields with vectors, and their paths.
    pub fn vectors(&self) -> impl Iterator<Item = (&str, &VectorField)> {
        self.vectors.iter().map(|(path, field)| (path.as_str(), field))
    }

    /// The same fields without those of vectors.
    #[must_use]
    pub fn without_vectors(self) -> Self {
        FieldTypes { vectors: BTreeMap::new(), ..self }
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
        }
        self.types.extend(types.into_iter().filter_map(|(from, found)| Some((from, found?))));
        self.vectors.extend(vectors.into_iter().filter_map(|(from, found)| Some((from, found?))));
        self
    }

    /// Paths of the fields of this type.
    pub fn all(&self, wanted: FieldType) -> impl Iterator<Item = &str> {
        self.types.iter().filter(move |(_, found)| **found == wanted).map(|(path, _)| path.as_str())
    }
}

fn add(properties: &Map<String, Value>, above: &str, depth: usize, fields: &mut FieldTypes) {
    for (name, field) in properties {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        if let Some(below) = field.get("properties").and_then(Value::as_object).filter(|_| depth < DEPTH_MAX) {
            add(below, &path, depth + 1, fields);
        }
        if let Some(found) = VectorField::of(field) {
            fields.vectors.insert(path, found);
        } else if let Some(found) = field_type(field) {
            fields.types.insert(path, found);
        }
    }
}

fn field_type(field: &Value) -> Option<FieldType> {
    let text = |name: &str| field.get(name).and_then(Value::as_str);
    match text("type")? {
        "long" | "integer" | "short" | "byte" | "unsigned_long" => Some(FieldType::Whole),
        "double" | "float" | "half_float" | "scaled_float" => Some(FieldType::Fraction),
        "date" | "date_nanos" if text("format").is_some_and(is_spaced) => Some(FieldType::SpacedDate),
        "binary" => Some(FieldType::Binary),
        _ => None,
    }
}

/// Whether a format of dates takes a blank between date and time, and no `T`. Formats with a name,
/// such as `strict_date_optional_time`, have the `T`.
fn is_spaced(format: &str) -> bool {
    let takes_t = |part: &str| part.contains("'T'") || part.contains('_') && !part.starts_with("epoch_");
    let mut parts = format.split("||").map(str::trim);
    parts.clone().any(|part| part.contains(' ')) && !parts.any(|part| takes_t(part) || part == "iso8601")
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
        }}));
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
        assert_eq!((of("o"), of("o.k"), of("e"), of("x")), (None, None, None, None));
        assert_eq!(fields.all(FieldType::SpacedDate).collect::<Vec<_>>(), ["d"]);
        assert_eq!(fields.all(FieldType::Binary).collect::<Vec<_>>(), ["q.b"]);
        assert_eq!(FieldTypes::of_mapping(&json!({})), FieldTypes::default());
    }

    #[test]
    fn formats_with_a_blank_that_take_no_t() {
        for spaced in [
            "yyyy-MM-dd HH:mm:ss",
            "yyyy-MM-dd HH:mm:ss||yyyy-MM-dd",
            "uuuu-MM-dd HH:mm:ss.SSS || epoch_millis",
            "dd/MM/yyyy HH:mm",
        ] {
            assert!(is_spaced(spaced), "{spaced}");
        }
        for other in [
            "strict_date_optional_time||epoch_millis",
            "yyyy-MM-dd HH:mm:ss||strict_date_optional_time",
            "yyyy-MM-dd HH:mm:ss||yyyy-MM-dd'T'HH:mm:ss",
            "yyyy-MM-dd HH:mm:ss||iso8601",
            "yyyyMMdd",
            "epoch_second",
        ] {
            assert!(!is_spaced(other), "{other}");
        }
    }

    #[test]
    fn updates_name_their_nulls() {
        let nulls = |action| RowForm::new(action, FieldTypes::default()).nulls;
        assert!(nulls(Action::Update) && nulls(Action::Upsert));
        assert!(!nulls(Action::Index) && !nulls(Action::Create) && !nulls(Action::Delete));
    }
}

//! A mapping: the body that was put, and its fields by path.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::vectors::{self, Vector};
use crate::error::ServerError;

/// Default of `index.mapping.total_fields.limit`: the fields that a mapping may have.
pub(crate) const TOTAL_FIELDS_LIMIT: usize = 1000;

/// Types that a mapping may declare.
const KNOWN_TYPES: [&str; 38] = [
    "object",
    "nested",
    "text",
    "keyword",
    "wildcard",
    "match_only_text",
    "constant_keyword",
    "long",
    "integer",
    "short",
    "byte",
    "unsigned_long",
    "double",
    "float",
    "half_float",
    "scaled_float",
    "boolean",
    "date",
    "date_nanos",
    "ip",
    "binary",
    "geo_point",
    "geo_shape",
    "point",
    "shape",
    "completion",
    "search_as_you_type",
    "token_count",
    "percolator",
    "join",
    "alias",
    "flattened",
    "flat_object",
    "dense_vector",
    "knn_vector",
    "rank_feature",
    "version",
    "integer_range",
];

/// The mapping of an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapping {
    /// The body, as `GET _mapping` shows it.
    pub(super) source: Map<String, Value>,
    /// The fields by full path.
    pub(super) fields: BTreeMap<String, Field>,
}

/// One field, with the options that decide on a value.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) kind: String,
    pub(super) format: Option<String>,
    pub(super) ignore_malformed: bool,
    pub(super) enabled: bool,
    pub(super) dynamic: Option<Value>,
    /// The type of its `index_options`, if it holds a vector and says so.
    pub(super) index_type: Option<String>,
    /// What it takes, if it holds a vector.
    pub(super) vector: Option<Vector>,
    /// The field and its multi-fields, as the limit counts them.
    pub(super) weight: usize,
}

impl Mapping {
    /// A mapping from its body (`properties`, `_meta`, `dynamic` …).
    ///
    /// # Errors
    ///
    /// 400 `mapper_parsing_exception` for a malformed mapping.
    pub(crate) fn new(body: &Value) -> Result<Self, ServerError> {
        let mut mapping = Mapping::default();
        mapping.put(body)?;
        Ok(mapping)
    }

    /// The mapping as `GET _mapping` shows it.
    pub(crate) fn to_value(&self) -> Value {
        Value::Object(self.source.clone())
    }

    /// The type of a field, if it has one.
    pub(crate) fn kind(&self, path: &str) -> Option<&str> {
        self.fields.get(path).map(|field| field.kind.as_str())
    }

    /// The fields that are dimensions of a time series.
    pub(crate) fn dimensions(&self) -> Vec<String> {
        fn add(path: &str, definition: &Value, to: &mut Vec<String>) {
            if definition.get("time_series_dimension") == Some(&json!(true)) {
                to.push(path.to_owned());
            }
            for (name, below) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
                add(&if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, below, to);
            }
        }
        let mut found = Vec::new();
        add("", &self.to_value(), &mut found);
        found
    }

    /// `PUT _mapping`: merges `properties` and replaces each other key, such as `_meta`, as a
    /// whole.
    ///
    /// # Errors
    ///
    /// 400 if a field would change its type; the mapping does not change then.
    pub(crate) fn put(&mut self, body: &Value) -> Result<(), ServerError> {
        let Value::Object(body) = body else {
            return Err(ServerError::new(
                400,
                "mapper_parsing_exception",
                "Failed to parse mapping: expected an object",
            ));
        };
        let mut fields = self.fields.clone();
        if let Some(properties) = body.get("properties") {
            collect(&mut fields, "", properties)?;
        }
        self.fields = fields;
        for (key, value) in body {
            match (key.as_str(), self.source.get_mut(key)) {
                ("properties", Some(old)) => merge_properties(old, value),
                _ => {
                    self.source.insert(key.clone(), value.clone());
                }
            }
        }
        self.source.get_mut("properties").into_iter().for_each(vectors::complete);
        Ok(())
    }

    /// A document as the server shows its `_source`, with or without vectors.
    pub(crate) fn source_shown(&self, source: Value, with_vectors: bool, little_endian: bool) -> Value {
        vectors::shown(self.fields.iter(), source, with_vectors, little_endian)
    }

    /// Fields, as the limit counts them.
    pub(super) fn total_fields(&self) -> usize {
        self.fields.values().map(|field| field.weight).sum()
    }
}

/// A field from its definition.
pub(super) fn field_of(definition: &Map<String, Value>) -> Field {
    let kind = definition.get("type").and_then(Value::as_str).unwrap_or("object").to_owned();
    let multi_fields = definition.get("fields").and_then(Value::as_object).map_or(0, Map::len);
    Field {
        kind,
        format: definition.get("format").and_then(Value::as_str).map(str::to_owned),
        ignore_malformed: definition.get("ignore_malformed") == Some(&json!(true)),
        enabled: definition.get("enabled") != Some(&json!(false)),
        dynamic: definition.get("dynamic").cloned(),
        index_type: vectors::index_type(definition),
        vector: Vector::of(definition),
        weight: 1 + multi_fields,
    }
}

/// Adds the fields of `properties` to `fields`.
fn collect(fields: &mut BTreeMap<String, Field>, prefix: &str, properties: &Value) -> Result<(), ServerError> {
    let Value::Object(properties) = properties else {
        return Err(ServerError::new(400, "mapper_parsing_exception", "Expected map for property [properties]"));
    };
    for (name, definition) in properties {
        let path = join(prefix, name);
        let Value::Object(definition) = definition else {
            return Err(ServerError::new(
                400,
                "mapper_parsing_exception",
                format!("Expected map for property [fields] on field [{path}] but got a class java.lang.String"),
            ));
        };
        let field = field_of(definition);
        if !KNOWN_TYPES.contains(&field.kind.as_str()) {
            let kind = &field.kind;
            return Err(ServerError::new(
                400,
                "mapper_parsing_exception",
                format!("No handler for type [{kind}] declared on field [{path}]"),
            ));
        }
        if let Some(old) = fields.get(&path)
            && old.kind != field.kind
        {
            return Err(type_change(&path, &old.kind, &field.kind));
        }
        if let Some(old) = fields.get(&path) {
            vectors::check_update(&path, old.index_type.as_deref(), field.index_type.as_deref())?;
        }
        fields.insert(path.clone(), field);
        if let Some(nested) = definition.get("properties") {
            collect(fields, &path, nested)?;
        }
    }
    Ok(())
}

pub(super) fn type_change(path: &str, from: &str, to: &str) -> ServerError {
    ServerError::illegal_argument(format!("mapper [{path}] cannot be changed from type [{from}] to [{to}]"))
}

fn merge_properties(old: &mut Value, new: &Value) {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return;
    };
    for (name, definition) in new {
        match old.get_mut(name) {
            Some(Value::Object(old)) => {
                let Value::Object(definition) = definition else {
                    continue;
                };
                for (key, value) in definition {
                    match old.get_mut(key) {
                        Some(nested) if key == "properties" => merge_properties(nested, value),
                        _ => {
                            old.insert(key.clone(), value.clone());
                        }
                    }
                }
            }
            _ => {
                old.insert(name.clone(), definition.clone());
            }
        }
    }
}

/// The path of a field below `prefix`.
pub(super) fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

//! Mappings: what the fake infers from documents and what it refuses, in the servers' words.

mod values;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::values::{check_scalar, infer, preview, takes_arrays};
use crate::error::EsError;
use crate::product::Flavor;

/// Fields a mapping may hold unless `index.mapping.total_fields.limit` says otherwise.
pub(crate) const TOTAL_FIELDS_LIMIT: usize = 1000;

/// Types a mapping may declare.
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

/// The fields of an index by full path, beside the mapping as it was given.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    source: Map<String, Value>,
    fields: BTreeMap<String, Field>,
}

/// One field: its type and what decides whether a value fits.
#[derive(Clone, Debug)]
struct Field {
    kind: String,
    format: Option<String>,
    ignore_malformed: bool,
    enabled: bool,
    dynamic: Option<Value>,
    /// Fields it counts for, itself and its multi-fields.
    weight: usize,
}

/// What a document may do to an index, and how its error is worded.
pub struct DocumentContext<'a> {
    /// Decides the names of errors.
    pub flavor: &'a Flavor,
    /// The document's id, which the servers quote.
    pub id: &'a str,
    /// `index.mapping.total_fields.limit`.
    pub total_fields_limit: usize,
    /// `index.mapping.ignore_malformed`.
    pub ignore_malformed: bool,
}

impl Mapping {
    /// Takes a mapping body (`properties`, `_meta`, `dynamic` …) as given.
    ///
    /// # Errors
    ///
    /// 400 `mapper_parsing_exception` for a body that is no mapping.
    pub fn new(body: &Value) -> Result<Self, EsError> {
        let mut mapping = Mapping::default();
        mapping.put(body)?;
        Ok(mapping)
    }

    /// The mapping as `GET _mapping` shows it.
    pub fn to_value(&self) -> Value {
        Value::Object(self.source.clone())
    }

    /// `PUT _mapping`: merges `properties`, replaces everything else (`_meta` among it) as a whole.
    ///
    /// # Errors
    ///
    /// 400 when a field would change its type; nothing is changed then.
    pub fn put(&mut self, body: &Value) -> Result<(), EsError> {
        let Value::Object(body) = body else {
            return Err(EsError::new(400, "mapper_parsing_exception", "Failed to parse mapping: expected an object"));
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
        Ok(())
    }

    /// Fields as the limit counts them.
    pub fn total_fields(&self) -> usize {
        self.fields.values().map(|field| field.weight).sum()
    }

    /// The type of a field by its full path.
    pub fn type_of(&self, path: &str) -> Option<&str> {
        self.fields.get(path).map(|field| field.kind.as_str())
    }

    /// Checks a document against the mapping and adds the fields it introduces.
    ///
    /// # Errors
    ///
    /// 400 with the server's type and reason; the mapping is unchanged then.
    pub fn accept(&mut self, document: &Map<String, Value>, context: &DocumentContext<'_>) -> Result<(), EsError> {
        let mut walk = Walk { mapping: self, context, additions: Vec::new() };
        let dynamic = walk.mapping.source.get("dynamic").cloned();
        walk.object("", document, dynamic.as_ref())?;
        let additions = walk.additions;
        if additions.is_empty() {
            return Ok(());
        }
        let added: usize = additions.iter().map(|(_, field, _)| field.weight).sum();
        if self.total_fields() + added > context.total_fields_limit {
            let (present, inferred) = (self.total_fields(), additions.len());
            return Err(limit_error(context, present, added, inferred));
        }
        for (path, field, definition) in additions {
            insert_definition(&mut self.source, &path, definition);
            self.fields.insert(path, field);
        }
        Ok(())
    }
}

/// `added` counts multi-fields, `inferred` does not.
fn limit_error(context: &DocumentContext<'_>, present: usize, added: usize, inferred: usize) -> EsError {
    let limit = context.total_fields_limit;
    let short = format!("Limit of total fields [{limit}] has been exceeded");
    let long = format!("{short} while adding new fields [{added}]");
    if context.flavor.is_elasticsearch_8() {
        EsError::new(400, "document_parsing_exception", format!("[1:2] failed to parse: {long}"))
            .caused_by("illegal_argument_exception", long)
    } else if context.flavor.is_elasticsearch_7() && present + inferred > limit {
        // Elasticsearch 7 counts while it parses, then once more, with multi-fields, when it merges.
        EsError::new(400, "mapper_parsing_exception", "failed to parse").caused_by("illegal_argument_exception", long)
    } else {
        EsError::illegal_argument(short)
    }
}

fn field_of(definition: &Map<String, Value>) -> Field {
    let kind = definition.get("type").and_then(Value::as_str).unwrap_or("object").to_owned();
    let multi_fields = definition.get("fields").and_then(Value::as_object).map_or(0, Map::len);
    Field {
        kind,
        format: definition.get("format").and_then(Value::as_str).map(str::to_owned),
        ignore_malformed: definition.get("ignore_malformed") == Some(&json!(true)),
        enabled: definition.get("enabled") != Some(&json!(false)),
        dynamic: definition.get("dynamic").cloned(),
        weight: 1 + multi_fields,
    }
}

fn collect(fields: &mut BTreeMap<String, Field>, prefix: &str, properties: &Value) -> Result<(), EsError> {
    let Value::Object(properties) = properties else {
        return Err(EsError::new(400, "mapper_parsing_exception", "Expected map for property [properties]"));
    };
    for (name, definition) in properties {
        let path = join(prefix, name);
        let Value::Object(definition) = definition else {
            return Err(EsError::new(
                400,
                "mapper_parsing_exception",
                format!("Expected map for property [fields] on field [{path}] but got a class java.lang.String"),
            ));
        };
        let field = field_of(definition);
        if !KNOWN_TYPES.contains(&field.kind.as_str()) {
            let kind = &field.kind;
            return Err(EsError::new(
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
        fields.insert(path.clone(), field);
        if let Some(nested) = definition.get("properties") {
            collect(fields, &path, nested)?;
        }
    }
    Ok(())
}

fn type_change(path: &str, from: &str, to: &str) -> EsError {
    EsError::illegal_argument(format!("mapper [{path}] cannot be changed from type [{from}] to [{to}]"))
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

/// Puts an inferred field under its parents, which are there or were added before it.
fn insert_definition(source: &mut Map<String, Value>, path: &str, definition: Value) {
    let mut target = source;
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        let properties = target.entry("properties").or_insert_with(|| json!({}));
        let Value::Object(properties) = properties else {
            return;
        };
        if names.peek().is_none() {
            properties.insert(name.to_owned(), definition);
            return;
        }
        let parent = properties.entry(name).or_insert_with(|| json!({}));
        let Value::Object(parent) = parent else {
            return;
        };
        target = parent;
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

struct Walk<'a, 'b> {
    mapping: &'a Mapping,
    context: &'a DocumentContext<'b>,
    /// Fields the document introduces, parents first.
    additions: Vec<(String, Field, Value)>,
}

impl Walk<'_, '_> {
    fn find(&self, path: &str) -> Option<&Field> {
        self.mapping
            .fields
            .get(path)
            .or_else(|| self.additions.iter().find(|(added, _, _)| added == path).map(|(_, field, _)| field))
    }

    fn object(&mut self, prefix: &str, object: &Map<String, Value>, dynamic: Option<&Value>) -> Result<(), EsError> {
        for (name, value) in object {
            if name.is_empty() {
                return Err(self.failed_to_parse("field name cannot be an empty string"));
            }
            if name.contains('.') && name.split('.').any(|part| part.trim().is_empty()) {
                return Err(self.failed_to_parse(&format!(
                    "object field starting or ending with a [.] makes object resolution ambiguous: [{name}]"
                )));
            }
            let mut parent = prefix.to_owned();
            let mut parts: Vec<&str> = name.split('.').collect();
            // `split` yields at least one part.
            let last = parts.pop().unwrap_or_default();
            for part in parts {
                parent = join(&parent, part);
                if self.find(&parent).is_none() && !self.introduces_nothing(dynamic) && !value.is_null() {
                    self.add(&parent, json!({}));
                }
            }
            self.value(&join(&parent, last), value, dynamic)?;
        }
        Ok(())
    }

    fn introduces_nothing(&self, dynamic: Option<&Value>) -> bool {
        matches!(dynamic_mode(dynamic), Dynamic::Ignored)
    }

    fn value(&mut self, path: &str, value: &Value, dynamic: Option<&Value>) -> Result<(), EsError> {
        match value {
            Value::Null => return Ok(()),
            Value::Array(items) if !self.find(path).is_some_and(|field| takes_arrays(&field.kind)) => {
                return items.iter().try_for_each(|item| self.value(path, item, dynamic));
            }
            _ => {}
        }
        let Some(field) = self.find(path).cloned() else {
            return self.introduce(path, value, dynamic);
        };
        if !field.enabled {
            return Ok(());
        }
        let added_here = !self.mapping.fields.contains_key(path);
        match (field.kind.as_str(), value) {
            ("object" | "nested", Value::Object(object)) => {
                let dynamic = field.dynamic.as_ref().or(dynamic).cloned();
                self.object(path, object, dynamic.as_ref())
            }
            ("object" | "nested", _) => Err(self.not_an_object(path)),
            // Within one document the servers infer both types and then fail to merge them.
            (kind, value) if added_here && infer(value).0 != kind => {
                Err(type_change(path, kind, infer(value).0)).map_err(|error| self.as_document_error(error))
            }
            (kind, value) => match check_scalar(kind, field.format.as_deref(), value) {
                Ok(()) => Ok(()),
                Err(_) if (field.ignore_malformed || self.context.ignore_malformed) && !value.is_object() => Ok(()),
                Err(cause) => Err(self.field_error(path, kind, value, &cause)),
            },
        }
    }

    fn introduce(&mut self, path: &str, value: &Value, dynamic: Option<&Value>) -> Result<(), EsError> {
        match dynamic_mode(dynamic) {
            Dynamic::Ignored => return Ok(()),
            Dynamic::Strict => {
                let (parent, name) = path.rsplit_once('.').unwrap_or(("_doc", path));
                let position = if self.context.flavor.is_elasticsearch_8() { "[1:2] " } else { "" };
                return Err(EsError::new(
                    400,
                    "strict_dynamic_mapping_exception",
                    format!(
                        "{position}mapping set to strict, dynamic introduction of [{name}] within [{parent}] is not allowed"
                    ),
                ));
            }
            Dynamic::Added => {}
        }
        let (_, definition) = infer(value);
        self.add(path, definition);
        match value {
            Value::Object(object) => self.object(path, object, dynamic),
            _ => Ok(()),
        }
    }

    fn add(&mut self, path: &str, definition: Value) {
        let field = definition.as_object().map(field_of).unwrap_or_else(|| field_of(&Map::new()));
        self.additions.push((path.to_owned(), field, definition));
    }

    fn as_document_error(&self, error: EsError) -> EsError {
        if !self.context.flavor.is_elasticsearch_8() {
            return error;
        }
        let reason = error.reason;
        EsError::new(400, "document_parsing_exception", format!("[1:2] failed to parse: {reason}"))
            .caused_by("illegal_argument_exception", reason)
    }

    fn failed_to_parse(&self, reason: &str) -> EsError {
        failed_to_parse(self.context.flavor, "illegal_argument_exception", reason)
    }

    fn not_an_object(&self, path: &str) -> EsError {
        let position = if self.context.flavor.is_elasticsearch_8() { "[1:2] " } else { "" };
        EsError::new(
            400,
            self.context.flavor.mapper_error_type(),
            format!(
                "{position}object mapping for [{path}] tried to parse field [{path}] as object, but found a concrete value"
            ),
        )
    }

    fn field_error(&self, path: &str, kind: &str, value: &Value, cause: &(String, String)) -> EsError {
        let position = if self.context.flavor.is_elasticsearch_8() { "[1:6] " } else { "" };
        EsError::new(
            400,
            self.context.flavor.mapper_error_type(),
            format!(
                "{position}failed to parse field [{path}] of type [{kind}] in document with id '{}'. Preview of field's value: '{}'",
                self.context.id,
                preview(value)
            ),
        )
        .caused_by(&cause.0, &cause.1)
    }
}

/// The error of a document that cannot be read at all.
pub(crate) fn failed_to_parse(flavor: &Flavor, cause: &str, reason: &str) -> EsError {
    let text = if flavor.is_elasticsearch_8() {
        format!("[1:1] failed to parse: {reason}")
    } else {
        "failed to parse".to_owned()
    };
    EsError::new(400, flavor.mapper_error_type(), text).caused_by(cause, reason)
}

enum Dynamic {
    Added,
    Ignored,
    Strict,
}

fn dynamic_mode(dynamic: Option<&Value>) -> Dynamic {
    match dynamic {
        Some(Value::Bool(false)) => Dynamic::Ignored,
        Some(Value::String(mode)) if mode == "false" || mode == "runtime" => Dynamic::Ignored,
        Some(Value::String(mode)) if mode.starts_with("strict") => Dynamic::Strict,
        _ => Dynamic::Added,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(mapping: &mut Mapping, flavor: &Flavor, document: Value) -> Result<(), EsError> {
        let context =
            DocumentContext { flavor, id: "1", total_fields_limit: TOTAL_FIELDS_LIMIT, ignore_malformed: false };
        mapping.accept(document.as_object().expect("object"), &context)
    }

    #[test]
    fn the_first_document_decides_the_types() {
        let flavor = Flavor::opensearch_3();
        let mut mapping = Mapping::default();
        let first = json!({"l": 1, "f": 1.5, "s": "a", "b": true, "o": {"x": 1}, "d": "2024-01-02", "y": "2024",
            "d2": "2024/01/02 10:11:12", "arr": [1, 2], "nul": null, "e": [], "eo": {}, "p.q": 3});
        accept(&mut mapping, &flavor, first).expect("first document");
        let types: Vec<(&str, &str)> =
            mapping.fields.iter().map(|(path, field)| (path.as_str(), field.kind.as_str())).collect();
        assert_eq!(
            types,
            [
                ("arr", "long"),
                ("b", "boolean"),
                ("d", "date"),
                ("d2", "date"),
                ("eo", "object"),
                ("f", "float"),
                ("l", "long"),
                ("o", "object"),
                ("o.x", "long"),
                ("p", "object"),
                ("p.q", "long"),
                ("s", "text"),
                ("y", "text")
            ]
        );
        let error = accept(&mut mapping, &flavor, json!({"l": "x"})).expect_err("a string is no long");
        assert_eq!(error.kind, "mapper_parsing_exception");
        assert_eq!(
            error.reason,
            "failed to parse field [l] of type [long] in document with id '1'. Preview of field's value: 'x'"
        );
        let error = accept(&mut mapping, &flavor, json!({"o": 1})).expect_err("no object");
        assert!(error.reason.starts_with("object mapping for [o] tried to parse field [o] as object"), "{error:?}");
        let error = accept(&mut mapping, &flavor, json!({"s": {"x": 1}})).expect_err("no text");
        assert!(error.reason.ends_with("Preview of field's value: '{x=1}'"), "{error:?}");
        let error = accept(&mut mapping, &flavor, json!({"new": ["a", 1]})).expect_err("two types at once");
        assert_eq!(error.reason, "mapper [new] cannot be changed from type [text] to [long]");
        assert_eq!(mapping.type_of("new"), None);
    }

    #[test]
    fn meta_is_replaced_as_a_whole_and_types_stay() {
        let mut mapping =
            Mapping::new(&json!({"_meta": {"a": 1, "b": 2}, "properties": {"z": {"type": "long"}}})).expect("mapping");
        mapping.put(&json!({"_meta": {"d": 1}})).expect("put");
        assert_eq!(mapping.to_value(), json!({"_meta": {"d": 1}, "properties": {"z": {"type": "long"}}}));
        let error = mapping.put(&json!({"_meta": {}, "properties": {"z": {"type": "text"}}})).expect_err("type change");
        assert_eq!(error.reason, "mapper [z] cannot be changed from type [long] to [text]");
        assert_eq!(mapping.to_value()["_meta"], json!({"d": 1}));
    }

    #[test]
    fn the_field_limit_holds() {
        let flavor = Flavor::elasticsearch_8();
        let mut mapping = Mapping::default();
        let context = DocumentContext { flavor: &flavor, id: "1", total_fields_limit: 3, ignore_malformed: false };
        let document = |value: Value| value.as_object().expect("object").clone();
        mapping.accept(&document(json!({"a": 1, "b": 2})), &context).expect("two fields");
        // A string counts twice: the text and its keyword.
        let error = mapping.accept(&document(json!({"s": "x"})), &context).expect_err("limit");
        assert!(
            error.reason.contains("Limit of total fields [3] has been exceeded while adding new fields [2]"),
            "{error:?}"
        );
        assert_eq!(mapping.total_fields(), 2);
    }
}

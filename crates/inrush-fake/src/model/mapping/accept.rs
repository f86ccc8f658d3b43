//! A document against a mapping: fields that it adds, and values that do not fit.

use serde_json::{Map, Value, json};

use super::definition::{Field, Mapping, field_of, join, type_change};
use super::values::{Cause, check_scalar, infer, preview, takes_arrays};
use crate::error::ServerError;
use crate::product::Flavor;

/// The limits of an index, and the facts that errors name.
pub(crate) struct DocumentContext<'a> {
    /// Decides the names of errors.
    pub(crate) flavor: &'a Flavor,
    /// The id of the document, which the servers quote.
    pub(crate) id: &'a str,
    /// `index.mapping.total_fields.limit`.
    pub(crate) total_fields_limit: usize,
    /// `index.mapping.ignore_malformed`.
    pub(crate) ignore_malformed: bool,
}

impl Mapping {
    /// Checks a document against the mapping and adds the fields it introduces.
    ///
    /// # Errors
    ///
    /// 400 with the server's type and reason; the mapping does not change then.
    pub(crate) fn accept(
        &mut self,
        document: &Map<String, Value>,
        context: &DocumentContext<'_>,
    ) -> Result<(), ServerError> {
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

/// The error of a document with too many fields. `added` counts multi-fields, `inferred` does not.
fn limit_error(context: &DocumentContext<'_>, present: usize, added: usize, inferred: usize) -> ServerError {
    let limit = context.total_fields_limit;
    let short = format!("Limit of total fields [{limit}] has been exceeded");
    let long = format!("{short} while adding new fields [{added}]");
    if context.flavor.is_elasticsearch_8() {
        ServerError::new(400, "document_parsing_exception", format!("[1:2] failed to parse: {long}"))
            .caused_by("illegal_argument_exception", long)
    } else if context.flavor.is_elasticsearch_7() && present + inferred > limit {
        // Elasticsearch 7 counts while it parses, and again, with multi-fields, when it merges.
        ServerError::new(400, "mapper_parsing_exception", "failed to parse")
            .caused_by("illegal_argument_exception", long)
    } else {
        ServerError::illegal_argument(short)
    }
}

/// Puts an inferred field under its parents, which exist or were added before it.
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

/// Fields that documents cannot have with any product.
const METADATA: [&str; 7] = ["_id", "_source", "_routing", "_seq_no", "_version", "_field_names", "_index"];

/// The walk through one document.
struct Walk<'a, 'b> {
    mapping: &'a Mapping,
    context: &'a DocumentContext<'b>,
    /// Fields that the document introduces, parents first.
    additions: Vec<(String, Field, Value)>,
}

impl Walk<'_, '_> {
    fn find(&self, path: &str) -> Option<&Field> {
        self.mapping
            .fields
            .get(path)
            .or_else(|| self.additions.iter().find(|(added, _, _)| added == path).map(|(_, field, _)| field))
    }

    fn object(
        &mut self,
        prefix: &str,
        object: &Map<String, Value>,
        dynamic: Option<&Value>,
    ) -> Result<(), ServerError> {
        for (name, value) in object {
            if prefix.is_empty() && METADATA.contains(&name.as_str()) && !value.is_null() {
                return Err(self.metadata_field(name));
            }
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

    fn metadata_field(&self, name: &str) -> ServerError {
        let reason = format!(
            "Field [{name}] is a metadata field and cannot be added inside a document. Use the index API request parameters."
        );
        let kind = self.context.flavor.mapper_error_type();
        let place = if self.context.flavor.is_elasticsearch_8() { "[1:2] " } else { "" };
        ServerError::new(400, kind, format!("{place}{reason}"))
    }

    fn introduces_nothing(&self, dynamic: Option<&Value>) -> bool {
        matches!(dynamic_mode(dynamic), Dynamic::Ignored)
    }

    fn value(&mut self, path: &str, value: &Value, dynamic: Option<&Value>) -> Result<(), ServerError> {
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
            // Within one document the servers infer both types and fail to merge them. For
            // Elasticsearch 9 the first one is that of the field.
            (kind, value) if added_here && infer(value).0 != kind && !self.context.flavor.is_elasticsearch_9() => {
                Err(type_change(path, kind, infer(value).0)).map_err(|error| self.as_document_error(error))
            }
            (kind, value) if field.vector.is_some() => {
                let checked = field.vector.map_or(Ok(()), |vector| vector.check(self.context.flavor, value));
                checked.map_err(|cause| self.field_error(path, kind, value, &cause))
            }
            (kind, value) => match check_scalar(kind, field.format.as_deref(), value) {
                Ok(()) => Ok(()),
                Err(_) if (field.ignore_malformed || self.context.ignore_malformed) && !value.is_object() => Ok(()),
                Err(cause) => Err(self.field_error(path, kind, value, &cause)),
            },
        }
    }

    fn introduce(&mut self, path: &str, value: &Value, dynamic: Option<&Value>) -> Result<(), ServerError> {
        match dynamic_mode(dynamic) {
            Dynamic::Ignored => return Ok(()),
            Dynamic::Strict => {
                let (parent, name) = path.rsplit_once('.').unwrap_or(("_doc", path));
                let position = if self.context.flavor.is_elasticsearch_8() { "[1:2] " } else { "" };
                return Err(ServerError::new(
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

    fn as_document_error(&self, error: ServerError) -> ServerError {
        if !self.context.flavor.is_elasticsearch_8() {
            return error;
        }
        let reason = error.reason;
        ServerError::new(400, "document_parsing_exception", format!("[1:2] failed to parse: {reason}"))
            .caused_by("illegal_argument_exception", reason)
    }

    fn failed_to_parse(&self, reason: &str) -> ServerError {
        failed_to_parse(self.context.flavor, "illegal_argument_exception", reason)
    }

    fn not_an_object(&self, path: &str) -> ServerError {
        let position = if self.context.flavor.is_elasticsearch_8() { "[1:2] " } else { "" };
        ServerError::new(
            400,
            self.context.flavor.mapper_error_type(),
            format!(
                "{position}object mapping for [{path}] tried to parse field [{path}] as object, but found a concrete value"
            ),
        )
    }

    fn field_error(&self, path: &str, kind: &str, value: &Value, cause: &Cause) -> ServerError {
        let position = if self.context.flavor.is_elasticsearch_8() { "[1:6] " } else { "" };
        ServerError::new(
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

/// The error of an unreadable document.
pub(crate) fn failed_to_parse(flavor: &Flavor, cause: &str, reason: &str) -> ServerError {
    let text = if flavor.is_elasticsearch_8() {
        format!("[1:1] failed to parse: {reason}")
    } else {
        "failed to parse".to_owned()
    };
    ServerError::new(400, flavor.mapper_error_type(), text).caused_by(cause, reason)
}

/// The fate of a field that the mapping does not have.
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
    use super::super::definition::TOTAL_FIELDS_LIMIT;
    use super::*;

    fn accept(mapping: &mut Mapping, flavor: &Flavor, document: Value) -> Result<(), ServerError> {
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
        assert!(!mapping.fields.contains_key("new"));
    }

    #[test]
    fn meta_is_replaced_as_a_whole_and_types_cannot_change() {
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

//! Mappings: what the fake infers from documents and what it refuses, in the servers' words.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

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
            return Err(EsError::new(
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
    pub fn accept(
        &mut self,
        document: &Map<String, Value>,
        context: &DocumentContext<'_>,
    ) -> Result<(), EsError> {
        let mut walk = Walk {
            mapping: self,
            context,
            additions: Vec::new(),
        };
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
fn limit_error(
    context: &DocumentContext<'_>,
    present: usize,
    added: usize,
    inferred: usize,
) -> EsError {
    let limit = context.total_fields_limit;
    let short = format!("Limit of total fields [{limit}] has been exceeded");
    let long = format!("{short} while adding new fields [{added}]");
    if context.flavor.is_elasticsearch_8() {
        EsError::new(
            400,
            "document_parsing_exception",
            format!("[1:2] failed to parse: {long}"),
        )
        .caused_by("illegal_argument_exception", long)
    } else if context.flavor.is_elasticsearch_7() && present + inferred > limit {
        // Elasticsearch 7 counts while it parses, then once more, with multi-fields, when it merges.
        EsError::new(400, "mapper_parsing_exception", "failed to parse")
            .caused_by("illegal_argument_exception", long)
    } else {
        EsError::illegal_argument(short)
    }
}

fn field_of(definition: &Map<String, Value>) -> Field {
    let kind = definition
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("object")
        .to_owned();
    let multi_fields = definition
        .get("fields")
        .and_then(Value::as_object)
        .map_or(0, Map::len);
    Field {
        kind,
        format: definition
            .get("format")
            .and_then(Value::as_str)
            .map(str::to_owned),
        ignore_malformed: definition.get("ignore_malformed") == Some(&json!(true)),
        enabled: definition.get("enabled") != Some(&json!(false)),
        dynamic: definition.get("dynamic").cloned(),
        weight: 1 + multi_fields,
    }
}

fn collect(
    fields: &mut BTreeMap<String, Field>,
    prefix: &str,
    properties: &Value,
) -> Result<(), EsError> {
    let Value::Object(properties) = properties else {
        return Err(EsError::new(
            400,
            "mapper_parsing_exception",
            "Expected map for property [properties]",
        ));
    };
    for (name, definition) in properties {
        let path = join(prefix, name);
        let Value::Object(definition) = definition else {
            return Err(EsError::new(
                400,
                "mapper_parsing_exception",
                format!(
                    "Expected map for property [fields] on field [{path}] but got a class java.lang.String"
                ),
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
    EsError::illegal_argument(format!(
        "mapper [{path}] cannot be changed from type [{from}] to [{to}]"
    ))
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
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

struct Walk<'a, 'b> {
    mapping: &'a Mapping,
    context: &'a DocumentContext<'b>,
    /// Fields the document introduces, parents first.
    additions: Vec<(String, Field, Value)>,
}

impl Walk<'_, '_> {
    fn find(&self, path: &str) -> Option<&Field> {
        self.mapping.fields.get(path).or_else(|| {
            self.additions
                .iter()
                .find(|(added, _, _)| added == path)
                .map(|(_, field, _)| field)
        })
    }

    fn object(
        &mut self,
        prefix: &str,
        object: &Map<String, Value>,
        dynamic: Option<&Value>,
    ) -> Result<(), EsError> {
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
                if self.find(&parent).is_none()
                    && !self.introduces_nothing(dynamic)
                    && !value.is_null()
                {
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
            Value::Array(items)
                if !self
                    .find(path)
                    .is_some_and(|field| takes_arrays(&field.kind)) =>
            {
                return items
                    .iter()
                    .try_for_each(|item| self.value(path, item, dynamic));
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
                Err(type_change(path, kind, infer(value).0))
                    .map_err(|error| self.as_document_error(error))
            }
            (kind, value) => match check_scalar(kind, field.format.as_deref(), value) {
                Ok(()) => Ok(()),
                Err(_)
                    if (field.ignore_malformed || self.context.ignore_malformed)
                        && !value.is_object() =>
                {
                    Ok(())
                }
                Err(cause) => Err(self.field_error(path, kind, value, &cause)),
            },
        }
    }

    fn introduce(
        &mut self,
        path: &str,
        value: &Value,
        dynamic: Option<&Value>,
    ) -> Result<(), EsError> {
        match dynamic_mode(dynamic) {
            Dynamic::Ignored => return Ok(()),
            Dynamic::Strict => {
                let (parent, name) = path.rsplit_once('.').unwrap_or(("_doc", path));
                let position = if self.context.flavor.is_elasticsearch_8() {
                    "[1:2] "
                } else {
                    ""
                };
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
        let field = definition
            .as_object()
            .map(field_of)
            .unwrap_or_else(|| field_of(&Map::new()));
        self.additions.push((path.to_owned(), field, definition));
    }

    fn as_document_error(&self, error: EsError) -> EsError {
        if !self.context.flavor.is_elasticsearch_8() {
            return error;
        }
        let reason = error.reason;
        EsError::new(
            400,
            "document_parsing_exception",
            format!("[1:2] failed to parse: {reason}"),
        )
        .caused_by("illegal_argument_exception", reason)
    }

    fn failed_to_parse(&self, reason: &str) -> EsError {
        failed_to_parse(self.context.flavor, "illegal_argument_exception", reason)
    }

    fn not_an_object(&self, path: &str) -> EsError {
        let position = if self.context.flavor.is_elasticsearch_8() {
            "[1:2] "
        } else {
            ""
        };
        EsError::new(
            400,
            self.context.flavor.mapper_error_type(),
            format!(
                "{position}object mapping for [{path}] tried to parse field [{path}] as object, but found a concrete value"
            ),
        )
    }

    fn field_error(
        &self,
        path: &str,
        kind: &str,
        value: &Value,
        cause: &(String, String),
    ) -> EsError {
        let position = if self.context.flavor.is_elasticsearch_8() {
            "[1:6] "
        } else {
            ""
        };
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

/// The Java `Map.toString` the servers show of a value.
fn preview(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(object) => {
            let fields: Vec<String> = object
                .iter()
                .map(|(key, value)| format!("{key}={}", preview(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(preview).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn takes_arrays(kind: &str) -> bool {
    matches!(
        kind,
        "geo_point" | "dense_vector" | "knn_vector" | "completion" | "flattened" | "flat_object"
    )
}

/// What dynamic mapping makes of a first value.
fn infer(value: &Value) -> (&'static str, Value) {
    match value {
        Value::Bool(_) => ("boolean", json!({"type": "boolean"})),
        Value::Number(number) if number.is_f64() => ("float", json!({"type": "float"})),
        Value::Number(_) => ("long", json!({"type": "long"})),
        Value::String(text) if is_slashed_date(text) => (
            "date",
            json!({"type": "date", "format": "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis"}),
        ),
        // A bare year is no date for dynamic mapping: the servers want a `-` or a `:` in it.
        Value::String(text) if text.contains('-') && is_iso_date(text) => {
            ("date", json!({"type": "date"}))
        }
        Value::String(_) => (
            "text",
            json!({"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}),
        ),
        Value::Object(object) if object.is_empty() => ("object", json!({"type": "object"})),
        Value::Object(_) | Value::Array(_) | Value::Null => ("object", json!({})),
    }
}

/// Whether a value fits a type; the error is the cause's type and reason.
fn check_scalar(kind: &str, format: Option<&str>, value: &Value) -> Result<(), (String, String)> {
    let no_text = || {
        (
            "illegal_state_exception".to_owned(),
            "Can't get text on a START_OBJECT at 1:6".to_owned(),
        )
    };
    match kind {
        "integer" | "short" | "byte" | "long" | "unsigned_long" => check_integer(kind, value),
        "float" | "double" | "half_float" | "scaled_float" => check_float(value),
        "boolean" => match value {
            Value::Bool(_) => Ok(()),
            Value::String(text) if matches!(text.as_str(), "true" | "false" | "") => Ok(()),
            Value::String(text) => Err((
                "illegal_argument_exception".into(),
                format!("Failed to parse value [{text}] as only [true] or [false] are allowed."),
            )),
            _ => Err((
                "json_parse_exception".into(),
                "Current token not of boolean type".into(),
            )),
        },
        "date" | "date_nanos" => check_date(format, value),
        "ip" => match value {
            Value::String(text) if text.parse::<std::net::IpAddr>().is_ok() => Ok(()),
            other => Err((
                "illegal_argument_exception".into(),
                format!("'{}' is not an IP string literal.", preview(other)),
            )),
        },
        "text" | "keyword" | "wildcard" | "match_only_text" if value.is_object() => Err(no_text()),
        _ => Ok(()),
    }
}

fn number_format(text: &str, kind: &str) -> (String, String) {
    let cause = if kind == "long" {
        "illegal_argument_exception"
    } else {
        "number_format_exception"
    };
    (cause.into(), format!("For input string: \"{text}\""))
}

fn not_numeric(value: &Value) -> (String, String) {
    let token = match value {
        Value::Object(_) => "START_OBJECT",
        Value::Bool(true) => "VALUE_TRUE",
        Value::Bool(false) => "VALUE_FALSE",
        _ => "VALUE_NULL",
    };
    (
        "json_parse_exception".into(),
        format!("Current token ({token}) not numeric, can not use numeric value accessors"),
    )
}

fn check_integer(kind: &str, value: &Value) -> Result<(), (String, String)> {
    let (low, high) = match kind {
        "byte" => (f64::from(i8::MIN), f64::from(i8::MAX)),
        "short" => (f64::from(i16::MIN), f64::from(i16::MAX)),
        "integer" => (f64::from(i32::MIN), f64::from(i32::MAX)),
        "unsigned_long" => (0.0, 18_446_744_073_709_551_615.0),
        _ => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_807.0),
    };
    let number = match value {
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        // `coerce` is on by default: numbers in strings are numbers, and an empty string is nothing.
        Value::String(text) if text.is_empty() => return Ok(()),
        Value::String(text) => text
            .trim()
            .parse::<f64>()
            .map_err(|_| number_format(text, kind))?,
        other => return Err(not_numeric(other)),
    };
    // 2^63 itself is not representable apart from 2^63 - 1 in a double; the servers refuse it, so does `>=`.
    if number < low || number > high || (kind == "long" && number >= high && !fits_i64(value)) {
        return Err((
            "input_coercion_exception".into(),
            format!("Numeric value ({}) out of range of {kind}", preview(value)),
        ));
    }
    Ok(())
}

fn fits_i64(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64().is_some(),
        Value::String(text) => text.trim().parse::<i64>().is_ok(),
        _ => false,
    }
}

fn check_float(value: &Value) -> Result<(), (String, String)> {
    match value {
        Value::Number(_) => Ok(()),
        Value::String(text) if text.is_empty() => Ok(()),
        Value::String(text) => text
            .trim()
            .parse::<f64>()
            .map(|_| ())
            .map_err(|_| number_format(text, "float")),
        other => Err(not_numeric(other)),
    }
}

fn check_date(format: Option<&str>, value: &Value) -> Result<(), (String, String)> {
    let format = format.unwrap_or("strict_date_optional_time||epoch_millis");
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => {
            return Err((
                "illegal_argument_exception".into(),
                "cannot parse empty date".into(),
            ));
        }
        Value::String(text) => text.clone(),
        other => preview(other),
    };
    let fits = format.split("||").any(|one| match one {
        "epoch_millis" | "epoch_second" => text.parse::<f64>().is_ok(),
        "strict_date_optional_time"
        | "date_optional_time"
        | "strict_date_optional_time_nanos"
        | "iso8601" => is_iso_date(&text),
        pattern => fits_pattern(pattern, &text),
    });
    if fits && !value.is_boolean() && !value.is_object() {
        return Ok(());
    }
    Err((
        "illegal_argument_exception".into(),
        format!("failed to parse date field [{text}] with format [{format}]"),
    ))
}

fn is_slashed_date(text: &str) -> bool {
    fits_pattern("yyyy/MM/dd", text) || fits_pattern("yyyy/MM/dd HH:mm:ss", text)
}

/// A custom date pattern, letter by letter: letters stand for digits, the rest for itself.
fn fits_pattern(pattern: &str, text: &str) -> bool {
    let pattern = pattern.replace('\'', "");
    // Names of months, zones and fractions have no fixed shape; such patterns accept what looks long enough.
    if pattern.contains("MMM") || pattern.contains(['Z', 'X', 'z', 'S', 'E', 'a', '_']) {
        return text.chars().any(|c| c.is_ascii_digit());
    }
    pattern.len() == text.len()
        && pattern.chars().zip(text.chars()).all(|(p, t)| {
            if p.is_ascii_alphabetic() && p != 'T' {
                t.is_ascii_digit()
            } else {
                p == t
            }
        })
}

/// `strict_date_optional_time`: `yyyy`, `yyyy-MM`, `yyyy-MM-dd`, then optionally `T` and a time with a zone.
fn is_iso_date(text: &str) -> bool {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let parts: Vec<&str> = date.split('-').collect();
    let in_range = |part: Option<&&str>, length: usize, low: u32, high: u32| {
        part.is_none_or(|part| {
            part.len() == length
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u32>().is_ok_and(|n| (low..=high).contains(&n))
        })
    };
    let date_fits = parts.len() <= 3
        && in_range(parts.first(), 4, 0, 9999)
        && in_range(parts.get(1), 2, 1, 12)
        && in_range(parts.get(2), 2, 1, 31);
    date_fits
        && match time {
            None | Some("") => true,
            Some(time) => parts.len() == 3 && is_iso_time(time),
        }
}

fn is_iso_time(time: &str) -> bool {
    let clock = match time.find(['Z', '+', '-']) {
        Some(zone) => &time[..zone],
        None => time,
    };
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    parts.len() <= 3
        && parts.iter().enumerate().all(|(i, part)| {
            part.len() == 2
                && part
                    .parse::<u32>()
                    .is_ok_and(|n| n < if i == 0 { 24 } else { 60 })
        })
        && !fraction.is_empty()
        && fraction.len() <= 9
        && fraction.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(mapping: &mut Mapping, flavor: &Flavor, document: Value) -> Result<(), EsError> {
        let context = DocumentContext {
            flavor,
            id: "1",
            total_fields_limit: TOTAL_FIELDS_LIMIT,
            ignore_malformed: false,
        };
        mapping.accept(document.as_object().expect("object"), &context)
    }

    #[test]
    fn the_first_document_decides_the_types() {
        let flavor = Flavor::opensearch_3();
        let mut mapping = Mapping::default();
        let first = json!({"l": 1, "f": 1.5, "s": "a", "b": true, "o": {"x": 1}, "d": "2024-01-02", "y": "2024",
            "d2": "2024/01/02 10:11:12", "arr": [1, 2], "nul": null, "e": [], "eo": {}, "p.q": 3});
        accept(&mut mapping, &flavor, first).expect("first document");
        let types: Vec<(&str, &str)> = mapping
            .fields
            .iter()
            .map(|(path, field)| (path.as_str(), field.kind.as_str()))
            .collect();
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
        let error =
            accept(&mut mapping, &flavor, json!({"l": "x"})).expect_err("a string is no long");
        assert_eq!(error.kind, "mapper_parsing_exception");
        assert_eq!(
            error.reason,
            "failed to parse field [l] of type [long] in document with id '1'. Preview of field's value: 'x'"
        );
        let error = accept(&mut mapping, &flavor, json!({"o": 1})).expect_err("no object");
        assert!(
            error
                .reason
                .starts_with("object mapping for [o] tried to parse field [o] as object"),
            "{error:?}"
        );
        let error = accept(&mut mapping, &flavor, json!({"s": {"x": 1}})).expect_err("no text");
        assert!(
            error.reason.ends_with("Preview of field's value: '{x=1}'"),
            "{error:?}"
        );
        let error =
            accept(&mut mapping, &flavor, json!({"new": ["a", 1]})).expect_err("two types at once");
        assert_eq!(
            error.reason,
            "mapper [new] cannot be changed from type [text] to [long]"
        );
        assert_eq!(mapping.type_of("new"), None);
    }

    #[test]
    fn values_are_coerced_as_the_servers_do() {
        for (kind, value, fits) in [
            ("integer", json!(3_000_000_000_u64), false),
            ("integer", json!("12"), true),
            ("long", json!(1.5), true),
            ("long", json!(""), true),
            ("long", json!(i64::MAX), true),
            ("long", json!(1e20), false),
            ("long", json!(true), false),
            ("float", json!("x"), false),
            ("boolean", json!(""), true),
            ("boolean", json!(1), false),
            ("boolean", json!("yes"), false),
            ("date", json!(12345), true),
            ("date", json!("2024-01-02T03:04:05.678Z"), true),
            ("date", json!("2024-01-02T03:04:05+02:00"), true),
            ("date", json!("2024-01-02 03:04:05"), false),
            ("date", json!("2024-13-02"), false),
            ("date", json!(""), false),
            ("ip", json!("10.0.0.1"), true),
            ("ip", json!("10.0.0"), false),
            ("keyword", json!(5), true),
        ] {
            assert_eq!(
                check_scalar(kind, None, &value).is_ok(),
                fits,
                "{kind} {value}"
            );
        }
    }

    #[test]
    fn meta_is_replaced_as_a_whole_and_types_stay() {
        let mut mapping = Mapping::new(
            &json!({"_meta": {"a": 1, "b": 2}, "properties": {"z": {"type": "long"}}}),
        )
        .expect("mapping");
        mapping.put(&json!({"_meta": {"d": 1}})).expect("put");
        assert_eq!(
            mapping.to_value(),
            json!({"_meta": {"d": 1}, "properties": {"z": {"type": "long"}}})
        );
        let error = mapping
            .put(&json!({"_meta": {}, "properties": {"z": {"type": "text"}}}))
            .expect_err("type change");
        assert_eq!(
            error.reason,
            "mapper [z] cannot be changed from type [long] to [text]"
        );
        assert_eq!(mapping.to_value()["_meta"], json!({"d": 1}));
    }

    #[test]
    fn the_field_limit_holds() {
        let flavor = Flavor::elasticsearch_8();
        let mut mapping = Mapping::default();
        let context = DocumentContext {
            flavor: &flavor,
            id: "1",
            total_fields_limit: 3,
            ignore_malformed: false,
        };
        let document = |value: Value| value.as_object().expect("object").clone();
        mapping
            .accept(&document(json!({"a": 1, "b": 2})), &context)
            .expect("two fields");
        // A string counts twice: the text and its keyword.
        let error = mapping
            .accept(&document(json!({"s": "x"})), &context)
            .expect_err("limit");
        assert!(
            error.reason.contains(
                "Limit of total fields [3] has been exceeded while adding new fields [2]"
            ),
            "{error:?}"
        );
        assert_eq!(mapping.total_fields(), 2);
    }
}

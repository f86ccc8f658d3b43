//! `_bulk`: the body taken apart as `BulkRequestParser` does it, and the reply put together.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::EsError;
use crate::json::{parse_first, parse_strict};
use crate::model::{Action, Op, VersionType};
use crate::pattern;
use crate::product::Flavor;

/// What the path and the query of a bulk request say for every item that does not say otherwise.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// Index of the path.
    pub index: Option<String>,
    /// `?pipeline=`.
    pub pipeline: Option<String>,
    /// `?routing=`.
    pub routing: Option<String>,
    /// `?require_alias=`.
    pub require_alias: bool,
}

/// Takes a bulk body apart.
///
/// # Errors
///
/// Whatever refuses the whole request: no final newline, malformed action lines, updates with versions, ids of
/// more than 512 bytes, no index, no item at all. A last action without its document is ignored, as the servers do.
pub fn parse(flavor: &Flavor, body: &Bytes, defaults: &Defaults) -> Result<Vec<Op>, EsError> {
    if body.is_empty() {
        return Err(EsError::new(400, "parse_exception", "request body is required"));
    }
    let mut ops = Vec::new();
    let mut complaints = Vec::new();
    let mut from = 0;
    let mut line_number = 0;
    while let Some(line) = next_line(body, &mut from)? {
        line_number += 1;
        let mut op = match action_line(flavor, &line, line_number, defaults)? {
            ActionLine::Blank => continue,
            ActionLine::Unknown => {
                let Some(_document) = next_line(body, &mut from)? else {
                    break;
                };
                line_number += 1;
                continue;
            }
            ActionLine::Op(op) => *op,
        };
        if op.action != Action::Delete {
            let Some(source) = next_line(body, &mut from)? else {
                break;
            };
            line_number += 1;
            op.source = trim_carriage_return(source);
            if op.action == Action::Update {
                check_update(flavor, &op.source)?;
            }
        }
        validate(flavor, &op, &mut complaints);
        ops.push(op);
    }
    if ops.is_empty() {
        complaints.push("no requests added".to_owned());
    }
    if complaints.is_empty() {
        return Ok(ops);
    }
    let numbered: Vec<String> = complaints.iter().enumerate().map(|(i, one)| format!("{}: {one};", i + 1)).collect();
    Err(EsError::new(400, "action_request_validation_exception", format!("Validation Failed: {}", numbered.join(""))))
}

fn next_line(body: &Bytes, from: &mut usize) -> Result<Option<Bytes>, EsError> {
    match memchr::memchr(b'\n', &body[*from..]) {
        Some(length) => {
            let line = body.slice(*from..*from + length);
            *from += length + 1;
            Ok(Some(line))
        }
        None if *from == body.len() => Ok(None),
        None => Err(EsError::illegal_argument("The bulk request must be terminated by a newline [\\n]")),
    }
}

fn trim_carriage_return(line: Bytes) -> Bytes {
    match line.last() {
        Some(b'\r') => line.slice(..line.len() - 1),
        _ => line,
    }
}

enum ActionLine {
    /// Skipped by all servers.
    Blank,
    /// No known action: Elasticsearch 7 ignores it together with the line after it, the others refuse the request.
    Unknown,
    Op(Box<Op>),
}

/// Reads one action line.
fn action_line(flavor: &Flavor, line: &[u8], number: usize, defaults: &Defaults) -> Result<ActionLine, EsError> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(ActionLine::Blank);
    }
    let malformed =
        |what: String| EsError::illegal_argument(format!("Malformed action/metadata line [{number}], {what}"));
    // All but Elasticsearch 8 read one value and leave the rest of the line alone.
    let parsed = if flavor.is_elasticsearch_8() { parse_strict(line) } else { parse_first(line) };
    let parsed = parsed.map_err(|error| {
        let kind = if flavor.is_elasticsearch_8() { "x_content_parse_exception" } else { "json_parse_exception" };
        EsError::new(400, kind, error.to_string())
    })?;
    let Value::Object(object) = parsed else {
        return Err(malformed(format!("expected START_OBJECT but found [{}]", token(&parsed))));
    };
    let Some((name, fields)) = object.iter().next() else {
        return Err(malformed("expected FIELD_NAME but found [END_OBJECT]".into()));
    };
    let action = match name.as_str() {
        "index" => Action::Index,
        "create" => Action::Create,
        "update" => Action::Update,
        "delete" => Action::Delete,
        _ if flavor.is_elasticsearch_7() => return Ok(ActionLine::Unknown),
        other if flavor.is_elasticsearch_8() => {
            return Err(malformed(format!(
                "expected field [create], [delete], [index] or [update] but found [{other}]"
            )));
        }
        other => {
            return Err(malformed(format!("expected one of [create, delete, index, update] but found [{other}]")));
        }
    };
    let Value::Object(fields) = fields else {
        return Err(malformed(format!("expected START_OBJECT or END_OBJECT but found [{}]", token(fields))));
    };
    let mut op = Op {
        action,
        index: defaults.index.clone().unwrap_or_default(),
        id: None,
        routing: defaults.routing.clone(),
        version: None,
        version_type: VersionType::Internal,
        if_seq_no: None,
        pipeline: defaults.pipeline.clone(),
        require_alias: defaults.require_alias,
        source: Bytes::new(),
    };
    let mut index_given = defaults.index.is_some();
    for (field, value) in fields {
        if matches!(value, Value::Array(_) | Value::Object(_)) && field != "_source" && field != "dynamic_templates" {
            return Err(malformed(format!("expected a simple value for field [{field}] but found [{}]", token(value))));
        }
        let text = || match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match field.as_str() {
            "_index" => {
                op.index = text();
                index_given = true;
            }
            "_id" => op.id = (!value.is_null()).then(text),
            "routing" | "_routing" => {
                op.routing = Some(text()).filter(|text| !value.is_null() && !text.is_empty());
            }
            "_type" if !flavor.has_types() => return Err(unknown_parameter(number, field)),
            "pipeline" => op.pipeline = Some(text()),
            "version" | "_version" => op.version = text().parse().ok(),
            "version_type" | "_version_type" => {
                op.version_type = match text().as_str() {
                    "internal" => VersionType::Internal,
                    "external" | "external_gt" => VersionType::External,
                    "external_gte" => VersionType::ExternalGte,
                    other => {
                        return Err(EsError::illegal_argument(format!("No version type match [{other}]")));
                    }
                }
            }
            "if_seq_no" => op.if_seq_no = text().parse().ok(),
            "op_type" if action == Action::Index && text() == "create" => op.action = Action::Create,
            "require_alias" => op.require_alias = text() == "true",
            "op_type"
            | "if_primary_term"
            | "retry_on_conflict"
            | "_type"
            | "_source"
            | "dynamic_templates"
            | "require_data_stream"
            | "list_executed_pipelines" => {}
            other => return Err(unknown_parameter(number, other)),
        }
    }
    if op.action == Action::Update && (op.version.is_some() || op.version_type != VersionType::Internal) {
        return Err(EsError::illegal_argument(
            "Update requests do not support versioning. Please use `if_seq_no` and `if_primary_term` instead",
        ));
    }
    if !index_given {
        return Err(EsError::validation("index is missing"));
    }
    Ok(ActionLine::Op(Box::new(op)))
}

fn unknown_parameter(line: usize, name: &str) -> EsError {
    EsError::illegal_argument(format!("Action/metadata line [{line}] contains an unknown parameter [{name}]"))
}

/// The body of an update is read with the request: one that cannot be read refuses the whole request.
fn check_update(flavor: &Flavor, source: &[u8]) -> Result<(), EsError> {
    let kind = if flavor.is_elasticsearch_8() { "x_content_parse_exception" } else { "json_parse_exception" };
    let body = parse_strict(source).map_err(|error| EsError::new(400, kind, error.to_string()))?;
    let known = [
        "doc",
        "doc_as_upsert",
        "upsert",
        "script",
        "scripted_upsert",
        "detect_noop",
        "_source",
        "if_seq_no",
        "if_primary_term",
    ];
    let unknown = body.as_object().and_then(|body| body.keys().find(|key| !known.contains(&key.as_str())));
    match unknown {
        Some(key) => {
            Err(EsError::new(400, "x_content_parse_exception", format!("[1:2] [UpdateRequest] unknown field [{key}]")))
        }
        None if body.get("doc").is_none() && body.get("script").is_none() => {
            Err(EsError::validation("script or doc is missing"))
        }
        None => Ok(()),
    }
}

fn validate(flavor: &Flavor, op: &Op, complaints: &mut Vec<String>) {
    let needs_id = matches!(op.action, Action::Update | Action::Delete);
    if needs_id && op.id.as_ref().is_none_or(String::is_empty) {
        complaints.push("id is missing".to_owned());
    }
    if let Some(id) = &op.id
        && id.len() > 512
        && op.action != Action::Delete
        && !(op.action == Action::Update && flavor.is_elasticsearch_7())
    {
        complaints.push(format!("id [{id}] is too long, must be no longer than 512 bytes but was: {}", id.len()));
    }
    if op.version_type != VersionType::Internal && op.action == Action::Create {
        complaints.push("create operations only support internal versioning. use index instead".to_owned());
    }
    if op.version.is_some() && op.version_type == VersionType::Internal {
        complaints.push(
            "internal versioning can not be used for optimistic concurrency control. Please use `if_seq_no` and `if_primary_term` instead"
                .to_owned(),
        );
    }
    if op.version_type != VersionType::Internal && op.id.is_none() {
        complaints.push("an id must be provided if version type or value are set".to_owned());
    }
}

fn token(value: &Value) -> &'static str {
    match value {
        Value::Null => "VALUE_NULL",
        Value::Bool(_) => "VALUE_BOOLEAN",
        Value::Number(_) => "VALUE_NUMBER",
        Value::String(_) => "VALUE_STRING",
        Value::Array(_) => "START_ARRAY",
        Value::Object(_) => "START_OBJECT",
    }
}

/// The reply to a bulk request, in the order of the product's keys.
pub fn reply(flavor: &Flavor, took_ms: u64, items: Vec<Value>) -> Value {
    let errors = items.iter().any(has_error);
    let mut reply = Map::new();
    // Elasticsearch 8.19 puts `errors` first; nobody may rely on an order.
    if flavor.is_elasticsearch_8() {
        reply.insert("errors".into(), errors.into());
        reply.insert("took".into(), took_ms.into());
    } else {
        reply.insert("took".into(), took_ms.into());
        reply.insert("errors".into(), errors.into());
    }
    reply.insert("items".into(), Value::Array(items));
    Value::Object(reply)
}

fn has_error(item: &Value) -> bool {
    item.as_object().and_then(|item| item.values().next()).is_some_and(|item| item.get("error").is_some())
}

/// Applies a `filter_path`: comma-separated patterns, `*` for any part of one name, `**` for any depth, a leading `-`
/// excludes. What is left empty disappears, which is why items can lose their positions.
pub fn filter_path(value: Value, patterns: &str) -> Value {
    let all: Vec<&str> = patterns.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    let includes: Vec<Vec<&str>> =
        all.iter().filter(|one| !one.starts_with('-')).map(|one| one.split('.').collect()).collect();
    let excludes: Vec<Vec<&str>> =
        all.iter().filter_map(|one| one.strip_prefix('-')).map(|one| one.split('.').collect()).collect();
    let included = if includes.is_empty() {
        Some(value)
    } else {
        let paths: Vec<&[&str]> = includes.iter().map(Vec::as_slice).collect();
        include(value, &paths)
    };
    let paths: Vec<&[&str]> = excludes.iter().map(Vec::as_slice).collect();
    let left = match included {
        Some(value) if !paths.is_empty() => exclude(value, &paths),
        other => other,
    };
    left.unwrap_or_else(|| Value::Object(Map::new()))
}

/// The paths that remain below `name`; an empty one means everything below is meant.
fn below<'a>(paths: &[&'a [&'a str]], name: &str) -> Vec<&'a [&'a str]> {
    let mut next = Vec::new();
    for path in paths {
        match path {
            ["**", rest @ ..] => {
                next.push(*path);
                if let [first, tail @ ..] = rest
                    && pattern::matches(first, name)
                {
                    next.push(tail);
                }
            }
            [first, rest @ ..] if pattern::matches(first, name) => next.push(rest),
            _ => {}
        }
    }
    next
}

fn include(value: Value, paths: &[&[&str]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty() || *path == ["**"]) {
        return Some(value);
    }
    match value {
        Value::Object(object) => {
            let kept: Map<String, Value> = object
                .into_iter()
                .filter_map(|(name, value)| {
                    let next = below(paths, &name);
                    if next.is_empty() { None } else { Some((name, include(value, &next)?)) }
                })
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let kept: Vec<Value> = items.into_iter().filter_map(|item| include(item, paths)).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        _ => None,
    }
}

fn exclude(value: Value, paths: &[&[&str]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty()) {
        return None;
    }
    match value {
        Value::Object(object) => {
            let was_empty = object.is_empty();
            let kept: Map<String, Value> = object
                .into_iter()
                .filter_map(|(name, value)| {
                    let next = below(paths, &name);
                    Some((name, exclude(value, &next)?))
                })
                .collect();
            (was_empty || !kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let was_empty = items.is_empty();
            let kept: Vec<Value> = items.into_iter().filter_map(|item| exclude(item, paths)).collect();
            (was_empty || !kept.is_empty()).then_some(Value::Array(kept))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_text(body: &str) -> Result<Vec<Op>, EsError> {
        let defaults = Defaults { index: Some("a".into()), ..Defaults::default() };
        parse(&Flavor::opensearch_3(), &Bytes::copy_from_slice(body.as_bytes()), &defaults)
    }

    #[test]
    fn what_refuses_a_whole_request() {
        let long = format!("{{\"index\":{{\"_id\":\"{}\"}}}}\n{{}}\n", "a".repeat(513));
        for (body, reason) in [
            ("{\"index\":{}}\n{}", "must be terminated by a newline"),
            ("{\"foo\":{}}\n{}\n", "expected one of [create, delete, index, update] but found [foo]"),
            ("[1]\n{}\n", "expected START_OBJECT but found [START_ARRAY]"),
            ("{}\n{}\n", "expected FIELD_NAME but found [END_OBJECT]"),
            ("{\"index\":{\"nope\":1}}\n{}\n", "contains an unknown parameter [nope]"),
            ("{\"index\":{\"_id\":[1]}}\n{}\n", "expected a simple value for field [_id]"),
            ("{\"update\":{\"_id\":\"1\",\"version\":3}}\n{}\n", "Update requests do not support versioning"),
            (
                "{\"create\":{\"_id\":\"1\",\"version\":3,\"version_type\":\"external\"}}\n{}\n",
                "create operations only support internal",
            ),
            (long.as_str(), "is too long, must be no longer than 512 bytes but was: 513"),
            ("", "request body is required"),
            ("\n", "no requests added"),
            ("{\"index\":{}}\n", "no requests added"),
        ] {
            let error = parse_text(body).expect_err(body);
            assert!(error.reason.contains(reason), "{body:?}: {}", error.reason);
            assert_eq!(error.status, 400);
        }
    }

    #[test]
    fn blank_lines_are_skipped_and_deletes_have_no_document() {
        let ops =
            parse_text("\n{\"delete\":{\"_id\":\"1\"}}\n{\"index\":{\"_id\":7,\"_index\":\"b\"}}\r\n{\"x\":1}\r\n\n")
                .expect("ops");
        let seen: Vec<(Action, &str, Option<&str>)> =
            ops.iter().map(|op| (op.action, op.index.as_str(), op.id.as_deref())).collect();
        assert_eq!(seen, [(Action::Delete, "a", Some("1")), (Action::Index, "b", Some("7"))]);
        assert_eq!(ops[1].source.as_ref(), b"{\"x\":1}");
    }

    #[test]
    fn filter_path_keeps_what_is_named_and_drops_what_is_empty() {
        let reply = json!({"took": 1, "errors": true, "items": [
            {"index": {"_index": "a", "_id": "1", "result": "created", "status": 201}},
            {"index": {"_index": "a", "_id": "2", "status": 400, "error": {"type": "t", "reason": "r"}}}]});
        assert_eq!(
            filter_path(reply.clone(), "took,errors,items.*.status,items.*.error"),
            json!({"took": 1, "errors": true, "items": [{"index": {"status": 201}}, {"index": {"status": 400, "error": {"type": "t", "reason": "r"}}}]})
        );
        assert_eq!(
            filter_path(reply.clone(), "items.*.error.type"),
            json!({"items": [{"index": {"error": {"type": "t"}}}]})
        );
        assert_eq!(filter_path(reply.clone(), "**.reason"), json!({"items": [{"index": {"error": {"reason": "r"}}}]}));
        assert_eq!(filter_path(reply.clone(), "nothing"), json!({}));
        assert_eq!(filter_path(reply, "-items"), json!({"took": 1, "errors": true}));
    }
}

//! One action line of a bulk body.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::ServerError;
use crate::json::{parse_first, parse_strict};
use crate::model::{Action, Op, VersionType};
use crate::product::Flavor;

/// Defaults for all items of a bulk request, from its path and its query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    /// Index of the path.
    pub(crate) index: Option<String>,
    /// `?pipeline=`.
    pub(crate) pipeline: Option<String>,
    /// `?routing=`.
    pub(crate) routing: Option<String>,
    /// `?require_alias=`.
    pub(crate) require_alias: bool,
}

/// A line where an action is expected.
pub(super) enum ActionLine {
    /// An empty line, which all servers skip.
    Blank,
    /// An unknown action. Elasticsearch 7 ignores it together with the next line; the others refuse
    /// the request.
    Unknown,
    /// An action, its document still missing.
    Op(Box<Op>),
}

/// Reads one action line; `number` counts lines from 1.
pub(super) fn action_line(
    flavor: &Flavor,
    line: &[u8],
    number: usize,
    defaults: &Defaults,
) -> Result<ActionLine, ServerError> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(ActionLine::Blank);
    }
    let Some((action, fields)) = action_and_fields(flavor, line, number)? else {
        return Ok(ActionLine::Unknown);
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
    let index_given = defaults.index.is_some() || fields.contains_key("_index");
    for (field, value) in &fields {
        set_field(&mut op, flavor, number, field, value)?;
    }
    if op.action == Action::Update && (op.version.is_some() || op.version_type != VersionType::Internal) {
        return Err(ServerError::illegal_argument(
            "Update requests do not support versioning. Please use `if_seq_no` and `if_primary_term` instead",
        ));
    }
    if !index_given {
        return Err(ServerError::validation("index is missing"));
    }
    Ok(ActionLine::Op(Box::new(op)))
}

/// An action and its fields.
type ActionAndFields = (Action, Map<String, Value>);

/// The action of a line and its fields; `None` for an unknown action that the server ignores.
fn action_and_fields(flavor: &Flavor, line: &[u8], number: usize) -> Result<Option<ActionAndFields>, ServerError> {
    // All but Elasticsearch 8 read one value and ignore the rest of the line.
    let parsed = if flavor.is_elasticsearch_8() { parse_strict(line) } else { parse_first(line) };
    let parsed = parsed.map_err(|error| {
        let kind = if flavor.is_elasticsearch_8() { "x_content_parse_exception" } else { "json_parse_exception" };
        ServerError::new(400, kind, error.to_string())
    })?;
    let Value::Object(object) = parsed else {
        return Err(malformed(number, &format!("expected START_OBJECT but found [{}]", token(&parsed))));
    };
    let Some((name, fields)) = object.into_iter().next() else {
        return Err(malformed(number, "expected FIELD_NAME but found [END_OBJECT]"));
    };
    let action = match name.as_str() {
        "index" => Action::Index,
        "create" => Action::Create,
        "update" => Action::Update,
        "delete" => Action::Delete,
        _ if flavor.is_elasticsearch_7() => return Ok(None),
        other if flavor.is_elasticsearch_8() => {
            let expected = "expected field [create], [delete], [index] or [update]";
            return Err(malformed(number, &format!("{expected} but found [{other}]")));
        }
        other => {
            let expected = "expected one of [create, delete, index, update]";
            return Err(malformed(number, &format!("{expected} but found [{other}]")));
        }
    };
    match fields {
        Value::Object(fields) => Ok(Some((action, fields))),
        other => Err(malformed(number, &format!("expected START_OBJECT or END_OBJECT but found [{}]", token(&other)))),
    }
}

fn set_field(op: &mut Op, flavor: &Flavor, line: usize, field: &str, value: &Value) -> Result<(), ServerError> {
    if matches!(value, Value::Array(_) | Value::Object(_)) && field != "_source" && field != "dynamic_templates" {
        let found = token(value);
        return Err(malformed(line, &format!("expected a simple value for field [{field}] but found [{found}]")));
    }
    let text = || match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match field {
        "_index" => op.index = text(),
        "_id" => op.id = (!value.is_null()).then(text),
        "routing" | "_routing" => {
            op.routing = Some(text()).filter(|text| !value.is_null() && !text.is_empty());
        }
        "_type" if !flavor.has_types() => return Err(unknown_parameter(line, field)),
        "pipeline" => op.pipeline = Some(text()),
        "version" | "_version" => op.version = text().parse().ok(),
        "version_type" | "_version_type" => {
            op.version_type = match text().as_str() {
                "internal" => VersionType::Internal,
                "external" | "external_gt" => VersionType::External,
                "external_gte" => VersionType::ExternalGte,
                other => {
                    return Err(ServerError::illegal_argument(format!("No version type match [{other}]")));
                }
            }
        }
        "if_seq_no" => op.if_seq_no = text().parse().ok(),
        "op_type" if op.action == Action::Index && text() == "create" => op.action = Action::Create,
        "require_alias" => op.require_alias = text() == "true",
        "op_type"
        | "if_primary_term"
        | "retry_on_conflict"
        | "_type"
        | "_source"
        | "dynamic_templates"
        | "require_data_stream"
        | "list_executed_pipelines" => {}
        other => return Err(unknown_parameter(line, other)),
    }
    Ok(())
}

fn malformed(line: usize, complaint: &str) -> ServerError {
    ServerError::illegal_argument(format!("Malformed action/metadata line [{line}], {complaint}"))
}

fn unknown_parameter(line: usize, name: &str) -> ServerError {
    ServerError::illegal_argument(format!("Action/metadata line [{line}] contains an unknown parameter [{name}]"))
}

/// The name of a value's first token in the servers' JSON parser.
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

//! The body of a bulk request, parsed into operations.

use bytes::Bytes;

use super::action_line::{ActionLine, Defaults, action_line};
use crate::error::ServerError;
use crate::json::parse_strict;
use crate::model::{Action, Op, VersionType};
use crate::product::Flavor;

/// Parses a bulk body. A last action without its document is ignored, as in the servers.
///
/// # Errors
///
/// The errors that refuse the whole request: no final newline, a malformed action line, an update
/// with a version, an id of more than 512 bytes, no index, or no item at all.
pub(crate) fn parse(flavor: &Flavor, body: &Bytes, defaults: &Defaults) -> Result<Vec<Op>, ServerError> {
    if body.is_empty() {
        return Err(ServerError::new(400, "parse_exception", "request body is required"));
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
    Err(ServerError::new(
        400,
        "action_request_validation_exception",
        format!("Validation Failed: {}", numbered.join("")),
    ))
}

fn next_line(body: &Bytes, from: &mut usize) -> Result<Option<Bytes>, ServerError> {
    match memchr::memchr(b'\n', &body[*from..]) {
        Some(length) => {
            let line = body.slice(*from..*from + length);
            *from += length + 1;
            Ok(Some(line))
        }
        None if *from == body.len() => Ok(None),
        None => Err(ServerError::illegal_argument("The bulk request must be terminated by a newline [\\n]")),
    }
}

fn trim_carriage_return(line: Bytes) -> Bytes {
    match line.last() {
        Some(b'\r') => line.slice(..line.len() - 1),
        _ => line,
    }
}

/// Checks the body of an update. The servers read it with the request, so a malformed one refuses
/// the whole request.
fn check_update(flavor: &Flavor, source: &[u8]) -> Result<(), ServerError> {
    let kind = if flavor.is_elasticsearch_8() { "x_content_parse_exception" } else { "json_parse_exception" };
    let body = parse_strict(source).map_err(|error| ServerError::new(400, kind, error.to_string()))?;
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
        Some(key) => Err(ServerError::new(
            400,
            "x_content_parse_exception",
            format!("[1:2] [UpdateRequest] unknown field [{key}]"),
        )),
        None if body.get("doc").is_none() && body.get("script").is_none() => {
            Err(ServerError::validation("script or doc is missing"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(body: &str) -> Result<Vec<Op>, ServerError> {
        let defaults = Defaults { index: Some("a".into()), ..Defaults::default() };
        parse(&Flavor::opensearch_3(), &Bytes::copy_from_slice(body.as_bytes()), &defaults)
    }

    #[test]
    fn errors_of_a_whole_request() {
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
}

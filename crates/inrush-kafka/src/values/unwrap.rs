//! Envelopes around documents.
//!
//! Debezium: <https://debezium.io/documentation/reference/stable/connectors/postgresql.html>, "Data
//! change events". Kafka Connect: `org.apache.kafka.connect.json.JsonConverter` with
//! `schemas.enable`.

use inrush_core::Code;
use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Problem;
use super::key::members;

/// The content of an envelope.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// The document.
    Document(Cow<'a, [u8]>),
    /// The document is deleted. Before that it was this one, where the event says it.
    Delete(Option<&'a [u8]>),
    /// The record has no value.
    Null,
    /// The event is not about a document.
    Nothing,
}

#[derive(Deserialize)]
struct Debezium<'a> {
    #[serde(borrow, default)]
    op: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    before: Option<&'a RawValue>,
    #[serde(borrow, default)]
    after: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
}

/// The payload of Connect's schema envelope. `None` if `json` is something else.
pub(super) fn payload(json: &[u8]) -> Option<Option<&[u8]>> {
    let found = members(json).ok()?;
    let payload = match &found[..] {
        [(first, _), (second, payload)] if first == "schema" && second == "payload" => *payload,
        [(first, payload), (second, _)] if first == "payload" && second == "schema" => *payload,
        _ => return None,
    };
    Some((payload.get() != "null").then(|| bytes(payload)))
}

/// Takes Connect's schema envelope off.
pub(super) fn connect(json: &[u8]) -> Result<Event<'_>, Problem> {
    match payload(json) {
        Some(Some(payload)) => Ok(Event::Document(payload.into())),
        Some(None) => Ok(Event::Null),
        None => Err(no_envelope(json, "an object of the fields `schema` and `payload` is expected")),
    }
}

/// Takes Debezium's envelope off, and Connect's around it.
pub(super) fn debezium(json: &[u8]) -> Result<Event<'_>, Problem> {
    const EXPECTED: &str = "a change event of Debezium has the fields `op`, `before` and `after`";
    let wrong = |json| {
        move |error: serde_json::Error| no_envelope(json, &format!("{EXPECTED}, and it cannot be read as one: {error}"))
    };
    let mut event: Debezium<'_> = serde_json::from_slice(json).map_err(wrong(json))?;
    if event.op.is_none() {
        if payload(json) == Some(None) {
            return Ok(Event::Null);
        }
        if let Some(payload) = event.payload {
            event = serde_json::from_str(payload.get()).map_err(wrong(bytes(payload)))?;
        }
    }
    match event.op.as_deref() {
        Some("c" | "r" | "u") => match event.after {
            Some(after) => Ok(Event::Document(document(after)?)),
            None => Err((Code::NoEnvelope, "the event has no `after`, which is the document".to_owned())),
        },
        Some("d") => Ok(Event::Delete(event.before.map(bytes))),
        Some("m") => Ok(Event::Nothing),
        Some("t") => Err((
            Code::Truncate,
            "the table was emptied (`op` is `t`), which names no documents; delete them in the index, or load it anew"
                .to_owned(),
        )),
        Some(other) => Err((Code::NoEnvelope, format!("`op` is `{other}`; expected c, r, u, d, t or m"))),
        None => Err(no_envelope(json, EXPECTED)),
    }
}

/// The document. MongoDB's connector has it as text.
fn document(after: &RawValue) -> Result<Cow<'_, [u8]>, Problem> {
    let json = after.get();
    if !json.starts_with('"') {
        return Ok(json.as_bytes().into());
    }
    let text: String =
        serde_json::from_str(json).map_err(|error| (Code::NoEnvelope, format!("field `after`: {error}")))?;
    Ok(text.into_bytes().into())
}

fn no_envelope(json: &[u8], expected: &str) -> Problem {
    let found = inrush_formats::beginning(json);
    (Code::NoEnvelope, format!("the value begins with {found:?}; {expected}, or correct option `unwrap`"))
}

fn bytes(value: &RawValue) -> &[u8] {
    value.get().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Event<'_> {
        Event::Document(text.as_bytes().into())
    }

    #[test]
    fn changes_become_documents_and_deletions() {
        for (json, expected) in [
            (
                r#"{"before":null,"after":{"id":1,"x":1.50},"source":{},"op":"c","ts_ms":1}"#,
                document(r#"{"id":1,"x":1.50}"#),
            ),
            (r#"{"op":"r","after":{ }}"#, document("{ }")),
            (r#"{"op":"u","before":{"a":1},"after":{"a":2}}"#, document(r#"{"a":2}"#)),
            (r#"{"op":"u","after":"{\"_id\": 1}"}"#, document(r#"{"_id": 1}"#)),
            (r#"{"op":"d","before":{"a":1},"after":null}"#, Event::Delete(Some(br#"{"a":1}"#))),
            (r#"{"op":"d"}"#, Event::Delete(None)),
            (r#"{"op":"m","message":{}}"#, Event::Nothing),
            (r#"{"schema":{"type":"struct"},"payload":{"op":"c","after":[]}}"#, document("[]")),
            (r#"{"schema":null,"payload":null}"#, Event::Null),
        ] {
            assert_eq!(debezium(json.as_bytes()).unwrap(), expected, "{json}");
        }
    }

    #[test]
    fn other_values_are_refused_with_what_they_are() {
        for (json, kind, problem) in [
            (r#"{"op":"t"}"#, Code::Truncate, "was emptied"),
            (r#"{"op":"x"}"#, Code::NoEnvelope, "`op` is `x`"),
            (r#"{"op":"c","after":null}"#, Code::NoEnvelope, "no `after`"),
            (r#"{"ddl":"CREATE TABLE"}"#, Code::NoEnvelope, "CREATE TABLE"),
            ("[1]", Code::NoEnvelope, "[1]"),
            ("{", Code::NoEnvelope, "cannot be read"),
            (r#"{"payload":7}"#, Code::NoEnvelope, "7"),
        ] {
            let (found, reason) = debezium(json.as_bytes()).unwrap_err();
            assert!(found == kind && reason.contains(problem), "{json}: {found}: {reason}");
        }
    }

    #[test]
    fn the_envelope_of_connect_is_exactly_that() {
        assert_eq!(connect(br#"{"schema":{"a":[1]},"payload":{"n":1}}"#).unwrap(), document(r#"{"n":1}"#));
        assert_eq!(connect(br#"{"payload":null,"schema":null}"#).unwrap(), Event::Null);
        for json in [r#"{"payload":1}"#, r#"{"schema":1}"#, r#"{"schema":1,"payload":1,"more":1}"#, "1", ""] {
            assert_eq!(connect(json.as_bytes()).unwrap_err().0, Code::NoEnvelope, "{json}");
        }
    }
}

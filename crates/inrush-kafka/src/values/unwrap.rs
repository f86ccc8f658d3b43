//! Envelopes around documents.
//!
//! Debezium: <https://debezium.io/documentation/reference/stable/connectors/postgresql.html>, "Data
//! change events". Its rows: the page "New Record State Extraction" of the same documentation.
//! Kafka Connect: `org.apache.kafka.connect.json.JsonConverter` with `schemas.enable`.

use inrush_core::Code;
use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::key::members;
use super::logical::Purpose;
use super::plan::{At, Plan, Plans};
use super::{Problem, mongo};

/// The field of a flattened row that says whether the row was deleted.
pub(super) const DELETED: &str = "__deleted";

/// The content of an envelope.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// The document.
    Document(Cow<'a, [u8]>),
    /// The document is deleted. Before that it was this one, where the event says it.
    Delete(Option<Cow<'a, [u8]>>),
    /// The record has no value.
    Null,
    /// The event is not about a document.
    Nothing,
}

/// The fields of an event, and those of Connect's envelope around it.
#[derive(Deserialize)]
struct Debezium<'a> {
    #[serde(borrow, default)]
    op: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    before: Option<&'a RawValue>,
    #[serde(borrow, default)]
    after: Option<&'a RawValue>,
    #[serde(borrow, default)]
    schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
}

/// Connect's schema envelope.
struct Enveloped<'a> {
    schema: &'a RawValue,
    payload: &'a RawValue,
}

/// `None` if `json` is something else.
fn enveloped(json: &[u8]) -> Option<Enveloped<'_>> {
    let found = members(json).ok()?;
    match &found[..] {
        [(first, schema), (second, payload)] if first == "schema" && second == "payload" => {
            Some(Enveloped { schema, payload })
        }
        [(first, payload), (second, schema)] if first == "payload" && second == "schema" => {
            Some(Enveloped { schema, payload })
        }
        _ => None,
    }
}

/// The payload of Connect's schema envelope, with the values that its schema describes. `None` if
/// `json` is something else.
pub(super) fn payload<'a>(json: &'a [u8], plans: &Plans, purpose: Purpose) -> Option<Option<Cow<'a, [u8]>>> {
    let Enveloped { schema, payload } = enveloped(json)?;
    Some((payload.get() != "null").then(|| {
        let plan = plans.of_connect(bytes(schema));
        converted(&plan, plan.root(), payload, purpose)
    }))
}

/// A value as its schema describes it.
fn converted<'a>(plan: &Plan, at: At, value: &'a RawValue, purpose: Purpose) -> Cow<'a, [u8]> {
    if plan.is_plain(at) {
        return Cow::Borrowed(bytes(value));
    }
    let mut out = Vec::with_capacity(value.get().len());
    plan.push(at, bytes(value), purpose, &mut out);
    Cow::Owned(out)
}

/// Takes Connect's schema envelope off.
pub(super) fn connect<'a>(json: &'a [u8], plans: &Plans) -> Result<Event<'a>, Problem> {
    match payload(json, plans, Purpose::Document) {
        Some(Some(payload)) => Ok(Event::Document(payload)),
        Some(None) => Ok(Event::Null),
        None => Err(no_envelope(json, "an object of the fields `schema` and `payload` is expected")),
    }
}

/// A row of which Debezium's envelope was taken off before, in Connect's envelope or without it.
pub(super) fn flat<'a>(json: &'a [u8], plans: &Plans) -> Event<'a> {
    let row = match payload(json, plans, Purpose::Document) {
        Some(Some(payload)) => payload,
        Some(None) => return Event::Null,
        None => Cow::Borrowed(json),
    };
    if is_deleted(&row) { Event::Delete(Some(row)) } else { Event::Document(row) }
}

/// Whether a row says that it was deleted: `"__deleted":"true"`, or `true`.
fn is_deleted(row: &[u8]) -> bool {
    memchr::memmem::find(row, DELETED.as_bytes()).is_some()
        && members(row).is_ok_and(|members| {
            let is_true = |value: &RawValue| matches!(value.get(), "true" | "\"true\"");
            members.iter().any(|(name, value)| name == DELETED && is_true(value))
        })
}

/// Takes Debezium's envelope off, and Connect's around it. With `has_id` the id of the document is
/// that of the record.
pub(super) fn debezium<'a>(json: &'a [u8], plans: &Plans, has_id: bool) -> Result<Event<'a>, Problem> {
    const EXPECTED: &str = "a change event of Debezium has the fields `op`, `before` and `after` (rows without them: \
                            option `unwrap=debezium-flat`)";
    let wrong = |json| {
        move |error: serde_json::Error| no_envelope(json, &format!("{EXPECTED}, and it cannot be read as one: {error}"))
    };
    let mut event: Debezium<'_> = serde_json::from_slice(json).map_err(wrong(json))?;
    let mut plan = None;
    if event.op.is_none() {
        if enveloped(json).is_some_and(|found| found.payload.get() == "null") {
            return Ok(Event::Null);
        }
        if let Some(payload) = event.payload {
            plan = event.schema.map(|schema| plans.of_connect(bytes(schema)));
            event = serde_json::from_str(payload.get()).map_err(wrong(bytes(payload)))?;
        }
    }
    let row = |field: &str, value: &'a RawValue| match &plan {
        _ if value.get().starts_with('"') => mongo::document(value, has_id).map(Cow::Owned),
        Some(plan) => Ok(converted(plan, plan.field(plan.root(), field), value, Purpose::Document)),
        None => Ok(Cow::Borrowed(bytes(value))),
    };
    match event.op.as_deref() {
        Some("c" | "r" | "u") => match event.after {
            Some(after) => Ok(Event::Document(row("after", after)?)),
            None => Err((Code::NoEnvelope, "the event has no `after`, which is the document".to_owned())),
        },
        Some("d") => Ok(Event::Delete(event.before.map(|before| row("before", before)).transpose()?)),
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
            (r#"{"op":"u","after":"{\"_id\": 1}"}"#, document(r#"{"_id":1}"#)),
            (r#"{"op":"d","before":{"a":1},"after":null}"#, Event::Delete(Some(br#"{"a":1}"#[..].into()))),
            (r#"{"op":"d"}"#, Event::Delete(None)),
            (r#"{"op":"m","message":{}}"#, Event::Nothing),
            (r#"{"schema":{"type":"struct"},"payload":{"op":"c","after":[]}}"#, document("[]")),
            (r#"{"schema":null,"payload":null}"#, Event::Null),
        ] {
            assert_eq!(debezium(json.as_bytes(), &Plans::default(), false).unwrap(), expected, "{json}");
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
            let (found, reason) = debezium(json.as_bytes(), &Plans::default(), false).unwrap_err();
            assert!(found == kind && reason.contains(problem), "{json}: {found}: {reason}");
        }
    }

    #[test]
    fn the_envelope_of_connect_is_exactly_that() {
        let connect = |json: &'static str| super::connect(json.as_bytes(), &Plans::default());
        assert_eq!(connect(r#"{"schema":{"a":[1]},"payload":{"n":1}}"#).unwrap(), document(r#"{"n":1}"#));
        assert_eq!(connect(r#"{"payload":null,"schema":null}"#).unwrap(), Event::Null);
        for json in [r#"{"payload":1}"#, r#"{"schema":1}"#, r#"{"schema":1,"payload":1,"more":1}"#, "1", ""] {
            assert_eq!(connect(json).unwrap_err().0, Code::NoEnvelope, "{json}");
        }
    }

    #[test]
    fn flattened_rows_say_whether_they_were_deleted() {
        let deleted = |json: &str| Event::Delete(Some(json.as_bytes().to_vec().into()));
        let plans = Plans::default();
        for (json, expected) in [
            (r#"{"id":1,"__deleted":"false"}"#, document(r#"{"id":1,"__deleted":"false"}"#)),
            (r#"{"id":1}"#, document(r#"{"id":1}"#)),
            (r#"{"id":1,"a":"__deleted"}"#, document(r#"{"id":1,"a":"__deleted"}"#)),
            (r#"{"id":1,"a":{"__deleted":"true"}}"#, document(r#"{"id":1,"a":{"__deleted":"true"}}"#)),
            (r#"{"id":1,"__deleted":"true"}"#, deleted(r#"{"id":1,"__deleted":"true"}"#)),
            (r#"{"id":1,"__deleted":true}"#, deleted(r#"{"id":1,"__deleted":true}"#)),
            (r#"{"schema":{},"payload":{"__deleted":"true"}}"#, deleted(r#"{"__deleted":"true"}"#)),
            (r#"{"schema":{},"payload":null}"#, Event::Null),
            ("7", document("7")),
        ] {
            assert_eq!(flat(json.as_bytes(), &plans), expected, "{json}");
        }
    }
}

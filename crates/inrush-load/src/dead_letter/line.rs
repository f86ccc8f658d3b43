//! A line of the dead-letter file.

use std::borrow::Cow;

use base64::Engine;
use inrush_core::{Action, DeadLetter, DocMeta, FieldPath, VersionType};
use inrush_formats::dead_letters::SentWith;
use inrush_sources::TopicPartition;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::option_error::{Style, render};

#[derive(Serialize)]
pub(super) struct Line<'a> {
    /// First, so that a reader finds it soon.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<&'a str>,
    error: ErrorPart<'a>,
    position: PositionPart<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_with: Option<Cow<'a, SentWith>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    doc_as_upsert: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

#[derive(Serialize)]
struct ErrorPart<'a> {
    status: u16,
    #[serde(rename = "type")]
    kind: &'a str,
    reason: Cow<'a, str>,
}

#[derive(Serialize)]
struct PositionPart<'a> {
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    partition: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    doc: u64,
    line: u64,
    byte: u64,
}

/// What the source knows about a record that never became an item, as an action line has it.
#[derive(Serialize)]
struct Target<'a> {
    #[serde(rename = "_index", skip_serializing_if = "Option::is_none")]
    index: Option<&'a str>,
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_type: Option<VersionType>,
}

/// The action line that a record would have had.
fn action_line(action: Action, meta: &DocMeta) -> Option<Box<RawValue>> {
    let DocMeta { index, id, routing, version, .. } = meta;
    let (index, id, routing) = (index.as_deref(), id.as_deref(), routing.as_deref());
    let target = Target { index, id, routing, version: *version, version_type: version.map(|_| meta.version_type) };
    to_raw_value(&std::collections::BTreeMap::from([(action.bulk_key(), target)])).ok()
}

/// The options for a record that never became an item, with the fields that its source names.
fn fields_of<'a>(letter: &DeadLetter, sent_with: &'a SentWith) -> Cow<'a, SentWith> {
    let Some((meta, fields)) = letter.meta.as_deref().and_then(|meta| Some((meta, meta.fields.as_deref()?))) else {
        return Cow::Borrowed(sent_with);
    };
    let either = |own: &Option<String>, of_source: &Option<FieldPath>| {
        own.clone().or_else(|| of_source.as_ref().map(ToString::to_string))
    };
    Cow::Owned(SentWith {
        action: sent_with.action,
        id: either(&sent_with.id, &fields.id),
        routing: either(&sent_with.routing, &fields.routing),
        version: either(&sent_with.version, &fields.version),
        version_type: match (&sent_with.version, &fields.version) {
            (None, Some(_)) => meta.version_type,
            _ => sent_with.version_type,
        },
    })
}

impl<'a> Line<'a> {
    pub(super) fn new(
        index: Option<&'a str>,
        source: &'a str,
        topic: Option<&'a TopicPartition>,
        letter: &'a DeadLetter,
        sent_with: &'a SentWith,
    ) -> Self {
        let (document, mut doc_as_upsert) = unwrap_update(letter);
        let was_item = letter.action.is_some();
        let mut is_delete = was_item && document.is_empty();
        let action = match (letter.action.as_deref(), letter.meta.as_deref()) {
            (Some(line), _) => serde_json::from_slice::<&RawValue>(line).ok().map(Cow::Borrowed),
            (None, Some(meta)) if meta.names_something() => {
                let action = meta.action.or(sent_with.action).unwrap_or_default();
                doc_as_upsert = action == Action::Upsert;
                is_delete = action == Action::Delete && document.is_empty();
                action_line(action, meta).map(Cow::Owned)
            }
            (None, _) => None,
        };
        // Not changed once more by the load of this letter.
        let was_shaped = was_item || letter.meta.as_deref().is_some_and(|meta| meta.is_shaped);
        let mut line = Line {
            index,
            error: ErrorPart {
                status: letter.status,
                kind: &letter.kind,
                // The file is read by people, as the screen is.
                reason: render(&letter.reason, Style::Flag),
            },
            position: PositionPart {
                source,
                topic: topic.map(|at| &*at.topic),
                partition: topic.map_or(letter.position.partition.into(), |at| at.partition.into()),
                offset: topic.map(|_| letter.position.doc),
                doc: letter.position.doc,
                line: letter.position.line,
                byte: letter.position.byte,
            },
            sent_with: Some(fields_of(letter, sent_with)).filter(|with| !was_item && **with != SentWith::default()),
            action,
            doc_as_upsert,
            document: None,
            text: None,
            base64: None,
        };
        if is_delete {
            return line; // it has no document
        }
        // A raw value is written as it is, so it must not contain a line end.
        let one_line = memchr::memchr2(b'\n', b'\r', document).is_none();
        match serde_json::from_slice::<&RawValue>(document) {
            Ok(json) if one_line && was_shaped => line.document = Some(json),
            _ => match std::str::from_utf8(document) {
                Ok(text) => line.text = Some(text),
                Err(_) => line.base64 = Some(base64::engine::general_purpose::STANDARD.encode(document)),
            },
        }
        line
    }
}

/// The document inside an update's `{"doc":…}`, and whether it was an upsert.
fn unwrap_update(letter: &DeadLetter) -> (&[u8], bool) {
    let document = &letter.document[..];
    if !letter.action.as_deref().is_some_and(|line| line.starts_with(b"{\"update\"")) {
        return (document, false);
    }
    let Some(inner) = document.strip_prefix(b"{\"doc\":") else { return (document, false) };
    match inner.strip_suffix(b",\"doc_as_upsert\":true}") {
        Some(inner) => (inner, true),
        None => (inner.strip_suffix(b"}").unwrap_or(inner), false),
    }
}

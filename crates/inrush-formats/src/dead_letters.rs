//! Reads dead letters, so that they can be loaded again.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use inrush_core::Code;
use inrush_core::block::Record;
use inrush_core::made_id;
use inrush_core::{Action, DocBlock, DocMeta, MetaFields, Reject, VersionType};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::lines::for_each_line;
use super::one_line::one_line;
use super::{Decode, RawChunk, too_large, too_large_head};

/// Decodes the lines of a dead-letter file. Each line is one entry: `document` (or `text` or
/// `base64`, if it is not JSON) and the `action` it was sent with. That action takes precedence
/// over the options of the job.
pub struct DeadLetterDecode {
    /// The largest entry, bytes.
    pub record_bytes_max: usize,
}

/// The members of an entry that matter for loading it again. `position` does not.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, default, deserialize_with = "some_raw")]
    document: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(default)]
    base64: Option<String>,
    #[serde(default)]
    action: Option<ActionLine>,
    #[serde(default)]
    sent_with: Option<SentWith>,
    #[serde(default)]
    doc_as_upsert: bool,
    /// Every dead letter has this member, and few other files do.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The error of a document that was sent.
#[derive(Deserialize)]
struct Refused<'a> {
    status: u16,
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

/// The id that a cluster made for a document which met its own copy (409): the cluster had repeated
/// the operation on another primary. Earlier releases took that for a conflict. Sent with this id,
/// the document is not stored a second time.
fn id_of_own_copy(error: &RawValue) -> Option<String> {
    let Refused { status, reason } = serde_json::from_str(error.get()).ok()?;
    let id = made_id::in_conflict(&reason).filter(|id| status == 409 && made_id::is_made(id))?;
    Some(id.to_owned())
}

/// The kind of an error.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    name: Cow<'a, str>,
}

/// Whether the record of a letter is itself a line of a dead-letter file, which could not be read.
fn is_of_a_letter(error: &RawValue) -> bool {
    serde_json::from_str(error.get()).is_ok_and(|Kind { name }| name == Code::BadDeadLetter.name())
}

/// `null` is a document that is present.
fn some_raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// An action line of a bulk request.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ActionLine {
    Index(Target),
    Create(Target),
    Update(Target),
    Delete(Target),
}

#[derive(Deserialize)]
struct Target {
    #[serde(rename = "_index")]
    index: Option<String>,
    #[serde(rename = "_id")]
    id: Option<String>,
    routing: Option<String>,
    version: Option<u64>,
    /// Letters of earlier releases lack it.
    #[serde(default)]
    version_type: VersionType,
}

impl ActionLine {
    fn meta(self, doc_as_upsert: bool) -> DocMeta {
        let (action, Target { index, id, routing, version, version_type }) = match self {
            ActionLine::Index(target) => (Action::Index, target),
            ActionLine::Create(target) => (Action::Create, target),
            ActionLine::Update(target) if doc_as_upsert => (Action::Upsert, target),
            ActionLine::Update(target) => (Action::Update, target),
            ActionLine::Delete(target) => (Action::Delete, target),
        };
        DocMeta::default()
            .with_action(action)
            .with_index(index)
            .with_id(id)
            .with_routing(routing)
            .with_version(version)
            .with_version_type(version_type)
    }
}

/// The metadata of a record that never became an item. The fields of its first load apply, unless
/// this load names others.
fn meta_of_unsent(sent_with: SentWith) -> Result<DocMeta, String> {
    let SentWith { action, id, routing, version, version_type } = sent_with;
    let field = |path: Option<String>| path.map(|path| path.parse()).transpose();
    let fields = MetaFields { id: field(id)?, routing: field(routing)?, version: field(version)? };
    Ok(DocMeta::default().with_action(action).with_fields(Arc::new(fields)).with_version_type(version_type))
}

/// The contents of an entry.
enum Contents<'a> {
    Document(Cow<'a, [u8]>),
    Unusable { bytes: Cow<'a, [u8]>, kind: Code, reason: String },
}

impl Decode for DeadLetterDecode {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let data = &chunk.data[..];
        let mut out = Vec::with_capacity(data.len());
        let (mut records, mut rejects, mut metas) = (Vec::new(), Vec::new(), Vec::new());
        let lines = for_each_line(data, self.record_bytes_max, |start, end, line| {
            let record = records.len() as u32;
            let from = out.len() as u32;
            let text = &data[start..end];
            let mut meta = DocMeta::default();
            if text.len() > self.record_bytes_max {
                rejects.push(too_large(record, text.len() as u64, self.record_bytes_max));
                out.extend_from_slice(too_large_head(text));
            } else {
                match read_entry(text, &mut meta) {
                    Contents::Document(document) => out.extend_from_slice(&document),
                    Contents::Unusable { bytes, kind, reason } => {
                        rejects.push(Reject { record, kind, reason });
                        out.extend_from_slice(&bytes);
                    }
                }
            }
            records.push(Record { start: from, end: out.len() as u32, byte: start as u32, line });
            metas.push(meta);
        });
        DocBlock {
            origin: chunk.origin,
            lines,
            data: Bytes::from(out),
            records,
            rejects,
            meta: metas,
            bytes_read: chunk.bytes_read,
        }
    }
}

fn read_entry<'a>(line: &'a [u8], meta: &mut DocMeta) -> Contents<'a> {
    let damaged = |why: String| Contents::Unusable {
        bytes: Cow::Borrowed(line),
        kind: Code::BadDeadLetter,
        reason: format!("line is not a dead letter: {why}; correct it or leave it out"),
    };
    let entry: Entry<'a> = match serde_json::from_slice(line) {
        Ok(entry) => entry,
        Err(error) => return damaged(error.to_string()),
    };
    let Some(error) = entry.error else {
        return damaged(
            "it has no `error`; expected the dead-letter file of an earlier load (option `dead_letters`)".to_owned(),
        );
    };
    if let (Some(text), true) = (&entry.text, is_of_a_letter(error)) {
        // Its action and its fields stand in the line.
        return match read_entry(text.as_bytes(), meta) {
            Contents::Document(document) => Contents::Document(Cow::Owned(document.into_owned())),
            Contents::Unusable { bytes, kind, reason } => {
                Contents::Unusable { bytes: Cow::Owned(bytes.into_owned()), kind, reason }
            }
        };
    }
    if let Some(sent_with) = entry.sent_with {
        match meta_of_unsent(sent_with) {
            Ok(of_unsent) => *meta = of_unsent,
            Err(why) => return damaged(format!("its `sent_with` cannot be used: {why}")),
        }
    }
    if let Some(action) = entry.action {
        // Its values take precedence over the fields.
        let of_unsent = std::mem::replace(meta, action.meta(entry.doc_as_upsert));
        meta.fields = of_unsent.fields;
        if meta.version.is_none() {
            meta.version_type = of_unsent.version_type;
        }
        let is_added = matches!(meta.action, Some(Action::Create | Action::Index));
        if meta.id.is_none()
            && is_added
            && let Some(id) = id_of_own_copy(error)
        {
            *meta = std::mem::take(meta).with_action(Action::Create).with_id(id).with_is_in(true);
        }
    }
    // Records that were never sent have their text.
    meta.is_shaped = entry.document.is_some();
    match (entry.document, entry.text, entry.base64) {
        (Some(document), None, None) => Contents::Document(Cow::Borrowed(document.get().as_bytes())),
        (None, Some(text), None) => from_bytes(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
        (None, None, Some(base64)) => match base64::engine::general_purpose::STANDARD.decode(base64) {
            Ok(bytes) => from_bytes(Cow::Owned(bytes)),
            Err(error) => damaged(format!("its `base64` cannot be read: {error}")),
        },
        (None, None, None) if meta.action == Some(Action::Delete) => Contents::Document(Cow::Borrowed(&[])),
        _ => damaged("expected one of `document`, `text` and `base64`".to_owned()),
    }
}

/// Text that was not JSON when it was recorded may have been corrected since.
fn from_bytes(bytes: Cow<'_, [u8]>) -> Contents<'_> {
    match serde_json::from_slice::<&RawValue>(&bytes) {
        Ok(_) => {
            let mut document = bytes.into_owned();
            // JSON has no line end inside a string.
            one_line(0, &mut document);
            Contents::Document(Cow::Owned(document))
        }
        Err(error) => {
            let reason = format!(
                "the text of the dead letter is not JSON: {error}; write a JSON object, also for a row of CSV or a line of a \
                 log, or load its source again"
            );
            Contents::Unusable { bytes, kind: Code::NotJson, reason }
        }
    }
}

/// How a load makes items of its records, as far as its options say so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SentWith {
    /// The action, unless it is `index`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The field with the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The field with the routing value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<String>,
    /// The field with the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The type of that version, unless it is `external`.
    #[serde(skip_serializing_if = "is_external")]
    pub version_type: VersionType,
}

fn is_external(version_type: &VersionType) -> bool {
    *version_type == VersionType::External
}

#[cfg(test)]
mod tests {
    use inrush_core::block::Origin;

    use super::*;

    fn decode(text: &str) -> DocBlock {
        let decoder = Arc::new(DeadLetterDecode { record_bytes_max: 10_000 });
        let data = Bytes::copy_from_slice(text.as_bytes());
        decoder.decode(RawChunk { origin: Origin::default(), data, bytes_read: 0, decoder: decoder.clone() })
    }

    const ENTRY: &str =
        r#"{"error":{"status":400,"type":"t","reason":"r"},"position":{"source":"f","line":12,"byte":345,"doc":11},"#;

    fn one(rest: &str) -> DocBlock {
        let block = decode(&format!("{ENTRY}{rest}\n"));
        assert_eq!((block.records.len(), block.meta.len()), (1, 1));
        block
    }

    #[test]
    fn an_entry_becomes_its_document_and_its_action() {
        let block = one(
            r#""action":{"index":{"_index":"logs","_id":"1","routing":"r","version":7}},"document":{"a": 1.50,"b":"\u00e9"}}"#,
        );
        assert_eq!(block.record(0), br#"{"a": 1.50,"b":"\u00e9"}"#);
        let expected = DocMeta::default()
            .with_action(Action::Index)
            .with_index("logs".to_owned())
            .with_id("1".to_owned())
            .with_routing("r".to_owned())
            .with_version(7)
            .with_is_shaped(true);
        assert_eq!(block.meta[0], expected);
        assert!(block.rejects.is_empty());
    }

    #[test]
    fn a_document_that_met_its_own_copy_is_sent_with_the_id_of_that_copy() {
        let letter = |status: u16, reason: &str, action: &str| {
            let reason = serde_json::to_string(reason).unwrap();
            let line = format!(
                r#"{{"error":{{"status":{status},"type":"version_conflict_engine_exception","reason":{reason}}},"action":{action},"document":{{"a":1}}}}"#
            );
            let block = decode(&format!("{line}\n"));
            assert!(block.rejects.is_empty());
            (block.meta[0].id.clone(), block.meta[0].is_in)
        };
        let reason = |id: &str| format!("[{id}]: version conflict, document already exists (current version [1])");
        let made = "CQgsJKIBAQIDBAUGGwd7";
        assert!(made_id::is_made(made));
        for action in [r#"{"create":{}}"#, r#"{"create":{"_index":"a"}}"#, r#"{"index":{}}"#] {
            assert_eq!(letter(409, &reason(made), action), (Some(made.to_owned()), true), "{action}");
        }
        // An id of the user, another error, an id that a pipeline made of the document.
        let own = r#"{"create":{"_id":"7"}}"#;
        assert_eq!(letter(409, &reason("7"), own), (Some("7".to_owned()), false));
        assert_eq!(letter(400, &reason(made), r#"{"create":{}}"#), (None, false));
        assert_eq!(letter(409, &reason("BwcHBwcHBwcHBwcHBwcHBw=="), r#"{"create":{}}"#), (None, false));
    }

    #[test]
    fn every_action_is_read() {
        for (text, action) in [
            (r#""action":{"create":{"_index":"i"}}"#, Action::Create),
            (r#""action":{"update":{"_index":"i","_id":"1"}}"#, Action::Update),
            (r#""action":{"update":{"_index":"i","_id":"1"}},"doc_as_upsert":true"#, Action::Upsert),
        ] {
            let block = one(&format!("{text},\"document\":{{}}}}"));
            assert_eq!(block.meta[0].action, Some(action));
        }
        let block = one(r#""action":{"delete":{"_index":"i","_id":"1"}}}"#);
        assert_eq!((block.meta[0].action, block.record(0)), (Some(Action::Delete), &b""[..]));
        assert!(block.rejects.is_empty());
        assert_eq!(one(r#""document":{}}"#).meta[0], DocMeta::default().with_is_shaped(true));
        assert_eq!(one(r#""text":"{}"}"#).meta[0], DocMeta::default(), "it was never sent");
    }

    #[test]
    fn what_is_known_of_an_unsent_record_and_its_fields_apply_together() {
        let block =
            one(r#""action":{"index":{"_id":"7"}},"sent_with":{"id":"n","routing":"shop"},"text":"{\"shop\":1}"}"#);
        let meta = &block.meta[0];
        assert_eq!((meta.action, meta.id.as_deref(), block.rejects.len()), (Some(Action::Index), Some("7"), 0));
        let fields = meta.fields.as_deref().unwrap();
        assert_eq!(fields.routing.as_ref().map(ToString::to_string).as_deref(), Some("shop"));
    }

    #[test]
    fn a_version_keeps_its_type() {
        for (members, version, version_type, has_field) in [
            (r#""action":{"index":{"_id":"7","version":3}}"#, Some(3), VersionType::External, false),
            (
                r#""action":{"index":{"_id":"7","version":3,"version_type":"external_gte"}}"#,
                Some(3),
                VersionType::ExternalGte,
                false,
            ),
            (
                r#""action":{"index":{"_id":"7"}},"sent_with":{"version":"v","version_type":"external_gte"}"#,
                None,
                VersionType::ExternalGte,
                true,
            ),
            (
                r#""action":{"index":{"version":3}},"sent_with":{"version":"v","version_type":"external_gte"}"#,
                Some(3),
                VersionType::External,
                true,
            ),
        ] {
            let block = one(&format!("{members},\"document\":{{}}}}"));
            let meta = &block.meta[0];
            assert_eq!((meta.version, meta.version_type), (version, version_type), "{members}");
            let field = meta.fields.as_deref().and_then(|fields| fields.version.as_ref());
            assert_eq!(field.is_some(), has_field, "{members}");
        }
        let block = one(r#""action":{"index":{"version":3,"version_type":"internal"}},"document":{}}"#);
        assert!(block.rejects[0].reason.contains("unknown variant `internal`"), "{:?}", block.rejects);
    }

    #[test]
    fn text_is_a_document_once_it_is_json() {
        let block = one(r#""text":"{\"a\":\n1}"}"#);
        assert_eq!((block.record(0), block.rejects.len()), (&b"{\"a\": 1}"[..], 0));
        let block = one(r#""text":"a,b\nc"}"#);
        assert_eq!((block.record(0), block.rejects[0].kind), (&b"a,b\nc"[..], Code::NotJson));
        let block = one(r#""base64":"/2E="}"#);
        assert_eq!((block.record(0), block.rejects[0].kind), (&b"\xFFa"[..], Code::NotJson));
    }

    #[test]
    fn a_line_that_was_no_letter_is_one_once_it_is_mended() {
        let line =
            |text: &str| format!(r#"{{"error":{{"type":"bad_dead_letter"}},"text":{}}}"#, serde_json::json!(text));
        let letter = format!(r#"{ENTRY}"action":{{"index":{{"_id":"7"}}}},"document":{{"a":1}}}}"#);
        for text in [line(&letter), line(&line(&letter))] {
            let block = decode(&format!("{text}\n"));
            assert_eq!((block.record(0), block.rejects.len()), (&br#"{"a":1}"#[..], 0));
            let expected = DocMeta::default().with_action(Action::Index).with_id("7".to_owned()).with_is_shaped(true);
            assert_eq!(block.meta[0], expected);
        }
        let damaged = &letter[..letter.len() - 1];
        let block = decode(&format!("{}\n", line(damaged)));
        assert_eq!((block.record(0), block.rejects[0].kind), (damaged.as_bytes(), Code::BadDeadLetter));
    }

    #[test]
    fn damaged_lines_are_rejects_of_their_own() {
        let text = format!(
            "{{\"half\":\n\n{ENTRY}\"document\":{{}}}}\n{ENTRY}\"action\":{{\"index\":{{}}}}}}\n{ENTRY}\"base64\":\"!\"}}\n"
        );
        let block = decode(&text);
        assert_eq!(block.records.len(), 4);
        let rejects: Vec<_> = block.rejects.iter().map(|r| (r.record, r.kind)).collect();
        assert_eq!(rejects, [(0, Code::BadDeadLetter), (2, Code::BadDeadLetter), (3, Code::BadDeadLetter)]);
        assert_eq!((block.record(0), block.record(1)), (&b"{\"half\":"[..], &b"{}"[..]));
        assert!(block.rejects[1].reason.contains("expected one of `document`"));
        assert_eq!(block.records[1].line, 2);
    }

    #[test]
    fn documents_are_no_dead_letters() {
        let block = decode("{\"document\":{\"a\":1}}\n{\"a\":1}\n");
        assert_eq!(block.rejects.len(), 2);
        for reject in &block.rejects {
            assert!(reject.reason.contains("it has no `error`; expected the dead-letter file of"), "{}", reject.reason);
        }
    }
}

//! Documents to bulk items in NDJSON: an action line before each document.

use bytes::Bytes;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::address::{Address, Refusal};
use super::builder::{ItemBlockBuilder, empty};
use super::presence::Presence;
use super::shape::{Shape, nested};
use super::vectors::Packer;
use crate::block::{DocBlock, DocMeta, Reject};
use crate::codes::Code;
use crate::items::{ItemBlock, NO_SHARD};
use crate::operation::{Action, FieldPath, Operations};
use crate::routing::Routing;
use crate::shaping::Shaping;

/// Turns documents into bulk items as one job wants them. All encoding threads share it.
#[derive(Clone, Debug)]
pub struct Encoder {
    operations: Operations,
    /// The action line, if it is the same for every document.
    fixed_line: Option<Vec<u8>>,
    /// Computes the shard of each item, if wanted.
    shards: Option<Routing>,
    shape: Shape,
    vectors: Packer,
    presence: Presence,
    /// Documents that were shaped by an earlier load would lose fields if they were shaped again.
    shapes_once: bool,
    /// New documents have no ids and no routing values, although their source has some.
    without_ids: bool,
}

impl Encoder {
    /// An encoder for these operations. A fixed index name goes into the request path; otherwise
    /// every action line names the index.
    pub fn new(operations: Operations) -> Self {
        let operations = operations.of_source();
        let plain = operations.id.is_none()
            && operations.routing.is_none()
            && operations.version.is_none()
            && operations.index.fixed().is_some()
            && !operations.action.needs_id();
        let fixed_line = plain.then(|| format!("{{\"{}\":{{}}}}\n", operations.action.bulk_key()).into_bytes());
        let shape = Shape::new(&operations.shaping);
        let shapes_once = hands_on(&operations.shaping);
        Encoder {
            operations,
            fixed_line,
            shards: None,
            shape,
            vectors: Packer::default(),
            presence: Presence::default(),
            shapes_once,
            without_ids: false,
        }
    }

    /// Also packs the vectors of documents.
    #[must_use]
    pub fn with_vectors(mut self, vectors: Packer) -> Self {
        self.vectors = vectors;
        self
    }

    /// Also marks which documents have vectors.
    #[must_use]
    pub fn with_presence(mut self, presence: Presence) -> Self {
        self.presence = presence;
        self
    }

    /// The changes of the documents, and which of the named fields occurred. Clones of the encoder
    /// share this state.
    pub fn shape(&self) -> Shape {
        self.shape.clone()
    }

    /// Whether items have the documents as they come.
    pub fn keeps_documents(&self) -> bool {
        self.shape.is_none()
    }

    /// Whether a document with this metadata may be changed.
    #[doc(hidden)]
    pub fn shapes(&self, meta: Option<&DocMeta>) -> bool {
        let is_done = self.shapes_once && meta.is_some_and(|meta| meta.is_shaped);
        !is_done && !self.shape.is_none()
    }

    /// Also computes the shard of each item, from its id or routing value, for the single index of
    /// the job.
    #[must_use]
    pub fn with_shards(mut self, routing: Routing) -> Self {
        self.shards = Some(routing);
        self
    }

    /// Sends documents to index or to create without the ids and routing values of their source:
    /// the index makes its own.
    #[must_use]
    pub fn without_ids(mut self) -> Self {
        self.without_ids = true;
        self
    }

    /// The fields that ids, routing values, versions and index names are made of.
    pub fn fields(&self) -> Vec<String> {
        self.operations.fields()
    }

    /// The items of `block`. A document that cannot be sent (a missing id, an id that is too long,
    /// an invalid index name) becomes a reject of the block, so that it cannot spoil a request.
    pub fn encode(&self, block: DocBlock) -> ItemBlock {
        self.encode_into(block, Vec::new(), Bytes::from)
    }

    /// As [`Encoder::encode`], into a used buffer. `share` turns the buffer into `Bytes` that
    /// return it.
    pub fn encode_into(&self, block: DocBlock, buffer: Vec<u8>, share: impl FnOnce(Vec<u8>) -> Bytes) -> ItemBlock {
        match &self.fixed_line {
            Some(line)
                if block.meta.is_empty()
                    && self.shape.is_none()
                    && !self.vectors.is_on()
                    && self.presence.fields().is_empty() =>
            {
                encode_fixed(block, line, buffer, share)
            }
            _ => self.encode_each(block, buffer, share),
        }
    }

    fn encode_each(&self, mut block: DocBlock, buffer: Vec<u8>, share: impl FnOnce(Vec<u8>) -> Bytes) -> ItemBlock {
        let from_source = std::mem::take(&mut block.rejects);
        let meta = std::mem::take(&mut block.meta);
        let mut from_source = from_source.into_iter().peekable();
        let none = DocMeta::default();
        let mut out = ItemBlockBuilder::new(&block, 96, buffer);
        for record in 0..block.records.len() {
            let meta = meta.get(record).unwrap_or(&none);
            if let Some(reject) = from_source.next_if(|r| r.record as usize == record) {
                out.reject(&block, reject, Some(meta));
                continue;
            }
            if let Err((kind, reason)) = self.item(block.record(record), meta, &mut out) {
                out.reject(&block, Reject { record: record as u32, kind, reason }, Some(meta));
            }
        }
        out.finish_with(self.presence.fields(), block, share)
    }

    /// Appends one item. On an error `out` is unchanged.
    fn item(&self, document: &[u8], meta: &DocMeta, out: &mut ItemBlockBuilder) -> Result<(), Refusal> {
        let action = meta.action.unwrap_or(self.operations.action);
        if document.is_empty() && action != Action::Delete {
            return Err(empty());
        }
        let mut address = Address::of(&self.operations, document, meta, action)?;
        if self.without_ids && matches!(action, Action::Index | Action::Create) {
            (address.id, address.routing) = (None, None);
        }
        let start = out.body.len();
        address.write_action_line(action, &mut out.body);
        if action != Action::Delete {
            match self.document(document, action, meta, &mut out.body) {
                Ok(0) => {}
                Ok(marks) => {
                    out.marks.resize(out.ends.len(), 0);
                    out.marks.push(marks);
                }
                Err(refusal) => {
                    out.body.truncate(start);
                    return Err(refusal);
                }
            }
        }
        if let Some(shard) = self.shard(address.id.as_deref(), address.routing.as_deref()) {
            out.shards.resize(out.ends.len(), NO_SHARD);
            out.shards.push(shard);
        }
        if let Some(id) = &address.id {
            let of = address.index.as_deref().map_or(0, |index| xxh3_64(index.as_bytes()));
            out.keys.resize(out.ends.len(), 0);
            out.keys.push(xxh3_64_with_seed(id.as_bytes(), of).max(1));
        }
        if meta.is_in {
            out.is_in.push(out.ends.len() as u32);
        }
        out.ends.push(out.body.len() as u32);
        if let Some(index) = address.index {
            out.index(index);
        }
        Ok(())
    }

    fn shard(&self, id: Option<&str>, routing: Option<&str>) -> Option<u16> {
        let of = self.shards.as_ref()?;
        let shard = match (id, routing) {
            (Some(id), routing) => of.shard(id, routing),
            // The server selects one of the shards of the routing value with the id that it
            // generates.
            (None, Some(_)) if of.is_partitioned() => return None,
            (None, Some(routing)) => of.shard("", Some(routing)),
            (None, None) => return None,
        };
        u16::try_from(shard).ok()
    }

    /// Appends a document. Returns the marks of its vectors.
    fn document(&self, document: &[u8], action: Action, meta: &DocMeta, body: &mut Vec<u8>) -> Result<u64, Refusal> {
        let invalid = |reason| (Code::InvalidJson, reason);
        let wrap = matches!(action, Action::Update | Action::Upsert);
        if wrap {
            // A broken document in an update spoils the whole request, not only its item: servers
            // parse the document with the body (`UpdateRequest`).
            serde_json::from_slice::<serde::de::IgnoredAny>(document)
                .map_err(|e| invalid(format!("the document is not JSON: {e}")))?;
            body.extend_from_slice(b"{\"doc\":");
        }
        let start = body.len();
        match (self.shapes(Some(meta)), self.vectors.is_on()) {
            (false, false) => body.extend_from_slice(document),
            (true, false) => self.shape.write(document, body)?,
            (false, true) => self.vectors.write(document, body)?,
            (true, true) => {
                let mut shaped = Vec::new();
                self.shape.write(document, &mut shaped)?;
                self.vectors.write(&shaped, body)?;
            }
        }
        // An action line of the source, or an earlier load that has sent the document, has decided.
        // A dead letter that was never sent has the action of its load, and the fields for ids.
        let has_action_line = meta.action.is_some() && meta.fields.is_none();
        let is_decided = has_action_line || meta.is_shaped || self.operations.shaping.dots.is_some();
        if wrap
            && !is_decided
            && let Some(name) = nested::dotted_at_top(&body[start..])?
        {
            return Err(beside(&name));
        }
        let marks = self.presence.marks(&body[start..], wrap);
        if wrap {
            body.extend_from_slice(if action == Action::Upsert { b",\"doc_as_upsert\":true}" } else { b"}" });
        }
        body.push(b'\n');
        Ok(marks)
    }
}

/// Servers merge a partial document by the names of members, and index objects and names with dots
/// as the same fields.
#[cold]
fn beside(name: &str) -> Refusal {
    let reason = format!(
        "the partial document has a field `{name}`, which would stand beside a field of an object in the index, with \
         both values; give option `dots=nest` where documents of the index have the object, and option `dots=keep` \
         where they have the name with dots"
    );
    (Code::BadField, reason)
}

/// Whether a field gets the name of another one that is renamed or dropped, or a name inside or
/// around it. Only then do the changes, made again, change a document further.
fn hands_on(shaping: &Shaping) -> bool {
    let is_within =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let renames: Vec<_> = shaping.renames().collect();
    let old: Vec<_> = renames.iter().map(|rename| &rename.from).chain(&shaping.drop).map(FieldPath::as_str).collect();
    let mut new = renames.iter().map(|rename| rename.to.as_str());
    new.any(|new| old.iter().any(|old| is_within(new, old) || is_within(old, new)))
}

/// The hot path: the same action line before every document, and nothing is parsed.
fn encode_fixed(mut block: DocBlock, line: &[u8], buffer: Vec<u8>, share: impl FnOnce(Vec<u8>) -> Bytes) -> ItemBlock {
    let rejects = std::mem::take(&mut block.rejects);
    let mut out = ItemBlockBuilder::new(&block, line.len() + 1, buffer);
    let mut next = 0;
    for reject in rejects {
        out.copy(&block, next..reject.record as usize, line);
        next = reject.record as usize + 1;
        out.reject(&block, reject, None);
    }
    out.copy(&block, next..block.records.len(), line);
    out.finish(block, share)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::block::{MetaFields, Record};
    use crate::operation::VersionType;
    use crate::rows::FieldTypes;
    use crate::vectors::Packing;

    fn operations(index: &str) -> Operations {
        Operations::new(Action::Index, index.parse().unwrap(), None)
    }

    fn without(fields: &[&str]) -> Shaping {
        Shaping { drop: fields.iter().map(|path| path.parse().unwrap()).collect(), ..Shaping::default() }
    }

    fn block(documents: &[&str]) -> DocBlock {
        let mut data = Vec::new();
        let mut records = Vec::new();
        for (line, d) in documents.iter().enumerate() {
            let start = data.len() as u32;
            data.extend_from_slice(d.as_bytes());
            records.push(Record { start, end: data.len() as u32, byte: start, line: line as u32 });
            data.push(b'\n');
        }
        DocBlock { data: data.into(), records, ..DocBlock::default() }
    }

    fn check(operations: Operations, documents: &[&str], expected: &str, rejected: &[(u32, Code)]) -> ItemBlock {
        let items = Encoder::new(operations).encode(block(documents));
        assert_eq!(String::from_utf8_lossy(&items.body), expected);
        assert_eq!(items.rejects.iter().map(|r| (r.record, r.kind)).collect::<Vec<_>>(), rejected);
        assert_eq!(items.ends.len(), documents.len());
        assert!(items.keys.is_empty() || items.keys.len() == documents.len());
        items
    }

    #[test]
    fn documents_pass_as_they_are() {
        let items = check(
            operations("logs"),
            &["{\"a\":1}", "not json"],
            "{\"index\":{}}\n{\"a\":1}\n{\"index\":{}}\nnot json\n",
            &[],
        );
        assert_eq!(items.action_and_document(1), (Bytes::from("{\"index\":{}}"), Bytes::from("not json")));
    }

    #[test]
    fn rejects_of_the_source_stay_empty_items() {
        let mut docs = block(&["{\"a\":1}", "bad", "{\"a\":3}"]);
        docs.rejects.push(Reject { record: 1, kind: Code::BadValue, reason: "no".into() });
        for ops in [operations("logs"), Operations { index: "logs-{a}".parse().unwrap(), ..operations("x") }] {
            let items = Encoder::new(ops).encode(docs.clone());
            assert_eq!(items.len(), 3);
            assert_eq!(items.slice(1, 2), Bytes::new());
            assert_eq!(items.rejects[0].text, "bad");
            assert!(items.slice(2, 3).ends_with(b"{\"a\":3}\n"));
        }
    }

    #[test]
    fn rejects_keep_what_the_source_knows_of_them() {
        let mut docs = block(&["bad", "{\"a\":2}", "", "{\"a\":4}"]);
        docs.rejects.push(Reject { record: 0, kind: Code::BadValue, reason: "no".into() });
        docs.meta = vec![DocMeta::default(); 4];
        docs.meta[0].id = Some("7".to_owned());
        docs.meta[1].texts = vec![("a".into(), "2".to_owned())];
        docs.meta[2].routing = Some("r".to_owned());
        let fields = MetaFields { id: Some("c".parse().unwrap()), ..MetaFields::default() };
        docs.meta[3] = DocMeta::default().with_fields(Arc::new(fields));
        let of_fields = docs.meta[3].clone();
        let items = Encoder::new(Operations { index: "logs-{b}".parse().unwrap(), ..operations("x") }).encode(docs);
        let known: Vec<_> = items.rejects.iter().map(|reject| reject.meta.as_deref()).collect();
        let meta = [DocMeta::default().with_id("7".to_owned()), DocMeta::default().with_routing("r".to_owned())];
        assert_eq!(known, [Some(&meta[0]), None, Some(&meta[1]), Some(&of_fields)]);
    }

    #[test]
    fn documents_are_kept_unless_fields_are_dropped() {
        let dropped = Operations { shaping: without(&["id"]), ..operations("x") };
        assert!(Encoder::new(operations("x")).keeps_documents() && !Encoder::new(dropped).keeps_documents());
    }

    #[test]
    fn a_document_is_shaped_once_where_names_are_handed_on() {
        for (dropped, expected) in [("b", "{\"b\":1,\"c\":3}"), ("c", "{\"b\":1}")] {
            let shaping = Shaping { rename: vec!["a=b".parse().unwrap()], ..without(&[dropped]) };
            let mut documents = block(&["{\"a\":1}", "{\"b\":1,\"c\":3}"]);
            documents.meta = vec![DocMeta::default(), DocMeta::default().with_is_shaped(true)];
            let items = Encoder::new(Operations { shaping, ..operations("x") }).encode(documents);
            assert_eq!(items.body, format!("{{\"index\":{{}}}}\n{{\"b\":1}}\n{{\"index\":{{}}}}\n{expected}\n"));
        }
    }

    #[test]
    fn vectors_are_packed_under_their_new_names_once_packing_begins() {
        let mapping = serde_json::json!({"properties": {"v": {"type": "dense_vector", "dims": 8}}});
        let (fields, packing) = (FieldTypes::of_mapping(&mapping), Packing::default());
        let document = "{\"a\":1,\"w\":[1,2,3,4,5,6,7,8]}";
        let shaping = Shaping { rename: vec!["w=v".parse().unwrap()], ..Shaping::default() };
        for (shaping, name) in [(shaping, "w"), (Shaping::default(), "v")] {
            let document = document.replace("\"w\"", &format!("\"{name}\""));
            let encoder = Encoder::new(Operations { shaping, ..operations("x") });
            let encoder = encoder.with_vectors(Packer::new(&fields, packing.clone()));
            let items = encoder.encode(block(&[&document]));
            let text = "{\"index\":{}}\n{\"a\":1,\"v\":[1,2,3,4,5,6,7,8]}\n";
            assert_eq!(String::from_utf8_lossy(&items.body), text);
            let on = Packing::default();
            on.begin();
            let encoder = encoder.with_vectors(Packer::new(&fields, on));
            let items = encoder.encode(block(&[&document, &document.replace(",8]", "]"), "{\"a\":2}"]));
            let body = String::from_utf8_lossy(&items.body).into_owned();
            assert!(body.starts_with("{\"index\":{}}\n{\"a\":1,\"v\":\"P4AAAEAAAABA"), "{body}");
            assert!(body.ends_with("{\"index\":{}}\n{\"a\":2}\n"), "{body}");
            assert_eq!(items.rejects.iter().map(|r| (r.record, r.kind)).collect::<Vec<_>>(), [(1, Code::BadVector)]);
        }
    }

    /// By the text that is sent: with new names, packed, in updates.
    #[test]
    fn items_say_which_documents_have_vectors() {
        use crate::vectors::VectorMark::{AsItWas, With, Without};
        let mapping = serde_json::json!({"properties": {"v": {"type": "dense_vector", "dims": 8}}});
        let (fields, packing) = (FieldTypes::of_mapping(&mapping), Packing::default());
        packing.begin();
        let documents = ["{\"w\":[1,2,3,4,5,6,7,8]}", "{\"w\":[1]}", "{\"w\":null}", "{\"v\":[1]}"];
        for (action, absent) in [(Action::Index, Without), (Action::Upsert, AsItWas)] {
            let shaping = Shaping { rename: vec!["w=v".parse().unwrap()], ..Shaping::default() };
            let encoder = Encoder::new(Operations { action, shaping, ..operations("x") });
            let encoder = encoder.with_vectors(Packer::new(&fields, packing.clone()));
            let encoder = encoder.with_presence(Presence::new(["v".to_owned()]));
            let mut docs = block(&[&documents[..3], &["{\"a\":1}", "{}"]].concat());
            docs.meta = (0..5).map(|id| DocMeta::default().with_id(id.to_string())).collect();
            docs.meta[4].action = Some(Action::Delete);
            let items = encoder.encode(docs);
            assert_eq!(items.rejects.iter().map(|reject| reject.record).collect::<Vec<_>>(), [1]);
            let vectors = items.vectors.unwrap();
            let marks: Vec<_> = (0..5).map(|item| vectors.mark(item, 0)).collect();
            assert_eq!(marks, [Some(With), None, Some(Without), Some(absent), None]);
        }
        // A plain load is encoded in the same way, and looks into its documents.
        let plain = Encoder::new(operations("x"));
        assert_eq!(plain.encode(block(&documents)).vectors, None);
        let looked = plain.clone().with_presence(Presence::new(["v".to_owned()])).encode(block(&documents));
        assert_eq!(looked.body, plain.encode(block(&documents)).body);
        assert_eq!(looked.vectors.unwrap().mark(3, 0), Some(With));
    }

    #[test]
    fn empty_documents_are_refused_unless_they_are_deleted() {
        check(operations("x"), &["", "{}"], "{\"index\":{}}\n{}\n", &[(0, Code::EmptyDocument)]);
        let with_id = Operations { id: Some("id".parse().unwrap()), ..operations("x") };
        check(with_id, &[""], "", &[(0, Code::EmptyDocument)]);
        let mut docs = block(&[""]);
        docs.meta = vec![DocMeta { action: Some(Action::Delete), id: Some("1".into()), ..DocMeta::default() }];
        assert_eq!(Encoder::new(operations("x")).encode(docs).body, "{\"delete\":{\"_id\":\"1\"}}\n");
    }

    #[test]
    fn ids_routing_versions_and_indices_come_from_fields() {
        let ops = Operations {
            id: Some("id".parse().unwrap()),
            routing: Some("r".parse().unwrap()),
            version: Some("v".parse().unwrap()),
            index: "t-{tenant}".parse().unwrap(),
            shaping: without(&["id", "v"]),
            ..operations("x")
        };
        let items = check(
            ops,
            &[
                r#"{"id":7,"r":"a\"b","v":3,"tenant":"x"}"#,
                r#"{"id":"8","r":"a","v":-1,"tenant":"x"}"#,
                r#"{"id":"8","r":"a","v":1,"tenant":"X"}"#,
                r#"{"r":"a"}"#,
                r#"{"id":"","r":"a"}"#,
                r#"{"id":{"a":1},"r":"a"}"#,
            ],
            "{\"index\":{\"_index\":\"t-x\",\"_id\":\"7\",\"routing\":\"a\\\"b\",\"version\":3,\"version_type\":\"external\"}}\n{\"r\":\"a\\\"b\",\"tenant\":\"x\"}\n",
            &[
                (1, Code::BadVersion),
                (2, Code::BadIndexName),
                (3, Code::MissingField),
                (4, Code::MissingId),
                (5, Code::BadField),
            ],
        );
        assert_eq!(items.indices, ["t-x"]);
        assert!(items.key(0).is_some());
        assert_eq!(items.key(1), None);
    }

    #[test]
    fn ids_and_indices_are_named_by_the_old_or_the_new_name() {
        for (id, index) in [("No.", "logs-{ts:yyyy}"), ("id", "logs-{@timestamp:yyyy}")] {
            let shaping = Shaping {
                timestamp: Some("ts".parse().unwrap()),
                rename: vec!["No.=id".parse().unwrap()],
                ..Shaping::default()
            };
            let ops = Operations { id: Some(id.parse().unwrap()), shaping, ..operations(index) };
            check(
                ops,
                &[r#"{"No.":7,"ts":"28/Nov/2025:13:55:36 +0100"}"#, r#"{"No.":8,"ts":"soon"}"#],
                "{\"index\":{\"_index\":\"logs-2025\",\"_id\":\"7\"}}\n{\"id\":7,\"@timestamp\":\"2025-11-28T13:55:36+01:00\"}\n",
                &[(1, Code::BadDate)],
            );
        }
    }

    #[test]
    fn an_id_is_of_one_field_where_names_are_handed_on_or_swapped() {
        for (renames, id, document, sent) in [
            (["id=old_id", "new_id=id"], "old_id", r#"{"id":1,"new_id":2}"#, r#"{"old_id":1,"id":2}"#),
            (["id=old_id", "new_id=id"], "new_id", r#"{"id":2,"new_id":1}"#, r#"{"old_id":2,"id":1}"#),
            (["a=b", "b=a"], "a", r#"{"a":1,"b":2}"#, r#"{"b":1,"a":2}"#),
            (["a=b", "b=a"], "b", r#"{"a":2,"b":1}"#, r#"{"b":2,"a":1}"#),
        ] {
            let shaping = Shaping { rename: renames.map(|text| text.parse().unwrap()).to_vec(), ..Shaping::default() };
            // The options are resolved first, and then the encoder looks for the name again.
            let id = shaping.in_source(&id.parse().unwrap());
            let ops = Operations { id: Some(id), shaping, ..operations("x") };
            check(ops, &[document], &format!("{{\"index\":{{\"_id\":\"1\"}}}}\n{sent}\n"), &[]);
        }
    }

    #[test]
    fn each_version_has_the_type_that_its_document_came_with() {
        let of_field = |version_type| {
            let fields = MetaFields { version: Some("v".parse().unwrap()), ..MetaFields::default() };
            DocMeta::default().with_fields(Arc::new(fields)).with_version_type(version_type)
        };
        let (external, gte) = (VersionType::External, VersionType::ExternalGte);
        let with_id = |meta: DocMeta| meta.with_id("a".to_owned());
        for (meta, field_of_job, expected) in [
            (DocMeta::default().with_version(3), false, "3,\"version_type\":\"external\""),
            (DocMeta::default().with_version(3).with_version_type(gte), false, "3,\"version_type\":\"external_gte\""),
            (DocMeta::default().with_version(3).with_version_type(gte), true, "3,\"version_type\":\"external_gte\""),
            (of_field(external), false, "7,\"version_type\":\"external\""),
            (of_field(gte), false, "7,\"version_type\":\"external_gte\""),
            (of_field(gte), true, "8,\"version_type\":\"external\""),
        ] {
            let version = field_of_job.then(|| "w".parse().unwrap());
            let mut documents = block(&["{\"v\":7,\"w\":8}"]);
            documents.meta = vec![with_id(meta)];
            let items = Encoder::new(Operations { version, ..operations("x") }).encode(documents);
            let (line, _) = items.action_and_document(0);
            let expected = format!("{{\"index\":{{\"_id\":\"a\",\"version\":{expected}}}}}");
            assert_eq!(String::from_utf8_lossy(&line), expected);
        }
    }

    #[test]
    fn an_index_that_makes_ids_gets_none_of_the_source() {
        let meta = DocMeta::default().with_id("a".to_owned()).with_routing("r".to_owned());
        let mut documents = block(&["{}"; 2]);
        documents.meta = vec![meta.clone(), meta.with_action(Action::Delete)];
        let items = Encoder::new(operations("x")).without_ids().encode(documents);
        let line = |at| String::from_utf8_lossy(&items.action_and_document(at).0).into_owned();
        assert_eq!(line(0), "{\"index\":{}}");
        assert_eq!(line(1), "{\"delete\":{\"_id\":\"a\",\"routing\":\"r\"}}");
    }

    #[test]
    fn versions_that_would_spoil_the_request_are_refused() {
        let meta = DocMeta::default().with_version(3);
        let with_id = || meta.clone().with_id("a".to_owned());
        let mut documents = block(&["{}"; 6]);
        documents.meta = vec![
            with_id(),
            meta.clone(),
            with_id().with_action(Action::Create),
            with_id().with_action(Action::Update),
            with_id().with_action(Action::Upsert),
            with_id().with_action(Action::Delete),
        ];
        let items = Encoder::new(operations("x")).encode(documents);
        let kinds: Vec<_> = items.rejects.iter().map(|reject| (reject.record, reject.kind)).collect();
        let expected =
            [(1, Code::MissingId), (2, Code::VersionOnCreate), (3, Code::VersionOnUpdate), (4, Code::VersionOnUpdate)];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn the_text_that_the_source_has_wins_over_the_number_of_the_document() {
        let ops = Operations {
            id: Some("id".parse().unwrap()),
            routing: Some("id".parse().unwrap()),
            version: Some("v".parse().unwrap()),
            index: "t-{id}".parse().unwrap(),
            ..operations("x")
        };
        let mut documents = block(&[r#"{"id":1.0,"v":3.0}"#, r#"{"id":2.5,"v":4}"#]);
        let texts = vec![("id".into(), "1".to_owned()), ("v".into(), "3".to_owned())];
        documents.meta = vec![DocMeta { texts, ..DocMeta::default() }, DocMeta::default()];
        let items = Encoder::new(ops).encode(documents);
        assert_eq!(
            String::from_utf8_lossy(&items.body),
            "{\"index\":{\"_index\":\"t-1\",\"_id\":\"1\",\"routing\":\"1\",\"version\":3,\"version_type\":\"external\"}}\n\
             {\"id\":1.0,\"v\":3.0}\n\
             {\"index\":{\"_index\":\"t-2.5\",\"_id\":\"2.5\",\"routing\":\"2.5\",\"version\":4,\"version_type\":\"external\"}}\n\
             {\"id\":2.5,\"v\":4}\n"
        );
    }

    #[test]
    fn documents_that_are_too_deep_are_not_looked_into() {
        let deep = format!("{{\"id\":1,\"v\":{}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let objects = format!("{{\"id\":1,\"v\":{}1{}}}", "{\"v\":".repeat(1_000_000), "}".repeat(1_000_000));
        let open = format!("{{\"v\":{}", "[".repeat(1_000_000));
        let id = || Some("meta.id".parse().unwrap());
        for ops in [
            Operations { id: id(), ..operations("x") },
            Operations { routing: id(), ..operations("x") },
            Operations { version: id(), ..operations("x") },
            operations("x-{meta.id}"),
            Operations { shaping: without(&["v.v"]), ..operations("x") },
        ] {
            check(ops, &[&deep, &objects, &open], "", &[(0, Code::TooDeep), (1, Code::TooDeep), (2, Code::TooDeep)]);
        }
        let ops = Operations { action: Action::Upsert, ..operations("x") };
        let mut docs = block(&[&deep]);
        docs.meta = vec![DocMeta { id: Some("1".into()), ..DocMeta::default() }];
        assert!(Encoder::new(ops).encode(docs).rejects.is_empty());
        assert_eq!(crate::encode::text_at(deep.as_bytes(), &"id".parse().unwrap()), None);
    }

    #[test]
    fn an_index_name_of_the_source_is_checked_as_well() {
        let mut docs = block(&["{}", "{}", "{}"]);
        let of = |index: &str| DocMeta { index: Some(index.into()), ..DocMeta::default() };
        docs.meta = vec![of("../x"), of("y"), of("")];
        let items = Encoder::new(operations("x")).encode(docs);
        let kinds: Vec<_> = items.rejects.iter().map(|reject| (reject.record, reject.kind)).collect();
        assert_eq!(kinds, [(0, Code::BadIndexName), (2, Code::BadIndexName)]);
        assert_eq!(items.indices, ["y"]);
    }

    #[test]
    fn updates_are_wrapped_and_checked() {
        let ops = |action| Operations { id: Some("id".parse().unwrap()), action, ..operations("x") };
        check(ops(Action::Update), &[r#"{"id":1}"#], "{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"id\":1}}\n", &[]);
        check(
            ops(Action::Upsert),
            &[r#"{"id":1}"#, r#"{"id":1,}"#],
            "{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"id\":1},\"doc_as_upsert\":true}\n",
            &[(1, Code::InvalidJson)],
        );
        let items = check(ops(Action::Delete), &[r#"{"id":1}"#], "{\"delete\":{\"_id\":\"1\"}}\n", &[]);
        assert_eq!(items.action_and_document(0).1, Bytes::new());
    }

    #[test]
    fn equal_ids_have_equal_keys_and_too_long_ones_are_refused() {
        let long = format!("{{\"id\":\"{}\"}}", "é".repeat(257));
        let ops = Operations { id: Some("id".parse().unwrap()), ..operations("x") };
        let items = Encoder::new(ops).encode(block(&[r#"{"id":"a"}"#, r#"{"id":"a","x":1}"#, r#"{"id":"b"}"#, &long]));
        assert_eq!(items.keys[0], items.keys[1]);
        assert_ne!(items.keys[0], items.keys[2]);
        assert_eq!(items.rejects[0].kind, Code::IdTooLong);
    }
}

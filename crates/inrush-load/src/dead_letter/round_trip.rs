//! A written dead-letter file reads back unchanged.

use std::sync::Arc;

use bytes::Bytes;
use inrush_core::Code;
use inrush_core::block::Origin;
use inrush_core::{DocBlock, DocMeta, Position, VersionType};
use inrush_formats::dead_letters::DeadLetterDecode;
use inrush_sources::{Decode, RawChunk};
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;

fn decode(text: &str) -> DocBlock {
    let decoder = Arc::new(DeadLetterDecode { record_bytes_max: 10_000 });
    let data = Bytes::copy_from_slice(text.as_bytes());
    decoder.decode(RawChunk { origin: Origin::default(), data, bytes_read: 0, decoder: decoder.clone() })
}

fn version_type(takes_same: bool) -> VersionType {
    if takes_same { VersionType::ExternalGte } else { VersionType::External }
}

/// A document of a source: JSON, nearly JSON, or any bytes, in one line.
fn document() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<(String, i64)>().prop_map(|(text, n)| json!({ "text": text, "n": n }).to_string().into_bytes()),
        proptest::collection::vec(proptest::sample::select(&b"{}\"a:,1 \r\xC3\xA9\\"[..]), 1..20),
        proptest::collection::vec(any::<u8>().prop_filter("one line", |b| *b != b'\n'), 1..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_as_a_letter_comes_back(
        document in document(),
        action in proptest::option::of(proptest::sample::select(
            &[Action::Index, Action::Create, Action::Update, Action::Upsert][..],
        )),
        id in any::<String>(),
        routing in proptest::option::of(any::<String>()),
        version in proptest::option::of((0..=i64::MAX as u64, any::<bool>())),
    ) {
        let is_json = serde_json::from_slice::<&RawValue>(&document).is_ok();
        // Invalid JSON never becomes an update, because it would break the whole request.
        let action = action.filter(|a| is_json || !matches!(a, Action::Update | Action::Upsert));
        let sent = match action {
            Some(Action::Update) => [b"{\"doc\":", &document[..], b"}"].concat(),
            Some(Action::Upsert) => [b"{\"doc\":", &document[..], b",\"doc_as_upsert\":true}"].concat(),
            _ => document.clone(),
        };
        let line = |action: Action| {
            let mut sent = json!({ "_index": "x", "_id": id });
            if let Some(routing) = &routing {
                sent["routing"] = json!(routing);
            }
            if let Some((version, takes_same)) = version {
                sent["version"] = json!(version);
                sent["version_type"] = json!(version_type(takes_same));
            }
            json!({ action.bulk_key(): sent }).to_string()
        };
        let letter = DeadLetter::new(Position::default(), "k", "r", sent.into())
            .with_status(400)
            .with_action(action.map(|action| line(action).into()));
        let folder = tempfile::tempdir().unwrap();
        let config = DeadLetters::File(folder.path().join("letters"));
        let mut writer = DeadLetterWriter::new(&config, "run", vec!["a.ndjson".to_owned()], None).unwrap();
        writer.write(&letter).unwrap();
        let block = decode(&std::fs::read_to_string(writer.finish().unwrap().file.unwrap()).unwrap());
        prop_assert_eq!(block.records.len(), 1);
        // White space around JSON is dropped. A line end inside it is white space, too, and
        // becomes a space.
        let expected: Vec<u8> = match is_json {
            true => document.iter().map(|&byte| if byte == b'\r' { b' ' } else { byte }).collect(),
            false => document.clone(),
        };
        prop_assert_eq!(block.record(0).trim_ascii(), expected.trim_ascii());
        prop_assert_eq!(block.rejects.first().map(|r| r.kind), (!is_json).then_some(Code::NotJson));
        let meta = match action {
            None => DocMeta::default(),
            Some(action) => DocMeta::default()
                .with_action(action)
                .with_index("x".to_owned())
                .with_id(id)
                .with_routing(routing)
                .with_version(version.map(|(version, _)| version))
                .with_version_type(version.map(|(_, takes_same)| version_type(takes_same)).unwrap_or_default()),
        };
        let is_shaped = is_json && action.is_some() && !document.contains(&b'\r');
        prop_assert_eq!(&block.meta[0], &meta.with_is_shaped(is_shaped));
    }
}

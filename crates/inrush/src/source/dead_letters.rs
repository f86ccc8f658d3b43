//! Dead letters, read back: the documents of a dead-letter file ([`crate::dead_letter`] says how it is written), each
//! with the action, index, id, routing and version that it was sent with.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use inrush_core::block::Record;
use inrush_core::{Action, DocBlock, DocMeta, Reject};
use memchr::memchr;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::lines::for_each_line;
use super::{
    Chunk, Decode, Files, Format, FormatOptions, RawChunk, Source, SourceError, SourceSpec, Warnings,
    open as open_files,
};

/// A dead-letter file as a source.
pub struct DeadLetterSource {
    files: Files,
    decoder: Arc<dyn Decode>,
}

/// Opens a dead-letter file.
///
/// # Errors
/// [`SourceError`] where it cannot be opened. A damaged line is a reject, later.
pub fn open(path: &Path, document_bytes_max: usize) -> Result<DeadLetterSource, SourceError> {
    // A letter is larger than its document; escapes make up to six bytes of one.
    let document_bytes_max = document_bytes_max.saturating_mul(6).min(1 << 30);
    let options = FormatOptions { format: Some(Format::Ndjson), document_bytes_max, ..FormatOptions::default() };
    let files = open_files(&[SourceSpec::Path(path.to_owned())], options, &Warnings::default())?;
    Ok(DeadLetterSource { files, decoder: Arc::new(Letters) })
}

impl Source for DeadLetterSource {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        Ok(self.files.next_chunk(bytes)?.map(|chunk| match chunk {
            Chunk::Raw(raw) => Chunk::Raw(RawChunk { decoder: Arc::clone(&self.decoder), ..raw }),
            docs @ Chunk::Docs(_) => docs,
        }))
    }

    fn names(&self) -> Vec<String> {
        self.files.names()
    }

    fn bytes_total(&self) -> Option<u64> {
        self.files.bytes_total()
    }
}

struct Letters;

#[derive(Deserialize)]
struct Letter<'a> {
    /// Every letter has one: a line without it is another kind of document.
    #[serde(rename = "error")]
    _error: IgnoredAny,
    action: Option<std::collections::BTreeMap<String, Meta>>,
    #[serde(default)]
    doc_as_upsert: bool,
    #[serde(borrow)]
    document: Option<&'a RawValue>,
    text: Option<String>,
    base64: Option<String>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "_index")]
    index: Option<String>,
    #[serde(rename = "_id")]
    id: Option<String>,
    routing: Option<String>,
    version: Option<u64>,
}

impl Decode for Letters {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let mut data = Vec::with_capacity(chunk.data.len());
        let mut block = DocBlock { origin: chunk.origin, bytes_read: chunk.bytes_read, ..DocBlock::default() };
        block.lines = for_each_line(&chunk.data, |from, to, line| {
            let text = &chunk.data[from..to];
            let start = data.len();
            let meta = match letter(text, &mut data) {
                Ok(meta) => meta,
                Err(reason) => {
                    data.truncate(start);
                    data.extend_from_slice(text);
                    let record = block.records.len() as u32;
                    block.rejects.push(Reject { record, kind: "bad_dead_letter", reason });
                    DocMeta::default()
                }
            };
            block.meta.push(meta);
            block.records.push(Record { start: start as u32, end: data.len() as u32, byte: from as u32, line });
        });
        block.data = data.into();
        block
    }
}

fn letter(text: &[u8], data: &mut Vec<u8>) -> Result<DocMeta, String> {
    let letter: Letter<'_> = serde_json::from_slice(text).map_err(|e| format!("the line is no dead letter: {e}"))?;
    let start = data.len();
    let mut meta = DocMeta::default();
    if let Some((action, sent)) = letter.action.and_then(|action| action.into_iter().next()) {
        let action = Action::from_str(&action)?;
        meta = DocMeta {
            action: Some(if letter.doc_as_upsert { Action::Upsert } else { action }),
            index: sent.index,
            id: sent.id,
            routing: sent.routing,
            version: sent.version,
        };
    }
    match (letter.document, letter.text, letter.base64) {
        (Some(document), _, _) => data.extend_from_slice(document.get().as_bytes()),
        (None, Some(text), _) => data.extend_from_slice(text.as_bytes()),
        (None, None, Some(text)) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text);
            data.extend_from_slice(&bytes.map_err(|e| format!("the letter's base64 is damaged: {e}"))?);
        }
        (None, None, None) if meta.action == Some(Action::Delete) => {}
        (None, None, None) => return Err("the letter has no document, text or base64".to_owned()),
    }
    let document = &mut data[start..];
    if memchr(b'\n', document).is_some() {
        // A bulk body is cut at line ends. In JSON they stand only between tokens, where a space does as well; what is
        // no JSON can never be loaded, and is kept as it is.
        serde_json::from_slice::<IgnoredAny>(document)
            .map_err(|e| format!("the letter's text is no JSON, which a document has to be: {e}"))?;
        document.iter_mut().filter(|b| **b == b'\n').for_each(|b| *b = b' ');
    }
    Ok(meta)
}

#[cfg(test)]
mod tests {
    use inrush_core::DeadLetter;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::config::DeadLetters;
    use crate::dead_letter::DeadLetterWriter;

    /// All documents of the file, in one block.
    fn read(path: &Path) -> DocBlock {
        let mut source = open(path, 1000).unwrap();
        let Some(Chunk::Raw(raw)) = source.next_chunk(1 << 20).unwrap() else { panic!("a chunk") };
        assert!(source.next_chunk(1 << 20).unwrap().is_none());
        Arc::clone(&raw.decoder).decode(raw)
    }

    fn read_lines(lines: &[&str]) -> DocBlock {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        read(file.path())
    }

    #[test]
    fn letters_become_the_documents_they_were() {
        let block = read_lines(&[
            r#"{"error":{},"position":{},"action":{"index":{"_index":"x","_id":"1","routing":"r","version":3,"version_type":"external"}},"document":{"a":1.50}}"#,
            r#"{"error":{},"action":{"update":{"_id":"2"}},"doc_as_upsert":true,"document":{"b":1}}"#,
            r#"{"error":{},"text":"1;2"}"#,
            "",
            r#"{"error":{},"action":{"delete":{"_id":"3"}}}"#,
            r#"{"error":{},"base64":"//4="}"#,
            r#"{"error":{},"text":"{\"a\":\n1}"}"#,
        ]);
        let texts: Vec<_> =
            (0..block.records.len()).map(|i| String::from_utf8_lossy(block.record(i)).into_owned()).collect();
        assert_eq!(texts, ["{\"a\":1.50}", "{\"b\":1}", "1;2", "", "\u{fffd}\u{fffd}", "{\"a\": 1}"]);
        assert_eq!(block.meta[0].version, Some(3));
        assert_eq!((block.meta[0].index.as_deref(), block.meta[0].routing.as_deref()), (Some("x"), Some("r")));
        assert_eq!(block.meta[1].action, Some(Action::Upsert));
        assert_eq!(block.meta[2], DocMeta::default());
        assert_eq!((block.meta[3].action, block.meta[3].id.as_deref()), (Some(Action::Delete), Some("3")));
        assert_eq!(block.rejects, []);
        assert_eq!((block.lines, block.records[4].line), (7, 5));
    }

    #[test]
    fn what_is_no_letter_is_a_reject_and_is_kept() {
        let good = r#"{"error":{},"document":{}}"#;
        let bad = [
            ("garbage", "the line is no dead letter"),
            (r#"{"error":{},"document":{"#, "the line is no dead letter"),
            (r#"{"text":"{}"}"#, "missing field `error`"),
            (r#"{"error":{},"action":{"fetch":{}},"document":{}}"#, "unknown action"),
            (r#"{"error":{},"action":{"index":{}}}"#, "no document, text or base64"),
            (r#"{"error":{},"base64":"?"}"#, "base64 is damaged"),
            (r#"{"error":{},"text":"1,\"a\nb\""}"#, "no JSON"),
        ];
        for (line, expected) in bad {
            let block = read_lines(&[good, line, good]);
            assert_eq!(block.records.len(), 3, "{line}");
            assert_eq!((block.rejects.len(), block.rejects[0].record), (1, 1), "{line}");
            assert_eq!(block.rejects[0].kind, "bad_dead_letter");
            assert!(block.rejects[0].reason.contains(expected), "{}", block.rejects[0].reason);
            assert_eq!(block.record(1), line.as_bytes());
            assert_eq!((block.record(2), block.records[2].line), (&b"{}"[..], 2));
        }
    }

    /// A document as it stands in a source: JSON, nearly JSON, or any bytes, in one line.
    fn document() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<(String, i64)>().prop_map(|(text, n)| json!({ "text": text, "n": n }).to_string().into_bytes()),
            proptest::collection::vec(proptest::sample::select(&b"{}\"a:,1 \r\xC3\xA9\\"[..]), 1..20),
            proptest::collection::vec(any::<u8>().prop_filter("one line", |b| *b != b'\n'), 1..20),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_as_a_letter_comes_back(
            document in document(),
            action in proptest::option::of(proptest::sample::select(
                &[Action::Index, Action::Create, Action::Update, Action::Upsert][..],
            )),
            id in any::<String>(),
            routing in proptest::option::of(any::<String>()),
        ) {
            let line = |action: Action| {
                let mut sent = json!({ "_index": "x", "_id": id });
                if let Some(routing) = &routing {
                    sent["routing"] = json!(routing);
                }
                json!({ action.bulk_key(): sent }).to_string()
            };
            // What is no JSON never becomes an update: it would spoil the whole request.
            let wraps = matches!(action, Some(Action::Update | Action::Upsert));
            let action = action.filter(|_| !wraps || serde_json::from_slice::<IgnoredAny>(&document).is_ok());
            let sent = match action {
                Some(Action::Update) => [b"{\"doc\":", &document[..], b"}"].concat(),
                Some(Action::Upsert) => [b"{\"doc\":", &document[..], b",\"doc_as_upsert\":true}"].concat(),
                _ => document.clone(),
            };
            let letter = DeadLetter {
                position: Default::default(),
                status: 400,
                kind: "k".to_owned(),
                reason: "r".to_owned(),
                action: action.map(|action| line(action).into()),
                document: sent.into(),
            };
            let folder = tempfile::tempdir().unwrap();
            let config = DeadLetters::File(folder.path().join("letters"));
            let mut writer = DeadLetterWriter::new(&config, "run", vec!["a.ndjson".to_owned()], None).unwrap();
            writer.write(&letter).unwrap();
            let block = read(&writer.finish().unwrap().unwrap());
            prop_assert_eq!(&block.rejects, &[]);
            prop_assert_eq!(block.records.len(), 1);
            // White space around JSON is no part of it.
            prop_assert_eq!(block.record(0).trim_ascii(), document.trim_ascii());
            let meta = match action {
                None => DocMeta::default(),
                Some(action) => {
                    DocMeta { action: Some(action), index: Some("x".to_owned()), id: Some(id), routing, version: None }
                }
            };
            prop_assert_eq!(&block.meta[0], &meta);
        }
    }
}

//! Dead letters, read back: the documents of a dead-letter file ([`crate::dead_letter`] says how it is written), each with the action,
//! index, id, routing and version that it was sent with.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use inrush_core::block::Record;
use inrush_core::{Action, DocBlock, DocMeta, Reject};
use serde::Deserialize;
use serde_json::value::RawValue;

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
            Chunk::Raw(raw) => {
                let lines = Arc::clone(&raw.decoder);
                let decoder = Arc::new(Both { lines, letters: Arc::clone(&self.decoder) });
                Chunk::Raw(RawChunk { decoder, ..raw })
            }
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

/// Lines first, letters then.
struct Both {
    lines: Arc<dyn Decode>,
    letters: Arc<dyn Decode>,
}

impl Decode for Both {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let (origin, bytes_read) = (chunk.origin, chunk.bytes_read);
        let lines = self.lines.decode(chunk);
        let data = lines.data.clone();
        let mut block = self.letters.decode(RawChunk { origin, data, bytes_read, decoder: Arc::clone(&self.letters) });
        block.lines = lines.lines;
        block
    }
}

struct Letters;

#[derive(Deserialize)]
struct Letter<'a> {
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
        let mut from = 0;
        for (line, text) in chunk.data.split(|&b| b == b'\n').enumerate() {
            let at = from;
            from += text.len() + 1;
            let text = text.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let start = data.len() as u32;
            let meta = match letter(text, &mut data) {
                Ok(meta) => meta,
                Err(reason) => {
                    data.truncate(start as usize);
                    data.extend_from_slice(text);
                    let record = block.records.len() as u32;
                    block.rejects.push(Reject { record, kind: "bad_dead_letter", reason });
                    DocMeta::default()
                }
            };
            block.meta.push(meta);
            block.records.push(Record { start, end: data.len() as u32, byte: at as u32, line: line as u32 });
        }
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
    // What was one record stays one line of a bulk body.
    data[start..].iter_mut().filter(|b| **b == b'\n').for_each(|b| *b = b' ');
    Ok(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_become_the_documents_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.ndjson");
        let lines = [
            r#"{"error":{},"position":{},"action":{"index":{"_index":"x","_id":"1","routing":"r","version":3,"version_type":"external"}},"document":{"a":1.50}}"#,
            r#"{"error":{},"action":{"update":{"_id":"2"}},"doc_as_upsert":true,"document":{"b":1}}"#,
            r#"{"error":{},"text":"1;2"}"#,
            "",
            r#"{"error":{},"action":{"delete":{"_id":"3"}}}"#,
            "garbage",
            r#"{"error":{},"base64":"//4="}"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let mut source = open(&path, 1000).unwrap();
        let Some(Chunk::Raw(raw)) = source.next_chunk(10_000).unwrap() else { panic!("a chunk") };
        let decoder = Arc::clone(&raw.decoder);
        let block = decoder.decode(raw);
        let texts: Vec<_> =
            (0..block.records.len()).map(|i| String::from_utf8_lossy(block.record(i)).into_owned()).collect();
        assert_eq!(texts, ["{\"a\":1.50}", "{\"b\":1}", "1;2", "", "garbage", "\u{fffd}\u{fffd}"]);
        assert_eq!(block.meta[0].version, Some(3));
        assert_eq!((block.meta[0].index.as_deref(), block.meta[0].routing.as_deref()), (Some("x"), Some("r")));
        assert_eq!(block.meta[1].action, Some(Action::Upsert));
        assert_eq!(block.meta[2], DocMeta::default());
        assert_eq!((block.meta[3].action, block.meta[3].id.as_deref()), (Some(Action::Delete), Some("3")));
        assert_eq!((block.rejects.len(), block.rejects[0].record), (1, 4));
        assert_eq!(block.records[5].line, 6);
        assert!(source.next_chunk(10_000).unwrap().is_none());
    }
}

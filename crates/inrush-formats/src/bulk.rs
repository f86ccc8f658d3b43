//! Bodies of bulk requests as NDJSON: an action line, followed by the document unless the action is
//! a delete. Values in the action line take precedence over the options of the job.

use std::ops::Range;

use bytes::Bytes;
use inrush_core::Code;
use inrush_core::block::Record;
use inrush_core::{Action, DocBlock, DocMeta, Reject, VersionType};
use memchr::memchr_iter;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::cut_file::{CutFile, ReadFile};
use super::lines::for_each_line;
use super::{Chunk, Decode, RawChunk, SourceError, too_large, too_large_head};

/// A file of action lines and documents, split between items.
pub(crate) struct BulkFile {
    file: CutFile,
    /// An action line whose document is in the next chunk.
    carry: Bytes,
}

impl BulkFile {
    /// `file` splits into lines.
    pub(crate) fn new(file: CutFile) -> Self {
        BulkFile { file, carry: Bytes::new() }
    }
}

impl ReadFile for BulkFile {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        loop {
            let carried = self.carry.len() as u64;
            match self.file.next_chunk(bytes)? {
                Some(Chunk::Raw(mut raw)) => {
                    raw.origin.first_byte -= carried;
                    let data = match carried {
                        0 => raw.data,
                        _ => Bytes::from([&self.carry[..], &raw.data[..]].concat()),
                    };
                    let end = whole(&data);
                    self.carry = data.slice(end..);
                    if end > 0 || raw.bytes_read > 0 {
                        return Ok(Some(Chunk::Raw(RawChunk { data: data.slice(..end), ..raw })));
                    }
                }
                // A line that is too large, most likely the document of the action line before it.
                Some(Chunk::Docs(mut block)) => {
                    if !block.records.is_empty() && carried > 0 {
                        self.carry = Bytes::new();
                        block.lines += 1;
                    }
                    return Ok(Some(Chunk::Docs(block)));
                }
                None if carried > 0 => {
                    let decoder = self.file.decoder.clone();
                    let first_byte = self.file.cutter.offset() - carried;
                    let origin = inrush_core::Origin { source: self.file.id, first_byte, ..Default::default() };
                    let data = std::mem::take(&mut self.carry);
                    return Ok(Some(Chunk::Raw(RawChunk { origin, data, bytes_read: 0, decoder })));
                }
                other => return Ok(other),
            }
        }
    }
}

/// The length of the items in `data` whose action lines have their documents. The last line may
/// lack its line end.
fn whole(data: &[u8]) -> usize {
    let (mut end, mut start, mut wants_document) = (0, 0, false);
    let ends = memchr_iter(b'\n', data).map(|at| at + 1);
    for next in ends.chain((data.last() != Some(&b'\n')).then_some(data.len())) {
        let line = &data[start..next];
        if !line.trim_ascii().is_empty() {
            wants_document = !wants_document && !is_delete(line);
        }
        if !wants_document {
            end = next;
        }
        start = next;
    }
    end
}

/// Whether an action line is a delete, which has no document.
fn is_delete(line: &[u8]) -> bool {
    let inside = line.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with(b"\"delete\""))
}

/// Makes documents from pairs of lines.
pub(crate) struct BulkDecode {
    pub(crate) record_bytes_max: usize,
}

impl Decode for BulkDecode {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let data = &chunk.data[..];
        let mut block = DocBlock { origin: chunk.origin, bytes_read: chunk.bytes_read, ..DocBlock::default() };
        // The action line that waits for its document, with its line number.
        let mut waiting: Option<(usize, usize, u32)> = None;
        block.lines = for_each_line(data, self.record_bytes_max, |start, end, line| match waiting.take() {
            None if is_delete(&data[start..end]) => self.item(&mut block, data, (start, end, line), None),
            None => waiting = Some((start, end, line)),
            Some(action) => self.item(&mut block, data, action, Some((start, end))),
        });
        if let Some(action) = waiting {
            self.item(&mut block, data, action, None);
        }
        block.data = chunk.data;
        block
    }
}

impl BulkDecode {
    fn item(&self, block: &mut DocBlock, data: &[u8], action: (usize, usize, u32), document: Option<(usize, usize)>) {
        let (start, end, line) = action;
        let (mut from, mut to) = document.unwrap_or((end, end));
        let record = block.records.len() as u32;
        let reject = |kind, reason| Reject { record, kind, reason };
        let mut meta = DocMeta::default();
        let refused = match read(&data[start..end], document.map(|(from, to)| &data[from..to])) {
            _ if to - from > self.record_bytes_max => {
                let bytes = (to - from) as u64;
                to = from + too_large_head(&data[from..to]).len();
                Some(too_large(record, bytes, self.record_bytes_max))
            }
            Ok((found, within)) => {
                meta = found;
                // The document of an update is a part of its line.
                (from, to) = (from + within.start, from + within.end);
                None
            }
            Err(reason) => {
                (from, to) = (start, to);
                Some(reject(Code::BadBulkItem, reason))
            }
        };
        block.rejects.extend(refused);
        block.records.push(Record { start: from as u32, end: to as u32, byte: start as u32, line });
        block.meta.push(meta);
    }
}

/// Reads a text that is one item of a bulk body. Returns what its action line says, and the range
/// of the document, which is empty for a delete.
///
/// # Errors
/// The text is something else; the reason says what.
pub fn bulk_item(text: &[u8]) -> Result<(DocMeta, Range<usize>), String> {
    let mut start = 0;
    let lines = memchr_iter(b'\n', text).chain([text.len()]).map(|end| std::mem::replace(&mut start, end + 1)..end);
    let lines: Vec<Range<usize>> = lines.filter(|line| !text[line.clone()].trim_ascii().is_empty()).collect();
    let (action, document) = match &lines[..] {
        [action] if is_delete(&text[action.clone()]) => (action, None),
        [_] => return Err("there is no line behind the action line; expected its document".to_owned()),
        [action, document] if !is_delete(&text[action.clone()]) => (action, Some(document)),
        lines => {
            let found = lines.len();
            return Err(format!(
                "found {found} lines; expected an action line and the line of its document, or the action line of a delete"
            ));
        }
    };
    let (meta, within) = read(&text[action.clone()], document.map(|line| &text[line.clone()]))?;
    let start = document.map_or(0, |line| line.start);
    Ok((meta, start + within.start..start + within.end))
}

/// Keys of action lines that [`Target`] reads.
pub(crate) const TAKEN: [&str; 7] = ["_index", "_type", "_id", "routing", "_routing", "version", "version_type"];

/// Other keys that servers know. Some of them only old servers know.
pub(crate) const NOT_TAKEN: [&str; 14] = [
    "_version",
    "_version_type",
    "_parent",
    "_timestamp",
    "_ttl",
    "pipeline",
    "require_alias",
    "require_data_stream",
    "dynamic_templates",
    "list_executed_pipelines",
    "if_seq_no",
    "if_primary_term",
    "retry_on_conflict",
    "_retry_on_conflict",
];

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Index(Target),
    Create(Target),
    Update(Target),
    Delete(Target),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    #[serde(rename = "_index")]
    index: Option<String>,
    /// A key of old servers. Servers without types refuse it.
    #[serde(rename = "_type")]
    _kind: Option<serde::de::IgnoredAny>,
    #[serde(rename = "_id", default, deserialize_with = "text")]
    id: Option<String>,
    #[serde(alias = "_routing", default, deserialize_with = "text")]
    routing: Option<String>,
    version: Option<u64>,
    version_type: Option<VersionType>,
}

/// A string. Servers accept numbers as well.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(text) => Ok(Some(text)),
        number @ serde_json::Value::Number(_) => Ok(Some(number.to_string())),
        other => Err(D::Error::custom(format!("expected a string, found {other}"))),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update<'a> {
    #[serde(borrow)]
    doc: &'a RawValue,
    #[serde(default)]
    doc_as_upsert: bool,
}

/// The metadata of an item, and the range of the document in its second line.
fn read(line: &[u8], document: Option<&[u8]>) -> Result<(DocMeta, Range<usize>), String> {
    let line: Line = serde_json::from_slice(line).map_err(|e| format!("the action line cannot be read: {e}"))?;
    let (mut action, target) = match line {
        Line::Index(target) => (Action::Index, target),
        Line::Create(target) => (Action::Create, target),
        Line::Update(target) => (Action::Update, target),
        Line::Delete(target) => (Action::Delete, target),
    };
    if target.version.is_some() && target.version_type.is_none() {
        return Err("the action line has a version without a type; expected \"version_type\":\"external\" or \
                    \"external_gte\""
            .to_owned());
    }
    let within = match (action, document) {
        (Action::Delete, _) => 0..0,
        (_, None) => return Err("the file ends after an action line; expected its document".to_owned()),
        (Action::Update, Some(document)) => {
            let update: Update<'_> = serde_json::from_slice(document)
                .map_err(|e| format!("the update has more than `doc` and `doc_as_upsert`, or is not JSON: {e}"))?;
            if update.doc_as_upsert {
                action = Action::Upsert;
            }
            // `doc` borrows from the line.
            let start = update.doc.get().as_ptr() as usize - document.as_ptr() as usize;
            start..start + update.doc.get().len()
        }
        (_, Some(document)) => 0..document.len(),
    };
    let Target { index, id, routing, version, version_type, .. } = target;
    Ok((
        DocMeta::default()
            .with_action(action)
            .with_index(index)
            .with_id(id)
            .with_routing(routing)
            .with_version(version)
            .with_version_type(version_type.unwrap_or_default()),
        within,
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use inrush_core::SourceId;

    use super::super::buffer::BufferPool;
    use super::super::cut::{Boundary, Cutter};
    use super::super::input::Input;
    use super::*;

    /// The blocks of a file that is read in pieces of `bytes`.
    fn blocks(text: &str, bytes: usize) -> Vec<DocBlock> {
        let record_bytes_max = 60;
        let input = Input::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut file = BulkFile::new(CutFile {
            id: SourceId(0),
            name: "bulk".to_owned(),
            codec: None,
            cutter: Cutter::new(input, Boundary::Line, 0, record_bytes_max, BufferPool::new()),
            decoder: Arc::new(BulkDecode { record_bytes_max }),
            consumed: Arc::new(AtomicU64::new(0)),
            reported: 0,
            record_bytes_max,
            growth: 1.0,
        });
        std::iter::from_fn(|| file.next_chunk(bytes).unwrap()).map(Chunk::into_block).collect()
    }

    /// The metadata, document and reject reason of each record.
    fn items(text: &str, bytes: usize) -> Vec<(DocMeta, String, Option<Code>)> {
        let mut all = Vec::new();
        let (mut lines, mut next_byte) = (0, 0);
        for block in blocks(text, bytes) {
            assert_eq!(block.origin.first_byte, next_byte);
            next_byte += block.data.len() as u64;
            lines += block.lines;
            for (at, meta) in block.meta.iter().enumerate() {
                let reject = block.rejects.iter().find(|reject| reject.record as usize == at).map(|reject| reject.kind);
                all.push((meta.clone(), String::from_utf8(block.record(at).to_vec()).unwrap(), reject));
            }
        }
        assert_eq!(lines, text.lines().count() as u64);
        all
    }

    #[test]
    fn items_are_the_same_however_the_file_is_cut() {
        let text = "{\"index\":{\"_id\":7,\"_type\":\"_doc\"}}\n{\"a\":1}\n\n{ \"delete\" : {\"_id\":\"x\",\"_index\":\"i\"}}\n\
                    {\"update\":{\"_id\":\"u\"}}\r\n{\"doc\": {\"b\":2} }\r\n{\"create\":{\"routing\":\"r\"}}\n{}\n\
                    {\"update\":{\"_id\":\"v\"}}\n{\"doc_as_upsert\":true,\"doc\":{}}\n\
                    {\"index\":{\"version\":3,\"version_type\":\"external\"}}\n{\"c\":3}\n\
                    {\"delete\":{\"version_type\":\"external_gte\",\"version\":4}}";
        let meta = |action, id: Option<&str>| DocMeta::default().with_action(action).with_id(id.map(str::to_owned));
        let expected = [
            (meta(Action::Index, Some("7")), "{\"a\":1}"),
            (meta(Action::Delete, Some("x")).with_index("i".to_owned()), ""),
            (meta(Action::Update, Some("u")), "{\"b\":2}"),
            (meta(Action::Create, None).with_routing("r".to_owned()), "{}"),
            (meta(Action::Upsert, Some("v")), "{}"),
            (meta(Action::Index, None).with_version(3), "{\"c\":3}"),
            (meta(Action::Delete, None).with_version(4).with_version_type(VersionType::ExternalGte), ""),
        ];
        let expected = expected.map(|(meta, document)| (meta, document.to_owned(), None));
        for bytes in [1, 10, 37, 1000] {
            assert_eq!(items(text, bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_a_reject_and_the_next_ones_are_items() {
        let text = "{\"index\":{\"pipeline\":\"p\"}}\n{\"a\":1}\nwhat\n{}\n{\"update\":{\"_id\":\"1\"}}\n{\"script\":\"x\"}\n\
                    {\"index\":{\"version\":1}}\n{}\n{\"index\":{}}\n{\"good\":1}\n{\"index\":{}}\n";
        for bytes in [1, 1000] {
            let found = items(text, bytes);
            let bad: Vec<bool> = found.iter().map(|item| item.2 == Some(Code::BadBulkItem)).collect();
            assert_eq!(bad, [true, true, true, true, false, true], "{found:?}");
            assert_eq!(found[1].1, "what\n{}");
            assert_eq!(found[4].1, "{\"good\":1}");
        }
    }

    #[test]
    fn a_text_of_its_own_is_one_item() {
        let document = |text: &str| {
            bulk_item(text.as_bytes()).map(|(meta, range)| (meta.action.unwrap(), meta.id, text[range].to_owned()))
        };
        for (text, action, id, expected) in [
            ("{\"index\":{\"_id\":7}}\n{\"a\":1}\n", Action::Index, Some("7"), "{\"a\":1}"),
            ("\n{\"create\":{}}\r\n\n{\"a\":1}", Action::Create, None, "{\"a\":1}"),
            ("{\"update\":{}}\n{\"doc\":{\"b\":2},\"doc_as_upsert\":true}", Action::Upsert, None, "{\"b\":2}"),
            ("{\"delete\":{\"_id\":\"x\"}}\n", Action::Delete, Some("x"), ""),
        ] {
            assert_eq!(document(text), Ok((action, id.map(str::to_owned), expected.to_owned())), "{text}");
        }
        for (text, problem) in [
            ("", "found 0 lines"),
            ("{\"index\":{}}", "no line behind the action line"),
            ("{\"delete\":{\"_id\":\"x\"}}\n{}", "found 2 lines"),
            ("{\"index\":{}}\n{}\n{\"index\":{}}\n{}", "found 4 lines"),
            ("{\"a\":1}\n{}", "the action line cannot be read"),
        ] {
            let reason = document(text).unwrap_err();
            assert!(reason.contains(problem), "{reason}");
        }
    }

    #[test]
    fn the_keys_that_are_taken_are_those_that_are_read() {
        let line = |key: &str| {
            let value = if key == "version" { "1" } else { "\"external\"" };
            let external = if key == "version" { ",\"version_type\":\"external\"" } else { "" };
            format!("{{\"index\":{{\"{key}\":{value}{external}}}}}")
        };
        for key in TAKEN {
            assert!(read(line(key).as_bytes(), Some(b"{}")).is_ok(), "{key}");
        }
        for key in NOT_TAKEN {
            let reason = read(line(key).as_bytes(), Some(b"{}")).unwrap_err();
            assert!(reason.contains(key) && TAKEN.iter().all(|taken| reason.contains(taken)), "{reason}");
        }
    }

    #[test]
    fn a_document_that_is_too_large_takes_its_action_line_along() {
        let text = format!("{{\"index\":{{}}}}\n{{\"a\":\"{}\"}}\n{{\"index\":{{}}}}\n{{\"b\":1}}\n", "x".repeat(3000));
        let blocks = blocks(&text, 10);
        let rejects: Vec<Code> =
            blocks.iter().flat_map(|block| block.rejects.iter().map(|reject| reject.kind)).collect();
        assert_eq!(rejects, [Code::TooLarge]);
        assert_eq!(blocks.iter().map(|block| block.lines).sum::<u64>(), 4);
        let last = blocks.last().unwrap();
        assert_eq!(last.record(last.records.len() - 1), b"{\"b\":1}");
    }
}

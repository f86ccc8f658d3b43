//! Bulk items as SMILE, in addition to their JSON form.

use bytes::Bytes;
use inrush_smile::{SEPARATOR, SmileEncoder, SmileOptions};

use crate::items::{ItemBlock, SmileItems};

/// Adds the SMILE form to bulk items. It remembers field names and the last action line, so use one
/// for each thread and job.
#[derive(Debug)]
pub struct SmileItemEncoder {
    encoder: SmileEncoder,
    /// The last action line as JSON, and as SMILE with its separator.
    line: Vec<u8>,
    line_smile: Vec<u8>,
}

impl Default for SmileItemEncoder {
    fn default() -> Self {
        SmileItemEncoder::new(SmileOptions::default())
    }
}

impl SmileItemEncoder {
    /// An encoder with these options for documents.
    pub fn new(options: SmileOptions) -> Self {
        SmileItemEncoder { encoder: SmileEncoder::new(options), line: Vec::new(), line_smile: Vec::new() }
    }

    /// Adds the SMILE form of the items. `body` is a used buffer; `share` turns it into `Bytes`
    /// that return it. An item stays JSON only if its document has no exact SMILE form or is not a
    /// JSON object; the server decides about it.
    pub fn encode(&mut self, block: &mut ItemBlock, mut body: Vec<u8>, share: impl FnOnce(Vec<u8>) -> Bytes) {
        body.clear();
        body.reserve(block.body.len());
        let mut ends = Vec::with_capacity(block.ends.len());
        let mut json_only = Vec::new();
        let mut start = 0;
        for (at, &end) in block.ends.iter().enumerate() {
            let item = &block.body[start as usize..end as usize];
            start = end;
            // A rejected record is an empty item.
            if !item.is_empty() && !self.item(item, &mut body) {
                json_only.push(at as u32);
            }
            ends.push(body.len() as u32);
        }
        block.smile = Some(SmileItems { body: share(body), ends, json_only });
    }

    /// Appends an item. Returns `false` and appends nothing if the item has no SMILE form.
    fn item(&mut self, item: &[u8], out: &mut Vec<u8>) -> bool {
        let line = memchr::memchr(b'\n', item).unwrap_or(item.len());
        let (line, document) = (&item[..line], item.get(line + 1..).unwrap_or_default());
        let start = out.len();
        if !self.line(line) {
            return false;
        }
        out.extend_from_slice(&self.line_smile);
        if document.is_empty() {
            return true;
        }
        // Servers refuse other documents, and their treatment of such SMILE bodies is less well
        // known.
        let is_object = document.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        if !is_object || self.encoder.encode(document, out).is_err() {
            out.truncate(start);
            return false;
        }
        out.push(SEPARATOR);
        true
    }

    fn line(&mut self, line: &[u8]) -> bool {
        if line == self.line {
            return true;
        }
        self.line.clear();
        self.line_smile.clear();
        if self.encoder.encode(line, &mut self.line_smile).is_err() {
            return false;
        }
        self.line_smile.push(SEPARATOR);
        self.line.extend_from_slice(line);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::codes::Code;
    use inrush_smile::SmileDecoder;

    use super::super::Encoder;
    use super::*;
    use crate::block::{DocBlock, Record, Reject};
    use crate::operation::{Action, Operations};

    fn block(documents: &[&str], action: Action, id: Option<&str>) -> ItemBlock {
        let mut data = Vec::new();
        let mut records = Vec::new();
        for (line, document) in documents.iter().enumerate() {
            let start = data.len() as u32;
            data.extend_from_slice(document.as_bytes());
            records.push(Record { start, end: data.len() as u32, byte: start, line: line as u32 });
        }
        let rejects = documents.iter().enumerate().filter(|(_, document)| **document == "reject");
        let rejects =
            rejects.map(|(at, _)| Reject { record: at as u32, kind: Code::BadValue, reason: "no".into() }).collect();
        let block = DocBlock { data: data.into(), records, rejects, ..DocBlock::default() };
        let id = id.map(|id| id.parse().unwrap());
        let index = "x".parse().unwrap();
        Encoder::new(Operations::new(action, index, id)).encode(block)
    }

    /// A SMILE body as NDJSON.
    fn decoded(body: &[u8]) -> String {
        let (mut decoder, mut out, mut at) = (SmileDecoder::default(), Vec::new(), 0);
        while at < body.len() {
            at += decoder.decode(&body[at..], &mut out).unwrap();
            assert_eq!(body[at - 1], SEPARATOR);
            out.push(b'\n');
        }
        String::from_utf8(out).unwrap()
    }

    fn encoded(mut block: ItemBlock) -> ItemBlock {
        SmileItemEncoder::default().encode(&mut block, vec![1, 2, 3], Bytes::from);
        block
    }

    #[test]
    fn a_million_levels_stay_json() {
        let deep = format!("{{\"v\":{}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let objects = format!("{}1{}", "{\"v\":".repeat(1_000_000), "}".repeat(1_000_000));
        let items = encoded(block(&[&deep, "{}", &objects], Action::Index, None));
        assert_eq!([0, 1, 2].map(|at| items.has_smile(at)), [false, true, false]);
    }

    #[test]
    fn items_are_the_same_in_either_form() {
        for action in [Action::Index, Action::Create, Action::Update, Action::Upsert, Action::Delete] {
            let items = encoded(block(&[r#"{"id":"a","n":1}"#, r#"{"id":"b","n":1.50}"#], action, Some("id")));
            let smile = items.smile_slice(0, 2).unwrap();
            assert_eq!(decoded(&smile), String::from_utf8_lossy(&items.body), "{action:?}");
            assert_eq!(decoded(&items.smile_slice(1, 2).unwrap()), String::from_utf8_lossy(&items.slice(1, 2)));
            assert!(items.has_smile(0) && items.has_smile(1));
            assert_eq!(items.extra_bytes(), smile.len() as u64);
        }
    }

    #[test]
    fn documents_without_a_smile_form_stay_json() {
        let documents = [r#"{"n":1}"#, r#"{"n":1e3}"#, "reject", "no json", "[1]", r#"{"n":1,"n":1}"#, r#" {"n" : 2}"#];
        let items = encoded(block(&documents, Action::Index, None));
        assert_eq!(items.smile.as_ref().unwrap().json_only, [1, 3, 4, 5]);
        let all = items.smile_slice(0, documents.len() as u32).unwrap();
        assert_eq!(decoded(&all), "{\"index\":{}}\n{\"n\":1}\n{\"index\":{}}\n{\"n\":2}\n");
        assert_eq!(items.smile_slice(1, 6).unwrap(), Bytes::new());
        assert_eq!(items.action_and_document(1).1, r#"{"n":1e3}"#);
    }
}

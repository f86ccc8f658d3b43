//! One page of a shard: its search, and the documents in the reply.

use bytes::Bytes;
use inrush_core::Code;
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, DocMeta, Reject};
use inrush_formats::one_line::one_line;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{too_large, too_large_head};

/// A range of sequence numbers of one shard, with a limit of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: u64,
    /// One past the last number.
    pub(super) end: u64,
    pub(super) docs_max: usize,
}

/// Options that all pages of a source share.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) query: Option<Value>,
    /// Requests the vectors that the server would leave out otherwise.
    pub(super) with_vectors: bool,
    pub(super) ids: bool,
    /// Whether ids have their index in front.
    pub(super) index_in_id: bool,
    pub(super) routing: bool,
    pub(super) versions: bool,
    pub(super) document_bytes_max: usize,
}

/// A page that was read.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) block: DocBlock,
    /// One past the last sequence number of the page.
    pub(super) end: u64,
}

impl Ask {
    /// The body of a search for one window. `filter` is the filter of the alias.
    pub(super) fn body(&self, window: &Window, filter: Option<&Value>, snapshot: Option<Value>) -> Value {
        let range = json!({"range": {"_seq_no": {"gte": window.from, "lt": window.end}}});
        let filters: Vec<&Value> = [Some(&range), self.query.as_ref(), filter].into_iter().flatten().collect();
        let mut body = json!({
            "query": {"bool": {"filter": filters}},
            "sort": [{"_seq_no": "asc"}],
            "seq_no_primary_term": true,
            "version": self.versions,
            "size": window.docs_max,
            "track_total_hits": false,
            "_source": self.source(),
        });
        if let Some(snapshot) = snapshot {
            body["pit"] = snapshot;
        }
        body
    }

    /// The value of `_source` in a search. Any value but `true` makes the server write the document
    /// again.
    pub(super) fn source(&self) -> Value {
        if self.with_vectors { json!({"exclude_vectors": false}) } else { Value::Bool(true) }
    }

    /// The id of a document in the target.
    fn id_of(&self, index: &str, id: &str) -> String {
        if self.index_in_id { format!("{index}:{id}") } else { id.to_owned() }
    }

    /// Finds the documents in a reply. Their `_source` stays in the reply's buffer, byte for byte.
    ///
    /// # Errors
    /// The reply differs from the request, and how.
    pub(super) fn cut(&self, body: Bytes, window: &Window, mut origin: Origin, index: &str) -> Result<Page, String> {
        let reply: Reply<'_> = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        if reply.timed_out || reply.shards.as_ref().is_some_and(|shards| shards.failed > 0) {
            return Err("the reply is not complete: the search timed out, or failed on a shard".to_owned());
        }
        let hits = reply.hits.hits;
        let mut records: Vec<Record> = Vec::with_capacity(hits.len());
        let mut meta = Vec::with_capacity(hits.len());
        let mut rejects = Vec::new();
        let mut line_ends = false;
        for (at, hit) in hits.iter().enumerate() {
            let record = at as u32;
            let number = hit.seq_no;
            // Numbers must ascend within the window, because they are positions in the source.
            let after = records.last().map_or(window.from, |last| window.from + u64::from(last.line) + 1);
            if !(after..window.end).contains(&number) {
                return Err(format!(
                    "found a document with the sequence number {number}, expected one from {after} on"
                ));
            }
            let (start, mut end) = match hit.source {
                Some(source) => {
                    // The text borrows from the body, so its address is within it.
                    let start = source.get().as_ptr() as usize - body.as_ptr() as usize;
                    (start, start + source.get().len())
                }
                None => {
                    let reason = "the document has no _source in the source index; load it from its original source";
                    rejects.push(Reject { record, kind: Code::NoSource, reason: reason.to_owned() });
                    (0, 0)
                }
            };
            if end - start > self.document_bytes_max {
                rejects.push(too_large(record, (end - start) as u64, self.document_bytes_max));
                end = start + too_large_head(&body[start..end]).len();
            }
            line_ends |= memchr::memchr2(b'\n', b'\r', &body[start..end]).is_some();
            // Replies are smaller than 4 GiB, and a window has fewer numbers.
            let line = (number - window.from) as u32;
            records.push(Record { start: start as u32, end: end as u32, byte: 0, line });
            let routing = hit.routing.as_ref().filter(|_| self.routing);
            meta.push(
                DocMeta::default()
                    .with_id(self.ids.then(|| self.id_of(index, &hit.id)))
                    .with_routing(routing.map(|routing| routing.clone().into_owned()))
                    .with_version(hit.version.filter(|_| self.versions)),
            );
        }
        // A full page ends at its last document, and any other page at the end of its window.
        let full = records.len() >= window.docs_max;
        let end = match records.last() {
            Some(last) if full => window.from + u64::from(last.line) + 1,
            _ => window.end,
        };
        let bytes_read = records.iter().map(|record| u64::from(record.end - record.start)).sum();
        let body = if line_ends { in_lines(&body, &records) } else { body };
        origin.own_numbers = true;
        origin.first_doc = window.from;
        origin.first_line = window.from;
        let block = DocBlock { origin, lines: end - window.from, data: body, records, rejects, meta, bytes_read };
        Ok(Page { block, end })
    }
}

/// A copy without line ends in documents. The JSON of a server has no line end inside a string.
fn in_lines(body: &Bytes, records: &[Record]) -> Bytes {
    let mut copy = body.to_vec();
    for record in records {
        one_line(0, &mut copy[record.start as usize..record.end as usize]);
    }
    Bytes::from(copy)
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(default)]
    timed_out: bool,
    #[serde(rename = "_shards")]
    shards: Option<Shards>,
    #[serde(borrow)]
    hits: Hits<'a>,
}

#[derive(Deserialize)]
struct Shards {
    #[serde(default)]
    failed: u64,
}

#[derive(Deserialize)]
struct Hits<'a> {
    #[serde(borrow)]
    hits: Vec<Hit<'a>>,
}

#[derive(Deserialize)]
struct Hit<'a> {
    #[serde(rename = "_id", borrow)]
    id: std::borrow::Cow<'a, str>,
    #[serde(rename = "_routing", borrow, default)]
    routing: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "_seq_no")]
    seq_no: u64,
    #[serde(rename = "_version", default)]
    version: Option<u64>,
    #[serde(rename = "_source", borrow, default)]
    source: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        Ask { ids: true, routing: true, versions: true, document_bytes_max: 100, ..Ask::default() }
    }

    fn cut(ask: &Ask, hits: &str, docs_max: usize) -> Result<Page, String> {
        let body = format!("{{\"timed_out\":false,\"_shards\":{{\"failed\":0}},\"hits\":{{\"hits\":[{hits}]}}}}");
        ask.cut(Bytes::from(body), &Window { from: 5, end: 20, docs_max }, Origin::default(), "a-1")
    }

    const HITS: &str = r#"{"_id":"a\"b","_seq_no":5,"_version":3,"_routing":"r","_source":{ "n": 1.50,"s":"é\n"}},
        {"_id":"c","_seq_no":9,"_version":1,"_source":{}}"#;

    #[test]
    fn documents_are_cut_out_as_they_stand() {
        let page = cut(&ask(), HITS, 3).unwrap();
        let block = &page.block;
        assert_eq!((block.record(0), block.record(1)), (r#"{ "n": 1.50,"s":"é\n"}"#.as_bytes(), &b"{}"[..]));
        let expected = DocMeta::default().with_id("a\"b".to_owned()).with_routing("r".to_owned()).with_version(3);
        assert_eq!(block.meta[0], expected);
        assert_eq!((block.origin.first_doc, block.lines, page.end), (5, 15, 20));
        assert_eq!(block.origin.position(1, block.records[1]).doc, 9);
        // A full page ends at its last document.
        let page = cut(&ask(), HITS, 2).unwrap();
        assert_eq!((page.block.lines, page.end), (5, 10));
        let page = cut(&Ask { ids: false, routing: false, versions: false, ..ask() }, HITS, 2).unwrap();
        assert_eq!(page.block.meta, [DocMeta::default(), DocMeta::default()]);
        let page = cut(&Ask { index_in_id: true, ..ask() }, HITS, 2).unwrap();
        assert_eq!(page.block.meta[0].id.as_deref(), Some("a-1:a\"b"));
    }

    #[test]
    fn a_document_over_several_lines_is_put_into_one() {
        let page = cut(&ask(), "{\"_id\":\"a\",\"_seq_no\":7,\"_source\":{\n \"n\":\r\n1}}", 5).unwrap();
        assert_eq!(page.block.record(0), b"{  \"n\":  1}");
    }

    #[test]
    fn what_cannot_be_sent_is_a_reject() {
        let long = "x".repeat(200);
        let hits =
            format!("{{\"_id\":\"a\",\"_seq_no\":7}},{{\"_id\":\"b\",\"_seq_no\":8,\"_source\":{{\"t\":\"{long}\"}}}}");
        let page = cut(&ask(), &hits, 5).unwrap();
        let kinds: Vec<_> = page.block.rejects.iter().map(|r| (r.record, r.kind)).collect();
        assert_eq!(kinds, [(0, Code::NoSource), (1, Code::TooLarge)]);
    }

    #[test]
    fn an_answer_of_another_form_is_refused() {
        assert!(cut(&ask(), r#"{"_id":"a","_seq_no":4,"_source":{}}"#, 5).unwrap_err().contains("from 5 on"));
        let twice = r#"{"_id":"a","_seq_no":6,"_source":{}},{"_id":"b","_seq_no":6,"_source":{}}"#;
        assert!(cut(&ask(), twice, 5).unwrap_err().contains("from 7 on"));
        assert!(cut(&ask(), r#"{"_id":"a","_source":{}}"#, 5).unwrap_err().contains("_seq_no"));
        let failed = Bytes::from_static(br#"{"timed_out":true,"hits":{"hits":[]}}"#);
        let window = Window { from: 0, end: 1, docs_max: 1 };
        assert!(ask().cut(failed, &window, Origin::default(), "a-1").is_err());
    }

    #[test]
    fn a_search_asks_for_one_window() {
        let ask = Ask { query: Some(json!({"term": {"a": 1}})), with_vectors: true, ..ask() };
        let window = Window { from: 5, end: 20, docs_max: 7 };
        let body = ask.body(&window, None, Some(json!({"id": "x"})));
        assert_eq!(body["query"]["bool"]["filter"][0], json!({"range": {"_seq_no": {"gte": 5, "lt": 20}}}));
        assert_eq!(body["query"]["bool"]["filter"][1], json!({"term": {"a": 1}}));
        assert_eq!((&body["size"], &body["pit"]["id"]), (&json!(7), &json!("x")));
        assert_eq!(body["_source"], json!({"exclude_vectors": false}));
    }
}

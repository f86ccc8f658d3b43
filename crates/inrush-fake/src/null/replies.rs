//! Replies: one item is built once and written from a buffer as often as it is needed.

use serde_json::{Value, json};

use super::body::Counted;
use crate::coding::json_of_smile_value;
use crate::filter::filter_path;

/// The reply to a bulk request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyKind {
    /// One item for each document, within `filter_path` of the request.
    #[default]
    Items,
    /// `took` and `errors` alone, for every request.
    Summary,
}

/// Items in the buffer.
const REPEATED_ITEMS: usize = 4096;

/// A counted body as documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) documents: usize,
    pub(super) index: String,
    pub(super) action: &'static str,
}

impl Batch {
    /// Action and index of the first line stand for all items. A delete has one line, each other
    /// action two.
    pub(super) fn new(counted: &Counted, index: Option<String>) -> Self {
        let first: Value = match counted.smile {
            false => serde_json::from_slice(&counted.first_line).unwrap_or_default(),
            true => serde_json::from_slice(&json_of_smile_value(&counted.first_line)).unwrap_or_default(),
        };
        let given = first.as_object().and_then(|object| object.iter().next());
        let action = match given.map(|(name, _)| name.as_str()) {
            Some("create") => "create",
            Some("update") => "update",
            Some("delete") => "delete",
            _ => "index",
        };
        let named = given.and_then(|(_, fields)| fields.get("_index")).and_then(Value::as_str).map(str::to_owned);
        let documents = if action == "delete" { counted.lines } else { counted.lines / 2 };
        Batch { documents, index: named.or(index).unwrap_or_else(|| "null".to_owned()), action }
    }
}

/// The replies of one connection. The last item is kept, because the requests of a load are alike.
pub(super) struct Replies {
    kind: ReplyKind,
    built_for: Option<(Option<String>, &'static str, String)>,
    /// `item,item,…,`; empty if the request wants no items.
    repeated: Vec<u8>,
    item_bytes: usize,
    scratch: String,
}

const PREFIX: &[u8] = b"{\"took\":1,\"errors\":false,\"items\":[";
const SUFFIX: &[u8] = b"]}";
const SUMMARY: &[u8] = b"{\"took\":0,\"errors\":false}";

impl Replies {
    pub(super) fn new(kind: ReplyKind) -> Self {
        Replies { kind, built_for: None, repeated: Vec::new(), item_bytes: 0, scratch: String::new() }
    }

    /// The parts of a reply, to be written in one call.
    pub(super) fn bulk(&mut self, batch: &Batch, patterns: Option<&str>) -> Vec<&[u8]> {
        self.build(batch, patterns);
        if self.item_bytes == 0 {
            self.scratch = head(200, SUMMARY.len());
            return vec![self.scratch.as_bytes(), SUMMARY];
        }
        // A comma follows each item but the last.
        let items_bytes = (batch.documents * (self.item_bytes + 1)).saturating_sub(1);
        self.scratch = head(200, PREFIX.len() + items_bytes + SUFFIX.len());
        let mut parts = vec![self.scratch.as_bytes(), PREFIX];
        let mut left = items_bytes;
        while left > 0 {
            let part = left.min(self.repeated.len());
            parts.push(&self.repeated[..part]);
            left -= part;
        }
        parts.push(SUFFIX);
        parts
    }

    fn build(&mut self, batch: &Batch, patterns: Option<&str>) {
        let fits = self.built_for.as_ref().is_some_and(|(built_patterns, action, index)| {
            built_patterns.as_deref() == patterns && *action == batch.action && *index == batch.index
        });
        if fits {
            return;
        }
        self.built_for = Some((patterns.map(str::to_owned), batch.action, batch.index.clone()));
        let item = match self.kind {
            ReplyKind::Items => item(batch, patterns),
            ReplyKind::Summary => None,
        };
        let mut text = item.map(|item| item.to_string()).unwrap_or_default();
        self.item_bytes = text.len();
        if !text.is_empty() {
            text.push(',');
        }
        self.repeated = text.repeat(REPEATED_ITEMS).into_bytes();
    }
}

/// One successful item within `patterns` of a `filter_path`; `None` if they leave no item.
fn item(batch: &Batch, patterns: Option<&str>) -> Option<Value> {
    let (result, status) = match batch.action {
        "update" => ("updated", 200),
        "delete" => ("deleted", 200),
        _ => ("created", 201),
    };
    let item = json!({ batch.action: {
        "_index": batch.index, "_id": "6M_I-6EBzxKpcNwnyVWD", "_version": 1, "result": result,
        "_shards": {"total": 2, "successful": 1, "failed": 0}, "_seq_no": 0, "_primary_term": 1, "status": status
    }});
    let reply = json!({"took": 1, "errors": false, "items": [item]});
    let filtered = match patterns {
        Some(patterns) => filter_path(reply, patterns),
        None => reply,
    };
    filtered.get("items").and_then(|items| items.get(0)).cloned()
}

/// Status line and headers of a JSON reply. Elasticsearch's own clients refuse a server without the
/// header for its product.
pub(super) fn head(status: u16, length: usize) -> String {
    let reason = match status {
        200 => "OK",
        201 => "Created",
        400 => "Bad Request",
        404 => "Not Found",
        _ => "Other",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json; charset=UTF-8\r\nx-elastic-product: Elasticsearch\r\n\
         content-length: {length}\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(documents: usize, patterns: Option<&str>) -> Value {
        let mut replies = Replies::new(ReplyKind::Items);
        let batch = Batch { documents, index: "x".into(), action: "create" };
        let parts = replies.bulk(&batch, patterns).concat();
        let text = String::from_utf8(parts).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("head");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        serde_json::from_str(body).expect("JSON")
    }

    #[test]
    fn there_are_as_many_items_as_documents() {
        for documents in [1, 2, REPEATED_ITEMS, REPEATED_ITEMS + 1, 3 * REPEATED_ITEMS + 7] {
            let reply = reply(documents, Some("took,errors,items.*.status,items.*._index,items.*.error"));
            let items = reply["items"].as_array().expect("items");
            assert_eq!(items.len(), documents);
            assert!(items.iter().all(|item| *item == json!({"create": {"_index": "x", "status": 201}})));
        }
        assert_eq!(reply(0, None)["items"], json!([]));
        assert_eq!(reply(3, None)["items"][2]["create"]["result"], "created");
    }

    #[test]
    fn a_filter_without_items_gets_the_summary() {
        assert_eq!(reply(3, Some("took,errors,items.*.error")), json!({"took": 0, "errors": false}));
    }

    #[test]
    fn the_first_line_names_action_and_index() {
        let counted =
            |line: &str, lines: usize| Counted { lines, first_line: line.as_bytes().to_vec(), ..Counted::default() };
        let batch = Batch::new(&counted("{\"delete\":{\"_index\":\"a\",\"_id\":\"1\"}}", 3), None);
        assert_eq!(batch, Batch { documents: 3, index: "a".into(), action: "delete" });
        let batch = Batch::new(&counted("{\"create\":{}}", 6), Some("b".into()));
        assert_eq!(batch, Batch { documents: 3, index: "b".into(), action: "create" });
    }
}

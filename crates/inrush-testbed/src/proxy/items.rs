//! Bulk items that are taken out of a request and put into its reply as rejections.

use std::ops::Range;

use bytes::Bytes;
use inrush_fake::{Flavor, internal};
use serde_json::{Map, Value, json};

/// One item of a bulk body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// The action line and the document, as a range of the body.
    bytes: Range<usize>,
    action: String,
    index: Value,
    id: Value,
}

/// The items of a body; `None` if the body is not NDJSON or a server would refuse it as a whole.
pub(super) fn split(body: &[u8], index: Option<&str>) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let start = at;
        at += memchr::memchr(b'\n', &body[at..])? + 1;
        let line: Value = match &body[start..at] {
            blank if blank.trim_ascii().is_empty() => continue,
            line => serde_json::from_slice(line).ok()?,
        };
        let (action, fields) = line.as_object()?.iter().next()?;
        if action != "delete" {
            at += memchr::memchr(b'\n', &body[at..])? + 1;
        }
        let index = fields.get("_index").cloned().or_else(|| index.map(Value::from)).unwrap_or_default();
        let id = fields.get("_id").cloned().unwrap_or_default();
        items.push(Item { bytes: start..at, action: action.clone(), index, id });
    }
    Some(items)
}

/// A request without its rejected items.
#[derive(Debug)]
pub(super) struct Thinned {
    items: Vec<Item>,
    rejected: Vec<bool>,
}

impl Thinned {
    pub(super) fn new(items: Vec<Item>, mut rejects: impl FnMut() -> bool) -> Self {
        let rejected = items.iter().map(|_| rejects()).collect();
        Thinned { items, rejected }
    }

    pub(super) fn rejected(&self) -> usize {
        self.rejected.iter().filter(|rejected| **rejected).count()
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The body without the rejected items.
    pub(super) fn body(&self, body: &[u8]) -> Bytes {
        let kept = self.items.iter().zip(&self.rejected).filter(|(_, rejected)| !**rejected);
        kept.flat_map(|(item, _)| body[item.bytes.clone()].iter().copied()).collect()
    }

    /// The reply to a request whose items are all rejected; the server gets no request.
    pub(super) fn reply_to_nothing(&self) -> Value {
        self.merge(json!({"took": 0, "errors": true, "items": []}))
    }

    /// The server's reply with the rejections at their positions. A reply without items only gets
    /// `errors: true`. A reply with an unexpected number of items stays as it is.
    pub(super) fn merge(&self, mut reply: Value) -> Value {
        let Some(object) = reply.as_object_mut() else { return reply };
        if let Some(entries) = object.get_mut("items").and_then(Value::as_array_mut) {
            if entries.len() != self.len() - self.rejected() {
                return reply;
            }
            let mut answered = std::mem::take(entries).into_iter();
            let merged = self.items.iter().zip(&self.rejected).filter_map(|(item, rejected)| match rejected {
                true => Some(item.rejection()),
                false => answered.next(),
            });
            *entries = merged.collect();
        }
        if object.contains_key("errors") {
            object.insert("errors".to_owned(), true.into());
        }
        reply
    }
}

impl Item {
    fn rejection(&self) -> Value {
        let (status, error) = internal::rejected(&Flavor::elasticsearch_8());
        let entry = json!({"_index": self.index, "_id": self.id, "status": status, "error": error});
        Value::Object(Map::from_iter([(self.action.clone(), entry)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] =
        b"{\"index\":{}}\n{\"n\":1}\n{\"delete\":{\"_id\":\"2\"}}\n\n{\"create\":{\"_index\":\"b\"}}\n{\"n\":3}\n";

    fn thinned(rejected: [bool; 3]) -> Thinned {
        let mut draws = rejected.into_iter();
        Thinned::new(split(BODY, Some("a")).unwrap_or_default(), || draws.next().unwrap_or_default())
    }

    #[test]
    fn rejections_stand_at_their_positions() {
        let request = thinned([true, false, true]);
        assert_eq!((request.len(), request.rejected()), (3, 2));
        assert_eq!(request.body(BODY), "{\"delete\":{\"_id\":\"2\"}}\n");
        let reply = request.merge(json!({"took": 1, "errors": false, "items": [{"delete": {"status": 200}}]}));
        assert_eq!(reply["errors"], true);
        assert_eq!(reply["items"][0]["index"]["error"]["type"], "es_rejected_execution_exception");
        assert_eq!(reply["items"][0]["index"]["_index"], "a");
        assert_eq!(reply["items"][1], json!({"delete": {"status": 200}}));
        assert_eq!(
            (&reply["items"][2]["create"]["status"], &reply["items"][2]["create"]["_index"]),
            (&429.into(), &"b".into())
        );
        assert_eq!(reply["items"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn replies_without_entries_and_requests_without_items() {
        assert_eq!(
            thinned([true, false, false]).merge(json!({"took": 1, "errors": false})),
            json!({"took": 1, "errors": true})
        );
        let whole = thinned([true; 3]);
        assert!(whole.body(BODY).is_empty());
        assert_eq!(whole.reply_to_nothing()["items"].as_array().map(Vec::len), Some(3));
        assert_eq!(split(b"{\"index\":{}}\n{\"n\":1}", None), None, "no final line end");
        assert_eq!(split(b":)\n\x01", None), None, "SMILE");
    }
}

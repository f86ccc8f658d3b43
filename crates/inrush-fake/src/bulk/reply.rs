//! The reply to a bulk request.

use serde_json::{Map, Value};

use crate::model::Reached;
use crate::product::Flavor;

/// A reply with the keys in the product's order.
pub(crate) fn reply(flavor: &Flavor, took_ms: u64, items: Vec<Value>) -> Value {
    let errors = items.iter().any(has_error);
    let mut reply = Map::new();
    // Elasticsearch 8.19 puts `errors` first. A client must not rely on any order.
    if flavor.is_elasticsearch_8() {
        reply.insert("errors".into(), errors.into());
        reply.insert("took".into(), took_ms.into());
    } else {
        reply.insert("took".into(), took_ms.into());
        reply.insert("errors".into(), errors.into());
    }
    reply.insert("items".into(), Value::Array(items));
    Value::Object(reply)
}

fn has_error(item: &Value) -> bool {
    item.as_object().and_then(|item| item.values().next()).is_some_and(|item| item.get("error").is_some())
}

/// Puts items into the order of the server's reply.
///
/// Elasticsearch 8 keeps the order of the request. The other servers collect first the items that a
/// pipeline dropped, then the items that failed in a pipeline, and then insert each further item at
/// its position in the request.
pub(crate) fn in_reply_order(flavor: &Flavor, items: Vec<(Value, Reached)>) -> Vec<Value> {
    if flavor.is_elasticsearch_8() {
        return items.into_iter().map(|(item, _)| item).collect();
    }
    let early = |wanted| items.iter().filter(move |(_, reached)| *reached == wanted).map(|(item, _)| item.clone());
    let mut reply: Vec<Value> = early(Reached::Drop).chain(early(Reached::Failure)).collect();
    for (position, (item, reached)) in items.iter().enumerate() {
        if *reached == Reached::Index {
            reply.insert(position, item.clone());
        }
    }
    reply
}

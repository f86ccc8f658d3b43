//! Searches and counts.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::aggregate::aggregate;
use super::expand::expand;
use super::point_in_time::{find, searchable};
use super::query::{matches, value_of};
use super::request::{ApiReply, ApiRequest};
use crate::error::ServerError;
use crate::model::{Cluster, Document, PointInTime};

/// `index.max_result_window`: the last hit that `from` and `size` can reach.
const RESULT_WINDOW: usize = 10_000;

/// `_count`.
pub(super) fn count(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    let body = request.json()?;
    let mut shards = 0;
    let mut count = 0;
    for name in &names {
        let Some(index) = cluster.indices.get(name) else {
            continue;
        };
        shards += index.number_of_shards();
        count += match body.get("query") {
            None => index.searchable_count(),
            Some(query) if query.get("match_all").is_some() => index.searchable_count(),
            Some(query) => {
                let mut found = 0;
                for document in index.searchable() {
                    found += usize::from(matches(query, &document, &document.json())?);
                }
                found
            }
        };
    }
    Ok(ApiReply::ok(
        json!({"count": count, "_shards": {"total": shards, "successful": shards, "skipped": 0, "failed": 0}}),
    ))
}

/// `_search`.
pub(super) fn search(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    search_from(cluster, expression, request, None)
}

/// A search. `scrolled` is the number of hits on earlier pages of a scroll; a scroll has no limit
/// of its result window.
pub(super) fn search_from(
    cluster: &Cluster,
    expression: &str,
    request: &ApiRequest,
    scrolled: Option<usize>,
) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    let (from, size) = window(&body, request)?;
    let from = scrolled.unwrap_or(from);
    let PointInTime { documents, shards } = match body.get("pit") {
        Some(_) if !request.segments.is_empty() && request.segments[0] != "_search" => {
            return Err(ServerError::validation("[indices] cannot be used with point in time"));
        }
        Some(pit) => find(cluster, pit)?,
        None => searchable(cluster, expression, request)?,
    };
    if [body.get("query"), body.get("sort")].into_iter().flatten().any(asks_seq_no) {
        let hides = |name: &&String| cluster.indices.get(*name).is_some_and(|index| index.settings.hides_seq_nos());
        if let Some(name) = documents.iter().map(|(name, _)| name).find(hides) {
            let reason = "Cannot query field [_seq_no]: _seq_no cannot be queried when [index.disable_sequence_numbers] is [true]";
            return Err(ServerError::new(400, "search_phase_execution_exception", reason).with("index", name.as_str()));
        }
    }
    let everything = json!({"match_all": {}});
    let query = body.get("query").unwrap_or(&everything);
    let mut hits = Vec::new();
    for (index, document) in documents {
        let source = document.json();
        if matches(query, &document, &source)? {
            hits.push(Hit { index, document, source });
        }
    }
    sort(&mut hits, body.get("sort"));
    let shown: Vec<Value> = hits.iter().skip(from).take(size).map(|hit| hit.show(&body)).collect();
    let max_score = if hits.is_empty() { Value::Null } else { json!(1.0) };
    let mut reply = json!({
        "took": 1, "timed_out": false,
        "_shards": {"total": shards, "successful": shards, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": hits.len(), "relation": "eq"}, "max_score": max_score, "hits": shown},
    });
    if let Some(aggregations) = body.get("aggs").or_else(|| body.get("aggregations")) {
        let sources: Vec<&Value> = hits.iter().map(|hit| &hit.source).collect();
        reply["aggregations"] = aggregate(aggregations, &sources)?;
    }
    Ok(ApiReply::ok(reply))
}

/// Whether a part of a search names the sequence number.
fn asks_seq_no(part: &Value) -> bool {
    match part {
        Value::String(text) => text == "_seq_no",
        Value::Array(items) => items.iter().any(asks_seq_no),
        Value::Object(object) => object.iter().any(|(name, value)| name == "_seq_no" || asks_seq_no(value)),
        _ => false,
    }
}

/// `from` and `size` of a search, from its body or its query.
fn window(body: &Value, request: &ApiRequest) -> Result<(usize, usize), ServerError> {
    let number = |name: &str, default: usize| {
        let given = body.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        given.or_else(|| request.param(name).and_then(|n| n.parse().ok())).unwrap_or(default)
    };
    let (from, size) = (number("from", 0), number("size", 10));
    let end = from.saturating_add(size);
    if end > RESULT_WINDOW {
        let reason = format!(
            "Result window is too large, from + size must be less than or equal to: [{RESULT_WINDOW}] but was [{end}]"
        );
        return Err(ServerError::new(400, "search_phase_execution_exception", reason));
    }
    Ok((from, size))
}

/// One hit of a search.
struct Hit {
    index: String,
    document: Document,
    source: Value,
}

impl Hit {
    /// The hit as the body of the search asks for it.
    fn show(&self, search: &Value) -> Value {
        let wants = |key: &str| search.get(key) == Some(&json!(true));
        let mut hit = json!({"_index": self.index, "_id": self.document.id, "_score": 1.0});
        if let Some(routing) = &self.document.routing {
            hit["_routing"] = json!(routing);
        }
        if wants("seq_no_primary_term") {
            hit["_seq_no"] = json!(self.document.seq_no);
            hit["_primary_term"] = json!(1);
        }
        if wants("version") {
            hit["_version"] = json!(self.document.version);
        }
        if search.get("_source") != Some(&json!(false)) {
            hit["_source"] = self.source.clone();
        }
        hit
    }
}

/// Sorts hits by the first key of `sort`.
fn sort(hits: &mut [Hit], by: Option<&Value>) {
    let first = match by {
        Some(Value::Array(all)) => all.first().cloned(),
        other => other.cloned(),
    };
    let (field, order) = match &first {
        Some(Value::String(field)) => (field.clone(), "asc".to_owned()),
        Some(Value::Object(object)) => match object.iter().next() {
            Some((field, order)) => {
                let order = order.get("order").unwrap_or(order).as_str().unwrap_or("asc").to_owned();
                (field.clone(), order)
            }
            None => return,
        },
        _ => return,
    };
    hits.sort_by(|a, b| {
        let ordering = match field.as_str() {
            "_doc" => Ordering::Equal,
            "_id" => a.document.id.cmp(&b.document.id),
            "_seq_no" => a.document.seq_no.cmp(&b.document.seq_no),
            field => {
                let (a, b) = (value_of(&a.source, field), value_of(&b.source, field));
                match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    _ => a.and_then(Value::as_str).cmp(&b.and_then(Value::as_str)),
                }
            }
        };
        if order == "desc" { ordering.reverse() } else { ordering }
    });
}

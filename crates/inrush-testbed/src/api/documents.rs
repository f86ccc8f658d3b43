//! Endpoints that read and count documents, and the few that write one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ApiReply, ApiRequest, by_index, expand};
use crate::error::EsError;
use crate::model::{Action, Cluster, Index, Op, PointInTime, StoredDocument, VersionType};

pub(super) fn get(cluster: &Cluster, name: &str, id: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let index = single(cluster, name)?;
    let (found, body) =
        document_value(cluster, &index, id, request.param("routing"), request.param("_source") != Some("false"));
    Ok(ApiReply { status: if found { 200 } else { 404 }, body })
}

pub(super) fn get_source(cluster: &Cluster, name: &str, id: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let index = single(cluster, name)?;
    match cluster.get(&index, id, request.param("routing")) {
        Some(document) => Ok(ApiReply::ok(document.json())),
        None => Err(EsError::new(404, "resource_not_found_exception", format!("Document not found [{index}]/[{id}]"))),
    }
}

/// The one index a single-document request goes to.
fn single(cluster: &Cluster, name: &str) -> Result<String, EsError> {
    let resource_type = if cluster.flavor.is_elasticsearch_8() { "index_or_alias" } else { "index_expression" };
    let names = expand(cluster, name).map_err(|_| EsError::index_not_found(name, resource_type))?;
    match names.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(EsError::index_not_found(name, resource_type)),
        _ => Err(EsError::illegal_argument(format!(
            "alias [{name}] has more than one index associated with it [{}], can't execute a single index op",
            names.join(", ")
        ))),
    }
}

fn document_value(cluster: &Cluster, index: &str, id: &str, routing: Option<&str>, with_source: bool) -> (bool, Value) {
    let mut value = Map::new();
    value.insert("_index".into(), json!(index));
    if cluster.flavor.has_types() {
        value.insert("_type".into(), json!("_doc"));
    }
    value.insert("_id".into(), json!(id));
    let document = cluster.get(index, id, routing);
    let found = document.is_some();
    if let Some(document) = document {
        value.insert("_version".into(), json!(document.version));
        value.insert("_seq_no".into(), json!(document.seq_no));
        value.insert("_primary_term".into(), json!(1));
        if let Some(routing) = &document.routing {
            value.insert("_routing".into(), json!(routing));
        }
        value.insert("found".into(), json!(true));
        if with_source {
            value.insert("_source".into(), document.json());
        }
    } else {
        value.insert("found".into(), json!(false));
    }
    (found, Value::Object(value))
}

pub(super) fn mget(cluster: &Cluster, default_index: Option<&str>, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let body = request.json()?;
    let ids = body.get("ids").and_then(Value::as_array).into_iter().flatten().map(|id| json!({"_id": id}));
    let wanted: Vec<Value> =
        body.get("docs").and_then(Value::as_array).into_iter().flatten().cloned().chain(ids).collect();
    if wanted.is_empty() {
        return Err(EsError::validation("no documents to get"));
    }
    let with_source_by_default = request.param("_source") != Some("false");
    let mut docs = Vec::new();
    for one in wanted {
        if one.get("_routing").is_some() {
            let reason = "failed to parse multi get request. unknown field [_routing]";
            return Err(EsError::new(400, "parse_exception", reason));
        }
        let id = match one.get("_id") {
            Some(Value::String(id)) => id.clone(),
            Some(id) => id.to_string(),
            None => return Err(EsError::validation("id is missing for doc 0")),
        };
        let Some(name) = one.get("_index").and_then(Value::as_str).or(default_index) else {
            return Err(EsError::validation("index is missing for doc 0"));
        };
        match single(cluster, name) {
            Ok(index) => {
                let routing = one.get("routing").and_then(Value::as_str);
                let with_source = one.get("_source").map_or(with_source_by_default, |source| source != &json!(false));
                docs.push(document_value(cluster, &index, &id, routing, with_source).1);
            }
            Err(error) => docs.push(json!({"_index": name, "_id": id, "error": error.to_body()["error"]})),
        }
    }
    Ok(ApiReply::ok(json!({"docs": docs})))
}

pub(super) fn count(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
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
                let mut fitting = 0;
                for document in index.searchable() {
                    fitting += usize::from(fits(query, &document, &document.json())?);
                }
                fitting
            }
        };
    }
    Ok(ApiReply::ok(
        json!({"count": count, "_shards": {"total": shards, "successful": shards, "skipped": 0, "failed": 0}}),
    ))
}

pub(super) fn refresh(cluster: &mut Cluster, expression: &str) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    for name in &names {
        if let Some(index) = cluster.indices.get_mut(name) {
            index.refresh();
        }
    }
    Ok(broadcast(cluster, &names))
}

pub(super) fn flush(cluster: &mut Cluster, expression: &str) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    for name in &names {
        if let Some(index) = cluster.indices.get_mut(name) {
            index.flush();
        }
    }
    Ok(broadcast(cluster, &names))
}

/// There are no segments here, so nothing is to be done. Without waiting it is a task that has ended at once.
pub(super) fn force_merge(cluster: &mut Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    let merged = broadcast(cluster, &names);
    match request.param("wait_for_completion") {
        Some(_) if cluster.flavor.is_elasticsearch_7() => Err(EsError::illegal_argument(format!(
            "request [{}] contains unrecognized parameter: [wait_for_completion]",
            request.path
        ))),
        Some("false") => {
            let id = format!("{}:{}", super::cluster::node_id(0), cluster.task_results.len() + 1);
            cluster.task_results.insert(id.clone(), merged.body);
            Ok(ApiReply::ok(json!({ "task": id })))
        }
        _ => Ok(merged),
    }
}

fn broadcast(cluster: &Cluster, names: &[String]) -> ApiReply {
    let mut total = 0;
    let mut successful = 0;
    for index in names.iter().filter_map(|name| cluster.indices.get(name)) {
        let shards = index.number_of_shards() as usize;
        total += shards * index.copies();
        successful += shards * index.copies().min(cluster.nodes);
    }
    ApiReply::ok(json!({"_shards": {"total": total, "successful": successful, "failed": 0}}))
}

pub(super) fn stats(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    let mut total = (0, 0, 0);
    let indices = by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let own = (index.searchable_count(), index.store_bytes(), index.indexing_total);
        total = (total.0 + own.0, total.1 + own.1, total.2 + own.2);
        let primaries = stats_value(own);
        let mut shown = json!({"uuid": index.uuid, "primaries": primaries, "total": primaries});
        if request.param("level") == Some("shards") {
            shown["shards"] = shards_value(index, cluster.nodes);
        }
        Some(shown)
    });
    let all = stats_value(total);
    Ok(ApiReply::ok(json!({"_all": {"primaries": all, "total": all}, "indices": indices})))
}

/// The copies of each shard that have a node, and how far they are.
fn shards_value(index: &Index, nodes: usize) -> Value {
    let copies = index.copies().min(nodes.max(1));
    let shards = index.next_seq_nos().iter().enumerate().map(|(shard, next)| {
        let max = i64::try_from(*next).unwrap_or(i64::MAX) - 1;
        let seq_no = json!({"max_seq_no": max, "local_checkpoint": max, "global_checkpoint": max});
        let of = |copy: usize| {
            json!({"routing": {"state": "STARTED", "primary": copy == 0, "node": super::cluster::node_id(copy)}, "seq_no": seq_no})
        };
        (shard.to_string(), (0..copies).map(of).collect())
    });
    Value::Object(shards.collect())
}

fn stats_value((docs, bytes, indexed): (usize, usize, u64)) -> Value {
    json!({"docs": {"count": docs, "deleted": 0}, "store": {"size_in_bytes": bytes},
        "indexing": {"index_total": indexed, "index_failed": 0, "is_throttled": false, "throttle_time_in_millis": 0},
        "merges": {"current": 0, "total": 0, "total_throttled_time_in_millis": 0}, "refresh": {"total": 0}, "flush": {"total": 0},
        "segments": {"count": usize::from(docs > 0)}})
}

pub(super) fn write(
    cluster: &mut Cluster,
    index: &str,
    kind: &str,
    id: Option<&str>,
    request: &ApiRequest,
) -> Result<ApiReply, EsError> {
    let delete = request.method == http::Method::DELETE;
    let action = match kind {
        "_doc" if delete => Action::Delete,
        "_update" => Action::Update,
        "_create" => Action::Create,
        _ if request.param("op_type") == Some("create") => Action::Create,
        _ => Action::Index,
    };
    let (seq_no, term) = (request.param("if_seq_no"), request.param("if_primary_term"));
    if seq_no.is_some() != term.is_some() {
        return Err(EsError::validation("ifSeqNo is set, but primary term is [0]"));
    }
    let op = Op {
        action,
        index: index.to_owned(),
        id: id.map(str::to_owned),
        routing: request.param("routing").map(str::to_owned),
        version: request.param("version").and_then(|version| version.parse().ok()),
        version_type: match request.param("version_type") {
            Some("external") => VersionType::External,
            Some("external_gte") => VersionType::ExternalGte,
            _ => VersionType::Internal,
        },
        // The primary term is always 1 here; no document has the sequence number that stands for another one.
        if_seq_no: seq_no.and_then(|seq_no| seq_no.parse().ok()).map(|n| if term == Some("1") { n } else { u64::MAX }),
        pipeline: request.param("pipeline").map(str::to_owned),
        require_alias: request.flag("require_alias"),
        source: request.body.clone(),
    };
    let item = cluster.apply(&op);
    let mut item = item.get(action.name()).cloned().unwrap_or_default();
    let status =
        item.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
    if let Some(error) = item.get("error") {
        let body = json!({"error": {"root_cause": [error], "type": error["type"], "reason": error["reason"]}, "status": status});
        return Ok(ApiReply { status, body });
    }
    if request.param("refresh").is_some_and(|refresh| refresh != "false") {
        refresh(cluster, item["_index"].as_str().unwrap_or(index))?;
    }
    if let Some(object) = item.as_object_mut() {
        object.remove("status");
    }
    Ok(ApiReply { status, body: item })
}

pub(super) fn search(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    search_from(cluster, expression, request, None)
}

/// A search whose first hits are left out: `scrolled` of them in a scroll, where the result window has no end.
pub(super) fn search_from(
    cluster: &Cluster,
    expression: &str,
    request: &ApiRequest,
    scrolled: Option<usize>,
) -> Result<ApiReply, EsError> {
    let body = request.json()?;
    let number = |name: &str, default: usize| {
        let given = body.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        given.or_else(|| request.param(name).and_then(|n| n.parse().ok())).unwrap_or(default)
    };
    let (from, size) = (number("from", 0), number("size", 10));
    if from + size > 10_000 {
        return Err(EsError::new(
            400,
            "search_phase_execution_exception",
            format!(
                "Result window is too large, from + size must be less than or equal to: [10000] but was [{}]",
                from + size
            ),
        ));
    }
    let from = scrolled.unwrap_or(from);
    let everything = json!({"match_all": {}});
    let query = body.get("query").unwrap_or(&everything);
    let PointInTime { documents, shards } = match body.get("pit") {
        Some(_) if !request.segments.is_empty() && request.segments[0] != "_search" => {
            return Err(EsError::validation("[indices] cannot be used with point in time"));
        }
        Some(pit) => super::point_in_time::find(cluster, pit)?,
        None => searchable(cluster, expression, request)?,
    };
    let mut hits: Vec<(String, StoredDocument, Value)> = Vec::new();
    for (name, document) in documents {
        let source = document.json();
        if fits(query, &document, &source)? {
            hits.push((name, document, source));
        }
    }
    sort(&mut hits, body.get("sort"));
    let with_source = body.get("_source") != Some(&json!(false));
    let shown: Vec<Value> = hits
        .iter()
        .skip(from)
        .take(size)
        .map(|(index, document, source)| {
            let mut hit = json!({"_index": index, "_id": document.id, "_score": 1.0});
            if let Some(routing) = &document.routing {
                hit["_routing"] = json!(routing);
            }
            if body.get("seq_no_primary_term") == Some(&json!(true)) {
                hit["_seq_no"] = json!(document.seq_no);
                hit["_primary_term"] = json!(1);
            }
            if body.get("version") == Some(&json!(true)) {
                hit["_version"] = json!(document.version);
            }
            if with_source {
                hit["_source"] = source.clone();
            }
            hit
        })
        .collect();
    let max_score = if hits.is_empty() { Value::Null } else { json!(1.0) };
    let mut reply = json!({
        "took": 1, "timed_out": false,
        "_shards": {"total": shards, "successful": shards, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": hits.len(), "relation": "eq"}, "max_score": max_score, "hits": shown},
    });
    if let Some(aggregations) = body.get("aggs").or_else(|| body.get("aggregations")) {
        let sources: Vec<&Value> = hits.iter().map(|(_, _, source)| source).collect();
        reply["aggregations"] = aggregate(aggregations, &sources)?;
    }
    Ok(ApiReply::ok(reply))
}

/// What a search of indices sees now, of all their shards or of those that are preferred.
pub(super) fn searchable(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<PointInTime, EsError> {
    let only_shards: Option<Vec<u32>> = request
        .param("preference")
        .and_then(|preference| preference.strip_prefix("_shards:"))
        .map(|shards| shards.split('|').next().unwrap_or(shards))
        .map(|shards| shards.split(',').filter_map(|shard| shard.parse().ok()).collect());
    let mut seen = PointInTime { documents: Vec::new(), shards: 0 };
    for name in expand(cluster, expression)? {
        let Some(index) = cluster.indices.get(&name) else {
            continue;
        };
        let is_meant = |shard: u32| only_shards.as_ref().is_none_or(|only| only.contains(&shard));
        seen.shards += (0..index.number_of_shards()).filter(|shard| is_meant(*shard)).count() as u32;
        let documents = index.searchable().into_iter().filter(|document| is_meant(index.shard_of(document)));
        seen.documents.extend(documents.map(|document| (name.clone(), document)));
    }
    Ok(seen)
}

fn sort(hits: &mut [(String, StoredDocument, Value)], by: Option<&Value>) {
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
    hits.sort_by(|(_, a, a_source), (_, b, b_source)| {
        let ordering = match field.as_str() {
            "_doc" => std::cmp::Ordering::Equal,
            "_id" => a.id.cmp(&b.id),
            "_seq_no" => a.seq_no.cmp(&b.seq_no),
            field => {
                let (a, b) = (value_of(a_source, field), value_of(b_source, field));
                match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    _ => a.and_then(Value::as_str).cmp(&b.and_then(Value::as_str)),
                }
            }
        };
        if order == "desc" { ordering.reverse() } else { ordering }
    });
}

/// A field's value by its dotted path; `.keyword` means the text itself.
fn value_of<'a>(source: &'a Value, field: &str) -> Option<&'a Value> {
    let field = field.strip_suffix(".keyword").unwrap_or(field);
    if let Some(value) = source.get(field) {
        return Some(value);
    }
    field.split('.').try_fold(source, |value, part| value.get(part))
}

fn values_of<'a>(source: &'a Value, field: &str) -> Vec<&'a Value> {
    match value_of(source, field) {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(value) => vec![value],
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `match_all`, `ids`, `term`, `terms`, `exists`, `match` on whole values, `range` of `_seq_no`, and `bool` of these.
fn fits(query: &Value, document: &StoredDocument, source: &Value) -> Result<bool, EsError> {
    let id = document.id.as_str();
    let unknown = |name: &str| EsError::new(400, "parsing_exception", format!("unknown query [{name}]"));
    let Some((name, options)) = query.as_object().and_then(|object| object.iter().next()) else {
        return Err(unknown(""));
    };
    let field_and_value = || options.as_object().and_then(|object| object.iter().next());
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(match name.as_str() {
        "match_all" => true,
        "match_none" => false,
        "ids" => list(options.get("values")).iter().any(|one| as_text(one) == id),
        "range" => match field_and_value() {
            Some((field, range)) if field == "_seq_no" => {
                let bound = |name: &str| range.get(name).and_then(Value::as_i64);
                let seq_no = i64::try_from(document.seq_no).unwrap_or(i64::MAX);
                bound("gt").is_none_or(|bound| seq_no > bound)
                    && bound("gte").is_none_or(|bound| seq_no >= bound)
                    && bound("lt").is_none_or(|bound| seq_no < bound)
                    && bound("lte").is_none_or(|bound| seq_no <= bound)
            }
            _ => return Err(unknown("range of anything but _seq_no")),
        },
        "exists" => {
            options.get("field").and_then(Value::as_str).is_some_and(|field| !values_of(source, field).is_empty())
        }
        "term" | "match" => field_and_value().is_some_and(|(field, wanted)| {
            let wanted = as_text(wanted.get("value").or_else(|| wanted.get("query")).unwrap_or(wanted));
            if field == "_id" {
                wanted == id
            } else {
                values_of(source, field).into_iter().any(|value| as_text(value) == wanted)
            }
        }),
        "terms" => field_and_value().is_some_and(|(field, wanted)| {
            let wanted: Vec<String> = list(Some(wanted)).iter().map(as_text).collect();
            if field == "_id" {
                wanted.iter().any(|one| one == id)
            } else {
                values_of(source, field).into_iter().any(|value| wanted.contains(&as_text(value)))
            }
        }),
        "bool" => {
            let clauses = |key: &str| match options.get(key) {
                Some(Value::Array(all)) => all.clone(),
                Some(one) => vec![one.clone()],
                None => Vec::new(),
            };
            for clause in clauses("must").iter().chain(&clauses("filter")) {
                if !fits(clause, document, source)? {
                    return Ok(false);
                }
            }
            for clause in &clauses("must_not") {
                if fits(clause, document, source)? {
                    return Ok(false);
                }
            }
            let should = clauses("should");
            let mut any = should.is_empty();
            for clause in &should {
                any |= fits(clause, document, source)?;
            }
            any
        }
        other => return Err(unknown(other)),
    })
}

fn aggregate(aggregations: &Value, sources: &[&Value]) -> Result<Value, EsError> {
    let mut all = Map::new();
    for (name, definition) in aggregations.as_object().into_iter().flatten() {
        let below = definition.get("aggs").or_else(|| definition.get("aggregations"));
        let kind = definition.as_object().and_then(|object| object.iter().find(|(key, _)| !key.starts_with("agg")));
        let Some((kind, options)) = kind else {
            continue;
        };
        let field = options.get("field").and_then(Value::as_str).unwrap_or_default();
        let numbers: Vec<f64> =
            sources.iter().flat_map(|source| values_of(source, field)).filter_map(Value::as_f64).collect();
        let value = match kind.as_str() {
            "sum" => json!({"value": numbers.iter().sum::<f64>()}),
            "value_count" => {
                json!({"value": sources.iter().map(|source| values_of(source, field).len()).sum::<usize>()})
            }
            "avg" if numbers.is_empty() => json!({"value": null}),
            "avg" => json!({"value": numbers.iter().sum::<f64>() / numbers.len() as f64}),
            "min" => json!({"value": numbers.iter().copied().reduce(f64::min)}),
            "max" => json!({"value": numbers.iter().copied().reduce(f64::max)}),
            "terms" => terms(options, field, below, sources)?,
            other => {
                return Err(EsError::new(400, "parsing_exception", format!("Unknown aggregation type [{other}]")));
            }
        };
        all.insert(name.clone(), value);
    }
    Ok(Value::Object(all))
}

fn terms(options: &Value, field: &str, below: Option<&Value>, sources: &[&Value]) -> Result<Value, EsError> {
    let mut groups: BTreeMap<String, (Value, Vec<&Value>)> = BTreeMap::new();
    for source in sources {
        for value in values_of(source, field) {
            groups.entry(as_text(value)).or_insert_with(|| (value.clone(), Vec::new())).1.push(source);
        }
    }
    let mut groups: Vec<(Value, Vec<&Value>)> = groups.into_values().collect();
    // The sort is stable: equal counts stay ordered by key, as on the servers.
    groups.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
    let size = options.get("size").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or(10);
    let other: usize = groups.iter().skip(size).map(|(_, members)| members.len()).sum();
    let mut buckets = Vec::new();
    for (key, members) in groups.into_iter().take(size) {
        let mut bucket = json!({"key": key, "doc_count": members.len()});
        if let (Some(below), Some(object)) = (below, bucket.as_object_mut())
            && let Value::Object(inner) = aggregate(below, &members)?
        {
            object.extend(inner);
        }
        buckets.push(bucket);
    }
    Ok(json!({"doc_count_error_upper_bound": 0, "sum_other_doc_count": other, "buckets": buckets}))
}

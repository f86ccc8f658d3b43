//! Aggregations: `sum`, `value_count`, `avg`, `min`, `max` and `terms`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::query::{as_text, values_of};
use crate::error::ServerError;

/// The results of aggregations over the sources of hits.
pub(super) fn aggregate(aggregations: &Value, sources: &[&Value]) -> Result<Value, ServerError> {
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
                return Err(ServerError::new(400, "parsing_exception", format!("Unknown aggregation type [{other}]")));
            }
        };
        all.insert(name.clone(), value);
    }
    Ok(Value::Object(all))
}

/// The aggregation `terms`, with the aggregations `below` for each bucket.
fn terms(options: &Value, field: &str, below: Option<&Value>, sources: &[&Value]) -> Result<Value, ServerError> {
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

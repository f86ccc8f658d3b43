//! Proof that what an index has acknowledged is durable: a flush on every assigned copy, and the
//! primary terms afterwards.
//!
//! The terms come from the cluster state, the only place on both products that has them for every
//! shard. (`_primary_term` of a bulk item does not say of which shard.
//! `retention_leases.primary_term` of the shard's statistics is the term of the last change of
//! leases.) The master publishes a term before the shard is active in it, so the state read after a
//! flush shows the term in which the flush succeeded.

use http::Method;
use inrush_core::flow::{Flushed, PrimaryTerms};
use serde_json::{Map, Value};

use super::error::ClusterError;
use super::stats;
use crate::transport::{Transport, path_segment};

const FILTER: &str = "metadata.indices.*.settings.index.uuid,metadata.indices.*.primary_terms,routing_table.indices.*.shards.*.state,routing_table.indices.*.shards.*.primary";

/// UUID and primary terms of `index`, which must not be an alias.
///
/// # Errors
/// [`ClusterError`] if the request fails. The user needs the privilege to read the cluster state
/// (`cluster:monitor/state`).
pub async fn read(transport: &Transport, index: &str) -> Result<PrimaryTerms, ClusterError> {
    look(transport, index).await.map(|(terms, _)| terms)
}

/// Flushes `index` and reads its primary terms afterwards.
pub async fn flush(transport: &Transport, index: &str) -> Flushed {
    match try_flush(transport, index).await {
        Ok(flushed) => flushed,
        Err(error) => Flushed::Failed(error.to_string()),
    }
}

async fn try_flush(transport: &Transport, index: &str) -> Result<Flushed, ClusterError> {
    let shards = stats::flush(transport, index).await?;
    let (terms, copies) = look(transport, index).await?;
    Ok(match copies {
        _ if shards.failed > 0 => Flushed::Failed(format!("it failed on {} copies of {index}", shards.failed)),
        None => Flushed::Failed(format!("a primary shard of {index} is not active")),
        Some(copies) if shards.successful < copies => {
            Flushed::Failed(format!("it reached {} of {copies} active copies of {index}", shards.successful))
        }
        Some(_) => Flushed::Done(terms),
    })
}

/// The same, with the number of active copies. The number is `None` if a primary is not active.
async fn look(transport: &Transport, index: &str) -> Result<(PrimaryTerms, Option<u64>), ClusterError> {
    let what = format!("asking for the primary terms of {index}");
    let path = format!("/_cluster/state/metadata,routing_table/{}?filter_path={FILTER}", path_segment(index));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    parse(index, &body).ok_or_else(|| ClusterError::Reply { what, problem: format!("they are not in {body}") })
}

fn parse(index: &str, body: &Value) -> Option<(PrimaryTerms, Option<u64>)> {
    let metadata = body.get("metadata")?.get("indices")?.get(index)?;
    let uuid = metadata.pointer("/settings/index/uuid")?.as_str()?.to_owned();
    let by_shard = metadata.get("primary_terms")?.as_object()?;
    let terms: Option<Vec<u64>> = (0..by_shard.len()).map(|shard| by_shard.get(&shard.to_string())?.as_u64()).collect();
    let terms = terms.filter(|terms| !terms.is_empty())?;
    let shards = body.get("routing_table")?.get("indices")?.get(index)?.get("shards")?.as_object()?;
    let copies = active(shards, terms.len());
    Some((PrimaryTerms { index: index.to_owned(), uuid, terms }, copies))
}

fn active(shards: &Map<String, Value>, expected: usize) -> Option<u64> {
    let is_active = |copy: &&Value| matches!(copy["state"].as_str(), Some("STARTED" | "RELOCATING"));
    let mut all = 0;
    let mut primaries = 0;
    for copy in shards.values().filter_map(Value::as_array).flatten().filter(is_active) {
        all += 1;
        primaries += usize::from(copy["primary"] == true);
    }
    (primaries == expected).then_some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(copies: &Value) -> Value {
        json!({
            "metadata": {"indices": {"a.b": {"settings": {"index": {"uuid": "u"}}, "primary_terms": {"1": 4, "0": 3}}}},
            "routing_table": {"indices": {"a.b": {"shards": {"0": [{"state": "STARTED", "primary": true}], "1": copies}}}},
        })
    }

    #[test]
    fn copies_count_where_every_primary_is_active() {
        let check = |copies: Value, expected: Option<u64>| {
            let (terms, found) = parse("a.b", &state(&copies)).unwrap();
            assert_eq!((terms.uuid.as_str(), terms.terms), ("u", vec![3, 4]));
            assert_eq!(found, expected, "{copies}");
        };
        let copy = |state: &str, primary: bool| json!({"state": state, "primary": primary});
        check(json!([copy("STARTED", true)]), Some(2));
        check(json!([copy("STARTED", false), copy("RELOCATING", true)]), Some(3));
        check(json!([copy("STARTED", true), copy("INITIALIZING", false), copy("UNASSIGNED", false)]), Some(2));
        check(json!([copy("UNASSIGNED", true), copy("STARTED", false)]), None);
        check(json!([copy("INITIALIZING", true)]), None);
        check(json!([]), None);
        assert!(parse("other", &state(&json!([]))).is_none());
    }
}

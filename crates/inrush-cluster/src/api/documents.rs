//! Reading single documents back.

use http::Method;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::error::ClusterError;
use crate::transport::Transport;

/// The key of a document to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentKey {
    /// The name of the index itself: the servers refuse an alias of several indices.
    pub index: String,
    /// The id.
    pub id: String,
    /// The routing value, if the document was written with one. Without it, the document is not
    /// found.
    pub routing: Option<String>,
}

/// A document as the index has it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The JSON of the server, not parsed. `None` if the index does not keep it.
    pub source: Option<Box<RawValue>>,
    /// The version; 0 if the server does not say.
    pub version: u64,
    /// The sequence number in its shard; -1 if the server does not say.
    pub seq_no: i64,
    /// The primary term in which it was written; 0 if the server does not say.
    pub primary_term: u64,
}

/// Reads documents by id, in the order of `keys`, in their present state on the shards (no refresh
/// is needed). An entry is `None` if there is no such document or no such index.
///
/// # Errors
/// [`ClusterError`] if the request fails, or if a document could not be looked up (its shard is not
/// available). That is different from a missing document.
pub async fn mget(transport: &Transport, keys: &[DocumentKey]) -> Result<Vec<Option<Stored>>, ClusterError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!("reading {} documents back", keys.len());
    let docs: Vec<_> = keys
        .iter()
        .map(|key| match &key.routing {
            Some(routing) => json!({"_index": key.index, "_id": key.id, "routing": routing}),
            None => json!({"_index": key.index, "_id": key.id}),
        })
        .collect();
    let answer = transport.ask(Method::POST, "/_mget", Some(&json!({ "docs": docs }))).await?;
    if !(200..=299).contains(&answer.status()) {
        return Err(ClusterError::from_status(&what, answer.status(), &answer.json(&what)?));
    }
    parse(&what, &answer.response.body, keys.len())
}

#[derive(Deserialize)]
struct Reply {
    docs: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    #[serde(rename = "_index")]
    index: Option<String>,
    #[serde(default)]
    found: bool,
    #[serde(rename = "_source")]
    source: Option<Box<RawValue>>,
    #[serde(rename = "_version", default)]
    version: u64,
    #[serde(rename = "_seq_no")]
    seq_no: Option<i64>,
    #[serde(rename = "_primary_term", default)]
    primary_term: u64,
    error: Option<serde_json::Value>,
}

fn parse(what: &str, body: &[u8], expected: usize) -> Result<Vec<Option<Stored>>, ClusterError> {
    let reply = |problem: String| ClusterError::Reply { what: what.to_owned(), problem };
    let parsed: Reply = serde_json::from_slice(body).map_err(|error| reply(error.to_string()))?;
    if parsed.docs.len() != expected {
        return Err(reply(format!("{} entries for {expected} documents", parsed.docs.len())));
    }
    let document = |found: Found| match found.error {
        Some(error) if error.get("type").and_then(|kind| kind.as_str()) == Some("index_not_found_exception") => {
            Ok(None)
        }
        Some(error) if error.get("type").and_then(|kind| kind.as_str()) == Some("routing_missing_exception") => {
            Err(reply(format!("a document could not be read: {error}")))
        }
        // Its shard is not available.
        Some(error) => Err(ClusterError::Target {
            name: found.index.unwrap_or_default(),
            problem: format!("a document could not be read: {error}"),
        }),
        None if !found.found => Ok(None),
        None => Ok(Some(Stored {
            source: found.source,
            version: found.version,
            seq_no: found.seq_no.unwrap_or(-1),
            primary_term: found.primary_term,
        })),
    };
    parsed.docs.into_iter().map(document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_in_order_and_as_they_were_sent() {
        let body = br#"{"docs":[{"_index":"a","_id":"1","found":true,"_version":3,"_seq_no":7,"_primary_term":2,"_source":{"n": 1.50}},
            {"_index":"a","_id":"2","found":false},
            {"_index":"b","_id":"3","error":{"type":"index_not_found_exception","reason":"no such index [b]"}}]}"#;
        let found = parse("reading", body, 3).unwrap();
        let texts: Vec<Option<&str>> =
            found.iter().map(|found| found.as_ref()?.source.as_deref().map(RawValue::get)).collect();
        let first = found[0].as_ref().unwrap();
        assert_eq!((first.version, first.seq_no, first.primary_term), (3, 7, 2));
        assert_eq!(texts, [Some(r#"{"n": 1.50}"#), None, None]);
    }

    #[test]
    fn a_document_that_could_not_be_looked_up_is_not_a_missing_one() {
        let body = br#"{"docs":[{"_index":"a","_id":"1","error":{"type":"no_shard_available_action_exception","reason":"x"}}]}"#;
        assert!(parse("reading", body, 1).unwrap_err().to_string().contains("no_shard_available"));
        let short = parse("reading", br#"{"docs":[]}"#, 1).unwrap_err().to_string();
        assert!(short.contains("0 entries for 1"), "{short}");
    }
}

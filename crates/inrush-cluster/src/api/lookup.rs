//! Looking up many documents of one index by id, and reading all ids of an index, page by page.

use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::ClusterError;
use super::stored;
use crate::transport::{Transport, path_segment};

/// Ids on one page of a [`Scan`]: the servers' default of `index.max_result_window`.
const PAGE: usize = 10_000;

/// How long the servers keep the context of a [`Scan`] between two pages.
const KEEP: &str = "5m";

/// How documents are found by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// In the one index of this name, by `_mget`: in their present state, refreshed or not.
    Get(String),
    /// In everything that this name stands for (a data stream, an alias of several indices or with
    /// a filter), by a search: as of the last refresh.
    Search(String),
}

/// What is asked for of documents beside their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Nothing.
    None,
    /// The source, as the server returns it by default.
    Source,
    /// The source with the vectors that the server leaves out by default. Elasticsearch 9.2 and
    /// newer only.
    SourceWithVectors,
}

impl Contents {
    fn is_some(self) -> bool {
        self != Contents::None
    }

    /// The value of `_source` in a search.
    fn in_search(self) -> Value {
        match self {
            Contents::None => Value::Bool(false),
            Contents::Source => Value::Bool(true),
            Contents::SourceWithVectors => json!({"exclude_vectors": false}),
        }
    }

    /// The parameters of `_mget`.
    fn in_get(self) -> &'static str {
        match self {
            Contents::None => "_source=false",
            Contents::Source => "_source=true",
            Contents::SourceWithVectors => "_source=true&_source_exclude_vectors=false",
        }
    }
}

/// The key of a document to look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The id.
    pub id: String,
    /// The routing value, if known. Then only a document that was written with it is found.
    pub routing: Option<String>,
}

/// A document that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The source as the server sent it. `None` if it was not requested.
    pub source: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Reply<T> {
    docs: Option<Vec<T>>,
    #[serde(rename = "_scroll_id")]
    scroll: Option<String>,
    #[serde(default)]
    timed_out: bool,
    #[serde(rename = "_shards")]
    shards: Option<Shards>,
    hits: Option<Hits<T>>,
}

#[derive(Deserialize)]
struct Shards {
    #[serde(default)]
    failed: u64,
}

#[derive(Deserialize)]
struct Hits<T> {
    total: Option<Total>,
    hits: Vec<T>,
}

#[derive(Deserialize)]
struct Total {
    value: usize,
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "_routing")]
    routing: Option<String>,
    found: Option<bool>,
    #[serde(rename = "_source")]
    source: Option<Box<RawValue>>,
    error: Option<Value>,
}

impl Document {
    fn is(&self, wanted: &Wanted) -> bool {
        self.id == wanted.id && (wanted.routing.is_none() || self.routing == wanted.routing)
    }
}

impl Lookup {
    /// Looks up the `wanted` documents and returns the found ones in their order. An entry has
    /// several documents if an id is in several indices of the name.
    ///
    /// # Errors
    /// [`ClusterError`] if the request fails, or if a document could not be looked up (its shard is
    /// not available). That is different from a missing document.
    pub async fn find(
        &self,
        transport: &Transport,
        wanted: &[Wanted],
        contents: Contents,
    ) -> Result<Vec<Vec<Found>>, ClusterError> {
        match self {
            _ if wanted.is_empty() => Ok(Vec::new()),
            Lookup::Get(index) => get(transport, index, wanted, contents).await,
            Lookup::Search(name) => search(transport, name, wanted, contents).await,
        }
    }

    /// The name of the index, alias or data stream.
    pub fn name(&self) -> &str {
        match self {
            Lookup::Get(name) | Lookup::Search(name) => name,
        }
    }
}

async fn get(
    transport: &Transport,
    index: &str,
    wanted: &[Wanted],
    contents: Contents,
) -> Result<Vec<Vec<Found>>, ClusterError> {
    let what = format!("looking up {} documents of {index}", wanted.len());
    let docs: Vec<Value> = wanted
        .iter()
        .map(|one| match &one.routing {
            Some(routing) => json!({"_id": one.id, "routing": routing}),
            None => json!({"_id": one.id}),
        })
        .collect();
    let path = format!("/{}/_mget?{}", path_segment(index), contents.in_get());
    let reply = read(transport, &what, Method::POST, &path, &json!({ "docs": docs })).await?;
    let documents = reply.docs.unwrap_or_default();
    let wrong = |problem: String| ClusterError::Reply { what: what.clone(), problem };
    if documents.len() != wanted.len() {
        return Err(wrong(format!("{} entries for {} documents", documents.len(), wanted.len())));
    }
    let entries = documents.into_iter().zip(wanted).map(|(document, wanted)| match &document.error {
        Some(error) if error["type"] == "routing_missing_exception" => {
            Err(wrong(format!("the document {:?} could not be read: {error}", wanted.id)))
        }
        // Its shard is not available.
        Some(error) => Err(ClusterError::Target {
            name: index.to_owned(),
            problem: format!("the document {:?} could not be read: {error}", wanted.id),
        }),
        // An index of one shard finds a document with any routing.
        None if document.found == Some(true) && document.is(wanted) => {
            found(document, contents, &what).map(|f| vec![f])
        }
        None => Ok(Vec::new()),
    });
    entries.collect()
}

async fn search(
    transport: &Transport,
    name: &str,
    wanted: &[Wanted],
    contents: Contents,
) -> Result<Vec<Vec<Found>>, ClusterError> {
    let what = format!("searching {} documents of {name} by id", wanted.len());
    let ids: Vec<&str> = wanted.iter().map(|one| one.id.as_str()).collect();
    let query = json!({"ids": {"values": ids}});
    let body = json!({"query": query, "size": PAGE, "_source": contents.in_search(), "track_total_hits": true});
    let path = format!("/{}/_search?allow_partial_search_results=false", path_segment(name));
    let reply = read(transport, &what, Method::POST, &path, &body).await?;
    let hits = reply.hits.unwrap_or(Hits { total: None, hits: Vec::new() });
    let total = hits.total.map_or(hits.hits.len(), |total| total.value);
    if total > hits.hits.len() {
        let problem = format!("only {} of {total} documents with these ids were answered", hits.hits.len());
        return Err(ClusterError::Reply { what, problem });
    }
    let mut by_id: std::collections::HashMap<&str, Vec<usize>> = std::collections::HashMap::new();
    for (at, one) in wanted.iter().enumerate() {
        by_id.entry(one.id.as_str()).or_default().push(at);
    }
    let mut all: Vec<Vec<Found>> = wanted.iter().map(|_| Vec::new()).collect();
    for hit in hits.hits {
        let places = by_id.get(hit.id.as_str()).cloned().unwrap_or_default();
        let places: Vec<usize> = places.into_iter().filter(|at| hit.is(&wanted[*at])).collect();
        let found = found(hit, contents, &what)?;
        for at in places {
            all[at].push(found.clone());
        }
    }
    Ok(all)
}

fn found(document: Document, contents: Contents, what: &str) -> Result<Found, ClusterError> {
    if contents.is_some() && document.source.is_none() {
        let problem = format!("the document {:?} has no _source", document.id);
        return Err(ClusterError::Reply { what: what.to_owned(), problem });
    }
    Ok(Found { source: document.source.filter(|_| contents.is_some()) })
}

/// A scan of all documents of an index, alias or data stream that a search finds. They come in no
/// particular order, as of the beginning of the scan.
pub struct Scan<'a> {
    transport: &'a Transport,
    what: String,
    path: String,
    scroll: Option<String>,
}

impl<'a> Scan<'a> {
    /// A scan of `name` that has not begun.
    pub fn new(transport: &'a Transport, name: &str) -> Self {
        let path = format!("/{}/_search?scroll={KEEP}&allow_partial_search_results=false", path_segment(name));
        Scan { transport, what: format!("reading the ids of {name}"), path, scroll: None }
    }

    /// The next ids with their routing values. Empty at the end.
    ///
    /// # Errors
    /// [`ClusterError`] if the request fails, or if a shard did not answer. A page whose reply was
    /// lost cannot be requested again: the scan has to begin anew.
    pub async fn next(&mut self) -> Result<Vec<(String, Option<String>)>, ClusterError> {
        let reply = match &self.scroll {
            None => {
                let body = json!({"size": PAGE, "_source": false, "sort": ["_doc"]});
                read(self.transport, &self.what, Method::POST, &self.path, &body).await?
            }
            Some(id) => {
                let body = json!({"scroll": KEEP, "scroll_id": id});
                read(self.transport, &self.what, Method::POST, "/_search/scroll", &body).await?
            }
        };
        self.scroll = reply.scroll.or_else(|| self.scroll.take());
        let hits = reply.hits.map(|hits| hits.hits).unwrap_or_default();
        Ok(hits.into_iter().map(|hit| (hit.id, hit.routing)).collect())
    }

    /// Closes the scan on the servers. They close it by themselves after five minutes.
    pub async fn close(self) {
        if let Some(id) = self.scroll {
            let body = json!({ "scroll_id": [id] });
            if let Err(error) = self.transport.demand(&self.what, Method::DELETE, "/_search/scroll", Some(&body)).await
            {
                tracing::debug!("a scroll could not be closed: {error}");
            }
        }
    }
}

async fn read(
    transport: &Transport,
    what: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Reply<Document>, ClusterError> {
    let answer = transport.ask(method, path, Some(body)).await?;
    if !(200..=299).contains(&answer.status()) {
        return Err(ClusterError::from_status(what, answer.status(), &answer.json(what)?));
    }
    let wrong = |problem: String| ClusterError::Reply { what: what.to_owned(), problem };
    let reply: Reply<Document> = serde_json::from_slice(&answer.response.body)
        .map_err(|error| stored::no_json(what, &answer.response.body).unwrap_or_else(|| wrong(error.to_string())))?;
    let failed = reply.shards.as_ref().map_or(0, |shards| shards.failed);
    if reply.timed_out || failed > 0 {
        return Err(wrong(format!("the answer is not complete: {failed} shards failed")));
    }
    Ok(reply)
}

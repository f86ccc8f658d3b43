//! Documents of this program in hidden indices of the cluster. Loads on several machines coordinate
//! through them. They are written by compare-and-set only.

use crate::BoxFuture;
use std::sync::Arc;

use http::Method;
use inrush_core::settings_guard::{Precondition, Version};
use serde_json::{Value, json};

use super::error::ClusterError;
use super::index::{self, CreateIndex};
use crate::transport::{Transport, path_segment};

/// How long the server waits for the shard. The server's default is a minute.
const TIMEOUT: &str = "timeout=10s";

/// One such document.
#[derive(Clone)]
pub struct OwnDocument {
    /// The cluster.
    pub transport: Arc<Transport>,
    /// The index that holds the document.
    pub index: &'static str,
    /// The id of the document.
    pub id: String,
}

impl OwnDocument {
    fn path(&self, query: &str) -> String {
        format!("/{}/_doc/{}{query}", self.index, path_segment(&self.id))
    }

    /// Reads the document in its present state on the shard, refreshed or not.
    pub fn read<'a>(&'a self, what: &'a str) -> BoxFuture<'a, Result<Option<(Value, Version)>, ClusterError>> {
        Box::pin(async move {
            let found = self.transport.find(what, Method::GET, &self.path("")).await?;
            let Some(mut body) = found else { return Ok(None) };
            let version = version(what, &body)?;
            let source = body.get_mut("_source").map(Value::take).unwrap_or_default();
            Ok(Some((source, version)))
        })
    }

    /// Writes the document, and creates its index if needed. `None` if another writer has changed
    /// the document.
    pub fn write<'a>(
        &'a self,
        what: &'a str,
        value: &'a Value,
        over: Precondition,
    ) -> BoxFuture<'a, Result<Option<Version>, ClusterError>> {
        Box::pin(async move {
            let query = match over {
                Precondition::Absent => {
                    ensure_index(&self.transport, self.index).await?;
                    format!("?op_type=create&{TIMEOUT}")
                }
                Precondition::Version(version) => at(version),
            };
            let answer = self.transport.ask(Method::PUT, &self.path(&query), Some(value)).await?;
            let body = answer.json(what)?;
            match answer.status() {
                200..=299 => version(what, &body).map(Some),
                // An earlier attempt may have written it.
                409 if answer.in_doubt => {
                    let found = self.read(what).await?;
                    Ok(found.filter(|(now, _)| now == value).map(|(_, version)| version))
                }
                // 404: the index was deleted, and the server does not create it by itself.
                404 | 409 => Ok(None),
                status => Err(ClusterError::from_status(what, status, &body)),
            }
        })
    }

    /// Deletes the document. False if another writer has changed or deleted it.
    pub async fn delete(&self, what: &str, version: Version) -> Result<bool, ClusterError> {
        let answer = self.transport.ask(Method::DELETE, &self.path(&at(version)), None).await?;
        match answer.status() {
            200..=299 => Ok(true),
            // An earlier attempt may have deleted it. The servers answer a condition on a document
            // that does not exist with 409, too.
            404 | 409 if answer.in_doubt => Ok(self.read(what).await?.is_none()),
            404 | 409 => Ok(false),
            status => Err(ClusterError::from_status(what, status, &answer.json(what)?)),
        }
    }

    /// The same document, with requests for which nothing waits long.
    #[must_use]
    pub fn brief(&self) -> Self {
        OwnDocument { transport: Arc::new(self.transport.brief()), ..self.clone() }
    }
}

/// Creates the hidden index `name`, unless it exists: a user who may write to it may lack the
/// privilege to create it.
async fn ensure_index(transport: &Transport, name: &str) -> Result<(), ClusterError> {
    let found = index::exists(transport, name).await;
    if matches!(found, Ok(true)) {
        return Ok(());
    }
    let settings = json!({"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": true}});
    let mappings = json!({"dynamic": false});
    let how = CreateIndex { settings: Some(settings), mappings: Some(mappings), ..CreateIndex::default() };
    match index::create(transport, name, &how).await {
        // It may exist. If it does not, the write is refused, or creates it.
        Err(error) if found.is_err() && error.status() == Some(403) => Ok(()),
        created => created.map(|_| ()),
    }
}

fn at(version: Version) -> String {
    format!("?if_seq_no={}&if_primary_term={}&{TIMEOUT}", version.seq_no, version.primary_term)
}

fn version(what: &str, body: &Value) -> Result<Version, ClusterError> {
    let number = |key: &str| {
        body.get(key)
            .and_then(Value::as_u64)
            .ok_or_else(|| ClusterError::Reply { what: what.to_owned(), problem: format!("no number at {key}") })
    };
    Ok(Version { seq_no: number("_seq_no")?, primary_term: number("_primary_term")? })
}

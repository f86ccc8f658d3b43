//! Documents of this program's own, in hidden indices of the cluster: what loads on several
//! machines have to agree on. They are written by compare-and-set only.

use std::sync::Arc;

use http::Method;
use inrush_core::settings_guard::{Precondition, Version};
use serde_json::{Value, json};

use super::error::ClusterError;
use super::index::{self, CreateIndex};
use crate::transport::{Transport, path_segment};

/// How long the server waits for the shard; its default is a minute.
const TIMEOUT: &str = "timeout=10s";

/// One document.
#[derive(Clone)]
pub struct OwnDocument {
    /// The cluster.
    pub transport: Arc<Transport>,
    /// The index that holds it.
    pub index: &'static str,
    /// Its id there.
    pub id: String,
}

impl OwnDocument {
    fn path(&self, query: &str) -> String {
        format!("/{}/_doc/{}{query}", self.index, path_segment(&self.id))
    }

    /// The document, as it is on its shard now, whatever was refreshed.
    pub async fn read(&self, what: &str) -> Result<Option<(Value, Version)>, ClusterError> {
        let answer = self.transport.ask(Method::GET, &self.path(""), None).await?;
        let mut body = answer.json(what)?;
        match answer.status() {
            200 => {
                let version = version(what, &body)?;
                let source = body.get_mut("_source").map(Value::take).unwrap_or_default();
                Ok(Some((source, version)))
            }
            404 => Ok(None),
            status => Err(ClusterError::from_status(what, status, &body)),
        }
    }

    /// Writes it, and makes its index if it has to. None: somebody else has changed it.
    pub async fn write(&self, what: &str, value: &Value, over: Precondition) -> Result<Option<Version>, ClusterError> {
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
            // 404: the index was deleted, and the server makes none by itself.
            404 | 409 => Ok(None),
            status => Err(ClusterError::from_status(what, status, &body)),
        }
    }

    /// Deletes it. False: somebody else has changed or deleted it.
    pub async fn delete(&self, what: &str, version: Version) -> Result<bool, ClusterError> {
        let answer = self.transport.ask(Method::DELETE, &self.path(&at(version)), None).await?;
        match answer.status() {
            200..=299 => Ok(true),
            404 | 409 => Ok(false),
            status => Err(ClusterError::from_status(what, status, &answer.json(what)?)),
        }
    }
}

/// Makes the hidden index `name`, unless it is there: a user who may write to it may lack the right to
/// make it.
async fn ensure_index(transport: &Transport, name: &str) -> Result<(), ClusterError> {
    // Who may not look is told by the write.
    if index::exists(transport, name).await.unwrap_or(true) {
        return Ok(());
    }
    let settings = json!({"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": true}});
    let mappings = json!({"dynamic": false});
    let how = CreateIndex { settings: Some(settings), mappings: Some(mappings), ..CreateIndex::default() };
    index::create(transport, name, &how).await.map(|_| ())
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

//! What the tasks that read an index share.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use inrush_cluster::api::{ClusterError, ClusterInfo, Product};
use inrush_cluster::transport::{HttpErrorKind, Transport, path_segment};
use inrush_core::{Code, DocBlock, SourceId};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::{SourceError, Warnings};
use super::pace::Pace;
use super::page::Ask;
use super::shared_ids::SharedIds;
use super::snapshot::preference;

/// A message of the reading tasks to the source.
pub(super) enum Message {
    /// Documents, and a permit for their memory.
    Block(DocBlock, OwnedSemaphorePermit),
    /// The end of the source.
    End(Result<(), SourceError>),
}

/// A shard, and the position in it.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub(super) source: SourceId,
    pub(super) index: String,
    pub(super) number: u32,
    /// The first sequence number that was not read yet.
    pub(super) next: u64,
    pub(super) filter: Option<Value>,
    pub(super) pace: Pace,
}

/// State that all tasks share.
pub(super) struct Reading {
    pub(super) transport: Transport,
    pub(super) info: ClusterInfo,
    pub(super) expression: String,
    pub(super) ask: Ask,
    /// UUIDs of the indices, which tell them from later ones of the same name.
    pub(super) uuids: BTreeMap<String, String>,
    /// Reads documents that are written meanwhile as well.
    pub(super) catch_up: bool,
    pub(super) retry_for: Duration,
    pub(super) warnings: Warnings,
    /// Looks for ids of several indices.
    pub(super) shared_ids: Option<SharedIds>,
    /// One permit for each page in memory.
    pub(super) pages: Arc<Semaphore>,
    pub(super) messages: mpsc::Sender<Message>,
}

/// The source was dropped.
pub(super) struct Gone;

pub(super) enum Ended {
    Gone,
    Failed(SourceError),
}

impl From<Gone> for Ended {
    fn from(_: Gone) -> Self {
        Ended::Gone
    }
}

impl Reading {
    pub(super) fn failed(&self, code: Code, why: String) -> Ended {
        Ended::Failed(SourceError::new(&*self.expression, why).coded(code))
    }
}

/// Whether a retry is useless.
pub(super) fn is_fatal(error: &ClusterError) -> bool {
    match error {
        ClusterError::Http(error) => error.kind == HttpErrorKind::Local,
        _ => !matches!(error.status(), Some(429 | 500 | 502..=504)),
    }
}

/// Path of a search in a shard. A point in time knows its index and shard.
pub(super) fn search_path(shard: &Shard, product: Product, in_snapshot: bool) -> String {
    if in_snapshot {
        return "/_search?allow_partial_search_results=false".to_owned();
    }
    let preference = preference(product, shard.number);
    format!("/{}/_search?allow_partial_search_results=false&preference={preference}", path_segment(&shard.index))
}

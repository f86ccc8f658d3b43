//! The segments of an index from moment to moment: read from a cluster, recorded to a file and
//! played again, summed up, and what would change them, in words.
//!
//! A [`SegmentsMoment`] is also JSON (docs/segments.md): a front end draws it, a page plays it.

mod advice;
mod lately;
mod recording;
mod totals;

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_cluster::BoxFuture;
pub use inrush_cluster::api::segments::{MergeActivity, Segment, ShardSegments};
use inrush_cluster::api::{ClusterError, segments as api};
use inrush_cluster::transport::Transport;
use serde::{Deserialize, Serialize};

pub use advice::{Advice, advise};
pub use lately::{Lately, Since};
pub use recording::{Header, Recorder, Recording, RecordingError};
pub use totals::Totals;

/// The segments of all copies of the shards of an index, or of several, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SegmentsMoment {
    /// When the cluster was asked, ms since 1970.
    pub time: u64,
    /// The copies of all shards, in the order of index and shard, the primary before its replicas.
    #[serde(default)]
    pub shards: Vec<ShardSegments>,
    /// Copies that have no node, or whose node did not answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub absent: u64,
    /// What merging and the like have cost. `None` if the cluster did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<MergeActivity>,
    /// `index.refresh_interval` of each index that sets it. The servers' default is `1s`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refresh: BTreeMap<String, String>,
    /// Why the cluster could not be asked at this moment. The rest is then that of the moment
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Reads moments from a cluster, by GET requests only.
#[derive(Debug)]
pub struct SegmentsReader {
    transport: Arc<Transport>,
    index: Option<String>,
    /// The names of the nodes that were seen, by their ids.
    nodes: BTreeMap<String, String>,
    last: SegmentsMoment,
}

impl SegmentsReader {
    /// Reads `index` (a name, alias, data stream, pattern, or several with commas between them), or
    /// all open indices.
    pub fn new(transport: Arc<Transport>, index: Option<String>) -> Self {
        SegmentsReader { transport, index, nodes: BTreeMap::new(), last: SegmentsMoment::default() }
    }

    /// The moment of now; `time` is now in ms since 1970.
    ///
    /// # Errors
    /// No node answers, the user may not read segments, or the index does not exist or is closed.
    pub fn read(&mut self, time: u64) -> BoxFuture<'_, Result<SegmentsMoment, ClusterError>> {
        Box::pin(async move {
            let (transport, index) = (&self.transport, self.index.as_deref());
            let (segments, activity, refresh) = tokio::join!(
                api::segments(transport, index),
                api::activity(transport, index),
                api::refresh_intervals(transport, index),
            );
            let api::IndexSegments { mut shards, absent } = segments?;
            self.name_nodes(&mut shards).await;
            let (activity, refresh) = (activity.ok(), refresh.unwrap_or_default());
            self.last = SegmentsMoment { time, shards, absent, activity, refresh, trouble: None };
            Ok(self.last.clone())
        })
    }

    /// The moment of now, or that of before with the reason why there is no new one.
    pub fn read_or_last(&mut self, time: u64) -> BoxFuture<'_, SegmentsMoment> {
        Box::pin(async move {
            match self.read(time).await {
                Ok(moment) => moment,
                Err(error) => SegmentsMoment { time, trouble: Some(error.to_string()), ..self.last.clone() },
            }
        })
    }

    /// Puts the names of nodes in the place of their ids. Where the user may not read names, the
    /// ids stay.
    async fn name_nodes(&mut self, shards: &mut [ShardSegments]) {
        if shards.iter().any(|shard| !self.nodes.contains_key(&shard.node)) {
            self.nodes.extend(api::node_names(&self.transport).await.unwrap_or_default());
        }
        for shard in shards {
            // An id without a name is not asked for again.
            let name = self.nodes.entry(shard.node.clone()).or_insert_with(|| shard.node.clone());
            shard.node.clone_from(name);
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests;

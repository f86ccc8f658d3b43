//! Checkpoints: the state that is needed to resume an interrupted load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::block::{Partition, SourceId};
use crate::ranges::Ranges;
use crate::report::{Counts, ErrorCount, IndexCounts};

/// The state of a load between two steps. The counts cover exactly the settled documents, so a
/// resumed load counts each document once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The partitions that were started.
    pub partitions: Vec<PartitionCheckpoint>,
    /// The sums. `possible_duplicates` includes the retries that are allowed before the next
    /// checkpoint.
    pub counts: Counts,
    /// Counts by index.
    pub indices: BTreeMap<String, IndexCounts>,
    /// Errors of dead letters, by kind.
    pub errors: Vec<ErrorCount>,
}

/// The progress of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionCheckpoint {
    /// The source.
    pub source: SourceId,
    /// The partition of the source.
    pub partition: u32,
    /// The settled documents, by their number in the partition.
    pub settled: Ranges,
    /// Numbers in `settled` without a document, where the source numbers its documents itself.
    #[serde(default)]
    pub absent: u64,
    /// Documents from this number on were certainly not sent.
    pub horizon: u64,
}

impl PartitionCheckpoint {
    /// The source and the partition.
    pub fn partition(&self) -> Partition {
        (self.source, self.partition)
    }

    /// All documents below this number are settled.
    pub fn settled_up_to(&self) -> u64 {
        self.settled.iter().next().filter(|(first, _)| *first == 0).map_or(0, |(_, end)| end)
    }

    /// The number of settled documents.
    pub fn docs(&self) -> u64 {
        self.settled.count().saturating_sub(self.absent)
    }
}

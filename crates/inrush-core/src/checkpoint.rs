//! What has to be known to go on with a load that was cut off.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::block::SourceId;
use crate::ledger::{LedgerError, Partition};
use crate::ranges::Ranges;
use crate::report::{Counts, ErrorCount, IndexCounts};

/// The state of a load between two steps. The counts are those of exactly the documents that are named as settled, so that
/// a load that goes on from here counts each document once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// By part of the sources that was begun.
    pub partitions: Vec<PartitionCheckpoint>,
    /// The sums. `possible_duplicates` holds what is allowed to be sent again before the next checkpoint.
    pub counts: Counts,
    /// By index that took documents.
    pub indices: BTreeMap<String, IndexCounts>,
    /// Errors of dead letters by kind.
    pub errors: Vec<ErrorCount>,
}

/// How far one partition is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionCheckpoint {
    /// The source.
    pub source: SourceId,
    /// The part of it.
    pub partition: u32,
    /// The documents that reached their end, by their number in the partition.
    pub settled: Ranges,
    /// How many numbers of `settled` have no document, where the source has numbers of its own.
    #[serde(default)]
    pub absent: u64,
    /// Documents from this one on were surely not sent.
    pub horizon: u64,
}

impl PartitionCheckpoint {
    /// Which one it is.
    pub fn partition(&self) -> Partition {
        (self.source, self.partition)
    }

    /// Everything below this number is settled.
    pub fn settled_up_to(&self) -> u64 {
        self.settled.iter().next().filter(|(first, _)| *first == 0).map_or(0, |(_, end)| end)
    }

    /// How many documents are settled.
    pub fn docs(&self) -> u64 {
        self.settled.count().saturating_sub(self.absent)
    }
}

impl Checkpoint {
    /// Whether it can be gone on from.
    ///
    /// # Errors
    /// The counts are not those of the settled documents: the checkpoint was damaged.
    pub fn check(&self) -> Result<(), LedgerError> {
        let settled: u64 = self.partitions.iter().map(PartitionCheckpoint::docs).sum();
        let sound = self.partitions.iter().all(|p| p.settled.is_sound() && p.absent <= p.settled.count());
        if !sound || settled != self.counts.docs_read || !self.counts.add_up() {
            return Err(LedgerError::new(format!(
                "a checkpoint names {settled} settled documents, and its counts are {:?}",
                self.counts
            )));
        }
        Ok(())
    }
}

//! How far a source is behind what there is to read.

use serde::{Deserialize, Serialize};

use crate::TopicPartition;

/// How far a source is behind the ends of its partitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lag {
    /// The sum of [`PartitionLag::records`].
    pub records: u64,
    /// The longest of [`PartitionLag::seconds`]. `None` if no partition has it.
    pub seconds: Option<f64>,
    /// Each partition, in the order of its topic and number.
    pub partitions: Vec<PartitionLag>,
}

/// How far a source is behind the end of one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartitionLag {
    /// The topic.
    pub topic: String,
    /// The number of the partition in its topic, from 0.
    pub partition: i32,
    /// The committed offset: that of the next record after a restart. `None` before the first
    /// commit.
    pub committed: Option<i64>,
    /// The offset after the last record.
    pub end: i64,
    /// Offsets from the first record that is not settled to the end. Transactions and compaction
    /// leave offsets without a record, so that fewer records may wait.
    pub records: u64,
    /// Seconds since the first record that waits was written, by its timestamp. `None` if none
    /// waits, or if it was not read yet.
    pub seconds: Option<f64>,
}

impl Lag {
    /// The lag of these partitions.
    pub fn new(mut partitions: Vec<PartitionLag>) -> Self {
        partitions.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
        Lag {
            records: partitions.iter().map(|partition| partition.records).sum(),
            seconds: partitions.iter().filter_map(|partition| partition.seconds).reduce(f64::max),
            partitions,
        }
    }
}

impl PartitionLag {
    /// The partition is read to its end.
    pub fn new(at: &TopicPartition, committed: Option<i64>, end: i64) -> Self {
        let topic = at.topic.to_string();
        PartitionLag { topic, partition: at.partition, committed, end, records: 0, seconds: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_the_sum_of_records_and_the_longest_time() {
        let partition = |number, records, seconds| {
            let lag = PartitionLag::new(&TopicPartition::new("orders", number), Some(3), 9);
            PartitionLag { records, seconds, ..lag }
        };
        let lag = Lag::new(vec![partition(1, 4, Some(1.5)), partition(0, 2, Some(7.0)), partition(2, 0, None)]);
        assert_eq!((lag.records, lag.seconds), (6, Some(7.0)));
        assert_eq!(lag.partitions.iter().map(|lag| lag.partition).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((Lag::default().records, Lag::default().seconds), (0, None));
    }
}

//! How far a group is behind, without joining it.

use inrush_cluster::clock;
use inrush_core::Code;
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use inrush_sources::{SourceError, TopicPartition};

use crate::KafkaOptions;
use crate::client::{ClientError, Librdkafka};

/// How long the first records that wait are waited for.
const RECORDS: Duration = Duration::from_secs(10);

/// Memory for the records that are fetched, bytes. Of each partition one is needed.
const MEMORY: usize = 4 << 20;

/// How far a group is behind in a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionLag {
    /// The partition.
    pub at: TopicPartition,
    /// The offset that the group has committed: that of the next record. `None` before the first
    /// commit.
    pub committed: Option<i64>,
    /// The offset after the last record.
    pub end: i64,
    /// The number of offsets from the next record to the end. Markers of transactions, records of
    /// aborted ones and compacted records take offsets, so fewer records may wait. Records that the
    /// broker has deleted are not in it.
    pub records: u64,
    /// The time since the first record that waits was written. `None` if none waits, or if it did
    /// not come within 10 s.
    pub age: Option<Duration>,
}

/// Asks the brokers how far the group is behind in each partition of the topics. Waits for the
/// brokers, 30 s at most for an answer.
///
/// # Errors
/// As [`KafkaSource::open`](crate::KafkaSource::open).
pub fn lag(options: &KafkaOptions) -> Result<Vec<PartitionLag>, SourceError> {
    let wrong =
        |error: ClientError| SourceError::new(options.address.to_string(), error.to_string()).coded(Code::BrokerFailed);
    let options = KafkaOptions { memory: MEMORY, ..options.clone() };
    let mut client = Librdkafka::connect(&options, None).map_err(wrong)?;
    let mut lags = offsets(&mut client).map_err(wrong)?;
    let waiting: BTreeMap<TopicPartition, i64> = lags
        .iter()
        .filter(|lag| lag.records > 0)
        .map(|lag| (lag.at.clone(), lag.end - i64::try_from(lag.records).unwrap_or(lag.end)))
        .collect();
    let written = client.first_times(&waiting, clock::now() + RECORDS).map_err(wrong)?;
    let now = clock::date().duration_since(UNIX_EPOCH).unwrap_or_default();
    for lag in &mut lags {
        // The clocks of the writer and of this machine may differ.
        lag.age = written
            .get(&lag.at)
            .map(|millis| now.saturating_sub(Duration::from_millis(u64::try_from(*millis).unwrap_or_default())));
    }
    Ok(lags)
}

fn offsets(client: &mut Librdkafka) -> Result<Vec<PartitionLag>, ClientError> {
    use crate::client::Client as _;

    let partitions = client.partitions()?;
    let committed = client.committed(&partitions)?;
    let bounds = client.bounds(&partitions)?;
    let lag = |at: TopicPartition| {
        let (first, end) = *bounds.get(&at)?;
        let committed = committed.get(&at).copied();
        let next = committed.unwrap_or(first).max(first);
        let records = u64::try_from(end - next).unwrap_or(0);
        Some(PartitionLag { at, committed, end, records, age: None })
    };
    Ok(partitions.into_iter().filter_map(lag).collect())
}

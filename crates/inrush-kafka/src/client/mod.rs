//! The part of a Kafka client that the consumer needs.
//!
//! It is narrow so that another client can stand behind it, and a script in tests. Everything is
//! called from one thread.

mod headers;
mod librdkafka;
mod log;
mod messages;
#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;
mod token;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use headers::{Header, headers};
pub(crate) use inrush_sources::TopicPartition;
pub(crate) use librdkafka::Librdkafka;
pub(crate) use log::Log;

/// An offset for each of some partitions.
pub(crate) type Offsets = BTreeMap<TopicPartition, i64>;

/// A record as the client lends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    /// Milliseconds since 1970.
    pub(crate) timestamp: Option<i64>,
    /// None where the options use no headers.
    pub(crate) headers: &'a [Header<'a>],
}

/// What a call of [`Client::poll`] brought.
#[derive(Debug)]
pub(crate) enum Polled {
    /// No record is there.
    Nothing,
    /// Records, which were handed over, and perhaps more.
    Records,
    /// The group gives these partitions to this member, which has to call [`Client::assign`].
    Assigned(Vec<TopicPartition>),
    /// The group wants these partitions back, and waits until this member calls
    /// [`Client::unassign`].
    Revoked(Vec<TopicPartition>),
    /// The group has given these partitions to another member already. Nothing of them can be
    /// committed. [`Client::unassign`] has to be called.
    Lost(Vec<TopicPartition>),
    /// The answer to [`Client::commit_later`].
    Committed(Result<(), ClientError>),
    /// The answer to [`Client::ask_ends`].
    Ends(Result<Offsets, ClientError>),
    /// The broker does not have the offset of one of the partitions.
    Gap(String),
}

/// An error of a broker or of the group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct ClientError {
    text: String,
    /// The same call may succeed later: brokers are away, or the group is changing.
    pub(crate) is_retriable: bool,
    /// This member cannot go on.
    pub(crate) is_final: bool,
}

impl ClientError {
    /// An error that stays when the call is repeated.
    pub(crate) fn lasting(text: impl Into<String>) -> Self {
        ClientError { text: text.into(), is_retriable: false, is_final: true }
    }

    /// An error of a call for partitions that this member does not have any more.
    pub(crate) fn stale(text: impl Into<String>) -> Self {
        ClientError { text: text.into(), is_retriable: false, is_final: false }
    }

    /// An error after which the same call may succeed.
    pub(crate) fn retriable(text: impl Into<String>) -> Self {
        ClientError { text: text.into(), is_retriable: true, is_final: false }
    }
}

/// A member of a consumer group.
pub(crate) trait Client: Send {
    /// Waits for a record, for `wait` at most, and hands over those that are there until `take`
    /// has enough and returns `false`.
    ///
    /// # Errors
    /// One after which this member cannot go on: its name is used by another one, or the brokers
    /// do not accept its credentials. Brokers that cannot be reached are no error; the client
    /// tries again.
    fn poll(&mut self, wait: Duration, take: &mut dyn FnMut(Record<'_>) -> bool) -> Result<Polled, ClientError>;

    /// Begins to read these partitions at these offsets. None of them is paused afterwards, also if
    /// it left while it was paused.
    fn assign(&mut self, starts: &Offsets) -> Result<(), ClientError>;

    /// Ends reading of these partitions, and lets the group go on.
    fn unassign(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError>;

    /// Commits, and waits for the answer.
    fn commit(&mut self, offsets: &Offsets) -> Result<(), ClientError>;

    /// Commits. The answer is a [`Polled::Committed`]. One commit at a time.
    fn commit_later(&mut self, offsets: &Offsets);

    /// The offsets that the group has committed of these partitions.
    fn committed(&mut self, partitions: &[TopicPartition]) -> Result<Offsets, ClientError>;

    /// The first offset, and the one after the last, of each partition.
    fn bounds(&mut self, partitions: &[TopicPartition]) -> Result<BTreeMap<TopicPartition, (i64, i64)>, ClientError>;

    /// Asks for the offset after the last record of each partition. The answer is a
    /// [`Polled::Ends`]. One question at a time.
    fn ask_ends(&mut self, partitions: &[TopicPartition]);

    /// The offset of the first record with this timestamp or a later one, in milliseconds since
    /// 1970. Partitions without one are not in the result.
    fn offsets_at(&mut self, partitions: &[TopicPartition], time: i64) -> Result<Offsets, ClientError>;

    /// The offset after the last one that was handed over, or passed over because it is that of a
    /// transaction's marker. Partitions of which nothing came yet are not in the result.
    fn positions(&mut self) -> Result<Offsets, ClientError>;

    /// All partitions of the topics.
    fn partitions(&mut self) -> Result<Vec<TopicPartition>, ClientError>;

    /// Fetches no more of these partitions until [`Client::resume`].
    fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError>;

    /// Fetches these partitions again.
    fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError>;
}

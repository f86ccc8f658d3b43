//! Records as they are in their topics.

use std::time::Duration;

use inrush_sources::TopicPartition;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::Queue;
use crate::client::{ClientError, Log};
use crate::properties::properties;
use crate::{KafkaOptions, OnGap};

/// Memory for the records that are fetched, bytes.
const MEMORY: usize = 4 << 20;

/// Records that are read and passed over rather than jumped over. A jump is a question to the
/// broker.
const PASSED_OVER: i64 = 5_000;

/// How long a poll waits. Also how late the end is noticed.
const POLL: Duration = Duration::from_millis(100);

/// Takes a record, with its number in the list of offsets. `None`: the partition has it no more.
pub(super) type Take<'a> = dyn FnMut(usize, Option<&BorrowedMessage<'_>>) -> Result<(), String> + 'a;

/// Reads single records again, without being a member of the group.
pub(super) struct Originals(BaseConsumer<Log>);

impl Originals {
    pub(super) fn new(options: &KafkaOptions) -> Result<Self, ClientError> {
        // Of a record that is gone the next one comes, or the end.
        let options = KafkaOptions { memory: MEMORY, on_gap: OnGap::Earliest, ..options.clone() };
        let mut all = properties(&options, None);
        all.retain(|(name, _)| name != "group.protocol");
        all.push(("enable.partition.eof".to_owned(), "true".to_owned()));
        Log::config(all).create_with_context(Log::of(&options)).map(Originals).map_err(|error| Log::not_created(&error))
    }

    /// Hands over the records of a partition at these offsets, which ascend. Waits for the brokers
    /// until the queue is closed.
    ///
    /// # Errors
    /// That of `take`. The partition cannot be read from an offset.
    pub(super) fn read(
        &self,
        at: &TopicPartition,
        offsets: &[i64],
        queue: &Queue,
        take: &mut Take<'_>,
    ) -> Result<(), String> {
        let mut next: Option<i64> = None;
        for (number, &wanted) in offsets.iter().enumerate() {
            if !next.is_some_and(|next| (next..=next + PASSED_OVER).contains(&wanted)) {
                self.begin(at, wanted).map_err(|error| format!("reading {at} at offset {wanted}: {error}"))?;
            }
            next = loop {
                if queue.is_closed() {
                    return Ok(());
                }
                let is_of = |message: &BorrowedMessage<'_>| {
                    message.partition() == at.partition && message.topic() == &*at.topic && message.offset() >= wanted
                };
                match self.0.poll(POLL) {
                    Some(Ok(message)) if is_of(&message) => {
                        let found = Some(&message).filter(|message| message.offset() == wanted);
                        take(number, found)?;
                        // A later one than the wanted one may be wanted itself.
                        break found.map(|_| wanted + 1);
                    }
                    Some(Err(error)) if is_gone(&error) => {
                        take(number, None)?;
                        break None;
                    }
                    Some(Err(error)) => tracing::debug!("reading {at} again: {error}"),
                    Some(Ok(_)) | None => {}
                }
            };
        }
        Ok(())
    }

    fn begin(&self, at: &TopicPartition, offset: i64) -> Result<(), KafkaError> {
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition_offset(&at.topic, at.partition, Offset::Offset(offset))?;
        self.0.assign(&list)
    }
}

/// Whether an error of a poll says that the partition does not have the record.
fn is_gone(error: &KafkaError) -> bool {
    match error {
        KafkaError::PartitionEOF(_) => true,
        KafkaError::MessageConsumption(code) | KafkaError::Global(code) => matches!(
            code,
            RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownPartition
                | RDKafkaErrorCode::TopicAuthorizationFailed
                | RDKafkaErrorCode::OffsetOutOfRange
                | RDKafkaErrorCode::AutoOffsetReset
        ),
        _ => false,
    }
}

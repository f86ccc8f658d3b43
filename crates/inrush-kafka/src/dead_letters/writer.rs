//! The thread that writes dead letters to their topic.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_sources::TopicPartition;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use super::originals::Originals;
use super::reasons::headers;
use super::{Letter, Queue};
use crate::KafkaOptions;
use crate::client::{ClientError, Log, headers as headers_of};
use crate::properties::properties_of_writer;

/// Bytes of records that wait for their acknowledgement. Then it is waited for.
const IN_FLIGHT: usize = 8 << 20;

/// How long a poll waits. Also how late the end is noticed.
const POLL: Duration = Duration::from_millis(100);

/// Writes dead letters.
pub(crate) struct Writer {
    topic: String,
    group: String,
    originals: Originals,
    producer: BaseProducer<Log>,
    /// Bytes that were sent since everything was acknowledged.
    in_flight: usize,
}

impl Writer {
    /// Connects to the brokers.
    ///
    /// # Errors
    /// A property that librdkafka does not have.
    pub(crate) fn new(options: &KafkaOptions, topic: &str) -> Result<Self, ClientError> {
        let config = Log::config(properties_of_writer(options));
        let producer = config.create_with_context(Log::of(options)).map_err(|error| Log::not_created(&error))?;
        let (topic, group) = (topic.to_owned(), options.group.clone());
        Ok(Writer { topic, group, originals: Originals::new(options)?, producer, in_flight: 0 })
    }

    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    /// Writes what comes, until the queue is closed or a letter cannot be written.
    pub(super) fn run(mut self, queue: &Queue) {
        while let Some(letters) = queue.take() {
            let (count, bytes) = (letters.len() as u64, letters.iter().map(Letter::cost).sum());
            match self.write(letters, queue) {
                // Nothing is said of letters that the end has cut off.
                Ok(()) if self.producer.in_flight_count() > 0 || queue.is_closed() => return,
                Ok(()) => queue.kept(count, bytes),
                Err(error) => return queue.fail(error),
            }
        }
    }

    /// Writes letters, and waits until they are acknowledged or the queue is closed.
    fn write(&mut self, letters: Vec<Letter>, queue: &Queue) -> Result<(), String> {
        let mut by_partition: BTreeMap<Option<TopicPartition>, Vec<Letter>> = BTreeMap::new();
        for letter in letters {
            by_partition.entry(letter.at.clone()).or_default().push(letter);
        }
        for (at, mut letters) in by_partition {
            letters.sort_by_key(|letter| letter.offset);
            self.write_partition(at.as_ref(), &letters, queue)?;
        }
        self.drain(queue)
    }

    fn write_partition(
        &mut self,
        at: Option<&TopicPartition>,
        letters: &[Letter],
        queue: &Queue,
    ) -> Result<(), String> {
        let Writer { topic, group, originals, producer, in_flight } = self;
        let mut sending = Sending { topic, group, producer, in_flight, queue };
        let Some(at) = at else {
            return letters.iter().try_for_each(|letter| sending.document(letter));
        };
        let offsets: Vec<i64> = letters.iter().map(|letter| letter.offset).collect();
        originals.read(at, &offsets, queue, &mut |number, record| match record {
            Some(record) => {
                let of_record = headers_of(record);
                let of_record = of_record.iter().map(|(name, value)| (&**name, *value));
                let headers = headers(of_record, &letters[number], sending.group);
                sending.send(record.key(), record.payload(), headers)
            }
            None => sending.document(&letters[number]),
        })
    }

    fn drain(&mut self, queue: &Queue) -> Result<(), String> {
        let Writer { topic, group, producer, in_flight, .. } = self;
        Sending { topic, group, producer, in_flight, queue }.drain()
    }
}

/// Sends letters.
struct Sending<'a> {
    topic: &'a str,
    group: &'a str,
    producer: &'a BaseProducer<Log>,
    in_flight: &'a mut usize,
    queue: &'a Queue,
}

impl Sending<'_> {
    /// Sends what is known of a record that is gone: the id and the document.
    fn document(&mut self, letter: &Letter) -> Result<(), String> {
        if let Some(at) = &letter.at {
            tracing::warn!(
                "the record at offset {} of {at} is gone, so its dead letter has the document and the id",
                letter.offset
            );
        }
        let key = letter.id.as_deref().map(str::as_bytes);
        let value = Some(&letter.document[..]).filter(|document| !document.is_empty());
        self.send(key, value, headers([], letter, self.group))
    }

    fn send(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: rdkafka::message::OwnedHeaders,
    ) -> Result<(), String> {
        let mut record = BaseRecord::<[u8], [u8]>::to(self.topic).headers(headers);
        (record.key, record.payload) = (key, value);
        while let Err((error, unsent)) = self.producer.send(record) {
            if error.rdkafka_error_code() != Some(RDKafkaErrorCode::QueueFull) {
                return Err(meaning(&error));
            }
            if self.queue.is_closed() {
                return Ok(());
            }
            self.producer.poll(POLL);
            record = unsent;
        }
        *self.in_flight += key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len);
        if *self.in_flight > IN_FLIGHT { self.drain() } else { Ok(()) }
    }

    /// Waits until everything is acknowledged, or the queue is closed.
    fn drain(&mut self) -> Result<(), String> {
        while self.producer.in_flight_count() > 0 && !self.queue.is_closed() {
            self.producer.poll(POLL);
        }
        *self.in_flight = 0;
        self.producer.context().failed().map_or(Ok(()), |error| Err(meaning(&error)))
    }
}

/// The cause and the remedy of an error of the topic.
fn meaning(error: &KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::TopicAuthorizationFailed) => {
            "this user may not write to the topic; give it the right Write".to_owned()
        }
        Some(RDKafkaErrorCode::UnknownTopic | RDKafkaErrorCode::UnknownTopicOrPartition) => {
            "the topic does not exist any more; create it".to_owned()
        }
        Some(RDKafkaErrorCode::MessageSizeTooLarge) => {
            "a record is larger than the topic takes; raise its max.message.bytes".to_owned()
        }
        _ => error.to_string(),
    }
}

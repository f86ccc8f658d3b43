//! The client on librdkafka.
//!
//! A thread of this crate polls `BaseConsumer` always. Its rebalances are not carried out inside of
//! its callback: they become [`Polled`]s, and the group waits until the consumer has settled what
//! it has. `StreamConsumer` and queues of single partitions are not used, because partitions stay
//! silent there after a rebalance (fede1024/rust-rdkafka#638, vectordotdev/vector#26438).

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use inrush_cluster::clock::{self, Instant};
use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::base_consumer::BaseConsumer;
use rdkafka::consumer::{CommitMode, Consumer, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::metadata::Metadata;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::types::RDKafkaRespErr;

use super::headers::headers;
use super::messages::{log, log_error, log_passing};
use super::token::Tokens;
use super::{Client, ClientError, Offsets, Polled, Record, TopicPartition};
use crate::properties::properties;
use crate::{KafkaAddress, KafkaOptions, PartitionOffset, Start};

/// How long a question to a broker may take.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a question where partitions end may take. The end of the client waits for it.
const ENDS_ANSWER: Duration = Duration::from_secs(5);

/// After this time each broker knows a topic that was created.
const KNOWN_AFTER: Duration = Duration::from_secs(3);

/// How often a question that no broker has answered is interrupted, to look for errors.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the user can do about certificates that are not accepted.
const CERTIFICATES: &str = "name the certificates of the brokers' authority with option `from_ca`, \
                            and those of this client with option `from_cert` and option `from_key`";

/// How long a complaint of librdkafka may be the cause of an error.
const COMPLAINT_FOR: Duration = Duration::from_secs(60);

/// The error where librdkafka asks for a token, and the login has none.
pub(super) const NO_TOKENS: &str =
    "option `kafka_sasl` is oauthbearer, and option `from_bearer_file` names no file with a token";

/// The time between two questions for a topic.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// A member of a group.
pub(crate) struct Librdkafka {
    consumer: Arc<BaseConsumer<Events>>,
    address: KafkaAddress,
    uses_headers: bool,
    /// To the thread that commits. None once it is to end.
    commits: Option<Sender<Commit>>,
    committer: Option<JoinHandle<()>>,
    /// To the thread that asks where partitions end. None once it is to end.
    questions: Option<Sender<Vec<TopicPartition>>>,
    asker: Option<JoinHandle<()>>,
}

/// Offsets to be committed, and the receiver of the answer. Without one, the next poll has it.
type Commit = (Offsets, Option<Sender<KafkaResult<()>>>);

/// Commits one after the other. `rd_kafka_commit` tells the outcome only to those who wait for it,
/// as long as no callback of C is set (`rd_kafka_cgrp_propagate_commit_result`), and the thread
/// that polls must not wait.
fn commit_all(consumer: &BaseConsumer<Events>, commits: &Receiver<Commit>) {
    while let Ok((offsets, answer)) = commits.recv() {
        let result = consumer.commit(&list(&offsets), CommitMode::Sync);
        match answer {
            // One that has stopped waiting needs no answer.
            Some(answer) => drop(answer.send(result)),
            None => {
                let answer = result.map_err(|error| meaning(&error, None));
                consumer.context().with(|state| state.waiting.push_back(Polled::Committed(answer)));
            }
        }
    }
}

/// Asks where partitions end, which takes as long as the slowest broker. The next poll has the
/// answer.
fn ask_all(consumer: &BaseConsumer<Events>, questions: &Receiver<Vec<TopicPartition>>) {
    while let Ok(partitions) = questions.recv() {
        let mut list = names(&partitions);
        let asked = list.set_all_offsets(Offset::End).and_then(|()| consumer.offsets_for_times(list, ENDS_ANSWER));
        let ends = asked.map(|list| known(&list)).map_err(|error| meaning(&error, None));
        consumer.context().with(|state| state.waiting.push_back(Polled::Ends(ends)));
    }
}

/// What librdkafka told in its callbacks, which run inside of a poll.
#[derive(Default)]
struct Events {
    state: Mutex<EventState>,
    tokens: Option<Tokens>,
}

#[derive(Default)]
struct EventState {
    waiting: VecDeque<Polled>,
    /// The last complaint of librdkafka, and when it came, for the text of an error.
    complaint: Option<(Instant, String)>,
    /// The consumer is being closed, and rebalances are carried out at once.
    is_closing: bool,
}

impl Events {
    fn with<T>(&self, work: impl FnOnce(&mut EventState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientContext for Events {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.tokens.as_ref().ok_or(NO_TOKENS)?.next()
    }

    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        if level as i32 <= RDKafkaLogLevel::Error as i32 {
            self.with(|state| state.complaint = Some((clock::now(), message.to_owned())));
        }
        log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        log_error(&error, reason);
        self.with(|state| state.complaint = Some((clock::now(), reason.to_owned())));
    }
}

impl ConsumerContext for Events {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, code: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let partitions = partitions(list);
        let is_assign = code == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        if self.with(|state| state.is_closing) {
            let none = TopicPartitionList::new();
            let done = match (is_assign, consumer.rebalance_protocol()) {
                (true, RebalanceProtocol::Cooperative) => consumer.incremental_assign(&none),
                (false, RebalanceProtocol::Cooperative) => consumer.incremental_unassign(list),
                _ => consumer.unassign(),
            };
            if let Err(error) = done {
                tracing::debug!("the last rebalance: {error}");
            }
            return;
        }
        let event = match is_assign {
            true => Polled::Assigned(partitions),
            false if consumer.assignment_lost() => Polled::Lost(partitions),
            false => Polled::Revoked(partitions),
        };
        self.with(|state| state.waiting.push_back(event));
    }
}

impl Librdkafka {
    /// Joins the group. Brokers are asked for the topics, so that an address that cannot be used is
    /// known at once.
    ///
    /// # Errors
    /// A property that librdkafka does not have, brokers that do not answer or do not accept the
    /// credentials, and a topic that does not exist.
    pub(crate) fn join(options: &KafkaOptions, member: Option<&str>) -> Result<Self, ClientError> {
        let mut client = Self::connect(options, member)?;
        let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
            thread.map(Some).map_err(|error| ClientError::lasting(format!("starting a thread: {error}")))
        };
        let (consumer, (commits, waiting)) = (Arc::clone(&client.consumer), channel());
        client.committer = start("kafka-commit", Box::new(move || commit_all(&consumer, &waiting)))?;
        client.commits = Some(commits);
        let (consumer, (questions, waiting)) = (Arc::clone(&client.consumer), channel());
        client.asker = start("kafka-ends", Box::new(move || ask_all(&consumer, &waiting)))?;
        client.questions = Some(questions);
        let topics = client.address.subscription();
        let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
        client.consumer.subscribe(&topics).map_err(|error| client.error(&error))?;
        Ok(client)
    }

    /// A client that does not join the group. Brokers are asked for the topics.
    ///
    /// # Errors
    /// As [`Librdkafka::join`].
    pub(crate) fn connect(options: &KafkaOptions, member: Option<&str>) -> Result<Self, ClientError> {
        let mut config = ClientConfig::new();
        for (name, value) in properties(options, member) {
            config.set(name, value);
        }
        config.set_log_level(RDKafkaLogLevel::Warning);
        let events = Events { tokens: Tokens::of(options), ..Events::default() };
        if let Some(tokens @ Tokens::Aws(_)) = &events.tokens {
            // Why there are no credentials is known at once.
            tokens.next().map_err(|error| ClientError::lasting(error.to_string()))?;
        }
        let consumer: BaseConsumer<Events> =
            config.create_with_context(events).map_err(|error| ClientError::lasting(not_created(&error)))?;
        let consumer = Arc::new(consumer);
        let mut client = Librdkafka {
            consumer,
            address: options.address.clone(),
            uses_headers: options.uses_headers(),
            commits: None,
            committer: None,
            questions: None,
            asker: None,
        };
        client.check(options)?;
        client.check_start(&options.from)?;
        Ok(client)
    }

    /// Refuses offsets of partitions that do not exist.
    fn check_start(&mut self, from: &Start) -> Result<(), ClientError> {
        let Start::Offsets(offsets) = from else { return Ok(()) };
        let partitions = self.partitions()?;
        match offsets.iter().find(|offset| !partitions.iter().any(|at| offset.is_of(at))) {
            None => Ok(()),
            Some(PartitionOffset { topic, partition, offset }) => {
                let topic = topic.as_ref().map(|topic| format!("{topic}/")).unwrap_or_default();
                Err(ClientError::lasting(format!(
                    "option `from` names an offset of partition {topic}{partition} ({offset}), which {} does not have",
                    self.address
                )))
            }
        }
    }

    /// The timestamps of the first records from these offsets on, in milliseconds since 1970.
    /// Partitions whose records have not come by `until` are not in the result.
    pub(crate) fn first_times(
        &mut self,
        from: &Offsets,
        until: Instant,
    ) -> Result<BTreeMap<TopicPartition, i64>, ClientError> {
        let mut found = BTreeMap::new();
        self.consumer.assign(&list(from)).map_err(|error| self.error(&error))?;
        while found.len() < from.len() && clock::now() < until {
            let Some(Ok(message)) = self.consumer.poll(Duration::from_millis(100)) else { continue };
            let at = TopicPartition::new(message.topic(), message.partition());
            if let (false, Some(millis)) = (found.contains_key(&at), message.timestamp().to_millis()) {
                // Others of this partition are not needed.
                self.pause(std::slice::from_ref(&at))?;
                found.insert(at, millis);
            }
        }
        self.consumer.unassign().map_err(|error| self.error(&error))?;
        Ok(found)
    }

    /// Asks the brokers for the topics.
    fn check(&self, options: &KafkaOptions) -> Result<(), ClientError> {
        let brokers = options.address.brokers.join(", ");
        // Other events of the client wait in the queue that is polled; metadata has one of its own.
        let (until, known_by) = (clock::now() + ANSWER, clock::now() + KNOWN_AFTER);
        if self.consumer.context().tokens.is_some() {
            // librdkafka asks for the token in a poll. An error comes again with the question.
            drop(self.consumer.poll(Duration::ZERO));
        }
        let read = options.address.topics.iter().filter(|topic| !topic.contains('*'));
        for topic in read.chain(&options.dead_letter_topic) {
            let is_written = Some(topic) == options.dead_letter_topic.as_ref();
            loop {
                let metadata = self.metadata(topic, &brokers, until)?;
                let Some(found) = metadata.topics().first() else { break };
                match found.error().map(RDKafkaErrorCode::from) {
                    None => break,
                    // A broker that has just begun.
                    Some(RDKafkaErrorCode::LeaderNotAvailable) if clock::now() < until => {
                        clock::block(ASK_AGAIN);
                    }
                    Some(RDKafkaErrorCode::UnknownTopicOrPartition) if clock::now() < known_by => {
                        clock::block(ASK_AGAIN);
                    }
                    Some(RDKafkaErrorCode::UnknownTopicOrPartition) => {
                        let remedy = if is_written { "; create it, it gets the dead letters" } else { "" };
                        return Err(ClientError::lasting(format!("topic {topic} does not exist at {brokers}{remedy}")));
                    }
                    Some(RDKafkaErrorCode::TopicAuthorizationFailed) if is_written => {
                        return Err(ClientError::lasting(format!(
                            "this user may not write dead letters to topic {topic} at {brokers}; give it the right Write"
                        )));
                    }
                    Some(RDKafkaErrorCode::TopicAuthorizationFailed) => {
                        return Err(ClientError::lasting(format!(
                            "this user may not read topic {topic} at {brokers}; give it the rights Read and Describe"
                        )));
                    }
                    Some(code) => return Err(ClientError::lasting(format!("topic {topic} at {brokers}: {code}"))),
                }
            }
        }
        Ok(())
    }

    /// What the brokers say of a topic. They are asked until one answers, or refuses this client.
    fn metadata(&self, topic: &str, brokers: &str, until: Instant) -> Result<Metadata, ClientError> {
        loop {
            let error = match self.consumer.fetch_metadata(Some(topic), LOOK_EVERY) {
                Ok(metadata) => return Ok(metadata),
                Err(error) => error,
            };
            let why = || self.complaint().unwrap_or_else(|| error.to_string());
            if let Some(remedy) = self.refused() {
                return Err(ClientError::lasting(format!("{brokers}: {}; {remedy}", why())));
            }
            if clock::now() >= until {
                return Err(ClientError::lasting(format!(
                    "no answer from {brokers} within {} s: {}",
                    ANSWER.as_secs(),
                    why()
                )));
            }
        }
    }

    /// Looks through the events before this member has joined. Returns the remedy where a broker
    /// does not accept its login or its certificates, which librdkafka would try again for ever.
    fn refused(&self) -> Option<&'static str> {
        while let Some(polled) = self.consumer.poll(Duration::ZERO) {
            match polled.err().and_then(|error| error.rdkafka_error_code()) {
                Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed) => {
                    return Some(Tokens::remedy(self.consumer.context().tokens.as_ref()));
                }
                Some(RDKafkaErrorCode::SSL) => return Some(CERTIFICATES),
                _ => {}
            }
        }
        // Seen on a busy machine: the log has the error, and no event came within 30 s.
        self.complaint().filter(|text| text.contains("certificate verify failed")).map(|_| CERTIFICATES)
    }

    /// The offset of each partition at a time, or at one of its ends.
    fn times(&self, partitions: &[TopicPartition], time: Offset) -> Result<Offsets, ClientError> {
        if partitions.is_empty() {
            return Ok(Offsets::new());
        }
        let mut list = names(partitions);
        list.set_all_offsets(time).map_err(|error| self.error(&error))?;
        let found = self.consumer.offsets_for_times(list, ANSWER);
        found.map(|list| known(&list)).map_err(|error| self.error(&error))
    }

    fn complaint(&self) -> Option<String> {
        let is_new = |(when, _): &&(Instant, String)| when.elapsed() < COMPLAINT_FOR;
        self.consumer.context().with(|state| state.complaint.as_ref().filter(is_new).map(|(_, text)| text.clone()))
    }

    fn error(&self, error: &KafkaError) -> ClientError {
        meaning(error, self.complaint())
    }

    fn send(&self, commit: Commit) {
        if let Some(commits) = &self.commits
            && commits.send(commit).is_err()
        {
            tracing::warn!("the thread that commits has ended");
        }
    }

    fn waiting(&self) -> Option<Polled> {
        self.consumer.context().with(|state| state.waiting.pop_front())
    }

    /// The meaning of an error that a poll brought; `None` for those that pass.
    fn problem(&self, error: &KafkaError) -> Result<Option<Polled>, ClientError> {
        let code = match error {
            KafkaError::PartitionEOF(_) => return Ok(None),
            KafkaError::MessageConsumptionFatal(_) => return Err(self.fatal(error)),
            KafkaError::MessageConsumption(code) | KafkaError::Global(code) => *code,
            _ => return Ok(None),
        };
        match code {
            RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange => {
                Ok(Some(Polled::Gap(self.complaint().unwrap_or_else(|| error.to_string()))))
            }
            code if is_final(code) => Err(self.fatal(error)),
            _ => {
                log_passing(error, code);
                Ok(None)
            }
        }
    }

    fn fatal(&self, error: &KafkaError) -> ClientError {
        match self.consumer.client().fatal_error() {
            Some((RDKafkaErrorCode::FencedInstanceId, _)) => ClientError::lasting(
                "another member of the group uses the name of this one; give each instance a name of its own",
            ),
            Some((_, reason)) => ClientError::lasting(reason),
            None => self.error(error),
        }
    }
}

impl Client for Librdkafka {
    fn poll(&mut self, wait: Duration, take: &mut dyn FnMut(Record<'_>) -> bool) -> Result<Polled, ClientError> {
        // Answers do not wait until the queue is empty, which it never is while a backlog is read.
        // Queued records of a partition that is taken away are passed over.
        if let Some(event) = self.waiting() {
            return Ok(event);
        }
        let mut wait = wait;
        let mut has_records = false;
        loop {
            let polled = self.consumer.poll(wait);
            wait = Duration::ZERO;
            match polled {
                Some(Ok(message)) => {
                    has_records = true;
                    let headers = if self.uses_headers { headers(&message) } else { Vec::new() };
                    let record = Record {
                        topic: message.topic(),
                        partition: message.partition(),
                        offset: message.offset(),
                        key: message.key(),
                        value: message.payload(),
                        timestamp: message.timestamp().to_millis(),
                        headers: &headers,
                    };
                    if !take(record) {
                        return Ok(Polled::Records);
                    }
                    continue;
                }
                Some(Err(error)) => {
                    if let Some(event) = self.problem(&error)? {
                        self.consumer.context().with(|state| state.waiting.push_back(event));
                    }
                }
                None => {}
            }
            return Ok(match self.waiting() {
                Some(event) => event,
                None if has_records => Polled::Records,
                None => Polled::Nothing,
            });
        }
    }

    /// librdkafka keeps the pause of a partition that is taken away while it is paused. So each
    /// partition is resumed first. Not afterwards: that would drop records that have come already.
    fn assign(&mut self, starts: &Offsets) -> Result<(), ClientError> {
        let list = list(starts);
        self.consumer.resume(&list).map_err(|error| self.error(&error))?;
        let done = match self.consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => self.consumer.incremental_assign(&list),
            _ => self.consumer.assign(&list),
        };
        done.map_err(|error| self.error(&error))
    }

    fn unassign(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        let done = match self.consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => self.consumer.incremental_unassign(&names(partitions)),
            _ => self.consumer.unassign(),
        };
        done.map_err(|error| self.error(&error))
    }

    fn commit(&mut self, offsets: &Offsets) -> Result<(), ClientError> {
        let (answer, answered) = channel();
        self.send((offsets.clone(), Some(answer)));
        match answered.recv_timeout(ANSWER) {
            Ok(result) => result.map_err(|error| self.error(&error)),
            Err(_) => Err(ClientError::retriable(format!("no answer to a commit within {} s", ANSWER.as_secs()))),
        }
    }

    fn commit_later(&mut self, offsets: &Offsets) {
        self.send((offsets.clone(), None));
    }

    fn committed(&mut self, partitions: &[TopicPartition]) -> Result<Offsets, ClientError> {
        if partitions.is_empty() {
            return Ok(Offsets::new());
        }
        let found = self.consumer.committed_offsets(names(partitions), ANSWER);
        found.map(|list| known(&list)).map_err(|error| self.error(&error))
    }

    /// `rd_kafka_offsets_for_times` hands the time to the broker as it is, and Kafka's protocol has
    /// -2 for the first offset and -1 for the one after the last (`ListOffsetsRequest.json`). So
    /// each broker is asked once for all of its partitions.
    fn bounds(&mut self, partitions: &[TopicPartition]) -> Result<BTreeMap<TopicPartition, (i64, i64)>, ClientError> {
        let mut first = self.times(partitions, Offset::Beginning)?;
        let last = self.times(partitions, Offset::End)?;
        Ok(last.into_iter().filter_map(|(at, end)| first.remove(&at).map(|begin| (at, (begin, end)))).collect())
    }

    fn ask_ends(&mut self, partitions: &[TopicPartition]) {
        if let Some(questions) = &self.questions
            && questions.send(partitions.to_vec()).is_err()
        {
            tracing::warn!("the thread that asks where partitions end has ended");
        }
    }

    fn offsets_at(&mut self, partitions: &[TopicPartition], time: i64) -> Result<Offsets, ClientError> {
        self.times(partitions, Offset::Offset(time))
    }

    fn positions(&mut self) -> Result<Offsets, ClientError> {
        self.consumer.position().map(|list| known(&list)).map_err(|error| self.error(&error))
    }

    fn partitions(&mut self) -> Result<Vec<TopicPartition>, ClientError> {
        let metadata = self.consumer.fetch_metadata(None, ANSWER).map_err(|error| self.error(&error))?;
        let mut all = Vec::new();
        for topic in metadata.topics().iter().filter(|topic| self.address.has(topic.name())) {
            let name: Arc<str> = topic.name().into();
            let of = |partition: i32| TopicPartition { topic: Arc::clone(&name), partition };
            all.extend(topic.partitions().iter().map(|partition| of(partition.id())));
        }
        all.sort();
        Ok(all)
    }

    fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        self.consumer.pause(&names(partitions)).map_err(|error| self.error(&error))
    }

    fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        self.consumer.resume(&names(partitions)).map_err(|error| self.error(&error))
    }
}

impl Drop for Librdkafka {
    /// Closes the consumer. A partition that the group still wants back is let go.
    fn drop(&mut self) {
        (self.commits, self.questions) = (None, None);
        for thread in [self.committer.take(), self.asker.take()].into_iter().flatten() {
            if thread.join().is_err() {
                tracing::warn!("a thread that asks the brokers had panicked");
            }
        }
        self.consumer.context().with(|state| state.is_closing = true);
        while let Some(event) = self.waiting() {
            let answered = match event {
                Polled::Revoked(partitions) | Polled::Lost(partitions) => self.unassign(&partitions),
                // The group waits for an answer, also of none.
                Polled::Assigned(_) => self.assign(&Offsets::new()),
                Polled::Nothing | Polled::Records | Polled::Committed(_) | Polled::Ends(_) | Polled::Gap(_) => Ok(()),
            };
            if let Err(error) = answered {
                tracing::debug!("the last rebalance: {error}");
            }
        }
    }
}

/// An error, with the last complaint of librdkafka.
fn meaning(error: &KafkaError, complaint: Option<String>) -> ClientError {
    let text = match complaint {
        Some(complaint) => format!("{error} ({complaint})"),
        None => error.to_string(),
    };
    match error.rdkafka_error_code() {
        Some(code) if is_final(code) => ClientError::lasting(text),
        // Of a commit: the group has another generation, to which this member does not belong.
        Some(RDKafkaErrorCode::UnknownMemberId | RDKafkaErrorCode::IllegalGeneration) => ClientError::stale(text),
        _ => ClientError::retriable(text),
    }
}

/// Whether this member cannot go on after the error.
fn is_final(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::Authentication
            | RDKafkaErrorCode::SaslAuthenticationFailed
            | RDKafkaErrorCode::TopicAuthorizationFailed
            | RDKafkaErrorCode::GroupAuthorizationFailed
            | RDKafkaErrorCode::ClusterAuthorizationFailed
            | RDKafkaErrorCode::FencedInstanceId
            | RDKafkaErrorCode::Fatal
    )
}

pub(super) fn not_created(error: &KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, why, name, _) => format!("the property `{name}` of librdkafka: {why}"),
        error => error.to_string(),
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<TopicPartition> {
    list.elements().iter().map(|element| TopicPartition::new(element.topic(), element.partition())).collect()
}

/// The partitions that have an offset.
fn known(list: &TopicPartitionList) -> Offsets {
    let elements = list.elements();
    let offsets = elements.iter().filter_map(|element| match element.offset() {
        Offset::Offset(offset) => Some((TopicPartition::new(element.topic(), element.partition()), offset)),
        _ => None,
    });
    offsets.collect()
}

fn names(partitions: &[TopicPartition]) -> TopicPartitionList {
    let mut list = TopicPartitionList::with_capacity(partitions.len());
    for at in partitions {
        list.add_partition(&at.topic, at.partition);
    }
    list
}

fn list(offsets: &Offsets) -> TopicPartitionList {
    let mut list = TopicPartitionList::with_capacity(offsets.len());
    for (at, offset) in offsets {
        // The list refuses only offsets below zero, which no broker has.
        if let Err(error) = list.add_partition_offset(&at.topic, at.partition, Offset::Offset(*offset)) {
            tracing::warn!("{at}: offset {offset}: {error}");
        }
    }
    list
}

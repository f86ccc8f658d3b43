//! Topics as a source.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};

use inrush_cluster::clock;
use inrush_core::{Code, SourceId};
use inrush_sources::{
    DeadLetterSink, Feedback, IDLE_AFTER, Lag, Partition, Repeats, Source, SourceError, SourceInfo, Step, Topics,
};

use crate::client::{Client, Librdkafka};
use crate::consumer::Consumer;
use crate::dead_letters::{DeadLetterTopic, Writer};
use crate::member::Member;
use crate::shared::{Next, Shared};
use crate::values::Shape;
use crate::{Ids, KafkaOptions, OnNull, Values, VersionFrom};

/// How long the engine waits for the last commit.
const LAST_COMMIT: Duration = Duration::from_secs(15);

/// Records of topics, read by a member of a consumer group.
///
/// Offsets are committed once everything before them is settled. A member that is killed loses
/// nothing: the next one reads again what was not committed.
pub struct KafkaSource {
    options: Arc<KafkaOptions>,
    thread: Arc<Thread>,
    dead_letters: Option<Arc<DeadLetterTopic>>,
    has_ended: bool,
}

/// The thread that reads. It ends when neither the source nor its feedback is needed any more.
struct Thread {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

impl KafkaSource {
    /// Joins the group. Waits for the brokers, 30 s at most.
    ///
    /// # Errors
    /// Brokers or a schema registry that do not answer or refuse the credentials, a topic that does
    /// not exist, a schema file that cannot be read, and properties that librdkafka does not have.
    pub fn open(options: KafkaOptions) -> Result<KafkaSource, SourceError> {
        let title = options.address.to_string();
        let wrong = |message: String| SourceError::new(title.clone(), message).coded(Code::BrokerFailed);
        let member =
            Member::of(&options).map_err(|error| SourceError::io(title.clone(), "the name of this member", error))?;
        let shape = Shape::of(&options).map_err(&wrong)?.map(Arc::new);
        let client = Librdkafka::join(&options, member.name()).map_err(|error| wrong(error.to_string()))?;
        let writer = options.dead_letter_topic.as_ref().map(|topic| Writer::new(&options, topic)).transpose();
        let writer = writer.map_err(|error| wrong(error.to_string()))?;
        Self::start(options, shape, client, member, writer)
            .map_err(|error| SourceError::io(title.clone(), "starting a thread", error))
    }

    fn start(
        options: KafkaOptions,
        shape: Option<Arc<Shape>>,
        client: impl Client + 'static,
        member: Member,
        writer: Option<Writer>,
    ) -> std::io::Result<KafkaSource> {
        let (options, shared) = (Arc::new(options), Arc::new(Shared::new()));
        let topics = || Arc::clone(&shared) as Arc<dyn Topics>;
        let dead_letters = writer.map(|writer| DeadLetterTopic::start(writer, topics())).transpose()?.map(Arc::new);
        let consumer = Consumer::new(client, Arc::clone(&options), shape, Arc::clone(&shared), clock::now);
        let gone = Gone { shared: Arc::clone(&shared), title: options.address.to_string() };
        let handle = std::thread::Builder::new().name("kafka".into()).spawn(move || {
            // Its name is taken by no other process until the member has left.
            let _member = member;
            let _gone = gone;
            consumer.run();
        })?;
        let thread = Arc::new(Thread { shared, handle: Some(handle) });
        Ok(KafkaSource { options, thread, dead_letters, has_ended: false })
    }
}

/// Tells the engine that the thread has returned, however it did.
struct Gone {
    shared: Arc<Shared>,
    title: String,
}

impl Drop for Gone {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.end(Some(SourceError::new(self.title.clone(), "reading panicked").coded(Code::Defect)));
        }
        self.shared.end(None);
        self.shared.change(|state| state.is_gone = true);
    }
}

impl Drop for Thread {
    /// Waits until the last commit is answered and the member has left its group.
    fn drop(&mut self) {
        self.shared.change(|state| state.is_closed = true);
        if let Some(handle) = self.handle.take()
            && handle.join().is_err()
        {
            tracing::debug!("the thread that reads topics had panicked");
        }
    }
}

impl Source for KafkaSource {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new([self.options.address.to_string()]);
        info.own_numbers = true;
        info.is_endless = self.options.until.is_none();
        info.repeats = Repeats::Unordered;
        info.has_ids = self.options.ids != Ids::None;
        info.has_operations = matches!(self.options.values, Values::Bulk);
        info.has_versions = self.options.versions.is_some();
        info.has_deletions =
            self.options.on_null == OnNull::Delete || self.options.unwrap.is_of_debezium() || info.has_operations;
        info.has_unversioned_deletions =
            info.has_deletions && matches!(self.options.versions, Some(VersionFrom::Field(_)));
        info.settled_every = self.options.commit_every;
        info.warnings = Some(self.thread.shared.hints.warnings().clone());
        info.topics = Some(Arc::clone(&self.thread.shared) as Arc<dyn Topics>);
        info.dead_letters = self.dead_letters.clone().map(|topic| topic as Arc<dyn DeadLetterSink>);
        info
    }

    fn next(&mut self, _want_bytes: usize) -> Result<Step, SourceError> {
        if self.has_ended {
            return Ok(Step::End);
        }
        match self.thread.shared.next(IDLE_AFTER) {
            Ok(Next::Chunk(chunk)) => Ok(Step::Chunk(chunk)),
            Ok(Next::Nothing) => Ok(Step::Idle),
            Ok(Next::End) => {
                self.has_ended = true;
                Ok(Step::End)
            }
            Err(error) => {
                self.has_ended = true;
                Err(error)
            }
        }
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::clone(&self.thread) as Arc<dyn Feedback>)
    }
}

impl Feedback for Thread {
    fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
        self.shared.settled(up_to, LAST_COMMIT);
    }

    fn stop(&self) {
        self.shared.change(|state| state.is_stopped = true);
    }

    fn close(&self) {
        self.shared.change(|state| state.is_closed = true);
        self.shared.wait(LAST_COMMIT, |state| state.is_gone);
    }

    fn is_waiting(&self) -> bool {
        self.shared.state().assignment.is_waiting()
    }

    fn lag(&self) -> Option<Lag> {
        let now = clock::date().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        Some(Lag::new(self.shared.state().assignment.lag(now)))
    }

    fn lost(&self) -> Vec<Partition> {
        self.shared.state().take_lost().into_iter().map(|number| (SourceId::default(), number)).collect()
    }

    fn ended(&self) -> Vec<Partition> {
        let ended = self.shared.state().assignment.take_ended();
        ended.into_iter().map(|number| (SourceId::default(), number)).collect()
    }
}

//! Schemas of a registry.
//!
//! A thread asks the registry for them, each once. Blocks of records wait in the queue until the
//! schemas that they name are known ([`super::Needs`]); a full queue pauses the partitions.

mod client;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{Client, Failure, Found};
use inrush_cluster::Wait;
use inrush_cluster::clock::{self, Instant};
use inrush_core::Code;
use inrush_core::retry::{Jitter, RetryPolicy};

use super::framing::{Framed, SchemaKey, json_content};
use super::logical::Purpose;
use super::plan::Plan;
use super::shape::Decoded;
use super::{Problem, SchemaRegistry};

/// How long the registry is waited for at the start.
const OPEN_FOR: Duration = Duration::from_secs(30);

/// After this time the registry is asked again for a schema that it did not have.
const UNKNOWN_FOR: Duration = Duration::from_secs(60);

/// The pauses before a question is asked again. They double up to 10 s.
const PAUSES: RetryPolicy = RetryPolicy::brief(u32::MAX, Duration::from_millis(250));

/// The schemas of a registry that are known.
pub(crate) struct Schemas {
    url: String,
    known: Arc<Mutex<HashMap<SchemaKey, Entry>>>,
    /// To the thread that asks. It ends with this value.
    questions: Mutex<Sender<SchemaKey>>,
}

/// What is known of a schema.
struct Entry {
    /// The schema, or why there is none, behind "which the registry". `None` before the first
    /// answer.
    answer: Option<Result<Arc<Schema>, String>>,
    /// The registry is being asked.
    is_asked: bool,
    /// From then on the registry is asked again.
    valid_until: Option<Instant>,
}

/// A schema that decodes values.
#[derive(Debug)]
enum Schema {
    #[cfg(feature = "avro")]
    Avro(super::avro::Schema),
    #[cfg(feature = "protobuf")]
    Protobuf(super::protobuf::File),
    Json(Plan),
}

impl Schemas {
    /// Connects to a registry. Waits for its first answer, 30 s at most. With `has_nulls` fields
    /// without a value can be nulls.
    ///
    /// # Errors
    /// An address that cannot be used, a registry that does not answer or refuses the credentials.
    pub(crate) fn open(registry: &SchemaRegistry, has_nulls: bool) -> Result<Arc<Schemas>, String> {
        let client = Client::new(registry)?;
        let url = client.url().to_string();
        let known = Arc::new(Mutex::default());
        let (questions, asked) = channel();
        let (told, first) = channel();
        let asking = Asking {
            client,
            url: url.clone(),
            known: Arc::clone(&known),
            has_nulls,
            jitter: Jitter::new(u64::from(std::process::id())),
        };
        let thread = std::thread::Builder::new().name("schema-registry".into());
        let run = move || asking.run(&told, &asked);
        thread.spawn(run).map_err(|error| format!("the schema registry: starting a thread: {error}"))?;
        let gone = || format!("the schema registry {url}: the thread that asks it has ended");
        first.recv().map_err(|_| gone())??;
        Ok(Arc::new(Schemas { url, known, questions: Mutex::new(questions) }))
    }

    /// Removes those that are known, or known to be missing. The others are asked for.
    pub(crate) fn ask(&self, schemas: &mut Vec<SchemaKey>, now: Instant) {
        let mut known = lock(&self.known);
        schemas.retain(|schema| {
            let entry = known.entry(*schema).or_insert(Entry { answer: None, is_asked: false, valid_until: None });
            let is_valid = entry.answer.is_some() && entry.valid_until.is_none_or(|until| now < until);
            if !is_valid && !entry.is_asked {
                // The thread ends after this value only.
                entry.is_asked = lock(&self.questions).send(*schema).is_ok();
            }
            !is_valid
        });
    }

    /// The JSON of a value or key of `topic`. What is appended has `bytes_max` at most. A
    /// document to merge has the fields that are null.
    pub(crate) fn decode<'a>(
        &self,
        what: &'static str,
        topic: &str,
        framed: Framed<'a>,
        bytes_max: usize,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, Problem> {
        let answer = lock(&self.known).get(&framed.schema).and_then(|entry| entry.answer.clone());
        let missing = |why: &str| {
            let (id, url) = (framed.schema, &self.url);
            let reason = format!(
                "the {what} of topic {topic} names schema {id}, which the schema registry {url} {why}, and read the \
                 record again from its offset"
            );
            (Code::UnknownSchema, reason)
        };
        let schema = match answer {
            Some(Ok(schema)) => schema,
            Some(Err(why)) => return Err(missing(&why)),
            // Blocks wait for an answer. One that is gone was negative.
            None => return Err(missing(&unknown("it did not have it"))),
        };
        #[cfg(any(feature = "avro", feature = "protobuf"))]
        let of_schema = |(kind, reason)| (kind, format!("{what} of schema {}: {reason}", framed.schema));
        #[cfg(not(feature = "avro"))]
        let _ = bytes_max;
        match &*schema {
            #[cfg(feature = "avro")]
            Schema::Avro(schema) => {
                let content = framed.content.unwrap_or(framed.rest);
                schema.decode(content, bytes_max, purpose, out).map(|()| Decoded::Appended).map_err(of_schema)
            }
            #[cfg(feature = "protobuf")]
            Schema::Protobuf(file) => {
                let appended = file.decode(framed.rest, framed.content, purpose, out);
                appended.map(|()| Decoded::Appended).map_err(of_schema)
            }
            Schema::Json(plan) => {
                let json = framed.content.map_or(framed.rest, json_content).trim_ascii();
                if plan.is_plain(plan.root()) {
                    return Ok(Decoded::Json(json));
                }
                // JSON names its nulls.
                let purpose = if purpose == Purpose::Merge { Purpose::Document } else { purpose };
                plan.push(plan.root(), json, purpose, out);
                Ok(Decoded::Appended)
            }
        }
    }
}

/// A value that names no schema.
pub(crate) fn not_framed(value: &[u8]) -> Problem {
    let found = inrush_formats::beginning(value);
    let reason = format!(
        "the value names no schema: it begins with {found:?}, and a byte 0 and the schema's id are expected, or the \
         header __value_schema_id"
    );
    (Code::NoSchema, reason)
}

/// A schema that the registry does not have.
fn unknown(why: &str) -> String {
    format!("does not give: {why}; register it there, allow its user to read it, or name the registry of the topic")
}

/// A schema that the registry has.
fn unusable(why: &str) -> String {
    format!("has and which cannot be used: {why}; correct the schema there")
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is changed in several steps.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that asks the registry.
struct Asking {
    client: Client,
    url: String,
    known: Arc<Mutex<HashMap<SchemaKey, Entry>>>,
    has_nulls: bool,
    jitter: Jitter,
}

/// A schema that the registry has to be asked for.
struct Question {
    schema: SchemaKey,
    /// How often the registry did not answer.
    tries: u32,
    /// The time of the next try.
    due: Instant,
}

impl Asking {
    fn run(mut self, told: &Sender<Result<(), String>>, questions: &Receiver<SchemaKey>) {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                // The other side waits for this.
                let _ = told.send(Err(format!("the schema registry {}: starting a runtime: {error}", self.url)));
                return;
            }
        };
        let first = runtime.block_on(self.first());
        let is_open = first.is_ok();
        if told.send(first).is_err() || !is_open {
            return;
        }
        let mut waiting: Vec<Question> = Vec::new();
        let mut swept = clock::now();
        loop {
            let next = waiting.iter().map(|question| question.due).enumerate().min_by_key(|(_, due)| *due);
            let received = match next {
                None => questions.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((_, due)) => questions.recv_timeout(due.saturating_duration_since(clock::now())),
            };
            match (received, next) {
                (Ok(schema), _) => waiting.push(Question { schema, tries: 0, due: clock::now() }),
                (Err(RecvTimeoutError::Disconnected), _) => return,
                (Err(RecvTimeoutError::Timeout), None) => {}
                (Err(RecvTimeoutError::Timeout), Some((at, _))) => {
                    let question = waiting.swap_remove(at);
                    waiting.extend(runtime.block_on(self.ask(question)));
                }
            }
            if swept.elapsed() > UNKNOWN_FOR {
                swept = clock::now();
                sweep(&mut lock(&self.known), swept);
            }
        }
    }

    /// Asks once. Returns the question with the time of its next try where it is not answered.
    async fn ask(&mut self, Question { schema, tries, .. }: Question) -> Option<Question> {
        let url = &self.url;
        let answer = match self.client.find(schema).await {
            Ok(found) => parse(&found, self.has_nulls).map_err(|why| unusable(&why)),
            Err(Failure::Unknown(why)) => Err(unknown(&why)),
            Err(Failure::Unusable(why)) => Err(unusable(&why)),
            Err(Failure::Away(why) | Failure::Refused(why)) => {
                tracing::warn!("the schema registry {url} is asked again for schema {schema}, records wait: {why}");
                let tries = tries.saturating_add(1);
                return Some(Question { schema, tries, due: clock::now() + self.pause(tries) });
            }
        };
        if tries > 0 {
            tracing::info!("the schema registry {url} answers again");
        }
        let valid_until = answer.is_err().then(|| clock::now() + UNKNOWN_FOR);
        let entry = Entry { answer: Some(answer.map(Arc::new)), is_asked: false, valid_until };
        lock(&self.known).insert(schema, entry);
        None
    }

    /// The pause after this number of failures.
    fn pause(&mut self, failures: u32) -> Duration {
        PAUSES.wait(failures, &mut self.jitter)
    }

    /// Waits until the registry answers.
    async fn first(&mut self) -> Result<(), String> {
        let wait = Wait::new(OPEN_FOR);
        let mut tries = 0;
        loop {
            let (why, is_away) = match self.client.check().await {
                Ok(()) => return Ok(()),
                Err(Failure::Away(why)) => (why, true),
                Err(Failure::Unknown(why) | Failure::Unusable(why) | Failure::Refused(why)) => (why, false),
            };
            tries += 1;
            let pause = self.pause(tries);
            if !is_away || pause >= wait.left() {
                return Err(format!("the schema registry {}: {why}", self.url));
            }
            clock::sleep(pause).await;
        }
    }
}

/// Removes the schemas that the registry would be asked for again. Each value of another form may
/// name one by chance.
fn sweep(known: &mut HashMap<SchemaKey, Entry>, now: Instant) {
    known.retain(|_, entry| entry.is_asked || entry.valid_until.is_none_or(|until| now < until));
}

/// Makes a schema of what the registry has.
fn parse(found: &Found, has_nulls: bool) -> Result<Schema, String> {
    #[cfg(not(feature = "protobuf"))]
    let _ = has_nulls;
    match &found.kind[..] {
        #[cfg(feature = "avro")]
        "AVRO" => {
            let references: Vec<String> = found.references.iter().map(|(_, text)| text.clone()).collect();
            super::avro::Schema::parse(&found.text, &references).map(Schema::Avro)
        }
        #[cfg(feature = "protobuf")]
        "PROTOBUF" => super::protobuf::File::parse(&found.text, &found.references, has_nulls).map(Schema::Protobuf),
        "JSON" => Ok(Schema::Json(Plan::of_json_schema(&found.text, &found.references))),
        other => Err(format!("it is of type {other}, which this build does not read")),
    }
}

#[cfg(test)]
mod tests;

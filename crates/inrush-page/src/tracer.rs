//! Requests as traces: each sampled request is a span of its own.

mod sampler;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_load::observe::{Outcome, Sample};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::snapshot::Start;
pub(crate) use sampler::Sampler;

/// A request that a client sends to a server.
const CLIENT: u8 = 3;
const FAILED: u8 = 2;

/// Keeps the sampled requests until they are sent.
#[derive(Debug)]
pub(crate) struct Tracer {
    sampler: Sampler,
    queue_max: usize,
    batch_max: usize,
    queue: Mutex<Queue>,
    /// There is a whole batch.
    is_full: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    spans: VecDeque<Json>,
    dropped: u64,
}

impl Tracer {
    pub(crate) fn new(sampler: Sampler, queue_max: usize, batch_max: usize) -> Self {
        Tracer { sampler, queue_max, batch_max, queue: Mutex::default(), is_full: Notify::new() }
    }

    /// A request was answered, refused or lost just now. `node`: its address.
    pub(crate) fn answered(&self, start: &Start, node: &str, request: u64, sample: &Sample) {
        let ids: [u8; 32] = Sha256::digest(format!("{} {} {request}", start.run_id, start.name)).into();
        let trace: [u8; 16] = std::array::from_fn(|at| ids[at]);
        if !self.sampler.keeps(&trace) {
            return;
        }
        let mut queue = self.lock();
        if queue.spans.len() >= self.queue_max {
            queue.dropped += 1;
            return;
        }
        queue.spans.push_back(span(start, node, request, sample, (&trace, &ids[16..24]), now()));
        if queue.spans.len() >= self.batch_max {
            self.is_full.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Each change of the queue is complete.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is a whole batch.
    pub(crate) async fn full(&self) {
        self.is_full.notified().await;
    }

    /// The oldest spans, at most a batch. Empty if there are none.
    pub(crate) fn take(&self) -> Vec<Json> {
        let mut queue = self.lock();
        let batch = queue.spans.len().min(self.batch_max);
        queue.spans.drain(..batch).collect()
    }

    /// The requests that found no room since the last call.
    pub(crate) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.lock().dropped)
    }
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A span, with the names of the semantic conventions for databases where they have one. `ids`: of
/// the trace and of the span. `ended`: ns since 1970.
fn span(start: &Start, node: &str, request: u64, sample: &Sample, ids: (&[u8], &[u8]), ended: u64) -> Json {
    let wall = u64::try_from(sample.wall.as_nanos()).unwrap_or(u64::MAX);
    let (text, number) = (
        |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } }),
        |key: &str, value: u64| json!({ "key": key, "value": { "intValue": value.to_string() } }),
    );
    let mut attributes = vec![
        text("db.operation.name", "bulk"),
        text("db.collection.name", &start.name),
        number("db.operation.batch.size", u64::from(sample.docs)),
        text("inrush.run_id", &start.run_id),
        number("inrush.request", request),
        number("inrush.request.bytes", sample.bytes),
        number("inrush.documents.accepted", u64::from(sample.accepted)),
        number("inrush.documents.rejected", u64::from(sample.rejected)),
        number("inrush.in_flight", u64::from(sample.in_flight)),
    ];
    let product = start.cluster.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    if ["elasticsearch", "opensearch"].contains(&product.as_str()) {
        attributes.push(text("db.system.name", &product));
    }
    if let Some((host, port)) = host_and_port(node) {
        attributes.extend([text("server.address", host), number("server.port", port)]);
    }
    if let Some(took) = sample.took {
        attributes.push(number("inrush.server.took_ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
    }
    let failure = match sample.outcome {
        Outcome::Answered => None,
        Outcome::Refused => Some("refused"),
        Outcome::TooLarge => Some("too_large"),
        Outcome::Lost => Some("lost"),
    };
    let mut span = json!({
        "traceId": hex(ids.0),
        "spanId": hex(ids.1),
        "name": format!("bulk {}", start.name),
        "kind": CLIENT,
        "startTimeUnixNano": ended.saturating_sub(wall).to_string(),
        "endTimeUnixNano": ended.to_string(),
    });
    if let Some(failure) = failure {
        attributes.push(text("error.type", failure));
        span["status"] = json!({ "code": FAILED, "message": failure });
    }
    span["attributes"] = Json::Array(attributes);
    span
}

/// Host and port of a node's address.
fn host_and_port(node: &str) -> Option<(&str, u64)> {
    let authority = node.split("://").nth(1)?.split('/').next()?;
    let (host, port) = authority.rsplit_once(':')?;
    Some((host.trim_start_matches('[').trim_end_matches(']'), port.parse().ok()?))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use inrush_core::Time;

    use super::*;

    fn sample(outcome: Outcome) -> Sample {
        Sample {
            sent: Time::START,
            wall: Duration::from_millis(250),
            took: (outcome == Outcome::Answered).then(|| Duration::from_millis(200)),
            bytes: 5_000,
            docs: 50,
            accepted: 48,
            rejected: 2,
            outcome,
            in_flight: 3,
            source_limited: false,
            remainder: false,
            node: 0,
        }
    }

    fn start() -> Start {
        let cluster = "OpenSearch 3.6.0".to_owned();
        Start { name: "logs".to_owned(), run_id: "0123".to_owned(), cluster, ..Start::default() }
    }

    #[test]
    fn a_request_is_a_span_with_its_node_and_its_result() {
        let tracer = Tracer::new(Sampler::All, 10, 5);
        tracer.answered(&start(), "http://[::1]:9200", 7, &sample(Outcome::Answered));
        tracer.answered(&start(), "http://a:9200", 8, &sample(Outcome::Lost));
        let spans = tracer.take();
        let of = |span: &Json, key: &str| {
            let all = span["attributes"].as_array().unwrap();
            let found = all.iter().find(|attribute| attribute["key"] == key);
            found.map(|attribute| attribute["value"].to_string()).unwrap_or_default()
        };
        assert_eq!((&spans[0]["name"], spans[0]["traceId"].as_str().unwrap().len()), (&json!("bulk logs"), 32));
        assert_eq!(spans[0]["spanId"].as_str().unwrap().len(), 16);
        assert_eq!(of(&spans[0], "db.system.name"), r#"{"stringValue":"opensearch"}"#);
        assert_eq!(of(&spans[0], "server.address"), r#"{"stringValue":"::1"}"#);
        assert_eq!(of(&spans[0], "server.port"), r#"{"intValue":"9200"}"#);
        assert_eq!(of(&spans[0], "inrush.server.took_ms"), r#"{"intValue":"200"}"#);
        let time = |key: &str| spans[0][key].as_str().unwrap().parse::<u64>().unwrap();
        assert_eq!(time("endTimeUnixNano") - time("startTimeUnixNano"), 250_000_000);
        assert!(spans[0].get("status").is_none());
        assert_eq!(
            (&spans[1]["status"]["code"], of(&spans[1], "inrush.request").as_str()),
            (&json!(2), r#"{"intValue":"8"}"#)
        );
        assert_ne!(spans[0]["traceId"], spans[1]["traceId"]);
    }

    #[test]
    fn the_queue_is_bounded_and_what_it_drops_is_counted() {
        let tracer = Tracer::new(Sampler::All, 10, 4);
        for request in 0..13 {
            tracer.answered(&start(), "http://a:9200", request, &sample(Outcome::Answered));
        }
        assert_eq!((tracer.take().len(), tracer.take().len(), tracer.take().len(), tracer.take().len()), (4, 4, 2, 0));
        assert_eq!((tracer.take_dropped(), tracer.take_dropped()), (3, 0));
    }
}

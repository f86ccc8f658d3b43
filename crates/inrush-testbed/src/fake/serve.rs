//! One request to the fake: checked, applied, answered, or not, as the fault script says.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use super::config::FakeConfig;
use super::connection::{ReplyBody, truncated, whole};
use super::{RequestLog, lock};
use crate::api::{self, ApiReply, ApiRequest, Surroundings, Task};
use crate::bulk::{self, Defaults};
use crate::coding::{decode, gzip, json_of_smile};
use crate::error::EsError;
use crate::faults::{self, Fault, FaultState, Faults, RequestFacts, Rule};
use crate::model::{Cluster, Op, Reached, millis_now};
use crate::product::{Flavor, Product};

/// What all nodes share.
pub(super) struct Shared {
    pub(super) config: FakeConfig,
    pub(super) cluster: Mutex<Cluster>,
    pub(super) faults: Mutex<FaultState>,
    pub(super) log: Mutex<Vec<RequestLog>>,
    pub(super) tasks: Mutex<BTreeMap<u64, Task>>,
    pub(super) held: watch::Sender<usize>,
    pub(super) release: watch::Sender<u64>,
    /// Where each node listens, once all do.
    pub(super) addresses: OnceLock<Vec<String>>,
    next_task: AtomicU64,
}

impl Shared {
    pub(super) fn new(config: FakeConfig) -> Self {
        let mut cluster = Cluster::new(config.flavor.clone());
        cluster.nodes = config.nodes.max(1);
        cluster.auto_create_index = config.auto_create_index;
        cluster.failure_store = config.failure_store;
        cluster.denied_indices.clone_from(&config.denied_indices);
        Shared {
            cluster: Mutex::new(cluster),
            faults: Mutex::new(FaultState::new(config.faults.clone())),
            log: Mutex::new(Vec::new()),
            tasks: Mutex::new(BTreeMap::new()),
            held: watch::channel(0).0,
            release: watch::channel(0).0,
            addresses: OnceLock::new(),
            next_task: AtomicU64::new(1),
            config,
        }
    }

    /// Waits until the test lets go.
    async fn hold(&self) {
        let mut release = self.release.subscribe();
        let generation = *release.borrow_and_update();
        let _count = HeldCount::new(&self.held);
        // The sender lives in `self`.
        let _ = release.wait_for(|now| *now > generation).await;
    }
}

struct HeldCount<'a>(&'a watch::Sender<usize>);

impl<'a> HeldCount<'a> {
    fn new(held: &'a watch::Sender<usize>) -> Self {
        held.send_modify(|held| *held += 1);
        HeldCount(held)
    }
}

impl Drop for HeldCount<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held -= 1);
    }
}

/// What becomes of a request.
enum Outcome {
    Json(u16, Value),
    /// Beside a `Retry-After` of so many seconds.
    Later(u16, Value, u64),
    Text(u16, &'static str),
    Truncated(u16, Value),
    /// SMILE that no reader takes.
    BrokenSmile(u16),
    Reset,
    Never,
}

impl From<EsError> for Outcome {
    fn from(error: EsError) -> Self {
        Outcome::Json(error.status, error.to_body())
    }
}

impl From<ApiReply> for Outcome {
    fn from(reply: ApiReply) -> Self {
        Outcome::Json(reply.status, reply.body)
    }
}

impl Outcome {
    fn status(&self) -> u16 {
        match self {
            Outcome::Json(status, _)
            | Outcome::Later(status, ..)
            | Outcome::Text(status, _)
            | Outcome::Truncated(status, _)
            | Outcome::BrokenSmile(status) => *status,
            Outcome::Reset | Outcome::Never => 0,
        }
    }
}

/// Answers one request; does not return where the connection is to be reset or the client to wait for ever.
pub(super) async fn serve(
    shared: Arc<Shared>,
    node: usize,
    reset: Arc<Notify>,
    stopped: watch::Receiver<bool>,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let (parts, body) = request.into_parts();
    let mut entry = RequestLog {
        node,
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map_or_else(|| parts.uri.path().to_owned(), ToString::to_string),
        opaque_id: header(&parts, "x-opaque-id").map(str::to_owned),
        status: 0,
        items: 0,
        shards: 0,
        body_bytes: 0,
        smile: header(&parts, CONTENT_TYPE.as_str()) == Some(SMILE),
        coding: header(&parts, CONTENT_ENCODING.as_str()).map(str::to_owned),
        authorized: true,
    };
    let packed = header(&parts, ACCEPT_ENCODING.as_str()).is_some_and(|codings| codings.contains("gzip"));
    let outcome = receive(&shared, node, stopped, &parts, body, &mut entry).await;
    entry.status = outcome.status();
    let opaque_id = entry.opaque_id.clone();
    // Steering the fake is no part of what is observed.
    if !entry.path.starts_with("/_fake/") {
        lock(&shared.log).push(entry);
    }
    let mut response = match outcome {
        Outcome::Json(status, body) => json_response(status, &body, packed, false),
        Outcome::Later(status, body, seconds) => {
            let mut response = json_response(status, &body, packed, false);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
            response
        }
        Outcome::BrokenSmile(status) => {
            let mut response = Response::new(whole(Bytes::from_static(b":)\n\x05\xFA\x83took")));
            *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(SMILE));
            response
        }
        Outcome::Truncated(status, body) => json_response(status, &body, packed, true),
        Outcome::Text(status, text) => {
            let mut response = Response::new(whole(Bytes::from_static(text.as_bytes())));
            *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
            if !text.is_empty() {
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
            }
            response
        }
        Outcome::Reset => {
            reset.notify_one();
            pending().await
        }
        Outcome::Never => pending().await,
    };
    let status = response.status().as_u16();
    let headers = response.headers_mut();
    if shared.config.flavor.is_elasticsearch() {
        headers.insert("x-elastic-product", HeaderValue::from_static("Elasticsearch"));
    }
    if shared.config.flavor.product == Product::OpenSearch
        && let Ok(version) = HeaderValue::from_str(&format!("OpenSearch/{} (opensearch)", shared.config.flavor.version))
    {
        headers.insert("x-opensearch-version", version);
    }
    if let Some(id) = opaque_id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        headers.insert("x-opaque-id", id);
    }
    match status {
        401 => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"security\" charset=\"UTF-8\""));
        }
        413 => {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}

/// The media type of SMILE.
const SMILE: &str = "application/smile";

fn json_response(status: u16, body: &Value, packed: bool, cut: bool) -> Response<ReplyBody> {
    let mut bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let packed = packed && !bytes.is_empty();
    if packed {
        bytes = gzip(&bytes);
    }
    let length = bytes.len();
    if cut {
        bytes.truncate(length / 2);
    }
    let body = if cut { truncated(bytes) } else { whole(bytes) };
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    if length > 0 {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if packed {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    response
}

fn header<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get(name).and_then(|value| value.to_str().ok())
}

async fn receive(
    shared: &Arc<Shared>,
    node: usize,
    stopped: watch::Receiver<bool>,
    parts: &Parts,
    body: Incoming,
    entry: &mut RequestLog,
) -> Outcome {
    let limit = shared.config.max_content_length_bytes;
    let declared = header(parts, CONTENT_LENGTH.as_str()).and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
    entry.body_bytes = declared;
    let facts = RequestFacts { path: parts.uri.path(), node, body_bytes: declared, smile: entry.smile, ops: &[] };
    if lock(&shared.faults).on_head(facts).is_some() {
        return Outcome::Reset;
    }
    if declared > limit {
        return Outcome::Text(413, "");
    }
    let Ok(collected) = Limited::new(body, limit).collect().await else {
        // Too long, or the client went away in the middle; in the second case nobody reads the reply.
        return Outcome::Text(413, "");
    };
    let wire = collected.to_bytes();
    entry.body_bytes = wire.len();
    if let Some(refusal) = authorize(shared, parts, &wire) {
        entry.authorized = false;
        return refusal;
    }
    if shared.config.latency > Duration::ZERO {
        tokio::time::sleep(shared.config.latency).await;
    }
    let path = entry.path.clone();
    if let Some(reply) = control(shared, &parts.method, parts.uri.path(), &wire) {
        return reply;
    }
    let coding = header(parts, CONTENT_ENCODING.as_str()).filter(|_| shared.config.gzip);
    let decoded = match decode(coding, &wire) {
        Ok(decoded) => decoded,
        Err(error) => return error.into(),
    };
    if let Some(refusal) = check_content_type(shared, parts, &decoded) {
        return refusal;
    }
    let decoded = if entry.smile { json_of_smile(&decoded) } else { Ok(decoded) };
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => return error.into(),
    };
    let request = ApiRequest::new(parts.method.clone(), &path, decoded);
    let Some(defaults) = request.bulk_defaults() else {
        return other(shared, node, &request, wire.len()).await;
    };
    // Its own task: a server goes on with a request whose client has gone.
    let task = tokio::spawn(bulk_request(
        Arc::clone(shared),
        node,
        stopped,
        request,
        defaults,
        (wire.len(), entry.smile),
        entry.opaque_id.clone(),
    ));
    match task.await {
        Ok((items, shards, outcome)) => {
            (entry.items, entry.shards) = (items, shards);
            outcome
        }
        Err(error) => EsError::new(500, "fake_cluster_panicked", error.to_string()).into(),
    }
}

fn authorize(shared: &Shared, parts: &Parts, wire: &[u8]) -> Option<Outcome> {
    if let Some(auth) = &shared.config.auth
        && header(parts, AUTHORIZATION.as_str()) != Some(auth.header().as_str())
    {
        return Some(faults::unauthorized().into());
    }
    let verify = shared.config.verify.as_ref()?;
    match verify(parts, wire) {
        Ok(()) => None,
        // The form in which Amazon's gateway refuses a signature.
        Err(reason) => Some(Outcome::Json(403, json!({"message": reason}))),
    }
}

/// Steering of the binary: `POST /_fake/faults`, `POST /_fake/release`, `GET /_fake/requests`.
fn control(shared: &Shared, method: &Method, path: &str, body: &[u8]) -> Option<Outcome> {
    match (method.as_str(), path) {
        ("POST" | "PUT", "/_fake/faults") => Some(match serde_json::from_slice::<Faults>(body) {
            Ok(script) => {
                *lock(&shared.faults) = FaultState::new(script);
                Outcome::Json(200, json!({"acknowledged": true}))
            }
            Err(error) => EsError::illegal_argument(format!("not a fault script: {error}")).into(),
        }),
        ("GET", "/_fake/faults") => Some(Outcome::Json(200, json!(lock(&shared.faults).faults()))),
        ("POST", "/_fake/release") => {
            shared.release.send_modify(|generation| *generation += 1);
            Some(Outcome::Json(200, json!({"acknowledged": true})))
        }
        ("GET", "/_fake/requests") => {
            let log = lock(&shared.log);
            let all: Vec<Value> = log
                .iter()
                .map(|one| {
                    json!({"node": one.node, "method": one.method, "path": one.path, "opaque_id": one.opaque_id, "status": one.status,
                        "items": one.items, "body_bytes": one.body_bytes, "smile": one.smile, "coding": one.coding, "authorized": one.authorized})
                })
                .collect();
            Some(Outcome::Json(200, json!({"requests": all})))
        }
        _ => None,
    }
}

fn check_content_type(shared: &Shared, parts: &Parts, body: &[u8]) -> Option<Outcome> {
    if body.is_empty() {
        return None;
    }
    let given = header(parts, CONTENT_TYPE.as_str()).unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    let compatible = shared.config.flavor.is_elasticsearch_8() && media.starts_with("application/vnd.elasticsearch+");
    let smile = media == SMILE && shared.config.smile;
    if matches!(media, "application/json" | "application/x-ndjson") || compatible || smile {
        return None;
    }
    let body = json!({"error": format!("Content-Type header [{given}] is not supported"), "status": 406});
    Some(Outcome::Json(406, body))
}

/// Everything but `_bulk`.
async fn other(shared: &Shared, node: usize, request: &ApiRequest, wire_bytes: usize) -> Outcome {
    let facts = RequestFacts { path: &request.path, node, body_bytes: wire_bytes, smile: false, ops: &[] };
    let rule = lock(&shared.faults).on_request(facts);
    if let Some(refusal) = rule.as_ref().and_then(|rule| before(shared, rule)) {
        return refusal;
    }
    if rule.as_ref().is_some_and(|rule| rule.fault == Fault::HoldBeforeApplying) {
        shared.hold().await;
    }
    let around = Surroundings {
        root_status: shared.config.root_status,
        tasks: lock(&shared.tasks).values().cloned().collect(),
        node,
        secured: shared.config.auth.is_some(),
        disk_available_bytes: shared.config.disk_available_bytes,
        max_content_length_bytes: shared.config.max_content_length_bytes,
        addresses: shared.addresses.get().cloned().unwrap_or_default(),
    };
    let reply = api::handle(&mut lock(&shared.cluster), request, &around);
    match rule {
        Some(rule) => after(shared, &rule, reply.status, reply.body).await,
        None => reply.into(),
    }
}

/// Faults that answer, or do not, instead of applying.
fn before(shared: &Shared, rule: &Rule) -> Option<Outcome> {
    match rule.fault {
        Fault::RequestTooLarge => Some(Outcome::Text(413, "")),
        Fault::BadGateway => Some(Outcome::Text(502, "<html><body><h1>502 Bad Gateway</h1></body></html>")),
        Fault::GatewayTimeout => Some(Outcome::Text(504, GATEWAY_TIMEOUT)),
        Fault::ResetBeforeApplying => Some(Outcome::Reset),
        fault => faults::request_error(&shared.config.flavor, fault).map(|error| match rule.retry_after_s {
            Some(seconds) => Outcome::Later(error.status, error.to_body(), seconds),
            None => error.into(),
        }),
    }
}

const GATEWAY_TIMEOUT: &str = "<html><body><h1>504 Gateway Time-out</h1></body></html>";

/// Faults that spoil the reply to what was applied.
async fn after(shared: &Shared, rule: &Rule, status: u16, mut body: Value) -> Outcome {
    match rule.fault {
        Fault::ResetAfterApplying => return Outcome::Reset,
        Fault::NoReply => return Outcome::Never,
        Fault::SmileReplyGarbled => return Outcome::BrokenSmile(status),
        Fault::GatewayTimeoutAfterApplying => return Outcome::Text(504, GATEWAY_TIMEOUT),
        Fault::ReplyTruncated => return Outcome::Truncated(status, body),
        Fault::ReplyNotJson => return Outcome::Text(status, "<html><body>It works!</body></html>"),
        Fault::Slow => tokio::time::sleep(Duration::from_millis(rule.delay_ms.unwrap_or(0))).await,
        Fault::HoldAfterApplying => shared.hold().await,
        Fault::ReplyItemMissing => {
            if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
                items.pop();
            }
        }
        Fault::ReplyItemExtra => {
            if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut)
                && let Some(last) = items.last().cloned()
            {
                items.push(last);
            }
        }
        // The others are settled before applying.
        _ => {}
    }
    Outcome::Json(status, body)
}

/// Keeps a request in `_tasks` as long as it lives.
struct TaskEntry<'a> {
    tasks: &'a Mutex<BTreeMap<u64, Task>>,
    id: u64,
}

impl Drop for TaskEntry<'_> {
    fn drop(&mut self) {
        lock(self.tasks).remove(&self.id);
    }
}

async fn bulk_request(
    shared: Arc<Shared>,
    node: usize,
    stopped: watch::Receiver<bool>,
    request: ApiRequest,
    defaults: Defaults,
    (wire_bytes, smile): (usize, bool),
    opaque_id: Option<String>,
) -> (usize, usize, Outcome) {
    let parsed = bulk::parse(&shared.config.flavor, &request.body, &defaults);
    let shards = lock(&shared.cluster).shards_of(parsed.as_deref().unwrap_or_default());
    let (items, outcome) = handle_bulk(shared, node, stopped, request, parsed, (wire_bytes, smile), opaque_id).await;
    (items, shards, outcome)
}

async fn handle_bulk(
    shared: Arc<Shared>,
    node: usize,
    stopped: watch::Receiver<bool>,
    request: ApiRequest,
    parsed: Result<Vec<Op>, EsError>,
    (wire_bytes, smile): (usize, bool),
    opaque_id: Option<String>,
) -> (usize, Outcome) {
    let started = Instant::now();
    let ops = parsed.as_deref().unwrap_or_default();
    let facts = RequestFacts { path: &request.path, node, body_bytes: wire_bytes, smile, ops };
    let rule = lock(&shared.faults).on_request(facts);
    if let Some(refusal) = rule.as_ref().and_then(|rule| before(&shared, rule)) {
        return (ops.len(), refusal);
    }
    let ops = match parsed {
        Ok(ops) => ops,
        Err(error) => return (0, error.into()),
    };
    let id = shared.next_task.fetch_add(1, Ordering::Relaxed);
    let description = format!("requests[{}], indices[{}]", ops.len(), ops.first().map_or("", |op| op.index.as_str()));
    lock(&shared.tasks).insert(id, Task { id, node, opaque_id, start_time_ms: millis_now(), description });
    let entry = TaskEntry { tasks: &shared.tasks, id };
    if rule.as_ref().is_some_and(|rule| rule.fault == Fault::HoldBeforeApplying) {
        shared.hold().await;
    }
    if lock(&shared.cluster).read_only {
        let block = "blocked by: [FORBIDDEN/6/cluster read-only (api)];";
        return (ops.len(), EsError::new(403, "cluster_block_exception", block).into());
    }
    if *stopped.borrow() {
        return (ops.len(), Outcome::Reset);
    }
    let items =
        apply(&shared, node, wire_bytes, &ops, request.param("refresh").is_some_and(|refresh| refresh != "false"));
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut body = bulk::reply(&shared.config.flavor, took_ms, items);
    if let Some(patterns) = request.param("filter_path") {
        body = bulk::filter_path(body, patterns);
    }
    let outcome = match &rule {
        Some(rule) => after(&shared, rule, 200, body).await,
        None => Outcome::Json(200, body),
    };
    drop(entry);
    (ops.len(), outcome)
}

/// What a pipeline dropped or refused is collected as it happens, drops first; then the others are put between it, each at its place.
/// Elasticsearch 8 puts everything at its place.
fn in_the_order_of_a_reply(flavor: &Flavor, items: Vec<(Value, Reached)>) -> Vec<Value> {
    if flavor.is_elasticsearch_8() {
        return items.into_iter().map(|(item, _)| item).collect();
    }
    let early = |wanted| items.iter().filter(move |(_, reached)| *reached == wanted).map(|(item, _)| item.clone());
    let mut reply: Vec<Value> = early(Reached::Drop).chain(early(Reached::Failure)).collect();
    for (place, (item, reached)) in items.iter().enumerate() {
        if *reached == Reached::Index {
            reply.insert(place, item.clone());
        }
    }
    reply
}

fn apply(shared: &Shared, node: usize, wire_bytes: usize, ops: &[Op], refresh: bool) -> Vec<Value> {
    let facts = RequestFacts { path: "/_bulk", node, body_bytes: wire_bytes, smile: false, ops };
    let mut cluster = lock(&shared.cluster);
    let mut script = lock(&shared.faults);
    let items: Vec<(Value, Reached)> = ops
        .iter()
        .map(|op| {
            let fault =
                script.on_item(facts, op).and_then(|fault| faults::item_error(&shared.config.flavor, fault, op));
            match fault {
                Some(error) => (cluster.refuse(op, &error), Reached::Index),
                None => cluster.apply_in_bulk(op),
            }
        })
        .collect();
    let items = in_the_order_of_a_reply(&shared.config.flavor, items);
    if refresh {
        for op in ops {
            if let Some(name) = cluster.resolve_existing(op)
                && let Some(index) = cluster.indices.get_mut(&name)
            {
                index.refresh();
            }
        }
    }
    items
}

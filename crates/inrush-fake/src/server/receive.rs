//! One request: received, checked, decoded and answered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use serde_json::json;
use tokio::sync::watch;

use super::answer::Answer;
use super::bulk::{Answered, BulkRequest};
use super::control::control;
use super::log::{RequestLog, header};
use super::managed;
use super::shared::{Shared, lock};
use super::spoil::{after, before};
use crate::api::{self, ApiRequest};
use crate::coding::{SMILE, decode, json_of_smile};
use crate::error::ServerError;
use crate::faults::{Fault, RequestFacts, unauthorized};

/// Receives the body of a request and answers it. Completes the entry of the log.
pub(super) async fn receive<B>(
    shared: &Arc<Shared>,
    node: usize,
    stopped: watch::Receiver<bool>,
    parts: &Parts,
    body: B,
    entry: &mut RequestLog,
) -> Answer
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let wire = match read_body(shared, node, parts, body, entry).await {
        Ok(wire) => wire,
        Err(refusal) => return refusal,
    };
    if let Some(refusal) = authorize(shared, parts, &wire) {
        entry.authorized = false;
        return refusal;
    }
    if shared.config.latency > Duration::ZERO {
        tokio::time::sleep(shared.config.latency).await;
    }
    if let Some(answer) = control(shared, &parts.method, parts.uri.path(), &wire) {
        return answer;
    }
    let decoded = match decode_body(shared, parts, &wire, entry.smile) {
        Ok(decoded) => decoded,
        Err(refusal) => return refusal,
    };
    if let (Some(status), Some(path)) = (shared.config.managed, entry.path.strip_prefix(managed::PATH)) {
        return managed::answer(shared, node, status, parts.method.clone(), path, decoded);
    }
    let request = ApiRequest::new(parts.method.clone(), &entry.path, decoded);
    let Some(defaults) = request.bulk_defaults() else {
        return other(shared, node, &request, wire.len()).await;
    };
    let bulk = BulkRequest {
        shared: Arc::clone(shared),
        node,
        stopped,
        request,
        wire_bytes: wire.len(),
        smile: entry.smile,
        opaque_id: entry.opaque_id.clone(),
    };
    // A task of its own: a server goes on with a request whose client has disconnected.
    match tokio::spawn(bulk.run(defaults)).await {
        Ok(Answered { items, shards, answer }) => {
            (entry.items, entry.shards) = (items, shards);
            answer
        }
        Err(error) => ServerError::new(500, "fake_cluster_panicked", error.to_string()).into(),
    }
}

/// Answers a request other than a bulk request.
async fn other(shared: &Shared, node: usize, request: &ApiRequest, wire_bytes: usize) -> Answer {
    let facts = RequestFacts {
        method: request.method.as_str(),
        path: &request.path,
        node,
        body_bytes: wire_bytes,
        smile: false,
        ops: &[],
    };
    let rule = lock(&shared.faults).on_request(facts);
    if let Some(refusal) = rule.as_ref().and_then(|rule| before(shared, rule)) {
        return refusal;
    }
    if rule.as_ref().is_some_and(|rule| rule.fault() == Fault::HoldBeforeApplying) {
        shared.hold().await;
    }
    let environment = shared.environment(node);
    let reply = api::handle(&mut lock(&shared.cluster), request, &environment);
    match rule {
        Some(rule) => after(shared, &rule, reply.status, reply.body).await,
        None => reply.into(),
    }
}

/// The body as it came over the wire.
async fn read_body<B>(
    shared: &Shared,
    node: usize,
    parts: &Parts,
    body: B,
    entry: &mut RequestLog,
) -> Result<Bytes, Answer>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limit = shared.config.max_content_length_bytes;
    let declared = header(parts, CONTENT_LENGTH.as_str()).and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
    entry.body_bytes = declared;
    let (method, path) = (parts.method.as_str(), parts.uri.path());
    let facts = RequestFacts { method, path, node, body_bytes: declared, smile: entry.smile, ops: &[] };
    if lock(&shared.faults).on_head(facts).is_some() {
        return Err(Answer::Reset);
    }
    if declared > limit {
        return Err(Answer::Text(413, ""));
    }
    // An error is a body above the limit, or a client that disconnected and reads no reply.
    let collected = Limited::new(body, limit).collect().await.map_err(|_| Answer::Text(413, ""))?;
    let wire = collected.to_bytes();
    entry.body_bytes = wire.len();
    Ok(wire)
}

/// The refusal of wrong credentials or of a wrong signature.
fn authorize(shared: &Shared, parts: &Parts, wire: &[u8]) -> Option<Answer> {
    if let Some(auth) = &shared.config.auth
        && header(parts, AUTHORIZATION.as_str()) != Some(auth.header().as_str())
    {
        return Some(unauthorized().into());
    }
    let verify = shared.config.verify.as_ref()?;
    match verify(parts, wire) {
        Ok(()) => None,
        // Amazon's gateway refuses a signature in this form.
        Err(reason) => Some(Answer::Json(403, json!({"message": reason}))),
    }
}

/// The body, decompressed and as JSON.
fn decode_body(shared: &Shared, parts: &Parts, wire: &Bytes, smile: bool) -> Result<Bytes, Answer> {
    let coding = header(parts, CONTENT_ENCODING.as_str()).filter(|_| shared.config.gzip);
    let decoded = decode(coding, wire)?;
    if !decoded.is_empty()
        && let Some(refusal) = check_content_type(shared, parts)
    {
        return Err(refusal);
    }
    Ok(if smile { json_of_smile(&decoded)? } else { decoded })
}

/// The 406 of a content type that the server does not know.
fn check_content_type(shared: &Shared, parts: &Parts) -> Option<Answer> {
    let given = header(parts, CONTENT_TYPE.as_str()).unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    let compatible = shared.config.flavor.is_elasticsearch_8() && media.starts_with("application/vnd.elasticsearch+");
    let smile = media == SMILE && shared.config.smile;
    if matches!(media, "application/json" | "application/x-ndjson") || compatible || smile {
        return None;
    }
    let body = json!({"error": format!("Content-Type header [{given}] is not supported"), "status": 406});
    Some(Answer::Json(406, body))
}

//! A managed `_bulk` endpoint below `/_es`, as Elastic documents it: it answers before documents
//! are indexed, and never tells which ones the cluster refuses.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::answer::Answer;
use super::shared::{Shared, lock};
use crate::api::{self, ApiRequest};
use crate::bulk;
use crate::error::ServerError;
use crate::filter::filter_path;
use crate::model::{Action, Op};

/// The path of the endpoint.
pub(super) const PATH: &str = "/_es";

/// Answers a request below [`PATH`]. `path` is the rest of its path, with its query.
pub(super) fn answer(shared: &Shared, node: usize, status: u16, method: Method, path: &str, body: Bytes) -> Answer {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let request = ApiRequest::new(method, &path, body);
    if let Some(defaults) = request.bulk_defaults() {
        return match bulk::parse(&shared.config.flavor, &request.body, &defaults) {
            Ok(ops) => take(shared, status, &request, &ops),
            Err(error) => error.into(),
        };
    }
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    match (request.method.as_str(), segments.as_slice()) {
        ("GET" | "HEAD", []) => api::handle(&mut lock(&shared.cluster), &request, &shared.environment(node)).into(),
        ("GET", ["_license"]) => Answer::Json(200, json!({"license": {"status": "active", "type": "enterprise"}})),
        _ => Answer::Json(404, json!({"error": "not found", "status": 404})),
    }
}

/// Takes all documents or none. Those of other targets than logs are dropped, and errors of the
/// cluster are not told.
fn take(shared: &Shared, status: u16, request: &ApiRequest, ops: &[Op]) -> Answer {
    if ops.iter().any(|op| op.action != Action::Create) {
        let reason = "only the create action is supported";
        return ServerError::new(400, "illegal_argument_exception", reason).into();
    }
    let mut cluster = lock(&shared.cluster);
    for op in
        ops.iter().filter(|op| op.index == "logs" || op.index.starts_with("logs-") || op.index.starts_with("logs."))
    {
        // Duplicates are not detected.
        let op = Op { id: None, ..op.clone() };
        cluster.apply_in_bulk(&op);
    }
    let item = |op: &Op| json!({"create": {"_index": op.index, "result": "created", "status": 201}});
    let mut body = json!({"took": 0, "errors": false, "items": ops.iter().map(item).collect::<Vec<Value>>()});
    if let Some(patterns) = request.param("filter_path") {
        body = filter_path(body, patterns);
    }
    Answer::Json(status, body)
}

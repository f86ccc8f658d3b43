//! Scrolls. The fake keeps no state between two pages: the scroll id holds the search and the start
//! of the next page. A scroll of the fake therefore sees later writes; on a real server it does
//! not.

use http::Method;
use serde_json::{Value, json};

use super::request::{ApiReply, ApiRequest};
use super::search::search_from;
use crate::error::ServerError;
use crate::model::Cluster;

/// The first page: a search with `scroll`.
pub(super) fn begin(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    if request.json()?.get("from").is_some() {
        return Err(ServerError::validation("using [from] is not allowed in a scroll context"));
    }
    page(cluster, expression, &request.json()?, 0)
}

/// A further page.
pub(super) fn next(cluster: &Cluster, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    let missing = || ServerError::new(404, "search_context_missing_exception", "No search context found");
    let id =
        body.get("scroll_id").and_then(Value::as_str).ok_or_else(|| ServerError::validation("scrollId is missing"))?;
    let asked: Value = serde_json::from_str(id).map_err(|_| missing())?;
    let from = asked.get("from").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).ok_or_else(missing)?;
    let expression = asked.get("index").and_then(Value::as_str).ok_or_else(missing)?;
    page(cluster, expression, asked.get("body").ok_or_else(missing)?, from)
}

/// Closes scrolls: the fake has no state to delete.
pub(super) fn clear(request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let freed = match request.json()?.get("scroll_id") {
        Some(Value::Array(ids)) => ids.len(),
        Some(_) => 1,
        None => 0,
    };
    Ok(ApiReply::ok(json!({"succeeded": true, "num_freed": freed})))
}

fn page(cluster: &Cluster, expression: &str, body: &Value, from: usize) -> Result<ApiReply, ServerError> {
    let search = ApiRequest::new(Method::POST, "/_search", body.to_string().into());
    let mut reply = search_from(cluster, expression, &search, Some(from))?;
    let shown = reply.body["hits"]["hits"].as_array().map_or(0, Vec::len);
    let id = json!({"index": expression, "from": from + shown, "body": body});
    reply.body["_scroll_id"] = json!(id.to_string());
    Ok(reply)
}

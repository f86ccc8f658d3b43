//! One exchange: a request over HTTP and its reply.

use std::future::pending;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONNECTION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response};
use hyper::body::Body;
use tokio::sync::{Notify, watch};

use super::answer::Answer;
use super::body::ReplyBody;
use super::control;
use super::log::{RequestLog, header};
use super::receive::receive;
use super::shared::{Shared, lock};
use crate::product::{Flavor, Product};

/// Answers one request. It does not return if the connection is to be reset or the client gets no
/// reply.
pub(super) async fn serve<B>(
    shared: Arc<Shared>,
    node: usize,
    reset: Arc<Notify>,
    stopped: watch::Receiver<bool>,
    request: Request<B>,
) -> Response<ReplyBody>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let mut entry = RequestLog::new(node, &parts);
    let packed = header(&parts, ACCEPT_ENCODING.as_str()).is_some_and(|codings| codings.contains("gzip"));
    let answer = receive(&shared, node, stopped, &parts, body, &mut entry).await;
    entry.status = answer.status();
    let opaque_id = entry.opaque_id.clone();
    if !entry.path.starts_with(control::PREFIX) {
        lock(&shared.log).push(entry);
    }
    if matches!(answer, Answer::Reset) {
        reset.notify_one();
    }
    let Some(mut response) = answer.into_response(packed) else {
        return pending().await;
    };
    let status = response.status().as_u16();
    add_headers(response.headers_mut(), &shared.config.flavor, status, opaque_id);
    response
}

/// Adds the headers of every reply, and those of some statuses.
fn add_headers(headers: &mut HeaderMap, flavor: &Flavor, status: u16, opaque_id: Option<String>) {
    match flavor.product() {
        Product::Elasticsearch => {
            headers.insert("x-elastic-product", HeaderValue::from_static("Elasticsearch"));
        }
        Product::OpenSearch => {
            if let Ok(version) = HeaderValue::from_str(&format!("OpenSearch/{} (opensearch)", flavor.version())) {
                headers.insert("x-opensearch-version", version);
            }
        }
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
}

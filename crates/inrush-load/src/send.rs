//! One bulk request: from the flow's request to its result.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use inrush_cluster::clock;
use inrush_cluster::transport::{self, HttpErrorKind, Transport, path_segment};
use inrush_core::Compression;
use inrush_core::outcome::Attempt;
use inrush_core::reply::{BulkReply, FILTER_PATH, FILTER_PATH_IDS, FILTER_PATH_SUMMARY, ItemError};

use crate::compress::Compressors;
use crate::fetch::Fetcher;
use crate::over::OPAQUE_PREFIX;
use crate::primaries::Primaries;

/// Path, name and compression of the bulk requests.
#[derive(Debug)]
pub(crate) struct BulkEndpoint {
    path_items: String,
    path_ids: String,
    path_summary: String,
    run_id: String,
    compressors: Compressors,
    primaries: Option<Arc<Primaries>>,
    /// Looks up the documents of a request before it is sent.
    fetcher: Option<Fetcher>,
}

impl BulkEndpoint {
    /// `index` is the index of all documents, or `None` where every action line names its own.
    /// `compress_at_once` is the number of bodies that are compressed at the same time.
    pub(crate) fn new(index: Option<&str>, pipeline: Option<&str>, run_id: &str, compress_at_once: usize) -> Self {
        let mut path = index.map_or_else(|| "/_bulk?".to_owned(), |index| format!("/{}/_bulk?", path_segment(index)));
        if let Some(pipeline) = pipeline {
            path.push_str("pipeline=");
            path.push_str(&path_segment(pipeline));
            path.push('&');
        }
        BulkEndpoint {
            path_items: format!("{path}filter_path={FILTER_PATH}"),
            path_ids: format!("{path}filter_path={FILTER_PATH_IDS}"),
            path_summary: format!("{path}filter_path={FILTER_PATH_SUMMARY}"),
            run_id: run_id.to_owned(),
            compressors: Compressors::new(compress_at_once),
            primaries: None,
            fetcher: None,
        }
    }

    /// Requires in every request that the name is an alias. Otherwise the server would create an
    /// index of that name after the alias was removed.
    pub(crate) fn with_alias_only(mut self, alias_only: bool) -> Self {
        if alias_only {
            for path in [&mut self.path_items, &mut self.path_ids, &mut self.path_summary] {
                path.push_str("&require_alias=true");
            }
        }
        self
    }

    /// Sends requests for one shard to the node with its primary.
    pub(crate) fn with_primaries(mut self, primaries: Option<Arc<Primaries>>) -> Self {
        self.primaries = primaries;
        self
    }

    /// Looks up the documents of each request.
    pub(crate) fn with_fetcher(mut self, fetcher: Option<Fetcher>) -> Self {
        self.fetcher = fetcher;
        self
    }

    /// What the `X-Opaque-Id` of each request begins with.
    pub(crate) fn opaque_prefix(&self) -> String {
        format!("{OPAQUE_PREFIX}{}-", self.run_id)
    }

    /// The `X-Opaque-Id` of a request. `_tasks` and the server's logs show it.
    pub(crate) fn opaque_id(&self, request: u64) -> String {
        format!("{}{request}", self.opaque_prefix())
    }

    /// Sends the request once, compressed where its format says so. Returns the duration, the
    /// position of the node in the list, and the result.
    pub(crate) async fn send(&self, transport: &Transport, request: inrush_core::Request) -> (Duration, u16, Attempt) {
        let Some(fetcher) = &self.fetcher else { return self.send_body(transport, &request).await };
        let filled = match fetcher.fill(&request).await {
            Ok(filled) => filled,
            Err(error) => {
                return (Duration::ZERO, 0, Attempt::NotSent { reason: error.text(), lasting: error.is_lasting() });
            }
        };
        if filled.nothing_to_send() {
            return (Duration::ZERO, 0, filled.attempt(Attempt::Replied(BulkReply::default())));
        }
        let (wall, node, attempt) = self.send_body(transport, &filled.request).await;
        (wall, node, filled.attempt(attempt))
    }

    async fn send_body(&self, transport: &Transport, request: &inrush_core::Request) -> (Duration, u16, Attempt) {
        let started = clock::now();
        let path = match (request.item_replies, request.item_ids) {
            (false, _) => &self.path_summary,
            (true, false) => &self.path_items,
            (true, true) => &self.path_ids,
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(request.body.format.encoding.content_type()));
        if let Ok(id) = HeaderValue::from_str(&self.opaque_id(request.id)) {
            headers.insert("x-opaque-id", id);
        }
        let body = match request.body.format.compression {
            Compression::None => request.body.slices.clone(),
            Compression::Gzip(level) => {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                // The reply holds 60 bytes for each item, about as much as a small document, and
                // would fill a slow connection.
                headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
                match self.compressors.pack(&request.body, level).await {
                    Some(packed) => vec![packed],
                    None => {
                        return (
                            started.elapsed(),
                            0,
                            Attempt::NotSent {
                                reason: "the compression of the body panicked".to_owned(),
                                lasting: true,
                            },
                        );
                    }
                }
            }
        };
        let path_and_query = match &request.routing {
            None => path.clone(),
            Some(routing) => format!("{path}&routing={}", path_segment(routing)),
        };
        let reply_bytes_max = Some(reply_bytes_max(request.items, request.body.len()));
        let rows = Arc::clone(&request.body.rows);
        let http = transport::Request { method: Method::POST, path_and_query, headers, body, rows, reply_bytes_max };
        let preferred = request.shard.zip(self.primaries.as_ref()).and_then(|(shard, primaries)| primaries.node(shard));
        let sent = transport.request_at(&http, preferred).await;
        let wall = started.elapsed();
        let node = u16::try_from(sent.node).unwrap_or(u16::MAX);
        let attempt = attempt(sent.result, request);
        tracing::debug!(
            "bulk request {}: {} items, {} bytes as {}, node {node}, {:.1} ms, {}",
            request.id,
            request.items,
            request.body.len(),
            request.body.format,
            wall.as_secs_f64() * 1e3,
            outcome(&attempt),
        );
        (wall, node, attempt)
    }
}

/// The result of a request for the log, without content of documents and without secrets.
fn outcome(attempt: &Attempt) -> String {
    match attempt {
        Attempt::Replied(reply) => {
            let failed = reply.runs.iter().filter(|run| run.item.error.is_some());
            format!("200, {} items with errors", failed.map(|run| u64::from(run.count)).sum::<u64>())
        }
        Attempt::Refused { status, error, .. } => format!("{status} {}", error.kind),
        Attempt::NotSent { .. } => "not sent".to_owned(),
        Attempt::Lost { .. } => "no answer".to_owned(),
        Attempt::Garbled { .. } => "unexpected reply".to_owned(),
    }
}

/// Largest size of the reply to `items` items in a body of `body_bytes` bytes. An error names
/// fields and values of its document, and each of its causes may repeat them.
fn reply_bytes_max(items: u32, body_bytes: u64) -> usize {
    let bytes = body_bytes.saturating_mul(4).saturating_add((64 << 10) + u64::from(items) * (4 << 10));
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn attempt(result: Result<transport::Response, transport::HttpError>, request: &inrush_core::Request) -> Attempt {
    let response = match result {
        Ok(response) => response,
        Err(error) => {
            let reason = error.to_string();
            return match error.kind {
                HttpErrorKind::NotSent | HttpErrorKind::Local => Attempt::NotSent { reason, lasting: false },
                HttpErrorKind::Lost | HttpErrorKind::TimedOut => Attempt::Lost { reason },
            };
        }
    };
    if !(200..300).contains(&response.status) {
        let error = ItemError::from_body(&response.body);
        // RFC 9110 defines the header for these two statuses, and for redirects, which are not
        // followed.
        let retry_after = response.retry_after.filter(|_| matches!(response.status, 429 | 503));
        return Attempt::Refused { status: response.status, error, retry_after };
    }
    let items = request.items;
    let reply = match request.item_ids {
        true => BulkReply::parse_with_ids(&response.body),
        false => BulkReply::parse(&response.body),
    };
    match reply {
        Ok(reply) if reply.items() == u64::from(items) || (!request.item_replies && reply.items() == 0) => {
            Attempt::Replied(reply)
        }
        Ok(reply) => Attempt::Garbled { reason: format!("the reply has {} entries for {items} items", reply.items()) },
        Err(e) => Attempt::Garbled { reason: e.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use inrush_cluster::transport::HttpOptions;

    use super::*;

    #[test]
    fn a_reply_has_room_for_an_error_of_each_item() {
        assert_eq!(reply_bytes_max(1, 100), (64 << 10) + (4 << 10) + 400);
        // The limit is four times the size of a usual request, and below the limit of any reply.
        let most = reply_bytes_max(5000, 15 << 20);
        assert!((60 << 20..HttpOptions::default().reply_bytes_max).contains(&most), "{most}");
        assert_eq!(reply_bytes_max(u32::MAX, u64::MAX), usize::MAX);
    }
}

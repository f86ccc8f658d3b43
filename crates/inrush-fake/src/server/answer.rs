//! Answers to requests, before they become HTTP.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::Value;

use super::body::{ReplyBody, truncated, whole};
use crate::api::ApiReply;
use crate::coding::{SMILE, gzip};
use crate::error::ServerError;

/// The HTML of a gateway that got no reply from its server.
pub(super) const GATEWAY_TIMEOUT: &str = "<html><body><h1>504 Gateway Time-out</h1></body></html>";

/// The HTML of a gateway that cannot reach its server.
pub(super) const BAD_GATEWAY: &str = "<html><body><h1>502 Bad Gateway</h1></body></html>";

/// The answer to a request.
pub(super) enum Answer {
    /// Status and JSON; null is an empty body.
    Json(u16, Value),
    /// Status, JSON and the seconds of `Retry-After`.
    Later(u16, Value, u64),
    /// Status and HTML; an empty text is an empty body.
    Text(u16, &'static str),
    /// Status and JSON, of which half arrives.
    Truncated(u16, Value),
    /// Status and SMILE that no reader understands.
    BrokenSmile(u16),
    /// A reset connection.
    Reset,
    /// No reply, the connection stays open.
    Never,
}

impl From<ServerError> for Answer {
    fn from(error: ServerError) -> Self {
        Answer::Json(error.status, error.to_body())
    }
}

impl From<ApiReply> for Answer {
    fn from(reply: ApiReply) -> Self {
        Answer::Json(reply.status, reply.body)
    }
}

impl Answer {
    /// The status; 0 without a reply.
    pub(super) fn status(&self) -> u16 {
        match self {
            Answer::Json(status, _)
            | Answer::Later(status, ..)
            | Answer::Text(status, _)
            | Answer::Truncated(status, _)
            | Answer::BrokenSmile(status) => *status,
            Answer::Reset | Answer::Never => 0,
        }
    }

    /// The reply, in gzip if `packed`; `None` without a reply.
    pub(super) fn into_response(self, packed: bool) -> Option<Response<ReplyBody>> {
        let status = self.status();
        let mut response = match self {
            Answer::Json(_, body) => json_response(&body, packed, false),
            Answer::Later(_, body, seconds) => {
                let mut response = json_response(&body, packed, false);
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                response
            }
            Answer::Truncated(_, body) => json_response(&body, packed, true),
            Answer::BrokenSmile(_) => {
                let mut response = Response::new(whole(Bytes::from_static(b":)\n\x05\xFA\x83took")));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(SMILE));
                response
            }
            Answer::Text(_, text) => {
                let mut response = Response::new(whole(Bytes::from_static(text.as_bytes())));
                if !text.is_empty() {
                    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
                }
                response
            }
            Answer::Reset | Answer::Never => return None,
        };
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
        Some(response)
    }
}

fn json_response(body: &Value, packed: bool, cut: bool) -> Response<ReplyBody> {
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
    let headers = response.headers_mut();
    if length > 0 {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    response
}

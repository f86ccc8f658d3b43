//! The log of requests.

use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use serde::Serialize;

use crate::coding::SMILE;

/// A request that the fake received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestLog {
    /// The node of the request, counted from 0.
    pub node: usize,
    /// Method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// `X-Opaque-Id`.
    pub opaque_id: Option<String>,
    /// Status of the reply; 0 for a reset connection and for a request without a reply.
    pub status: u16,
    /// Number of bulk items; 0 for other requests and for unreadable bodies.
    pub items: usize,
    /// Number of distinct shards of the items with an id or a routing value.
    pub shards: usize,
    /// Bytes of the body on the wire.
    pub body_bytes: usize,
    /// True for a body in SMILE.
    pub smile: bool,
    /// `Content-Encoding`.
    pub coding: Option<String>,
    /// False if the credentials or the signature were refused.
    pub authorized: bool,
}

impl RequestLog {
    /// The entry of a request, with the facts of its head.
    pub(super) fn new(node: usize, parts: &Parts) -> Self {
        RequestLog {
            node,
            method: parts.method.to_string(),
            path: parts.uri.path_and_query().map_or_else(|| parts.uri.path().to_owned(), ToString::to_string),
            opaque_id: header(parts, "x-opaque-id").map(str::to_owned),
            status: 0,
            items: 0,
            shards: 0,
            body_bytes: 0,
            smile: header(parts, CONTENT_TYPE.as_str()) == Some(SMILE),
            coding: header(parts, CONTENT_ENCODING.as_str()).map(str::to_owned),
            authorized: true,
        }
    }

    /// True for a bulk request.
    pub fn is_bulk(&self) -> bool {
        self.path.split('?').next().unwrap_or_default().ends_with("/_bulk")
    }
}

/// A header as text.
pub(super) fn header<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get(name).and_then(|value| value.to_str().ok())
}

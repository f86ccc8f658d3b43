//! A request, its reply, and the server around them, apart from HTTP.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::bulk;
use crate::error::ServerError;
use crate::json::parse_body;

/// A request with its body decoded.
#[derive(Clone, Debug)]
pub(crate) struct ApiRequest {
    /// Method.
    pub(crate) method: Method,
    /// Path as it was sent.
    pub(crate) path: String,
    /// Segments of the path, percent-decoded.
    pub(crate) segments: Vec<String>,
    /// Query parameters, percent-decoded.
    pub(crate) query: Vec<(String, String)>,
    /// Body, decompressed.
    pub(crate) body: Bytes,
}

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiReply {
    /// HTTP status.
    pub(crate) status: u16,
    /// JSON body; null for an empty body.
    pub(crate) body: Value,
}

/// A running task, as `_tasks` lists it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    /// Number, unique in the cluster.
    pub(crate) id: u64,
    /// The node that runs it, counted from 0.
    pub(crate) node: usize,
    /// `X-Opaque-Id` of the request.
    pub(crate) opaque_id: Option<String>,
    /// The start, milliseconds since 1970.
    pub(crate) start_time_ms: u64,
    /// The description, which `detailed` shows.
    pub(crate) description: String,
}

/// The server around a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// Status of `GET /`: 200, 405 (test distributions) or 403 (gateways).
    pub(crate) root_status: u16,
    /// Running bulk requests.
    pub(crate) tasks: Vec<Task>,
    /// The node of the request, counted from 0.
    pub(crate) node: usize,
    /// True if the cluster asks for credentials; Elasticsearch's security endpoints exist only
    /// then.
    pub(crate) secured: bool,
    /// Free bytes on the disk of each node.
    pub(crate) disk_available_bytes: u64,
    /// `http.max_content_length`.
    pub(crate) max_content_length_bytes: usize,
    /// The address of each node.
    pub(crate) addresses: Vec<String>,
}

impl ApiRequest {
    /// Splits a path with its query.
    pub(crate) fn new(method: Method, path_and_query: &str, body: Bytes) -> Self {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let segments = path.split('/').filter(|part| !part.is_empty()).map(percent_decode).collect();
        let query = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (percent_decode(name), percent_decode(&value.replace('+', " ")))
            })
            .collect();
        ApiRequest { method, path: path.to_owned(), segments, query, body }
    }

    /// A query parameter.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A switch: true with the value `true` and without a value.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.param(name).is_some_and(|value| value.is_empty() || value == "true")
    }

    /// True if the request asks for a refresh after its write.
    pub(crate) fn wants_refresh(&self) -> bool {
        self.param("refresh").is_some_and(|refresh| refresh != "false")
    }

    /// The defaults for the items of a bulk request; `None` for any other request.
    pub(crate) fn bulk_defaults(&self) -> Option<bulk::Defaults> {
        if self.method != Method::POST && self.method != Method::PUT {
            return None;
        }
        let index = match self.segments.as_slice() {
            [bulk] if bulk == "_bulk" => None,
            [index, bulk] if bulk == "_bulk" => Some(index.clone()),
            _ => return None,
        };
        Some(bulk::Defaults {
            index,
            pipeline: self.param("pipeline").map(str::to_owned),
            routing: self.param("routing").map(str::to_owned),
            require_alias: self.flag("require_alias"),
        })
    }

    /// The body as JSON; an empty body is an empty object.
    pub(super) fn json(&self) -> Result<Value, ServerError> {
        parse_body(&self.body).map_err(|error| {
            ServerError::new(400, "parse_exception", format!("Failed to parse content to map: {error}"))
        })
    }
}

impl ApiReply {
    /// 200 with a body.
    pub(crate) fn ok(body: Value) -> Self {
        ApiReply { status: 200, body }
    }

    /// 200 `{"acknowledged": true}`.
    pub(super) fn acknowledged() -> Self {
        ApiReply::ok(json!({"acknowledged": true}))
    }
}

impl From<ServerError> for ApiReply {
    fn from(error: ServerError) -> Self {
        ApiReply { status: error.status, body: error.to_body() }
    }
}

/// Decodes `%41` to `A`; an invalid escape stays as it is.
fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte =
            escape.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_queries_are_decoded() {
        let request = ApiRequest::new(Method::GET, "/a%2Fb/_doc/x%20y?q=1%2C2&flag&z=a+b", Bytes::new());
        assert_eq!(request.segments, ["a/b", "_doc", "x y"]);
        assert_eq!(request.param("q"), Some("1,2"));
        assert!(request.flag("flag"));
        assert_eq!(request.param("z"), Some("a b"));
    }
}

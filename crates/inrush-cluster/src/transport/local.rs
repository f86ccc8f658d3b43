//! A server in this process.

use std::time::Duration;

use bytes::Bytes;

use super::http::{Request, Response};
use crate::BoxFuture;

/// Takes the requests of a [`super::Transport`] in this process, without an address or a
/// connection. It answers as a server would, with a status and a body in JSON.
pub trait LocalServer: Send + Sync {
    /// Answers a request. A request that it does not know gets a status that a server has for it,
    /// such as 405.
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response>;
}

impl Response {
    /// A reply in JSON.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Response {
        Response {
            status,
            retry_after: None,
            content_type: Some("application/json".to_owned()),
            elastic_product: false,
            body: body.into(),
            elapsed: Duration::ZERO,
        }
    }
}

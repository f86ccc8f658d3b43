//! A small HTTP client for tests: plain HTTP, one connection for each request.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// A client for one node.
#[derive(Clone, Debug)]
pub struct Client {
    authority: String,
    authorization: Option<String>,
}

/// A reply of any status.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Reply {
    /// The body as JSON; null for a body that is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The failure of a request without a complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoReply(String);

impl fmt::Display for NoReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoReply {}

impl From<NoReply> for String {
    fn from(error: NoReply) -> Self {
        error.0
    }
}

impl Client {
    /// A client for `http://host:port`.
    ///
    /// # Errors
    ///
    /// A URL that does not begin with `http://`.
    pub fn new(url: &str) -> Result<Self, String> {
        let authority = url
            .strip_prefix("http://")
            .ok_or_else(|| format!("expected an http:// URL, got {url:?}"))?
            .trim_end_matches('/')
            .to_owned();
        Ok(Client { authority, authorization: None })
    }

    /// Sends the header `Authorization` with every request.
    #[must_use]
    pub fn with_authorization(mut self, value: Option<String>) -> Self {
        self.authorization = value;
        self
    }

    /// Sends a request. Without a `content-type` among the headers, the body is NDJSON.
    ///
    /// # Errors
    ///
    /// A failed connection, or an incomplete reply.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Reply, NoReply> {
        let failed = |when: &str, error: &dyn fmt::Display| NoReply(format!("{method} {path}: {when}: {error}"));
        let body = body.into();
        let mut request = Request::builder().method(method).uri(path).header(HOST, &self.authority);
        if !body.is_empty() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            request = request.header(CONTENT_TYPE, "application/x-ndjson");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(http::header::AUTHORIZATION, authorization);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).map_err(|error| failed("not a request", &error))?;
        let stream = TcpStream::connect(&self.authority).await.map_err(|error| failed("not connected", &error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed("not connected", &error))?;
        // The task ends with the connection; the request below sees its errors, too.
        tokio::spawn(connection);
        let response = sender.send_request(request).await.map_err(|error| failed("no reply", &error))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| failed("reply cut off", &error))?.to_bytes();
        Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Sends a JSON body; null is an empty body.
    ///
    /// # Errors
    ///
    /// As [`Client::send`].
    pub async fn json(&self, method: &str, path: &str, body: Value) -> Result<Reply, NoReply> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, &[("content-type", "application/json")], body).await
    }

    /// Sends a bulk body.
    ///
    /// # Errors
    ///
    /// As [`Client::send`].
    pub async fn bulk(&self, path: &str, body: impl Into<Bytes>) -> Result<Reply, NoReply> {
        self.send("POST", path, &[], body).await
    }
}

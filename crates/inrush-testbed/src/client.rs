//! A small HTTP client for tests: one connection a request, plain HTTP, nothing clever.

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

/// A reply, whatever its status.
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
    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// No reply: what went wrong, and when.
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
    /// Anything but a plain HTTP URL.
    pub fn new(url: &str) -> Result<Self, String> {
        let authority = url
            .strip_prefix("http://")
            .ok_or_else(|| format!("expected an http:// URL, got {url:?}"))?
            .trim_end_matches('/')
            .to_owned();
        Ok(Client { authority, authorization: None })
    }

    /// Sends this `Authorization` with every request.
    #[must_use]
    pub fn with_authorization(mut self, value: Option<String>) -> Self {
        self.authorization = value;
        self
    }

    /// Sends a request; a body without a `content-type` among the headers is sent as NDJSON.
    ///
    /// # Errors
    ///
    /// No connection, or no complete reply.
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
        // Ends with the connection, whose errors the request below sees as well.
        tokio::spawn(connection);
        let response = sender.send_request(request).await.map_err(|error| failed("no reply", &error))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| failed("reply cut off", &error))?.to_bytes();
        Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Sends a JSON body, or none for null.
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

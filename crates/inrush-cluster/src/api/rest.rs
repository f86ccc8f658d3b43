//! API requests in JSON: sending, repeating if that is safe, and parsing the reply.

use crate::BoxFuture;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde_json::Value;

use super::again::{self, Ended, Second};
use super::error::ClusterError;
use crate::transport::{HttpError, Request, Response, Transport};

/// A reply.
pub struct Answer {
    pub(super) response: Response,
    /// An earlier attempt may have been carried out, although its answer did not say so.
    pub(super) in_doubt: bool,
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.response.status
    }

    pub fn body(&self) -> &[u8] {
        &self.response.body
    }

    /// Whether a proxy has answered in the cluster's name: the request may not have been carried
    /// out, although its status may say so.
    pub(super) fn is_page(&self) -> bool {
        again::is_page(&self.response)
    }

    /// The body as JSON. The body of an error status may be anything (a gateway's HTML). It is then
    /// a JSON string of its beginning, or null if it is empty.
    pub fn json(&self, what: &str) -> Result<Value, ClusterError> {
        let body = &self.response.body;
        match serde_json::from_slice(body) {
            Ok(value) => Ok(value),
            Err(_) if body.is_empty() => Ok(Value::Null),
            Err(_) if self.status() >= 300 => Ok(Value::String(beginning(body))),
            Err(error) => Err(ClusterError::Reply {
                what: what.to_owned(),
                problem: format!("not JSON ({error}): {}", beginning(body)),
            }),
        }
    }
}

impl Transport {
    /// Sends a GET for `path` and parses the reply. An error status is not an error here: it is
    /// returned with the body.
    ///
    /// # Errors
    /// [`ClusterError::Http`] after the tries that were safe, [`ClusterError::Reply`] if a
    /// successful reply is not JSON.
    pub async fn get_json(&self, path: &str) -> Result<(u16, Value), ClusterError> {
        self.ask_json(Method::GET, path, None).await
    }

    /// As [`Transport::get_json`], with PUT and a body.
    ///
    /// # Errors
    /// As [`Transport::get_json`].
    pub async fn put_json(&self, path: &str, body: &Value) -> Result<(u16, Value), ClusterError> {
        self.ask_json(Method::PUT, path, Some(body)).await
    }

    /// As [`Transport::get_json`], with POST and an optional body.
    ///
    /// # Errors
    /// As [`Transport::get_json`].
    pub async fn post_json(&self, path: &str, body: Option<&Value>) -> Result<(u16, Value), ClusterError> {
        self.ask_json(Method::POST, path, body).await
    }

    async fn ask_json(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, Value), ClusterError> {
        let what = format!("{method} {path}");
        let answer = self.ask(method, path, body).await?;
        Ok((answer.status(), answer.json(&what)?))
    }

    /// Sends a request. It is sent again as `again.rs` decides, within the retries and the
    /// patience of the transport.
    pub fn ask<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Answer, HttpError>> {
        Box::pin(async move {
            let second = Second::of(&method, path);
            let mut request = Request::new(method.clone(), path);
            request.reply_bytes_max = reply_bytes_max(path);
            if let Some(body) = body {
                request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                request.body = vec![Bytes::from(body.to_string())];
            }
            let mut again = self.again(format!("{method} {path}"));
            let mut in_doubt = false;
            loop {
                let result = self.request(&request).await.result;
                match &result {
                    Ok(response) => {
                        tracing::debug!("{method} {path}: {}, {:?}", response.status, response.elapsed)
                    }
                    Err(error) => tracing::debug!("{error}"),
                }
                let ended = Ended::of(&result, self.is_known());
                if !again.after(&result, ended, second).await {
                    return result.map(|response| Answer { response, in_doubt });
                }
                in_doubt |= ended.may_be_done();
            }
        })
    }

    /// Sends a request. Any status but success is an error.
    pub fn demand<'a>(
        &'a self,
        what: &'a str,
        method: Method,
        path: &'a str,
        body: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Value, ClusterError>> {
        Box::pin(async move {
            let answer = self.ask(method, path, body).await?;
            let value = answer.json(what)?;
            match answer.status() {
                200..=299 => Ok(value),
                status => Err(ClusterError::from_status(what, status, &value)),
            }
        })
    }

    /// The same without a body. `None` where the cluster does not have what the path names (404).
    pub fn find<'a>(
        &'a self,
        what: &'a str,
        method: Method,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, ClusterError>> {
        Box::pin(async move {
            let answer = self.ask(method, path, None).await?;
            let value = answer.json(what)?;
            match answer.status() {
                200..=299 => Ok(Some(value)),
                404 => Ok(None),
                status => Err(ClusterError::from_status(what, status, &value)),
            }
        })
    }
}

/// Whether a POST to this path reads documents.
fn is_read(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    path.ends_with("/_mget") || path.ends_with("/_search")
}

/// The largest reply to a request, bytes. The reply to `GET /` has a few lines, and only documents
/// can be very large.
fn reply_bytes_max(path: &str) -> Option<usize> {
    match path {
        "/" => Some(64 << 10),
        path if is_read(path) => None,
        _ => Some(64 << 20),
    }
}

fn beginning(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(300)]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_replies_with_documents_may_be_very_large() {
        for (path, most) in [
            ("/", Some(64 << 10)),
            ("/_cluster/health?local=true", Some(64 << 20)),
            ("/docs/_search?size=1000", None),
            ("/docs/_mget", None),
        ] {
            assert_eq!(reply_bytes_max(path), most, "{path}");
        }
    }
}

//! Questions in JSON: sent, repeated where that is safe, and parsed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::{HttpError, HttpErrorKind, Request, Response, Transport};

/// How often a question is repeated that surely did not arrive, or that was answered 429 or 503.
#[derive(Debug)]
pub struct Retries {
    tries: u32,
    pause: Duration,
    random: AtomicU64,
}

/// A server that asks for a longer pause than this between two questions is not waited for.
const PAUSE_MAX: Duration = Duration::from_secs(10);

impl Retries {
    /// `tries` in all, at least one, with `pause` before the second one and twice as long before each further one,
    /// of which between half and the whole is waited, as `seed` has it; at most 10 s at a time.
    pub fn new(tries: u32, pause: Duration, seed: u64) -> Self {
        Retries { tries: tries.max(1), pause, random: AtomicU64::new(seed) }
    }

    /// How long to wait before the try after `tries_done`.
    fn pause(&self, tries_done: u32, asked_for: Option<Duration>) -> Duration {
        let whole = self.pause.saturating_mul(1 << (tries_done - 1).min(16)).min(PAUSE_MAX);
        let jittered = whole.mul_f64(0.5 + 0.5 * self.next());
        jittered.max(asked_for.unwrap_or_default().min(PAUSE_MAX))
    }

    /// The next number of the sequence, from 0 to below 1 (splitmix64).
    fn next(&self) -> f64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Default for Retries {
    /// Three tries, 200 ms and 400 ms apart.
    fn default() -> Self {
        Retries::new(3, Duration::from_millis(200), 0)
    }
}

/// No further try begins when a question has taken this long: behind a firewall that drops packets, one try alone takes
/// the whole connect timeout.
const TRIES_FOR: Duration = Duration::from_secs(10);

/// An answer and how often the question was asked.
pub(crate) struct Answer {
    pub(super) response: Response,
    pub(super) tries: u32,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.response.status
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.response.body
    }

    /// The body as JSON. The body of an error status may be anything (a gateway's HTML): it is then a JSON string
    /// of its beginning, or null if there is none.
    pub(crate) fn json(&self, what: &str) -> Result<Value, ClusterError> {
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
    /// Asks for `path` and parses the answer. An error status is not an error here: it is returned with the body.
    ///
    /// # Errors
    /// [`ClusterError::Http`] after the tries that were safe, [`ClusterError::Reply`] if a success is not JSON.
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

    /// As [`Transport::get_json`], with POST and, where there is one, a body.
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

    /// Asks, and again where the question surely did not arrive or where the cluster says that it cannot answer now. A
    /// reader's question is also repeated where its answer was lost.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, HttpError> {
        let reads = method == Method::GET || is_read(path);
        let mut request = Request::new(method, path);
        request.reply_bytes_max = reply_bytes_max(path);
        if let Some(body) = body {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = vec![Bytes::from(body.to_string())];
        }
        let asked_at = Instant::now();
        let mut tries = 0;
        loop {
            tries += 1;
            let result = self.request(&request).await.result;
            match &result {
                Ok(response) => {
                    tracing::debug!("{} {path}: {}, {:?}", request.method, response.status, response.elapsed)
                }
                Err(error) => tracing::debug!("{error}"),
            }
            let asked_for = match &result {
                Ok(response) if matches!(response.status, 429 | 503) => response.retry_after,
                Err(error) if error.kind == HttpErrorKind::NotSent || (reads && error.kind == HttpErrorKind::Lost) => {
                    None
                }
                Ok(_) | Err(_) => return result.map(|response| Answer { response, tries }),
            };
            if tries >= self.retries().tries || asked_at.elapsed() >= TRIES_FOR {
                return result.map(|response| Answer { response, tries });
            }
            tokio::time::sleep(self.retries().pause(tries, asked_for)).await;
        }
    }

    /// Asks, and takes anything but success for an error.
    pub(crate) async fn demand(
        &self,
        what: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClusterError> {
        let answer = self.ask(method, path, body).await?;
        let value = answer.json(what)?;
        match answer.status() {
            200..=299 => Ok(value),
            status => Err(ClusterError::from_status(what, status, &value)),
        }
    }
}

/// Whether a POST to this path only reads, so that it may be repeated. The next page of a scroll is gone once it was sent.
fn is_read(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    path.ends_with("/_mget") || path.ends_with("/_search")
}

/// The largest reply that a question can have: who answers to `GET /` says a few lines, and only
/// documents can be very large.
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
    fn pauses_double_within_their_jitter_and_follow_the_seed() {
        let pauses = |seed| {
            let retries = Retries::new(5, Duration::from_millis(100), seed);
            (1..5).map(|tries| retries.pause(tries, None)).collect::<Vec<_>>()
        };
        for (index, pause) in pauses(7).into_iter().enumerate() {
            let whole = Duration::from_millis(100 << index);
            assert!(pause >= whole / 2 && pause <= whole, "{pause:?} of {whole:?}");
        }
        assert_eq!(pauses(7), pauses(7));
        assert_ne!(pauses(7), pauses(8));
    }

    #[test]
    fn the_servers_pause_is_kept_up_to_a_limit() {
        let retries = Retries::new(3, Duration::ZERO, 1);
        assert_eq!(retries.pause(1, Some(Duration::from_secs(2))), Duration::from_secs(2));
        assert_eq!(retries.pause(1, Some(Duration::from_secs(3600))), PAUSE_MAX);
    }

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

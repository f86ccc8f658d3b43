//! One HTTP/1.1 client and connection pool for all nodes.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method};
use inrush_core::columns::RowSelection;
use reqwest::Url;

use super::body::SlicedBody;
use super::error::{BoxError, HttpError, HttpErrorKind, SetupError};
use super::tls::{TlsOptions, client_config};
use super::url::NodeUrl;
use crate::clock::{self, Instant};

/// The client closes an idle connection before the load balancers in front of clusters do (60 s at
/// Amazon), so that no request goes out on a connection that is about to be reset.
const IDLE_MAX: Duration = Duration::from_secs(20);

/// Options of an [`HttpClient`].
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The longest wait for a connection, TLS included. Default 10 s. A node that takes longer
    /// counts as not reached: [`HttpErrorKind::NotSent`].
    pub connect_timeout: Duration,
    /// The longest time for a whole request, from the call to the last byte of the reply. It
    /// includes waiting for a connection and sending the body. Default 120 s. Beyond it:
    /// [`HttpErrorKind::TimedOut`].
    pub request_timeout: Duration,
    /// Idle connections kept per node, at best as many as requests are in flight. Default 32.
    pub idle_connections_max: usize,
    /// The largest reply accepted, in bytes after unpacking, so that a broken server cannot fill
    /// the memory. Default 256 MiB. Beyond it: [`HttpErrorKind::Lost`].
    pub reply_bytes_max: usize,
    /// Trusted authorities and the client certificate.
    pub tls: TlsOptions,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(120),
            idle_connections_max: 32,
            reply_bytes_max: 256 << 20,
            tls: TlsOptions::default(),
        }
    }
}

/// A request without its node, so that it can be sent again and to another node. Cloning it does
/// not copy the body.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query as they are sent, percent-encoded (see [`super::path_segment`]).
    pub path_and_query: String,
    /// Headers of this request. They replace the transport's own.
    pub headers: HeaderMap,
    /// The body. The slices are sent one after the other and never joined.
    pub body: Vec<Bytes>,
    /// The rows of the body's items in columns, in their order, for a server in this process. They
    /// are never sent. Empty: the values are in the body only.
    pub rows: Arc<[RowSelection]>,
    /// The largest reply that this request can have, in bytes, if that is less than
    /// [`HttpOptions::reply_bytes_max`].
    pub reply_bytes_max: Option<usize>,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, path_and_query: impl Into<String>) -> Self {
        Request {
            method,
            path_and_query: path_and_query.into(),
            headers: HeaderMap::new(),
            body: Vec::new(),
            rows: Arc::new([]),
            reply_bytes_max: None,
        }
    }

    /// The length of the body, bytes.
    pub fn body_len(&self) -> usize {
        self.body.iter().map(Bytes::len).sum()
    }
}

/// A complete reply of any status.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After`, if it gives seconds.
    pub retry_after: Option<Duration>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// Whether the reply has `X-Elastic-Product: Elasticsearch`. Elasticsearch sends this header
    /// since 7.14, OpenSearch never.
    pub elastic_product: bool,
    /// The body, unpacked if it came as gzip.
    pub body: Bytes,
    /// Time from the call to the last byte of the reply.
    pub elapsed: Duration,
}

/// A client for downloads over the internet. It follows redirects and waits at most 10 s for a
/// connection.
pub fn download_client() -> Result<reqwest::Client, SetupError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(client_config(&TlsOptions::default(), true)?)
        .connect_timeout(Duration::from_secs(10))
        .referer(false)
        .build()
        .map_err(|e| SetupError::Client(e.into()))
}

/// A client for reading files. It follows redirects, waits at most 10 s for a connection and at
/// most `silence_max` for each piece of a body. `insecure` accepts any certificate.
pub fn file_client(insecure: bool, silence_max: Duration) -> Result<reqwest::Client, SetupError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(client_config(&TlsOptions { insecure, ..TlsOptions::default() }, true)?)
        .user_agent(super::AGENT)
        .http1_only()
        .connect_timeout(Duration::from_secs(10))
        .read_timeout(silence_max)
        // A signed address is a secret, and a redirect may lead to another host.
        .referer(false)
        .build()
        .map_err(|e| SetupError::Client(e.into()))
}

/// The client for the nodes of a cluster.
///
/// - It does not follow redirects, which would send a body twice.
/// - It unpacks replies from gzip only, which a server uses if the request has `Accept-Encoding`.
/// - It sends nothing again. Only the connection pool does, if a reused connection was closed
///   before the request was written to it.
/// - It uses a proxy from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), except for
///   nodes on this machine.
#[derive(Clone, Debug)]
pub struct HttpClient {
    direct: reqwest::Client,
    by_environment: Option<reqwest::Client>,
    reply_bytes_max: usize,
}

impl HttpClient {
    /// A client for these nodes.
    ///
    /// # Errors
    /// [`SetupError`] if a certificate cannot be used.
    pub fn new(nodes: &[NodeUrl], options: &HttpOptions) -> Result<Self, SetupError> {
        let tls = client_config(&options.tls, nodes.iter().any(NodeUrl::is_https))?;
        let builder = || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .http1_only()
                .tcp_nodelay(true)
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .referer(false)
                .connect_timeout(options.connect_timeout)
                .timeout(options.request_timeout)
                .pool_idle_timeout(IDLE_MAX)
                .pool_max_idle_per_host(options.idle_connections_max)
        };
        let build = |builder: reqwest::ClientBuilder| builder.build().map_err(|e| SetupError::Client(e.into()));
        let by_environment = if nodes.iter().all(NodeUrl::is_loopback) { None } else { Some(build(builder())?) };
        Ok(HttpClient {
            direct: build(builder().no_proxy())?,
            by_environment,
            reply_bytes_max: options.reply_bytes_max,
        })
    }

    /// Sends a request to a node and reads the whole reply.
    ///
    /// # Errors
    /// [`HttpError`] if no complete reply came. Its kind says whether the request may have been
    /// applied. A reply with an error status is not an error here.
    pub async fn send(&self, node: &NodeUrl, request: &Request) -> Result<Response, HttpError> {
        let url = address(node, request)?;
        let client = match &self.by_environment {
            Some(client) if !node.is_loopback() => client,
            _ => &self.direct,
        };
        let started = Arc::new(AtomicBool::new(false));
        let sent_at = clock::now();
        let outcome = self.exchange(client, url, request, started.clone(), sent_at).await;
        outcome.map_err(|failure| {
            let body_started = started.load(Ordering::Acquire);
            let has_body = request.body_len() > 0;
            let (kind, source) = failure.classify(has_body, body_started);
            let url = format!("{node}{}", request.path_and_query);
            HttpError { kind, method: request.method.clone(), url, source }
        })
    }

    async fn exchange(
        &self,
        client: &reqwest::Client,
        url: Url,
        request: &Request,
        started: Arc<AtomicBool>,
        sent_at: Instant,
    ) -> Result<Response, Failure> {
        let mut outgoing = client.request(request.method.clone(), url).headers(request.headers.clone());
        if request.body_len() > 0 {
            outgoing = outgoing.body(reqwest::Body::wrap(SlicedBody::new(&request.body, started)));
        } else if request.method == Method::POST || request.method == Method::PUT {
            // Sends `Content-Length: 0`, without which some proxies answer 411.
            outgoing = outgoing.header(CONTENT_LENGTH, 0);
        }
        let mut incoming = outgoing.send().await.map_err(Failure::Exchange)?;

        let text = |name| incoming.headers().get(name).and_then(|value| value.to_str().ok());
        let mut response = Response {
            status: incoming.status().as_u16(),
            retry_after: text(RETRY_AFTER).and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs),
            content_type: text(CONTENT_TYPE).map(str::to_owned),
            elastic_product: incoming.headers().get("x-elastic-product").is_some_and(|v| v == "Elasticsearch"),
            body: Bytes::new(),
            elapsed: Duration::ZERO,
        };
        let packed = text(CONTENT_ENCODING) == Some("gzip");
        let max = request.reply_bytes_max.map_or(self.reply_bytes_max, |max| max.min(self.reply_bytes_max));
        let body = read(&mut incoming, max).await?;
        response.body = if packed { unpack(&body, max)? } else { body };
        response.elapsed = sent_at.elapsed();
        Ok(response)
    }
}

/// Reads the whole body, of at most `max` bytes.
async fn read(incoming: &mut reqwest::Response, max: usize) -> Result<Bytes, Failure> {
    let too_large = || Failure::TooLarge { limit: max };
    let expected = incoming.content_length().unwrap_or(0);
    if expected > max as u64 {
        return Err(too_large());
    }
    let Some(first) = incoming.chunk().await.map_err(Failure::Reply)? else {
        return Ok(Bytes::new());
    };
    let Some(second) = incoming.chunk().await.map_err(Failure::Reply)? else {
        return Ok(first);
    };
    let mut whole = BytesMut::with_capacity((expected as usize).max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    while let Some(chunk) = incoming.chunk().await.map_err(Failure::Reply)? {
        if whole.len() + chunk.len() > max {
            return Err(too_large());
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

fn unpack(packed: &[u8], max: usize) -> Result<Bytes, Failure> {
    let mut body = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(packed).take(max as u64 + 1).read_to_end(&mut body);
    match read {
        Ok(_) if body.len() > max => Err(Failure::TooLarge { limit: max }),
        Ok(_) => Ok(body.into()),
        Err(error) => Err(Failure::Packed(error)),
    }
}

/// The whole address of a request on a node, as it is sent.
pub(super) fn address(node: &NodeUrl, request: &Request) -> Result<Url, HttpError> {
    node.join(&request.path_and_query).map_err(|e| HttpError {
        kind: HttpErrorKind::Local,
        method: request.method.clone(),
        url: format!("{node}{}", request.path_and_query),
        source: Box::new(e),
    })
}

/// How an exchange ended without a complete reply.
enum Failure {
    /// It failed before the head of the reply.
    Exchange(reqwest::Error),
    /// It failed while the body of the reply was read.
    Reply(reqwest::Error),
    /// The reply is larger than allowed.
    TooLarge { limit: usize },
    /// The reply is declared as gzip and is not.
    Packed(io::Error),
}

impl Failure {
    fn classify(self, has_body: bool, body_started: bool) -> (HttpErrorKind, BoxError) {
        match self {
            Failure::TooLarge { limit } => (
                HttpErrorKind::Lost,
                format!("the reply is larger than {limit} bytes, which no reply to this should be").into(),
            ),
            Failure::Packed(error) => {
                (HttpErrorKind::Lost, format!("the reply cannot be unpacked from gzip: {error}").into())
            }
            Failure::Reply(error) => {
                let kind = if error.is_timeout() { HttpErrorKind::TimedOut } else { HttpErrorKind::Lost };
                (kind, error.without_url().into())
            }
            Failure::Exchange(error) => {
                let kind = if error.is_builder() {
                    HttpErrorKind::Local
                } else if error.is_connect() || (has_body && !body_started) {
                    HttpErrorKind::NotSent
                } else if error.is_timeout() {
                    HttpErrorKind::TimedOut
                } else {
                    HttpErrorKind::Lost
                };
                (kind, error.without_url().into())
            }
        }
    }
}

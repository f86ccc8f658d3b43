//! A proxy before a real server. It rejects items, breaks connections after the server has done its
//! work, and makes the link long and narrow: faults that a healthy local server does not show.

mod items;
mod link;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, TRANSFER_ENCODING,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use inrush_fake::internal::{self, BulkTarget};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, JoinSet};

use self::items::{Thinned, split};
use self::link::Link;

/// The configuration of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The server behind the proxy, such as `http://127.0.0.1:9200`.
    pub to: String,
    /// Port to listen on; 0 is a free one. Default 0.
    pub port: u16,
    /// Delay of each round trip, half of it in each direction. A new connection has none. Default
    /// 0.
    pub delay: Duration,
    /// Bandwidth of each direction, which all connections share; `None` is unlimited. Default
    /// `None`.
    pub bits_per_second: Option<u64>,
    /// Percentage of bulk items that get 429 `es_rejected_execution_exception` and do not reach the
    /// server. Bodies other than NDJSON pass as a whole. Default 0.
    pub reject_items_percent: f64,
    /// Percentage of the server's replies to bulk requests that are dropped; the connection closes
    /// instead. Default 0.
    pub reset_after_applying_percent: f64,
    /// PUT requests whose path ends so get 403 and do not reach the server, such as `/_mapping`.
    /// Default: none.
    pub forbid_put: Option<String>,
    /// Seed that decides which items and replies. The n-th item and the n-th reply always fare the
    /// same. Default 1.
    pub seed: u64,
}

impl ProxyConfig {
    /// A proxy that passes everything on as it is.
    pub fn new(to: impl Into<String>) -> Self {
        ProxyConfig {
            to: to.into(),
            port: 0,
            delay: Duration::ZERO,
            bits_per_second: None,
            reject_items_percent: 0.0,
            reset_after_applying_percent: 0.0,
            forbid_put: None,
            seed: 1,
        }
    }
}

/// The counts of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ProxyStats {
    /// Bulk items of all requests.
    pub items: u64,
    /// Rejected items.
    pub items_rejected: u64,
    /// Replies of the server to bulk requests, of any status.
    pub answers: u64,
    /// Dropped replies.
    pub resets: u64,
}

/// A running proxy. Dropping it ends it with its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a port of the loopback interface. The server may be absent: requests get 503
    /// then.
    ///
    /// # Errors
    ///
    /// The port is taken, or the URL does not begin with `http://`.
    pub async fn start(config: ProxyConfig) -> io::Result<Proxy> {
        let upstream = config.to.strip_prefix("http://").map(|rest| rest.trim_end_matches('/').to_owned());
        let upstream =
            upstream.ok_or_else(|| io::Error::other(format!("expected an http:// URL, got {}", config.to)))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, config.port)).await?;
        let address = listener.local_addr()?;
        let shaped = !config.delay.is_zero() || config.bits_per_second.is_some();
        let link = shaped.then(|| Link::new(config.delay, config.bits_per_second));
        let shared =
            Arc::new(Shared { config, upstream, link, counters: Counters::default(), refused: AtomicU16::new(0) });
        let accepting = tokio::spawn(accept(Arc::clone(&shared), listener));
        Ok(Proxy { address, shared, accepting })
    }

    /// The URL, such as `http://127.0.0.1:39201`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers every request with this status, such as 401 of expired credentials, and passes none
    /// on. `None` passes requests on again.
    pub fn refuse(&self, status: Option<StatusCode>) {
        self.shared.refused.store(status.map_or(0, |status| status.as_u16()), Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn stats(&self) -> ProxyStats {
        let counters = &self.shared.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProxyStats {
            items: read(&counters.items),
            items_rejected: read(&counters.items_rejected),
            answers: read(&counters.answers),
            resets: read(&counters.resets),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

#[derive(Debug)]
struct Shared {
    config: ProxyConfig,
    upstream: String,
    link: Option<Link>,
    counters: Counters,
    /// The status of [`Proxy::refuse`]; 0 for none.
    refused: AtomicU16,
}

#[derive(Debug, Default)]
struct Counters {
    items: AtomicU64,
    items_rejected: AtomicU64,
    answers: AtomicU64,
    resets: AtomicU64,
}

async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // An error concerns one connection, such as that of a client that disconnected
                // already.
                let Ok((stream, _)) = accepted else { continue };
                // Small replies must not wait for the acknowledgement of earlier ones.
                let _ = stream.set_nodelay(true);
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    match &shared.link {
                        Some(link) => serve(Arc::clone(&shared), link.far_end(stream)).await,
                        None => serve(shared, stream).await,
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(shared: Arc<Shared>, stream: impl AsyncRead + AsyncWrite + Unpin) {
    let upstream = Arc::new(Upstream { shared, connection: Mutex::new(None) });
    let service = service_fn(move |request| {
        let upstream = Arc::clone(&upstream);
        async move { upstream.exchange(request).await }
    });
    // An error is a client that disconnected, or a connection that has to break.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

type ProxyBody = BoxBody<Bytes, hyper::Error>;

fn whole(bytes: impl Into<Bytes>) -> ProxyBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

/// The connection to the client closes without a reply.
#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection breaks")
    }
}

impl std::error::Error for Broken {}

/// The server behind one connection of a client, with a connection of its own.
struct Upstream {
    shared: Arc<Shared>,
    connection: Mutex<Option<SendRequest<ProxyBody>>>,
}

impl Upstream {
    async fn exchange(&self, request: Request<Incoming>) -> Result<Response<ProxyBody>, Broken> {
        let end = self.shared.config.forbid_put.as_deref();
        let is_forbidden =
            request.method() == Method::PUT && end.is_some_and(|end| request.uri().path().ends_with(end));
        let refused = StatusCode::from_u16(self.shared.refused.load(Ordering::Relaxed)).ok();
        if let Some(status) = refused.or(is_forbidden.then_some(StatusCode::FORBIDDEN)) {
            // Without this, a client that is still sending would see a reset.
            request.into_body().collect().await.map_err(|_| Broken)?;
            let mut answer = json_response(HeaderMap::new(), refusal(status), None);
            *answer.status_mut() = status;
            return Ok(answer);
        }
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let Some(bulk) = internal::bulk_target(request.method(), target) else {
            return self.pass(request.map(BodyExt::boxed)).await;
        };
        let config = &self.shared.config;
        let answer = if config.reject_items_percent > 0.0 {
            self.thinned(request, &bulk).await?
        } else {
            self.pass(request.map(BodyExt::boxed)).await?
        };
        let number = self.shared.counters.answers.fetch_add(1, Ordering::Relaxed);
        if internal::draw(internal::rule_seed(config.seed, 1), number) * 100.0 >= config.reset_after_applying_percent {
            return Ok(answer);
        }
        // The whole reply has arrived, so the server has done its work.
        answer.into_body().collect().await.map_err(|_| Broken)?;
        self.shared.counters.resets.fetch_add(1, Ordering::Relaxed);
        Err(Broken)
    }

    /// Passes a bulk request on without the rejected items, and adds their rejections to the reply.
    async fn thinned(&self, request: Request<Incoming>, bulk: &BulkTarget) -> Result<Response<ProxyBody>, Broken> {
        let filter_path = bulk.filter_path.as_deref();
        let Shared { config, counters, .. } = &*self.shared;
        let (mut parts, body) = request.into_parts();
        let wire = body.collect().await.map_err(|_| Broken)?.to_bytes();
        let coding = parts.headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let items = internal::decode(coding, &wire).and_then(|body| Some((split(&body, bulk.index.as_deref())?, body)));
        let Some((items, body)) = items else {
            return self.pass(Request::from_parts(parts, whole(wire))).await;
        };
        let seed = internal::rule_seed(config.seed, 0);
        let mut number = counters.items.fetch_add(items.len() as u64, Ordering::Relaxed);
        let thinned = Thinned::new(items, || {
            number += 1;
            internal::draw(seed, number) * 100.0 < config.reject_items_percent
        });
        counters.items_rejected.fetch_add(thinned.rejected() as u64, Ordering::Relaxed);
        if thinned.rejected() == thinned.len() && thinned.len() > 0 {
            return Ok(json_response(HeaderMap::new(), thinned.reply_to_nothing(), filter_path));
        }
        // The body has another length and no coding, and the proxy has to read the reply.
        for name in [ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING] {
            parts.headers.remove(name);
        }
        let answer = self.pass(Request::from_parts(parts, whole(thinned.body(&body)))).await?;
        if answer.status() != StatusCode::OK || thinned.rejected() == 0 {
            return Ok(answer);
        }
        let (mut head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|_| Broken)?.to_bytes();
        let Ok(reply) = serde_json::from_slice(&body) else {
            return Ok(Response::from_parts(head, whole(body)));
        };
        head.headers.remove(CONTENT_LENGTH);
        head.headers.remove(TRANSFER_ENCODING);
        Ok(json_response(head.headers, thinned.merge(reply), filter_path))
    }

    /// Sends a request as it is. The reply is 503 if the server cannot be reached.
    async fn pass(&self, mut request: Request<ProxyBody>) -> Result<Response<ProxyBody>, Broken> {
        for name in [CONNECTION, EXPECT] {
            request.headers_mut().remove(name);
        }
        let mut connection = self.connection.lock().await;
        let mut open = connection.take();
        if let Some(sender) = &mut open
            && sender.ready().await.is_err()
        {
            open = None;
        }
        let mut sender = match open {
            Some(sender) => sender,
            None => match self.connect().await {
                Ok(sender) => sender,
                Err(error) => {
                    let mut answer = Response::new(whole(format!("the proxy cannot reach its server: {error}\n")));
                    *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                    return Ok(answer);
                }
            },
        };
        let answer = sender.send_request(request).await.map_err(|_| Broken)?;
        *connection = Some(sender);
        Ok(answer.map(BodyExt::boxed))
    }

    async fn connect(&self) -> io::Result<SendRequest<ProxyBody>> {
        let stream = TcpStream::connect(&self.shared.upstream).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // The task ends with its sender or its server; the request sees the errors of both.
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// A refusal in the words of Elasticsearch.
fn refusal(status: StatusCode) -> Value {
    let reason = match status {
        StatusCode::FORBIDDEN => "no permissions for this action",
        _ => "unable to authenticate: token expired",
    };
    let error = serde_json::json!({"type": "security_exception", "reason": reason});
    serde_json::json!({"error": error, "status": status.as_u16()})
}

fn json_response(headers: HeaderMap, reply: Value, filter_path: Option<&str>) -> Response<ProxyBody> {
    let reply = match filter_path {
        Some(patterns) => internal::filter_path(reply, patterns),
        None => reply,
    };
    let mut answer = Response::new(whole(reply.to_string()));
    *answer.headers_mut() = headers;
    answer.headers_mut().entry(CONTENT_TYPE).or_insert(http::HeaderValue::from_static("application/json"));
    answer
}

//! The routes of the page.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::Connection;
use super::access::{Access, Verdict, is_loopback};
use crate::assets;
use crate::board::Control;
use crate::exposition::Format;
use crate::hub::Hub;
use crate::reporter::PATH as PARTS;

const TEXT: &str = "text/plain; charset=utf-8";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The bytes of the report of a part.
const REPORT_BYTES_MAX: usize = 256 << 10;
/// The headers of each reply.
const fn headers() -> [(HeaderName, &'static str); 6] {
    [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ]
}

/// Answers requests.
#[derive(Debug)]
pub(super) struct Routes {
    pub(super) hub: Arc<Hub>,
    pub(super) access: Access,
}

/// The body of a reply.
pub(super) enum Answer {
    /// All of it.
    Whole(Full<Bytes>),
    /// Events, until their sender is dropped.
    Events(mpsc::Receiver<Bytes>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Answer::Whole(whole) => Pin::new(whole).poll_frame(cx),
            Answer::Events(events) => events.poll_recv(cx).map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Answer::Whole(whole) => whole.is_end_stream(),
            Answer::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Whole(whole) => whole.size_hint(),
            Answer::Events(_) => SizeHint::default(),
        }
    }
}

impl Routes {
    /// Answers the report of a part of the job, or `None` if the request is none. Only this route
    /// has a body.
    pub(super) async fn report(&self, request: &Parts, body: Incoming) -> Option<Response<Answer>> {
        if request.uri.path() != PARTS {
            return None;
        }
        if !self.access.is_part(&request.headers) {
            return Some(reply(StatusCode::FORBIDDEN, TEXT, "this address is for the parts of a job\n"));
        }
        if request.method != Method::POST {
            return Some(not_allowed("POST"));
        }
        let report = Limited::new(body, REPORT_BYTES_MAX).collect().await.ok().map(|body| body.to_bytes());
        Some(match report.and_then(|report| serde_json::from_slice(&report).ok()) {
            Some(report) => reply(StatusCode::OK, TEXT, self.hub.board.reported(report).to_string()),
            None => reply(StatusCode::BAD_REQUEST, TEXT, "expected the report of a part\n"),
        })
    }

    /// Answers a request by its head.
    pub(super) fn answer(&self, request: Parts, connection: Connection) -> Response<Answer> {
        let path = request.uri.path();
        if path == "/healthz" {
            return self.health(&request);
        }
        match self.access.judge(&request.method, request.uri.query(), &request.headers) {
            Verdict::Allowed => {}
            Verdict::LogIn => return self.log_in(path),
            Verdict::NoToken => return no_token(),
            Verdict::Foreign => {
                return reply(StatusCode::FORBIDDEN, TEXT, "this request comes from a page of another server\n");
            }
        }
        if let Some(control) = control(path) {
            return self.control(&request.method, control);
        }
        let shown: fn() -> Response<Answer> = match path {
            "/" => || html(assets::PAGE),
            "/page.js" => || reply(StatusCode::OK, "text/javascript; charset=utf-8", assets::SCRIPT),
            "/page.css" => || reply(StatusCode::OK, "text/css; charset=utf-8", assets::STYLE),
            "/snapshot" | "/events" | "/metrics" => return self.figures(&request, connection),
            _ => return reply(StatusCode::NOT_FOUND, TEXT, "there is no such page\n"),
        };
        if is_read(&request.method) { shown() } else { not_allowed("GET, HEAD") }
    }

    fn figures(&self, request: &Parts, connection: Connection) -> Response<Answer> {
        if !is_read(&request.method) {
            return not_allowed("GET, HEAD");
        }
        match request.uri.path() {
            "/snapshot" => reply(StatusCode::OK, "application/json", self.hub.snapshot()),
            "/metrics" => {
                let format = format(&request.headers);
                reply(StatusCode::OK, format.content_type(), self.hub.board.metrics(self.hub.viewers()).text(format))
            }
            _ if request.method == Method::HEAD => reply(StatusCode::OK, "text/event-stream", ""),
            _ => match self.hub.join(Arc::clone(&connection.cut)) {
                Some(events) => {
                    connection.follows.store(true, Ordering::Relaxed);
                    let mut response = reply(StatusCode::OK, "text/event-stream", "");
                    *response.body_mut() = Answer::Events(events);
                    response
                }
                None => {
                    let mut response = reply(StatusCode::SERVICE_UNAVAILABLE, TEXT, "too many viewers\n");
                    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
                    response
                }
            },
        }
    }

    /// Whether the loads move. It shows nothing else, so it needs no token.
    fn health(&self, request: &Parts) -> Response<Answer> {
        let host = request.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        if !self.access.may_control() && !host.is_some_and(is_loopback) {
            return reply(StatusCode::FORBIDDEN, TEXT, "this request names another host\n");
        }
        match self.hub.board.problem() {
            _ if !is_read(&request.method) => not_allowed("GET, HEAD"),
            None => reply(StatusCode::OK, TEXT, "ok\n"),
            // The reason has the name of an index, which is for viewers with a token.
            Some(_) if self.access.may_control() => {
                reply(StatusCode::SERVICE_UNAVAILABLE, TEXT, "a load has not moved for a minute\n")
            }
            Some(problem) => reply(StatusCode::SERVICE_UNAVAILABLE, TEXT, problem + "\n"),
        }
    }

    fn control(&self, method: &Method, control: Control) -> Response<Answer> {
        if *method != Method::POST {
            return not_allowed("POST");
        }
        if !self.access.may_control() {
            let why =
                "the page shows the loads only; option `page_token_file` lets viewers with the token control them\n";
            return reply(StatusCode::FORBIDDEN, TEXT, why);
        }
        if !self.hub.board.has_control() {
            return reply(StatusCode::FORBIDDEN, TEXT, "a job of several processes is not controlled by its page\n");
        }
        self.hub.board.control(control);
        reply(StatusCode::NO_CONTENT, TEXT, "")
    }

    /// Exchanges the token in a URL for a cookie, and takes the token out of the browser's line.
    fn log_in(&self, path: &str) -> Response<Answer> {
        let mut response = reply(StatusCode::SEE_OTHER, TEXT, "");
        let headers = response.headers_mut();
        // Other paths have been asked for by no link of the page.
        let to = if path == "/snapshot" { "/snapshot" } else { "/" };
        headers.insert(LOCATION, HeaderValue::from_static(to));
        // Digits and letters only.
        if let Some(Ok(cookie)) = self.access.cookie().map(HeaderValue::try_from) {
            headers.insert(SET_COOKIE, cookie);
        }
        response
    }
}

fn control(path: &str) -> Option<Control> {
    match path {
        "/control/pause" => Some(Control::Pause),
        "/control/resume" => Some(Control::Resume),
        "/control/stop" => Some(Control::Stop),
        _ => None,
    }
}

/// OpenMetrics for a client that asks for it, as Prometheus does.
fn format(headers: &HeaderMap) -> Format {
    let mut accepted = headers.get_all(ACCEPT).into_iter().filter_map(|header| header.to_str().ok());
    match accepted.any(|accepted| accepted.contains("application/openmetrics-text")) {
        true => Format::OpenMetrics,
        false => Format::Text,
    }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn html(text: &'static str) -> Response<Answer> {
    reply(StatusCode::OK, "text/html; charset=utf-8", text)
}

fn no_token() -> Response<Answer> {
    let why = "this page needs the token of option `page_token_file`: open it once with ?token=TOKEN at its end, or send \
               the header Authorization: Bearer TOKEN\n";
    let mut response = reply(StatusCode::UNAUTHORIZED, TEXT, why);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn not_allowed(methods: &'static str) -> Response<Answer> {
    let mut response = reply(StatusCode::METHOD_NOT_ALLOWED, TEXT, "this address has another method\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in headers() {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

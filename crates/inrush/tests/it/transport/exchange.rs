//! What becomes of a request, and what is known of it where no reply comes.

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::{
    Credentials, HttpError, HttpErrorKind, HttpOptions, Request, Response, Secret, Transport,
};
use inrush_core::retry::RetryPolicy;

use super::server::{Act, Server, nobody};
use crate::common::own_process;

fn transport(urls: &[&str], options: &HttpOptions) -> Transport {
    let transport = Transport::new(urls, Credentials::None, options).unwrap();
    transport.with_retries(RetryPolicy::brief(3, Duration::ZERO))
}

fn bulk(slices: &[&'static [u8]]) -> Request {
    let mut request = Request::new(Method::POST, "/_bulk?filter_path=took,items.*.error");
    request.body = slices.iter().map(|slice| Bytes::from_static(slice)).collect();
    request
}

/// A body that does not fit into the buffers of a connection on loopback.
fn large() -> Request {
    let mut request = bulk(&[]);
    request.body = vec![Bytes::from(vec![b'x'; 4 << 20]); 16];
    request
}

async fn send(server: &Server, request: &Request) -> Result<Response, HttpError> {
    transport(&[&server.url], &HttpOptions::default()).request(request).await.result
}

async fn failure(act: fn() -> Act, request: &Request) -> HttpError {
    let server = Server::start(move |_, _| act());
    send(&server, request).await.unwrap_err()
}

#[tokio::test]
async fn a_request_arrives_whole_and_its_reply_is_read() {
    let server = Server::start(|_, _| {
        let headers = vec![
            ("content-type", "application/json; charset=UTF-8".to_owned()),
            ("retry-after", "7".to_owned()),
            ("x-elastic-product", "Elasticsearch".to_owned()),
        ];
        Act::Reply(429, headers, b"{\"took\":1}".to_vec())
    });
    let mut request = bulk(&[b"{\"index\":{}}\n", b"", b"{\"a\":1}\n"]);
    request.headers.insert("content-type", "application/x-ndjson".parse().unwrap());
    let response = send(&server, &request).await.unwrap();
    assert_eq!((response.status, &response.body[..]), (429, &b"{\"took\":1}"[..]));
    assert_eq!(response.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(response.content_type.as_deref(), Some("application/json; charset=UTF-8"));
    assert!(response.elastic_product);

    let seen = &server.seen()[0];
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/_bulk?filter_path=took,items.*.error"));
    assert_eq!(seen.body, b"{\"index\":{}}\n{\"a\":1}\n");
    assert_eq!(seen.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(seen.header("accept"), Some("application/json"));
    assert_eq!(seen.header("user-agent"), Some(concat!("inrush/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("content-length"), Some("21"));
}

#[tokio::test]
async fn connections_are_used_again_and_credentials_sent_with_a_path_prefix() {
    let server = Server::start(|_, _| Act::json(200, "{}"));
    let url = format!("{}/es/", server.url);
    let key = Credentials::ApiKey(Secret::new("id:key"));
    let transport = Transport::new(&[url], key, &HttpOptions::default()).unwrap();
    for _ in 0..5 {
        transport.request(&bulk(&[b"x\n"])).await.result.unwrap();
    }
    assert_eq!(server.connections(), 1);
    let seen = server.seen();
    assert!(seen[0].target.starts_with("/es/_bulk?"), "{}", seen[0].target);
    assert_eq!(seen[4].header("authorization"), Some("ApiKey aWQ6a2V5"));
}

#[tokio::test]
async fn nobody_there_means_not_sent() {
    let error = transport(&[&nobody()], &HttpOptions::default()).request(&bulk(&[b"x\n"])).await.result.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::NotSent);
    assert!(error.kind.surely_not_applied());
    assert!(error.to_string().contains("was not sent") && error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_password_in_the_url_is_sent_and_not_shown() {
    let url = nobody().replace("http://", "http://elastic:hunter2@");
    let made = Transport::new(&[&url], Credentials::None, &HttpOptions::default()).unwrap();
    let error = made.request(&bulk(&[b"x\n"])).await.result.unwrap_err();
    assert!(!format!("{error} {error:?} {made:?}").contains("hunter2"));

    let server = Server::start(|_, _| Act::json(200, "{}"));
    let url = server.url.replace("http://", "http://elastic:hunter2@");
    let made = Transport::new(&[&url], Credentials::None, &HttpOptions::default()).unwrap();
    made.request(&bulk(&[b"x\n"])).await.result.unwrap();
    assert_eq!(server.seen()[0].header("authorization"), Some("Basic ZWxhc3RpYzpodW50ZXIy"));
}

#[tokio::test]
async fn a_connection_that_closes_after_the_body_went_out_means_lost() {
    for (act, request) in [
        ((|| Act::CloseAfterBody) as fn() -> Act, bulk(&[b"x\n"])),
        (|| Act::CloseAfterHead, large()),
        (|| Act::CloseAfterBody, Request::new(Method::POST, "/i/_refresh")),
        (|| Act::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"took\":".to_vec()), bulk(&[b"x\n"])),
        (|| Act::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"too".to_vec()), bulk(&[b"x\n"])),
        (|| Act::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()), bulk(&[b"x\n"])),
    ] {
        let error = failure(act, &request).await;
        assert_eq!(error.kind, HttpErrorKind::Lost, "{error}");
        assert!(!error.kind.surely_not_applied());
    }
}

#[tokio::test]
async fn a_reply_that_is_too_large_is_not_taken() {
    let options = HttpOptions { reply_bytes_max: 1000, ..HttpOptions::default() };
    let chunk = "3e8\r\n".to_owned() + &"x".repeat(1000) + "\r\n";
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(3));
    let server = Server::start(move |number, _| match number {
        0 => Act::json(200, &"x".repeat(1001)),
        1 => Act::Raw(chunked.clone().into_bytes()),
        _ => Act::json(200, &"x".repeat(1000)),
    });
    let fresh = || transport(&[&server.url], &options);
    for _ in 0..2 {
        let error = fresh().request(&bulk(&[b"x\n"])).await.result.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Lost);
        assert!(error.to_string().contains("larger than 1000 bytes"), "{error}");
    }
    assert_eq!(fresh().request(&bulk(&[b"x\n"])).await.result.unwrap().body.len(), 1000);
}

#[tokio::test]
async fn a_packed_reply_is_unpacked_or_lost() {
    let gzip = |body: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(body.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let (fits, too_large) = (gzip(&"x".repeat(1000)), gzip(&"x".repeat(1001)));
    let server = Server::start(move |number, _| {
        let body = match number {
            0 => fits.clone(),
            1 => too_large.clone(),
            2 => fits[..fits.len() - 4].to_vec(),
            _ => b"{}".to_vec(),
        };
        Act::Reply(200, vec![("content-encoding", "gzip".into())], body)
    });
    let options = HttpOptions { reply_bytes_max: 1000, ..HttpOptions::default() };
    let fresh = || transport(&[&server.url], &options);
    assert_eq!(fresh().request(&bulk(&[b"x\n"])).await.result.unwrap().body, "x".repeat(1000));
    for why in ["larger than 1000 bytes", "cannot be unpacked from gzip", "cannot be unpacked from gzip"] {
        let error = fresh().request(&bulk(&[b"x\n"])).await.result.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Lost);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn no_reply_in_time_means_timed_out() {
    let options = HttpOptions { request_timeout: Duration::from_millis(300), ..HttpOptions::default() };
    let server = Server::start(|_, _| Act::Silence);
    let transport = transport(&[&server.url], &options);
    let error = transport.request(&bulk(&[b"x\n"])).await.result.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::TimedOut, "{error}");
    assert_eq!(transport.nodes_healthy(), 0);
}

#[tokio::test]
async fn a_reply_before_the_body_was_read_is_taken_or_counts_as_lost() {
    // Which of the two depends on whether the reply or the reset is read first.
    let server = Server::start(|_, _| Act::ReplyEarly(413));
    match send(&server, &large()).await {
        Ok(response) => assert_eq!(response.status, 413),
        Err(error) => assert_eq!(error.kind, HttpErrorKind::Lost, "{error}"),
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced() {
    let closing = Server::start(|number, _| match number {
        0 => Act::ReplyAndClose(200, b"{}".to_vec()),
        _ => Act::json(200, "{}"),
    });
    let other = Server::start(|_, _| Act::json(200, "{}"));
    let first = transport(&[&closing.url], &HttpOptions::default());
    first.request(&bulk(&[b"1\n"])).await.result.unwrap();
    closing.wait_for_close();
    // A round trip elsewhere, after which the runtime has also seen that the connection was closed.
    transport(&[&other.url], &HttpOptions::default()).request(&bulk(&[b"x\n"])).await.result.unwrap();
    first.request(&bulk(&[b"2\n"])).await.result.unwrap();
    let bodies: Vec<Vec<u8>> = closing.seen().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [b"1\n", b"2\n"]);
    assert_eq!(closing.connections(), 2);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::start(|_, _| Act::Reply(307, vec![("location", "/elsewhere".into())], Vec::new()));
    assert_eq!(send(&server, &bulk(&[b"x\n"])).await.unwrap().status, 307);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_node_that_cannot_be_reached_is_left_out() {
    let server = Server::start(|_, _| Act::json(200, "{}"));
    let dead = nobody();
    let transport = transport(&[&dead, &server.url], &HttpOptions::default());
    let first = transport.request(&bulk(&[b"x\n"])).await;
    assert_eq!((first.node, first.result.unwrap_err().kind), (0, HttpErrorKind::NotSent));
    assert_eq!(transport.nodes_healthy(), 1);
    for _ in 0..3 {
        let next = transport.request(&bulk(&[b"x\n"])).await;
        assert_eq!((next.node, next.result.unwrap().status), (1, 200));
    }
    assert_eq!(transport.nodes()[1].to_string(), server.url);
}

#[tokio::test]
async fn requests_under_way_go_to_different_nodes() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start(|_, _| Act::json(200, "{}"))).collect();
    let urls: Vec<&str> = servers.iter().map(|server| server.url.as_str()).collect();
    let transport = transport(&urls, &HttpOptions::default());
    let request = bulk(&[b"x\n"]);
    let (a, b, c) = tokio::join!(transport.request(&request), transport.request(&request), transport.request(&request));
    let mut nodes = [a.node, b.node, c.node];
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 1, 2]);
}

#[tokio::test]
async fn questions_are_repeated_while_the_cluster_cannot_answer() {
    let server = Server::start(|number, _| match number {
        0 => Act::json(503, "{}"),
        1 => Act::Reply(429, vec![("retry-after", "0".into())], Vec::new()),
        _ => Act::json(200, r#"{"ok":true}"#),
    });
    let transport = transport(&[&server.url], &HttpOptions::default());
    let body = serde_json::json!({"a": 1});
    let (status, answer) = transport.put_json("/i", &body).await.unwrap();
    assert_eq!((status, answer), (200, serde_json::json!({"ok": true})));
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|request| request.method == "PUT" && request.body == br#"{"a":1}"#));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn questions_are_repeated_a_bounded_number_of_times() {
    let server = Server::start(|_, _| Act::json(503, r#"{"error":"no master"}"#));
    let (status, answer) = transport(&[&server.url], &HttpOptions::default()).get_json("/").await.unwrap();
    assert_eq!((status, answer["error"].as_str()), (503, Some("no master")));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn only_what_may_be_applied_twice_is_asked_again_after_its_answer_was_lost() {
    let lose_one = || {
        Server::start(|number, _| match number {
            0 => Act::CloseAfterBody,
            _ => Act::json(200, "{}"),
        })
    };
    let server = lose_one();
    transport(&[&server.url], &HttpOptions::default()).get_json("/").await.unwrap();
    for path in ["/i/_refresh", "/i/_flush?wait_if_ongoing=true"] {
        let server = lose_one();
        transport(&[&server.url], &HttpOptions::default()).post_json(path, None).await.unwrap();
        assert_eq!(server.seen().len(), 2, "{path}");
    }
    let server = lose_one();
    let error = transport(&[&server.url], &HttpOptions::default()).post_json("/i/_rollover", None).await.unwrap_err();
    assert!(matches!(error, ClusterError::Http(HttpError { kind: HttpErrorKind::Lost, .. })), "{error}");
    assert_eq!(server.seen().len(), 1);
    assert_eq!(server.seen()[0].header("content-length"), Some("0"));
}

#[tokio::test]
async fn a_gateways_html_is_no_answer() {
    let html = "<html>502 Bad Gateway</html>";
    let server = Server::start(move |number, _| {
        // A read is sent three times.
        Act::Reply(if number < 3 { 502 } else { 200 }, Vec::new(), html.as_bytes().to_vec())
    });
    let transport = transport(&[&server.url], &HttpOptions::default());
    assert_eq!(transport.get_json("/").await.unwrap(), (502, html.into()));
    let error = transport.get_json("/").await.unwrap_err().to_string();
    assert!(error.contains("not JSON") && error.contains("Bad Gateway"), "{error}");
}

/// All tests share the environment of their process, so this one runs again in a process of its own
/// whose environment names the proxy.
#[test]
fn a_proxy_from_the_environment_is_used_except_for_this_machine() {
    let ask = |url: String| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            transport(&[&url], &HttpOptions::default()).request(&bulk(&[b"x\n"])).await.result.unwrap().status
        })
    };
    let name = "a_proxy_from_the_environment_is_used_except_for_this_machine";
    let Some(mut asking) = own_process::command(module_path!(), name) else {
        assert_eq!(ask("http://search.invalid:9200".into()), 201);
        let here = Server::start(|_, _| Act::json(200, "{}"));
        assert_eq!(ask(here.url.clone()), 200);
        assert_eq!(ask(here.url.replace("127.0.0.1", "localhost")), 200);
        return;
    };
    let proxy = Server::start(|_, _| Act::json(201, "{}"));
    asking.env("HTTP_PROXY", &proxy.url).env("http_proxy", &proxy.url);
    for other in ["NO_PROXY", "no_proxy", "REQUEST_METHOD"] {
        asking.env_remove(other);
    }
    own_process::passes(asking);
    let targets: Vec<String> = proxy.seen().into_iter().map(|request| request.target).collect();
    assert_eq!(targets, ["http://search.invalid:9200/_bulk?filter_path=took,items.*.error"]);
}

#[tokio::test]
async fn replies_are_bound_by_what_was_asked() {
    let server = Server::start(|_, _| Act::json(200, &format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20))));
    let transport = transport(&[&server.url], &HttpOptions::default());
    let error = inrush_cluster::api::product::detect(&transport).await.unwrap_err().to_string();
    assert!(error.contains("larger than 65536 bytes"), "{error}");
    let mut request = bulk(&[b"{}\n"]);
    assert_eq!(transport.request(&request).await.result.unwrap().status, 200);
    request.reply_bytes_max = Some(1000);
    let error = transport.request(&request).await.result.unwrap_err();
    assert!(error.to_string().contains("larger than 1000 bytes"), "{error}");
}

#[tokio::test]
async fn a_port_that_expects_tls_is_hinted_at() {
    let error = failure(|| Act::CloseAfterHead, &Request::new(Method::GET, "/")).await;
    assert!(error.to_string().ends_with("(if the node speaks TLS here, use https:// instead of http://)"), "{error}");
}

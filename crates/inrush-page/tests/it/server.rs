//! Routes, headers, and who may see the page.

use inrush_cluster::transport::Secret;
use inrush_page::{PageConfig, Watch, WatchConfig, WatchError};
use tokio::net::TcpStream;

use super::client::{Viewer, address, get, send};

const TOKEN: &str = "0123456789abcdef0123";

async fn page(token: Option<&str>) -> Watch {
    let page = PageConfig { address: "auto".parse().unwrap(), token: token.map(Secret::new), parts: None };
    Watch::start(WatchConfig { page: Some(page), ..WatchConfig::default() }).await.unwrap()
}

#[tokio::test]
async fn each_route_has_its_type_and_the_headers_that_protect_it() {
    let watch = page(None).await;
    let at = address(&watch);
    for (path, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
        ("/page.css", "text/css; charset=utf-8"),
        ("/snapshot", "application/json"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
        ("/healthz", "text/plain; charset=utf-8"),
    ] {
        let reply = get(at, path, &[]).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(content_type)), "{path}");
        assert!(!reply.body.is_empty(), "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        let head = send(at, &[&format!("HEAD {path} HTTP/1.1"), "Host: localhost"]).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        let post = send(at, &[&format!("POST {path} HTTP/1.1"), "Host: localhost", "Content-Length: 0"]).await;
        assert_eq!(post.status, 405, "{path}");
    }
    let metrics = get(at, "/metrics", &["Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5"]).await;
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0"));
    watch.end().await;
}

#[tokio::test]
async fn no_path_leads_to_a_file() {
    let watch = page(None).await;
    for path in [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/page.js/../../Cargo.toml",
        "/assets/index.html",
        "/page.js/",
        "/index.html",
        "/control",
        "/control/pause/x",
        "/SNAPSHOT",
    ] {
        let reply = get(address(&watch), path, &[]).await;
        assert_eq!(reply.status, 404, "{path}: {}", reply.body);
    }
    watch.end().await;
}

#[tokio::test]
async fn other_hosts_and_origins_see_nothing() {
    let watch = page(None).await;
    let at = address(&watch);
    for path in ["/", "/snapshot", "/events", "/metrics", "/healthz"] {
        let rebound = send(at, &[&format!("GET {path} HTTP/1.1"), "Host: evil.example"]).await;
        assert_eq!(rebound.status, 403, "{path}");
        assert!(!rebound.body.contains("inrush"), "{}", rebound.body);
    }
    assert_eq!(get(at, "/snapshot", &["Origin: http://evil.example"]).await.status, 403);
    let local = send(at, &["GET /snapshot HTTP/1.1", "Host: localhost", "Origin: http://localhost"]).await;
    assert_eq!(local.status, 200);
    assert!(local.header("access-control-allow-origin").is_none());
    watch.end().await;
}

#[tokio::test]
async fn without_a_token_there_is_no_control() {
    let watch = page(None).await;
    let at = address(&watch);
    let host = format!("Host: {at}");
    let reply = send(at, &["POST /control/stop HTTP/1.1", &host, "Content-Length: 0"]).await;
    assert_eq!(reply.status, 403);
    assert!(reply.body.contains("page_token_file"), "{}", reply.body);
    assert_eq!(get(at, "/control/stop", &[]).await.status, 405);
    watch.end().await;
}

#[tokio::test]
async fn a_token_opens_the_page() {
    let watch = page(Some(TOKEN)).await;
    let at = address(&watch);
    for path in ["/", "/page.js", "/snapshot", "/events", "/metrics", "/nothing"] {
        let reply = get(at, path, &[]).await;
        assert_eq!(reply.status, 401, "{path}");
        assert!(!reply.body.contains(TOKEN) && !reply.head.contains(TOKEN));
    }
    assert_eq!(get(at, "/healthz", &[]).await.status, 200);
    assert_eq!(get(at, "/?token=0123456789abcdef0124", &[]).await.status, 401);
    let log_in = get(at, &format!("/?token={TOKEN}"), &[]).await;
    assert_eq!((log_in.status, log_in.header("location")), (303, Some("/")));
    let cookie = log_in.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(TOKEN), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let snapshot = get(at, "/snapshot", &[&cookie]).await;
    assert!(snapshot.status == 200 && snapshot.body.contains("\"control\":true"), "{}", snapshot.body);
    let bearer = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(get(at, "/metrics", &[&bearer]).await.status, 200);
    let host = format!("Host: {at}");
    let post = async |headers: &[&str]| {
        let first = ["POST /control/pause HTTP/1.1", host.as_str(), "Content-Length: 0"];
        send(at, &[&first, headers].concat()).await.status
    };
    assert_eq!(post(&[&cookie]).await, 403, "a form of another page sends no origin of this one");
    assert_eq!(post(&[&cookie, "Origin: http://evil.example"]).await, 403);
    assert_eq!(post(&[&cookie, &format!("Origin: http://{at}")]).await, 204);
    assert_eq!(post(&[&bearer]).await, 204);
    assert_eq!(post(&[]).await, 401);
    watch.end().await;
}

#[tokio::test]
async fn an_address_in_use_is_an_error() {
    let watch = page(None).await;
    let taken = PageConfig { address: address(&watch).to_string().parse().unwrap(), token: None, parts: None };
    let error = Watch::start(WatchConfig { page: Some(taken), ..WatchConfig::default() }).await.unwrap_err();
    assert!(matches!(error, WatchError::Bind { .. }));
    let text = error.to_string();
    assert!(text.contains("option `page=127.0.0.1:") && text.contains("choose another port"), "{text}");
    watch.end().await;
}

#[tokio::test]
async fn a_folder_that_does_not_exist_is_an_error() {
    let config = WatchConfig { textfile: Some("/no/such/folder".into()), ..WatchConfig::default() };
    let error = Watch::start(config).await.unwrap_err();
    assert!(error.to_string().contains("option `textfile=/no/such/folder`"), "{error}");
}

#[tokio::test]
async fn connections_that_are_too_many_are_refused_and_the_others_go_on() {
    let watch = page(None).await;
    let at = address(&watch);
    let mut viewer = Viewer::connect(at, &[]).await;
    assert_eq!(viewer.next().await.unwrap().0, "snapshot");
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(TcpStream::connect(at).await.unwrap());
    }
    let mut last = vec![0; 100];
    let busy = idle.last().unwrap();
    busy.readable().await.unwrap();
    let read = busy.try_read(&mut last).unwrap();
    assert!(String::from_utf8_lossy(&last[..read]).starts_with("HTTP/1.1 503"), "{last:?}");
    assert_eq!(viewer.next().await.unwrap().0, "point");
    drop(idle);
    // The server finds out about the ends of the others one after the other.
    while get(at, "/healthz", &[]).await.status != 200 {
        tokio::task::yield_now().await;
    }
    watch.end().await;
}

#[tokio::test]
async fn bytes_that_are_no_request_end_their_connection() {
    let watch = page(None).await;
    let at = address(&watch);
    for bytes in ["\u{16}\u{3}\u{1}", "GET", "GET / HTTP/9.9", "\0\0\0\0", &"x".repeat(100_000)] {
        assert!(matches!(send(at, &[bytes]).await.status, 0 | 400 | 414 | 431 | 505), "{bytes}");
    }
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "y".repeat(200_000));
    assert_eq!(send(at, &[&long]).await.status, 431);
    assert_eq!(get(at, "/healthz", &[]).await.status, 200);
    watch.end().await;
}

#[tokio::test]
async fn viewers_get_the_end_and_their_connections_close() {
    let watch = page(None).await;
    let mut viewers = Vec::new();
    for _ in 0..3 {
        viewers.push(Viewer::connect(address(&watch), &[]).await);
    }
    for viewer in &mut viewers {
        let (name, snapshot) = viewer.next().await.unwrap();
        assert_eq!((name.as_str(), &snapshot["version"], &snapshot["ended"]), ("snapshot", &1.into(), &false.into()));
    }
    watch.end().await;
    for viewer in &mut viewers {
        let mut names = Vec::new();
        while let Some((name, _)) = viewer.next().await {
            names.push(name);
        }
        assert_eq!(names.last().map(String::as_str), Some("end"));
    }
}

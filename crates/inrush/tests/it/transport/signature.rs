//! Every request to an Amazon cluster has a signature of its own. It is verified by an
//! implementation from AWS's description of Signature Version 4 ("Create a signed AWS API request")
//! with nothing but SHA-256 and HMAC.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::Method;
use http::request::Parts;
use inrush_cluster::api::{CreateIndex, index, stats};
use inrush_cluster::transport::aws::{AwsCredentials, Service, Signer};
use inrush_cluster::transport::{Credentials, HttpOptions, Request, Secret, Transport};
use inrush_core::retry::RetryPolicy;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use sha2::{Digest, Sha256};

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// A cluster that verifies, and the dates of all requests that it let in.
async fn cluster(
    service: &'static str,
    token: Option<&'static str>,
    faults: Faults,
) -> (FakeCluster, Arc<Mutex<Vec<String>>>) {
    let dates = Arc::new(Mutex::new(Vec::new()));
    let seen = dates.clone();
    let config = FakeConfig::default()
        .verify(move |head: &Parts, body: &[u8]| {
            let date = verify(head, body, SECRET, service, token)?;
            seen.lock().unwrap().push(date);
            Ok(())
        })
        .faults(faults);
    (FakeCluster::start(config).await.unwrap(), dates)
}

/// A transport whose clock goes on by a second with every signature.
fn transport(cluster: &FakeCluster, service: Service, secret: &str, token: Option<&str>) -> Transport {
    let token = token.map(Secret::new);
    let keys = AwsCredentials::fixed("AKIDEXAMPLE", &Secret::new(secret), token.as_ref());
    let seconds = AtomicU64::new(1_440_938_160);
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.fetch_add(1, Ordering::SeqCst));
    let signer = Signer::with_clock(service, "eu-west-1", keys, Arc::new(clock));
    let credentials = Credentials::SigV4(Arc::new(signer));
    let transport = Transport::new(&cluster.urls(), credentials, &HttpOptions::default()).unwrap();
    transport.with_retries(RetryPolicy::brief(3, Duration::ZERO))
}

fn bulk() -> Request {
    let mut request = Request::new(Method::POST, "/_bulk?filter_path=took,errors,items.*.status&pipeline=_none");
    request.headers.insert("content-type", "application/x-ndjson".parse().unwrap());
    request.headers.insert("x-opaque-id", "run  7 ".trim().parse().unwrap());
    request.body =
        ["{\"index\":{\"_index\":\"trips\"}}\n", "", "{\"a\":\"é\"}\n"].map(|s| Bytes::from(s.to_owned())).to_vec();
    request
}

#[tokio::test]
async fn every_request_is_signed_retries_included() {
    let faults = Faults::new([Rule::new(Fault::Unavailable).path("/trips").first(2)]);
    let (cluster, dates) = cluster("es", None, faults).await;
    let transport = transport(&cluster, Service::Es, SECRET, None);
    // Refused with 503 twice, so sent three times.
    let made = index::create(&transport, "trips", &CreateIndex { shards: Some(1), ..CreateIndex::default() }).await;
    made.unwrap();
    for _ in 0..2 {
        assert_eq!(transport.request(&bulk()).await.result.unwrap().status, 200);
    }
    stats::refresh(&transport, "trips").await.unwrap();
    assert_eq!(stats::count(&transport, "trips").await.unwrap(), 2);
    // A name that is percent-encoded in the path is encoded again in what is signed.
    assert!(!index::exists(&transport, "a b/ü+(1)").await.unwrap());

    let log = cluster.requests();
    assert!(log.iter().all(|request| request.authorized), "{log:#?}");
    assert_eq!(log[..3].iter().map(|request| request.status).collect::<Vec<_>>(), [503, 503, 200]);
    let dates = dates.lock().unwrap();
    assert_eq!(dates.len(), log.len());
    assert_eq!(dates.iter().collect::<BTreeSet<_>>().len(), log.len(), "each is signed anew: {dates:?}");
    assert_eq!(dates[0], "20150830T123600Z");
}

#[tokio::test]
async fn serverless_and_temporary_credentials() {
    let (cluster, _) = cluster("aoss", Some("the-token=="), Faults::default()).await;
    let transport = transport(&cluster, Service::Aoss, SECRET, Some("the-token=="));
    assert_eq!(transport.request(&bulk()).await.result.unwrap().status, 200);
}

#[tokio::test]
async fn another_key_is_refused() {
    let (cluster, _) = cluster("es", None, Faults::default()).await;
    let wrong = transport(&cluster, Service::Es, "another", None);
    assert_eq!(wrong.request(&bulk()).await.result.unwrap().status, 403);
    let other_service = transport(&cluster, Service::Aoss, SECRET, None);
    assert_eq!(other_service.request(&bulk()).await.result.unwrap().status, 403);
}

/// Returns the request's date if its signature is right.
fn verify(head: &Parts, body: &[u8], secret: &str, service: &str, token: Option<&str>) -> Result<String, String> {
    let header = |name: &str| {
        let value = head.headers.get(name).ok_or(format!("no header {name}"))?;
        value.to_str().map_err(|error| error.to_string())
    };
    let authorization = header("authorization")?;
    let fields = authorization.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("another algorithm")?;
    let field = |name: &str| {
        let found = fields.split(", ").find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        found.ok_or(format!("no {name} in {authorization}"))
    };
    let date = header("x-amz-date")?;
    let day = &date[..8];
    let scope = format!("{day}/eu-west-1/{service}/aws4_request");
    if field("Credential")? != format!("AKIDEXAMPLE/{scope}") {
        return Err(format!("expected the scope {scope} in {authorization}"));
    }
    if head.headers.get("x-amz-security-token").and_then(|value| value.to_str().ok()) != token {
        return Err("another session token".into());
    }
    let payload = hex(&Sha256::digest(body));
    if header("x-amz-content-sha256")? != payload {
        return Err("the hash is not that of the body".into());
    }
    let signed = field("SignedHeaders")?;
    let must = ["host", "x-amz-content-sha256", "x-amz-date"].into_iter();
    for name in must
        .chain(token.map(|_| "x-amz-security-token"))
        .chain(head.headers.get("content-type").map(|_| "content-type"))
    {
        if !signed.split(';').any(|other| other == name) {
            return Err(format!("{name} is not among the signed headers {signed}"));
        }
    }

    let mut canonical =
        format!("{}\n{}\n{}\n", head.method, canonical_path(head.uri.path()), canonical_query(head.uri.query()));
    for name in signed.split(';') {
        let value = header(name)?.split_whitespace().collect::<Vec<_>>().join(" ");
        canonical.push_str(&format!("{name}:{value}\n"));
    }
    canonical.push_str(&format!("\n{signed}\n{payload}"));
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [day, "eu-west-1", service, "aws4_request"] {
        key = hmac(&key, part);
    }
    if field("Signature")? == hex(&hmac(&key, &to_sign)) {
        Ok(date.to_owned())
    } else {
        Err(format!("wrong signature of\n{canonical}"))
    }
}

/// Each segment as it came over the wire, encoded once more; no empty segments.
fn canonical_path(path: &str) -> String {
    let segments: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(encode).collect();
    format!("/{}", segments.join("/"))
}

/// Names and values encoded once, sorted.
fn canonical_query(query: Option<&str>) -> String {
    let mut pairs: Vec<(String, String)> = query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (encode(&decode(name)), encode(&decode(value))))
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn encode(text: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap()
}

fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

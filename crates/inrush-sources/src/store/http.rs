//! Files on web servers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use http::StatusCode;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, RANGE};
use inrush_cluster::transport::file_client;
use url::Url;

use super::object::{Fetch, FetchError, Object, Part, WAITS};
use super::url::{StoreOptions, shown};
use crate::network::Network;

/// Longest silence of a connection before it counts as broken.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// A file on a web server.
#[derive(Clone)]
struct WebFile {
    client: reqwest::Client,
    url: Url,
}

/// Requests the file's first byte. The reply has the file's size and version, and reveals whether
/// the server supports ranges. A GET also works where an address is signed for reading only.
pub(super) async fn find(url: Url, options: &StoreOptions, network: Arc<Network>) -> Result<Object, FetchError> {
    if url.path().contains('*') {
        return Err(FetchError::last("a web server does not list its files; give the address of each file"));
    }
    let mut insecure = false;
    for (key, value) in options.iter() {
        match key {
            "allow_invalid_certificates" => insecure = value == "true",
            // The address already says whether to use plain HTTP.
            "allow_http" => {}
            _ => {
                let known = "allow_invalid_certificates";
                return Err(FetchError::last(format!("unknown store option {key} for a web server; use {known}")));
            }
        }
    }
    let client = file_client(insecure, SILENCE_MAX).map_err(|e| FetchError::last(e.to_string()))?;
    let file = WebFile { client, url };
    let part = file.ask(0, Some(1)).await?;
    Ok(Object {
        name: shown(&file.url),
        path: file.url.path().to_owned(),
        size: part.size,
        // Without a version, parts of two versions could be mixed.
        ranges: part.ranges && part.version.is_some(),
        version: part.version,
        fetch: Arc::new(file),
        waits: WAITS,
        network,
    })
}

/// A server's reply before its body.
struct Answer {
    from: u64,
    size: Option<u64>,
    version: Option<String>,
    ranges: bool,
    response: reqwest::Response,
}

impl WebFile {
    async fn ask(&self, from: u64, to: Option<u64>) -> Result<Answer, FetchError> {
        let to = to.map(|to| (to - 1).to_string()).unwrap_or_default();
        // A compression on the way would change the number of bytes.
        let request = self.client.get(self.url.clone()).header(ACCEPT_ENCODING, "identity");
        let response = request.header(RANGE, format!("bytes={from}-{to}")).send().await.map_err(failed)?;
        let headers = response.headers();
        let version = text(headers, ETAG).or_else(|| text(headers, LAST_MODIFIED)).map(str::to_owned);
        let range = text(headers, CONTENT_RANGE).and_then(content_range);
        match (response.status(), range) {
            (StatusCode::PARTIAL_CONTENT, Some((start, size))) => {
                Ok(Answer { from: start, size, version, ranges: true, response })
            }
            // The file is empty.
            (StatusCode::RANGE_NOT_SATISFIABLE, _) if from == 0 => {
                Ok(Answer { from: 0, size: Some(0), version, ranges: false, response })
            }
            (StatusCode::OK, _) => {
                let size = text(headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
                Ok(Answer { from: 0, size, version, ranges: false, response })
            }
            (status, _) => {
                let message = format!("the server answered {status}");
                let again = status.is_server_error()
                    || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
                Err(FetchError { again, ..FetchError::last(message) })
            }
        }
    }
}

impl Fetch for WebFile {
    fn get(&self, from: u64, to: Option<u64>) -> BoxFuture<'static, Result<Part, FetchError>> {
        let file = self.clone();
        Box::pin(async move {
            let Answer { from, size, version, response, .. } = file.ask(from, to).await?;
            let body = response.bytes_stream().map(|piece: reqwest::Result<Bytes>| piece.map_err(failed)).boxed();
            Ok(Part { from, version, size, body })
        })
    }
}

/// First byte and size of `bytes 0-9/100`; the size may be unknown, as in `bytes 0-9/*`.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, size) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.trim().parse().ok()?, size.trim().parse().ok()))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Most network errors may pass, and are retried. An invalid address stays invalid.
fn failed(error: reqwest::Error) -> FetchError {
    let again = !error.is_builder() && !error.is_redirect();
    // The address may contain secrets.
    let error = error.without_url();
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    FetchError { again, ..FetchError::last(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_say_where_they_begin_and_how_large_the_file_is() {
        assert_eq!(content_range("bytes 5-9/100"), Some((5, Some(100))));
        assert_eq!(content_range("bytes 0-0/*"), Some((0, None)));
        assert_eq!(content_range("bytes */0"), None);
        assert_eq!(content_range("items 0-1/2"), None);
    }
}

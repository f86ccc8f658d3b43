//! A web service that is asked with the keys in the address or in the body.

use std::fmt;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use inrush_cluster::transport::{Credentials, HttpOptions, Request, Response, TlsOptions, Transport, path_segment};
use inrush_formats::beginning;
use url::{Position, Url};

use super::FetchError;
use super::answer::{Found, records};
use super::batches::{Ask, Failed, KEYS_MAX};

/// The place of the keys.
const KEYS: &str = "{keys}";

/// The place of the keys in a body, where they are numbers.
const NUMBERS: &str = "{keys:number}";

/// Stands for the keys while the address is parsed. No character of it is percent-encoded.
const MARK: &str = "~inrush-keys~";

/// The longest address, bytes. Common servers and proxies take 8 KiB, with the method and the
/// version.
const ADDRESS_BYTES_MAX: usize = 8_000;

/// A web service.
pub(crate) struct Web {
    transport: Transport,
    /// Scheme, host, port and path, for messages: a query may have secrets.
    shown: String,
    /// The bytes of the address in front of its path.
    origin_bytes: usize,
    question: Question,
    headers: HeaderMap,
    /// The field with the id.
    id: String,
}

/// A request, around its keys.
#[derive(Debug, PartialEq, Eq)]
enum Question {
    /// A GET: the path and query before and behind the keys.
    Address(String, String),
    /// A POST.
    Body { path_and_query: String, before: String, after: String, are_numbers: bool },
}

impl Web {
    pub(crate) fn new(
        address: &str,
        body: Option<&str>,
        credentials: Credentials,
        tls: TlsOptions,
        id: String,
    ) -> Result<Self, FetchError> {
        let (url, question) = question(address, body).map_err(FetchError::new)?;
        let origin = format!("{}", Origin(&url));
        let shown = format!("{origin}{}", url.path().replace(MARK, KEYS));
        let options = HttpOptions { tls, ..HttpOptions::default() };
        let transport = Transport::new(&[&origin], credentials, &options)
            .map_err(|error| FetchError::new(format!("{shown} cannot be asked")).with_source(error))?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, application/x-ndjson"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if matches!(question, Question::Body { .. }) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(Web { transport, shown, origin_bytes: origin.len(), question, headers, id })
    }

    fn request(&self, keys: &[String]) -> Request {
        let mut request = match &self.question {
            Question::Address(before, after) => {
                let keys: Vec<String> = keys.iter().map(|key| path_segment(key)).collect();
                Request::new(Method::GET, format!("{before}{}{after}", keys.join(",")))
            }
            Question::Body { path_and_query, before, after, are_numbers } => {
                let mut request = Request::new(Method::POST, path_and_query);
                let body = format!("{before}{}{after}", array(keys, *are_numbers));
                request.body = vec![Bytes::from(body)];
                request
            }
        };
        request.headers = self.headers.clone();
        request
    }

    /// Why a reply has no records.
    fn failed(&self, reply: &Response) -> Failed {
        let shown = &self.shown;
        let text = match reply.body.is_empty() {
            true => String::new(),
            false => format!(": {}", beginning(&reply.body)),
        };
        let status = reply.status;
        let answer = |remedy: &str| format!("{shown} answers {status}{text}; {remedy}");
        let away = |remedy: &str| Failed::Away(FetchError::new(answer(remedy)));
        let lasting = |remedy: &str| Failed::Away(FetchError::new(answer(remedy)).lasting());
        match status {
            400 | 422 => Failed::Keys(answer("correct the key, or the address and body of the question")),
            413 | 414 | 431 => Failed::Keys(answer("the question is too large with one key")),
            401 | 403 => lasting("check option `fetch_user` and its password, or the token in INRUSH_FETCH_BEARER"),
            300..=399 => lasting("expected 200; name the address that it redirects to"),
            404 | 405 => lasting("expected 200, also where no record has the ids; check the address"),
            408 | 429 | 500.. => away("it is asked again"),
            _ => lasting("expected 200 with an array of objects, or one object a line"),
        }
    }
}

impl Ask for Web {
    fn key(&self, id: &str) -> Result<String, String> {
        match &self.question {
            Question::Body { are_numbers: true, .. } => match id.parse::<i64>() {
                Ok(number) => Ok(number.to_string()),
                Err(_) => {
                    let shown = beginning(id.as_bytes());
                    Err(format!("the key {shown} is no whole number, as option `fetch_body` asks for with {NUMBERS}"))
                }
            },
            Question::Address(..) | Question::Body { .. } => Ok(id.to_owned()),
        }
    }

    fn fit(&self, keys: &[String]) -> usize {
        let Question::Address(before, after) = &self.question else { return KEYS_MAX };
        let mut bytes = self.origin_bytes + before.len() + after.len();
        let fits = |key: &&String| {
            bytes += path_segment(key).len() + 1;
            bytes <= ADDRESS_BYTES_MAX
        };
        keys.iter().take(KEYS_MAX).take_while(fits).count()
    }

    async fn ask(&self, keys: &[String]) -> Result<Vec<Found>, Failed> {
        let answer = self.transport.request_to(0, &self.request(keys)).await;
        let reply = answer.map_err(|mut error| {
            // The whole address has the keys, and may have secrets.
            error.url.clone_from(&self.shown);
            Failed::Away(FetchError::new(error.to_string()))
        })?;
        if !(200..300).contains(&reply.status) {
            return Err(self.failed(&reply));
        }
        records(&reply.body, &self.id)
            .map_err(|why| Failed::Away(FetchError::new(format!("{}: {why}", self.shown)).lasting()))
    }
}

/// The keys as a JSON array.
fn array(keys: &[String], are_numbers: bool) -> String {
    let text = |key: &String| match are_numbers {
        true => key.clone(),
        false => serde_json::Value::from(key.as_str()).to_string(),
    };
    let texts: Vec<String> = keys.iter().map(text).collect();
    format!("[{}]", texts.join(","))
}

/// Scheme, host and port of an address.
struct Origin<'a>(&'a Url);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The question was checked for both.
        let (host, port) = (self.0.host_str().unwrap_or_default(), self.0.port_or_known_default().unwrap_or_default());
        write!(f, "{}://{host}:{port}", self.0.scheme())
    }
}

/// The address, with a mark for its keys, and the question.
fn question(address: &str, body: Option<&str>) -> Result<(Url, Question), String> {
    let url = Url::parse(&address.trim().replace(KEYS, MARK)).map_err(|error| {
        // It may have a password anywhere.
        format!("option `fetch_url` is no address: {error}; expected https://host/path?ids={KEYS}")
    })?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        let scheme = url.scheme();
        return Err(format!("option `fetch_url` has the scheme {scheme}; expected https://host/path?ids={KEYS}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("option `fetch_url` has a user name or password; give the user with option `fetch_user`, and the \
                    password with option `fetch_password_file` or INRUSH_FETCH_PASSWORD"
            .to_owned());
    }
    let path_and_query = url[Position::BeforePath..Position::AfterQuery].to_owned();
    let question = match body {
        None => match split_once(&path_and_query, MARK) {
            Some((before, after)) => Question::Address(before, after),
            None => {
                return Err(format!(
                    "option `fetch_url` needs {KEYS} once, in its path or query, as in https://host/items?ids={KEYS}; or \
                     give the keys in option `fetch_body`"
                ));
            }
        },
        Some(_) if address.contains(KEYS) => {
            return Err(format!("option `fetch_url` and option `fetch_body` both have {KEYS}; leave one of them out"));
        }
        Some(body) => of_body(body, path_and_query)?,
    };
    Ok((url, question))
}

fn of_body(body: &str, path_and_query: String) -> Result<Question, String> {
    let (are_numbers, parts) = match body.contains(NUMBERS) {
        true => (true, split_once(body, NUMBERS)),
        false => (false, split_once(body, KEYS)),
    };
    let (before, after) = parts
        .filter(|(before, after)| !before.contains(KEYS) && !after.contains(KEYS))
        .ok_or_else(|| format!("option `fetch_body` needs {KEYS} or {NUMBERS} once, as in '{{\"ids\": {KEYS}}}'"))?;
    let example = format!("{before}[]{after}");
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&example) {
        return Err(format!(
            "option `fetch_body` is no JSON with an array in place of {KEYS}: {error}; expected as in \
             '{{\"ids\": {KEYS}}}'"
        ));
    }
    Ok(Question::Body { path_and_query, before, after, are_numbers })
}

/// The parts before and behind the only `mark`.
fn split_once(text: &str, mark: &str) -> Option<(String, String)> {
    let (before, after) = text.split_once(mark)?;
    (!after.contains(mark)).then(|| (before.to_owned(), after.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(address: &str, body: Option<&str>) -> Result<Web, String> {
        let made = Web::new(address, body, Credentials::None, TlsOptions::default(), "id".to_owned());
        made.map_err(|error| error.text())
    }

    fn keys(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[track_caller]
    fn asks(address: &str, body: Option<&str>, path_and_query: &str, expected_body: &str) {
        let request = web(address, body).unwrap().request(&keys(&["7", "a,b \"ü\""]));
        assert_eq!(request.path_and_query, path_and_query);
        assert_eq!(String::from_utf8(request.body.concat()).unwrap(), expected_body);
        let method = if body.is_some() { Method::POST } else { Method::GET };
        assert_eq!(request.method, method);
    }

    #[test]
    fn keys_stand_in_the_address_or_in_the_body() {
        let encoded = "7,a%2Cb%20%22%C3%BC%22";
        asks("https://host/items?ids={keys}&v=2", None, &format!("/items?ids={encoded}&v=2"), "");
        asks("http://host:81/items/{keys}/all", None, &format!("/items/{encoded}/all"), "");
        asks("http://host", Some("{\"ids\": {keys}}"), "/", "{\"ids\": [\"7\",\"a,b \\\"ü\\\"\"]}");
        asks("http://host/q?x=1", Some("{keys}"), "/q?x=1", "[\"7\",\"a,b \\\"ü\\\"\"]");
        let numbers = web("http://host/", Some("{\"ids\":{keys:number}}")).unwrap();
        assert_eq!(numbers.key("007"), Ok("7".to_owned()));
        assert!(numbers.key("1.5").unwrap_err().contains("no whole number"));
        assert_eq!(numbers.request(&keys(&["7", "-1"])).body.concat(), b"{\"ids\":[7,-1]}");
    }

    #[test]
    fn an_address_stays_below_its_limit() {
        let web = web("https://host/items?ids={keys}", None).unwrap();
        let long: Vec<String> = (0..600).map(|n| format!("{n:0100}")).collect();
        let fit = web.fit(&long);
        let bytes = |count: usize| web.origin_bytes + web.request(&long[..count]).path_and_query.len();
        assert!(bytes(fit) <= ADDRESS_BYTES_MAX && bytes(fit + 1) > ADDRESS_BYTES_MAX - 1, "{fit}");
        assert_eq!(web.fit(&["x".repeat(9_000)]), 0, "the caller takes one");
        assert_eq!(web.fit(&vec![String::new(); 2_000]), KEYS_MAX);
    }

    #[test]
    fn other_addresses_and_bodies_are_refused_without_their_secrets() {
        for (address, body, expected) in [
            ("host/items?ids={keys}", None, "is no address"),
            ("ftp://host/{keys}", None, "the scheme ftp"),
            ("https://host/items?ids=1", None, "needs {keys} once"),
            ("https://host/{keys}?ids={keys}", None, "needs {keys} once"),
            ("https://{keys}/items", None, "needs {keys} once"),
            ("https://me:hunter2@host/?ids={keys}", None, "option `fetch_user`"),
            ("https://host/?ids={keys}", Some("{keys}"), "leave one of them out"),
            ("https://host/", Some("{}"), "needs {keys} or {keys:number} once"),
            ("https://host/", Some("[{keys},{keys:number}]"), "needs {keys} or {keys:number} once"),
            ("https://host/", Some("{\"ids\": {keys}"), "is no JSON"),
        ] {
            let error = web(address, body).err().unwrap();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{address}: {error}");
        }
    }

    #[test]
    fn the_query_of_an_address_is_not_shown() {
        let web = web("https://host/items/{keys}?token=hunter2", None).unwrap();
        let reply = |status| Response {
            status,
            retry_after: None,
            content_type: None,
            elastic_product: false,
            body: Bytes::from_static(b"no"),
            elapsed: std::time::Duration::ZERO,
        };
        for (status, is_of_keys, expected) in [
            (400, true, "https://host:443/items/{keys} answers 400: no; correct the key"),
            (414, true, "too large"),
            (401, false, "`fetch_user`"),
            (301, false, "redirects"),
            (404, false, "check the address"),
            (503, false, "asked again"),
        ] {
            let (found, text) = match web.failed(&reply(status)) {
                Failed::Keys(text) => (true, text),
                Failed::Away(error) => {
                    assert_eq!(error.is_lasting(), status != 503, "{error}");
                    (false, error.to_string())
                }
            };
            assert!(found == is_of_keys && text.contains(expected) && !text.contains("hunter2"), "{text}");
        }
    }
}

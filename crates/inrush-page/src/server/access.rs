//! Who may see and control the loads. Pure.
//!
//! | danger | defence |
//! |---|---|
//! | another machine | loopback only, or a token |
//! | a page whose name resolves to this machine (DNS rebinding) | the `Host` header |
//! | another page in the browser | the `Origin` header, and a cookie that is `SameSite=Strict` |
//! | the time of a comparison | all bytes of digests are compared |

use std::net::IpAddr;

use http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use http::{HeaderMap, Method};
use inrush_cluster::transport::Secret;
use sha2::{Digest as _, Sha256};

/// The checks of one page.
#[derive(Debug)]
pub(super) struct Access {
    token: Option<Token>,
    /// The digest of the token of parts.
    parts: Option<[u8; 32]>,
    port: u16,
}

/// Digests of the token and of the session that a cookie carries, so that a cookie that reaches
/// another service of the same host is no token.
#[derive(Debug)]
struct Token {
    token: [u8; 32],
    session: String,
}

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may.
    Allowed,
    /// It has the token in its URL and gets a cookie.
    LogIn,
    /// It needs the token.
    NoToken,
    /// It comes from a page of another origin, or names another host.
    Foreign,
}

impl Access {
    /// `salt` is unique to this process.
    pub(super) fn new(token: Option<&Secret>, parts: Option<&Secret>, port: u16, salt: &str) -> Self {
        let of = |token: &Secret| Token {
            token: digest(token.expose().as_bytes()),
            session: hex(&digest(format!("session {port} {salt} {}", token.expose()).as_bytes())),
        };
        let parts = parts.map(|parts| digest(parts.expose().as_bytes()));
        Access { token: token.map(of), parts, port }
    }

    /// Whether viewers need the token. With it they may control the loads.
    pub(super) fn may_control(&self) -> bool {
        self.token.is_some()
    }

    /// Whether a request is the report of a part of the job. Its token is no token of a viewer.
    pub(super) fn is_part(&self, headers: &HeaderMap) -> bool {
        let Some(parts) = &self.parts else { return false };
        bearer(headers).is_some_and(|given| same(&digest(given.as_bytes()), parts))
    }

    /// Judges a request that shows something, or controls the loads.
    pub(super) fn judge(&self, method: &Method, query: Option<&str>, headers: &HeaderMap) -> Verdict {
        if !self.is_own_host(headers) || !is_own_origin(headers) {
            return Verdict::Foreign;
        }
        let Some(token) = &self.token else { return Verdict::Allowed };
        if bearer(headers).is_some_and(|given| same(&digest(given.as_bytes()), &token.token)) {
            return Verdict::Allowed;
        }
        let cookie = cookie(headers, &self.cookie_name());
        if cookie.is_some_and(|given| same(&digest(given.as_bytes()), &digest(token.session.as_bytes()))) {
            // A browser says where a POST comes from. Without that it is no browser of the user.
            let is_known = *method != Method::POST || headers.contains_key(ORIGIN);
            return if is_known { Verdict::Allowed } else { Verdict::Foreign };
        }
        let in_url = query.into_iter().flat_map(|query| query.split('&')).find_map(|part| part.strip_prefix("token="));
        match in_url {
            Some(given) if *method == Method::GET && same(&digest(given.as_bytes()), &token.token) => Verdict::LogIn,
            _ => Verdict::NoToken,
        }
    }

    /// The cookie of a viewer with the token.
    pub(super) fn cookie(&self) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name(), token.session))
    }

    /// Cookies are shared by the ports of a host.
    fn cookie_name(&self) -> String {
        format!("inrush-{}", self.port)
    }

    /// Whether the request names this machine as users of this machine do. Needed without a token
    /// only: a page of another origin gets no cookie.
    fn is_own_host(&self, headers: &HeaderMap) -> bool {
        self.token.is_some() || text(headers, HOST.as_str()).is_some_and(is_loopback)
    }
}

/// Whether the host of a `Host` header is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether the page that sends the request is one of this server, if the browser says so.
fn is_own_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    // Behind a proxy the page may come by https.
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.is_some() && host == text(headers, HOST.as_str())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    text(headers, AUTHORIZATION.as_str())?.strip_prefix("Bearer ").map(str::trim)
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).into_iter().filter_map(|header| header.to_str().ok());
    let mut pairs = all.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(given, _)| *given == name).map(|(_, value)| value)
}

/// The text of a header that is there once.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).into_iter();
    let one = all.next()?;
    if all.next().is_some() { None } else { one.to_str().ok() }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Compares all bytes, so that the time says nothing about the first different one.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123";

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), value.parse().unwrap());
        }
        headers
    }

    fn open() -> Access {
        Access::new(None, None, 8080, "salt")
    }

    fn closed() -> Access {
        Access::new(Some(&Secret::new(TOKEN)), None, 8080, "salt")
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.8.8.8", "[::1]:8080", "[::1]"] {
            assert_eq!(open().judge(&Method::GET, None, &headers(&[(HOST, host)])), Verdict::Allowed, "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil", "10.0.0.1", "[::2]"]
        {
            assert_eq!(open().judge(&Method::GET, None, &headers(&[(HOST, host)])), Verdict::Foreign, "{host}");
        }
        let two = headers(&[(HOST, "localhost"), (HOST, "evil.example")]);
        assert_eq!(open().judge(&Method::GET, None, &two), Verdict::Foreign);
        assert_eq!(open().judge(&Method::GET, None, &HeaderMap::new()), Verdict::Foreign);
    }

    #[test]
    fn a_page_of_another_origin_sees_nothing() {
        let with = |origin: &str| headers(&[(HOST, "localhost:8080"), (ORIGIN, origin)]);
        assert_eq!(open().judge(&Method::GET, None, &with("http://localhost:8080")), Verdict::Allowed);
        for origin in ["http://localhost:9090", "http://evil.example", "null", "https://localhost", "file://"] {
            assert_eq!(open().judge(&Method::GET, None, &with(origin)), Verdict::Foreign, "{origin}");
        }
    }

    #[test]
    fn a_token_comes_as_bearer_once_in_the_url_and_then_as_cookie() {
        let access = closed();
        let host = (HOST, "load.example:8080");
        let judge = |method: &Method, query: Option<&str>, more: &[(HeaderName, &str)]| {
            access.judge(method, query, &headers(&[std::slice::from_ref(&host), more].concat()))
        };
        let (get, post) = (Method::GET, Method::POST);
        assert_eq!(judge(&get, None, &[]), Verdict::NoToken);
        let bearer = format!("Bearer {TOKEN}");
        assert_eq!(judge(&post, None, &[(AUTHORIZATION, &bearer)]), Verdict::Allowed);
        assert_eq!(judge(&get, None, &[(AUTHORIZATION, "Bearer 0123456789abcdef0124")]), Verdict::NoToken);
        assert_eq!(judge(&get, None, &[(AUTHORIZATION, TOKEN)]), Verdict::NoToken);
        assert_eq!(judge(&get, Some(&format!("a=b&token={TOKEN}")), &[]), Verdict::LogIn);
        assert_eq!(judge(&post, Some(&format!("token={TOKEN}")), &[]), Verdict::NoToken);
        assert_eq!(judge(&get, Some("token="), &[]), Verdict::NoToken);
        let cookie = access.cookie().unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict") && !cookie.contains(TOKEN), "{cookie}");
        let sent = format!("other=1; {}", cookie.split(';').next().unwrap());
        assert_eq!(judge(&get, None, &[(COOKIE, &sent)]), Verdict::Allowed);
        assert_eq!(judge(&post, None, &[(COOKIE, &sent)]), Verdict::Foreign, "a POST without an origin");
        assert_eq!(judge(&post, None, &[(COOKIE, &sent), (ORIGIN, "https://load.example:8080")]), Verdict::Allowed);
        assert_eq!(judge(&post, None, &[(COOKIE, &sent), (ORIGIN, "https://evil.example")]), Verdict::Foreign);
        // The token is no cookie, and a cookie of another process is none either.
        assert_eq!(judge(&get, None, &[(COOKIE, &format!("inrush-8080={TOKEN}"))]), Verdict::NoToken);
        let other = Access::new(Some(&Secret::new(TOKEN)), None, 8080, "other").cookie().unwrap();
        assert_eq!(judge(&get, None, &[(COOKIE, other.split(';').next().unwrap())]), Verdict::NoToken);
        assert!(!format!("{access:?}").contains(TOKEN));
    }
}

//! Addresses of nodes, parsed once.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;

use super::auth::{Credentials, Secret};
use super::error::SetupError;

/// The default port of the HTTP interface of both servers, used if an address has none.
pub const PORT_DEFAULT: u16 = 9200;

/// Hosts of hosted clusters besides [`ELASTIC`]: Amazon, Bonsai. They answer on the ports of their
/// schemes, so these are their default ports.
const HOSTED: [&str; 5] = [".amazonaws.com", ".amazonaws.com.cn", ".on.aws", ".bonsaisearch.net", ".bonsai.io"];

/// Hosts of Elastic Cloud, with the same default ports.
const ELASTIC: [&str; 4] = [".found.io", ".elastic-cloud.com", ".elastic.cloud", ".cloud.es.io"];

/// The address of a node: scheme, host, port and, behind some gateways, a path prefix. It never
/// holds a user name or password, so it can be shown and logged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeUrl {
    base: String,
    host: String,
    port: u16,
    https: bool,
}

impl NodeUrl {
    /// Parses `http[s]://[user:password@]host[:port][/prefix]`. The default port is 9200 (443 for
    /// the hosts of Amazon, Elastic Cloud and Bonsai). User name and password are removed from the
    /// address and returned as credentials beside it.
    ///
    /// # Errors
    /// [`SetupError::Url`] for another scheme, a missing host, a query or a fragment.
    pub fn parse(text: &str) -> Result<(NodeUrl, Option<Credentials>), SetupError> {
        let shown = without_user_info(text);
        let refuse = |reason: String| SetupError::Url { url: shown.clone(), reason };
        let text = text.trim();
        if !text.contains("://") {
            return Err(refuse(format!("it has no scheme; write http://{shown} or https://{shown}")));
        }
        let mut url = Url::parse(text).map_err(|e| refuse(e.to_string()))?;
        let https = match url.scheme() {
            "http" => false,
            "https" => true,
            other => return Err(refuse(format!("its scheme is {other}; expected http or https"))),
        };
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("it has a query or a fragment; expected scheme, host, port and at most a path".into()));
        }
        let Some(host) = url.host_str().map(str::to_owned) else {
            return Err(refuse("it has no host; expected something like http://localhost:9200".into()));
        };
        let credentials = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => {
                Some(Credentials::basic(&decode(user), Secret::new(decode(password.unwrap_or_default())))?)
            }
        };
        // Cannot fail: the address has a host and is not `file:` or `data:`.
        let _ = url.set_username("");
        let _ = url.set_password(None);

        // `Url` drops the default port of a scheme, so `https://host:443` is told from
        // `https://host` here.
        let port = match url.port() {
            Some(port) => port,
            None if names_port(text) => url.port_or_known_default().unwrap_or(PORT_DEFAULT),
            None if is_hosted(&host) => url.port_or_known_default().unwrap_or(PORT_DEFAULT),
            None => PORT_DEFAULT,
        };
        let prefix = url.path().trim_end_matches('/');
        let scheme = url.scheme();
        Ok((NodeUrl { base: format!("{scheme}://{host}:{port}{prefix}"), host, port, https }, credentials))
    }

    /// The host. An IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path in front of the paths of requests, without a slash at its end; mostly empty.
    pub fn path(&self) -> &str {
        let host = self.base.find("://").map_or(0, |scheme| scheme + 3);
        self.base[host..].find('/').map_or("", |path| &self.base[host + path..])
    }

    /// Whether the node is reached over TLS.
    pub fn is_https(&self) -> bool {
        self.https
    }

    /// Whether the host is one of Elastic Cloud.
    pub fn is_of_elastic(&self) -> bool {
        ends_with_one_of(&self.host, &ELASTIC)
    }

    /// Whether the node is on this machine, so that no proxy may be used for it.
    pub fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The whole address of a path and query on this node.
    pub fn join(&self, path_and_query: &str) -> Result<Url, <Url as FromStr>::Err> {
        let slash = if path_and_query.starts_with('/') { "" } else { "/" };
        Url::parse(&format!("{}{slash}{path_and_query}", self.base))
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

/// Whether a provider runs the cluster at this host.
fn is_hosted(host: &str) -> bool {
    ends_with_one_of(host, &HOSTED) || ends_with_one_of(host, &ELASTIC)
}

fn ends_with_one_of(host: &str, suffixes: &[&str]) -> bool {
    let host = host.trim_end_matches('.');
    suffixes.iter().any(|suffix| host.ends_with(suffix))
}

/// Encodes a name as one segment of a path. Everything but letters, digits and `-._~` is
/// percent-encoded, so the name of an index or an id may hold slashes, spaces and non-ASCII
/// letters.
pub fn path_segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            _ => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(HEX[usize::from(byte >> 4)] as char);
                out.push(HEX[usize::from(byte & 15)] as char);
            }
        }
    }
    out
}

/// The part between `://` and the path.
fn authority(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The address without user name and password, for messages about addresses that could not be
/// parsed. A password may hold any character, so everything up to the last `@` is removed.
fn without_user_info(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let shown = rest.rsplit_once('@').map_or(rest, |(_, shown)| shown);
    format!("{scheme}{shown}")
}

fn names_port(text: &str) -> bool {
    let authority = authority(text);
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host_port)| host_port);
    match host_port.rsplit_once(':') {
        Some((_, port)) => !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()),
        None => false,
    }
}

fn decode(percent_encoded: &str) -> String {
    let bytes = percent_encoded.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        let (url, credentials) = NodeUrl::parse(text).unwrap();
        assert_eq!(url.to_string(), shown, "{text}");
        assert!(credentials.is_none());
    }

    #[test]
    fn ports_and_prefixes() {
        check("http://localhost", "http://localhost:9200");
        check("http://localhost/", "http://localhost:9200");
        check("https://search:9201", "https://search:9201");
        check("https://search:443/es/", "https://search:443/es");
        check("http://search:80", "http://search:80");
        check("http://[::1]:9200", "http://[::1]:9200");
        check("http://[::1]", "http://[::1]:9200");
        check("https://vpc-x.eu-west-1.es.amazonaws.com", "https://vpc-x.eu-west-1.es.amazonaws.com:443");
        check("  http://localhost:9200  ", "http://localhost:9200");
    }

    #[test]
    fn hosted_clusters_have_the_port_of_their_scheme() {
        for host in [
            "x.es.us-east-1.aws.found.io",
            "x.es.westeurope.azure.elastic-cloud.com",
            "x.es.us-east-1.aws.elastic.cloud",
            "x.ingest.us-east-1.aws.elastic.cloud",
            "x.us-east-1.aws.cloud.es.io",
            "search-x.eu-west-1.es.amazonaws.com",
            "x.us-east-1.aoss.amazonaws.com",
            "search-x.aos.eu-west-1.on.aws",
            "x-123.eu-west-1.bonsaisearch.net",
            "x.found.io.",
        ] {
            check(&format!("https://{host}"), &format!("https://{host}:443"));
            check(&format!("http://{host}/"), &format!("http://{host}:80"));
            check(&format!("https://{host}:9243"), &format!("https://{host}:9243"));
            check(&format!("https://{host}/_es"), &format!("https://{host}:443/_es"));
        }
        check("https://X.ES.US-EAST-1.AWS.FOUND.IO", "https://x.es.us-east-1.aws.found.io:443");
        for host in ["found.io", "notfound.io", "search.example.com", "elastic.cloud.example.org"] {
            check(&format!("https://{host}"), &format!("https://{host}:9200"));
        }
    }

    #[test]
    fn hosts_of_elastic_are_told_from_others() {
        let is_of_elastic = |text: &str| NodeUrl::parse(text).unwrap().0.is_of_elastic();
        for host in ["x.ingest.us-east-1.aws.elastic.cloud", "x.es.us-east-1.aws.found.io", "x.elastic.cloud."] {
            assert!(is_of_elastic(&format!("https://{host}/_es")), "{host}");
        }
        for host in ["x.ingest.example.com", "notelastic.cloud", "x.elastic.cloud.example.com", "x.amazonaws.com"] {
            assert!(!is_of_elastic(&format!("https://{host}/_es")), "{host}");
        }
    }

    #[test]
    fn user_info_leaves_the_address() {
        let (url, credentials) = NodeUrl::parse("https://elastic:p%40ss:w@search:9200/x").unwrap();
        assert_eq!(url.to_string(), "https://search:9200/x");
        assert!(!format!("{url:?} {credentials:?}").contains("p@ss"));
        let header = credentials.unwrap().static_header().unwrap().unwrap();
        assert_eq!(header.to_str().unwrap(), "Basic ZWxhc3RpYzpwQHNzOnc=");
    }

    #[test]
    fn refusals_say_what_to_write_and_never_show_a_password() {
        for (text, expected) in [
            ("localhost:9200", "write http://localhost:9200"),
            ("ftp://localhost", "expected http or https"),
            ("http://", "empty host"),
            ("http://localhost:9200/?pretty", "query"),
            ("ftp://me:hunter2@localhost", "expected http or https"),
            ("http://me:hunter2@local host", "invalid"),
            ("http://me:hunter2/@localhost", "invalid port"),
            ("me:hunter2@localhost", "http://localhost"),
        ] {
            let error = NodeUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn loopback_is_told_from_the_rest() {
        let loopback = |text| NodeUrl::parse(text).unwrap().0.is_loopback();
        assert!(loopback("http://localhost"));
        assert!(loopback("http://127.0.0.2"));
        assert!(loopback("http://[::1]"));
        assert!(!loopback("http://10.0.0.1"));
        assert!(!loopback("http://localhost.example.org"));
    }

    #[test]
    fn segments_are_encoded() {
        assert_eq!(path_segment("logs-2024.01.01"), "logs-2024.01.01");
        assert_eq!(path_segment("a/b c"), "a%2Fb%20c");
        assert_eq!(path_segment("é"), "%C3%A9");
    }
}

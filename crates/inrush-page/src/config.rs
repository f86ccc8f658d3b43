//! What shows a load: the address of its page, its token, and the folder of its metrics.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use inrush_cluster::transport::Secret;
use inrush_core::Code;

use crate::otlp::OtlpConfig;

/// The fewest characters of a token. A shorter one can be guessed.
const TOKEN_MIN: usize = 16;

/// The address of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageAddress(SocketAddr);

impl PageAddress {
    /// A free port of this machine, for this machine.
    pub const FREE: PageAddress = PageAddress(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));

    /// The address; port 0 stands for a free one.
    pub fn address(self) -> SocketAddr {
        self.0
    }

    /// Whether only this machine reaches it.
    pub fn is_local(self) -> bool {
        self.0.ip().is_loopback()
    }
}

impl fmt::Display for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `auto`, a port of this machine, an IP address, or an IP address and a port.
impl FromStr for PageAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let local = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        let (host, port) = match text.rsplit_once(':') {
            Some(("localhost", port)) => ("127.0.0.1", port),
            Some((host, port)) if !host.contains(':') => (host, port),
            _ => (text, "0"),
        };
        let address = match text {
            "auto" => Some(PageAddress::FREE.0),
            "localhost" => Some(local(0)),
            _ => None,
        };
        let address = address.or_else(|| text.parse().ok().map(local)).or_else(|| text.parse().ok());
        let bare = || text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        let address = address.or_else(|| bare().map(|ip| SocketAddr::new(ip, 0)));
        let pair = || Some(SocketAddr::new(host.parse().ok()?, port.parse().ok()?));
        address.or_else(pair).map(PageAddress).ok_or_else(|| {
            "expected a port such as 8080, an IP address, or both as in 127.0.0.1:8080 or [::1]:8080".to_owned()
        })
    }
}

/// A page.
#[derive(Clone, Debug)]
pub struct PageConfig {
    /// Its address.
    pub address: PageAddress,
    /// The token that viewers need. Without one the page is for this machine only, and cannot pause
    /// or stop the loads.
    pub token: Option<Secret>,
    /// The token of the parts of a job of several processes, which report to this page. The page
    /// then shows their sums, and cannot pause or stop the job. Default: there are no parts.
    pub parts: Option<Secret>,
}

/// The page of the job that a load is a part of.
#[derive(Clone, Debug)]
pub struct JobPage {
    /// The address of the page, as `http://10.1.2.3:8080`.
    pub url: String,
    /// The token of parts.
    pub token: Secret,
    /// The name of the part in its job.
    pub name: String,
    /// The machine that the part runs on.
    pub host: String,
}

/// What shows a load.
#[derive(Clone, Debug, Default)]
pub struct WatchConfig {
    /// The live page with its metrics.
    pub page: Option<PageConfig>,
    /// The folder of the textfile collector of node_exporter.
    pub textfile: Option<PathBuf>,
    /// The collector that gets the metrics.
    pub otlp: Option<OtlpConfig>,
    /// The page that the load, which is a part of a job, reports to.
    pub job: Option<JobPage>,
}

impl WatchConfig {
    /// Whether nothing shows the load.
    pub fn is_off(&self) -> bool {
        self.page.is_none() && self.textfile.is_none() && self.otlp.is_none() && self.job.is_none()
    }
}

/// Why a page or its metrics cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// Other machines would reach the page without a token.
    #[error(
        "option `page={0}` shows the load to other machines, which needs a token; name a file with one by option `page_token_file`"
    )]
    NoToken(PageAddress),
    /// The token can be guessed.
    #[error(
        "the token of option `page_token_file` has {0} characters; expected at least {TOKEN_MIN} letters and digits, as `openssl rand -hex 24` makes them"
    )]
    Token(usize),
    /// The address cannot be used.
    #[error(
        "option `page={address}` cannot listen there: {source}; choose another port, or leave the address out for a free one"
    )]
    Bind {
        /// The address.
        address: PageAddress,
        /// Why not.
        source: std::io::Error,
    },
    /// The page of the job cannot be used.
    #[error("the page of the job: {0}")]
    Job(String),
    /// Metrics cannot be sent to the collector.
    #[error("option `otlp`: {0}")]
    Otlp(String),
    /// The folder cannot be written to.
    #[error("option `textfile={}` cannot be written to: {source}; expected an existing folder that this user may write to", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl WatchError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            WatchError::Bind { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => Code::PortTaken,
            WatchError::Folder { source, .. } => Code::of_io(source),
            WatchError::NoToken(_)
            | WatchError::Token(_)
            | WatchError::Bind { .. }
            | WatchError::Job(_)
            | WatchError::Otlp(_) => Code::UnusableValue,
        }
    }

    /// The option that the error is about.
    pub fn option(&self) -> &'static str {
        match self {
            WatchError::NoToken(_) | WatchError::Bind { .. } | WatchError::Job(_) => "page",
            WatchError::Token(_) => "page_token_file",
            WatchError::Otlp(_) => "otlp",
            WatchError::Folder { .. } => "textfile",
        }
    }
}

impl PageConfig {
    /// Checks that the page is safe.
    ///
    /// # Errors
    /// [`WatchError::NoToken`] and [`WatchError::Token`].
    pub fn check(&self) -> Result<(), WatchError> {
        match &self.token {
            None if !self.address.is_local() => Err(WatchError::NoToken(self.address)),
            Some(token) if !is_strong(token.expose()) => Err(WatchError::Token(token.expose().chars().count())),
            _ => Ok(()),
        }
    }
}

/// Whether it is long, and needs no escapes in a URL or a header.
fn is_strong(token: &str) -> bool {
    token.len() >= TOKEN_MIN && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_an_ip_address_or_both() {
        for (text, address) in [
            ("auto", "127.0.0.1:0"),
            ("8080", "127.0.0.1:8080"),
            ("localhost", "127.0.0.1:0"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("0.0.0.0", "0.0.0.0:0"),
            ("10.1.2.3:80", "10.1.2.3:80"),
            ("[::1]:8080", "[::1]:8080"),
            ("[::1]", "[::1]:0"),
            ("::1", "[::1]:0"),
        ] {
            assert_eq!(text.parse::<PageAddress>().map(|a| a.to_string()), Ok(address.to_owned()), "{text}");
        }
        for text in ["", ":8080", "99999", "example.com", "example.com:80", "http://127.0.0.1:80", "data.csv"] {
            assert!(text.parse::<PageAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn other_machines_need_a_token_that_cannot_be_guessed() {
        let page = |address: &str, token: Option<&str>| {
            let config = PageConfig { address: address.parse().unwrap(), token: token.map(Secret::new), parts: None };
            config.check().map_err(|error| error.option())
        };
        let long = Some("0123456789abcdef");
        assert_eq!((page("auto", None), page("[::1]:1", None), page("127.9.9.9", None)), (Ok(()), Ok(()), Ok(())));
        assert_eq!((page("0.0.0.0:1", None), page("10.0.0.1", None)), (Err("page"), Err("page")));
        assert_eq!((page("0.0.0.0:1", long), page("auto", long)), (Ok(()), Ok(())));
        assert_eq!(page("auto", Some("short")), Err("page_token_file"));
        assert_eq!(page("auto", Some("0123456789abcdef; x")), Err("page_token_file"));
    }
}

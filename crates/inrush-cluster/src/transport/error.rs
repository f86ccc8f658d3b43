//! Errors between this program and a node, and what each one means for the documents of the
//! request.

use std::error::Error as StdError;
use std::path::PathBuf;

use inrush_core::Code;
use rustls::CertificateError;

/// A boxed cause, kept as the source of an error.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why no reply came, and so what is known about the request. The engine decides by it whether
/// documents may be sent again without creating duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpErrorKind {
    /// No byte of the body reached a connection: the name did not resolve, the connection was
    /// refused or timed out, TLS failed, or an idle connection turned out to be closed. The server
    /// surely did not apply the request. Any request may be sent again, to this node or another.
    NotSent,
    /// The connection was reset or closed, or the reply was cut off or too large, after the request
    /// went out. The outcome is unknown: the server may have applied the request wholly or in part
    /// (`rest.incremental_bulk` applies parts as they arrive). Sending it again may duplicate
    /// documents without ids.
    Lost,
    /// No complete reply within the request timeout, after the request went out. As for
    /// [`HttpErrorKind::Lost`] the outcome is unknown, and the server may still be working on the
    /// request. Look for its `X-Opaque-Id` in `_tasks` before sending it again.
    TimedOut,
    /// The request could not be built on this machine: an invalid address, a header with a line
    /// break, no credentials to sign with. The server surely did not apply it, and no node is at
    /// fault. Sending it again unchanged does not help.
    Local,
}

impl HttpErrorKind {
    /// Whether the server has surely not seen the request, so that sending it again creates no
    /// duplicates.
    pub const fn surely_not_applied(self) -> bool {
        match self {
            HttpErrorKind::NotSent | HttpErrorKind::Local => true,
            HttpErrorKind::Lost | HttpErrorKind::TimedOut => false,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            HttpErrorKind::NotSent => "was not sent",
            HttpErrorKind::Lost => "got no complete reply",
            HttpErrorKind::TimedOut => "timed out",
            HttpErrorKind::Local => "could not be made",
        }
    }
}

/// A request without a complete reply. A reply with an error status is not this error: it is a
/// [`super::Response`].
#[derive(Debug, thiserror::Error)]
#[error("{method} {url} {}: {}{}", .kind.words(), innermost(.source.as_ref()), hint(self))]
#[non_exhaustive]
pub struct HttpError {
    /// What the failure means for the request.
    pub kind: HttpErrorKind,
    /// The method of the request.
    pub method: http::Method,
    /// The address of the request. Never contains a user name or password.
    pub url: String,
    /// The cause.
    pub source: BoxError,
}

impl HttpError {
    /// Whether the node was reached and TLS failed.
    pub fn is_of_tls(&self) -> bool {
        self.tls().is_some()
    }

    fn tls(&self) -> Option<&rustls::Error> {
        causes(self.source.as_ref()).find_map(|cause| cause.downcast_ref::<rustls::Error>())
    }

    /// The kind.
    pub fn code(&self) -> Code {
        match (self.tls(), self.kind) {
            (Some(rustls::Error::InvalidCertificate(_)), _) => Code::Certificate,
            (Some(rustls::Error::InvalidMessage(_)), _) => Code::NoTls,
            (_, HttpErrorKind::NotSent) => Code::Unreachable,
            (_, HttpErrorKind::Lost) => Code::NoReply,
            (_, HttpErrorKind::TimedOut) => Code::TimedOut,
            (_, HttpErrorKind::Local) => Code::NotMade,
        }
    }
}

/// Why a [`super::Transport`] could not be set up: an option that cannot be used (usage), or a file
/// that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// No node was given.
    #[error("no node given; expected at least one URL like http://localhost:9200")]
    NoNodes,
    /// An address that cannot be used.
    #[error("{url:?} is not the address of a node: {reason}")]
    Url {
        /// The address, without user name and password.
        url: String,
        /// What is wrong with the address, and what was expected.
        reason: String,
    },
    /// Two sets of credentials were given.
    #[error("{0}; give one of them")]
    TwoCredentials(String),
    /// A file could not be read.
    #[error("cannot read {what} {}: {source}", .path.display())]
    File {
        /// What the file was expected to hold.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: std::io::Error,
    },
    /// A secret or a credential is missing or malformed. The message never shows its value.
    #[error("{0}")]
    Credentials(String),
    /// Certificates or keys that cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The HTTP client rejected its options.
    #[error("cannot set up the HTTP client: {0}")]
    Client(#[source] BoxError),
}

impl SetupError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            SetupError::NoNodes => Code::MissingOption,
            SetupError::Url { .. } => Code::BadAddress,
            SetupError::TwoCredentials(_) => Code::OptionsConflict,
            SetupError::File { source, .. } => Code::of_io(source),
            SetupError::Credentials(_) => Code::BadCredentials,
            SetupError::Tls(_) => Code::BadCertificateFile,
            SetupError::Client(_) => Code::NotMade,
        }
    }
}

/// The deepest cause says what happened ("connection refused"). Those above it only say where.
fn innermost<'a>(error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    causes(error).last().unwrap_or(error)
}

/// An error and its causes, from the outside in. An `io::Error` does not name the error inside it
/// as its `source`, so that one is taken with `get_ref`.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| next_cause(error))
}

fn next_cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<std::io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

/// A hint for failures that are common at the first contact with a cluster.
fn hint(error: &HttpError) -> String {
    match error.tls() {
        Some(rustls::Error::InvalidCertificate(CertificateError::NotValidForName)) => {
            " (the certificate is for another name; use a name that it has in the address)".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. })) => {
            let names: Vec<String> = presented.iter().map(|name| bare(name)).collect();
            match names.is_empty() {
                true => " (the certificate has no name at all; the node needs another one)".to_owned(),
                false => format!(" (the certificate is for {}; use such a name in the address)", names.join(", ")),
            }
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => " (the certificate has expired; the node needs a new one)".to_owned(),
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        )) => " (the certificate is not valid yet; check the clocks of this machine and of the node)".to_owned(),
        Some(rustls::Error::InvalidCertificate(_)) => {
            " (give the node's certificate, or that of its authority, with option `ca`; option `insecure` accepts any)"
                .to_owned()
        }
        Some(rustls::Error::AlertReceived(_)) => {
            " (the node ended TLS; where it wants a certificate of the client, give option `cert` and option `key`)"
                .to_owned()
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            " (the node does not speak TLS here; try http:// instead of https://)".to_owned()
        }
        // A server that expects TLS closes the connection, or answers with bytes that are not HTTP.
        None if error.kind == HttpErrorKind::Lost
            && error.method == http::Method::GET
            && error.url.starts_with("http:") =>
        {
            " (if the node speaks TLS here, use https:// instead of http://)".to_owned()
        }
        Some(_) | None => String::new(),
    }
}

/// `es.local` from `DnsName("es.local")`, which is how rustls shows the names of a certificate.
fn bare(name: &str) -> String {
    match name.split_once('"').and_then(|(_, rest)| rest.split_once('"')) {
        Some((name, _)) => name.to_owned(),
        None => name.trim_start_matches("IpAddress(").trim_end_matches(')').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(kind: HttpErrorKind, source: impl Into<BoxError>) -> Code {
        HttpError { kind, method: http::Method::GET, url: "https://a/".to_owned(), source: source.into() }.code()
    }

    #[test]
    fn codes_say_more_than_kinds_where_tls_failed() {
        use HttpErrorKind::{Local, Lost, NotSent, TimedOut};
        let plain = [NotSent, Lost, TimedOut, Local].map(|kind| code(kind, "-"));
        assert_eq!(plain, [Code::Unreachable, Code::NoReply, Code::TimedOut, Code::NotMade]);
        let tls = |error: rustls::Error| code(NotSent, std::io::Error::other(error));
        assert_eq!(tls(rustls::Error::InvalidCertificate(CertificateError::Expired)), Code::Certificate);
        assert_eq!(tls(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)), Code::NoTls);
    }
}

//! What can go wrong between us and a node, and what each case means for the documents that were on their way.

use std::error::Error as StdError;
use std::path::PathBuf;

use rustls::CertificateError;

/// A boxed cause, kept as the source of an error.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why no reply came, and so what is known about the request. The engine decides by it whether documents may be
/// sent again without making duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpErrorKind {
    /// No byte of the body reached a connection: the name did not resolve, the connection was refused or timed
    /// out, TLS failed, or an idle connection turned out to be closed. The request was surely not applied; any
    /// request may be sent again, to this node or another.
    NotSent,
    /// The connection was reset or closed, or the reply was cut off or too large, after the request went out. It
    /// may have been applied, wholly or in part (`rest.incremental_bulk` applies parts as they arrive): outcome
    /// unknown. Sent again, documents without ids may be there twice.
    Lost,
    /// No complete reply within the request timeout, after the request went out. As [`HttpErrorKind::Lost`], and
    /// the server may still be working on it: look in `_tasks` for its `X-Opaque-Id` before it is sent again.
    TimedOut,
    /// The request could not be made on this side: an address that is none, a header with a line break, no
    /// credentials to sign with. Surely not applied and no node's fault; sending it again unchanged does not help.
    Local,
}

impl HttpErrorKind {
    /// Whether the server has surely not seen the request, so that sending it again cannot make duplicates.
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

/// A request that got no complete reply. A reply with an error status is not this error: it is a
/// [`super::Response`].
#[derive(Debug, thiserror::Error)]
#[error("{method} {url} {}: {}{}", .kind.words(), innermost(.source.as_ref()), hint(self))]
pub struct HttpError {
    /// What the failure means for the request.
    pub kind: HttpErrorKind,
    /// The request's method.
    pub method: http::Method,
    /// Where it was sent. Never contains a user name or password.
    pub url: String,
    /// The cause.
    pub source: BoxError,
}

/// Why a [`super::Transport`] could not be set up. All of these are mistakes in what was asked for (usage), or
/// files that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No node was named.
    #[error("no node given; expected at least one URL like http://localhost:9200")]
    NoNodes,
    /// An address that cannot be used.
    #[error("{url:?} is not the address of a node: {reason}")]
    Url {
        /// The address, without user name and password.
        url: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// Two ways to log in were given.
    #[error("{0}; give one of them")]
    TwoCredentials(String),
    /// A file could not be read.
    #[error("cannot read {what} {}: {source}", .path.display())]
    File {
        /// What the file was to hold.
        what: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A secret or a credential is missing or has the wrong form. Never shows the value.
    #[error("{0}")]
    Credentials(String),
    /// Certificates or keys that cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The HTTP client refused its options.
    #[error("cannot set up the HTTP client: {0}")]
    Client(#[source] BoxError),
}

/// The deepest cause says what happened ("connection refused"); those above it only say where.
fn innermost<'a>(error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    causes(error).last().unwrap_or(error)
}

/// An error and what caused it, from the outside in. What an `io::Error` was made of is not its `source`, but what it
/// shows itself as, so it is looked into.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| next_cause(error))
}

fn next_cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<std::io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

/// What to do about the failures everyone meets at the first contact with a cluster.
fn hint(error: &HttpError) -> String {
    let found = causes(error.source.as_ref()).find_map(|cause| cause.downcast_ref::<rustls::Error>());
    match found {
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
        Some(rustls::Error::InvalidCertificate(_)) => {
            " (give the certificate's authority with a CA file, or accept any certificate with insecure)".to_owned()
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            " (the node does not speak TLS here; try http:// instead of https://)".to_owned()
        }
        // A server that expects TLS ends the connection, or answers in a form that is no HTTP.
        None if error.kind == HttpErrorKind::Lost
            && error.method == http::Method::GET
            && error.url.starts_with("http:") =>
        {
            " (if the node speaks TLS here, use https:// instead of http://)".to_owned()
        }
        Some(_) | None => String::new(),
    }
}

/// `es.local` of `DnsName("es.local")`, as certificates' names are shown by the library.
fn bare(name: &str) -> String {
    match name.split_once('"').and_then(|(_, rest)| rest.split_once('"')) {
        Some((name, _)) => name.to_owned(),
        None => name.trim_start_matches("IpAddress(").trim_end_matches(')').to_owned(),
    }
}

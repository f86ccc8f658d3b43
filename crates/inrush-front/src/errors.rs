//! Errors before there is a report: their texts, hints and codes.

use std::error::Error as StdError;
use std::fmt;

use inrush_bake::BakeError;
use inrush_cluster::api::{ClusterError, ConnectError};
use inrush_cluster::transport::{HttpError, HttpErrorKind, SetupError};
use inrush_commands::convert::ConvertError;
use inrush_commands::options::{OptionError, Style};
use inrush_commands::verify::VerifyError;
use inrush_core::Code;
use inrush_load::LoadError;
use inrush_node::NodeError;
use inrush_sources::SourceError;

/// An option or argument that cannot be used. Exit status 2.
#[derive(Debug, PartialEq, Eq)]
pub struct UsageError {
    code: Code,
    message: String,
    hint: Option<String>,
}

impl UsageError {
    /// An error with its code, and the value found and the value expected.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        UsageError { code, message: message.into(), hint: None }
    }

    /// Adds what the user can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<OptionError> for UsageError {
    fn from(error: OptionError) -> Self {
        let hint = error.hint_in(Style::Flag).map(|hint| hint.into_owned());
        UsageError { code: error.code(), message: error.message(Style::Flag), hint }
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

/// Another process is doing the same. Exit status 75.
#[derive(Debug)]
pub struct Busy(pub String);

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Busy {}

/// A command that has begun and failed. Exit status 1.
#[derive(Debug)]
pub struct Failed {
    /// The kind of the error.
    pub code: Code,
    /// What happened.
    pub message: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failed {}

/// A hint for the user, attached to an error of the engine as context.
#[derive(Debug)]
pub struct Hint(pub String);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The code of an error: that of the outermost cause that has one.
pub fn code_of(error: &anyhow::Error) -> Code {
    error.chain().find_map(code_of_cause).unwrap_or(Code::Failed)
}

fn code_of_cause(cause: &(dyn StdError + 'static)) -> Option<Code> {
    fn of<E: StdError + 'static>(cause: &(dyn StdError + 'static), code: impl Fn(&E) -> Code) -> Option<Code> {
        cause.downcast_ref().map(code)
    }
    of(cause, |error: &UsageError| error.code)
        .or_else(|| of(cause, |error: &Failed| error.code))
        .or_else(|| of(cause, |_: &Busy| Code::Busy))
        .or_else(|| of(cause, OptionError::code))
        .or_else(|| of(cause, LoadError::code))
        .or_else(|| of(cause, BakeError::code))
        .or_else(|| of(cause, VerifyError::code))
        .or_else(|| of(cause, ConvertError::code))
        .or_else(|| of(cause, NodeError::code))
        .or_else(|| of(cause, |error: &SourceError| error.code))
        .or_else(|| of(cause, ConnectError::code))
        .or_else(|| of(cause, ClusterError::code))
        .or_else(|| of(cause, SetupError::code))
        .or_else(|| of(cause, HttpError::code))
        .or_else(|| of(cause, Code::of_io))
}

/// Converts an error before the first document. Errors that the user can correct become usage
/// errors.
pub fn usage(error: impl Into<LoadError>) -> anyhow::Error {
    let not_reached =
        "check that the cluster runs and that option `to` has its address and scheme (http:// or https://)";
    match error.into() {
        LoadError::Usage(error) => UsageError::from(error).into(),
        LoadError::Setup(error) => setup(error),
        LoadError::Busy(message) => Busy(message).into(),
        error @ (LoadError::DeadLetters { .. } | LoadError::State(_)) => {
            UsageError::new(error.code(), error.to_string()).into()
        }
        LoadError::Cluster(ClusterError::Http(error)) if error.kind == HttpErrorKind::NotSent && !error.is_of_tls() => {
            anyhow::Error::new(error).context(Hint(not_reached.to_owned()))
        }
        error @ LoadError::Threads { .. } => anyhow::Error::new(error).context(no_thread_hint()),
        LoadError::Cluster(error) => error.into(),
        LoadError::Source(error) if error.code == Code::NoThreads => no_thread(error),
        LoadError::Source(error) => error.into(),
        LoadError::OfSource(error) => of_source(*error),
        error => error.into(),
    }
}

/// Errors of addresses, certificates and secrets are usage errors. An error of the HTTP client is
/// not.
fn setup(error: SetupError) -> anyhow::Error {
    match error {
        SetupError::Client(_) => error.into(),
        _ => UsageError::new(error.code(), error.to_string()).into(),
    }
}

/// Errors of the source cluster, with hints that name the options of the source.
fn of_source(error: LoadError) -> anyhow::Error {
    let hint = match &error {
        LoadError::Cluster(ClusterError::Http(error)) if error.is_of_tls() => {
            "the cluster of SOURCE has options of its own: option `from_ca`, option `from_cert`, option `from_key`, \
             option `from_insecure`"
        }
        LoadError::Cluster(ClusterError::Http(error)) if error.kind == HttpErrorKind::NotSent => {
            "check that the cluster runs and that SOURCE has its address and scheme (http:// or https://)"
        }
        LoadError::Cluster(ClusterError::LogIn { .. }) => {
            "the cluster of SOURCE needs credentials: option `from_user`, option `from_api_key_file`, or INRUSH_FROM_API_KEY"
        }
        LoadError::Cluster(ClusterError::Forbidden { .. }) => {
            "reading an index needs the privileges read and view_index_metadata; option `catch_up` also maintenance and monitor"
        }
        LoadError::Cluster(ClusterError::Target { .. } | ClusterError::Refused { status: 404, .. }) => {
            return UsageError::new(error.code(), error.to_string()).into();
        }
        _ => return usage(error),
    };
    match error {
        LoadError::Cluster(error) => anyhow::Error::new(error).context(Hint(hint.to_owned())),
        other => usage(other),
    }
}

/// An error of the options as an error of the command line.
pub fn refused(error: OptionError) -> anyhow::Error {
    UsageError::from(error).into()
}

/// The error of a thread that the system refused.
pub fn no_thread(cause: impl fmt::Display) -> anyhow::Error {
    let message = format!("the system does not let this process start another thread: {cause}");
    anyhow::Error::new(Failed { code: Code::NoThreads, message }).context(no_thread_hint())
}

/// The hint about the limits that may be too low.
pub fn no_thread_hint() -> Hint {
    Hint(
        "raise the limits of memory and processes (ulimit -v, ulimit -u, the container's limits), or lower option `workers`"
            .to_owned(),
    )
}

/// Turns any error into the failure of a command that has begun (exit status 1).
pub fn failed(error: &anyhow::Error) -> anyhow::Error {
    let failed = anyhow::Error::new(Failed { code: code_of(error), message: causes(error).join(": ") });
    match hint_of(error) {
        Some(hint) => failed.context(Hint(hint.to_owned())),
        None => failed,
    }
}

/// The hint of an error.
pub fn hint_of(error: &anyhow::Error) -> Option<&str> {
    // A hint is attached as context, so it is the outermost link of the chain.
    error
        .downcast_ref::<Hint>()
        .map(|hint| hint.0.as_str())
        .or_else(|| error.downcast_ref::<UsageError>().and_then(|usage| usage.hint.as_deref()))
}

/// The messages of the error and its causes, the outermost first.
pub fn causes(error: &anyhow::Error) -> Vec<String> {
    let skip = usize::from(error.downcast_ref::<Hint>().is_some());
    let mut causes: Vec<String> = error.chain().skip(skip).map(ToString::to_string).collect();
    // Many messages include the innermost cause already. The causes in between add nothing then.
    if causes.last().is_some_and(|last| causes[0].contains(last.as_str())) {
        causes.truncate(1);
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_code_of_the_outermost_typed_cause() {
        let code = |error: anyhow::Error| code_of(&error);
        let forbidden = || ClusterError::Forbidden { what: "w".into(), reason: String::new() };
        assert_eq!(code(forbidden().into()), Code::Forbidden);
        assert_eq!(
            code(anyhow::Error::new(forbidden()).context("reading").context(Hint("grant".into()))),
            Code::Forbidden
        );
        assert_eq!(code(failed(&LoadError::Cluster(forbidden()).into())), Code::Forbidden);
        assert_eq!(code(Busy("it runs".into()).into()), Code::Busy);
        assert_eq!(code(NodeError::NoVersion.into()), Code::BadNodeName);
        assert_eq!(code(std::io::Error::from(std::io::ErrorKind::StorageFull).into()), Code::DiskFull);
        let io = |kind| anyhow::Error::new(std::io::Error::from(kind)).context("cannot read x");
        assert_eq!(code(io(std::io::ErrorKind::PermissionDenied)), Code::NoPermission);
        assert_eq!(code(ConvertError::Write(std::io::Error::other("-")).into()), Code::OutputFailed);
        assert_eq!(code(ConvertError::Impossible("-".into()).into()), Code::NotConvertible);
        assert_eq!(code(ConvertError::Refused("-".into()).into()), Code::StateUnusable);
        assert_eq!(code(BakeError::Refused("-".into()).into()), Code::BakeRefused);
        assert_eq!(code(BakeError::NotNative("-".into()).into()), Code::BakeNotNative);
        assert_eq!(code(anyhow::anyhow!("something")), Code::Failed);
    }

    #[test]
    fn each_error_of_a_local_server_has_a_code() {
        let io = || std::io::Error::other("-");
        for (error, code) in [
            (NodeError::NoJava { what: "-".into(), needed: "-".into(), looked: "-".into(), example: 21 }, Code::NoJava),
            (NodeError::NoDistribution { what: "-".into(), tried: Vec::new() }, Code::NoDistribution),
            (NodeError::PortTaken(9200), Code::PortTaken),
            (NodeError::NoDisk { folder: "-".into(), needed_mib: 2, available_mib: 1 }, Code::DiskFull),
            (NodeError::Died { log: "-".into(), tail: "-".into() }, Code::ServerDied),
            (NodeError::TimedOut { seconds: 1, log: "-".into() }, Code::ServerTimedOut),
            (NodeError::NoUser("-".into()), Code::NoServerUser),
            (NodeError::NotHome { named: "-", home: "-".into(), jar: "-".into() }, Code::BadServerFolder),
            (NodeError::Name("-".into()), Code::BadNodeName),
            (NodeError::Io { what: "-".into(), source: io() }, Code::ServerFailed),
        ] {
            assert_eq!(error.code(), code, "{error}");
        }
    }
}

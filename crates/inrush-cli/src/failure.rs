//! Exit statuses, usage errors, and how errors are printed.

use std::error::Error as StdError;
use std::fmt;
use std::io::{IsTerminal as _, Write};

use inrush_bake::BakeError;
use inrush_cluster::api::{ClusterError, ConnectError};
use inrush_cluster::transport::{HttpError, SetupError};
use inrush_commands::convert::ConvertError;
use inrush_commands::options::{OptionError, Style};
use inrush_commands::verify::VerifyError;
use inrush_core::Code;
use inrush_load::LoadError;
use inrush_node::NodeError;
use inrush_sources::SourceError;

use crate::plain;

/// The exit statuses of a command that ended without a report. Those of a report are in
/// [`inrush_load::Status::exit_code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The command failed.
    Failed,
    /// The command was refused before it began, because a flag, the job file or a file or index
    /// that they name cannot be used. Nothing was changed.
    Usage,
    /// The command ran, and its check did not pass.
    CheckFailed,
    /// Another process is doing the same. The command can be run again later.
    Busy,
    /// A signal ended the command before there was a report.
    Interrupted,
}

impl ExitStatus {
    /// The status number for the shell.
    pub(crate) const fn code(self) -> u8 {
        match self {
            ExitStatus::Failed => 1,
            ExitStatus::Usage => 2,
            // EX_TEMPFAIL of sysexits.h.
            ExitStatus::Busy => 75,
            // 128 + SIGINT, as shells count; SIGTERM ends a load in the same way.
            ExitStatus::CheckFailed => 4,
            ExitStatus::Interrupted => 130,
        }
    }
}

/// An option or argument that cannot be used. Exit status 2.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsageError {
    code: Code,
    message: String,
    hint: Option<String>,
}

impl UsageError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        UsageError { code, message: message.into(), hint: None }
    }

    /// Adds what the user can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
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
pub(crate) struct Busy(pub(crate) String);

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Busy {}

/// A command that has begun and failed. Exit status 1.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failed {}

/// A hint for the user, attached to an error of the engine as context.
#[derive(Debug)]
pub(crate) struct Hint(pub(crate) String);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The exit status of an error without a report. A command that has begun either ends with a report
/// or wraps its error, so an error of one of these types is a refusal.
pub(crate) fn status_of(error: &anyhow::Error) -> ExitStatus {
    let refused = error.is::<UsageError>()
        || error.is::<SourceError>()
        || error.downcast_ref().is_some_and(is_refused_bake)
        || error.downcast_ref().is_some_and(is_refused_node)
        || error.downcast_ref().is_some_and(is_refusal);
    if refused {
        ExitStatus::Usage
    } else if error.is::<Busy>() {
        ExitStatus::Busy
    } else {
        ExitStatus::Failed
    }
}

/// Whether a bake was refused before it began. The error of one that has begun is
/// [`BakeError::Unfinished`].
fn is_refused_bake(error: &BakeError) -> bool {
    match error {
        BakeError::Refused(_) => true,
        BakeError::Node(error) => is_refused_node(error),
        _ => false,
    }
}

/// Whether the user's options for a node cannot be met on any machine.
fn is_refused_node(error: &NodeError) -> bool {
    match error {
        NodeError::PortTaken(_)
        | NodeError::NotHome { .. }
        | NodeError::OtherVersion { .. }
        | NodeError::NoVersion
        | NodeError::NotData(_)
        | NodeError::Spaces(_)
        | NodeError::Name(_) => true,
        NodeError::NoJava { .. }
        | NodeError::NoDistribution { .. }
        | NodeError::NoDisk { .. }
        | NodeError::Died { .. }
        | NodeError::TimedOut { .. }
        | NodeError::NoUser(_)
        | NodeError::Io { .. } => false,
    }
}

/// Whether the cluster answered and refused the request because of its content or its target.
fn is_refusal(error: &ClusterError) -> bool {
    match error {
        ClusterError::Target { .. } | ClusterError::NoPipeline { .. } | ClusterError::Disk(_) => true,
        // The server does not accept a mapping, settings or a query, or the index does not exist.
        ClusterError::Refused { status, .. } => matches!(status, 400 | 404),
        _ => false,
    }
}

/// The code of an error: that of the outermost cause that has one.
pub(crate) fn code_of(error: &anyhow::Error) -> Code {
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

/// The code of a command line that cannot be parsed.
pub(crate) fn code_of_line(kind: clap::error::ErrorKind) -> Code {
    use clap::error::ErrorKind;
    match kind {
        ErrorKind::InvalidSubcommand => Code::UnknownCommand,
        ErrorKind::UnknownArgument => Code::UnknownOption,
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => Code::MissingOption,
        ErrorKind::ArgumentConflict => Code::OptionsConflict,
        _ => Code::BadOptionValue,
    }
}

/// The beginning of an error with this code.
pub(crate) fn label(code: Code) -> String {
    format!("error[{code}]")
}

/// Prints `error[CODE]: …` with its causes and, if there is one, `hint: …` to `out`. A failure to
/// print is ignored, because there is no other place to report it.
pub(crate) fn print(error: &anyhow::Error, out: &mut impl Write) {
    let _ = out.write_all(render(error).as_bytes());
    let _ = out.flush();
}

/// Tells a user at a terminal where to read more about an error.
pub(crate) fn print_more(code: Code) {
    if std::io::stderr().is_terminal() {
        // As above.
        let _ = writeln!(std::io::stderr(), "explained by: inrush explain {code}");
    }
}

/// Turns any error into the failure of a command that has begun (exit status 1).
pub(crate) fn failed(error: &anyhow::Error) -> anyhow::Error {
    let failed = anyhow::Error::new(Failed { code: code_of(error), message: causes(error).join(": ") });
    match hint_of(error) {
        Some(hint) => failed.context(Hint(hint.to_owned())),
        None => failed,
    }
}

/// The hint of an error.
pub(crate) fn hint_of(error: &anyhow::Error) -> Option<&str> {
    // A hint is attached as context, so it is the outermost link of the chain.
    error
        .downcast_ref::<Hint>()
        .map(|hint| hint.0.as_str())
        .or_else(|| error.downcast_ref::<UsageError>().and_then(|usage| usage.hint.as_deref()))
}

/// The messages of the error and its causes, the outermost first.
pub(crate) fn causes(error: &anyhow::Error) -> Vec<String> {
    let skip = usize::from(error.downcast_ref::<Hint>().is_some());
    let mut causes: Vec<String> = error.chain().skip(skip).map(ToString::to_string).collect();
    // Many messages include the innermost cause already. The causes in between add nothing then.
    if causes.last().is_some_and(|last| causes[0].contains(last.as_str())) {
        causes.truncate(1);
    }
    causes
}

fn render(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for (depth, cause) in causes(error).iter().enumerate() {
        let label = if depth == 0 { label(code_of(error)) } else { "  caused by".to_owned() };
        text.push_str(&plain::message(&format!("{label}: {cause}\n")));
    }
    if let Some(hint) = hint_of(error) {
        text.push_str(&plain::message(&format!("hint: {hint}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use inrush_load::Status;

    use super::*;

    #[test]
    fn exit_statuses_are_those_of_the_documentation() {
        let reports = [
            (Status::Complete, 0),
            (Status::Failed, 1),
            (Status::Incomplete, 3),
            (Status::CheckFailed, 4),
            (Status::Interrupted, 130),
        ];
        for (status, code) in reports {
            assert_eq!(status.exit_code(), code, "{status:?}");
        }
        let others =
            [ExitStatus::Failed, ExitStatus::Usage, ExitStatus::CheckFailed, ExitStatus::Busy, ExitStatus::Interrupted];
        assert_eq!(others.map(ExitStatus::code), [1, 2, 4, 75, 130]);
    }

    #[test]
    fn what_is_refused_ends_with_2_and_what_fails_with_1() {
        let status = |error: ClusterError| status_of(&anyhow::Error::new(error).context(Hint("look".into())));
        let refused = |status| ClusterError::from_status("w", status, &serde_json::Value::Null);
        assert_eq!(status(ClusterError::Target { name: "x".into(), problem: "closed".into() }), ExitStatus::Usage);
        assert_eq!(status(ClusterError::Disk("full".into())), ExitStatus::Usage);
        assert_eq!([400, 404, 500, 503].map(|code| status(refused(code)).code()), [2, 2, 1, 1]);
        assert_eq!(status(ClusterError::LogIn { what: "w".into(), reason: String::new() }), ExitStatus::Failed);
        let source = SourceError::new("a", "b");
        assert_eq!(status_of(&source.into()), ExitStatus::Usage);
        let begun = BakeError::Refused("no".into());
        let begun = BakeError::Unfinished { cause: Box::new(begun), left: Vec::new(), resumable: false };
        assert_eq!(status_of(&BakeError::Refused("no".into()).into()), ExitStatus::Usage);
        assert_eq!(status_of(&begun.into()), ExitStatus::Failed);
        let usage = anyhow::Error::new(UsageError::new(Code::OptionsConflict, "odd").hint("make it even"));
        assert_eq!(status_of(&failed(&usage)), ExitStatus::Failed);
        assert_eq!(render(&failed(&usage)), "error[options_conflict]: odd\nhint: make it even\n");
    }

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

    #[test]
    fn causes_and_hints_follow_the_error() {
        let usage = anyhow::Error::new(UsageError::new(Code::OptionsConflict, "--shards is odd").hint("make it even"));
        assert_eq!(render(&usage), "error[options_conflict]: --shards is odd\nhint: make it even\n");
        assert_eq!(status_of(&usage), ExitStatus::Usage);

        let io: Result<(), _> = Err(std::io::Error::other("disk on fire"));
        let error = io.context("cannot write x").context(Hint("use water".into())).unwrap_err();
        assert_eq!(render(&error), "error[file_failed]: cannot write x\n  caused by: disk on fire\nhint: use water\n");
        assert_eq!(status_of(&error), ExitStatus::Failed);
    }

    #[test]
    fn a_cause_that_is_already_told_is_not_repeated() {
        let io = std::io::Error::other("refused");
        let error = anyhow::Error::new(io).context("cannot connect: refused");
        assert_eq!(render(&error), "error[file_failed]: cannot connect: refused\n");
    }
}

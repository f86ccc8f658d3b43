//! Exit statuses, and how errors are printed.

use std::io::{IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use inrush_bake::BakeError;
use inrush_cluster::api::ClusterError;
use inrush_core::Code;
pub(crate) use inrush_front::errors::{Busy, Failed, UsageError, causes, code_of, failed, hint_of};
use inrush_node::NodeError;
use inrush_sources::SourceError;
use serde_json::json;

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

/// Whether the result of the command is printed as JSON, and so is an error.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Says that results are printed as JSON: `json` is the option of the command line or of a job
/// file.
pub(crate) fn as_json(json: bool) {
    if json {
        AS_JSON.store(true, Ordering::Relaxed);
    }
}

/// A result was printed. It is the only JSON of the command.
pub(crate) fn has_result() {
    AS_JSON.store(false, Ordering::Relaxed);
}

/// Prints an error as JSON on stdout where results are printed in this way: with the keys that the
/// report of a load has for its failure, and with the exit status and a hint.
pub(crate) fn print_json(status: ExitStatus, code: Code, message: &str, hint: Option<&str>) {
    if !AS_JSON.swap(false, Ordering::Relaxed) {
        return;
    }
    let name = match status {
        ExitStatus::Usage => "refused",
        ExitStatus::Busy => "busy",
        ExitStatus::Interrupted => "interrupted",
        ExitStatus::Failed | ExitStatus::CheckFailed => "failed",
    };
    let mut json = json!({
        "status": name,
        "exit_status": status.code(),
        "failure": plain::message(message),
        "failure_code": code.to_string(),
    });
    if let Some(hint) = hint {
        json["hint"] = json!(plain::message(hint));
    }
    // A reader that has closed the pipe is not an error.
    let _ = writeln!(std::io::stdout().lock(), "{json}");
}

/// The same for a command line that cannot be parsed: what is wrong, and the tip if there is one.
pub(crate) fn print_line_as_json(code: Code, text: &str) {
    let first = text.split("\n\n").next().unwrap_or_default();
    let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
    print_json(ExitStatus::Usage, code, first.strip_prefix("error: ").unwrap_or(first), tip);
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
    use inrush_front::errors::Hint;

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

//! How the binary ends: its exit statuses, errors that are the user's to mend, and how errors are printed.

use std::fmt;
use std::io::Write;

/// The exit statuses of a command that did not get as far as a report; [`inrush::Status::exit_code`] has the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// It failed.
    Failed,
    /// A flag, the job file or their combination is wrong; nothing was done.
    Usage,
    /// It ran, and what it looked at is not as it should be.
    CheckFailed,
    /// A signal came before there was anything to report.
    Interrupted,
}

impl ExitStatus {
    /// The number the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            ExitStatus::Failed => 1,
            ExitStatus::Usage => 2,
            // 128 + SIGINT, as shells count; SIGTERM ends a load in the same way.
            ExitStatus::CheckFailed => 4,
            ExitStatus::Interrupted => 130,
        }
    }
}

/// Something the user said that cannot be done. Exit status 2.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsageError {
    message: String,
    hint: Option<String>,
}

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        UsageError { message: message.into(), hint: None }
    }

    /// Says what to do instead.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

/// A hint put around an error of the engine by whoever knows what the user can do about it.
#[derive(Debug)]
pub(crate) struct Hint(pub(crate) String);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The exit status an error ends in.
pub(crate) fn status_of(error: &anyhow::Error) -> ExitStatus {
    if error.is::<UsageError>() { ExitStatus::Usage } else { ExitStatus::Failed }
}

/// Prints `error: …` with its causes, and a `hint: …` where there is one, to `out`. Failure to print is ignored:
/// there is nobody left to tell.
pub(crate) fn print(error: &anyhow::Error, out: &mut impl Write) {
    let _ = out.write_all(render(error).as_bytes());
    let _ = out.flush();
}

/// The hint that goes with an error.
pub(crate) fn hint_of(error: &anyhow::Error) -> Option<&str> {
    // A hint is attached as context, so it is the outermost link where there is one.
    error
        .downcast_ref::<Hint>()
        .map(|hint| hint.0.as_str())
        .or_else(|| error.downcast_ref::<UsageError>().and_then(|usage| usage.hint.as_deref()))
}

/// The error and its causes, the outermost first.
pub(crate) fn causes(error: &anyhow::Error) -> Vec<String> {
    let skip = usize::from(error.downcast_ref::<Hint>().is_some());
    let mut causes: Vec<String> = error.chain().skip(skip).map(ToString::to_string).collect();
    // Many errors have the innermost cause in their own message; what lies between adds nothing then.
    if causes.last().is_some_and(|last| causes[0].contains(last.as_str())) {
        causes.truncate(1);
    }
    causes
}

fn render(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for (depth, cause) in causes(error).iter().enumerate() {
        let label = if depth == 0 { "error" } else { "  caused by" };
        text.push_str(&format!("{label}: {cause}\n"));
    }
    if let Some(hint) = hint_of(error) {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use inrush::Status;

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
        let others = [ExitStatus::Failed, ExitStatus::Usage, ExitStatus::CheckFailed, ExitStatus::Interrupted];
        assert_eq!(others.map(ExitStatus::code), [1, 2, 4, 130]);
    }

    #[test]
    fn causes_and_hints_follow_the_error() {
        let usage = anyhow::Error::new(UsageError::new("--shards is odd").hint("make it even"));
        assert_eq!(render(&usage), "error: --shards is odd\nhint: make it even\n");
        assert_eq!(status_of(&usage), ExitStatus::Usage);

        let io: Result<(), _> = Err(std::io::Error::other("disk on fire"));
        let error = io.context("cannot write x").context(Hint("use water".into())).unwrap_err();
        assert_eq!(render(&error), "error: cannot write x\n  caused by: disk on fire\nhint: use water\n");
        assert_eq!(status_of(&error), ExitStatus::Failed);
    }

    #[test]
    fn a_cause_that_is_already_told_is_not_repeated() {
        let io = std::io::Error::other("refused");
        let error = anyhow::Error::new(io).context("cannot connect: refused");
        assert_eq!(render(&error), "error: cannot connect: refused\n");
    }
}

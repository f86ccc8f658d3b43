//! The arguments of `inrush explain`.

use clap::Args;

/// Explains the code of an error or of a dead letter: what happened, and what to do.
///
/// Codes stand in brackets in front of an error, as in error[unreachable], in `error.type` of a
/// dead letter, and in `failure_code` of a report. Without a code all are listed.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The code
    pub(crate) code: Option<String>,
}

//! The arguments of `inrush complete`, which the scripts of `inrush completions` call.

use clap::{Args, ValueEnum};

/// Prints names of the cluster that a command line names, one a line, for a shell that completes
/// it. It takes at most a second, and prints nothing if the cluster does not answer.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The kind of the names
    #[arg(value_enum)]
    pub(crate) kind: Names,
    /// The beginning of the names
    pub(crate) beginning: String,
    /// The words of the command line after its program, without the word that is completed
    #[arg(last = true)]
    pub(crate) words: Vec<String>,
}

/// A kind of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// Indices, aliases and data streams
    Index,
    /// Aliases
    Alias,
}

//! The arguments of `inrush complete`, which the scripts of `inrush completions` call.

use clap::{Args, ValueEnum};

/// Prints names of the cluster that a command line names, or all words that continue the line, one
/// a line, for a shell that completes it. It takes at most a second, and prints no names if the
/// cluster does not answer.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The kind of the words
    #[arg(value_enum)]
    pub(crate) kind: Words,
    /// The beginning of the words
    #[arg(default_value = "", allow_hyphen_values = true)]
    pub(crate) beginning: String,
    /// The words of the command line after its program, without the word that is completed
    #[arg(last = true)]
    pub(crate) words: Vec<String>,
}

/// A kind of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Words {
    /// Indices, aliases and data streams
    Index,
    /// Aliases
    Alias,
    /// Commands, flags and values, each with a tab and its help
    All,
}

//! The flags of `inrush reference`.

use clap::{Args, ValueEnum};

/// Print a page that is generated from the definitions of the options.
#[derive(Debug, Args)]
pub(crate) struct ReferenceArgs {
    /// The page
    #[arg(value_enum)]
    pub(crate) page: Page,
    /// The command for the manual page. Default: `inrush` itself
    pub(crate) command: Option<String>,
}

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    /// docs/options.md
    Options,
    /// python/inrush/_option_types.py
    Python,
    /// docs/errors.md
    Errors,
    /// docs/moving/flags.md
    From,
    /// A manual page, for man(1)
    Man,
    /// The commands that have a manual page
    ManNames,
}

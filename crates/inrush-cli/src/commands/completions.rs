//! `inrush completions`.

use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};

/// Prints the script of a shell, and returns the exit status.
pub(crate) fn run(args: &CompletionsArgs) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "inrush", &mut script);
    super::print(&String::from_utf8_lossy(&script)).map(|()| 0)
}

//! `inrush help WORD`.

use anyhow::Result;
use clap::Command;
use inrush_core::Code;

use crate::failure::UsageError;
use crate::search;

/// Prints what has the words. Returns the exit status.
pub(crate) fn run(root: &Command, words: &[String]) -> Result<u8> {
    let found = search::found(root, words).ok_or_else(|| {
        UsageError::new(Code::BadOptionValue, format!("nothing has `{}` in it", words.join(" ")))
            .hint("try another word; `inrush --help` lists all commands, and `inrush load --help` all options")
    })?;
    super::print(&found).map(|()| 0)
}

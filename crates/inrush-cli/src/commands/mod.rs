//! The commands, one per file.

use std::io::{self, Write};

use anyhow::{Context, Result};

use crate::plain::plain;

pub(crate) mod bake;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod doctor;
mod doctor_self;
mod dry_run;
pub(crate) mod explain;
pub(crate) mod from;
pub(crate) mod lag;
pub(crate) mod load;
pub(crate) mod mapping;
pub(crate) mod node;
mod outputs;
pub(crate) mod recover;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod segments;
mod signals;
pub(crate) mod sweep;
pub(crate) mod verify;

/// Prints a result, without characters that control a terminal. A reader that has closed the pipe
/// is not an error.
fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(plain(text).as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot print the result"),
    }
}

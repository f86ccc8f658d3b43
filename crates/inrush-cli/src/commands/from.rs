//! `inrush from`.

use std::io::Write as _;

use anyhow::Result;
use inrush_core::Code;

use crate::args::{FromArgs, OtherLoader};
use crate::failure::UsageError;
use crate::from::{Translation, elasticdump, esbulk, espipe, logstash};
use crate::logging::Stderr;

/// Prints the command, and returns the exit status.
pub(crate) fn run(args: FromArgs) -> Result<u8> {
    let translation = translated(args.loader)?;
    let mut stderr = Stderr::new();
    for note in &translation.notes {
        // If this fails, there is no other place to report it.
        let _ = writeln!(stderr, "note: {note}");
    }
    super::print(&translation.command()).map(|()| 0)
}

fn translated(loader: OtherLoader) -> Result<Translation, UsageError> {
    match loader {
        OtherLoader::Elasticdump(args) => elasticdump::translate(&args.arguments),
        OtherLoader::Esbulk(args) => esbulk::translate(&args.arguments),
        OtherLoader::Espipe(args) => espipe::translate(&args.arguments),
        OtherLoader::Logstash { pipeline } => {
            let name = pipeline.display();
            let text = std::fs::read_to_string(&pipeline).map_err(|error| {
                UsageError::new(Code::of_io(&error), format!("cannot read the pipeline {name}: {error}"))
            })?;
            logstash::translate(&text)
        }
    }
}

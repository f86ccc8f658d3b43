//! The command line of `inrush`: arguments become a configuration, the engine runs it, a report comes out.

mod args;
mod auth;
mod commands;
mod failure;
mod job;
mod json_file;
mod keys;
mod logging;
mod options;
mod progress;
mod state;
mod summary;
mod units;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

/// glibc keeps what each thread's arena once held: over 118 GB of input the process grew from 104 to 254 MiB
/// (`bench/runs/2026-11-21-memory.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let result = match runtime {
        Err(error) => Err(anyhow::Error::new(error).context("cannot start the runtime")),
        Ok(runtime) => {
            let result = match cli.command {
                Command::Load(args) => runtime.block_on(commands::load::run(*args)),
                Command::Verify(args) => runtime.block_on(commands::verify::run(*args)),
                Command::Mapping(args) => runtime.block_on(commands::mapping::run(*args)),
                Command::Doctor(args) => runtime.block_on(commands::doctor::run(*args)),
                Command::Node(args) => runtime.block_on(commands::node::run(args)),
                Command::Recover(args) => runtime.block_on(commands::recover::run(*args)),
            };
            // A reader may wait for stdin for ever; the process does not.
            runtime.shutdown_background();
            result
        }
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            failure::print(&error, &mut std::io::stderr().lock());
            failure::status_of(&error).into()
        }
    }
}

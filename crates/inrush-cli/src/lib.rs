//! The command line of `inrush` as a library, for the binary and for what embeds it, as the Python package does: arguments become
//! a configuration, the engine runs it, a report comes out.

mod args;
mod auth;
mod commands;
mod database;
pub mod embed;
mod failure;
mod job;
mod json_file;
mod keys;
mod logging;
mod no_threads;
mod options;
mod overwrites;
mod plain;
mod progress;
mod sql;
mod state;
mod summary;
mod sweep;
mod units;

use std::ffi::OsString;
use std::io::Write as _;

use clap::Parser;

use crate::args::{Cli, Command};

/// Runs the command line `arguments`, whose first one is the program's name, and returns the exit status. Signals, the terminal and the log
/// belong to it from now on, so it is to be the last thing that a process does.
pub fn run(arguments: Vec<OsString>) -> u8 {
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell if this cannot be printed.
            let _ = match error.use_stderr() {
                true => write!(std::io::stderr(), "{}", plain::plain(&error.to_string())),
                // Help and the version.
                false => error.print(),
            };
            return u8::try_from(error.exit_code()).unwrap_or(failure::ExitStatus::Usage.code());
        }
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    no_threads::tell_instead_of_panicking();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let result = match runtime {
        Err(error) => Err(anyhow::Error::new(error).context("cannot start the runtime")),
        Ok(runtime) => {
            let result = match cli.command {
                // What follows `inrush load`; there are no flags before it.
                Command::Load(args) => {
                    runtime.block_on(commands::load::run(*args, arguments.get(2..).unwrap_or_default()))
                }
                Command::Bake(args) => {
                    runtime.block_on(commands::bake::run(*args, arguments.get(2..).unwrap_or_default()))
                }
                Command::Verify(args) => runtime.block_on(commands::verify::run(*args)),
                Command::Mapping(args) => runtime.block_on(commands::mapping::run(*args)),
                Command::Sweep(args) => runtime.block_on(commands::sweep::run(*args)),
                Command::Convert(args) => runtime.block_on(commands::convert::run(*args)),
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
        Ok(status) => status,
        Err(error) => {
            failure::print(&error, &mut std::io::stderr().lock());
            failure::status_of(&error).code()
        }
    }
}

//! The arguments of `inrush from`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Prints the command that does the same as a command line or a pipeline of another loader. Runs
/// nothing.
///
/// The command is on stdout, everything that it does in another way is on stderr. Passwords and
/// keys are left out.
#[derive(Debug, Args)]
pub(crate) struct FromArgs {
    #[command(subcommand)]
    pub(crate) loader: OtherLoader,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OtherLoader {
    /// A command line of elasticdump
    Elasticdump(CommandLineArgs),
    /// A command line of esbulk
    Esbulk(CommandLineArgs),
    /// A command line of espipe
    Espipe(CommandLineArgs),
    /// A pipeline of Logstash with files, stdin, a database, an index or a topic as its input
    Logstash {
        /// The pipeline
        #[arg(value_name = "FILE")]
        pipeline: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CommandLineArgs {
    /// Its arguments, as they follow its name
    #[arg(value_name = "ARGUMENTS", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

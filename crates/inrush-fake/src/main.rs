//! `inrush-fake`: a fake cluster, or a null server, as a program for tests in any language.

use anyhow::Context;
use clap::{Parser, Subcommand};
use inrush_fake::command::{self, FakeArgs, NullArgs};

#[derive(Parser)]
#[command(name = "inrush-fake", version, about = "A fake Elasticsearch or OpenSearch cluster for tests")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a fake cluster until stdin closes or a signal comes; its URLs are the first lines of
    /// stdout
    Cluster(FakeArgs),
    /// Run a server that counts documents and keeps none, until stdin closes or a signal comes; its
    /// URL is the first line of stdout
    Null(NullArgs),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Cluster(args) => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start the runtime")?
            .block_on(command::fake(args)),
        Command::Null(args) => command::null(&args),
    }
}

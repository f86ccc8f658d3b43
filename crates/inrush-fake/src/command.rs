//! The program `inrush-fake`, and the same subcommands for the program of inrush's testbed.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;

use crate::faults::Faults;
use crate::null::{NullServer, ReplyKind};
use crate::product::{Flavor, Product};
use crate::server::{FakeCluster, FakeConfig};

/// Arguments of a fake cluster.
#[derive(clap::Args)]
pub struct FakeArgs {
    /// Product to imitate: opensearch or elasticsearch
    #[arg(long, default_value = "opensearch")]
    product: Product,
    /// Version to imitate [default: 3.6.0 for opensearch, 8.19.21 for elasticsearch]
    #[arg(long)]
    version: Option<String>,
    /// Port of the first node, 0 for a free one; the other nodes take free ports
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Number of nodes, each on a port of its own
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// File with a script of faults, in TOML or JSON
    #[arg(long)]
    faults: Option<PathBuf>,
}

/// Arguments of a null server.
#[derive(clap::Args)]
pub struct NullArgs {
    /// Port, 0 for a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Reply to a bulk request
    #[arg(long, value_enum, default_value_t = RepliesArg::Items)]
    replies: RepliesArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum RepliesArg {
    /// One item for each document, within filter_path of the request
    Items,
    /// took and errors alone
    Summary,
}

/// Runs a fake cluster until stdin closes or a signal comes. Its URLs are the first lines of
/// stdout.
///
/// # Errors
///
/// An unreadable script of faults, or a port that is taken.
pub async fn fake(args: FakeArgs) -> anyhow::Result<()> {
    let version = args.version.unwrap_or_else(|| {
        let newest = match args.product {
            Product::OpenSearch => Flavor::opensearch_3(),
            Product::Elasticsearch => Flavor::elasticsearch_8(),
        };
        newest.version().to_owned()
    });
    let faults = args.faults.as_deref().map(read_faults).transpose()?.unwrap_or_default();
    let config = FakeConfig::default()
        .flavor(Flavor::new(args.product, version))
        .nodes(args.nodes)
        .ports([args.port])
        .faults(faults);
    let cluster = FakeCluster::start(config).await.with_context(|| format!("cannot listen on port {}", args.port))?;
    print_lines(&cluster.urls())?;
    until_told_to_stop().await?;
    cluster.shutdown().await;
    Ok(())
}

/// Reads a script of faults: JSON if it begins with a brace, else TOML.
fn read_faults(path: &Path) -> anyhow::Result<Faults> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    if text.trim_start().starts_with('{') {
        text.parse().with_context(|| format!("cannot use {name}"))
    } else {
        toml::from_str(&text).with_context(|| format!("{name} is not a script of faults in TOML"))
    }
}

/// Runs a null server until stdin closes or a signal comes. Its URL is the first line of stdout.
///
/// # Errors
///
/// A port that is taken.
pub fn null(args: &NullArgs) -> anyhow::Result<()> {
    let kind = match args.replies {
        RepliesArg::Items => ReplyKind::Items,
        RepliesArg::Summary => ReplyKind::Summary,
    };
    let server = NullServer::start(args.port, kind).with_context(|| format!("cannot listen on port {}", args.port))?;
    print_lines(&[server.url()])?;
    // No worker threads: the server has threads of its own.
    let waiting =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    waiting.block_on(until_told_to_stop())?;
    server.stop();
    Ok(())
}

/// Prints lines and flushes them, because the caller may read them from a pipe.
///
/// # Errors
///
/// Stdout is closed.
pub fn print_lines(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// Waits for SIGINT, SIGTERM or the end of stdin, which means that the starter has ended.
///
/// # Errors
///
/// The system takes no signal handler.
pub async fn until_told_to_stop() -> io::Result<()> {
    let (closed, on_closed) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = closed.send(());
    });
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        terminated = terminated() => terminated,
        _ = on_closed => Ok(()),
    }
}

#[cfg(unix)]
async fn terminated() -> io::Result<()> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?.recv().await;
    Ok(())
}

#[cfg(not(unix))]
async fn terminated() -> io::Result<()> {
    std::future::pending().await
}

//! `inrush-testbed`: the fake cluster, the null server, the proxy, the conformance suite and the simulator from a command line.

mod replay;
mod simulate;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, Subcommand, ValueEnum};
use inrush_testbed::conformance::{self, Outcome, Target, cases};
use inrush_testbed::null::{NullServer, ReplyKind};
use inrush_testbed::{FakeCluster, FakeConfig, Faults, Flavor, Product, Proxy, ProxyConfig};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
#[command(version, about = "What inrush is tested against")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a fake cluster until stdin closes or a signal comes; its URLs are the first lines of stdout
    Fake(FakeArgs),
    /// Run a server that only counts, until stdin closes or a signal comes; its URL is the first line of stdout
    Null(NullArgs),
    /// Run the conformance suite against a server; exit status 1 where it differs
    Conformance(ConformanceArgs),
    /// Run a proxy that spoils what a real server does, until stdin closes or a signal comes; its URL is the first line of stdout, what it did the last one
    Proxy(ProxyArgs),
    /// Judge a controller on a scenario in virtual time
    Simulate(simulate::SimulateArgs),
    /// Show where a controller would have decided otherwise in a recorded run
    Replay(replay::ReplayArgs),
}

#[derive(clap::Args)]
struct ConformanceArgs {
    /// Such as http://localhost:9200; indices named conformance-… are created and deleted there
    url: String,
    /// Only cases whose name contains this text
    #[arg(long)]
    only: Option<String>,
    /// File with the value of an Authorization header
    #[arg(long)]
    authorization_file: Option<PathBuf>,
}

#[derive(clap::Args)]
struct FakeArgs {
    /// Product to imitate: opensearch or elasticsearch
    #[arg(long, default_value = "opensearch")]
    product: Product,
    /// Version to imitate [default: 3.6.0 or 8.19.21]
    #[arg(long)]
    version: Option<String>,
    /// Port of the first node, 0 for a free one; further nodes take free ports
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Nodes, each a port
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// Script of faults, TOML or JSON
    #[arg(long)]
    faults: Option<PathBuf>,
}

#[derive(clap::Args)]
struct NullArgs {
    /// Port, 0 for a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// What a bulk request is answered with
    #[arg(long, value_enum, default_value_t = RepliesArg::Items)]
    replies: RepliesArg,
}

#[derive(clap::Args)]
struct ProxyArgs {
    /// The server behind it, such as http://localhost:9200
    #[arg(long)]
    to: String,
    /// Port, 0 for a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Added to each round trip, milliseconds
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
    /// Bandwidth of each direction, megabits (10^6) per second, shared by all connections [default: without bounds]
    #[arg(long)]
    mbit: Option<f64>,
    /// Bulk items that are answered with 429 and never reach the server, percent
    #[arg(long, default_value_t = 0.0)]
    reject_items: f64,
    /// Bulk requests after whose work the connection is closed without the answer, percent
    #[arg(long, default_value_t = 0.0)]
    reset_after_applying: f64,
    /// Decides which items and requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum RepliesArg {
    /// As the request's filter_path asks for
    Items,
    /// took and errors only
    Summary,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    match args.command {
        Command::Fake(args) => runtime()?.block_on(fake(args)).map(|()| ExitCode::SUCCESS),
        Command::Null(args) => null(&args).map(|()| ExitCode::SUCCESS),
        Command::Conformance(args) => runtime()?.block_on(conformance(args)),
        Command::Proxy(args) => runtime()?.block_on(proxy(args)).map(|()| ExitCode::SUCCESS),
        Command::Replay(args) => replay::replay(&args).map(|()| ExitCode::SUCCESS),
        Command::Simulate(args) => simulate::simulate(&args).map(|()| ExitCode::SUCCESS),
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

async fn fake(args: FakeArgs) -> anyhow::Result<()> {
    let version = args.version.unwrap_or_else(|| match args.product {
        Product::OpenSearch => Flavor::opensearch_3().version,
        Product::Elasticsearch => Flavor::elasticsearch_8().version,
    });
    let faults = match &args.faults {
        Some(path) => read_faults(path)?,
        None => Faults::default(),
    };
    let config = FakeConfig {
        flavor: Flavor::new(args.product, version),
        nodes: args.nodes,
        ports: vec![args.port],
        faults,
        ..FakeConfig::default()
    };
    let cluster = FakeCluster::start(config).await.with_context(|| format!("cannot listen on port {}", args.port))?;
    print_lines(&cluster.urls())?;
    until_told_to_stop().await?;
    cluster.shutdown().await;
    Ok(())
}

fn read_faults(path: &PathBuf) -> anyhow::Result<Faults> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).with_context(|| format!("{} is no fault script", path.display()))
    } else {
        toml::from_str(&text).with_context(|| format!("{} is no fault script", path.display()))
    }
}

fn null(args: &NullArgs) -> anyhow::Result<()> {
    let kind = match args.replies {
        RepliesArg::Items => ReplyKind::Items,
        RepliesArg::Summary => ReplyKind::Summary,
    };
    let server = NullServer::start(args.port, kind).with_context(|| format!("cannot listen on port {}", args.port))?;
    print_lines(&[server.url()])?;
    // No worker threads: the counting threads are the server's own.
    let waiting =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    waiting.block_on(until_told_to_stop())?;
    server.stop();
    Ok(())
}

async fn proxy(args: ProxyArgs) -> anyhow::Result<()> {
    let config = ProxyConfig {
        to: args.to,
        port: args.port,
        delay: Duration::from_millis(args.delay_ms),
        bits_per_second: args.mbit.map(|mbit| (mbit * 1e6) as u64),
        reject_items_percent: args.reject_items,
        reset_after_applying_percent: args.reset_after_applying,
        seed: args.seed,
    };
    let proxy = Proxy::start(config).await.with_context(|| format!("cannot start a proxy on port {}", args.port))?;
    print_lines(&[proxy.url()])?;
    until_told_to_stop().await?;
    print_lines(&[serde_json::to_string(&proxy.stats())?])
}

async fn conformance(args: ConformanceArgs) -> anyhow::Result<ExitCode> {
    let authorization = match &args.authorization_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Some(text.trim().to_owned())
        }
        None => None,
    };
    let target = Target::connect(&args.url, authorization).await.map_err(anyhow::Error::msg)?;
    let mut lines = vec![target.flavor.to_string()];
    let mut counts = [0; 3];
    for case in cases().iter().filter(|case| args.only.as_ref().is_none_or(|text| case.name.contains(text))) {
        match conformance::run(case, &target).await {
            Outcome::Passed => {
                counts[0] += 1;
                lines.push(format!("passed   {}: {}", case.name, case.says));
            }
            Outcome::Failed(difference) => {
                counts[1] += 1;
                lines.push(format!("FAILED   {}: {}\n         {difference}", case.name, case.says));
            }
            Outcome::Skipped(reason) => {
                counts[2] += 1;
                lines.push(format!("skipped  {}: {reason}", case.name));
            }
        }
    }
    lines.push(format!("{} passed, {} failed, {} skipped", counts[0], counts[1], counts[2]));
    print_lines(&lines)?;
    Ok(ExitCode::from(u8::from(counts[1] > 0)))
}

fn print_lines(lines: &[String]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}

/// Stdin that closes means whoever started this has gone.
async fn until_told_to_stop() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (closed, on_closed) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = closed.send(());
    });
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = on_closed => {}
    }
    Ok(())
}

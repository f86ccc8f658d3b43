//! `inrush-testbed`: fake cluster, null server, proxy, conformance suite and simulator as a
//! program.

mod replay;
mod simulate;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, Subcommand};
use inrush_fake::command::{self, FakeArgs, NullArgs, print_lines, until_told_to_stop};
use inrush_testbed::conformance::{self, CaseOutcome, TestedServer, cases};
use inrush_testbed::{Proxy, ProxyConfig};

#[derive(Parser)]
#[command(version, about = "Servers and simulator for the tests of inrush")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a fake cluster until stdin closes or a signal comes; its URLs are the first lines of
    /// stdout
    Fake(FakeArgs),
    /// Run a server that counts documents and keeps none, until stdin closes or a signal comes; its
    /// URL is the first line of stdout
    Null(NullArgs),
    /// Run the conformance suite against a server; exit status 1 if the server differs
    Conformance(ConformanceArgs),
    /// Run a faulty proxy before a real server, until stdin closes or a signal comes; its URL is
    /// the first line of stdout, its counts are the last one
    Proxy(ProxyArgs),
    /// Judge a controller on a scenario in virtual time
    Simulate(simulate::SimulateArgs),
    /// Show the decisions of a recorded run that a controller would take otherwise
    Replay(replay::ReplayArgs),
}

#[derive(clap::Args)]
struct ConformanceArgs {
    /// URL such as http://localhost:9200; the suite creates and deletes indices named conformance-…
    url: String,
    /// Run only the cases whose name contains this text
    #[arg(long)]
    only: Option<String>,
    /// File with the value of an Authorization header
    #[arg(long)]
    authorization_file: Option<PathBuf>,
}

#[derive(clap::Args)]
struct ProxyArgs {
    /// The server behind the proxy, such as http://localhost:9200
    #[arg(long)]
    to: String,
    /// Port, 0 for a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Delay of each round trip, milliseconds
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
    /// Bandwidth of each direction for all connections together, megabits (10^6) per second
    /// [default: unlimited]
    #[arg(long)]
    mbit: Option<f64>,
    /// Bulk items that get 429 and do not reach the server, percent
    #[arg(long, default_value_t = 0.0)]
    reject_items: f64,
    /// Replies to bulk requests that are dropped, the connection with them, percent
    #[arg(long, default_value_t = 0.0)]
    reset_after_applying: f64,
    /// Seed that decides which items and replies
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    match args.command {
        Command::Fake(args) => runtime()?.block_on(command::fake(args)).map(|()| ExitCode::SUCCESS),
        Command::Null(args) => command::null(&args).map(|()| ExitCode::SUCCESS),
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

async fn proxy(args: ProxyArgs) -> anyhow::Result<()> {
    let config = ProxyConfig {
        port: args.port,
        delay: Duration::from_millis(args.delay_ms),
        bits_per_second: args.mbit.map(|mbit| (mbit * 1e6) as u64),
        reject_items_percent: args.reject_items,
        reset_after_applying_percent: args.reset_after_applying,
        seed: args.seed,
        ..ProxyConfig::new(args.to)
    };
    let proxy = Proxy::start(config).await.with_context(|| format!("cannot start a proxy on port {}", args.port))?;
    print_lines(&[proxy.url()])?;
    until_told_to_stop().await?;
    Ok(print_lines(&[serde_json::to_string(&proxy.stats())?])?)
}

async fn conformance(args: ConformanceArgs) -> anyhow::Result<ExitCode> {
    let authorization = match &args.authorization_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Some(text.trim().to_owned())
        }
        None => None,
    };
    let target = TestedServer::connect(&args.url, authorization).await.map_err(anyhow::Error::msg)?;
    let mut lines = vec![target.flavor.to_string()];
    let mut counts = [0; 3];
    for case in cases().iter().filter(|case| args.only.as_ref().is_none_or(|text| case.name.contains(text))) {
        match conformance::run(case, &target).await {
            CaseOutcome::Passed => {
                counts[0] += 1;
                lines.push(format!("passed   {}: {}", case.name, case.says));
            }
            CaseOutcome::Failed(difference) => {
                counts[1] += 1;
                lines.push(format!("FAILED   {}: {}\n         {difference}", case.name, case.says));
            }
            CaseOutcome::Skipped(reason) => {
                counts[2] += 1;
                lines.push(format!("skipped  {}: {reason}", case.name));
            }
        }
    }
    lines.push(format!("{} passed, {} failed, {} skipped", counts[0], counts[1], counts[2]));
    print_lines(&lines)?;
    Ok(ExitCode::from(u8::from(counts[1] > 0)))
}

//! `inrush node`.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use inrush_commands::options::HeapSize;
use inrush_core::Code;
use inrush_node as node;
use inrush_node::{RunState, StartOptions, Tell};

use crate::args::{NodeArgs, NodeCommand, NodeLogsArgs, NodeStartArgs, NodeStatusArgs, NodeStopArgs};
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::plain::plain;

/// How often `logs --follow` checks for new lines.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);

/// The URL of the local node if it runs, for commands that have no use for a new node.
pub(super) async fn running() -> Result<String> {
    let status = node::status(&StartOptions::default().name).await?;
    match status.node {
        Some(node) if status.state == RunState::Running => Ok(node.url),
        _ => Err(UsageError::new(Code::MissingOption, "the local node does not run, and --to is not given")
            .hint("name the cluster with --to URL, or start the node with `inrush node start`")
            .into()),
    }
}

/// Runs a subcommand, and returns the exit status.
pub(crate) async fn run(args: NodeArgs) -> Result<u8> {
    let stderr = Stderr::new();
    let log = match &args.command {
        NodeCommand::Start(args) => &args.log,
        NodeCommand::Stop(args) => &args.log,
        NodeCommand::Status(args) => &args.log,
        NodeCommand::Logs(args) => &args.log,
    };
    logging::start(log, false, &stderr);
    match args.command {
        NodeCommand::Start(args) => start(args, stderr).await,
        NodeCommand::Stop(args) => stop(args, stderr).await,
        NodeCommand::Status(args) => status(args).await,
        NodeCommand::Logs(args) => logs(args).await,
    }
}

async fn start(args: NodeStartArgs, mut stderr: Stderr) -> Result<u8> {
    let name = args.name.name.clone();
    if node::status(&name).await?.state != RunState::Running {
        let _ = writeln!(stderr, "starting a local OpenSearch node; the first time it may have to be downloaded");
    }
    let repository = args.repository_path.as_deref().map(repository).transpose()?;
    let asked: Vec<&str> = [
        ("--port", args.port.is_some()),
        ("--heap", args.heap.is_some()),
        ("--data", args.data.is_some()),
        ("--repository-path", repository.is_some()),
        ("--java-home", args.java_home.is_some()),
        ("--version", args.opensearch_version.is_some()),
    ]
    .into_iter()
    .filter_map(|(flag, is_given)| is_given.then_some(flag))
    .collect();
    let told = stderr.clone();
    // If stderr is closed, there is no other place to report it.
    let tell = Tell::new(move |line| drop(writeln!(told.clone(), "{line}")));
    let started = node::start(StartOptions {
        name: args.name.name,
        port: args.port,
        heap_mib: args.heap.map(HeapSize::mib),
        data: args.data,
        java_home: args.java_home,
        version: args.opensearch_version,
        settings: repository.into_iter().collect(),
        tell,
        ..StartOptions::default()
    })
    .await?;
    if started.already_running && !asked.is_empty() {
        let _ = writeln!(
            stderr,
            "the node was already running with its former settings, so {} had no effect; stop the node first to change them",
            asked.join(", ")
        );
    }
    if args.json {
        print(&serde_json::to_string(&started).context("cannot write the node as JSON")?)?;
    } else {
        let how = if started.already_running { "already runs" } else { "was started" };
        let named = if name == StartOptions::default().name { String::new() } else { format!(" --name {name}") };
        let _ = writeln!(stderr, "OpenSearch {} {how}; stop it with `inrush node stop{named}`", started.version);
        print(&started.url)?;
    }
    Ok(0)
}

/// Creates the folder, and returns the node's setting for it. A node that runs as another user may
/// not be able to create it.
fn repository(folder: &Path) -> Result<(String, String)> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let folder = folder.canonicalize().with_context(|| format!("cannot find the folder {}", folder.display()))?;
    // A string in JSON is also a string in YAML.
    Ok(("path.repo".to_owned(), serde_json::Value::from(folder.display().to_string()).to_string()))
}

async fn stop(args: NodeStopArgs, mut stderr: Stderr) -> Result<u8> {
    let stopped = node::stop(&args.name.name, args.clean).await?;
    let _ = writeln!(stderr, "{}", if stopped { "stopped" } else { "no node was running" });
    Ok(0)
}

async fn status(args: NodeStatusArgs) -> Result<u8> {
    let status = node::status(&args.name.name).await?;
    if args.json {
        print(&serde_json::to_string(&status).context("cannot write the status as JSON")?)?;
    } else {
        print(&status.to_string())?;
    }
    Ok(if status.state == RunState::Running { 0 } else { ExitStatus::Failed.code() })
}

async fn logs(args: NodeLogsArgs) -> Result<u8> {
    let mut log = node::Log::open(&args.name.name)?;
    let mut lines = log.last(args.lines)?;
    loop {
        for line in &lines {
            if !print(line)? {
                // `inrush node logs --follow | head` ends when `head` does.
                return Ok(0);
            }
        }
        if !args.follow {
            return Ok(0);
        }
        tokio::time::sleep(FOLLOW_EVERY).await;
        lines = log.added()?;
    }
}

/// Prints one line on stdout. False if the reader has closed the pipe.
fn print(text: &str) -> Result<bool> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{}", plain(text)).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(e).context("cannot write to stdout"),
    }
}

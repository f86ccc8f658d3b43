//! `inrush node`.

use std::io::Write;

use anyhow::Result;
use inrush::node::{self, StartOptions, State};

use crate::args::{NodeArgs, NodeCommand, OutputArgs};
use crate::logging;

/// The local node for a load without `--to`; started if it does not run.
pub(crate) async fn local(output: &OutputArgs) -> Result<String> {
    if !output.quiet {
        say("no cluster given (--to): using the local OpenSearch node, which is started if it does not run");
    }
    let started = node::start(StartOptions::default()).await?;
    if !output.quiet {
        let how = if started.already_running { "runs" } else { "was started" };
        say(&format!(
            "local node {how} at {} (OpenSearch {}); stop it with: inrush node stop",
            started.url, started.version
        ));
    }
    Ok(started.url)
}

/// Runs one of the commands, and returns the exit status.
pub(crate) async fn run(args: NodeArgs) -> Result<u8> {
    match args.command {
        NodeCommand::Start(args) => {
            logging::start(&args.output);
            let started = node::start(StartOptions {
                name: args.name.name,
                port: args.port,
                heap_mib: args.heap.map(|bytes| (bytes >> 20).max(1) as u32),
                data: args.data,
                java_home: args.java_home,
                version: args.opensearch_version,
            })
            .await?;
            if args.output.json {
                print(&serde_json::to_string(&started)?);
            } else {
                say(if started.already_running { "already running" } else { "started" });
                print(&started.url);
            }
            Ok(0)
        }
        NodeCommand::Stop(args) => {
            logging::start(&args.output);
            let stopped = node::stop(&args.name.name, args.clean).await?;
            if !args.output.quiet {
                say(if stopped { "stopped" } else { "no node was running" });
            }
            Ok(0)
        }
        NodeCommand::Status(args) => {
            logging::start(&args.output);
            let status = node::status(&args.name.name).await?;
            if args.output.json {
                print(&serde_json::to_string(&status)?);
            } else {
                print(&status.to_string());
            }
            Ok(if status.state == State::Running { 0 } else { 1 })
        }
        NodeCommand::Logs(args) => {
            logging::start(&args.output);
            let mut log = node::Log::open(&args.name.name)?;
            for line in log.last(args.lines)? {
                print(&line);
            }
            if !args.follow {
                return Ok(0);
            }
            loop {
                tokio::time::sleep(std::time::Duration::from_millis(500)).await;
                for line in log.added()? {
                    print(&line);
                }
            }
        }
    }
}

fn say(text: &str) {
    // Nobody reads stderr if this fails.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn print(text: &str) {
    // A reader that has left is no error.
    let _ = writeln!(std::io::stdout(), "{text}");
}

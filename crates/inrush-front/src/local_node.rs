//! The OpenSearch node on this machine as the target of a load.

use inrush_node::{NodeError, RunState, StartOptions, Tell, start, status};
use tokio::sync::mpsc;

use crate::Say;

/// The URL of the local node, for a target that is named `local` or not at all. Starts the node if
/// it does not run. `is_named`: the user has named it.
///
/// # Errors
/// The node cannot be started.
pub async fn url(is_named: bool, say: Say<'_>) -> Result<String, NodeError> {
    say(match status(&StartOptions::default().name).await?.state {
        RunState::Running if is_named => "using the local OpenSearch node",
        RunState::Running => "no cluster is named, so the local OpenSearch node is used",
        _ => "starting a local OpenSearch node, which takes 10 to 60 s; the first time it may have to be downloaded",
    });
    // A server is fetched in a thread that cannot borrow `say`.
    let (lines, mut told) = mpsc::unbounded_channel::<String>();
    let tell = Tell::new(move |line| drop(lines.send(line.to_owned())));
    let mut starting = std::pin::pin!(start(StartOptions { tell, ..StartOptions::default() }));
    let started = loop {
        tokio::select! {
            biased;
            Some(line) = told.recv() => say(&line),
            started = &mut starting => break started?,
        }
    };
    let how = if started.already_running { "runs" } else { "was started" };
    say(&format!(
        "the local node {how} at {} (OpenSearch {}); stop it with `inrush node stop`",
        started.url, started.version
    ));
    Ok(started.url)
}

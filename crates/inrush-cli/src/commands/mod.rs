//! The commands, one per file.

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::{Context, Result};
use inrush_cluster::api::connect;
use inrush_cluster::transport::{HttpOptions, NodeUrl, Transport};
use inrush_commands::options::{Environment, LoginOptions};

use crate::plain::plain;

pub(crate) mod bake;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod doctor;
mod doctor_self;
mod dry_run;
pub(crate) mod explain;
pub(crate) mod from;
pub(crate) mod help;
pub(crate) mod lag;
pub(crate) mod load;
pub(crate) mod mapping;
pub(crate) mod node;
mod outputs;
pub(crate) mod recover;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod rollback;
pub(crate) mod segments;
mod signals;
pub(crate) mod sweep;
pub(crate) mod verify;

/// Prints a result, without characters that control a terminal. A reader that has closed the pipe
/// is not an error.
fn print(text: &str) -> Result<()> {
    crate::failure::has_result();
    let mut stdout = io::stdout().lock();
    match stdout.write_all(plain(text).as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot print the result"),
    }
}

/// Connects to nodes; to the local node, if it runs, where there are none. For commands that have
/// no use for a new node.
async fn reach(urls: &[NodeUrl], login: &LoginOptions, environment: &Environment) -> Result<Arc<Transport>> {
    let http = HttpOptions { tls: login.tls().map_err(load::refused)?, ..HttpOptions::default() };
    let credentials = login.credentials(urls, environment).map_err(load::refused)?;
    let nodes = match urls.is_empty() {
        true => vec![node::running().await?],
        false => urls.iter().map(NodeUrl::to_string).collect(),
    };
    connect(&nodes, credentials, &http).await.map_err(load::usage)
}

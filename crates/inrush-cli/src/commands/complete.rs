//! `inrush complete`.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::{CommandFactory, FromArgMatches};
use inrush_cluster::api::names::{self, beginning_with};
use inrush_cluster::transport::{HttpOptions, NodeUrl, Transport};
use inrush_commands::options::{Environment, LoginOptions, urls};

use super::load;
use crate::args::{Cli, CompleteArgs, Names, Options};

/// The longest time that a shell waits for names.
const WAIT: Duration = Duration::from_secs(1);

/// Prints the names, and returns the exit status, which is always 0: a shell that completes a word
/// has no place for an error.
pub(crate) async fn run(args: CompleteArgs) -> Result<u8> {
    let found = tokio::time::timeout(WAIT, ask(args.words, &args.beginning)).await;
    let found = found.ok().and_then(Result::ok).unwrap_or_default();
    let names = match args.kind {
        Names::Index => [found.indices, found.aliases, found.data_streams].concat(),
        Names::Alias => found.aliases,
    };
    let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
    super::print(&lines).map(|()| 0)
}

/// The names in the cluster of an incomplete command line.
async fn ask(words: Vec<String>, beginning: &str) -> Result<names::Names> {
    // Reading a password's file may block, for example of a pipe.
    let asked = tokio::task::spawn_blocking(move || {
        let (to, login) = cluster_of(words).context("the command line names no cluster")?;
        let nodes = urls(&to).map_err(load::refused)?;
        let credentials = login.credentials(&nodes, &Environment::of_process()).map_err(load::refused)?;
        let http = HttpOptions { tls: login.tls().map_err(load::refused)?, ..HttpOptions::default() };
        anyhow::Ok((nodes, credentials, http))
    });
    let (nodes, credentials, http) = asked.await.context("the words cannot be read")??;
    let nodes: Vec<String> = match nodes.is_empty() {
        true => vec![super::node::running().await?],
        false => nodes.iter().map(NodeUrl::to_string).collect(),
    };
    let transport = Transport::new(&nodes, credentials, &http).map_err(load::usage)?;
    Ok(beginning_with(&transport, beginning).await?)
}

/// The nodes and credentials that the words name. `None` if the command has none, or if a job file
/// may name them.
fn cluster_of(words: Vec<String>) -> Option<(Vec<String>, LoginOptions)> {
    // The shell gives the words as they were typed.
    let home = std::env::var("HOME").unwrap_or_default();
    let words = words.into_iter().map(|word| match word.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => word,
    });
    let words = ["inrush".to_owned()].into_iter().chain(words);
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(words).ok()?;
    let (_, matches) = matches.subcommand()?;
    let to = matches.try_get_many::<String>("to").ok()?.into_iter().flatten().cloned().collect();
    matches.try_contains_id("password_file").ok()?;
    if matches.try_contains_id("job").unwrap_or_default() {
        return None;
    }
    let login = Options::<LoginOptions>::from_arg_matches(matches).ok()?;
    Some((to, login.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(Vec<String>, Option<String>)> {
        let (to, login) = cluster_of(line.split(' ').map(str::to_owned).collect())?;
        Some((to, login.user))
    }

    #[test]
    fn an_incomplete_command_line_has_a_cluster() {
        let found = |to: &[&str], user: Option<&str>| {
            Some((to.iter().map(|&url| url.to_owned()).collect(), user.map(str::to_owned)))
        };
        assert_eq!(of("load a.csv --to http://a:1,http://b:1 --index"), found(&["http://a:1", "http://b:1"], None));
        assert_eq!(of("load --to=http://a:1 --user u --no-such --index"), found(&["http://a:1"], Some("u")));
        assert_eq!(of("verify --to http://a:1 --index"), found(&["http://a:1"], None));
        assert_eq!(of("load a.csv --index"), found(&[], None));
        for line in ["", "fly --index", "mapping a.csv --index", "completions", "load --job a.toml --index"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}

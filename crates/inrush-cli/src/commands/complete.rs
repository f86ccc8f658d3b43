//! `inrush complete`.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::{CommandFactory, FromArgMatches};
use inrush_cluster::api::names::{self, beginning_with};
use inrush_cluster::transport::{HttpOptions, NodeUrl, Transport};
use inrush_commands::options::{Environment, LoginOptions, nodes};

use super::completions::in_short;
use super::load;
use crate::args::{Cli, CompleteArgs, Options, Words};

/// The longest time that a shell waits for names.
const WAIT: Duration = Duration::from_secs(1);

/// Prints the names, and returns the exit status, which is always 0: a shell that completes a word
/// has no place for an error.
pub(crate) async fn run(args: CompleteArgs) -> Result<u8> {
    let words = match args.kind {
        Words::Index | Words::Alias => names(args.kind, args.words, &args.beginning).await,
        Words::All => match continued(&args.words, &args.beginning) {
            Continued::Words(words) => words,
            Continued::Names { kind, before, beginning } => {
                let names = names(kind, args.words, &beginning).await.into_iter();
                names.map(|name| format!("{before}{name}\t{}", kind_of(kind))).collect()
            }
        },
    };
    let lines: String = words.iter().map(|word| format!("{word}\n")).collect();
    super::print(&lines).map(|()| 0)
}

/// Names in the cluster of an incomplete command line.
async fn names(kind: Words, words: Vec<String>, beginning: &str) -> Vec<String> {
    let found = tokio::time::timeout(WAIT, ask(words, beginning)).await;
    let found = found.ok().and_then(Result::ok).unwrap_or_default();
    match kind {
        Words::Alias => found.aliases,
        Words::Index | Words::All => [found.indices, found.aliases, found.data_streams].concat(),
    }
}

fn kind_of(kind: Words) -> &'static str {
    match kind {
        Words::Alias => "alias",
        Words::Index | Words::All => "index",
    }
}

/// What continues a command line.
#[derive(Debug, PartialEq)]
enum Continued {
    /// Words with their help.
    Words(Vec<String>),
    /// Names of the cluster, behind the text that the word already has.
    Names { kind: Words, before: String, beginning: String },
}

/// The words that begin with `beginning` and can stand behind these words.
fn continued(words: &[String], beginning: &str) -> Continued {
    let mut root = in_short(Cli::command());
    root.build();
    let mut command = &root;
    for word in words {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let flag = |text: &str| command.get_arguments().find(|arg| arg.get_long() == text.strip_prefix("--")).cloned();
    let (flag, before, beginning) = match beginning.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (flag(name), format!("{name}="), value),
        _ => {
            let before = words.last().filter(|word| word.starts_with("--")).and_then(|word| flag(word));
            (before.filter(|flag| !flag.is_require_equals_set()), String::new(), beginning)
        }
    };
    let fits = |(word, help): (String, String)| {
        let line = || format!("{before}{word}\t{}", help.replace('\n', " "));
        word.starts_with(beginning).then(line)
    };
    match flag.filter(|flag| flag.get_action().takes_values()) {
        Some(flag) => match flag.get_long() {
            Some("index") => Continued::Names { kind: Words::Index, before, beginning: beginning.to_owned() },
            Some("alias") => Continued::Names { kind: Words::Alias, before, beginning: beginning.to_owned() },
            _ => Continued::Words(values(&flag).filter_map(fits).collect()),
        },
        None => {
            let arguments = command.get_positionals().flat_map(values);
            Continued::Words(arguments.chain(commands_and_flags(command)).filter_map(fits).collect())
        }
    }
}

fn commands_and_flags(command: &clap::Command) -> Vec<(String, String)> {
    let help = |text: Option<&clap::builder::StyledStr>, word: &str| text.map_or(word.to_owned(), ToString::to_string);
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let commands =
        commands.map(|command| (command.get_name().to_owned(), help(command.get_about(), command.get_name())));
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let flags = flags.filter_map(|arg| Some((format!("--{}", arg.get_long()?), help(arg.get_help(), arg.get_long()?))));
    commands.chain(flags).collect()
}

fn values(flag: &clap::Arg) -> impl Iterator<Item = (String, String)> {
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let values = flag.get_possible_values().into_iter();
    values.map(move |value| {
        let own = value.get_help().map(ToString::to_string);
        (value.get_name().to_owned(), own.unwrap_or_else(|| help.clone()))
    })
}

/// The names in the cluster of an incomplete command line.
async fn ask(words: Vec<String>, beginning: &str) -> Result<names::Names> {
    // Reading a password's file may block, for example of a pipe.
    let asked = tokio::task::spawn_blocking(move || {
        let (to, login) = cluster_of(words).context("the command line names no cluster")?;
        let environment = Environment::of_process();
        let nodes = nodes(&to, &environment).map_err(load::refused)?;
        let credentials = login.credentials(&nodes, &environment).map_err(load::refused)?;
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
    let home = inrush_node::user::variable("HOME").unwrap_or_default();
    let home = home.to_string_lossy();
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

    fn continued_by(line: &str) -> Vec<String> {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let beginning = words.pop().unwrap();
        match continued(&words, &beginning) {
            Continued::Words(words) => {
                assert!(words.iter().all(|word| word.split_once('\t').is_some_and(|(_, help)| !help.is_empty())));
                words.iter().filter_map(|word| Some(word.split_once('\t')?.0.to_owned())).collect()
            }
            names @ Continued::Names { .. } => panic!("{names:?}"),
        }
    }

    #[test]
    fn a_line_is_continued() {
        for (line, expected) in [
            ("verif", &["verify"][..]),
            ("node sto", &["stop"]),
            ("load a.csv --fix", &["--fixed-width"]),
            ("load --format nd", &["ndjson"]),
            ("load a.csv --format=nd", &["--format=ndjson"]),
            ("load a.csv --resume --to-be", &[]),
            ("load --separator n", &[]),
            ("load a.csv --page --fix", &["--fixed-width"]),
            ("completions po", &["powershell"]),
        ] {
            assert_eq!(continued_by(line), expected, "{line}");
        }
        assert!(continued_by("").contains(&"load".to_owned()) && !continued_by("").contains(&"complete".to_owned()));
        let names = |kind, before: &str, beginning: &str| Continued::Names {
            kind,
            before: before.to_owned(),
            beginning: beginning.to_owned(),
        };
        let words = ["load".to_owned(), "--index".to_owned()];
        assert_eq!(continued(&words, "ord"), names(Words::Index, "", "ord"));
        assert_eq!(continued(&words[..1], "--alias=o"), names(Words::Alias, "--alias=", "o"));
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

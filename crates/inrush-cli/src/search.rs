//! `inrush help WORD`: commands, flags, codes of errors and pages that have a word.

use std::ffi::OsString;

use clap::{Arg, Command};
use inrush_commands::options::{Style, render};
use inrush_core::Code;

use crate::pages::PAGES;
use crate::words;

/// The most lines of a group.
const LINES_MAX: usize = 20;

/// The words that are searched, where the arguments ask for the help of what is no command.
pub(crate) fn words(root: &Command, arguments: &[OsString]) -> Option<Vec<String>> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str());
    if words.next()?? != "help" {
        return None;
    }
    let words = words.flatten().flat_map(str::split_whitespace);
    let words: Vec<String> = words.map(|word| word.trim_start_matches('-').to_lowercase()).collect();
    let first = words.first()?;
    let is_word = !["help", "h", ""].contains(&first.as_str());
    (root.find_subcommand(first).is_none() && is_word).then_some(words)
}

/// What is found, as text. `None`: nothing.
pub(crate) fn found(root: &Command, words: &[String]) -> Option<String> {
    // Options have dashes as flags, and underscores in job files and in Python.
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let words: Vec<String> = words.iter().map(|word| plain(word)).collect();
    let has = |text: &str| {
        let text = plain(text);
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let mut text = String::new();
    let mut group = |title: &str, mut lines: Vec<(String, String)>| {
        if lines.is_empty() {
            return;
        }
        let more = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        text.push_str(&format!("{}{title}:\n", if text.is_empty() { "" } else { "\n" }));
        for (name, about) in lines {
            text.push_str(&format!("  {name:<width$}  {about}\n"));
        }
        if more > 0 {
            text.push_str(&format!("  … and {more} more\n"));
        }
    };
    let word = words.join("-");
    if let Some(answer) = words::answer_to(&word) {
        group("The same here", vec![(word, answer)]);
    }
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    let commands = commands.filter(|command| has(command.get_name()) || has(&about(command)));
    group("Commands", commands.map(|command| (format!("inrush {}", command.get_name()), about(command))).collect());
    group("Flags of inrush load", flags(root, &has));
    group("Flags of other commands", flags_of_others(root, &has));
    let codes = Code::ALL.iter().filter_map(|code| {
        let (cause, cure) = (render(code.cause(), Style::Flag), render(code.cure(), Style::Flag));
        let is_meant = has(code.name()) || has(&cause) || has(&cure);
        is_meant.then(|| (format!("inrush explain {}", code.name()), first_sentence(&cause).to_owned()))
    });
    group("Errors", codes.collect());
    let pages = PAGES.iter().filter(|(file, title)| has(title) || has(file));
    group("Pages", pages.map(|(file, title)| (format!("docs/{file}"), (*title).to_owned())).collect());
    (!text.is_empty()).then_some(text)
}

/// Flags with the word in their name first.
fn flags(root: &Command, has: &impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let Some(load) = root.find_subcommand("load") else { return Vec::new() };
    let flag = |arg: &Arg| Some(format!("--{}", arg.get_long()?));
    let all: Vec<(String, String)> = load
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| Some((flag(arg)?, arg.get_help().map(ToString::to_string).unwrap_or_default())))
        .collect();
    let (named, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| has(name));
    let others = others.into_iter().filter(|(_, help)| has(help));
    named.into_iter().chain(others).map(|(name, help)| (name, first_sentence(&help).to_owned())).collect()
}

/// Flags that `inrush load` does not have, with their command.
fn flags_of_others(root: &Command, has: &impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let of_load = |name: &str| {
        let load = root.find_subcommand("load");
        load.is_some_and(|load| load.get_arguments().any(|arg| arg.get_long() == Some(name)))
    };
    let mut found = Vec::new();
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let Some(name) = arg.get_long().filter(|name| !of_load(name)) else { continue };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            if has(name) || has(&help) {
                let flag = format!("inrush {} --{name}", command.get_name());
                found.push((flag, first_sentence(&help).to_owned()));
            }
        }
    }
    found
}

fn first_sentence(text: &str) -> &str {
    let end = [". ", "; ", ": ", ".\n"].iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn search(words: &[&str]) -> Option<String> {
        let mut arguments: Vec<OsString> = vec!["inrush".into(), "help".into()];
        arguments.extend(words.iter().map(OsString::from));
        let root = Cli::command();
        super::words(&root, &arguments).and_then(|words| found(&root, &words))
    }

    #[test]
    fn a_word_finds_what_has_it() {
        for (words, lines) in [
            (&["alias"][..], &["inrush rollback", "--alias"][..]),
            (&["downtime"], &["docs/how-to/replace-an-index.md"]),
            (&["Delimiter"], &["--separator CHAR"]),
            (&["--export"], &["inrush convert http://HOST:9200/INDEX OUT.ndjson", "docs/how-to/export.md"]),
            (&["certificate"], &["--ca", "--from-cert"]),
            (&["reach"], &["inrush explain unreachable"]),
            (&["--id-as"], &["inrush convert --id-as"]),
            (&["fail_on_warning"], &["--fail-on-warning"]),
            (&["doc_as_upsert"], &["--action upsert"]),
            (&["excel"], &["--sheet SHEET"]),
            (&["dead", "letters"], &["--from-dead-letters", "docs/dead-letters.md"]),
        ] {
            let text = search(words).unwrap();
            for line in lines {
                assert!(text.contains(line), "{words:?}: no {line} in\n{text}");
            }
            assert!(text.lines().all(|line| !line.ends_with("  ")), "{text}");
        }
        assert_eq!(search(&["no-such-word"]), None);
        assert_eq!(search(&["load"]), None, "the help of a command");
        assert_eq!(search(&[]), None);
    }

    /// `INRUSH_WRITE_PAGES=1` writes the list.
    #[test]
    fn pages_are_those_of_the_documentation() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut pages = Vec::new();
        let mut folders = vec![docs.clone()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&docs).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() && !["decisions", "tuner"].contains(&name.as_str()) {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap().to_owned();
                    pages.push((name, title));
                }
            }
        }
        pages.sort();
        if std::env::var_os("INRUSH_WRITE_PAGES").is_some() {
            let rows: String = pages.iter().map(|(name, title)| format!("    ({name:?}, {title:?}),\n")).collect();
            let about = "//! The pages for users: file below `docs/`, and title. `make reference` writes the list.\n";
            let text = format!("{about}\npub(crate) const PAGES: &[(&str, &str)] = &[\n{rows}];\n");
            return std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/pages.rs"), text).unwrap();
        }
        let listed: Vec<_> = PAGES.iter().map(|(name, title)| ((*name).to_owned(), (*title).to_owned())).collect();
        assert_eq!(listed, pages, "run `make reference`");
    }
}

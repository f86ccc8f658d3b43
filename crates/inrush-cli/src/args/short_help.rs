//! The help of `-h`: the options that most loads need, on one screen.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory, Error};

use super::Cli;

/// The options that `-h` shows, by their ids.
const OF_A_LOAD: &[&str] = &[
    "sources",
    "format",
    "sql",
    "job",
    "index",
    "to",
    "action",
    "id",
    "mapping",
    "map",
    "recreate",
    "user",
    "password_file",
    "api_key_file",
    "ca",
    "dead_letters",
    "dry_run",
    "alias",
    "resume",
    "report",
    "quiet",
    "json",
];
const OF_A_BAKE: &[&str] = &["engine", "repository_path"];

/// The help that `-h` prints instead of `parsed`, if `parsed` is the help of a command with many
/// options and `--help` was not asked for.
pub(crate) fn instead_of(parsed: &Error, arguments: &[OsString]) -> Option<Error> {
    if parsed.kind() != ErrorKind::DisplayHelp || arguments.iter().any(|word| word == "--help") {
        return None;
    }
    let command = Cli::command()
        .mut_subcommand("load", |load| shortened(load, OF_A_LOAD))
        .mut_subcommand("bake", |bake| shortened(bake, &[OF_A_LOAD, OF_A_BAKE].concat()));
    command.try_get_matches_from(arguments).err()
}

fn shortened(command: Command, shown: &[&str]) -> Command {
    let name = command.get_name().to_owned();
    let more = format!(
        "`inrush {name} --help` lists all options, with their values, defaults and exit statuses.\n\
         `inrush help WORD` finds those that have a word. docs/options.md explains them by subject."
    );
    command
        .mut_args(|arg| match shown.contains(&arg.get_id().as_str()) {
            true => in_a_line(arg),
            false => arg.hide(true),
        })
        .after_help(more)
}

/// The option with the first sentence of its help.
fn in_a_line(arg: Arg) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let end = [". ", "; ", ": ", ".\n"].iter().filter_map(|end| help.find(end)).min().unwrap_or(help.len());
    let arg = arg.help(help[..end].to_owned()).help_heading(None);
    match arg.get_action().takes_values() {
        true => arg.hide_possible_values(true),
        false => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(words: &[&str]) -> Option<String> {
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        let parsed = Cli::command().try_get_matches_from(&arguments).unwrap_err();
        instead_of(&parsed, &arguments).map(|error| error.to_string())
    }

    #[test]
    fn it_fits_on_a_screen_and_names_the_rest() {
        for (command, options) in [("load", OF_A_LOAD.len()), ("bake", OF_A_LOAD.len() + OF_A_BAKE.len())] {
            let text = help(&["inrush", command, "-h"]).unwrap();
            assert!(text.lines().count() <= 45, "{} lines:\n{text}", text.lines().count());
            assert!(text.contains(&format!("inrush {command} --help")), "{text}");
            // Each has a line, but the sources and the help's own flag.
            assert_eq!(text.lines().filter(|line| line.trim_start().starts_with('-')).count(), options, "{text}");
        }
    }

    #[test]
    fn others_have_the_usual_help() {
        assert_eq!(help(&["inrush", "load", "--help"]), None);
        let text = help(&["inrush", "verify", "-h"]).unwrap();
        assert!(text.contains("--id-from"), "{text}");
    }
}

//! Pages that are generated from the definitions of the options: the reference page, the types of
//! the Python package, and manual pages. `inrush reference` prints them. Tests compare them with
//! the files of the repository.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};
use inrush_commands::bake::BakeOptions;
use inrush_commands::options::{LoadOptions, OptionGroup, OptionInfo, OptionKind, Scope, Style, keyword, render};
use inrush_core::Code;
use inrush_core::codes::Area;

use crate::args::{Cli, LogOptions, OutputOptions, RunOptions};

/// The reference page, `docs/options.md`.
pub(crate) fn options_page() -> String {
    let mut page = "\
# Options of a load

Every option of `inrush load` and `inrush bake`: a flag of the command line, a key of a [job
file](job.md), a keyword argument in [Python](python.md), and a setter of `inrush::LoaderBuilder`.
Where a text names another option it has its key. `inrush load --help` and `inrush reference man
load` have the same texts.

In Python a flag without a value is a `bool`, and each value may be a `str`: also a path an
`os.PathLike`, a number an `int`, a duration a `datetime.timedelta`, JSON a mapping, and several
values a sequence. Editors show the type of each.

A SIZE is in bytes, or has a unit: KiB, MiB, GiB, kB, MB, GB, k, m, g. A DURATION has one: ms, s, m,
h, d.

This page is made by `inrush reference options`; a test holds it equal.
"
    .to_owned();
    let mut headings: Vec<&str> = Vec::new();
    let infos = all();
    for info in &infos {
        if !headings.contains(&info.heading) {
            headings.push(info.heading);
        }
    }
    for heading in headings {
        section(&mut page, heading, infos.iter().filter(|info| info.heading == heading));
    }
    page
}

/// Values whose units stand at the beginning of the page.
const NAMED_UNITS: [&str; 2] = ["SIZE", "DURATION"];

fn all() -> Vec<&'static OptionInfo> {
    [LoadOptions::infos(), BakeOptions::infos(), RunOptions::infos(), OutputOptions::infos(), LogOptions::infos()]
        .concat()
}

fn section<'a>(page: &mut String, heading: &str, infos: impl Iterator<Item = &'a &'static OptionInfo>) {
    // Writing to a string does not fail.
    let _ = writeln!(page, "\n## {heading}");
    for info in infos {
        let _ = writeln!(page, "\n### `{}`\n\n{}\n", info.name, code(&forms(info)));
        let _ = writeln!(page, "{}.", wrapped(&text(&info.help()), 0));
        let lists = [
            ("Default", info.default.map(text)),
            ("Unit", info.value.unit.filter(|_| !NAMED_UNITS.contains(&info.value_name)).map(text)),
            ("Limits", info.value.limits.map(text)),
            ("The servers' name", info.server.map(|server| format!("`{server}`"))),
            ("Not together with", (!info.conflicts.is_empty()).then(|| code(info.conflicts))),
        ];
        let lists: Vec<String> =
            lists.into_iter().filter_map(|(name, text)| Some(format!("- {name}: {}", text?))).collect();
        let choices = info.value.choices.iter().map(|choice| format!("- `{}`: {}", choice.name, text(choice.help)));
        let items: Vec<String> = choices.chain(lists).collect();
        if !items.is_empty() {
            page.push('\n');
        }
        for item in items {
            let _ = writeln!(page, "{}", wrapped(&item, 2));
        }
    }
}

/// The notations of an option: its flag, or where it has none the keyword argument, and a key that
/// is none in Python.
fn forms(info: &OptionInfo) -> Vec<String> {
    let mut forms = Vec::new();
    let value = match (info.value_name, info.bare) {
        ("", _) => String::new(),
        (name, None) => format!(" {name}"),
        (name, Some(_)) => format!("[={name}]"),
    };
    match info.scope {
        Scope::Argument => forms.push(info.value_name.to_owned()),
        _ if info.is_flag() => forms.push(format!("{}{value}", info.flag())),
        _ => {}
    }
    if info.is_keyword() {
        if forms.is_empty() {
            forms.push(format!("{}: {}", info.name, python_type(info)));
        }
    } else if info.is_key() {
        forms.push(format!("{} (job file)", info.name));
    }
    forms
}

fn code(parts: &[impl AsRef<str>]) -> String {
    parts.iter().map(|part| format!("`{}`", part.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A text in Markdown, in which options are named by their keys.
fn text(text: &str) -> String {
    let named = text.replace("option `", "`");
    // Between backticks is code. Elsewhere an angle bracket would be HTML, and asterisks emphasis.
    let parts = named.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => part.replace('<', "\\<").replace('*', "\\*"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Wraps to lines of at most 100 columns. Lines after the first are indented.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().map(|line| {
            let fits = line.trim_start().is_empty() || line.chars().count() + 1 + word.chars().count() <= 100;
            (line, fits)
        });
        match last {
            Some((line, true)) => {
                if !line.trim_start().is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            _ => lines.push(format!("{}{word}", " ".repeat(indent))),
        }
    }
    lines.join("\n")
}

/// The page of errors, `docs/errors.md`.
pub(crate) fn errors_page() -> String {
    let mut page = "\
# Errors

An error that ends a command has a code, which stays when its text changes. Findings of a
comparison, a dry run or the doctor (exit status 4) are results, and have none; nor has a command
that a signal ends before it has a report.

```console tested=crates/inrush-cli/tests/it/cli/codes.rs
$ inrush load a.ndjson --index docs --to http://127.0.0.1:1
error[unreachable]: GET http://127.0.0.1:1/ was not sent: Connection refused (os error 111)
hint: check that the cluster runs and that --to has its address and scheme (http:// or https://)
$ inrush explain unreachable
unreachable: Cluster
...
```

| where | what it has |
|---|---|
| stderr | `error[CODE]: …`, the causes, and a hint |
| [report](report.md) as JSON | `failure_code`, beside `failure` |
| [dead letter](dead-letters.md) | `error.type`: a code below, or the server's name of its error |
| Python | `code` of an exception, and of a report |
| Rust | `code()` of an error, and of a report |

The [exit status](commands.md#exit-statuses) says how far the command came, the code why it ended.
A code is never used for something else.

This page is made by `inrush reference errors`; a test holds it equal.
"
    .to_owned();
    for area in Area::ALL {
        // Writing to a string does not fail.
        let _ = writeln!(page, "\n## {}", area.title());
        let mut above = "";
        for code in Code::ALL.iter().filter(|code| code.area() == area) {
            let cure = if code.cure() == above { "As above." } else { code.cure() };
            let (cause, cure) = (text(code.cause()), format!("- {}", text(cure)));
            let _ = writeln!(page, "\n### `{code}`\n\n{}\n\n{}", wrapped(&cause, 0), wrapped(&cure, 2));
            above = code.cure();
        }
    }
    page
}

/// The type of an option in Python.
fn python_type(info: &OptionInfo) -> String {
    let value = match info.value.choices {
        [] => info.value.python.to_owned(),
        choices => {
            let names: Vec<String> = choices.iter().map(|choice| format!("\"{}\"", choice.name)).collect();
            format!("Literal[{}]", names.join(", "))
        }
    };
    match info.kind {
        OptionKind::List => format!("{value} | Sequence[{value}]"),
        OptionKind::Flag | OptionKind::Count | OptionKind::One => value,
    }
}

/// Options that functions of the Python package have as arguments of their own.
const ARGUMENTS_OF_PYTHON: [&str; 3] = ["sources", "index", "to"];

/// The keyword arguments of the Python package, `python/inrush/_option_types.py`.
pub(crate) fn python_types() -> String {
    let mut out = "\
\"\"\"The options of a load as keyword arguments. Generated by `inrush reference python`; a test compares it.\"\"\"

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class LoadOptions(TypedDict, total=False):
    \"\"\"The options of `inrush.load` and similar functions. None means that an option is not given.\"\"\"
"
    .to_owned();
    keywords(&mut out, &LoadOptions::infos());
    out.push_str("\n\nclass BakeOptions(LoadOptions, total=False):\n");
    out.push_str("    \"\"\"The options of `inrush.spark.bake`.\"\"\"\n");
    keywords(&mut out, &BakeOptions::infos());
    out
}

fn keywords(out: &mut String, infos: &[&OptionInfo]) {
    for info in infos {
        let is_argument = ARGUMENTS_OF_PYTHON.contains(&info.name);
        if !info.is_keyword() || is_argument {
            continue;
        }
        let mut help = info.help_with_default();
        for choice in info.value.choices {
            let _ = write!(help, "; {:?}: {}", choice.name, choice.help);
        }
        let help = render(&help, Style::Keyword).replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
        let help = if help.ends_with('"') { format!("{help} ") } else { help };
        let _ = writeln!(out, "\n    {}: {} | None", keyword(info.name), python_type(info));
        let lines = wrapped(&format!("\"\"\"{help}.\"\"\""), 0);
        for line in lines.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
}

/// The manual page of a command such as `load` or `node-start`, or of `inrush` itself.
pub(crate) fn manual(command: Option<&str>) -> Option<Vec<u8>> {
    let mut page = without_help(Cli::command());
    page.build();
    for name in command.iter().flat_map(|name| name.split('-')) {
        page = page.find_subcommand(name)?.clone();
    }
    if let Some(name) = command {
        page = page.name(format!("inrush-{name}"));
    }
    let mut out = Vec::new();
    clap_mangen::Man::new(page).render(&mut out).ok()?;
    Some(out)
}

/// The names of all commands that have a manual page, one a line.
pub(crate) fn manual_names() -> String {
    fn add(command: &Command, above: &str, names: &mut String) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{above}{}", command.get_name());
            names.push_str(&name);
            names.push('\n');
            add(command, &format!("{name}-"), names);
        }
    }
    let mut names = String::new();
    add(&without_help(Cli::command()), "", &mut names);
    names
}

/// Without the commands `help`, which have no page of their own.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    /// The help of each flag of a command, by the name of its option.
    fn flags_of(command: &str) -> BTreeMap<String, String> {
        let all = Cli::command();
        let arguments = all.find_subcommand(command).unwrap().get_arguments();
        arguments.map(|arg| (arg.get_id().to_string(), arg.get_help().unwrap().to_string())).collect()
    }

    /// Compares with a file of the repository. Writes the file if the variable `INRUSH_WRITE_PAGES`
    /// is set.
    #[track_caller]
    fn check(path: &str, expected: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        if std::env::var_os("INRUSH_WRITE_PAGES").is_some() {
            std::fs::write(&path, expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
        assert!(
            found == expected,
            "{} differs from the options, first in {differs:?}; write it with `make reference`",
            path.display()
        );
    }

    #[test]
    fn pages_are_those_of_the_options() {
        check("docs/options.md", &options_page());
        check("docs/errors.md", &errors_page());
        check("python/inrush/_option_types.py", &python_types());
        check("docs/moving/flags.md", &crate::from::table::page());
    }

    #[test]
    fn every_option_is_a_flag_a_key_and_a_keyword_with_documentation() {
        let (load, bake) = (flags_of("load"), flags_of("bake"));
        let (page, python) = (options_page(), python_types());
        for info in all() {
            let of_bake = BakeOptions::TABLE.iter().any(|of_bake| of_bake.name == info.name);
            let is_argument = info.is_flag() || info.scope == Scope::Argument;
            assert_eq!(load.contains_key(info.name), is_argument && !of_bake, "{} of load", info.name);
            assert_eq!(bake.contains_key(info.name), is_argument, "{} of bake", info.name);
            assert!(page.contains(&format!("### `{}`\n", info.name)), "{} on the page", info.name);
            let is_typed = info.is_keyword() && !ARGUMENTS_OF_PYTHON.contains(&info.name);
            assert_eq!(
                python.contains(&format!("\n    {}: ", keyword(info.name))),
                is_typed,
                "{} in Python",
                info.name
            );
        }
    }

    #[test]
    fn manual_pages_have_every_flag() {
        let page = String::from_utf8(manual(Some("load")).unwrap()).unwrap();
        for info in LoadOptions::infos().into_iter().filter(|info| info.is_flag()) {
            let flag = info.flag().replace('-', "\\-");
            assert!(page.contains(&flag), "{flag}");
        }
        assert!(manual(None).is_some() && manual(Some("fly")).is_none());
        // Each page that a page names exists.
        let names = manual_names();
        assert!(names.lines().any(|name| name == "node-start") && !names.contains("help"), "{names}");
        for page in names.lines().map(Some).chain([None]) {
            let text = String::from_utf8(manual(page).unwrap()).unwrap().replace('\\', "");
            let named = text.split("inrush-").skip(1).filter_map(|rest| Some(rest.split_once("(1)")?.0));
            for name in named.filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')) {
                assert!(names.lines().any(|known| known == name), "{page:?} names {name}");
            }
        }
    }

    /// Options of `inrush node` that messages name.
    const OF_NODES: [&str; 3] = ["data", "name", "port"];

    /// Flags of other programs, in commands that messages quote.
    const OF_OTHERS: [&str; 5] = ["--long=31", "aws configure", "\"--format-version\"", "/bin/tool --x", "\"setpriv\""];

    /// Messages of the library crates name options in the mark-up of [`render`]: no flags, and only
    /// options that exist.
    #[test]
    fn libraries_name_options_and_no_flags() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut looked_at = 0;
        for name in std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
            // They are of front ends, or the servers of tests.
            let is_library = !["inrush-cli", "inrush-front", "inrush-testbed", "inrush-fake"]
                .iter()
                .any(|other| name.ends_with(other));
            if !is_library || !name.join("src").is_dir() {
                continue;
            }
            for file in files_of(&name.join("src")) {
                looked_at += 1;
                let text = std::fs::read_to_string(&file).unwrap();
                for (at, line) in text.lines().enumerate() {
                    check_line(line, &format!("{}:{}", file.display(), at + 1));
                }
            }
        }
        assert!(looked_at > 100, "{looked_at} files");
    }

    fn files_of(folder: &Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.flat_map(|path| if path.is_dir() { files_of(&path) } else { vec![path] });
        files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
    }

    #[track_caller]
    fn check_line(line: &str, place: &str) {
        let code = line.trim_start();
        if code.starts_with("//") || OF_OTHERS.iter().any(|other| code.contains(other)) || place.contains("/style.rs") {
            return;
        }
        let flag = code.match_indices("--").find(|(at, _)| {
            let before = code[..*at].chars().next_back();
            let after = code[at + 2..].chars().next();
            before.is_none_or(|c| " `\"(".contains(c)) && after.is_some_and(|c| c.is_ascii_lowercase())
        });
        // A flag in the tests of code that accepts any words.
        let is_label = place.contains("/files.rs");
        assert!(flag.is_none() || is_label, "{place} names a flag: {code}");
        for named in code.split("option `").skip(1) {
            let name = named.split(['`', '=']).next().unwrap_or_default();
            let is_known = name.contains('{') || OF_NODES.contains(&name) || all().iter().any(|info| info.name == name);
            assert!(is_known, "{place} names the option {name}, which is none: {code}");
        }
    }

    /// Codes that no test raises, and why.
    const NOT_RAISED: [(Code, &str); 4] = [
        (Code::NotSent, "the cluster has to take other documents for the whole time of the retries"),
        (Code::NoAnswer, "as above"),
        (Code::NotInThisBuild, "tests have all features; scripts/features.sh raises it in a plain build"),
        (Code::Defect, "there is none that a test could use"),
    ];

    /// Tests of a file: all of it below `tests`, else what follows the first module of tests.
    fn tests_of(file: &Path) -> String {
        let text = std::fs::read_to_string(file).unwrap();
        let is_test = file.components().any(|part| part.as_os_str() == "tests") || file.ends_with("tests.rs");
        match text.find("\nmod tests {") {
            _ if is_test => text,
            Some(at) => text[at..].to_owned(),
            None => String::new(),
        }
    }

    #[test]
    fn every_code_is_raised_by_a_test() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        // Their own tests raise nothing.
        let own = ["inrush-core/src/codes.rs", "inrush-cli/src/reference.rs"];
        let files = files_of(&crates).into_iter().filter(|file| !own.iter().any(|own| file.ends_with(own)));
        let tests: Vec<String> = files.map(|file| tests_of(&file)).collect();
        let mut missing = Vec::new();
        for code in Code::ALL {
            // Types of dead letters are also compared as JSON has them.
            let is_type = [Area::DeadLetter, Area::Refused].contains(&code.area()) && *code != Code::Mapping;
            let quoted = is_type.then(|| format!("\"{code}\""));
            let forms: Vec<String> =
                [format!("Code::{code:?}"), format!("[{code}]")].into_iter().chain(quoted).collect();
            let is_whole = |text: &str, form: &str, at: usize| {
                !text[at + form.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            };
            let is_in = |text: &String| {
                forms.iter().any(|form| text.match_indices(form).any(|(at, _)| is_whole(text, form, at)))
            };
            let is_raised = tests.iter().any(is_in);
            let is_named = NOT_RAISED.iter().any(|(other, _)| other == code);
            if is_raised == is_named {
                missing.push(code.name());
            }
        }
        assert!(
            missing.is_empty(),
            "no test raises these, or one does although they are named as not raised: {missing:?}"
        );
    }

    #[test]
    fn lines_are_wrapped() {
        let text = wrapped(&"word ".repeat(40), 2);
        assert!(text.lines().all(|line| line.len() <= 100) && text.lines().skip(1).all(|line| line.starts_with("  ")));
    }
}

//! House rules as tests: every rule of CONTRIBUTING that a machine can check without a compiler.
//!
//! A rule with findings that are older than the rule has a ceiling: the number of its findings may
//! only go down, and the ceiling goes with it.

mod cycles;
mod rust_version;
mod source;
mod surface;
mod workflows;

use std::collections::BTreeMap;
use std::path::Path;

use self::source::{Rust, rust_files};

/// The widest comment, characters.
const COMMENT_WIDTH_MAX: usize = 100;
/// The longest function, lines.
const FUNCTION_LINES_MAX: usize = 70;
/// Words that hide who acts or what is meant.
const BANNED: [&str; 9] = [
    "whoever",
    "whatever",
    "somebody",
    "nobody",
    "so many",
    "of ours",
    "what is not",
    "who has",
    "the one or the other",
];
/// Command lines, in messages that say what to run.
const COMMANDS: [&str; 4] = ["long=31", "aws configure", "-caps=-all", "inrush load --from-dead-letters"];
/// Crates whose messages name an option, and not the flag of a front end.
const LIBRARIES: [&str; 16] = [
    "inrush",
    "inrush-bake",
    "inrush-cluster",
    "inrush-commands",
    "inrush-core",
    "inrush-formats",
    "inrush-front",
    "inrush-guard",
    "inrush-kafka",
    "inrush-load",
    "inrush-node",
    "inrush-page",
    "inrush-smile",
    "inrush-sources",
    "inrush-sql",
    "inrush-tune",
];

/// Crates that take the time from `inrush_cluster::clock`, and wait by it.
const WITHOUT_CLOCK: [&str; 9] = [
    "inrush-bake",
    "inrush-cluster",
    "inrush-front",
    "inrush-guard",
    "inrush-kafka",
    "inrush-load",
    "inrush-node",
    "inrush-sources",
    "inrush-sql",
];
/// The clock itself.
const CLOCK: &str = "crates/inrush-cluster/src/clock.rs";
/// Other ways to the time, and to a wait.
const CLOCKS: [&str; 4] = ["Instant::now", "SystemTime::now", "thread::sleep", "tokio::time"];

/// Fails where a rule has more findings than its ceiling, and where the ceiling can be lowered.
fn hold(rule: &str, ceiling: usize, findings: &[String]) {
    let shown = findings.iter().take(150).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(findings.len() <= ceiling, "{rule}: {} findings, at most {ceiling} are allowed:\n{shown}", findings.len());
    assert!(findings.len() == ceiling, "{rule}: only {} findings are left; lower its ceiling to that", findings.len());
}

#[test]
fn comments_are_at_most_100_characters_wide() {
    let mut findings = Vec::new();
    for file in rust_files() {
        for (number, line) in file.comments() {
            if line.chars().count() > COMMENT_WIDTH_MAX {
                findings.push(format!("{}:{number}: {} characters", file.path, line.chars().count()));
            }
        }
    }
    hold("comment width", CEILINGS.comment_width, &findings);
}

#[test]
fn functions_are_at_most_70_lines_long() {
    let mut findings = Vec::new();
    for file in rust_files().iter().filter(|file| !file.is_test()) {
        for (name, number, lines) in file.functions() {
            if lines > FUNCTION_LINES_MAX {
                findings.push(format!("{}:{number}: {name} has {lines} lines", file.path));
            }
        }
    }
    hold("function length", CEILINGS.function_length, &findings);
}

#[test]
fn comments_name_who_acts() {
    let mut findings = Vec::new();
    for file in rust_files() {
        for (number, line) in file.comments() {
            let line = line.to_lowercase();
            for word in BANNED.iter().filter(|word| has_word(&line, word)) {
                findings.push(format!("{}:{number}: {word}", file.path));
            }
        }
    }
    hold("banned words", CEILINGS.banned_words, &findings);
}

#[test]
fn libraries_name_options_and_no_flags() {
    let mut findings = Vec::new();
    for file in rust_files().iter().filter(|file| !file.is_test() && LIBRARIES.contains(&file.crate_name())) {
        for (number, text) in file.strings() {
            if has_flag(&text) && !COMMANDS.iter().any(|command| text.contains(command)) {
                findings.push(format!("{}:{number}: {text}", file.path));
            }
        }
    }
    hold("flags in libraries", CEILINGS.flags, &findings);
}

#[test]
fn every_file_is_a_module() {
    let mut findings = Vec::new();
    let files = rust_files();
    let declared: BTreeMap<&str, &Rust> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    for file in files.iter().filter(|file| file.path.contains("/src/") && !file.is_root()) {
        let parents = file.parents();
        let name = file.module_name();
        let is_declared = parents.iter().any(|parent| declared.get(parent.as_str()).is_some_and(|p| p.declares(name)));
        if !is_declared {
            findings.push(format!("{}: no `mod {name};` in {}", file.path, parents.join(" or ")));
        }
    }
    hold("dead files", 0, &findings);
}

#[test]
fn modules_do_not_import_each_other() {
    let mut findings = Vec::new();
    let mut crates: BTreeMap<&str, Vec<&Rust>> = BTreeMap::new();
    let files = rust_files();
    for file in files.iter().filter(|file| file.path.contains("/src/") && !file.is_test()) {
        crates.entry(file.crate_name()).or_default().push(file);
    }
    for (name, files) in crates {
        findings.extend(cycles::modules_in_circles(&files).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    hold("modules that import each other", CEILINGS.cycles, &findings);
}

/// A paused clock is paused for all of a load or a bake.
#[test]
fn one_module_reads_the_clock() {
    let mut findings = Vec::new();
    let files = rust_files();
    let of_crate = |file: &&Rust| file.path.contains("/src/") && WITHOUT_CLOCK.contains(&file.crate_name());
    for file in files.iter().filter(of_crate).filter(|file| !file.is_test() && file.path != CLOCK) {
        let code = file.code();
        findings.extend(code.lines().filter(|line| has_clock(line)).map(|line| format!("{}: {line}", file.path)));
    }
    hold("clocks beside inrush_cluster::clock", 0, &findings);
}

/// A program can write down each type that it gets, and a type of another project only with a
/// re-export.
#[test]
fn the_public_surface_names_its_types() {
    hold("types of signatures that inrush does not name", CEILINGS.unnamed_types, &surface::unnamed());
}

/// Each name is a promise: the number rises only with a decision.
#[test]
fn the_public_surface_does_not_grow_unnoticed() {
    hold("types of the public surface of inrush", CEILINGS.public_types, &surface::types());
}

/// The findings that are older than their rule.
struct Ceilings {
    comment_width: usize,
    function_length: usize,
    banned_words: usize,
    flags: usize,
    cycles: usize,
    public_types: usize,
    unnamed_types: usize,
}

const CEILINGS: Ceilings = Ceilings {
    comment_width: 0,
    function_length: 0,
    banned_words: 0,
    flags: 0,
    cycles: 41,
    public_types: 189,
    unnamed_types: 3,
};

/// Whether `line` has `word` between characters that are no letters.
fn has_word(line: &str, word: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    line.match_indices(word)
        .any(|(at, _)| !letter(line[..at].chars().next_back()) && !letter(line[at + word.len()..].chars().next()))
}

/// Whether a message names a flag of the command line, as in `--batch-bytes`.
fn has_flag(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + 2..].chars().next();
        before.is_none_or(|c| c != '-' && !c.is_alphanumeric()) && after.is_some_and(|c| c.is_ascii_lowercase())
    })
}

/// Whether a line of code reads a clock of its own, or waits by one.
fn has_clock(line: &str) -> bool {
    CLOCKS.iter().any(|clock| line.contains(clock)) || (line.contains("std::time") && has_word(line, "Instant"))
}

/// The folder of the workspace.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a crate is two folders below the workspace")
}

#[test]
fn words_and_flags_are_found() {
    assert!(has_word("what somebody wants", "somebody") && !has_word("somebodys", "somebody"));
    assert!(has_clock("use std::time::{Duration, Instant};") && has_clock("    tokio::time::sleep(PAUSE).await;"));
    assert!(!has_clock("use std::time::Duration;") && !has_clock("clock::sleep(PAUSE).await; // as an Instant"));
    assert!(has_flag("raise --memory") && !has_flag("a -- b") && !has_flag("a---b"));
}

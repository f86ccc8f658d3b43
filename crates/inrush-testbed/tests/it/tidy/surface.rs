//! The public surface of the crate `inrush`, by the files in `api/` that `scripts/docs.sh` compares
//! with the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::workspace;

/// Crates whose types stand in signatures as they are, and names that `inrush::foreign` re-exports
/// or that stand for a type of the standard library.
const KNOWN_CRATES: [&str; 3] = ["alloc", "core", "std"];
const KNOWN_NAMES: [&str; 6] = ["BoxError", "Bytes", "Method", "Receiver", "RecordBatch", "Value"];

/// Traits that are implemented for types of the surface and are not part of it.
const FRONT_END_TRAITS: [&str; 1] = ["OptionValue"];

/// The names of types and traits that the crate has or re-exports, with their paths.
pub(super) fn types() -> Vec<String> {
    let mut types: Vec<String> = lines("inrush").iter().filter_map(|line| exported(line)).collect();
    types.sort();
    types
}

/// The path of a type that a line of `api/inrush.txt` adds.
fn exported(line: &str) -> Option<String> {
    let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
    let path = ["pub use ", "pub struct ", "pub enum ", "pub trait ", "pub type "]
        .iter()
        .find_map(|kind| line.strip_prefix(kind))?;
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
    let path = &path[..end];
    path.rsplit("::").next().is_some_and(is_type).then(|| path.to_owned())
}

fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Types in the signatures, fields and variants of the surface that the surface does not name.
pub(super) fn unnamed() -> Vec<String> {
    let exports = exports();
    let named: BTreeSet<&str> = exports.iter().map(|(name, _)| name.as_str()).collect();
    let own: BTreeSet<String> =
        types().iter().filter_map(|path| path.rsplit("::").next().map(ToOwned::to_owned)).collect();
    let is_known = |root: &str, name: &str| match root {
        _ if KNOWN_CRATES.contains(&root) || KNOWN_NAMES.contains(&name) => true,
        _ => named.contains(name) || own.contains(name),
    };
    let mut found = BTreeMap::new();
    let crates: BTreeSet<&String> = exports.iter().map(|(_, of)| of).collect();
    let lines: BTreeMap<&String, Vec<String>> = crates.into_iter().map(|name| (name, lines(name))).collect();
    for (name, of) in &exports {
        for line in members(&lines[of], name) {
            for (root, other) in paths(&line) {
                if !is_known(&root, &other) {
                    found.insert(format!("{root}::…::{other}"), line.clone());
                }
            }
        }
    }
    found.into_iter().map(|(name, line)| format!("{name} in {line}")).collect()
}

/// The lines of a type and of its methods, fields and variants.
fn members(lines: &[String], name: &str) -> Vec<String> {
    let mut is_front_end = false;
    let mut found = Vec::new();
    for line in lines {
        if line.starts_with("impl") {
            is_front_end = FRONT_END_TRAITS.iter().any(|name| line.contains(&format!("::{name} for ")));
            continue;
        }
        if is_type_line(line) {
            is_front_end = false;
        }
        let head = line.split(['(', ' ']).find(|word| word.starts_with("inrush")).unwrap_or_default();
        let head: Vec<&str> = head.trim_end_matches(':').split("::").collect();
        // Not a variant of this name, which has the name of its enum before it.
        let is_member = head.iter().find(|part| is_type(part)).is_some_and(|part| *part == name);
        if is_member && !is_front_end && !line.starts_with("pub use") {
            found.push(line.clone());
        }
    }
    found
}

fn is_type_line(line: &str) -> bool {
    ["struct ", "enum ", "trait ", "mod ", "union "].iter().any(|kind| line.contains(&format!("pub {kind}")))
}

/// The crate and the last name of each path of a type in a line, after the name of the item itself.
fn paths(line: &str) -> Vec<(String, String)> {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    words
        .map(|word| word.trim_end_matches(':'))
        .filter(|word| word.contains("::"))
        .filter_map(|word| {
            let mut parts = word.split("::").filter(|part| !part.is_empty());
            let root = parts.next()?.to_owned();
            // A path may go on with a variant or a method: the first type in it counts.
            let name = parts.find(|part| is_type(part))?.to_owned();
            Some((root, name))
        })
        .collect()
}

/// The names that `inrush` re-exports from other crates of the workspace, each with its crate.
fn exports() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in ["lib.rs", "cluster.rs", "doctor.rs", "verify.rs"] {
        let path = workspace().join("crates/inrush/src").join(file);
        let text = fs::read_to_string(&path).expect("the sources of the crate can be read");
        for tree in text.split("pub use inrush_").skip(1) {
            let tree = tree.split(';').next().unwrap_or_default();
            let (of, names) = tree.split_once("::").unwrap_or((tree, ""));
            let names = names.rsplit_once('{').map_or(names, |(_, names)| names);
            let names = names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| is_type(name));
            found.extend(names.map(|name| (name.to_owned(), format!("inrush-{}", of.replace('_', "-")))));
        }
    }
    found
}

fn lines(name: &str) -> Vec<String> {
    let path = workspace().join("api").join(format!("{name}.txt"));
    let text = fs::read_to_string(&path).expect("scripts/docs.sh write has written the public surface");
    text.lines().map(ToOwned::to_owned).collect()
}

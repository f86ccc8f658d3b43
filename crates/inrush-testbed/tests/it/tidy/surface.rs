//! The public surface of the crate `inrush`: `api/inrush.txt`, which `scripts/docs.sh` compares
//! with the crates. It has the items of the crate, and those of the types that it re-exports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::workspace;

/// Crates whose types stand in signatures as they are, and names that `inrush::foreign` re-exports
/// or that stand for a type of the standard library.
const KNOWN_CRATES: [&str; 3] = ["alloc", "core", "std"];
const KNOWN_NAMES: [&str; 6] = ["BoxError", "Bytes", "Method", "Receiver", "RecordBatch", "Value"];

/// The names of types and traits that the crate has or re-exports, with their paths.
pub(super) fn types() -> Vec<String> {
    let mut types: Vec<String> = lines().iter().filter_map(|line| exported(line)).collect();
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
    let path = Some(&path[..end]).filter(|path| path.starts_with("inrush::"))?;
    path.rsplit("::").next().is_some_and(is_type).then(|| path.to_owned())
}

fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Types in the signatures, fields and variants of the surface that the surface does not name.
pub(super) fn unnamed() -> Vec<String> {
    let named: BTreeSet<String> =
        types().iter().filter_map(|path| path.rsplit("::").next().map(ToOwned::to_owned)).collect();
    let is_known =
        |root: &str, name: &str| KNOWN_CRATES.contains(&root) || KNOWN_NAMES.contains(&name) || named.contains(name);
    let mut found = BTreeMap::new();
    for line in lines().iter().filter(|line| !line.starts_with("pub use")) {
        for (root, other) in paths(line) {
            if !is_known(&root, &other) {
                found.insert(format!("{root}::…::{other}"), line.clone());
            }
        }
    }
    found.into_iter().map(|(name, line)| format!("{name} in {line}")).collect()
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

fn lines() -> Vec<String> {
    let path = workspace().join("api/inrush.txt");
    let text = fs::read_to_string(&path).expect("scripts/docs.sh write has written the public surface");
    text.lines().map(ToOwned::to_owned).collect()
}

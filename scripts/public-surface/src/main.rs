//! The public items of a crate, a line each, from the JSON that rustdoc writes.
//! `scripts/docs.sh` compares them with `api/`.
//!
//! `public-surface FILE.json SURFACES` also prints the items of the types that the crate
//! re-exports. They are in the surfaces of their crates, which the folder SURFACES has.
#![allow(clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use public_api::Builder;
use rustdoc_types::{Crate, ItemEnum};
use serde::Deserialize;

/// A trait of the front ends: how it is implemented for a type is no promise.
const OF_FRONT_ENDS: &str = "::OptionValue for ";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().context("usage: public-surface FILE.json [SURFACES]")?;
    let surface = Builder::from_rustdoc_json(&file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("{file}: not the JSON of the rustdoc that public-api is made for"))?;
    for item in surface.items() {
        println!("{item}");
    }
    let Some(surfaces) = arguments.next() else { return Ok(()) };
    for (of, types) in re_exported(&file)? {
        let path = Path::new(&surfaces).join(format!("{of}.txt"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for line in items(&text, &types) {
            println!("{line}");
        }
    }
    Ok(())
}

/// The paths of the types of this workspace that a crate re-exports, by their crates.
fn re_exported(file: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let text = fs::read_to_string(file)?;
    let mut json = serde_json::Deserializer::from_str(&text);
    json.disable_recursion_limit();
    let Crate { index, paths, .. } = Crate::deserialize(&mut json)?;
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in index.values() {
        let ItemEnum::Use(re_export) = &item.inner else { continue };
        let Some(path) = re_export.id.and_then(|id| paths.get(&id)).map(|summary| &summary.path) else { continue };
        let [of, .., name] = path.as_slice() else { continue };
        if of.starts_with("inrush_") && is_type(name) {
            types.entry(of.replace('_', "-")).or_default().insert(path.join("::"));
        }
    }
    Ok(types)
}

/// The lines of a surface that are types, or their fields, variants and methods. `types` has the
/// paths at which they are defined.
fn items<'a>(surface: &'a str, types: &BTreeSet<String>) -> Vec<&'a str> {
    let defined: BTreeSet<String> = surface.lines().filter_map(definition).collect();
    let name = |path: &str| path.rsplit("::").next().map(str::to_owned);
    // A type of a private module has only the paths at which it is exported: the shortest counts.
    let public = |path: &String| match defined.contains(path) {
        true => Some(path.clone()),
        false => defined.iter().filter(|other| name(other) == name(path)).min_by_key(|other| other.len()).cloned(),
    };
    let wanted: BTreeSet<String> = types.iter().filter_map(public).collect();
    let mut is_of_front_end = false;
    let mut found: Vec<&str> = Vec::new();
    for line in surface.lines() {
        if line.starts_with("impl") {
            is_of_front_end = line.contains(OF_FRONT_ENDS);
            continue;
        }
        is_of_front_end &= definition(line).is_none();
        let is_wanted = type_of(line).is_some_and(|path| wanted.contains(&path));
        if is_wanted && !is_of_front_end && !line.starts_with("pub use") && !found.contains(&line) {
            found.push(line);
        }
    }
    found
}

/// The path of the type that a line defines.
fn definition(line: &str) -> Option<String> {
    let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub union "];
    let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
    let path = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
    // An associated type has the type before it.
    type_of(line).filter(|of| of == &path[..end])
}

/// The path of the type that a line is about.
fn type_of(line: &str) -> Option<String> {
    let word = line.split(['(', ' ']).find(|word| word.starts_with("inrush"))?;
    let parts: Vec<&str> = word.split("::").collect();
    let at = parts.iter().position(|part| is_type(part.split('<').next().unwrap_or_default()))?;
    let last = parts[at].split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    Some(parts[..at].iter().copied().chain([last]).collect::<Vec<_>>().join("::"))
}

fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

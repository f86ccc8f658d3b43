//! Cycles between the modules of a crate, by the paths that begin with `crate::`.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Rust;

/// Groups of top-level modules that import each other, each in the order of their names.
pub(super) fn between_top_modules(files: &[&Rust]) -> Vec<Vec<String>> {
    let names: BTreeSet<String> = files.iter().filter_map(|file| top(file)).collect();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let Some(from) = top(file) else { continue };
        let used = used(&file.code());
        let used = used.into_iter().filter(|to| *to != from && names.contains(to));
        imports.entry(from.clone()).or_default().extend(used);
    }
    let reach: BTreeMap<&String, BTreeSet<String>> =
        names.iter().map(|name| (name, reachable(name, &imports))).collect();
    let mut cycles = BTreeSet::new();
    for name in &names {
        let group: Vec<String> =
            names.iter().filter(|other| reach[name].contains(*other) && reach[other].contains(name)).cloned().collect();
        if !group.is_empty() {
            cycles.insert(group);
        }
    }
    cycles.into_iter().collect()
}

/// The top-level module that a file belongs to; none for the root of the crate.
fn top(file: &Rust) -> Option<String> {
    let parts = file.below_src();
    let first = parts.first()?.trim_end_matches(".rs");
    (!matches!(first, "lib" | "main")).then(|| first.to_owned())
}

/// The first names of all paths that begin with `crate::`.
fn used(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => found.extend(name(rest)),
            Some(group) => {
                let (mut depth, mut begins) = (0, true);
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => begins = true,
                        c if begins && !c.is_whitespace() => {
                            begins = false;
                            found.extend(name(&group[at..]));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

fn name(path: &str) -> Option<String> {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    (end > 0).then(|| path[..end].to_owned())
}

fn reachable(from: &str, imports: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(name) = next.pop() {
        for to in imports.get(&name).into_iter().flatten() {
            if found.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    found
}

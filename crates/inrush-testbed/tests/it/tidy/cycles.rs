//! Circles of modules of a crate, by the paths that begin with `crate`, `self` or `super`. A module
//! is a file or a folder at the top of the crate, or one below it: `fields`, `fields/document`.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Rust;

/// How deep a module can be. What is below it belongs to it.
const LEVELS: usize = 2;

/// A path of names, such as that of a module below the root of its crate.
type Names = Vec<String>;

/// Each module that imports itself by way of others, with those of its circle.
pub(super) fn modules_in_circles(files: &[&Rust]) -> Vec<String> {
    let code: Vec<(Names, String)> = files.iter().map(|file| (module(&file.below_src()), file.code())).collect();
    circles(&imports(&code)).into_iter().map(|circle| circle.join(" -> ")).collect()
}

/// For each module those that it imports.
fn imports(files: &[(Names, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let known: BTreeSet<&[String]> = files.iter().map(|(module, _)| module.as_slice()).collect();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, code) in files {
        let here = name(from);
        let found = paths(from, code);
        let to =
            found.iter().filter_map(|path| (0..=path.len()).rev().map(|end| &path[..end]).find(|p| known.contains(p)));
        let to = to.map(name).filter(|to| !to.is_empty() && *to != here);
        if !here.is_empty() {
            imports.entry(here.clone()).or_default().extend(to);
        }
    }
    imports
}

/// For each module that is in a circle: its name, and then the others of the circle.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<Names> {
    let reach: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|name| (name, reachable(name, imports))).collect();
    let is_between = |one: &String, other: &String| {
        let reaches = |from, to: &String| reach.get(from).is_some_and(|reach| reach.contains(to));
        reaches(one, other) && reaches(other, one)
    };
    let circle = |name: &String| -> Names {
        let others = imports.keys().filter(|other| *other != name && is_between(name, other));
        std::iter::once(name).chain(others).cloned().collect()
    };
    imports.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

/// The path of the module that a file is.
fn module(below_src: &[&str]) -> Names {
    let names = below_src.iter().map(|part| part.trim_end_matches(".rs"));
    let mut names: Names = names.map(str::to_owned).collect();
    if names.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// The name of the module that stands for this one: the root has none.
fn name(module: &[String]) -> String {
    module[..module.len().min(LEVELS)].join("/")
}

/// What the code of a module names below the root of its crate.
fn paths(module: &[String], code: &str) -> Vec<Names> {
    let mut found = Vec::new();
    for word in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(word) {
            let before = code[..at].chars().next_back();
            let is_end = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
            // The end of a longer path or of another name, or the reach of a `pub`.
            if is_end || code[..at].ends_with("(in ") {
                continue;
            }
            let (mut base, mut rest) = match word {
                "crate::" => (Names::new(), &code[at + word.len()..]),
                _ => (module.to_vec(), &code[at..]),
            };
            rest = rest.strip_prefix("self::").unwrap_or(rest);
            while let Some(above) = rest.strip_prefix("super::") {
                base.pop();
                rest = above;
            }
            below(base, &mut rest, &mut found);
        }
    }
    found
}

/// The paths of a tree of names after `base`, as in `a::{b, c::D}`. `rest` is behind it afterwards.
fn below(mut base: Names, rest: &mut &str, found: &mut Vec<Names>) {
    loop {
        *rest = rest.trim_start();
        if let Some(group) = rest.strip_prefix('{') {
            *rest = group;
            while !rest.is_empty() {
                below(base.clone(), rest, found);
                *rest = rest.trim_start();
                let Some(next) = rest.strip_prefix(',') else { break };
                *rest = next;
                if rest.trim_start().starts_with('}') {
                    break;
                }
            }
            *rest = rest.trim_start();
            *rest = rest.strip_prefix('}').unwrap_or(rest);
            return;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 {
            base.push(rest[..end].to_owned());
        }
        *rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(further) => *rest = further,
            None => break,
        }
    }
    // A name after `as` is another one of the same thing.
    let end = rest.find([',', '}', ';', '\n', '(', ')']).unwrap_or(rest.len());
    *rest = &rest[end..];
    found.push(base);
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

#[test]
fn circles_are_seen_by_any_path_and_below_the_top() {
    let found = |files: &[(&str, &str)]| {
        let file = |(path, code): &(&str, &str)| (module(&path.split('/').collect::<Vec<_>>()), (*code).to_owned());
        circles(&imports(&files.iter().map(file).collect::<Vec<_>>()))
    };
    let none: [Names; 0] = [];
    let both = |one: &str, other: &str| [[one, other], [other, one]].map(|circle| circle.map(str::to_owned).to_vec());
    assert_eq!(found(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "")]), none);
    // Each way of writing it, at the top and below.
    for back in ["use crate::a::A;", "use super::a::A;", "use super::{a::A, c};", "fn f() { super::a::f() }"] {
        let files = [("a.rs", "use super::b::{self, B as C};"), ("b.rs", back), ("c.rs", "")];
        assert_eq!(found(&files), both("a", "b"), "{back}");
    }
    let files =
        [("a/mod.rs", "mod b; mod c;"), ("a/b.rs", "use super::c::C;"), ("a/c.rs", "use crate::{a::{b::{B}}};")];
    assert_eq!(found(&files), both("a/b", "a/c"));
    // What is deeper belongs to the module above it.
    let files = [("a/b.rs", "use super::c::C;"), ("a/c/mod.rs", ""), ("a/c/d.rs", "use super::super::b::B;")];
    assert_eq!(found(&files), both("a/b", "a/c"));
    // The root of a crate, and a module itself, are in no circle; other words are no paths.
    let files =
        [("lib.rs", "use a::A;"), ("a.rs", "use super::B; use self::c; my_crate::a::b(); x::super::a"), ("b.rs", "")];
    assert_eq!(found(&files), none);
}

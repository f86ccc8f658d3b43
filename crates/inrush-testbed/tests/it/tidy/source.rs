//! Rust files as the rules look at them: lines, comments, strings, functions.

use std::fs;
use std::path::{Path, PathBuf};

use super::workspace;

/// A Rust file of the workspace.
pub(super) struct Rust {
    /// Below the workspace, with `/`.
    pub(super) path: String,
    text: String,
    /// The line from which on there are tests only, from 0.
    tests_from: usize,
}

/// All Rust files of the workspace.
pub(super) fn rust_files() -> Vec<Rust> {
    let mut paths = Vec::new();
    for folder in ["crates", "python/src", "fuzz/fuzz_targets"] {
        collect(&workspace().join(folder), &mut paths);
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a file of the workspace can be read");
        let path = path.strip_prefix(workspace()).expect("it is below the workspace").to_str().expect("it has a name");
        let lines: Vec<&str> = text.lines().collect();
        let is_module = |line: &str| line.starts_with("mod ") || line.starts_with("pub(super) mod tests");
        let tests = lines.windows(2).position(|two| two[0] == "#[cfg(test)]" && is_module(two[1]));
        let tests_from = tests.filter(|_| !text.contains("\n#[cfg(test)]\nmod tests;")).unwrap_or(lines.len());
        Rust { path: path.to_owned(), tests_from, text: text.clone() }
    };
    paths.into_iter().map(read).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace can be read") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

impl Rust {
    /// The name of its crate's folder.
    pub(super) fn crate_name(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            other => other.unwrap_or_default(),
        }
    }

    /// Whether the whole file is for tests.
    pub(super) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs") || self.path.contains("/examples/")
    }

    /// Whether a crate begins here.
    pub(super) fn is_root(&self) -> bool {
        self.path.ends_with("src/lib.rs") || self.path.ends_with("src/main.rs")
    }

    /// The parts of its path below `src`.
    pub(super) fn below_src(&self) -> Vec<&str> {
        self.path.split_once("/src/").map(|(_, rest)| rest.split('/').collect()).unwrap_or_default()
    }

    /// The name by which its parent declares it.
    pub(super) fn module_name(&self) -> &str {
        let parts = self.below_src();
        match parts.as_slice() {
            [.., folder, "mod.rs"] => folder,
            [.., file] => file.trim_end_matches(".rs"),
            [] => "",
        }
    }

    /// The files that may declare it.
    pub(super) fn parents(&self) -> Vec<String> {
        let file = Path::new(&self.path);
        let is_mod = self.path.ends_with("/mod.rs");
        let folder = if is_mod { file.parent().and_then(Path::parent) } else { file.parent() };
        let folder = folder.and_then(Path::to_str).unwrap_or_default();
        ["lib.rs", "main.rs", "mod.rs"]
            .map(|name| format!("{folder}/{name}"))
            .into_iter()
            .chain([format!("{folder}.rs")])
            .collect()
    }

    /// Whether it has `mod NAME;`.
    pub(super) fn declares(&self, name: &str) -> bool {
        let declaration = format!("mod {name};");
        self.text.lines().any(|line| line.trim_start().trim_start_matches("pub ").ends_with(&declaration))
    }

    /// Its text without the tests at its end, and without comments.
    pub(super) fn code(&self) -> String {
        let lines = self.text.lines().take(self.tests_from);
        lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    }

    /// Whole lines of comments, with their numbers.
    pub(super) fn comments(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate();
        lines.filter(|(_, line)| line.trim_start().starts_with("//")).map(|(at, line)| (at + 1, line))
    }

    /// String literals outside of comments and tests, with the number of the line they begin in.
    pub(super) fn strings(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let (mut open, mut text, mut began): (bool, String, usize) = (false, String::new(), 0);
        for (at, line) in self.text.lines().take(self.tests_from).enumerate() {
            if !open && line.trim_start().starts_with("//") {
                continue;
            }
            let mut characters = line.chars().peekable();
            while let Some(c) = characters.next() {
                match (open, c) {
                    (true, '\\') => {
                        characters.next();
                    }
                    (true, '"') => {
                        found.push((began, std::mem::take(&mut text)));
                        open = false;
                    }
                    (true, c) => text.push(c),
                    (false, '"') => (open, began) = (true, at + 1),
                    (false, '\'') if characters.peek() == Some(&'"') => {
                        characters.next();
                    }
                    (false, '/') if characters.peek() == Some(&'/') => break,
                    (false, _) => {}
                }
            }
        }
        found
    }

    /// Functions outside of the tests at the end: name, line and length in lines.
    pub(super) fn functions(&self) -> Vec<(String, usize, usize)> {
        let lines: Vec<&str> = self.text.lines().take(self.tests_from).collect();
        let mut found = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            if code.starts_with("//") || !(code.starts_with("fn ") || code.contains(" fn ")) || code.ends_with(';') {
                continue;
            }
            let indent = &line[..line.len() - code.len()];
            let end = lines[at..].iter().position(|line| line.strip_prefix(indent) == Some("}"));
            let name = code.split("fn ").nth(1).unwrap_or_default();
            let name = name.split(['(', '<']).next().unwrap_or_default();
            if let Some(length) = end {
                found.push((name.to_owned(), at + 1, length + 1));
            }
        }
        found
    }
}

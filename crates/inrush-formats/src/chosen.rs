//! Which files of folders, archives and patterns are read, by their names.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use glob::{MatchOptions, Pattern};

/// `*` and `?` stand for characters of one name.
const RULES: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// A glob for files, or for folders with all that is in them.
#[derive(Clone, PartialEq, Eq)]
pub struct NamePattern {
    text: String,
    /// Matches the thing itself, and what is in it.
    forms: [Pattern; 2],
    /// It is for names at the top of a folder or archive.
    is_at_top: bool,
}

impl FromStr for NamePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at_top = text.strip_prefix('/').or_else(|| text.strip_prefix("./"));
        let name = at_top.unwrap_or(text).trim_matches('/');
        if name.is_empty() {
            return Err("expected a glob for names of files, as in *.csv or 2024/*.csv".to_owned());
        }
        if name.starts_with('!') {
            return Err("`!` has no meaning here; option `exclude` leaves files out".to_owned());
        }
        if name.contains('{') && !name.contains("[{]") {
            return Err("`{…}` is no list here; give each name as a glob of its own, as in *.csv,*.json".to_owned());
        }
        let pattern = |text: &str| Pattern::new(text).map_err(|e| format!("{} at character {}", e.msg, e.pos));
        pattern(name)?;
        let anywhere = if at_top.is_some() { "" } else { "**/" };
        let forms = [pattern(&format!("{anywhere}{name}"))?, pattern(&format!("{anywhere}{name}/**"))?];
        Ok(NamePattern { text: text.to_owned(), forms, is_at_top: at_top.is_some() })
    }
}

impl fmt::Debug for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl NamePattern {
    fn matches(&self, name: &Name<'_>) -> bool {
        let is = |path: &str| self.forms.iter().any(|form| form.matches_with(path, RULES));
        is(&name.path) || self.is_at_top && name.member.is_some_and(is)
    }
}

/// The files that the user chose.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Only files that one of these matches are read. Empty: all.
    pub include: Vec<NamePattern>,
    /// Files that one of these matches are not read.
    pub exclude: Vec<NamePattern>,
}

/// A path below a folder or pattern, in which an archive is a folder.
struct Name<'a> {
    path: Cow<'a, str>,
    /// The path in the archive.
    member: Option<&'a str>,
}

/// Looks at files, and remembers which patterns matched one.
#[derive(Debug)]
pub struct Choice {
    chosen: Chosen,
    included: Vec<AtomicBool>,
    excluded: Vec<AtomicBool>,
    left_out: AtomicUsize,
}

impl Choice {
    /// Before any file was seen.
    pub fn new(chosen: Chosen) -> Self {
        let unmatched = |patterns: &[NamePattern]| patterns.iter().map(|_| AtomicBool::new(false)).collect();
        let (included, excluded) = (unmatched(&chosen.include), unmatched(&chosen.exclude));
        Choice { chosen, included, excluded, left_out: AtomicUsize::new(0) }
    }

    /// Whether this file is read. `below` is its path below the folder, bucket or pattern that the
    /// user named, or its own name where the user named the file.
    pub fn takes(&self, below: &str) -> bool {
        self.takes_name(&Name { path: below.into(), member: None })
    }

    /// Whether this member of the archive `below` is read. Empty: the archive has no name.
    pub fn takes_member(&self, below: &str, member: &str) -> bool {
        let path = if below.is_empty() { member.into() } else { format!("{below}/{member}").into() };
        self.takes_name(&Name { path, member: Some(member) })
    }

    fn takes_name(&self, name: &Name<'_>) -> bool {
        // Each pattern is tried, so that one that matches nothing is found out.
        let is_included = any(&self.chosen.include, &self.included, name) || self.chosen.include.is_empty();
        let is_excluded = any(&self.chosen.exclude, &self.excluded, name);
        let takes = is_included && !is_excluded;
        if !takes {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        takes
    }

    /// Whether nothing in this folder or archive is read, so that it need not be opened.
    pub fn leaves_out_all_of(&self, below: &str) -> bool {
        let leaves_out = any(&self.chosen.exclude, &self.excluded, &Name { path: below.into(), member: None });
        if leaves_out {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        leaves_out
    }

    /// Files, folders and archives that were left out so far.
    pub fn left_out(&self) -> usize {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Whether files were chosen by their names.
    pub fn is_by_include(&self) -> bool {
        !self.chosen.include.is_empty()
    }

    /// The patterns that matched nothing, each with the name of its option.
    pub fn unmatched(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let included = self.chosen.include.iter().zip(&self.included).map(|pair| ("include", pair));
        let excluded = self.chosen.exclude.iter().zip(&self.excluded).map(|pair| ("exclude", pair));
        included
            .chain(excluded)
            .filter(|(_, (_, matched))| !matched.load(Ordering::Relaxed))
            .map(|(option, (pattern, _))| (option, pattern.text.as_str()))
    }
}

fn any(patterns: &[NamePattern], matched: &[AtomicBool], name: &Name<'_>) -> bool {
    let mut is_any = false;
    for (pattern, matched) in patterns.iter().zip(matched) {
        if pattern.matches(name) {
            matched.store(true, Ordering::Relaxed);
            is_any = true;
        }
    }
    is_any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::pattern_for;

    fn patterns(texts: &[&str]) -> Vec<NamePattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// Of `names` those that are read.
    fn taken<'a>(include: &[&str], exclude: &[&str], names: &[&'a str]) -> Vec<&'a str> {
        let choice = Choice::new(Chosen { include: patterns(include), exclude: patterns(exclude) });
        let taken: Vec<_> = names.iter().copied().filter(|name| choice.takes(name)).collect();
        assert_eq!(choice.left_out(), names.len() - taken.len());
        taken
    }

    #[test]
    fn names_are_matched_at_any_depth_and_folders_with_all_that_they_have() {
        let names = ["a.csv", "b.md", "2024/a.csv", "2024/old/c.csv", "old/2024/d.json"];
        assert_eq!(taken(&["*.csv"], &[], &names), ["a.csv", "2024/a.csv", "2024/old/c.csv"]);
        assert_eq!(taken(&["2024/*.csv"], &[], &names), ["2024/a.csv"]);
        assert_eq!(taken(&["2024"], &["old"], &names), ["2024/a.csv"]);
        assert_eq!(taken(&["/2024"], &[], &names), ["2024/a.csv", "2024/old/c.csv"]);
        assert_eq!(taken(&["./2024/"], &["c.*"], &names), ["2024/a.csv"]);
        assert_eq!(taken(&["2024/**"], &["*.csv"], &names), ["old/2024/d.json"]);
        assert_eq!(taken(&["**/?.csv", "*.md"], &["2024"], &names), ["a.csv", "b.md"]);
        assert_eq!(taken(&[], &["[ab].*"], &names), ["2024/old/c.csv", "old/2024/d.json"]);
        assert_eq!(taken(&[], &[], &names), names);
        assert_eq!(taken(&["csv"], &[], &names), [""; 0]);
    }

    #[test]
    fn an_archive_is_a_folder_and_has_a_top_of_its_own() {
        let choice = |include: &[&str]| Choice::new(Chosen { include: patterns(include), exclude: Vec::new() });
        for (pattern, expected) in
            [("*.csv", true), ("x.zip", true), ("sub/*.csv", true), ("/sub", true), ("/a.csv", false), ("b", false)]
        {
            assert_eq!(choice(&[pattern]).takes_member("day/x.zip", "sub/a.csv"), expected, "{pattern}");
        }
        let choice = Choice::new(Chosen { include: Vec::new(), exclude: patterns(&["*.zip", "*.md"]) });
        assert!(choice.leaves_out_all_of("day/x.zip") && !choice.leaves_out_all_of("day"));
        assert_eq!(choice.unmatched().collect::<Vec<_>>(), [("exclude", "*.md")]);
    }

    #[test]
    fn patterns_that_cannot_be_meant_are_refused() {
        for (text, expected) in [
            ("", "expected a glob"),
            ("/", "expected a glob"),
            ("!*.md", "option `exclude`"),
            ("*.{csv,json}", "*.csv,*.json"),
            ("a[", "at character 1"),
            ("a**", "at character"),
        ] {
            let problem = text.parse::<NamePattern>().unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        assert!("[{]a}".parse::<NamePattern>().is_ok());
    }

    #[test]
    fn the_pattern_for_a_file_leaves_it_out_and_no_data() {
        for (path, expected) in [
            ("d/README.md", "*.md"),
            ("d/inrush-dead-letters-7f3a.ndjson", "inrush-dead-letters-*"),
            ("LICENSE", "LICENSE"),
            ("README.txt", "README.txt"),
            ("pic.csv", "pic.csv"),
            ("a.bin.gz", "a.bin.gz"),
            ("a,b[1]{x}", "a?b[[]1[]]?x}"),
            ("v1.2 notes", "v1.2 notes"),
            ("it's|a`b", "it?s?a?b"),
        ] {
            let pattern = pattern_for(path);
            assert_eq!(pattern, expected);
            assert_eq!(taken(&[], &[&pattern], &[path, "data.csv"]), ["data.csv"]);
        }
    }
}

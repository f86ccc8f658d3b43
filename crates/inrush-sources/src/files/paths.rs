//! The files of a path: a file, a folder, or a glob pattern.

use inrush_core::Code;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use inrush_formats::Warnings;
use inrush_formats::chosen::Choice;

use super::steady::Noted;
use crate::SourceError;

/// Characters of a glob pattern.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// A path for messages and records. Bytes that are not UTF-8 appear as `\xFF`, so that two names
/// never look the same.
pub fn shown(path: &Path) -> String {
    path.as_os_str().as_encoded_bytes().utf8_chunks().fold(String::new(), |mut name, chunk| {
        name.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // A write to a text never fails.
            let _ = write!(name, "\\x{byte:02X}");
        }
        name
    })
}

/// The files of an argument.
pub(crate) struct Expanded {
    pub(crate) paths: Vec<PathBuf>,
    /// The folder in which they were looked for.
    base: PathBuf,
    /// They were found there, and the user did not name each.
    pub(crate) is_listed: bool,
}

impl Expanded {
    /// The path below the folder or pattern, by which a file is chosen.
    pub(crate) fn below(&self, path: &Path) -> String {
        // A pattern may begin with `./`, and the paths that it matches do not.
        let without = self.base.strip_prefix(".").unwrap_or(&self.base);
        shown(path.strip_prefix(&self.base).or_else(|_| path.strip_prefix(without)).unwrap_or(path))
    }
}

/// The files of a path. Pipes, sockets and devices are read only where the user names them. A
/// folder or pattern skips them with a warning. A folder that `choice` leaves out is not opened.
pub(crate) fn expand(path: &Path, choice: &Choice, warnings: &Warnings) -> Result<Expanded, SourceError> {
    let is_pattern = |text: &&str| text.contains(WILDCARDS) && path.symlink_metadata().is_err();
    match path.to_str().filter(is_pattern) {
        // A file with this exact name takes precedence over the pattern.
        Some(pattern) => Ok(Expanded { paths: matching(pattern, warnings)?, base: literal(pattern), is_listed: true }),
        None if path.is_dir() => {
            Ok(Expanded { paths: folder(path, choice, warnings)?, base: path.to_owned(), is_listed: true })
        }
        None => {
            let base = path.parent().unwrap_or(Path::new("")).to_owned();
            Ok(Expanded { paths: vec![path.to_owned()], base, is_listed: false })
        }
    }
}

/// The files that match a pattern.
fn matching(pattern: &str, warnings: &Warnings) -> Result<Vec<PathBuf>, SourceError> {
    let matches = glob::glob(pattern).map_err(|e| {
        SourceError::new(pattern, format!("is not a valid glob pattern: {} at character {}", e.msg, e.pos))
            .coded(Code::BadOptionValue)
    })?;
    let mut paths = Vec::new();
    for found in matches {
        let found = found.map_err(|e| {
            let name = e.path().display().to_string();
            SourceError::io(name, "cannot be listed", e.into())
        })?;
        // A pattern such as `dir/*` does not match directories.
        if !found.is_dir() && is_file(&found, warnings) {
            paths.push(found);
        }
    }
    paths.extend(not_utf8(pattern).into_iter().filter(|path| is_file(path, warnings)));
    if paths.is_empty() {
        return Err(SourceError::new(pattern, "matches no file").coded(Code::NoSuchFile));
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn is_literal(part: &Component<'_>) -> bool {
    !part.as_os_str().to_string_lossy().contains(WILDCARDS)
}

/// The folder in which the files of a pattern are.
fn literal(pattern: &str) -> PathBuf {
    Path::new(pattern).components().take_while(is_literal).collect()
}

/// Files that match the pattern and whose paths are not UTF-8. `glob` skips them.
fn not_utf8(pattern: &str) -> Vec<PathBuf> {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let Ok(matcher) = Pattern::new(pattern) else { return Vec::new() };
    let base = literal(pattern);
    let levels = match pattern.contains("**") {
        true => usize::MAX,
        false => Path::new(pattern).components().skip_while(is_literal).count(),
    };
    let mut found = Vec::new();
    let mut folders = vec![(base, 1)];
    while let Some((folder, level)) = folders.pop() {
        let place = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        // `glob` reports folders that cannot be listed.
        for entry in place.read_dir().into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if level < levels {
                    folders.push((path, level + 1));
                }
            } else if path.to_str().is_none() && matcher.matches_with(&path.to_string_lossy(), options) {
                found.push(path);
            }
        }
    }
    found
}

/// Whether the path is a regular file, or cannot be examined. Opening the file reports the error
/// then.
fn is_file(path: &Path, warnings: &Warnings) -> bool {
    let file = path.metadata().map_or(true, |meta| meta.is_file());
    if !file {
        warnings.add(&shown(path), "no_file", "", 1, || {
            "is a pipe, socket or device, and was skipped; name it in an argument of its own to load it".to_owned()
        });
    }
    file
}

/// The files of a folder and its subfolders, sorted by path. Names that begin with `.` or `_` are
/// skipped, because they are not data, such as `_SUCCESS`.
fn folder(top: &Path, choice: &Choice, warnings: &Warnings) -> Result<Vec<PathBuf>, SourceError> {
    let left_out = choice.left_out();
    let is_left_out = |path: &Path| choice.leaves_out_all_of(&shown(path.strip_prefix(top).unwrap_or(path)));
    let mut paths = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |e| SourceError::io(folder.display().to_string(), "cannot be listed", e);
        for entry in folder.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let hidden = path.file_name().is_some_and(|name| {
                name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_")
            });
            // A link to a folder is not followed, because it may form a cycle.
            if hidden || path.is_dir() && path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                if !is_left_out(&path) {
                    folders.push(path);
                }
            } else if is_file(&path, warnings) {
                paths.push(path);
            }
        }
    }
    if paths.is_empty() && choice.left_out() == left_out {
        return Err(SourceError::new(shown(top), "is a folder without files").coded(Code::NoSuchFile));
    }
    paths.sort();
    Ok(paths)
}

/// State of a regular file. `None` for a pipe or a device.
pub(crate) fn noted(path: &Path) -> Result<Option<Noted>, SourceError> {
    let meta = path.metadata().map_err(|e| SourceError::io(shown(path), "cannot be opened", e))?;
    Ok(Noted::of(&meta))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use inrush_formats::chosen::Chosen;

    use super::*;

    #[test]
    fn names_that_are_no_utf_8_are_shown_apart_and_found_by_patterns() {
        let name = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
        assert_eq!(shown(name(b"a/\xFFb\xC3\xA9")), "a/\\xFFb\u{e9}");
        assert_ne!(shown(name(b"\xFF")), shown(name(b"\xFE")));
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("deep").join(name(b"\xFE"));
        std::fs::create_dir_all(&deep).unwrap();
        let paths = [folder.path().join(name(b"\xFF.log")), folder.path().join("a.log"), deep.join("c.log")];
        for path in paths.iter().chain([&folder.path().join(name(b"\xFF.txt"))]) {
            std::fs::write(path, "").unwrap();
        }
        let choice = Choice::new(Chosen::default());
        let expand = |pattern: &str| expand(&folder.path().join(pattern), &choice, &Warnings::default()).unwrap().paths;
        assert_eq!(expand("*.log"), [&paths[1], &paths[0]].map(Clone::clone));
        assert_eq!(expand("**/*.log"), [&paths[1], &paths[2], &paths[0]].map(Clone::clone));
        assert_eq!(expand("*/*/c.log"), [paths[2].clone()]);
    }
}

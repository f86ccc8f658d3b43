//! What paths stand for: files, folders, glob patterns.

use std::path::{Path, PathBuf};

use super::SourceError;

/// The files a path stands for.
pub(super) fn expand(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let pattern = match path.to_str() {
        // What exists under this very name is meant, whatever characters are in it.
        Some(pattern) if pattern.contains(['*', '?', '[']) && path.symlink_metadata().is_err() => pattern,
        _ if path.is_dir() => return folder(path),
        _ => return Ok(vec![path.to_owned()]),
    };
    let matches = glob::glob(pattern).map_err(|e| {
        SourceError::new(pattern, format!("is no valid glob pattern: {} at character {}", e.msg, e.pos))
    })?;
    let mut paths = Vec::new();
    for found in matches {
        let found = found.map_err(|e| {
            let name = e.path().display().to_string();
            SourceError::io(name, "cannot be looked into", e.into())
        })?;
        // Directories are not meant by `dir/*`.
        if !found.is_dir() {
            paths.push(found);
        }
    }
    if paths.is_empty() {
        return Err(SourceError::new(pattern, "matches no file"));
    }
    paths.sort();
    Ok(paths)
}

/// The files of a folder and of those in it, in the order of their paths. Names that begin with `.` or `_` are left
/// out: those of what is not data, such as `_SUCCESS`.
fn folder(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let name = || path.display().to_string();
    let mut paths = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |e| SourceError::io(folder.display().to_string(), "cannot be looked into", e);
        for entry in folder.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let hidden = path.file_name().is_some_and(|name| {
                name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_")
            });
            // A link to a folder is not followed: it may lead around in a circle.
            if hidden || path.is_dir() && path.is_symlink() {
                continue;
            }
            if path.is_dir() { folders.push(path) } else { paths.push(path) }
        }
    }
    if paths.is_empty() {
        return Err(SourceError::new(name(), "is a folder without files"));
    }
    paths.sort();
    Ok(paths)
}

/// The size, where the path is a regular file.
pub(super) fn file_len(path: &Path) -> Result<Option<u64>, SourceError> {
    let name = || path.display().to_string();
    let meta = path.metadata().map_err(|e| SourceError::io(name(), "cannot be opened", e))?;
    Ok(meta.is_file().then_some(meta.len()))
}

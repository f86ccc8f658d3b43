//! The folders of a bake without a builder.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::context::Context;
use super::super::state::Saved;

/// The place in the repository for the index without documents.
pub(super) const EMPTY: &str = "empty";
/// The place for the index that the target restores.
pub(super) const WHOLE: &str = "whole";

/// The folders of a bake: below the one that both sides reach, or on this machine if the repository
/// is in an object store.
pub(super) struct Folders {
    /// The repository to which the target writes the index without documents, if it is a folder.
    pub(super) empty: PathBuf,
    /// A copy of it. The next two are made of this one, however often.
    pub(super) form: PathBuf,
    /// Where the files of the shards grow.
    pub(super) build: PathBuf,
    /// Where they grow if other machines build them.
    pub(super) tasks: PathBuf,
    /// The repository that the target restores, or what is copied into an object store.
    pub(super) whole: PathBuf,
}

impl Folders {
    pub(super) fn of(context: &Context, saved: &Saved) -> Folders {
        let folder = saved.shared.folder.clone().unwrap_or_else(|| context.keep.of_load(&saved.id, 0));
        let within = |name: &str| folder.join(name);
        Folders {
            empty: within(EMPTY),
            form: within("form"),
            build: within("build"),
            tasks: within("tasks"),
            whole: within(WHOLE),
        }
    }
}

/// Makes a folder that only this user can read.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// Deletes a folder with everything in it. It is no error if it is not there.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a folder with everything in it to disk.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync(&entry.path())?,
            false => fs::File::open(entry.path())?.sync_all()?,
        }
    }
    fs::File::open(folder)?.sync_all()
}

/// Copies a folder in place of another one.
pub(super) fn copy_over(from: &Path, into: &Path) -> io::Result<()> {
    remove(into)?;
    copy(from, into)
}

fn copy(from: &Path, into: &Path) -> io::Result<()> {
    fs::create_dir_all(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copied) = (entry.path(), into.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&path, &copied)?;
        } else if kind.is_file() {
            fs::copy(path, copied)?;
        } else {
            // A server writes files only; a link may lead anywhere.
            return Err(io::Error::other(format!("{} is no file", path.display())));
        }
    }
    Ok(())
}

/// Lets the target's user read a folder, however strict the process is with new files.
pub(super) fn readable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => readable(&entry.path())?,
            false => fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o644))?,
        }
    }
    Ok(())
}

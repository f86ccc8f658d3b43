//! The folders of a node: owners, contents, and free room.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use super::error::NodeError;
use super::paths::root;

/// Free room that a node needs, MiB: for the unpacked distribution, logs and some data.
const DISK_MIB: u64 = 1024;

/// Refuses a folder with other files and without a node's data: it was hardly meant.
pub(super) fn check_data(folder: &Path) -> Result<(), NodeError> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => true,
        Err(source) => return Err(NodeError::Io { what: format!("cannot read {}", folder.display()), source }),
    };
    // OpenSearch and Elasticsearch 7 keep everything below nodes/0, Elasticsearch 8 in the folder
    // itself. The lock file always stays.
    if is_empty || folder.join("nodes/0/node.lock").is_file() || folder.join("node.lock").is_file() {
        return Ok(());
    }
    Err(NodeError::NotData(folder.to_owned()))
}

/// The files and folders that servers create in their data folder, as far as they exist: `nodes` by
/// OpenSearch and Elasticsearch 7, the others by Elasticsearch 8.
pub(super) fn kept_in(data: &Path) -> impl Iterator<Item = PathBuf> {
    let names = ["nodes", "_state", "indices", "snapshot_cache", "node.lock"];
    names.map(|name| data.join(name)).into_iter().filter(|path| path.symlink_metadata().is_ok())
}

/// Deletes the node's files in its data folder, and the folder itself if nothing else is in it.
pub(super) fn delete_data(data: &Path) -> io::Result<()> {
    for path in kept_in(data) {
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    match fs::remove_dir(data) {
        Err(e) if matches!(e.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound) => Ok(()),
        other => other,
    }
}

pub(super) fn check_disk(folder: &Path) -> Result<(), NodeError> {
    let stat = rustix::fs::statvfs(folder)
        .map_err(|e| NodeError::Io { what: "cannot read the free room of the disk".into(), source: e.into() })?;
    let available_mib = (stat.f_bavail * stat.f_frsize) >> 20;
    if available_mib < DISK_MIB {
        return Err(NodeError::NoDisk { folder: folder.to_owned(), needed_mib: DISK_MIB, available_mib });
    }
    Ok(())
}

/// A user of this machine, who runs servers or gets their files.
#[derive(Debug)]
pub(super) struct User<'a> {
    pub(super) name: &'a str,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl<'a> User<'a> {
    /// The user of this name.
    pub(super) fn named(name: &'a str) -> Result<Self, NodeError> {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let entry = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name);
        let user = entry.and_then(|fields| {
            let (uid, gid) = (fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?);
            Some(User { name, uid, gid })
        });
        user.ok_or_else(|| NodeError::NoUser(name.to_owned()))
    }

    /// The user that runs this program.
    pub(super) fn of_this_program() -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        User { name: "of this program", uid, gid }
    }

    /// Makes them the owner of a file, or of a folder and everything in it.
    pub(super) fn gets(&self, path: &Path) -> Result<(), NodeError> {
        give(path, self.uid, self.gid).map_err(self.cannot_get(path))
    }

    /// Makes them the owner of a folder, but not of its contents.
    pub(super) fn gets_alone(&self, folder: &Path) -> Result<(), NodeError> {
        lchown(folder, Some(self.uid), Some(self.gid)).map_err(self.cannot_get(folder))
    }

    fn cannot_get(&self, path: &Path) -> impl FnOnce(io::Error) -> NodeError {
        NodeError::io(format!("cannot give {} to the user {}", path.display(), self.name))
    }
}

/// Lets every user pass through this program's folders above `folder`, regardless of root's file
/// mode mask.
pub(super) fn open_way(folder: &Path) -> Result<(), NodeError> {
    let root = root();
    folder.ancestors().skip(1).take_while(|above| above.starts_with(&root)).try_for_each(open)
}

/// Lets every user pass through a folder.
pub(super) fn open(folder: &Path) -> Result<(), NodeError> {
    let mode = fs::metadata(folder).map(|metadata| metadata.permissions().mode());
    let open = mode.and_then(|mode| match mode & 0o111 {
        0o111 => Ok(()),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o111)),
    });
    open.map_err(NodeError::io(format!("cannot make {} accessible to the node's user", folder.display())))
}

/// Creates a folder that local nodes can write to and every user can read.
///
/// # Errors
/// [`NodeError::Io`]. Of an existing folder only owner and mode are changed.
pub fn make_writable(folder: &Path) -> Result<(), NodeError> {
    let cannot = || NodeError::io(format!("cannot create {}", folder.display()));
    fs::create_dir_all(folder).map_err(cannot())?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(cannot())?;
    if rustix::process::geteuid().is_root() {
        User::named("nobody")?.gets(folder)?;
    }
    Ok(())
}

/// Changes the owner of a file, or of a folder and everything in it.
fn give(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
    lchown(path, Some(uid), Some(gid))?;
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path)?.try_for_each(|entry| give(&entry?.path(), uid, gid))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_with_other_things_in_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        check_data(&path.join("not there")).unwrap();
        check_data(path).unwrap();
        fs::write(path.join("thesis.odt"), "").unwrap();
        assert!(matches!(check_data(path), Err(NodeError::NotData(_))));
        fs::create_dir_all(path.join("nodes/0")).unwrap();
        fs::write(path.join("nodes/0/node.lock"), "").unwrap();
        check_data(path).unwrap();
    }

    #[test]
    fn only_what_a_node_keeps_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let make = || {
            fs::create_dir_all(data.join("nodes/0")).unwrap();
            fs::write(data.join("nodes/0/node.lock"), "").unwrap();
        };
        make();
        fs::write(data.join("thesis.odt"), "years of work").unwrap();
        delete_data(&data).unwrap();
        assert!(data.join("thesis.odt").is_file() && !data.join("nodes").exists());
        fs::remove_file(data.join("thesis.odt")).unwrap();
        make();
        delete_data(&data).unwrap();
        assert!(!data.exists());
        delete_data(&data).unwrap();
    }

    #[test]
    fn a_user_is_found_by_name() {
        let root = User::named("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert!(matches!(User::named("no such user"), Err(NodeError::NoUser(_))));
    }
}

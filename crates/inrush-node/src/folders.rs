//! The folders of a node: owners, contents, and free room.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::NodeError;
use super::process::root;

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

/// The numeric ids of a user and their group.
pub(super) fn user(name: &str) -> Result<(u32, u32), NodeError> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name);
    let numbers = entry.and_then(|fields| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)));
    numbers.ok_or_else(|| NodeError::NoUser(name.to_owned()))
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
    let open = mode.and_then(|mode| fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o111)));
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
        let (uid, gid) = user("nobody")?;
        give(folder, uid, gid).map_err(cannot())?;
    }
    Ok(())
}

/// Changes the owner of a file, or of a folder and everything in it.
pub(super) fn give(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(path, Some(uid), Some(gid))?;
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
        assert_eq!(user("root").unwrap(), (0, 0));
        assert!(matches!(user("no such user"), Err(NodeError::NoUser(_))));
    }
}

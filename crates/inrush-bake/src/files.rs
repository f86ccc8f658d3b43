//! Folders with everything in them: deleted, copied, opened for other users, written to disk.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

/// New files in a folder with this bit get the folder's group.
pub(crate) const SET_GROUP: u32 = 0o2000;

/// Gives a file or folder these permissions, for any mask of the process. The set-group-ID
/// bit stays. It is no error if the file system keeps other permissions that allow as much.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let before = fs::metadata(path)?.permissions().mode() & 0o7777;
    match fs::set_permissions(path, fs::Permissions::from_mode(mode | before & SET_GROUP)) {
        Err(error) if before & mode & 0o777 != mode & 0o777 => Err(error),
        _ => Ok(()),
    }
}

/// Lets every user read a folder with everything in it.
pub(crate) fn readable(folder: &Path) -> io::Result<()> {
    set_mode(folder, 0o755)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            readable(&entry.path())?;
        } else if kind.is_file() {
            set_mode(&entry.path(), 0o644)?;
        }
    }
    Ok(())
}

/// Deletes a folder with everything in it. It is no error if it is not there. An empty folder of
/// another user goes as well, also if it cannot be read. Links are not followed.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    let (Some(around), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(io::Error::other("the root of all folders is not deleted"));
    };
    let around = if around.as_os_str().is_empty() { Path::new(".") } else { around };
    match fs::File::open(around) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        around => Ok(remove_in(around?.as_fd(), name)?),
    }
}

fn remove_in(around: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
    match unlinkat(around, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR) => return unlinkat(around, name, AtFlags::empty()),
        Err(_) => {}
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = openat(around, name, flags, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let name = OsStr::from_bytes(entry.as_ref().map_err(|error| *error)?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            remove_in(folder.as_fd(), &name)?;
        }
    }
    unlinkat(around, name, AtFlags::REMOVEDIR)
}

/// Makes a folder that only this user can read.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// Writes a folder with everything in it to disk.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
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
pub(crate) fn copy_over(from: &Path, into: &Path) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_group_bit_of_a_folder_stays() {
        let folder = tempfile::tempdir().unwrap();
        set(folder.path(), 0o2700);
        set_mode(folder.path(), 0o1777).unwrap();
        assert_eq!(mode(folder.path()), 0o3777);
        set_mode(folder.path(), 0o755).unwrap();
        assert_eq!(mode(folder.path()), 0o2755);
    }

    #[test]
    fn a_folder_is_opened_for_all_and_deleted_without_what_links_lead_to() {
        let around = tempfile::tempdir().unwrap();
        let (folder, kept) = (around.path().join("own"), around.path().join("kept"));
        let file = folder.join("indices/0/file");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        set(&kept, 0o700);
        std::os::unix::fs::symlink(&kept, folder.join("link")).unwrap();
        set(&file, 0o600);
        set(&folder.join("indices"), 0o700);
        readable(&folder).unwrap();
        assert_eq!([mode(&folder), mode(&folder.join("indices")), mode(&file)], [0o755, 0o755, 0o644]);
        assert_eq!(mode(&kept), 0o700);
        fs::remove_file(&file).unwrap();
        // As an empty folder of a server with a strict mask.
        set(&folder.join("indices/0"), 0o000);
        remove(&folder).unwrap();
        remove(&folder).unwrap();
        remove(&around.path().join("none/none")).unwrap();
        assert!(!folder.exists() && kept.join("file").exists());
    }
}

//! Files that a process locks while it works.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens or creates a lock file. A link in its place is not followed, because the file behind it
/// would be overwritten.
pub fn open(path: &Path) -> io::Result<File> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    File::options().read(true).write(true).create(true).truncate(false).custom_flags(no_link).open(path)
}

/// The lock of a file, until it is dropped.
///
/// The file is unlocked and not only closed: a process that is started meanwhile has a copy of the
/// open file until its program begins, and the copy keeps the lock (flock(2)).
#[derive(Debug)]
pub struct Held(File);

impl Held {
    /// The lock of a file that this process has locked.
    pub fn of(locked: File) -> Self {
        Held(locked)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Where this fails, the lock ends with the last copy of the file.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_beside_a_copy_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = open(&path).unwrap();
        file.try_lock().unwrap();
        let copy = file.try_clone().unwrap();
        let held = Held::of(file);
        assert!(open(&path).unwrap().try_lock().is_err());
        drop(held);
        open(&path).unwrap().try_lock().unwrap();
        drop(copy);
    }
}

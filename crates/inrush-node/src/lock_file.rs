//! Files that are locked while a process works.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a lock file, or makes it. A link in its place is not followed: whatever it leads to would
/// be written over.
pub fn open(path: &Path) -> io::Result<File> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    File::options().read(true).write(true).create(true).truncate(false).custom_flags(no_link).open(path)
}

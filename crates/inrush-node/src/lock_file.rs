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

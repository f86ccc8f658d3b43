//! Files that contain documents or parts of them. Only their owner may read them.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates the file, or empties it. Only the owner may read a new file. An existing file keeps its
/// mode.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Replaces the file `path` as a whole by `tmp`, which this creates beside it. The text is durable
/// before, so that a crash leaves the old file or the new one.
pub(crate) fn replace(path: &Path, tmp: &Path, text: &[u8]) -> io::Result<()> {
    let file = File::options().write(true).create_new(true).mode(0o600).open(tmp);
    let written = file.and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| std::fs::rename(tmp, path));
    if replaced.is_err() {
        // A partial file is useless, and takes disk space that may be missing.
        let _ = std::fs::remove_file(tmp);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_new_file_is_its_owner_s_and_another_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        private_file(&path).unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        private_file(&path).unwrap();
        assert_eq!(mode(), 0o640);
    }
}

//! Files that contain documents or parts of them. Only their owner may read them.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates the file, or empties it. Only the owner may read a new file. An existing file keeps its
/// mode.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
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

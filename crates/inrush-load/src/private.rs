//! Files that contain documents or parts of them. Only their owner may read them.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates the file, or empties it. Only the owner may read a new file. An existing file keeps its
/// mode.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Checks that an empty file can be written to: writes a byte, waits until it is on disk, and takes
/// it back. A full disk and a quota refuse no file, but its first byte. A pipe or device is left
/// alone, because it gives no byte back.
pub(crate) fn prove(file: &mut File) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    file.write_all(b"\n")?;
    file.sync_all()?;
    file.set_len(0)?;
    file.rewind()
}

/// Creates a file, writes to it, and removes it. An existing file stays as it is.
pub(crate) fn prove_new(path: &Path) -> io::Result<()> {
    match new_file(path) {
        Ok(mut file) => {
            let written = prove(&mut file);
            std::fs::remove_file(path)?;
            written
        }
        // Another load has created it, or it is a link to a file that does not exist yet.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates a file that only its owner may read, with `bytes` bytes that are on disk when this
/// returns.
pub(crate) fn reserve(path: &Path, bytes: usize) -> io::Result<File> {
    let mut file = new_file(path)?;
    match file.write_all(&vec![b' '; bytes]).and_then(|()| file.sync_all()) {
        Ok(()) => Ok(file),
        Err(error) => {
            // What is written of it takes disk space that is missing.
            let _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

/// Replaces the file `path` as a whole by `tmp`, which this creates beside it. The text is durable
/// before, so that a crash leaves the old file or the new one.
pub(crate) fn replace(path: &Path, tmp: &Path, text: &[u8]) -> io::Result<()> {
    replace_by(new_file(tmp), path, tmp, text)
}

/// As [`replace`], with the file `tmp` that [`reserve`] has created.
pub(crate) fn replace_by(file: io::Result<File>, path: &Path, tmp: &Path, text: &[u8]) -> io::Result<()> {
    let written = file.and_then(|mut file| {
        file.rewind()?;
        file.write_all(text)?;
        file.set_len(text.len() as u64)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| std::fs::rename(tmp, path));
    if replaced.is_err() {
        // A partial file is useless, and takes disk space that may be missing.
        let _ = std::fs::remove_file(tmp);
    }
    replaced
}

fn new_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
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

    #[test]
    fn a_reserved_file_becomes_the_one_that_it_was_reserved_for() {
        let folder = tempfile::tempdir().unwrap();
        let (path, tmp) = (folder.path().join("f"), folder.path().join("f.tmp"));
        for text in [&b"short"[..], b"longer than what was reserved for it"] {
            let file = reserve(&tmp, 10);
            assert_eq!(tmp.metadata().unwrap().len(), 10);
            replace_by(file, &path, &tmp, text).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), text);
            assert!(!tmp.exists());
        }
    }

    #[test]
    fn a_file_is_empty_again_after_its_proof() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut file = private_file(&path).unwrap();
        prove(&mut file).unwrap();
        file.write_all(b"first").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
    }
}

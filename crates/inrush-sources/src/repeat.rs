//! Repeated reads of a source, and the detection of changes in between.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::files::paths::shown;
use super::files::steady::read_at_most;
use super::store::Object;

/// Bytes of a file's beginning that a fingerprint contains.
const HEAD_BYTES: usize = 64 << 10;

/// Result of reading a source again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// Other documents, or another order. A document's position has no meaning.
    Unordered,
    /// The source has an order of its own, but can be read only once, such as stdin.
    Once,
    /// The same documents, as long as [`crate::Source::fingerprints`] are the same.
    Always,
}

/// Properties of a file that reveal a later change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Absolute path. `-` for a file on stdin.
    #[serde(with = "crate::path_json")]
    pub path: PathBuf,
    /// Size, bytes.
    pub bytes: u64,
    /// Time of the last change, nanoseconds since 1970.
    pub modified_ns: u64,
    /// SHA-256 of its first 64 KiB, hexadecimal.
    pub head_sha256: String,
    /// For a file on a server, instead of time and hash: its ETag, or the time of its last change
    /// as the server sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// For an index: its UUID in the cluster. The path is its URL, and the other fields are unused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_uuid: Option<String>,
}

impl Fingerprint {
    /// The fingerprint of a file. Reads its beginning.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut fingerprint = Self::of_file(&File::open(path)?, 0)?;
        fingerprint.path = path.canonicalize()?;
        Ok(fingerprint)
    }

    /// The fingerprint of a file on stdin from byte `start` on. Does not move its position.
    pub(super) fn of_file(file: &File, start: u64) -> io::Result<Self> {
        let meta = file.metadata()?;
        // A file system without times counts as one whose files never change.
        let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let mut head = vec![0; HEAD_BYTES];
        let len = read_at_most(file, &mut head, start)?;
        head.truncate(len);
        Ok(Fingerprint {
            path: "-".into(),
            bytes: meta.len().saturating_sub(start),
            modified_ns: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
            head_sha256: Sha256::digest(&head).iter().map(|byte| format!("{byte:02x}")).collect(),
            version: None,
            index_uuid: None,
        })
    }

    /// The fingerprint of a member of this archive.
    pub(super) fn of_member(mut self, path: &str) -> Self {
        self.path.push(path);
        self
    }

    /// The fingerprint of a file on a server.
    pub(super) fn of_object(object: &Object) -> Self {
        Fingerprint {
            path: PathBuf::from(&object.name),
            bytes: object.size.unwrap_or_default(),
            modified_ns: 0,
            head_sha256: String::new(),
            version: object.version.clone(),
            index_uuid: None,
        }
    }

    /// The fingerprint of an index.
    pub(super) fn of_index(url: &str, uuid: &str) -> Self {
        let index_uuid = Some(uuid.to_owned());
        Fingerprint {
            path: url.into(),
            bytes: 0,
            modified_ns: 0,
            head_sha256: String::new(),
            version: None,
            index_uuid,
        }
    }

    /// The first difference, as text.
    pub fn difference(&self, now: &Fingerprint) -> Option<String> {
        let name = shown(&self.path);
        if self.path != now.path {
            Some(format!("{name} was read before, and {} is given now", shown(&now.path)))
        } else if self.index_uuid != now.index_uuid {
            Some(format!("{name} was deleted and created again"))
        } else if self.bytes != now.bytes {
            Some(format!("{name} had {} bytes and has {} now", self.bytes, now.bytes))
        } else if self.head_sha256 != now.head_sha256 {
            Some(format!("the beginning of {name} has changed"))
        } else if self.version != now.version {
            Some(format!("{name} was replaced since"))
        } else if self.modified_ns != now.modified_ns {
            Some(format!("{name} was written to since"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_file_on_stdin_is_told_from_another_one() {
        let of = |text: &str, start| {
            let file = tempfile::tempfile().unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), 0).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
            Fingerprint::of_file(&file, start).unwrap()
        };
        let before = of("abcd", 0);
        assert_eq!(before.difference(&of("abcd", 0)), None);
        assert!(before.difference(&of("abXd", 0)).unwrap().contains("has changed"));
        assert!(before.difference(&of("abcd", 2)).unwrap().contains("has 2 now"));
    }

    #[test]
    fn every_change_of_a_file_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |text: &str, age: u64| {
            std::fs::write(&path, text).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + age);
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            Fingerprint::of(&path).unwrap()
        };
        let before = write("abc", 0);
        assert_eq!(before.difference(&write("abc", 0)), None);
        for (now, expected) in
            [(write("abcd", 0), "has 4 now"), (write("abd", 0), "has changed"), (write("abc", 1), "written to since")]
        {
            assert!(before.difference(&now).unwrap().contains(expected));
        }
    }
}

//! The check that a file did not change while it is read.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};

use inrush_formats::InputError;

/// Bytes of a file's beginning that are kept. They tell a file that was emptied and written again
/// from one that grew.
const HEAD_BYTES: usize = 4096;

/// State of a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Noted {
    /// `None` where it is not a regular file: pipes and devices have no state to compare.
    pub(crate) fn of(meta: &Metadata) -> Option<Self> {
        meta.is_file().then(|| Noted {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A change since, except appended data, as the end of a sentence that names the file.
    fn change(&self, now: &Noted) -> Option<String> {
        let written = self.modified != now.modified;
        if (self.device, self.inode) != (now.device, now.inode) && (written || self.bytes != now.bytes) {
            // Some network file systems number their files again. Then nothing else differs.
            Some("another file has its path now".to_owned())
        } else if now.bytes < self.bytes {
            Some(format!("it had {} bytes and has {} now", self.bytes, now.bytes))
        } else if now.bytes == self.bytes && written {
            Some("it was overwritten".to_owned())
        } else {
            None
        }
    }
}

/// A regular file that must not change while it is read. It may grow, and appended data are read as
/// well.
pub(crate) struct Steady {
    file: File,
    noted: Noted,
    head: Vec<u8>,
    /// The file was read to its end, so later changes do not matter.
    read: AtomicBool,
}

impl Steady {
    /// Begins to watch an open file. `noted` is its state before the load began.
    pub(crate) fn begin(file: &File, noted: &Noted) -> io::Result<Self> {
        let file = file.try_clone()?;
        let mut head = vec![0; HEAD_BYTES];
        let len = read_at_most(&file, &mut head, 0)?;
        head.truncate(len);
        let steady = Steady { file, noted: noted.clone(), head, read: AtomicBool::new(false) };
        steady.check()?;
        Ok(steady)
    }

    /// Fails if the file has changed, unless it was read to its end before.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.read.load(Ordering::Relaxed) { Ok(()) } else { refuse(self.change(None)?) }
    }

    /// Handles the end of the file at byte `end`. Fails if the file has changed.
    pub(crate) fn ended(&self, end: u64) -> io::Result<()> {
        refuse(self.change(Some(end))?)?;
        self.read.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn change(&self, end: Option<u64>) -> io::Result<Option<String>> {
        let Some(now) = Noted::of(&self.file.metadata()?) else { return Ok(None) };
        // Files that the system generates while they are read, as in /proc, have no size.
        if now == self.noted || now.bytes == 0 && self.noted.bytes == 0 {
            return Ok(None);
        }
        if let Some(change) = self.noted.change(&now) {
            return Ok(Some(change));
        }
        if let Some(end) = end.filter(|end| *end < self.noted.bytes || *end > now.bytes) {
            return Ok(Some(format!("it had {} bytes, and ended after {end}", self.noted.bytes)));
        }
        let mut head = vec![0; self.head.len()];
        let len = read_at_most(&self.file, &mut head, 0)?;
        Ok((head[..len] != self.head).then(|| "its beginning has changed".to_owned()))
    }
}

fn refuse(change: Option<String>) -> io::Result<()> {
    let refused = |change: String| {
        InputError::changed(format!(
            "it changed while it was read: {change}; some of its documents may be missing: load it again, without \
             option `resume`, when no process writes to it"
        ))
    };
    change.map_or(Ok(()), |change| Err(refused(change).into_io()))
}

/// Fills `buffer` with the file's bytes from `start` on, up to the end of the file.
pub(crate) fn read_at_most(file: &File, buffer: &mut [u8], start: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], start + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, SystemTime};

    use super::*;

    /// The error for a file of 10 bytes after `then`, when reading has ended at `end`.
    fn change(end: Option<u64>, then: impl FnOnce(&mut File)) -> Option<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
        let noted = Noted::of(&file.metadata().unwrap()).unwrap();
        let steady = Steady::begin(&file, &noted).unwrap();
        then(&mut file);
        let problem = end.map_or_else(|| steady.check(), |end| steady.ended(end)).err()?;
        assert!(InputError::of(&problem).unwrap().is_change());
        let text = problem.to_string();
        assert_eq!(inrush_formats::SourceError::io("a", "-", problem).code, inrush_core::Code::SourceChanged);
        Some(text)
    }

    #[test]
    fn a_file_may_grow_and_nothing_else() {
        assert_eq!(change(Some(10), |_| {}), None);
        assert_eq!(change(Some(12), |file| file.write_all(b"ab").unwrap()), None);
        let shrunk = change(None, |file| file.set_len(4).unwrap()).unwrap();
        assert!(shrunk.contains("had 10 bytes and has 4 now"), "{shrunk}");
        let rewritten = |file: &mut File, text: &[u8]| {
            file.set_len(0).unwrap();
            file.write_all_at(text, 0).unwrap();
        };
        let same_size = change(Some(10), |file| rewritten(file, b"abcdefghij")).unwrap();
        assert!(same_size.contains("overwritten"), "{same_size}");
        let grown_again = change(Some(12), |file| rewritten(file, b"abcdefghijkl")).unwrap();
        assert!(grown_again.contains("beginning has changed"), "{grown_again}");
        // The file was truncated and has grown since, so reading ended in between.
        let between = change(Some(4), |file| file.write_all(b"ab").unwrap()).unwrap();
        assert!(between.contains("ended after 4"), "{between}");
    }

    #[test]
    fn what_was_read_to_its_end_may_change() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let noted = Noted::of(&file.metadata().unwrap()).unwrap();
        let steady = Steady::begin(&file, &noted).unwrap();
        steady.ended(10).unwrap();
        file.set_len(0).unwrap();
        steady.check().unwrap();
    }

    #[test]
    fn a_file_that_waits_must_not_be_exchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "one\n").unwrap();
        let noted = Noted::of(&path.metadata().unwrap()).unwrap();
        let aside = folder.path().join("a.1");
        std::fs::rename(&path, &aside).unwrap();
        std::fs::write(&path, "another\n").unwrap();
        let problem = Steady::begin(&File::open(&path).unwrap(), &noted).err().unwrap().to_string();
        assert!(problem.contains("another file has its path now"), "{problem}");
        assert!(Steady::begin(&File::open(&aside).unwrap(), &noted).is_ok());
    }
}

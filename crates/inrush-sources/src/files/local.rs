//! Files, pipes and stdin as streams of bytes.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inrush_formats::SourceError;
use inrush_formats::input::{Bytes, Input};
use inrush_formats::raw::{Raw, Seekable};

use super::steady::{Noted, Steady};

/// An open file, pipe or terminal that counts the bytes read.
struct RawFile {
    file: File,
    /// Position of the next byte.
    at: u64,
    /// Watches a regular file, which always has its next bytes ready.
    steady: Option<Arc<Steady>>,
    consumed: Arc<AtomicU64>,
}

impl RawFile {
    /// `at` is the position of the next byte. A regular file is watched by `steady` up to its end.
    fn new(file: File, at: u64, steady: Option<Arc<Steady>>, consumed: Arc<AtomicU64>) -> Self {
        RawFile { file, at, steady, consumed }
    }
}

impl Read for RawFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buf)?;
        self.at += n as u64;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        if let (0, false, Some(steady)) = (n, buf.is_empty(), &self.steady) {
            steady.ended(self.at)?;
        }
        Ok(n)
    }
}

impl Bytes for RawFile {
    #[cfg(unix)]
    fn ready_within(&mut self, timeout: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if self.steady.is_some() {
            return true;
        }
        let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
        let timeout = Timespec::try_from(timeout).ok();
        // The next read reports the error.
        !matches!(poll(&mut fds, timeout.as_ref()), Ok(0))
    }
}

/// A file as a stream of bytes.
pub(crate) struct LocalFile {
    pub(crate) raw: Raw,
    /// Watches a regular file.
    pub(crate) steady: Option<Arc<Steady>>,
}

/// The stream of an open file. `noted` is the earlier state of a regular file.
pub(crate) fn of_file(
    opened: std::io::Result<File>,
    noted: Option<&Noted>,
    name: &str,
) -> Result<LocalFile, SourceError> {
    let failed = |e| SourceError::io(name, "cannot be opened", e);
    let mut file = opened.map_err(failed)?;
    let now = Noted::of(&file.metadata().map_err(failed)?);
    let (mut seekable, mut steady, mut start) = (None, None, 0);
    if let Some(now) = now {
        let watched = Steady::begin(&file, noted.unwrap_or(&now));
        steady = Some(Arc::new(watched.map_err(|e| SourceError::io(name, "cannot be read", e))?));
        seekable = Some(Seekable::File(file.try_clone().map_err(failed)?));
        start = file.stream_position().map_err(failed)?;
    }
    let read = Arc::default();
    let input = Input::new(RawFile::new(file, start, steady.clone(), Arc::clone(&read)));
    Ok(LocalFile { raw: Raw { input, read, seekable }, steady })
}

/// Stdin as a file, without the standard library's buffer.
#[cfg(unix)]
pub(crate) fn stdin() -> std::io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(std::io::stdin().as_fd().try_clone_to_owned()?))
}

/// Bytes that are left to read from a regular file on stdin, as in `inrush load - < FILE`.
pub(crate) fn stdin_len() -> Option<u64> {
    let mut file = stdin().ok()?;
    let bytes = Noted::of(&file.metadata().ok()?)?.bytes();
    // The copy shares its position in the file with stdin.
    Some(bytes.saturating_sub(file.stream_position().ok()?))
}

//! Files, pipes and stdin as streams of bytes.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use inrush_formats::SourceError;
use inrush_formats::input::{Bytes, Input};
use inrush_formats::raw::{Raw, Seekable};

use super::steady::{Noted, Steady, read_at_most};
use crate::archives::{Kind, kind_of_contents, tells_its_kind};

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

/// Stdin, of which the beginning was looked at and is still to be read. A pipe cannot be put back.
static LOOKED_AT: Mutex<Option<LocalFile>> = Mutex::new(None);

/// Bytes of stdin that are looked at. A block of bzip2 has to be whole.
const HEADS: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// Stdin from its next byte on.
pub(crate) fn open_stdin() -> Result<LocalFile, SourceError> {
    // It is whole after a panic, too.
    let looked_at = LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner).take();
    looked_at.map_or_else(|| of_file(stdin(), None, "-"), Ok)
}

/// The archive that stdin is, if it is one. Waits for its beginning.
pub(super) fn archive_on_stdin() -> Result<Option<(Raw, Kind)>, SourceError> {
    let failed = |e| SourceError::io("-", "cannot be read", e);
    let mut file = stdin().map_err(failed)?;
    if Noted::of(&file.metadata().map_err(failed)?).is_some() {
        // Only what is read moves the position of a regular file.
        let mut head = vec![0; HEADS[HEADS.len() - 1]];
        let at = file.stream_position().map_err(failed)?;
        let len = read_at_most(&file, &mut head, at).map_err(failed)?;
        let kind = kind_of_contents(&head[..len]);
        return kind.map(|kind| Ok((open_stdin()?.raw, kind))).transpose();
    }
    let mut stdin = open_stdin()?;
    for bytes in HEADS {
        let head = stdin.raw.input.peek(bytes, tells_its_kind);
        if let Some(kind) = kind_of_contents(head) {
            return Ok(Some((stdin.raw, kind)));
        }
        if tells_its_kind(head) || head.len() < bytes {
            break;
        }
    }
    *LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(stdin);
    Ok(None)
}

/// Bytes that are left to read from a regular file on stdin, as in `inrush load - < FILE`.
pub(crate) fn stdin_len() -> Option<u64> {
    let mut file = stdin().ok()?;
    let bytes = Noted::of(&file.metadata().ok()?)?.bytes();
    // The copy shares its position in the file with stdin.
    Some(bytes.saturating_sub(file.stream_position().ok()?))
}

//! The bytes of a file, before anything is known of its format.

use std::fs::File;
use std::io::Seek;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::SourceError;
use super::binary::Seekable;
use super::compression::{Codec, MAGIC_LEN};
use super::input::{Input, RawFile};
use super::steady::{Noted, Steady};

/// The bytes of a file as they are.
pub(super) struct Raw {
    pub(super) input: Input,
    /// How many were read.
    pub(super) read: Arc<AtomicU64>,
    /// The file itself, where it can be read at any place.
    pub(super) seekable: Option<Seekable>,
    /// Where it is a regular file.
    pub(super) steady: Option<Arc<Steady>>,
}

/// The bytes of a file, decompressed.
pub(super) struct Contents {
    pub(super) codec: Option<Codec>,
    pub(super) contents: Input,
    /// Bytes used of the file.
    pub(super) consumed: Arc<AtomicU64>,
}

/// Decompresses a file if it is compressed. `read` counts the bytes that are used of it as it is.
pub(super) fn unpacked(mut raw: Input, read: Arc<AtomicU64>, name: &str) -> Result<Contents, SourceError> {
    let head = raw.peek(MAGIC_LEN, |head| head.contains(&b'\n'));
    let Some(codec) = Codec::detect(head) else {
        return Ok(Contents { codec: None, contents: raw, consumed: read });
    };
    if let Some(needs) = codec.needs(head) {
        return Err(SourceError::new(name, format!("the {} stream cannot be read: {needs}", codec.name())));
    }
    let consumed = Arc::new(AtomicU64::new(0));
    let contents =
        codec.decompress(raw, Arc::clone(&consumed)).map_err(|e| SourceError::io(name, "cannot be decompressed", e))?;
    Ok(Contents { codec: Some(codec), contents: Input::new(contents), consumed })
}

/// A stream of an open file, which was `noted` before if it is a regular one.
pub(super) fn of_file(opened: std::io::Result<File>, noted: Option<&Noted>, name: &str) -> Result<Raw, SourceError> {
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
    Ok(Raw { input, read, seekable, steady })
}

/// Stdin as a file, without the standard library's buffer.
#[cfg(unix)]
pub(super) fn stdin() -> std::io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(std::io::stdin().as_fd().try_clone_to_owned()?))
}

/// What is left to read of a regular file on stdin, as in `inrush load - < FILE`; bytes.
pub(super) fn stdin_len() -> Option<u64> {
    let mut file = stdin().ok()?;
    let bytes = Noted::of(&file.metadata().ok()?)?.bytes();
    // The copy shares its place in the file with stdin.
    Some(bytes.saturating_sub(file.stream_position().ok()?))
}

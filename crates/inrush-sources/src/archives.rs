//! What is an archive, by its name and its contents, and copies of those on servers.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_formats::format;
use inrush_formats::input::Input;
use inrush_formats::raw::{Raw, contents};

use crate::SourceError;

/// Endings of names, and what they say.
const ENDINGS: [(&str, Kind); 13] = [
    (".zip", Kind::Zip),
    (".tar", Kind::Tar),
    (".tar.gz", Kind::PackedTar),
    (".tar.gzip", Kind::PackedTar),
    (".tgz", Kind::PackedTar),
    (".tar.zst", Kind::PackedTar),
    (".tar.zstd", Kind::PackedTar),
    (".tzst", Kind::PackedTar),
    (".tar.bz2", Kind::PackedTar),
    (".tbz2", Kind::PackedTar),
    (".tbz", Kind::PackedTar),
    (".tar.xz", Kind::PackedTar),
    (".txz", Kind::PackedTar),
];

/// How an archive is read.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Zip,
    Tar,
    PackedTar,
}

pub(crate) fn kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, kind)| *kind)
}

/// Whether a name ends like that of an archive.
pub(crate) fn promises_an_archive(name: &str) -> bool {
    kind(name).is_some()
}

/// The kind of an archive that begins with `head`.
pub(crate) fn kind_of_contents(head: &[u8]) -> Option<Kind> {
    let has_magic = head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06");
    if has_magic && is_zip(head) {
        return Some(Kind::Zip);
    }
    unpacked_head(head).is_some_and(|head| is_tar(&head)).then_some(Kind::PackedTar)
}

/// Whether `head` is enough for [`kind_of_contents`].
pub(crate) fn tells_its_kind(head: &[u8]) -> bool {
    // JSON may come without line ends, and no archive has a name like it. Compressed bytes say
    // nothing, and of a file without compression the head is itself.
    let is_text = |head: &[u8]| head.contains(&b'\n') || head.starts_with(b"{") || head.starts_with(b"[");
    unpacked_head(head).is_some_and(|head| head.len() >= 512 || is_text(&head))
}

/// The first bytes of the contents of a file that begins with `head`.
fn unpacked_head(head: &[u8]) -> Option<Vec<u8>> {
    let input = Input::new(io::Cursor::new(head.to_vec()));
    let mut contents = contents(Raw { input, read: Arc::default(), seekable: None }, "").ok()?;
    Some(contents.peek(512, |_| false).to_vec())
}

/// Whether a file with the name of a zip archive is one, and no workbook.
pub(crate) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK") && !format::is_workbook(head)
}

/// Whether a file begins as tar archives do. Old ones have no mark, but the sum of their header.
pub(crate) fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else { return false };
    let sum: u32 = (0..512).map(|at| if (148..156).contains(&at) { 32 } else { u32::from(header[at]) }).sum();
    let digits: String =
        header[148..156].iter().filter(|byte| byte.is_ascii_digit()).map(|byte| *byte as char).collect();
    u32::from_str_radix(&digits, 8) == Ok(sum)
}

/// Copies of archives on servers, for as long as these are opened again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies(Arc<Mutex<CopiesByName>>);

/// Copies by name and version. `None`: the file is no archive.
type CopiesByName = HashMap<(String, String), Option<Arc<File>>>;

impl PartialEq for Copies {
    /// Copies make no difference.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Copies {}

impl Copies {
    /// The copy of an archive, or a new one. `None`: the file is no archive.
    pub(crate) fn copy(
        &self,
        name: &str,
        version: Option<&String>,
        new: impl FnOnce() -> Result<Option<File>, SourceError>,
    ) -> Result<Option<Arc<File>>, SourceError> {
        // A file without a version may be another one by now.
        let Some(version) = version else { return Ok(new()?.map(Arc::new)) };
        // The map is whole after a panic, too.
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), version.clone());
        if let Some(copy) = copies.get(&key) {
            return Ok(copy.clone());
        }
        let copy = new()?.map(Arc::new);
        copies.insert(key, copy.clone());
        Ok(copy)
    }
}

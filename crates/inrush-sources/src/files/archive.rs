//! Archives: each member is a file of its own. The members of a zip or tar archive of this machine
//! are read where they are. A compressed tar archive is unpacked to a temporary file before, and an
//! archive that is on a server or on stdin is copied to one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use inrush_core::Code;
use inrush_formats::chosen::Choice;
use inrush_formats::input::{Bytes, Input};
use inrush_formats::raw::{Raw, contents};
use inrush_formats::{InputError, Warnings};
use tar::EntryType;
use zip::{CompressionMethod, ZipArchive};

use super::local::{LocalFile, of_file};
use super::paths::shown;
use super::steady::{Noted, Steady, read_at_most};
use crate::SourceError;
use crate::archives::{Copies, Kind, is_tar, is_zip, kind};
use crate::lake;
use crate::repeat::Fingerprint;
use crate::store::Object;

/// How a Parquet file begins.
const PARQUET: &[u8] = b"PAR1";

/// An archive whose members are read.
#[derive(Debug)]
pub(super) struct Archive {
    /// The name for messages and records.
    name: String,
    origin: Origin,
    contents: Contents,
}

#[derive(Clone, Debug)]
enum Origin {
    Path(PathBuf),
    Object(Arc<Object>),
    Stdin,
}

/// Where the members are read.
#[derive(Debug)]
enum Contents {
    /// In the archive, whose state was noted when the load began.
    InPlace(PathBuf, Noted),
    /// In a temporary file, without the compression of a tar archive.
    Copied(Arc<File>),
}

/// A file in an archive.
#[derive(Clone, Debug)]
pub(super) struct Member {
    archive: Arc<Archive>,
    /// The path in the archive.
    path: String,
    /// Where the contents begin, and their bytes there.
    start: u64,
    len: u64,
    check: Option<Check>,
}

/// What a zip archive says of a member.
#[derive(Clone, Copy, Debug)]
struct Check {
    is_deflated: bool,
    bytes: u64,
    crc32: u32,
}

/// Where the user looks for files, and which of them count.
#[derive(Clone, Copy)]
pub(super) struct Looking<'a> {
    pub(super) choice: &'a Choice,
    pub(super) warnings: &'a Warnings,
}

impl Looking<'_> {
    /// The members of an archive that are read, sorted by their paths. `below` is the path of the
    /// archive below the folder that the user named. `None`: the file is no archive by its name, or
    /// by its contents. As in a folder, names that begin with `.` or `_` are skipped, except that
    /// of a folder which has all members.
    pub(super) fn of_path(&self, path: &Path, noted: &Noted, below: &str) -> Result<Option<Vec<Member>>, SourceError> {
        let Some(kind) = kind(&path.file_name().unwrap_or_default().to_string_lossy()) else { return Ok(None) };
        let name = shown(path);
        let file = File::open(path).map_err(|e| SourceError::io(&name, "cannot be opened", e))?;
        let mut head = [0; 512];
        let len = file.read_at(&mut head, 0).unwrap_or_default();
        let head = &head[..len];
        let contents = match kind {
            Kind::Zip if !is_zip(head) => return Ok(None),
            Kind::Tar if !is_tar(head) => return Ok(None),
            Kind::Zip | Kind::Tar => Contents::InPlace(path.to_owned(), noted.clone()),
            Kind::PackedTar => match copied(of_file(Ok(file), Some(noted), &name)?.raw, kind, &name)? {
                Some(copy) => Contents::Copied(Arc::new(copy)),
                None => return Ok(None),
            },
        };
        self.members(Archive { name, origin: Origin::Path(path.to_owned()), contents }, kind, below).map(Some)
    }

    /// The same for a file on a server, which is copied, unless `copies` has it.
    pub(super) fn of_object(
        &self,
        object: &Arc<Object>,
        copies: &Copies,
        below: &str,
    ) -> Result<Option<Vec<Member>>, SourceError> {
        let Some(kind) = kind(&object.path) else { return Ok(None) };
        let name = object.name.clone();
        let copy = copies.copy(&object.name, object.version.as_ref(), || {
            check_room(object.size, &name)?;
            tracing::info!("{name}: is copied to a temporary file before its members are read");
            let stream = object.stream();
            let read = stream.consumed();
            copied(Raw { input: Input::new(stream), read, seekable: None }, kind, &name)
        })?;
        let Some(copy) = copy else { return Ok(None) };
        let (origin, contents) = (Origin::Object(Arc::clone(object)), Contents::Copied(copy));
        self.members(Archive { name, origin, contents }, kind, below).map(Some)
    }

    /// The same for stdin, which is an archive of this kind.
    pub(super) fn of_stdin(&self, raw: Raw, kind: Kind) -> Result<Vec<Member>, SourceError> {
        let name = "-".to_owned();
        let changed = || SourceError::new("-", "its beginning has changed").coded(Code::SourceChanged);
        let copy = copied(raw, kind, &name)?.ok_or_else(changed)?;
        let archive = Archive { name, origin: Origin::Stdin, contents: Contents::Copied(Arc::new(copy)) };
        self.members(archive, kind, "")
    }
}

/// A copy in a temporary file, without the compression of a tar archive. `None`: it is no archive
/// of this kind.
fn copied(raw: Raw, kind: Kind, name: &str) -> Result<Option<File>, SourceError> {
    let mut input = match kind {
        Kind::Zip => raw.input,
        Kind::Tar | Kind::PackedTar => contents(raw, name)?,
    };
    let head = input.peek(512, |_| false);
    let is_one = match kind {
        Kind::Zip => is_zip(head),
        Kind::Tar | Kind::PackedTar => is_tar(head),
    };
    is_one.then(|| temporary(&mut input, name)).transpose()
}

/// Refuses an archive of this size before it is fetched, where there is no room for its copy.
fn check_room(bytes: Option<u64>, name: &str) -> Result<(), SourceError> {
    let (Some(bytes), Ok(disk)) = (bytes, rustix::fs::statvfs(std::env::temp_dir())) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if bytes <= free {
        return Ok(());
    }
    let message = format!("it has {bytes} bytes, and {free} are free there");
    Err(not_copied(name, io::Error::new(io::ErrorKind::StorageFull, message)))
}

fn not_copied(name: &str, error: io::Error) -> SourceError {
    let folder = std::env::temp_dir();
    let what = format!("cannot be copied to a temporary file in {} (TMPDIR says where)", folder.display());
    SourceError::io(name, &what, error)
}

/// A file in TMPDIR with all that is left of `from`.
fn temporary(from: &mut Input, name: &str) -> Result<File, SourceError> {
    let not_read = |e: io::Error| match InputError::of(&e) {
        Some(_) => SourceError::io(name, "cannot be read", e),
        None => SourceError::io(name, "cannot be unpacked", e).coded(Code::DamagedCompression),
    };
    let not_written = |e| not_copied(name, e);
    let mut file = tempfile::tempfile().map_err(not_written)?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => io::Write::write_all(&mut file, &buffer[..n]).map_err(not_written)?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(not_read(e)),
        }
    }
    file.rewind().map_err(not_written)?;
    Ok(file)
}

/// The kind of a header that has the name of a volume.
const VOLUME: u8 = b'V';

/// Bytes of a block of a tar archive.
const BLOCK: u64 = 512;

/// Where the blocks of a tar archive end that hold `bytes` from `start` on.
fn end_of(start: u64, bytes: u64) -> u64 {
    start.saturating_add(bytes).checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
}

/// Refuses a tar archive that is cut off. Its last member ends at byte `end`, and a block of zeros
/// follows.
fn check_end(file: &File, end: u64) -> io::Result<()> {
    let cut_off = |message: &str| Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
    if file.metadata()?.len() < end {
        return cut_off("it is cut off within its last member");
    }
    // The reader of the archive stops at zeros or at the end of the file.
    if read_at_most(file, &mut [0; BLOCK as usize], end)? < BLOCK as usize {
        return cut_off("it is cut off: it has no end mark, which is a block of zeros");
    }
    Ok(())
}

/// As in a folder.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with(['.', '_']) && part != "." && part != "..")
}

/// What an archive has at a path, other than a folder.
struct Found {
    path: String,
    /// Where the contents begin in the archive, and their bytes there.
    place: (u64, u64),
    check: Option<Check>,
    problem: Option<Problem>,
    /// Another one of the same path stands before it.
    is_repeated: bool,
}

/// What an archive has, with one entry for each path.
#[derive(Default)]
struct List {
    found: Vec<Found>,
    by_path: HashMap<String, usize>,
}

impl List {
    /// Adds what takes the place of an earlier one of this path, as when the archive is unpacked.
    fn add(&mut self, mut found: Found) {
        if let Some(at) = self.by_path.get(&found.path) {
            found.is_repeated = true;
            self.found[*at] = found;
        } else {
            self.by_path.insert(found.path.clone(), self.found.len());
            self.found.push(found);
        }
    }

    /// Adds a hard link, which has the contents of the file before it that it names.
    fn link(&mut self, path: String, target: &str) {
        let target_at = self.by_path.get(target).copied();
        if target_at.is_some() && path == target {
            return;
        }
        let (place, problem) = match target_at {
            Some(at) => (self.found[at].place, self.found[at].problem.clone()),
            None => {
                let problem = format!(
                    "is a hard link to {target}, which the archive does not have before it; put that file into the \
                     archive, too, or unpack it and load the folder"
                );
                ((0, 0), Some(Problem::Refused(problem)))
            }
        };
        self.add(Found { path, place, check: None, problem, is_repeated: false });
    }
}

/// Why a member is not read.
#[derive(Clone)]
enum Problem {
    /// It is no file, and is skipped with a warning.
    NoFile,
    /// The archive is refused for it, with these words.
    Refused(String),
}

fn zip(file: &File) -> io::Result<Vec<Found>> {
    let mut archive = ZipArchive::new(Positioned { file, at: 0 })?;
    if archive.has_duplicate_names() {
        let message = "two of its members have the same path; unpack the archive first";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let mut list = List::default();
    for at in 0..archive.len() {
        let member = archive.by_index_raw(at)?;
        if member.is_dir() {
            continue;
        }
        let refused = |problem: &str| Some(Problem::Refused(format!("{problem}; unpack the archive first")));
        let problem = match member.compression() {
            _ if member.is_symlink() => Some(Problem::NoFile),
            _ if member.encrypted() => refused("is encrypted"),
            CompressionMethod::Stored | CompressionMethod::Deflated => None,
            _ => refused("is compressed with another method than deflate"),
        };
        let is_deflated = member.compression() == CompressionMethod::Deflated;
        let check = Check { is_deflated, bytes: member.size(), crc32: member.crc32() };
        let place = (member.data_start().unwrap_or_default(), member.compressed_size());
        let path = relative(&member.name()?);
        list.add(Found { path, place, check: Some(check), problem, is_repeated: false });
    }
    // Their names differ, as in `a.csv` and `./a.csv`.
    for found in list.found.iter_mut().filter(|found| found.is_repeated) {
        found.problem = Some(Problem::Refused("is in the archive twice; unpack the archive first".to_owned()));
    }
    Ok(list.found)
}

fn tar(file: &File) -> io::Result<Vec<Found>> {
    let mut archive = tar::Archive::new(Positioned { file, at: 0 });
    let mut list = List::default();
    let mut end = 0;
    for entry in archive.entries_with_seek()? {
        let mut entry = entry?;
        let place = (entry.raw_file_position(), entry.size());
        let kind = entry.header().entry_type();
        let path = of_bytes(&entry.path_bytes());
        if !kind.is_gnu_sparse() {
            // The size of a sparse file is that of the unpacked one.
            end = end_of(place.0, place.1);
        }
        if let Some(path) = sparse_path(&mut entry, &path)? {
            let problem = Some(Problem::Refused("is a sparse file; unpack the archive first".to_owned()));
            list.add(Found { path, place, check: None, problem, is_repeated: false });
            continue;
        }
        let problem = match kind {
            EntryType::Directory => continue,
            // Names and comments of the whole archive, as `git archive` writes them.
            EntryType::XGlobalHeader => continue,
            _ if kind.as_byte() == VOLUME => continue,
            EntryType::Regular | EntryType::Continuous => None,
            EntryType::Link => {
                list.link(path, &of_bytes(&entry.link_name_bytes().unwrap_or_default()));
                continue;
            }
            _ => Some(Problem::NoFile),
        };
        list.add(Found { path, place, check: None, problem, is_repeated: false });
    }
    check_end(file, end)?;
    Ok(list.found)
}

/// The path of a sparse file, whose contents are in pieces. `None`: it is another file. Either its
/// kind or its extended header says so, which may also have its true path.
fn sparse_path<R: Read>(entry: &mut tar::Entry<'_, R>, path: &str) -> io::Result<Option<String>> {
    let kind = entry.header().entry_type();
    let mut sparse = kind.is_gnu_sparse().then(|| path.to_owned());
    if !kind.is_file() {
        return Ok(sparse);
    }
    // An extension that cannot be read is no sparse file's.
    for extension in entry.pax_extensions()?.into_iter().flatten().flatten() {
        let Some(key) = extension.key_bytes().strip_prefix(b"GNU.sparse.") else { continue };
        if key == b"name" {
            sparse = Some(of_bytes(extension.value_bytes()));
        } else if sparse.is_none() {
            sparse = Some(path.to_owned());
        }
    }
    Ok(sparse)
}

/// A path in a tar archive. Two paths that are not UTF-8 are never the same text.
fn of_bytes(path: &[u8]) -> String {
    relative(&shown(Path::new(OsStr::from_bytes(path))))
}

/// A path without what only says that it begins in the archive.
fn relative(path: &str) -> String {
    path.trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// The folder that all members are in, with its `/`, if its name begins with `.` or `_`. It hides
/// them no more than a folder does that the user names.
fn hidden_top(found: &[Found]) -> Option<String> {
    // A Mac adds this folder to an archive.
    let own = found.iter().filter(|found| !found.path.starts_with("__MACOSX/"));
    let mut tops = own.map(|found| found.path.split_once('/').map(|(top, _)| top));
    let top = tops.next()??;
    (is_hidden(top) && tops.all(|other| other == Some(top))).then(|| format!("{top}/"))
}

impl Looking<'_> {
    fn members(&self, archive: Archive, kind: Kind, below: &str) -> Result<Vec<Member>, SourceError> {
        let name = archive.name.clone();
        let damaged =
            |e: io::Error| SourceError::io(&name, "cannot be read as an archive", e).coded(Code::DamagedCompression);
        let list = |file: &File| match kind {
            Kind::Zip => zip(file),
            Kind::Tar | Kind::PackedTar => tar(file),
        };
        let found = match &archive.contents {
            Contents::InPlace(path, _) => File::open(path).and_then(|file| list(&file)),
            Contents::Copied(file) => list(file),
        };
        let found = found.map_err(damaged)?;
        let top = hidden_top(&found);
        let hides = |path: &str| is_hidden(top.as_deref().and_then(|top| path.strip_prefix(top)).unwrap_or(path));
        let left_out = self.choice.left_out();
        let takes = |found: &Found| !hides(&found.path) && self.choice.takes_member(below, &found.path);
        let taken: Vec<bool> = found.iter().map(takes).collect();
        lake::check_members(&name, found.iter().zip(&taken).map(|(found, is_taken)| (found.path.as_str(), *is_taken)))?;
        let hidden = found.iter().filter(|found| hides(&found.path)).count();
        let archive = Arc::new(archive);
        let mut members = Vec::new();
        for (found, _) in found.into_iter().zip(taken).filter(|(_, is_taken)| *is_taken) {
            let is_repeated = found.is_repeated;
            let Found { path, place: (start, len), check, problem, .. } = found;
            let member = Member { archive: Arc::clone(&archive), path, start, len, check };
            if is_repeated {
                self.warn(&member, "member_repeated", "is in the archive more than once, and the last one counts");
            }
            match problem {
                None => members.push(member),
                Some(Problem::NoFile) => {
                    self.warn(&member, "no_file", "is a link or another thing than a file, and was skipped");
                }
                Some(Problem::Refused(problem)) => {
                    return Err(SourceError::new(member.name(), problem).coded(Code::UnknownFormat));
                }
            }
        }
        if members.is_empty() && self.choice.left_out() == left_out {
            let mut message = "is an archive without files".to_owned();
            if hidden > 0 {
                message += &format!("; members with a name that begins with `.` or `_` are skipped: {hidden}");
            }
            return Err(SourceError::new(name, message).coded(Code::NoSuchFile));
        }
        members.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(members)
    }

    fn warn(&self, member: &Member, kind: &'static str, message: &str) {
        self.warnings.add(&member.name(), kind, "", 1, || message.to_owned());
    }
}

impl Member {
    /// The name for messages and records. The format of a file is looked for before a query.
    pub(super) fn name(&self) -> String {
        let Archive { name, origin, .. } = &*self.archive;
        match (origin, name.split_once('?')) {
            (Origin::Object(_), Some((address, query))) => format!("{address}/{}?{query}", self.path),
            _ => format!("{name}/{}", self.path),
        }
    }

    /// The path with that of the archive, whose folders may be fields.
    pub(super) fn whole_path(&self) -> PathBuf {
        match &self.archive.origin {
            Origin::Path(path) => path.join(&self.path),
            Origin::Object(object) => Path::new(&object.path).join(&self.path),
            Origin::Stdin => PathBuf::from(&self.path),
        }
    }

    /// Whether the archive can be read again, and shows a change.
    pub(super) fn repeats(&self) -> bool {
        match &self.archive.origin {
            Origin::Path(_) => true,
            Origin::Object(object) => object.version.is_some(),
            Origin::Stdin => false,
        }
    }

    /// What shows a change of the archive. `None` for stdin, which is read only once.
    pub(super) fn fingerprint(&self) -> Option<Result<Fingerprint, SourceError>> {
        let failed = |e| SourceError::io(self.name(), "cannot be read", e);
        let archive = match &self.archive.origin {
            Origin::Path(path) => Fingerprint::of(path).map_err(failed),
            Origin::Object(object) => Ok(Fingerprint::of_object(object)),
            Origin::Stdin => return None,
        };
        Some(archive.map(|archive| archive.of_member(&self.path)))
    }

    /// Bytes that are read of the archive.
    pub(super) fn bytes(&self) -> u64 {
        self.len
    }

    /// The contents as a stream, which is enough to look at their beginning.
    pub(super) fn stream(&self, name: &str) -> Result<LocalFile, SourceError> {
        let failed = |e| SourceError::io(name, "cannot be opened", e);
        let (file, steady) = match &self.archive.contents {
            Contents::Copied(file) => (Arc::clone(file), None),
            Contents::InPlace(path, noted) => {
                let file = File::open(path).map_err(failed)?;
                let steady = Steady::begin(&file, noted);
                let steady = steady.map_err(|e| SourceError::io(name, "cannot be read", e))?;
                (Arc::new(file), Some(Arc::new(steady)))
            }
        };
        let read = Arc::default();
        let part = Part { file, at: self.start, left: self.len, consumed: Arc::clone(&read) };
        let input = match self.check {
            None => Input::new(part),
            Some(check) if check.is_deflated => Input::new(Checked::new(DeflateDecoder::new(part), check)),
            Some(check) => Input::new(Checked::new(part, check)),
        };
        Ok(LocalFile { raw: Raw { input, read, seekable: None }, steady })
    }

    /// The contents as a file. Parquet, which is read from its end, is unpacked to a temporary one.
    pub(super) fn open(&self, name: &str) -> Result<LocalFile, SourceError> {
        let mut file = self.stream(name)?;
        if !file.raw.input.peek(PARQUET.len(), |_| false).starts_with(PARQUET) {
            return Ok(file);
        }
        let unpacked = temporary(&mut file.raw.input, name)?;
        of_file(Ok(unpacked), None, name)
    }
}

/// A file with a position of its own.
struct Positioned<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buf, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Positioned<'_> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "a position before the beginning");
        self.at = match to {
            io::SeekFrom::Start(at) => at,
            io::SeekFrom::Current(by) => self.at.checked_add_signed(by).ok_or_else(outside)?,
            io::SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by).ok_or_else(outside)?,
        };
        Ok(self.at)
    }
}

/// A part of a file.
struct Part {
    file: Arc<File>,
    at: u64,
    left: u64,
    consumed: Arc<AtomicU64>,
}

impl Read for Part {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let most = buf.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if most == 0 {
            return Ok(0);
        }
        let n = self.file.read_at(&mut buf[..most], self.at)?;
        if n == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within this member"));
        }
        self.at += n as u64;
        self.left -= n as u64;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Bytes for Part {}

/// A member of a zip archive, which is compared with what the archive says of it.
struct Checked<R> {
    inner: R,
    crc: Crc,
    bytes: u64,
    expected: Check,
}

impl<R> Checked<R> {
    fn new(inner: R, expected: Check) -> Self {
        Checked { inner, crc: Crc::new(), bytes: 0, expected }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.crc.update(&buf[..n]);
        self.bytes += n as u64;
        let damaged = |message: &str| Err(io::Error::new(io::ErrorKind::InvalidData, message));
        if self.bytes > self.expected.bytes {
            // It may be a bomb, which never ends.
            return damaged("the member is damaged: it has more bytes than the archive's list says");
        }
        let is_right = || (self.bytes, self.crc.sum()) == (self.expected.bytes, self.expected.crc32);
        if n == 0 && !buf.is_empty() && !is_right() {
            return damaged("the member is damaged: its size or checksum is not that of the archive's list");
        }
        Ok(n)
    }
}

impl<R: Read + Send> Bytes for Checked<R> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tar_archive_has_the_sum_of_its_header() {
        let mut header = tar::Header::new_gnu();
        header.set_path("a.csv").unwrap();
        header.set_size(3);
        header.set_cksum();
        assert!(is_tar(header.as_bytes()));
        let mut old = tar::Header::new_old();
        old.set_path("a.csv").unwrap();
        old.set_size(3);
        old.set_cksum();
        assert!(is_tar(old.as_bytes()));
        assert!(!is_tar(&[0; 512]) && !is_tar(&[b'a'; 512]) && !is_tar(b"id,name\n"));
    }

    #[test]
    fn a_member_that_is_larger_than_its_archive_says_is_refused_before_its_end() {
        let check = Check { is_deflated: false, bytes: 1000, crc32: 0 };
        let endless = &mut Checked::new(io::repeat(1), check);
        let error = io::copy(endless, &mut io::sink()).unwrap_err().to_string();
        assert!(error.contains("more bytes than the archive's list says"), "{error}");
    }

    #[test]
    fn an_archive_that_has_no_room_is_not_fetched() {
        assert!(check_room(Some(1), "a").is_ok() && check_room(None, "a").is_ok());
        let error = check_room(Some(u64::MAX), "https://h/a.zip").unwrap_err();
        assert_eq!(error.name, "https://h/a.zip");
        let expected = format!("(TMPDIR says where): it has {} bytes, and ", u64::MAX);
        assert!(error.message.contains(&expected) && error.message.ends_with(" are free there"), "{error}");
    }

    #[test]
    fn names_of_archives_are_hidden_as_those_of_folders() {
        for path in ["__MACOSX/a.csv", ".DS_Store", "a/.b", "a/_SUCCESS", "_x/y.csv"] {
            assert!(is_hidden(path), "{path}");
        }
        for path in ["a.csv", "a/b.csv", "./a.csv", "../a.csv", "a_b/c.d.csv"] {
            assert!(!is_hidden(path), "{path}");
        }
    }
}

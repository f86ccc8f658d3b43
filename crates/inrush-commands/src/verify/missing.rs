//! The file with the documents that are missing or different. Only at the end is it known whether a
//! document is the last one of its id, so all of them are kept in a temporary file until then.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::sort::Sorter;

/// The documents that may be written at the end.
pub(super) struct MissingFile {
    path: PathBuf,
    /// Is renamed to `path` at the end, so that a source of the same name can be read until then.
    file: NamedTempFile,
    waiting: BufWriter<File>,
    at: u64,
}

impl MissingFile {
    /// Creates the temporary file.
    ///
    /// # Errors
    /// No file can be created beside `path`.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(MissingFile {
            path: path.to_owned(),
            file: NamedTempFile::new_in(folder)?,
            waiting: BufWriter::new(tempfile::tempfile()?),
            at: 0,
        })
    }

    /// Keeps a document for later. Returns its number for [`MissingFile::finish`].
    pub(super) fn keep(&mut self, document: &[u8]) -> io::Result<u64> {
        let at = self.at;
        self.waiting.write_all(&(document.len() as u64).to_le_bytes())?;
        self.waiting.write_all(document)?;
        self.at += 8 + document.len() as u64;
        Ok(at)
    }

    /// Writes the documents with these numbers, one per line, in the order in which they were kept.
    pub(super) fn finish(self, numbers: Sorter) -> io::Result<()> {
        let mut waiting = self.waiting.into_inner().map_err(io::IntoInnerError::into_error)?;
        waiting.rewind()?;
        let mut waiting = BufReader::new(waiting);
        let mut out = BufWriter::new(self.file);
        let numbers = numbers.finish();
        let mut numbers = numbers.read()?;
        let mut at = 0;
        let mut document = Vec::new();
        while let Some((number, _)) = numbers.next()? {
            let number = <[u8; 8]>::try_from(number.as_slice()).map(u64::from_be_bytes).map_err(io::Error::other)?;
            waiting.seek_relative(i64::try_from(number - at).map_err(io::Error::other)?)?;
            let mut len = [0; 8];
            waiting.read_exact(&mut len)?;
            let len = u64::from_le_bytes(len);
            document.clear();
            waiting.by_ref().take(len).read_to_end(&mut document)?;
            // In JSON, a line break can only stand between values.
            document.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
            out.write_all(&document)?;
            out.write_all(b"\n")?;
            at = number + 8 + len;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        // An existing file keeps its mode. Only the owner can read a new one.
        if let Ok(there) = self.path.metadata() {
            file.as_file().set_permissions(there.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// A number as a key with the same order.
pub(super) fn number_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_documents_are_written_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing.ndjson");
        std::fs::write(&path, "the source itself").unwrap();
        let mut missing = MissingFile::new(&path).unwrap();
        let documents: Vec<String> = (0..500).map(|n| format!("{{\"n\":\n{n}}}")).collect();
        let kept: Vec<u64> = documents.iter().map(|document| missing.keep(document.as_bytes()).unwrap()).collect();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "the source itself");
        let mut numbers = Sorter::new(100);
        for at in [499, 3, 400, 0, 255, 256] {
            numbers.push(&number_key(kept[at]), b"").unwrap();
        }
        missing.finish(numbers).unwrap();
        let expected: String = [0, 3, 255, 256, 400, 499].map(|n| format!("{{\"n\": {n}}}\n")).concat();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        assert!(MissingFile::new(Path::new("/no/such/folder/f")).is_err());
    }
}

//! The stored fields of a segment: they go to their files as documents come, or are kept aside on
//! disk until the order of the documents is known.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::formats::output::ID_BYTES;
use crate::formats::stored::{Stored, StoredWriter, encode};

/// Where the stored fields go.
pub(crate) enum StoredFields {
    /// To their files.
    Direct(Box<StoredWriter>),
    /// Aside.
    Aside(Aside),
}

/// Documents that are written later.
pub(crate) struct Aside {
    path: PathBuf,
    file: BufWriter<File>,
    /// The document that has not ended.
    doc: Vec<u8>,
    count: u32,
    /// How many fields each document has, and where each ends in the file.
    counts: Vec<u32>,
    ends: Vec<u64>,
    /// As with the files of an index, an error shows at the end.
    written: io::Result<()>,
}

impl StoredFields {
    /// `is_sorted`: whether documents get another order at the end.
    pub(crate) fn create(folder: &Path, segment: &str, id: &[u8; ID_BYTES], is_sorted: bool) -> io::Result<Self> {
        if !is_sorted {
            return Ok(Self::Direct(Box::new(StoredWriter::create(folder, segment, id)?)));
        }
        let path = folder.join(format!("aside{segment}"));
        let file = BufWriter::new(File::create_new(&path)?);
        let (doc, counts, ends) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self::Aside(Aside { path, file, doc, count: 0, counts, ends, written: Ok(()) }))
    }

    /// Adds a field to the document that [`StoredFields::end_doc`] ends.
    pub(crate) fn add(&mut self, number: u32, value: Stored) {
        match self {
            Self::Direct(writer) => writer.add(number, value),
            Self::Aside(aside) => {
                encode(&mut aside.doc, number, value);
                aside.count += 1;
            }
        }
    }

    pub(crate) fn end_doc(&mut self) {
        match self {
            Self::Direct(writer) => writer.end_doc(),
            Self::Aside(aside) => aside.end_doc(),
        }
    }

    /// Bytes in memory that grow with the documents.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Direct(_) => 0,
            Self::Aside(aside) => 4 * aside.counts.len() + 8 * aside.ends.len(),
        }
    }

    /// Writes what is left; returns the names of the files. `order` has the documents in their new
    /// order, if they get one.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub(crate) fn finish(
        self,
        folder: &Path,
        segment: &str,
        id: &[u8; ID_BYTES],
        order: Option<&[u32]>,
    ) -> io::Result<Vec<String>> {
        match self {
            Self::Direct(writer) => writer.finish(),
            Self::Aside(aside) => aside.write(StoredWriter::create(folder, segment, id)?, order),
        }
    }

    /// Removes everything that was written.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub(crate) fn discard(self, folder: &Path) -> io::Result<()> {
        match self {
            Self::Direct(writer) => writer.finish()?.iter().try_for_each(|file| fs::remove_file(folder.join(file))),
            Self::Aside(aside) => fs::remove_file(aside.path),
        }
    }
}

impl Aside {
    fn end_doc(&mut self) {
        if self.written.is_ok() {
            self.written = self.file.write_all(&self.doc);
        }
        let start = self.ends.last().copied().unwrap_or(0);
        self.ends.push(start + self.doc.len() as u64);
        self.counts.push(std::mem::take(&mut self.count));
        self.doc.clear();
    }

    fn write(mut self, mut writer: StoredWriter, order: Option<&[u32]>) -> io::Result<Vec<String>> {
        self.written?;
        self.file.flush()?;
        let file = File::open(&self.path)?;
        let mut doc = self.doc;
        for number in 0..self.ends.len() {
            let came = order.map_or(number, |order| order[number] as usize);
            let start = came.checked_sub(1).map_or(0, |before| self.ends[before]);
            doc.resize((self.ends[came] - start) as usize, 0);
            file.read_exact_at(&mut doc, start)?;
            writer.add_encoded(self.counts[came], &doc);
            writer.end_doc();
        }
        fs::remove_file(&self.path)?;
        writer.finish()
    }
}

//! A source whose documents get vectors of other files: row i goes into document i.
//!
//! Rows and documents are counted in the order in which they are read, one chunk at a time, so the
//! documents of a chunk are made by the thread that reads. Their vectors are written by all
//! threads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_core::ledger::Partition;
use inrush_core::{Code, DocBlock, RowForm};
use inrush_formats::Chunk;
use inrush_formats::columns::{Rows, put_beside};

use super::{
    Feedback, Files, Fingerprint, FormatOptions, Repeats, Source, SourceError, SourceInfo, SourceSpec, Step, Warnings,
    open, shown_path,
};

/// Documents with their vectors.
pub struct Beside {
    inner: Box<dyn Source>,
    vectors: Vec<Vectors>,
    document_bytes_max: usize,
    /// Documents of a block that have no vectors so far, and the number of those that have.
    left: Option<(DocBlock, usize)>,
    /// Documents with their vectors so far.
    taken: u64,
    has_ended: bool,
}

/// The rows of a field.
struct Vectors {
    field: String,
    path: PathBuf,
    files: Files,
    /// Rows that were read, and that no document has got.
    rows: Option<Rows>,
    has_ended: bool,
}

impl Beside {
    /// Puts vectors into the documents of `inner`, which are at most `document_bytes_max` long with
    /// them. `vectors` are names of fields, each with a file, folder or glob pattern.
    ///
    /// # Errors
    /// A file that does not exist, or documents without an order of their own.
    pub fn new(
        inner: Box<dyn Source>,
        vectors: &[(String, PathBuf)],
        document_bytes_max: usize,
    ) -> Result<Self, SourceError> {
        let info = inner.describe();
        let unordered = if info.repeats == Repeats::Unordered {
            Some("its documents come in no fixed order")
        } else if info.own_numbers {
            Some("it can begin in the middle, where the row of a document is not known")
        } else if info.has_operations {
            Some("its lines may delete documents, which have no vector")
        } else {
            None
        };
        if let Some(why) = unordered {
            let message = format!("option `vectors` puts row i into document i, and {why}; leave it out");
            return Err(SourceError::new(info.title(), message).coded(Code::OptionsConflict));
        }
        let warnings = info.warnings.unwrap_or_default();
        let vectors = vectors.iter().map(|vectors| Vectors::open(vectors, document_bytes_max, &warnings));
        Ok(Beside {
            inner,
            vectors: vectors.collect::<Result<_, _>>()?,
            document_bytes_max,
            left: None,
            taken: 0,
            has_ended: false,
        })
    }

    fn step(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        let (block, from) = match self.left.take() {
            Some(left) => left,
            None => match self.inner.next(want_bytes)? {
                Step::Chunk(chunk) => (chunk.into_block(), 0),
                Step::Idle => return Ok(Step::Idle),
                Step::End => return self.end(),
            },
        };
        if block.records.is_empty() {
            return Ok(Step::Chunk(Chunk::Docs(block)));
        }
        let mut rows = block.records.len() - from;
        for at in 0..self.vectors.len() {
            let ready = self.vectors[at].ready(want_bytes)?;
            if ready == 0 {
                return Err(self.counts_differ(&self.vectors[at], ["", "more than "]));
            }
            rows = rows.min(ready);
        }
        let piece = piece(&block, from, rows);
        if from + rows < block.records.len() {
            self.left = Some((block, from + rows));
        }
        self.taken += rows as u64;
        let vectors: Vec<Rows> = self.vectors.iter_mut().filter_map(|vectors| vectors.take(rows)).collect();
        let most = self.document_bytes_max;
        Ok(Step::Chunk(Chunk::Deferred(Box::new(move || put_beside(piece, vectors, most)))))
    }

    /// The end of the documents: it has to be that of all vectors.
    fn end(&mut self) -> Result<Step, SourceError> {
        for at in 0..self.vectors.len() {
            // One row more is enough.
            if self.vectors[at].ready(1)? > 0 {
                return Err(self.counts_differ(&self.vectors[at], ["more than ", ""]));
            }
        }
        Ok(Step::End)
    }

    /// The error of a side that has ended, while the other one has more: `more` has the words
    /// before the numbers of vectors and of documents.
    fn counts_differ(&self, other: &Vectors, more: [&str; 2]) -> SourceError {
        let ([more_vectors, more_documents], taken) = (more, self.taken);
        let message = format!(
            "the vectors of field {:?} are {more_vectors}{taken}, and the documents of {} are \
             {more_documents}{taken}, with those that cannot be read; option `vectors` puts row i into document i, so \
             there must be as many",
            other.field,
            self.inner.describe().title()
        );
        SourceError::new(shown_path(&other.path), message)
    }
}

/// Records of a block as a block of their own.
fn piece(block: &DocBlock, from: usize, rows: usize) -> DocBlock {
    let to = from + rows;
    let line = |at: usize| block.records.get(at).map(|record| u64::from(record.line));
    // Lines before the first record are those of the first piece.
    let first_line = if from == 0 { 0 } else { line(from).unwrap_or_default() };
    let end_line = line(to).unwrap_or(block.lines);
    let mut records = block.records[from..to].to_vec();
    records.iter_mut().for_each(|record| record.line -= first_line as u32);
    let rejects = block.rejects.iter().filter(|reject| (from..to).contains(&(reject.record as usize)));
    let rejects = rejects.cloned().map(|mut reject| {
        reject.record -= from as u32;
        reject
    });
    DocBlock {
        origin: block.origin,
        lines: end_line - first_line,
        data: block.data.clone(),
        records,
        rejects: rejects.collect(),
        meta: block.meta.get(from..to).map(<[_]>::to_vec).unwrap_or_default(),
        bytes_read: if from == 0 { block.bytes_read } else { 0 },
    }
}

impl Vectors {
    fn open(
        (field, path): &(String, PathBuf),
        document_bytes_max: usize,
        warnings: &Warnings,
    ) -> Result<Self, SourceError> {
        let (field, path) = (field.clone(), path.clone());
        let options = FormatOptions {
            vector_field: field.clone(),
            hive_partitions: false,
            document_bytes_max,
            ..FormatOptions::default()
        };
        let files = open(&[SourceSpec::Path(path.clone())], options, warnings)?;
        Ok(Vectors { field, path, files, rows: None, has_ended: false })
    }

    /// How many rows can be taken. They make about `bytes` of text at most. None at the end.
    fn ready(&mut self, bytes: usize) -> Result<usize, SourceError> {
        loop {
            match &self.rows {
                Some(rows) if !rows.is_empty() => return Ok(rows.len()),
                _ if self.has_ended => return Ok(0),
                _ => {}
            }
            // The number of the file is none of the documents' sources.
            let next = self.files.next(bytes).map_err(|error| SourceError { source_id: None, ..error });
            match next? {
                Step::Chunk(Chunk::Rows(rows)) if rows.are_vectors(&self.field) => self.rows = Some(rows),
                Step::Chunk(Chunk::Docs(block)) if block.records.is_empty() => {}
                Step::Chunk(_) => return Err(self.of_another_format()),
                Step::Idle => {}
                Step::End => self.has_ended = true,
            }
        }
    }

    fn take(&mut self, rows: usize) -> Option<Rows> {
        self.rows.as_mut().map(|all| all.take_first(rows))
    }

    fn of_another_format(&self) -> SourceError {
        let message = "is no file of vectors; option `vectors` takes .npy, .fvecs, .bvecs, .ivecs, .fbin, .u8bin and \
                       .i8bin";
        SourceError::new(shown_path(&self.path), message).coded(Code::UnknownFormat)
    }
}

impl Source for Beside {
    fn describe(&self) -> SourceInfo {
        let mut info = self.inner.describe();
        for vectors in &self.vectors {
            let of_vectors = vectors.files.describe();
            info.names.extend(of_vectors.names);
            info.bytes_total = info.bytes_total.zip(of_vectors.bytes_total).map(|(a, b)| a + b);
            if of_vectors.repeats != Repeats::Always {
                info.repeats = Repeats::Once;
            }
            info.reading = format!("{}, vectors {:?}", info.reading, vectors.field);
        }
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        if self.has_ended {
            return Ok(Step::End);
        }
        let step = self.step(want_bytes);
        if matches!(step, Ok(Step::End) | Err(_)) {
            (self.has_ended, self.left) = (true, None);
        }
        step
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        self.inner.feedback()
    }

    fn resume(&mut self, settled: &BTreeMap<Partition, u64>) {
        self.inner.resume(settled);
    }

    fn keep_texts(&mut self, fields: &[String]) {
        self.inner.keep_texts(fields);
    }

    fn form_rows(&mut self, form: &RowForm) {
        self.inner.form_rows(form);
        self.vectors.iter_mut().for_each(|vectors| vectors.files.form_rows(form));
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        let mut fingerprints = self.inner.fingerprints()?;
        for vectors in &self.vectors {
            fingerprints.extend(vectors.files.fingerprints()?);
        }
        Ok(fingerprints)
    }

    fn check_all(&self) -> Result<(), SourceError> {
        self.inner.check_all()?;
        self.vectors.iter().try_for_each(|vectors| vectors.files.check_all())
    }
}

#[cfg(test)]
mod tests;

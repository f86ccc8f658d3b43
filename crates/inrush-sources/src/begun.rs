//! A source whose first documents are read before the load changes anything in the cluster.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::clock;
use inrush_core::ledger::Partition;
use inrush_core::{DocBlock, RowForm};

use super::{Chunk, Feedback, Fingerprint, IDLE_MIN, Source, SourceError, SourceInfo, Step};

/// Bytes that are read without a document. A source with more bytes counts as one with documents.
const BYTES_MAX: u64 = 64 << 20;

/// A source with its first blocks.
pub struct Begun {
    inner: Box<dyn Source>,
    feedback: Option<Arc<dyn Feedback>>,
    first: VecDeque<DocBlock>,
    ended: bool,
    has_documents: bool,
}

impl Begun {
    /// Reads chunks of about `bytes` up to the first document. Blocks the calling thread, for
    /// `patience` at most where the source is idle.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn new(mut inner: Box<dyn Source>, bytes: usize, patience: Duration) -> Result<Self, SourceError> {
        let (feedback, begun) = (inner.feedback(), clock::now());
        let (mut first, mut read) = (VecDeque::new(), 0);
        let (ended, has_documents) = loop {
            let asked = clock::now();
            let chunk = match inner.next(bytes)? {
                Step::Chunk(chunk) => chunk,
                Step::End => break (true, false),
                Step::Idle if begun.elapsed() >= patience => break (false, true),
                Step::Idle => {
                    clock::block(IDLE_MIN.saturating_sub(asked.elapsed()));
                    continue;
                }
            };
            let block = chunk.into_block();
            read += block.bytes_read.max(block.data.len() as u64);
            let found = block.records.len() > block.rejects.len() || read > BYTES_MAX;
            first.push_back(block);
            if found {
                break (false, true);
            }
        };
        Ok(Begun { inner, feedback, first, ended, has_documents })
    }

    /// The first documents. Those that name their own ids are left out.
    pub fn first_documents(&self) -> impl Iterator<Item = &[u8]> {
        let without_ids = self.first.iter().filter(|block| block.meta.is_empty());
        without_ids.flat_map(|block| block.accepted().map(|at| block.record(at as usize)))
    }

    /// Whether the source has a readable document, or may have one that was not waited for.
    pub fn has_documents(&self) -> bool {
        self.has_documents
    }
}

impl Source for Begun {
    fn describe(&self) -> SourceInfo {
        self.inner.describe()
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        match self.first.pop_front() {
            Some(block) => Ok(Step::Chunk(Chunk::Docs(block))),
            None if self.ended => Ok(Step::End),
            None => self.inner.next(want_bytes),
        }
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        self.feedback.clone()
    }

    fn resume(&mut self, settled: &BTreeMap<Partition, u64>) {
        self.inner.resume(settled);
    }

    fn keep_texts(&mut self, fields: &[String]) {
        self.inner.keep_texts(fields);
    }

    fn form_rows(&mut self, form: &RowForm) {
        self.inner.form_rows(form);
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        self.inner.fingerprints()
    }

    fn check_all(&self) -> Result<(), SourceError> {
        self.inner.check_all()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FormatOptions, SourceSpec, Warnings, open};
    use super::*;

    fn begun(folder: &tempfile::TempDir, files: &[(&str, &str)]) -> Result<Begun, SourceError> {
        let specs = files.iter().map(|(name, text)| {
            std::fs::write(folder.path().join(name), text).unwrap();
            SourceSpec::Path(folder.path().join(name))
        });
        let specs: Vec<_> = specs.collect();
        let source = open(&specs, FormatOptions::default(), &Warnings::default()).unwrap();
        source.check_all()?;
        Begun::new(Box::new(source), 1000, Duration::MAX)
    }

    #[test]
    fn what_was_read_comes_first_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let mut source =
            begun(&folder, &[("a.ndjson", "\n\n"), ("b.csv", "n\n1\n2\n"), ("c.ndjson", "{\"n\":3}\n")]).unwrap();
        assert!(source.has_documents());
        let mut documents = Vec::new();
        while let Some(chunk) = source.next_chunk(1000).unwrap() {
            let block = chunk.into_block();
            documents.extend((0..block.records.len()).map(|at| String::from_utf8_lossy(block.record(at)).into_owned()));
        }
        assert_eq!(documents, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"]);
    }

    #[test]
    fn sources_without_a_document_are_known() {
        let folder = tempfile::tempdir().unwrap();
        for empty in ["", "\n\n"] {
            assert!(!begun(&folder, &[("a.ndjson", empty)]).unwrap().has_documents(), "{empty:?}");
        }
        assert!(!begun(&folder, &[("a.csv", "name,n\n")]).unwrap().has_documents());
    }

    #[test]
    fn a_later_file_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = begun(&folder, &[("a.ndjson", "{}\n"), ("b.parquet", "what?\n")]).err().unwrap().to_string();
        assert!(error.contains("b.parquet"), "{error}");
    }

    /// A source whose documents come when the load has begun.
    struct Late(Vec<Step>);

    impl Source for Late {
        fn describe(&self) -> SourceInfo {
            SourceInfo::new(["late"])
        }

        fn next(&mut self, _: usize) -> Result<Step, SourceError> {
            Ok(self.0.pop().unwrap_or(Step::Idle))
        }
    }

    #[test]
    fn an_idle_source_is_not_waited_for() {
        let mut late = Begun::new(Box::new(Late(Vec::new())), 1000, Duration::ZERO).unwrap();
        assert!(late.has_documents(), "it may have some");
        assert!(matches!(late.next(1000), Ok(Step::Idle)));
        let mut patient = Begun::new(Box::new(Late(vec![Step::End, Step::Idle])), 1000, Duration::MAX).unwrap();
        assert!(!patient.has_documents());
        assert!(matches!(patient.next(1000), Ok(Step::End)));
    }
}

//! The first records of a source.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_core::ledger::Partition;
use inrush_core::{DocBlock, RowForm};
use inrush_formats::Chunk;

use super::{Feedback, Fingerprint, Source, SourceError, SourceInfo, Step};

/// A source that ends after a number of records. One thread decodes them, because where the source
/// ends depends on those before.
pub struct Limited {
    inner: Box<dyn Source>,
    records: u64,
    left: u64,
}

impl Limited {
    /// The first `records` records of `inner`.
    pub fn new(inner: Box<dyn Source>, records: u64) -> Self {
        Limited { inner, records, left: records }
    }
}

/// Leaves the first records in the block. The numbers of the others are not settled.
fn cut(block: &mut DocBlock, records: usize) {
    if block.origin.own_numbers
        && let Some(first_out) = block.records.get(records)
    {
        block.lines = u64::from(first_out.line);
    }
    block.records.truncate(records);
    block.meta.truncate(records);
    block.rejects.retain(|reject| (reject.record as usize) < records);
}

impl Source for Limited {
    fn describe(&self) -> SourceInfo {
        let mut info = self.inner.describe();
        // The size says nothing about these records.
        (info.bytes_total, info.rows) = (None, None);
        info.reading = format!("{}, the first {} records", info.reading, self.records);
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        if self.left == 0 {
            return Ok(Step::End);
        }
        let mut block = match self.inner.next(want_bytes)? {
            Step::Chunk(chunk) => chunk.into_block(),
            step => return Ok(step),
        };
        cut(&mut block, usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= block.records.len() as u64;
        Ok(Step::Chunk(Chunk::Docs(block)))
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
    use inrush_core::DocMeta;
    use inrush_core::block::{Origin, Record};

    use super::super::{FormatOptions, SourceSpec, Warnings, open};
    use super::*;

    fn documents(text: &str, records: u64, bytes: usize) -> (Vec<String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let inner = open(&[SourceSpec::Path(path)], FormatOptions::default(), &Warnings::default()).unwrap();
        let mut source = Limited::new(Box::new(inner), records);
        let (mut found, mut rejects) = (Vec::new(), 0);
        while let Some(chunk) = source.next_chunk(bytes).unwrap() {
            let block = chunk.into_block();
            rejects += block.rejects.len();
            found.extend(block.accepted().map(|at| String::from_utf8_lossy(block.record(at as usize)).into_owned()));
        }
        assert!(matches!(source.next(bytes), Ok(Step::End)));
        (found, rejects)
    }

    #[test]
    fn the_source_ends_after_its_first_records() {
        let rows: String = (1..=50).map(|n| format!("{n}\n")).collect();
        for bytes in [1, 8, 1000] {
            for records in [1, 7, 49, 50, 51] {
                let (found, rejects) = documents(&format!("n\n{rows}"), records, bytes);
                assert_eq!((found.len() as u64, rejects), (records.min(50), 0), "{bytes} {records}");
                assert_eq!(found[0], "{\"n\":1}");
            }
        }
    }

    #[test]
    fn records_that_cannot_be_read_count() {
        let text = "n\n1\n2,2\n3\n4,4\n";
        for (records, expected) in [(1, (1, 0)), (2, (1, 1)), (3, (2, 1)), (4, (2, 2))] {
            let (found, rejects) = documents(text, records, 1000);
            assert_eq!((found.len(), rejects), expected, "{records}");
        }
    }

    #[test]
    fn records_with_own_numbers_beyond_the_limit_are_not_settled() {
        let of = |own_numbers, records| {
            let record = |line| Record { start: 0, end: 0, byte: 0, line };
            let mut block = DocBlock {
                origin: Origin { first_doc: 100, own_numbers, ..Origin::default() },
                lines: 12,
                records: [0, 3, 4, 9].map(record).to_vec(),
                meta: vec![DocMeta::default(); 4],
                ..DocBlock::default()
            };
            cut(&mut block, records);
            (block.records.len(), block.meta.len(), block.lines)
        };
        assert_eq!([of(true, 1), of(true, 3)], [(1, 1, 3), (3, 3, 9)], "up to the first record that is left out");
        assert_eq!([of(true, 4), of(true, usize::MAX)], [(4, 4, 12); 2], "the end of the block is settled with it");
        assert_eq!(of(false, 1), (1, 1, 12), "lines are no numbers of documents");
    }

    #[test]
    fn another_limit_is_another_source() {
        let of = |records| {
            let (_, inner) = crate::push::channel(crate::push::PushOptions::default());
            Limited::new(Box::new(inner), records).describe().reading
        };
        assert_ne!(of(1), of(2));
    }
}

//! The records of a window.

use std::sync::Arc;

use bytes::Bytes;
use inrush_core::Code;
use inrush_core::block::Record;
use inrush_core::{Action, DocBlock, Reject};
use inrush_formats::beginning;
use inrush_sources::Partition;
use serde::de::IgnoredAny;

use super::super::shape::Object;

/// The records of a window, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    blocks: Vec<Arc<DocBlock>>,
    /// What its documents have in common.
    shape: Object,
    rows: usize,
    bytes: usize,
    /// Its records that are not rows were returned to the engine.
    pub(super) is_told: bool,
}

/// A record of a window: the block, and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    block: u32,
    record: u32,
}

impl Window {
    /// Adds records. Those that are no JSON objects, and those that delete a document, become no
    /// rows.
    pub(super) fn push(&mut self, mut block: DocBlock, skip_deletions: bool) {
        let deletes = |at: u32| {
            let meta = block.meta.get(at as usize);
            meta.is_some_and(|meta| meta.action == Some(Action::Delete))
        };
        let accepted: Vec<u32> = block.accepted().collect();
        let (deletions, documents): (Vec<u32>, Vec<u32>) = accepted.into_iter().partition(|at| deletes(*at));
        let mut rejects = Vec::new();
        for record in documents {
            let text = block.record(record as usize);
            match check(text) {
                Ok(()) => self.shape.observe(text),
                Err((kind, reason)) => rejects.push(Reject { record, kind, reason }),
            }
        }
        if skip_deletions {
            block = without(&block, &deletions);
            let before = |record: u32| deletions.partition_point(|deletion| *deletion < record) as u32;
            rejects.iter_mut().for_each(|reject| reject.record -= before(reject.record));
        } else {
            let reason = "the record deletes a document, and a query makes only rows; with option `on_null=skip` such \
                          records are left out";
            let reject = |record| Reject { record, kind: Code::Deletion, reason: reason.to_owned() };
            rejects.extend(deletions.into_iter().map(reject));
        }
        block.add_rejects(rejects);
        self.rows += block.records.len() - block.rejects.len();
        self.bytes += cost(&block);
        self.blocks.push(Arc::new(block));
    }

    /// Whether it has no blocks. A block may have no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Records that are rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The memory of the records.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds what its documents have to the columns.
    pub(super) fn widen(&self, columns: &mut Object) {
        if !columns.is_hidden_by(&self.shape) {
            return columns.widen(&self.shape);
        }
        for Place { block, record } in self.places() {
            let mut document = Object::default();
            document.observe(self.blocks[block as usize].record(record as usize));
            columns.widen(&document);
        }
    }

    /// The position after the last record of each block.
    pub(super) fn ends(&self) -> impl Iterator<Item = (Partition, u64)> {
        self.blocks.iter().map(|block| (partition(block), block.origin.first_doc + block.lines))
    }

    /// Whether it has records of one of these partitions.
    pub(super) fn has_any(&self, partitions: &[Partition]) -> bool {
        self.blocks.iter().any(|block| partitions.contains(&partition(block)))
    }

    /// Takes out the records of these partitions.
    pub(super) fn forget(&mut self, partitions: &[Partition]) {
        if !self.has_any(partitions) {
            return;
        }
        self.blocks.retain(|block| !partitions.contains(&partition(block)));
        self.rows = self.blocks.iter().map(|block| block.records.len() - block.rejects.len()).sum();
        self.bytes = self.blocks.iter().map(|block| cost(block)).sum();
    }

    /// The places of all rows, in order.
    pub(super) fn places(&self) -> Vec<Place> {
        let places = self
            .blocks
            .iter()
            .zip(0..)
            .flat_map(|(block, number)| block.accepted().map(move |record| Place { block: number, record }));
        places.collect()
    }

    /// The documents at these places. The line of each is its number in its block.
    pub(super) fn documents(&self, places: &[Place]) -> Vec<DocBlock> {
        let of_one_block = places.chunk_by(|one, next| one.block == next.block);
        let documents = of_one_block.filter_map(|places| {
            let block = &self.blocks[places.first()?.block as usize];
            let records: Vec<Record> = places
                .iter()
                .zip(0..)
                .map(|(place, line)| Record { line, ..block.records[place.record as usize] })
                .collect();
            Some(DocBlock { lines: records.len() as u64, data: block.data.clone(), records, ..DocBlock::default() })
        });
        documents.collect()
    }

    /// These records are not rows.
    pub(super) fn reject(&mut self, found: Vec<(Place, Code, String)>) {
        self.rows -= found.len();
        for (Place { block, record }, kind, reason) in found {
            let block = Arc::make_mut(&mut self.blocks[block as usize]);
            block.add_rejects(vec![Reject { record, kind, reason }]);
        }
    }

    /// Each block with only its records that are not rows.
    pub(super) fn rejects(&self) -> Vec<DocBlock> {
        self.blocks.iter().map(|block| only_rejects(block)).collect()
    }
}

fn partition(block: &DocBlock) -> Partition {
    (block.origin.source, block.origin.partition)
}

fn cost(block: &DocBlock) -> usize {
    block.data.len() + block.records.len() * size_of::<Record>()
}

/// Why a text is no row.
fn check(text: &[u8]) -> Result<(), (Code, String)> {
    if text.trim_ascii_start().first() != Some(&b'{') {
        let found = beginning(text);
        return Err((Code::NotAnObject, format!("the value is `{found}`; a row is a JSON object")));
    }
    match serde_json::from_slice::<IgnoredAny>(text) {
        Ok(IgnoredAny) => Ok(()),
        Err(error) => Err((Code::InvalidJson, format!("the value is not JSON: {error}"))),
    }
}

/// The block without some of its records, which no reject names.
fn without(block: &DocBlock, left_out: &[u32]) -> DocBlock {
    let kept: Vec<u32> = (0..block.records.len() as u32).filter(|at| left_out.binary_search(at).is_err()).collect();
    let number = |record: u32| kept.partition_point(|at| *at < record) as u32;
    let rejects = block.rejects.iter().map(|reject| Reject { record: number(reject.record), ..reject.clone() });
    DocBlock { data: block.data.clone(), rejects: rejects.collect(), ..selected(block, &kept) }
}

fn only_rejects(block: &DocBlock) -> DocBlock {
    let rejected: Vec<u32> = block.rejects.iter().map(|reject| reject.record).collect();
    let rejects = block.rejects.iter().zip(0..).map(|(reject, record)| Reject { record, ..reject.clone() });
    // Without a reject the memory of the block is not needed any more.
    let data = if rejected.is_empty() { Bytes::new() } else { block.data.clone() };
    DocBlock { data, rejects: rejects.collect(), ..selected(block, &rejected) }
}

/// The block with these records, without text and rejects.
fn selected(block: &DocBlock, records: &[u32]) -> DocBlock {
    DocBlock {
        origin: block.origin,
        lines: block.lines,
        data: Bytes::new(),
        records: records.iter().map(|at| block.records[*at as usize]).collect(),
        rejects: Vec::new(),
        meta: records.iter().filter_map(|at| block.meta.get(*at as usize).cloned()).collect(),
        bytes_read: block.bytes_read,
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::block::Origin;
    use inrush_core::{DocMeta, SourceId};

    use super::*;

    /// A block of partition 3 from number 100 on. `-` deletes.
    fn block(texts: &[&str]) -> DocBlock {
        let mut block = DocBlock { lines: 2 * texts.len() as u64, bytes_read: 7, ..DocBlock::default() };
        block.origin = Origin { partition: 3, first_doc: 100, own_numbers: true, ..Origin::default() };
        let mut data = Vec::new();
        for (text, number) in texts.iter().zip(0..) {
            let start = data.len() as u32;
            data.extend_from_slice(text.as_bytes());
            block.records.push(Record { start, end: data.len() as u32, byte: start, line: 2 * number });
            let action = (*text == "-").then_some(Action::Delete);
            block.meta.push(DocMeta::default().with_action(action));
        }
        block.data = data.into();
        block
    }

    fn kinds(block: &DocBlock) -> Vec<(u32, Code, String)> {
        let rejects = block.rejects.iter();
        let text = |at: u32| String::from_utf8_lossy(block.record(at as usize)).into_owned();
        rejects.map(|reject| (block.records[reject.record as usize].line, reject.kind, text(reject.record))).collect()
    }

    const TEXTS: [&str; 6] = ["{\"a\":1}", "-", "7", "{\"a\":", "{\"a\":2}", "{\"a\":3}"];

    #[test]
    fn records_that_are_no_rows_keep_their_positions() {
        for skip in [false, true] {
            let mut window = Window::default();
            window.push(block(&TEXTS), skip);
            assert_eq!((window.rows(), window.places().len()), (3, 3));
            let third = window.places()[2];
            window.reject(vec![(third, Code::BadValue, "odd".to_owned())]);
            let documents = window.documents(&window.places());
            assert_eq!((documents.len(), documents[0].records.len()), (1, 2));
            assert_eq!((documents[0].record(1), documents[0].records[1].line), (&b"{\"a\":2}"[..], 1));
            let rejects = &window.rejects()[0];
            assert_eq!((rejects.origin.first_doc, rejects.lines, rejects.bytes_read), (100, 12, 7));
            assert_eq!((rejects.records.len(), rejects.meta.len()), (rejects.rejects.len(), rejects.rejects.len()));
            let deletion = (2, Code::Deletion, "-".to_owned());
            let others = [
                (4, Code::NotAnObject, "7".to_owned()),
                (6, Code::InvalidJson, "{\"a\":".to_owned()),
                (10, Code::BadValue, "{\"a\":3}".to_owned()),
            ];
            let expected: Vec<_> = (!skip).then_some(deletion).into_iter().chain(others).collect();
            assert_eq!(kinds(rejects), expected);
        }
    }

    #[test]
    fn records_of_a_partition_are_taken_out() {
        let mut window = Window::default();
        window.push(block(&TEXTS), true);
        let mut other = block(&["{}"]);
        other.origin.partition = 4;
        window.push(other, true);
        let lost = [(SourceId(0), 3)];
        assert!(window.has_any(&lost) && window.bytes() > 100);
        window.forget(&lost);
        assert!(!window.has_any(&lost) && window.rows() == 1 && window.bytes() < 100);
        assert_eq!(window.ends().collect::<Vec<_>>(), [((SourceId(0), 4), 102)]);
    }
}

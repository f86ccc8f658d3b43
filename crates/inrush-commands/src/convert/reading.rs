//! Reads the documents of a source for an output, block by block, from a position on.

use std::collections::{BTreeMap, HashMap};

use inrush_core::block::Partition;
use inrush_core::encode::Shape;
use inrush_core::{Code, DocBlock};
use inrush_sources::{CHUNK_BYTES, Source, SourceInfo};

use super::value::fields;
use super::{ConvertError, Converted};

/// Is told how far a conversion is, and answers whether to go on.
pub(super) type Watch<'a> = &'a dyn Fn(&Converted) -> bool;

/// Numbers of documents by partition.
pub(super) type Numbers = BTreeMap<Partition, u64>;

/// How far a source was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) converted: Converted,
    /// All documents below these numbers were read.
    pub(super) read: Numbers,
    /// Documents that were written to the source after the output was begun, and that a later run
    /// has read.
    pub(super) later: u64,
}

/// A source that is read to its end, or to the end of a part of the output.
pub(super) struct Reading<'a> {
    pub(super) source: &'a mut dyn Source,
    /// The names of the sources in errors.
    names: Vec<String>,
    changes: Changes,
    /// Whether errors name documents by their ids.
    by_id: bool,
    watch: Watch<'a>,
    /// Bytes of a part of the output, about.
    part_bytes: u64,
    lines: HashMap<Partition, u64>,
    /// Documents at the beginning that an earlier run has read.
    skip: Numbers,
    /// Where documents begin that count as [`Progress::later`].
    ends: Numbers,
    next: Option<(DocBlock, Rows)>,
    progress: Progress,
}

/// The changes of each document.
#[derive(Clone, Default)]
pub(super) struct Changes {
    /// Those of its fields. Clones share which fields occurred.
    pub(super) shape: Shape,
    /// The field that gets the id.
    pub(super) id_as: Option<String>,
}

impl<'a> Reading<'a> {
    /// Reads a source from its beginning.
    pub(super) fn new(source: &'a mut dyn Source, changes: Changes, watch: Watch<'a>) -> Self {
        let SourceInfo { names, has_ids, own_numbers, .. } = source.describe();
        Reading {
            source,
            names,
            changes,
            by_id: has_ids && own_numbers,
            watch,
            part_bytes: u64::MAX,
            lines: HashMap::new(),
            skip: Numbers::new(),
            ends: Numbers::new(),
            next: None,
            progress: Progress::default(),
        }
    }

    /// The same, with other names of the sources in errors, whose rows do not have ids.
    #[must_use]
    pub(super) fn named(self, names: Vec<String>) -> Self {
        Reading { names, by_id: false, ..self }
    }

    /// The same, for an output in parts of about this size.
    #[must_use]
    pub(super) fn in_parts(self, part_bytes: u64) -> Self {
        Reading { part_bytes, ..self }
    }

    /// The same, from where an earlier run ended. `ends`: those of the source before that run.
    #[must_use]
    pub(super) fn from(mut self, progress: Progress, ends: Numbers) -> Self {
        if progress.read.is_empty() {
            return self;
        }
        self.source.resume(&progress.read);
        self.progress = progress;
        if self.source.describe().own_numbers {
            // A partition of which nothing was read before has no earlier documents.
            let is_begun = |partition: &Partition| self.progress.read.get(partition).is_some_and(|read| *read > 0);
            self.ends = ends.into_iter().filter(|(partition, _)| is_begun(partition)).collect();
        } else {
            // It is read once more.
            self.skip = self.progress.read.clone();
            self.progress.converted.bytes_read = 0;
        }
        self
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Whether there is another document.
    pub(super) fn has_more(&mut self) -> Result<bool, ConvertError> {
        while self.next.is_none() {
            let Some((block, rows)) = self.read()? else { return Ok(false) };
            if !block.records.is_empty() {
                self.next = Some((block, rows));
            }
        }
        Ok(true)
    }

    /// Calls `each` with every block up to the end of the part, and the names of its rows. All
    /// records are documents. `each` returns the bytes of the part.
    pub(super) fn for_each_block(
        &mut self,
        mut each: impl FnMut(DocBlock, &Rows) -> Result<u64, ConvertError>,
    ) -> Result<(), ConvertError> {
        loop {
            let next = match self.next.take() {
                Some(next) => Some(next),
                None => self.read()?,
            };
            let Some((block, rows)) = next else { return Ok(()) };
            self.progress.converted.docs += block.records.len() as u64;
            let partition = (block.origin.source, block.origin.partition);
            let read = self.progress.read.entry(partition).or_default();
            if block.origin.own_numbers {
                *read = block.origin.first_doc + block.lines;
                let first = block.origin.first_doc;
                let end = self.ends.get(&partition).copied().unwrap_or(u64::MAX);
                let is_later = |line: u32| first + u64::from(line) >= end;
                self.progress.later += block.records.iter().filter(|record| is_later(record.line)).count() as u64;
            } else {
                *read += block.records.len() as u64;
            }
            let written = each(block, &rows)?;
            if !(self.watch)(&self.progress.converted) {
                return Err(ConvertError::Stopped);
            }
            if written >= self.part_bytes {
                return Ok(());
            }
        }
    }

    /// The next block, without documents that an earlier run has read.
    fn read(&mut self) -> Result<Option<(DocBlock, Rows)>, ConvertError> {
        let Some(chunk) = self.source.next_chunk(CHUNK_BYTES)? else { return Ok(None) };
        let mut block = chunk.into_block();
        let partition = (block.origin.source, block.origin.partition);
        // A block knows only its own lines.
        let before = self.lines.entry(partition).or_default();
        let name = self.names.get(block.origin.source.0 as usize).map_or("-", String::as_str);
        let lines = block.records.iter().map(|record| *before + 1 + u64::from(record.line)).collect();
        let ids = match self.by_id {
            true => block.meta.iter().map(|meta| meta.id.clone()).collect(),
            false => Vec::new(),
        };
        let mut rows = Rows { name: name.to_owned(), lines, ids };
        *before += block.lines;
        if let Some(reject) = block.rejects.first() {
            return Err(rows.coded(reject.record as usize, reject.kind, reject.reason.clone()));
        }
        self.progress.converted.bytes_read += block.bytes_read;
        if let Some(skip) = self.skip.get_mut(&partition) {
            let count = block.records.len().min(usize::try_from(*skip).unwrap_or(usize::MAX));
            *skip -= count as u64;
            block.records.drain(..count);
            block.meta.drain(..count.min(block.meta.len()));
            rows.lines.drain(..count);
            rows.ids.drain(..count.min(rows.ids.len()));
        }
        if !self.changes.shape.is_none() {
            change(&mut block, &self.changes.shape).map_err(|(record, (code, why))| rows.coded(record, code, why))?;
        }
        if let Some(field) = &self.changes.id_as {
            add_ids(&mut block, field).map_err(|(record, problem)| rows.error(record, problem))?;
        }
        Ok(Some((block, rows)))
    }
}

/// Writes each document anew. An error names the record.
fn rewrite<E>(
    block: &mut DocBlock,
    more: usize,
    mut write: impl FnMut(usize, &[u8], &mut Vec<u8>) -> Result<(), E>,
) -> Result<(), (usize, E)> {
    let mut data = Vec::with_capacity(block.data.len() + block.records.len() * more);
    let mut records = Vec::with_capacity(block.records.len());
    for (at, record) in block.records.iter().enumerate() {
        // A block has far less than 4 GiB.
        let start = data.len() as u32;
        write(at, block.record(at), &mut data).map_err(|error| (at, error))?;
        let mut moved = *record;
        (moved.start, moved.end) = (start, data.len() as u32);
        records.push(moved);
    }
    block.data = data.into();
    block.records = records;
    Ok(())
}

/// Gives each document the fields and names of the shape. Empty lines stay.
fn change(block: &mut DocBlock, shape: &Shape) -> Result<(), (usize, (Code, String))> {
    let mut buffer = Vec::new();
    rewrite(block, 0, |_, document, out| {
        if !document.is_empty() {
            out.extend_from_slice(shape.of(document, &mut buffer)?);
        }
        Ok(())
    })
}

/// Puts the id of each document into a field of it.
fn add_ids(block: &mut DocBlock, field: &str) -> Result<(), (usize, String)> {
    let name = serde_json::Value::from(field).to_string();
    let meta = std::mem::take(&mut block.meta);
    let added = rewrite(block, name.len() + 32, |at, document, data| {
        let Some(id) = meta.get(at).and_then(|meta| meta.id.as_deref()) else {
            return Err("the source has no id for this document, so no field can have it".to_owned());
        };
        let fields = fields(document)?;
        if fields.iter().any(|(other, _)| other == field) {
            return Err(format!("the document has a field `{field}` already; choose another name for the ids"));
        }
        // It is an object.
        let rest = document.trim_ascii_start().get(1..).unwrap_or_default();
        data.extend_from_slice(format!("{{{name}:{}", serde_json::Value::from(id)).as_bytes());
        if !fields.is_empty() {
            data.push(b',');
        }
        data.extend_from_slice(rest);
        Ok(())
    });
    block.meta = meta;
    added
}

/// The source and rows of a block, for errors.
pub(super) struct Rows {
    name: String,
    lines: Vec<u64>,
    /// The ids of the records, where errors name them. Else empty.
    ids: Vec<Option<String>>,
}

impl Rows {
    pub(super) fn error(&self, record: usize, problem: impl Into<String>) -> ConvertError {
        self.coded(record, Code::NotConvertible, problem.into())
    }

    /// An error of this kind, such as that of a record that is no document.
    pub(super) fn coded(&self, record: usize, code: Code, problem: String) -> ConvertError {
        let row = self.lines.get(record).copied().unwrap_or(0);
        let id = self.ids.get(record).cloned().flatten();
        ConvertError::Record { source_name: self.name.clone(), row, id, code, problem }
    }
}

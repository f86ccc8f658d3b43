//! Spreadsheets: one sheet of a workbook. One of its rows has the names of the columns.

mod cell;
mod codes;
mod formulas;
mod found;
mod ods;
mod read;
mod rows;
mod unpacked;
mod xls;
mod xlsb;
mod xlsx;

use std::sync::Arc;

use bytes::Bytes;
use inrush_core::block::Origin;
use inrush_core::{DocBlock, SourceId};

use self::rows::SheetWriter;
use super::cut_file::ReadFile;
use super::state::Reading;
use super::{Chunk, SourceError};

/// A workbook's sheet. It is in memory as a whole, because cells refer to text elsewhere in the
/// file.
pub(super) struct SheetFile {
    id: SourceId,
    sheet: Arc<SheetWriter>,
    /// The position of the next row among the sheet's rows.
    next: usize,
    /// The number of the next row in the sheet, from 0.
    row: u32,
    bytes: u64,
    reported: u64,
}

impl SheetFile {
    /// Reads the workbook `data`, whose file has `bytes`.
    pub(super) fn open(
        reading: &Reading,
        id: SourceId,
        name: &str,
        data: Bytes,
        bytes: u64,
    ) -> Result<Self, SourceError> {
        let failed = |message| SourceError::new(name, message);
        let found = read::rows(data, &reading.options.sheet, name, &reading.warnings).map_err(failed)?;
        let sheet = SheetWriter::new(found, reading, name).map_err(failed)?;
        Ok(SheetFile { id, sheet: Arc::new(sheet), next: 0, row: 0, bytes, reported: 0 })
    }
}

impl ReadFile for SheetFile {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let from = self.next;
        let to = self.sheet.piece(from, bytes);
        self.next = to;
        // Progress is in proportion to the rows, because the position of a cell in the file is
        // unknown.
        let total = self.sheet.len() as u64;
        let read = if to as u64 == total { self.bytes } else { self.bytes / total * to as u64 };
        let bytes_read = read - std::mem::replace(&mut self.reported, read);
        let origin = Origin { source: self.id, ..Origin::default() };
        if from == to {
            let rest = DocBlock { origin, bytes_read, ..DocBlock::default() };
            return Ok((bytes_read > 0).then_some(Chunk::Docs(rest)));
        }
        let first_row = std::mem::replace(&mut self.row, self.sheet.number(to - 1) + 1);
        let sheet = Arc::clone(&self.sheet);
        Ok(Some(Chunk::Deferred(Box::new(move || sheet.block(from..to, first_row, origin, bytes_read)))))
    }
}

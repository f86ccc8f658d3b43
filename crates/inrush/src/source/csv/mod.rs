//! CSV, TSV and what else is made of rows and one separator.
//!
//! An empty cell, quoted or not, is an absent field. Types are found from the first rows: a later cell that does not fit is
//! sent as a string and counted; where the type was declared, its row is a dead letter.

mod decode;
mod types;

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use inrush_core::SourceId;
use inrush_core::block::Origin;

use super::warnings::Warnings;
use super::{FileReader, RawChunk, SourceError};
use decode::{CellEnd, Cells, Column, CsvDecoder, Dialect};
pub use types::ColumnType;
use types::Inference;

/// How a file of rows is written, and what its columns are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// The separator. Default: a comma; a tab for `.tsv`, `|` for `.psv`.
    pub separator: Option<u8>,
    /// The quote, doubled inside of itself. Default `"`; `None`: no cell is quoted.
    pub quote: Option<u8>,
    /// Whether the first row names the columns. Default true.
    pub header: bool,
    /// The columns' names, in place of the header's or of `c1`, `c2`, ….
    pub columns: Vec<String>,
    /// Types by name; a cell that does not fit spoils its row.
    pub schema: Vec<(String, ColumnType)>,
    /// No types are looked for: every cell is a string.
    pub all_strings: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            separator: None,
            quote: Some(b'"'),
            header: true,
            columns: Vec::new(),
            schema: Vec::new(),
            all_strings: false,
        }
    }
}

/// Rows that types are found from, at most.
const SAMPLE_ROWS: usize = 10_000;
/// Bytes that types are found from, at most.
const SAMPLE_BYTES: usize = 1 << 20;

/// Reads one file.
pub(super) struct CsvReader {
    input: Box<dyn Read + Send>,
    name: String,
    source: SourceId,
    dialect: Dialect,
    /// What was read and not handed on.
    carry: Vec<u8>,
    /// Offset of `carry` in the decoded text.
    offset: u64,
    ended: bool,
    first: Option<Arc<CsvDecoder>>,
    decoder: Arc<CsvDecoder>,
    record_bytes_max: usize,
}

impl CsvReader {
    /// Reads the header and a sample. `input` is decompressed UTF-8 without a byte order mark.
    pub(super) fn open(
        input: Box<dyn Read + Send>,
        name: &str,
        source: SourceId,
        options: &CsvOptions,
        record_bytes_max: usize,
        warnings: &Warnings,
    ) -> Result<Self, SourceError> {
        let dialect = Dialect { separator: options.separator.unwrap_or(b','), quote: options.quote };
        let decoder = |columns, skip_first_row| CsvDecoder {
            source: name.to_owned(),
            dialect,
            columns,
            skip_first_row,
            warnings: warnings.clone(),
        };
        let mut reader = CsvReader {
            input,
            name: name.to_owned(),
            source,
            dialect,
            carry: Vec::new(),
            offset: 0,
            ended: false,
            first: None,
            decoder: Arc::new(decoder(Vec::new(), false)),
            record_bytes_max,
        };
        // The header has to be there as a whole, however long it is.
        let mut want = SAMPLE_BYTES;
        while !reader.ended
            && reader.last_row_end(&reader.carry).is_none()
            && want <= record_bytes_max.max(SAMPLE_BYTES)
        {
            reader.fill(want)?;
            want *= 2;
        }
        let columns = columns(&reader.carry, reader.ended, dialect, name, options, warnings)?;
        if options.header {
            reader.first = Some(Arc::new(decoder(columns.clone(), true)));
        }
        reader.decoder = Arc::new(decoder(columns, false));
        Ok(reader)
    }

    /// Reads until `carry` has `bytes`, or the input ends.
    fn fill(&mut self, bytes: usize) -> Result<(), SourceError> {
        if self.carry.len() >= bytes || self.ended {
            return Ok(());
        }
        let missing = bytes - self.carry.len();
        self.carry.reserve(missing);
        let read = (&mut self.input).take(missing as u64).read_to_end(&mut self.carry).map_err(|e| {
            let at = self.offset + self.carry.len() as u64;
            SourceError::io(&*self.name, &format!("cannot read on at byte {at}"), e).of(self.source)
        })?;
        self.ended = read < missing;
        Ok(())
    }

    /// Where the last row ends that is complete in `text`, one past its line end.
    fn last_row_end(&self, text: &[u8]) -> Option<usize> {
        let Some(quote) = self.dialect.quote else { return memchr::memrchr(b'\n', text).map(|i| i + 1) };
        let mut last = None;
        let mut plain = 0;
        let mut from = 0;
        while let Some(i) = memchr::memchr(quote, &text[from..]) {
            let open = from + i;
            // Only at the beginning of a cell does a quote mean anything.
            if open > 0 && text[open - 1] != self.dialect.separator && text[open - 1] != b'\n' {
                from = open + 1;
                continue;
            }
            last = memchr::memrchr(b'\n', &text[plain..open]).map(|i| plain + i + 1).or(last);
            let mut close = open + 1;
            loop {
                match memchr::memchr(quote, &text[close..]) {
                    // It may be closed in what comes next.
                    None => return last,
                    Some(i) if text.get(close + i + 1) == Some(&quote) => close += i + 2,
                    Some(i) => {
                        close += i + 1;
                        break;
                    }
                }
            }
            plain = close;
            from = close;
        }
        memchr::memrchr(b'\n', &text[plain..]).map(|i| plain + i + 1).or(last)
    }
}

impl FileReader for CsvReader {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<RawChunk>, SourceError> {
        let mut want = bytes.max(self.carry.len());
        let end = loop {
            self.fill(want)?;
            if self.carry.is_empty() {
                return Ok(None);
            }
            match self.last_row_end(&self.carry) {
                _ if self.ended => break self.carry.len(),
                Some(end) => break end,
                None if want > self.record_bytes_max => {
                    let message = format!(
                        "the row that begins at byte {} does not end within {} bytes; is a quote never closed? (--quote none reads quotes as text)",
                        self.offset, self.record_bytes_max
                    );
                    return Err(SourceError::new(&*self.name, message).of(self.source));
                }
                None => want = want.saturating_mul(2),
            }
        };
        let mut rest = Vec::with_capacity(bytes.max(self.carry.len() - end));
        rest.extend_from_slice(&self.carry[end..]);
        let mut data = std::mem::replace(&mut self.carry, rest);
        data.truncate(end);
        let origin = Origin { source: self.source, first_byte: self.offset, ..Origin::default() };
        self.offset += end as u64;
        let decoder = self.first.take().unwrap_or_else(|| Arc::clone(&self.decoder));
        Ok(Some(RawChunk { origin, data: Bytes::from(data), bytes_read: 0, decoder }))
    }
}

/// Names and types of the columns, from the header and the first rows.
fn columns(
    sample: &[u8],
    whole: bool,
    dialect: Dialect,
    name: &str,
    options: &CsvOptions,
    warnings: &Warnings,
) -> Result<Vec<Column>, SourceError> {
    let mut cells = Cells::new(sample, dialect);
    let mut header: Vec<String> = Vec::new();
    let mut width = None;
    let mut inference: Vec<Inference> = Vec::new();
    let mut count = 0;
    while count <= SAMPLE_ROWS && cells.row_follows() {
        let is_header = options.header && count == 0;
        let mut row = Vec::new();
        loop {
            let (cell, how) = cells.next();
            if is_header {
                header.push(String::from_utf8_lossy(cell).trim().to_owned());
            } else {
                let mut one = inference.get(row.len()).copied().unwrap_or_default();
                if !cell.is_empty() {
                    one.see(cell);
                }
                row.push(one);
            }
            match how {
                CellEnd::Separator => {}
                CellEnd::Row | CellEnd::Unclosed => break,
            }
        }
        // The last row of a sample may be cut off.
        let complete = whole || cells.at < sample.len();
        count += 1;
        if is_header {
            width = Some(header.len());
        } else if complete && (width.is_none() || width == Some(row.len())) {
            width = Some(row.len());
            inference = row;
        }
    }
    let width = width.unwrap_or(0);
    let names = names(header, width, name, options, warnings)?;
    for (declared, _) in &options.schema {
        if !names.contains(declared) {
            let message = format!(
                "--schema names the column {declared:?}, which is not there; the columns are {}",
                names.join(", ")
            );
            return Err(SourceError::new(name, message));
        }
    }
    Ok(names
        .into_iter()
        .enumerate()
        .map(|(at, column)| match options.schema.iter().find(|(declared, _)| *declared == column) {
            Some((_, declared)) => Column::new(column, *declared, true),
            None if options.all_strings => Column::new(column, ColumnType::String, false),
            None => {
                let found = inference.get(at).copied().unwrap_or_default().column_type();
                Column::new(column, found, false)
            }
        })
        .collect())
}

/// A name for each column: the given ones, the header's, or `c1`, `c2`, …. Empty names become `cN`, repeated ones get a number.
fn names(
    header: Vec<String>,
    width: usize,
    name: &str,
    options: &CsvOptions,
    warnings: &Warnings,
) -> Result<Vec<String>, SourceError> {
    if !options.columns.is_empty() {
        if width != 0 && options.columns.len() != width {
            let message = format!("--columns gives {} names, and the rows have {width} cells", options.columns.len());
            return Err(SourceError::new(name, message));
        }
        return Ok(options.columns.clone());
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut names = Vec::with_capacity(width);
    for at in 0..width {
        let given = header.get(at).map_or("", String::as_str);
        let wanted = if given.is_empty() { format!("c{}", at + 1) } else { given.to_owned() };
        let mut unique = wanted.clone();
        let mut number = 2;
        while !taken.insert(unique.clone()) {
            unique = format!("{wanted}_{number}");
            number += 1;
        }
        if options.header && unique != given {
            warnings.add(name, "column_name", &unique, 1, || {
                format!("column {} is named {given:?} in the header; its field is {unique:?}", at + 1)
            });
        }
        names.push(unique);
    }
    Ok(names)
}

#[cfg(test)]
mod tests;

//! Opens a file: decompresses it, finds out how it is written, and chooses what reads it.

use std::collections::HashMap;
use std::sync::Arc;

use inrush_core::SourceId;

use super::binary::{self, BinaryFile};
use super::buffer::BufferPool;
use super::bulk::{BulkDecode, BulkFile};
use super::charset::read_text;
use super::csv::{self, ColumnType};
use super::cut::{Boundary, Cutter};
use super::cut_file::{CutFile, ReadFile};
use super::dead_letters::DeadLetterDecode;
use super::format::{Format, FormatOptions, decide, decide_binary, may_be_a_table, no_records, separator};
use super::input::Input;
use super::json_head;
use super::json_values::{Hint, Rules, ValuesFile};
use super::lines::{NdjsonDecode, OneField, PushLine, TextDecode};
use super::raw::{Contents, Raw, unpacked};
use super::smile::{self, SmileDecode};
use super::warnings::Warnings;
use super::with_fields::WithFields;
use super::{Decode, SourceError};

/// The largest chunk and the largest record, bytes: positions in a block are 32 bits, and what is decoded can be
/// longer than what was read.
pub const CHUNK_BYTES_MAX: usize = 512 << 20;

/// Bytes that tell a binary format: those of a workbook are the name of its first part.
const BINARY_LEN: usize = 96;

/// Text that is looked at to tell the format, bytes.
const GUESS_LEN: usize = 4096;

/// The same of JSON that has no line end in these, bytes.
const GUESS_JSON_LEN: usize = 64 << 10;

/// What the files of a job have in common for their readers.
pub struct Reading {
    /// How they are read.
    pub options: FormatOptions,
    /// Where surprises are counted.
    pub warnings: Warnings,
    /// The types that columns of CSV files have shown.
    column_types: HashMap<String, ColumnType>,
    /// Fields whose own text is kept.
    pub texts: Vec<String>,
    /// Buffers that are read into.
    chunks: Arc<BufferPool>,
    /// Buffers that documents are written into.
    pub documents: Arc<BufferPool>,
}

impl Reading {
    /// Nothing was read yet.
    pub fn new(options: FormatOptions, warnings: Warnings) -> Self {
        Reading {
            options,
            warnings,
            column_types: HashMap::new(),
            texts: Vec::new(),
            chunks: BufferPool::new(),
            documents: BufferPool::new(),
        }
    }

    /// The same before anything was read, with warnings of its own.
    pub fn anew(&self) -> Self {
        let texts = self.texts.clone();
        Reading { texts, ..Reading::new(self.options.clone(), Warnings::default()) }
    }

    /// Keeps the text that files have for these fields.
    pub fn keep_texts(&mut self, fields: &[String]) {
        self.texts = fields.to_vec();
    }

    /// Finds out how a file is written, and opens it. Documents get the fields `partitions`, each with its JSON value.
    pub fn open(
        &mut self,
        id: SourceId,
        name: &str,
        raw: Raw,
        partitions: &[(String, String)],
    ) -> Result<Box<dyn ReadFile>, SourceError> {
        let Raw { input: raw, read, seekable } = raw;
        let Contents { codec, mut contents, consumed } = unpacked(raw, read, name)?;
        let head = contents.peek(BINARY_LEN, |head| head.contains(&b'\n'));
        let format = decide_binary(&self.options, name, head);
        if let (Some(format), Some(_)) = (format, &self.options.records) {
            return Err(SourceError::new(name, no_records(format)));
        }
        if format == Some(Format::Smile) {
            let record_bytes_max = self.options.document_bytes_max;
            let cutter = Cutter::new(contents, Boundary::Smile, 0, record_bytes_max, Arc::clone(&self.chunks));
            let decoder = Arc::new(SmileDecode::new(record_bytes_max, Arc::clone(&self.documents)));
            let (name, growth) = (name.to_owned(), smile::GROWTH);
            let file = CutFile { id, name, codec, cutter, decoder, consumed, reported: 0, record_bytes_max, growth };
            return Ok(Box::new(file));
        }
        if let Some(format) = format {
            let seekable = seekable.filter(|_| codec.is_none());
            return binary::open(
                self,
                format,
                BinaryFile { id, name, seekable, contents, consumed, constants: partitions },
            );
        }
        let text = read_text(contents, self.options.charset, name, &self.warnings)
            .map_err(|message| SourceError::new(name, message))?;
        let mut input = text.input;
        let format = told(&mut input, &self.options, name)?;
        if may_be_a_table(&self.options, name, format) {
            let field = &self.options.text_field;
            self.warnings.add(name, "text_by_name", "", 1, || {
                format!("each line became a document with the field {field}, because of the file's name; if it has columns, give option `format=csv` and option `separator`")
            });
        }
        let record_bytes_max = if format == Format::DeadLetters {
            // An entry holds more than its document, which may be escaped as text besides.
            self.options.document_bytes_max.saturating_mul(6).saturating_add(64 << 10).min(CHUNK_BYTES_MAX)
        } else {
            self.options.document_bytes_max
        };
        let with_fields = |file: Box<dyn ReadFile>| -> Box<dyn ReadFile> {
            match partitions.is_empty() || format == Format::DeadLetters {
                true => file,
                false => Box::new(WithFields::new(file, partitions)),
            }
        };
        let mut growth = 1.0;
        let (boundary, decoder): (_, Arc<dyn Decode>) = match format {
            Format::Ndjson => (Boundary::Line, Arc::new(NdjsonDecode::new(record_bytes_max, self.options.validate))),
            Format::Bulk => (Boundary::Line, Arc::new(BulkDecode { record_bytes_max })),
            Format::DeadLetters => (Boundary::Line, Arc::new(DeadLetterDecode { record_bytes_max })),
            Format::Csv | Format::Tsv => {
                let context = csv::Context {
                    options: &self.options.csv,
                    texts: &self.texts,
                    separator: separator(format, name),
                    record_bytes_max,
                    first_byte: text.bom_len,
                    valid: text.valid,
                    source: name,
                    warnings: &self.warnings,
                    pool: &self.documents,
                };
                let table = csv::prepare(&mut input, context, &mut self.column_types)
                    .map_err(|message| SourceError::new(name, message))?;
                growth = table.growth;
                (table.boundary, table.decoder)
            }
            Format::Text => {
                let parser: Box<dyn PushLine> = match &self.options.parse {
                    None => Box::new(OneField::new(&self.options.text_field)),
                    Some(parse) => {
                        let parser = parse.parser(&self.options.csv.schema, &self.texts);
                        parser.map_err(|message| SourceError::new(name, message))?
                    }
                };
                let documents = Arc::clone(&self.documents);
                (Boundary::Line, Arc::new(TextDecode::new(parser, record_bytes_max, documents)))
            }
            Format::Json | Format::Hits => {
                let chunks = Arc::clone(&self.chunks);
                let hits = format == Format::Hits;
                let rules = Rules { record_bytes_max, validate: self.options.validate, hits };
                let path = self.options.records.as_ref();
                let hint = if path.is_none() { self.hint(input.peeked()) } else { None };
                let values = ValuesFile::new(id, name, input, text.bom_len, rules, consumed, chunks);
                let values = values.with_records(path).with_hint(hint);
                return Ok(with_fields(Box::new(values)));
            }
            Format::Parquet | Format::Arrow | Format::Avro | Format::Excel | Format::Smile => {
                return Err(SourceError::new(name, format!("contents are no {}", format.name())));
            }
        };
        let cutter = Cutter::new(input, boundary, text.bom_len, record_bytes_max, Arc::clone(&self.chunks));
        let name = name.to_owned();
        let file = CutFile { id, name, codec, cutter, decoder, consumed, reported: 0, record_bytes_max, growth };
        if format == Format::Bulk {
            return Ok(Box::new(BulkFile::new(file)));
        }
        Ok(with_fields(Box::new(file)))
    }

    /// What to say of a source that is one JSON object with many in it.
    fn hint(&self, head: &[u8]) -> Option<Hint> {
        let path = json_head::records_path(head)?;
        let hits = if path.ends_with("hits") { " option `format=hits`" } else { "" };
        let text = format!(
            "; its `{path}` is an array of objects, which are loaded one by one with{hits} option `records={path}`"
        );
        Some(Hint { text, warnings: self.warnings.clone() })
    }
}

/// Fails if the beginning of a file does not tell its format, or tells one that has to be asked for.
///
/// # Errors
/// Says what the beginning looks like and which option to give.
pub fn check_format(raw: Raw, name: &str, options: &FormatOptions) -> Result<(), SourceError> {
    if options.format.is_some() || options.parse.is_some() {
        return Ok(());
    }
    let mut contents = unpacked(raw.input, raw.read, name)?.contents;
    let head = contents.peek(BINARY_LEN, |_| false);
    if decide_binary(options, name, head).is_some() {
        return Ok(());
    }
    let text = read_text(contents, options.charset, name, &Warnings::default());
    let mut text = text.map_err(|message| SourceError::new(name, message))?;
    told(&mut text.input, options, name).map(drop)
}

/// The format that the beginning of a text tells. Waits for as much of it as that takes.
fn told(text: &mut Input, options: &FormatOptions, name: &str) -> Result<Format, SourceError> {
    let head = text.peek(GUESS_LEN, json_head::says_enough);
    if head.trim_ascii_start().first() == Some(&b'{') && !head.contains(&b'\n') {
        text.peek(GUESS_JSON_LEN, json_head::says_enough);
    }
    decide(options, name, text.peeked(), text.peeked_all()).map_err(|message| SourceError::new(name, message))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::{self, Read};

    use super::super::input::Bytes;
    use super::*;

    /// A pipe that falls silent after each of its lines.
    struct Lines(VecDeque<&'static str>);

    impl Read for Lines {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let line = self.0.pop_front().unwrap_or_default();
            buf[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }

    impl Bytes for Lines {
        fn ready_within(&mut self, _timeout: std::time::Duration) -> bool {
            false
        }
    }

    #[test]
    fn a_pipe_is_told_by_its_lines_however_slow_they_come() {
        let told = |lines: &[&'static str]| {
            let mut input = Input::new(Lines(lines.iter().copied().collect()));
            let format = super::told(&mut input, &FormatOptions::default(), "-");
            (format.map_err(|error| error.to_string()), input.peeked().len())
        };
        let bulk = told(&["{\"index\":{}}\n", "{\"a\":", "1}\n", "{\"index\":{}}\n"]).0;
        assert!(bulk.as_ref().is_err_and(|error| error.contains("option `format=bulk`")), "{bulk:?}");
        assert_eq!(told(&["{\"index\":{}}\n", "{\"index\":{}}\n"]).0, Ok(Format::Ndjson));
        assert_eq!(told(&["{\"index\":{}}\n"]).0, Ok(Format::Ndjson));
        // A document is passed on before the next one comes.
        assert_eq!(told(&["{\"a\":1}\n", "{\"a\":2}\n"]), (Ok(Format::Ndjson), 8));
    }
}

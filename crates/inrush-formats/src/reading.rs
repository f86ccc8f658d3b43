//! Opens a file: decompresses it, determines its format, and chooses its reader.

use std::sync::Arc;

use inrush_core::{Code, SourceId};

use super::binary::{self, BinaryFile};
use super::bulk::{BulkDecode, BulkFile};
use super::charset::{Text, read_text};
use super::csv;
use super::cut::{Boundary, Cutter};
use super::cut_file::{CutFile, ReadFile};
use super::dead_letters::DeadLetterDecode;
use super::extended_json::{self, ExtendedJson, Typed};
use super::format::{
    Format, FormatOptions, decide, decide_binary, may_be_a_table, no_extended_json, no_records, separator,
};
use super::input::Input;
use super::json_head;
use super::json_values::{Hint, Rules, ValuesFile};
use super::lines::{NdjsonDecode, OneField, PushLine, TextDecode};
use super::not_finite;
use super::raw::{Contents, Raw, unpacked};
use super::smile::{self, SmileDecode};
pub use super::state::Reading;
use super::warnings::Warnings;
use super::with_fields::WithFields;
use super::{Decode, SourceError};

/// The largest chunk and the largest record, bytes. Positions in a block are 32 bits, and decoded
/// data can be longer than the bytes that were read.
pub const CHUNK_BYTES_MAX: usize = 512 << 20;

/// Bytes that identify a binary format. For a workbook they are the name of its first part.
const BINARY_LEN: usize = 96;

/// Text that is read to determine the format, bytes.
const GUESS_LEN: usize = 4096;

/// The same for JSON without a line end in that text, bytes.
const GUESS_JSON_LEN: usize = 64 << 10;

/// A file of known compression and unknown format.
struct Unpacked<'a> {
    id: SourceId,
    name: &'a str,
    contents: Contents,
    /// Fields that the names of its folders stand for, as name and JSON value.
    partitions: &'a [(String, String)],
}

/// How text is cut and decoded.
struct Framing {
    boundary: Boundary,
    decoder: Arc<dyn Decode>,
    /// Bytes of documents for a byte of text.
    growth: f64,
    /// Offset of the first byte that is read.
    first_byte: u64,
}

impl Reading {
    /// Determines the format of a file and opens it. Documents get the fields `partitions`, given
    /// as name and JSON value.
    pub fn open(
        &mut self,
        id: SourceId,
        name: &str,
        raw: Raw,
        partitions: &[(String, String)],
    ) -> Result<Box<dyn ReadFile>, SourceError> {
        let Raw { input, read, seekable } = raw;
        let mut contents = unpacked(input, read, name)?;
        let head = contents.contents.peek(BINARY_LEN, |head| head.contains(&b'\n'));
        let format = decide_binary(&self.options, name, head);
        let conflict = |message| Err(SourceError::new(name, message).coded(Code::OptionsConflict));
        match format {
            Some(format) if self.options.records.is_some() => return conflict(no_records(format)),
            Some(format) if self.options.extended_json => return conflict(no_extended_json(format)),
            _ => {}
        }
        let file = Unpacked { id, name, contents, partitions };
        if format.is_some() {
            self.see(format);
        }
        match format {
            None => self.open_text(file),
            Some(Format::Smile) => Ok(self.open_smile(file)),
            Some(format) => {
                let Contents { codec, contents, consumed } = file.contents;
                let seekable = seekable.filter(|_| codec.is_none());
                let file = BinaryFile { id, name, seekable, contents, consumed, constants: partitions };
                binary::open(self, format, file)
            }
        }
    }

    fn see(&mut self, format: Option<Format>) {
        // An empty file says nothing of the others.
        if format.is_some() {
            self.unused.see(format);
        }
        self.opened = format;
    }

    fn open_smile(&self, file: Unpacked<'_>) -> Box<dyn ReadFile> {
        let Contents { codec, contents, consumed } = file.contents;
        let record_bytes_max = self.options.document_bytes_max;
        let cutter = Cutter::new(contents, Boundary::Smile, 0, record_bytes_max, Arc::clone(&self.chunks));
        let decoder = Arc::new(SmileDecode::new(record_bytes_max, Arc::clone(&self.documents)));
        let (id, name, growth) = (file.id, file.name.to_owned(), smile::GROWTH);
        Box::new(CutFile { id, name, codec, cutter, decoder, consumed, reported: 0, record_bytes_max, growth })
    }

    fn open_text(&mut self, file: Unpacked<'_>) -> Result<Box<dyn ReadFile>, SourceError> {
        let Unpacked { id, name, contents: Contents { codec, contents, consumed }, partitions } = file;
        let mut text = read_text(contents, self.options.charset, name, &self.warnings)
            .map_err(|message| SourceError::new(name, message).coded(Code::BadEncoding))?;
        let format = text_format(&mut text.input, &self.options, name)?;
        self.see(Some(format).filter(|_| !is_empty(&text.input)));
        if may_be_a_table(&self.options, name, format) {
            let field = &self.options.text_field;
            self.warnings.add(name, "text_by_name", "", 1, || {
                format!("each line became a document with the field {field}, because of the file's name; if it has columns, give option `format=csv` and option `separator`")
            });
        }
        self.check_json(format, name, text.input.peeked())?;
        let record_bytes_max = if format == Format::DeadLetters {
            // An entry holds more than its document, which may also be escaped as text.
            self.options.document_bytes_max.saturating_mul(6).saturating_add(64 << 10).min(CHUNK_BYTES_MAX)
        } else {
            self.options.document_bytes_max
        };
        let is_extended = self.options.extended_json;
        let with_fields = |file: Box<dyn ReadFile>| -> Box<dyn ReadFile> {
            let file = if is_extended { Box::new(ExtendedJson(file)) } else { file };
            match partitions.is_empty() || format == Format::DeadLetters {
                true => file,
                false => Box::new(WithFields::new(file, partitions)),
            }
        };
        if matches!(format, Format::Json | Format::Hits) {
            let validate = self.validates(&text.input);
            let rules = Rules { record_bytes_max, validate, hits: format == Format::Hits };
            let path = self.options.records.as_ref();
            let hint = if path.is_none() { self.hint(text.input.peeked()) } else { None };
            let chunks = Arc::clone(&self.chunks);
            let values = ValuesFile::new(id, name, text.input, text.bom_len, rules, consumed, chunks);
            let values = values.with_records(path).with_hint(hint).with_warnings(&self.warnings);
            return Ok(with_fields(Box::new(values)));
        }
        let Framing { boundary, decoder, growth, first_byte } =
            self.framing(format, name, record_bytes_max, &mut text)?;
        let cutter = Cutter::new(text.input, boundary, first_byte, record_bytes_max, Arc::clone(&self.chunks));
        let name = name.to_owned();
        let file = CutFile { id, name, codec, cutter, decoder, consumed, reported: 0, record_bytes_max, growth };
        if format == Format::Bulk {
            return Ok(Box::new(BulkFile::new(file)));
        }
        Ok(with_fields(Box::new(file)))
    }

    /// Refuses extended JSON in other formats, and warns of JSON whose values are objects.
    fn check_json(&self, format: Format, name: &str, head: &[u8]) -> Result<(), SourceError> {
        match (format.takes_extended_json(), self.options.extended_json) {
            (false, true) => Err(SourceError::new(name, no_extended_json(format)).coded(Code::OptionsConflict)),
            (true, false) if self.options.records.is_none() => {
                let (kind, message) = match extended_json::look(head) {
                    Some(Typed::Mongo) => (
                        "extended_json",
                        "values are objects of MongoDB's extended JSON, such as {\"$date\":…}; option `extended_json` makes values of them, and the id of `_id`",
                    ),
                    Some(Typed::Dynamo) => (
                        "dynamodb_json",
                        "values are objects of DynamoDB's JSON, such as {\"S\":…}; unpack them first, as TypeDeserializer of boto3 does",
                    ),
                    None => return Ok(()),
                };
                self.warnings.add(name, kind, "", 1, || message.to_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// How text of this format is cut and decoded. JSON values and binary formats have readers of
    /// their own.
    fn framing(
        &mut self,
        format: Format,
        name: &str,
        record_bytes_max: usize,
        text: &mut Text,
    ) -> Result<Framing, SourceError> {
        let failed = |message: String| SourceError::new(name, message).coded(Code::BadTable);
        let first_byte = text.bom_len;
        let lines = |decoder: Arc<dyn Decode>| Framing { boundary: Boundary::Line, decoder, growth: 1.0, first_byte };
        Ok(match format {
            Format::Ndjson => {
                let validate = self.validates(&text.input).then(|| (name.to_owned(), self.warnings.clone()));
                lines(Arc::new(NdjsonDecode::new(record_bytes_max, validate)))
            }
            Format::Bulk => lines(Arc::new(BulkDecode { record_bytes_max })),
            Format::DeadLetters => lines(Arc::new(DeadLetterDecode { record_bytes_max })),
            Format::Csv | Format::Tsv => {
                let context = csv::Context {
                    options: &self.options.csv,
                    texts: &self.texts,
                    rows: &self.rows,
                    separator: separator(format, name),
                    record_bytes_max,
                    first_byte: text.bom_len,
                    valid: text.valid,
                    source: name,
                    warnings: &self.warnings,
                    pool: &self.documents,
                };
                let table = csv::prepare(&mut text.input, context, &mut self.column_types).map_err(failed)?;
                let csv::Table { boundary, decoder, growth, first_byte } = table;
                Framing { boundary, decoder, growth, first_byte }
            }
            Format::Text => {
                let parser: Box<dyn PushLine> = match &self.options.parse {
                    None => Box::new(OneField::new(&self.options.text_field)),
                    Some(parse) => parse.parser(&self.options.csv, &self.texts).map_err(failed)?,
                };
                lines(Arc::new(TextDecode::new(parser, record_bytes_max, Arc::clone(&self.documents))))
            }
            Format::Json
            | Format::Hits
            | Format::Parquet
            | Format::Arrow
            | Format::Avro
            | Format::Excel
            | Format::Smile
            | Format::Vectors(_) => return Err(failed(format!("contents are not {}", format.name()))),
        })
    }

    /// Whether documents are validated: as told, or because the beginning has values that JSON does
    /// not have, without which documents are valid.
    fn validates(&self, text: &Input) -> bool {
        self.options.validate || not_finite::is_in(text.peeked())
    }

    /// The hint for a source that is one JSON object with many objects in it. Where the format was
    /// told, or the object itself has the fields that ids are made of, it is the document.
    fn hint(&self, head: &[u8]) -> Option<Hint> {
        let path = json_head::records_path(head)?;
        let hits = if path.ends_with("hits") { " option `format=hits`" } else { "" };
        let text = format!(
            "; its `{path}` is an array of objects, which are loaded one by one with{hits} option `records={path}`"
        );
        let is_meant = self.options.format == Some(Format::Json)
            || !self.texts.is_empty() && json_head::has_at_the_top(head, &self.texts);
        Some(Hint { text, warnings: (!is_meant).then(|| self.warnings.clone()) })
    }
}

/// The format that was told, or that the beginning of a file shows. `None` if the file is empty, or
/// nothing depends on it.
///
/// # Errors
/// It does not show the format, or shows one that the user has to ask for. The error says what the
/// beginning looks like and which option to give.
pub fn check_format(raw: Raw, name: &str, options: &FormatOptions) -> Result<Option<Format>, SourceError> {
    if options.format.is_some() || options.parse.is_some() && options.given.0.is_empty() {
        return Ok(options.format);
    }
    let mut contents = unpacked(raw.input, raw.read, name)?.contents;
    let head = contents.peek(BINARY_LEN, |_| false);
    if let Some(binary) = decide_binary(options, name, head) {
        return Ok(Some(binary));
    }
    let text = read_text(contents, options.charset, name, &Warnings::default());
    let mut text = text.map_err(|message| SourceError::new(name, message).coded(Code::BadEncoding))?;
    let format = text_format(&mut text.input, options, name)?;
    Ok(Some(format).filter(|_| !is_empty(&text.input)))
}

/// Whether a text of which the beginning was peeked has nothing but white space.
fn is_empty(text: &Input) -> bool {
    text.peeked_all() && text.peeked().trim_ascii().is_empty()
}

/// The format that the beginning of a text shows. Waits for as much text as that takes.
fn text_format(text: &mut Input, options: &FormatOptions, name: &str) -> Result<Format, SourceError> {
    let head = text.peek(GUESS_LEN, json_head::says_enough);
    if head.trim_ascii_start().first() == Some(&b'{') && !head.contains(&b'\n') {
        text.peek(GUESS_JSON_LEN, json_head::says_enough);
    }
    decide(options, name, text.peeked(), text.peeked_all())
        .map_err(|message| SourceError::new(name, message).coded(Code::UnknownFormat))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::VecDeque;
    use std::io::{self, Read};

    use super::super::input::Bytes;
    use super::*;
    use crate::Chunk;

    /// The chunks of a file of this name and these contents.
    pub(crate) fn chunks(
        name: &str,
        contents: &[u8],
        options: FormatOptions,
        partitions: &[(String, String)],
    ) -> Vec<Chunk> {
        let input = Input::new(io::Cursor::new(contents.to_vec()));
        let raw = Raw { input, read: Arc::default(), seekable: None };
        let mut file = Reading::new(options, Warnings::default()).open(SourceId(0), name, raw, partitions).unwrap();
        std::iter::from_fn(|| file.next_chunk(1 << 20).unwrap()).collect()
    }

    /// A pipe that pauses after each of its lines.
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
            let format = super::text_format(&mut input, &FormatOptions::default(), "-");
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

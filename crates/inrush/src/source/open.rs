//! Files, globs and stdin as one source.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_core::SourceId;

use super::binary::{self, BinaryFile, Seekable};
use super::buffer::BufferPool;
use super::bulk::{BulkDecode, BulkFile};
use super::charset::read_text;
#[cfg(feature = "sql")]
use super::columns::ColumnarFile;
use super::csv::{self, ColumnType};
use super::cut::{Boundary, Cutter};
use super::cut_file::{CutFile, ReadFile};
use super::dead_letters::DeadLetterDecode;
use super::format::{Format, FormatOptions, decide, decide_binary, may_be_a_table, no_records, separator};
use super::input::Input;
use super::json_head;
use super::json_values::{Hint, Rules, ValuesFile};
use super::lines::{NdjsonDecode, OneField, PushLine, TextDecode};
use super::network::Network;
use super::partitions;
use super::paths::{expand, noted, shown};
use super::raw::{Contents, Raw, of_file, stdin, stdin_len, unpacked};
use super::repeat::{Fingerprint, Repeats};
use super::smile::{self, SmileDecode};
use super::steady::{Changed, Noted, Steady};
use super::store::{self, Object, ObjectStream, SourceUrl, StoreOptions};
use super::warnings::Warnings;
use super::with_fields::WithFields;
use super::{Chunk, Decode, Source, SourceError};

/// The largest chunk and the largest record, bytes: positions in a block are 32 bits, and what is decoded can be
/// longer than what was read.
const CHUNK_BYTES_MAX: usize = 512 << 20;

/// Bytes that tell a binary format: those of a workbook are the name of its first part.
const BINARY_LEN: usize = 96;

/// Text that is looked at to tell the format, bytes.
const GUESS_LEN: usize = 4096;

/// The same of JSON that has no line end in these, bytes.
const GUESS_JSON_LEN: usize = 64 << 10;

/// Files on servers whose beginnings are fetched while one before them is read.
const FILES_AHEAD: usize = 8;

/// Where to read, as a user says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSpec {
    /// `-`
    Stdin,
    /// A file, a folder with all that is in it, or a glob pattern (`*`, `?`, `[…]`, `**`) if no file has that very name.
    Path(PathBuf),
    /// A file on a web server; a file, folder or glob pattern of an object store.
    Url(SourceUrl),
}

impl SourceSpec {
    /// `-` is stdin, what begins with `s3://`, `https://` and the like a file on a server, anything else a path or a glob.
    pub fn new(argument: impl Into<OsString>) -> Self {
        Self::with_options(argument, &Arc::default())
    }

    /// The same, with settings for object stores.
    pub fn with_options(argument: impl Into<OsString>, options: &Arc<StoreOptions>) -> Self {
        let argument = argument.into();
        if argument == "-" {
            return SourceSpec::Stdin;
        }
        let url = argument.to_str().and_then(|text| SourceUrl::new(text, options));
        url.map_or_else(|| SourceSpec::Path(argument.into()), SourceSpec::Url)
    }
}

impl SourceSpec {
    /// The files on this machine that it stands for; none where there are none, or where they
    /// cannot be found.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            SourceSpec::Path(path) => expand(path, &Warnings::default()).unwrap_or_default(),
            SourceSpec::Stdin | SourceSpec::Url(_) => Vec::new(),
        }
    }
}

/// Files and stdin, read one after another. Each file is a source of its own ([`SourceId`]) with one partition.
pub struct Files {
    names: Vec<String>,
    locations: Vec<Location>,
    waiting: VecDeque<(SourceId, Location)>,
    bytes_total: Option<u64>,
    current: Option<Opened>,
    shared: Shared,
}

#[derive(Clone, Debug)]
enum Location {
    Stdin,
    /// What it was like when the load began, where it is a regular file.
    Path(PathBuf, Option<Noted>),
    Object(Arc<Object>),
}

/// What all files of a job have in common.
pub(super) struct Shared {
    pub(super) options: FormatOptions,
    pub(super) warnings: Warnings,
    /// The types that columns of CSV files have shown.
    column_types: HashMap<String, ColumnType>,
    /// Fields whose own text is kept ([`Source::keep_texts`]).
    pub(super) texts: Vec<String>,
    /// For each file, the fields that its folders stand for.
    partitions: Vec<Vec<(String, String)>>,
    /// Files on servers whose beginning is being fetched.
    begun: HashMap<SourceId, ObjectStream>,
    /// Buffers that are read into.
    chunks: Arc<BufferPool>,
    /// Buffers that documents are written into.
    pub(super) documents: Arc<BufferPool>,
}

/// Finds the files of `specs` (a glob's in the order of their names) without reading them yet.
///
/// Fails if a file does not exist, a folder is empty, a glob matches nothing, a server does not answer, or options
/// contradict each other.
pub fn open(specs: &[SourceSpec], options: FormatOptions, warnings: &Warnings) -> Result<Files, SourceError> {
    options.check().map_err(|message| SourceError::new("options", message))?;
    let mut names = Vec::new();
    let mut waiting = VecDeque::new();
    let mut bytes_total = Some(0);
    let mut add = |location: Location, bytes: Option<u64>| {
        waiting.push_back((SourceId(names.len() as u32), location.clone()));
        names.push(match location {
            Location::Stdin => "-".to_owned(),
            Location::Path(path, _) => shown(&path),
            Location::Object(object) => object.name.clone(),
        });
        bytes_total = bytes_total.zip(bytes).map(|(total, bytes)| total + bytes);
    };
    let mut stdin_seen = false;
    let mut network = None;
    for spec in specs {
        match spec {
            SourceSpec::Stdin if std::mem::replace(&mut stdin_seen, true) => {
                return Err(SourceError::new("-", "stdin is given twice, and can be read only once"));
            }
            SourceSpec::Stdin => add(Location::Stdin, stdin_len()),
            SourceSpec::Path(path) => {
                for path in expand(path, warnings)? {
                    let noted = noted(&path)?;
                    if let Some(noted) = &noted {
                        check_format(&path, noted, &shown(&path), &options)?;
                    }
                    let bytes = noted.as_ref().map(Noted::bytes);
                    add(Location::Path(path, noted), bytes);
                }
            }
            SourceSpec::Url(url) => {
                let failed = |e| SourceError::io(url.to_string(), "cannot be read over the network", e);
                let network = match &mut network {
                    Some(network) => network,
                    none => none.insert(Network::new().map_err(failed)?),
                };
                for object in store::find(url, options.format.is_some() || options.parse.is_some(), network)? {
                    let bytes = object.size;
                    add(Location::Object(Arc::new(object)), bytes);
                }
            }
        }
    }
    let options = FormatOptions { document_bytes_max: options.document_bytes_max.clamp(1, CHUNK_BYTES_MAX), ..options };
    let locations: Vec<Location> = waiting.iter().map(|(_, location)| location.clone()).collect();
    let paths = locations.iter().map(|location| match location {
        Location::Path(path, _) => Some(path.as_path()),
        Location::Object(object) => Some(Path::new(&object.path)),
        Location::Stdin => None,
    });
    let partitions = if options.hive_partitions { partitions::fields(paths) } else { Vec::new() };
    let shared = Shared {
        options,
        warnings: warnings.clone(),
        column_types: HashMap::new(),
        texts: Vec::new(),
        partitions,
        begun: HashMap::new(),
        chunks: BufferPool::new(),
        documents: BufferPool::new(),
    };
    Ok(Files { names, locations, waiting, bytes_total, current: None, shared })
}

impl Source for Files {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let bytes = bytes.clamp(1, CHUNK_BYTES_MAX);
        loop {
            let Some(opened) = &mut self.current else {
                let Some((id, location)) = self.waiting.pop_front() else { return Ok(None) };
                self.shared.begin(&self.waiting);
                match self.shared.open(id, &self.names[id.0 as usize], &location) {
                    Ok(file) => self.current = Some(file),
                    Err(error) => return Err(self.end(error.of(id))),
                }
                continue;
            };
            match opened.next_chunk(bytes) {
                Ok(Some(chunk)) => return Ok(Some(chunk)),
                Ok(None) => self.current = None,
                Err(error) => return Err(self.end(error)),
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    fn repeats(&self) -> Repeats {
        // Pipes and devices have no size either.
        let lasts = |location: &Location| match location {
            Location::Object(object) => object.version.is_some(),
            Location::Path(..) | Location::Stdin => true,
        };
        if self.bytes_total.is_some() && self.locations.iter().all(lasts) { Repeats::Always } else { Repeats::Once }
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        let fingerprint = |location: &Location| match location {
            Location::Path(path, _) => {
                let failed = |e| SourceError::io(shown(path), "cannot be read", e);
                Some(Fingerprint::of(path).map_err(failed))
            }
            Location::Object(object) => Some(Ok(Fingerprint::of_object(object))),
            Location::Stdin => {
                let failed = |e| SourceError::io("-", "cannot be read", e);
                let start = |mut file: File| file.stream_position().and_then(|at| Fingerprint::of_file(&file, at));
                Some(stdin().and_then(start).map_err(failed))
            }
        };
        self.locations.iter().filter_map(fingerprint).collect()
    }

    fn reading(&self) -> String {
        // How much may be read changes no document, and is raised where it was too little.
        let mut options = self.shared.options.clone();
        options.sheet.bytes_max = 0;
        format!("{options:?}")
    }

    fn keep_texts(&mut self, fields: &[String]) {
        self.shared.texts = fields.to_vec();
    }

    /// Opens each file of this machine; those on servers cost a request each, and are found to
    /// exist by then.
    fn check_all(&self) -> Result<(), SourceError> {
        let mut shared = self.shared.anew();
        for (at, location) in self.locations.iter().enumerate() {
            let Location::Path(path, _) = location else { continue };
            // What is no file can be read only once.
            if path.is_file() {
                let id = SourceId(at as u32);
                shared.open(id, &self.names[at], location).map_err(|error| error.of(id))?;
            }
        }
        Ok(())
    }

    fn has_ids(&self) -> bool {
        self.shared.options.format == Some(Format::Hits)
    }

    fn warnings(&self) -> Option<Warnings> {
        Some(self.shared.warnings.clone())
    }
}

#[cfg(feature = "sql")]
impl Files {
    /// The columns of each file without its rows, where all files are columnar; `None` where the first is not. Nothing can be read
    /// from these files afterwards.
    pub(crate) fn columnar(&mut self) -> Result<Option<Vec<ColumnarFile>>, SourceError> {
        let mut tables = Vec::new();
        while let Some((id, location)) = self.waiting.pop_front() {
            let name = &self.names[id.0 as usize];
            let file = self.shared.open(id, name, &location).map_err(|error| error.of(id))?;
            match file.file.table() {
                Some(table) => tables.push(table),
                None if tables.is_empty() => return Ok(None),
                None => {
                    return Err(SourceError::new(
                        name,
                        "has no columns of its own, as the files before it have; make it a table by itself",
                    ));
                }
            }
        }
        Ok(Some(tables))
    }

    /// For each file, the fields that its folders stand for, as name and JSON value; or nothing.
    pub(crate) fn partitions(&self) -> &[Vec<(String, String)>] {
        &self.shared.partitions
    }
}

impl Files {
    /// Nothing is read after an error.
    fn end(&mut self, error: SourceError) -> SourceError {
        self.current = None;
        self.waiting.clear();
        self.shared.begun.clear();
        error
    }
}

impl Shared {
    /// The same before anything was read.
    fn anew(&self) -> Shared {
        Shared {
            options: self.options.clone(),
            warnings: Warnings::default(),
            column_types: HashMap::new(),
            partitions: self.partitions.clone(),
            texts: self.texts.clone(),
            begun: HashMap::new(),
            chunks: BufferPool::new(),
            documents: BufferPool::new(),
        }
    }

    /// Asks for the beginnings of the next files on servers, so that many small ones are not read one round trip after another.
    fn begin(&mut self, waiting: &VecDeque<(SourceId, Location)>) {
        for (id, location) in waiting.iter().take(FILES_AHEAD) {
            if let Location::Object(object) = location {
                self.begun.entry(*id).or_insert_with(|| object.stream());
            }
        }
    }

    fn open(&mut self, id: SourceId, name: &str, location: &Location) -> Result<Opened, SourceError> {
        let raw = match location {
            Location::Stdin => of_file(stdin(), None, name)?,
            Location::Path(path, noted) => of_file(File::open(path), noted.as_ref(), name)?,
            Location::Object(object) => {
                let stream = self.begun.remove(&id).unwrap_or_else(|| object.stream());
                let read = stream.consumed();
                let seekable = Some(Seekable::Object(Arc::clone(object)));
                Raw { input: Input::new(stream), read, seekable, steady: None }
            }
        };
        let steady = raw.steady.clone();
        let file = self.read_as_told(id, name, raw)?;
        Ok(Opened { id, name: name.to_owned(), file, steady })
    }

    /// Finds out how a file is written, and what reads it.
    fn read_as_told(&mut self, id: SourceId, name: &str, raw: Raw) -> Result<Box<dyn ReadFile>, SourceError> {
        let Raw { input: raw, read, seekable, .. } = raw;
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
            let constants = self.partitions.get(id.0 as usize).map_or(&[][..], Vec::as_slice);
            return binary::open(self, format, BinaryFile { id, name, seekable, contents, consumed, constants });
        }
        let text = read_text(contents, self.options.charset, name, &self.warnings)
            .map_err(|message| SourceError::new(name, message))?;
        let mut input = text.input;
        let format = told(&mut input, &self.options, name)?;
        if may_be_a_table(&self.options, name, format) {
            let field = &self.options.text_field;
            self.warnings.add(name, "text_by_name", "", 1, || {
                format!("each line became a document with the field {field}, because of the file's name; if it has columns, give --format csv and --separator")
            });
        }
        let record_bytes_max = if format == Format::DeadLetters {
            // An entry holds more than its document, which may be escaped as text besides.
            self.options.document_bytes_max.saturating_mul(6).saturating_add(64 << 10).min(CHUNK_BYTES_MAX)
        } else {
            self.options.document_bytes_max
        };
        let partitions = self.partitions.get(id.0 as usize).cloned().unwrap_or_default();
        let with_fields = |file: Box<dyn ReadFile>| -> Box<dyn ReadFile> {
            match partitions.is_empty() || format == Format::DeadLetters {
                true => file,
                false => Box::new(WithFields::new(file, &partitions)),
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
        let hits = if path.ends_with("hits") { " --format hits" } else { "" };
        let text =
            format!("; its `{path}` is an array of objects, which are loaded one by one with{hits} --records {path}");
        Some(Hint { text, warnings: self.warnings.clone() })
    }
}

/// A file that is being read.
struct Opened {
    id: SourceId,
    name: String,
    file: Box<dyn ReadFile>,
    /// Where it is a regular file.
    steady: Option<Arc<Steady>>,
}

impl Opened {
    /// The next piece. What is wrong with a file that was changed is that it was changed, whatever
    /// else is found.
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let result = self.file.next_chunk(bytes);
        if let (Some(steady), Ok(None) | Err(_)) = (&self.steady, &result)
            && let Err(change) = steady.check()
        {
            return Err(match result {
                Err(error) if error.cause.as_ref().is_some_and(Changed::is_cause_of) => error,
                Err(error) => {
                    let what = format!("reading ended ({})", error.message);
                    SourceError::io(&self.name, &what, change).of(self.id)
                }
                Ok(_) => SourceError::io(&self.name, "reading has come to the end", change).of(self.id),
            });
        }
        result
    }
}

/// Fails if a regular file's beginning does not tell its format, or tells one that has to be asked
/// for, so that no document is sent before that is known.
fn check_format(path: &Path, noted: &Noted, name: &str, options: &FormatOptions) -> Result<(), SourceError> {
    if options.format.is_some() || options.parse.is_some() {
        return Ok(());
    }
    let Raw { input, read, .. } = of_file(File::open(path), Some(noted), name)?;
    let mut contents = unpacked(input, read, name)?.contents;
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
        assert!(bulk.as_ref().is_err_and(|error| error.contains("--format bulk")), "{bulk:?}");
        assert_eq!(told(&["{\"index\":{}}\n", "{\"index\":{}}\n"]).0, Ok(Format::Ndjson));
        assert_eq!(told(&["{\"index\":{}}\n"]).0, Ok(Format::Ndjson));
        // A document is passed on before the next one comes.
        assert_eq!(told(&["{\"a\":1}\n", "{\"a\":2}\n"]), (Ok(Format::Ndjson), 8));
    }
}

//! Files, globs and stdin as one source.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use inrush_core::SourceId;

use super::binary::{self, BinaryFile};
use super::buffer::BufferPool;
use super::bulk::{BulkDecode, BulkFile};
use super::charset::read_text;
use super::compression::{Codec, MAGIC_LEN};
use super::csv::{self, ColumnType};
use super::cut::{Boundary, Cutter};
use super::cut_file::{CutFile, ReadFile};
use super::dead_letters::DeadLetterDecode;
use super::format::{Format, FormatOptions, decide, decide_binary, may_be_a_table, separator};
use super::input::{Input, RawFile};
use super::json_array::{ArrayFile, Rules};
use super::lines::{NdjsonDecode, OneField, PushLine, TextDecode};
use super::partitions;
use super::repeat::{Fingerprint, Repeats};
use super::smile::{self, SmileDecode};
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

/// Where to read, as a user says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSpec {
    /// `-`
    Stdin,
    /// A file, a folder with all that is in it, or a glob pattern (`*`, `?`, `[…]`, `**`) if no file has that very name.
    Path(PathBuf),
}

impl SourceSpec {
    /// `-` is stdin, anything else a path or a glob.
    pub fn new(argument: impl Into<OsString>) -> Self {
        let argument = argument.into();
        if argument == "-" { SourceSpec::Stdin } else { SourceSpec::Path(argument.into()) }
    }
}

/// Files and stdin, read one after another. Each file is a source of its own ([`SourceId`]) with one partition.
pub struct Files {
    names: Vec<String>,
    locations: Vec<Location>,
    waiting: VecDeque<(SourceId, Location)>,
    bytes_total: Option<u64>,
    current: Option<Box<dyn ReadFile>>,
    shared: Shared,
}

#[derive(Clone, Debug)]
enum Location {
    Stdin,
    Path(PathBuf),
}

/// What all files of a job have in common.
pub(super) struct Shared {
    pub(super) options: FormatOptions,
    pub(super) warnings: Warnings,
    /// The types that columns of CSV files have shown.
    column_types: HashMap<String, ColumnType>,
    /// For each file, the fields that its folders stand for.
    partitions: Vec<Vec<(String, String)>>,
    /// Buffers that are read into.
    chunks: Arc<BufferPool>,
    /// Buffers that documents are written into.
    pub(super) documents: Arc<BufferPool>,
}

/// Finds the files of `specs` (a glob's in the order of their names) without reading them yet.
///
/// Fails if a file does not exist, a folder is empty, a glob matches nothing, or options
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
            Location::Path(path) => path.display().to_string(),
        });
        bytes_total = bytes_total.zip(bytes).map(|(total, bytes)| total + bytes);
    };
    let mut stdin_seen = false;
    for spec in specs {
        match spec {
            SourceSpec::Stdin if std::mem::replace(&mut stdin_seen, true) => {
                return Err(SourceError::new("-", "stdin is given twice, and can be read only once"));
            }
            SourceSpec::Stdin => add(Location::Stdin, stdin_len()),
            SourceSpec::Path(path) => {
                for path in expand(path)? {
                    let bytes = file_len(&path)?;
                    add(Location::Path(path), bytes);
                }
            }
        }
    }
    let options = FormatOptions { document_bytes_max: options.document_bytes_max.clamp(1, CHUNK_BYTES_MAX), ..options };
    let locations: Vec<Location> = waiting.iter().map(|(_, location)| location.clone()).collect();
    let paths = locations.iter().map(|location| match location {
        Location::Path(path) => Some(path.as_path()),
        Location::Stdin => None,
    });
    let partitions = if options.hive_partitions { partitions::fields(paths) } else { Vec::new() };
    let shared = Shared {
        options,
        warnings: warnings.clone(),
        column_types: HashMap::new(),
        partitions,
        chunks: BufferPool::new(),
        documents: BufferPool::new(),
    };
    Ok(Files { names, locations, waiting, bytes_total, current: None, shared })
}

/// The files a path stands for.
fn expand(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let pattern = match path.to_str() {
        // What exists under this very name is meant, whatever characters are in it.
        Some(pattern) if pattern.contains(['*', '?', '[']) && path.symlink_metadata().is_err() => pattern,
        _ if path.is_dir() => return folder(path),
        _ => return Ok(vec![path.to_owned()]),
    };
    let matches = glob::glob(pattern).map_err(|e| {
        SourceError::new(pattern, format!("is no valid glob pattern: {} at character {}", e.msg, e.pos))
    })?;
    let mut paths = Vec::new();
    for found in matches {
        let found = found.map_err(|e| {
            let name = e.path().display().to_string();
            SourceError::io(name, "cannot be looked into", e.into())
        })?;
        // Directories are not meant by `dir/*`.
        if !found.is_dir() {
            paths.push(found);
        }
    }
    if paths.is_empty() {
        return Err(SourceError::new(pattern, "matches no file"));
    }
    paths.sort();
    Ok(paths)
}

/// The files of a folder and of those in it, in the order of their paths. Names that begin with `.` or `_` are left out: those of
/// what is not data, such as `_SUCCESS`.
fn folder(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let name = || path.display().to_string();
    let mut paths = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |e| SourceError::io(folder.display().to_string(), "cannot be looked into", e);
        for entry in folder.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let hidden = path.file_name().is_some_and(|name| {
                name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_")
            });
            // A link to a folder is not followed: it may lead around in a circle.
            if hidden || path.is_dir() && path.is_symlink() {
                continue;
            }
            if path.is_dir() { folders.push(path) } else { paths.push(path) }
        }
    }
    if paths.is_empty() {
        return Err(SourceError::new(name(), "is a folder without files"));
    }
    paths.sort();
    Ok(paths)
}

/// The size, where the path is a regular file.
fn file_len(path: &Path) -> Result<Option<u64>, SourceError> {
    let name = || path.display().to_string();
    let meta = path.metadata().map_err(|e| SourceError::io(name(), "cannot be opened", e))?;
    Ok(meta.is_file().then_some(meta.len()))
}

impl Source for Files {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let bytes = bytes.clamp(1, CHUNK_BYTES_MAX);
        loop {
            let Some(file) = &mut self.current else {
                let Some((id, location)) = self.waiting.pop_front() else { return Ok(None) };
                match self.shared.open(id, &self.names[id.0 as usize], &location) {
                    Ok(file) => self.current = Some(file),
                    Err(error) => return Err(self.end(error.of(id))),
                }
                continue;
            };
            match file.next_chunk(bytes) {
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
        if self.bytes_total.is_some() { Repeats::Always } else { Repeats::Once }
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        let paths = self.locations.iter().filter_map(|location| match location {
            Location::Path(path) => Some(path),
            Location::Stdin => None,
        });
        paths
            .map(|path| {
                Fingerprint::of(path).map_err(|e| SourceError::io(path.display().to_string(), "cannot be read", e))
            })
            .collect()
    }

    fn reading(&self) -> String {
        format!("{:?}", self.shared.options)
    }

    fn warnings(&self) -> Option<Warnings> {
        Some(self.shared.warnings.clone())
    }
}

impl Files {
    /// Nothing is read after an error.
    fn end(&mut self, error: SourceError) -> SourceError {
        self.current = None;
        self.waiting.clear();
        error
    }
}

impl Shared {
    fn open(&mut self, id: SourceId, name: &str, location: &Location) -> Result<Box<dyn ReadFile>, SourceError> {
        let (file, regular) = match location {
            Location::Stdin => stdin().map_err(|e| SourceError::io(name, "cannot be opened", e))?,
            Location::Path(path) => {
                let file = File::open(path).map_err(|e| SourceError::io(name, "cannot be opened", e))?;
                let regular = file.metadata().is_ok_and(|meta| meta.is_file());
                (file, regular)
            }
        };
        let consumed = Arc::new(AtomicU64::new(0));
        let read = Arc::new(AtomicU64::new(0));
        let same = file.try_clone().map_err(|e| SourceError::io(name, "cannot be opened", e))?;
        let mut raw = Input::new(RawFile::new(file, regular, Arc::clone(&read)));
        let codec = Codec::detect(raw.peek(MAGIC_LEN, |head| head.contains(&b'\n')));
        let (mut contents, consumed) = match codec {
            None => (raw, read),
            Some(codec) => {
                let contents = codec
                    .decompress(raw, Arc::clone(&consumed))
                    .map_err(|e| SourceError::io(name, "cannot be decompressed", e))?;
                (Input::new(contents), consumed)
            }
        };
        let head = contents.peek(BINARY_LEN, |head| head.contains(&b'\n'));
        let format = decide_binary(&self.options, name, head);
        if format == Some(Format::Smile) {
            let record_bytes_max = self.options.document_bytes_max;
            let cutter = Cutter::new(contents, Boundary::Smile, 0, record_bytes_max, Arc::clone(&self.chunks));
            let decoder = Arc::new(SmileDecode::new(record_bytes_max, Arc::clone(&self.documents)));
            let (name, growth) = (name.to_owned(), smile::GROWTH);
            let file = CutFile { id, name, codec, cutter, decoder, consumed, reported: 0, record_bytes_max, growth };
            return Ok(Box::new(file));
        }
        if let Some(format) = format {
            let seekable = (codec.is_none() && regular).then_some(same);
            let constants = self.partitions.get(id.0 as usize).map_or(&[][..], Vec::as_slice);
            return binary::open(self, format, BinaryFile { id, name, seekable, contents, consumed, constants });
        }
        let text = read_text(contents, self.options.charset, name, &self.warnings)
            .map_err(|message| SourceError::new(name, message))?;
        let mut input = text.input;
        let head = input.peek(GUESS_LEN, |head| head.contains(&b'\n'));
        let format = decide(&self.options, name, head).map_err(|message| SourceError::new(name, message))?;
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
                        parse.parser(&self.options.csv.schema).map_err(|message| SourceError::new(name, message))?
                    }
                };
                let documents = Arc::clone(&self.documents);
                (Boundary::Line, Arc::new(TextDecode::new(parser, record_bytes_max, documents)))
            }
            Format::JsonArray => {
                let chunks = Arc::clone(&self.chunks);
                let rules = Rules { record_bytes_max, validate: self.options.validate };
                let array = ArrayFile::new(id, name, input, text.bom_len, rules, consumed, chunks);
                return Ok(with_fields(Box::new(array)));
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
}

/// Stdin as a file, without the standard library's buffer.
#[cfg(unix)]
fn stdin() -> std::io::Result<(File, bool)> {
    use std::os::fd::AsFd;
    let file = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    Ok((file, regular))
}

/// What is left to read of a regular file on stdin, as in `inrush load - < FILE`; bytes.
fn stdin_len() -> Option<u64> {
    let (mut file, regular) = stdin().ok()?;
    // The copy shares its place in the file with stdin.
    let read = regular.then(|| file.stream_position().ok())??;
    Some(file.metadata().ok()?.len().saturating_sub(read))
}

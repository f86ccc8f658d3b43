//! Files, globs and stdin as one source.

mod archive;
mod kind;
mod known;
mod local;
mod partitions;
pub(crate) mod paths;
pub(crate) mod steady;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Seek;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_core::{Code, RowForm, SourceId};
use inrush_formats::chosen::{Choice, Chosen};
#[cfg(feature = "sql")]
use inrush_formats::columns::ColumnarFile;
use inrush_formats::format::{self, Format, FormatOptions};
use inrush_formats::input::Input;
use inrush_formats::raw::{Raw, Seekable};
use inrush_formats::reading::{CHUNK_BYTES_MAX, Reading};
use inrush_formats::recorded;
use inrush_formats::{Chunk, ReadFile, SourceError, Warnings};

use archive::{Looking, Member};
pub use kind::FileOptions;
pub use kind::FilesKind;
use known::Known;
use local::{LocalFile, of_file, open_stdin, stdin};
pub use paths::shown as shown_path;
use paths::{expand, shown};
use steady::{Noted, Steady};

use crate::network::Network;
use crate::repeat::{Fingerprint, Repeats};
use crate::source::{Source, SourceInfo, Step};
use crate::store::{self, Object, ObjectStream, RemoteObject, SourceUrl, StoreOptions};

/// Largest number of server files whose beginnings are fetched while an earlier one is read.
const FILES_AHEAD: usize = 8;

/// A source argument, as the user gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSpec {
    /// `-`
    Stdin,
    /// A file, a folder with all its files, or a glob pattern (`*`, `?`, `[…]`, `**`) if no file
    /// has this exact name.
    Path(PathBuf),
    /// A file on a web server, or a file, folder or glob pattern of an object store.
    #[doc(hidden)]
    Url(SourceUrl),
}

impl SourceSpec {
    /// Parses an argument: `-` is stdin, a text that begins with `s3://`, `https://` and the like
    /// is a file on a server, and anything else is a path or a glob.
    pub fn new(argument: impl Into<OsString>) -> Self {
        Self::with_options(argument, &Arc::default())
    }

    /// Parses an argument, with options for object stores.
    #[doc(hidden)]
    pub fn with_options(argument: impl Into<OsString>, options: &Arc<StoreOptions>) -> Self {
        let argument = argument.into();
        if argument == "-" {
            return SourceSpec::Stdin;
        }
        let url = argument.to_str().and_then(|text| SourceUrl::new(text, options));
        url.map_or_else(|| SourceSpec::Path(argument.into()), SourceSpec::Url)
    }
}

impl fmt::Display for SourceSpec {
    /// The argument without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceSpec::Stdin => f.write_str("-"),
            SourceSpec::Path(path) => f.write_str(&shown(path)),
            SourceSpec::Url(url) => url.fmt(f),
        }
    }
}

impl SourceSpec {
    /// The local files of the argument. Empty where there are none, or they cannot be listed.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            SourceSpec::Path(path) => {
                let all = Choice::new(Chosen::default());
                expand(path, &all, &Warnings::default()).map(|found| found.paths).unwrap_or_default()
            }
            SourceSpec::Stdin | SourceSpec::Url(_) => Vec::new(),
        }
    }
}

/// Files and stdin, read one after another. Each file is a source of its own ([`SourceId`]) with
/// one partition.
pub struct Files {
    names: Vec<String>,
    locations: Vec<Location>,
    /// Those that the user did not name.
    listed: HashSet<SourceId>,
    waiting: VecDeque<(SourceId, Location)>,
    bytes_total: Option<u64>,
    current: Option<Opened>,
    /// A file with contents was opened.
    is_begun: bool,
    shared: Shared,
}

#[derive(Clone, Debug)]
enum Location {
    Stdin,
    /// A path, with the state of a regular file when the load began.
    Path(PathBuf, Option<Noted>),
    Member(Arc<Member>),
    Object(Arc<Object>),
}

/// State that all files of a job share.
struct Shared {
    reading: Reading,
    /// Fields that each file gets from the names of its folders.
    partitions: Vec<Vec<(String, String)>>,
    /// Server files whose beginnings are being fetched.
    begun: HashMap<SourceId, ObjectStream>,
}

/// Finds the files of `specs` without reading them. The files of a glob are sorted by name.
///
/// # Errors
/// A file does not exist, a folder is empty, a glob matches no file, a server does not answer, or
/// options contradict each other.
pub fn open(specs: &[SourceSpec], options: FormatOptions, warnings: &Warnings) -> Result<Files, SourceError> {
    options.check().map_err(|message| SourceError::new("options", message).coded(Code::OptionsConflict))?;
    let mut names = Vec::new();
    let mut listed = HashSet::new();
    let mut waiting = VecDeque::new();
    let mut bytes_total = Some(0);
    let mut add = |found: Vec<known::Found>| {
        for known::Found { location, bytes, is_listed } in found {
            let id = SourceId(names.len() as u32);
            if is_listed {
                listed.insert(id);
            }
            waiting.push_back((id, location.clone()));
            names.push(location.name());
            bytes_total = bytes_total.zip(bytes).map(|(total, bytes)| total + bytes);
        }
    };
    let mut stdin_seen = false;
    let mut network = None;
    let choice = Arc::new(Choice::new(options.chosen.clone()));
    let mut known = Known::new(&options, Looking { choice: &choice, warnings });
    for spec in specs {
        match spec {
            SourceSpec::Stdin if std::mem::replace(&mut stdin_seen, true) => {
                return Err(SourceError::new("-", "stdin is given twice and can be read only once; leave one `-` out")
                    .coded(Code::OptionsConflict));
            }
            SourceSpec::Stdin => add(known.stdin()?),
            SourceSpec::Path(path) => add(known.local(path)?),
            SourceSpec::Url(url) => {
                let failed = |e| SourceError::io(url.to_string(), "cannot be read over the network", e);
                let network = match &mut network {
                    Some(network) => network,
                    none => none.insert(Network::new().map_err(failed)?),
                };
                let found = store::find(url, options.format.is_some() || options.parse.is_some(), &choice, network)?;
                add(known.remote(found, &url.copies)?);
            }
        }
    }
    known.check()?;
    let unmatched = choice.unmatched().map(|(option, pattern)| format!("option `{option}={pattern}`"));
    let unmatched = unmatched.collect::<Vec<_>>().join(", ");
    if !unmatched.is_empty() {
        warnings.add("", "pattern_unmatched", "", 1, || format!("no file matches {unmatched}"));
    }
    if let (true, Some(spec)) = (names.is_empty(), specs.first()) {
        let message = "no file is left: option `include` and option `exclude` leave out all that were found";
        return Err(SourceError::new(spec.to_string(), message).coded(Code::NoSuchFile));
    }
    let options = FormatOptions { document_bytes_max: options.document_bytes_max.clamp(1, CHUNK_BYTES_MAX), ..options };
    let locations: Vec<Location> = waiting.iter().map(|(_, location)| location.clone()).collect();
    let path = |location: &Location| match location {
        Location::Path(path, _) => Some(path.clone()),
        Location::Member(member) => Some(member.whole_path()),
        Location::Object(object) => Some(PathBuf::from(&object.path)),
        Location::Stdin => None,
    };
    let paths: Vec<Option<PathBuf>> = locations.iter().map(path).collect();
    let partitions = match options.hive_partitions {
        true => partitions::fields(paths.iter().map(Option::as_deref)),
        false => Vec::new(),
    };
    let reading = Reading::new(options, warnings.clone());
    let shared = Shared { reading, partitions, begun: HashMap::new() };
    Ok(Files { names, locations, listed, waiting, bytes_total, current: None, is_begun: false, shared })
}

impl Location {
    /// The name for messages and records.
    fn name(&self) -> String {
        match self {
            Location::Stdin => "-".to_owned(),
            Location::Path(path, _) => shown(path),
            Location::Member(member) => member.name(),
            Location::Object(object) => object.name.clone(),
        }
    }
}

impl Source for Files {
    fn describe(&self) -> SourceInfo {
        // Pipes and devices have no size, so `bytes_total` is `None` with them.
        let lasts = |location: &Location| match location {
            Location::Object(object) => object.version.is_some(),
            Location::Member(member) => member.repeats(),
            Location::Path(..) | Location::Stdin => true,
        };
        let repeats = self.bytes_total.is_some() && self.locations.iter().all(lasts);
        let options = &self.shared.reading.options;
        let mut info = SourceInfo::new(self.names.iter().cloned());
        info.bytes_total = self.bytes_total;
        info.repeats = if repeats { Repeats::Always } else { Repeats::Once };
        info.reading = recorded::text(options);
        info.has_ids = options.format == Some(Format::Hits) || options.extended_json;
        info.has_operations = self.names.iter().any(|name| format::has_operations(options, name));
        info.warnings = Some(self.shared.reading.warnings.clone());
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        let bytes = want_bytes.clamp(1, CHUNK_BYTES_MAX);
        loop {
            let Some(opened) = &mut self.current else {
                let Some((id, location)) = self.waiting.pop_front() else { return Ok(Step::End) };
                self.shared.begin(&self.waiting);
                let opened = self.shared.open(id, &self.names[id.0 as usize], &location);
                match opened.and_then(|file| self.check_unused(id).map(|()| file)) {
                    Ok(file) => self.current = Some(file),
                    Err(error) => return Err(self.end(self.with_hint(id, error).of(id))),
                }
                continue;
            };
            match opened.next_chunk(bytes) {
                Ok(Some(chunk)) => return Ok(Step::Chunk(chunk)),
                Ok(None) => self.current = None,
                Err(error) => return Err(self.end(error)),
            }
        }
    }

    fn keep_texts(&mut self, fields: &[String]) {
        self.shared.reading.keep_texts(fields);
    }

    fn form_rows(&mut self, form: &RowForm) {
        self.shared.reading.rows = form.clone();
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        let fingerprint = |location: &Location| match location {
            Location::Path(path, _) => {
                let failed = |e| SourceError::io(shown(path), "cannot be read", e);
                Some(Fingerprint::of(path).map_err(failed))
            }
            Location::Member(member) => member.fingerprint(),
            Location::Object(object) => Some(Ok(Fingerprint::of_object(object))),
            Location::Stdin => {
                let failed = |e| SourceError::io("-", "cannot be read", e);
                let start = |mut file: File| file.stream_position().and_then(|at| Fingerprint::of_file(&file, at));
                Some(stdin().and_then(start).map_err(failed))
            }
        };
        self.locations.iter().filter_map(fingerprint).collect()
    }

    /// Opens each local file, and each member of an archive. Files on servers would cost a request
    /// each, and their existence was checked before.
    fn check_all(&self) -> Result<(), SourceError> {
        let mut shared = self.shared.reset();
        for (at, location) in self.locations.iter().enumerate() {
            let is_file = match location {
                // A pipe or device can be read only once.
                Location::Path(path, _) => path.is_file(),
                Location::Member(_) => true,
                Location::Stdin | Location::Object(_) => false,
            };
            if is_file {
                let id = SourceId(at as u32);
                shared.open(id, &self.names[at], location).map_err(|error| error.of(id))?;
            }
        }
        Ok(())
    }
}

#[cfg(feature = "sql")]
impl Files {
    /// The columns of each file without its rows, where all files are columnar. `None` where the
    /// first is not. The files cannot be read afterwards.
    #[doc(hidden)]
    pub fn columnar(&mut self) -> Result<Option<Vec<ColumnarFile>>, SourceError> {
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
                        "has no schema, and the files before it have one; make it a table of its own",
                    ));
                }
            }
        }
        Ok(Some(tables))
    }

    /// Fields that each file gets from the names of its folders, as name and JSON value. Empty
    /// without option `hive_partitions`.
    pub fn partitions(&self) -> &[Vec<(String, String)>] {
        &self.shared.partitions
    }
}

impl Files {
    /// Refuses an option that neither the file that was opened nor the others can use. Once
    /// documents were passed on, a warning says so.
    fn check_unused(&mut self, id: SourceId) -> Result<(), SourceError> {
        let Reading { unused, opened, warnings, .. } = &self.shared.reading;
        let is_first = opened.is_some() && !self.is_begun;
        self.is_begun |= opened.is_some();
        let is_decided = is_first || self.waiting.is_empty();
        let (true, false, Some(format)) = (is_decided, unused.is_empty(), opened) else { return Ok(()) };
        let name = &self.names[id.0 as usize];
        let waiting = self.waiting.iter().map(|(id, _)| format::by_name(&self.names[id.0 as usize]));
        match unused.refused(name, *format, &waiting.collect::<Vec<_>>()) {
            None => Ok(()),
            Some(error) if is_first => Err(error.of(id)),
            Some(error) => {
                warnings.add("", "option_unused", "", 1, || error.message);
                Ok(())
            }
        }
    }

    /// Says how a file is left out that the user did not name, and that cannot be read.
    fn with_hint(&self, id: SourceId, error: SourceError) -> SourceError {
        let is_one_of_many = self.listed.contains(&id) && self.names.len() > 1;
        if is_one_of_many { known::with_hint(error) } else { error }
    }

    /// Ends the source after an error.
    fn end(&mut self, error: SourceError) -> SourceError {
        self.current = None;
        self.waiting.clear();
        self.shared.begun.clear();
        error
    }
}

impl Shared {
    /// The state before anything was read.
    fn reset(&self) -> Shared {
        Shared { reading: self.reading.anew(), partitions: self.partitions.clone(), begun: HashMap::new() }
    }

    /// Requests the beginnings of the next files on servers, so that many small files do not cost a
    /// round trip each.
    fn begin(&mut self, waiting: &VecDeque<(SourceId, Location)>) {
        for (id, location) in waiting.iter().take(FILES_AHEAD) {
            if let Location::Object(object) = location {
                self.begun.entry(*id).or_insert_with(|| object.stream());
            }
        }
    }

    fn open(&mut self, id: SourceId, name: &str, location: &Location) -> Result<Opened, SourceError> {
        let LocalFile { raw, steady } = match location {
            Location::Stdin => open_stdin()?,
            Location::Path(path, noted) => of_file(File::open(path), noted.as_ref(), name)?,
            Location::Member(member) => member.open(name)?,
            Location::Object(object) => {
                let stream = self.begun.remove(&id).unwrap_or_else(|| object.stream());
                let read = stream.consumed();
                let seekable = Some(Seekable::Remote(Box::new(RemoteObject(Arc::clone(object)))));
                LocalFile { raw: Raw { input: Input::new(stream), read, seekable }, steady: None }
            }
        };
        let partitions = self.partitions.get(id.0 as usize).map_or(&[][..], Vec::as_slice);
        let file = self.reading.open(id, name, raw, partitions)?;
        Ok(Opened { id, name: name.to_owned(), file, steady })
    }
}

/// A file that is being read.
struct Opened {
    id: SourceId,
    name: String,
    file: Box<dyn ReadFile>,
    /// Watches a regular file.
    steady: Option<Arc<Steady>>,
}

impl Opened {
    /// The next chunk. A change of the file is reported in place of any other error.
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let result = self.file.next_chunk(bytes);
        if let (Some(steady), Ok(None) | Err(_)) = (&self.steady, &result)
            && let Err(change) = steady.check()
        {
            return Err(match result {
                Err(error) if error.is_change() => error,
                Err(error) => {
                    let what = format!("reading failed ({})", error.message);
                    SourceError::io(&self.name, &what, change).of(self.id)
                }
                Ok(_) => SourceError::io(&self.name, "the file was read to its end", change).of(self.id),
            });
        }
        result
    }
}

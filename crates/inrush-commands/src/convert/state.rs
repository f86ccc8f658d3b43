//! The state of an output in parts, beside the parts: which of them are complete, and how far they
//! read the source. A part that is not in it does not count.

use std::collections::BTreeMap;

use inrush_cluster::run_id::run_id;
use inrush_core::SourceId;
use inrush_sources::{Fingerprint, Repeats, Source};
use serde::{Deserialize, Serialize};

use super::object::Upload;
use super::place::Place;
use super::reading::{Numbers, Progress};
use super::{BulkLines, ConvertError, Converted, Output, OutputFormat};

/// The name of its file. Readers of folders skip it.
const NAME: &str = "_inrush.json";
/// The version of its form.
const FORMAT: u32 = 1;
/// The digits of the number in the name of a part, which keep the names in order.
const DIGITS: usize = 6;
const PARTS_MAX: usize = 999_999;

/// What must not change between two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Those of a source that can be read again. Else empty.
    sources: Vec<Fingerprint>,
    options: BTreeMap<String, String>,
}

/// The state of an output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct State {
    format: u32,
    job: Job,
    /// The name of this state.
    pub(super) id: String,
    /// The run that writes. Folders of object stores have no locks.
    #[serde(default)]
    run: String,
    pub(super) complete: bool,
    pub(super) docs: u64,
    pub(super) bytes_read: u64,
    pub(super) parts: Vec<PartState>,
    /// What the output lacks, once it is complete.
    notes: Vec<String>,
    /// Documents that are empty lines.
    pub(super) empty_lines: u64,
    /// Documents that were written to the source after the first run began.
    later: u64,
    read: Vec<Number>,
    ends: Vec<Number>,
    /// The state of the documents that were kept, whose parts `read` is about.
    kept: Option<String>,
    upload: Option<Upload>,
    /// Parts that do not count any more, and may be there.
    #[serde(default)]
    dropped: Vec<String>,
}

/// A complete part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartState {
    name: String,
    docs: u64,
    bytes: u64,
}

/// The number of a document of a partition.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Number {
    source: u32,
    partition: u32,
    number: u64,
}

impl Job {
    pub(super) fn of(source: &dyn Source, output: &Output) -> Result<Self, ConvertError> {
        let info = source.describe();
        let sources = match info.repeats {
            Repeats::Always => source.fingerprints()?,
            Repeats::Once | Repeats::Unordered => Vec::new(),
        };
        let mut options = BTreeMap::from([
            ("how the source is read".to_owned(), info.reading),
            ("the format and the compression".to_owned(), ending(output)),
            ("the field for ids".to_owned(), output.id_as.clone().unwrap_or_default()),
        ]);
        for (name, value) in output.shaping.options().into_iter().filter(|(_, value)| !value.is_empty()) {
            options.insert(format!("option `{name}`"), value);
        }
        if let OutputFormat::Bulk(lines) | OutputFormat::BulkSmile(lines) = &output.target {
            let BulkLines { action, id, routing } = lines;
            let field = |field: &Option<_>| field.as_ref().map(ToString::to_string).unwrap_or_default();
            options.insert("option `action`".to_owned(), format!("{action:?}"));
            options.insert("option `id`".to_owned(), field(id));
            options.insert("option `routing`".to_owned(), field(routing));
        }
        Ok(Job { sources, options })
    }

    /// What differs, as text.
    fn differences(&self, now: &Job) -> Vec<String> {
        let pairs = self.sources.iter().zip(&now.sources);
        let mut found: Vec<String> = pairs.filter_map(|(before, now)| before.difference(now)).collect();
        if self.sources.len() != now.sources.len() {
            found.push(format!("there were {} sources, and now {}", self.sources.len(), now.sources.len()));
        }
        let names = self.options.keys().chain(now.options.keys().filter(|name| !self.options.contains_key(*name)));
        found.extend(
            names
                .filter(|name| self.options.get(*name) != now.options.get(*name))
                .map(|name| format!("changed: {name}")),
        );
        found
    }
}

impl State {
    fn new(job: Job) -> Self {
        State {
            format: FORMAT,
            job,
            id: run_id(),
            run: run_id(),
            complete: false,
            docs: 0,
            bytes_read: 0,
            parts: Vec::new(),
            notes: Vec::new(),
            empty_lines: 0,
            later: 0,
            read: Vec::new(),
            ends: Vec::new(),
            kept: None,
            upload: None,
            dropped: Vec::new(),
        }
    }

    /// The state of an earlier run, or a new one, which is then on the disk.
    ///
    /// # Errors
    /// [`ConvertError::Refused`] where the place has other files, where there is nothing to go on
    /// with, or another output.
    pub(super) fn open(place: &Place, job: &Job, output: &Output, resume: bool) -> Result<Self, ConvertError> {
        let (title, files) = (place.title(), place.files()?);
        let refused = |why: String| Err(ConvertError::Refused(format!("{title} {why}")));
        if !files.contains_key(NAME) {
            if resume {
                return refused("has no output to go on with; leave option `resume` out".to_owned());
            }
            if let Some(name) = files.keys().find(|name| is_visible(name)) {
                return refused(format!(
                    "has other files, such as {name}, which a reader of the folder would take for parts; name an empty folder"
                ));
            }
            let state = State::new(job.clone());
            state.write(place)?;
            return Ok(state);
        }
        let mut state = match State::read(place)? {
            Ok(state) => state,
            Err(why) => return refused(format!("has {NAME}, {why}; name another folder")),
        };
        let parts = state.parts.len();
        if !resume {
            let what = match state.complete {
                true => "a complete output",
                false => "an output that was cut off (option `resume` goes on with it)",
            };
            return refused(format!("has {what} of {} documents in {parts} parts; name another folder", state.docs));
        }
        let differences = state.job.differences(job);
        if !differences.is_empty() {
            let differences = differences.join("; ");
            return refused(format!("has another output: {differences}; undo these changes, or name another folder"));
        }
        if state.complete {
            return Ok(state);
        }
        if let Some(part) = state.parts.iter().find(|part| files.get(&part.name) != Some(&part.bytes)) {
            return refused(format!("has no part {} of {} bytes any more; name another folder", part.name, part.bytes));
        }
        let next = name_of_part(parts + 1, output)?;
        let is_known = |name: &str| {
            name == next
                || state.parts.iter().any(|part| part.name == name)
                || state.dropped.iter().any(|part| part == name)
        };
        if let Some(name) = files.keys().find(|name| is_visible(name) && !is_known(name)) {
            return refused(format!("has another file, {name}; move it to another folder"));
        }
        // From here on an earlier run that is not over ends.
        state.run = run_id();
        state.write(place)?;
        state.drop_parts(place)?;
        if let Some(upload) = state.upload.take() {
            place.abort(&upload)?;
        }
        // It was complete a moment before this state was to say so.
        place.delete(&next)?;
        Ok(state)
    }

    /// Whether there is a state of this job.
    pub(super) fn is_of(place: &Place, job: &Job) -> bool {
        matches!(State::read(place), Ok(Ok(state)) if state.job.differences(job).is_empty())
    }

    /// The state, or why it cannot be used.
    fn read(place: &Place) -> Result<Result<Self, String>, ConvertError> {
        #[derive(Deserialize)]
        struct Form {
            format: u32,
        }
        let text = place.read(NAME)?;
        Ok(match serde_json::from_slice::<Form>(&text) {
            Ok(Form { format: FORMAT }) => serde_json::from_slice(&text).map_err(|error| format!("damaged: {error}")),
            Ok(Form { format }) => Err(format!("whose form is {format}, and this version of inrush has {FORMAT}")),
            Err(error) => Err(format!("damaged: {error}")),
        })
    }

    /// Refuses to go on where another run writes to the place. Between this and a write there is a
    /// moment in which another run can begin.
    pub(super) fn check_ours(&self, place: &Place) -> Result<(), ConvertError> {
        match State::read(place)? {
            Ok(found) if found.run == self.run => Ok(()),
            _ => Err(ConvertError::Refused(format!(
                "another process has begun to write to {}; let only one of them write, and then go on with option `resume`",
                place.title()
            ))),
        }
    }

    /// Writes the state, unless another run writes to the place.
    fn write_ours(&self, place: &Place) -> Result<(), ConvertError> {
        self.check_ours(place)?;
        self.write(place)
    }

    /// Deletes parts that do not count. The next write of the state no longer has their names.
    fn drop_parts(&mut self, place: &Place) -> Result<(), ConvertError> {
        for name in std::mem::take(&mut self.dropped) {
            place.delete(&name)?;
        }
        Ok(())
    }

    fn write(&self, place: &Place) -> Result<(), ConvertError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| ConvertError::Impossible(error.to_string()))?;
        Ok(place.write(NAME, text)?)
    }

    /// How far the source was read, and where it ended before the first run.
    pub(super) fn progress(&self) -> (Progress, Numbers) {
        let converted = Converted { docs: self.docs, bytes_read: self.bytes_read, ..Converted::default() };
        (Progress { converted, read: of_list(&self.read), later: self.later }, of_list(&self.ends))
    }

    /// Notes where the source ends before anything is read.
    pub(super) fn begin(&mut self, source: &dyn Source) -> Result<(), ConvertError> {
        if self.parts.is_empty() {
            self.ends = list(&source.ends()?);
        }
        Ok(())
    }

    /// Begins anew if `kept` is not what the parts were made of.
    pub(super) fn made_of(&mut self, kept: &str, place: &Place) -> Result<(), ConvertError> {
        if self.kept.as_deref() == Some(kept) {
            return Ok(());
        }
        if !self.parts.is_empty() {
            tracing::warn!(
                "the documents that {} was made of are no longer on this machine; it begins anew",
                place.title()
            );
        }
        self.check_ours(place)?;
        // The state goes first: it may lack parts that are there, but not have parts that are gone.
        *self = State {
            run: self.run.clone(),
            kept: Some(kept.to_owned()),
            dropped: self.parts.iter().map(|part| part.name.clone()).collect(),
            ..State::new(self.job.clone())
        };
        self.write(place)?;
        self.drop_parts(place)
    }

    /// The name of the next part.
    pub(super) fn next_name(&self, output: &Output) -> Result<String, ConvertError> {
        name_of_part(self.parts.len() + 1, output)
    }

    /// Notes an upload before its first piece.
    pub(super) fn note(&mut self, upload: &Upload, place: &Place) -> Result<(), ConvertError> {
        self.upload = Some(upload.clone());
        self.write_ours(place)
    }

    /// Adds a part that is complete.
    pub(super) fn add(
        &mut self,
        (name, bytes): (String, u64),
        progress: &Progress,
        place: &Place,
    ) -> Result<(), ConvertError> {
        let Progress { converted, read, later } = progress;
        self.parts.push(PartState { name, docs: converted.docs - self.docs, bytes });
        (self.docs, self.bytes_read, self.later) = (converted.docs, converted.bytes_read, *later);
        self.read = list(read);
        self.upload = None;
        self.write_ours(place)
    }

    /// Says that all parts are there.
    pub(super) fn finish(&mut self, notes: Vec<String>, place: &Place) -> Result<(), ConvertError> {
        (self.complete, self.notes) = (true, notes);
        self.write_ours(place)
    }

    /// The result.
    pub(super) fn converted(&self) -> Converted {
        Converted {
            docs: self.docs,
            bytes_read: self.bytes_read,
            bytes_written: self.parts.iter().map(|part| part.bytes).sum(),
            notes: self.notes.clone(),
        }
    }

    /// A note on documents that are in two parts, perhaps.
    pub(super) fn note_on_later(&self) -> Option<String> {
        (self.later > 0).then(|| {
            format!(
                "documents that were written after the output was begun, and read by a later run: {}; one that was there before may also be in an earlier part as it was then, so load the parts with ids, of which the last stays",
                self.later
            )
        })
    }
}

fn list(numbers: &Numbers) -> Vec<Number> {
    let of = |(&(source, partition), &number): (&(SourceId, u32), &u64)| Number { source: source.0, partition, number };
    numbers.iter().map(of).collect()
}

fn of_list(list: &[Number]) -> Numbers {
    list.iter().map(|of| ((SourceId(of.source), of.partition), of.number)).collect()
}

/// Whether a reader of the folder reads this file.
fn is_visible(name: &str) -> bool {
    !name.split('/').any(|part| part.starts_with(['.', '_']))
}

/// The name of a part, from 1.
fn name_of_part(number: usize, output: &Output) -> Result<String, ConvertError> {
    if number > PARTS_MAX {
        let why = format!("there would be more than {PARTS_MAX} parts; make the parts larger");
        return Err(ConvertError::Impossible(why));
    }
    Ok(format!("part-{number:0DIGITS$}.{}", ending(output)))
}

/// What the names of files in this format end with.
fn ending(output: &Output) -> String {
    let format = match &output.target {
        OutputFormat::Ndjson => "ndjson",
        OutputFormat::Smile => "smile",
        OutputFormat::Bulk(_) => "bulk",
        OutputFormat::BulkSmile(_) => "bulk-smile",
        OutputFormat::Csv => "csv",
        OutputFormat::Parquet => "parquet",
    };
    format!("{format}{}", output.packing.ending())
}

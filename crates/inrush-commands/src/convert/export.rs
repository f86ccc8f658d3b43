//! An output in parts, in a folder of this machine or of an object store. A run that was cut off
//! can go on.

use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inrush_sources::{Repeats, Source, SourceError};

use super::form::Form;
use super::packed::{Packed, Packing};
use super::place::{Part, Place, make_private, remove};
use super::reading::{Changes, Reading, Watch};
use super::state::{Job, State};
use super::{ConvertError, Converted, Output, OutputFormat, check_that_it_ends, open_kept, see};

/// Bytes of the parts of documents that are kept.
const KEPT_BYTES: u64 = 64 << 20;

/// Where an output in parts goes, and how.
#[derive(Clone, Debug)]
pub struct Export {
    /// The folder.
    pub place: Place,
    /// Bytes of a part, about: it ends with the documents that reach them.
    pub part_bytes: u64,
    /// Whether an earlier run is gone on with.
    pub resume: bool,
    /// The folder for the documents of a table whose source is read once. It is deleted at the end.
    pub kept: PathBuf,
    /// Is set once the folder has an output that [`Export::resume`] may go on with.
    pub begun: Arc<AtomicBool>,
}

/// The result of an output in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The documents and bytes of all runs.
    pub converted: Converted,
    /// Parts.
    pub parts: usize,
    /// Whether an earlier run had written all of it.
    pub was_complete: bool,
}

/// Opens the same source once more.
type Open<'a> = &'a dyn Fn() -> Result<Box<dyn Source>, SourceError>;

/// Writes the documents of `source` as files into a folder. `again` opens the same source once
/// more; `None`: it can be read once, or may change. `watch` is told after each block how far it
/// is, and answers whether to go on.
///
/// # Errors
/// [`ConvertError`]. All but [`ConvertError::Refused`] leave the complete parts, with which
/// [`Export::resume`] goes on.
pub fn export(
    source: &mut dyn Source,
    again: Option<Open<'_>>,
    output: &Output,
    export: &Export,
    watch: &dyn Fn(&Converted) -> bool,
) -> Result<Exported, ConvertError> {
    let info = source.describe();
    check_that_it_ends(&info)?;
    if export.resume && info.repeats != Repeats::Always {
        return Err(ConvertError::Refused(format!(
            "{} can be read only once (such as stdin) or has no fixed order (such as Postgres and MySQL), so option `resume` cannot go on with it; write it to another folder without option `resume`",
            info.title()
        )));
    }
    let mut form = Form::new(output)?;
    form.prepare(source);
    if !export.resume {
        export.place.make()?;
    }
    let Some(_lock) = export.place.lock()? else { return Err(busy(&export.place)) };
    let job = Job::of(source, output)?;
    let mut state = State::open(&export.place, &job, output, export.resume)?;
    export.begun.store(true, Ordering::Relaxed);
    let was_complete = state.complete;
    let work = Work { output, export, changes: output.changes(), watch };
    let written = if was_complete { Ok(()) } else { work.write_all((source, again), &job, &mut form, &mut state) };
    let is_of_no_use = match &written {
        Ok(()) => true,
        // Another process may have them.
        Err(ConvertError::Refused(_)) => false,
        Err(_) => info.repeats != Repeats::Always,
    };
    if is_of_no_use && let Err(error) = remove(&export.kept) {
        tracing::warn!("documents that were kept are not deleted: {error}");
    }
    written?;
    Ok(Exported { converted: state.converted(), parts: state.parts.len(), was_complete })
}

fn busy(place: &Place) -> ConvertError {
    ConvertError::Refused(format!("another process writes to {}; wait for its end", place.title()))
}

/// What all steps need.
struct Work<'a> {
    output: &'a Output,
    export: &'a Export,
    changes: Changes,
    watch: Watch<'a>,
}

impl<'a> Work<'a> {
    /// Writes all that is missing.
    fn write_all(
        &self,
        (source, again): (&mut dyn Source, Option<Open<'_>>),
        job: &Job,
        form: &mut Form,
        state: &mut State,
    ) -> Result<(), ConvertError> {
        let later = match again {
            _ if !form.is_table() => self.write(source, form, state)?,
            Some(again) => {
                see(&mut Reading::new(source, self.changes.clone(), self.watch), form)?;
                self.write(again()?.as_mut(), form, state)?
            }
            None => self.write_kept(source, job, form, state)?,
        };
        let unmet = self.changes.shape.warnings();
        state.finish(form.notes().into_iter().chain(unmet).chain(later).collect(), &self.export.place)
    }

    /// Writes the parts that are missing. Returns a note on documents that changed meanwhile.
    fn write(
        &self,
        source: &mut dyn Source,
        form: &mut Form,
        state: &mut State,
    ) -> Result<Option<String>, ConvertError> {
        let Export { place, part_bytes, .. } = self.export;
        state.begin(source)?;
        let (progress, ends) = state.progress();
        let reading = Reading::new(source, self.changes.clone(), self.watch).in_parts(*part_bytes).from(progress, ends);
        write_parts(reading, form, (self.output, *part_bytes), place, state)?;
        Ok(state.note_on_later())
    }

    /// The same for a table whose source is read once: the documents are kept first.
    fn write_kept(
        &self,
        source: &mut dyn Source,
        job: &Job,
        form: &mut Form,
        state: &mut State,
    ) -> Result<Option<String>, ConvertError> {
        let Export { place, part_bytes, resume, kept, .. } = self.export;
        let folder = Place::Folder(kept.clone());
        let is_there = *resume && State::is_of(&folder, job);
        if !is_there {
            let Some(lock) = folder.lock()? else { return Err(busy(&folder)) };
            remove(kept)?;
            make_private(kept)?;
            drop(lock);
        }
        let Some(_lock) = folder.lock()? else { return Err(busy(&folder)) };
        let as_kept = Output { target: OutputFormat::Ndjson, packing: Packing::Zstd, ..self.output.clone() };
        let mut first = State::open(&folder, job, &as_kept, is_there)?;
        if !first.complete {
            first.begin(source)?;
            let (progress, ends) = first.progress();
            let reading =
                Reading::new(source, self.changes.clone(), self.watch).in_parts(KEPT_BYTES).from(progress, ends);
            write_parts(reading, &mut Form::Ndjson, (&as_kept, KEPT_BYTES), &folder, &mut first)?;
            first.finish(Vec::new(), &folder)?;
        }
        state.made_of(&first.id, place)?;
        if first.docs > 0 {
            see(&mut Reading::new(open_kept(kept)?.as_mut(), Changes::default(), self.watch), form)?;
            let mut source = open_kept(kept)?;
            let (progress, ends) = state.progress();
            let reading = Reading::new(source.as_mut(), Changes::default(), self.watch)
                .in_parts(*part_bytes)
                .from(progress, ends);
            write_parts(reading, form, (self.output, *part_bytes), place, state)?;
        }
        state.bytes_read = first.bytes_read;
        Ok(first.note_on_later())
    }
}

/// Writes parts up to the end of the source.
fn write_parts(
    mut reading: Reading<'_>,
    form: &mut Form,
    (output, part_bytes): (&Output, u64),
    place: &Place,
    state: &mut State,
) -> Result<(), ConvertError> {
    if let Some(lines) = form.empty_lines() {
        *lines = state.empty_lines;
    }
    while reading.has_more()? {
        let name = state.next_name(output)?;
        let mut part = place.begin(&name, part_bytes)?;
        let bytes = match write_part(&mut reading, form, output.packing, &mut part, (place, &mut *state)) {
            Ok(bytes) => bytes,
            Err(error) => {
                part.abort();
                return Err(error);
            }
        };
        // A part of another run may have this name by now.
        if let Err(error) = state.check_ours(place) {
            part.abort();
            return Err(error);
        }
        part.complete()?;
        state.empty_lines = form.empty_lines().map_or(0, |lines| *lines);
        state.add((name, bytes), reading.progress(), place)?;
    }
    Ok(())
}

/// Writes a part, and returns its bytes.
fn write_part(
    reading: &mut Reading<'_>,
    form: &mut Form,
    packing: Packing,
    part: &mut Part,
    (place, state): (&Place, &mut State),
) -> Result<u64, ConvertError> {
    if let Some(upload) = part.upload() {
        state.note(upload, place)?;
    }
    let mut out = Packed::new(packing, BufWriter::new(part))?;
    form.write(reading, &mut out)?;
    Ok(out.finish()?)
}

#[cfg(test)]
mod tests;

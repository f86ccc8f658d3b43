//! The files of the arguments before any is read: which ones count, and their formats where these
//! are known.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use inrush_core::Code;
use inrush_formats::SourceError;
use inrush_formats::format::pattern_for;
use inrush_formats::format::{self, Format, FormatOptions};
use inrush_formats::reading::check_format;
use inrush_formats::uses::Unused;

use super::archive::{Looking, Member};
use super::local::{archive_on_stdin, of_file, stdin_len};
use super::paths::{expand, noted, shown};
use super::steady::Noted;
use super::{Location, store};
use crate::archives::{Copies, promises_an_archive};
use crate::lake;

/// The most patterns that a message gives for files that cannot be read.
const PATTERNS_MAX: usize = 10;

/// A file of an argument.
pub(super) struct Found {
    pub(super) location: Location,
    pub(super) bytes: Option<u64>,
    /// It was found in a folder, an archive or by a pattern.
    pub(super) is_listed: bool,
}

/// What is known of the files so far.
pub(super) struct Known<'a> {
    options: &'a FormatOptions,
    looking: Looking<'a>,
    unused: Unused,
    first: Option<(String, Format)>,
    count: usize,
    /// Whether there are no sources without a known format.
    is_all: bool,
    refused: Refused,
}

/// Files that cannot be read, and that the user did not name.
#[derive(Default)]
struct Refused {
    first: Option<SourceError>,
    patterns: Vec<String>,
    count: usize,
}

impl<'a> Known<'a> {
    /// Before any argument was seen.
    pub(super) fn new(options: &'a FormatOptions, looking: Looking<'a>) -> Self {
        let unused = Unused::new(&options.given, options.parse.is_some());
        Known { options, looking, unused, first: None, count: 0, is_all: true, refused: Refused::default() }
    }

    /// Stdin, or the members of the archive that it is.
    pub(super) fn stdin(&mut self) -> Result<Vec<Found>, SourceError> {
        // Not every workbook begins as one.
        let archive = if self.options.format == Some(Format::Excel) { None } else { archive_on_stdin()? };
        match archive {
            Some((raw, kind)) => self.members(self.looking.of_stdin(raw, kind)?),
            None => {
                self.is_all = false;
                Ok(vec![Found { location: Location::Stdin, bytes: stdin_len(), is_listed: false }])
            }
        }
    }

    /// The local files of a path, with their sizes. The members of an archive are files.
    pub(super) fn local(&mut self, path: &Path) -> Result<Vec<Found>, SourceError> {
        let Looking { choice, warnings } = self.looking;
        let expanded = expand(path, choice, warnings)?;
        let paths: Vec<_> =
            expanded.paths.iter().filter(|path| store::may_take(choice, &expanded.below(path))).cloned().collect();
        lake::check(path, &paths)?;
        let (mut found, mut formats) = (Vec::with_capacity(paths.len()), Vec::new());
        for path in paths {
            let (noted, below) = (noted(&path)?, expanded.below(&path));
            if let Some(noted) = &noted
                && let Some(members) = self.looking.of_path(&path, noted, &below)?
            {
                found.extend(self.members(members)?);
                continue;
            }
            if promises_an_archive(&below) && !choice.takes(&below) {
                continue;
            }
            let is_listed = expanded.is_listed;
            match &noted {
                Some(noted) => {
                    let name = shown(&path);
                    let file = of_file(File::open(&path), Some(noted), &name)?.raw;
                    let format = self.judge(&name, check_format(file, &name, self.options), is_listed)?;
                    formats.push((name, format));
                }
                None => self.is_all = false,
            }
            let bytes = noted.as_ref().map(Noted::bytes);
            found.push(Found { location: Location::Path(path, noted), bytes, is_listed });
        }
        if expanded.is_listed {
            self.refuse_text(&formats);
        }
        Ok(found)
    }

    /// Files on servers, and the members of archives there.
    pub(super) fn remote(&mut self, objects: Vec<store::Found>, copies: &Copies) -> Result<Vec<Found>, SourceError> {
        let (mut found, mut formats) = (Vec::new(), Vec::new());
        for store::Found { object, below, is_listed } in objects {
            let object = Arc::new(object);
            if let Some(members) = self.looking.of_object(&object, copies, &below)? {
                found.extend(self.members(members)?);
                continue;
            }
            if promises_an_archive(&below) && !self.looking.choice.takes(&below) {
                continue;
            }
            self.is_all = false;
            if is_listed {
                formats.push((object.name.clone(), format::by_name(&object.name)));
            }
            found.push(Found { bytes: object.size, location: Location::Object(object), is_listed });
        }
        self.refuse_text(&formats);
        Ok(found)
    }

    fn members(&mut self, members: Vec<Member>) -> Result<Vec<Found>, SourceError> {
        let (mut found, mut formats) = (Vec::with_capacity(members.len()), Vec::new());
        for member in members {
            let (name, bytes) = (member.name(), Some(member.bytes()));
            let format = self.judge(&name, check_format(member.stream(&name)?.raw, &name, self.options), true)?;
            formats.push((name, format));
            found.push(Found { location: Location::Member(Arc::new(member)), bytes, is_listed: true });
        }
        self.refuse_text(&formats);
        Ok(found)
    }

    /// Takes the format of a file. A listed file without one is refused at the end, when all such
    /// files are known.
    fn judge(
        &mut self,
        name: &str,
        format: Result<Option<Format>, SourceError>,
        is_listed: bool,
    ) -> Result<Option<Format>, SourceError> {
        self.count += 1;
        match format {
            Ok(format) => {
                self.unused.see(format);
                if let (None, Some(format)) = (&self.first, format) {
                    self.first = Some((name.to_owned(), format));
                }
                Ok(format)
            }
            Err(error) if is_listed && error.code == Code::UnknownFormat => {
                self.refused.add(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses a text such as README.txt among files of other formats, where the user did not say
    /// what to read.
    fn refuse_text(&mut self, files: &[(String, Option<Format>)]) {
        let is_other = |format: &Format| *format != Format::Text;
        let other = files.iter().find_map(|(_, format)| format.filter(is_other));
        let Some(other) = other.filter(|_| !self.looking.choice.is_by_include()) else { return };
        for (name, _) in files
            .iter()
            .filter(|(name, format)| format.is_some_and(|format| format::may_be_a_table(self.options, name, format)))
        {
            let message = format!(
                "each line would become a document, because of the file's name, and other files here are {}; option \
                 `include=*` reads all files",
                other.name()
            );
            self.refused.add(SourceError::new(name, message).coded(Code::UnknownFormat));
        }
    }

    /// Refuses files that cannot be read, and an option that no file can use.
    pub(super) fn check(self) -> Result<(), SourceError> {
        let Refused { first: refused, patterns, count } = self.refused;
        if let Some(mut error) = refused {
            // Where no file can be read, it is not for their names.
            if count < self.count || !self.is_all {
                error.message += &hint(count, &patterns);
            }
            return Err(error);
        }
        let Some((name, format)) = self.first.as_ref().filter(|_| self.is_all) else { return Ok(()) };
        let others = vec![Some(*format); self.count - 1];
        self.unused.refused(name, *format, &others).map_or(Ok(()), Err)
    }
}

impl Refused {
    fn add(&mut self, error: SourceError) {
        let pattern = pattern_of(&error);
        if !self.patterns.contains(&pattern) {
            self.patterns.push(pattern);
        }
        self.count += 1;
        self.first.get_or_insert(error);
    }
}

/// An error of one file among others, with how to leave it out.
pub(super) fn with_hint(mut error: SourceError) -> SourceError {
    if error.code == Code::UnknownFormat {
        error.message += &hint(1, &[pattern_of(&error)]);
    }
    error
}

/// A pattern for the file that an error names, which may be an address with a query.
fn pattern_of(error: &SourceError) -> String {
    let is_address = error.name.starts_with("http");
    pattern_for(error.name.split_once('?').filter(|_| is_address).map_or(&*error.name, |(address, _)| address))
}

fn hint(count: usize, patterns: &[String]) -> String {
    let option = match patterns.len() <= PATTERNS_MAX {
        true => format!("option `exclude={}`", patterns.join(",")),
        false => "option `exclude`, or choose the others with option `include`".to_owned(),
    };
    match count {
        1 => format!("; or leave it out with {option}"),
        _ => format!("; or leave it out, and {} more that cannot be read either, with {option}", count - 1),
    }
}

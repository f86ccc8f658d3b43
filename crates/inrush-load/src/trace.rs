//! The record of a run: samples and decisions of the tuner, one JSON object a line (`inrush_core::trace`).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use inrush_core::Time;
use inrush_core::trace::{Entry, Header};
use inrush_core::tune::{Decision, Sample};

use crate::error::LoadError;
use crate::private::private_file;

/// Writes a trace. A trace that cannot be written any further is given up with a warning: it is no reason to end a load.
pub(crate) struct TraceWriter {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl TraceWriter {
    /// Makes the file, or empties it.
    pub(crate) fn create(path: &Path) -> Result<Self, LoadError> {
        let cannot = |e: std::io::Error| LoadError::usage(format!("cannot write the trace to {}: {e}", path.display()));
        let file = BufWriter::new(private_file(path).map_err(cannot)?);
        Ok(TraceWriter { path: path.to_owned(), file: Some(file) })
    }

    /// Writes the header.
    pub(crate) fn begin(mut self, header: &Header) -> Self {
        let file = self.file.as_mut();
        let result =
            file.map_or(Ok(()), |file| file.write_all(header.to_line().as_bytes()).and_then(|()| file.flush()));
        self.check(result);
        self
    }

    pub(crate) fn sample(&mut self, now: Time, sample: Sample, heard: bool) {
        self.write(&Entry::Sample { now, sample, heard });
    }

    pub(crate) fn break_at(&mut self, now: Time) {
        self.write(&Entry::Break { now });
    }

    pub(crate) fn decision(&mut self, decision: &Decision) {
        self.write(&Entry::Decision(decision.clone()));
    }

    /// What was written so far reaches the file.
    pub(crate) fn flush(&mut self) {
        let result = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        self.check(result);
    }

    fn write(&mut self, entry: &Entry) {
        let result = self.file.as_mut().map_or(Ok(()), |file| file.write_all(entry.to_line().as_bytes()));
        self.check(result);
    }

    fn check(&mut self, result: std::io::Result<()>) {
        if let Err(e) = result {
            tracing::warn!("the trace {} ends here: {e}", self.path.display());
            self.file = None;
        }
    }
}

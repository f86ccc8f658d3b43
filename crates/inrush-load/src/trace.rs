//! The trace of a run: samples and decisions of the tuner, one JSON object in each line
//! (`inrush_core::trace`).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use inrush_core::Time;
use inrush_core::trace::{Entry, Header};

use crate::error::LoadError;
use crate::observe::{LoadEvent, Observer};
use crate::private::{private_file, prove, prove_new};
use crate::told::Told;

/// Writes a trace. A write error ends the trace with a warning, and the load continues.
pub(crate) struct TraceWriter {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    told: Told,
}

impl TraceWriter {
    /// Checks that the file can be created, and leaves it as it is.
    pub(crate) fn check_path(path: &Path) -> Result<(), LoadError> {
        prove_new(path).map_err(|e| cannot_write(path, &e))
    }

    /// Creates the file, or empties it, and checks that it can be written to.
    pub(crate) fn create(path: &Path, told: Told) -> Result<Self, LoadError> {
        let mut file = private_file(path).map_err(|e| cannot_write(path, &e))?;
        prove(&mut file).map_err(|e| cannot_write(path, &e))?;
        Ok(TraceWriter { path: path.to_owned(), file: Some(BufWriter::new(file)), told })
    }

    fn write(&mut self, line: &str) {
        let result = self.file.as_mut().map_or(Ok(()), |file| file.write_all(line.as_bytes()));
        self.check(result);
    }

    /// Flushes the written lines to the file.
    fn flush(&mut self) {
        let result = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        self.check(result);
    }

    fn check(&mut self, result: std::io::Result<()>) {
        if let Err(e) = result {
            self.told.warn(format!("cannot write to the trace {}, which ends here: {e}", self.path.display()));
            self.file = None;
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> LoadError {
    LoadError::usage(format!("cannot write the trace to {}: {error}", path.display()))
}

impl Observer for TraceWriter {
    fn on_event(&mut self, at: Duration, event: &LoadEvent<'_>) {
        let now = Time::from_start(at);
        match event {
            LoadEvent::Started(beginning) => {
                let header = Header::new(beginning.controller, beginning.bounds, beginning.plan);
                self.write(&header.with_learned(beginning.learned).to_line());
                self.flush();
            }
            LoadEvent::RequestAnswered { sample, heard, .. } => {
                self.write(&Entry::Sample { now, sample: **sample, heard: *heard }.to_line());
            }
            LoadEvent::MeasurementReset => self.write(&Entry::Break { now }.to_line()),
            LoadEvent::PlanChanged(decision) => self.write(&Entry::Decision((*decision).clone()).to_line()),
            LoadEvent::Progress(_) => self.flush(),
            _ => {}
        }
    }
}

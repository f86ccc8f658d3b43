//! The runs on disk: a CSV file with a line per run, which the same sweep continues later.

use std::fs::{File, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::grid::Cell;

/// One run of one cell. A number that the server did not report is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The start, seconds since 1970.
    pub(crate) started: u64,
    /// The round, from 1.
    pub(crate) round: u32,
    /// The group: index settings, encoding and compression.
    pub(crate) group: String,
    /// The name of the cell in its group.
    pub(crate) cell: String,
    /// The status as in the report of a load. `interrupted` if the time of the cell was over.
    pub(crate) status: String,
    /// Documents that are in.
    pub(crate) docs: u64,
    /// Bytes read from the sources.
    pub(crate) bytes: u64,
    /// Seconds from the first document to the last reply.
    pub(crate) seconds: f64,
    pub(crate) docs_per_second: f64,
    /// Seconds from the start until all documents are searchable.
    pub(crate) seconds_to_searchable: f64,
    pub(crate) client_cpu_seconds: f64,
    pub(crate) server_cpu_seconds: Option<f64>,
    pub(crate) requests: u64,
    pub(crate) rejected_items: u64,
    pub(crate) retried_items: u64,
    pub(crate) segments: Option<u64>,
    pub(crate) merges: Option<u64>,
    /// The last plan of the run.
    pub(crate) plan_batch_bytes: u64,
    pub(crate) plan_in_flight: u32,
}

impl Run {
    /// Whether the rate counts: all documents were in, or the time was over.
    pub(crate) fn is_good(&self) -> bool {
        matches!(self.status.as_str(), "complete" | "interrupted") && self.docs > 0
    }
}

/// All runs of a sweep, in memory and in the file.
pub(crate) struct Runs {
    all: Vec<Run>,
    file: csv::Writer<File>,
}

impl Runs {
    /// Reads the existing runs, and appends to them. A last line that a crash has cut off is
    /// overwritten.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let wrong = || format!("cannot use {}", path.display());
        let mut all = Vec::new();
        if path.exists() {
            let mut reader = csv::Reader::from_path(path).with_context(wrong)?;
            let mut rows = reader.deserialize::<Run>().peekable();
            while let Some(row) = rows.next() {
                match row {
                    Ok(run) => all.push(run),
                    Err(_) if rows.peek().is_none() => {}
                    Err(error) => bail!("{}: {error}; it may be from another version of inrush", path.display()),
                }
            }
        }
        // The file is rewritten without the line that was cut off.
        let beside = path.with_extension("csv.new");
        let mut writer = csv::Writer::from_path(&beside).with_context(wrong)?;
        for run in &all {
            writer.serialize(run).with_context(wrong)?;
        }
        writer.flush().with_context(wrong)?;
        drop(writer);
        std::fs::rename(&beside, path).with_context(wrong)?;
        let file = OpenOptions::new().append(true).open(path).with_context(wrong)?;
        let file = csv::WriterBuilder::new().has_headers(all.is_empty()).from_writer(file);
        Ok(Runs { all, file })
    }

    pub(crate) fn all(&self) -> &[Run] {
        &self.all
    }

    pub(crate) fn has(&self, cell: &Cell, round: u32) -> bool {
        let name = cell.name();
        self.all.iter().any(|run| run.round == round && run.group == cell.group && run.cell == name)
    }

    pub(crate) fn add(&mut self, run: Run) -> Result<()> {
        self.file.serialize(&run).and_then(|()| Ok(self.file.flush()?)).context("cannot write runs.csv")?;
        self.all.push(run);
        Ok(())
    }
}

#[cfg(test)]
pub(crate) fn example(group: &str, cell: &str, round: u32, docs_per_second: f64) -> Run {
    Run {
        started: 1_800_000_000,
        round,
        group: group.to_owned(),
        cell: cell.to_owned(),
        status: "complete".to_owned(),
        docs: 1_000,
        bytes: 100_000,
        seconds: 1_000.0 / docs_per_second,
        docs_per_second,
        seconds_to_searchable: 1_000.0 / docs_per_second + 0.5,
        client_cpu_seconds: 0.25,
        server_cpu_seconds: Some(1.5),
        requests: 10,
        rejected_items: 0,
        retried_items: 0,
        segments: Some(3),
        merges: None,
        plan_batch_bytes: 1 << 20,
        plan_in_flight: 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_there_again_and_a_cut_off_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.csv");
        let cell = Cell { group: "a, \"b\"".to_owned(), batch: None, in_flight: None };
        let run = example(&cell.group, "auto", 1, 100.0);
        let mut runs = Runs::open(&path).unwrap();
        runs.add(run.clone()).unwrap();
        drop(runs);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}1800000000,2,\"a, ")).unwrap();
        let mut runs = Runs::open(&path).unwrap();
        assert_eq!(runs.all(), [run]);
        assert!(runs.has(&cell, 1) && !runs.has(&cell, 2));
        runs.add(example(&cell.group, "auto", 2, 90.0)).unwrap();
        drop(runs);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert_eq!(Runs::open(&path).unwrap().all().len(), 2);
    }

    #[test]
    fn something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.csv");
        std::fs::write(&path, "a,b\n1,2\n3,4\n").unwrap();
        let error = Runs::open(&path).err().unwrap().to_string();
        assert!(error.contains("another version"), "{error}");
    }
}

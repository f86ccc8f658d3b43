//! The record of a load with option `once`: that it began, and its report.

use std::collections::BTreeMap;
use std::path::PathBuf;

use inrush_cluster::clock;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::job::Job;
use super::state::Saved;
use crate::utc::utc;

/// Format of the record. Another number means another version of inrush, which this one does not
/// understand.
pub(super) const FORMAT: u32 = 1;

/// What all formats have.
#[derive(Deserialize)]
struct Form {
    format: u32,
}

/// The record of a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    format: u32,
    pub(super) job: Job,
    pub(super) run: String,
    /// The earlier runs that it resumes.
    #[serde(default)]
    pub(super) after: Vec<String>,
    /// Time of writing, UTC.
    pub(super) at: String,
    /// The checkpoint of the run.
    pub(super) checkpoint: PathBuf,
    /// Whether documents may have been sent.
    pub(super) sent: bool,
    /// The indices that got documents, as in a checkpoint.
    pub(super) indices: BTreeMap<String, Option<String>>,
    /// The [`Report`], in the form of the version of inrush that wrote it. `None` before the end.
    pub(super) report: Option<Value>,
}

impl Record {
    /// A record before the end. `after` is the checkpoint that the run resumes.
    pub(super) fn new(job: Job, run: &str, checkpoint: PathBuf, after: Option<&Saved>) -> Self {
        Record {
            format: FORMAT,
            job,
            run: run.to_owned(),
            after: after.map(|saved| saved.runs.clone()).unwrap_or_default(),
            at: utc(clock::date()),
            checkpoint,
            sent: after.is_some(),
            indices: after.map(|saved| saved.indices.clone()).unwrap_or_default(),
            report: None,
        }
    }

    /// Whether the checkpoint belongs to this run, to one that it resumed, or to one that resumed
    /// it.
    pub(super) fn is_of(&self, saved: &Saved) -> bool {
        saved.runs.iter().any(|run| *run == self.run || self.after.contains(run))
    }
}

/// A record that was found.
pub(super) enum Content {
    Known(Box<Record>),
    /// Another version of inrush wrote it in this format.
    Foreign(u32),
}

impl Content {
    pub(super) fn of(json: &Value) -> Result<Self, serde_json::Error> {
        match Form::deserialize(json)?.format {
            FORMAT => Ok(Content::Known(Box::new(Record::deserialize(json)?))),
            format => Ok(Content::Foreign(format)),
        }
    }

    pub(super) fn is_run(&self, run: &str) -> bool {
        matches!(self, Content::Known(record) if record.run == run)
    }
}

//! What is known of a load that is to be made once (`--once`): that it began, and how it ended. The
//! record lies in the cluster, where every machine finds it. How it ended lies beside the
//! checkpoints, too, for users who may not write such an index.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::job::Job;
use crate::cluster::{ClusterError, CreateIndex, index};
use crate::report::Report;
use crate::transport::Transport;

/// The index with one document for each load of `--once`.
pub const LOADS_INDEX: &str = "inrush-loads";

/// How long the server waits for the shard of the record; its default is a minute.
const TIMEOUT: &str = "timeout=10s";

/// So many signs of life are waited for before a run counts as dead.
const SIGNS_MISSED: u32 = 3;

/// What is written down about a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) job: Job,
    pub(super) run: String,
    /// When it was written, in UTC.
    pub(super) at: String,
    /// The checkpoint of the run.
    pub(super) checkpoint: PathBuf,
    /// Documents may have been sent.
    pub(super) sent: bool,
    /// The indices that took documents, as a checkpoint has them.
    pub(super) indices: BTreeMap<String, Option<String>>,
    /// Rises while the run lives.
    beat: u64,
    /// How it ended; none: it has not.
    pub(super) report: Option<Report>,
}

impl Record {
    pub(super) fn new(job: Job, run: &str, checkpoint: PathBuf) -> Self {
        let (at, run) = (utc(SystemTime::now()), run.to_owned());
        Record { job, run, at, checkpoint, sent: false, indices: BTreeMap::new(), beat: 0, report: None }
    }
}

/// A record that was found, and its version in the cluster.
pub(super) struct Found {
    pub(super) record: Record,
    version: Option<(u64, u64)>,
}

/// The record of one load.
#[derive(Clone)]
pub(super) struct Records {
    transport: Arc<Transport>,
    key: String,
    /// Where the end is written down as well.
    ended: PathBuf,
    sign_of_life: Duration,
    /// The cluster does not let this user keep records.
    forbidden: bool,
}

impl Records {
    pub(super) fn new(transport: Arc<Transport>, key: String, ended: PathBuf, sign_of_life: Duration) -> Self {
        Records { transport, key, ended, sign_of_life, forbidden: false }
    }

    /// What an earlier run has written down.
    pub(super) async fn find(&mut self) -> Result<Option<Found>, ClusterError> {
        match self.ask().await {
            Err(error) if error.status() == Some(403) => {
                tracing::warn!(
                    "{error}; the state folder alone knows now what this load has done: keep it, or let this user read and write {LOADS_INDEX}"
                );
                self.forbidden = true;
            }
            found => {
                if let Some(found) = found? {
                    return Ok(Some(found));
                }
            }
        }
        let text = match std::fs::read(&self.ended) {
            Ok(text) => text,
            // Nothing has ended here.
            Err(_) => return Ok(None),
        };
        let record = serde_json::from_slice(&text).map_err(|error| self.damaged(&error))?;
        Ok(Some(Found { record, version: None }))
    }

    async fn ask(&self) -> Result<Option<Found>, ClusterError> {
        let what = format!("reading the record of this load from {LOADS_INDEX}");
        let answer = self.transport.ask(Method::GET, &self.document(""), None).await?;
        let body = answer.json(&what)?;
        match answer.status() {
            200 => {}
            404 => return Ok(None),
            status => return Err(ClusterError::from_status(&what, status, &body)),
        }
        let record = body.get("_source").cloned().unwrap_or_default();
        let record = serde_json::from_value(record).map_err(|error| self.damaged(&error))?;
        let number = |key| body.get(key).and_then(Value::as_u64);
        Ok(Some(Found { record, version: number("_seq_no").zip(number("_primary_term")) }))
    }

    fn damaged(&self, error: &serde_json::Error) -> ClusterError {
        ClusterError::Reply {
            what: format!("the record {LOADS_INDEX}/{}, or {}", self.key, self.ended.display()),
            problem: format!("no record of this version of inrush, delete it to load again: {error}"),
        }
    }

    fn document(&self, query: &str) -> String {
        format!("/{LOADS_INDEX}/_doc/{}{query}", self.key)
    }

    /// Whether the run of this record, which has not ended, still lives. Takes as long as some
    /// signs of life.
    pub(super) async fn lives(&self, found: &Found) -> Result<bool, ClusterError> {
        let wait = self.sign_of_life * SIGNS_MISSED;
        tracing::warn!(
            "a run of this load began at {} and has not told its end; waiting up to {} s for a sign of life",
            found.record.at,
            wait.as_secs_f64().ceil()
        );
        for _ in 0..SIGNS_MISSED {
            tokio::time::sleep(self.sign_of_life).await;
            if self.ask().await?.is_some_and(|now| now.record.beat != found.record.beat) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes the record of a run that begins over the one that was found. False where another run
    /// was faster.
    pub(super) async fn claim(&self, record: &Record, found: Option<&Found>) -> Result<bool, ClusterError> {
        if self.forbidden {
            return self.forget().map(|()| true);
        }
        let query = match found.and_then(|found| found.version) {
            Some((seq_no, term)) => format!("?if_seq_no={seq_no}&if_primary_term={term}&{TIMEOUT}"),
            None => {
                let settings = json!({"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": true}});
                let mappings = json!({"dynamic": false});
                let how = CreateIndex { settings: Some(settings), mappings: Some(mappings), ..CreateIndex::default() };
                index::create(&self.transport, LOADS_INDEX, &how).await?;
                format!("?op_type=create&{TIMEOUT}")
            }
        };
        match self.put(record, &query).await {
            Err(error) if error.status() == Some(409) => Ok(false),
            written => {
                written?;
                self.forget().map(|()| true)
            }
        }
    }

    /// What ended before is not the end of the load that begins.
    fn forget(&self) -> Result<(), ClusterError> {
        match std::fs::remove_file(&self.ended) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ClusterError::Reply {
                what: format!("deleting {}, the end of an earlier load", self.ended.display()),
                problem: error.to_string(),
            }),
            _ => Ok(()),
        }
    }

    async fn put(&self, record: &Record, query: &str) -> Result<(), ClusterError> {
        let what = format!("writing the record of this load to {LOADS_INDEX}");
        let document = serde_json::to_value(record)
            .map_err(|error| ClusterError::Reply { what: what.clone(), problem: error.to_string() })?;
        let answer = self.transport.ask(Method::PUT, &self.document(query), Some(&document)).await?;
        match answer.status() {
            200..=299 => Ok(()),
            status => Err(ClusterError::from_status(&what, status, &answer.json(&what)?)),
        }
    }

    /// Writes down that documents are sent from now on, and shows signs of life until the load
    /// ends.
    pub(super) async fn keep(self, record: Record) -> Result<Kept, ClusterError> {
        if !self.forbidden {
            self.put(&record, &format!("?{TIMEOUT}")).await?;
        }
        let (end, mut ended) = oneshot::channel();
        let task = tokio::spawn(async move {
            let (records, mut record) = (self, record);
            if records.forbidden {
                return (records, record);
            }
            loop {
                tokio::select! {
                    _ = &mut ended => break,
                    () = tokio::time::sleep(records.sign_of_life) => record.beat += 1,
                }
                if let Err(error) = records.put(&record, &format!("?{TIMEOUT}")).await {
                    tracing::debug!("no sign of life: {error}");
                }
            }
            (records, record)
        });
        Ok(Kept { end, task })
    }
}

/// The record of a run that goes on.
pub(crate) struct Kept {
    end: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<(Records, Record)>,
}

impl Kept {
    /// Writes down how the load ended, in the cluster and beside the checkpoints.
    pub(super) async fn end(
        self,
        indices: BTreeMap<String, Option<String>>,
        report: &Report,
        write: impl FnOnce(&std::path::Path, &[u8]) -> io::Result<()>,
    ) {
        // One that has no signs to show does not listen.
        let _ = self.end.send(());
        // It ends only with the runtime.
        let Ok((records, mut record)) = self.task.await else { return };
        (record.indices, record.at, record.report) = (indices, utc(SystemTime::now()), Some(report.clone()));
        let written = match serde_json::to_vec(&record) {
            Ok(text) => write(&records.ended, &text),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::warn!("cannot write down the end of this load in {}: {error}", records.ended.display());
        }
        if !records.forbidden
            && let Err(error) = records.put(&record, "").await
        {
            tracing::warn!("{error}; the end of this load is known in the state folder only");
        }
    }
}

/// A time of the calendar, in UTC, to the second.
fn utc(time: SystemTime) -> String {
    let t = time::OffsetDateTime::from(time);
    let (date, h, m, s) = (t.date(), t.hour(), t.minute(), t.second());
    format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}Z", date.year(), u8::from(date.month()), date.day())
}

//! What is known of a load that is to be made once (`--once`): that it began, and how it ended. The
//! record lies in the cluster, where every machine finds it. How it ended lies beside the
//! checkpoints, too, for users who may not write such an index.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::api::own::OwnDocument;
use inrush_cluster::transport::Transport;
use inrush_core::settings_guard::{Precondition, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::job::Job;
use super::state::Saved;
use crate::report::Report;

/// The index with one document for each load of `--once`, and one for each index that is written to
/// now.
pub const LOADS_INDEX: &str = "inrush-loads";

/// Records of loads that ended longer ago are removed.
const KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3600);

/// Records that are looked through for old ones each time: as many as a search returns.
const LOOKED_THROUGH: u64 = 10_000;

/// So many signs of life are waited for before a run counts as dead.
const SIGNS_MISSED: u32 = 3;

/// So often the record is written where it is not what it was when it was read.
const TRIES: u32 = 5;

/// Why a load ends that was made once, and is being made elsewhere.
pub(crate) const OVERTAKEN: &str = "another run of this load has begun elsewhere, because this one showed no sign of life for too long; the other one goes on alone";

/// What is written down about a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) job: Job,
    pub(super) run: String,
    /// The runs before it, where it goes on from a checkpoint of theirs.
    #[serde(default)]
    pub(super) after: Vec<String>,
    /// When it was written, in UTC.
    pub(super) at: String,
    /// The checkpoint of the run.
    pub(super) checkpoint: PathBuf,
    /// Documents may have been sent.
    pub(super) sent: bool,
    /// The indices that took documents, as a checkpoint has them.
    pub(super) indices: BTreeMap<String, Option<String>>,
    /// How it ended, a [`Report`] of the version of inrush that wrote it; none: it has not.
    pub(super) report: Option<Value>,
}

impl Record {
    /// `after`: the checkpoint that the run goes on from.
    pub(super) fn new(job: Job, run: &str, checkpoint: PathBuf, after: Option<&Saved>) -> Self {
        Record {
            job,
            run: run.to_owned(),
            after: after.map(|saved| saved.runs.clone()).unwrap_or_default(),
            at: utc(SystemTime::now()),
            checkpoint,
            sent: after.is_some(),
            indices: after.map(|saved| saved.indices.clone()).unwrap_or_default(),
            report: None,
        }
    }

    /// Whether the checkpoint is of this run, or of one that it goes on with or that has gone on
    /// with it.
    pub(super) fn is_of(&self, saved: &Saved) -> bool {
        saved.runs.iter().any(|run| *run == self.run || self.after.contains(run))
    }
}

/// A record that was found, and its version in the cluster.
pub(super) struct Found {
    pub(super) record: Record,
    version: Option<Version>,
}

/// The record of one load.
pub(super) struct Records {
    document: OwnDocument,
    /// Where the end is written down as well.
    ended: PathBuf,
    sign_of_life: Duration,
    /// The cluster does not let this user keep records.
    forbidden: bool,
}

impl Records {
    pub(super) fn new(transport: Arc<Transport>, key: String, ended: PathBuf, sign_of_life: Duration) -> Self {
        let document = OwnDocument { transport, index: LOADS_INDEX, id: key };
        Records { document, ended, sign_of_life, forbidden: false }
    }

    /// What an earlier run has written down.
    pub(super) async fn find(&mut self) -> Result<Option<Found>, ClusterError> {
        match self.read().await {
            Err(error) if error.status() == Some(403) => self.forbid(&error),
            found => {
                if let Some(found) = found? {
                    return Ok(Some(found));
                }
            }
        }
        self.find_here()
    }

    fn forbid(&mut self, error: &ClusterError) {
        tracing::warn!(
            "{error}; the state folder alone knows now what this load has done: keep it, or let this user read and write {LOADS_INDEX}"
        );
        self.forbidden = true;
    }

    /// What is written down in the state folder.
    fn find_here(&self) -> Result<Option<Found>, ClusterError> {
        let text = match std::fs::read(&self.ended) {
            Ok(text) => text,
            // Nothing has ended here.
            Err(_) => return Ok(None),
        };
        let record = serde_json::from_slice(&text).map_err(|error| self.damaged(&error))?;
        Ok(Some(Found { record, version: None }))
    }

    async fn read(&self) -> Result<Option<Found>, ClusterError> {
        let found = self.document.read(&format!("reading the record of this load from {LOADS_INDEX}")).await?;
        let Some((record, version)) = found else { return Ok(None) };
        let record = serde_json::from_value(record).map_err(|error| self.damaged(&error))?;
        Ok(Some(Found { record, version: Some(version) }))
    }

    fn damaged(&self, error: &serde_json::Error) -> ClusterError {
        ClusterError::Reply {
            what: format!("the record {LOADS_INDEX}/{}, or {}", self.document.id, self.ended.display()),
            problem: format!("no record of this version of inrush, delete it to load again: {error}"),
        }
    }

    /// Whether the run of this record, which has not ended, still lives: whether it writes the
    /// record anew. Takes as long as some signs of life.
    pub(super) async fn lives(&mut self, found: &Found) -> Result<bool, ClusterError> {
        let wait = self.sign_of_life * SIGNS_MISSED;
        tracing::warn!(
            "a run of this load began at {} and has not told its end; waiting up to {} s for a sign of life",
            found.record.at,
            wait.as_secs_f64().ceil()
        );
        for _ in 0..SIGNS_MISSED {
            tokio::time::sleep(self.sign_of_life).await;
            if self.read().await?.is_some_and(|now| now.version != found.version) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes the record of a run that begins over the one that was found, and shows signs of life
    /// from now on.
    pub(super) async fn claim(self, record: Record, found: Option<Found>) -> Result<Claim, ClusterError> {
        let (before, version) = found.map_or((None, None), |found| (Some(found.record), found.version));
        let mut place = Place { before: before.filter(|_| version.is_some()), records: self, record, version };
        match place.write().await {
            Err(error) if error.status() == Some(403) => {
                place.records.forbid(&error);
                Ok(Claim::Forbidden(place.records.find_here()?.map(Box::new), place.keep(|| {})))
            }
            Ok(false) => Ok(Claim::Taken),
            written => {
                written?;
                if let Err(error) = place.records.remove_old().await {
                    tracing::debug!("old records stay: {error}");
                }
                Ok(Claim::Ours(place.keep(|| {})))
            }
        }
    }

    /// Removes records of loads that ended, or were last heard of, long ago; each only as it was
    /// found, so that one that begins anew meanwhile keeps its record.
    async fn remove_old(&self) -> Result<(), ClusterError> {
        let what = format!("removing old records from {LOADS_INDEX}");
        let fields = ["at", "report.status", "running"];
        let ended = json!({"size": LOOKED_THROUGH, "_source": fields, "seq_no_primary_term": true});
        let path = format!("/{LOADS_INDEX}/_search");
        let found = self.document.transport.demand(&what, Method::POST, &path, Some(&ended)).await?;
        let oldest = SystemTime::now() - KEPT_FOR;
        let oldest_s = oldest.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let oldest = utc(oldest);
        for hit in found.pointer("/hits/hits").and_then(Value::as_array).into_iter().flatten() {
            // Such times are in the order of their text.
            let at = hit.pointer("/_source/at").and_then(Value::as_str);
            let has_ended = hit.pointer("/_source/report/status").is_some_and(Value::is_string)
                && at.is_some_and(|at| at < oldest.as_str());
            let seen_s = |load: &Value| load.get("seen_s").and_then(Value::as_u64);
            let running = hit.pointer("/_source/running").and_then(Value::as_object);
            let is_silent = running
                .is_some_and(|loads| loads.values().all(|load| seen_s(load).is_some_and(|seen_s| seen_s < oldest_s)));
            let number = |key| hit.get(key).and_then(Value::as_u64);
            if let (Some(id), Some(seq_no), Some(primary_term)) =
                (hit.get("_id").and_then(Value::as_str), number("_seq_no"), number("_primary_term"))
                && (has_ended || is_silent)
            {
                let record = OwnDocument { id: id.to_owned(), ..self.document.clone() };
                record.delete(&what, Version { seq_no, primary_term }).await?;
            }
        }
        Ok(())
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

    /// Writes the record over this version, or where there is none. None: another one is there.
    async fn put(&self, record: &Record, over: Option<Version>) -> Result<Option<Version>, ClusterError> {
        let what = format!("writing the record of this load to {LOADS_INDEX}");
        let record = serde_json::to_value(record)
            .map_err(|error| ClusterError::Reply { what: what.clone(), problem: error.to_string() })?;
        self.document.write(&what, &record, over.map_or(Precondition::Absent, Precondition::Version)).await
    }

    /// Deletes the record, if it has this version.
    async fn delete(&self, over: Version) -> Result<(), ClusterError> {
        self.document.delete(&format!("deleting the record of this load from {LOADS_INDEX}"), over).await.map(|_| ())
    }
}

/// What became of a claim.
pub(super) enum Claim {
    Ours(Kept),
    /// Another run was faster.
    Taken,
    /// The cluster keeps no records of this user; what is written down in the state folder.
    Forbidden(Option<Box<Found>>, Kept),
}

/// The record of a run that goes on. No other run has changed it.
struct Place {
    records: Records,
    record: Record,
    version: Option<Version>,
    /// What it was written over.
    before: Option<Record>,
}

impl Place {
    /// Writes the record. False: another run has taken its place.
    async fn write(&mut self) -> Result<bool, ClusterError> {
        if self.records.forbidden {
            return Ok(true);
        }
        for _ in 0..TRIES {
            if let Some(written) = self.records.put(&self.record, self.version).await? {
                self.version = Some(written);
                return Ok(true);
            }
            self.version = match self.records.read().await? {
                // Somebody has deleted it.
                None => None,
                // It was carried out, and the answer was lost.
                Some(found) if found.record.run == self.record.run => found.version,
                Some(_) => return Ok(false),
            };
        }
        Err(ClusterError::Reply {
            what: format!("writing the record of this load to {LOADS_INDEX}"),
            problem: format!("it is another one after each of {TRIES} tries"),
        })
    }

    /// Shows signs of life until that is ended; where another run takes its place, tells it.
    fn keep(mut self, overtaken: impl FnOnce() + Send + 'static) -> Kept {
        let (end, mut ended) = oneshot::channel();
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = &mut ended => return self,
                    () = tokio::time::sleep(self.records.sign_of_life) => {}
                }
                match self.write().await {
                    Ok(true) => {}
                    Ok(false) => {
                        overtaken();
                        return self;
                    }
                    Err(error) => tracing::debug!("no sign of life: {error}"),
                }
            }
        });
        Kept { end, task }
    }

    /// Puts back what was there before.
    async fn withdraw(mut self) -> Result<(), ClusterError> {
        match (self.before.take(), self.version.filter(|_| !self.records.forbidden)) {
            (_, None) => Ok(()),
            (Some(before), version) => self.records.put(&before, version).await.map(|_| ()),
            (None, Some(version)) => self.records.delete(version).await,
        }
    }
}

/// The record of a run that goes on, and its signs of life.
pub(crate) struct Kept {
    end: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<Place>,
}

impl Kept {
    /// Ends the signs of life. None: the whole runtime ends.
    async fn stop(self) -> Option<Place> {
        // One that was overtaken does not listen.
        let _ = self.end.send(());
        self.task.await.ok()
    }

    /// Writes down that documents are sent from now on. None: another run has taken its place.
    /// `overtaken` is told when that happens later.
    pub(super) async fn sends(
        self,
        indices: BTreeMap<String, Option<String>>,
        overtaken: impl FnOnce() + Send + 'static,
    ) -> Result<Option<Kept>, ClusterError> {
        let Some(mut place) = self.stop().await else { return Ok(None) };
        (place.record.sent, place.record.indices) = (true, indices);
        if !place.write().await? {
            return Ok(None);
        }
        place.records.forget()?;
        Ok(Some(place.keep(overtaken)))
    }

    /// The load does not begin: the record is what it was before.
    pub(super) async fn withdraw(self) {
        let Some(place) = self.stop().await else { return };
        if let Err(error) = place.withdraw().await {
            tracing::warn!("{error}; the next start waits for a sign of life of this one");
        }
    }

    /// Writes down how the load ended, in the cluster and beside the checkpoints.
    pub(super) async fn end(
        self,
        indices: BTreeMap<String, Option<String>>,
        report: &Report,
        write: impl FnOnce(&std::path::Path, &[u8]) -> io::Result<()>,
    ) {
        let Some(mut place) = self.stop().await else { return };
        let record = &mut place.record;
        (record.indices, record.at) = (indices, utc(SystemTime::now()));
        // One that cannot be written cannot be read either, and is told then.
        record.report = Some(serde_json::to_value(report).unwrap_or_else(|_| json!({})));
        let written = match serde_json::to_vec(record) {
            Ok(text) => write(&place.records.ended, &text),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::warn!("cannot write down the end of this load in {}: {error}", place.records.ended.display());
        }
        match place.write().await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("another run of this load has begun before this one came to its end"),
            Err(error) => tracing::warn!("{error}; the end of this load is known in the state folder only"),
        }
    }
}

/// A time of the calendar, in UTC, to the second.
fn utc(time: SystemTime) -> String {
    let t = time::OffsetDateTime::from(time);
    let (date, h, m, s) = (t.date(), t.hour(), t.minute(), t.second());
    format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}Z", date.year(), u8::from(date.month()), date.day())
}

//! Where the record of a load with option `once` is kept. It is a document in the cluster, where
//! every machine finds it. The report is also beside the checkpoints, for users who may not write
//! to such an index.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::api::own::OwnDocument;
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_core::settings_guard::{Precondition, Version};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::record::{Content, Record};
use crate::report::Report;
use crate::utc::utc;

/// The index with one document for each load with option `once`, and one for each index that loads
/// write to now.
pub const LOADS_INDEX: &str = "inrush-loads";

/// Age after which the record of a finished load is removed.
const KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3600);

/// Largest number of records that are searched for old ones, as many as one search returns.
const LOOKED_THROUGH: u64 = 10_000;

/// Missed heartbeats after which a run counts as dead.
const HEARTBEATS_MISSED: u32 = 3;

/// Largest number of tries to write the record where another version is found.
const TRIES: u32 = 5;

/// Message of a load with option `once` that another run has replaced.
pub(crate) const OVERTAKEN: &str =
    "another run of this load has replaced this one, because this one missed its heartbeats; the other run continues";

/// A record with its version in the cluster.
pub(super) struct Found {
    pub(super) record: Content,
    /// As it was found, to restore it.
    json: Value,
    version: Option<Version>,
}

impl Found {
    /// Whether it is in the cluster, and not only in the state folder.
    pub(super) fn is_in_cluster(&self) -> bool {
        self.version.is_some()
    }

    /// The beginning of a message that waits for its heartbeat.
    fn unended(&self) -> String {
        match &self.record {
            Content::Known(record) => {
                format!("a run of this load began at {}, and its end is not recorded", record.at)
            }
            Content::Foreign(_) => {
                "another version of inrush wrote the record of this load, so its end is not known".to_owned()
            }
        }
    }
}

/// Access to the record of one load.
pub(super) struct Records {
    document: OwnDocument,
    /// File of the report on this machine.
    ended: PathBuf,
    heartbeat_every: Duration,
    /// The user may not keep records in the cluster.
    forbidden: bool,
}

impl Records {
    pub(super) fn new(transport: Arc<Transport>, key: String, ended: PathBuf, heartbeat_every: Duration) -> Self {
        let document = OwnDocument { transport, index: LOADS_INDEX, id: key };
        Records { document, ended, heartbeat_every, forbidden: false }
    }

    /// The record of an earlier run.
    pub(super) async fn find(&mut self) -> Result<Option<Found>, ClusterError> {
        match self.read().await {
            Err(error) if error.status() == Some(403) => self.forbid(&error),
            found => {
                if let Some(found) = found? {
                    return Ok(Some(found));
                }
            }
        }
        self.find_local()
    }

    fn forbid(&mut self, error: &ClusterError) {
        tracing::warn!(
            "{error}; the record of this load is in the state folder only: keep that folder, or let this user read and write {LOADS_INDEX}"
        );
        self.forbidden = true;
    }

    /// The record in the state folder.
    fn find_local(&self) -> Result<Option<Found>, ClusterError> {
        let text = match std::fs::read(&self.ended) {
            Ok(text) => text,
            // No load has ended with this folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(ClusterError::Reply {
                    what: format!("the record of this load, {}", self.ended.display()),
                    problem: format!("it cannot be read, so it is not known whether the load has ended: {error}"),
                });
            }
        };
        let json = serde_json::from_slice(&text).map_err(|error| self.damaged(&error))?;
        self.found(json, None).map(Some)
    }

    async fn read(&self) -> Result<Option<Found>, ClusterError> {
        let found = self.document.read(&format!("reading the record of this load from {LOADS_INDEX}")).await?;
        let Some((json, version)) = found else { return Ok(None) };
        self.found(json, Some(version)).map(Some)
    }

    fn found(&self, json: Value, version: Option<Version>) -> Result<Found, ClusterError> {
        let record = Content::of(&json).map_err(|error| self.damaged(&error))?;
        Ok(Found { record, json, version })
    }

    /// Where the record may be, for messages.
    pub(super) fn places(&self) -> String {
        format!("{LOADS_INDEX}/{} and {}", self.document.id, self.ended.display())
    }

    fn damaged(&self, error: &serde_json::Error) -> ClusterError {
        ClusterError::Reply {
            what: format!("the record of this load, {}", self.places()),
            problem: format!("it is damaged; delete it to load again: {error}"),
        }
    }

    /// Whether the run of this record is alive: it then writes its heartbeat. The record has no
    /// report, or none that is known. The check takes [`HEARTBEATS_MISSED`] intervals.
    pub(super) async fn is_alive(&mut self, found: &Found) -> Result<bool, ClusterError> {
        let wait = self.heartbeat_every * HEARTBEATS_MISSED;
        tracing::warn!("{}; waiting up to {} s for its heartbeat", found.unended(), wait.as_secs_f64().ceil());
        for _ in 0..HEARTBEATS_MISSED {
            clock::sleep(self.heartbeat_every).await;
            if self.read().await?.is_some_and(|now| now.version != found.version) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces the record that was found by the record of this run, and begins its heartbeat.
    pub(super) async fn claim(self, record: Record, found: Option<Found>) -> Result<Claim, ClusterError> {
        let (before, version) = found.map_or((None, None), |found| (Some(found.json), found.version));
        let mut owned = OwnedRecord { before: before.filter(|_| version.is_some()), records: self, record, version };
        match owned.write().await {
            Err(error) if error.status() == Some(403) => {
                owned.records.forbid(&error);
                Ok(Claim::Forbidden(owned.records.find_local()?.map(Box::new), owned.keep(|| {})))
            }
            Ok(false) => Ok(Claim::Taken),
            written => {
                written?;
                if let Err(error) = owned.records.remove_old().await {
                    tracing::debug!("cannot remove old records: {error}");
                }
                Ok(Claim::Ours(owned.keep(|| {})))
            }
        }
    }

    /// Removes records of loads that ended, or had their last heartbeat, before [`KEPT_FOR`]. Each
    /// is deleted only in the version that was found, so a load that begins meanwhile keeps its
    /// record.
    async fn remove_old(&self) -> Result<(), ClusterError> {
        let what = format!("removing old records from {LOADS_INDEX}");
        let fields = ["at", "report.status", "running"];
        let ended = json!({"size": LOOKED_THROUGH, "_source": fields, "seq_no_primary_term": true});
        let path = format!("/{LOADS_INDEX}/_search");
        // The load does not need it, so nothing waits long.
        let transport = self.document.transport.brief();
        let found = transport.demand(&what, Method::POST, &path, Some(&ended)).await?;
        let oldest = clock::date() - KEPT_FOR;
        let oldest_s = oldest.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let oldest = utc(oldest);
        for hit in found.pointer("/hits/hits").and_then(Value::as_array).into_iter().flatten() {
            // Times in this form sort as text.
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
                let record = OwnDocument { id: id.to_owned(), ..self.document.brief() };
                record.delete(&what, Version { seq_no, primary_term }).await?;
            }
        }
        Ok(())
    }

    /// Deletes the report of an earlier load.
    fn forget(&self) -> Result<(), ClusterError> {
        match std::fs::remove_file(&self.ended) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ClusterError::Reply {
                what: format!("deleting {}, the report of an earlier load", self.ended.display()),
                problem: error.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Writes the record over this version, or a new one. `None` where another version exists.
    async fn put(
        &self,
        record: &impl Serialize,
        replaced_version: Option<Version>,
    ) -> Result<Option<Version>, ClusterError> {
        let what = format!("writing the record of this load to {LOADS_INDEX}");
        let record = serde_json::to_value(record)
            .map_err(|error| ClusterError::Reply { what: what.clone(), problem: error.to_string() })?;
        self.document.write(&what, &record, replaced_version.map_or(Precondition::Absent, Precondition::Version)).await
    }

    /// Deletes the record in this version.
    async fn delete(&self, replaced_version: Version) -> Result<(), ClusterError> {
        self.document
            .delete(&format!("deleting the record of this load from {LOADS_INDEX}"), replaced_version)
            .await
            .map(|_| ())
    }
}

/// The result of a claim.
pub(super) enum Claim {
    Ours(Kept),
    /// Another run was faster.
    Taken,
    /// The user may not keep records in the cluster. The first value is the record in the state
    /// folder.
    Forbidden(Option<Box<Found>>, Kept),
}

/// The record of a running load. No other run has changed it.
struct OwnedRecord {
    records: Records,
    record: Record,
    version: Option<Version>,
    /// The record that it replaced.
    before: Option<Value>,
}

impl OwnedRecord {
    /// Writes the record. Returns false where another run has replaced it.
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
                // Another client has deleted it.
                None => None,
                // The write was executed, and its answer was lost.
                Some(found) if found.record.is_run(&self.record.run) => found.version,
                Some(_) => return Ok(false),
            };
        }
        Err(ClusterError::Reply {
            what: format!("writing the record of this load to {LOADS_INDEX}"),
            problem: format!("another process changed it before each of {TRIES} tries"),
        })
    }

    /// Writes heartbeats until [`Kept::stop`]. Calls `overtaken` where another run replaces this
    /// one.
    fn keep(mut self, overtaken: impl FnOnce() + Send + 'static) -> Kept {
        let (end, mut ended) = oneshot::channel();
        let task = tokio::spawn(async move {
            let document = self.records.document.clone();
            // The end of the load waits for a heartbeat that is being written.
            self.records.document = document.brief();
            loop {
                tokio::select! {
                    _ = &mut ended => break,
                    () = clock::sleep(self.records.heartbeat_every) => {}
                }
                match self.write().await {
                    Ok(true) => {}
                    Ok(false) => {
                        overtaken();
                        break;
                    }
                    Err(error) => tracing::debug!("the heartbeat of this load was not written: {error}"),
                }
            }
            self.records.document = document;
            self
        });
        Kept { end, task }
    }

    /// Restores the earlier record.
    async fn withdraw(mut self) -> Result<(), ClusterError> {
        self.records.document = self.records.document.brief();
        match (self.before.take(), self.version.filter(|_| !self.records.forbidden)) {
            (_, None) => Ok(()),
            (Some(before), version) => self.records.put(&before, version).await.map(|_| ()),
            (None, Some(version)) => self.records.delete(version).await,
        }
    }
}

/// The record of a running load, and its heartbeat.
pub(crate) struct Kept {
    end: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<OwnedRecord>,
}

impl Kept {
    /// Ends the heartbeat. `None` where the whole runtime ends.
    async fn stop(self) -> Option<OwnedRecord> {
        // A task that was overtaken receives nothing.
        let _ = self.end.send(());
        self.task.await.ok()
    }

    /// Records that the load sends documents from now on. `None` where another run has replaced
    /// this one. `overtaken` is called when that happens later.
    pub(super) async fn sends(
        self,
        indices: BTreeMap<String, Option<String>>,
        overtaken: impl FnOnce() + Send + 'static,
    ) -> Result<Option<Kept>, ClusterError> {
        let Some(mut owned) = self.stop().await else { return Ok(None) };
        (owned.record.sent, owned.record.indices) = (true, indices);
        if !owned.write().await? {
            return Ok(None);
        }
        owned.records.forget()?;
        Ok(Some(owned.keep(overtaken)))
    }

    /// Restores the earlier record where the load does not begin.
    pub(super) async fn withdraw(self) {
        let Some(owned) = self.stop().await else { return };
        if let Err(error) = owned.withdraw().await {
            tracing::warn!("{error}; the next start of this load waits for a heartbeat of this run");
        }
    }

    /// Records the report in the cluster and beside the checkpoints.
    pub(super) async fn end(
        self,
        indices: BTreeMap<String, Option<String>>,
        report: &Report,
        write: impl FnOnce(&std::path::Path, &[u8]) -> io::Result<()>,
    ) {
        let Some(mut owned) = self.stop().await else { return };
        let record = &mut owned.record;
        (record.indices, record.at) = (indices, utc(clock::date()));
        // A report that cannot be written cannot be read either, and the next run reports that.
        record.report = Some(serde_json::to_value(report).unwrap_or_else(|_| json!({})));
        let written = match serde_json::to_vec(record) {
            Ok(text) => write(&owned.records.ended, &text),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::warn!("cannot write the report of this load to {}: {error}", owned.records.ended.display());
        }
        match owned.write().await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("another run of this load began before this one ended"),
            Err(error) => tracing::warn!("{error}; the report of this load is in the state folder only"),
        }
    }
}

//! The claim of a load with option `once`, and the check that the loaded documents still exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_cluster::transport::Transport;

use super::index_change::IndexChange;
use super::open::{Opened, refuse};
use super::record::{Content, FORMAT, Record};
use super::records::{Claim, Found, Records};
use crate::config::LoadConfig;
use crate::error::LoadError;
use crate::report::Report;

/// Message where another run was faster.
pub(super) const BEGUN: &str =
    "another load of the same sources into the same index has just begun; start this one again after its end";

/// Message where a run is alive.
const RUNS: &str = "another load of the same sources into the same index is running, possibly on another machine; start this one again after its end";

/// The result of an earlier run that ended.
enum Ended {
    Report(Box<Report>),
    /// The load is a new one, because of this change.
    Changed(String),
    /// Another version of inrush wrote the report, and this one cannot read it for this reason.
    Unknown(String),
}

/// A record that was checked and not written yet.
pub(super) struct Claiming {
    records: Records,
    record: Record,
    /// The record that it replaces.
    found: Option<Found>,
}

/// An earlier run that this one does not resume although its documents may be indexed.
struct Abandoned {
    /// Why this run does not resume it.
    why: String,
    indices: BTreeMap<String, Option<String>>,
}

/// An earlier run, as its record describes it.
enum EarlierRun {
    /// It ended, and nothing is left to do.
    Done(Box<Report>),
    Abandoned(Abandoned),
    /// This run resumes it, or none of its documents are indexed.
    NotInTheWay,
}

impl Opened {
    /// Checks that the loaded documents still exist. With option `once` it returns the report of a
    /// run that has ended. It changes nothing.
    ///
    /// # Errors
    /// [`LoadError::State`] with the remedy, [`LoadError::Busy`] where another run of the same load
    /// is alive.
    pub(crate) async fn check(
        &mut self,
        config: &LoadConfig,
        source_has_ids: bool,
        run_id: &str,
        transport: &Arc<Transport>,
    ) -> Result<Option<Report>, LoadError> {
        let change = match &self.saved {
            Some(saved) => IndexChange::find(&saved.indices, transport).await?,
            None => IndexChange::Same,
        };
        let Some(folder) = config.state.as_ref().filter(|_| config.once) else {
            return match change.problem() {
                None => Ok(None),
                Some(problem) => Err(refuse(format!(
                    "{problem} since the load was interrupted, so its documents are lost; leave option `resume` out to load from the beginning"
                ))),
            };
        };
        let (key, ended) = (self.job.key(), self.state.ended_path());
        let mut records = Records::new(Arc::clone(transport), key, ended, folder.heartbeat_every);
        let found = records.find().await?;
        let mut abandoned = None;
        if let Some(earlier) = &found {
            match self.check_earlier(earlier, &mut records, transport).await? {
                EarlierRun::Done(report) => return Ok(Some(self.drop_checkpoint(*report))),
                EarlierRun::Abandoned(run) => abandoned = Some(run),
                EarlierRun::NotInTheWay => {}
            }
        }
        let problem = change.problem().map(|problem| format!("{problem} since the load was interrupted"));
        if let Some(why) = problem.or(self.unusable.take()) {
            let indices = self.saved.take().map(|saved| saved.indices).unwrap_or_default();
            match change {
                IndexChange::Gone(_) => {
                    tracing::warn!("{why}; this run loads from the beginning");
                }
                IndexChange::Same | IndexChange::Changed(_) => {
                    abandoned = abandoned.or(Some(Abandoned { why, indices }));
                }
            }
        }
        if let Some(Abandoned { why, .. }) = &abandoned {
            allow_reload(config, source_has_ids, why)?;
        }
        let checkpoint = std::path::absolute(self.state.path()).unwrap_or_else(|_| self.state.path().to_owned());
        let mut record = Record::new(self.job.clone(), run_id, checkpoint, self.saved.as_ref());
        if let Some(Abandoned { indices, .. }) = abandoned {
            // A later run needs these indices as well, if this run sends nothing.
            (record.sent, record.indices) = (true, indices);
        }
        self.claiming = Some(Box::new(Claiming { records, record, found }));
        Ok(None)
    }

    /// Judges the earlier run by its record and its heartbeat.
    async fn check_earlier(
        &mut self,
        earlier: &Found,
        records: &mut Records,
        transport: &Transport,
    ) -> Result<EarlierRun, LoadError> {
        let record = match &earlier.record {
            Content::Known(record) => record,
            Content::Foreign(format) => return self.check_foreign(*format, earlier, records).await,
        };
        let abandoned = |why| EarlierRun::Abandoned(Abandoned { why, indices: record.indices.clone() });
        let is_resumed = self.saved.as_ref().is_some_and(|saved| record.is_of(saved));
        let run = match self.ended(record, transport).await? {
            Some(Ended::Report(report)) => return Ok(EarlierRun::Done(report)),
            Some(Ended::Changed(why)) => {
                tracing::warn!("this load finished at {}; {why}, so it is loaded again", record.at);
                EarlierRun::NotInTheWay
            }
            Some(Ended::Unknown(why)) => abandoned(why),
            None if is_resumed => EarlierRun::NotInTheWay,
            None => {
                if records.is_alive(earlier).await? {
                    return Err(LoadError::Busy(RUNS.to_owned()));
                }
                match IndexChange::find(&record.indices, transport).await? {
                    IndexChange::Same | IndexChange::Changed(_) if record.sent => abandoned(format!(
                        "run {} of this load began at {}, and its checkpoint {} does not exist here (option `state` names its folder)",
                        record.run,
                        record.at,
                        record.checkpoint.display()
                    )),
                    IndexChange::Same | IndexChange::Changed(_) | IndexChange::Gone(_) => EarlierRun::NotInTheWay,
                }
            }
        };
        if !is_resumed && self.saved.is_some() && self.unusable.is_none() {
            self.unusable = Some(format!(
                "run {} of this load began at {}, after the checkpoint {} was written (option `resume` instead of option `once` resumes from that checkpoint)",
                record.run,
                record.at,
                self.state.path().display()
            ));
        }
        Ok(run)
    }

    /// Judges an earlier run by its heartbeat alone, because another version of inrush wrote its
    /// record. This run does not resume it.
    async fn check_foreign(
        &mut self,
        format: u32,
        earlier: &Found,
        records: &mut Records,
    ) -> Result<EarlierRun, LoadError> {
        if earlier.is_in_cluster() && records.is_alive(earlier).await? {
            return Err(LoadError::Busy(RUNS.to_owned()));
        }
        let why = format!(
            "another version of inrush wrote the record of this load (format {format}, expected format {FORMAT}), so it is not known whether the load has ended: start it with that version, or delete {}",
            records.places()
        );
        if self.saved.is_some() {
            self.unusable.get_or_insert_with(|| why.clone());
        }
        Ok(EarlierRun::Abandoned(Abandoned { why, indices: BTreeMap::new() }))
    }

    /// Claims the load with option `once`: replaces the record that was found by the record of this
    /// run. Returns the report of a run that has ended.
    ///
    /// # Errors
    /// [`LoadError::Busy`] where another run has claimed it since the check.
    pub(crate) async fn claim(&mut self, transport: &Transport) -> Result<Option<Report>, LoadError> {
        let Some(claiming) = self.claiming.take() else { return Ok(None) };
        let Claiming { records, record, found } = *claiming;
        match records.claim(record, found).await? {
            Claim::Ours(kept) => self.record = Some(kept),
            Claim::Taken => return Err(LoadError::Busy(BEGUN.to_owned())),
            Claim::Forbidden(local, kept) => {
                self.record = Some(kept);
                if let Some(Found { record: Content::Known(local), .. }) = local.as_deref()
                    && let Some(Ended::Report(report)) = self.ended(local, transport).await?
                {
                    return Ok(Some(self.drop_checkpoint(*report)));
                }
            }
        }
        Ok(None)
    }

    /// The result of a run that ended. `None` where it has not ended.
    async fn ended(&self, record: &Record, transport: &Transport) -> Result<Option<Ended>, LoadError> {
        let Some(report) = &record.report else { return Ok(None) };
        let change = IndexChange::find(&record.indices, transport).await?;
        let differences = record.job.differences(&self.job);
        let changed: Vec<String> = change.problem().map(str::to_owned).into_iter().chain(differences).collect();
        if !changed.is_empty() {
            return Ok(Some(Ended::Changed(changed.join("; "))));
        }
        Ok(Some(match serde_json::from_value::<Report>(report.clone()) {
            Ok(report) => Ended::Report(Box::new(Report { ended_before: Some(record.at.clone()), ..report })),
            Err(error) => Ended::Unknown(format!(
                "this load finished at {}, and its report cannot be read because another version of inrush wrote it ({error})",
                record.at
            )),
        }))
    }

    /// Removes the checkpoint, which is older than the report.
    fn drop_checkpoint(&self, report: Report) -> Report {
        if let Err(error) = self.state.remove() {
            tracing::warn!("cannot remove the checkpoint {}: {error}", self.state.path().display());
        }
        report
    }
}

/// Allows a load with option `once` to begin again although some of its documents may be indexed.
/// Refused where they would be stored twice.
fn allow_reload(config: &LoadConfig, source_has_ids: bool, why: &str) -> Result<(), LoadError> {
    let with_ids = config.id.is_some() || config.id_from.is_some() || source_has_ids;
    if with_ids || config.create.recreate || config.finish.swap.is_some() {
        // Of the log only: this run makes up for the earlier one.
        tracing::warn!("{why}; this run loads from the beginning");
        return Ok(());
    }
    Err(refuse(format!(
        "{why}; documents without ids that are already indexed would be stored twice: give option `recreate` or option `id`, or leave option `once` out to accept duplicates"
    )))
}

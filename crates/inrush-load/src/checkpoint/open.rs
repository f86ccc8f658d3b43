//! Before the first document: is there a checkpoint, may this load go on from it, and can others be written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::api::{ClusterError, index};
use inrush_cluster::transport::Transport;
use inrush_core::Checkpoint;
use inrush_sources::{Repeats, Source};
use tokio::sync::mpsc::UnboundedSender;

use super::job::Job;
use super::record::{Claim, Kept, Record, Records};
use super::state::{Saved, State, StateError};
use super::{Checkpointer, uuid, write};
use crate::config::LoadConfig;
use crate::cutover::Noted;
use crate::dead_letter::SyncPoint;
use crate::error::LoadError;
use crate::event::Event;
use crate::report::Report;

/// What is said where another run was faster.
const BEGUN: &str =
    "another load of the same sources into the same index has begun just now; start this one again after its end";

/// The state of a job that has not begun.
pub(crate) struct Opened {
    state: State,
    job: Job,
    /// The checkpoint to go on from.
    pub(crate) saved: Option<Saved>,
    /// Of a load that is to be made once: why it cannot go on from the checkpoint that is there.
    unusable: Option<String>,
    /// Of a load that is to be made once.
    record: Option<Kept>,
}

/// Looks for the job's checkpoint and locks it. `None` where there will be none.
///
/// # Errors
/// [`LoadError::State`] with what to do: a folder that cannot be used, nothing to resume, or
/// something that was changed since. [`LoadError::Busy`] where another process loads the same.
pub(crate) fn open(config: &LoadConfig, source: &dyn Source) -> Result<Option<Opened>, LoadError> {
    let Some(folder) = &config.state else { return Ok(None) };
    let info = source.describe();
    if info.repeats != Repeats::Always {
        if config.once {
            return Err(refuse(
                "option `once` needs sources that can be read again and told from others, and stdin, a database or a query without ORDER BY its id is none; load files, or leave option `once` out (with option `id` no document is there twice, however often it is loaded)",
            ));
        }
        if config.resume {
            return Err(refuse(match info.rows {
                None => {
                    "a source that can be read only once, such as stdin, or whose order is not its own, such as a database, has no checkpoint to resume from; load files, or load again without option `resume` (with option `id` no document is there twice)"
                }
                Some(_) => {
                    "only a query of files that ends with ORDER BY the field that holds the id (option `id`) has a checkpoint to resume from: in another order documents would be passed over that were never sent; load again without option `resume` (with option `id` no document is there twice)"
                }
            }));
        }
        return Ok(None);
    }
    let job = Job::new(config, source)?;
    if config.once && job.sources.iter().any(|source| source.index_uuid.is_some()) {
        return Err(refuse(
            "option `once` cannot tell whether an index that is read has changed since; leave it out (the documents keep their ids, so none is there twice, however often it is copied), or give option `resume` where a copy was cut off",
        ));
    }
    let path = folder.path.join("checkpoints");
    let state = match State::open(&path, &job.key()) {
        Ok(state) => state,
        Err(e @ StateError::Io { .. }) if !folder.required && !config.resume && !config.once => {
            tracing::warn!(
                "{e}; no checkpoint is kept, and this load cannot be resumed; name another with option `state`"
            );
            return Ok(None);
        }
        Err(e @ StateError::Io { .. }) => return Err(refuse(format!("{e}; name another with option `state`"))),
        Err(e @ StateError::Locked { .. }) => return Err(LoadError::Busy(e.to_string())),
    };
    let found = state.read();
    if config.once {
        let (saved, unusable) = match found {
            Ok(None) => (None, None),
            Ok(Some(saved)) => {
                let differences = saved.job.differences(&job);
                let why = || format!("this is not the load that was cut off: {}", differences.join("; "));
                let unusable = (!differences.is_empty()).then(why);
                (Some(saved), unusable)
            }
            Err(why) => (None, Some(why)),
        };
        return Ok(Some(Opened { state, job, saved, unusable, record: None }));
    }
    if !config.resume {
        match found {
            Ok(None) => {}
            Ok(Some(saved)) => {
                let index = saved.swap.map(|noted| format!("; its index {} is left as it is", noted.index()));
                let resumable = saved.job.differences(&job).is_empty();
                tracing::warn!(
                    "an earlier run of this load was cut off after {} documents; this one starts from the beginning{}{}",
                    saved.progress.counts.docs_read,
                    if resumable { ", option `resume` would go on" } else { "" },
                    index.unwrap_or_default()
                );
            }
            Err(why) => tracing::warn!("{why}; it is replaced"),
        }
        return Ok(Some(Opened { state, job, saved: None, unusable: None, record: None }));
    }
    let Some(saved) = found.map_err(|why| refuse(format!("{why}; load again without option `resume`")))? else {
        let others = match state.others() {
            others if others.is_empty() => String::new(),
            others => format!(". What can be resumed: {}", others.join("; ")),
        };
        return Err(refuse(format!(
            "there is no checkpoint of this load in {}: it never began, came to its end, or had another index, cluster, action, id or other sources; leave option `resume` out to load from the beginning{others}",
            path.display()
        )));
    };
    let differences = saved.job.differences(&job);
    if !differences.is_empty() {
        return Err(refuse(format!(
            "this is not the load that was cut off: {}; restore that, or leave option `resume` out to load from the beginning",
            differences.join("; ")
        )));
    }
    Ok(Some(Opened { state, job, saved: Some(saved), unusable: None, record: None }))
}

fn refuse(why: impl Into<String>) -> LoadError {
    LoadError::State(why.into())
}

/// A load that is to be made once begins again, although documents of it may be in. Refused where
/// they would be there twice.
fn begin_anew(config: &LoadConfig, source_has_ids: bool, why: &str) -> Result<(), LoadError> {
    let with_ids = config.id.is_some() || config.id_from.is_some() || source_has_ids;
    if with_ids || config.create.recreate || config.finish.swap.is_some() {
        tracing::warn!("{why}; it is loaded from the beginning");
        return Ok(());
    }
    Err(refuse(format!(
        "{why}; documents without ids that are in already would be there twice: give option `recreate` or ids, or leave option `once` out to load them all the same"
    )))
}

/// What became of the indices that took documents.
enum Since {
    /// As far as can be seen they are what they were.
    Same,
    /// None of them exists any more, and why that is known.
    Gone(String),
    /// One is another now, or gone while others are there: documents may be in.
    Changed(String),
}

impl Since {
    async fn look(indices: &BTreeMap<String, Option<String>>, transport: &Transport) -> Result<Since, ClusterError> {
        let (mut gone, mut why) = (0, None);
        for (name, before) in indices {
            let Some(before) = before else { continue };
            let problem = match index::uuids(transport, name).await {
                // What may not be looked at any more may still be written to.
                Err(e) if e.status() == Some(403) => continue,
                found => match found?.get(name) {
                    Some(now) if now == before => continue,
                    Some(_) => "was deleted and made anew",
                    None => {
                        gone += 1;
                        "does not exist any more"
                    }
                },
            };
            why.get_or_insert_with(|| format!("the index {name} {problem}"));
        }
        Ok(match why {
            None => Since::Same,
            Some(why) if gone == indices.len() => Since::Gone(why),
            Some(why) => Since::Changed(why),
        })
    }

    /// What changed, in words.
    fn problem(&self) -> Option<&str> {
        match self {
            Since::Same => None,
            Since::Gone(why) | Since::Changed(why) => Some(why),
        }
    }
}

/// The report of a run that came to its end, if there is nothing to do since.
enum Ended {
    Report(Box<Report>),
    /// It is a new load, and what changed.
    Changed(String),
    /// Another version of inrush wrote the report, and why it cannot be read.
    Unknown(String),
}

/// What is known when a run begins.
pub(crate) struct Beginning<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) started: Instant,
    /// Documents that the fixed index held.
    pub(crate) before: Option<u64>,
    /// The index that takes documents, where it is known.
    pub(crate) index: Option<&'a str>,
    /// What it is like.
    pub(crate) sizes_before: BTreeMap<String, IndexStats>,
    pub(crate) letters: SyncPoint,
    pub(crate) swap: Option<Noted>,
}

impl Opened {
    /// Whether what was loaded is still there, and of a load that is to be made once, whether there
    /// is anything left to do: the report of the run that ended.
    ///
    /// # Errors
    /// [`LoadError::State`] with what to do, [`LoadError::Busy`] where another run of the same load
    /// lives.
    pub(crate) async fn stand(
        &mut self,
        config: &LoadConfig,
        source_has_ids: bool,
        run_id: &str,
        transport: &Arc<Transport>,
    ) -> Result<Option<Report>, LoadError> {
        let since = match &self.saved {
            Some(saved) => Since::look(&saved.indices, transport).await?,
            None => Since::Same,
        };
        let Some(folder) = config.state.as_ref().filter(|_| config.once) else {
            return match since.problem() {
                None => Ok(None),
                Some(problem) => Err(refuse(format!(
                    "{problem} since the load was cut off, so what was loaded is gone; leave option `resume` out to load from the beginning"
                ))),
            };
        };
        let (key, ended) = (self.job.key(), self.state.ended_path());
        let mut records = Records::new(Arc::clone(transport), key, ended, folder.sign_of_life);
        let found = records.find().await?;
        // What a run has left in the indices that this one does not go on with, and why.
        let mut left = None;
        if let Some(earlier) = &found {
            let then = &earlier.record;
            let goes_on = self.saved.as_ref().filter(|saved| then.is_of(saved)).is_some();
            match self.ended(then, transport).await? {
                Some(Ended::Report(report)) => return Ok(Some(self.over(*report))),
                Some(Ended::Changed(why)) => {
                    tracing::warn!("this load came to its end at {}; {why}: it is a new load", then.at);
                }
                Some(Ended::Unknown(why)) => left = Some((why, then.indices.clone())),
                None if goes_on => {}
                None => {
                    if records.lives(earlier).await? {
                        let why = "another load of the same sources into the same index is running, maybe on another machine; start this one again after its end";
                        return Err(LoadError::Busy(why.to_owned()));
                    }
                    let gone = matches!(Since::look(&then.indices, transport).await?, Since::Gone(_));
                    if then.sent && !gone {
                        let why = format!(
                            "run {} of this load began at {}, and its checkpoint {} is not here (option `state` names its folder)",
                            then.run,
                            then.at,
                            then.checkpoint.display()
                        );
                        left = Some((why, then.indices.clone()));
                    }
                }
            }
            if !goes_on && self.saved.is_some() && self.unusable.is_none() {
                self.unusable = Some(format!(
                    "run {} of this load began at {}, after the checkpoint {} was written (option `resume` in the place of option `once` goes on from that)",
                    then.run,
                    then.at,
                    self.state.path().display()
                ));
            }
        }
        let problem = since.problem().map(|problem| format!("{problem} since the load was cut off"));
        if let Some(why) = problem.or(self.unusable.take()) {
            let indices = self.saved.take().map(|saved| saved.indices).unwrap_or_default();
            match since {
                Since::Gone(_) => tracing::warn!("{why}; it is loaded from the beginning"),
                Since::Same | Since::Changed(_) => left = left.or(Some((why, indices))),
            }
        }
        if let Some((why, _)) = &left {
            begin_anew(config, source_has_ids, why)?;
        }
        let checkpoint = std::path::absolute(self.state.path()).unwrap_or_else(|_| self.state.path().to_owned());
        let mut record = Record::new(self.job.clone(), run_id, checkpoint, self.saved.as_ref());
        if let Some((_, indices)) = left {
            // Whoever comes after this run, if it sends nothing, has to know of them, too.
            (record.sent, record.indices) = (true, indices);
        }
        match records.claim(record, found).await? {
            Claim::Ours(kept) => self.record = Some(kept),
            Claim::Taken => return Err(LoadError::Busy(BEGUN.to_owned())),
            Claim::Forbidden(here, kept) => {
                self.record = Some(kept);
                if let Some(here) = here
                    && let Some(Ended::Report(report)) = self.ended(&here.record, transport).await?
                {
                    return Ok(Some(self.over(*report)));
                }
            }
        }
        Ok(None)
    }

    /// What there is to do after a run that came to its end; `None` if it did not.
    async fn ended(&self, then: &Record, transport: &Transport) -> Result<Option<Ended>, LoadError> {
        let Some(report) = &then.report else { return Ok(None) };
        let since = Since::look(&then.indices, transport).await?;
        let differences = then.job.differences(&self.job);
        let changed: Vec<String> = since.problem().map(str::to_owned).into_iter().chain(differences).collect();
        if !changed.is_empty() {
            return Ok(Some(Ended::Changed(changed.join("; "))));
        }
        Ok(Some(match serde_json::from_value::<Report>(report.clone()) {
            Ok(report) => Ended::Report(Box::new(Report { ended_before: Some(then.at.clone()), ..report })),
            Err(error) => Ended::Unknown(format!(
                "this load came to its end at {}, and another version of inrush wrote its report, which cannot be read ({error})",
                then.at
            )),
        }))
    }

    /// There is nothing to do. A checkpoint is from before that.
    fn over(&self, report: Report) -> Report {
        if let Err(error) = self.state.remove() {
            tracing::warn!("cannot remove the checkpoint {}: {error}", self.state.path().display());
        }
        report
    }

    /// The load does not begin: other starts find what this one has found.
    pub(crate) async fn withdraw(self) {
        if let Some(record) = self.record {
            record.withdraw().await;
        }
    }

    /// Writes the first checkpoint, which replaces one that is not gone on from. `None` where that is not possible and not required.
    pub(crate) async fn begin(
        mut self,
        config: &LoadConfig,
        transport: Arc<Transport>,
        events: UnboundedSender<Event>,
        beginning: Beginning<'_>,
    ) -> Result<Option<Checkpointer>, LoadError> {
        let (record, started) = (self.record.take(), beginning.started);
        let written = self.write_first(config, &transport, beginning).await;
        let kept = match (record, &written) {
            (Some(record), Ok(Some((_, saved)))) => {
                let events = events.clone();
                let overtaken = move || drop(events.send(Event::Overtaken));
                let Some(kept) = record.sends(saved.indices.clone(), overtaken).await? else {
                    return Err(LoadError::Busy(BEGUN.to_owned()));
                };
                Some(kept)
            }
            (Some(record), _) => {
                record.withdraw().await;
                None
            }
            (None, _) => None,
        };
        Ok(written?.map(|(state, saved)| Checkpointer::new(state, transport, events, saved, config, started, kept)))
    }

    async fn write_first(
        self,
        config: &LoadConfig,
        transport: &Transport,
        beginning: Beginning<'_>,
    ) -> Result<Option<(Arc<State>, Saved)>, LoadError> {
        let Opened { state, job, saved, .. } = self;
        let Beginning { run_id, before, index, sizes_before, letters, swap, .. } = beginning;
        let mut saved = saved.unwrap_or_else(|| Saved {
            job: job.clone(),
            runs: Vec::new(),
            seconds: 0.0,
            before,
            before_each: BTreeMap::new(),
            sizes_before,
            indices: BTreeMap::new(),
            dead_letters: letters.saved.clone(),
            swap,
            progress: Checkpoint::default(),
        });
        saved.job = job;
        saved.runs.push(run_id.to_owned());
        saved.dead_letters = letters.saved;
        if let Some(index) = index
            && !saved.indices.contains_key(index)
        {
            if !saved.indices.is_empty() {
                let before: Vec<&str> = saved.indices.keys().map(String::as_str).collect();
                tracing::warn!(
                    "documents go to {index} now; those of the run that was cut off went to {}",
                    before.join(", ")
                );
            }
            saved.indices.insert(index.to_owned(), uuid(transport, index).await?);
        }
        let state = Arc::new(state);
        if let Err(e) = write(Arc::clone(&state), saved.clone(), None).await {
            let why = format!("cannot write the checkpoint {}: {e}", state.path().display());
            if config.state.as_ref().is_some_and(|folder| folder.required) || config.resume || config.once {
                return Err(refuse(format!("{why}; make room, or name another folder with option `state`")));
            }
            tracing::warn!("{why}; this load cannot be resumed");
            return Ok(None);
        }
        Ok(Some((state, saved)))
    }
}

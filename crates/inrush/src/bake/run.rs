//! The order of the steps, and what happens where one fails.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{mpsc, watch};

use super::OpenSource;
use super::builder::Builder;
use super::config::{BakeConfig, BakeError};
use super::prepare::{Prepared, prepare};
use super::report::{BakeReport, BakeStep, BakeStepName as Step};
use super::state::{Keep, Saved};
use super::undo;
use crate::checkpoint::Job;
use crate::cluster::aliases;
use crate::config::FinishConfig;
use crate::error::LoadError;
use crate::finish::{self, Finishing, Swapping};
use crate::loader::{http_options, run_id};
use crate::node;
use crate::progress::{Phase, Progress};
use crate::report::{Report, Status};
use crate::run::Event;
use crate::source::Repeats;
use crate::transport::Transport;

/// A bake under way.
pub(super) struct Bake {
    pub(super) config: BakeConfig,
    pub(super) open: OpenSource,
    pub(super) target: Arc<Transport>,
    pub(super) keep: Keep,
    pub(super) saved: Saved,
    /// Versions of the builder to try.
    pub(super) versions: Vec<String>,
    pub(super) builder: Option<Builder>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) stop: watch::Receiver<bool>,
    warnings: Vec<String>,
    started: Instant,
}

/// Bakes to the end.
pub(super) async fn bake(
    mut config: BakeConfig,
    open: OpenSource,
    progress: watch::Sender<Progress>,
    mut stop: watch::Receiver<bool>,
) -> Result<Report, BakeError> {
    let started = Instant::now();
    let phases = progress.clone();
    let transport = Transport::new(&config.load.to, config.load.credentials.clone(), &http_options(&config.load));
    let target = Arc::new(transport.map_err(LoadError::Setup)?);
    let source = open()?;
    let bytes = source.bytes_total();
    if source.repeats() != Repeats::Always {
        let why = "a bake may have to read its sources again, and one of these can be read only once, such as stdin; write it to a file first";
        return Err(LoadError::Usage(why.to_owned()).into());
    }
    let (keep, job, earlier) = Keep::open(&config.load, source.as_ref())?;
    drop(source);
    let beginning = begin(&target, &mut config, &keep, job, earlier, bytes);
    let Beginning { saved, swapping, versions, warnings } = tokio::select! {
        beginning = beginning => beginning?,
        () = is_stopped(&mut stop) => return Err(BakeError::Interrupted),
    };
    let waiting = FinishConfig { force_merge: None, ..config.load.finish.clone() };
    let finishing = Finishing::new(Arc::clone(&target), progress.clone(), waiting, swapping);
    let bake = Bake { config, open, target, keep, saved, versions, builder: None, progress, stop, warnings, started };
    let ended = bake.run(finishing).await;
    phases.send_modify(|progress| progress.phase = Phase::Done);
    ended
}

/// What is known before the first step.
struct Beginning {
    saved: Saved,
    swapping: Option<Swapping>,
    versions: Vec<String>,
    warnings: Vec<String>,
}

/// A bake from the beginning, or the one that was cut off.
async fn begin(
    target: &Transport,
    config: &mut BakeConfig,
    keep: &Keep,
    job: Job,
    earlier: Option<Saved>,
    bytes: Option<u64>,
) -> Result<Beginning, BakeError> {
    let refuse = |why: String| Err(BakeError::Load(LoadError::State(why)));
    if config.load.resume {
        let Some(mut saved) = earlier else {
            return refuse(format!(
                "there is no bake of this index from these sources in {}: it never began, came to its end, or had another index, target, action, id or other sources; leave --resume out",
                keep.path().display()
            ));
        };
        let differences = saved.job.differences(&job);
        if !differences.is_empty() {
            return refuse(format!(
                "this is not the bake that was cut off: {}; restore that, or leave --resume out to bake from the beginning",
                differences.join("; ")
            ));
        }
        let swapping = finish::begin(target, &mut config.load, saved.swap.clone()).await?;
        saved.published |= swapping.as_ref().is_some_and(|swapping| swapping.is_done);
        let versions = vec![saved.builder.version.clone()];
        return Ok(Beginning { saved, swapping, versions, warnings: Vec::new() });
    }
    if let Some(mut saved) = earlier {
        tracing::warn!(
            "an earlier run of this bake was cut off; what it has left is taken away, --resume would have gone on"
        );
        saved.published |= is_published(target, config, &saved).await?;
        let left = undo::undo(target, &mut saved).await;
        if !left.is_empty() {
            keep.write(&saved).map_err(BakeError::Refused)?;
            return refuse(format!("what an earlier run has left cannot be taken away: {}", left.join("; ")));
        }
        clear(keep, &saved).await.map_err(BakeError::Refused)?;
    }
    let Prepared { saved, swapping, versions, warnings } = prepare(target, config, job, bytes).await?;
    keep.write(&saved).map_err(BakeError::Refused)?;
    Ok(Beginning { saved, swapping, versions, warnings })
}

/// Whether the alias stands for the index already.
async fn is_published(target: &Transport, config: &BakeConfig, saved: &Saved) -> Result<bool, BakeError> {
    let Some(swap) = &config.load.finish.swap else { return Ok(false) };
    Ok(aliases::behind(target, &swap.alias).await?.contains_key(&saved.index))
}

/// Takes away what is on this machine: the builder, the snapshot, and at last what is written down.
async fn clear(keep: &Keep, saved: &Saved) -> Result<(), String> {
    node::remove(&saved.builder.name).await.map_err(|error| format!("the builder: {error}"))?;
    saved.shared.remove()?;
    keep.remove(&saved.id)
}

impl Bake {
    async fn run(mut self, mut finishing: Finishing) -> Result<Report, BakeError> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let mut stop = self.stop.clone();
        tokio::spawn(async move {
            is_stopped(&mut stop).await;
            // Whoever has ended needs no stop.
            let _ = sender.send(Event::Stop);
        });
        let ended = match finishing.block_old(&self.config.load.guard, &run_id()).await {
            Ok(()) => self.steps(&mut finishing, &mut events).await,
            Err(why) => Err(BakeError::Refused(why)),
        };
        match ended {
            Ok(handed_over) => Ok(self.end(handed_over, finishing).await),
            Err(error) => self.fail(error, finishing, events).await,
        }
    }

    /// Everything up to the published index.
    async fn steps(
        &mut self,
        finishing: &mut Finishing,
        events: &mut mpsc::UnboundedReceiver<Event>,
    ) -> Result<HandedOver, BakeError> {
        if !self.saved.snapshot && !self.saved.published {
            self.build().await?;
        }
        if !self.saved.published {
            let begun = self.begin(Step::Restore);
            let restored = until(self.stop.clone(), self.restore()).await;
            self.done(Step::Restore, begun, restored)?;
        }
        let begun = self.begin(Step::Verify);
        let verified = until(self.stop.clone(), self.verify(finishing)).await;
        let (detail, verified) = match verified {
            // Others may write to it by now.
            Err(BakeError::Refused(why)) if self.saved.published => (why, self.loaded()?.verified),
            verified => verified?,
        };
        self.done(Step::Verify, begun, Ok(detail))?;
        let begun = self.begin(Step::Publish);
        let report = self.loaded()?;
        let why = match report.status {
            Status::Complete => String::new(),
            _ => format!("{} documents are not in", report.counts.docs_not_in()),
        };
        let status = finishing.run(std::slice::from_ref(&self.saved.index), report.status, why, events).await;
        if matches!(status, Status::CheckFailed | Status::Interrupted | Status::Failed) && !finishing.was_published() {
            return match status {
                Status::Interrupted => Err(BakeError::Interrupted),
                _ => Err(BakeError::Refused(finishing.failure().unwrap_or_else(|| "the end failed".to_owned()))),
            };
        }
        // From here on nothing is taken away again.
        self.saved.published = true;
        self.write()?;
        let aliases = self.give_aliases().await;
        let detail = aliases.as_ref().map(|n| format!("{} with {n} aliases of templates", self.saved.index));
        let detail = detail.unwrap_or_else(|error| error.to_string());
        self.done(Step::Publish, begun, Ok(detail))?;
        let report = Report { status, verified, ..report };
        Ok(HandedOver { report, aliases: aliases.err().map(|error| error.to_string()) })
    }

    /// The builder's part.
    async fn build(&mut self) -> Result<(), BakeError> {
        let begun = self.begin(Step::Builder);
        let started = until(self.stop.clone(), self.start_builder()).await;
        self.done(Step::Builder, begun, started)?;
        let begun = self.begin(Step::Repository);
        let shared = until(self.stop.clone(), self.share()).await;
        self.done(Step::Repository, begun, shared)?;
        let begun = self.begin(Step::Create);
        let made = until(self.stop.clone(), self.make_index()).await;
        self.done(Step::Create, begun, made)?;
        if self.saved.loaded.is_none() {
            let begun = self.begin(Step::Load);
            let report = self.load().await?;
            if !matches!(report.status, Status::Complete | Status::Incomplete) {
                return Err(not_loaded(report));
            }
            let (builder, index) = (self.builder()?, self.saved.index.clone());
            let docs = crate::cluster::stats::count_now(&builder, &index).await?;
            let detail = format!("{} read, {docs} in the index", report.counts.docs_read);
            self.saved.loaded = Some((Box::new(report), docs));
            self.done(Step::Load, begun, Ok(detail))?;
        }
        let begun = self.begin(Step::Snapshot);
        let taken = until(self.stop.clone(), self.snapshot()).await;
        self.done(Step::Snapshot, begun, taken)
    }

    /// Takes everything away that was there for the bake only, and says how it went.
    async fn end(mut self, handed_over: HandedOver, finishing: Finishing) -> Report {
        let begun = self.begin(Step::CleanUp);
        let mut left = undo::tidy(&self.target, &mut self.saved).await;
        left.extend(handed_over.aliases.map(|why| format!("the aliases of templates: {why}")));
        // It has the repository that only it can delete from.
        if self.saved.shared.folder.is_none()
            && let Err(error) = self.delete_snapshot().await
        {
            left.push(format!("the snapshot in the repository: {error}"));
        }
        let seconds = begun.elapsed().as_secs_f64();
        let cleared = match left.is_empty() {
            true => clear(&self.keep, &self.saved).await,
            false => self.keep.write(&self.saved),
        };
        left.extend(cleared.err());
        self.saved.steps.push(BakeStep { step: Step::CleanUp, seconds, detail: "taken away".to_owned() });
        let mut report = handed_over.report;
        if report.status == Status::Complete && !left.is_empty() {
            report.status = Status::CheckFailed;
        }
        self.report(report, finishing, left)
    }

    /// Leaves the target as it was.
    async fn fail(
        mut self,
        error: BakeError,
        mut finishing: Finishing,
        mut events: mpsc::UnboundedReceiver<Event>,
    ) -> Result<Report, BakeError> {
        self.show("leaving the target as it was");
        let (error, report) = match error {
            BakeError::NotLoaded(report) => (None, Some(*report)),
            error => (Some(error), self.saved.loaded.as_ref().map(|(report, _)| report.as_ref().clone())),
        };
        let status = match (&error, &report) {
            (Some(BakeError::Interrupted), _) => Status::Interrupted,
            (None, Some(report)) => report.status,
            _ => Status::Failed,
        };
        let why = error.as_ref().map_or_else(|| "the load did not come to its end".to_owned(), ToString::to_string);
        finishing.run(&[], Status::Failed, why.clone(), &mut events).await;
        let left = undo::undo(&self.target, &mut self.saved).await;
        // What cannot be written down now was written down before: more is undone by the next run than there is.
        let written = self.keep.write(&self.saved);
        let Some(report) = report else {
            // Nothing was loaded, so there is nothing to go on with.
            return Err(match (left.is_empty(), error) {
                (true, Some(error)) => {
                    clear(&self.keep, &self.saved).await.map_err(BakeError::Refused)?;
                    error
                }
                (_, error) => BakeError::Refused(format!(
                    "{}; and on the target is left: {}; the same command with --resume goes on",
                    error.map(|error| error.to_string()).unwrap_or_default(),
                    left.join("; ")
                )),
            });
        };
        // Its data stay, for --resume.
        let stopped = node::stop(&self.saved.builder.name, false).await;
        let mut left = left;
        left.extend(written.err());
        left.extend(stopped.err().map(|error| format!("the builder {}: {error}", self.saved.builder.name)));
        let failure = report.failure.clone().or_else(|| error.map(|error| error.to_string()));
        let checkpoint = Some(self.keep.path());
        Ok(self.report(Report { status, failure, checkpoint, ..report }, finishing, left))
    }

    fn report(self, report: Report, finishing: Finishing, left: Vec<String>) -> Report {
        let published = self.saved.published;
        let mut warnings = self.warnings;
        warnings.extend(report.warnings.iter().cloned());
        warnings.extend(finishing.warnings());
        warnings.extend(left.iter().cloned());
        let (mut finish, mut swap) = finishing.reports(report.status, !published);
        finish.steps.splice(0..0, report.finish.steps.iter().cloned());
        if let Some(swap) = swap.as_mut().filter(|_| !published) {
            swap.detail = "the index was not handed over, and the alias is as it was".to_owned();
            swap.what_next = Some("the same command with --resume goes on".to_owned());
        }
        let bake = BakeReport {
            index: self.saved.index,
            builder: self.saved.builder.title(),
            steps: self.saved.steps,
            handed_over: published,
            left,
        };
        Report { seconds: self.started.elapsed().as_secs_f64(), finish, swap, bake: Some(bake), warnings, ..report }
    }

    async fn delete_snapshot(&mut self) -> Result<(), BakeError> {
        if self.builder.is_none() {
            self.start_builder().await?;
        }
        let repository = self.saved.repository();
        self.ask(|builder| {
            let repository = repository.clone();
            async move { crate::cluster::snapshots::delete(&builder, &repository, super::build::SNAPSHOT).await }
        })
        .await
        .map(drop)
    }

    /// How the load has ended.
    fn loaded(&self) -> Result<Report, BakeError> {
        let loaded = self.saved.loaded.as_ref().map(|(report, _)| report.as_ref().clone());
        loaded.ok_or_else(|| BakeError::Refused("the index was not loaded".to_owned()))
    }

    fn begin(&self, step: Step) -> Instant {
        self.show(step.name());
        Instant::now()
    }

    /// Notes a step that is done, and passes on why one is not.
    fn done(&mut self, step: Step, begun: Instant, result: Result<String, BakeError>) -> Result<(), BakeError> {
        let detail = result?;
        let seconds = begun.elapsed().as_secs_f64();
        tracing::info!("{}: {detail}", step.name());
        self.saved.steps.push(BakeStep { step, seconds, detail });
        self.write()
    }

    /// Writes down what is about to be done, or was done.
    pub(super) fn write(&self) -> Result<(), BakeError> {
        self.keep.write(&self.saved).map_err(BakeError::Refused)
    }

    /// For whoever watches.
    pub(super) fn show(&self, what: &str) {
        self.progress.send_modify(|progress| progress.phase = Phase::Baking(what.to_owned()));
    }
}

/// An index that the target has.
struct HandedOver {
    /// Of the load, with what was found on the target.
    report: Report,
    /// Why it did not get the aliases of templates.
    aliases: Option<String>,
}

fn not_loaded(report: Report) -> BakeError {
    BakeError::NotLoaded(Box::new(report))
}

/// Does something that may be broken off at any point.
async fn until<T>(
    mut stop: watch::Receiver<bool>,
    work: impl Future<Output = Result<T, BakeError>>,
) -> Result<T, BakeError> {
    tokio::select! {
        done = work => done,
        () = is_stopped(&mut stop) => Err(BakeError::Interrupted),
    }
}

/// Waits for somebody to stop it; for ever if nobody can.
pub(super) async fn is_stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

//! The order of the steps, and the handling of a failed step.

use std::sync::Arc;
use std::time::Instant;

use inrush_cluster::api::{aliases, connect, data_streams};
use inrush_cluster::run_id::run_id;
use inrush_cluster::transport::Transport;
use inrush_load::LoadError;
use inrush_load::checkpoint::Job;
use inrush_load::config::FinishConfig;
use inrush_load::cutover::{self, Finishing, Swapping};
use inrush_load::loader::{begin_reading, check_files, http_options, not_in};
use inrush_load::{Phase, Progress, Report, ShowPhase, Status, StopSignal, VerifiedState};
use inrush_sources::{Repeats, SourceInfo};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Documents;
use super::assemble::assemble;
use super::build::PartRun;
use super::config::{BakeConfig, BakeError, Engine, with_server};
use super::context::Context;
use super::end::{clear, is_begun};
use super::estimate::OPTION;
use super::hand_over::Target;
use super::merge::merge;
use super::native;
use super::prepare::{Prepared, prepare};
use super::report::{BakeReport, BakeStepName as Step};
use super::state::{Keep, Saved};
use super::undo::{self, Patience};

/// Why some sources cannot be baked.
pub(super) const READ_ONCE: &str = "a bake may have to read its sources again, and one of these can be read only once, such as stdin; write it to a file first";

/// Bakes to the end. If the options leave the choice, what turns out later that only a server can
/// build begins again with one.
pub(super) async fn bake(
    config: BakeConfig,
    documents: Documents,
    progress: watch::Sender<Progress>,
    stop: watch::Receiver<bool>,
) -> Result<BakeReport, BakeError> {
    let may_repeat = config.engine == Engine::Auto && documents.builders.is_none();
    let again = may_repeat.then(|| (config.clone(), documents.clone()));
    let mut ended = bake_once(config, documents, None, progress.clone(), stop.clone()).await;
    let why = ended.as_ref().err().and_then(BakeError::needs_server).map(str::to_owned);
    if let (Some(why), Some((mut config, documents))) = (why, again) {
        (config.engine, config.load.resume) = (Engine::Server, false);
        progress.send_replace(Progress::default());
        ended = bake_once(config, documents, Some(why), progress.clone(), stop).await;
    }
    progress.send_modify(|progress| progress.phase = Phase::Done);
    ended
}

/// `because`: why a server builds it, if an earlier try has shown that.
async fn bake_once(
    mut config: BakeConfig,
    documents: Documents,
    because: Option<String>,
    progress: watch::Sender<Progress>,
    mut stop: watch::Receiver<bool>,
) -> Result<BakeReport, BakeError> {
    let started = Instant::now();
    let load = &config.load;
    let target = connect(&load.to, load.credentials.clone(), &http_options(load)).await?;
    let source = (documents.open)()?;
    let info = source.describe();
    // A builder would be started first.
    load.check_source(&info).map_err(LoadError::usage)?;
    let SourceInfo { bytes_total: bytes, repeats, rows, .. } = info;
    let is_read_here = documents.builders.is_none();
    if repeats != Repeats::Always {
        return Err(LoadError::usage(READ_ONCE.to_owned()).into());
    }
    let (keep, job, earlier) = Keep::open(&config.load, source.as_ref())?;
    // The bake reads it again. A query could take long until its first row.
    match !config.load.resume && is_read_here && rows.is_none() {
        true => drop(begin_reading(source, &config.load).await?),
        false => drop(source),
    }
    let beginning = begin(&target, &mut config, &keep, (job, earlier), (bytes, is_read_here), because);
    let Beginning { saved, swapping, versions, mut warnings } = tokio::select! {
        beginning = beginning => beginning?,
        () = stop.stopped() => return Err(BakeError::Interrupted),
    };
    if documents.builders.is_some() && saved.native.is_none() {
        keep.remove(&saved.id).map_err(BakeError::Refused)?;
        return Err(BakeError::NotNative(saved.server_because.unwrap_or_default()));
    }
    if let Some(why) = &saved.server_because {
        let note = with_server(why);
        tracing::warn!("{note}");
        warnings.insert(0, note);
    }
    let waiting = FinishConfig { force_merge: None, ..config.load.finish.clone() };
    let shown = progress.clone();
    let show: ShowPhase = Arc::new(move |phase| shown.send_modify(|progress| progress.phase = phase));
    let finishing = Finishing::new(Arc::clone(&target), show, waiting, swapping);
    let context = Arc::new(Context::new(config, documents, target, keep, saved, versions, (progress, stop)));
    let bake = Bake { target: Target::new(Arc::clone(&context)), context, warnings, started };
    bake.run(finishing).await
}

/// The state before the first step.
struct Beginning {
    saved: Saved,
    swapping: Option<Swapping>,
    versions: Vec<String>,
    warnings: Vec<String>,
}

/// Prepares a new bake, or the one that was cut off.
async fn begin(
    target: &Transport,
    config: &mut BakeConfig,
    keep: &Keep,
    (job, earlier): (Job, Option<Saved>),
    (bytes, is_read_here): (Option<u64>, bool),
    because: Option<String>,
) -> Result<Beginning, BakeError> {
    if config.load.resume {
        return resumed(target, config, keep, &job, earlier).await;
    }
    let refuse = |why: String| Err(BakeError::Load(LoadError::State(why)));
    if let Some(mut saved) = earlier {
        let what = match saved.job.has(OPTION) {
            true => "an estimate of this bake was cut off; its index and files are deleted",
            false if config.no_resume => "an earlier run of this bake was cut off; its index and files are deleted",
            false => {
                "an earlier run of this bake was cut off; its index and files are deleted; with option `resume` it would have continued"
            }
        };
        tracing::warn!("{what}");
        saved.published |= is_published(target, config, &saved).await?;
        saved.in_doubt = false;
        // A stop drops this as a whole.
        let patience = Patience::new(watch::channel(false).1, config.load.limits.grace);
        let left = undo::undo(target, &mut saved, &patience).await;
        if !left.is_empty() {
            keep.write(&saved).map_err(BakeError::Refused)?;
            return refuse(format!("what an earlier run left behind cannot be deleted: {}", left.join("; ")));
        }
        // Its builders could delete them, but are not started for that.
        if saved.shared.folder.is_none() && saved.native.is_none() && is_begun(keep, &saved) {
            let place = saved.shared.repository.settings.get("base_path").and_then(|path| path.as_str());
            tracing::warn!(
                "its snapshots stay in the repository, below {}: delete them there",
                place.unwrap_or_default()
            );
        }
        if let Some(letters) = saved.native.as_ref().and_then(|native| native.letters.as_ref())
            && !saved.published
        {
            native::forget_letters(letters);
        }
        clear(config, keep, &saved).await.map_err(BakeError::Refused)?;
    }
    // The load begins when the target is changed already. Other machines have files of their own.
    if is_read_here {
        check_files(&config.load)?;
    }
    let Prepared { mut saved, swapping, versions, warnings } = prepare(target, config, job, bytes).await?;
    saved.server_because = saved.server_because.or(because);
    keep.write(&saved).map_err(BakeError::Refused)?;
    Ok(Beginning { saved, swapping, versions, warnings })
}

/// Takes up the bake that was cut off.
async fn resumed(
    target: &Transport,
    config: &mut BakeConfig,
    keep: &Keep,
    job: &Job,
    earlier: Option<Saved>,
) -> Result<Beginning, BakeError> {
    let refuse = |why: String| Err(BakeError::Load(LoadError::State(why)));
    let Some(mut saved) = earlier else {
        return refuse(format!(
            "there is no bake of this index from these sources in {}: it never began, came to its end, or had another index, target, action, id or other sources; leave option `resume` out",
            keep.path().display()
        ));
    };
    let differences = saved.job.differences(job);
    if !differences.is_empty() {
        return refuse(format!(
            "this is not the bake that was cut off: {}; restore that, or leave option `resume` out to bake from the beginning",
            differences.join("; ")
        ));
    }
    if saved.data_stream != config.data_stream {
        let stream = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
        return refuse(format!(
            "this is not the bake that was cut off: its data stream (option `data_stream`) was {}, but is {} now; restore that, or leave option `resume` out to bake from the beginning",
            stream(&saved.data_stream),
            stream(&config.data_stream)
        ));
    }
    let is_native = saved.native.is_some();
    if matches!((config.engine, is_native), (Engine::Server, true) | (Engine::Native, false)) {
        let difference = match is_native {
            true => {
                "it is built without a server, and the options ask for one (option `engine`, or one about builders)"
            }
            false => "it is built with a server, and option `engine` is native now",
        };
        return refuse(format!(
            "this is not the bake that was cut off: {difference}; restore the options, or leave option `resume` out to bake from the beginning"
        ));
    }
    let swapping = cutover::begin(target, &mut config.load, saved.swap.clone()).await?;
    saved.published |=
        swapping.as_ref().is_some_and(|swapping| swapping.is_done) || is_attached(target, &saved).await?;
    saved.in_doubt = false;
    let versions = saved.parts[0].nodes.first().map(|node| node.version.clone()).into_iter().collect();
    Ok(Beginning { saved, swapping, versions, warnings: Vec::new() })
}

/// Whether the alias stands for the index already, or the data stream has it.
async fn is_published(target: &Transport, config: &BakeConfig, saved: &Saved) -> Result<bool, BakeError> {
    if is_attached(target, saved).await? {
        return Ok(true);
    }
    let Some(swap) = &config.load.finish.swap else { return Ok(false) };
    Ok(aliases::behind(target, &swap.alias).await?.contains_key(&saved.index))
}

/// Whether the data stream has the index.
async fn is_attached(target: &Transport, saved: &Saved) -> Result<bool, BakeError> {
    let Some(stream) = &saved.data_stream else { return Ok(false) };
    Ok(data_streams::indices(target, stream).await?.is_some_and(|indices| indices.contains(&saved.index)))
}

/// A running bake.
pub(super) struct Bake {
    pub(super) context: Arc<Context>,
    target: Target,
    pub(super) warnings: Vec<String>,
    pub(super) started: Instant,
}

impl Bake {
    async fn run(self, mut finishing: Finishing) -> Result<BakeReport, BakeError> {
        let mut stop = self.context.stop.clone();
        let run = run_id();
        let blocked = tokio::select! {
            blocked = finishing.block_old(&self.context.config.load.guard, &run) => blocked.map_err(BakeError::Refused),
            () = stop.stopped() => Err(BakeError::Interrupted),
        };
        let ended = match blocked {
            Ok(()) => self.steps(&mut finishing, &mut stop).await,
            Err(error) => Err(error),
        };
        match ended {
            Ok(handed_over) => Ok(self.end(handed_over, finishing).await),
            Err(error) => self.fail(error, finishing, stop).await,
        }
    }

    /// All steps up to the published index.
    async fn steps(
        &self,
        finishing: &mut Finishing,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<HandedOver, BakeError> {
        let context = &self.context;
        let (is_built, was_published) = {
            let saved = context.saved();
            (saved.is_built(), saved.published)
        };
        if !is_built && !was_published {
            self.build().await?;
        }
        if !was_published {
            context.step(Step::Restore, None, self.target.restore()).await?;
        }
        let mut report = self.loaded()?;
        let mut verified = report.verified.clone();
        let verify = async {
            match self.target.verify(finishing, &report.verified).await {
                // Other programs may write to the index by now.
                Err(BakeError::Refused(why)) if was_published => Ok(why),
                found => {
                    let (whole, on_target) = found?;
                    verified = whole;
                    Ok(on_target)
                }
            }
        };
        context.step(Step::Verify, None, context.until_stopped(verify)).await?;
        let names: Vec<String> = context.saved().handovers().into_iter().map(|handover| handover.index).collect();
        let why = not_in(&report.counts, report.tolerance.as_ref()).unwrap_or_default();
        let (mut status, mut aliases) = (report.status, Ok(0));
        let publish = async {
            status = finishing.run(&names, report.status, why, stop).await;
            if finishing.is_in_doubt() {
                context.write(|saved| saved.in_doubt = true)?;
            }
            match status {
                Status::Complete | Status::Incomplete => {}
                _ if finishing.was_published() => {}
                Status::Interrupted => return Err(BakeError::Interrupted),
                Status::CheckFailed | Status::Failed => {
                    return Err(BakeError::Refused(
                        finishing.failure().unwrap_or_else(|| "finishing the index failed".to_owned()),
                    ));
                }
            }
            let stream = self.target.attach().await?;
            // From here on nothing is undone.
            context.write(|saved| saved.published = true)?;
            aliases = self.target.give_aliases().await;
            Ok(match &aliases {
                Ok(0) => match stream {
                    Some(stream) => format!("{}, in the data stream {stream}", names.join(", ")),
                    None => names.join(", "),
                },
                Ok(n) => format!("{}; aliases: {n}", names.join(", ")),
                Err(error) => error.to_string(),
            })
        };
        context.step(Step::Publish, None, publish).await?;
        report.status = status;
        report.verified = verified;
        Ok(HandedOver { report, aliases: aliases.err().map(|error| error.to_string()) })
    }

    /// The steps on the builders, in parallel, or those without any.
    async fn build(&self) -> Result<(), BakeError> {
        if self.context.saved().native.is_some() {
            return native::build(&self.context).await;
        }
        let left: Vec<usize> = {
            let saved = self.context.saved();
            (0..saved.parts.len()).filter(|part| !saved.parts[*part].snapshot).collect()
        };
        let mut first = None;
        let mut running = JoinSet::new();
        for part in left {
            let mut run = PartRun::new(Arc::clone(&self.context), part);
            running.spawn(async move { run.build().await.map(|()| (part, run)) });
        }
        let (mut failed, mut unfinished) = (None, Vec::new());
        while let Some(built) = running.join_next().await {
            match built {
                Ok(Ok((0, run))) => first = Some(run),
                Ok(Ok(_)) => {}
                // The others end in order. A resumed bake continues with the documents that they
                // have loaded.
                Ok(Err(BakeError::NotLoaded(report))) => {
                    self.context.abort();
                    unfinished.push(*report);
                }
                Ok(Err(error)) => {
                    self.context.abort();
                    // The cause says more than the fact that a part was aborted.
                    if failed.as_ref().is_none_or(|failed| matches!(failed, BakeError::Interrupted)) {
                        failed = Some(error);
                    }
                }
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            }
        }
        if let Some(mut report) = self.merged(unfinished) {
            if let Some(error) = failed.filter(|error| !error.is_interrupted()) {
                report.status = Status::Failed;
                report.failure = Some(error.to_string());
            }
            return Err(BakeError::NotLoaded(Box::new(report)));
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if self.context.saved().whole.is_none() {
            return Ok(());
        }
        let mut first = match first {
            Some(first) => first,
            None => {
                let mut first = PartRun::new(Arc::clone(&self.context), 0);
                self.context.until_stopped(first.start_builder()).await?;
                first
            }
        };
        let assembled = self.context.until_stopped(assemble(&self.context, &mut first));
        self.context.step(Step::Assemble, None, assembled).await
    }

    /// The merged progress of all parts, if some did not finish.
    fn merged(&self, unfinished: Vec<Report>) -> Option<Report> {
        if unfinished.is_empty() {
            return None;
        }
        let saved = self.context.saved();
        // If one part cannot be resumed, the whole bake cannot.
        let resumable = unfinished.iter().all(|report| report.checkpoint.is_some());
        let loaded = saved.parts.iter().filter_map(|part| Some(part.loaded.as_ref()?.0.as_ref().clone()));
        let mut merged = merge(unfinished.into_iter().chain(loaded).collect(), &saved.index)?;
        merged.checkpoint = merged.checkpoint.filter(|_| resumable);
        Some(merged)
    }

    /// The merged report of the loads.
    pub(super) fn loaded(&self) -> Result<Report, BakeError> {
        let saved = self.context.saved();
        let each: Option<Vec<Report>> =
            saved.parts.iter().map(|part| Some(part.loaded.as_ref()?.0.as_ref().clone())).collect();
        let merged = each.and_then(|each| merge(each, &saved.index));
        let mut report = merged.ok_or_else(|| BakeError::Refused("the index was not loaded".to_owned()))?;
        if report.verified.state == VerifiedState::Yes {
            report.verified.detail.push_str(if saved.native.is_some() { ", as built" } else { ", on the builder" });
        }
        // Tolerance is judged for the whole: a part says nothing about it.
        report.tolerance = self.context.config.load.tolerate.map(|tolerance| tolerance.judge(&report.counts));
        if report.status == Status::Incomplete && not_in(&report.counts, report.tolerance.as_ref()).is_none() {
            report.status = Status::Complete;
        }
        Ok(report)
    }
}

/// An index that the target has.
pub(super) struct HandedOver {
    /// The report of the load, with the results on the target.
    pub(super) report: Report,
    /// Why the aliases of templates were not added.
    pub(super) aliases: Option<String>,
}

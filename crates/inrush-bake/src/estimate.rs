//! Estimates from a sample what an index costs the target by a load and by a bake. The sample is
//! loaded into a builder twice, cold and warm, written to a repository, and restored on the builder
//! itself. So is an index without documents, because most of a small restore takes the same time
//! for a large one. The target is only read.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::{ClusterError, connect, index, snapshots, stats};
use inrush_cluster::transport::Transport;
use inrush_load::LoadError;
use inrush_load::Progress;
use inrush_load::loader::{Loader, http_options};
use inrush_load::{Report, Status};
use inrush_sources::{Sampled, Source};
use serde::Serialize;
use serde_json::Map;
use tokio::sync::watch;

use super::build::PartRun;
use super::config::{BakeConfig, BakeError, Engine};
use super::context::Context;
use super::end::clear;
use super::prepare::{Prepared, prepare};
use super::state::{Keep, Saved};
use super::{Documents, OpenSource, plan};

/// The servers' default of how much a node reads per second when it restores.
const THROTTLE_BYTES_PER_SECOND: f64 = 40.0 * 1024.0 * 1024.0;
/// The snapshot of the index without documents.
const EMPTY: &str = "empty";
/// The snapshot of the sample. Its name differs from that of a bake, so that no bake uses it.
const SAMPLE: &str = "sample";
/// The option that tells an estimate's job from a bake's: no bake resumes an estimate.
pub(super) const OPTION: &str = "estimate";
const POLL: Duration = Duration::from_millis(50);

/// The measurements, and the estimates for the whole source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Documents of the sample.
    pub sample_docs: u64,
    /// The size of the source divided by that of the sample, by their bytes. Null if the size is
    /// unknown.
    pub factor: Option<f64>,
    /// Number of replicas on the target.
    pub replicas: u64,
    /// A load into the target, assuming that its processors are as fast as those of this machine.
    pub load: Cost,
    /// A bake.
    pub bake: Cost,
    /// The part of the bake that the target does.
    pub bake_on_target: Cost,
    /// Starting the builder, a part of the bake.
    pub builder_start: Cost,
    /// Size of the index without replicas, bytes.
    pub index_bytes: u64,
}

/// Time and work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Wall time, s.
    pub seconds: f64,
    /// Processor time of the servers, s.
    pub cpu_seconds: f64,
}

/// The measurements on the builder.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    start: Cost,
    cold: Cost,
    warm: Cost,
    snapshot: Cost,
    /// The restore of an index without documents.
    restore_empty: Cost,
    restore: Cost,
    docs: u64,
    bytes_read: u64,
    index_bytes: u64,
}

/// Loads `sample_bytes` of the source, and estimates. Ends early when `stop` becomes true.
///
/// # Errors
/// [`BakeError`], as a bake. Everything that was created is deleted in any case, or the error
/// names the exceptions.
pub async fn estimate(
    mut config: BakeConfig,
    open: OpenSource,
    sample_bytes: usize,
    stop: impl Future<Output = ()>,
) -> Result<Estimate, BakeError> {
    config.check().map_err(LoadError::usage)?;
    if config.engine == Engine::Native {
        let why = "option `estimate` measures a builder; leave option `engine=native` out";
        return Err(LoadError::usage(why.to_owned()).into());
    }
    config.engine = Engine::Server;
    if config.builders > 1 || !config.builder.urls.is_empty() {
        let why = "option `estimate` measures one builder that it starts itself; leave option `builders` and option `builder` out";
        return Err(LoadError::usage(why.to_owned()).into());
    }
    let load = &config.load;
    let target = connect(&load.to, load.credentials.clone(), &http_options(load)).await?;
    let source = open()?;
    let total = source.describe().bytes_total;
    let (keep, job, earlier) = Keep::open(&config.load, source.as_ref())?;
    drop(source);
    if let Some(earlier) = earlier {
        forget(&config, &keep, &earlier).await?;
    }
    let mut stop = pin!(stop);
    let Prepared { saved, versions, .. } = tokio::select! {
        prepared = prepare(&target, &mut config, job.with(OPTION), total) => prepared?,
        () = &mut stop => return Err(BakeError::Interrupted),
    };
    keep.write(&saved).map_err(BakeError::Refused)?;
    let replicas = plan::replicas(&saved.plan);
    let (stopping, stopped) = watch::channel(false);
    let progress = watch::Sender::new(Progress::default());
    let context =
        Arc::new(Context::new(config, Documents::of(open), target, keep, saved, versions, (progress, stopped)));
    let mut run = PartRun::new(context, 0);
    let measured = {
        let mut measuring = pin!(measure(&mut run, sample_bytes));
        tokio::select! {
            measured = &mut measuring => measured,
            () = &mut stop => {
                stopping.send_replace(true);
                // Its progress does not matter any more.
                let _ = measuring.await;
                Err(BakeError::Interrupted)
            }
        }
    };
    let left = tidy(&run).await;
    match measured {
        measured if left.is_empty() => Ok(extrapolate(measured?, total, replicas)),
        Ok(_) => Err(BakeError::Refused(format!(
            "the estimate is complete, but this was not cleaned up: {}",
            left.join("; ")
        ))),
        Err(cause) => Err(BakeError::Unfinished { cause: Box::new(cause), left, resumable: false }),
    }
}

/// Deletes what an interrupted estimate has left behind.
async fn forget(config: &BakeConfig, keep: &Keep, earlier: &Saved) -> Result<(), BakeError> {
    if !earlier.job.has(OPTION) {
        let why = "a bake of this index was cut off; give option `resume` instead of option `estimate`, or neither to start over";
        return Err(LoadError::State(why.to_owned()).into());
    }
    tracing::warn!("an earlier estimate was cut off; its index and files are deleted");
    clear(config, keep, earlier).await.map_err(BakeError::Refused)
}

/// Deletes everything. Returns messages about what could not be deleted.
async fn tidy(run: &PartRun) -> Vec<String> {
    let saved = run.context.saved().clone();
    let mut left = Vec::new();
    // In a folder they are deleted with it. Without a builder there are none.
    if let (None, Ok(builder)) = (&saved.shared.folder, run.builder())
        && let Err(error) = delete_snapshots(&builder, &saved).await
    {
        left.push(format!("the snapshots in the repository: {error}"));
    }
    left.extend(clear(&run.context.config, &run.context.keep, &saved).await.err());
    left
}

async fn delete_snapshots(builder: &Transport, saved: &Saved) -> Result<(), ClusterError> {
    let (repository, _) = saved.repository_of(0);
    for snapshot in [SAMPLE, EMPTY] {
        snapshots::delete(builder, &repository, snapshot).await?;
    }
    Ok(())
}

/// Ends early if the bake is stopped.
async fn measure(run: &mut PartRun, sample_bytes: usize) -> Result<Measured, BakeError> {
    let context = Arc::clone(&run.context);
    let mut measured = Measured::default();
    let clock = context.until_stopped(begin(run, &mut measured)).await?;
    for cost in [&mut measured.cold, &mut measured.warm] {
        let builder = run.builder()?;
        context.until_stopped(run.create(&builder)).await?;
        let (took, report) = load(run, &clock, sample_bytes).await?;
        *cost = took;
        (measured.docs, measured.bytes_read) = (report.counts.docs_read, report.counts.bytes_read);
    }
    context.until_stopped(hand_over(run, &clock, &mut measured)).await?;
    Ok(measured)
}

/// Starts the builder, and writes an index without documents to the repository.
async fn begin(run: &mut PartRun, measured: &mut Measured) -> Result<Clock, BakeError> {
    let begun = Instant::now();
    run.start_builder().await?;
    let name = run.context.saved().parts[0].nodes[0].name.clone();
    let clock = Clock::of(&name).await?;
    measured.start = Cost { seconds: begun.elapsed().as_secs_f64(), cpu_seconds: clock.cpu_seconds() };
    let (builder, index) = (run.builder()?, run.index());
    let (repository, shared) = run.context.saved().repository_of(0);
    snapshots::register(&builder, &repository, &shared.repository).await?;
    run.create(&builder).await?;
    run.take(&repository, EMPTY, &index).await?;
    Ok(clock)
}

/// Loads the sample.
async fn load(run: &PartRun, clock: &Clock, sample_bytes: usize) -> Result<(Cost, Report), BakeError> {
    let context = &run.context;
    let (builder, index) = (run.builder()?, run.index());
    let folder = context.keep.of_load(&context.saved().id, 0);
    let mut config = run.load_config(&folder, false)?;
    config.state = None;
    let loader = Loader::new(config)?;
    let sample: Box<dyn Source> = Box::new(Sampled::new((context.documents.open)()?, sample_bytes));
    let lap = clock.lap();
    let running = context.until_stopped(async { loader.start(sample).await.map_err(BakeError::from) }).await?;
    let stop = running.stop_handle();
    let mut finish = pin!(running.finish());
    let report = tokio::select! {
        report = &mut finish => report,
        () = context.aborted() => {
            // The load ends in order, so that it sends nothing to a builder that is gone.
            stop.stop();
            finish.await
        }
    };
    if !matches!(report.status, Status::Complete | Status::Incomplete) {
        return Err(BakeError::NotLoaded(Box::new(report)));
    }
    stats::flush(&builder, &index).await?;
    Ok((lap.end(), report))
}

/// Writes the sample to the repository, and restores it.
async fn hand_over(run: &mut PartRun, clock: &Clock, measured: &mut Measured) -> Result<(), BakeError> {
    let (builder, index) = (run.builder()?, run.index());
    let (repository, _) = run.context.saved().repository_of(0);
    let lap = clock.lap();
    run.take(&repository, SAMPLE, &index).await?;
    measured.snapshot = lap.end();
    measured.index_bytes = snapshots::bytes(&builder, &repository, SAMPLE).await?;
    // The first restore is slower than any other.
    restore(run, SAMPLE, clock).await?;
    measured.restore_empty = restore(run, EMPTY, clock).await?;
    measured.restore = restore(run, SAMPLE, clock).await?;
    Ok(())
}

/// Restores the index under its name in the snapshot, in place of the existing one.
async fn restore(run: &PartRun, snapshot: &str, clock: &Clock) -> Result<Cost, BakeError> {
    let (builder, index) = (run.builder()?, run.index());
    let (repository, _) = run.context.saved().repository_of(0);
    index::delete(&builder, &index).await?;
    let lap = clock.lap();
    snapshots::restore(&builder, &repository, snapshot, &index, &Map::new(), &[]).await?;
    loop {
        let found = snapshots::primaries(&builder, &index).await?;
        if let Some(why) = found.failed {
            return Err(BakeError::Refused(format!("the sample cannot be restored: {why}")));
        }
        if found.total > 0 && found.started == found.total {
            return Ok(lap.end());
        }
        if lap.begun.elapsed() >= run.context.config.load.finish.wait_timeout {
            return Err(BakeError::Refused("the sample was not restored in time (option `wait_timeout`)".to_owned()));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Extrapolates from the sample to the whole source. It assumes that all documents are like those
/// of the sample, and that the target is as fast as the builder.
fn extrapolate(measured: Measured, total: Option<u64>, replicas: u64) -> Estimate {
    let factor =
        total.filter(|_| measured.bytes_read > 0).map(|total| (total as f64 / measured.bytes_read as f64).max(1.0));
    let times = factor.unwrap_or(1.0);
    let copies = (1 + replicas) as f64;
    let index_bytes = measured.index_bytes as f64 * times;
    // Each copy indexes the documents, in parallel with the others.
    let load = Cost { seconds: measured.warm.seconds * times, cpu_seconds: measured.warm.cpu_seconds * times * copies };
    // The primaries are read from the repository, and each further copy from its primary, at the
    // pace that the target allows.
    let (empty, sample) = (measured.restore_empty, measured.restore);
    let whole = |empty: f64, sample: f64| empty + (sample - empty).max(0.0) * times;
    let paced = index_bytes / THROTTLE_BYTES_PER_SECOND * copies;
    let bake_on_target = Cost {
        seconds: whole(empty.seconds, sample.seconds).max(paced),
        cpu_seconds: whole(empty.cpu_seconds, sample.cpu_seconds) * copies,
    };
    let built = Cost {
        seconds: measured.start.seconds
            + measured.cold.seconds
            + (measured.warm.seconds + measured.snapshot.seconds) * times
            - measured.warm.seconds,
        cpu_seconds: measured.start.cpu_seconds
            + measured.cold.cpu_seconds
            + (measured.warm.cpu_seconds + measured.snapshot.cpu_seconds) * times
            - measured.warm.cpu_seconds,
    };
    let bake = Cost {
        seconds: built.seconds + bake_on_target.seconds,
        cpu_seconds: built.cpu_seconds + bake_on_target.cpu_seconds,
    };
    Estimate {
        sample_docs: measured.docs,
        factor,
        replicas,
        load,
        bake,
        bake_on_target,
        builder_start: measured.start,
        index_bytes: index_bytes as u64,
    }
}

/// Wall and processor time of the builder.
struct Clock {
    pid: u32,
}

struct Lap<'a> {
    clock: &'a Clock,
    begun: Instant,
    cpu_seconds: f64,
}

impl Clock {
    async fn of(name: &str) -> Result<Clock, BakeError> {
        let status = inrush_node::status(name).await?;
        let node = status.node.ok_or_else(|| BakeError::Refused("the builder does not run".to_owned()))?;
        Ok(Clock { pid: node.pid })
    }

    fn cpu_seconds(&self) -> f64 {
        inrush_node::cpu_seconds(self.pid)
    }

    fn lap(&self) -> Lap<'_> {
        Lap { clock: self, begun: Instant::now(), cpu_seconds: self.cpu_seconds() }
    }
}

impl Lap<'_> {
    fn end(&self) -> Cost {
        Cost { seconds: self.begun.elapsed().as_secs_f64(), cpu_seconds: self.clock.cpu_seconds() - self.cpu_seconds }
    }
}

#[cfg(test)]
mod tests {
    use inrush_cluster::api::snapshots::Repository;
    use inrush_load::config::{LoadConfig, StateFolder};
    use inrush_sources::{FormatOptions, SourceSpec, Warnings, open};

    use super::super::place::Shared;
    use super::super::plan::Plan;
    use super::*;

    fn cost(seconds: f64, cpu_seconds: f64) -> Cost {
        Cost { seconds, cpu_seconds }
    }

    #[test]
    fn the_whole_is_as_many_samples_as_it_has_bytes() {
        let measured = Measured {
            start: cost(20.0, 25.0),
            cold: cost(3.0, 6.0),
            warm: cost(1.0, 2.0),
            snapshot: cost(0.125, 0.125),
            restore_empty: cost(0.25, 0.125),
            restore: cost(0.5, 0.25),
            docs: 100,
            bytes_read: 1000,
            index_bytes: 500,
        };
        let found = extrapolate(measured, Some(100_000), 1);
        assert_eq!((found.factor, found.index_bytes), (Some(100.0), 50_000));
        assert_eq!(found.load, cost(100.0, 400.0));
        // The fixed cost of a restore once, and 100 times the cost of the sample's documents, on
        // two copies.
        assert_eq!(found.bake_on_target, cost(25.25, 25.25));
        // The start, the first sample cold, 99 warm ones, 100 written and restored.
        assert_eq!(found.bake, cost(20.0 + 3.0 + 99.0 + 12.5 + 25.25, 25.0 + 6.0 + 198.0 + 12.5 + 25.25));
        // The pace of the target decides if it takes longer.
        let large = extrapolate(Measured { index_bytes: 40 << 20, ..measured }, Some(100_000), 1);
        assert_eq!(large.bake_on_target.seconds, 200.0);
        assert_eq!(extrapolate(measured, None, 0).load, cost(1.0, 2.0));
    }

    #[tokio::test]
    async fn what_was_cut_off_is_gone_on_with_by_nobody_and_forgotten_by_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, place) = (folder.path().join("a.ndjson"), folder.path().join("inrush-bake-1"));
        std::fs::write(&path, "{}\n").unwrap();
        let source = open(&[SourceSpec::Path(path)], FormatOptions::default(), &Warnings::default()).unwrap();
        let mut config = LoadConfig::new(vec!["http://target:9200".to_owned()], "x".parse().unwrap());
        config.state = Some(StateFolder::new(folder.path().join("state")));
        let bake = BakeConfig::new(config.clone(), super::super::Place::Path(folder.path().to_owned()));
        for is_estimate in [true, false] {
            std::fs::create_dir(&place).unwrap();
            let (keep, job, earlier) = Keep::open(&config, &source).unwrap();
            assert!(earlier.is_none());
            let job = if is_estimate { job.with(OPTION) } else { job };
            let repository = Repository { kind: "fs".to_owned(), settings: Map::new(), crypto_metadata: None };
            let shared = Shared { repository, folder: Some(place.clone()), on_target: None };
            let saved = Saved::new(job, "1".to_owned(), "x".to_owned(), Plan::default(), shared, Vec::new());
            keep.write(&saved).unwrap();
            drop(keep);
            let (keep, now, earlier) = Keep::open(&config, &source).unwrap();
            let earlier = earlier.unwrap();
            // The job of a bake with `--resume`.
            assert_eq!(earlier.job.differences(&now).is_empty(), !is_estimate);
            assert_eq!(forget(&bake, &keep, &earlier).await.is_ok(), is_estimate);
            assert_eq!((place.exists(), keep.path().exists()), (!is_estimate, !is_estimate));
        }
    }
}

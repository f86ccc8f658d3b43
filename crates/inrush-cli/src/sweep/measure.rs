//! One run of one cell: it creates an index, loads, records the figures, and deletes the index.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use inrush_cluster::api::index;
use inrush_cluster::transport::Transport;
use inrush_load::config::LoadConfig;
use inrush_load::{ConfiguredLoad, Report, Status};
use inrush_sources::Source;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use super::grid::{Batch, Cell};
use super::runs::Run;
use super::server;

/// The smallest batch whose bytes are fixed, so that documents of all sizes fit.
const BATCH_BYTES_MIN: u64 = 64 << 10;
/// The most that the documents of a batch may exceed the mean size before the byte limit cuts the
/// batch.
const LARGER_THAN_MEAN: u64 = 4;

/// The parts that all runs share.
pub(crate) struct Bench<'a> {
    /// Adds the observers of a run.
    observe: &'a (dyn Fn(ConfiguredLoad) -> ConfiguredLoad + Send + Sync),
    transport: Arc<Transport>,
    /// The options without batch and requests in flight. Each run replaces `index`.
    config: LoadConfig,
    index_prefix: String,
    cell_time: Duration,
    /// Bytes of a document in a request, including its action line. Known after the warm-up or the
    /// first run.
    document_bytes: Option<u64>,
    made: u32,
}

/// A run, or the reason that there is none.
pub(crate) enum Measured {
    Done(Box<Run>),
    /// The user has interrupted the sweep.
    Interrupted,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        observe: &'a (dyn Fn(ConfiguredLoad) -> ConfiguredLoad + Send + Sync),
        transport: Arc<Transport>,
        config: LoadConfig,
        index_prefix: String,
        cell_time: Duration,
    ) -> Self {
        Bench { observe, transport, config, index_prefix, cell_time, document_bytes: None, made: 0 }
    }

    /// Loads repeatedly until `time` is over, and measures the size of documents. Returns whether
    /// it was not interrupted.
    ///
    /// # Errors
    /// A load cannot begin, or indexes no document.
    pub(crate) async fn warm_up(
        &mut self,
        time: Duration,
        source: &mut (dyn FnMut() -> Result<Box<dyn Source>> + Send),
        interrupted: &mut (impl Future<Output = ()> + Unpin),
    ) -> Result<bool> {
        let end = Instant::now() + time;
        let mut first = true;
        while first || Instant::now() < end {
            first = false;
            let config = self.config.clone();
            // A moment without a warm-up is enough to learn the usual size of documents.
            let at_most = end.saturating_duration_since(Instant::now()).max(Duration::from_secs(2));
            let Some((report, _)) = self.load(config, source()?, at_most, interrupted).await? else {
                return Ok(false);
            };
            if report.counts.docs_indexed == 0 {
                bail!("no document got in: {}", problem(&report));
            }
            self.document_bytes = Some((report.counts.bytes_sent / report.counts.docs_indexed).max(1));
        }
        Ok(true)
    }

    /// Runs one cell. `config` has the settings of its group.
    ///
    /// # Errors
    /// The load cannot begin.
    pub(crate) async fn run(
        &mut self,
        cell: &Cell,
        round: u32,
        mut config: LoadConfig,
        source: Box<dyn Source>,
        interrupted: &mut (impl Future<Output = ()> + Unpin),
    ) -> Result<Measured> {
        self.fix(cell, &mut config);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let (client, server) = (cpu_seconds(), server::cpu_seconds(&self.transport).await);
        let at_most = self.cell_time;
        let Some((report, segments)) = self.load(config, source, at_most, interrupted).await? else {
            return Ok(Measured::Interrupted);
        };
        let (client, server_now) = (cpu_seconds() - client, server::cpu_seconds(&self.transport).await);
        if !matches!(report.status, Status::Complete | Status::Interrupted) {
            tracing::warn!("{} of {}: {}", cell.name(), cell.group, problem(&report));
        }
        let counts = &report.counts;
        // Documents that were read ahead when the time was over do not count.
        let seconds = counts.docs_read as f64 / report.docs_per_second;
        let run = Run {
            started,
            round,
            group: cell.group.clone(),
            cell: cell.name(),
            status: serde_json::to_value(report.status)?.as_str().unwrap_or_default().to_owned(),
            docs: counts.docs_indexed,
            bytes: counts.bytes_read,
            seconds: rounded(seconds),
            docs_per_second: rounded(counts.docs_indexed as f64 / seconds),
            seconds_to_searchable: rounded(report.seconds),
            client_cpu_seconds: rounded(client),
            server_cpu_seconds: server.zip(server_now).map(|(before, now)| rounded(now - before)),
            requests: counts.requests,
            rejected_items: counts.rejected_items,
            retried_items: counts.retried_items,
            segments: segments.0,
            merges: segments.1,
            plan_batch_bytes: report.plan.batch_bytes,
            plan_in_flight: report.plan.in_flight,
        };
        Ok(Measured::Done(Box::new(run)))
    }

    /// Applies the cell's batch and requests in flight.
    fn fix(&self, cell: &Cell, config: &mut LoadConfig) {
        let limits = &mut config.limits;
        limits.in_flight = cell.in_flight;
        match cell.batch {
            None => {}
            Some(Batch::Bytes(bytes)) => limits.batch_bytes = Some(usize::try_from(bytes).unwrap_or(usize::MAX)),
            Some(Batch::Docs(docs)) => {
                let mean = self.document_bytes.unwrap_or(1 << 10);
                let wanted = mean.saturating_mul(LARGER_THAN_MEAN).saturating_mul(u64::from(docs)).max(BATCH_BYTES_MIN);
                let most = limits.memory as u64 / u64::from(cell.in_flight.unwrap_or(4));
                limits.batch_docs = Some(docs);
                limits.batch_bytes = Some(usize::try_from(wanted.min(most)).unwrap_or(usize::MAX));
            }
        }
    }

    /// One load into a new index, which is deleted afterwards. `None` if the user interrupted it.
    async fn load(
        &mut self,
        mut config: LoadConfig,
        source: Box<dyn Source>,
        at_most: Duration,
        interrupted: &mut (impl Future<Output = ()> + Unpin),
    ) -> Result<Option<(Report, (Option<u64>, Option<u64>))>> {
        self.made += 1;
        let name = format!("{}-{}", self.index_prefix, self.made);
        config.index = name.parse().map_err(|problem| anyhow::anyhow!("index {name}: {problem}"))?;
        // An index that a killed sweep has left behind.
        index::delete(&self.transport, &name).await?;
        server::settle(&self.transport).await;
        let loader = (self.observe)(ConfiguredLoad::new(config)?);
        let load = loader.start(source).await?;
        let stop = load.stop_handle();
        let finish = load.finish();
        tokio::pin!(finish);
        let mut broken_off = false;
        let report = tokio::select! {
            report = &mut finish => report,
            () = tokio::time::sleep(at_most) => {
                stop.stop();
                finish.await
            }
            () = &mut *interrupted => {
                broken_off = true;
                stop.stop();
                finish.await
            }
        };
        let segments = server::segments(&self.transport, &name).await;
        index::delete(&self.transport, &name).await.with_context(|| format!("cannot delete the index {name}"))?;
        Ok((!broken_off).then_some((report, segments)))
    }
}

/// The problem of a load that did not succeed.
fn problem(report: &Report) -> String {
    let first = report.errors.first().map(|error| format!("{}: {}", error.kind, error.reason));
    report
        .failure
        .clone()
        .or(first)
        .unwrap_or_else(|| "documents were not indexed, but the cluster reported no error".to_owned())
}

/// Processor time of this process so far, seconds.
fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Rounds to milliseconds, the precision of these figures.
fn rounded(value: f64) -> f64 {
    if value.is_finite() { (value * 1e3).round() / 1e3 } else { 0.0 }
}

//! What all steps of a bake share: its options, the target, what is written down, and who watches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use inrush_cluster::transport::Transport;
use inrush_load::{Phase, Progress, StopSignal};
use tokio::sync::watch;

use super::OpenSource;
use super::config::{BakeConfig, BakeError};
use super::report::{BakeStep, BakeStepName as Step};
use super::state::{Keep, Part, Saved};

/// Shared by the builders and what is done on the target.
pub(super) struct Context {
    pub(super) config: BakeConfig,
    pub(super) open: OpenSource,
    pub(super) target: Arc<Transport>,
    pub(super) keep: Keep,
    /// Versions of the builders to try.
    pub(super) versions: Vec<String>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) stop: watch::Receiver<bool>,
    saved: Mutex<Saved>,
    /// One of several builders has failed, so the others are not needed now.
    broken_off: watch::Sender<bool>,
    /// How far the load of each part is.
    loading: Mutex<Vec<Progress>>,
}

impl Context {
    pub(super) fn new(
        config: BakeConfig,
        open: OpenSource,
        target: Arc<Transport>,
        keep: Keep,
        saved: Saved,
        versions: Vec<String>,
        (progress, stop): (watch::Sender<Progress>, watch::Receiver<bool>),
    ) -> Context {
        let broken_off = watch::Sender::new(false);
        let loading = Mutex::new(vec![Progress::default(); saved.parts.len()]);
        Context { config, open, target, keep, versions, progress, stop, saved: Mutex::new(saved), broken_off, loading }
    }

    /// Ends what the builders do, in order.
    pub(super) fn break_off(&self) {
        self.broken_off.send_replace(true);
    }

    /// Waits until the builders are to end: somebody has stopped the bake, or one of them has failed.
    pub(super) async fn is_broken_off(&self) {
        let (mut stop, mut broken_off) = (self.stop.clone(), self.broken_off.subscribe());
        tokio::select! {
            () = stop.stopped() => {}
            () = broken_off.stopped() => {}
        }
    }

    /// What is written down.
    pub(super) fn saved(&self) -> MutexGuard<'_, Saved> {
        // Each change of it is whole, so a thread that panicked leaves nothing half done.
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it, on disk too, before this returns.
    pub(super) fn write(&self, change: impl FnOnce(&mut Saved)) -> Result<(), BakeError> {
        let mut saved = self.saved();
        change(&mut saved);
        self.keep.write(&saved).map_err(BakeError::Refused)
    }

    /// The same for one part.
    pub(super) fn write_part(&self, part: usize, change: impl FnOnce(&mut Part)) -> Result<(), BakeError> {
        self.write(|saved| change(&mut saved.parts[part]))
    }

    /// For whoever watches.
    pub(super) fn show(&self, what: &str) {
        self.progress.send_modify(|progress| progress.phase = Phase::Baking(what.to_owned()));
    }

    /// How far the load of a part is; all parts are shown together.
    pub(super) fn show_loading(&self, part: usize, now: Progress) {
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        loading[part] = now;
        let mut all = loading[part].clone();
        for other in loading.iter().enumerate().filter(|(at, _)| *at != part).map(|(_, other)| other) {
            all.docs_read += other.docs_read;
            all.docs_settled += other.docs_settled;
            all.docs_dead_lettered += other.docs_dead_lettered;
            all.bytes_sent += other.bytes_sent;
            all.retried_items += other.retried_items;
            all.requests += other.requests;
            all.in_flight += other.in_flight;
            all.plan_in_flight += other.plan_in_flight;
            all.memory_bytes += other.memory_bytes;
        }
        self.progress.send_replace(all);
    }

    /// Does a step, and notes what it did. `part`: whose it is, where there are several. What may be broken off at any point is, when somebody
    /// stops the bake.
    pub(super) async fn step(
        &self,
        step: Step,
        part: Option<usize>,
        work: impl Future<Output = Result<String, BakeError>>,
    ) -> Result<(), BakeError> {
        let whose =
            part.filter(|_| self.saved().parts.len() > 1).map_or_else(String::new, |n| format!("part {}: ", n + 1));
        self.show(&format!("{whose}{}", step.name()));
        let begun = Instant::now();
        let detail = format!("{whose}{}", work.await?);
        let seconds = begun.elapsed().as_secs_f64();
        tracing::info!("{}: {detail}", step.name());
        self.write(|saved| saved.steps.push(BakeStep { step, seconds, detail }))
    }

    /// Does something that may be broken off at any point.
    pub(super) async fn until_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, BakeError>>,
    ) -> Result<T, BakeError> {
        tokio::select! {
            done = work => done,
            () = self.is_broken_off() => Err(BakeError::Interrupted),
        }
    }
}

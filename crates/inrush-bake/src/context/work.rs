//! The shared state of all steps of a bake: options, target, record, and progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::Transport;
use inrush_cluster::{Wait, clock};
use inrush_load::config::LoadConfig;
use inrush_load::{Phase, Progress, StopSignal};
use tokio::sync::watch;

use super::documents::Documents;
use super::times::Times;
use crate::config::BakeError;
use crate::record::{Build, Keep, NativeRecord, Saved};
use crate::report::{BakeStep, BakeStepName as Step};

/// The pause before a request is sent to the target again.
const PAUSE: Duration = Duration::from_secs(1);

/// The state that all steps share.
pub(crate) struct Context {
    /// How the documents are loaded.
    pub(crate) load: LoadConfig,
    pub(crate) times: Times,
    pub(crate) documents: Documents,
    pub(crate) target: Arc<Transport>,
    pub(crate) keep: Keep,
    progress: watch::Sender<Progress>,
    pub(crate) stop: watch::Receiver<bool>,
    saved: Mutex<Saved>,
}

impl Context {
    pub(crate) fn new(
        load: LoadConfig,
        documents: Documents,
        target: Arc<Transport>,
        keep: Keep,
        saved: Saved,
        (progress, stop): (watch::Sender<Progress>, watch::Receiver<bool>),
    ) -> Context {
        let times = Times::of(&load);
        Context { load, times, documents, target, keep, progress, stop, saved: Mutex::new(saved) }
    }

    /// Waits until the bake is stopped.
    pub(crate) async fn stopped(&self) {
        self.stop.clone().stopped().await;
    }

    /// Waits until the bake was stopped, and then for a third of option `grace`: a request that was
    /// sent may be answered, and the clean-up has the rest.
    async fn stopped_for_long(&self) {
        self.stopped().await;
        clock::sleep(self.times.grace / 3).await;
    }

    /// The record of the bake.
    pub(crate) fn saved(&self) -> MutexGuard<'_, Saved> {
        // Each change of the record is complete, so a thread that panicked leaves it consistent.
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the record, and writes it to disk before returning.
    pub(crate) fn write(&self, change: impl FnOnce(&mut Saved)) -> Result<(), BakeError> {
        let mut saved = self.saved();
        change(&mut saved);
        self.keep.write(&saved).map_err(BakeError::Refused)
    }

    /// The same for the record of a bake without a builder.
    pub(crate) fn write_native(&self, change: impl FnOnce(&mut NativeRecord)) -> Result<(), BakeError> {
        self.write(|saved| {
            if let Build::Native(native) = &mut saved.build {
                change(native);
            }
        })
    }

    /// Shows a step in the progress.
    pub(crate) fn show(&self, what: &str) {
        self.progress.send_modify(|progress| progress.phase = Phase::Baking(what.to_owned()));
    }

    /// Shows the progress of the load.
    pub(crate) fn show_loading(&self, now: Progress) {
        self.progress.send_replace(now);
    }

    /// Runs a step and records what it did. A caller wraps work in [`Context::until_stopped`] if it
    /// may be aborted at any point.
    pub(crate) async fn step(
        &self,
        step: Step,
        work: impl Future<Output = Result<String, BakeError>>,
    ) -> Result<(), BakeError> {
        self.show(step.name());
        let begun = clock::now();
        let detail = work.await?;
        let seconds = begun.elapsed().as_secs_f64();
        tracing::info!("{}: {detail}", step.name());
        self.write(|saved| saved.steps.push(BakeStep { step, seconds, detail }))
    }

    /// Runs work that may be aborted at any point.
    pub(crate) async fn until_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, BakeError>>,
    ) -> Result<T, BakeError> {
        tokio::select! {
            done = work => done,
            () = self.stopped() => Err(BakeError::Interrupted),
        }
    }

    /// Sends a request to the target, and repeats it while the target cannot answer, until the bake
    /// is stopped. Only for requests that may be carried out twice.
    pub(crate) async fn ask<T, F>(&self, work: impl Fn() -> F) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        self.again(work, || self.pause()).await
    }

    /// The same for requests that publish the index: a stop ends them only if there is no answer.
    pub(crate) async fn insist<T, F>(&self, work: impl Fn() -> F) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        self.again(work, || after(PAUSE)).await
    }

    async fn again<T, F, P>(&self, work: impl Fn() -> F, pause: impl Fn() -> P) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
        P: Future<Output = Result<(), BakeError>>,
    {
        let ask = || async {
            tokio::select! {
                answer = work() => answer.map_err(BakeError::from),
                () = self.stopped_for_long() => Err(BakeError::Interrupted),
            }
        };
        let wait = |error: BakeError| {
            self.show(&format!("the target does not answer: {error}"));
            pause()
        };
        Wait::new(self.times.retry_for).ask_and_pause(ask, BakeError::is_passing, wait).await
    }

    /// Waits before a request is sent again.
    pub(crate) async fn pause(&self) -> Result<(), BakeError> {
        self.until_stopped(after(PAUSE)).await
    }
}

/// Waits, as work that may be aborted.
pub(crate) async fn after(pause: Duration) -> Result<(), BakeError> {
    clock::sleep(pause).await;
    Ok(())
}

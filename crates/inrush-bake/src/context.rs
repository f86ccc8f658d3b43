//! The shared state of all steps of a bake: options, target, record, and progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use inrush_cluster::transport::Transport;
use inrush_load::observe::ObserverSet;
use inrush_load::{Phase, Progress, StopSignal};
use tokio::sync::watch;

use super::Documents;
use super::config::{BakeConfig, BakeError};
use super::report::{BakeStep, BakeStepName as Step};
use super::state::{Keep, Part, Saved};

/// The state that the builders and the steps on the target share.
pub(super) struct Context {
    pub(super) config: BakeConfig,
    pub(super) documents: Documents,
    pub(super) target: Arc<Transport>,
    pub(super) keep: Keep,
    /// Versions of the builders to try.
    pub(super) versions: Vec<String>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) stop: watch::Receiver<bool>,
    saved: Mutex<Saved>,
    /// Set when one of several builders has failed, so that the others are not needed now.
    abort_signal: watch::Sender<bool>,
    /// The progress of each part's load, and its step before and after it.
    loading: Mutex<Vec<Progress>>,
}

impl Context {
    pub(super) fn new(
        config: BakeConfig,
        documents: Documents,
        target: Arc<Transport>,
        keep: Keep,
        saved: Saved,
        versions: Vec<String>,
        (progress, stop): (watch::Sender<Progress>, watch::Receiver<bool>),
    ) -> Context {
        let abort_signal = watch::Sender::new(false);
        let loading = Mutex::new(vec![Progress::default(); saved.parts.len()]);
        Context {
            config,
            documents,
            target,
            keep,
            versions,
            progress,
            stop,
            saved: Mutex::new(saved),
            abort_signal,
            loading,
        }
    }

    /// The observers of the load of a part.
    pub(super) fn observers(&self, part: usize) -> ObserverSet {
        (self.documents.observers)(part)
    }

    /// Makes the builders end in order.
    pub(super) fn abort(&self) {
        self.abort_signal.send_replace(true);
    }

    /// Waits until the builders have to end: the bake was stopped, or one of them has failed.
    pub(super) async fn aborted(&self) {
        let (mut stop, mut abort_signal) = (self.stop.clone(), self.abort_signal.subscribe());
        tokio::select! {
            () = stop.stopped() => {}
            () = abort_signal.stopped() => {}
        }
    }

    /// Waits until the bake was stopped, and then for a third of option `grace`: a request that was
    /// sent may be answered, and the clean-up has the rest.
    pub(super) async fn stopped_for_long(&self) {
        self.aborted().await;
        tokio::time::sleep(self.config.load.limits.grace / 3).await;
    }

    /// The record of the bake.
    pub(super) fn saved(&self) -> MutexGuard<'_, Saved> {
        // Each change of the record is complete, so a thread that panicked leaves it consistent.
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the record, and writes it to disk before returning.
    pub(super) fn write(&self, change: impl FnOnce(&mut Saved)) -> Result<(), BakeError> {
        let mut saved = self.saved();
        change(&mut saved);
        self.keep.write(&saved).map_err(BakeError::Refused)
    }

    /// The same for one part.
    pub(super) fn write_part(&self, part: usize, change: impl FnOnce(&mut Part)) -> Result<(), BakeError> {
        self.write(|saved| change(&mut saved.parts[part]))
    }

    /// Shows a step of the whole bake in the progress.
    pub(super) fn show(&self, what: &str) {
        self.progress.send_modify(|progress| progress.phase = Phase::Baking(what.to_owned()));
    }

    /// Shows a step of a part. As long as other parts load, these are shown.
    fn show_step(&self, part: usize, what: String) {
        let mut loading = self.loading();
        loading[part].phase = Phase::Baking(what);
        let phase = shown_phase(&loading, part);
        self.progress.send_modify(|progress| progress.phase = phase);
    }

    fn loading(&self) -> MutexGuard<'_, Vec<Progress>> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the progress of a part's load. All parts are shown together.
    pub(super) fn show_loading(&self, part: usize, now: Progress) {
        let mut loading = self.loading();
        loading[part] = now;
        let mut all = loading[part].clone();
        all.phase = shown_phase(&loading, part);
        for other in loading.iter().enumerate().filter(|(at, _)| *at != part).map(|(_, other)| other) {
            all.docs_read += other.docs_read;
            all.docs_settled += other.docs_settled;
            all.docs_dead_lettered += other.docs_dead_lettered;
            all.docs_superseded += other.docs_superseded;
            all.bytes_sent += other.bytes_sent;
            all.retried_items += other.retried_items;
            all.requests += other.requests;
            all.in_flight += other.in_flight;
            all.plan_in_flight += other.plan_in_flight;
            all.memory_bytes += other.memory_bytes;
            // Each part reads the whole source.
            let bytes_read = all.counts.bytes_read.max(other.counts.bytes_read);
            all.counts = all.counts.plus(&other.counts);
            all.counts.bytes_read = bytes_read;
        }
        self.progress.send_replace(all);
    }

    /// Runs a step and records what it did. `part`: the part that it belongs to, if there are
    /// several. A caller wraps work in [`Context::until_stopped`] if it may be aborted at any
    /// point.
    pub(super) async fn step(
        &self,
        step: Step,
        part: Option<usize>,
        work: impl Future<Output = Result<String, BakeError>>,
    ) -> Result<(), BakeError> {
        let whose =
            part.filter(|_| self.saved().parts.len() > 1).map_or_else(String::new, |n| format!("part {}: ", n + 1));
        match part {
            Some(part) => self.show_step(part, format!("{whose}{}", step.name())),
            None => self.show(step.name()),
        }
        let begun = Instant::now();
        let detail = format!("{whose}{}", work.await?);
        let seconds = begun.elapsed().as_secs_f64();
        tracing::info!("{}: {detail}", step.name());
        self.write(|saved| saved.steps.push(BakeStep { step, seconds, detail }))
    }

    /// Runs work that may be aborted at any point.
    pub(super) async fn until_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, BakeError>>,
    ) -> Result<T, BakeError> {
        tokio::select! {
            done = work => done,
            () = self.aborted() => Err(BakeError::Interrupted),
        }
    }
}

/// The phase of several parts: a pause of one of them, else the load of one, else the step of
/// `part`. So it does not change with each event of another part.
fn shown_phase(parts: &[Progress], part: usize) -> Phase {
    let paused = parts.iter().find(|part| matches!(part.phase, Phase::Paused(_)));
    let loads = |part: &&Progress| !matches!(part.phase, Phase::Starting | Phase::Baking(_) | Phase::Done);
    paused.or_else(|| parts.iter().find(loads)).unwrap_or(&parts[part]).phase.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_of_several_parts_is_the_pause_or_the_load_of_one() {
        let part = |phase: &Phase| {
            let mut part = Progress::default();
            part.phase = phase.clone();
            part
        };
        let (snapshot, paused) = (Phase::Baking("part 1: snapshot".to_owned()), Phase::Paused("disk".to_owned()));
        for (phases, expected) in [
            (&[snapshot.clone(), Phase::Starting][..], &snapshot),
            (&[snapshot.clone(), Phase::Loading], &Phase::Loading),
            (&[Phase::Loading, snapshot.clone(), paused.clone()], &paused),
        ] {
            let parts: Vec<Progress> = phases.iter().map(part).collect();
            assert_eq!(&shown_phase(&parts, 0), expected);
        }
    }
}

//! A load that is shown, and what takes its events.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inrush_cluster::run_id::run_id;
use inrush_load::observe::{LoadEvent, Observer};
use inrush_load::{PauseHandle, Phase, Progress, Report, StopHandle};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::interval;

use super::{Board, since_1970};
use crate::history::{Comparison, History, LocalPart};
use crate::snapshot::LoadSnapshot;

/// The interval at which a progress without events is looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Load(Mutex<State>);

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) history: History,
    started: Option<Instant>,
    pub(crate) ended: Option<f64>,
    pub(crate) controls: Option<Controls>,
}

impl Load {
    pub(crate) fn new(history: History) -> Self {
        Load(Mutex::new(State { history, started: None, ended: None, controls: None }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A state is valid after each event.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn snapshot(&self) -> LoadSnapshot {
        let state = self.lock();
        state.history.snapshot(state.at())
    }
}

impl State {
    /// The time since the start of the load.
    pub(crate) fn at(&self) -> Duration {
        self.started.map(|started| started.elapsed()).unwrap_or_default()
    }

    /// The load begins now, and has no event that says so.
    fn begins(&mut self) {
        (self.started, self.history.start.began) = (Some(Instant::now()), since_1970());
        self.history.start.run_id = run_id();
        self.history.has_begun = true;
    }
}

/// Carries out the actions of viewers.
#[derive(Clone)]
pub(crate) struct Controls(pub(crate) Arc<dyn Fn(Control) + Send + Sync>);

impl fmt::Debug for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Controls")
    }
}

/// An action of a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Sends nothing new for now.
    Pause,
    /// Ends the pause.
    Resume,
    /// Ends the load early.
    Stop,
}

/// A load that is shown. Clones stand for the same load.
#[derive(Clone, Debug)]
pub struct Shown {
    load: Arc<Load>,
    board: Arc<Board>,
}

impl Shown {
    pub(crate) fn new(load: Arc<Load>, board: Arc<Board>) -> Self {
        Shown { load, board }
    }

    /// Lets viewers with a token control the load.
    pub fn control(&self, pause: PauseHandle, stop: StopHandle) {
        self.control_by(move |control| match control {
            Control::Pause => pause.pause(),
            Control::Resume => pause.resume(),
            Control::Stop => stop.stop(),
        });
    }

    /// Calls this function with the actions of viewers who have a token. It must not wait.
    pub fn control_by(&self, control: impl Fn(Control) + Send + Sync + 'static) {
        self.load.lock().controls = Some(Controls(Arc::new(control)));
    }

    /// The observer of a load that is a part of this one, such as that of a bake. Progress and
    /// phases are those of [`Shown::follow`].
    pub fn part(&self) -> PartRecorder {
        PartRecorder { load: Arc::clone(&self.load), board: Arc::clone(&self.board), part: LocalPart::default() }
    }

    /// Shows a progress that has no events of its own, such as that of a bake, until it is done.
    /// Must be called in a tokio runtime.
    pub fn follow(&self, progress: watch::Receiver<Progress>) {
        self.load.lock().begins();
        self.see(Duration::ZERO, &progress.borrow());
        self.board.changed();
        tokio::spawn(self.clone().following(progress));
    }

    async fn following(self, mut progress: watch::Receiver<Progress>) {
        let mut ticks = interval(FOLLOW_EVERY);
        let mut is_open = true;
        while is_open {
            ticks.tick().await;
            is_open = progress.has_changed().is_ok();
            let now = progress.borrow_and_update().clone();
            is_open &= now.phase != Phase::Done;
            let at = self.load.lock().at();
            self.see(at, &now);
        }
    }

    /// A progress that has no events of its own.
    fn see(&self, at: Duration, now: &Progress) {
        let mut state = self.load.lock();
        state.history.on_event(at, &LoadEvent::Progress(now));
        if now.phase != state.history.progress.phase {
            state.history.on_event(at, &LoadEvent::Phase(&now.phase));
        }
    }

    /// A job that loads nothing itself has ended without a report, for this reason.
    pub fn failed(&self, why: &str) {
        let mut now = Progress::default();
        now.phase = Phase::Draining(why.to_owned());
        let at = self.load.lock().at();
        self.see(at, &now);
    }

    /// The end of a load that has no events of its own.
    pub fn ended(&self, report: &Report) {
        let mut state = self.load.lock();
        let at = state.at();
        state.ended = Some(since_1970());
        state.history.on_event(at, &LoadEvent::Ended(report));
        state.history.on_event(at, &LoadEvent::Phase(&Phase::Done));
    }

    /// Begins to show a comparison of sources with an index in place of a load. `cluster` is its
    /// product and version.
    pub fn compares(&self, cluster: &str, sources: &[String], run_id: &str) {
        let mut state = self.load.lock();
        state.begins();
        state.history.compares(cluster, sources, run_id);
        drop(state);
        self.board.changed();
    }

    /// Shows the state of a comparison.
    pub fn compared(&self, now: &Comparison) {
        let mut state = self.load.lock();
        let at = state.at();
        state.history.compared(at, now);
    }

    /// Ends a comparison. `report` is its report as JSON, with the key `status`; `None` if it has
    /// none.
    pub fn compared_all(&self, exit_status: u8, report: Option<Value>) {
        let mut state = self.load.lock();
        let at = state.at();
        state.ended = Some(since_1970());
        state.history.compared_all(at, exit_status, report);
    }

    /// The load as viewers see it.
    pub fn snapshot(&self) -> LoadSnapshot {
        self.load.snapshot()
    }

    pub(crate) fn load(&self) -> &Arc<Load> {
        &self.load
    }
}

/// Takes the events of one load: an observer for its loader.
#[derive(Debug)]
pub struct Recorder {
    load: Arc<Load>,
    board: Arc<Board>,
}

impl Recorder {
    pub(crate) fn new(load: Arc<Load>, board: Arc<Board>) -> Self {
        Recorder { load, board }
    }
}

impl Observer for Recorder {
    fn on_event(&mut self, at: Duration, event: &LoadEvent<'_>) {
        if is_left_out(event) {
            return;
        }
        let mut state = self.load.lock();
        if let LoadEvent::Started(_) = event {
            state.started = Some(Instant::now().checked_sub(at).unwrap_or_else(Instant::now));
            state.history.start.began = since_1970() - at.as_secs_f64();
        }
        if let LoadEvent::Ended(_) = event {
            state.ended = Some(since_1970());
        }
        state.history.on_event(at, event);
        if let LoadEvent::Started(_) = event {
            self.board.changed();
        }
    }
}

/// Takes the events of a load that is a part of another one: an observer for its loader.
#[derive(Debug)]
pub struct PartRecorder {
    load: Arc<Load>,
    board: Arc<Board>,
    part: LocalPart,
}

impl Observer for PartRecorder {
    fn on_event(&mut self, _: Duration, event: &LoadEvent<'_>) {
        if is_left_out(event) {
            return;
        }
        let mut state = self.load.lock();
        // The time since the start of the whole, not of the part.
        let at = state.at();
        state.history.on_part_event(at, &mut self.part, event);
        if let LoadEvent::Started(_) = event {
            self.board.changed();
        }
    }
}

/// Most of these events come by the thousand, and the history has no use for them.
fn is_left_out(event: &LoadEvent<'_>) -> bool {
    matches!(event, LoadEvent::RequestSent(_) | LoadEvent::Settled(_) | LoadEvent::Read { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::PhaseMark;

    #[test]
    fn a_bake_is_followed_by_its_progress() {
        let (_, shown) = Arc::new(Board::new(true)).add("logs");
        let see = |seconds, phase, docs| {
            let mut progress = Progress::default();
            (progress.phase, progress.counts.docs_read) = (phase, docs);
            shown.see(Duration::from_secs(seconds), &progress);
        };
        see(1, Phase::Baking("builder".to_owned()), 0);
        see(2, Phase::Loading, 10);
        see(3, Phase::Baking("restore: 1 of 9 files".to_owned()), 20);
        see(4, Phase::Baking("restore: 2 of 9 files".to_owned()), 20);
        see(5, Phase::Baking("publish".to_owned()), 20);
        let load = shown.snapshot();
        let of = |mark: &PhaseMark| (mark.t, mark.phase.clone(), mark.step.clone(), mark.why.clone());
        let phases: Vec<_> = load.phases.iter().map(of).collect();
        let expected = [
            (0.0, "starting", "", ""),
            (1.0, "baking", "builder", "builder"),
            (2.0, "loading", "", ""),
            (3.0, "baking", "restore", "restore: 2 of 9 files"),
            (5.0, "baking", "publish", "publish"),
        ];
        let expected = expected.map(|(t, phase, step, why)| (t, phase.into(), step.into(), why.into()));
        assert_eq!((phases.as_slice(), load.state.counts.docs_read), (expected.as_slice(), 20));
    }

    #[test]
    fn a_job_that_has_failed_says_so() {
        let (_, shown) = Arc::new(Board::new(false)).add("trips");
        shown.failed("the job has failed");
        let marks = shown.snapshot().phases;
        assert!(marks.last().unwrap().why.contains("the job has failed"), "{marks:?}");
    }
}

//! All loads of a process that are shown: their histories, and the handles that control them.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use inrush_load::observe::{LoadEvent, Observer};
use inrush_load::{PauseHandle, Phase, Progress, Report, StopHandle};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::interval;

use crate::exposition::Metrics;
use crate::history::History;
use crate::marks::cut;
use crate::metrics::{self, Seen};
use crate::snapshot::{End, LoadSnapshot, Snapshot, Update, VERSION};

/// Loads that are shown. Further ones are not.
const LOADS_MAX: usize = 64;
/// The longest time without a word from the loop of a load that reads or sends.
const SILENT_MAX: Duration = Duration::from_secs(60);
/// The interval at which a progress without events is looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(100);
/// Bytes of a name.
const NAME_MAX: usize = 200;

/// The loads of a process.
#[derive(Debug, Default)]
pub(crate) struct Board {
    loads: Mutex<Vec<Arc<Load>>>,
    /// The last segments of the index, and whether an update has had them.
    segments: Mutex<(Option<Value>, bool)>,
    /// Changes that an update cannot express.
    generation: AtomicU64,
    /// Viewers may control the loads.
    control: bool,
    has_closed: AtomicBool,
}

#[derive(Debug)]
struct Load(Mutex<State>);

#[derive(Debug)]
struct State {
    history: History,
    started: Option<Instant>,
    ended: Option<f64>,
    controls: Option<Controls>,
}

/// Carries out the actions of viewers.
#[derive(Clone)]
struct Controls(Arc<dyn Fn(Control) + Send + Sync>);

impl fmt::Debug for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Controls")
    }
}

/// A load that is shown.
#[derive(Clone, Debug)]
pub struct Shown(Arc<Load>);

impl Shown {
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
        self.0.lock().controls = Some(Controls(Arc::new(control)));
    }

    /// Shows a progress that has no events of its own, such as that of a bake, until it is done.
    pub(crate) async fn follow(self, mut progress: watch::Receiver<Progress>) {
        let started = Instant::now();
        {
            let mut state = self.0.lock();
            (state.started, state.history.start.began) = (Some(started), since_1970());
            state.history.has_begun = true;
        }
        let mut ticks = interval(FOLLOW_EVERY);
        let mut is_open = true;
        while is_open {
            ticks.tick().await;
            is_open = progress.has_changed().is_ok();
            let now = progress.borrow_and_update().clone();
            is_open &= now.phase != Phase::Done;
            self.see(started.elapsed(), &now);
        }
    }

    /// A progress that has no events of its own.
    fn see(&self, at: Duration, now: &Progress) {
        let mut state = self.0.lock();
        state.history.on_event(at, &LoadEvent::Progress(now));
        if now.phase != state.history.progress.phase {
            state.history.on_event(at, &LoadEvent::Phase(&now.phase));
        }
    }

    /// The end of a load that has no events of its own.
    pub fn ended(&self, report: &Report) {
        let mut state = self.0.lock();
        let at = state.at();
        state.ended = Some(since_1970());
        state.history.on_event(at, &LoadEvent::Ended(report));
        state.history.on_event(at, &LoadEvent::Phase(&Phase::Done));
    }

    /// The load as viewers see it.
    pub fn snapshot(&self) -> LoadSnapshot {
        let state = self.0.lock();
        state.history.snapshot(state.at())
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

/// Takes the events of one load: an observer for its loader.
#[derive(Debug)]
pub struct Recorder {
    load: Arc<Load>,
    board: Arc<Board>,
}

impl Observer for Recorder {
    fn on_event(&mut self, at: Duration, event: &LoadEvent<'_>) {
        // Most of these events come by the thousand, and the history has no use for them.
        if matches!(event, LoadEvent::RequestSent(_) | LoadEvent::Settled(_) | LoadEvent::Read { .. }) {
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
            self.board.generation.fetch_add(1, Ordering::Release);
        }
    }
}

impl Load {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A state is valid after each event.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The time since the start of the load.
    fn at(&self) -> Duration {
        self.started.map(|started| started.elapsed()).unwrap_or_default()
    }
}

impl Board {
    /// `control`: viewers may control the loads.
    pub(crate) fn new(control: bool) -> Self {
        Board { control, ..Board::default() }
    }

    /// Adds a load. Loads with the same name get numbers, because a name stands for one load.
    pub(crate) fn add(self: &Arc<Self>, name: &str) -> (Recorder, Shown) {
        let mut loads = self.loads();
        let name = cut(name, NAME_MAX);
        let is_taken = |name: &str| loads.iter().any(|load| load.lock().history.start.name == name);
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name} ({n})")));
        let name = names.find(|name| !is_taken(name)).unwrap_or_default();
        let history = History::new(&name);
        let load = Arc::new(Load(Mutex::new(State { history, started: None, ended: None, controls: None })));
        if loads.len() < LOADS_MAX {
            loads.push(Arc::clone(&load));
        }
        self.generation.fetch_add(1, Ordering::Release);
        (Recorder { load: Arc::clone(&load), board: Arc::clone(self) }, Shown(load))
    }

    fn loads(&self) -> MutexGuard<'_, Vec<Arc<Load>>> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows these segments of the index.
    pub(crate) fn set_segments(&self, segments: Value) {
        *self.segments.lock().unwrap_or_else(PoisonError::into_inner) = (Some(segments), true);
    }

    /// Controls all loads.
    pub(crate) fn control(&self, control: Control) {
        for load in self.loads().iter() {
            let controls = load.lock().controls.clone();
            if let Some(Controls(act)) = controls {
                act(control);
            }
        }
    }

    /// Ends the points whose second is over.
    pub(crate) fn tick(&self) {
        for load in self.loads().iter() {
            let mut state = load.lock();
            let at = state.at();
            state.history.tick(at);
        }
    }

    /// A number that changes with each change that an update cannot express.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What is new since the last call, and everything up to the same event if `all` is set.
    pub(crate) fn take_update(&self, all: bool) -> (Update, Option<Snapshot>) {
        let (mut updates, mut loads) = (Vec::new(), Vec::new());
        for load in self.loads().clone() {
            let mut state = load.lock();
            let at = state.at();
            updates.push(state.history.take_update(at));
            if all {
                loads.push(state.history.snapshot(at));
            }
        }
        let mut segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = std::mem::take(&mut segments.1);
        let now_segments = segments.0.clone();
        let snapshot = all.then(|| self.of_loads(loads, now_segments.clone()));
        (Update { now: now(), loads: updates, segments: now_segments.filter(|_| is_new) }, snapshot)
    }

    /// Everything.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner).0.clone();
        let loads = self.loads().clone();
        self.of_loads(loads.into_iter().map(|load| Shown(load).snapshot()).collect(), segments)
    }

    fn of_loads(&self, loads: Vec<LoadSnapshot>, segments: Option<Value>) -> Snapshot {
        Snapshot {
            version: VERSION,
            inrush: env!("CARGO_PKG_VERSION"),
            now: now(),
            control: self.control,
            ended: self.is_closed(),
            loads,
            segments,
        }
    }

    /// Whether viewers may control the loads.
    pub(crate) fn has_control(&self) -> bool {
        self.control
    }

    /// The process has ended its loads.
    pub(crate) fn close(&self) {
        self.has_closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.has_closed.load(Ordering::Relaxed)
    }

    /// The reports.
    pub(crate) fn end(&self) -> End {
        End { reports: self.loads().iter().map(|load| load.lock().history.report().cloned()).collect() }
    }

    /// Whether there are loads, and all have ended.
    pub(crate) fn has_ended(&self) -> bool {
        let loads = self.loads();
        !loads.is_empty() && loads.iter().all(|load| load.lock().ended.is_some())
    }

    /// The name of the first load.
    pub(crate) fn name(&self) -> Option<String> {
        self.loads().first().map(|load| load.lock().history.start.name.clone())
    }

    /// The metrics.
    pub(crate) fn metrics(&self, viewers: usize) -> Metrics {
        let loads = self.loads().clone();
        let states: Vec<MutexGuard<'_, State>> = loads.iter().map(|load| load.lock()).collect();
        let seen = |state: &MutexGuard<'_, State>| (state.at(), state.ended);
        let times: Vec<(Duration, Option<f64>)> = states.iter().map(seen).collect();
        let seen: Vec<Seen<'_>> =
            states.iter().zip(times).map(|(state, (at, ended))| Seen { history: &state.history, at, ended }).collect();
        metrics::collect(&seen, viewers)
    }

    /// Why the process should be restarted: the loop of a load has not been heard for a minute.
    pub(crate) fn problem(&self) -> Option<String> {
        let of_load = |load: &Arc<Load>| {
            let state = load.lock();
            let loops = matches!(state.history.progress.phase, Phase::Loading | Phase::Idle | Phase::Paused(_));
            let silent = state.at().saturating_sub(state.history.heard);
            (loops && silent > SILENT_MAX)
                .then(|| format!("the load into {} has not moved for {} s", state.history.start.name, silent.as_secs()))
        };
        self.loads().iter().find_map(of_load)
    }
}

/// Seconds since 1970, with three decimals.
fn now() -> f64 {
    crate::points::rounded(since_1970())
}

fn since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_load() {
        let board = Arc::new(Board::new(false));
        (0..3).for_each(|_| drop(board.add("logs")));
        let names: Vec<String> = board.snapshot().loads.into_iter().map(|load| load.start.name).collect();
        assert_eq!(names, ["logs", "logs (2)", "logs (3)"]);
        assert!(!board.has_ended());
        (0..LOADS_MAX).for_each(|_| drop(board.add("more")));
        assert_eq!(board.snapshot().loads.len(), LOADS_MAX);
    }

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
        let load = shown.snapshot();
        let phases: Vec<_> = load.phases.iter().map(|mark| (mark.t, mark.phase.as_str(), mark.why.as_str())).collect();
        let expected = [
            (0.0, "starting", ""),
            (1.0, "baking", "builder"),
            (2.0, "loading", ""),
            (3.0, "baking", "restore: 2 of 9 files"),
        ];
        assert_eq!((phases.as_slice(), load.state.counts.docs_read), (expected.as_slice(), 20));
    }

    #[test]
    fn viewers_control_all_loads() {
        let board = Arc::new(Board::new(true));
        let seen = Arc::new(Mutex::new(Vec::new()));
        for name in ["a", "b"] {
            let seen = Arc::clone(&seen);
            board.add(name).1.control_by(move |control| seen.lock().unwrap().push((name, control)));
        }
        board.control(Control::Stop);
        assert_eq!(*seen.lock().unwrap(), [("a", Control::Stop), ("b", Control::Stop)]);
    }
}

//! All loads of a process that are shown: their histories, and the handles that control them.

mod shown;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inrush_load::Phase;
use serde_json::Value;

use crate::exposition::Metrics;
use crate::history::History;
use crate::marks::cut;
use crate::metrics::{self, Seen};
use crate::parts::PartReport;
use crate::snapshot::{End, Kind, LoadSnapshot, Snapshot, Update, VERSION};
pub(crate) use shown::Load;
pub use shown::{Control, PartRecorder, Recorder, Shown};
use shown::{Controls, State};

/// Loads that are shown. Further ones are not.
const LOADS_MAX: usize = 64;
/// The longest time without a word from the loop of a load that reads or sends.
const SILENT_MAX: Duration = Duration::from_secs(60);
/// Bytes of a name.
const NAME_MAX: usize = 200;

/// The loads of a process.
#[derive(Debug, Default)]
pub(crate) struct Board {
    loads: Mutex<Vec<Arc<Load>>>,
    /// The last segments of the index.
    segments: Extra,
    /// The runs of a sweep.
    sweep: Extra,
    /// Changes that an update cannot express.
    generation: AtomicU64,
    /// Viewers may control the loads.
    control: bool,
    has_closed: AtomicBool,
}

/// Figures beside the loads, and whether an update has had them.
#[derive(Debug, Default)]
struct Extra(Mutex<(Option<Value>, bool)>);

impl Extra {
    fn lock(&self) -> MutexGuard<'_, (Option<Value>, bool)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, value: Value) {
        *self.lock() = (Some(value), true);
    }

    fn get(&self) -> Option<Value> {
        self.lock().0.clone()
    }

    /// The figures, if they are new since the last call.
    fn take_new(&self) -> Option<Value> {
        let mut extra = self.lock();
        std::mem::take(&mut extra.1).then(|| extra.0.clone()).flatten()
    }
}

impl Board {
    /// `control`: viewers may control the loads.
    pub(crate) fn new(control: bool) -> Self {
        Board { control, ..Board::default() }
    }

    /// Shows this load in place of all earlier ones: a run of a sweep.
    pub(crate) fn replace(self: &Arc<Self>, name: &str) -> (Recorder, Shown) {
        self.loads().clear();
        self.add(name)
    }

    /// Adds a load. Loads with the same name get numbers, because a name stands for one load.
    pub(crate) fn add(self: &Arc<Self>, name: &str) -> (Recorder, Shown) {
        let mut loads = self.loads();
        let name = cut(name, NAME_MAX);
        let is_taken = |name: &str| loads.iter().any(|load| load.lock().history.start.name == name);
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name} ({n})")));
        let name = names.find(|name| !is_taken(name)).unwrap_or_default();
        let history = History::new(&name);
        let load = Arc::new(Load::new(history));
        if loads.len() < LOADS_MAX {
            loads.push(Arc::clone(&load));
        }
        drop(loads);
        self.changed();
        (Recorder::new(Arc::clone(&load), Arc::clone(self)), Shown::new(load, Arc::clone(self)))
    }

    /// All viewers get a snapshot, because an update cannot express what has changed.
    pub(crate) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Takes the report of a part of the first load. Returns the seconds until its next one.
    pub(crate) fn reported(&self, report: PartReport) -> u64 {
        let Some(load) = self.loads().first().cloned() else { return 1 };
        let mut state = load.lock();
        let at = state.at();
        state.history.reported(at, report)
    }

    fn loads(&self) -> MutexGuard<'_, Vec<Arc<Load>>> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows these segments of the index.
    pub(crate) fn set_segments(&self, segments: Value) {
        self.segments.set(segments);
    }

    /// Shows these runs of a sweep.
    pub(crate) fn set_sweep(&self, sweep: Value) {
        self.sweep.set(sweep);
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
        let snapshot = all.then(|| self.of_loads(loads));
        let (segments, sweep) = (self.segments.take_new(), self.sweep.take_new());
        (Update { now: now(), loads: updates, segments, sweep }, snapshot)
    }

    /// Everything.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let loads = self.loads().clone();
        self.of_loads(loads.iter().map(|load| load.snapshot()).collect())
    }

    fn of_loads(&self, loads: Vec<LoadSnapshot>) -> Snapshot {
        Snapshot {
            version: VERSION,
            inrush: env!("CARGO_PKG_VERSION"),
            now: now(),
            control: self.control,
            ended: self.is_closed(),
            loads,
            segments: self.segments.get(),
            sweep: self.sweep.get(),
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

    /// The kind and the name of the first load.
    pub(crate) fn name(&self) -> Option<(Kind, String)> {
        let of = |load: &Arc<Load>| {
            let state = load.lock();
            (state.history.start.kind, state.history.start.name.clone())
        };
        self.loads().first().map(of)
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

pub(crate) fn since_1970() -> f64 {
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
    fn a_sweep_shows_one_load_at_a_time() {
        let board = Arc::new(Board::new(false));
        let before = board.generation();
        (0..3).for_each(|_| drop(board.replace("sweep")));
        board.set_sweep(serde_json::json!({"cells": []}));
        let (update, snapshot) = board.take_update(true);
        assert_eq!((update.loads.len(), update.sweep.is_some()), (1, true));
        assert!(snapshot.unwrap().sweep.is_some() && board.generation() > before);
        assert!(board.take_update(false).0.sweep.is_none());
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

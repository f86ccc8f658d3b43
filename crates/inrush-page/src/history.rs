//! The bounded history of one load, made of its events. Pure: times are arguments.

mod comparison;
mod of_parts;

pub use comparison::Comparison;
pub(crate) use of_parts::LocalPart;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use inrush_core::report::Counts;
use inrush_load::observe::{LoadEvent, LoadStart, Pause, PauseKind, Sample, SampleOutcome};
use inrush_load::{Phase, Progress, Report, SettingsReport};
use inrush_sources::Lag;
use serde::Serialize;
use serde_json::Value;

use crate::errors::Errors;
use crate::latency::Latency;
use crate::marks::{Marks, cut};
use crate::nodes::Nodes;
use crate::parts::Parts;
use crate::points::{Open, Points};
use crate::snapshot::{
    FormatMark, GuardState, Kind, LoadSnapshot, LoadState, LoadUpdate, NoteMark, PhaseMark, PlanMark, Point, Start,
};

const DECISIONS_MAX: usize = 400;
const FORMATS_MAX: usize = 100;
const PHASES_MAX: usize = 300;
const NOTES_MAX: usize = 200;
/// Bytes of a reason.
const WHY_MAX: usize = 500;
const SOURCES_MAX: usize = 20;
/// Sources whose names examples of dead letters have.
const NAMES_MAX: usize = 1_000;
const PARTITIONS_MAX: usize = 200;
/// The shortest interval of a point.
const POINT_MIN: f64 = 0.95;
/// Seconds of the rates.
const RATE_SECONDS: f64 = 30.0;

/// The history of one load.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) start: Start,
    /// Names of the sources, for the examples of dead letters.
    sources: Vec<String>,
    pub(crate) has_begun: bool,
    /// The last progress. Its counts are those of the report after the end.
    pub(crate) progress: Progress,
    /// The progress and the phase without those of parts in other processes.
    own: (Progress, Phase),
    parts: Parts,
    /// Ids read from the index, for a comparison.
    ids_read: u64,
    pub(crate) nodes: Nodes,
    pub(crate) errors: Errors,
    pub(crate) guard: GuardState,
    pub(crate) latency: Latency,
    /// Seconds of pauses by kind.
    pub(crate) paused: BTreeMap<String, f64>,
    pub(crate) decisions: Marks<PlanMark>,
    pub(crate) phases: Marks<PhaseMark>,
    pub(crate) exit_status: Option<u8>,
    formats: Marks<FormatMark>,
    notes: Marks<NoteMark>,
    points: Points,
    fresh_points: Vec<Point>,
    open: Open,
    /// The counts at the end of the last point.
    counted: Counts,
    /// The end of the last point.
    pointed: f64,
    rates: Rates,
    /// The kind of the current pause.
    pause: Option<(PauseKind, f64)>,
    report: Option<Value>,
    report_is_new: bool,
    /// The time of the last event of the loop.
    pub(crate) heard: Duration,
}

/// Settled documents and bytes at the last ticks.
#[derive(Clone, Debug, Default)]
struct Rates(VecDeque<(f64, u64, u64)>);

impl Rates {
    fn see(&mut self, at: f64, docs: u64, bytes: u64) {
        self.0.push_back((at, docs, bytes));
        while self.0.get(1).is_some_and(|second| at - second.0 >= RATE_SECONDS) {
            self.0.pop_front();
        }
    }

    /// Documents and bytes per second.
    fn rates(&self) -> (f64, f64) {
        let (Some(first), Some(last)) = (self.0.front(), self.0.back()) else { return (0.0, 0.0) };
        let seconds = last.0 - first.0;
        if seconds <= 0.0 {
            return (0.0, 0.0);
        }
        let rate = |first: u64, last: u64| (last.saturating_sub(first) as f64 / seconds * 10.0).round() / 10.0;
        (rate(first.1, last.1), rate(first.2, last.2))
    }
}

impl History {
    pub(crate) fn new(name: &str) -> Self {
        let mut history = History {
            start: Start { name: name.to_owned(), ..Start::default() },
            sources: Vec::new(),
            has_begun: false,
            progress: Progress::default(),
            own: (Progress::default(), Phase::Starting),
            parts: Parts::default(),
            ids_read: 0,
            nodes: Nodes::default(),
            errors: Errors::default(),
            guard: GuardState { state: "off".to_owned(), ..GuardState::default() },
            latency: Latency::default(),
            paused: BTreeMap::new(),
            decisions: Marks::new(DECISIONS_MAX),
            phases: Marks::new(PHASES_MAX),
            exit_status: None,
            formats: Marks::new(FORMATS_MAX),
            notes: Marks::new(NOTES_MAX),
            points: Points::default(),
            fresh_points: Vec::new(),
            open: Open::default(),
            counted: Counts::default(),
            pointed: 0.0,
            rates: Rates::default(),
            pause: None,
            report: None,
            report_is_new: false,
            heard: Duration::ZERO,
        };
        history.phases.push(PhaseMark { phase: Phase::Starting.name().to_owned(), ..PhaseMark::default() });
        history
    }

    /// Takes an event of the load. `at` is its time since the start of the load.
    pub(crate) fn on_event(&mut self, at: Duration, event: &LoadEvent<'_>) {
        let t = tenths(at);
        match event {
            LoadEvent::Started(start) => self.started(t, start),
            LoadEvent::Progress(progress) => self.saw(at, progress),
            LoadEvent::RequestAnswered { sample, .. } => self.answered(sample),
            LoadEvent::DeadLetter(letter) => {
                let source = self.sources.get(letter.position.source.0 as usize).map_or("", String::as_str);
                self.errors.add(letter, source);
            }
            LoadEvent::PlanChanged(decision) => self.decisions.push(PlanMark {
                t,
                from_bytes: decision.from.batch_bytes,
                from_fly: decision.from.in_flight,
                bytes: decision.to.batch_bytes,
                fly: decision.to.in_flight,
                why: cut(&decision.why, WHY_MAX),
            }),
            LoadEvent::BodyFormatChanged(change) => self.formats.push(FormatMark {
                t,
                from: change.from.to_string(),
                to: change.to.to_string(),
                why: cut(&change.why, WHY_MAX),
                forced: change.forced,
            }),
            LoadEvent::Paused(pause) => self.paused(at, pause),
            LoadEvent::Resumed { .. } => self.resumed(at),
            LoadEvent::Phase(phase) => {
                self.own.1 = (*phase).clone();
                self.phase(t, &self.shown_phase());
            }
            LoadEvent::SettingsChanged { index, changed, .. } if !changed.is_empty() => {
                let detail = format!("settings of {index} are changed for the load, and restored after it");
                self.guard = GuardState { state: "changed".to_owned(), changed: (*changed).clone(), detail };
            }
            LoadEvent::SettingsRestored(report) => self.guard = guard(report),
            LoadEvent::Ended(report) => self.ended(at, report),
            other => self.note(t, other),
        }
    }

    fn started(&mut self, t: f64, start: &LoadStart) {
        self.has_begun = true;
        self.nodes = Nodes::new(&start.nodes);
        self.sources = start.sources.iter().take(NAMES_MAX).map(|name| cut(name, WHY_MAX)).collect();
        let sources_more = start.sources.len().saturating_sub(SOURCES_MAX);
        self.start = Start {
            kind: self.start.kind,
            name: self.start.name.clone(),
            run_id: start.run_id.clone(),
            began: self.start.began,
            cluster: start.cluster.clone(),
            sources: self.sources.iter().take(SOURCES_MAX).cloned().collect(),
            sources_more,
            bytes_total: start.bytes_total,
            controller: start.controller,
            batch_bytes: start.bounds.batch_bytes,
            in_flight: start.bounds.in_flight,
            memory_max: start.memory_max,
        };
        (self.progress.counts, self.counted) = (start.counts.clone(), start.counts.clone());
        (self.progress.plan_batch_bytes, self.progress.plan_in_flight) = (start.plan.batch_bytes, start.plan.in_flight);
        self.progress.bytes_total = start.bytes_total;
        // A load that begins late, as one of a bake, has no history before.
        self.pointed = t;
    }

    fn saw(&mut self, at: Duration, progress: &Progress) {
        self.heard = at;
        self.own.0 = progress.clone();
        self.add_up();
        self.open.saw(self.progress.memory_bytes, self.progress.in_flight);
    }

    fn answered(&mut self, sample: &Sample) {
        self.nodes.answered(sample);
        match (sample.outcome, sample.took) {
            (SampleOutcome::Answered, Some(took)) => {
                let (wall, took) = (sample.wall.as_secs_f64(), took.min(sample.wall).as_secs_f64());
                self.open.answered(wall, took);
                self.latency.answered(wall, took);
            }
            (SampleOutcome::Lost, _) => self.open.lost(),
            _ => {}
        }
    }

    fn paused(&mut self, at: Duration, pause: &Pause) {
        self.resumed(at);
        self.pause = Some((pause.kind, at.as_secs_f64()));
        // The phase of a requested pause comes first.
        let is_known = |mark: &PhaseMark| mark.phase == Phase::Paused(String::new()).name() && mark.pause.is_empty();
        if self.phases.last().is_some_and(is_known)
            && let Some(mark) = self.phases.change_last()
        {
            mark.pause = word(&pause.kind);
        }
    }

    fn resumed(&mut self, at: Duration) {
        if let Some((kind, since)) = self.pause.take() {
            *self.paused.entry(word(&kind)).or_default() += (at.as_secs_f64() - since).max(0.0);
        }
    }

    fn phase(&mut self, t: f64, phase: &Phase) {
        self.progress.phase = phase.clone();
        let (name, why) = (phase.name(), cut(why(phase), WHY_MAX));
        let (is_pause, step) = (matches!(phase, Phase::Paused(_)), step(phase));
        let is_same = |last: &PhaseMark| last.phase == name && last.step == step && (!is_pause || last.why == why);
        let same = self.phases.last().is_some_and(is_same);
        if same {
            if self.phases.last().is_some_and(|last| last.why != why)
                && let Some(last) = self.phases.change_last()
            {
                last.why = why;
            }
            return;
        }
        if let Some(last) = self.phases.change_last() {
            last.until = Some(t);
        }
        let pause = self.pause.as_ref().filter(|_| is_pause).map(|(kind, _)| word(kind)).unwrap_or_default();
        self.phases.push(PhaseMark { t, until: None, phase: name.to_owned(), step: step.to_owned(), pause, why });
    }

    fn ended(&mut self, at: Duration, report: &Report) {
        self.resumed(at);
        // Other processes of a job may have added their counts, which are no part of this history.
        let mut own = self.progress.counts.clone();
        let unknown = report.counts.docs_unknown.saturating_sub(own.docs_unknown);
        (own.docs_unknown, own.docs_read) = (own.docs_unknown + unknown, own.docs_read + unknown);
        if self.has_begun {
            self.close_point(at.as_secs_f64(), &own);
        }
        self.progress.counts = report.counts.clone();
        (self.progress.docs_settled, self.progress.docs_read) = (report.counts.docs_read, report.counts.docs_read);
        (self.progress.in_flight, self.progress.memory_bytes) = (0, 0);
        self.counted = report.counts.clone();
        self.errors.end(&report.errors);
        if self.guard.state == "changed" || !report.settings.changed.is_empty() {
            self.guard = guard(&report.settings);
        }
        self.exit_status = Some(report.exit_code());
        // A report is always JSON.
        self.report = serde_json::to_value(report).ok();
        self.report_is_new = true;
    }

    fn note(&mut self, t: f64, event: &LoadEvent<'_>) {
        let (kind, text) = match event {
            LoadEvent::RequestLost(why) => ("lost", (*why).to_owned()),
            LoadEvent::RequestRetried(why) => ("retried", (*why).to_owned()),
            LoadEvent::BodyLimited(bytes) => {
                ("limited", format!("the server refused a request as too large; requests have at most {bytes} bytes"))
            }
            LoadEvent::DocsResent(docs) => {
                ("resent", format!("a shard restarted: {docs} documents that were not flushed are sent again"))
            }
            LoadEvent::NodeUnhealthy(node) => {
                self.nodes.set_healthy(*node, false);
                ("node_down", format!("{} does not answer", self.nodes.name(*node)))
            }
            LoadEvent::NodeHealthy(node) => {
                self.nodes.set_healthy(*node, true);
                ("node_up", format!("{} answers again", self.nodes.name(*node)))
            }
            LoadEvent::SourceEnded(Some(error)) => ("source", error.to_string()),
            _ => return,
        };
        let text = cut(&text, WHY_MAX);
        if self.notes.last().is_some_and(|last| last.kind == kind && last.text == text) {
            if let Some(last) = self.notes.change_last() {
                (last.times, last.last) = (last.times + 1, t);
            }
            return;
        }
        self.notes.push(NoteMark { t, kind, text, times: 1, last: t });
    }

    /// Ends the current point if its second is over.
    pub(crate) fn tick(&mut self, at: Duration) {
        let t = at.as_secs_f64();
        if !self.has_begun || self.report.is_some() || t - self.pointed < POINT_MIN {
            return;
        }
        let counts = self.progress.counts.clone();
        self.close_point(t, &counts);
        self.nodes.tick();
        self.rates.see(t, self.progress.docs_settled, bytes_settled(&self.progress));
    }

    fn close_point(&mut self, t: f64, counts: &Counts) {
        // Both ends are rounded, so that neighbours meet.
        let (t, from) = (tenths_of(t), tenths_of(self.pointed));
        let mut point = self.open.close((t, tenths_of(t - from)), &counts.since(&self.counted));
        point.plan_bytes = self.progress.plan_batch_bytes;
        point.plan_fly = self.progress.plan_in_flight;
        point.lag = self.progress.lag.as_ref().map(|lag| lag.records);
        self.counted = counts.clone();
        self.pointed = t;
        self.points.push(point);
        self.fresh_points.push(point);
    }

    /// What is new since the last call.
    pub(crate) fn take_update(&mut self, at: Duration) -> LoadUpdate {
        LoadUpdate {
            state: self.state(at),
            points: std::mem::take(&mut self.fresh_points),
            decisions: self.decisions.take_fresh(),
            formats: self.formats.take_fresh(),
            phases: self.phases.take_fresh(),
            notes: self.notes.take_fresh(),
            errors: self.errors.take_new(),
            report: std::mem::take(&mut self.report_is_new).then(|| self.report.clone()).flatten(),
        }
    }

    /// Everything.
    pub(crate) fn snapshot(&self, at: Duration) -> LoadSnapshot {
        LoadSnapshot {
            start: self.start.clone(),
            state: self.state(at),
            points: self.points.all(),
            decisions: self.decisions.all(),
            formats: self.formats.all(),
            phases: self.phases.all(),
            notes: self.notes.all(),
            errors: self.errors.groups(),
            report: self.report.clone(),
        }
    }

    pub(crate) fn report(&self) -> Option<&Value> {
        self.report.as_ref()
    }

    /// The time left, seconds.
    pub(crate) fn seconds_left(&self) -> Option<f64> {
        let progress = &self.progress;
        let is_comparison = self.start.kind == Kind::Verify;
        if progress.phase != Phase::Loading && !(is_comparison && progress.phase == Phase::Verifying) {
            return None;
        }
        let left = progress.bytes_total?.checked_sub(bytes_settled(progress)).filter(|left| *left > 0)?;
        let (_, rate) = self.rates.rates();
        (rate >= 1.0).then(|| (left as f64 / rate).ceil())
    }

    fn state(&self, at: Duration) -> LoadState {
        let progress = &self.progress;
        let ended = self.report.is_some();
        let (docs_per_second, bytes_per_second) = if ended { (0.0, 0.0) } else { self.rates.rates() };
        let (parts, parts_more) = self.parts.shown(at.as_secs_f64());
        let total = progress.bytes_total.filter(|total| *total > 0);
        let share = |total| (bytes_settled(progress) as f64 / total as f64).min(1.0);
        LoadState {
            t: tenths(at),
            phase: progress.phase.name().to_owned(),
            why: cut(why(&progress.phase), WHY_MAX),
            paused_by_hand: self.pause.as_ref().is_some_and(|(kind, _)| *kind == PauseKind::ByHand),
            counts: progress.counts.clone(),
            docs_per_second,
            bytes_per_second,
            share: total.map(|total| (share(total) * 1e4).round() / 1e4),
            seconds_left: self.seconds_left(),
            docs_waiting: progress.docs_read.saturating_sub(progress.docs_settled),
            rows_read: progress.rows_read,
            rows_total: progress.rows_total,
            in_flight: progress.in_flight,
            plan_batch_bytes: progress.plan_batch_bytes,
            plan_in_flight: progress.plan_in_flight,
            memory_bytes: progress.memory_bytes,
            encoding: progress.body_format.encoding.to_string(),
            compression: progress.body_format.compression.to_string(),
            nodes: self.nodes.shown(),
            guard: self.guard.clone(),
            lag: progress.lag.as_deref().map(shown_lag),
            ids_read: self.ids_read,
            parts,
            parts_more,
        }
    }

    /// Whether the load is paused, for the metrics.
    pub(crate) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// The seconds of pauses by kind, with the current one.
    pub(crate) fn paused_seconds(&self, at: Duration) -> BTreeMap<String, f64> {
        let mut paused = self.paused.clone();
        if let Some((kind, since)) = &self.pause {
            *paused.entry(word(kind)).or_default() += (at.as_secs_f64() - since).max(0.0);
        }
        paused
    }
}

fn shown_lag(lag: &Lag) -> Lag {
    let mut lag = lag.clone();
    lag.partitions.truncate(PARTITIONS_MAX);
    lag
}

fn guard(report: &SettingsReport) -> GuardState {
    let detail = cut(&report.detail, WHY_MAX);
    GuardState { state: word(&report.restored), changed: report.changed.clone(), detail }
}

/// The word that JSON has for a value of an enumeration.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// The step of a bake, which the text has in front of its progress.
fn step(phase: &Phase) -> &str {
    let Phase::Baking(text) = phase else { return "" };
    text.split(": ").next().unwrap_or_default()
}

fn why(phase: &Phase) -> &str {
    match phase {
        Phase::Paused(why) | Phase::Draining(why) | Phase::Baking(why) => why,
        Phase::Finishing { detail, .. } => detail,
        _ => "",
    }
}

/// Bytes of the sources whose documents are settled, by their share of the documents that were
/// read: the reader runs ahead.
fn bytes_settled(progress: &Progress) -> u64 {
    if progress.docs_read == 0 {
        return 0;
    }
    let settled = u128::from(progress.docs_settled.min(progress.docs_read));
    (u128::from(progress.bytes_read) * settled / u128::from(progress.docs_read)) as u64
}

fn tenths(at: Duration) -> f64 {
    tenths_of(at.as_secs_f64())
}

fn tenths_of(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests;

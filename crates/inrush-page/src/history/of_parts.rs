//! The parts of a load: those in this process by their events, those in other processes by their
//! reports.

use std::time::Duration;

use inrush_load::Phase;
use inrush_load::observe::{LoadEvent, LoadStart};

use super::{History, SOURCES_MAX, tenths};
use crate::marks::cut;
use crate::parts::{GROUPS_MAX, PartReport};

/// A part of a load in this process, such as the load of a bake.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalPart {
    /// The places of its nodes among those of all parts.
    nodes: Vec<u16>,
}

impl LocalPart {
    pub(super) fn place(&self, node: usize) -> u16 {
        self.nodes.get(node).copied().unwrap_or(u16::MAX)
    }
}

impl History {
    /// Takes an event of a part of the load. Its progress, its phases and its end are left out:
    /// those of the whole load are shown.
    pub(crate) fn on_part_event(&mut self, at: Duration, part: &mut LocalPart, event: &LoadEvent<'_>) {
        match event {
            LoadEvent::Started(start) => {
                part.nodes = self.nodes.join(&start.nodes);
                self.joined(start);
            }
            LoadEvent::RequestAnswered { sample, .. } => {
                let mut sample = **sample;
                sample.node = part.place(usize::from(sample.node));
                self.answered(&sample);
            }
            LoadEvent::NodeUnhealthy(node) => {
                self.on_event(at, &LoadEvent::NodeUnhealthy(usize::from(part.place(*node))));
            }
            LoadEvent::NodeHealthy(node) => {
                self.on_event(at, &LoadEvent::NodeHealthy(usize::from(part.place(*node))));
            }
            LoadEvent::PlanChanged(_)
            | LoadEvent::BodyFormatChanged(_)
            | LoadEvent::RequestLost(_)
            | LoadEvent::RequestRetried(_)
            | LoadEvent::DeadLetter(_)
            | LoadEvent::BodyLimited(_)
            | LoadEvent::DocsResent(_)
            | LoadEvent::Paused(_)
            | LoadEvent::Resumed { .. }
            | LoadEvent::SourceEnded(Some(_)) => self.on_event(at, event),
            _ => {}
        }
    }

    /// The facts of a part's start. All parts have the same sources.
    fn joined(&mut self, start: &LoadStart) {
        if self.sources.is_empty() {
            self.sources = start.sources.iter().take(super::NAMES_MAX).map(|name| cut(name, super::WHY_MAX)).collect();
        }
        let shown = &mut self.start;
        shown.sources = self.sources.iter().take(SOURCES_MAX).cloned().collect();
        shown.sources_more = start.sources.len().saturating_sub(SOURCES_MAX);
        (shown.cluster, shown.controller) = (start.cluster.clone(), start.controller);
        (shown.batch_bytes, shown.in_flight) = (start.bounds.batch_bytes, start.bounds.in_flight);
        shown.bytes_total = start.bytes_total;
        shown.memory_max += start.memory_max;
        // The documents of an earlier run are no rate of this one.
        self.counted = self.counted.plus(&start.counts);
    }

    /// What this load tells the page of the job that it is a part of.
    pub(crate) fn part_report(&self, name: &str, host: &str) -> PartReport {
        let progress = &self.progress;
        let mut errors = self.errors.groups();
        errors.truncate(GROUPS_MAX);
        PartReport {
            name: name.to_owned(),
            run_id: self.start.run_id.clone(),
            host: host.to_owned(),
            phase: progress.phase.name().to_owned(),
            counts: progress.counts.clone(),
            docs_read: progress.docs_read,
            in_flight: progress.in_flight,
            plan_in_flight: progress.plan_in_flight,
            plan_batch_bytes: progress.plan_batch_bytes,
            memory_bytes: progress.memory_bytes,
            body_format: progress.body_format,
            latency: self.latency.clone(),
            longest: self.points.last().map_or(0.0, |point| point.max),
            nodes: self.nodes.iter().cloned().collect(),
            errors,
            ended: self.report.is_some(),
        }
    }

    /// Takes the report of a part in another process. Returns the seconds until its next one.
    pub(crate) fn reported(&mut self, at: Duration, report: PartReport) -> u64 {
        if self.report.is_none()
            && let Some(before) = self.parts.take(at.as_secs_f64(), report.clone())
        {
            let lost = |report: &PartReport| report.nodes.iter().map(|node| node.lost).sum::<u64>();
            let answers = report.latency.since(&before.latency);
            self.open.add(&answers, report.longest, lost(&report).saturating_sub(lost(&before)));
            self.latency.add(&answers);
            for node in &report.nodes {
                self.nodes.add(node, before.nodes.iter().find(|known| known.name == node.name));
            }
            if report.errors != before.errors {
                self.errors.of_parts(self.parts.errors());
            }
            self.add_up();
            self.phase(tenths(at), &self.shown_phase());
        }
        self.parts.every()
    }

    /// Makes the progress of the job's own and that of its parts.
    pub(super) fn add_up(&mut self) {
        // Phases have events of their own.
        let phase = std::mem::take(&mut self.progress.phase);
        let own = &self.own.0;
        self.progress = if self.parts.is_empty() { own.clone() } else { self.parts.added_to(own) };
        self.progress.phase = phase;
    }

    /// The phase of the load. A job of several processes reads no documents itself: it loads while
    /// a part does.
    pub(super) fn shown_phase(&self) -> Phase {
        match &self.own.1 {
            Phase::Idle | Phase::Loading if self.parts.is_loading() => Phase::Loading,
            Phase::Loading if !self.parts.is_empty() => Phase::Idle,
            phase => phase.clone(),
        }
    }
}

//! The parts of a load that is spread over several processes: what each of them tells the page of
//! the job, and the sums. Pure.

use std::collections::BTreeMap;

use inrush_core::BodyFormat;
use inrush_core::report::Counts;
use inrush_load::Progress;
use serde::{Deserialize, Serialize};

use crate::latency::Latency;
use crate::marks::cut;
use crate::nodes::OneNode;
use crate::points::rounded;
use crate::snapshot::{ErrorGroup, Part};

/// Parts that are counted. Further ones are not, until the end of the job.
const PARTS_MAX: usize = 10_000;
/// Parts that viewers get.
const SHOWN_MAX: usize = 100;
/// Bytes of a name.
const NAME_MAX: usize = 200;
/// Groups of dead letters that a part tells.
pub(crate) const GROUPS_MAX: usize = 10;
/// Parts for each of which there may be one report in a second, all together.
const REPORTS_A_SECOND: usize = 100;

/// What a part tells the page of its job: sums since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PartReport {
    /// The name of the part in its job.
    pub(crate) name: String,
    /// The attempt. The counts of an earlier attempt with the same name no longer count.
    pub(crate) run_id: String,
    pub(crate) host: String,
    /// The phase in a few words.
    pub(crate) phase: String,
    pub(crate) counts: Counts,
    pub(crate) docs_read: u64,
    pub(crate) in_flight: u32,
    pub(crate) plan_in_flight: u32,
    pub(crate) plan_batch_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) body_format: BodyFormat,
    pub(crate) latency: Latency,
    /// The longest answer of the last second.
    pub(crate) longest: f64,
    pub(crate) nodes: Vec<OneNode>,
    pub(crate) errors: Vec<ErrorGroup>,
    pub(crate) ended: bool,
}

/// All parts of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    all: BTreeMap<String, Known>,
    /// The counts of all parts.
    counts: Counts,
}

/// What is known of a part.
#[derive(Clone, Debug, Default)]
struct Known {
    last: PartReport,
    /// The time of its last report, seconds since the start of the job.
    heard: f64,
    docs_per_second: f64,
}

impl Parts {
    /// Takes a report of a part. Returns the one before of the same attempt, or `None` where there
    /// is no room for another part.
    pub(crate) fn take(&mut self, t: f64, mut report: PartReport) -> Option<PartReport> {
        report.name = cut(&report.name, NAME_MAX);
        report.host = cut(&report.host, NAME_MAX);
        report.errors.truncate(GROUPS_MAX);
        if self.all.len() >= PARTS_MAX && !self.all.contains_key(&report.name) {
            return None;
        }
        let known = self.all.entry(report.name.clone()).or_default();
        let is_same = known.last.run_id == report.run_id;
        let has_counted = known.last.counts != Counts::default();
        let before = if is_same { std::mem::take(&mut known.last) } else { PartReport::default() };
        let (docs, seconds) = (report.counts.docs_read.saturating_sub(before.counts.docs_read), t - known.heard);
        let rate = if is_same && seconds > 0.0 { docs as f64 / seconds } else { 0.0 };
        let more = report.counts.since(&before.counts);
        *known = Known { heard: t, docs_per_second: rounded(rate), last: report };
        self.counts = match is_same || !has_counted {
            true => self.counts.plus(&more),
            // An earlier attempt no longer counts.
            false => self.all.values().fold(Counts::default(), |sum, part| sum.plus(&part.last.counts)),
        };
        Some(before)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a part loads documents.
    pub(crate) fn is_loading(&self) -> bool {
        self.all.values().any(|part| !part.last.ended)
    }

    /// Seconds between two reports of a part, so that many parts do not keep the job busy.
    pub(crate) fn every(&self) -> u64 {
        let running = self.all.values().filter(|part| !part.last.ended).count();
        running.div_ceil(REPORTS_A_SECOND).max(1) as u64
    }

    /// The groups of dead letters of all parts.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &ErrorGroup> {
        self.all.values().flat_map(|part| &part.last.errors)
    }

    /// The progress of the job itself with that of its parts.
    pub(crate) fn added_to(&self, own: &Progress) -> Progress {
        let mut all = own.clone();
        all.counts = own.counts.plus(&self.counts);
        all.docs_settled = own.docs_settled + self.counts.docs_read;
        all.docs_dead_lettered = all.counts.docs_dead_lettered;
        all.docs_superseded = all.counts.docs_superseded;
        all.bytes_read = own.bytes_read + self.counts.bytes_read;
        all.bytes_sent = all.counts.bytes_sent;
        all.requests = all.counts.requests;
        all.retried_items = all.counts.retried_items;
        let running = self.all.values().filter(|part| !part.last.ended);
        all.docs_read += self.all.values().map(|part| part.last.docs_read).sum::<u64>();
        if self.is_loading() {
            (all.plan_in_flight, all.plan_batch_bytes) = (0, 0);
        }
        for Known { last, .. } in running {
            all.in_flight += last.in_flight;
            all.plan_in_flight += last.plan_in_flight;
            all.plan_batch_bytes = all.plan_batch_bytes.max(last.plan_batch_bytes);
            all.memory_bytes += last.memory_bytes;
            all.body_format = last.body_format;
        }
        all
    }

    /// The parts as viewers get them: those that run first, and those that ended last. The number
    /// is that of the others.
    pub(crate) fn shown(&self, t: f64) -> (Vec<Part>, usize) {
        let mut parts: Vec<&Known> = self.all.values().collect();
        parts.sort_by(|a, b| a.last.ended.cmp(&b.last.ended).then_with(|| by_age(a, b)));
        let more = parts.len().saturating_sub(SHOWN_MAX);
        parts.truncate(SHOWN_MAX);
        (parts.into_iter().map(|part| part.shown(t)).collect(), more)
    }
}

/// Parts that run in the order of their names, those that ended from the last one.
fn by_age(a: &Known, b: &Known) -> std::cmp::Ordering {
    let by_name = || natural(&a.last.name).cmp(&natural(&b.last.name));
    if a.last.ended { b.heard.total_cmp(&a.heard).then_with(by_name) } else { by_name() }
}

/// `partition 9` is before `partition 10`.
fn natural(name: &str) -> (usize, &str) {
    (name.len(), name)
}

impl Known {
    fn shown(&self, t: f64) -> Part {
        let last = &self.last;
        Part {
            name: last.name.clone(),
            host: last.host.clone(),
            phase: cut(&last.phase, NAME_MAX),
            docs: last.counts.docs_read,
            docs_per_second: if last.ended { 0.0 } else { self.docs_per_second },
            dead_lettered: last.counts.docs_dead_lettered,
            rejected: last.counts.rejected_items,
            in_flight: if last.ended { 0 } else { last.in_flight },
            silent: if last.ended { 0.0 } else { rounded((t - self.heard).max(0.0)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, run: &str, docs: u64, ended: bool) -> PartReport {
        let counts = Counts::build(|counts| (counts.docs_read, counts.docs_created) = (docs, docs));
        let (name, run_id) = (name.to_owned(), run.to_owned());
        PartReport { name, run_id, counts, docs_read: docs + 5, in_flight: 2, ended, ..PartReport::default() }
    }

    #[test]
    fn parts_are_added_up_and_a_later_attempt_replaces_an_earlier_one() {
        let mut parts = Parts::default();
        parts.take(1.0, report("partition 0", "a", 100, false));
        parts.take(2.0, report("partition 1", "b", 10, false));
        let before = parts.take(3.0, report("partition 0", "a", 300, true)).unwrap();
        assert_eq!(before.counts.docs_read, 100);
        let mut own = Progress::default();
        own.docs_settled = 1;
        let sum = parts.added_to(&own);
        assert_eq!((sum.docs_settled, sum.docs_read, sum.in_flight), (311, 320, 2));
        // The task failed, and another attempt begins.
        assert_eq!(parts.take(4.0, report("partition 1", "c", 4, false)), Some(PartReport::default()));
        assert_eq!(parts.added_to(&own).counts.docs_created, 304);
        let (shown, more) = parts.shown(9.5);
        assert_eq!((shown[0].name.as_str(), shown[0].silent, more), ("partition 1", 5.5, 0));
        assert_eq!((shown[1].phase.as_str(), shown[1].docs, shown[1].in_flight), ("", 300, 0));
    }

    #[test]
    fn many_parts_are_bounded_and_report_less_often() {
        let mut parts = Parts::default();
        for n in 0..PARTS_MAX + 5 {
            parts.take(n as f64, report(&format!("partition {n}"), "a", 1, n % 20 != 0));
        }
        let (shown, more) = parts.shown(1e6);
        assert_eq!((shown.len(), more), (SHOWN_MAX, PARTS_MAX - SHOWN_MAX));
        assert_eq!((shown[0].name.as_str(), shown[1].name.as_str()), ("partition 0", "partition 20"));
        assert_eq!(parts.every(), 5);
        assert!(parts.take(1.0, report("one more", "a", 1, false)).is_none());
        assert_eq!(parts.added_to(&Progress::default()).counts.docs_read, PARTS_MAX as u64);
    }
}

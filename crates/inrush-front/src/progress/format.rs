//! The words and numbers of the progress line. Pure.

use std::collections::VecDeque;

use inrush_core::BodyFormat;
use inrush_load::{Phase, Progress};
use inrush_sources::Lag;

use crate::units;

/// The window of recent rates, seconds: long enough to smooth over requests, short enough to show a
/// stall.
const WINDOW_SECONDS: f64 = 5.0;

/// Samples of the last seconds, for recent rates.
#[derive(Debug, Default)]
pub struct RateWindow {
    samples: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    seconds: f64,
    docs: u64,
    bytes: u64,
}

impl RateWindow {
    /// Begins with the documents of earlier runs of a resumed load. Without it rates begin at zero.
    pub fn begin(&mut self, now: &Progress) {
        if self.samples.is_empty() && now.phase != Phase::Starting {
            let (docs, bytes) = (now.docs_settled, bytes_settled(now));
            self.samples.push_back(Sample { seconds: now.seconds, docs, bytes });
        }
    }

    /// Adds a sample of the load's progress.
    pub fn see(&mut self, now: &Progress) {
        self.push(now.seconds, now.docs_settled, bytes_settled(now));
    }

    /// Adds a sample at `seconds` after the start of the load.
    pub fn push(&mut self, seconds: f64, docs: u64, bytes: u64) {
        if self.samples.is_empty() && seconds > 0.0 {
            self.samples.push_back(Sample { seconds: 0.0, docs: 0, bytes: 0 });
        }
        self.samples.push_back(Sample { seconds, docs, bytes });
        // One sample older than the window is kept, so that the samples always span the window.
        while self.samples.get(1).is_some_and(|second| seconds - second.seconds >= WINDOW_SECONDS) {
            self.samples.pop_front();
        }
    }

    /// Documents per second. None until two samples differ in time.
    pub fn docs_per_second(&self) -> Option<f64> {
        self.rate(|sample| sample.docs)
    }

    /// Bytes of the sources per second. None until two samples differ in time.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.rate(|sample| sample.bytes)
    }

    fn rate(&self, of: impl Fn(&Sample) -> u64) -> Option<f64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let seconds = last.seconds - first.seconds;
        (seconds > 0.0).then(|| of(last).saturating_sub(of(first)) as f64 / seconds)
    }
}

/// The progress line: `1,234,567 docs  512.0 MiB (41 %)  123,456 docs/s  0:12 left  3 dead letters
/// 12 retried  4 of 4 in flight x 2.0 MiB`.
///
/// The most important parts come first, because the line is cut at the terminal's width. The reason
/// of a pause or of draining comes before everything.
pub fn line(progress: &Progress, rates: &RateWindow) -> String {
    let mut parts = Vec::new();
    match &progress.phase {
        // No document is in flight. While the builder loads, the phase is that of its load.
        Phase::Baking(step) => return format!("bake: {step}"),
        Phase::Loading | Phase::Done => {}
        phase @ Phase::Finishing { .. } => parts.push(finishing(phase)),
        phase @ (Phase::Paused(why) | Phase::Draining(why)) => parts.push(format!("{}: {why}", phase.name())),
        phase => parts.push(phase.name().to_owned()),
    }
    parts.push(format!("{} docs", units::count(progress.docs_settled)));
    parts.extend(rows_read(progress));
    let bytes = units::bytes(bytes_settled(progress));
    parts.push(match percent(progress) {
        Some(percent) => format!("{bytes} ({percent} %)"),
        None => bytes,
    });
    if let Some(rate) = rates.docs_per_second().filter(|_| has_rate(&progress.phase)) {
        parts.push(format!("{} docs/s", units::count(rate.round() as u64)));
    }
    parts.extend(progress.lag.as_deref().map(behind));
    if let Some(seconds) = seconds_left(progress, rates) {
        parts.push(format!("{} left", clock(seconds)));
    }
    if progress.docs_dead_lettered > 0 {
        parts.push(units::counted(progress.docs_dead_lettered, "dead letter"));
    }
    if progress.docs_superseded > 0 {
        parts.push(format!("{} superseded", units::count(progress.docs_superseded)));
    }
    if progress.retried_items > 0 {
        parts.push(format!("{} retried", units::count(progress.retried_items)));
    }
    let batch = units::bytes(progress.plan_batch_bytes);
    let wire =
        if progress.body_format == BodyFormat::PLAIN { String::new() } else { format!(" {}", progress.body_format) };
    parts.push(format!("{} of {} in flight x {batch}{wire}", progress.in_flight, progress.plan_in_flight));
    parts.join("  ")
}

/// How far the source is behind: `1,234 behind`, and by how long.
pub fn behind(lag: &Lag) -> String {
    let records = units::count(lag.records);
    match lag.seconds {
        Some(seconds) => format!("{records} behind ({})", units::seconds(seconds)),
        None => format!("{records} behind"),
    }
}

/// Whether documents are read in this phase. After the last one the time of the progress stands
/// still, and with it its rates.
pub fn has_rate(phase: &Phase) -> bool {
    matches!(phase, Phase::Loading | Phase::Idle | Phase::Paused(_) | Phase::Draining(_))
}

/// A step at the end, with its progress.
pub fn finishing(phase: &Phase) -> String {
    match phase {
        Phase::Finishing { step, detail } if !detail.is_empty() => format!("{}: {detail}", step.name()),
        other => other.name().to_owned(),
    }
}

/// Bytes of the sources whose documents are settled. They are estimated by the share of settled
/// documents, because the reader runs ahead by as much as memory allows: for a small file, by the
/// whole file.
pub fn bytes_settled(progress: &Progress) -> u64 {
    if progress.docs_read == 0 {
        return 0;
    }
    let settled = u128::from(progress.docs_settled.min(progress.docs_read));
    (u128::from(progress.bytes_read) * settled / u128::from(progress.docs_read)) as u64
}

/// The settled share of the sources, rounded down so that 100 means all. A file that grows never
/// exceeds 100.
pub fn percent(progress: &Progress) -> Option<u64> {
    let total = progress.bytes_total.filter(|total| *total > 0)?;
    Some((u128::from(bytes_settled(progress).min(total)) * 100 / u128::from(total)) as u64)
}

/// The rows that a query has read. It may read all of them before its first document.
pub fn rows_read(progress: &Progress) -> Option<String> {
    let read = units::count(progress.rows_read?);
    Some(match progress.rows_total {
        Some(total) => format!("{read} of {} rows read", units::count(total)),
        None => format!("{read} rows read"),
    })
}

/// The time left, by the recent rate of bytes. None while the rate is zero.
pub fn seconds_left(progress: &Progress, rates: &RateWindow) -> Option<u64> {
    if progress.phase != Phase::Loading {
        return None;
    }
    let left = progress.bytes_total?.checked_sub(bytes_settled(progress)).filter(|left| *left > 0)?;
    let rate = rates.bytes_per_second().filter(|rate| *rate >= 1.0)?;
    Some((left as f64 / rate).ceil() as u64)
}

/// `0:07`, `12:30`, `3:07:00`.
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn loading() -> Progress {
        let mut progress = Progress::default();
        (progress.docs_read, progress.docs_settled) = (3_000, 1_500);
        (progress.bytes_read, progress.bytes_total, progress.bytes_sent) = (1 << 20, Some(1 << 20), 400 << 10);
        (progress.requests, progress.in_flight) = (3, 3);
        (progress.plan_in_flight, progress.plan_batch_bytes) = (4, 2 << 20);
        progress.seconds = 2.0;
        progress.phase = Phase::Loading;
        progress
    }

    fn rates_of(progress: &Progress) -> RateWindow {
        let mut rates = RateWindow::default();
        rates.push(progress.seconds, progress.docs_settled, bytes_settled(progress));
        rates
    }

    #[test]
    fn a_line_while_loading() {
        let mut progress = loading();
        let rates = rates_of(&progress);
        assert_eq!(
            line(&progress, &rates),
            "1,500 docs  512.0 KiB (50 %)  750 docs/s  0:02 left  3 of 4 in flight x 2.0 MiB"
        );
        progress.retried_items = 12;
        progress.docs_dead_lettered = 1;
        progress.bytes_total = None;
        assert_eq!(
            line(&progress, &rates),
            "1,500 docs  512.0 KiB  750 docs/s  1 dead letter  12 retried  3 of 4 in flight x 2.0 MiB"
        );
    }

    #[test]
    fn a_source_says_how_far_it_is_behind() {
        let mut progress = loading();
        progress.bytes_total = None;
        let mut lag = Lag::default();
        lag.records = 1_234;
        progress.lag = Some(Arc::new(lag.clone()));
        let rates = rates_of(&progress);
        assert!(line(&progress, &rates).contains("750 docs/s  1,234 behind  3 of 4"), "{}", line(&progress, &rates));
        lag.seconds = Some(3.12);
        progress.lag = Some(Arc::new(lag));
        assert!(line(&progress, &rates).contains("750 docs/s  1,234 behind (3.1 s)  3 of 4"));
    }

    #[test]
    fn reasons_to_stand_still_come_first() {
        let mut progress = loading();
        progress.phase = Phase::Paused("index logs is write-blocked".into());
        let line = line(&progress, &rates_of(&progress));
        assert!(line.starts_with("paused: index logs is write-blocked  1,500 docs"), "{line}");
        assert!(!line.contains("left"));
        progress.phase = Phase::Verifying;
        let line = super::line(&progress, &rates_of(&progress));
        assert!(line.starts_with("verifying  1,500 docs") && !line.contains("docs/s"), "{line}");
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        let mut progress = loading();
        progress.seconds = 0.0;
        progress.bytes_total = Some(0);
        assert_eq!(line(&progress, &rates_of(&progress)), "1,500 docs  512.0 KiB  3 of 4 in flight x 2.0 MiB");
        assert_eq!(line(&progress, &RateWindow::default()), "1,500 docs  512.0 KiB  3 of 4 in flight x 2.0 MiB");

        // A source that grew while it was read.
        progress.bytes_total = Some(1);
        assert!(line(&progress, &RateWindow::default()).contains("(100 %)"));
    }

    #[test]
    fn rates_are_recent() {
        let mut rates = RateWindow::default();
        for second in 0..=10 {
            rates.push(f64::from(second), 1_000 * second as u64, 0);
        }
        assert_eq!(rates.docs_per_second(), Some(1_000.0));
        for second in 11..=20 {
            rates.push(f64::from(second), 10_000, 0);
        }
        assert_eq!(rates.docs_per_second(), Some(0.0));
        assert_eq!(rates.bytes_per_second(), Some(0.0));
        let mut progress = loading();
        progress.bytes_total = Some(u64::MAX);
        assert!(!line(&progress, &rates).contains("left"), "no time left is shown while the rate is zero");
    }

    #[test]
    fn a_resumed_load_begins_with_the_documents_of_its_earlier_runs() {
        let (mut rates, mut now) = (RateWindow::default(), Progress::default());
        rates.begin(&now);
        now = loading();
        (now.docs_settled, now.docs_read, now.seconds) = (1_000_000, 1_000_000, 0.1);
        rates.begin(&now);
        (now.docs_settled, now.docs_read, now.seconds) = (1_001_000, 1_001_000, 2.1);
        rates.see(&now);
        assert_eq!(rates.docs_per_second(), Some(500.0));
    }

    #[test]
    fn clocks() {
        assert_eq!([clock(7), clock(750), clock(11_220)], ["0:07", "12:30", "3:07:00"]);
    }
}

//! Progress on stdout for programs: one JSON object a line, in regular intervals.

use std::time::Duration;

use inrush_core::report::Counts;
use inrush_load::{Phase, Progress};
use inrush_sources::Lag;
use serde::Serialize;
use tokio::sync::watch;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// Prints on stdout.
pub(crate) type Print = fn(&str) -> anyhow::Result<()>;

/// The progress as a program reads it. A key that the report has, too, means the same.
#[derive(Serialize)]
struct Line<'a> {
    /// UTC, as in the log.
    time: String,
    phase: &'static str,
    /// The reason of a pause or of a stop, or the progress of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    seconds: f64,
    #[serde(flatten)]
    counts: &'a Counts,
    /// Of the time since the line before.
    docs_per_second: f64,
    bytes_per_second: f64,
    /// Read and not settled.
    docs_waiting: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_total: Option<u64>,
    in_flight: u32,
    memory_bytes: u64,
    plan: Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<&'a Lag>,
}

/// The size of requests.
#[derive(Serialize)]
struct Plan {
    batch_bytes: u64,
    in_flight: u32,
}

/// Prints the progress each time that `every` has passed, until the load is done or its sender is
/// dropped.
pub(crate) async fn report(mut progress: watch::Receiver<Progress>, every: Duration, print: Print) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick is that of the start.
    ticks.tick().await;
    let mut before = Progress::default();
    loop {
        tokio::select! {
            ended = progress.wait_for(|progress| progress.phase == Phase::Done) => {
                // The report follows.
                drop(ended);
                return;
            }
            _ = ticks.tick() => {}
        }
        let now = progress.borrow().clone();
        let text = text(&now, &before, utc());
        before = now;
        // A reader that is slow holds nothing up but this.
        let printed = tokio::task::spawn_blocking(move || print(&text)).await;
        if let Ok(Err(error)) = printed {
            tracing::warn!("{error:#}; the progress is not printed any more");
            return;
        }
    }
}

/// The line of `now`, which follows that of `before`.
fn text(now: &Progress, before: &Progress, time: String) -> String {
    let seconds = now.seconds - before.seconds;
    let rate = |of: fn(&Counts) -> u64| match of(&now.counts).saturating_sub(of(&before.counts)) {
        more if seconds > 0.0 => (more as f64 / seconds * 100.0).round() / 100.0,
        _ => 0.0,
    };
    let line = Line {
        time,
        phase: now.phase.name(),
        why: why(&now.phase),
        seconds: now.seconds,
        counts: &now.counts,
        docs_per_second: rate(|counts| counts.docs_read),
        bytes_per_second: rate(|counts| counts.bytes_read),
        docs_waiting: now.docs_read.saturating_sub(now.docs_settled),
        bytes_total: now.bytes_total,
        in_flight: now.in_flight,
        memory_bytes: now.memory_bytes,
        plan: Plan { batch_bytes: now.plan_batch_bytes, in_flight: now.plan_in_flight },
        lag: now.lag.as_deref(),
    };
    // Numbers and strings are always JSON.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

fn why(phase: &Phase) -> Option<&str> {
    match phase {
        Phase::Paused(why) | Phase::Draining(why) | Phase::Baking(why) => Some(why),
        Phase::Finishing { detail, .. } if !detail.is_empty() => Some(detail),
        _ => None,
    }
}

/// The time as the log has it.
fn utc() -> String {
    let mut time = String::new();
    // Writing to a string does not fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    time
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn progress(docs_read: u64, seconds: f64, phase: Phase) -> Progress {
        let mut progress = Progress::default();
        (progress.docs_read, progress.docs_settled, progress.seconds) = (docs_read + 7, docs_read, seconds);
        progress.counts = Counts::build(|counts| {
            (counts.docs_read, counts.docs_indexed, counts.docs_created) = (docs_read, docs_read, docs_read);
            counts.bytes_read = docs_read * 100;
        });
        progress.phase = phase;
        progress
    }

    fn parsed(now: &Progress, before: &Progress) -> Value {
        let text = text(now, before, "2026-01-31T10:00:00.000000Z".to_owned());
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn rates_are_those_since_the_line_before() {
        let (first, second) = (progress(100, 2.0, Phase::Loading), progress(160, 6.0, Phase::Loading));
        let line = parsed(&first, &Progress::default());
        assert_eq!((&line["docs_per_second"], &line["docs_waiting"]), (&json!(50.0), &json!(7)));
        let line = parsed(&second, &first);
        assert_eq!((&line["docs_per_second"], &line["bytes_per_second"]), (&json!(15.0), &json!(1_500.0)));
        assert_eq!(parsed(&second, &second)["docs_per_second"], 0.0);
        assert_eq!((&line["phase"], line.get("why"), line.get("lag")), (&json!("loading"), None, None));
        assert!(line.get("status").is_none(), "that is a key of the report alone");
    }

    #[test]
    fn a_pause_has_its_reason() {
        let line = parsed(&progress(1, 1.0, Phase::Paused("index logs is red".into())), &Progress::default());
        assert_eq!((&line["phase"], &line["why"]), (&json!("paused"), &json!("index logs is red")));
    }

    #[test]
    fn the_page_lists_the_keys() {
        const PAGE: &str = include_str!("../../../../docs/report.md");
        let (_, section) = PAGE.split_once("\n## Progress lines\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let listed: BTreeSet<&str> =
            section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(key, _)| key).collect();
        let mut full = progress(1, 1.0, Phase::Paused("text".into()));
        (full.bytes_total, full.lag) = (Some(1), Some(Arc::new(Lag::default())));
        let line = parsed(&full, &Progress::default());
        let counts = serde_json::to_value(Counts::default()).unwrap();
        let keys = line.as_object().unwrap().keys().filter(|key| counts.get(key.as_str()).is_none());
        assert_eq!(keys.map(String::as_str).collect::<BTreeSet<_>>(), listed);
    }

    #[test]
    fn times_are_utc() {
        let time = utc();
        assert!(time.starts_with("20") && time.contains('T') && time.ends_with('Z'), "{time}");
    }

    #[tokio::test]
    async fn a_load_that_is_done_ends_the_lines() {
        let (sender, receiver) = watch::channel(progress(1, 1.0, Phase::Done));
        report(receiver, Duration::from_secs(3600), |_| panic!("there is no line")).await;
        let receiver = sender.subscribe();
        sender.send_modify(|progress| progress.phase = Phase::Loading);
        drop(sender);
        report(receiver, Duration::from_secs(3600), |_| panic!("there is no line")).await;
    }
}

//! The progress of a load on stderr: one line that is drawn again and again on a terminal, log lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use inrush::{Phase, Progress};
use tokio::sync::watch;

use crate::units;

/// How often a line is logged where there is no terminal.
const LOG_EVERY: Duration = Duration::from_secs(5);

/// Shows the progress until the load is done.
pub(crate) async fn show(mut progress: watch::Receiver<Progress>, quiet: bool) {
    if quiet {
        return;
    }
    let terminal = std::io::stderr().is_terminal();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    let mut speed = Speed::default();
    let mut logged = Instant::now();
    while progress.changed().await.is_ok() {
        let now = progress.borrow_and_update().clone();
        speed.see(now.seconds, now.docs_settled);
        if now.phase == Phase::Done {
            break;
        }
        let text = line(&now, speed.docs_per_second());
        if terminal {
            bar.set_message(text);
        } else if logged.elapsed() >= LOG_EVERY {
            logged = Instant::now();
            // Whoever closed stderr does not want to know.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
    bar.finish_and_clear();
}

/// Documents a second over the last seconds.
#[derive(Debug, Default)]
struct Speed {
    samples: std::collections::VecDeque<(f64, u64)>,
}

impl Speed {
    /// How far back it looks, seconds.
    const WINDOW: f64 = 5.0;

    fn see(&mut self, seconds: f64, docs: u64) {
        self.samples.push_back((seconds, docs));
        while self.samples.len() > 2 && self.samples.front().is_some_and(|(at, _)| seconds - at > Self::WINDOW) {
            self.samples.pop_front();
        }
    }

    fn docs_per_second(&self) -> f64 {
        match (self.samples.front(), self.samples.back()) {
            (Some((from, before)), Some((to, after))) if to > from => (after - before) as f64 / (to - from),
            _ => 0.0,
        }
    }
}

fn line(progress: &Progress, docs_per_second: f64) -> String {
    let mut parts = vec![
        format!("{} docs", units::count(progress.docs_settled)),
        units::bytes(progress.bytes_read),
        format!("{}/s", units::count(docs_per_second as u64)),
    ];
    if let Some(total) = progress.bytes_total.filter(|total| *total > 0) {
        let share = (progress.bytes_read as f64 / total as f64).min(1.0);
        parts.push(format!("{:.0} %", share * 100.0));
        if share > 0.0 && share < 1.0 && progress.seconds > 0.5 {
            parts.push(format!("{} left", units::seconds(progress.seconds / share * (1.0 - share))));
        }
    }
    parts.push(format!("{} in flight", progress.in_flight));
    if progress.retried_items > 0 {
        parts.push(format!("{} retried", units::count(progress.retried_items)));
    }
    if progress.docs_dead_lettered > 0 {
        parts.push(format!("{} dead letters", units::count(progress.docs_dead_lettered)));
    }
    let what = match &progress.phase {
        Phase::Starting => "starting".to_owned(),
        Phase::Loading => "loading".to_owned(),
        Phase::Paused(why) => format!("paused: {why}"),
        Phase::Draining(why) => format!("stopping ({why}): waiting for what is under way"),
        Phase::Verifying => "verifying".to_owned(),
        Phase::Done => "done".to_owned(),
    };
    format!("{what}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        let progress = Progress {
            docs_settled: 1_200_000,
            bytes_read: 50 << 20,
            bytes_total: Some(100 << 20),
            seconds: 10.0,
            in_flight: 4,
            phase: Phase::Loading,
            ..Progress::default()
        };
        let text = line(&progress, 120_000.0);
        for part in ["loading", "50 %", "10 s left", "4 in flight"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("retried") && !text.contains("dead"), "{text}");
        let text = line(&Progress { phase: Phase::Paused("disk full".into()), ..Progress::default() }, 0.0);
        assert!(text.starts_with("paused: disk full: 0 docs"), "{text}");
    }

    #[test]
    fn the_speed_is_that_of_the_last_seconds() {
        let mut speed = Speed::default();
        assert_eq!(speed.docs_per_second(), 0.0);
        for second in 0..20 {
            let docs = if second < 10 { 0 } else { (second - 10) * 100 };
            speed.see(second as f64, docs);
        }
        assert_eq!(speed.docs_per_second(), 100.0);
    }
}

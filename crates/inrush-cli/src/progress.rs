//! Progress on stderr while a load runs: one line that is redrawn on a terminal, plain lines
//! otherwise.

mod format;
mod periodic;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use inrush_load::{Phase, Progress};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::logging::Stderr;
use crate::plain::inline;
use format::finishing;
pub(crate) use format::{RateWindow, line};
pub(crate) use periodic::report;

/// The interval between redraws of the line on a terminal.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// The interval between plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Display {
    /// One line that is redrawn.
    Terminal,
    /// A line every 5 s, the first after 5 s.
    Plain,
    /// No progress is shown.
    None,
}

impl Display {
    /// The display for this stderr. A `dumb` terminal cannot move its cursor. With `--log-json`
    /// programs read stderr and could not parse a bare line.
    pub(crate) fn detect(quiet: bool, log_json: bool) -> Self {
        if quiet || log_json {
            Display::None
        } else if std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb") {
            Display::Terminal
        } else {
            Display::Plain
        }
    }
}

/// Shows progress until the load is done or its sender is dropped.
pub(crate) async fn show(mut progress: watch::Receiver<Progress>, display: Display, stderr: Stderr) {
    match display {
        Display::None => {}
        Display::Terminal => terminal(&mut progress, &stderr).await,
        Display::Plain => plain(&mut progress, &stderr).await,
    }
}

/// Waits until the last line of [`report`] is printed, so that the report is the last one.
pub(crate) async fn ended(told: Option<JoinHandle<()>>) {
    if let Some(told) = told {
        // Its result no longer matters.
        let _ = told.await;
    }
}

async fn terminal(progress: &mut watch::Receiver<Progress>, stderr: &Stderr) {
    let bar = ProgressBar::new_spinner();
    // Uses no colours, so NO_COLOR changes nothing. indicatif cuts the line to the terminal's
    // width.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    // Log lines are printed above the line from now on.
    stderr.attach(bar.clone());
    let mut rates = RateWindow::default();
    let mut ticks = tokio::time::interval(REDRAW_EVERY);
    loop {
        ticks.tick().await;
        let now = progress.borrow_and_update().clone();
        rates.see(&now);
        bar.set_message(inline(&line(&now, &rates)).into_owned());
        bar.tick();
        if now.phase == Phase::Done || progress.has_changed().is_err() {
            break;
        }
    }
    stderr.detach();
    bar.finish_and_clear();
}

async fn plain(progress: &mut watch::Receiver<Progress>, stderr: &Stderr) {
    let mut lines = Lines::default();
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + LINE_EVERY, LINE_EVERY);
    loop {
        let text = tokio::select! {
            _ = ticks.tick() => lines.on_tick(&progress.borrow()),
            changed = progress.changed() => {
                let now = progress.borrow_and_update().clone();
                if changed.is_err() || now.phase == Phase::Done {
                    return;
                }
                lines.on_change(&now)
            }
        };
        if let Some(text) = text {
            // If stderr is closed, there is no other place to report it.
            let _ = writeln!(stderr.clone(), "{text}");
        }
    }
}

/// The content of plain lines, and what they said before.
#[derive(Debug, Default)]
struct Lines {
    rates: RateWindow,
    phase: Phase,
    /// The last line about a step of a bake.
    told: String,
}

impl Lines {
    /// The line every 5 s. A step of a bake has one only if its progress has changed.
    fn on_tick(&mut self, now: &Progress) -> Option<String> {
        self.rates.see(now);
        let text = line(now, &self.rates);
        match &now.phase {
            Phase::Baking(_) if self.told == text => None,
            Phase::Baking(_) => {
                self.told.clone_from(&text);
                Some(text)
            }
            _ => Some(text),
        }
    }

    /// The line for a change of phase, such as the reason of a pause, which is written at once.
    fn on_change(&mut self, now: &Progress) -> Option<String> {
        let same_step = match (&now.phase, &self.phase) {
            (Phase::Finishing { step: now, .. }, Phase::Finishing { step: before, .. }) => now == before,
            (Phase::Baking(now), Phase::Baking(before)) => step_of_bake(now) == step_of_bake(before),
            (now, before) => now == before,
        };
        if same_step {
            return None;
        }
        self.phase = now.phase.clone();
        match &now.phase {
            Phase::Paused(why) | Phase::Draining(why) => Some(format!("{}: {why}", now.phase.name())),
            Phase::Finishing { .. } => Some(format!("at the end: {}", finishing(&now.phase))),
            Phase::Baking(_) => {
                self.told = line(now, &self.rates);
                Some(self.told.clone())
            }
            _ => None,
        }
    }
}

/// The step without its progress, as `restore` of `restore: 3 of 10 files`. `part 1: restore` is a
/// step of one of several parts.
fn step_of_bake(text: &str) -> &str {
    let begins = if text.starts_with("part ") { text.find(": ").map_or(0, |at| at + 2) } else { 0 };
    text[begins..].find(": ").map_or(text, |at| &text[..begins + at])
}

#[cfg(test)]
mod tests {
    use inrush_load::Step;

    use super::*;
    use crate::logging::testing;

    fn in_phase(phase: Phase) -> Progress {
        let mut progress = Progress::default();
        progress.phase = phase;
        progress
    }

    #[test]
    fn a_pause_is_told_once_and_at_once() {
        let mut lines = Lines::default();
        let mut now = in_phase(Phase::Loading);
        assert_eq!(lines.on_change(&now), None);
        now.phase = Phase::Paused("index logs is write-blocked".into());
        assert_eq!(lines.on_change(&now).as_deref(), Some("paused: index logs is write-blocked"));
        assert_eq!(lines.on_change(&now), None);
        assert!(lines.on_tick(&now).unwrap().starts_with("paused: index logs"));
        now.phase = Phase::Loading;
        assert_eq!(lines.on_change(&now), None);
    }

    #[test]
    fn a_step_of_the_end_is_told_once() {
        let mut lines = Lines::default();
        let at = |step, detail: &str| in_phase(Phase::Finishing { step, detail: detail.into() });
        assert_eq!(lines.on_change(&at(Step::Green, "")).as_deref(), Some("at the end: green"));
        let waits = at(Step::Green, "1 of 2 shard copies");
        assert_eq!(lines.on_change(&waits), None);
        assert!(lines.on_tick(&waits).unwrap().starts_with("green: 1 of 2 shard copies  0 docs"));
        assert_eq!(lines.on_change(&at(Step::Swap, "a to b")).as_deref(), Some("at the end: swap: a to b"));
    }

    #[test]
    fn a_step_of_a_bake_is_told_when_it_changes() {
        let mut lines = Lines::default();
        let at = |step: &str| in_phase(Phase::Baking(step.into()));
        assert_eq!(lines.on_change(&at("builder")).as_deref(), Some("bake: builder"));
        assert_eq!(lines.on_tick(&at("builder")), None);
        assert_eq!(lines.on_change(&at("restore: 1 of 9 files")).as_deref(), Some("bake: restore: 1 of 9 files"));
        // Progress within a step comes with the ticks.
        assert_eq!(lines.on_change(&at("restore: 2 of 9 files")), None);
        assert_eq!(lines.on_tick(&at("restore: 2 of 9 files")).as_deref(), Some("bake: restore: 2 of 9 files"));
        assert_eq!(lines.on_tick(&at("restore: 2 of 9 files")), None);
        assert_eq!(lines.on_change(&at("part 1: load")).as_deref(), Some("bake: part 1: load"));
        assert_eq!(lines.on_change(&at("part 2: load")).as_deref(), Some("bake: part 2: load"));
    }

    #[tokio::test]
    async fn a_load_that_ends_ends_the_display_without_a_line() {
        for display in [Display::Plain, Display::Terminal, Display::None] {
            let (sender, receiver) = watch::channel(Progress::default());
            let (stderr, text) = testing::capture();
            sender.send_modify(|p| p.phase = Phase::Done);
            drop(sender);
            show(receiver, display, stderr).await;
            assert_eq!(text(), "", "{display:?}");
        }
    }
}

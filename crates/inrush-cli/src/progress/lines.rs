//! The progress as lines of a log: in regular intervals, and where the phase changes. Pure.

use std::time::Duration;

use inrush_front::progress::format::finishing;
use inrush_front::progress::{OPENING, RateWindow, line};
use inrush_load::{Phase, Progress};

/// The interval between lines in the first minutes, and from then on.
const OFTEN: Duration = Duration::from_secs(10);
const SELDOM: Duration = Duration::from_secs(60);
/// The time with the short interval.
const OFTEN_FOR: Duration = Duration::from_secs(300);

/// The time from a line to the next one.
pub(crate) fn pause(elapsed: Duration) -> Duration {
    if elapsed < OFTEN_FOR { OFTEN } else { SELDOM }
}

/// The content of the lines, and what they said before.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rates: RateWindow,
    phase: Phase,
    /// The last line.
    told: String,
}

impl Lines {
    /// The line of an interval. `None` if it would repeat the one before.
    pub(super) fn on_tick(&mut self, now: &Progress) -> Option<String> {
        self.rates.see(now);
        self.tell(match &now.phase {
            Phase::Starting => OPENING.to_owned(),
            _ => line(now, &self.rates),
        })
    }

    /// The line for a change of phase, such as the reason of a pause, which is written at once.
    pub(super) fn on_change(&mut self, now: &Progress) -> Option<String> {
        self.rates.begin(now);
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
            Phase::Paused(why) | Phase::Draining(why) => self.tell(format!("{}: {why}", now.phase.name())),
            Phase::Finishing { .. } => self.tell(format!("at the end: {}", finishing(&now.phase))),
            Phase::Baking(_) => self.tell(line(now, &self.rates)),
            _ => None,
        }
    }

    fn tell(&mut self, text: String) -> Option<String> {
        if text == self.told {
            return None;
        }
        self.told.clone_from(&text);
        Some(text)
    }
}

/// The step without its progress, as `restore` of `restore: 3 of 10 files`.
fn step_of_bake(text: &str) -> &str {
    text.split_once(": ").map_or(text, |(step, _)| step)
}

#[cfg(test)]
mod tests {
    use inrush_load::Step;

    use super::*;

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
    }

    #[test]
    fn a_line_without_news_is_left_out() {
        let mut lines = Lines::default();
        let mut now = in_phase(Phase::Starting);
        assert_eq!(lines.on_tick(&now).as_deref(), Some("opening the source and the cluster"));
        assert_eq!(lines.on_tick(&now), None);
        now.phase = Phase::Loading;
        (now.docs_read, now.docs_settled, now.seconds) = (10, 10, 20.0);
        assert!(lines.on_tick(&now).unwrap().starts_with("10 docs"));
        now.seconds = 30.0;
        assert!(lines.on_tick(&now).unwrap().contains("0 docs/s"));
        now.seconds = 40.0;
        assert_eq!(lines.on_tick(&now), None);
        now.phase = Phase::Idle;
        assert!(lines.on_tick(&now).unwrap().starts_with("waiting for the source  10 docs"));
        assert_eq!(lines.on_tick(&now), None);
    }

    #[test]
    fn a_load_of_an_hour_has_85_lines() {
        let (mut elapsed, mut lines) = (Duration::ZERO, 0);
        while elapsed < Duration::from_secs(3_600) {
            elapsed += pause(elapsed);
            lines += 1;
        }
        assert_eq!(lines, 30 + 55);
    }
}

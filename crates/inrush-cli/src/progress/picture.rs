//! The progress on a terminal: a few rows with fixed columns. Pure.

use std::time::Duration;

use inrush_core::BodyFormat;
use inrush_front::progress::format::{behind, bytes_settled, clock, percent, rows_read};
use inrush_front::progress::graph::COLUMNS_MAX;
use inrush_front::progress::{Seen, phase_text};
use inrush_load::{Phase, Progress};

use crate::in_place::{cut, width};
use crate::plain::inline;
use crate::units::{bytes, count};

/// The columns of a number with its unit. It stands at their right end.
const CELL: usize = 20;
/// The width from which on rows have figures in bytes, and the graph its highest rate.
const WIDE: usize = 60;
/// The columns of the highest rate beside the graph.
const LABEL: usize = 26;

/// The size and the abilities of a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Columns.
    pub(crate) width: usize,
    /// The most rows.
    pub(crate) height: usize,
    /// Whether colours may be used.
    pub(crate) colours: bool,
}

/// The colour of a text.
#[derive(Clone, Copy, Debug)]
enum Tone {
    Plain,
    Faint,
    Waiting,
    Bad,
}

impl Tone {
    fn paint(self, text: String, colours: bool) -> String {
        let begin = match self {
            _ if !colours => return text,
            Tone::Plain => return text,
            Tone::Faint => "\x1b[2m",
            Tone::Waiting => "\x1b[33m",
            Tone::Bad => "\x1b[31m",
        };
        format!("{begin}{text}\x1b[0m")
    }
}

/// The rows, none wider than the screen: phase and time left; figures; the rate of the last
/// minutes; the reason of the plan. Before the first document only the phase. `elapsed`: since the
/// display began.
pub(crate) fn picture(now: &Progress, seen: &Seen, elapsed: Duration, screen: Screen) -> Vec<String> {
    let mut rows = vec![head(now, seen, elapsed, screen)];
    if now.plan_in_flight > 0 {
        rows.extend(grid(figures(now, seen, screen), screen));
        rows.push(graph(seen, screen));
        rows.extend(now.plan_why.as_deref().map(|why| reason(why, screen)));
    }
    rows.truncate(screen.height.max(1));
    rows
}

/// The time so far, and the phase.
pub(crate) fn phase_row(elapsed: Duration, phase: &str, screen: Screen) -> String {
    cut(&format!("{:>7}  {}", clock(elapsed.as_secs()), inline(phase)), screen.width)
}

fn head(now: &Progress, seen: &Seen, elapsed: Duration, screen: Screen) -> String {
    let tone = match &now.phase {
        Phase::Paused(_) | Phase::Draining(_) => Tone::Waiting,
        _ => Tone::Plain,
    };
    let text = match &now.phase {
        Phase::Loading => loading(now, seen),
        phase => phase_text(phase),
    };
    tone.paint(phase_row(elapsed, text.trim_end(), screen), screen.colours)
}

/// The settled share and the time left stay in their columns.
fn loading(now: &Progress, seen: &Seen) -> String {
    let share = percent(now).map(|percent| format!("{percent:>5} %")).unwrap_or_default();
    let left = seen.seconds_left(now).map(|left| format!("{:>9} left", clock(left))).unwrap_or_default();
    format!("{}{share}{left}", now.phase.name())
}

fn figures(now: &Progress, seen: &Seen, screen: Screen) -> Vec<(String, Tone)> {
    let (docs, read) = seen.rates(now);
    let mut figures = vec![format!("{} docs", count(now.docs_settled)), format!("{} docs/s", count(docs))];
    if screen.width >= WIDE {
        figures.extend([format!("{} read", bytes(bytes_settled(now))), format!("{}/s", bytes(read))]);
    }
    figures.push(format!("{} of {} in flight", now.in_flight, now.plan_in_flight));
    figures.push(format!("x {}", bytes(now.plan_batch_bytes)));
    let mut figures: Vec<(String, Tone)> = figures.into_iter().map(|text| (text, Tone::Plain)).collect();
    let dead = if now.docs_dead_lettered > 0 { Tone::Bad } else { Tone::Plain };
    figures.push((format!("{} dead letters", count(now.docs_dead_lettered)), dead));
    figures.push((format!("{} retried", count(now.retried_items)), Tone::Plain));
    let superseded = (now.docs_superseded > 0).then(|| format!("{} superseded", count(now.docs_superseded)));
    let format = (now.body_format != BodyFormat::PLAIN).then(|| now.body_format.to_string());
    let more = [now.lag.as_deref().map(behind), rows_read(now), superseded, format];
    figures.extend(more.into_iter().flatten().map(|text| (text, Tone::Plain)));
    figures
}

/// Figures side by side, each at the right end of its columns. One that is longer takes the columns
/// of two.
fn grid(figures: Vec<(String, Tone)>, screen: Screen) -> Vec<String> {
    let mut rows = vec![String::new()];
    for (text, tone) in figures {
        let text = cut(&text, screen.width);
        let columns = (width(&text).div_ceil(CELL) * CELL).min(screen.width);
        let text = tone.paint(format!("{text:>columns$}"), screen.colours);
        let last = rows.len() - 1;
        if width(&rows[last]) + columns > screen.width {
            rows.push(text);
        } else {
            rows[last].push_str(&text);
        }
    }
    rows
}

fn graph(seen: &Seen, screen: Screen) -> String {
    if screen.width < WIDE {
        return seen.graph().bars(screen.width);
    }
    let columns = (screen.width - LABEL).min(COLUMNS_MAX);
    let label = Tone::Faint.paint(format!("  up to {:>11} docs/s", count(seen.graph().top(columns))), screen.colours);
    seen.graph().bars(columns) + &label
}

fn reason(why: &str, screen: Screen) -> String {
    Tone::Faint.paint(cut(&format!("plan: {}", inline(why)), screen.width), screen.colours)
}

#[cfg(test)]
mod tests;

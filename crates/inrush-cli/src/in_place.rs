//! Rows on a terminal that are drawn again in their place, below the messages of the log.
//!
//! The cursor is always at the beginning of the line below the rows, visible and with line breaks
//! switched on. So a process may end at any time and leaves the terminal as it should be, but at
//! Ctrl-C: the terminal then drops what it has not drawn yet, and the process writes
//! [`BREAK_LINES`].

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

/// The size of a terminal that does not tell its own.
const SIZE_DEFAULT: (usize, usize) = (80, 24);
/// Rows that were drawn longer ago stay as they are. The process was stopped, and a shell has
/// written below them.
const STALE: Duration = Duration::from_secs(3);

/// Switches line breaks by the terminal on (DECAWM of the VT100).
pub(crate) const BREAK_LINES: &str = "\x1b[?7h";

/// The rows, and when they were drawn.
#[derive(Debug)]
pub(crate) struct InPlace {
    rows: Vec<String>,
    drawn: Option<Instant>,
    stale: Duration,
}

impl Default for InPlace {
    fn default() -> Self {
        InPlace { rows: Vec::new(), drawn: None, stale: STALE }
    }
}

impl InPlace {
    /// Rows of which those that were drawn longer ago than `stale` stay as they are.
    pub(crate) fn with_stale(stale: Duration) -> Self {
        InPlace { stale, ..InPlace::default() }
    }

    /// What draws `rows` in the place of those before.
    pub(crate) fn draw(&mut self, rows: Vec<String>, columns: usize, now: Instant) -> String {
        let begin = self.up(columns, now);
        self.rows = rows;
        self.paint(begin, now)
    }

    /// What writes a message above the rows.
    pub(crate) fn message(&mut self, text: &str, columns: usize, now: Instant) -> String {
        if self.rows.is_empty() {
            return text.to_owned();
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let begin = format!("{}\x1b[J{text}{end}", self.up(columns, now));
        self.paint(begin, now)
    }

    /// What removes the rows.
    pub(crate) fn clear(&mut self, columns: usize, now: Instant) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let up = self.up(columns, now);
        self.leave();
        up + "\x1b[J"
    }

    pub(crate) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// The rows stay on the terminal, and the next ones are drawn below them.
    pub(crate) fn leave(&mut self) {
        self.rows.clear();
    }

    /// What moves the cursor to the first row. A terminal that became narrower has broken rows into
    /// several lines.
    fn up(&self, columns: usize, now: Instant) -> String {
        let is_stale = self.drawn.is_none_or(|drawn| now.saturating_duration_since(drawn) > self.stale);
        let lines: usize = self.rows.iter().map(|row| width(row).div_ceil(columns.max(1)).max(1)).sum();
        if is_stale || lines == 0 { String::new() } else { format!("\x1b[{lines}F") }
    }

    /// Draws each row without line breaks by the terminal. A row is cleared before it is written: a
    /// command after its last column would clear that one.
    fn paint(&mut self, begin: String, now: Instant) -> String {
        self.drawn = Some(now);
        let mut text = begin + "\x1b[?7l";
        for row in &self.rows {
            text.push_str("\x1b[K");
            text.push_str(row);
            text.push('\n');
        }
        text + "\x1b[J" + BREAK_LINES
    }
}

/// Columns and lines of stderr.
pub(crate) fn size() -> (usize, usize) {
    size_of(io::stderr())
}

/// Columns and lines of a terminal.
pub(crate) fn size_of(terminal: impl AsFd) -> (usize, usize) {
    match tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (usize::from(size.ws_col), usize::from(size.ws_row)),
        _ => SIZE_DEFAULT,
    }
}

/// Whether the terminal of stderr is not used by another process in front of this one.
pub(crate) fn is_in_foreground() -> bool {
    tcgetpgrp(io::stderr()).map_or(true, |group| group == getpgrp())
}

/// Whether colours are welcome (`NO_COLOR`).
pub(crate) fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of a row without the commands for colours in it. A letter that takes two columns counts
/// as one.
pub(crate) fn width(row: &str) -> usize {
    let mut in_command = false;
    let is_shown = |c: char| {
        let is_shown = !in_command && c != '\x1b';
        in_command = (in_command && c != 'm') || c == '\x1b';
        is_shown
    };
    row.chars().map(is_shown).filter(|is_shown| *is_shown).count()
}

/// The text, or its beginning with `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    #[test]
    fn rows_take_the_place_of_those_before() {
        let (mut place, now) = (InPlace::default(), Instant::now());
        assert_eq!(place.draw(rows(&["a", "b"]), 80, now), "\x1b[?7l\x1b[Ka\n\x1b[Kb\n\x1b[J\x1b[?7h");
        assert_eq!(place.draw(rows(&["c"]), 80, now), "\x1b[2F\x1b[?7l\x1b[Kc\n\x1b[J\x1b[?7h");
        assert_eq!(place.clear(80, now), "\x1b[1F\x1b[J");
        assert_eq!(place.clear(80, now), "");
    }

    #[test]
    fn a_message_is_above_the_rows() {
        let (mut place, now) = (InPlace::default(), Instant::now());
        assert_eq!(place.message("first\n", 80, now), "first\n");
        place.draw(rows(&["a"]), 80, now);
        let drawn = "\x1b[1F\x1b[Jsecond\n\x1b[?7l\x1b[Ka\n\x1b[J\x1b[?7h";
        assert_eq!(place.message("second\n", 80, now), drawn);
        assert_eq!(place.message("second", 80, now), drawn);
        place.leave();
        assert_eq!(place.message("third\n", 80, now), "third\n");
    }

    #[test]
    fn a_narrower_terminal_has_broken_the_rows() {
        let (mut place, now) = (InPlace::default(), Instant::now());
        place.draw(rows(&["12345678901", "\x1b[31m1234567890\x1b[0m", ""]), 80, now);
        assert!(place.draw(rows(&["a"]), 10, now).starts_with("\x1b[4F"));
    }

    #[test]
    fn rows_of_before_a_stop_of_the_process_stay() {
        let (mut place, now) = (InPlace::default(), Instant::now());
        place.draw(rows(&["a"]), 80, now);
        assert!(place.draw(rows(&["b"]), 80, now + STALE * 2).starts_with("\x1b[?7l"));
    }

    #[test]
    fn texts_are_cut_to_columns() {
        assert_eq!([cut("abc", 3), cut("abcd", 3), cut("abc", 1), cut("abc", 0)], ["abc", "ab…", "…", ""]);
        assert_eq!(width("\x1b[2mabc\x1b[0m d"), 5);
    }
}

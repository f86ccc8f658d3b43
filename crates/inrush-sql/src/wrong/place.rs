//! Positions in a query, and how they are shown.

use datafusion::common::Span;
use datafusion::sql::sqlparser::tokenizer;

/// How much of a line is shown on each side of a mark, characters.
const AROUND: usize = 60;

/// A position in a query: line and column from 1, in characters, and the width in characters on
/// that line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) width: usize,
}

impl Place {
    pub(super) fn of(span: Span) -> Self {
        Place::between((span.start.line, span.start.column), (span.end.line, span.end.column))
    }

    /// `None` if it has no position.
    pub(super) fn of_parsed(span: tokenizer::Span) -> Option<Self> {
        let (start, end) = (span.start, span.end);
        (start.line > 0).then(|| Place::between((start.line, start.column), (end.line, end.column)))
    }

    fn between(start: (u64, u64), end: (u64, u64)) -> Self {
        // Up to the end of the line, if it ends on another line.
        let width = if start.0 == end.0 { end.1.saturating_sub(start.1) as usize } else { usize::MAX };
        Place { line: start.0, column: start.1, width }
    }

    /// The position of a word or a single character.
    pub(super) fn at(line: u64, column: u64, sql: &str) -> Self {
        let rest = sql.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
        let rest = rest.chars().skip(column.saturating_sub(1) as usize);
        let word = rest.take_while(|c| c.is_alphanumeric() || *c == '_').count();
        Place { line, column, width: word.max(1) }
    }

    /// The position after the last character.
    pub(super) fn end(sql: &str) -> Self {
        let text = sql.trim_end();
        let last = text.lines().last().unwrap_or_default();
        Place { line: text.lines().count().max(1) as u64, column: last.chars().count() as u64 + 1, width: 1 }
    }

    /// The character at the position.
    pub(super) fn character(self, sql: &str) -> Option<char> {
        sql.lines().nth(self.line.saturating_sub(1) as usize)?.chars().nth(self.column.saturating_sub(1) as usize)
    }

    /// The line of the query, and below it a mark.
    pub(super) fn shown(self, sql: &str) -> String {
        let line: Vec<char> =
            sql.lines().nth(self.line.saturating_sub(1) as usize).unwrap_or_default().chars().collect();
        let at = (self.column.saturating_sub(1) as usize).min(line.len());
        let width = self.width.min(line.len() - at).clamp(1, AROUND);
        let (from, to) = (at.saturating_sub(AROUND), (at + width + AROUND).min(line.len()));
        // The width of a tab depends on the display.
        let text: String = line[from..to].iter().map(|c| if c.is_control() { ' ' } else { *c }).collect();
        let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
        let indent = " ".repeat(at - from + before.chars().count());
        format!("{before}{text}{after}\n{indent}{}", "^".repeat(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_below_its_word() {
        let sql = "SELECT\n\tété, wrong\nFROM x";
        assert_eq!(Place::at(2, 7, sql).shown(sql), " été, wrong\n      ^^^^^");
        assert_eq!(Place::end(sql).shown(sql), "FROM x\n      ^");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_mark_is_shown() {
        let sql = format!("SELECT {} wrong {}", "a, ".repeat(100), ", b".repeat(100));
        let column = sql.find("wrong").unwrap() as u64 + 1;
        let shown = Place::at(1, column, &sql).shown(&sql);
        let (text, mark) = shown.split_once('\n').unwrap();
        assert!(text.chars().count() < 140 && text.starts_with('…') && text.ends_with('…'), "{shown}");
        let at = mark.find('^').unwrap();
        assert_eq!(text.chars().skip(at).take(5).collect::<String>(), "wrong");
    }

    #[test]
    fn places_outside_of_the_query_do_no_harm() {
        for place in [Place { line: 9, column: 9, width: 3 }, Place { line: 0, column: 0, width: 0 }] {
            assert!(place.shown("x").ends_with('^'));
        }
        assert!(Place::end("").shown("").ends_with('^'));
    }
}

//! The rate of the last minutes as a row of block characters. Pure.

use std::collections::VecDeque;

use inrush_load::Progress;

/// The time that one column covers at least, seconds.
const STEP_SECONDS: f64 = 2.0;
/// The most columns: five minutes.
pub const COLUMNS_MAX: usize = 150;
const GLYPHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The rates of the last minutes, one for each column.
#[derive(Debug, Default)]
pub struct Graph {
    rates: VecDeque<u64>,
    /// The time, and the documents settled, at the end of the last column.
    last: Option<(f64, u64)>,
}

impl Graph {
    /// Adds a sample of the load's progress.
    pub fn see(&mut self, now: &Progress) {
        self.push(now.seconds, now.docs_settled);
    }

    /// Adds a sample at `seconds` after the start of the load.
    fn push(&mut self, seconds: f64, docs: u64) {
        let (since, before) = *self.last.get_or_insert((seconds, docs));
        if seconds < since {
            // Another load begins, of a bake.
            self.last = Some((seconds, docs));
            return;
        }
        // The cast rounds down.
        let columns = ((seconds - since) / STEP_SECONDS) as usize;
        if columns == 0 {
            return;
        }
        let rate = docs.saturating_sub(before) as f64 / (seconds - since);
        self.rates.extend(std::iter::repeat_n(rate.round() as u64, columns.min(COLUMNS_MAX)));
        let old = self.rates.len().saturating_sub(COLUMNS_MAX);
        self.rates.drain(..old);
        self.last = Some((seconds, docs));
    }

    /// The highest rate that `columns` show, documents a second.
    pub fn top(&self, columns: usize) -> u64 {
        self.shown(columns).max().unwrap_or(0)
    }

    /// The last rates in this number of columns, the newest at the right. A column without
    /// documents is blank.
    pub fn bars(&self, columns: usize) -> String {
        let top = u128::from(self.top(columns).max(1));
        let shown = self.shown(columns);
        let mut text = " ".repeat(columns.saturating_sub(shown.len()));
        text.extend(shown.map(|rate| match (u128::from(rate) * GLYPHS.len() as u128).div_ceil(top) as usize {
            0 => ' ',
            height => GLYPHS[height - 1],
        }));
        text
    }

    fn shown(&self, columns: usize) -> impl ExactSizeIterator<Item = u64> {
        self.rates.iter().skip(self.rates.len().saturating_sub(columns)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_rate_is_at_the_right() {
        let mut graph = Graph::default();
        assert_eq!((graph.bars(4), graph.top(4)), ("    ".to_owned(), 0));
        let mut docs = 0;
        for (at, rate) in [100, 200, 400, 800, 0, 1].into_iter().enumerate() {
            graph.push(2.0 * at as f64, docs);
            docs += 2 * rate;
        }
        graph.push(12.0, docs);
        assert_eq!(graph.bars(8), "  ▁▂▄█ ▁");
        assert_eq!((graph.bars(2), graph.top(2)), (" █".to_owned(), 1));
        assert_eq!(graph.bars(0), "");
    }

    #[test]
    fn a_long_wait_is_a_column_for_each_step() {
        let mut graph = Graph::default();
        graph.push(1.0, 1_000);
        graph.push(1.9, 1_500);
        assert_eq!(graph.bars(3), "   ", "a column that is not complete is not shown");
        graph.push(5.0, 5_000);
        assert_eq!((graph.bars(3), graph.top(3)), (" ██".to_owned(), 1_000));
        graph.push(100_000.0, 5_000);
        assert_eq!((graph.bars(COLUMNS_MAX), graph.rates.len()), (" ".repeat(COLUMNS_MAX), COLUMNS_MAX));
        graph.push(0.0, 0);
        graph.push(2.0, 20);
        assert_eq!(graph.top(1), 10);
    }
}

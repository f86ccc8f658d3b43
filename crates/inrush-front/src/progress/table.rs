//! The progress as a table of names and values, for programs with a display of their own. Pure.

use inrush_commands::options::Style;
use inrush_core::BodyFormat;
use inrush_load::Progress;

use super::format::{behind, bytes_settled, clock, percent, rows_read};
use super::seen::{Seen, phase_text};
use crate::summary;
use crate::units::{bytes, count};

/// The columns of the graph: two minutes.
const GRAPH: usize = 60;

/// The progress, and that of the last minutes.
#[derive(Debug, Default)]
pub struct Table {
    seen: Seen,
}

impl Table {
    /// Names and values for `now`. The names of counts are those of the report.
    pub fn rows(&mut self, now: &Progress) -> Vec<(String, String)> {
        self.seen.see(now);
        let mut rows = summary::Rows::default();
        rows.add("phase", self.phase(now));
        if now.plan_in_flight > 0 {
            summary::add_counts(&now.counts, &mut rows);
            self.work(now, &mut rows);
        }
        rows.into_lines(Style::Keyword)
    }

    fn phase(&self, now: &Progress) -> String {
        let mut parts = vec![phase_text(&now.phase)];
        parts.extend(percent(now).map(|percent| format!("{percent} %")));
        parts.push(format!("{} so far", clock(now.seconds as u64)));
        parts.extend(self.seen.seconds_left(now).map(|left| format!("{} left", clock(left))));
        parts.join(", ")
    }

    fn work(&self, now: &Progress, rows: &mut summary::Rows) {
        let (docs, read) = self.seen.rates(now);
        rows.add("rate", format!("{} docs/s, {}/s", count(docs), bytes(read)));
        let graph = self.seen.graph();
        // The blanks at the left have another width in a proportional font.
        let bars = graph.bars(GRAPH);
        rows.add("", format!("up to {} docs/s {}", count(graph.top(GRAPH)), bars.trim_start()));
        rows.add("bytes read", bytes(bytes_settled(now)));
        for (name, value) in [("behind", now.lag.as_deref().map(behind)), ("rows", rows_read(now))] {
            value.into_iter().for_each(|value| rows.add(name, value));
        }
        if now.retried_items > 0 {
            rows.add("items retried", count(now.retried_items));
        }
        let in_flight = format!("{} of {} in flight", now.in_flight, now.plan_in_flight);
        let format = if now.body_format == BodyFormat::PLAIN { String::new() } else { format!(" {}", now.body_format) };
        rows.add("plan", format!("{in_flight} x {}{format}", bytes(now.plan_batch_bytes)));
        if let Some(why) = &now.plan_why {
            rows.add("", why.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::report::Counts;
    use inrush_load::Phase;

    use super::*;

    #[test]
    fn rows_have_the_names_of_the_report() {
        let (mut table, mut now) = (Table::default(), Progress::default());
        let opening = [("phase".to_owned(), "opening the source and the cluster, 0:00 so far".to_owned())];
        assert_eq!(table.rows(&now), opening);
        now.phase = Phase::Loading;
        (now.plan_in_flight, now.in_flight, now.plan_batch_bytes) = (4, 3, 2 << 20);
        for second in 0..=4_u32 {
            now.seconds = f64::from(second);
            (now.docs_read, now.docs_settled) = (100 * u64::from(second), 100 * u64::from(second));
            (now.bytes_read, now.bytes_total) = (1_024 * u64::from(second), Some(8_192));
            table.rows(&now);
        }
        now.plan_why = Some("option `in_flight=4`".into());
        now.counts = Counts::build(|counts| {
            (counts.docs_read, counts.docs_indexed, counts.docs_created) = (400, 398, 398);
            counts.docs_dead_lettered = 2;
        });
        let rows = table.rows(&now);
        let expected = [
            ("phase", "loading, 50 %, 0:04 so far, 0:04 left"),
            ("documents read", "400"),
            ("indexed", "398"),
            ("dead letters", "2"),
            ("rate", "100 docs/s, 1.0 KiB/s"),
            ("", "up to 100 docs/s ██"),
            ("bytes read", "4.0 KiB"),
            ("plan", "3 of 4 in flight x 2.0 MiB"),
            ("", "in_flight=4"),
        ];
        assert_eq!(rows, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}

//! The figures of a sweep: the median and the best of each cell's runs, by group.

use std::collections::BTreeMap;

use serde::Serialize;

use super::grid::{Batch, Cell};
use super::runs::Run;

/// The figures of a cell's runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) runs: usize,
    /// Documents per second.
    pub(crate) median: f64,
    pub(crate) best: f64,
    pub(crate) worst: f64,
    /// Medians of the runs that have the figure.
    pub(crate) seconds: f64,
    pub(crate) seconds_to_searchable: f64,
    pub(crate) client_cpu_seconds: f64,
    pub(crate) server_cpu_seconds: Option<f64>,
    pub(crate) segments: Option<f64>,
    /// The sum of all runs.
    pub(crate) rejected_items: u64,
    pub(crate) docs: u64,
    /// Runs that were cut off when the time of the cell was over. Their seconds are not those of
    /// the whole load.
    pub(crate) cut_off: usize,
    /// Runs that do not count, because documents were not in.
    pub(crate) failed: usize,
}

impl Summary {
    fn of(runs: &[&Run]) -> Option<Self> {
        let good: Vec<&Run> = runs.iter().copied().filter(|run| run.is_good()).collect();
        let rates = || good.iter().map(|run| run.docs_per_second);
        let told = |value: &dyn Fn(&Run) -> Option<f64>| median(good.iter().filter_map(|run| value(run)));
        Some(Summary {
            runs: good.len(),
            median: median(rates())?,
            best: rates().fold(0.0, f64::max),
            worst: rates().fold(f64::INFINITY, f64::min),
            seconds: told(&|run| Some(run.seconds))?,
            seconds_to_searchable: told(&|run| Some(run.seconds_to_searchable))?,
            client_cpu_seconds: told(&|run| Some(run.client_cpu_seconds))?,
            server_cpu_seconds: told(&|run| run.server_cpu_seconds),
            segments: told(&|run| run.segments.map(|n| n as f64)),
            rejected_items: runs.iter().map(|run| run.rejected_items).sum(),
            docs: good.iter().map(|run| run.docs).sum(),
            cut_off: good.iter().filter(|run| run.status == "interrupted").count(),
            failed: runs.len() - good.len(),
        })
    }
}

/// The middle value, or the mean of the two middle values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[half]),
        _ => Some(f64::midpoint(values[half - 1], values[half])),
    }
}

/// The results of a sweep so far.
pub(crate) struct Table {
    cells: Vec<(Cell, Option<Summary>)>,
}

impl Table {
    pub(crate) fn new(cells: &[Cell], runs: &[Run]) -> Self {
        let mut by_cell: BTreeMap<(&str, &str), Vec<&Run>> = BTreeMap::new();
        for run in runs {
            by_cell.entry((&run.group, &run.cell)).or_default().push(run);
        }
        let summary =
            |cell: &Cell| by_cell.get(&(cell.group.as_str(), cell.name().as_str())).and_then(|of| Summary::of(of));
        Table { cells: cells.iter().map(|cell| (cell.clone(), summary(cell))).collect() }
    }

    /// All cells, including those without a result.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&Cell, Option<&Summary>)> {
        self.cells.iter().map(|(cell, summary)| (cell, summary.as_ref()))
    }

    pub(crate) fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for (cell, _) in &self.cells {
            if !groups.contains(&cell.group.as_str()) {
                groups.push(&cell.group);
            }
        }
        groups
    }

    pub(crate) fn get(&self, group: &str, batch: Option<Batch>, in_flight: Option<u32>) -> Option<&Summary> {
        let found = self
            .cells
            .iter()
            .find(|(cell, _)| cell.group == group && cell.batch == batch && cell.in_flight == in_flight);
        found.and_then(|(_, summary)| summary.as_ref())
    }

    pub(crate) fn auto(&self, group: &str) -> Option<&Summary> {
        self.get(group, None, None)
    }

    /// The fixed cell of a group with the highest median, and the one with the lowest.
    pub(crate) fn best_and_worst(&self, group: &str) -> Option<[(&Cell, &Summary); 2]> {
        let fixed = || {
            let cells = self.cells().filter(|(cell, _)| cell.group == group && !cell.is_auto());
            cells.filter_map(|(cell, summary)| summary.map(|summary| (cell, summary)))
        };
        let by_median = |a: &(&Cell, &Summary), b: &(&Cell, &Summary)| a.1.median.total_cmp(&b.1.median);
        Some([fixed().max_by(by_median)?, fixed().min_by(by_median)?])
    }

    /// The highest median of all cells.
    pub(crate) fn top(&self) -> f64 {
        self.cells.iter().filter_map(|(_, summary)| summary.as_ref()).map(|summary| summary.median).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::cells;
    use super::super::runs::example;
    use super::*;

    #[test]
    fn medians_by_cell() {
        let cells = cells(&["g".to_owned()], &[Batch::Docs(10), Batch::Docs(100)], &[1, 2], true);
        let mut bad = example("g", "10 docs x 1", 3, 9_000.0);
        bad.status = "incomplete".to_owned();
        let runs = [
            example("g", "10 docs x 1", 1, 100.0),
            example("g", "10 docs x 1", 2, 300.0),
            bad,
            example("g", "100 docs x 2", 1, 900.0),
            example("g", "auto", 1, 850.0),
        ];
        let table = Table::new(&cells, &runs);
        let one = table.get("g", Some(Batch::Docs(10)), Some(1)).unwrap();
        assert_eq!((one.runs, one.failed, one.median, one.best, one.worst), (2, 1, 200.0, 300.0, 100.0));
        assert!(table.get("g", Some(Batch::Docs(10)), Some(2)).is_none());
        assert_eq!(table.auto("g").unwrap().median, 850.0);
        let [best, worst] = table.best_and_worst("g").unwrap();
        assert_eq!((best.0.name(), worst.0.name()), ("100 docs x 2".to_owned(), "10 docs x 1".to_owned()));
        assert_eq!(table.top(), 900.0);
    }

    #[test]
    fn the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, f64::NAN].into_iter()), Some(2.5));
        assert_eq!(median(std::iter::empty()), None);
    }
}

//! The best fixed setting. The cells of a grid of batch bytes and requests in flight run on the
//! same model with the same seed: all of them, or those on the way to the summit.

use std::collections::BTreeMap;

use inrush_core::tune::{Bounds, Fixed, Plan};
use serde::{Deserialize, Serialize};

use super::controllers::controllers_with;
use super::engine::{Unwatched, run};
use super::parallel;
use super::record::Record;
use super::scenario::{START_SECONDS, Scenario};

/// A fixed setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Bytes of a batch.
    pub batch_bytes: u64,
    /// Requests in flight.
    pub in_flight: u32,
}

/// All cells of a scenario with their records.
#[derive(Debug)]
pub struct Yardstick {
    cells: Vec<(Cell, Record)>,
    tenants_rejected_most: f64,
}

/// The figures of the best cells of a scenario. Throughputs are accepted bytes a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Highest throughput after the first 10 s.
    pub steady: f64,
    /// The cell that reaches it.
    pub cell: Cell,
    /// Rejected share of the documents of that cell, from 0 to 1.
    pub rejected: f64,
    /// 99th percentile of the latencies of that cell, seconds.
    pub p99_latency: f64,
    /// Highest throughput over the whole run, of any cell, acknowledged before the end.
    pub whole_run: f64,
    /// The best cell of each phase.
    pub phases: Vec<PhaseReference>,
    /// All cells that ran, without those that cost tenants too much.
    pub cells: Vec<CellFigures>,
}

/// The figures of one cell. Throughputs are accepted bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// The cell.
    pub cell: Cell,
    /// Throughput after the first 10 s.
    pub steady: f64,
    /// Throughput over the whole run, acknowledged before the end.
    pub whole_run: f64,
    /// Rejected share of the documents after the first 10 s, from 0 to 1.
    pub rejected: f64,
    /// 99th percentile of the latencies after the first 10 s, seconds.
    pub p99_latency: f64,
}

/// A cell that is slower than the best one by more than this part is not run with further seeds.
const PROMISING: f64 = 0.96;

impl Reference {
    /// The cells that may be the best ones with another seed: those within 4 % of the best ones by
    /// any measure.
    pub fn promising(&self) -> Vec<Cell> {
        let least = self.cells.iter().map(|cell| cell.rejected).fold(1.0, f64::min);
        let near = |cell: &&CellFigures| {
            [f64::INFINITY, least + REJECTED_MORE].iter().any(|&most| {
                cell.rejected <= most
                    && (cell.steady >= PROMISING * self.best_within(most).map_or(0.0, |best| best.steady)
                        || cell.whole_run >= PROMISING * self.best_whole_run_within(most))
            })
        };
        let mut cells: Vec<Cell> = self.cells.iter().filter(near).map(|cell| cell.cell).collect();
        cells.extend(
            self.phases.iter().map(|phase| phase.cell).filter(|cell| !cells.contains(cell)).collect::<Vec<_>>(),
        );
        cells.dedup();
        cells
    }

    /// The cell with the highest throughput after the first 10 s among those that reject at most
    /// this share of the documents. Without one, the cell that rejects least.
    pub fn best_within(&self, rejected_most: f64) -> Option<&CellFigures> {
        self.within(rejected_most, |cell| cell.steady)
    }

    /// The highest throughput over the whole run, in the same sense.
    pub fn best_whole_run_within(&self, rejected_most: f64) -> f64 {
        self.within(rejected_most, |cell| cell.whole_run).map_or(self.whole_run, |cell| cell.whole_run)
    }

    fn within(&self, rejected_most: f64, measure: impl Fn(&CellFigures) -> f64) -> Option<&CellFigures> {
        let allowed = self.cells.iter().filter(|cell| cell.rejected <= rejected_most);
        let least = || self.cells.iter().min_by(|a, b| a.rejected.total_cmp(&b.rejected));
        allowed.max_by(|a, b| measure(a).total_cmp(&measure(b))).or_else(least)
    }
}

/// The best cell between two changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseReference {
    /// Start of the phase, seconds.
    pub from: f64,
    /// End of the phase, seconds.
    pub to: f64,
    /// Throughput of the cell, without the time right after the change.
    pub steady: f64,
    /// The cell.
    pub cell: Cell,
}

impl Yardstick {
    /// Runs the grid, on all processors.
    pub fn measure(scenario: &Scenario, seed: u64) -> Self {
        Self::measure_with(parallel::processors(), scenario, seed)
    }

    /// Runs the grid on `threads` threads.
    pub fn measure_with(threads: usize, scenario: &Scenario, seed: u64) -> Self {
        let cells = grid(&scenario.bounds());
        let records = parallel::map_with(threads, &cells, |cell| run_cell(scenario, seed, *cell));
        let cells = cells.into_iter().zip(records).collect();
        Yardstick { cells, tenants_rejected_most: scenario.tenants_rejected_most() }
    }

    /// Runs only the cells that a climb visits: from a few starts always to the best of the eight
    /// neighbours, first by throughput, then by throughput among cells that reject at most 1 %
    /// more than the one that rejects least. About a third of the grid, on one processor.
    pub fn search(scenario: &Scenario, seed: u64) -> Self {
        let mut climb = Climb::new(scenario, seed);
        for start in STARTS {
            climb.visit(climb.nearest(start));
        }
        climb.climb(f64::INFINITY);
        let least = climb.known.values().map(|(_, record)| record.rejected_ratio(START_SECONDS)).fold(1.0, f64::min);
        climb.climb(least + REJECTED_MORE);
        let cells = climb.known.into_values().collect();
        Yardstick { cells, tenants_rejected_most: scenario.tenants_rejected_most() }
    }

    /// Runs these cells, on one processor.
    pub fn of_cells(scenario: &Scenario, seed: u64, cells: &[Cell]) -> Self {
        let cells = cells.iter().map(|&cell| (cell, run_cell(scenario, seed, cell))).collect();
        Yardstick { cells, tenants_rejected_most: scenario.tenants_rejected_most() }
    }

    /// The cell with the largest measure, and the measure. Cells that reject too many tasks of
    /// tenants do not count. Of equal cells, the smallest is the best.
    pub fn best(&self, measure: impl Fn(&Record) -> f64) -> (Cell, f64) {
        let (cell, record) = self.best_run(&measure);
        (*cell, measure(record))
    }

    /// All cells with their records, by batch bytes, then by requests in flight.
    pub fn cells(&self) -> &[(Cell, Record)] {
        &self.cells
    }

    /// The reference that a run is compared with.
    pub fn reference(&self, scenario: &Scenario) -> Reference {
        let (cell, best) = self.best_run(|record| record.throughput(START_SECONDS, scenario.seconds));
        let phase = |(from, to): (f64, f64)| {
            // The effect of the change itself is left out: a fifth of the phase, at most 5 s.
            let after = from + ((to - from) / 5.0).min(5.0);
            let (cell, steady) = self.best(|record| record.throughput(after, to));
            PhaseReference { from, to, steady, cell }
        };
        Reference {
            steady: best.throughput(START_SECONDS, scenario.seconds),
            cell: *cell,
            rejected: best.rejected_ratio(START_SECONDS),
            p99_latency: best.latency(0.99, START_SECONDS),
            whole_run: self.best(Record::whole_run).1,
            phases: scenario.phases().into_iter().map(phase).collect(),
            cells: self.figures(scenario),
        }
    }

    fn figures(&self, scenario: &Scenario) -> Vec<CellFigures> {
        let allowed = |record: &Record| record.tenant_rejected_ratio() <= self.tenants_rejected_most;
        let figures = |(cell, record): &(Cell, Record)| CellFigures {
            cell: *cell,
            steady: record.throughput(START_SECONDS, scenario.seconds),
            whole_run: record.whole_run(),
            rejected: record.rejected_ratio(START_SECONDS),
            p99_latency: record.latency(0.99, START_SECONDS),
        };
        self.cells.iter().filter(|(_, record)| allowed(record)).map(figures).collect()
    }

    fn best_run(&self, measure: impl Fn(&Record) -> f64) -> &(Cell, Record) {
        // If all cells reject too many tasks of tenants, the first and smallest rejects least.
        let mut best = &self.cells[0];
        for run in &self.cells[1..] {
            if run.1.tenant_rejected_ratio() <= self.tenants_rejected_most && measure(&run.1) > measure(&best.1) {
                best = run;
            }
        }
        best
    }
}

/// Cells from which a climb begins: batch bytes and requests in flight.
const STARTS: [(u64, u64); 5] = [(4 << 20, 16), (1 << 20, 8), (512 << 10, 32), (8 << 20, 4), (2 << 20, 4)];
/// What a yardstick may reject more than another plan.
pub(super) const REJECTED_MORE: f64 = 0.01;

/// A climb on the grid. Cells are known by their places on the two axes.
struct Climb<'a> {
    scenario: &'a Scenario,
    seed: u64,
    bytes: Vec<u64>,
    in_flight: Vec<u64>,
    known: BTreeMap<(usize, usize), (Cell, Record)>,
}

impl<'a> Climb<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let bounds = scenario.bounds();
        let in_flight = doublings((u64::from(bounds.in_flight.0), u64::from(bounds.in_flight.1)));
        Climb { scenario, seed, bytes: doublings(bounds.batch_bytes), in_flight, known: BTreeMap::new() }
    }

    /// The place of the largest cell that is no larger, and within the memory.
    fn nearest(&self, (bytes, in_flight): (u64, u64)) -> (usize, usize) {
        let place = |axis: &[u64], value| axis.partition_point(|&v| v <= value).saturating_sub(1);
        let (mut b, mut n) = (place(&self.bytes, bytes), place(&self.in_flight, in_flight));
        while self.cell((b, n)).is_none() && (b, n) != (0, 0) {
            (b, n) = if n > 0 { (b, n - 1) } else { (b - 1, n) };
        }
        (b, n)
    }

    fn cell(&self, (b, n): (usize, usize)) -> Option<Cell> {
        let (batch_bytes, in_flight) = (*self.bytes.get(b)?, *self.in_flight.get(n)?);
        let fits = batch_bytes * in_flight <= self.scenario.bounds().memory;
        (fits || (b, n) == (0, 0)).then_some(Cell { batch_bytes, in_flight: in_flight as u32 })
    }

    /// Runs a cell that has not run yet. Returns whether it did.
    fn visit(&mut self, place: (usize, usize)) -> bool {
        let Some(cell) = self.cell(place).filter(|_| !self.known.contains_key(&place)) else { return false };
        self.known.insert(place, (cell, run_cell(self.scenario, self.seed, cell)));
        true
    }

    fn climb(&mut self, rejected_most: f64) {
        let steady = |record: &Record| record.throughput(START_SECONDS, self.scenario.seconds);
        let score = |record: &Record| match record.rejected_ratio(START_SECONDS) <= rejected_most {
            true => steady(record),
            false => 0.0,
        };
        loop {
            let best = self.known.iter().max_by(|a, b| score(&a.1.1).total_cmp(&score(&b.1.1)));
            let Some((&(b, n), _)) = best else { return };
            let around = |at: usize| at.saturating_sub(1)..=at + 1;
            let places: Vec<(usize, usize)> = around(b).flat_map(|b| around(n).map(move |n| (b, n))).collect();
            let visited = places.into_iter().filter(|&place| self.visit(place)).count();
            if visited == 0 {
                return;
            }
        }
    }
}

/// Powers of two within the bounds, and the bounds themselves; at least one cell.
fn grid(bounds: &Bounds) -> Vec<Cell> {
    let bytes = doublings(bounds.batch_bytes);
    let in_flight = doublings((u64::from(bounds.in_flight.0), u64::from(bounds.in_flight.1)));
    let all = bytes.iter().flat_map(|&batch_bytes| {
        in_flight.iter().map(move |&in_flight| Cell { batch_bytes, in_flight: in_flight as u32 })
    });
    let fits = |cell: &Cell| cell.batch_bytes * u64::from(cell.in_flight) <= bounds.memory;
    let mut cells: Vec<Cell> = all.filter(fits).collect();
    if cells.is_empty() {
        cells.push(Cell { batch_bytes: bounds.batch_bytes.0, in_flight: bounds.in_flight.0 });
    }
    cells
}

fn doublings((least, most): (u64, u64)) -> Vec<u64> {
    let mut values: Vec<u64> =
        std::iter::successors(Some(least), |v| v.checked_mul(2)).take_while(|&v| v < most).collect();
    values.push(most);
    values
}

fn run_cell(scenario: &Scenario, seed: u64, cell: Cell) -> Record {
    let plan =
        Plan { batch_bytes: cell.batch_bytes, batch_docs: scenario.bounds().batch_docs, in_flight: cell.in_flight };
    // A fixed plan can always be made.
    let tuners = controllers_with(scenario, || Ok(Box::new(Fixed(plan)))).unwrap_or_default();
    run(scenario, seed, tuners, &mut Unwatched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_covers_the_bounds_and_keeps_to_the_memory() {
        let bounds = Bounds { batch_bytes: (65536, 64 << 20), batch_docs: 1000, in_flight: (1, 256), memory: 64 << 20 };
        let cells = grid(&bounds);
        assert!(cells.contains(&Cell { batch_bytes: 64 << 20, in_flight: 1 }));
        assert!(cells.contains(&Cell { batch_bytes: 65536, in_flight: 256 }));
        assert!(cells.iter().all(|c| c.batch_bytes * u64::from(c.in_flight) <= 64 << 20));
        let fixed = Bounds { batch_bytes: (1 << 20, 1 << 20), ..bounds };
        assert_eq!(grid(&fixed).len(), 7);
    }

    #[test]
    fn a_climb_finds_what_the_grid_finds() {
        let text = "intent = 'a node that is climbed'\nseconds = 15\n[cluster]\nnodes = 1\nthreads = 2\n";
        let scenario = Scenario::parse("climbed", text).unwrap();
        let scenario = Scenario { seconds: 15.0, ..scenario };
        let (all, some) = (Yardstick::measure(&scenario, 1), Yardstick::search(&scenario, 1));
        assert!(2 * some.cells().len() < all.cells().len(), "{} of {}", some.cells().len(), all.cells().len());
        let best = |yardstick: &Yardstick| yardstick.reference(&scenario).steady;
        assert!(best(&some) >= 0.99 * best(&all), "{} of {}", best(&some), best(&all));
    }
}

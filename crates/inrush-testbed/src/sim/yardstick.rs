//! The best fixed setting. Every cell of a grid of batch bytes and requests in flight runs on the
//! same model with the same seed.

use inrush_core::tune::{Bounds, Fixed, Plan, Tuner};
use serde::{Deserialize, Serialize};

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
        let cells = grid(&scenario.bounds());
        let records = parallel::map(&cells, |cell| run_cell(scenario, seed, *cell));
        let cells = cells.into_iter().zip(records).collect();
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
        }
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
    let tuners = scenario.loaders.iter().map(|_| Box::new(Fixed(plan)) as Box<dyn Tuner>).collect();
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
}

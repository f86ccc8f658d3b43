//! The best fixed setting: every cell of a grid of batch bytes and requests in flight, run on the same model with the same seed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use inrush_core::tune::{Bounds, Fixed, Plan, Tuner};

use super::engine::{Unwatched, run};
use super::record::Record;
use super::scenario::Scenario;

/// One fixed setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of a batch.
    pub batch_bytes: u64,
    /// Requests under way.
    pub in_flight: u32,
}

/// All cells of a scenario and what came of them.
#[derive(Debug)]
pub struct Yardstick {
    cells: Vec<(Cell, Record)>,
}

impl Yardstick {
    /// Runs the grid, on all processors.
    pub fn measure(scenario: &Scenario, seed: u64) -> Self {
        let cells = grid(&scenario.bounds());
        let next = AtomicUsize::new(0);
        let (send, receive) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                let (send, next, cells) = (send.clone(), &next, &cells);
                scope.spawn(move || {
                    while let Some(&cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // The receiver lives until all threads have ended.
                        let _ = send.send((cell, run_cell(scenario, seed, cell)));
                    }
                });
            }
        });
        drop(send);
        let mut cells: Vec<(Cell, Record)> = receive.into_iter().collect();
        cells.sort_by_key(|(cell, _)| (cell.batch_bytes, cell.in_flight));
        Yardstick { cells }
    }

    /// The cell with the largest measure, the smallest of equals, and its measure.
    pub fn best(&self, measure: impl Fn(&Record) -> f64) -> (Cell, f64) {
        let mut best = (self.cells[0].0, measure(&self.cells[0].1));
        for (cell, record) in &self.cells[1..] {
            let value = measure(record);
            if value > best.1 {
                best = (*cell, value);
            }
        }
        best
    }

    /// Every cell and its run, by batch bytes, then by requests in flight.
    pub fn cells(&self) -> &[(Cell, Record)] {
        &self.cells
    }

    /// What came of one cell.
    pub fn cell(&self, cell: Cell) -> Option<&Record> {
        self.cells.iter().find(|(c, _)| *c == cell).map(|(_, record)| record)
    }
}

/// Powers of two within the bounds, and the bounds themselves.
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

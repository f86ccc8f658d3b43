//! The parts of `inrush sweep`: the grid of cells, the measurement of a run, and the table of
//! results.

mod grid;
mod measure;
mod page;
mod runs;
mod server;
mod table;

pub(crate) use grid::{Batch, Cell, Steps, cells, order};
pub(crate) use measure::{Bench, Measured};
pub(crate) use page::{About, Now, described, verdict};
pub(crate) use runs::Runs;
pub(crate) use table::Table;

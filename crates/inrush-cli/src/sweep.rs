//! The parts of `inrush sweep`: the grid of cells, the measurement of a run, and the table, chart
//! and page of results.

mod chart;
mod grid;
mod measure;
mod page;
mod runs;
mod server;
mod table;

pub(crate) use grid::{Batch, Cell, Steps, cells, order};
pub(crate) use measure::{Bench, Measured};
pub(crate) use page::{About, page, verdict};
pub(crate) use runs::Runs;
pub(crate) use table::Table;

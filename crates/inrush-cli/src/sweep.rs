//! `inrush sweep` behind its command: which cells there are, what a run of one has shown, and how that looks.

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

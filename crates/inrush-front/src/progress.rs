//! The progress of a load in words and numbers, for a display of any kind. Pure.

pub mod format;
pub mod graph;
mod seen;
mod table;

pub use format::{RateWindow, line};
pub use seen::{OPENING, Seen, phase_text};
pub use table::Table;

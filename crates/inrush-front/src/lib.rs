//! What the command line and the Python package share: loads and bakes that a program starts, and
//! the texts that people read of errors, progress and reports. It prints nothing, and knows no
//! terminal: a front end gives it a [`Say`].

pub mod embed;
pub mod errors;
pub mod local_node;
pub mod plain;
pub mod progress;
pub mod summary;
pub mod units;
pub mod watching;

/// Where a front end tells its user a line of text.
pub type Say<'a> = &'a (dyn Fn(&str) + Sync);

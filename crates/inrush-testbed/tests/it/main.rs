//! The testbed's own tests, in one executable: `cargo test -p inrush-testbed --test it faults::` runs those of a module.
#![allow(missing_docs, clippy::unwrap_used)]

mod calibration;
mod conformance;
mod faults;
mod null;
mod proxy;
mod simulate;
mod simulator;
mod tuner;

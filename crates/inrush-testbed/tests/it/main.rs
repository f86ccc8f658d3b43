//! The tests of the test bed: the fake against the conformance suite, the proxy, the guardian of
//! nodes, and the simulator with the tuner.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod calibration;
mod conformance;
mod guardian;
mod operations;
mod proxy;
mod remembering;
mod simulate;
mod simulator;
mod tidy;
mod tuner;

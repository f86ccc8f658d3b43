//! A model of a cluster and of loaders in virtual time, to judge the tuner with: a minute of a run takes milliseconds, and the
//! same seed gives the same numbers. `scenarios/README.md` says what can be described and what is measured.

mod agenda;
mod baselines;
mod cluster;
mod controllers;
mod documents;
mod engine;
mod judge;
mod link;
mod loader;
mod node;
pub mod parallel;
mod record;
mod request;
mod rng;
mod scenario;
mod yardstick;

pub use controllers::{controller, controller_names, controller_within};
pub use engine::{Unwatched, Watcher, run};
pub use judge::{Judgement, Phase, judge};
pub use record::Record;
pub use scenario::Scenario;
pub use yardstick::{Cell, PhaseReference, Reference, START_SECONDS, Yardstick};

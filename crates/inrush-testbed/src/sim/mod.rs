//! A model of a cluster and its loaders in virtual time, which judges the tuner. A minute of a run
//! takes milliseconds, and the same seed gives the same figures. `scenarios/README.md` lists the
//! keys of a scenario and the figures.

mod agenda;
mod baselines;
mod cluster;
mod controllers;
mod documents;
mod engine;
mod judge;
mod keys;
mod kinds;
mod link;
mod loader;
mod node;
pub mod parallel;
mod random;
mod record;
mod request;
mod rng;
mod scenario;
mod yardstick;

pub use controllers::{controller, controller_names, controller_within, controllers, controllers_with};
pub use engine::{Unwatched, Watcher, run};
pub use judge::{Judgement, Phase, judge};
pub use keys::Rival;
pub use kinds::{ALL_KINDS, kinds};
pub use random::random;
pub use record::Record;
pub use scenario::{START_SECONDS, Scenario};
pub use yardstick::{Cell, CellFigures, PhaseReference, Reference, Yardstick};

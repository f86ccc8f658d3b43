//! What a bake has written down: its plan, its place, what exists on the target, and the record of
//! the engine that builds the index.

mod build;
mod keep;
mod place;
mod plan;
mod saved;
mod throttle;

pub(crate) use build::{Build, NativeRecord, ServerRecord, Upload};
pub(crate) use keep::Keep;
pub(crate) use place::Shared;
pub(crate) use plan::{Plan, WRITE_BLOCK, of_shards};
pub(crate) use saved::{Built, SNAPSHOT, Saved, WHOLE, forget_letters};
pub(crate) use throttle::Throttle;

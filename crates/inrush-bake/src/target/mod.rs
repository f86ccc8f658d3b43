//! The target's side of a bake: restoring the index, publishing it, and restoring the former state.
//! It knows what was built, and not what has built it.

mod restore;
mod throttle;
mod undo;

pub(crate) use restore::Target;
pub(crate) use undo::{release, undo};

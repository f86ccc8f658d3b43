//! The settings guard: what a load changes on an index is written down in the cluster first, then changed, and put back at
//! the end, on an error and on a signal; after a crash by anyone, from any machine.
//!
//! [`Guard`] decides and [`Command`]s say what is to be done: somebody else asks the cluster and comes back with a
//! [`Reply`]. All agreement between loaders is in one document for each index, the [`Lease`], which is only ever written by
//! compare-and-set. After every conflict, and whenever it is not sure, a guard reads the lease again and goes on from what it says; so
//! a write whose answer was lost needs no special case.

mod commands;
mod holders;
mod lease;
mod machine;
pub mod policy;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use commands::{Command, Outcome, Precondition, Reply};
pub use holders::{DEAD_AFTER, HEARTBEAT};
pub use lease::{Change, Changes, Holder, Lease, Phase, Settings, Version};
pub use machine::Guard;
pub use policy::LoadProfile;

//! The settings guard. A load changes some settings of an index. The guard records each change in
//! the cluster before it is made, and restores the settings at the end, on an error and on a
//! signal. After a crash anyone can restore them, from any machine.
//!
//! [`Guard`] is a state machine: it returns a [`Command`], the driver executes it on the cluster
//! and answers with a [`Reply`]. Loaders coordinate through one document for each index, the
//! [`Lease`], which is written by compare-and-set only. After every conflict, and in any doubt, a
//! guard reads the lease again and continues from its content. So a write whose answer was lost
//! needs no special case.

mod commands;
mod holders;
mod lease;
mod machine;
pub mod policy;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use commands::{Command, GuardOutcome, Precondition, Reply};
pub use holders::{DEAD_AFTER, HEARTBEAT};
pub use lease::{Change, Changes, Holder, Lease, Part, Phase, Settings, Version};
pub use machine::Guard;
pub use policy::LoadProfile;

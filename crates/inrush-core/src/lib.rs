//! The pure middle of `inrush`: no clock, no thread, no file, no socket, no randomness.
//!
//! Documents enter as a [`DocBlock`], leave as requests, and come back as verdicts; everything that waits lives
//! in the crate `inrush`. Time is an argument ([`Time`]), the seed of the jitter is an argument, and the same
//! calls in give the same calls out, which is what makes the simulator, the property tests and the replay
//! of a recorded run possible.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod batch;
pub mod block;
pub mod body_format;
pub mod checkpoint;
pub mod encode;
pub mod flow;
pub mod ids;
pub mod items;
pub mod ledger;
pub mod mapping;
pub mod nodes;
pub mod operation;
mod order;
pub mod outcome;
mod pending;
pub mod ranges;
pub mod rate;
pub mod reply;
pub mod report;
pub mod retry;
pub mod routing;
pub mod settings_guard;
pub mod time;
pub mod trace;
pub mod tune;

pub use block::{DocBlock, DocMeta, MetaFields, Origin, Position, Reject, SourceId};
pub use body_format::{BodyFormat, Compression, Encoding, GzipLevel};
pub use checkpoint::{Checkpoint, PartitionCheckpoint};
pub use flow::{
    Command, DeadLetter, Flow, FlowConfig, MaxErrors, Note, Pause, PauseKind, PauseTotal, Request, Settlement, Stop,
};
pub use items::ItemBlock;
pub use operation::{Action, FieldPath, IndexTemplate, Operations};
pub use outcome::{OnConflict, Settled};
pub use time::Time;

//! The pure middle of `inrush`: no clock, no thread, no file, no socket, no randomness.
//!
//! Documents enter as a [`DocBlock`], leave as requests, and come back as verdicts; everything that waits lives
//! in the crate `inrush`. Time is an argument ([`Time`]), the seed of the jitter is an argument, and the same
//! calls in give the same calls out, which is what makes the simulator, the property tests and the replay
//! of a recorded run possible.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod block;
pub mod operation;
pub mod time;

pub use block::{DocBlock, DocMeta, Origin, Position, Reject, SourceId};
pub use operation::{Action, FieldPath, IndexTemplate, Operations};
pub use time::Time;

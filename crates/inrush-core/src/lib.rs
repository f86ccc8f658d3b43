//! The pure middle of `inrush`: no clock, thread, file, socket or randomness.
//!
//! Documents enter as a [`DocBlock`], leave as requests, and come back as verdicts. Everything that
//! waits is in the crate `inrush`. Time ([`Time`]) and the seed of the jitter are arguments, so
//! equal calls have equal results. The simulator, the property tests and the replay of a recorded
//! run depend on that.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod batch;
pub mod block;
pub mod body_format;
pub mod checkpoint;
pub mod coalesce;
pub mod codes;
pub mod columns;
pub mod date_format;
pub mod date_forms;
mod date_value;
pub mod encode;
pub mod field_path;
pub mod flow;
pub mod ids;
pub mod index_name;
pub mod items;
pub mod ledger;
pub mod made_id;
pub mod mapping;
pub mod nodes;
pub mod operation;
mod order;
pub mod outcome;
mod pending;
pub mod product;
pub mod ranges;
pub mod rate;
pub mod remembered;
pub mod reply;
pub mod report;
pub mod retry;
pub mod routing;
pub mod rows;
pub mod settings_guard;
pub mod shaping;
pub mod trace;
pub mod vectors;
pub mod waits;
pub mod wildcard;
pub mod zone;

pub use block::{DocBlock, DocMeta, MetaFields, Origin, Position, Reject, SourceId};
pub use body_format::{BodyFormat, Compression, Encoding, GzipLevel};
pub use checkpoint::{Checkpoint, PartitionCheckpoint};
pub use coalesce::Coalesce;
pub use codes::{Code, StopReason};
pub use columns::Columns;
pub use date_value::unix_nanos;
pub use flow::{
    Command, DeadLetter, Flow, FlowConfig, MaxErrors, Note, Pause, PauseKind, PauseTotal, Request, Settlement, Stop,
};
pub use inrush_tune as tune;
pub use inrush_tune::time;
pub use inrush_tune::time::Time;
pub use items::ItemBlock;
pub use operation::{Action, FieldPath, IndexTemplate, Operations, VersionType};
pub use outcome::{OnConflict, Settled};
pub use product::KnownProduct;
pub use rows::{FieldType, FieldTypes, RowForm};
pub use shaping::{Dots, Rename, Shaping};

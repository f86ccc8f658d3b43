//! The engine of `inrush`: loads documents into Elasticsearch and OpenSearch, and accounts for every one of them.

pub mod cluster;
mod compare;
pub mod config;
mod dead_letter;
mod error;
mod loader;
pub mod node;
mod progress;
mod reader;
mod report;
mod run;
mod send;
pub mod source;
pub mod transport;
mod verify;

pub use dead_letter::Failure;
pub use error::LoadError;
pub use inrush_core::report::{Counts, ErrorCount, IndexCounts};
pub use inrush_core::{Action, DeadLetter, DocMeta, FieldPath, IndexTemplate, Position};
pub use loader::{Loader, LoaderBuilder, PushLoad, RunningLoad, StopHandle};
pub use progress::{Phase, Progress};
pub use report::{PlanReport, Report, SourceReport, Status, Verified, VerifiedState};

//! The engine of `inrush`: loads documents into Elasticsearch and OpenSearch, and accounts for every one of them.
//!
//! A file:
//!
//! ```no_run
//! use inrush::Loader;
//! use inrush::source::{FormatOptions, SourceSpec, Warnings, open};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let source = open(&[SourceSpec::new("logs/*.ndjson.zst")], FormatOptions::default(), &Warnings::default())?;
//! let loader = Loader::builder().to("http://localhost:9200").index("logs").id("id").build()?;
//! let report = loader.run(source).await?;
//! assert_eq!(report.exit_code(), 0, "{:?}", report.errors);
//! # Ok(())
//! # }
//! ```
//!
//! Documents that a program makes, from any number of tasks, with those that fail as a stream:
//!
//! ```no_run
//! use inrush::Loader;
//! use inrush::source::push::Document;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut load = Loader::builder().to("http://localhost:9200").index("logs").build()?.sender().await?;
//! let mut failures = load.failures().ok_or("they are taken once")?;
//! let sender = load.sender();
//! let task = tokio::spawn(async move {
//!     // Waits while memory is full.
//!     sender.send(Document { body: r#"{"message":"hello"}"#.into(), ..Document::default() }).await
//! });
//! task.await??;
//! let report = load.finish().await;
//! while let Some(failure) = failures.recv().await {
//!     eprintln!("{} line {}: {}", failure.source, failure.letter.position.line, failure.letter.reason);
//! }
//! println!("{} documents are in", report.counts.docs_indexed);
//! # Ok(())
//! # }
//! ```

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod audit;
pub mod bake;
pub mod carry_over;
mod checkpoint;
pub mod cluster;
mod compare;
mod compress;
pub mod config;
pub mod convert;
mod dead_letter;
pub mod doctor;
pub mod dry_run;
mod error;
mod finish;
mod guard;
mod ids;
pub mod infer;
mod loader;
mod lock_file;
pub mod node;
#[cfg_attr(
    not(any(feature = "sql", feature = "parquet")),
    expect(dead_code, reason = "tables without types do not ask")
)]
mod numbers;
mod path_json;
mod primaries;
mod private;
mod progress;
mod reader;
mod report;
mod run;
mod send;
pub mod shards;
pub mod source;
#[cfg(feature = "sql")]
pub mod sql;
mod targets;
mod tolerance;
mod trace;
pub mod transport;
mod verify;

pub use checkpoint::LOADS_INDEX;
pub use dead_letter::Failure;
pub use error::LoadError;
pub use finish::{FinishReport, OldIndex, OldWritesReport, Step, StepReport, SwapReport};
pub use guard::{GUARD_INDEX, RecoverOptions, Recovered, RecoveredState, recover};
pub use inrush_core::report::{Counts, ErrorCount, IndexCounts};
pub use inrush_core::{
    Action, BodyFormat, DeadLetter, DocMeta, FieldPath, IndexTemplate, PauseKind, PauseTotal, Position, Settled,
    Settlement,
};
pub use loader::{Loader, LoaderBuilder, Others, PauseHandle, PushLoad, RunningLoad, StopHandle};
pub use progress::{Phase, Progress};
pub use report::{
    IndexSizes, PlanReport, Report, SettingChange, SettingsReport, SettingsRestored, SourceReport, Status, ThisRun,
    Verified, VerifiedState,
};
pub use tolerance::ToleranceReport;

//! The engine of `inrush`: loads documents into Elasticsearch and OpenSearch, and accounts for each
//! of them.
//!
//! A load of files:
//!
//! ```no_run
//! use inrush::Loader;
//! use inrush::source::{FormatOptions, SourceSpec, Warnings, open};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let specs = [SourceSpec::new("logs/*.ndjson.zst")];
//! let source = open(&specs, FormatOptions::default(), &Warnings::default())?;
//! let loader = Loader::builder().to("http://localhost:9200").index("logs").id("id").build()?;
//! let report = loader.run(source).await?;
//! assert_eq!(report.exit_code(), 0, "{:?}", report.errors);
//! # Ok(())
//! # }
//! ```
//!
//! A load of documents from any number of tasks, with a stream of failed documents:
//!
//! ```no_run
//! use inrush::Loader;
//! use inrush::source::push::Document;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut loader = Loader::builder().to("http://localhost:9200").index("logs").build()?;
//! // At most 16 MiB of them wait; the dead-letter file has all.
//! let mut failures = loader.failures(16 << 20);
//! let load = loader.sender().await?;
//! let sender = load.sender();
//! let task = tokio::spawn(async move {
//!     // Waits while memory is full.
//!     sender.send(Document { body: r#"{"message":"hello"}"#.into(), ..Document::default() }).await
//! });
//! task.await??;
//! let report = load.finish().await;
//! while let Some(failure) = failures.recv().await {
//!     let letter = &failure.letter;
//!     eprintln!("{} line {}: {}", failure.source, letter.position.line, letter.reason);
//! }
//! println!("{} documents are in", report.counts.docs_indexed);
//! # Ok(())
//! # }
//! ```

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod convert;
pub mod copy;
pub mod doctor;
pub mod mapping;
pub mod options;
pub mod shards;
pub mod verify;

/// Builds an index outside its cluster and hands it over complete.
pub mod bake {
    pub use inrush_bake::*;

    pub use crate::options::bake::{BakeBuilder, BakeOptions, BakePlan};
}

pub use inrush_cluster::api as cluster;
pub use inrush_cluster::transport;
pub use inrush_core::report::{Counts, ErrorCount, IndexCounts};
pub use inrush_core::{
    Action, BodyFormat, DeadLetter, DocMeta, FieldPath, IndexTemplate, PauseKind, PauseTotal, Position, Settled,
    Settlement,
};
pub use inrush_load::{
    Failure, Failures, FinishReport, GUARD_INDEX, IndexSizes, LOADS_INDEX, LoadError, OldIndex, OldWritesReport,
    Others, PauseHandle, Phase, PlanReport, Progress, PushLoad, RecoverOptions, Recovered, RecoveredState, Report,
    RunningLoad, SettingChange, SettingsReport, SettingsRestored, Settlements, SourceReport, Status, Step, StepReport,
    StopHandle, SwapReport, ThisRun, ToleranceReport, Verified, VerifiedState, recover,
};
pub use inrush_load::{config, dry_run, observe};
pub use inrush_node as node;
pub use inrush_sources as source;
#[cfg(feature = "sql")]
pub use inrush_sql as sql;
pub use options::{Loader, LoaderBuilder};

//! Loads documents into Elasticsearch and OpenSearch, and accounts for each of them.
//!
//! | a program that | begins with |
//! |---|---|
//! | loads files, a database, an index, a query | [`Loader::builder`], [`LoaderBuilder::run`] |
//! | makes documents | [`Loader::sender`], [`source::push::Document`] |
//! | reads a system of its own | [`source::Source`], [`source::SourceKind`] |
//! | wants to know what became of each document | [`Loader::failures`], [`Loader::settlements`] |
//! | shows what a load does | [`observe::Observer`], [`RunningLoad::progress`] |
//! | builds an index beside its cluster | [`bake::BakeBuilder`] |
//! | compares an index with its source | [`verify::verify`] |
//!
//! A load of files:
//!
//! ```no_run
//! use inrush::Loader;
//! use inrush::source::{FormatOptions, SourceSpec, Warnings, open};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let files = [SourceSpec::new("logs/*.ndjson.zst")];
//! let source = open(&files, FormatOptions::default(), &Warnings::default())?;
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
//!     let (line, reason) = (failure.letter.position.line, &failure.letter.reason);
//!     eprintln!("{} line {line}: {reason}", failure.source);
//! }
//! println!("{} documents are in", report.counts.docs_indexed);
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised
//!
//! The names of this crate, and the methods and fields that their pages show. Errors, phases and
//! the reports that will grow are `#[non_exhaustive]`. The crates behind it (`inrush-load` and so
//! on) promise nothing. Types of other projects in signatures are re-exported in [`foreign`].

/// The examples of the page for Rust programs compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Page;

pub mod cluster;
pub mod doctor;
pub mod verify;

#[doc(inline)]
pub use inrush_commands::Loader;
/// Sets the options of a load.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
///
/// use inrush::Loader;
///
/// let report = Loader::builder()
///     .source("logs/*.ndjson.zst")
///     .to("https://search:9200")
///     .index("logs")
///     .batch_bytes("4MiB")
///     .memory(256 << 20)
///     .in_flight(8)
///     .linger(Duration::from_millis(200))
///     .run()
///     .await?;
/// println!("{} documents are in", report.counts.docs_indexed);
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use inrush_commands::LoaderBuilder;
#[doc(inline)]
pub use inrush_core::{Code, DeadLetter, Position, Settled, Settlement};
#[doc(inline)]
pub use inrush_load::{
    Failure, Failures, LoadError, Others, PauseHandle, Phase, Progress, PushLoad, Report, RunningLoad, Settlements,
    Status, StopHandle,
};

pub use cluster::recover;

/// The options of a load: the values that setters take, and the environment that they use.
///
/// A setter takes a value, or its text as on the command line. A value that cannot be used is an
/// error of the method that ends the builder:
///
/// ```
/// use inrush::options::ByteSize;
/// use inrush::{LoadError, Loader};
///
/// let typed = Loader::builder().to("http://localhost:9200").index("logs");
/// assert!(typed.clone().batch_bytes(ByteSize::new(4 << 20).unwrap()).build().is_ok());
/// assert!(typed.clone().batch_bytes("4MiB").build().is_ok());
///
/// let error = typed.batch_bytes("much").build().unwrap_err();
/// let LoadError::Usage(error) = error else { panic!("{error}") };
/// assert_eq!(error.option(), Some("batch_bytes"));
/// ```
pub mod options {
    #[doc(inline)]
    pub use inrush_cluster::transport::aws::Service;
    #[doc(inline)]
    pub use inrush_commands::options::{Body, ByteSize, EarlierLoad, Environment, IntoOption};
    #[doc(inline)]
    pub use inrush_core::rate::Rate;
    #[doc(inline)]
    pub use inrush_core::{
        Action, Coalesce, Compression, Encoding, FieldPath, GzipLevel, IndexTemplate, MaxErrors, OnConflict,
    };
    #[doc(inline)]
    pub use inrush_kafka::{OnGap, OnNull, SaslMechanism, SchemaIds, Unwrap};
    #[doc(inline)]
    pub use inrush_load::config::{BulkRouting, Durability, GraphTime, IdFrom, OldWrites, Replies, Tolerance, WaitFor};
    #[doc(inline)]
    pub use inrush_load::fetch::MissingRecord;
    #[doc(inline)]
    pub use inrush_load::{OptionError, OptionErrorKind, Style};
}

/// The parts of a [`Report`].
pub mod report {
    #[doc(inline)]
    pub use inrush_cluster::api::stats::IndexStats;
    #[doc(inline)]
    pub use inrush_core::report::{Counts, ErrorCount, IndexCounts};
    #[doc(inline)]
    pub use inrush_core::tune::{Learned, Unloaded};
    #[doc(inline)]
    pub use inrush_core::vectors::VectorCounts;
    #[doc(inline)]
    pub use inrush_core::{PauseKind, PauseTotal};
    #[doc(inline)]
    pub use inrush_load::{
        FinishReport, IndexSizes, NewIndexReport, OldIndex, OldWritesReport, PlanReport, SettingChange, SettingsReport,
        SettingsRestored, SinceReport, SourceReport, StartFrom, StartOutcome, StartReport, Step, StepReport,
        SwapReport, ThisRun, ToleranceReport, Verified, VerifiedState, VerifiedVectors, WarningDetail,
    };
}

/// Events of a load, and the observers that receive them.
///
/// ```
/// use std::time::Duration;
///
/// use inrush::Loader;
/// use inrush::observe::LoadEvent;
///
/// let show = |at: Duration, event: &LoadEvent<'_>| {
///     if let LoadEvent::PlanChanged(decision) = event {
///         eprintln!("{at:.1?}: {}", decision.why);
///     }
/// };
/// let loader = Loader::builder().to("http://localhost:9200").index("logs").observe(show).build()?;
/// # drop(loader);
/// # Ok::<(), inrush::LoadError>(())
/// ```
pub mod observe {
    #[doc(inline)]
    pub use inrush_core::BodyFormat;
    #[doc(inline)]
    pub use inrush_load::observe::{
        BodyFormatChange, Bounds, Decision, LoadEvent, LoadStart, Observer, Pause, Plan, Request, Sample, SampleOutcome,
    };
}

/// What a dry run shows.
pub mod dry_run {
    #[doc(inline)]
    pub use inrush_load::dry_run::{DryRun, Failure, Shown};
}

/// Sources of documents: files, programs, and kinds that a program adds.
///
/// A source of a program's own, and its kind, which the option `source` then finds:
///
/// ```no_run
/// use inrush::Loader;
/// use inrush::options::Environment;
/// use inrush::source::{
///     Chunk, DocBlock, OpenError, Opened, Opening, Origin, Record, Request, Source, SourceError,
///     SourceInfo, SourceKind, Step,
/// };
///
/// struct Numbers {
///     left: u64,
///     bytes: u64,
/// }
///
/// impl Source for Numbers {
///     fn describe(&self) -> SourceInfo {
///         SourceInfo::new(["numbers"])
///     }
///
///     fn next(&mut self, _bytes: usize) -> Result<Step, SourceError> {
///         if self.left == 0 {
///             return Ok(Step::End);
///         }
///         let text = format!("{{\"n\":{}}}", self.left);
///         let bytes_read = text.len() as u64;
///         let block = DocBlock {
///             origin: Origin { first_byte: self.bytes, ..Origin::default() },
///             records: vec![Record { start: 0, end: text.len() as u32, byte: 0, line: 0 }],
///             data: text.into(),
///             lines: 1,
///             bytes_read,
///             ..DocBlock::default()
///         };
///         (self.left, self.bytes) = (self.left - 1, self.bytes + bytes_read);
///         Ok(Step::Chunk(Chunk::Docs(block)))
///     }
/// }
///
/// struct NumbersKind;
///
/// impl SourceKind for NumbersKind {
///     fn name(&self) -> &'static str {
///         "numbers"
///     }
///
///     fn find(&self, request: &Request) -> Option<String> {
///         let first = request.arguments.first()?.to_str()?;
///         first.starts_with("numbers://").then(|| first.to_owned())
///     }
///
///     fn open<'a>(&'a self, _: &'a Request) -> Opening<'a> {
///         Box::pin(async { Ok::<_, OpenError>(Opened::new(Numbers { left: 10, bytes: 0 })) })
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let load = Loader::builder()
///     .environment(Environment::of_process().with_source_kind(NumbersKind))
///     .source("numbers://10")
///     .to("http://localhost:9200")
///     .index("numbers");
/// let report = load.run().await?;
/// assert_eq!(report.counts.docs_indexed, 10);
/// # Ok(())
/// # }
/// ```
pub mod source {
    #[doc(inline)]
    pub use inrush_core::VersionType;
    #[doc(inline)]
    pub use inrush_core::block::{DocBlock, DocMeta, Origin, Partition, Record, Reject, SourceId};
    #[doc(inline)]
    pub use inrush_formats::{Chunk, SourceError, Warning, Warnings};
    #[doc(inline)]
    pub use inrush_sources::{
        DeadLetterSink, Feedback, Files, Fingerprint, Format, FormatOptions, Lag, LogFormat, OpenError, Opened,
        Opening, PartitionLag, Reopen, Repeats, Request, Source, SourceInfo, SourceKind, SourceSpec, Step, Timestamps,
        TopicPartition, Topics, VectorFormat, open,
    };

    /// Documents that a program hands over.
    pub mod push {
        #[doc(inline)]
        pub use inrush_sources::push::{Closed, Document, Sender};
    }
}

/// Builds an index beside its cluster and hands it over complete.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use inrush::Loader;
/// use inrush::bake::BakeBuilder;
///
/// let load = Loader::builder().source("logs/*.parquet").to("https://search:9200").index("logs");
/// let report = BakeBuilder::new(load).repository("snapshots").run().await?;
/// println!("{} documents are in", report.load.counts.docs_indexed);
/// # Ok(())
/// # }
/// ```
pub mod bake {
    #[doc(inline)]
    pub use inrush_bake::{BakeError, BakeReport, BakeStep, BakeStepName, BakeStop, Engine, HandOver, RunningBake};
    #[doc(inline)]
    pub use inrush_commands::bake::BakeBuilder;
    #[doc(inline)]
    pub use inrush_node::NodeError;
}

/// Infers a mapping from the documents of a source.
///
/// ```
/// use inrush::mapping::{Mixed, infer};
/// use inrush::source::{FormatOptions, SourceSpec, Warnings, open};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("towns.csv");
/// std::fs::write(&path, "town,founded\nHendaye,1618-01-01\n")?;
/// let files = [SourceSpec::new(path)];
/// let mut source = open(&files, FormatOptions::default(), &Warnings::default())?;
/// let found = infer(&mut source, None, Mixed::Widen)?;
/// assert_eq!(found.advice.mapping["properties"]["founded"]["type"], "date");
/// # Ok(())
/// # }
/// ```
pub mod mapping {
    #[doc(inline)]
    pub use inrush_commands::mapping::{Advice, Inference, Mixed, Note, NoteKind, infer};
}

/// Converts the mapping and the settings of an index for another cluster, version or product.
pub mod copy {
    #[doc(inline)]
    pub use inrush_commands::copy::{Copied, mapping, settings};
}

/// Types of other projects in the signatures of this crate.
pub mod foreign {
    #[cfg(feature = "columns")]
    pub use arrow_array::RecordBatch;
    pub use bytes::Bytes;
    pub use http::Method;
    pub use serde_json::Value;
    pub use tokio::sync::watch;
}

//! Compares a source with an index: how many documents there are, which ids are missing in the index, which are only there, and
//! which documents differ.
//!
//! The source is read once, as a load reads it. Its documents are looked up by id in batches; what was found is sorted by id, in a
//! temporary file where it does not fit into memory, because only then is it known which document is the last one of its id: that is
//! the one that counts, as with a load. Only where the index holds more documents than were found are its ids read too, and sorted
//! in the same way. Memory is bounded whatever the sizes; the temporary files take about as much disk as the ids, and 30 bytes more
//! for each document.

mod canonical;
mod compare;
mod conclude;
mod extra;
mod found;
mod missing;
mod read;
mod report;
mod sample;
mod sort;
mod target;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use inrush_cluster::api::{ClusterError, stats};
use inrush_cluster::transport::Transport;
use inrush_core::encode::Encoder;
use inrush_core::{Action, FieldPath, IndexTemplate, Operations};
use inrush_load::config::IdFrom;
use inrush_load::ids::Ids;
use inrush_sources::{Repeats, Source, SourceError, Warnings};

use self::compare::Comparer;
use self::conclude::{Draft, Rejected, Totals};
use self::extra::extra;
use self::missing::MissingFile;
use self::read::Message;
pub use self::report::{AuditReport, Example, Examples, Outcome};
use self::sample::Sample;
use self::sort::Sorter;

/// What to compare, and how.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// Index, alias or data stream; a fixed name.
    pub index: IndexTemplate,
    /// The field that holds the id. Without it documents are only counted.
    pub id: Option<FieldPath>,
    /// Ids that the load made of something else than a field, as [`inrush_load::config::LoadConfig::id_from`]; not together with `id`. Default: no.
    pub id_from: Option<IdFrom>,
    /// The field that holds the routing value. With it a document is told by id and routing.
    pub routing: Option<FieldPath>,
    /// Fields that were left out by the load.
    pub drop: Vec<FieldPath>,
    /// Compare only so many ids, drawn at random. They are kept in memory with their documents. Default: all.
    pub sample: Option<usize>,
    /// A file for the documents of the source that are missing or different, one JSON object a line; made even where there are none,
    /// when the comparison is over.
    pub missing: Option<PathBuf>,
    /// Memory for sorting, bytes; twice that while ids of the index are read. Default 32 MiB.
    pub sort_memory: usize,
}

impl AuditOptions {
    /// The defaults, which only count.
    pub fn new(index: IndexTemplate) -> Self {
        AuditOptions {
            index,
            id: None,
            id_from: None,
            routing: None,
            drop: Vec::new(),
            sample: None,
            missing: None,
            sort_memory: 32 << 20,
        }
    }
}

/// How far a comparison has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditProgress {
    /// Documents read from the source.
    pub docs_read: u64,
    /// Documents looked up in the index.
    pub docs_compared: u64,
    /// Ids read from the index.
    pub ids_read: u64,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// Options that do not fit together.
    #[error("{0}")]
    Usage(String),
    /// The cluster did not answer, or the index cannot be read.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The source cannot be read to its end.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A file of our own.
    #[error("{what}: {error}")]
    File {
        /// What was done.
        what: String,
        /// Why it failed. Part of the message already.
        error: io::Error,
    },
}

fn io_error(what: &str) -> impl FnOnce(io::Error) -> AuditError + '_ {
    move |error| AuditError::File { what: what.to_owned(), error }
}

/// Compares `source` with an index. Nothing is written to the index; it is refreshed, so that it can be counted.
///
/// # Errors
/// [`AuditError`] where the source or the index could not be read to the end: then nothing is known.
pub async fn audit(
    transport: Arc<Transport>,
    source: Box<dyn Source>,
    options: &AuditOptions,
    progress: impl Fn(AuditProgress),
) -> Result<AuditReport, AuditError> {
    let started = Instant::now();
    let index = options.index.fixed().ok_or_else(|| AuditError::Usage("name one index, without {field}".to_owned()))?;
    if options.id.is_some() && options.id_from.is_some() {
        return Err(AuditError::Usage("option `id` and option `id_from` are given; an id has one origin".to_owned()));
    }
    let info = source.describe();
    if info.is_endless {
        let what = format!("{} never ends, and only a source that ends can be compared", info.title());
        return Err(AuditError::Usage(what));
    }
    if options.id_from == Some(IdFrom::Position) && info.repeats == Repeats::Unordered {
        let what =
            "option `id_from=position` needs documents that come in the same order each time, which these do not";
        return Err(AuditError::Usage(what.to_owned()));
    }
    let made = options.id.is_some() || options.id_from.is_some();
    let with_ids = made || info.has_ids;
    if !with_ids && (options.sample.is_some() || options.missing.is_some()) {
        let what = "a sample and a file of missing documents need the documents' ids; name their field with option `id`, or what the load made them of with option `id_from`";
        return Err(AuditError::Usage(what.to_owned()));
    }
    let target = target::resolve(&transport, index).await?;
    let missing = match &options.missing {
        None => None,
        Some(path) => Some(MissingFile::new(path).map_err(io_error(&format!("making {}", path.display())))?),
    };
    let (names, warnings) = (info.names, info.warnings);
    let contents = target.contents_unlike.is_none();
    let mut comparer =
        Comparer::new(Arc::clone(&transport), target.lookup.clone(), contents, missing, options.sort_memory);
    let mut state = AuditProgress::default();
    let mut sample = options.sample.map(Sample::new);
    let mut rejected = Rejected::default();
    let ids = options.id_from.map(|from| Ids::new(from, names.clone()));
    let encoder = encoder(options);
    let dropped = encoder.dropped();
    let mut parts = read::start(source, encoder, ids).map_err(io_error("starting a thread"))?;
    loop {
        match parts.recv().await {
            Some(Message::Part(part)) => {
                state.docs_read += part.docs;
                rejected.add(part.rejected, &names);
                for record in part.records {
                    match &mut sample {
                        Some(sample) => sample.offer(record),
                        None => comparer.push(record).await?,
                    }
                }
                state.docs_compared = comparer.compared();
                progress(state);
            }
            Some(Message::End(end)) => break end?,
            None => {
                let error = io::Error::other("the thread that reads has panicked");
                return Err(io_error("reading the source")(error));
            }
        }
    }
    for record in sample.into_iter().flat_map(Sample::into_records) {
        comparer.push(record).await?;
        state.docs_compared = comparer.compared();
        progress(state);
    }
    let (findings, missing) = comparer.finish().await?;
    let found = Totals::of(&findings, &names, missing.is_some()).map_err(io_error("reading a temporary file"))?;
    let docs_in_index = stats::count_now(&transport, target.lookup.name()).await?;

    let mut report = Draft { options, with_ids, docs_read: state.docs_read, rejected, docs_in_index, found };
    let more = if with_ids && options.sample.is_none() && docs_in_index > report.found.in_index() {
        // Where nothing makes ids they are the source's own, and so are routing values.
        let (name, routed) = (target.lookup.name(), options.routing.is_some() || !made);
        let ids_read = |ids_read| progress(AuditProgress { ids_read, ..state });
        Some(extra(&transport, name, &findings, routed, options.sort_memory, ids_read).await?)
    } else {
        None
    };
    if let (Some(file), Some(path)) = (missing, &options.missing) {
        let numbers = std::mem::replace(&mut report.found.wanted, Sorter::new(0));
        file.finish(numbers).map_err(io_error(&format!("writing {}", path.display())))?;
    }
    let mut report = report.finish(more, target.contents_unlike);
    report.warnings.extend(warnings.iter().flat_map(Warnings::list).map(|warning| warning.to_string()));
    if state.docs_read > 0 {
        report.warnings.extend(dropped.warnings());
    }
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

fn encoder(options: &AuditOptions) -> Encoder {
    Encoder::new(Operations {
        action: Action::Index,
        index: options.index.clone(),
        id: options.id.clone(),
        routing: options.routing.clone(),
        version: None,
        drop: options.drop.clone(),
    })
}

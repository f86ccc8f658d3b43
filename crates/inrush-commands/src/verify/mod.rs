//! Compares a source with an index: the number of documents, the ids that are missing in the index,
//! the ids that only the index has, and the documents that differ.
//!
//! The source is read once, as a load reads it. Its documents are looked up by id in batches. The
//! findings are sorted by id, because the last document of an id is the one that counts, as with a
//! load. Findings that do not fit into memory are sorted in a temporary file. The index's ids are
//! read and sorted only if the index holds more documents than were found. Memory is bounded for
//! any size. The temporary files take about as much disk as the ids, plus 30 bytes per document.

mod canonical;
mod compare;
mod conclude;
mod extra;
mod found;
mod missing;
mod read;
mod rebuilt;
mod report;
mod sample;
mod series;
mod sort;
mod target;
mod vectors;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use inrush_cluster::api::{ClusterError, stats};
use inrush_cluster::transport::Transport;
use inrush_core::encode::Encoder;
use inrush_core::{Action, Code, FieldPath, IndexTemplate, Operations, RowForm, Shaping};
use inrush_load::config::IdFrom;
use inrush_load::ids::{self, Ids};
use inrush_sources::{Repeats, Source, SourceError, SourceInfo, Warnings};
use tokio::sync::mpsc;

use self::compare::{Comparer, Ended, Seen};
use self::conclude::{Draft, Rejected, Totals};
use self::extra::extra;
use self::missing::MissingFile;
use self::read::Message;
pub use self::report::{Example, Examples, VerifyOutcome, VerifyReport};
use self::sample::Sample;
use self::series::SeriesCount;
use self::sort::Sorter;

/// The index to compare with, and the kind of comparison.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Index, alias or data stream, a fixed name.
    pub index: IndexTemplate,
    /// The field that holds the id. Without it documents are only counted.
    pub id: Option<FieldPath>,
    /// The origin of ids that the load generated, as [`inrush_load::config::LoadConfig::id_from`].
    /// Excludes `id`. Default: none.
    pub id_from: Option<IdFrom>,
    /// The field that holds the routing value. With it, a document is identified by id and routing
    /// value. Default: none.
    pub routing: Option<FieldPath>,
    /// Changes of each document by the load. Default: none.
    pub shaping: Shaping,
    /// Compare only this number of random ids. They are kept in memory with their documents.
    /// Default: all.
    pub sample: Option<usize>,
    /// A file for the documents that are missing or different, one JSON object per line. It is
    /// written at the end of the comparison, and is empty if there are none. Default: none.
    pub missing: Option<PathBuf>,
    /// Memory for sorting, bytes; twice as much while ids of the index are read. Default 32 MiB.
    pub sort_memory: usize,
}

impl VerifyOptions {
    /// The defaults, with which documents are only counted.
    pub fn new(index: IndexTemplate) -> Self {
        VerifyOptions {
            index,
            id: None,
            id_from: None,
            routing: None,
            shaping: Shaping::default(),
            sample: None,
            missing: None,
            sort_memory: 32 << 20,
        }
    }
}

impl VerifyOptions {
    /// Whether the ids are those of a field, or generated as by the load.
    fn makes_ids(&self) -> bool {
        self.id.is_some() || self.id_from.is_some()
    }

    /// Checks the options for this source, and returns the name of the index.
    fn check(&self, source: &SourceInfo) -> Result<&str, VerifyError> {
        let refused = |why: &str| Err(VerifyError::Usage(why.to_owned()));
        if source.is_endless {
            return Err(VerifyError::Usage(format!(
                "{} never ends, and only a source that ends can be compared",
                source.title()
            )));
        }
        let Some(index) = self.index.fixed() else { return refused("name one index, without {field}") };
        if self.id.is_some() && self.id_from.is_some() {
            return refused("option `id` and option `id_from` are given; leave one of them out");
        }
        if self.id_from == Some(IdFrom::Position) && source.repeats == Repeats::Unordered {
            return refused(
                "option `id_from=position` needs a source that gives its documents in the same order each time, but this one does not",
            );
        }
        let with_ids = self.makes_ids() || source.has_ids;
        if !with_ids && (self.sample.is_some() || self.missing.is_some()) {
            return refused(
                "a sample and a file of missing documents need the documents' ids; name their field with option `id`, or their origin with option `id_from`",
            );
        }
        Ok(index)
    }
}

impl VerifyOptions {
    /// Refuses what needs ids for an index that makes its own. `title`: the index in words.
    fn check_series(&self, title: &str) -> Result<(), VerifyError> {
        let options = [
            ("id", self.id.is_some()),
            ("id_from", self.id_from.is_some()),
            ("routing", self.routing.is_some()),
            ("sample", self.sample.is_some()),
            ("missing", self.missing.is_some()),
        ];
        match options.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(VerifyError::Usage(format!(
                "option `{option}` is given, but {title}, so documents can only be counted; leave it out"
            ))),
            None => Ok(()),
        }
    }
}

/// The progress of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyProgress {
    /// Documents read from the source.
    pub docs_read: u64,
    /// Bytes read from the source, before decompression.
    pub bytes_read: u64,
    /// Bytes of the source, where they are known.
    pub bytes_total: Option<u64>,
    /// Documents that are only counted, because they have no ids.
    pub docs_counted: u64,
    /// Records that no load could send.
    pub docs_rejected: u64,
    /// Documents looked up in the index.
    pub docs_compared: u64,
    /// Documents among them that the index does not hold. A later document with the same id counts
    /// again here, and in its place in the report.
    pub docs_missing: u64,
    /// Documents among them that the index holds with other contents. As above.
    pub docs_different: u64,
    /// Ids read from the index.
    pub ids_read: u64,
}

impl VerifyProgress {
    fn see(&mut self, seen: Seen) {
        let Seen { compared, missing, different } = seen;
        (self.docs_compared, self.docs_missing, self.docs_different) = (compared, missing, different);
    }
}

/// Why a comparison has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The options contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The cluster did not answer, or the index cannot be read.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The source cannot be read to its end.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A temporary file, or the file of missing documents, cannot be used.
    #[error("{what}: {error}")]
    File {
        /// The failed operation.
        what: String,
        /// The cause, which is part of the message.
        #[source]
        error: io::Error,
    },
}

impl VerifyError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            VerifyError::Usage(_) => Code::OptionsConflict,
            VerifyError::Cluster(error) => error.code(),
            VerifyError::Source(error) => error.code,
            VerifyError::File { error, .. } => Code::of_io(error),
        }
    }
}

fn io_error(what: &str) -> impl FnOnce(io::Error) -> VerifyError + '_ {
    move |error| VerifyError::File { what: what.to_owned(), error }
}

/// Compares `source` with an index. Nothing is written to the index. It is refreshed, so that its
/// documents can be counted.
///
/// # Errors
/// [`VerifyError`] if the source or the index could not be read to the end. There is no result
/// then.
pub async fn verify(
    transport: Arc<Transport>,
    mut source: Box<dyn Source>,
    options: &VerifyOptions,
    progress: impl Fn(VerifyProgress),
) -> Result<VerifyReport, VerifyError> {
    let started = Instant::now();
    let info = source.describe();
    let index = options.check(&info)?;
    let made = options.makes_ids();
    let target = target::resolve(&transport, index).await?;
    if let Some(series) = &target.series {
        options.check_series(&series.title)?;
    }
    let with_ids = (made || info.has_ids) && target.series.is_none();
    let form = RowForm { fields: target.fields.of_source(&options.shaping), ..RowForm::default() };
    source.form_rows(&ids::row_form(form, options.id_from));
    let missing = match &options.missing {
        None => None,
        Some(path) => Some(MissingFile::new(path).map_err(io_error(&format!("making {}", path.display())))?),
    };
    let (names, warnings) = (info.names, info.warnings);
    let contents = Arc::new(target.contents);
    let how = (target.lookup.clone(), Arc::clone(&contents));
    let mut comparer = Comparer::new(Arc::clone(&transport), how, missing, options.sort_memory);
    let ids = options.id_from.map(|from| Ids::new(from, names.clone()));
    let encoder = encoder(options);
    let shape = encoder.shape();
    let mut series = target.series.map(|series| SeriesCount::new(series, options.sort_memory));
    let mut parts = read::start(source, encoder, ids, series.is_some()).map_err(io_error("starting a thread"))?;
    let sample = options.sample.map(Sample::new);
    let begin = VerifyProgress { bytes_total: info.bytes_total, ..VerifyProgress::default() };
    let told = |now: VerifyProgress| {
        let counted = if with_ids { 0 } else { now.docs_read - now.docs_rejected };
        progress(VerifyProgress { docs_counted: counted, ..now });
    };
    let ways = (&mut comparer, series.as_mut(), sample);
    let (mut state, rejected) = compare_all(&mut parts, ways, &names, (begin, &told)).await?;
    let Ended { findings, seen, missing, unknown } = comparer.finish().await?;
    state.see(seen);
    told(state);
    let found = Totals::of(&findings, &names, missing.is_some()).map_err(io_error("reading a temporary file"))?;
    let docs_in_index = stats::count_now(&transport, target.lookup.name()).await?;
    let series = series.map(SeriesCount::finish).transpose().map_err(io_error("reading a temporary file"))?;

    let mut report = Draft { options, with_ids, docs_read: state.docs_read, rejected, docs_in_index, found, series };
    let more = if with_ids && options.sample.is_none() && docs_in_index > report.found.in_index() {
        // Where nothing makes ids they are the source's own, and so are routing values.
        let (name, routed) = (target.lookup.name(), options.routing.is_some() || !made);
        let ids_read = |ids_read| told(VerifyProgress { ids_read, ..state });
        Some(extra(&transport, name, &findings, routed, options.sort_memory, ids_read).await?)
    } else {
        None
    };
    if let (Some(file), Some(path)) = (missing, &options.missing) {
        let numbers = std::mem::replace(&mut report.found.wanted, Sorter::new(0));
        file.finish(numbers).map_err(io_error(&format!("writing {}", path.display())))?;
    }
    let mut report = report.finish(more, (&*contents, unknown));
    report.warnings.extend(warnings.iter().flat_map(Warnings::list).map(|warning| warning.to_string()));
    if state.docs_read > 0 {
        report.warnings.extend(shape.warnings());
    }
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

/// Compares the records of the source, or those of the sample. Returns the progress at the end, and
/// the rejected records.
async fn compare_all(
    parts: &mut mpsc::Receiver<Message>,
    (comparer, mut series, mut sample): (&mut Comparer, Option<&mut SeriesCount>, Option<Sample>),
    names: &[String],
    (mut state, progress): (VerifyProgress, &impl Fn(VerifyProgress)),
) -> Result<(VerifyProgress, Rejected), VerifyError> {
    let mut rejected = Rejected::default();
    loop {
        match parts.recv().await {
            Some(Message::Part(part)) => {
                state.docs_read += part.docs;
                state.bytes_read += part.bytes;
                state.docs_rejected += part.rejected.len() as u64;
                rejected.add(part.rejected, names);
                for record in part.records {
                    match (&mut series, &mut sample) {
                        (Some(series), _) => series.add(&record).map_err(io_error("sorting in a temporary file"))?,
                        (None, Some(sample)) => sample.offer(record),
                        (None, None) => comparer.push(record).await?,
                    }
                }
                state.see(comparer.seen());
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
        state.see(comparer.seen());
        progress(state);
    }
    Ok((state, rejected))
}

fn encoder(options: &VerifyOptions) -> Encoder {
    Encoder::new(Operations {
        routing: options.routing.clone(),
        shaping: options.shaping.clone(),
        ..Operations::new(Action::Index, options.index.clone(), options.id.clone())
    })
}

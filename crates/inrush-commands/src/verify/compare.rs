//! Looks the records of a source up in batches, several at once, and returns the findings in the
//! source's order.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::Wait;
use inrush_cluster::api::ClusterError;
use inrush_cluster::api::lookup::{self, Found, Lookup, Wanted};
use inrush_cluster::transport::Transport;
use tokio::task::JoinHandle;

use super::canonical::{Comparison, with_texts};
use super::found::{Finding, Verdict, key_of};
use super::missing::MissingFile;
use super::read::Record;
use super::sort::{Sorted, Sorter};
use super::target::Contents;
use super::{VerifyError, io_error};

/// The most documents in one lookup request, and the most bytes of them.
const BATCH_DOCS: usize = 500;
const BATCH_BYTES: usize = 1 << 20;
/// Lookup requests in flight.
const IN_FLIGHT: usize = 4;

pub(super) struct Comparer {
    transport: Arc<Transport>,
    lookup: Lookup,
    contents: Arc<Contents>,
    batch: Vec<Record>,
    batch_bytes: usize,
    under_way: VecDeque<JoinHandle<Result<Vec<Compared>, ClusterError>>>,
    findings: Sorter,
    missing: Option<MissingFile>,
    seen: Seen,
    unknown: BTreeSet<String>,
}

/// The result of all lookups.
pub(super) struct Ended {
    /// All findings, sorted by id.
    pub(super) findings: Sorted,
    /// Their numbers.
    pub(super) seen: Seen,
    /// The file for missing documents.
    pub(super) missing: Option<MissingFile>,
    /// Fields of which nothing was concluded.
    pub(super) unknown: BTreeSet<String>,
}

/// The records whose lookup has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) compared: u64,
    pub(super) missing: u64,
    pub(super) different: u64,
}

/// A record with its verdict.
struct Compared {
    record: Record,
    verdict: Verdict,
    fields: String,
    unknown: BTreeSet<String>,
}

/// How long a node that restarts is waited for.
const AWAY_MAX: Duration = Duration::from_mins(2);

/// Looks documents up. A node that restarts is waited for.
async fn find(
    transport: &Transport,
    lookup: &Lookup,
    wanted: &[Wanted],
    contents: lookup::Contents,
) -> Result<Vec<Vec<Found>>, ClusterError> {
    let mut wait = Wait::new(AWAY_MAX);
    loop {
        match lookup.find(transport, wanted, contents).await {
            Err(error) if error.may_pass() && wait.pause(&error).await.is_ok() => {
                tracing::debug!("documents are looked up again: {error}");
            }
            result => return result,
        }
    }
}

impl Comparer {
    pub(super) fn new(
        transport: Arc<Transport>,
        (lookup, contents): (Lookup, Arc<Contents>),
        missing: Option<MissingFile>,
        sort_memory: usize,
    ) -> Self {
        Comparer {
            transport,
            lookup,
            contents,
            batch: Vec::new(),
            batch_bytes: 0,
            under_way: VecDeque::new(),
            findings: Sorter::new(sort_memory),
            missing,
            seen: Seen::default(),
            unknown: BTreeSet::new(),
        }
    }

    /// The records whose lookup has ended.
    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    /// Adds the next record of the source. Waits while [`IN_FLIGHT`] requests are in flight.
    pub(super) async fn push(&mut self, record: Record) -> Result<(), VerifyError> {
        self.batch_bytes += record.document.len();
        self.batch.push(record);
        if self.batch.len() >= BATCH_DOCS || self.batch_bytes >= BATCH_BYTES {
            self.send().await?;
        }
        Ok(())
    }

    /// Waits for the lookups that are under way.
    pub(super) async fn finish(mut self) -> Result<Ended, VerifyError> {
        self.send().await?;
        while !self.under_way.is_empty() {
            self.settle().await?;
        }
        let Comparer { findings, seen, missing, unknown, .. } = self;
        Ok(Ended { findings: findings.finish(), seen, missing, unknown })
    }

    async fn send(&mut self) -> Result<(), VerifyError> {
        if self.under_way.len() >= IN_FLIGHT {
            self.settle().await?;
        }
        let records = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let (transport, lookup, contents) =
            (Arc::clone(&self.transport), self.lookup.clone(), Arc::clone(&self.contents));
        self.under_way.push_back(tokio::spawn(async move {
            let wanted: Vec<Wanted> = records.iter().map(|record| record.key.clone()).collect();
            let found = find(&transport, &lookup, &wanted, contents.asked()).await?;
            Ok(records.into_iter().zip(found).map(|(record, found)| judge(record, &found, &contents)).collect())
        }));
        Ok(())
    }

    /// Processes the answer to the oldest request.
    async fn settle(&mut self) -> Result<(), VerifyError> {
        let Some(oldest) = self.under_way.pop_front() else { return Ok(()) };
        let all = match oldest.await {
            Ok(all) => all?,
            // No code cancels the task, so it has panicked.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        for Compared { record, verdict, fields, unknown } in all {
            self.unknown.extend(unknown);
            let kept = match (&mut self.missing, verdict) {
                (Some(missing), Verdict::Missing | Verdict::Different) => {
                    Some(missing.keep(&record.raw).map_err(io_error("writing a temporary file"))?)
                }
                _ => None,
            };
            let key = key_of(&record.key.id, record.key.routing.as_deref());
            let finding = Finding { verdict, place: record.place, kept, fields };
            self.findings.push(&key, &finding.to_bytes()).map_err(io_error("sorting in a temporary file"))?;
            self.seen.compared += 1;
            self.seen.missing += u64::from(verdict == Verdict::Missing);
            self.seen.different += u64::from(verdict == Verdict::Different);
        }
        Ok(())
    }
}

fn judge(record: Record, found: &[Found], contents: &Contents) -> Compared {
    let (mut fields, mut unknown) = (String::new(), BTreeSet::new());
    let mut compare = |ours: &[u8], theirs: &[u8]| {
        let compared = match contents {
            Contents::Values(_, of_index) => of_index.compare(ours, theirs),
            Contents::Documents(vectors, fields) => {
                let compared = vectors.compare(ours, theirs);
                let texts = if compared.result == Comparison::Same { None } else { with_texts(theirs, fields) };
                texts.map_or(compared, |theirs| vectors.compare(ours, &theirs))
            }
            // No source was asked for.
            Contents::Nothing(_) => return Comparison::Same,
        };
        unknown.extend(compared.unknown);
        compared.result
    };
    let mut same = false;
    for one in found {
        match one.source.as_ref().map(|source| compare(&record.document, source.get().as_bytes())) {
            None | Some(Comparison::Same) => same = true,
            Some(Comparison::Different(names)) => fields = names.join(", "),
        }
    }
    let verdict = match (found.is_empty(), same) {
        (true, _) => Verdict::Missing,
        (false, true) => Verdict::Same,
        (false, false) => Verdict::Different,
    };
    Compared { record, verdict, fields: if verdict == Verdict::Different { fields } else { String::new() }, unknown }
}

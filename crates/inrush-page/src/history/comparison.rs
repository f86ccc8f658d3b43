//! A comparison of a source with an index, as the history of a load: documents that were looked up
//! are settled ones.

use std::time::Duration;

use inrush_core::report::Counts;
use inrush_load::observe::LoadEvent;
use inrush_load::{Phase, Progress};
use serde_json::Value;

use super::History;
use crate::snapshot::Kind;

/// A moment of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Documents read from the source.
    pub docs_read: u64,
    /// Bytes read from the source.
    pub bytes_read: u64,
    /// Bytes of the source, where they are known.
    pub bytes_total: Option<u64>,
    /// Documents that are only counted, because they have no ids.
    pub counted: u64,
    /// Documents that the index holds as they are.
    pub equal: u64,
    /// Documents that it does not hold.
    pub missing: u64,
    /// Documents that it holds with other contents.
    pub different: u64,
    /// Records that no load could send.
    pub rejected: u64,
    /// Ids read from the index.
    pub ids_read: u64,
}

impl History {
    /// Begins to show a comparison.
    pub(crate) fn compares(&mut self, cluster: &str, sources: &[String], run_id: &str) {
        self.has_begun = true;
        self.start.kind = Kind::Verify;
        self.start.cluster = cluster.to_owned();
        self.start.run_id = run_id.to_owned();
        self.start.sources = sources.iter().take(super::SOURCES_MAX).cloned().collect();
        self.start.sources_more = sources.len().saturating_sub(super::SOURCES_MAX);
        self.on_event(Duration::ZERO, &LoadEvent::Phase(&Phase::Verifying));
    }

    /// Shows the state of a comparison.
    pub(crate) fn compared(&mut self, at: Duration, now: &Comparison) {
        let mut progress = Progress::default();
        progress.counts = Counts::build(|counts| {
            counts.docs_dropped = now.counted;
            counts.docs_noop = now.equal;
            counts.docs_not_found = now.missing;
            counts.docs_conflicting = now.different;
            counts.docs_dead_lettered = now.rejected;
            counts.docs_read = now.counted + now.equal + now.missing + now.different + now.rejected;
            counts.bytes_read = now.bytes_read;
        });
        // The share and the time left are those of reading: lookups follow it closely.
        (progress.docs_read, progress.docs_settled) = (now.docs_read, now.docs_read);
        (progress.bytes_read, progress.bytes_total) = (now.bytes_read, now.bytes_total);
        (self.ids_read, self.start.bytes_total) = (now.ids_read, now.bytes_total);
        self.on_event(at, &LoadEvent::Progress(&progress));
    }

    /// Ends a comparison. `report` is its report as JSON, `None` if it has none.
    pub(crate) fn compared_all(&mut self, at: Duration, exit_status: u8, report: Option<Value>) {
        let counts = self.progress.counts.clone();
        self.close_point(at.as_secs_f64(), &counts);
        self.exit_status = Some(exit_status);
        (self.report, self.report_is_new) = (report, true);
        self.on_event(at, &LoadEvent::Phase(&Phase::Done));
    }
}

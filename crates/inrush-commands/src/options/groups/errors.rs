//! Options for documents that cannot be indexed, and for the checks at the end.

use std::path::PathBuf;

use inrush_core::{MaxErrors, OnConflict};

use crate::options::{LoaderBuilder, Outputs};
use inrush_load::config::Tolerance;

options! {
    /// The treatment of documents that cannot be indexed, and the checks at the end.
    pub struct ErrorOptions in LoaderBuilder.errors, "Errors and checks" {
        /// The treatment of a version conflict (409) that no earlier attempt of this load has
        /// caused
        on_conflict: Option<OnConflict> = "WHAT",
            default("fail; skip for topics with option `version_from` or option `id_from=position`");
        /// File for documents that cannot be indexed, one JSON object per line with error, position
        /// and document
        dead_letters: Option<PathBuf> = "PATH", outputs(Outputs::Own),
            default("inrush-dead-letters-RUN.ndjson in the working directory, created for the first one");
        /// Stop at the first document that cannot be indexed, as option `max_errors=0`
        strict: bool, conflicts(&["max_errors"]);
        /// Stop when more than N documents, or more than N% of them, are dead letters; a percentage
        /// is checked from the 10,000th document on and at the end
        max_errors: Option<MaxErrors> = "N|N%", default("100%");
        /// Count a load as complete if at most N documents, or N% of those that were read, are not
        /// in: for the exit status and for the swap of option `alias`. Dead letters and documents
        /// in a failure store count; documents without an answer are never tolerated. The report
        /// has the number and the reasons
        tolerate: Option<Tolerance> = "N|N%", default("0");
        /// Continue if the sources have no documents: option `recreate` then deletes the index, and
        /// option `alias` moves to a new, empty index. By default both are refused, and other loads
        /// warn
        allow_empty: bool;
        /// A warning of the report is a failed check: the exit status is 4, and the alias of option
        /// `alias` does not move
        fail_on_warning: bool;
        /// Address of the cluster behind Elastic's managed _bulk endpoint, where the documents are
        /// counted, with the credentials of the load
        count_at: Option<String> = "URL", default("for an ingest host of Elastic Cloud: the cluster of its project");
        /// Do not refresh, count and compare at the end
        no_verify: bool;
    }
}

//! What happens to documents that cannot be indexed, and what is checked at the end.

use std::path::PathBuf;

use inrush_core::{MaxErrors, OnConflict};

use crate::config::Tolerance;
use crate::options::LoaderBuilder;

options! {
    /// What happens to documents that cannot be indexed, and what is checked at the end.
    pub struct ErrorOptions in LoaderBuilder.errors, "Errors and checks" {
        /// What a version conflict (409) means that no earlier attempt of this load has caused
        on_conflict: Option<OnConflict> = "WHAT", default("fail");
        /// File for documents that cannot be indexed, one JSON object a line with error, position and
        /// document
        dead_letters: Option<PathBuf> = "PATH",
            default("inrush-dead-letters-RUN.ndjson in the working directory, made when the first one comes");
        /// Stop at the first document that cannot be indexed, as option `max_errors=0`
        strict: bool, conflicts(&["max_errors"]);
        /// Stop when more than N documents, or more than N% of them, are dead letters; a percentage is judged
        /// from the 10,000th document on and at the end
        max_errors: Option<MaxErrors> = "N|N%", default("100%");
        /// Count a load as complete although up to N documents, or N% of those that were read, are not in:
        /// for the exit status and for the swap of option `alias`. Dead letters and documents in a failure
        /// store count, and those without an answer are never tolerated. The report says how many there are
        /// and why
        tolerate: Option<Tolerance> = "N|N%", default("0");
        /// Continue with a source that has no document: option `recreate` deletes the index for it, and
        /// option `alias` is moved to a new index without documents. Otherwise both are refused, and any
        /// other load warns
        allow_empty: bool;
        /// Do not refresh, count and compare at the end
        no_verify: bool;
    }
}

//! What follows the last document.

use std::path::PathBuf;

use crate::config::{OldWrites, WaitFor};
use crate::options::LoaderBuilder;
use crate::options::{Count, PositiveDuration, Shrink};

options! {
    /// What follows the last document.
    pub struct EndOptions in LoaderBuilder.end, "At the end" {
        /// Load without downtime: into a new index, to which this alias is moved in one step when all
        /// documents are in, verified, the settings put back and the index green. The alias keeps its
        /// filter, routing and write-index flag; one that does not exist is made; where an index has its
        /// name, that is deleted in the same step (only with option `delete_old`). The new index is
        /// option `index`, which must not exist, or NAME-<UTC time>. On any failure the alias and its index
        /// are as before, and the new one is kept
        alias: Option<String> = "NAME";
        /// With option `alias`: delete the index that the alias stood for, after the swap. Otherwise it is
        /// kept
        delete_old: bool;
        /// With option `alias`: how many documents fewer than the old index the new one may hold, in percent
        /// of the old one's; any is 100%. With fewer the alias stays where it is, the new index is kept, and
        /// the exit status is 4
        allow_shrink: Option<Shrink> = "N%|any", default("50%");
        /// With option `alias`, what happens with writes to the old index during the load
        old_writes: Option<OldWrites> = "WHAT", default("report");
        /// With option `alias`: file with searches, one JSON body a line, each run once on the new index
        /// before the swap; one that fails stops it
        warm: Option<PathBuf> = "FILE";
        /// Merge each shard to at most N segments, before replicas that the load has switched off come back
        force_merge: Option<Count> = "N", server("max_num_segments");
        /// Wait until the index is in this state; the report says how long each took
        wait_for: Option<WaitFor> = "STATE",
            default("searchable by the verification; with option `alias` green, or as near to it as the number of nodes allows");
        /// How long each wait and the force-merge may take; then the exit status is 4
        wait_timeout: Option<PositiveDuration> = "DURATION", default("1h");
    }
}

//! Options of the steps after the last document.

use std::path::PathBuf;

use crate::options::LoaderBuilder;
use crate::options::{Count, Outputs, PositiveDuration, Shrink, Whole};
use inrush_load::config::{GraphTime, OldWrites, WaitFor};

options! {
    /// The steps after the last document.
    pub struct EndOptions in LoaderBuilder.end, "At the end" {
        /// Load without downtime: load into a new index, and move this alias to it in one step when
        /// all documents are indexed and verified, the settings put back and the index green. It
        /// keeps its filter, routing and write-index flag, and is created if it does not exist. An
        /// index of the same name is deleted in the same step (only with option `delete_old`). The
        /// new index is option `index`, which must not exist, or NAME-<UTC time>. On any failure
        /// the alias and its index do not change, and the new index is kept. With option
        /// `from_dead_letters` the new index is that of the dead letters, which gets the rest of
        /// its documents
        alias: Option<String> = "NAME", outputs(Outputs::Own);
        /// With option `alias`: delete the old index of the alias after the swap. By default it is
        /// kept
        delete_old: bool;
        /// With option `alias`: after the swap, delete older indices that loads have made for the
        /// alias, except the last N that it stood for. Newer ones, from which the alias was rolled
        /// back, are kept until they are older than those. Indices with other aliases, those that a
        /// load writes to, and those of others are kept. An index that is not complete is named,
        /// and kept
        keep: Option<Whole<0, { u32::MAX }>> = "N", default("all"), conflicts(&["delete_old"]);
        /// With option `alias`: by how many percent the new index may have fewer documents than the
        /// old one; any is 100%. If it has fewer, the alias does not move, the new index is kept,
        /// and the exit status is 4
        allow_shrink: Option<Shrink> = "N%|any", default("50%");
        /// With option `alias`: the treatment of writes to the old index during the load
        old_writes: Option<OldWrites> = "WHAT", default("report");
        /// With option `alias`: file with searches, one JSON body per line, each of which runs once
        /// on the new index before the swap; a failed search stops the swap
        warm: Option<PathBuf> = "FILE";
        /// Merge each shard to at most N segments, before the replicas that the load has switched
        /// off are restored
        force_merge: Option<Count> = "N", server("max_num_segments");
        /// When a new index gets the graphs of its vectors. With end they are built once: the load
        /// merges each shard to 1 segment for it. Where the cluster or the index does not allow
        /// that, a warning says so, and they are built while loading
        graph: Option<GraphTime> = "WHEN", default("load");
        /// Wait until the index is in this state; the report has the time of each wait
        wait_for: Option<WaitFor> = "STATE",
            default("searchable, by the verification; with option `alias` green, as far as the number of nodes allows");
        /// The longest time of each wait and of the force-merge; after it the exit status is 4. The
        /// merge of option `graph=end` has no limit unless this option is given
        wait_timeout: Option<PositiveDuration> = "DURATION", default("1h");
    }
}

//! Options to continue a load that was cut off.

use crate::options::{Folder, LoaderBuilder, Outputs};

options! {
    /// How a load that was cut off continues.
    pub struct ResumeOptions in LoaderBuilder.resume, "Resuming", outputs(Outputs::All) {
        /// Continue the same load where a crash, a signal or a failure cut it off; options or
        /// sources that have changed are refused. Without ids the documents of the last moments may
        /// be duplicated; the report counts them
        resume: bool;
        /// Load these sources once, even if a job runner starts the same command several times: it
        /// begins the load, continues it where it was cut off, or repeats the report and exit
        /// status of the finished run. A source that has changed since then is loaded again.
        /// Records are kept in the cluster, in the index inrush-loads, and in option `state`. Exit
        /// status 75: the same load is running; start it again later. See docs/unattended.md
        once: bool, conflicts(&["resume"]);
        /// Folder for checkpoints, and for records of changed settings, which are also kept in the
        /// cluster
        state: Option<Folder> = "DIR", default("STATE_DIRECTORY, or inrush in XDG_STATE_HOME or ~/.local/state");
    }
}

//! Continuing a load that was cut off.

use crate::options::Folder;
use crate::options::LoaderBuilder;

options! {
    /// Continuing a load that was cut off.
    pub struct ResumeOptions in LoaderBuilder.resume, "Resuming" {
        /// Continue where the same load was cut off, by a crash, a signal or a failure; a change since then is
        /// refused. Without ids the documents of the last moments may be there twice, and are counted
        resume: bool;
        /// Load these sources once, however often the same command is started, as by a job runner: begin,
        /// continue where it was cut off, or repeat the report and the exit status of the run that came to
        /// its end. A source that changed since its end is loaded anew. What was done is kept in the cluster,
        /// in the index inrush-loads, and in option `state`. Exit status 75: the same load is running; start
        /// it again later. See docs/unattended.md
        once: bool, conflicts(&["resume"]);
        /// Folder for checkpoints, and for records of settings that are changed, besides those in the cluster
        state: Option<Folder> = "DIR", default("inrush in XDG_STATE_HOME or ~/.local/state");
    }
}

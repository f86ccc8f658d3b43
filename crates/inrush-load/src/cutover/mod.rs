//! The steps after the last document: wait for the state of the index, and swap an alias.

mod force_merge;
mod old_writes;
mod rollback;
mod size;
mod swap;
mod swapping;
#[cfg(test)]
mod tests;
mod wait_for;
mod waiting;
mod warm;
mod without_graphs;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use without_graphs::WithoutGraphs;

use http::Method;
use inrush_cluster::api::changes::Marks;
use inrush_cluster::api::history::Missing;
use inrush_cluster::api::stats;
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_guard::{RecoverOptions, RecoveredState};
use old_writes::Arrived;
pub(crate) use rollback::indices_of;
pub use rollback::{AliasHistory, EarlierIndex, RolledBack, alias_history, rollback};
use serde_json::Value;
pub(crate) use swapping::BY_ALIAS;
pub use swapping::{Noted, Swapping, begin};
use waiting::Waiting;
pub use waiting::is_passing;

use crate::config::{FinishConfig, GraphTime, GuardConfig, OldWrites, SwapConfig, WaitFor};
use crate::event::StopSignal;
use crate::grace::Grace;
use crate::guard_plan;
use crate::progress::{ShowPhase, Step};
use crate::report::{
    FinishReport, OldIndex, OldWritesReport, SettingsReport, SettingsRestored, Status, StepReport, SwapReport,
};
use crate::told::Told;

/// How the user resumes an interrupted load.
#[derive(Clone, Copy)]
pub struct ResumeCommand {
    /// The load has option `once`, which resumes without option `resume`.
    pub once: bool,
}

impl ResumeCommand {
    /// The command, without its verb.
    pub fn text(self) -> &'static str {
        if self.once { "the same command" } else { "the same command with option `resume`" }
    }

    fn with(self, option: &str) -> String {
        format!("{} {}{option}", self.text(), if self.once { "with " } else { "" })
    }
}

/// The finish of one load.
pub struct Finishing {
    waiting: Waiting,
    config: FinishConfig,
    swapping: Option<Swapping>,
    /// Guard of the write block on the old index.
    block: Option<inrush_guard::Running>,
    report: FinishReport,
    interrupted: bool,
    swapped: bool,
    /// A request to move the alias got no answer, so the alias may or may not have been moved.
    in_doubt: bool,
    old: OldIndex,
    /// State of the old index when its documents were last copied.
    caught_up: Option<old_writes::CaughtUp>,
    old_writes: Option<OldWritesReport>,
    /// Why the alias was not moved.
    why_not: String,
    /// Option that allows a new index with fewer documents than the old one.
    would_allow: Option<&'static str>,
    /// The time for the end after a stop.
    grace: Grace,
    /// Other loads still fill the new index.
    is_left_to_others: bool,
    /// Documents that the load has read.
    docs_read: u64,
    /// The load is judged not to be good enough. A resumed one would not see the reason again.
    is_refused: bool,
    told: Told,
}

impl Finishing {
    /// The finish before its first step.
    pub fn new(transport: Arc<Transport>, show: ShowPhase, config: FinishConfig, swapping: Option<Swapping>) -> Self {
        let old = swapping.as_ref().and_then(|swapping| swapping.noted.old.as_ref());
        Finishing {
            waiting: Waiting { transport, show, timeout: config.wait_timeout },
            config,
            old: old.map_or(OldIndex::None, |_| OldIndex::Untouched),
            swapped: swapping.as_ref().is_some_and(|swapping| swapping.is_done),
            swapping,
            block: None,
            report: FinishReport::default(),
            interrupted: false,
            in_doubt: false,
            caught_up: None,
            old_writes: None,
            why_not: String::new(),
            would_allow: None,
            grace: Grace::new(Duration::MAX),
            is_left_to_others: false,
            docs_read: 0,
            is_refused: false,
            told: Told::default(),
        }
    }

    /// With the place of warnings.
    pub(crate) fn with_told(self, told: Told) -> Self {
        Finishing { told, ..self }
    }

    /// With the time that a stopped load has for its end.
    pub(crate) fn with_grace(self, grace: Grace) -> Self {
        Finishing { grace, ..self }
    }

    /// A step has taken too long, because of a stop or of the cluster. `why`: which time is over.
    pub(crate) fn too_late(&mut self, step: Step, why: &str) {
        match self.grace.has_begun() {
            true => self.interrupted = true,
            false => drop(self.report.failure.get_or_insert_with(|| format!("{}: {why}", step.name()))),
        }
    }

    /// Whether the load swaps an alias.
    pub fn swaps(&self) -> bool {
        self.swapping.is_some()
    }

    /// Whether graphs of vectors wait for the end of the load, if the cluster allows it.
    pub(crate) fn graphs_wait(&self) -> bool {
        self.config.graph == GraphTime::End
    }

    /// Whether several loads fill the new index.
    pub(crate) fn is_shared(&self) -> bool {
        self.swapping.as_ref().is_some_and(|swapping| swapping.options.is_shared)
    }

    /// Other loads still fill the new index. The last one of them moves the alias.
    pub(crate) fn leave_to_others(&mut self) {
        self.is_left_to_others = true;
    }

    /// Restores settings of the new index that a load changed which was killed.
    pub(crate) async fn restore_settings(&self, names: &[String]) -> SettingsReport {
        let options = RecoverOptions { indices: names.to_vec(), ..RecoverOptions::default() };
        let recovered = inrush_guard::recover(Arc::clone(&self.waiting.transport), &options, |_| {}).await;
        match recovered {
            Ok(recovered) => match recovered.into_iter().find(|one| one.state != RecoveredState::Restored) {
                Some(left) => SettingsReport::new(SettingsRestored::No, left.detail),
                None => SettingsReport::new(SettingsRestored::Yes, "another instance restored the settings".to_owned()),
            },
            Err(error) => SettingsReport::new(SettingsRestored::No, error.to_string()),
        }
    }

    /// Whether an earlier run moved the alias, so that other clients may write to the index.
    pub fn was_swapped(&self) -> bool {
        self.swapping.as_ref().is_some_and(|swapping| swapping.is_done)
    }

    /// Blocks writes to the old index, where the configuration asks for it.
    ///
    /// # Errors
    /// The old index still accepts writes, or may do so.
    pub async fn block_old(&mut self, config: &GuardConfig, run_id: &str) -> Result<(), String> {
        let Some(swapping) = &self.swapping else { return Ok(()) };
        let Some(old) = &swapping.noted.old else { return Ok(()) };
        if swapping.is_done || swapping.options.old_writes != OldWrites::Block {
            if swapping.resumed {
                // The interrupted run may have left a write block.
                let indices = vec![old.name.clone()];
                let options = RecoverOptions { indices, state: config.state.clone(), ..RecoverOptions::default() };
                let recovered = inrush_guard::recover(Arc::clone(&self.waiting.transport), &options, |_| {}).await;
                return recovered.map(|_| ()).map_err(|error| error.to_string());
            }
            return Ok(());
        }
        let plan = guard_plan::plan_write_block(config, &old.name, &old.uuid);
        let transport = Arc::clone(&self.waiting.transport);
        self.block = Some(inrush_guard::Running::start(Arc::clone(&transport), plan, &format!("{run_id}-old")).await);
        match is_blocked(&transport, &old.name).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("writes to {} could not be blocked; see the log for the cause", old.name)),
            Err(why) => Err(format!("cannot read whether writes to {} are blocked: {why}", old.name)),
        }
    }

    /// Merges segments. It runs before the settings are restored, so that new replicas copy merged
    /// segments. `graphs`: those of vectors are built by it.
    pub(crate) async fn force_merge(
        &mut self,
        names: &[String],
        graphs: Option<&WithoutGraphs>,
        stop: &mut impl StopSignal,
    ) {
        if let Some(segments) = self.config.force_merge.or(graphs.map(|_| 1)) {
            let (mut waiting, names) = (self.waiting.clone(), names.to_vec());
            let mut goes_on = "the cluster continues the merge";
            if graphs.is_some() {
                waiting.timeout = self.config.graph_timeout.unwrap_or(Duration::MAX);
                goes_on = "the cluster continues the merge, and still builds graphs of vectors";
            }
            let told = self.told.clone();
            let merge = async move {
                let merged = force_merge::force_merge(&waiting, &names, segments, goes_on).await?;
                Ok(match graphs {
                    Some(without) => format!("{merged}{}", without.left(&waiting.transport, &told).await),
                    None => merged,
                })
            };
            tokio::select! {
                () = self.step(Step::ForceMerge, merge) => {}
                () = stop.stopped() => self.interrupted = true,
            }
        }
    }

    /// Makes the documents visible to searches where a later step needs that.
    pub async fn searchable(&mut self, names: &[String]) {
        if self.config.wait_for.is_some() || self.swapping.is_some() {
            let (waiting, names) = (self.waiting.clone(), names.to_vec());
            self.step(Step::Searchable, async move { wait_for::searchable(&waiting, &names).await }).await;
        }
    }

    /// Whether the alias stands for the new index.
    pub fn was_published(&self) -> bool {
        self.swapped
    }

    /// Whether the alias may have been moved, or may yet be moved, without an answer of the
    /// cluster.
    pub fn is_in_doubt(&self) -> bool {
        self.in_doubt && !self.swapped
    }

    /// Why the remaining steps did not run.
    pub fn failure(&self) -> Option<String> {
        self.report.failure.clone()
    }

    /// Waits until all shard copies that the nodes can hold are in use, for any `wait_for`. Returns
    /// the state of the index, such as `trips is green`.
    ///
    /// # Errors
    /// The timeout passed before.
    pub async fn green(&self, name: &str) -> Result<String, String> {
        wait_for::green(&self.waiting, &[name.to_owned()], true).await
    }

    /// Runs the remaining steps. `status` is the status of the load before them, and `why` the
    /// reason where it is not complete. Returns the final status.
    pub async fn run(&mut self, names: &[String], status: Status, why: String, stop: &mut impl StopSignal) -> Status {
        if self.is_left_to_others {
            self.lift_block().await;
            return status;
        }
        let ready = status == Status::Complete && !self.interrupted && self.report.failure.is_none();
        let waits = matches!(status, Status::Complete | Status::Incomplete | Status::CheckFailed);
        if self.swapping.is_none() && waits && !self.interrupted || ready {
            tokio::select! {
                () = self.steps(names) => {}
                () = stop.stopped() => self.interrupted = true,
            }
        }
        let may_swap = ready && !self.interrupted && self.report.failure.is_none();
        if may_swap && self.swapping.is_some() {
            // A stop has no effect from here on: the alias either moves or it does not.
            self.swap().await;
        }
        self.why_not = match &self.report.failure {
            _ if self.interrupted => "the load was interrupted".to_owned(),
            Some(failure) => failure.clone(),
            None => why,
        };
        self.lift_block().await;
        if self.swapped && may_swap {
            self.after_swap().await;
        }
        match status {
            Status::Complete | Status::CheckFailed if self.interrupted => Status::Interrupted,
            Status::Complete if self.report.failure.is_some() => Status::CheckFailed,
            status => status,
        }
    }

    /// Whether a resumed load has steps to run although all documents are settled.
    pub fn is_resumable(&self, status: Status) -> bool {
        let unfinished = matches!(status, Status::CheckFailed | Status::Interrupted);
        unfinished && !self.is_refused && (self.report.failure.is_some() || self.interrupted || self.swapping.is_some())
    }

    /// Warnings for the report.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.swapping.as_ref().map(|swapping| swapping.warnings.clone()).unwrap_or_default();
        let not_in = self.old_writes.iter().filter(|writes| writes.operations_not_in.is_none_or(|n| n > 0));
        warnings.extend(not_in.map(|writes| writes.detail.clone()));
        warnings
    }

    /// The reports. `resume` says how the load can be resumed, where it can be.
    pub fn reports(self, status: Status, resume: Option<ResumeCommand>) -> (FinishReport, Option<SwapReport>) {
        let Some(swapping) = &self.swapping else { return (self.report, None) };
        let (alias, index) = (&swapping.options.alias, &swapping.noted.index);
        let old_index = swapping.noted.old.as_ref().map(|old| old.name.clone());
        let step = |step| self.report.steps.iter().find(|done| done.step == step).map(|done| done.detail.clone());
        let detail = match (self.swapped, &old_index) {
            (true, _) => {
                step(Step::Swap).unwrap_or_else(|| format!("an earlier run moved the alias {alias} to {index}"))
            }
            (false, _) if self.is_left_to_others => {
                format!("other instances still write to {index}; the last one of them moves the alias {alias}")
            }
            (false, _) if self.in_doubt => {
                format!(
                    "{}; the alias {alias} may or may not stand for {index}: check it with GET /_alias/{alias}",
                    self.why_not
                )
            }
            (false, Some(old)) => {
                format!("{}; the alias {alias} still stands for {old}, and {index} is kept", self.why_not)
            }
            (false, None) => format!("{}; the alias {alias} does not exist yet, and {index} is kept", self.why_not),
        };
        let delete = format!("DELETE /{index}");
        let by_hand = format!("POST /_aliases {}", swap::actions(swapping, &swapping.carried));
        let to_allow = self.would_allow.map(|option| match resume {
            Some(resume) => {
                let command = resume.with(option);
                format!("if this is correct, run {command} to move the alias without loading again, or send {by_hand}")
            }
            None => format!("if this is correct, send {by_hand}"),
        });
        let command = resume.map(ResumeCommand::text);
        let what_next = match status {
            _ if self.swapped || self.is_left_to_others => None,
            _ if self.in_doubt => Some(match command {
                Some(command) => format!("run {command} to check what was done and continue"),
                None => format!("check GET /_alias/{alias} before you delete an index"),
            }),
            Status::Incomplete => Some(format!(
                "load the missing documents with option `index={index}`, then send {by_hand}; or delete the new index: {delete}"
            )),
            _ if to_allow.is_some() => to_allow.map(|how| format!("{how}; otherwise delete the new index: {delete}")),
            _ => Some(match command {
                Some(command) => format!("run {command} to continue with {index}, or delete it: {delete}"),
                None => format!("delete the new index before you load again: {delete}"),
            }),
        };
        let swap = SwapReport {
            alias: alias.clone(),
            index: index.clone(),
            old_index,
            swapped: self.swapped,
            waits_for_others: self.is_left_to_others,
            old: self.old,
            detail,
            what_next,
            old_writes: self.old_writes,
        };
        (self.report, Some(swap))
    }

    /// Runs the steps that a stop can interrupt.
    async fn steps(&mut self, names: &[String]) {
        let (waiting, names) = (self.waiting.clone(), names.to_vec());
        let green = matches!(self.config.wait_for, Some(WaitFor::Green | WaitFor::Replicated));
        // Without option `wait_for`, the wait ends at the best state that the nodes allow.
        let or_best = self.config.wait_for.is_none() && self.swapping.is_some();
        if green || or_best {
            self.step(Step::Green, wait_for::green(&waiting, &names, or_best)).await;
        }
        if self.config.wait_for == Some(WaitFor::Replicated) {
            self.step(Step::Replicated, wait_for::replicated(&waiting, &names)).await;
        }
        let Some(swapping) = self.swapping.clone() else { return };
        let index = &swapping.noted.index;
        if !swapping.options.warm.is_empty() {
            self.step(Step::Warm, warm::warm(&waiting, index, &swapping.options.warm)).await;
        }
        if let (OldWrites::CatchUp, Some(old), false) = (swapping.options.old_writes, &swapping.noted.old, self.swapped)
        {
            let since = old.marks.clone().unwrap_or_default();
            let mut caught_up = None;
            let catch_up = async {
                let done = old_writes::catch_up(&waiting, old, &since, index).await?;
                let detail = format!("{} documents were copied from {}", done.copied, old.name);
                caught_up = Some(done);
                Ok(detail)
            };
            self.step(Step::CatchUp, catch_up).await;
            self.caught_up = caught_up;
        }
    }

    async fn swap(&mut self) {
        let Some(swapping) = self.swapping.clone().filter(|swapping| !swapping.is_done) else { return };
        if let Err(why) = size::check_rest(&self.waiting.transport, &swapping, self.docs_read).await {
            self.report.failure = Some(format!("{}: {why}", Step::Swap.name()));
            return;
        }
        if let Err(refused) = size::check(&self.waiting.transport, &swapping, &self.told).await {
            self.would_allow = refused.option;
            self.report.failure = Some(format!("{}: {}", Step::Swap.name(), refused.why));
            return;
        }
        if let Err(error) = swapping.note_complete(&self.waiting.transport).await {
            let (alias, index) = (&swapping.options.alias, &swapping.noted.index);
            let warning = format!("`inrush rollback {alias}` will not know {index}, because {error}");
            tracing::warn!("{warning}");
            self.swapping.iter_mut().for_each(|swapping| swapping.warnings.push(warning.clone()));
        }
        let is_index = swapping.noted.old.as_ref().is_some_and(|old| old.name == swapping.options.alias);
        if is_index {
            // The swap deletes the index.
            self.count_old_writes(&swapping).await;
        }
        let (waiting, mut in_doubt) = (self.waiting.clone(), false);
        self.step(Step::Swap, swap::swap(&waiting, &swapping, &mut in_doubt)).await;
        self.swapped = self.report.failure.is_none();
        self.in_doubt = in_doubt;
        if !self.swapped {
            return;
        }
        if swapping.noted.old.is_some() {
            self.old = if is_index { OldIndex::Deleted } else { OldIndex::Kept };
        }
        if !is_index {
            // From here on no client reaches the old index through the alias.
            self.count_old_writes(&swapping).await;
        }
    }

    async fn after_swap(&mut self) {
        let Some(swapping) = self.swapping.clone() else { return };
        if self.old == OldIndex::Untouched {
            self.old = OldIndex::Kept;
        }
        if swapping.options.delete_old && self.old == OldIndex::Kept {
            let transport = Arc::clone(&self.waiting.transport);
            let failure = self.report.failure.take();
            self.step(Step::DeleteOld, swap::delete_old(&transport, &swapping)).await;
            if self.report.failure.is_none() {
                self.old = OldIndex::Deleted;
            }
            self.report.failure = failure.or(self.report.failure.take());
        }
    }

    /// Removes the write block.
    async fn lift_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        let failure = match self.grace.limit(block.release()).await {
            Ok(report) if report.restored != SettingsRestored::No => return,
            Ok(report) => report.detail,
            Err(why) => format!("{why}; when the cluster answers again, run: inrush recover"),
        };
        let failure = format!("the write block of the old index was not removed: {failure}");
        self.report.failure.get_or_insert(failure);
    }

    /// The alias, the new index and the number of old ones to keep, where the alias stands for the
    /// new index and older ones are to be deleted.
    pub(crate) fn keeps(&self) -> Option<(String, String, u32)> {
        let swapping = self.swapping.as_ref().filter(|_| self.swapped)?;
        let SwapConfig { alias, keep, .. } = &swapping.options;
        Some((alias.clone(), swapping.noted.index.clone(), (*keep)?))
    }

    /// The cluster.
    pub(crate) fn transport(&self) -> Arc<Transport> {
        Arc::clone(&self.waiting.transport)
    }

    /// The alias is not moved, and no further step runs.
    pub(crate) fn fail(&mut self, why: String) {
        self.report.failure.get_or_insert(why);
        self.is_refused = true;
    }

    /// Notes the documents that the load has read, before [`Finishing::run`].
    pub(crate) fn read(&mut self, docs: u64) {
        self.docs_read = docs;
    }

    /// Notes in the new index that `letters` dead letters are missing, and nothing else. A later
    /// load of them may then move the alias.
    pub(crate) async fn note_missing(&self, letters: u64) {
        let Some(swapping) = self.swapping.as_ref().filter(|swapping| !self.swapped && !swapping.options.is_shared)
        else {
            return;
        };
        let (transport, index) = (&self.waiting.transport, &swapping.noted.index);
        // Letters of the load before that are not in this one's source.
        let others = swapping.missing.map_or(0, |missing| missing.letters.saturating_sub(self.docs_read));
        let noted = async {
            let docs = stats::count_now(transport, index).await?;
            swapping.note_missing(transport, Missing { docs, letters: letters + others }).await
        };
        if let Err(error) = noted.await {
            self.told.warn(format!(
                "option `alias` with the dead letters will not move the alias to {index}, because {error}"
            ));
        }
    }

    /// The end of the deletion of old indices: their names, and the result in words.
    pub(crate) fn trimmed(&mut self, begun: Instant, result: Result<(Vec<String>, String), String>) {
        match result {
            Ok((deleted, detail)) => {
                let old = self.swapping.as_ref().and_then(|swapping| swapping.noted.old.as_ref());
                if old.is_some_and(|old| deleted.contains(&old.name)) {
                    self.old = OldIndex::Deleted;
                }
                let seconds = begun.elapsed().as_secs_f64();
                tracing::info!("{}: {detail}", Step::DeleteOld.name());
                self.report.steps.push(StepReport { step: Step::DeleteOld, seconds, detail });
            }
            Err(why) => {
                let why = format!("{}: {why}", Step::DeleteOld.name());
                self.report.failure.get_or_insert(why);
            }
        }
    }

    /// Counts the writes to the old index that the new one lacks.
    async fn count_old_writes(&mut self, swapping: &Swapping) {
        let Some(old) = &swapping.noted.old else { return };
        let transport = &self.waiting.transport;
        let counted = match &old.marks {
            None => Err("its state could not be read before the load".to_owned()),
            Some(since) => {
                let late = async |since: &Marks| old_writes::arrived(transport, old, since).await;
                match late(since).await {
                    Ok(all) => match &self.caught_up {
                        Some(done) => late(&done.marks).await.map(|late| (all, late.operations)),
                        None => Ok((all.clone(), all.operations)),
                    },
                    Err(why) => Err(why),
                }
            }
        };
        let docs_copied = self.caught_up.as_ref().map_or(0, |done| done.copied);
        self.old_writes = Some(old_writes_report(&old.name, swapping.options.old_writes, docs_copied, counted));
    }

    /// Runs one step, unless an earlier one has failed.
    async fn step(&mut self, step: Step, work: impl Future<Output = Result<String, String>>) {
        if self.report.failure.is_some() {
            return;
        }
        let begun = clock::now();
        self.waiting.show(step, "");
        match work.await {
            Ok(detail) => {
                let seconds = begun.elapsed().as_secs_f64();
                tracing::info!("{}: {detail}", step.name());
                self.report.steps.push(StepReport { step, seconds, detail });
            }
            Err(why) => self.report.failure = Some(format!("{}: {why}", step.name())),
        }
    }
}

fn old_writes_report(
    old: &str,
    policy: OldWrites,
    docs_copied: u64,
    counted: Result<(Arrived, u64), String>,
) -> OldWritesReport {
    let (arrived, not_in) = match counted {
        Ok(counted) => counted,
        Err(why) => {
            let detail = format!("cannot tell whether {old} was written to during the load: {why}");
            return OldWritesReport {
                policy,
                operations: None,
                operations_not_in: None,
                docs_copied,
                ids: Vec::new(),
                detail,
            };
        }
    };
    let Arrived { operations, ids } = arrived;
    let mut detail = match operations {
        0 => format!("nothing was written to {old} during the load"),
        1 => format!("1 operation reached {old} during the load"),
        n => format!("{n} operations reached {old} during the load"),
    };
    if operations > 0 {
        match policy {
            OldWrites::CatchUp => {
                detail.push_str(&format!(
                    ", {docs_copied} documents were copied; documents that were deleted from it are still in the new index"
                ));
                if not_in > 0 {
                    detail.push_str(&format!("; {not_in} operations came too late and are not in the new index"));
                }
            }
            OldWrites::Report | OldWrites::Block => detail.push_str(" and are not in the new index"),
        }
        if !ids.is_empty() {
            detail.push_str(&format!("; the first ids: {}", ids.join(", ")));
        }
    }
    OldWritesReport { policy, operations: Some(operations), operations_not_in: Some(not_in), docs_copied, ids, detail }
}

/// Whether the index blocks writes.
async fn is_blocked(transport: &Transport, index: &str) -> Result<bool, String> {
    let path = format!("/{}/_settings/index.blocks.write?flat_settings=true", path_segment(index));
    let body = transport.demand("asking for the write block", Method::GET, &path, None).await;
    let body = body.map_err(|e| e.to_string())?;
    let value = body.get(index).and_then(|index| index.get("settings")?.get("index.blocks.write"));
    Ok(value.and_then(Value::as_str) == Some("true"))
}

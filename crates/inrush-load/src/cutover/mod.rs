//! What follows the last document: waiting until the index is as it is to be, and putting it in the place of another.

mod force_merge;
mod old_writes;
mod size;
mod swap;
mod swapping;
mod wait_for;
mod waiting;
mod warm;

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use http::Method;
use inrush_cluster::api::changes::Marks;
use inrush_cluster::transport::{Transport, path_segment};
use old_writes::Arrived;
use serde_json::Value;
pub use swapping::{Noted, Swapping, begin};
use waiting::Waiting;
pub use waiting::is_passing;

use crate::config::{FinishConfig, GuardConfig, OldWrites, WaitFor};
use crate::event::StopSignal;
use crate::progress::{ShowPhase, Step};
use crate::report::{FinishReport, OldIndex, OldWritesReport, SettingsRestored, Status, StepReport, SwapReport};
use crate::settings_guard::{self, RecoverOptions};

/// How a load goes on that was cut off.
#[derive(Clone, Copy)]
pub struct GoOn {
    /// Without `--resume`.
    pub once: bool,
}

impl GoOn {
    /// The command that goes on.
    pub fn command(self) -> &'static str {
        if self.once { "the same command" } else { "the same command with option `resume`" }
    }

    fn with(self, flag: &str) -> String {
        format!("{} {}{flag}", self.command(), if self.once { "with " } else { "" })
    }
}

/// The end of one load.
pub struct Finishing {
    waiting: Waiting,
    config: FinishConfig,
    swapping: Option<Swapping>,
    /// Keeps writes from the old index.
    block: Option<settings_guard::Running>,
    report: FinishReport,
    interrupted: bool,
    swapped: bool,
    /// A request to move the alias got no answer, and whether it is carried out is not known.
    in_doubt: bool,
    old: OldIndex,
    /// Where the old index was when its documents were last copied.
    caught_up: Option<old_writes::CaughtUp>,
    old_writes: Option<OldWritesReport>,
    /// Why the alias was not moved.
    why_not: String,
    /// The flag that lets an index with so few documents take the place of the old one.
    would_allow: Option<&'static str>,
}

impl Finishing {
    /// Nothing was done yet.
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
        }
    }

    /// Whether an alias is to be moved.
    pub fn swaps(&self) -> bool {
        self.swapping.is_some()
    }

    /// Whether an earlier run has moved the alias, so that others may write to the index.
    pub fn was_swapped(&self) -> bool {
        self.swapping.as_ref().is_some_and(|swapping| swapping.is_done)
    }

    /// Keeps writes from the old index, if that is asked for.
    ///
    /// # Errors
    /// They still reach it, and why.
    pub async fn block_old(&mut self, config: &GuardConfig, run_id: &str) -> Result<(), String> {
        let Some(swapping) = &self.swapping else { return Ok(()) };
        let Some(old) = &swapping.noted.old else { return Ok(()) };
        if swapping.is_done || swapping.options.old_writes != OldWrites::Block {
            if swapping.resumed {
                // The run that was cut off may have left a block.
                let indices = vec![old.name.clone()];
                let options = RecoverOptions { indices, state: config.state.clone(), ..RecoverOptions::default() };
                let recovered = settings_guard::recover(Arc::clone(&self.waiting.transport), &options, |_| {}).await;
                return recovered.map(|_| ()).map_err(|error| error.to_string());
            }
            return Ok(());
        }
        let plan = settings_guard::plan_write_block(config, &old.name, &old.uuid);
        let transport = Arc::clone(&self.waiting.transport);
        self.block = Some(settings_guard::Running::start(Arc::clone(&transport), plan, &format!("{run_id}-old")).await);
        match is_blocked(&transport, &old.name).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("writes to {} could not be blocked; the log says why", old.name)),
            Err(why) => Err(format!("whether writes to {} are blocked is not known: {why}", old.name)),
        }
    }

    /// While the settings are still those of the load, so that replicas that come back copy what is merged.
    pub async fn force_merge(&mut self, names: &[String], stop: &mut impl StopSignal) {
        if let Some(segments) = self.config.force_merge {
            let (waiting, names) = (self.waiting.clone(), names.to_vec());
            let merge = async move { force_merge::force_merge(&waiting, &names, segments).await };
            tokio::select! {
                () = self.step(Step::ForceMerge, merge) => {}
                () = stop.stopped() => self.interrupted = true,
            }
        }
    }

    /// Makes the documents visible where that is waited for.
    pub async fn searchable(&mut self, names: &[String]) {
        if self.config.wait_for.is_some() || self.swapping.is_some() {
            let (waiting, names) = (self.waiting.clone(), names.to_vec());
            self.step(Step::Searchable, async move { wait_for::searchable(&waiting, &names).await }).await;
        }
    }

    /// Whether nothing is left that could be broken off: the alias was moved, or there was none to move and nothing to wait for failed.
    pub fn was_published(&self) -> bool {
        self.swapped
    }

    /// Whether the alias may have been moved, or may yet be, although that was not seen.
    pub fn is_in_doubt(&self) -> bool {
        self.in_doubt && !self.swapped
    }

    /// Why the rest was not done.
    pub fn failure(&self) -> Option<String> {
        self.report.failure.clone()
    }

    /// Waits until all copies of the shards are in use for which the nodes have a place, whatever else is waited for.
    ///
    /// # Errors
    /// It did not come to that in time.
    pub async fn green(&self, name: &str) -> Result<String, String> {
        wait_for::green(&self.waiting, &[name.to_owned()], true).await
    }

    /// All the rest. `status`: how the load has ended up to here, and `why` in words where that is not complete. Returns how it ends.
    pub async fn run(&mut self, names: &[String], status: Status, why: String, stop: &mut impl StopSignal) -> Status {
        let ready = status == Status::Complete && !self.interrupted && self.report.failure.is_none();
        let waits = matches!(status, Status::Complete | Status::Incomplete | Status::CheckFailed);
        if self.swapping.is_none() && waits && !self.interrupted || ready {
            tokio::select! {
                () = self.steps(names) => {}
                () = stop.stopped() => self.interrupted = true,
            }
        }
        let go_on = ready && !self.interrupted && self.report.failure.is_none();
        if go_on && self.swapping.is_some() {
            // From here on nothing is broken off: the alias is either moved or not.
            self.swap().await;
        }
        self.why_not = match &self.report.failure {
            _ if self.interrupted => "the load was interrupted".to_owned(),
            Some(failure) => failure.clone(),
            None => why,
        };
        self.lift_block().await;
        if self.swapped && go_on {
            self.after_swap().await;
        }
        match status {
            Status::Complete | Status::CheckFailed if self.interrupted => Status::Interrupted,
            Status::Complete if self.report.failure.is_some() => Status::CheckFailed,
            status => status,
        }
    }

    /// Whether `--resume` has something to do although all documents are settled.
    pub fn is_resumable(&self, status: Status) -> bool {
        let unfinished = matches!(status, Status::CheckFailed | Status::Interrupted);
        unfinished && (self.report.failure.is_some() || self.interrupted || self.swapping.is_some())
    }

    /// What a person should know besides.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.swapping.as_ref().map(|swapping| swapping.warnings.clone()).unwrap_or_default();
        let not_in = self.old_writes.iter().filter(|writes| writes.operations_not_in.is_none_or(|n| n > 0));
        warnings.extend(not_in.map(|writes| writes.detail.clone()));
        warnings
    }

    /// The reports. `go_on`: there is a checkpoint to go on from.
    pub fn reports(self, status: Status, go_on: Option<GoOn>) -> (FinishReport, Option<SwapReport>) {
        let Some(swapping) = &self.swapping else { return (self.report, None) };
        let (alias, index) = (&swapping.options.alias, &swapping.noted.index);
        let old_index = swapping.noted.old.as_ref().map(|old| old.name.clone());
        let step = |step| self.report.steps.iter().find(|done| done.step == step).map(|done| done.detail.clone());
        let detail = match (self.swapped, &old_index) {
            (true, _) => {
                step(Step::Swap).unwrap_or_else(|| format!("an earlier run has put the alias {alias} on {index}"))
            }
            (false, _) if self.in_doubt => {
                format!("{}; whether {alias} stands for {index} is not known: see GET /_alias/{alias}", self.why_not)
            }
            (false, Some(old)) => format!("{}; {alias} stands for {old} as before, and {index} is kept", self.why_not),
            (false, None) => format!("{}; there is no {alias} yet, and {index} is kept", self.why_not),
        };
        let delete = format!("DELETE /{index}");
        let by_hand = format!("POST /_aliases {}", swap::actions(swapping, &swapping.carried));
        let if_meant = self.would_allow.map(|flag| match go_on {
            Some(go_on) => {
                let command = go_on.with(flag);
                format!("if that is meant: {command} moves the alias and loads nothing again, or {by_hand}")
            }
            None => format!("if that is meant: {by_hand}"),
        });
        let command = go_on.map(GoOn::command);
        let what_next = match status {
            _ if self.swapped => None,
            _ if self.in_doubt => Some(match command {
                Some(command) => format!("{command} looks what was done, and goes on"),
                None => format!("look at GET /_alias/{alias} before anything is deleted"),
            }),
            Status::Incomplete => Some(format!(
                "load what is missing with option `index={index}`, then {by_hand}; or delete the new index: {delete}"
            )),
            _ if if_meant.is_some() => if_meant.map(|how| format!("{how}; else delete the new index: {delete}")),
            _ => Some(match command {
                Some(command) => format!("{command} goes on with {index}; or delete it: {delete}"),
                None => format!("delete the new index before you load again: {delete}"),
            }),
        };
        let swap = SwapReport {
            alias: alias.clone(),
            index: index.clone(),
            old_index,
            swapped: self.swapped,
            old: self.old,
            detail,
            what_next,
            old_writes: self.old_writes,
        };
        (self.report, Some(swap))
    }

    /// What can be broken off.
    async fn steps(&mut self, names: &[String]) {
        let (waiting, names) = (self.waiting.clone(), names.to_vec());
        let green = matches!(self.config.wait_for, Some(WaitFor::Green | WaitFor::Replicated));
        // What nobody asked for by name ends at what the nodes can hold.
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
        if let Err(refused) = size::check(&self.waiting.transport, &swapping).await {
            self.would_allow = refused.flag;
            self.report.failure = Some(format!("{}: {}", Step::Swap.name(), refused.why));
            return;
        }
        let is_index = swapping.noted.old.as_ref().is_some_and(|old| old.name == swapping.options.alias);
        if is_index {
            // It will be gone.
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
            // Only now nobody reaches it through the alias any more.
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

    /// Puts the write block back.
    async fn lift_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        let report = block.release().await;
        if report.restored == SettingsRestored::No {
            let failure = format!("the write block of the old index: {}", report.detail);
            self.report.failure.get_or_insert(failure);
        }
    }

    /// What was written to the old index and is not in the new one.
    async fn count_old_writes(&mut self, swapping: &Swapping) {
        let Some(old) = &swapping.noted.old else { return };
        let transport = &self.waiting.transport;
        let counted = match &old.marks {
            None => Err("it could not be asked before the load".to_owned()),
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

    /// Does one thing, unless one before has failed.
    async fn step(&mut self, step: Step, work: impl Future<Output = Result<String, String>>) {
        if self.report.failure.is_some() {
            return;
        }
        let begun = Instant::now();
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
            let detail = format!("whether {old} was written to during the load is not known: {why}");
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
                    ", {docs_copied} documents were copied; documents that were deleted are still in the new index"
                ));
                if not_in > 0 {
                    detail.push_str(&format!("; {not_in} came in the last moment and are not in it"));
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

/// Whether the index takes no writes.
async fn is_blocked(transport: &Transport, index: &str) -> Result<bool, String> {
    let path = format!("/{}/_settings/index.blocks.write?flat_settings=true", path_segment(index));
    let body = transport.demand("asking for the write block", Method::GET, &path, None).await;
    let body = body.map_err(|e| e.to_string())?;
    let value = body.get(index).and_then(|index| index.get("settings")?.get("index.blocks.write"));
    Ok(value.and_then(Value::as_str) == Some("true"))
}

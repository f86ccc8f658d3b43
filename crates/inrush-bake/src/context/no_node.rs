//! Primary shards without a node that can hold them.

use std::time::Duration;

use inrush_cluster::Wait;
use inrush_cluster::api::allocation::{self, Unassigned};
use inrush_cluster::api::snapshots::Primaries;
use inrush_cluster::clock::{self, Instant};

use super::work::Context;
use crate::config::BakeError;

/// How long a target takes at most to choose a node for a shard, if it can.
const CHOSEN_AFTER: Duration = Duration::from_secs(2);

/// The time that primary shards may be without a node that can hold them.
pub(crate) struct NoNode {
    pause_max: Duration,
    begun: Instant,
    /// Since the target said that no node may hold one of them.
    wait: Option<Wait>,
}

impl NoNode {
    pub(crate) fn new(context: &Context) -> Self {
        NoNode { pause_max: context.times.pause_max, begun: clock::now(), wait: None }
    }

    /// Why a shard is without a node, where it is for longer than the target takes to choose one.
    ///
    /// # Errors
    /// No node may hold it, for longer than option `pause_for` says.
    pub(crate) async fn check(
        &mut self,
        context: &Context,
        name: &str,
        found: &Primaries,
    ) -> Result<Option<String>, BakeError> {
        if found.unassigned == 0 || self.begun.elapsed() < CHOSEN_AFTER.min(self.pause_max) {
            self.wait = None;
            return Ok(None);
        }
        let Some(Unassigned { why, no_node }) = allocation::unassigned(&context.target, name).await else {
            return Ok(None);
        };
        let why = format!("no node for {why}");
        if !no_node {
            self.wait = None;
            return Ok(Some(why));
        }
        let pause_max = self.pause_max;
        let wait = self.wait.get_or_insert_with(|| {
            tracing::warn!("{name}: {why}; waiting up to {} s", pause_max.as_secs_f64());
            Wait::new(pause_max)
        });
        match wait.is_over() {
            false => Ok(Some(why)),
            true => {
                let seconds = pause_max.as_secs_f64();
                Err(BakeError::Refused(format!("{name}: {why}, still after {seconds} s (option `pause_for`)")))
            }
        }
    }
}

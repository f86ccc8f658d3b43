//! The node pool shared between tasks, and what replies say about a node.

use std::sync::{Mutex, MutexGuard, PoisonError};

use inrush_core::Time;
pub use inrush_core::nodes::NodeIndex;
use inrush_core::nodes::{NodePool, NodeSignal, Pick};

use super::error::HttpErrorKind;
use crate::clock::{self, Instant};

/// What the status of a reply says about the node. A 429 of an item comes from the node of the
/// shard and says nothing about the node that was asked.
pub(super) fn says_status(status: u16) -> NodeSignal {
    match status {
        502 | 503 => NodeSignal::Failed,
        429 => NodeSignal::Overloaded,
        _ => NodeSignal::Answered,
    }
}

/// What a missing reply says about the node.
pub(super) fn says_error(kind: HttpErrorKind) -> NodeSignal {
    match kind {
        HttpErrorKind::NotSent | HttpErrorKind::TimedOut => NodeSignal::Failed,
        HttpErrorKind::Lost | HttpErrorKind::Local => NodeSignal::Unclear,
    }
}

/// A node pool that several tasks share. The lock is held only while a node is chosen or given
/// back.
#[derive(Debug)]
pub struct SharedPool {
    pool: Mutex<NodePool>,
    started: Instant,
}

impl SharedPool {
    pub(crate) fn new(len: usize) -> Self {
        SharedPool { pool: Mutex::new(NodePool::new(len)), started: clock::now() }
    }

    pub(crate) fn pick(&self, preferred: Option<NodeIndex>) -> PickGuard<'_> {
        PickGuard { pool: self, pick: self.lock().pick_preferring(self.now(), preferred), says: NodeSignal::Unclear }
    }

    pub(crate) fn is_healthy(&self, node: NodeIndex) -> bool {
        self.lock().is_healthy(node)
    }

    pub(crate) fn healthy(&self) -> usize {
        self.lock().healthy()
    }

    fn now(&self) -> Time {
        Time::from_start(self.started.elapsed())
    }

    /// No code panics half way through a change of the pool, so a poisoned lock still guards a
    /// consistent state.
    fn lock(&self) -> MutexGuard<'_, NodePool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the chosen node back on drop, so also if the request's future is dropped half way.
pub struct PickGuard<'a> {
    pool: &'a SharedPool,
    pick: Pick,
    pub(crate) says: NodeSignal,
}

impl PickGuard<'_> {
    pub(crate) fn node(&self) -> NodeIndex {
        self.pick.node
    }
}

impl Drop for PickGuard<'_> {
    fn drop(&mut self) {
        self.pool.lock().finished(self.pick, self.says, self.pool.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_request_is_not_in_flight_for_ever() {
        let pool = SharedPool::new(1);
        drop(pool.pick(None));
        assert_eq!(pool.lock().in_flight(0), 0);
        assert_eq!(pool.healthy(), 1);
    }
}

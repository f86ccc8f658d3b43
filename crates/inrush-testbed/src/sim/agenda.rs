//! What happens next: a heap of events in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::request::RequestId;

/// Virtual time since the start of the run, nanoseconds.
pub(super) type Nanos = u64;

/// Seconds as [`Nanos`].
pub(super) fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

/// [`Nanos`] as seconds.
pub(super) fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A loader may have something to send.
    Wake { loader: usize },
    /// A loader's first body is on its way.
    Sent { loader: usize },
    /// A body is at its node.
    Arrived { request: RequestId },
    /// The parts of a request are at the nodes of their shards.
    PartsArrived { request: RequestId },
    /// A thread has finished what it was doing, unless it was told to take longer meanwhile.
    TaskDone { node: usize, thread: usize, version: u32 },
    /// A reply has left the cluster.
    Replied { loader: usize },
    /// A reply is at its loader.
    Answered { request: RequestId },
    /// A node stands still.
    Pause { pauses: usize, node: usize },
    /// The nodes' speeds have changed a little.
    Drift,
    /// A tenant's next tasks.
    Tenant { tenant: usize, node: usize },
    /// A step of the scenario.
    Step { step: usize },
}

/// Events in order of time, and of arrival where times are equal.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    count: u64,
}

impl Agenda {
    pub(super) fn at(&mut self, when: Nanos, event: Event) {
        self.count += 1;
        self.heap.push(Reverse((when, self.count, event)));
    }

    pub(super) fn next(&mut self) -> Option<(Nanos, Event)> {
        self.heap.pop().map(|Reverse((when, _, event))| (when, event))
    }
}

//! The agenda: a heap of events in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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

/// The index of a request among all requests in flight.
pub(super) type RequestId = usize;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A loader may have a request to send.
    Wake { loader: usize },
    /// The first body in a loader's uplink has left it.
    Sent { loader: usize },
    /// A body has arrived at its node.
    Arrived { request: RequestId },
    /// The parts of a request have arrived at the nodes of their shards.
    PartsArrived { request: RequestId },
    /// A thread has finished its task, unless the task was extended meanwhile.
    TaskDone { node: usize, thread: usize, version: u32 },
    /// A reply has left the cluster.
    Replied { loader: usize },
    /// A reply has arrived at its loader.
    Answered { request: RequestId },
    /// A node pauses.
    Pause { pauses: usize, node: usize },
    /// The speeds of the nodes drift.
    Drift,
    /// The next tasks of a tenant arrive.
    Tenant { tenant: usize, node: usize },
    /// A step of the scenario is due.
    Step { step: usize },
}

/// Events in the order of their times; events of one time in the order of their arrival.
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

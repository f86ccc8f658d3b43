//! Requests under way.

use inrush_core::nodes::Pick;

use super::agenda::Nanos;
use super::documents::Batch;

/// A place in [`Requests`].
pub(super) type RequestId = usize;

/// What will be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Item by item.
    Items,
    /// 429 for the whole of it.
    Refused,
    /// 413.
    TooLarge,
    /// Nothing: the node has gone.
    Lost,
}

/// One attempt.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) loader: usize,
    /// The loader's permit.
    pub(super) permit: u64,
    /// The node that it goes to, as the loader's pool chose it.
    pub(super) pick: Pick,
    pub(super) batch: Batch,
    pub(super) sent: Nanos,
    /// At its node; 0 while it is on its way.
    pub(super) arrived: Nanos,
    /// Replied to, or refused; 0 before.
    pub(super) finished: Nanos,
    /// Of the loader, itself included.
    pub(super) in_flight: u32,
    pub(super) fate: Fate,
    pub(super) rejected: u32,
    /// Tasks that still have to end.
    pub(super) tasks: u32,
    /// Its loader has had its answer.
    pub(super) answered: bool,
}

/// All requests under way; places are used again.
#[derive(Debug, Default)]
pub(super) struct Requests {
    all: Vec<Request>,
    free: Vec<RequestId>,
}

impl Requests {
    pub(super) fn add(&mut self, request: Request) -> RequestId {
        if let Some(id) = self.free.pop() {
            self.all[id] = request;
            return id;
        }
        self.all.push(request);
        self.all.len() - 1
    }

    pub(super) fn get(&mut self, id: RequestId) -> &mut Request {
        &mut self.all[id]
    }

    /// Frees the place of a request that was answered and has no tasks left.
    pub(super) fn free_if_over(&mut self, id: RequestId) {
        if self.all[id].answered && self.all[id].tasks == 0 {
            self.free.push(id);
        }
    }

    /// Requests that a node has and has not replied to.
    pub(super) fn under_way_at(&self, node: usize) -> Vec<RequestId> {
        let under_way = |id: &RequestId| {
            let request = &self.all[*id];
            request.pick.node == node && request.arrived > 0 && request.finished == 0 && !request.answered
        };
        (0..self.all.len()).filter(under_way).collect()
    }
}

//! Requests in flight.

use inrush_core::nodes::Pick;

use super::agenda::{Nanos, RequestId};
use super::documents::Batch;

/// The reply that a request will get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Items.
    Items,
    /// 429 for the whole request.
    Refused,
    /// 413 for the whole request.
    TooLarge,
    /// No reply: the node is gone.
    Lost,
}

/// One attempt.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) loader: usize,
    /// The permit of the loader.
    pub(super) permit: u64,
    /// The node that the loader's pool chose.
    pub(super) pick: Pick,
    pub(super) batch: Batch,
    pub(super) sent: Nanos,
    /// Arrival at the node; 0 before it.
    pub(super) arrived: Nanos,
    /// Time of the reply or the refusal; 0 before it.
    pub(super) finished: Nanos,
    /// Requests in flight of the loader, this one included.
    pub(super) in_flight: u32,
    pub(super) fate: Fate,
    pub(super) rejected: u32,
    /// Unfinished tasks.
    pub(super) tasks: u32,
    /// When the nodes had finished all earlier parts of this loader, if that was before the parts
    /// of this request came: then the link was the limit.
    pub(super) idle_since: Option<Nanos>,
    /// True once the loader has the reply.
    pub(super) answered: bool,
}

/// All requests in flight; free indices are used again.
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

    /// Frees the index of an answered request without unfinished tasks.
    pub(super) fn free_if_over(&mut self, id: RequestId) {
        if self.all[id].answered && self.all[id].tasks == 0 {
            self.free.push(id);
        }
    }

    /// Requests that a node has received and not answered.
    pub(super) fn under_way_at(&self, node: usize) -> Vec<RequestId> {
        let under_way = |id: &RequestId| {
            let request = &self.all[*id];
            request.pick.node == node && request.arrived > 0 && request.finished == 0 && !request.answered
        };
        (0..self.all.len()).filter(under_way).collect()
    }
}

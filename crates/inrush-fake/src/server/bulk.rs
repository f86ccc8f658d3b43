//! Bulk requests.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value;
use tokio::sync::watch;

use super::answer::Answer;
use super::shared::{Shared, lock};
use super::spoil::{after, before};
use crate::api::{ApiRequest, Task};
use crate::bulk::{self, Defaults};
use crate::clock::millis_now;
use crate::error::ServerError;
use crate::faults::{Fault, RequestFacts, item_error};
use crate::filter::filter_path;
use crate::model::{Op, Reached};

/// A bulk request at a node.
pub(super) struct BulkRequest {
    pub(super) shared: Arc<Shared>,
    /// The node, counted from 0.
    pub(super) node: usize,
    /// True once the node is stopped.
    pub(super) stopped: watch::Receiver<bool>,
    pub(super) request: ApiRequest,
    pub(super) wire_bytes: usize,
    pub(super) smile: bool,
    pub(super) opaque_id: Option<String>,
}

/// The answer to a bulk request, and the facts that the log shows.
pub(super) struct Answered {
    pub(super) items: usize,
    pub(super) shards: usize,
    pub(super) answer: Answer,
}

impl BulkRequest {
    /// Parses, applies and answers the request.
    pub(super) async fn run(self, defaults: Defaults) -> Answered {
        let parsed = bulk::parse(&self.shared.config.flavor, &self.request.body, &defaults);
        let ops = parsed.as_deref().unwrap_or_default();
        let shards = lock(&self.shared.cluster).shards_of(ops);
        let items = ops.len();
        let answer = self.answer(parsed).await;
        Answered { items, shards, answer }
    }

    async fn answer(self, parsed: Result<Vec<Op>, ServerError>) -> Answer {
        let started = Instant::now();
        let shared = &*self.shared;
        let facts = self.facts(&self.request.path, parsed.as_deref().unwrap_or_default());
        let rule = lock(&shared.faults).on_request(facts);
        if let Some(refusal) = rule.as_ref().and_then(|rule| before(shared, rule)) {
            return refusal;
        }
        let ops = match parsed {
            Ok(ops) => ops,
            Err(error) => return error.into(),
        };
        let entry = self.task(&ops);
        if rule.as_ref().is_some_and(|rule| rule.fault() == Fault::HoldBeforeApplying) {
            shared.hold().await;
        }
        if lock(&shared.cluster).read_only {
            let block = "blocked by: [FORBIDDEN/6/cluster read-only (api)];";
            return ServerError::new(403, "cluster_block_exception", block).into();
        }
        if *self.stopped.borrow() {
            return Answer::Reset;
        }
        let items = match rule.as_ref().is_some_and(|rule| rule.fault() == Fault::PrimaryChanges) {
            true => self.apply_again(ops),
            false => self.apply(&ops),
        };
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut body = bulk::reply(&shared.config.flavor, took_ms, items);
        if let Some(patterns) = self.request.param("filter_path") {
            body = filter_path(body, patterns);
        }
        let answer = match &rule {
            Some(rule) => after(shared, rule, 200, body).await,
            None => Answer::Json(200, body),
        };
        drop(entry);
        answer
    }

    fn facts<'a>(&self, path: &'a str, ops: &'a [Op]) -> RequestFacts<'a> {
        RequestFacts { method: "POST", path, node: self.node, body_bytes: self.wire_bytes, smile: self.smile, ops }
    }

    /// Lists the request in `_tasks`.
    fn task(&self, ops: &[Op]) -> TaskEntry<'_> {
        let tasks = &self.shared.tasks;
        let id = self.shared.next_task.fetch_add(1, Ordering::Relaxed);
        let index = ops.first().map_or("", |op| op.index.as_str());
        let description = format!("requests[{}], indices[{index}]", ops.len());
        let task =
            Task { id, node: self.node, opaque_id: self.opaque_id.clone(), start_time_ms: millis_now(), description };
        lock(tasks).insert(id, task);
        TaskEntry { tasks, id }
    }

    /// Applies all operations, and again on new primaries. Returns the items of the second time.
    fn apply_again(&self, mut ops: Vec<Op>) -> Vec<Value> {
        {
            // The coordinating node makes an id once.
            let mut cluster = lock(&self.shared.cluster);
            for op in ops.iter_mut().filter(|op| op.id.is_none()) {
                op.id = Some(cluster.new_id());
            }
        }
        self.apply(&ops);
        lock(&self.shared.cluster).change_primaries(&ops);
        self.apply(&ops)
    }

    /// Applies all operations. Returns the items in the order of the reply.
    fn apply(&self, ops: &[Op]) -> Vec<Value> {
        let facts = self.facts("/_bulk", ops);
        let flavor = &self.shared.config.flavor;
        let mut cluster = lock(&self.shared.cluster);
        let mut script = lock(&self.shared.faults);
        let items: Vec<(Value, Reached)> = ops
            .iter()
            .map(|op| {
                let rule = script.on_item(facts, op);
                if rule.is_some_and(|rule| rule.fault() == Fault::ItemVectorsLost) {
                    let op = cluster.without_vectors(op);
                    return cluster.apply_in_bulk(&op);
                }
                match rule.and_then(|rule| item_error(flavor, rule, op)) {
                    Some(error) => (cluster.refuse(op, &error), Reached::Index),
                    None => cluster.apply_in_bulk(op),
                }
            })
            .collect();
        if self.request.wants_refresh() {
            for op in ops {
                if let Some(name) = cluster.resolve_existing(op)
                    && let Some(index) = cluster.indices.get_mut(&name)
                {
                    index.refresh();
                }
            }
        }
        bulk::in_reply_order(flavor, items)
    }
}

/// Keeps a request in `_tasks` as long as it lives.
struct TaskEntry<'a> {
    tasks: &'a Mutex<BTreeMap<u64, Task>>,
    id: u64,
}

impl Drop for TaskEntry<'_> {
    fn drop(&mut self) {
        lock(self.tasks).remove(&self.id);
    }
}

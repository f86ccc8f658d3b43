//! The nodes together: the places of shards, and the way of a request through them.

use super::agenda::{Agenda, Event, Nanos, RequestId, nanos, seconds};
use super::keys::{Faults, Merges, Pauses, Step, Tenant};
use super::node::{Node, Rates, Task};
use super::record::Indexed;
use super::request::{Fate, Requests};
use super::rng::Rng;
use super::scenario::{START_SECONDS, Scenario};

/// Interval of the drift of speeds, seconds.
const DRIFT_EVERY: f64 = 0.5;

/// The nodes of a scenario.
#[derive(Debug)]
pub(super) struct Cluster {
    nodes: Vec<Node>,
    rates: Rates,
    queue: usize,
    memory_bytes: f64,
    max_body_bytes: f64,
    hop: Nanos,
    shards: usize,
    replicas: usize,
    /// Numbers of the nodes that are reachable.
    alive: Vec<usize>,
    merges: Option<Merges>,
    pauses: Vec<Pauses>,
    tenants: Vec<Tenant>,
    faults: Faults,
    failing: Rng,
    pausing: Vec<Rng>,
    arriving: Vec<Rng>,
    /// The shard that gets the first document of an uneven rest.
    next_shard: usize,
    /// Tasks of tenants after the first 10 s, and the part of them that a full queue rejected.
    pub(super) tenant_tasks: (u64, u64),
    /// Seconds from the arrival of a tenant's task to its end, of those that ended after the first
    /// 10 s.
    pub(super) tenant_latencies: Vec<f32>,
    /// For each loader: its unfinished parts, and when the last one was finished.
    parts: Vec<(u32, Nanos)>,
    /// What primaries indexed, which the engine has to record.
    pub(super) work: Vec<Indexed>,
    /// Finished requests, which the engine has to answer.
    pub(super) finished: Vec<RequestId>,
}

impl Cluster {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let config = &scenario.cluster;
        let speed = |node: usize| match config.speeds.len() {
            0 => 1.0,
            len => config.speeds[node % len],
        };
        Cluster {
            nodes: (0..config.nodes).map(|node| Node::new(node, config.threads, speed(node), seed)).collect(),
            rates: Rates {
                costs: scenario.costs,
                noise: scenario.noise,
                warm_up: scenario.warm_up,
                heap_bytes: scenario.heap_gib() * f64::from(1 << 30),
            },
            queue: config.queue,
            memory_bytes: config.memory_mib.map_or(f64::INFINITY, mib),
            max_body_bytes: mib(config.max_body_mib),
            hop: if config.nodes == 1 { 0 } else { (scenario.costs.hop_us * 1e3) as Nanos },
            shards: scenario.shards(),
            replicas: config.replicas,
            alive: (0..config.nodes).collect(),
            merges: scenario.merges,
            pauses: scenario.pauses.clone(),
            tenants: scenario.tenants.clone(),
            faults: scenario.faults,
            failing: Rng::new(seed, "fault", 0),
            // Pauses of all nodes at once share one sequence.
            pausing: (0..config.nodes).map(|node| Rng::new(seed, "pause", node)).collect(),
            arriving: (0..config.nodes).map(|node| Rng::new(seed, "tenant", node)).collect(),
            next_shard: 0,
            tenant_tasks: (0, 0),
            tenant_latencies: Vec::new(),
            parts: vec![(0, 0); scenario.loaders.len()],
            work: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Schedules the first drift, the first pauses and the first tasks of tenants.
    pub(super) fn start(&mut self, agenda: &mut Agenda) {
        if self.rates.noise.drift > 0.0 {
            agenda.at(0, Event::Drift);
        }
        for pauses in 0..self.pauses.len() {
            let nodes = if self.pauses[pauses].together { 1 } else { self.nodes.len() };
            for node in 0..nodes {
                let first = self.pauses[pauses].every_seconds * self.pausing[node].between((0.2, 0.8));
                agenda.at(nanos(first), Event::Pause { pauses, node });
            }
        }
        for (number, tenant) in self.tenants.iter().enumerate() {
            for node in 0..self.nodes.len() {
                agenda.at(nanos(tenant.start_seconds), Event::Tenant { tenant: number, node });
            }
        }
    }

    /// True if a body is refused by its length alone.
    pub(super) fn refuses_length(&self, bytes: u64) -> bool {
        bytes as f64 > self.max_body_bytes
    }

    /// True if a node is reachable.
    pub(super) fn is_alive(&self, node: usize) -> bool {
        self.nodes[node].alive
    }

    pub(super) fn arrived(&mut self, now: Nanos, id: RequestId, requests: &mut Requests, agenda: &mut Agenda) {
        let request = requests.get(id);
        request.arrived = now.max(1);
        let node = &mut self.nodes[request.pick.node];
        let bytes = request.batch.bytes as f64;
        let chance = if self.faults.lost + self.faults.refused > 0.0 { self.failing.unit() } else { 1.0 };
        let fate = match () {
            () if !node.alive || chance < self.faults.lost => Fate::Lost,
            () if chance < self.faults.lost + self.faults.refused => Fate::Refused,
            () if self.max_body_bytes < bytes => Fate::TooLarge,
            // The message says that the body alone exceeds the limit.
            () if self.memory_bytes < bytes => Fate::TooLarge,
            () if node.bytes + bytes > self.memory_bytes => Fate::Refused,
            () => Fate::Items,
        };
        request.fate = fate;
        if fate != Fate::Items {
            request.finished = now;
            self.finished.push(id);
            return;
        }
        node.bytes += bytes;
        request.tasks = 1;
        node.push(Task::Coordinate { request: id });
        node.dispatch(now, &self.rates, agenda);
    }

    pub(super) fn task_done(
        &mut self,
        now: Nanos,
        (node, thread, version): (usize, usize, u32),
        requests: &mut Requests,
        agenda: &mut Agenda,
    ) {
        let Some((task, began)) = self.nodes[node].finished(thread, version) else { return };
        match task {
            Task::Coordinate { request } => agenda.at(now + self.hop, Event::PartsArrived { request }),
            Task::Part { request, shard, docs, bytes } => {
                self.indexed(node, bytes);
                let (loader, idle_since) = (requests.get(request).loader, requests.get(request).idle_since);
                self.parts[loader] = (self.parts[loader].0.saturating_sub(1), now);
                self.work.push(Indexed { loader, from: began.min(idle_since.unwrap_or(began)), to: now, bytes });
                for copy in 0..self.replicas.min(self.alive.len() - 1) {
                    requests.get(request).tasks += 1;
                    self.enqueue(now, Task::Replica { request, shard, copy, docs, bytes }, agenda);
                }
                self.task_over(now, request, requests);
            }
            Task::Replica { request, bytes, .. } => {
                self.indexed(node, bytes);
                self.task_over(now, request, requests);
            }
            Task::Tenant { since, .. } => {
                if now >= nanos(START_SECONDS) {
                    self.tenant_latencies.push(seconds(now - since) as f32);
                }
            }
            Task::Merge { .. } => {}
        }
        self.nodes[node].dispatch(now, &self.rates, agenda);
    }

    /// Divides a request into parts, as evenly as whole documents allow, and queues them.
    pub(super) fn parts_arrived(&mut self, now: Nanos, id: RequestId, requests: &mut Requests, agenda: &mut Agenda) {
        let request = requests.get(id);
        if request.fate == Fate::Lost {
            return self.task_over(now, id, requests);
        }
        let batch = request.batch;
        let loader = request.loader;
        let (unfinished, last) = self.parts[loader];
        request.idle_since = (unfinished == 0).then_some(last);
        let shards = self.shards as u32;
        let (each, more) = (batch.docs / shards, (batch.docs % shards) as usize);
        let first = self.next_shard;
        self.next_shard = (first + more) % self.shards;
        for at in 0..self.shards {
            let docs = each + u32::from(at < more);
            if docs == 0 {
                break;
            }
            let chance = f64::from(docs) * self.faults.rejected;
            let rejected = if chance > 0.0 { (chance + self.failing.unit()).floor() as u32 } else { 0 };
            let docs = docs - rejected;
            requests.get(id).rejected += rejected;
            if docs == 0 {
                continue;
            }
            let shard = (first + at) % self.shards;
            let bytes = batch.bytes as f64 * f64::from(docs) / f64::from(batch.docs);
            let owner = self.primary(shard);
            if self.nodes[owner].is_full(self.queue) {
                requests.get(id).rejected += docs;
                continue;
            }
            requests.get(id).tasks += 1;
            self.parts[loader].0 += 1;
            self.enqueue(now, Task::Part { request: id, shard, docs, bytes }, agenda);
        }
        self.task_over(now, id, requests);
    }

    pub(super) fn pause(&mut self, now: Nanos, (number, node): (usize, usize), agenda: &mut Agenda) {
        let pauses = self.pauses[number];
        let length = nanos(self.pausing[node].between(pauses.seconds));
        let next = pauses.every_seconds * self.pausing[node].between((0.8, 1.2));
        agenda.at(now + nanos(next), Event::Pause { pauses: number, node });
        match pauses.together {
            true => self.nodes.iter_mut().for_each(|node| node.stall(now, length, agenda)),
            false => self.nodes[node].stall(now, length, agenda),
        }
    }

    pub(super) fn drift(&mut self, now: Nanos, agenda: &mut Agenda) {
        let noise = self.rates.noise;
        self.nodes.iter_mut().for_each(|node| node.drift(&noise, DRIFT_EVERY));
        agenda.at(now + nanos(DRIFT_EVERY), Event::Drift);
    }

    pub(super) fn tenant(&mut self, now: Nanos, (number, node): (usize, usize), agenda: &mut Agenda) {
        let tenant = self.tenants[number];
        if tenant.end_seconds.is_some_and(|end| now >= nanos(end)) {
            return;
        }
        let wait = self.arriving[node].exponential(tenant.burst as f64 / tenant.tasks_per_second);
        agenda.at(now + nanos(wait), Event::Tenant { tenant: number, node });
        let counts = u64::from(now >= nanos(START_SECONDS));
        for _ in 0..tenant.burst {
            self.tenant_tasks.0 += counts;
            if self.nodes[node].alive && !self.nodes[node].is_full(self.queue) {
                self.nodes[node].push(Task::Tenant { seconds: tenant.task_ms / 1000.0, since: now });
                self.nodes[node].dispatch(now, &self.rates, agenda);
            } else {
                self.tenant_tasks.1 += counts;
            }
        }
    }

    /// Applies a step of the scenario to the nodes.
    pub(super) fn step(&mut self, now: Nanos, step: &Step, requests: &mut Requests, agenda: &mut Agenda) {
        if let Some(capacity) = step.capacity {
            for (number, node) in self.nodes.iter_mut().enumerate() {
                if step.nodes.as_ref().is_none_or(|nodes| nodes.contains(&number)) {
                    node.set_capacity(now, capacity, agenda);
                }
            }
        }
        self.memory_bytes = step.memory_mib.map_or(self.memory_bytes, mib);
        self.queue = step.queue.unwrap_or(self.queue);
        for &node in &step.join {
            self.nodes[node].alive = true;
        }
        for &node in &step.leave {
            self.nodes[node].alive = false;
        }
        self.alive = (0..self.nodes.len()).filter(|&node| self.nodes[node].alive).collect();
        for &node in &step.leave {
            self.left(now, node, requests, agenda);
        }
    }

    /// Removes a node. Its requests get no answer; the parts of requests at other nodes go to the
    /// new owner of their shard.
    fn left(&mut self, now: Nanos, node: usize, requests: &mut Requests, agenda: &mut Agenda) {
        for id in requests.under_way_at(node) {
            let request = requests.get(id);
            request.fate = Fate::Lost;
            request.finished = now;
            self.finished.push(id);
        }
        for task in self.nodes[node].clear() {
            match task {
                Task::Coordinate { request } => self.task_over(now, request, requests),
                Task::Part { request, .. } | Task::Replica { request, .. } => {
                    if requests.get(request).fate == Fate::Lost || self.alive.is_empty() {
                        if matches!(task, Task::Part { .. }) {
                            let parts = &mut self.parts[requests.get(request).loader].0;
                            *parts = parts.saturating_sub(1);
                        }
                        self.task_over(now, request, requests);
                    } else {
                        self.enqueue(now, task, agenda);
                    }
                }
                Task::Merge { .. } | Task::Tenant { .. } => {}
            }
        }
    }

    /// Queues a part at the owner of its shard.
    fn enqueue(&mut self, now: Nanos, task: Task, agenda: &mut Agenda) {
        let owner = match task {
            Task::Part { shard, .. } => self.primary(shard),
            Task::Replica { shard, copy, .. } => self.alive[(shard + 1 + copy) % self.alive.len()],
            Task::Coordinate { .. } | Task::Merge { .. } | Task::Tenant { .. } => return,
        };
        self.nodes[owner].push(task);
        self.nodes[owner].dispatch(now, &self.rates, agenda);
    }

    fn primary(&self, shard: usize) -> usize {
        self.alive[shard % self.alive.len()]
    }

    fn task_over(&mut self, now: Nanos, id: RequestId, requests: &mut Requests) {
        let request = requests.get(id);
        request.tasks -= 1;
        if request.tasks > 0 {
            return;
        }
        if request.fate == Fate::Items {
            request.finished = now;
            let node = &mut self.nodes[request.pick.node];
            node.bytes = (node.bytes - request.batch.bytes as f64).max(0.0);
            self.finished.push(id);
        } else {
            requests.free_if_over(id);
        }
    }

    fn indexed(&mut self, node: usize, bytes: f64) {
        let Some(merges) = self.merges else { return };
        let node = &mut self.nodes[node];
        node.unmerged += bytes;
        if node.unmerged >= mib(merges.every_mib) {
            node.unmerged = 0.0;
            for _ in 0..merges.threads {
                node.push(Task::Merge { seconds: merges.seconds });
            }
        }
    }
}

fn mib(mib: f64) -> f64 {
    mib * 1024.0 * 1024.0
}

//! One node: its write threads and their queue.

use std::collections::VecDeque;

use super::agenda::{Agenda, Event, Nanos, RequestId, nanos, seconds};
use super::keys::{Costs, Noise, WarmUp};
use super::rng::Rng;

/// A task of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Task {
    /// Read a request and divide it into parts.
    Coordinate { request: RequestId },
    /// Index the documents of one request that belong to one shard.
    Part { request: RequestId, shard: usize, docs: u32, bytes: f64 },
    /// Index the same documents on a copy of the shard.
    Replica { request: RequestId, shard: usize, copy: usize, docs: u32, bytes: f64 },
    /// Merge segments.
    Merge { seconds: f64 },
    /// A task of a tenant, and when it came.
    Tenant { seconds: f64, since: Nanos },
}

#[derive(Clone, Debug, Default)]
struct Thread {
    running: Option<Task>,
    began: Nanos,
    ends: Nanos,
    /// Rises with each change of `ends`, which makes an earlier event void.
    version: u32,
}

/// One node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    number: usize,
    threads: Vec<Thread>,
    /// Coordination and merges, which precede all other tasks; without a limit.
    urgent: VecDeque<Task>,
    /// Tasks that wait for a write thread.
    queue: VecDeque<Task>,
    pub(super) alive: bool,
    /// Bytes of the bodies in flight.
    pub(super) bytes: f64,
    /// Bytes indexed since the last merge.
    pub(super) unmerged: f64,
    speed: f64,
    capacity: f64,
    drift: f64,
    stalled_until: Nanos,
    worked: Nanos,
    noise: Rng,
    drifting: Rng,
}

/// The rates that all nodes share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) costs: Costs,
    pub(super) noise: Noise,
    pub(super) warm_up: Option<WarmUp>,
    /// Heap of each node.
    pub(super) heap_bytes: f64,
}

impl Node {
    pub(super) fn new(number: usize, threads: usize, speed: f64, seed: u64) -> Self {
        Node {
            number,
            threads: vec![Thread::default(); threads],
            urgent: VecDeque::new(),
            queue: VecDeque::new(),
            alive: true,
            bytes: 0.0,
            unmerged: 0.0,
            speed,
            capacity: 1.0,
            drift: 1.0,
            stalled_until: 0,
            worked: 0,
            noise: Rng::new(seed, "task", number),
            drifting: Rng::new(seed, "drift", number),
        }
    }

    /// True if the queue would reject another task.
    pub(super) fn is_full(&self, queue: usize) -> bool {
        self.queue.len() >= queue && self.threads.iter().all(|thread| thread.running.is_some())
    }

    pub(super) fn push(&mut self, task: Task) {
        match task {
            Task::Coordinate { .. } | Task::Merge { .. } => self.urgent.push_back(task),
            Task::Part { .. } | Task::Replica { .. } | Task::Tenant { .. } => self.queue.push_back(task),
        }
    }

    /// Gives tasks to idle threads.
    pub(super) fn dispatch(&mut self, now: Nanos, rates: &Rates, agenda: &mut Agenda) {
        while let Some(idle) = self.threads.iter().position(|thread| thread.running.is_none()) {
            let Some(task) = self.urgent.pop_front().or_else(|| self.queue.pop_front()) else { return };
            let takes = self.duration(&task, rates);
            self.worked += takes;
            let thread = &mut self.threads[idle];
            thread.running = Some(task);
            thread.began = now;
            thread.ends = now.max(self.stalled_until) + takes;
            thread.version = thread.version.wrapping_add(1);
            agenda.at(thread.ends, Event::TaskDone { node: self.number, thread: idle, version: thread.version });
        }
    }

    /// The task that a thread has finished, and when it began; `None` if the event is void.
    pub(super) fn finished(&mut self, thread: usize, version: u32) -> Option<(Task, Nanos)> {
        let thread = &mut self.threads[thread];
        let task = (thread.version == version).then(|| thread.running.take()).flatten()?;
        Some((task, thread.began))
    }

    /// Pauses the node.
    pub(super) fn stall(&mut self, now: Nanos, length: Nanos, agenda: &mut Agenda) {
        let before = self.stalled_until.max(now);
        self.stalled_until = self.stalled_until.max(now + length);
        let longer = self.stalled_until - before;
        self.reschedule(agenda, |ends| ends + longer);
    }

    /// Changes the speed to `capacity` times that of the start.
    pub(super) fn set_capacity(&mut self, now: Nanos, capacity: f64, agenda: &mut Agenda) {
        let factor = self.capacity / capacity;
        self.capacity = capacity;
        self.reschedule(agenda, |ends| now + (ends.saturating_sub(now) as f64 * factor) as Nanos);
    }

    /// Removes all running and waiting tasks.
    pub(super) fn clear(&mut self) -> Vec<Task> {
        let mut tasks: Vec<Task> = self.urgent.drain(..).chain(self.queue.drain(..)).collect();
        tasks.extend(self.threads.iter_mut().filter_map(|thread| thread.running.take()));
        self.bytes = 0.0;
        tasks
    }

    /// Moves the speed by one step of a random walk that returns to its mean (Ornstein and
    /// Uhlenbeck), `step` seconds after the last one.
    pub(super) fn drift(&mut self, noise: &Noise, step: f64) {
        let keep = (-step / noise.drift_seconds).exp();
        let fresh = noise.drift * (1.0 - keep * keep).sqrt() * self.drifting.normal();
        self.drift = (keep * self.drift.ln() + fresh).exp();
    }

    fn reschedule(&mut self, agenda: &mut Agenda, ends: impl Fn(Nanos) -> Nanos) {
        for (number, thread) in self.threads.iter_mut().enumerate() {
            if thread.running.is_some() {
                thread.ends = ends(thread.ends);
                thread.version = thread.version.wrapping_add(1);
                agenda.at(thread.ends, Event::TaskDone { node: self.number, thread: number, version: thread.version });
            }
        }
    }

    fn duration(&mut self, task: &Task, rates: &Rates) -> Nanos {
        let costs = &rates.costs;
        let part = |docs: u32, bytes: f64| {
            costs.part_us * 1e-6 + f64::from(docs) * costs.doc_us * 1e-6 + bytes * costs.byte_ns * 1e-9
        };
        let base = match *task {
            Task::Coordinate { .. } => costs.request_us * 1e-6,
            Task::Part { docs, bytes, .. } => part(docs, bytes),
            Task::Replica { docs, bytes, .. } => part(docs, bytes) * costs.replica,
            // Throttles decide on the duration of a merge, not the processor.
            Task::Merge { seconds } => return nanos(seconds),
            Task::Tenant { seconds, .. } => seconds,
        };
        let others = self.threads.iter().filter(|thread| thread.running.is_some()).count();
        let others = others as f64 / (self.threads.len().max(2) - 1) as f64;
        let cold =
            rates.warm_up.map_or(1.0, |w| 1.0 + (w.factor - 1.0) * (-seconds(self.worked) / w.cpu_seconds).exp());
        let heap = 1.0 + costs.heap_slowdown * (self.bytes / rates.heap_bytes).powi(2);
        let slower = (1.0 + costs.contention * others) * cold * heap * self.noise.lognormal(rates.noise.task);
        nanos(base * slower / (self.speed * self.capacity * self.drift)).max(1)
    }
}

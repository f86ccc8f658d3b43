//! The loop: it takes the next event, passes it to its receiver, and records the result.

use inrush_core::time::Time;
use inrush_core::tune::{Decision, Sample, Tuner};

use super::agenda::{Agenda, Event, Nanos, RequestId, nanos};
use super::cluster::Cluster;
use super::keys::Step;
use super::loader::{Loader, time};
use super::record::Record;
use super::request::{Fate, Requests};
use super::scenario::Scenario;

/// Time after the end of the run in which replies are awaited, seconds. Requests in flight at the
/// end belong partly to the run.
const DRAIN_SECONDS: f64 = 120.0;

/// Bytes of a body that leave before a refusal of its length arrives.
const SHORT_BYTES: u64 = 1 << 14;

/// An observer of the controllers.
pub trait Watcher {
    /// The controller of a loader got a sample of an attempt.
    fn sample(&mut self, loader: usize, now: Time, sample: &Sample);
    /// The controller of a loader changed its plan.
    fn decision(&mut self, loader: usize, decision: &Decision);
}

/// An observer that ignores everything.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn sample(&mut self, _: usize, _: Time, _: &Sample) {}
    fn decision(&mut self, _: usize, _: &Decision) {}
}

/// Runs a scenario. `tuners` are the controllers of the loaders, in the order of the scenario.
pub fn run(scenario: &Scenario, seed: u64, tuners: Vec<Box<dyn Tuner>>, watcher: &mut dyn Watcher) -> Record {
    let loaders = scenario.loaders.iter().zip(tuners).enumerate();
    let loaders = loaders.map(|(number, (config, tuner))| Loader::new(scenario, config, number, seed, tuner)).collect();
    let engine = Engine {
        agenda: Agenda::default(),
        requests: Requests::default(),
        cluster: Cluster::new(scenario, seed),
        loaders,
        wake_at: vec![None; scenario.loaders.len()],
        record: Record::new(scenario),
        steps: scenario.steps.clone(),
        watcher,
    };
    engine.run(scenario.seconds)
}

struct Engine<'a> {
    agenda: Agenda,
    requests: Requests,
    cluster: Cluster,
    loaders: Vec<Loader>,
    /// The time of the next wake of each loader.
    wake_at: Vec<Option<Nanos>>,
    record: Record,
    steps: Vec<Step>,
    watcher: &'a mut dyn Watcher,
}

impl Engine<'_> {
    fn run(mut self, seconds: f64) -> Record {
        for loader in 0..self.loaders.len() {
            self.agenda.at(self.loaders[loader].starts(), Event::Wake { loader });
        }
        for (number, step) in self.steps.iter().enumerate() {
            self.agenda.at(nanos(step.at_seconds), Event::Step { step: number });
        }
        self.cluster.start(&mut self.agenda);
        let (end, drained) = (nanos(seconds), nanos(seconds + DRAIN_SECONDS));
        while let Some((now, event)) = self.agenda.next() {
            if now >= drained || (now >= end && self.record.under_way == 0) {
                break;
            }
            self.handle(now, event);
        }
        for loader in &self.loaders {
            self.record.plans.push((loader.tuner.steady_plan(), loader.tuner.why()));
        }
        self.record.tenant_tasks = self.cluster.tenant_tasks;
        self.record.tenant_latencies = self.cluster.tenant_latencies;
        self.record
    }

    fn handle(&mut self, now: Nanos, event: Event) {
        let (requests, agenda) = (&mut self.requests, &mut self.agenda);
        match event {
            Event::Wake { loader } => {
                if self.wake_at[loader].is_some_and(|at| at <= now) {
                    self.wake_at[loader] = None;
                }
                self.send(now, loader);
            }
            Event::Sent { loader } => {
                let link = &mut self.loaders[loader].link;
                let (sent, next) = link.up.finished();
                if let Some(request) = sent {
                    let at = requests.get(request);
                    let by_connection = at.sent + link.connection_time(at.batch.bytes as f64);
                    agenda.at(now.max(by_connection) + link.one_way, Event::Arrived { request });
                }
                if let Some(takes) = next {
                    agenda.at(now + takes, Event::Sent { loader });
                }
            }
            Event::Arrived { request } => self.cluster.arrived(now, request, requests, agenda),
            Event::PartsArrived { request } => self.cluster.parts_arrived(now, request, requests, agenda),
            Event::TaskDone { node, thread, version } => {
                self.cluster.task_done(now, (node, thread, version), requests, agenda);
            }
            Event::Replied { loader } => {
                let link = &mut self.loaders[loader].link;
                let (sent, next) = link.down.finished();
                if let Some(request) = sent {
                    agenda.at(now + link.one_way, Event::Answered { request });
                }
                if let Some(takes) = next {
                    agenda.at(now + takes, Event::Replied { loader });
                }
            }
            Event::Answered { request } => self.answered(now, request),
            Event::Pause { pauses, node } => self.cluster.pause(now, (pauses, node), agenda),
            Event::Drift => self.cluster.drift(now, agenda),
            Event::Tenant { tenant, node } => self.cluster.tenant(now, (tenant, node), agenda),
            Event::Step { step } => self.step(now, step),
        }
        while let Some(work) = self.cluster.work.pop() {
            self.record.indexed(&work);
        }
        while let Some(request) = self.cluster.finished.pop() {
            self.reply(now, request);
        }
    }

    fn send(&mut self, now: Nanos, number: usize) {
        let loader = &mut self.loaders[number];
        while let Some(request) = loader.poll(now) {
            self.record.under_way += 1;
            let refused = self.cluster.refuses_length(request.batch.bytes);
            let bytes = if refused { SHORT_BYTES.min(request.batch.bytes) } else { request.batch.bytes };
            let reachable = self.cluster.is_alive(request.pick.node);
            let id = self.requests.add(request);
            if !reachable {
                // No node accepts the connection.
                let request = self.requests.get(id);
                (request.fate, request.finished) = (Fate::Lost, now);
                self.agenda.at(now + 2 * loader.link.one_way, Event::Answered { request: id });
            } else if let Some(takes) = loader.link.up.push(id, bytes as f64) {
                self.agenda.at(now + takes, Event::Sent { loader: number });
            }
        }
        if let Some(at) = loader.poll_timeout(now)
            && self.wake_at[number].is_none_or(|known| at < known)
        {
            self.wake_at[number] = Some(at);
            self.agenda.at(at, Event::Wake { loader: number });
        }
    }

    /// Sends the reply to a request that the cluster has finished.
    fn reply(&mut self, now: Nanos, id: RequestId) {
        let request = self.requests.get(id);
        let number = request.loader;
        let link = &mut self.loaders[number].link;
        let bytes = match request.fate {
            Fate::Items => self.record.reply_bytes * f64::from(request.batch.docs) + 200.0,
            Fate::Refused | Fate::TooLarge => SHORT_BYTES as f64 / 16.0,
            Fate::Lost => {
                self.agenda.at(now + link.one_way, Event::Answered { request: id });
                return;
            }
        };
        if let Some(takes) = link.down.push(id, bytes) {
            self.agenda.at(now + takes, Event::Replied { loader: number });
        }
    }

    fn answered(&mut self, now: Nanos, id: RequestId) {
        self.requests.get(id).answered = true;
        let request = self.requests.get(id).clone();
        self.requests.free_if_over(id);
        self.record.under_way -= 1;
        let number = request.loader;
        let loader = &mut self.loaders[number];
        if let Some(learnt) = loader.handle_answer(now, &request) {
            self.record.learnt(number, now, &learnt);
            loader.tuner.handle_sample(time(now), &learnt.sample);
            self.watcher.sample(number, time(now), &learnt.sample);
            while let Some(decision) = loader.tuner.poll_decision() {
                self.watcher.decision(number, &decision);
                self.record.decisions += 1;
            }
        }
        self.send(now, number);
    }

    fn step(&mut self, now: Nanos, number: usize) {
        let step = self.steps[number].clone();
        self.cluster.step(now, &step, &mut self.requests, &mut self.agenda);
        for loader in &mut self.loaders {
            if let Some(mbit) = step.mbit {
                loader.link.set_mbit(mbit);
            }
            if let Some(delay_ms) = step.delay_ms {
                loader.link.set_delay_ms(delay_ms);
            }
            if let Some(rate) = step.source_mb_per_second {
                loader.set_source(now, rate);
            }
        }
    }
}

//! A small model of a cluster: one link, one queue, some threads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::jitter::Jitter;
use crate::time::Time;
use crate::{Sample, SampleOutcome, Tuner};

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) threads: usize,
    /// Thread seconds for each request, and for each mebibyte.
    pub(super) per_request: f64,
    pub(super) per_mib: f64,
    /// The round-trip time, seconds.
    pub(super) delay: f64,
    /// Mebibytes a second.
    pub(super) bandwidth: f64,
    /// Requests that wait or are processed before others are refused.
    pub(super) queue: usize,
    /// The part by which service is slower, times the square of the requests at the server: bodies
    /// that fill a heap.
    pub(super) crowd: f64,
    /// The largest relative deviation of a service time from its mean.
    pub(super) noise: f64,
    /// (period, start, length): in each period nothing is served from `start` on for `length`,
    /// seconds.
    pub(super) stall: Option<(f64, f64, f64)>,
    pub(super) body_limit: u64,
    /// The part of each request's documents that is rejected in any case.
    pub(super) unlucky: f64,
    /// Seconds between batches of the source.
    pub(super) source: f64,
    /// (until, extra): requests sent until then take longer, seconds.
    pub(super) cold: (f64, f64),
    /// Connections break at once.
    pub(super) away: bool,
}

impl Default for Cluster {
    fn default() -> Self {
        Cluster {
            threads: 4,
            per_request: 0.002,
            per_mib: 0.1,
            delay: 0.001,
            bandwidth: 1000.0,
            queue: 10_000,
            crowd: 0.0,
            noise: 0.1,
            stall: None,
            body_limit: u64::MAX,
            unlucky: 0.0,
            source: 0.0,
            cold: (0.0, 0.0),
            away: false,
        }
    }
}

/// Loaders that drive one cluster in virtual time.
pub(super) struct Model {
    pub(super) cluster: Cluster,
    pub(super) loaders: Vec<Loader>,
    now: f64,
    threads: Vec<f64>,
    events: BinaryHeap<Reverse<(u64, usize, u64)>>,
    waiting: Vec<f64>,
    jitter: Jitter,
}

pub(super) struct Loader {
    pub(super) tuner: Box<dyn Tuner>,
    pub(super) accepted: f64,
    pub(super) docs: u64,
    pub(super) rejected: u64,
    in_flight: u32,
    link_free: f64,
    source_next: f64,
    requests: Vec<(f64, Sample)>,
}

const DOC_BYTES: u64 = 1024;

fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

impl Model {
    pub(super) fn new(cluster: Cluster, tuners: Vec<Box<dyn Tuner>>) -> Self {
        let loaders = tuners.into_iter().map(|tuner| Loader {
            tuner,
            accepted: 0.0,
            docs: 0,
            rejected: 0,
            in_flight: 0,
            link_free: 0.0,
            source_next: 0.0,
            requests: Vec::new(),
        });
        Model {
            threads: vec![0.0; cluster.threads],
            loaders: loaders.collect(),
            cluster,
            now: 0.0,
            events: BinaryHeap::new(),
            waiting: Vec::new(),
            jitter: Jitter::new(7),
        }
    }

    /// Runs until this time after the start, seconds. Returns the rate of each loader since the
    /// last call, MiB/s.
    pub(super) fn run_until(&mut self, seconds: f64) -> Vec<f64> {
        let from = self.now;
        let before: Vec<f64> = self.loaders.iter().map(|l| l.accepted).collect();
        self.threads.resize(self.cluster.threads, self.now);
        (0..self.loaders.len()).for_each(|l| self.send(l));
        while let Some(&Reverse((at, loader, request))) = self.events.peek() {
            if at > micros(seconds) {
                break;
            }
            self.events.pop();
            self.now = at as f64 / 1e6;
            self.end(loader, request);
        }
        self.now = seconds;
        let got = self.loaders.iter().zip(before).map(|(l, b)| (l.accepted - b) / (seconds - from));
        got.collect()
    }

    fn end(&mut self, loader: usize, request: u64) {
        if request == u64::MAX {
            return self.send(loader);
        }
        let l = &mut self.loaders[loader];
        let (_, sample) = l.requests[request as usize];
        let now = Time::from_start(Duration::from_micros(micros(self.now)));
        let sample = Sample { wall: now.since(sample.sent), ..sample };
        l.accepted += sample.accepted_bytes() as f64 / (1 << 20) as f64;
        l.docs += u64::from(sample.docs);
        l.rejected += u64::from(sample.rejected);
        l.tuner.handle_sample(now, &sample);
        l.in_flight -= 1;
        self.send(loader);
    }

    fn send(&mut self, loader: usize) {
        while self.loaders[loader].in_flight < self.loaders[loader].tuner.plan().in_flight {
            if self.loaders[loader].source_next > self.now {
                let at = micros(self.loaders[loader].source_next) + 1;
                self.events.push(Reverse((at, loader, u64::MAX)));
                return;
            }
            self.send_one(loader);
        }
    }

    fn send_one(&mut self, loader: usize) {
        let c = &self.cluster;
        let l = &mut self.loaders[loader];
        let plan = l.tuner.plan();
        let docs = (plan.batch_bytes / DOC_BYTES).max(1) as u32;
        let bytes = u64::from(docs) * DOC_BYTES;
        let mib = bytes as f64 / (1 << 20) as f64;
        l.in_flight += 1;
        l.source_next = l.source_next.max(self.now) + c.source;
        l.link_free = l.link_free.max(self.now) + mib / c.bandwidth;
        let arrives = l.link_free + c.delay / 2.0;
        self.waiting.retain(|&end| end > arrives);
        let mut outcome = SampleOutcome::Answered;
        let end = if c.away {
            outcome = SampleOutcome::Lost;
            // The wait before the retry, which keeps the permit.
            arrives + 0.1
        } else if bytes > c.body_limit {
            outcome = SampleOutcome::TooLarge;
            arrives
        } else if self.waiting.len() >= c.queue {
            outcome = SampleOutcome::Refused;
            // The wait before the retry, which keeps the permit.
            arrives + 0.1
        } else {
            let swing = 1.0 + c.noise * (2.0 * self.jitter.unit() - 1.0);
            let cold = if self.now < c.cold.0 { c.cold.1 } else { 0.0 };
            let crowded = 1.0 + c.crowd * (self.waiting.len() as f64).powi(2);
            let service = (c.per_request + c.per_mib * mib) * crowded * swing + cold;
            let first = self.threads.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
            let mut start = first.max(arrives);
            if let Some((every, at, long)) = c.stall
                && (at..at + long).contains(&(start % every))
            {
                start += at + long - start % every;
            }
            *first = start + service;
            *first
        };
        if outcome == SampleOutcome::Answered {
            self.waiting.push(end);
        }
        let answered = outcome == SampleOutcome::Answered;
        let rejected = if answered { (f64::from(docs) * c.unlucky) as u32 } else { docs };
        let sample = Sample {
            sent: Time::from_start(Duration::from_micros(micros(self.now))),
            wall: Duration::ZERO,
            took: None,
            bytes,
            docs,
            accepted: docs - rejected,
            rejected,
            outcome,
            in_flight: l.in_flight,
            source_limited: c.source > 0.0,
            remainder: false,
            node: 0,
        };
        let at = end + c.delay / 2.0;
        l.requests.push((at, sample));
        self.events.push(Reverse((micros(at), loader, l.requests.len() as u64 - 1)));
    }
}

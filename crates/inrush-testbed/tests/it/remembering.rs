//! Loads in the simulator that begin with what an earlier load learned, rightly and wrongly.

use std::sync::{Arc, Mutex};

use inrush_core::time::Time;
use inrush_core::tune::{Decision, Fixed, Learned, Plan, Recollection, RememberingTuner, Sample, Tuner, Unloaded};
use inrush_testbed::sim::{Scenario, Unwatched, run};

/// A tuner that the test asks after the run.
#[derive(Clone)]
struct Shared(Arc<Mutex<RememberingTuner>>);

impl Tuner for Shared {
    fn plan(&self) -> Plan {
        self.0.lock().unwrap().plan()
    }

    fn steady_plan(&self) -> Plan {
        self.0.lock().unwrap().steady_plan()
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        self.0.lock().unwrap().handle_sample(now, sample);
    }

    fn handle_break(&mut self, now: Time) {
        self.0.lock().unwrap().handle_break(now);
    }

    fn is_settled(&self) -> bool {
        self.0.lock().unwrap().is_settled()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.0.lock().unwrap().poll_decision()
    }

    fn why(&self) -> String {
        self.0.lock().unwrap().why()
    }
}

/// A cluster, its documents and the way to it.
#[derive(Clone, Copy)]
struct World {
    nodes: u32,
    threads: u32,
    delay_ms: f64,
    doc_bytes: u32,
}

impl World {
    fn scenario(self, seconds: f64) -> Scenario {
        let World { nodes, threads, delay_ms, doc_bytes } = self;
        let text = format!(
            "intent = 'A cluster, its documents and the way to it.'\n[cluster]\nnodes = {nodes}\nthreads = {threads}\n[documents]\nbytes = {doc_bytes}\n\
             [link]\nmbit = 10000\ndelay_ms = {delay_ms:.1}\n"
        );
        // A file may not be as short as this.
        Scenario { seconds, ..Scenario::parse("remembered", &text).unwrap() }
    }

    /// A load of this length: its documents, what it learned, and what became of its memory.
    fn load(self, seconds: f64, learned: Option<&Learned>) -> (u64, Option<Learned>, Option<Recollection>) {
        let scenario = self.scenario(seconds);
        let tuner = Shared(Arc::new(Mutex::new(RememberingTuner::new(scenario.bounds(), learned))));
        let record = run(&scenario, 1, vec![Box::new(tuner.clone())], &mut Unwatched);
        let tuner = tuner.0.lock().unwrap();
        (record.docs, tuner.learned(), tuner.recollection().cloned())
    }

    /// The documents of the best fixed plan.
    fn best(self, seconds: f64) -> u64 {
        let scenario = self.scenario(seconds);
        let memory = scenario.bounds().memory;
        let sizes = (0..=6).map(|doublings| (128 << 10) << doublings);
        let plans = sizes.flat_map(|batch_bytes| (0..=7).map(move |n| (batch_bytes, 1 << n)));
        let plans = plans.filter(|(batch_bytes, in_flight)| batch_bytes * u64::from(*in_flight) <= memory);
        let docs = plans.map(|(batch_bytes, in_flight)| {
            let plan = Plan { batch_bytes, batch_docs: u32::MAX, in_flight };
            run(&scenario, 1, vec![Box::new(Fixed(plan)) as Box<dyn Tuner>], &mut Unwatched).docs
        });
        docs.max().unwrap()
    }
}

const NEAR: World = World { nodes: 2, threads: 4, delay_ms: 1.0, doc_bytes: 1000 };

#[test]
fn the_second_load_of_ten_seconds_reaches_the_best_fixed_setting() {
    for (name, world) in [
        ("near", NEAR),
        ("small", World { nodes: 1, threads: 2, ..NEAR }),
        ("large", World { nodes: 6, threads: 8, ..NEAR }),
        ("far", World { delay_ms: 80.0, ..NEAR }),
    ] {
        let best = world.best(10.0) as f64;
        let (first, learned, _) = world.load(10.0, None);
        let (second, _, recollection) = world.load(10.0, learned.as_ref());
        println!("{name}: {:.3}, then {:.3}, {recollection:?}", first as f64 / best, second as f64 / best);
        assert_eq!(recollection, Some(Recollection::Held), "{name}");
        assert!(second as f64 >= 0.95 * best && second as f64 >= 0.97 * first as f64, "{name}: {second} of {best}");
    }
}

#[test]
fn a_wrong_memory_costs_five_per_cent_at_most() {
    let far = World { delay_ms: 10.0, ..NEAR };
    for (name, then, now) in [
        ("half the nodes", World { nodes: 4, ..NEAR }, NEAR),
        ("twice the nodes", NEAR, World { nodes: 4, ..NEAR }),
        ("ten times the delay", NEAR, far),
        ("a tenth of the delay", far, NEAR),
        ("far away", NEAR, World { delay_ms: 100.0, ..NEAR }),
        ("large documents", NEAR, World { doc_bytes: 20_000, ..NEAR }),
        ("small documents", World { doc_bytes: 20_000, ..NEAR }, NEAR),
    ] {
        let (_, learned, _) = then.load(60.0, None);
        let (without, ..) = now.load(30.0, None);
        let (with, _, recollection) = now.load(30.0, learned.as_ref());
        let ratio = with as f64 / without as f64;
        println!("{name}: {ratio:.3}, {recollection:?}");
        assert!(ratio >= 0.95, "{name}: {ratio:.3}, {recollection:?}");
    }
}

#[test]
fn a_plan_of_many_requests_on_a_small_node_is_noticed_in_a_short_load() {
    let unloaded = Unloaded { wall_seconds: 0.07, body_bytes: 262_144.0, fixed: 0.9 };
    let wrong = Learned {
        plan: Plan { batch_bytes: 256 << 10, batch_docs: u32::MAX, in_flight: 128 },
        bytes_per_second: 4e8,
        wall_seconds: 0.08,
        doc_bytes: 158.0,
        rejected: 0.0,
        unloaded: Some(unloaded),
        seconds: 60.0,
        body_bytes_max: None,
        format: None,
    };
    let node = World { nodes: 1, threads: 2, delay_ms: 0.2, doc_bytes: 158 };
    let (without, ..) = node.load(8.0, None);
    let (with, _, recollection) = node.load(8.0, Some(&wrong));
    println!("{:.3}, {recollection:?}", with as f64 / without as f64);
    assert!(matches!(recollection, Some(Recollection::Contradicted(_))), "{recollection:?}");
    assert!(with as f64 >= 0.95 * without as f64, "{with} of {without}");
}

//! Scenarios drawn at random. `scenarios/README.md` has the distributions.

use super::keys::{
    BoundsConfig, ClusterConfig, Costs, Documents, Faults, LinkConfig, LoaderConfig, Merges, Noise, Pauses, Rival,
    Step, Tenant, WarmUp,
};
use super::rng::Rng;
use super::scenario::Scenario;

/// What may go wrong in a drawn scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Pauses,
    Merges,
    Capacity,
    Delay,
    Bandwidth,
    Queue,
    NodesLeave,
    Chance,
    ColdJvm,
    Searches,
    Loaders,
    MemoryLimit,
}

const TROUBLES: [Trouble; 12] = [
    Trouble::Pauses,
    Trouble::Merges,
    Trouble::Capacity,
    Trouble::Delay,
    Trouble::Bandwidth,
    Trouble::Queue,
    Trouble::NodesLeave,
    Trouble::Chance,
    Trouble::ColdJvm,
    Trouble::Searches,
    Trouble::Loaders,
    Trouble::MemoryLimit,
];

/// The part of scenarios with no, one, two and three troubles.
const TROUBLES_AT_ONCE: [f64; 4] = [0.3, 0.35, 0.2, 0.15];

/// The scenario with this number among those of a seed.
pub fn random(seed: u64, number: usize) -> Scenario {
    let mut rng = Rng::new(seed, "scenario", number);
    let mut scenario = calm(&mut rng);
    scenario.name = format!("random-{seed}-{number}");
    let mut troubles = TROUBLES.to_vec();
    let mut chance = rng.unit();
    for part in TROUBLES_AT_ONCE {
        chance -= part;
        if chance < 0.0 {
            break;
        }
        let at = pick(&mut rng, troubles.len());
        add(&mut scenario, troubles.swap_remove(at), &mut rng);
    }
    if scenario.loaders.is_empty() {
        scenario.loaders.push(LoaderConfig::default());
    }
    scenario.steps.sort_by(|a, b| a.at_seconds.total_cmp(&b.at_seconds));
    scenario.intent =
        format!("Drawn at random as number {number} of seed {seed}: {}.", super::kinds(&scenario).join(", "));
    scenario
}

/// A cluster, a link and documents without trouble.
fn calm(rng: &mut Rng) -> Scenario {
    let nodes = log_between(rng, (1.0, 16.9)) as usize;
    let threads = log_between(rng, (2.0, 16.9)) as usize;
    let shards = ((nodes as f64 * log_between(rng, (0.5, 4.0))).round() as usize).max(1);
    let replicas = pick(rng, 3).min(nodes - 1);
    let unequal = rng.unit() < 0.15;
    let small_heap = rng.unit() < 0.1;
    let memory_mib = [16, 32, 128, 256].get(pick(rng, 12)).copied().unwrap_or(64);
    let tail = if rng.unit() < 0.5 { 0.0 } else { rng.between((0.5, 2.0)) };
    Scenario {
        name: String::new(),
        intent: String::new(),
        seconds: 60.0,
        client_cpus: 4,
        bounds: BoundsConfig { memory_mib, ..BoundsConfig::default() },
        cluster: ClusterConfig {
            nodes,
            threads,
            queue: log_between(rng, (60.0, 10_000.0)) as usize,
            shards: Some(shards),
            replicas,
            memory_mib: None,
            max_body_mib: 100.0,
            took_step_ms: [0.0, 1.0, 1.0, 200.0][pick(rng, 4)],
            heap_gib: small_heap.then(|| (threads as f64 * rng.between((0.25, 0.75))).max(0.5)),
            speeds: if unequal { vec![1.0, rng.between((0.4, 0.9))] } else { Vec::new() },
        },
        costs: Costs {
            request_us: log_between(rng, (80.0, 2_000.0)),
            part_us: log_between(rng, (80.0, 2_000.0)),
            doc_us: log_between(rng, (1.5, 120.0)),
            byte_ns: log_between(rng, (10.0, 150.0)),
            replica: rng.between((0.5, 1.0)),
            contention: rng.between((0.0, 0.4)),
            ..Costs::default()
        },
        noise: Noise { task: rng.between((0.1, 0.5)), drift: rng.between((0.0, 0.1)), ..Noise::default() },
        warm_up: None,
        merges: None,
        pauses: Vec::new(),
        faults: Faults::default(),
        tenants: Vec::new(),
        documents: Documents { bytes: log_between(rng, (120.0, 60_000.0)), sigma: tail, ..Documents::default() },
        link: LinkConfig {
            mbit: log_between(rng, (30.0, 10_000.0)),
            delay_ms: log_between(rng, (0.2, 180.0)),
            window_kib: None,
        },
        loaders: Vec::new(),
        steps: Vec::new(),
    }
}

fn add(scenario: &mut Scenario, trouble: Trouble, rng: &mut Rng) {
    let (nodes, threads) = (scenario.cluster.nodes, scenario.cluster.threads);
    match trouble {
        Trouble::Pauses => {
            let shortest = log_between(rng, (0.05, 1.0));
            let seconds = (shortest, shortest * rng.between((1.0, 3.0)));
            let every_seconds = seconds.1 * log_between(rng, (4.0, 20.0));
            scenario.pauses.push(Pauses { every_seconds, seconds, together: rng.unit() < 0.2 });
        }
        Trouble::Merges => {
            let merges = Merges {
                every_mib: log_between(rng, (50.0, 500.0)),
                seconds: log_between(rng, (0.5, 5.0)),
                threads: 1 + pick(rng, (threads / 2).max(1)),
            };
            scenario.merges = Some(merges);
        }
        Trouble::Capacity | Trouble::Delay | Trouble::Bandwidth | Trouble::Queue => add_step(scenario, trouble, rng),
        Trouble::NodesLeave if nodes > 1 => add_step(scenario, trouble, rng),
        Trouble::Chance | Trouble::NodesLeave => {
            let lost = if rng.unit() < 0.5 { rng.between((0.0, 0.01)) } else { 0.0 };
            let refused = if rng.unit() < 0.3 { rng.between((0.0, 0.01)) } else { 0.0 };
            scenario.faults = Faults { lost, refused, rejected: log_between(rng, (0.005, 0.06)) };
        }
        Trouble::ColdJvm => {
            let warm_up = WarmUp { factor: log_between(rng, (2.0, 6.0)), cpu_seconds: log_between(rng, (5.0, 60.0)) };
            scenario.warm_up = Some(warm_up);
        }
        Trouble::Searches => add_searches(scenario, rng),
        Trouble::Loaders => {
            let loaders = 2 + pick(rng, 3);
            let rival = (rng.unit() < 0.3).then(|| [Rival::Esbulk, Rival::Gradient2, Rival::Vector][pick(rng, 3)]);
            for number in 0..loaders {
                let start_seconds = if number == 0 { 0.0 } else { rng.between((0.0, 12.0)) };
                let rival = rival.filter(|_| number + 1 == loaders);
                scenario.loaders.push(LoaderConfig { start_seconds, rival, ..LoaderConfig::default() });
            }
        }
        Trouble::MemoryLimit => scenario.cluster.memory_mib = Some(log_between(rng, (16.0, 100.0))),
    }
}

/// A change of capacity, delay, bandwidth, queue or nodes.
fn add_step(scenario: &mut Scenario, trouble: Trouble, rng: &mut Rng) {
    let nodes = scenario.cluster.nodes;
    match trouble {
        Trouble::Capacity => {
            let some = (nodes > 1 && rng.unit() < 0.3).then(|| (0..nodes.div_ceil(2)).collect::<Vec<_>>());
            let capacity = log_between(rng, (0.3, 3.0));
            let step = |capacity| Step { capacity: Some(capacity), nodes: some.clone(), ..Step::default() };
            and_back(scenario, step(capacity), step(1.0), rng);
        }
        Trouble::Delay => {
            let step = |delay_ms| Step { delay_ms: Some(delay_ms), ..Step::default() };
            let (to, back) = (log_between(rng, (0.2, 180.0)), scenario.link.delay_ms);
            and_back(scenario, step(to), step(back), rng);
        }
        Trouble::Bandwidth => {
            let step = |mbit| Step { mbit: Some(mbit), ..Step::default() };
            let (to, back) = (log_between(rng, (30.0, 10_000.0)), scenario.link.mbit);
            and_back(scenario, step(to), step(back), rng);
        }
        Trouble::Queue => {
            let step = |queue| Step { queue: Some(queue), ..Step::default() };
            let (to, back) = (log_between(rng, (60.0, 1_000.0)) as usize, scenario.cluster.queue);
            and_back(scenario, step(to), step(back), rng);
        }
        _ => {
            let gone: Vec<usize> = (0..1 + pick(rng, (nodes / 3).max(1))).collect();
            let leave = Step { leave: gone.clone(), ..Step::default() };
            and_back(scenario, leave, Step { join: gone, ..Step::default() }, rng);
        }
    }
}

/// Searches that take a tenth to a half of the threads, all the time or from 20 to 40 s.
fn add_searches(scenario: &mut Scenario, rng: &mut Rng) {
    let task_ms = log_between(rng, (2.0, 50.0));
    let part = rng.between((0.1, 0.5));
    let (start_seconds, end_seconds) = if rng.unit() < 0.5 { (0.0, None) } else { (20.0, Some(40.0)) };
    for at_seconds in [start_seconds].into_iter().chain(end_seconds).filter(|&at| at > 0.0) {
        scenario.steps.push(Step { at_seconds, ..Step::default() });
    }
    scenario.tenants.push(Tenant {
        start_seconds,
        end_seconds,
        tasks_per_second: part * scenario.cluster.threads as f64 * 1000.0 / task_ms,
        task_ms,
        burst: 1 + pick(rng, 10),
        rejected_most: 0.05,
    });
}

/// A change between 15 and 35 s, and in half of the cases back after 10 to 20 s.
fn and_back(scenario: &mut Scenario, there: Step, back: Step, rng: &mut Rng) {
    let at_seconds = rng.between((15.0, 35.0));
    scenario.steps.push(Step { at_seconds, ..there });
    let after = rng.between((10.0, 20.0));
    if rng.unit() < 0.5 {
        scenario.steps.push(Step { at_seconds: at_seconds + after, ..back });
    }
}

/// A number from 0 to below `below`.
fn pick(rng: &mut Rng, below: usize) -> usize {
    (rng.unit() * below as f64) as usize
}

/// A number from a range, with equal chances for equal factors.
fn log_between(rng: &mut Rng, (least, most): (f64, f64)) -> f64 {
    rng.between((least.ln(), most.ln())).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_that_is_drawn_is_valid_and_has_a_file() {
        for number in 0..300 {
            let drawn = random(7, number);
            let text = drawn.to_toml().unwrap();
            let read = Scenario::parse(&drawn.name, &text).unwrap_or_else(|error| panic!("{text}\n{error:#}"));
            assert_eq!(format!("{read:?}"), format!("{drawn:?}"));
        }
    }

    #[test]
    fn a_number_is_always_the_same_scenario_and_every_trouble_comes() {
        let drawn: Vec<Scenario> = (0..300).map(|number| random(1, number)).collect();
        assert_eq!(format!("{:?}", drawn[5]), format!("{:?}", random(1, 5)));
        assert_ne!(format!("{:?}", drawn[5]), format!("{:?}", random(2, 5)));
        for kind in super::super::ALL_KINDS {
            assert!(drawn.iter().any(|scenario| super::super::kinds(scenario).contains(&kind)), "{kind}");
        }
    }
}

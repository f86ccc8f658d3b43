mod model;

use super::*;
use model::{Cluster, Model};

const MIB: u64 = 1 << 20;

fn bounds() -> Bounds {
    Bounds { batch_bytes: (64 << 10, 64 * MIB), batch_docs: u32::MAX, in_flight: (1, 128), memory: 64 * MIB }
}

fn auto() -> Box<dyn Tuner> {
    Box::new(Auto::new(AutoConfig { bounds: bounds(), gentle: None }))
}

/// Mebibytes a second of the best cell of a grid, run for itself.
fn best_fixed(cluster: &Cluster) -> (f64, Plan) {
    let mut best = (0.0, Plan { batch_bytes: 0, batch_docs: u32::MAX, in_flight: 0 });
    for b in 0..=8 {
        for n in [1, 2, 4, 8, 16, 32, 64, 128] {
            let plan = Plan { batch_bytes: (256 << 10) << b, batch_docs: u32::MAX, in_flight: n };
            if plan.batch_bytes * u64::from(n) > 64 * MIB {
                continue;
            }
            let rate = Model::new(cluster.clone(), vec![Box::new(Fixed(plan))]).run_until(60.0)[0];
            if rate > best.0 * 1.005 {
                best = (rate, plan);
            }
        }
    }
    best
}

fn show(name: &str, m: &mut Model) {
    let l = &mut m.loaders[0];
    if std::env::var("V").is_ok_and(|v| name == v) {
        while let Some(d) = l.tuner.poll_decision() {
            println!(
                "  {:7.3} {:3} x {:6} -> {:3} x {:6} {}",
                d.at.since_start().as_secs_f64(),
                d.from.in_flight,
                d.from.batch_bytes >> 10,
                d.to.in_flight,
                d.to.batch_bytes >> 10,
                d.why
            );
        }
    }
}

#[test]
fn play() {
    let cases = [
        ("small", Cluster::default()),
        ("two threads", Cluster { threads: 2, ..Cluster::default() }),
        ("wan", Cluster { delay: 0.2, ..Cluster::default() }),
        ("wan wide", Cluster { delay: 0.2, threads: 32, ..Cluster::default() }),
        ("many threads", Cluster { threads: 64, ..Cluster::default() }),
        ("dear requests", Cluster { per_request: 0.05, ..Cluster::default() }),
        ("slow link", Cluster { bandwidth: 1.2, ..Cluster::default() }),
        ("slow wan", Cluster { bandwidth: 12.0, delay: 0.1, ..Cluster::default() }),
        ("short queue", Cluster { queue: 12, ..Cluster::default() }),
        ("stalls", Cluster { stall: Some((30.0, 20.0, 3.0)), ..Cluster::default() }),
        ("noise", Cluster { noise: 0.8, ..Cluster::default() }),
        ("body", Cluster { body_limit: 3 * MIB / 4, ..Cluster::default() }),
    ];
    for (name, cluster) in cases {
        let (best, plan) = best_fixed(&cluster);
        let mut m = Model::new(cluster, vec![auto()]);
        let first = m.run_until(10.0)[0];
        let rest = m.run_until(60.0)[0];
        let l = &m.loaders[0];
        println!(
            "{name:14} best {best:7.1} {:3} x {:6} KiB | start {:.2} whole {:.2} steady {:.3} rejected {:.4} | {}",
            plan.in_flight,
            plan.batch_bytes >> 10,
            first / best,
            (first + 5.0 * rest) / 6.0 / best,
            rest / best,
            l.rejected as f64 / l.docs as f64,
            l.tuner.why()
        );
        show(name, &mut m);
    }
    for loaders in [2, 4] {
        for (name, cluster) in
            [("small", Cluster::default()), ("wan", Cluster { delay: 0.1, threads: 16, ..Cluster::default() })]
        {
            let one = Model::new(cluster.clone(), vec![auto()]).run_until(60.0)[0];
            let mut m = Model::new(cluster, (0..loaders).map(|_| auto()).collect());
            m.run_until(10.0);
            let r = m.run_until(60.0);
            let sum: f64 = r.iter().sum();
            let jain = sum * sum / (r.len() as f64 * r.iter().map(|x| x * x).sum::<f64>());
            println!("{loaders} loaders on {name}: total {:.2} jain {jain:.3} {r:.1?}", sum / one);
            for l in &m.loaders {
                println!("    {}", l.tuner.why());
            }
            show(&format!("{loaders} {name}"), &mut m);
        }
    }
    let steps: [(&str, fn(&mut Cluster)); 5] = [
        ("threads halved", |c| c.threads = 2),
        ("threads doubled", |c| c.threads = 8),
        ("twice as slow", |c| c.per_mib = 0.2),
        ("twice as fast", |c| c.per_mib = 0.05),
        ("+100 ms", |c| c.delay += 0.1),
    ];
    for (name, step) in steps {
        let mut cluster = Cluster::default();
        let mut m = Model::new(cluster.clone(), vec![auto()]);
        m.run_until(30.0);
        step(&mut cluster);
        step(&mut m.cluster);
        let (best, _) = best_fixed(&cluster);
        let got: Vec<f64> = (1..30).map(|s| m.run_until(30.0 + f64::from(s))[0] / best).collect();
        println!("{name}: {got:.2?} {}", m.loaders[0].tuner.why());
        show(name, &mut m);
    }
}

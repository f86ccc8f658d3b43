//! Prints the decisions of each loader of a scenario: `plans FILE [CONTROLLER [SEED]]`.
#![allow(clippy::print_stdout)]

use std::path::Path;

use anyhow::Context;
use inrush_core::Time;
use inrush_core::tune::{Decision, Sample};
use inrush_testbed::sim::{Scenario, Watcher, controller, run};

struct Printer;

impl Watcher for Printer {
    fn sample(&mut self, _: usize, _: Time, _: &Sample) {}

    fn decision(&mut self, loader: usize, d: &Decision) {
        let kib = |bytes: u64| bytes >> 10;
        println!(
            "{loader} {:7.3} {:3} x {:6} KiB -> {:3} x {:6} KiB  {}",
            d.at.since_start().as_secs_f64(),
            d.from.in_flight,
            kib(d.from.batch_bytes),
            d.to.in_flight,
            kib(d.to.batch_bytes),
            d.why
        );
    }
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let file = args.get(1).context("the first argument is a scenario file")?;
    let scenario = Scenario::read(Path::new(file))?;
    let name = args.get(2).map_or("auto", String::as_str);
    let seed = args.get(3).map_or(Ok(1), |seed| seed.parse())?;
    let tuners = scenario.loaders.iter().map(|_| controller(name, &scenario)).collect::<anyhow::Result<_>>()?;
    let record = run(&scenario, seed, tuners, &mut Printer);
    for (plan, why) in &record.plans {
        println!("{} x {} KiB: {why}", plan.in_flight, plan.batch_bytes >> 10);
    }
    for from in 0..scenario.seconds as u32 {
        let from = f64::from(from);
        let rates =
            (0..scenario.loaders.len()).map(|l| format!("{:7.1}", record.loader_throughput(l, from, from + 1.0) / 1e6));
        println!("{from:3} {}", rates.collect::<String>());
    }
    Ok(())
}

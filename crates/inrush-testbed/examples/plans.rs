//! Prints the decisions of the first loader of a scenario, or draws its plans over time:
//! `plans FILE [CONTROLLER [SEED [SVG]]]`.
#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use inrush_core::Time;
use inrush_core::tune::{Decision, Plan, Sample};
use inrush_testbed::sim::{Record, Scenario, Watcher, controllers, run};

struct Decisions(Vec<Decision>);

impl Watcher for Decisions {
    fn sample(&mut self, _: usize, _: Time, _: &Sample) {}

    fn decision(&mut self, loader: usize, decision: &Decision) {
        if loader == 0 {
            self.0.push(decision.clone());
        }
    }
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let file = args.get(1).context("the first argument is a scenario file")?;
    let scenario = Scenario::read(Path::new(file))?;
    let name = args.get(2).map_or("auto", String::as_str);
    let seed = args.get(3).map_or(Ok(1), |seed| seed.parse())?;
    let tuners = controllers(name, &scenario)?;
    let first = tuners[0].plan();
    let mut watcher = Decisions(Vec::new());
    let record = run(&scenario, seed, tuners, &mut watcher);
    if let Some(path) = args.get(4) {
        return Ok(std::fs::write(path, svg(&scenario, first, &watcher.0, &record))?);
    }
    for d in &watcher.0 {
        println!("{:7.3} s  {} -> {}  {}", seconds(d.at), words(&d.from), words(&d.to), d.why);
    }
    for (plan, why) in &record.plans {
        println!("{}: {why}", words(plan));
    }
    Ok(())
}

fn seconds(time: Time) -> f64 {
    time.since_start().as_secs_f64()
}

fn words(plan: &Plan) -> String {
    format!("{:3} x {:6} KiB", plan.in_flight, plan.batch_bytes >> 10)
}

const WIDTH: f64 = 900.0;
const PANEL: f64 = 120.0;

/// Three panels over one time axis: throughput, requests in flight, batch size.
fn svg(scenario: &Scenario, first: Plan, decisions: &[Decision], record: &Record) -> String {
    let mut out = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' font-family='sans-serif' font-size='12'>\n\
         <rect width='100%' height='100%' fill='white'/>\n<text x='520' y='18' font-weight='bold'>{}</text>\n",
        WIDTH + 80.0,
        3.0 * (PANEL + 30.0) + 50.0,
        scenario.name
    );
    let bins = (scenario.seconds * 2.0) as u32;
    let rate = |bin: u32| record.loader_throughput(0, f64::from(bin) / 2.0, f64::from(bin + 1) / 2.0) / 1e6;
    let throughput: Vec<(f64, f64)> = (0..bins).map(|bin| (f64::from(bin) / 2.0, rate(bin))).collect();
    let plans: Vec<(f64, Plan)> =
        std::iter::once((0.0, first)).chain(decisions.iter().map(|d| (seconds(d.at), d.to))).collect();
    let in_flight = plans.iter().map(|&(at, plan)| (at, f64::from(plan.in_flight))).collect::<Vec<_>>();
    let mib = plans.iter().map(|&(at, plan)| (at, plan.batch_bytes as f64 / f64::from(1 << 20))).collect::<Vec<_>>();
    for (panel, (label, points)) in
        [("MB a second", throughput), ("requests in flight", in_flight), ("batch, MiB", mib)].iter().enumerate()
    {
        let top = 30.0 + panel as f64 * (PANEL + 30.0);
        let most = points.iter().map(|p| p.1).fold(0.0, f64::max).max(1e-9);
        let x = |at: f64| 60.0 + at / scenario.seconds * WIDTH;
        let y = |value: f64| top + PANEL * (1.0 - value / most);
        let mut path = String::new();
        let mut last = None;
        for &(at, value) in points {
            // Writing to a string cannot fail.
            let _ = match last {
                None => write!(path, "M{:.1} {:.1}", x(at), y(value)),
                Some(_) => write!(path, "H{:.1}V{:.1}", x(at), y(value)),
            };
            last = Some(value);
        }
        let _ = write!(
            out,
            "<text x='60' y='{:.0}'>{label}, up to {most:.1}</text>\n\
             <path d='M60 {:.1}H{:.1}' stroke='#999'/>\n<path d='{path}H{:.1}' fill='none' stroke='#06c' stroke-width='1.2'/>\n",
            top - 4.0,
            top + PANEL,
            60.0 + WIDTH,
            60.0 + WIDTH
        );
    }
    let foot = 30.0 + 3.0 * (PANEL + 30.0);
    for tick in (0..=scenario.seconds as u32).step_by(10) {
        let x = 60.0 + f64::from(tick) / scenario.seconds * WIDTH;
        let _ = writeln!(out, "<text x='{x:.0}' y='{foot:.0}' text-anchor='middle'>{tick} s</text>");
    }
    out + "</svg>\n"
}

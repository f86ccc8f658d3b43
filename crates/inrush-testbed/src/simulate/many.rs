//! Many scenarios at once, each on one thread: those that are drawn at random, or a directory.

use std::path::Path;

use anyhow::Context;
use inrush_testbed::sim::{Judgement, Reference, Scenario, Yardstick, controller, parallel};

use super::kept::Kept;
use super::{SimulateArgs, by_kind, line, one, print};

/// Scenarios that are run before their figures are kept and printed.
const CHUNK: usize = 16;
/// Scenarios that `--worst` writes.
const WORST: usize = 10;

/// Runs scenarios with all seeds, and prints a line for each run and tables by kind.
pub(super) fn simulate(
    args: &SimulateArgs,
    scenarios: &[Scenario],
    controllers: &[String],
    jobs: usize,
    kept: &mut Kept,
) -> anyhow::Result<Vec<Judgement>> {
    // Unknown names are refused before anything runs.
    for (name, scenario) in controllers.iter().zip(scenarios.iter().cycle()) {
        controller(name, scenario)?;
    }
    let mut all = Vec::new();
    for chunk in scenarios.chunks(CHUNK) {
        let seeds = args.seed..args.seed + args.seeds;
        let done = parallel::map_with(jobs, chunk, |scenario| -> anyhow::Result<_> {
            let references = references(scenario, seeds.clone(), kept);
            let runs = seeds
                .clone()
                .zip(&references)
                .flat_map(|(seed, reference)| controllers.iter().map(move |name| one(scenario, name, seed, reference)));
            Ok((runs.collect::<anyhow::Result<Vec<_>>>()?, references))
        });
        for (scenario, done) in chunk.iter().zip(done) {
            let (judgements, references) = done?;
            for (seed, reference) in seeds.clone().zip(&references) {
                kept.put(scenario, seed, reference);
            }
            let lines = match args.json {
                true => judgements.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?,
                false => judgements.iter().map(line).collect(),
            };
            print(&lines)?;
            all.extend(judgements);
        }
        kept.save()?;
    }
    if !args.json {
        print(&by_kind::tables(controllers, scenarios, &all))?;
    }
    if let Some(directory) = &args.worst {
        write_worst(directory, &controllers[0], scenarios, &all)?;
    }
    Ok(all)
}

/// The yardsticks of a scenario for all seeds: a climb with the first, and with the others the
/// cells that were near the summit.
fn references(scenario: &Scenario, seeds: std::ops::Range<u64>, kept: &Kept) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    for seed in seeds {
        let reference = match (kept.get(scenario, seed), references.first()) {
            (Some(reference), _) => reference.clone(),
            (None, None) => Yardstick::search(scenario, seed).reference(scenario),
            (None, Some(first)) => Yardstick::of_cells(scenario, seed, &first.promising()).reference(scenario),
        };
        references.push(reference);
    }
    references
}

fn write_worst(
    directory: &Path,
    controller: &str,
    scenarios: &[Scenario],
    judgements: &[Judgement],
) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let mean = |scenario: &Scenario| {
        let of = |j: &&Judgement| j.controller == controller && j.scenario == scenario.name;
        let ratios: Vec<f64> = judgements.iter().filter(of).map(|j| j.ratio).collect();
        ratios.iter().sum::<f64>() / ratios.len().max(1) as f64
    };
    let mut ranked: Vec<&Scenario> = scenarios.iter().collect();
    ranked.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    for scenario in ranked.into_iter().take(WORST) {
        let path = directory.join(&scenario.name).with_extension("toml");
        std::fs::write(&path, scenario.to_toml()?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

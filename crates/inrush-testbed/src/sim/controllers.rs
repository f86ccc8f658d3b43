//! Controllers by name.

use anyhow::{Context, bail};
use inrush_core::tune::{AutoTuner, Bounds, Fixed, Gentle, GentleTuner, Plan, Tuner};

use super::baselines;
use super::keys::Rival;
use super::scenario::Scenario;

/// The names for [`controller`], beside `fixed:BYTES:N`: `auto` is the tuner, `gentle` the tuner of
/// a gentle load, the others are baselines.
pub fn controller_names() -> Vec<&'static str> {
    ["auto", "gentle"].into_iter().chain(baselines::names()).collect()
}

/// A controller for each loader of a scenario: `judged` makes one, rivals bring their own.
///
/// # Errors
///
/// Those of `judged`.
pub fn controllers_with(
    scenario: &Scenario,
    judged: impl Fn() -> anyhow::Result<Box<dyn Tuner>>,
) -> anyhow::Result<Vec<Box<dyn Tuner>>> {
    let one = |rival: Option<Rival>| match rival {
        None => judged(),
        Some(Rival::Esbulk) => {
            let bounds = scenario.bounds();
            let plan = Plan { batch_bytes: bounds.batch_bytes.1, batch_docs: 1000, in_flight: 8 };
            Ok(Box::new(Fixed(plan)) as Box<dyn Tuner>)
        }
        Some(Rival::Gradient2) => controller("gradient2", scenario),
        Some(Rival::Vector) => controller("vector", scenario),
    };
    scenario.loaders.iter().map(|loader| one(loader.rival)).collect()
}

/// A controller of this name for each loader of a scenario that is no rival.
///
/// # Errors
///
/// As [`controller`].
pub fn controllers(name: &str, scenario: &Scenario) -> anyhow::Result<Vec<Box<dyn Tuner>>> {
    controllers_with(scenario, || controller(name, scenario))
}

/// The controller of this name for a scenario.
///
/// # Errors
///
/// An unknown name; the message lists all names.
pub fn controller(name: &str, scenario: &Scenario) -> anyhow::Result<Box<dyn Tuner>> {
    controller_within(name, scenario.bounds(), scenario.client_cpus)
}

/// The controller of this name within bounds, on a machine with `client_cpus` processors.
///
/// # Errors
///
/// As [`controller`].
pub fn controller_within(name: &str, bounds: Bounds, client_cpus: u32) -> anyhow::Result<Box<dyn Tuner>> {
    match name {
        "auto" => return Ok(Box::new(AutoTuner::new(bounds))),
        "gentle" => return Ok(Box::new(GentleTuner::new(bounds, Gentle::default()))),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("fixed:") {
        return fixed(rest, &bounds).with_context(|| format!("{name} is not fixed:BYTES:N, such as fixed:1048576:8"));
    }
    match baselines::baseline(name, &bounds, client_cpus) {
        Some(tuner) => Ok(tuner),
        None => bail!("no controller {name}; there are fixed:BYTES:N, {}", controller_names().join(", ")),
    }
}

fn fixed(rest: &str, bounds: &Bounds) -> anyhow::Result<Box<dyn Tuner>> {
    let (bytes, in_flight) = rest.split_once(':').context("a colon is missing")?;
    let in_flight = in_flight.parse::<u32>()?.max(1);
    Ok(Box::new(Fixed(Plan { batch_bytes: bytes.parse()?, batch_docs: bounds.batch_docs, in_flight })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_controller() {
        let scenario = Scenario::parse("x", "intent = 'as little as can be said'\n[cluster]\nnodes = 1\nthreads = 2\n");
        let scenario = scenario.unwrap();
        for name in controller_names().into_iter().chain(["fixed:65536:3"]) {
            assert!(controller(name, &scenario).unwrap().plan().in_flight > 0, "{name}");
        }
        let error = controller("nobody", &scenario).err().unwrap().to_string();
        assert!(error.contains("auto") && error.contains("vector"), "{error}");
    }
}

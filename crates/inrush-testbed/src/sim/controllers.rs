//! Controllers by name.

use anyhow::{Context, bail};
use inrush_core::tune::{Auto, AutoConfig, Bounds, Fixed, Plan, Tuner};

use super::scenario::Scenario;

/// Names that [`controller`] knows, beside `fixed:BYTES:N`.
pub fn controller_names() -> Vec<&'static str> {
    vec!["auto", "fixed:BYTES:N"]
}

/// The controller of that name for a scenario.
///
/// # Errors
/// There is none; the message says which there are.
pub fn controller(name: &str, scenario: &Scenario) -> anyhow::Result<Box<dyn Tuner>> {
    let bounds = scenario.bounds();
    if let Some(rest) = name.strip_prefix("fixed:") {
        return fixed(rest, &bounds).with_context(|| format!("{name} is not fixed:BYTES:N, such as fixed:1048576:8"));
    }
    if name == "auto" {
        return Ok(Box::new(Auto::new(AutoConfig { bounds, gentle: None })));
    }
    bail!("no controller {name}; there are {}", controller_names().join(", "))
}

fn fixed(rest: &str, bounds: &Bounds) -> anyhow::Result<Box<dyn Tuner>> {
    let (bytes, in_flight) = rest.split_once(':').context("a colon is missing")?;
    let plan = Plan {
        batch_bytes: bytes.parse()?,
        batch_docs: bounds.batch_docs,
        in_flight: in_flight.parse::<u32>()?.max(1),
    };
    Ok(Box::new(Fixed(plan)))
}

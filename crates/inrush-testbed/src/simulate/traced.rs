//! The trace of a simulated run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use inrush_core::time::Time;
use inrush_core::trace::{Entry, Header};
use inrush_core::tune::{Decision, Sample};
use inrush_testbed::sim::{Scenario, Watcher, controller, controllers, run};

/// Runs the scenario once more and writes samples and decisions of the first loader's controller.
pub(crate) fn write(path: &Path, scenario: &Scenario, name: &str, seed: u64) -> anyhow::Result<()> {
    let tuners = controllers(name, scenario)?;
    let header = Header::new(name, scenario.bounds(), controller(name, scenario)?.plan());
    let cannot = || format!("cannot write {}", path.display());
    let file = File::create(path).with_context(cannot)?;
    let mut trace = Trace { out: BufWriter::new(file), failed: None };
    trace.line(&header.to_line());
    run(scenario, seed, tuners, &mut trace);
    match trace.failed {
        Some(error) => Err(error).with_context(cannot),
        None => trace.out.flush().with_context(cannot),
    }
}

struct Trace {
    out: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl Trace {
    fn line(&mut self, line: &str) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(line.as_bytes()).err();
        }
    }
}

impl Watcher for Trace {
    fn sample(&mut self, loader: usize, now: Time, sample: &Sample) {
        if loader == 0 {
            self.line(&Entry::Sample { now, sample: *sample, heard: true }.to_line());
        }
    }

    fn decision(&mut self, loader: usize, decision: &Decision) {
        if loader == 0 {
            self.line(&Entry::Decision(decision.clone()).to_line());
        }
    }
}

//! The subcommand `replay`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use anyhow::Context;
use inrush_core::time::Time;
use inrush_core::trace::{Entry, Header};
use inrush_core::tune::{Decision, Plan, RememberingTuner, Tuner};
use inrush_testbed::sim::controller_within;

/// Processors of the machine, which a trace does not tell.
const CLIENT_CPUS: u32 = 4;

/// Feed the samples of a recorded run to a controller, and print its different decisions. The
/// samples remain those of the recorded plans, so decisions after the first difference mean less
/// and less
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// Trace of `inrush load --trace` or `inrush-testbed simulate --trace`
    file: PathBuf,
    /// Controller; `gentle` has its default bound [default: the recorded controller]
    #[arg(long)]
    controller: Option<String>,
    /// Print equal decisions, too
    #[arg(long)]
    all: bool,
}

/// A change of the plan.
struct Change {
    sample: usize,
    at: Time,
    to: Plan,
    why: String,
}

/// Replays a trace and prints the differences.
pub(crate) fn replay(args: &ReplayArgs) -> anyhow::Result<()> {
    let name = args.file.display();
    let file = File::open(&args.file).with_context(|| format!("cannot read {name}"))?;
    let mut lines = BufReader::new(file).lines().enumerate();
    let (_, first) = lines.next().with_context(|| format!("{name} is empty"))?;
    let header = Header::parse(&first?).with_context(|| format!("{name} is no trace"))?;
    let fixed = format!("fixed:{}:{}", header.plan.batch_bytes, header.plan.in_flight);
    let recorded_by = if header.controller == "fixed" { &fixed } else { &header.controller };
    let controller = args.controller.as_ref().unwrap_or(recorded_by);
    let mut tuner: Box<dyn Tuner> = match (controller.as_str(), &header.learned) {
        ("auto", Some(learned)) => Box::new(RememberingTuner::new(header.bounds, Some(learned))),
        _ => controller_within(controller, header.bounds, CLIENT_CPUS)?,
    };
    let start = tuner.plan();
    let (mut recorded, mut replayed) = (Vec::new(), Vec::new());
    let (mut samples, mut unheard) = (0, 0);
    for (number, text) in lines {
        match Entry::parse(&text?, number + 1).with_context(|| format!("{name} is broken"))? {
            Entry::Break { now } => tuner.handle_break(now),
            Entry::Sample { heard: false, .. } => unheard += 1,
            Entry::Sample { now, sample, heard: true } => {
                samples += 1;
                tuner.handle_sample(now, &sample);
                replayed.extend(std::iter::from_fn(|| tuner.poll_decision()).map(|decision| change(samples, decision)));
            }
            Entry::Decision(decision) => recorded.push(change(samples, decision)),
        }
    }
    let mut out = std::io::stdout().lock();
    if header.plan != start {
        writeln!(out, "    0.000 s  recorded  {}\n    0.000 s  replayed  {}", plan(&header.plan), plan(&start))?;
    }
    let different = print_differences(&mut out, args.all, &recorded, &replayed)?;
    writeln!(
        out,
        "{samples} samples, and {unheard} that no tuner was told of; {} decided {} times, {} decided {} times; {different} differences; it would end on {}",
        header.controller,
        recorded.len(),
        controller,
        replayed.len(),
        plan(&tuner.plan()),
    )?;
    Ok(())
}

fn change(sample: usize, decision: Decision) -> Change {
    Change { sample, at: decision.at, to: decision.to, why: decision.why }
}

/// Prints recorded and replayed changes in the order of their samples; returns the number of
/// differences.
fn print_differences(
    out: &mut impl Write,
    all: bool,
    recorded: &[Change],
    replayed: &[Change],
) -> anyhow::Result<usize> {
    let (mut a, mut b) = (recorded.iter().peekable(), replayed.iter().peekable());
    let mut different = 0;
    while a.peek().is_some() || b.peek().is_some() {
        let order = match (a.peek(), b.peek()) {
            (Some(a), Some(b)) => a.sample.cmp(&b.sample),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, _) => std::cmp::Ordering::Greater,
        };
        let ours = if order.is_ge() { b.next() } else { None };
        let theirs = if order.is_le() { a.next() } else { None };
        let same = ours.map(|change| change.to) == theirs.map(|change| change.to);
        different += usize::from(!same);
        if same && !all {
            continue;
        }
        for (who, change) in [("recorded", theirs), ("replayed", ours)] {
            if let Some(change) = change {
                let at = change.at.since_start().as_secs_f64();
                writeln!(out, "{at:9.3} s  {who}  {}: {}", plan(&change.to), change.why)?;
            }
        }
    }
    Ok(different)
}

fn plan(plan: &Plan) -> String {
    format!("{} bytes x {}", plan.batch_bytes, plan.in_flight)
}

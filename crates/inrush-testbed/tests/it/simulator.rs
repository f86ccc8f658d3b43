//! The promises of the simulator for every scenario.

use std::path::{Path, PathBuf};
use std::time::Duration;

use inrush_core::time::Time;
use inrush_core::tune::{Decision, Sample, SampleOutcome, Tuner};
use inrush_testbed::sim::{Judgement, Scenario, Unwatched, Watcher, Yardstick, controller, judge, run};

fn directory() -> PathBuf {
    PathBuf::from("scenarios")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

fn scenario(name: &str) -> Scenario {
    Scenario::read(&directory().join(name).with_extension("toml")).unwrap()
}

fn tuners(scenario: &Scenario, name: &str) -> Vec<Box<dyn Tuner>> {
    scenario.loaders.iter().map(|_| controller(name, scenario).unwrap()).collect()
}

#[test]
fn every_scenario_says_what_it_is_for() {
    let (own, held_out) = (files(&directory()), files(&directory().join("held-out")));
    assert!(own.len() >= 30 && held_out.len() >= 8, "{} and {}", own.len(), held_out.len());
    let mut intents = Vec::new();
    for file in own.iter().chain(&held_out) {
        let scenario = Scenario::read(file).unwrap();
        assert!(
            scenario.intent.ends_with('.') && scenario.intent.len() > 40,
            "{}: {}",
            file.display(),
            scenario.intent
        );
        intents.push(scenario.intent);
    }
    intents.sort();
    intents.dedup();
    assert_eq!(intents.len(), own.len() + held_out.len(), "two scenarios have the same intent");
}

#[test]
fn a_file_that_is_wrong_is_named_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("odd.toml");
    std::fs::write(&file, "intent = 'something with a key too many'\n[cluster]\nnodes = 1\nthreads = 1\ncores = 2\n")
        .unwrap();
    let error = format!("{:#}", Scenario::read(&file).unwrap_err());
    for word in ["odd.toml", "`cores`", "`threads`"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

fn judgement(scenario: &Scenario, seed: u64) -> Judgement {
    let yardstick = Yardstick::measure(scenario, seed).reference(scenario);
    let record = run(scenario, seed, tuners(scenario, "vector"), &mut Unwatched);
    let alone = run(&scenario.alone(), seed, tuners(&scenario.alone(), "vector"), &mut Unwatched);
    judge(scenario, "vector", seed, (&record, &[alone]), &yardstick)
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let scenario = Scenario { seconds: 15.0, ..scenario("two-loaders-short-queue") };
    let text = |seed| serde_json::to_string(&judgement(&scenario, seed)).unwrap();
    assert_eq!(text(5), text(5));
    assert_ne!(text(5), text(6));
}

/// An observer that keeps its own counts.
#[derive(Default)]
struct Count {
    accepted_bytes: u64,
    accepted: u64,
    outcomes: [u64; 4],
    last: Time,
}

impl Watcher for Count {
    fn sample(&mut self, _: usize, now: Time, sample: &Sample) {
        assert!(now >= self.last && sample.sent + sample.wall == now, "time goes forward");
        assert!(sample.accepted + sample.rejected <= sample.docs && sample.in_flight > 0);
        // The clocks of these servers advance in steps of a millisecond.
        assert!(sample.took.is_none_or(|took| took <= sample.wall + Duration::from_millis(1)));
        match sample.outcome {
            SampleOutcome::Answered => assert_eq!(sample.accepted + sample.rejected, sample.docs),
            SampleOutcome::Refused => assert_eq!(sample.rejected, sample.docs),
            SampleOutcome::TooLarge | SampleOutcome::Lost => assert_eq!((sample.accepted, sample.rejected), (0, 0)),
        }
        self.outcomes[sample.outcome as usize] += 1;
        self.last = now;
        if now.since_start().as_secs_f64() <= 60.0 {
            self.accepted += u64::from(sample.accepted);
            self.accepted_bytes += sample.accepted_bytes();
        }
    }

    fn decision(&mut self, _: usize, decision: &Decision) {
        assert_ne!(decision.from, decision.to);
    }
}

#[test]
fn what_goes_in_comes_out() {
    let mut seen = [0; 4];
    for name in ["node-back", "short-queue-ten-shards", "memory-limit", "body-limit-10mib", "flaky", "unequal-nodes"] {
        let scenario = scenario(name);
        let mut count = Count::default();
        // Larger than the body limit, and large enough for every kind of refusal.
        let record = run(&scenario, 3, tuners(&scenario, "fixed:16777216:4"), &mut count);
        assert_eq!(record.docs, count.accepted, "{name}");
        let acknowledged = record.whole_run() * scenario.seconds;
        let difference = (acknowledged - count.accepted_bytes as f64).abs();
        // Rounding loses a part of a byte in each request.
        assert!(difference <= record.requests() as f64, "{name}: {acknowledged} and {}", count.accepted_bytes);
        let spread = record.throughput(0.0, scenario.seconds) * scenario.seconds;
        assert!(
            spread >= acknowledged - 1.0 && spread < acknowledged * 1.2 + 1e6,
            "{name}: {spread} of {acknowledged}"
        );
        seen.iter_mut().zip(count.outcomes).for_each(|(sum, n)| *sum += n);
    }
    assert!(seen.iter().all(|&n| n > 0), "a kind of outcome never came: {seen:?}");
}

#[test]
fn a_body_that_no_node_takes_is_sent_in_halves() {
    let scenario = scenario("memory-limit");
    let run = |name: &str| run(&scenario, 1, tuners(&scenario, name), &mut Unwatched).throughput(10.0, 60.0);
    let (too_large, fits) = (run("fixed:33554432:1"), run("fixed:8388608:1"));
    assert!(too_large > 0.9 * fits && fits > 1e6, "{too_large} of {fits}");
}

#[test]
fn nothing_is_faster_than_its_bottleneck() {
    let limits = [
        ("slow-link", 10.0 * 125_000.0),
        ("slow-client", 40e6),
        ("slow-source", 5e6),
        ("hundred-mbit-100ms", 100.0 * 125_000.0),
        ("gigabit-50ms", 1000.0 * 125_000.0),
    ];
    for (name, limit) in limits {
        let scenario = Scenario { seconds: 20.0, ..scenario(name) };
        let best = Yardstick::measure(&scenario, 1).reference(&scenario).steady;
        // Replies are large: one may fall just inside or just outside of the measured time.
        assert!(best <= limit * 1.04, "{name}: {best} of {limit}");
        assert!(name == "hundred-mbit-100ms" || best >= limit * 0.95, "{name}: {best} of {limit}");
    }
}

#[test]
fn a_change_shows() {
    let phases = |name| Yardstick::measure(&scenario(name), 1).reference(&scenario(name)).phases;
    let halved = phases("halved");
    assert!((0.45..0.55).contains(&(halved[1].steady / halved[0].steady)), "{halved:?}");
    let slower = phases("link-slows");
    // Bodies that came before the change are indexed after it.
    assert!(slower[1].steady <= 100.0 * 125_000.0 * 1.05 && slower[0].steady > 5.0 * slower[1].steady, "{slower:?}");
    let gone = phases("node-gone");
    assert!((0.6..0.9).contains(&(gone[1].steady / gone[0].steady)), "{gone:?}");
}

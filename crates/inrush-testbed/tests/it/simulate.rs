//! The subcommands `simulate` and `replay`.

use std::path::Path;
use std::process::Command;

fn testbed(arguments: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_inrush-testbed")).args(arguments).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// A short scenario with few cells in its grid.
const SCENARIO: &str = r#"
intent = "A short run on a small node, to see what is printed."
seconds = 15
[cluster]
nodes = 1
threads = 2
[bounds]
batch_bytes = [262144, 1048576]
in_flight = [1, 8]
"#;

#[test]
fn a_run_is_one_line_and_its_trace_replays_to_the_same_decisions() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (scenario, trace) = (path("short.toml"), path("trace.ndjson"));
    std::fs::write(Path::new(&scenario), SCENARIO).unwrap();
    let line = testbed(&["simulate", &scenario, "--trace", &trace]);
    assert_eq!(line.lines().count(), 1, "{line}");
    for key in ["throughput", "best_fixed", "ratio", "rejected_ratio", "settle_seconds", "p99_latency_ms"] {
        assert!(line.contains(&format!(" {key}=")), "{key} is not in {line}");
    }
    let json: serde_json::Value = serde_json::from_str(&testbed(&["simulate", &scenario, "--json"])).unwrap();
    for key in ["throughput", "best_fixed", "ratio", "rejected_ratio", "settle_seconds", "p99_latency_ms"] {
        assert!(json[key].is_number(), "{key} is not in {json}");
    }
    let replayed = testbed(&["replay", &trace]);
    assert!(replayed.contains(" 0 differences"), "{replayed}");
    let other = testbed(&["replay", &trace, "--controller", "vector"]);
    assert!(!other.contains(" 0 differences"), "{other}");
}

#[test]
fn drawn_scenarios_have_tables_by_kind_and_the_same_figures_again() {
    let folder = tempfile::tempdir().unwrap();
    let worst = folder.path().join("worst");
    let draw = || {
        let worst = worst.to_str().unwrap();
        testbed(&["simulate", "--random", "2", "--seed", "3", "--controllers", "auto,gradient2", "--worst", worst])
    };
    let text = draw();
    for word in ["random-3-0 auto", "random-3-1 gradient2", "median", "gradient2 is ahead of auto"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    assert_eq!(text, draw());
    let kept = worst.join("random-3-1.toml");
    let line = testbed(&["simulate", kept.to_str().unwrap(), "--seed", "3", "--climb"]);
    let of = |line: &str| line.split(" ratio=").nth(1).unwrap()[..5].to_owned();
    assert_eq!(of(&line), of(text.lines().find(|line| line.starts_with("random-3-1 auto")).unwrap()));
}

#[test]
fn a_rival_has_a_share() {
    let line = testbed(&["simulate", "scenarios/fairness/two-node-esbulk.toml", "--climb"]);
    assert!(line.contains(" share=") && line.contains(" rival_share="), "{line}");
}

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

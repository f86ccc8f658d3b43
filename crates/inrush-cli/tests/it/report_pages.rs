//! docs/report.md and docs/dead-letters.md list the keys that real loads write, with their types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Output, Stdio};

use inrush_bake::BakeReport;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::process::Command;

const REPORT: &str = include_str!("../../../../docs/report.md");
const DEAD_LETTERS: &str = include_str!("../../../../docs/dead-letters.md");

/// One row of a table of keys.
#[derive(Debug)]
struct Row {
    types: String,
    always: bool,
}

/// The rows of all tables of keys on a page, by key.
fn rows(page: &str) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    let mut within = false;
    for line in page.lines() {
        if line.starts_with("| key | type | present |") {
            within = true;
        } else if !line.starts_with('|') {
            within = false;
        }
        if !within || !line.starts_with("| `") {
            continue;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let row = Row { types: cells[2].to_owned(), always: cells[3].is_empty() };
        assert!(rows.insert(cells[1].trim_matches('`').to_owned(), row).is_none(), "{line}");
    }
    rows
}

/// The fenced JSON of a page.
fn example(page: &str) -> &str {
    page.split("```json\n").nth(1).unwrap().split("```").next().unwrap()
}

/// Whether a value has one of the types that a row names.
fn fits(types: &str, value: &Value) -> bool {
    match value {
        Value::Null => types.ends_with("or null") || types == "any",
        _ if types == "any" => true,
        Value::Bool(_) => types == "boolean",
        Value::Number(number) => types.starts_with("number") || (types.starts_with("integer") && number.is_u64()),
        Value::String(text) => types.starts_with("string") || types.contains(&format!("`{text}`")),
        Value::Array(_) => types == "array",
        Value::Object(_) => types.starts_with("object"),
    }
}

/// The keys of a value as a page writes them, each with its values.
fn keys<'a>(prefix: &str, value: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(object) => {
            let named =
                ["indices", "sizes", "settings.changed", "verified.vectors", "indices.NAME.vectors"].contains(&prefix);
            for (name, value) in object {
                let name = if named { "NAME" } else { name };
                let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
                found.push((key.clone(), value));
                match key.as_str() {
                    // They are said to have keys that the page lists elsewhere, or any.
                    "this_run" | "action" | "document" => {}
                    "sizes.NAME.before" => keys("sizes.NAME.after", value, found),
                    _ => keys(&key, value, found),
                }
            }
        }
        Value::Array(entries) => {
            for entry in entries {
                keys(&format!("{prefix}[]"), entry, found);
            }
        }
        _ => {}
    }
}

/// Every key of the value is on the page with this type, and every key that is always present is
/// there.
fn check_keys(rows: &BTreeMap<String, Row>, value: &Value) -> BTreeSet<String> {
    let mut found = Vec::new();
    keys("", value, &mut found);
    for (key, value) in &found {
        if key.ends_with(".NAME") {
            continue;
        }
        let row = rows.get(key).unwrap_or_else(|| panic!("{key} is on no page"));
        assert!(fits(&row.types, value), "{key} is said to be {}, and is {value}", row.types);
    }
    let seen: BTreeSet<String> = found.into_iter().map(|(key, _)| key).collect();
    for (key, row) in rows {
        let parent = key.rsplit_once('.').map_or("", |(parent, _)| parent).trim_end_matches("[]");
        let there = match parent {
            "" => true,
            // Empty lists and objects have no entries, and a size that is null has no keys.
            _ => seen.iter().any(|other| other.starts_with(&format!("{}.", key.rsplit_once('.').unwrap().0))),
        };
        assert!(!row.always || !there || seen.contains(key), "{key} is said to be always present: {value}");
    }
    seen
}

async fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inrush"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    command.env("XDG_STATE_HOME", folder.join("state")).env("INRUSH_NODE_ROOT", folder.join("nodes"));
    command.output().await.unwrap()
}

/// The report of a load that ends with this status.
async fn report(folder: &Path, arguments: &[&str], code: i32) -> Value {
    let output = run(folder, &[arguments, &["--json"]].concat()).await;
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn fake(faults: impl IntoIterator<Item = Rule>) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().faults(Faults::new(faults))).await.unwrap()
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..10).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
    std::fs::write(folder.path().join("a.ndjson"), lines).unwrap();
    folder
}

#[tokio::test]
async fn the_report_has_the_keys_of_its_page() {
    let rows = rows(REPORT);
    let rows: BTreeMap<String, Row> =
        rows.into_iter().filter(|(key, _)| key != "exit_status" && !key.starts_with("outputs")).collect();
    let mut seen = BTreeSet::new();
    let cluster = fake([Rule::new(Fault::ItemBadRequest).ids(["i3", "i5"])]).await;
    let to = cluster.url();
    let dir = folder();
    let dir = dir.path();

    // Documents are missing, more than tolerated and then no more than that.
    let load = ["load", "a.ndjson", "--id", "id", "--to", &to, "--index", "docs"];
    let first = report(dir, &load, 3).await;
    seen.extend(check_keys(&rows, &first));
    seen.extend(check_keys(&rows, &first));
    let tolerant = [&load[..], &["--tolerate", "2", "--no-verify", "--batch-docs", "5"]].concat();
    seen.extend(check_keys(&rows, &report(dir, &tolerant, 0).await));

    // One that fails, and goes on.
    let strict = ["load", "a.ndjson", "--id", "id", "--to", &to, "--index", "strict"];
    seen.extend(check_keys(&rows, &report(dir, &[&strict[..], &["--strict"]].concat(), 1).await));
    cluster.set_faults(Faults::default());
    seen.extend(check_keys(&rows, &report(dir, &[&strict[..], &["--resume"]].concat(), 3).await));

    // An alias that is moved twice, with what follows the last document.
    for _ in 0..2 {
        let swap = ["load", "a.ndjson", "--id", "id", "--to", &to, "--alias", "live", "--force-merge", "1"];
        seen.extend(check_keys(&rows, &report(dir, &[&swap[..], &["--delete-old"]].concat(), 0).await));
    }

    // Vectors, which are counted.
    let lines: String = (0..40).map(|n| format!("{{\"id\":\"i{n}\",\"v\":[{n},1]}}\n")).collect();
    std::fs::write(dir.join("v.ndjson"), lines).unwrap();
    let mapping = json!({"properties": {"v": {"type": "dense_vector", "dims": 2}}});
    std::fs::write(dir.join("v.json"), mapping.to_string()).unwrap();
    let vectors = ["load", "v.ndjson", "--id", "id", "--to", &to, "--index", "vectors", "--mapping", "v.json"];
    seen.extend(check_keys(&rows, &report(dir, &vectors, 0).await));

    // A load that ended before.
    for _ in 0..2 {
        let once = ["load", "a.ndjson", "--id", "id", "--to", &to, "--index", "once", "--once"];
        seen.extend(check_keys(&rows, &report(dir, &once, 0).await));
    }

    let counted = ["verified.vectors.NAME.found", "indices.NAME.vectors.NAME.created_with"];
    for key in counted.into_iter().chain([
        "tolerance.holds",
        "failure",
        "checkpoint",
        "this_run",
        "swap.old_writes.policy",
        "ended_before",
    ]) {
        assert!(seen.contains(key), "no load had {key}: {seen:?}");
    }
    let example: Value = serde_json::from_str(example(REPORT)).unwrap();
    let of_example = check_keys(&rows, &example);
    let of_first = check_keys(&rows, &first);
    assert_eq!(of_example, of_first, "the example has the keys of the load that it shows");
}

/// A value of the type that a row names; of several words the one at this place.
fn value_of(types: &str, choice: usize) -> Value {
    let words: Vec<&str> = types.split('`').skip(1).step_by(2).collect();
    match types.split_whitespace().next().unwrap() {
        "string" => json!("text"),
        "string:" => json!("unreachable"),
        "integer" => json!(7),
        "number" => json!(1.5),
        "boolean" => json!(true),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!(words[choice % words.len()]),
    }
}

/// Puts a value where a key of the page says.
fn put(report: &mut Value, key: &str, value: Value) {
    let mut place = report;
    for part in key.split('.') {
        let (name, list) = part.strip_suffix("[]").map_or((part, false), |name| (name, true));
        place = place.as_object_mut().unwrap().entry(name).or_insert_with(|| json!({}));
        if list {
            if place.as_array().is_none_or(Vec::is_empty) {
                *place = json!([{}]);
            }
            place = &mut place[0];
        }
    }
    *place = value;
}

#[test]
fn every_key_of_the_page_is_one_of_the_report() {
    let rows = rows(REPORT);
    for choice in 0..11 {
        let mut report = Value::Object(Map::new());
        let (mut leaves, mut counts) = (BTreeSet::new(), Map::new());
        for (key, row) in &rows {
            if key == "exit_status" || key.starts_with("outputs") {
                continue;
            }
            let has_keys = rows
                .keys()
                .any(|other| other.starts_with(&format!("{key}.")) || other.starts_with(&format!("{key}[].")));
            let named =
                ["indices", "sizes", "settings.changed", "this_run", "sizes.NAME.before"].contains(&key.as_str());
            if has_keys || named {
                continue;
            }
            let value = value_of(&row.types, choice);
            if value == json!(7) && !key.contains('.') {
                counts.insert(key.clone(), value.clone());
            }
            leaves.insert(key.clone());
            put(&mut report, key, value);
        }
        counts.insert("seconds".to_owned(), json!(1.5));
        put(&mut report, "this_run", Value::Object(counts));
        put(&mut report, "sizes.NAME.before", Value::Null);
        let parsed: BakeReport = serde_json::from_value(report.clone()).unwrap_or_else(|e| panic!("{e}: {report}"));
        let written = serde_json::to_value(&parsed).unwrap();
        assert_eq!(written, report, "a report has every key of the page, and no other");
        has_types_in_python(&written);
        let mut found = Vec::new();
        keys("", &written, &mut found);
        assert!(leaves.iter().all(|leaf| found.iter().any(|(key, _)| key == leaf)));
    }
}

/// The Python package has a type for each name of a report.
fn has_types_in_python(report: &Value) {
    let fields = include_str!("../../../../python/inrush/_report_fields.py");
    let (_, fields) = fields.split_once("class ReportFields:").unwrap();
    for name in report.as_object().unwrap().keys().filter(|name| *name != "status") {
        assert!(fields.contains(&format!("\n    {name}: ")), "python/inrush/_report_fields.py lacks {name}");
    }
}

/// Dead letters in the order of their lines, without the words of their reasons.
fn sorted(text: &str) -> Vec<Value> {
    let mut letters: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    letters.sort_by_key(|letter| letter["position"]["line"].as_u64());
    for letter in &mut letters {
        letter["error"]["reason"] = json!("");
    }
    letters
}

#[tokio::test]
async fn dead_letters_have_the_keys_of_their_page_and_load_again() {
    let rows = rows(DEAD_LETTERS);
    let cluster = fake([Rule::new(Fault::ItemBadRequest).ids(["i1"])]).await;
    let to = cluster.url();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let text = "{\"id\":\"i0\",\"n\":0}\n{\"id\":\"i1\",\"n\":\"many\"}\n{\"id\":\"i2\",\"n\":\n";
    std::fs::write(dir.join("a.ndjson"), text).unwrap();
    let load = ["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to, "--dead-letters", "dead.ndjson"];
    let first = report(dir, &load, 3).await;
    assert_eq!(first["docs_dead_lettered"], 2, "{first}");
    let mut letters = std::fs::read_to_string(dir.join("dead.ndjson")).unwrap();
    for line in letters.lines() {
        check_keys(&rows, &serde_json::from_str(line).unwrap());
    }
    assert_eq!(sorted(example(DEAD_LETTERS)), sorted(&letters), "the example is the file of a load");

    // Other forms: an upsert, a delete, bytes that are no UTF-8.
    let other = fake([Rule::new(Fault::ItemBadRequest)]).await;
    std::fs::write(dir.join("b.csv"), b"id,name\n1,a\n2,\xFF\n").unwrap();
    for (number, action) in ["upsert", "delete"].into_iter().enumerate() {
        let file = format!("dead-{number}.ndjson");
        let load = ["load", "b.csv", "--index", "docs", "--id", "id", "--action", action, "--dead-letters", &file];
        report(dir, &[&load[..], &["--to", &other.url()]].concat(), 3).await;
        for line in std::fs::read_to_string(dir.join(&file)).unwrap().lines() {
            check_keys(&rows, &serde_json::from_str(line).unwrap());
        }
    }

    // Both documents are corrected, and get in under their ids.
    cluster.set_faults(Faults::default());
    letters = letters.replace(r#""document":{"id":"i1","n":"many"}"#, r#""document":{"id":"i1","n":1}"#);
    letters = letters.replace(r#""text":"{\"id\":\"i2\",\"n\":""#, r#""text":"{\"id\":\"i2\",\"n\":2}""#);
    std::fs::write(dir.join("dead.ndjson"), letters).unwrap();
    let again = ["load", "--from-dead-letters", "dead.ndjson", "--index", "docs", "--to", &to];
    assert_eq!(report(dir, &again, 0).await["docs_created"], 2);
    assert_eq!(cluster.document("docs", "i2").unwrap().json()["n"], 2);
}

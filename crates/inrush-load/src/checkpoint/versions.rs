//! Tests that read the state of the version before: `tests/state/VERSION` has files as that version
//! left them (docs/versions.md). A file that cannot be read any more is a new number of its format.

use std::path::PathBuf;

use inrush_core::remembered::Remembered;
use serde_json::{Value, json};

use super::record::{Content, Record};
use super::state::{self, Saved};
use crate::report::{Report, Status};

/// The files of a version that have this end.
fn left_by(version: &str, end: &str) -> Vec<(String, PathBuf)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/state").join(version);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let of_kind = entries.filter(|path| path.to_string_lossy().ends_with(end));
    let files: Vec<_> = of_kind.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path)).collect();
    assert!(!files.is_empty(), "no *{end} in {}", folder.display());
    files
}

const BEFORE: &str = "0.1.0";

#[test]
fn a_checkpoint_is_resumed() {
    let mut checkpoints = left_by(BEFORE, ".json");
    checkpoints.retain(|(name, _)| !name.starts_with("learned-"));
    for (name, path) in checkpoints {
        let saved: Saved = state::read(&path).unwrap().unwrap();
        // The same load has the same name, so that its next run finds the file.
        assert_eq!(saved.job.key(), name);
        assert_eq!(saved.job.differences(&saved.job), Vec::<String>::new());
        let counts = &saved.progress.counts;
        assert_eq!((counts.docs_read, counts.docs_indexed), (855, 855));
        // The options of reading in the form of this version: all are the defaults.
        let options = &serde_json::to_value(&saved.job).unwrap()["options"];
        assert_eq!((&options["how the sources are read"], options.as_object().unwrap().len()), (&"{}".into(), 5));
        // What this version writes has all that was there.
        let written = serde_json::to_value(&saved).unwrap();
        let old: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for (key, value) in
            old.as_object().unwrap().iter().filter(|(key, _)| !["format", "job"].contains(&key.as_str()))
        {
            assert_eq!(written.get(key), Some(value), "{key}");
        }
    }
}

fn known(json: &Value) -> Record {
    match Content::of(json).unwrap() {
        Content::Known(record) => *record,
        Content::Foreign(format) => panic!("format {format}"),
    }
}

#[test]
fn rows_of_a_database_are_resumed() {
    let (_, path) = left_by(BEFORE, ".ended").remove(0);
    let mut json: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let reading = |json: &Value| {
        let job = serde_json::to_value(&known(json).job).unwrap();
        job["options"]["how the sources are read"].as_str().map(str::to_owned)
    };
    // Both names that version 0.1.0 gave the option.
    for name in ["how the sources are read", "format and its options"] {
        json["job"]["options"] = json!({name: r#"Query("select 1") Some("id")"#});
        assert_eq!(reading(&json).as_deref(), Some(r#"{"query":"select 1","split_by":"id"}"#));
    }
}

#[test]
fn an_end_is_repeated() {
    for (name, path) in left_by(BEFORE, ".ended") {
        let json: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let record = known(&json);
        assert_eq!(record.job.key(), name);
        // What this version writes has the number of its format, and all that was there.
        let written = serde_json::to_value(&record).unwrap();
        assert_eq!(written["format"], 1);
        for (key, value) in json.as_object().unwrap().iter().filter(|(key, _)| *key != "job") {
            assert_eq!(written.get(key), Some(value), "{key}");
        }
        let report: Report = serde_json::from_value(record.report.unwrap()).unwrap();
        assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, 20_000));
    }
}

#[test]
fn what_a_load_learned_is_used() {
    let mut memories = left_by(BEFORE, ".json");
    memories.retain(|(name, _)| name.starts_with("learned-"));
    for (name, path) in memories {
        let remembered = Remembered::parse(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(remembered.target(), "page-flights");
        assert!(remembered.learned.seconds > 19.0, "{name}");
        assert_eq!(Remembered::parse(remembered.to_text().as_bytes()).unwrap(), remembered);
    }
}

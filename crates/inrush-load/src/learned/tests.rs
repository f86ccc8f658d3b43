//! The files of the state folder.

use inrush_core::Action;
use inrush_core::tune::Bounds;
use serde_json::json;

use super::*;

fn place(target: &str) -> Place {
    let bounds = Bounds { batch_bytes: (1 << 16, 1 << 26), batch_docs: u32::MAX, in_flight: (1, 256), memory: 1 << 26 };
    Place {
        cluster: "c".to_owned(),
        target: target.to_owned(),
        kind: LoadKind {
            action: Action::Index,
            with_ids: false,
            pipeline: None,
            changes_settings: false,
            one_of_several: false,
            bounds,
        },
        topology: Topology { version: "OpenSearch 3.6.0".to_owned(), ..Topology::default() },
    }
}

fn learned(in_flight: u32, seconds: f64) -> Learned {
    let plan = json!({"batch_bytes": 1 << 20, "batch_docs": u32::MAX, "in_flight": in_flight});
    serde_json::from_value(json!({
        "plan": plan, "bytes_per_second": 1e7, "wall_seconds": 0.1, "doc_bytes": 100.0, "rejected": 0.0,
        "unloaded": null, "seconds": seconds,
    }))
    .unwrap()
}

fn open(folder: &Path, target: &str) -> Memory {
    Memory::open(folder, place(target), &Learning::Kept)
}

/// Requests in flight that a load into this target begins with.
fn begins_with(folder: &Path, target: &str) -> Option<u32> {
    open(folder, target).learned().map(|learned| learned.plan.in_flight)
}

#[test]
fn a_load_begins_where_the_last_one_ended() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path(), "a");
    assert_eq!((first.learned(), first.from), (None, StartFrom::Defaults));
    first.keep(Some(learned(7, 9.0)), None);
    let second = open(folder.path(), "a");
    assert_eq!((second.learned().map(|l| l.plan.in_flight), second.from), (Some(7), StartFrom::EarlierLoad));
    let report = second.report(learned(7, 1.0).plan, Some(&Recollection::Held));
    assert_eq!((report.outcome, report.in_flight, report.learned_at.is_some()), (Some(StartOutcome::Held), 7, true));
    second.keep(Some(learned(9, 1.0)), Some(&Recollection::Unchecked));
    assert_eq!(begins_with(folder.path(), "a"), Some(7), "the second load was too short");
    second.keep(Some(learned(9, 4.0)), Some(&Recollection::Contradicted("it is slower".to_owned())));
    assert_eq!(begins_with(folder.path(), "a"), Some(9));
    second.keep(None, None);
    assert_eq!(begins_with(folder.path(), "a"), Some(9), "nothing was learned");
}

#[test]
fn another_index_of_the_cluster_helps_until_there_is_an_own_memory() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), "logs-1").keep(Some(learned(7, 9.0)), None);
    let next = open(folder.path(), "logs-2");
    assert_eq!(
        (next.learned().map(|l| l.plan.in_flight), next.detail.as_str()),
        (Some(7), "learned by a load into logs-1")
    );
    next.keep(Some(learned(8, 3.0)), Some(&Recollection::Held));
    assert_eq!((begins_with(folder.path(), "logs-1"), begins_with(folder.path(), "logs-2")), (Some(7), Some(8)));
}

#[test]
fn parts_of_a_job_have_a_memory_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let job = open(folder.path(), "a");
    assert_eq!(job.for_parts(), None);
    job.keep_of_parts(Some(learned(3, 9.0)));
    assert_eq!(job.for_parts().map(|learned| learned.plan.in_flight), Some(3));
    assert_eq!(begins_with(folder.path(), "a"), None, "a load that is alone begins otherwise");
}

#[test]
fn what_is_forgotten_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), "a").keep(Some(learned(7, 900.0)), None);
    open(folder.path(), "a").keep_of_parts(Some(learned(3, 900.0)));
    let anew = Memory::open(folder.path(), place("a"), &Learning::Anew);
    assert_eq!((anew.learned(), anew.for_parts(), begins_with(folder.path(), "a")), (None, None, None));
    anew.keep(Some(learned(5, 1.0)), None);
    assert_eq!(begins_with(folder.path(), "a"), Some(5), "although it was measured for a shorter time");
}

#[test]
fn a_damaged_or_newer_file_is_ignored_with_a_warning_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), "a").keep(Some(learned(7, 9.0)), None);
    let path = folder.path().join(FOLDER).join(place("a").file_name());
    let text = std::fs::read_to_string(&path).unwrap();
    for (damaged, why) in [
        (text[..text.len() / 2].to_owned(), "it is damaged"),
        (String::new(), "it is damaged"),
        (text.replace("\"format\": 1", "\"format\": 99"), "it has format 99"),
        ("x".repeat(100_000), "it has 100000 bytes"),
    ] {
        std::fs::write(&path, damaged).unwrap();
        let memory = open(folder.path(), "a");
        assert_eq!(memory.learned(), None);
        assert!(memory.warnings.len() == 1 && memory.warnings[0].contains(why), "{:?}", memory.warnings);
        memory.keep(Some(learned(6, 1.0)), None);
        assert_eq!(begins_with(folder.path(), "a"), Some(6));
    }
}

#[test]
fn files_are_private_few_and_written_as_a_whole() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
    symlink(&victim, folder.path().join(FOLDER).join(place("0").file_name())).unwrap();
    // All but the first ones begin with what a load into another index learned.
    let held = Some(&Recollection::Held);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                for n in 0..75 {
                    open(folder, &(4 * n + thread).to_string()).keep(Some(learned(7, 9.0)), held);
                    if n % 10 == 0 {
                        // All of them write this one.
                        open(folder, "shared").keep(Some(learned(n + 1, 9.0)), held);
                    }
                }
            });
        }
    });
    let files = files(&folder.path().join(FOLDER));
    assert!((FILES_MAX - 4..=FILES_MAX).contains(&files.len()), "{}", files.len());
    for file in &files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        read(file).unwrap();
    }
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
}

#[test]
fn a_folder_that_cannot_be_written_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FOLDER), "a file").unwrap();
    let memory = open(folder.path(), "a");
    memory.keep(Some(learned(7, 9.0)), None);
    assert_eq!(begins_with(folder.path(), "a"), None);
}

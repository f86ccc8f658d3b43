//! Which memory a load begins with, and which one it leaves.

use super::*;
use crate::body_format::BodyFormat;
use crate::tune::{Plan, Recollection, Unloaded};

const NOW: u64 = 1_800_000_000;
const DAY: u64 = DAY_SECONDS;

fn place(target: &str) -> Place {
    Place {
        cluster: "c".to_owned(),
        target: target.to_owned(),
        kind: LoadKind {
            action: Action::Index,
            with_ids: true,
            pipeline: None,
            changes_settings: false,
            one_of_several: false,
            bounds: Bounds {
                batch_bytes: (1 << 16, 1 << 26),
                batch_docs: u32::MAX,
                in_flight: (1, 256),
                memory: 1 << 26,
            },
        },
        topology: Topology {
            version: "OpenSearch 3.6.0".to_owned(),
            data_nodes: Some(2),
            write_threads: Some(8),
            shards: Some(3),
            replicas: Some(1),
            distance_seconds: Some(0.002),
        },
    }
}

fn learned(seconds: f64) -> Learned {
    Learned {
        plan: Plan { batch_bytes: 1 << 21, batch_docs: u32::MAX, in_flight: 8 },
        bytes_per_second: 4e7,
        wall_seconds: 0.4,
        doc_bytes: 300.0,
        rejected: 0.01,
        unloaded: Some(Unloaded { wall_seconds: 0.1, body_bytes: 2e6, fixed: 0.25 }),
        seconds,
        body_bytes_max: None,
        format: Some(BodyFormat::PLAIN),
    }
}

fn memory(target: &str, days_ago: u64, seconds: f64) -> Remembered {
    Remembered::new(place(target), NOW - days_ago * DAY, learned(seconds))
}

/// The target of the memory that a load into `a` begins with.
fn recalled(found: &[Remembered]) -> Option<String> {
    match place("a").recall(found.to_vec(), NOW) {
        Recall::Found(memory) => Some(memory.target().to_owned()),
        Recall::Nothing | Recall::Changed(_) => None,
    }
}

#[test]
fn the_own_index_comes_before_a_newer_memory_of_another() {
    assert_eq!(recalled(&[memory("b", 1, 60.0), memory("a", 9, 1.0)]).as_deref(), Some("a"));
    assert_eq!(recalled(&[memory("b", 3, 60.0), memory("c", 2, 60.0)]).as_deref(), Some("c"));
    assert_eq!(recalled(&[memory("b", 1, 2.0)]), None, "it was measured for too short a time");
    assert_eq!(recalled(&[memory("a", 91, 60.0)]), None, "it is too old");
}

#[test]
fn another_cluster_or_kind_of_load_has_its_own_memory() {
    let mut other = memory("a", 0, 60.0);
    other.cluster = "d".to_owned();
    assert_eq!(recalled(&[other]), None);
    let mut without_ids = memory("a", 0, 60.0);
    without_ids.kind.with_ids = false;
    assert_eq!(recalled(&[without_ids]), None);
    let mut little_memory = place("a");
    little_memory.kind.bounds.memory = 1 << 20;
    let names = [place("a"), place("b"), little_memory].map(|place| place.file_name());
    assert!(names.iter().all(|name| name.starts_with(&place("a").file_prefix())), "{names:?}");
    assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
}

#[test]
fn a_changed_topology_drops_the_memory() {
    let changed = |change: &dyn Fn(&mut Topology)| {
        let mut memory = memory("a", 1, 60.0);
        change(&mut memory.topology);
        match place("a").recall([memory], NOW) {
            Recall::Changed(why) => why,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(changed(&|t| t.data_nodes = Some(4)), "2 data nodes, and 4 before");
    assert_eq!(changed(&|t| t.write_threads = Some(16)), "8 write threads, and 16 before");
    assert_eq!(changed(&|t| t.shards = Some(1)), "3 shards, and 1 before");
    assert!(changed(&|t| t.version = "OpenSearch 2.19.0".to_owned()).contains("ran OpenSearch 2.19.0 before"));
    let distance = changed(&|t| t.distance_seconds = Some(0.2));
    assert_eq!(distance, "a request without work takes 2 ms, and 200 before");
    let unknown = Topology { version: "OpenSearch 3.6.0".to_owned(), ..Topology::default() };
    assert_eq!(place("a").topology.difference(&unknown), None, "the user may not read it");
    let busy = Topology { distance_seconds: Some(0.03), ..place("a").topology };
    assert_eq!(place("a").topology.difference(&busy), None, "a busy node answers later");
}

#[test]
fn a_file_is_read_as_it_was_written_and_others_are_refused() {
    let memory = memory("a", 0, 60.0);
    assert_eq!(Remembered::parse(memory.to_text().as_bytes()).unwrap(), memory);
    let newer = memory.to_text().replace("\"format\": 1,", "\"format\": 7,");
    assert!(matches!(Remembered::parse(newer.as_bytes()), Err(RememberedError::Format { found: 7 })));
    let text = memory.to_text();
    assert!(matches!(Remembered::parse(&text.as_bytes()[..text.len() / 2]), Err(RememberedError::Damaged(_))));
    let impossible = text.replace("\"in_flight\": 8", "\"in_flight\": 0");
    assert!(matches!(Remembered::parse(impossible.as_bytes()), Err(RememberedError::Unsound)));
}

#[test]
fn a_short_load_does_not_replace_what_a_long_one_learned() {
    let long = memory("a", 1, 60.0);
    assert!(!memory("a", 0, 1.0).is_worth_more_than(Some(&long)));
    assert!(memory("a", 0, 3.0).is_worth_more_than(Some(&long)));
    assert!(memory("a", 0, 1.0).is_worth_more_than(Some(&memory("a", 1, 2.0))));
    assert!(memory("a", 0, 0.5).is_worth_more_than(None));
    assert!(!memory("a", 0, 0.1).is_worth_more_than(None));
    let mut elsewhere = long;
    elsewhere.topology.data_nodes = Some(9);
    assert!(memory("a", 0, 0.5).is_worth_more_than(Some(&elsewhere)), "it is of no use any more");
}

#[test]
fn measured_time_adds_up_while_a_memory_holds() {
    let before = Learned { body_bytes_max: Some(1 << 20), ..learned(60.0) };
    let now = Learned { format: None, unloaded: None, ..learned(4.0) };
    let held = now.after(Some(&before), Some(&Recollection::Held)).unwrap();
    assert_eq!((held.seconds, held.format, held.unloaded), (64.0, before.format, before.unloaded));
    assert_eq!(held.body_bytes_max, Some(1 << 20));
    let wrong = Recollection::Contradicted("it is slower".to_owned());
    assert_eq!(now.after(Some(&before), Some(&wrong)).unwrap().seconds, 4.0);
    assert_eq!(now.after(Some(&before), Some(&Recollection::Unchecked)), None, "it was too short to say");
    assert_eq!(now.after(None, None), Some(now));
}

//! How much memory a segment needs until it is written: twice its share at most.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "these are tests")]

use std::path::Path;
use std::process::Command;

use inrush_lucene::{Keep, KnownProduct, LiveMapping, Mapping, NewDocument, ServerVersion, Shard, ShardOptions};
use serde_json::{Value, json};

const TARGET: ServerVersion =
    ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
const SEGMENT_MEMORY: usize = 12 << 20;
/// The program, the buffers of files, and a document.
const BESIDES: usize = 10 << 20;
const SEGMENTS: usize = 4;

/// What a process of its own builds; set in that process only.
const KIND: &str = "INRUSH_LUCENE_MEMORY";
const KINDS: [&str; 14] = [
    "numbers",
    "terms",
    "several",
    "words",
    "offsets",
    "moved offsets",
    "nested",
    "sorted",
    "fields",
    "turns",
    "suggestions",
    "ranges",
    "bytes",
    "patterns",
];
/// Those with an index sort.
const SORTED: [&str; 2] = ["moved offsets", "sorted"];
/// Documents after which those of `turns` have other fields.
const TURN: u64 = 30_000;
const FIELDS: u64 = 2_000;

fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A mapping, and a document that fills memory with it.
fn documents(kind: &str) -> (Value, fn(u64) -> Value) {
    let keyword = json!({ "type": "keyword" });
    match kind {
        "numbers" => (json!({ "n": { "type": "double" }, "ip": { "type": "ip" } }), |number| {
            let numbers: Vec<f64> = (0..20).map(|i| spread(number + i) as f64 / 3.0).collect();
            json!({ "n": numbers, "ip": [format!("2001:db8::{:x}:{:x}", number >> 16, number & 0xffff), "10.0.0.1"] })
        }),
        "terms" => (json!({ "term": keyword }), |number| json!({ "term": format!("{:x}", spread(number)) })),
        "suggestions" => (json!({ "s": { "type": "completion" } }), |number| {
            let texts: Vec<String> = (0..4).map(|i| format!("Text {:x}", spread(number * 4 + i))).collect();
            json!({ "s": { "input": texts, "weight": number % 1000 } })
        }),
        "ranges" => (json!({ "r": { "type": "long_range" }, "net": { "type": "ip_range" } }), |number| {
            let ranges: Vec<Value> = (0..10).map(|i| json!({ "gte": spread(number + i) as i64 >> 1 })).collect();
            json!({ "r": ranges, "net": format!("2001:db8::{:x}:{:x}/120", number >> 16, number & 0xffff) })
        }),
        "bytes" => {
            let feature = json!({ "type": "rank_features" });
            (
                json!({ "b": { "type": "binary", "doc_values": true }, "f": feature }),
                |number| json!({ "b": ["aGVsbG8=", "AAAA"], "f": { format!("k{}", spread(number) % 1000): number + 1, "x": 2 } }),
            )
        }
        "patterns" => (
            json!({ "w": { "type": "wildcard" } }),
            |number| json!({ "w": format!("/path/{:x}/{:x}/of/{number}", spread(number), spread(number + 1)) }),
        ),
        "several" => (json!({ "term": keyword }), |number| {
            let terms: Vec<String> = (0..20).map(|i| (spread(number + i) % 1000).to_string()).collect();
            json!({ "term": terms })
        }),
        "words" => (json!({ "text": { "type": "text" } }), |number| {
            let words: Vec<String> = (0..200).map(|i| format!("{:x}", spread(number * 200 + i) >> 50)).collect();
            json!({ "text": words.join(" ") })
        }),
        "offsets" | "moved offsets" => {
            let text = json!({ "type": "text", "index_options": "offsets" });
            (json!({ "n": { "type": "long" }, "text": text }), |number| {
                let words: Vec<String> = (0..200).map(|i| format!("{:x}", spread(number * 200 + i) >> 50)).collect();
                json!({ "n": spread(number) as i64, "text": [words.join(" "), "one more"] })
            })
        }
        // Values of which each document has some, and which are put into another order.
        "sorted" => (json!({ "n": { "type": "long" }, "term": keyword }), |number| {
            let terms: Vec<String> = (0..4).map(|i| (spread(number + i) % 5000).to_string()).collect();
            json!({ "n": spread(number) as i64, "term": terms })
        }),
        "fields" => {
            let fields = (0..FIELDS).map(|i| (format!("f{i}"), keyword.clone())).collect();
            (Value::Object(fields), |number| {
                let field = format!("f{}", spread(number) % FIELDS);
                json!({ field: format!("{:x}", spread(number)) })
            })
        }
        // Memory of one field is not needed for the documents that come next.
        "turns" => {
            let number = json!({ "type": "double" });
            (json!({ "a": number, "b": number, "c": number }), |number| {
                let field = ["a", "b", "c"][(number / TURN % 3) as usize];
                json!({ field: (0..20).map(|i| spread(number + i) as f64 / 3.0).collect::<Vec<_>>() })
            })
        }
        _ => (
            json!({ "list": { "type": "nested", "properties": { "n": { "type": "long" } } } }),
            |number| json!({ "list": (0..3).map(|i| json!({ "n": spread(number + i) as i64 })).collect::<Vec<_>>() }),
        ),
    }
}

/// All segments but the last one, as it ends with the documents, are large: none ends for the
/// memory of the one before it.
fn are_large(folder: &Path) {
    let size = |number: usize| std::fs::metadata(folder.join(format!("_{number}.fdt"))).unwrap().len();
    let sizes: Vec<u64> = (0..segments(folder) - 1).map(size).collect();
    assert!(sizes.iter().min() > sizes.iter().max().map(|most| most / 2).as_ref(), "{sizes:?}");
}

fn segments(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".si")).count()
}

/// Writes segments, and returns the most memory that this process had.
fn build(kind: &str, folder: &Path) -> usize {
    let (properties, document) = documents(kind);
    let sort = if SORTED.contains(&kind) { json!({ "index.sort.field": "n" }) } else { json!({}) };
    let mapping =
        Mapping::with_settings(&json!({ "properties": properties }), sort.as_object().unwrap(), TARGET).unwrap();
    let options = ShardOptions {
        folder: folder.to_owned(),
        primary_term: 1,
        segment_memory: SEGMENT_MEMORY,
        random: [9; 32],
        keep: Keep::Last,
    };
    let mapping = LiveMapping::new(mapping);
    let shard = Shard::new(options, &mapping);
    let mut writer = shard.writer();
    for number in 0.. {
        let id = number.to_string();
        writer.add(&NewDocument::with_id(document(number).to_string().as_bytes(), &id)).unwrap();
        if number % 1000 == 0 && segments(folder) == SEGMENTS {
            let least = if kind == "fields" { 10_000 } else { 0 };
            assert!(number > least, "{number} documents fill {SEGMENTS} segments");
            break;
        }
    }
    writer.finish().unwrap();
    shard.commit(1, &[]).unwrap();
    if kind != "turns" {
        are_large(folder);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    most.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn a_segment_and_its_writing_need_twice_its_share() {
    if let Ok(kind) = std::env::var(KIND) {
        let folder = std::env::temp_dir().join(format!("inrush-lucene-memory-{kind}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let most = build(&kind, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        eprintln!("{kind}: {} KiB", most >> 10);
        assert!(most < 2 * SEGMENT_MEMORY + BESIDES);
        return;
    }
    let run = |kind: &str| {
        let test = "a_segment_and_its_writing_need_twice_its_share";
        let mut command = Command::new(std::env::current_exe().unwrap());
        // Freed memory goes back at once, so that only what is used counts.
        command.args(["--exact", test, "--nocapture"]).env(KIND, kind).env("MALLOC_MMAP_THRESHOLD_", "131072");
        command.output().unwrap()
    };
    std::thread::scope(|scope| {
        for (kind, run) in KINDS.map(|kind| (kind, scope.spawn(move || run(kind)))) {
            let output = run.join().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{kind}: {errors}");
            eprint!("{errors}");
        }
    });
}

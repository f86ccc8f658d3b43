//! Whether Lucene's own check finds the indices whole that are built here.
//!
//! `LUCENE_JARS` is a folder with `lucene-core` and `lucene-backward-codecs` of Lucene 10, such as
//! `lib` of OpenSearch 3; Java 21 or newer is taken from `JAVA_HOME`, or from the path. Without
//! them the tests say so and pass.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "these are tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use inrush_lucene::{AddError, Mapping, Product, Shard, ShardOptions, Target};
use serde_json::{Value, json};

const TARGET: Target = Target { product: Product::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };

/// A new folder below that for temporary files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("inrush-lucene-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Builds an index of documents; returns which of them are refused.
fn build(folder: &Path, mapping: &Value, memory_max: usize, docs: impl Iterator<Item = Value>) -> Vec<usize> {
    let mapping = Mapping::parse(mapping, TARGET).unwrap();
    let options = ShardOptions { folder: folder.to_owned(), primary_term: 1, memory_max, random: [9; 32] };
    let shard = Shard::new(options, &mapping);
    let mut writer = shard.writer();
    let mut refused = Vec::new();
    for (number, doc) in docs.enumerate() {
        let id = (number % 2 == 0).then(|| format!("id {number}"));
        match writer.add(doc.to_string().as_bytes(), id.as_deref()) {
            Ok(()) => {}
            Err(AddError::Refused(_)) => refused.push(number),
            Err(AddError::Io(error)) => panic!("{error}"),
        }
    }
    writer.finish().unwrap();
    shard.commit(1, &[]).unwrap();
    refused
}

/// Asks Lucene, and shows what it found if the index is not whole.
fn check(folder: &Path) {
    let Some(jars) = std::env::var_os("LUCENE_JARS") else {
        eprintln!("LUCENE_JARS is not set; the index was built and not checked");
        return;
    };
    let java = std::env::var_os("JAVA_HOME").map_or_else(|| "java".into(), |home| Path::new(&home).join("bin/java"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Check.java");
    let found = Command::new(java).arg("-cp").arg(Path::new(&jars).join("*")).arg(source).arg(folder).output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stdout));
}

fn all_kinds() -> Value {
    json!({ "dynamic": "strict", "properties": {
        "word": { "type": "keyword", "ignore_above": 40, "fields": { "text": { "type": "text" } } },
        "bare": { "type": "text", "norms": false },
        "long": { "type": "long" }, "integer": { "type": "integer", "doc_values": false },
        "double": { "type": "double", "index": false }, "float": { "type": "float" },
        "@timestamp": { "type": "date" }, "ip": { "type": "ip" }, "flag": { "type": "boolean" },
        "object": { "properties": { "inner": { "type": "keyword", "doc_values": false } } },
        "never": { "type": "keyword" }
    } })
}

/// Values that come in every document, in some, or several times.
fn document(number: u64) -> Value {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut doc = json!({
        "word": format!("{} {}", ["one", "two", "drei", "quatre"][(spread >> 62) as usize], spread >> (number % 50)),
        "bare": "l’été 東京 a.b", "long": spread as i64, "integer": number % 300,
        "double": spread as f64 / 3.0, "flag": number.is_multiple_of(3),
        "@timestamp": 1_700_000_000_000_u64 + 1000 * (spread >> 40), "ip": format!("10.{}.{}.1", number % 7, spread >> 56)
    });
    if number.is_multiple_of(5) {
        doc["float"] = json!([1.5, -2.5, number]);
        doc["object"] = json!([{ "inner": "x" }, { "inner": ["y", "x"] }]);
    }
    if number % 1000 == 7 {
        doc["ip"] = json!(["2001:db8::1", "10.0.0.1"]);
        doc["bare"] = json!(["", "again again", []]);
    }
    doc
}

#[test]
fn one_document() {
    let folder = Folder::new("one");
    assert_eq!(build(&folder.0, &all_kinds(), 1 << 30, std::iter::once(document(3))), [0; 0]);
    check(&folder.0);
}

#[test]
fn all_kinds_in_one_segment() {
    let folder = Folder::new("kinds");
    assert_eq!(build(&folder.0, &all_kinds(), 1 << 30, (0..150_000).map(document)), [0; 0]);
    check(&folder.0);
}

#[test]
fn little_memory_makes_many_segments() {
    let folder = Folder::new("many");
    build(&folder.0, &all_kinds(), 1 << 20, (0..20_000).map(document));
    let segments = std::fs::read_dir(&folder.0)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "si"));
    assert!(segments.count() > 3);
    check(&folder.0);
}

#[test]
fn refused_documents_leave_nothing_behind() {
    let folder = Folder::new("refused");
    let docs = [
        json!({ "long": 1 }),
        json!({ "word": "x", "long": "no number" }),
        json!({ "unknown": 1 }),
        json!([1]),
        json!({ "long": 2 }),
    ];
    assert_eq!(build(&folder.0, &all_kinds(), 1 << 30, docs.into_iter()), [1, 2, 3]);
    check(&folder.0);
}

#[test]
fn what_is_not_supported_is_named() {
    for (mapping, what) in [
        (json!({ "properties": { "a": { "type": "nested" } } }), "field \"a\" of the mapping has the type \"nested\""),
        (json!({ "properties": { "a": { "type": "text", "analyzer": "english" } } }), "the parameter \"analyzer\""),
        (json!({ "properties": { "a": { "type": "date", "format": "basic_date" } } }), "the format \"basic_date\""),
        (json!({ "_routing": { "required": true } }), "the parameter \"_routing\""),
    ] {
        let error = Mapping::parse(&mapping, TARGET).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

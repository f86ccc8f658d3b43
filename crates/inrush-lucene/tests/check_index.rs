//! Whether Lucene's own check finds the indices whole that are built here.
//!
//! `LUCENE_JARS` is a folder with `lucene-core`, `lucene-backward-codecs` and `lucene-suggest` of
//! Lucene 10, such as `lib` of OpenSearch 3; Java 21 or newer is taken from `JAVA_HOME`, or from
//! the path. Without them the tests say so and pass.

#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "these are tests")]

use std::path::Path;
use std::process::Command;

use inrush_lucene::{
    AddError, Keep, KnownProduct, LiveMapping, MadeIds, Mapping, NewDocument, ServerVersion, Shard, ShardOptions,
};
use serde_json::{Value, json};
use tempfile::tempdir;

const TARGET: ServerVersion =
    ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };

/// Builds an index of documents; returns which of them are refused.
fn build(folder: &Path, mapping: &Value, memory_max: usize, docs: impl Iterator<Item = Value>) -> Vec<usize> {
    let mapping = LiveMapping::new(Mapping::parse(mapping, TARGET).unwrap());
    let options = ShardOptions {
        folder: folder.to_owned(),
        primary_term: 1,
        segment_memory: memory_max / 2,
        random: [9; 32],
        keep: Keep::Last,
    };
    let shard = Shard::new(options, &mapping);
    let mut writer = shard.writer();
    let (mut refused, mut ids) = (Vec::new(), MadeIds::new([9; 9], 0));
    for (number, doc) in docs.enumerate() {
        let doc = doc.to_string();
        let added = match number % 2 {
            0 => writer.add(&NewDocument::with_id(doc.as_bytes(), &format!("id {number}"))),
            _ => writer.add(&NewDocument::without_id(doc.as_bytes(), ids.make())),
        };
        match added {
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
        "placed": { "type": "text", "index_options": "offsets", "fields": {
            "whole": { "type": "text", "index_options": "offsets", "analyzer": "keyword" }
        } },
        "long": { "type": "long" }, "integer": { "type": "integer", "doc_values": false },
        "double": { "type": "double", "index": false }, "float": { "type": "float" },
        "@timestamp": { "type": "date" }, "ip": { "type": "ip" }, "flag": { "type": "boolean" },
        "object": { "properties": { "inner": { "type": "keyword", "doc_values": false } } },
        "place": { "type": "geo_point", "store": true }, "half": { "type": "half_float" }, "unsigned": { "type": "unsigned_long" },
        "nanos": { "type": "date_nanos" }, "copied": { "type": "text", "copy_to": "docs.only" },
        "docs.only": { "type": "text", "analyzer": "whitespace", "index_options": "docs" },
        "kept alone": { "type": "keyword", "store": true, "index": false, "doc_values": false },
        "shown": { "type": "text", "store": true, "index": false },
        "stored": { "type": "keyword", "store": true }, "kept": { "type": "double", "store": true },
        "at": { "type": "date", "store": true, "format": "EEE MMM dd HH:mm:ss Z yyyy||epoch_second" },
        "flat": { "type": "flat_object" }, "never": { "type": "keyword" },
        "bytes": { "type": "binary", "doc_values": true, "store": true }, "weight": { "type": "rank_feature" },
        "weights": { "type": "rank_features" }, "years": { "type": "integer_range" }, "times": { "type": "date_range" },
        "share": { "type": "float_range", "index": false }, "spread": { "type": "double_range" },
        "pattern": { "type": "wildcard" }, "typed": { "type": "search_as_you_type" }, "suggested": { "type": "completion" },
        "rarely": { "type": "text", "fields": { "suggested": { "type": "completion", "analyzer": "stop" } } },
        "shape": { "type": "geo_shape" }, "shapes": { "type": "geo_shape", "doc_values": false },
        "span": { "type": "long_range", "doc_values": false }, "net": { "type": "ip_range" },
        "relation": { "type": "join", "relations": { "question": ["answer", "remark"], "other": "answered" } }
    } })
}

/// Texts with words that are in every document, in some, and many times in one.
fn placed(number: u64) -> Value {
    let text = format!("every 東京 w{} l’été 👩‍🚒 every", number % 700);
    match number % 1000 {
        0 => json!(["", text, " every ", null, "again ".repeat(number as usize / 100)]),
        3 => json!([]),
        _ => json!(text),
    }
}

/// Values that come in every document, in some, or several times.
fn document(number: u64) -> Value {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut doc = json!({
        "word": format!("{} {}", ["one", "two", "drei", "quatre"][(spread >> 62) as usize], spread >> (number % 50)),
        "bare": "l’été 東京 a.b", "placed": placed(number), "long": spread as i64, "integer": number % 300,
        "double": spread as f64 / 3.0, "flag": number.is_multiple_of(3),
        "@timestamp": 1_700_000_000_000_u64 + 1000 * (spread >> 40), "ip": format!("10.{}.{}.1", number % 7, spread >> 56),
        "place": format!("{},{}", (spread >> 40) % 180 / 2, (spread >> 20) as f64 % 360.0 - 180.0), "half": number % 1000,
        "unsigned": spread, "nanos": number * 1_000_003, "copied": format!("a {} a", number % 30),
        "kept alone": ["a", number], "shown": "a b", "stored": ["a", "b"], "kept": [spread as f64 / -7.0, number % 200, -0.0, 0.1, 1.5], "at": number * 3600
    });
    doc["years"] = json!({ "gte": number % 3000, "lt": number % 3000 + (spread >> 50) + 1 });
    doc["net"] = json!(format!("{}.{}.0.0/{}", number % 250, spread >> 56, number % 33));
    doc["pattern"] = json!([format!("/a/{}/👩{number}", spread >> 52), ""]);
    doc["typed"] = json!(format!("some words of {}", number % 40));
    // Many of one term, and many terms.
    let word = ["same", "Same text", "other"][number as usize % 3];
    doc["suggested"] =
        json!([word, { "input": [word, format!("{word} a{}", spread >> 50)], "weight": number % 500 }, " "]);
    if number.is_multiple_of(3) {
        let spread = (spread >> 1) as i64;
        let more = ["AAAA", "AA==", "aGVsbG8="][number as usize % 9 / 3];
        doc["bytes"] = json!(["aGVsbG8=", "", more]);
        doc["weight"] = json!(spread / 2 + 1);
        doc["weights"] = json!({ "every": 1.5, format!("k{}", number % 90): number + 1 });
        doc["times"] = json!([{ "gte": spread / 1000, "lte": spread }, { "lt": "2020-01-01" }, {}]);
        doc["share"] = json!({ "gt": -0.5, "lte": number });
        doc["spread"] = json!([{ "gte": spread as f64 / -7.0, "lte": spread as f64 }, { "gte": number }]);
        doc["span"] = json!({ "gte": -spread, "lte": number });
        // Each is many triangles.
        if number < 15_000 {
            let (x, y) = ((spread % 150) as f64, (spread % 70) as f64 / 3.0);
            doc["shape"] = json!(format!("POLYGON (({x} {y}, {} {y}, {} {}, {x} {y}))", x + 9.0, x + 4.5, y + 30.0));
            doc["shapes"] =
                json!([{ "type": "Point", "coordinates": [x, y] }, format!("LINESTRING (0 0, {x} {y}, 1 1)")]);
        }
    }
    if number.is_multiple_of(5) {
        doc["float"] = json!([1.5, -2.5, number]);
        doc["relation"] = if number.is_multiple_of(2) { json!("question") } else { json!({ "name": "other" }) };
        doc["object"] = json!([{ "inner": "x" }, { "inner": ["y", "x"] }]);
        doc["flat"] = json!([{ "a.b": number, format!("k{}", number % 300): { "x": ["y", null] } }, { "a": {} }]);
    }
    if number % 1000 == 7 {
        doc["rarely"] = json!(["the", "a text of words", "the"]);
        doc["ip"] = json!(["2001:db8::1", "10.0.0.1"]);
        doc["bare"] = json!(["", "again again", []]);
    }
    doc
}

#[test]
fn one_document() {
    let folder = tempdir().unwrap();
    assert_eq!(build(folder.path(), &all_kinds(), 1 << 30, std::iter::once(document(3))), [0; 0]);
    check(folder.path());
}

#[test]
fn all_kinds_in_one_segment() {
    let folder = tempdir().unwrap();
    assert_eq!(build(folder.path(), &all_kinds(), 1 << 30, (0..150_000).map(document)), [0; 0]);
    check(folder.path());
}

#[test]
fn little_memory_makes_many_segments() {
    let folder = tempdir().unwrap();
    build(folder.path(), &all_kinds(), 1 << 20, (0..20_000).map(document));
    let segments = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "si"));
    assert!(segments.count() > 3);
    check(folder.path());
}

/// Ids that come again in the same segment, in a later one, and in one of another writer.
#[test]
fn one_document_of_each_id_stays() {
    for keep in [Keep::Last, Keep::First] {
        let folder = tempdir().unwrap();
        let mapping = LiveMapping::new(Mapping::parse(&all_kinds(), TARGET).unwrap());
        let options = ShardOptions {
            folder: folder.path().to_owned(),
            primary_term: 1,
            segment_memory: 1 << 19,
            random: [9; 32],
            keep,
        };
        let shard = Shard::new(options, &mapping);
        let mut writers = [shard.writer(), shard.writer()];
        for number in 0..30_000_u64 {
            let writer = &mut writers[usize::from(number % 7 == 0)];
            writer.arrive(number);
            let id = (number % 10_000).to_string();
            writer.add(&NewDocument::with_id(document(number).to_string().as_bytes(), &id)).unwrap();
        }
        for writer in writers {
            writer.finish().unwrap();
        }
        let committed = shard.commit(1, &[]).unwrap();
        assert_eq!((committed.docs, committed.duplicates), (10_000, 20_000));
        let with = |end: &str| {
            let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().ends_with(end)).count()
        };
        assert!(with(".si") > 4 && with(".liv") > 2, "{} segments, {} with deletions", with(".si"), with(".liv"));
        check(folder.path());
    }
}

/// Orders with lines, and lines with parts: documents of their own.
fn nested() -> Value {
    json!({ "dynamic": "strict", "_routing": {}, "properties": {
        "customer": { "type": "keyword" },
        "lines": { "type": "nested", "include_in_parent": true, "properties": {
            "price": { "type": "double" },
            "parts": { "type": "nested", "include_in_root": true, "properties": { "name": { "type": "text" } } }
        } }
    } })
}

#[test]
fn nested_objects_are_documents() {
    let folder = tempdir().unwrap();
    let order = |number: u64| {
        let line = |line: u64| json!({ "price": line * number, "parts": [{ "name": "bolt" }, { "name": format!("nut {line}") }] });
        json!({ "customer": format!("c{}", number % 10), "lines": (0..number % 4).map(line).collect::<Vec<_>>() })
    };
    assert_eq!(build(folder.path(), &nested(), 1 << 30, (0..5_000).map(order)), [0; 0]);
    check(folder.path());
}

#[test]
fn names_with_dots_are_paths() {
    let folder = tempdir().unwrap();
    let mapping = json!({ "properties": {
        "a.b": { "type": "long" }, "a": { "properties": { "c": { "type": "keyword" } } }, "off": { "type": "object", "enabled": false }
    } });
    let docs = [
        json!({ "a.b": 1, "a": { "b": 2 }, "a.c": "x" }),
        json!({ "a.b.c": 1 }),
        json!({ "a..b": 1 }),
        json!({ "off.b": [{ "x": 1 }], "new": [null, []] }),
        json!({ "new.x": 1 }),
    ];
    assert_eq!(build(folder.path(), &mapping, 1 << 30, docs.into_iter()), [1, 2]);
    check(folder.path());
}

#[test]
fn refusals_are_in_the_words_of_the_server() {
    let mapping = LiveMapping::new(Mapping::parse(&nested(), TARGET).unwrap());
    let folder = tempdir().unwrap();
    let options = ShardOptions {
        folder: folder.path().to_owned(),
        primary_term: 1,
        segment_memory: 1 << 20,
        random: [9; 32],
        keep: Keep::Last,
    };
    let shard = Shard::new(options, &mapping);
    let mut writer = shard.writer();
    let too_many = json!({ "lines": vec![json!({}); 10_001] });
    for (doc, expected) in [
        (json!({ "new": 1 }), "mapping set to strict, dynamic introduction of [new] within [_doc] is not allowed"),
        (json!({ "lines": { "x": 1 } }), "dynamic introduction of [x] within [lines] is not allowed"),
        (json!({ "lines": 1 }), "object mapping for [lines] tried to parse field [lines] as object"),
        (json!({ "lines": { "price": "much" } }), "failed to parse field [lines.price] of type [double]"),
        (json!({ "customer": "x".repeat(32_767) }), "immense term in field=\"customer\""),
        (too_many, "The number of nested documents has exceeded the allowed limit of [10000]"),
    ] {
        let doc = doc.to_string();
        let added = writer.add(&NewDocument::with_id(doc.as_bytes(), "x"));
        let Err(AddError::Refused(refused)) = added else { panic!("{expected}") };
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    writer.finish().unwrap();
}

#[test]
fn refused_documents_leave_nothing_behind() {
    let folder = tempdir().unwrap();
    let docs = [
        json!({ "long": 1 }),
        json!({ "word": "x", "long": "no number" }),
        json!({ "unknown": 1 }),
        json!([1]),
        json!({ "long": 2 }),
    ];
    assert_eq!(build(folder.path(), &all_kinds(), 1 << 30, docs.into_iter()), [1, 2, 3]);
    check(folder.path());
}

/// The check looks each term of a vector up, so there are few documents.
#[test]
fn terms_have_vectors() {
    let text =
        |options: &str, vectors: &str| json!({ "type": "text", "index_options": options, "term_vector": vectors });
    let mapping = json!({ "dynamic": "strict", "properties": {
        "all": text("offsets", "with_positions_offsets"), "terms": text("docs", "yes"),
        "places": text("freqs", "with_offsets"), "positions": text("positions", "with_positions"),
        "key": { "type": "keyword", "norms": true }
    } });
    let docs = (0..700).map(|number| {
        let text = placed(number);
        let more = if number % 3 == 0 { json!({ "key": ["a", "b", "a"] }) } else { json!({ "key": "c" }) };
        let mut doc = json!({ "all": text, "terms": text, "places": text, "positions": text });
        if number % 2 == 0 {
            doc["key"] = more["key"].clone();
        }
        doc
    });
    let folder = tempdir().unwrap();
    assert!(build(folder.path(), &mapping, 1 << 30, docs).is_empty());
    check(folder.path());
}

#[test]
fn all_that_is_not_supported_is_named() {
    let mapping = json!({ "properties": {
        "a": { "type": "text", "analyzer": "own", "index_prefixes": {} },
        "b": { "properties": { "c.d": { "type": "keyword", "fields": { "e": { "type": "percolator" } } } } },
        "f": { "type": "long" },
    } });
    let settings = json!({ "index.analysis.analyzer.own.tokenizer": "thai" });
    let all = Mapping::unsupported(&mapping, settings.as_object().unwrap(), TARGET);
    let mut all: Vec<String> = all.iter().map(ToString::to_string).collect();
    all.sort();
    assert_eq!(
        all,
        [
            "field \"a\" of the mapping has the parameter \"analyzer\" with \"own\": \
             tokenizer \"thai\": the type \"thai\", which only a server builds",
            "field \"a\" of the mapping has the parameter \"index_prefixes\" with {}, which only a server builds",
            "field \"b.c.d.e\" of the mapping has the type \"percolator\", which only a server builds",
        ]
    );
    assert_eq!(Mapping::unsupported(&json!({ "_routing": { "x": true } }), &serde_json::Map::new(), TARGET).len(), 1);
    assert!(Mapping::unsupported(&json!({}), &serde_json::Map::new(), TARGET).is_empty());
}

#[test]
fn a_source_may_have_less_than_the_document() {
    for (source, count) in [(json!({ "enabled": false }), 50), (json!({ "excludes": ["double", "p*.x"] }), 700)] {
        let folder = tempdir().unwrap();
        let mapping = json!({ "_source": source, "properties": all_kinds()["properties"] });
        assert!(build(folder.path(), &mapping, 1 << 30, (0..count).map(document)).is_empty());
        check(folder.path());
    }
}

#[test]
fn what_is_not_supported_is_named() {
    for (mapping, what) in [
        (
            json!({ "properties": { "a": { "type": "percolator" } } }),
            "field \"a\" of the mapping has the type \"percolator\"",
        ),
        (
            json!({ "properties": { "a": { "type": "text", "analyzer": "dutch" } } }),
            "the parameter \"analyzer\" with \"dutch\": analyser \"dutch\"",
        ),
        (
            json!({ "properties": { "a": { "type": "match_only_text", "index_options": "offsets" } } }),
            "the parameter \"index_options\" with \"offsets\"",
        ),
        (
            json!({ "properties": { "a": { "type": "keyword", "index_options": "offsets" } } }),
            "the parameter \"index_options\" with \"offsets\"",
        ),
        (json!({ "properties": { "a": { "type": "date", "format": "MMMM d" } } }), "the parameter \"format\""),
        (json!({ "_routing": { "x": true } }), "the mapping has the parameter \"_routing\""),
        (json!({ "_source": { "mode": "synthetic" } }), "the parameter \"mode\" with \"synthetic\" of \"_source\""),
        (json!({ "properties": { "a": { "type": "keyword", "ignore_above": -1 } } }), "\"ignore_above\" with -1"),
        (
            json!({ "properties": { "a": { "type": "keyword", "null_value": 1e10 } } }),
            "\"null_value\" with 10000000000.0",
        ),
        (
            json!({ "properties": { "a": { "type": "keyword", "null_value": { "x": 1 } } } }),
            "the parameter \"null_value\"",
        ),
        (json!({ "properties": { "a": { "type": "byte", "null_value": 300 } } }), "\"null_value\" with 300"),
        (json!({ "properties": { "a": { "type": "ip", "null_value": "x" } } }), "\"null_value\" with \"x\""),
        (json!({ "properties": { "a": { "type": "keyword", "copy_to": [5] } } }), "the parameter \"copy_to\""),
    ] {
        let error = Mapping::parse(&mapping, TARGET).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// Builds an index with the settings of documents with ids.
fn build_sorted(folder: &Path, settings: &Value, memory: usize, docs: &[(String, Value)]) {
    let mapping = Mapping::with_settings(&all_kinds(), settings.as_object().unwrap(), TARGET).unwrap();
    let mapping = LiveMapping::new(mapping);
    let folder = folder.to_owned();
    let (random, keep) = ([9; 32], Keep::Last);
    let options = ShardOptions { folder, primary_term: 1, segment_memory: memory, random, keep };
    let shard = Shard::new(options, &mapping);
    let mut writer = shard.writer();
    docs.iter().for_each(|(id, doc)| writer.add(&NewDocument::with_id(doc.to_string().as_bytes(), id)).unwrap());
    writer.finish().unwrap();
    shard.commit(1, &[]).unwrap();
}

fn numbered(docs: impl Iterator<Item = u64>) -> Vec<(String, Value)> {
    docs.map(|number| (format!("id {number}"), document(number))).collect()
}

#[test]
fn a_sorted_segment_is_that_of_sorted_documents() {
    let (folder, other) = (tempdir().unwrap(), tempdir().unwrap());
    let mut docs = numbered(0..5000);
    build_sorted(folder.path(), &json!({"index.sort.field": "long", "index.sort.order": "desc"}), 1 << 30, &docs);
    docs.sort_by_key(|(_, doc)| std::cmp::Reverse(doc["long"].as_i64()));
    build_sorted(other.path(), &json!({}), 1 << 30, &docs);
    // Doc values and points differ in the sequence numbers, which are of the order of arrival; a
    // sorted index has a further field.
    let mut compared = 0;
    for entry in std::fs::read_dir(other.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let same = ["fdt", "fdx", "fdm", "doc", "pos", "pay", "tim", "tip", "tmd", "nvd", "nvm", "lkp", "cmp"];
        if same.iter().any(|end| name.ends_with(end)) {
            let [ours, expected] =
                [folder.path(), other.path()].map(|folder| std::fs::read(folder.join(&name)).unwrap());
            assert!(ours == expected, "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 19);
    check(folder.path());
}

/// Several fields, some with several values or none, in several segments, with ids that come again.
#[test]
fn segments_are_sorted_by_all_fields_of_the_sort() {
    let settings = json!({
        "index.sort.field": ["flag", "float", "word", "@timestamp"], "index.sort.order": ["desc", "asc", "desc", "asc"],
        "index.sort.mode": ["max", "max", "min", "min"], "index.sort.missing": ["_last", "_first", "_last", "_last"]
    });
    for memory in [1 << 30, 1 << 20] {
        let folder = tempdir().unwrap();
        build_sorted(folder.path(), &settings, memory, &numbered((0..20_000).chain((0..20_000).step_by(7))));
        let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("aside")), "nothing is left aside");
        check(folder.path());
    }
}

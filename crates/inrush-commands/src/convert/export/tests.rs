//! Outputs that are stopped at any block, and go on.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use inrush_sources::{FormatOptions, SourceSpec, Warnings, open};
use serde_json::Value;

use super::super::object::tests::{Fake, bucket};
use super::super::{BulkLines, OutputFormat, Packing};
use super::*;

/// More than two megabytes, of which a block has a quarter.
const DOCS: u64 = 2000;

/// Documents of which only the last one has the field `last`.
fn write(path: &Path) {
    let mut text = String::new();
    for n in 0..DOCS {
        let last = if n == DOCS - 1 { ",\"last\":true" } else { "" };
        // It does not compress, so that a block is more than a compressor keeps to itself.
        let words = (0..62).map(|at| (n * 64 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        let words: String = words.map(|word| format!("{:016x}", word.wrapping_mul(word | 1))).collect();
        writeln!(text, "{{\"n\":{n},\"text\":\"{words}\"{last}}}").unwrap();
    }
    fs::write(path, text).unwrap();
}

fn source(path: &Path) -> Box<dyn Source> {
    Box::new(open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default()).unwrap())
}

/// The numbers of the documents in a file or a folder, in their order.
fn numbers(path: &Path) -> Vec<u64> {
    let mut source = source(path);
    let mut found = Vec::new();
    while let Some(chunk) = source.next_chunk(1 << 20).unwrap() {
        let block = chunk.into_block();
        for record in 0..block.records.len() {
            found.push(serde_json::from_slice::<Value>(block.record(record)).unwrap()["n"].as_u64().unwrap());
        }
    }
    found
}

/// What is written, and where.
struct Scene {
    folder: tempfile::TempDir,
    output: Output,
    place: Place,
    /// Whether the source can be opened again.
    again: bool,
}

impl Scene {
    fn new(output: impl Into<Output>, place: Option<Place>, again: bool) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("in.ndjson"));
        let place = place.unwrap_or_else(|| Place::Folder(folder.path().join("out")));
        Scene { folder, output: output.into(), place, again }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes until `stop` blocks were read.
    fn run(&self, resume: bool, stop: u32) -> Result<Exported, ConvertError> {
        self.run_as(&self.output, resume, stop)
    }

    fn run_as(&self, output: &Output, resume: bool, stop: u32) -> Result<Exported, ConvertError> {
        let input = self.path("in.ndjson");
        let again = || Ok(source(&input));
        let again: Option<Open<'_>> = if self.again { Some(&again) } else { None };
        let blocks = Cell::new(0);
        let watch = |_: &Converted| {
            blocks.set(blocks.get() + 1);
            blocks.get() < stop
        };
        let (place, kept, begun) = (self.place.clone(), self.path("kept"), Arc::default());
        let to = Export { place, part_bytes: 1, resume, kept, begun };
        export(source(&input).as_mut(), again, output, &to, &watch)
    }

    /// Writes in runs of `stop` blocks each, and returns the last result.
    fn run_in_pieces(&self, stop: u32) -> Exported {
        let mut done = self.run(false, stop);
        for _ in 0..100 {
            match done {
                Err(ConvertError::Stopped) => done = self.run(true, stop),
                done => return done.unwrap(),
            }
        }
        panic!("it makes no progress");
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// All formats, compressions, and ways to read a source twice.
fn outputs() -> Vec<(Output, bool, &'static str)> {
    let packed = |target, packing| Output { packing, ..Output::from(target) };
    let bulk = OutputFormat::Bulk(BulkLines { id: Some("n".parse().unwrap()), ..BulkLines::default() });
    vec![
        (OutputFormat::Ndjson.into(), true, "ndjson"),
        (packed(OutputFormat::Smile, Packing::Gzip), true, "smile.gz"),
        (packed(bulk, Packing::Zstd), true, "bulk.zst"),
        (OutputFormat::Csv.into(), true, "csv"),
        (packed(OutputFormat::Csv, Packing::Gzip), false, "csv.gz"),
        #[cfg(feature = "parquet")]
        (OutputFormat::Parquet.into(), true, "parquet"),
        #[cfg(feature = "parquet")]
        (OutputFormat::Parquet.into(), false, "parquet"),
    ]
}

#[test]
fn an_output_that_was_cut_off_goes_on_with_each_document_once() {
    for (output, again, ending) in outputs() {
        let scene = Scene::new(output, None, again);
        let whole = scene.run(false, u32::MAX).unwrap();
        let out = scene.path("out");
        assert_eq!(numbers(&out), (0..DOCS).collect::<Vec<_>>(), "{ending}");
        assert!(whole.parts > 1 && !whole.was_complete && whole.converted.docs == DOCS, "{ending}: {whole:?}");
        let first = format!("part-000001.{ending}");
        assert!(names(&out).contains(&first) && !scene.path("kept").exists(), "{ending}: {:?}", names(&out));
        let files = names(&out);
        fs::remove_dir_all(&out).unwrap();
        // A table that is read twice looks at all blocks first.
        for stop in [2, 3, 4] {
            let stop =
                if ending.starts_with("csv") || ending == "parquet" { stop + whole.parts as u32 + 3 } else { stop };
            let pieces = scene.run_in_pieces(stop);
            assert_eq!(numbers(&out), (0..DOCS).collect::<Vec<_>>(), "{ending} {stop}");
            assert_eq!((pieces.parts, pieces.converted.docs), (whole.parts, DOCS), "{ending} {stop}");
            assert_eq!(pieces.converted.bytes_written, whole.converted.bytes_written, "{ending} {stop}");
            assert_eq!((names(&out), scene.path("kept").exists()), (files.clone(), false), "{ending} {stop}");
            let again = scene.run(true, u32::MAX).unwrap();
            assert!(again.was_complete && again.converted == pieces.converted, "{ending}: {again:?}");
            fs::remove_dir_all(&out).unwrap();
        }
    }
}

#[test]
fn an_object_store_has_the_same_parts() {
    let fake = Arc::new(Fake::default());
    let (_runtime, bucket) = bucket(&fake);
    for again in [true, false] {
        let scene = Scene::new(OutputFormat::Csv, Some(Place::Bucket(bucket.clone())), again);
        scene.run_in_pieces(9);
        let copy = scene.path("copy");
        fs::create_dir(&copy).unwrap();
        let objects = std::mem::take(&mut *fake.objects.lock().unwrap());
        for (name, contents) in objects.iter().filter(|(name, _)| name.starts_with("part-")) {
            assert!(contents.starts_with(b"n,text,last\n"), "{name}");
            fs::write(copy.join(name), contents).unwrap();
        }
        assert_eq!(numbers(&copy), (0..DOCS).collect::<Vec<_>>());
        assert!(fake.uploads.lock().unwrap().is_empty());
        assert!(String::from_utf8_lossy(&objects["_inrush.json"]).contains("\"complete\": true"));
    }
}

/// A process that is killed cannot take back what it has begun.
#[test]
fn what_a_killed_run_left_is_taken_back() {
    let fake = Arc::new(Fake::default());
    let (_runtime, bucket) = bucket(&fake);
    let scene = Scene::new(OutputFormat::Ndjson, Some(Place::Bucket(bucket.clone())), true);
    let stopped = scene.run(false, 3).unwrap_err();
    assert!(matches!(stopped, ConvertError::Stopped));
    // An upload, and a part that the state does not have.
    let part = bucket.part_writer("part-000003.ndjson", 1).unwrap();
    let upload = serde_json::to_value(part.upload().unwrap()).unwrap();
    let mut state: Value = serde_json::from_slice(&fake.objects.lock().unwrap()["_inrush.json"]).unwrap();
    state["upload"] = upload;
    let mut objects = fake.objects.lock().unwrap();
    objects.insert("_inrush.json".to_owned(), state.to_string().into());
    let other = objects["part-000001.ndjson"].clone();
    objects.insert("part-000003.ndjson".to_owned(), other);
    drop(objects);
    scene.run(true, u32::MAX).unwrap();
    assert!(fake.uploads.lock().unwrap().is_empty());
    let objects = fake.objects.lock().unwrap();
    let lines = objects.iter().filter(|(name, _)| name.starts_with("part-")).map(|(_, text)| text.to_vec());
    let text = lines.flatten().collect::<Vec<u8>>();
    assert_eq!(text, fs::read(scene.path("in.ndjson")).unwrap());
}

/// Documents that were kept and are gone cannot be gone on with.
#[test]
fn a_table_whose_documents_are_gone_begins_anew() {
    let scene = Scene::new(OutputFormat::Csv, None, false);
    let parts = scene.run(false, u32::MAX).unwrap().parts as u32;
    fs::remove_dir_all(scene.path("out")).unwrap();
    // The documents were kept, and looked at.
    let stopped = scene.run(false, 2 * parts + 3).unwrap_err();
    assert!(matches!(stopped, ConvertError::Stopped));
    assert!(names(&scene.path("out")).contains("part-000001.csv"));
    fs::remove_dir_all(scene.path("kept")).unwrap();
    scene.run(true, u32::MAX).unwrap();
    assert_eq!(numbers(&scene.path("out")), (0..DOCS).collect::<Vec<_>>());
}

/// A process that is killed while it deletes the parts of other documents is gone on with.
#[test]
fn parts_that_were_given_up_are_deleted_by_the_next_run() {
    let scene = Scene::new(OutputFormat::Csv, None, false);
    let parts = scene.run(false, u32::MAX).unwrap().parts as u32;
    fs::remove_dir_all(scene.path("out")).unwrap();
    assert!(matches!(scene.run(false, 2 * parts + 3), Err(ConvertError::Stopped)));
    let path = scene.path("out").join("_inrush.json");
    let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let given_up: Vec<Value> = state["parts"].as_array().unwrap().iter().map(|part| part["name"].clone()).collect();
    assert!(!given_up.is_empty());
    for name in ["parts", "read"] {
        state[name] = Value::Array(Vec::new());
    }
    for name in ["docs", "bytes_read"] {
        state[name] = 0.into();
    }
    state["dropped"] = given_up.into();
    fs::write(&path, state.to_string()).unwrap();
    fs::remove_file(scene.path("out").join("part-000001.csv")).unwrap();
    scene.run(true, u32::MAX).unwrap();
    assert_eq!(numbers(&scene.path("out")), (0..DOCS).collect::<Vec<_>>());
}

#[test]
fn a_run_ends_where_another_one_writes() {
    let fake = Arc::new(Fake::default());
    let (_runtime, bucket) = bucket(&fake);
    let scene = Scene::new(OutputFormat::Ndjson, Some(Place::Bucket(bucket)), true);
    let watch = |_: &Converted| {
        let mut objects = fake.objects.lock().unwrap();
        let mut state: Value = serde_json::from_slice(&objects["_inrush.json"]).unwrap();
        state["run"] = "another".into();
        objects.insert("_inrush.json".to_owned(), state.to_string().into());
        true
    };
    let (place, kept, begun) = (scene.place.clone(), scene.path("kept"), Arc::default());
    let to = Export { place, part_bytes: 1, resume: false, kept, begun };
    let ended = export(source(&scene.path("in.ndjson")).as_mut(), None, &scene.output, &to, &watch).unwrap_err();
    assert!(matches!(&ended, ConvertError::Refused(why) if why.contains("another process")), "{ended}");
    assert!(fake.uploads.lock().unwrap().is_empty());
    assert_eq!(fake.objects.lock().unwrap().len(), 1, "no part was completed");
}

#[test]
fn what_is_there_is_not_overwritten() {
    let scene = Scene::new(OutputFormat::Ndjson, None, true);
    let out = scene.path("out");
    let refused = |output: &Output, resume, expected: &str| {
        let before = out.exists().then(|| names(&out));
        match scene.run_as(output, resume, u32::MAX) {
            Err(ConvertError::Refused(why)) => assert!(why.contains(expected), "{why}"),
            other => panic!("{expected}: {other:?}"),
        }
        assert!(before.is_none_or(|before| before == names(&out)), "{expected}");
    };
    refused(&scene.output, true, "has no output to go on with");
    assert!(!out.exists());
    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine.csv"), "a\n").unwrap();
    refused(&scene.output, false, "other files, such as mine.csv");
    fs::rename(out.join("mine.csv"), out.join("_mine.csv")).unwrap();
    assert!(matches!(scene.run(false, 3), Err(ConvertError::Stopped)));
    refused(&scene.output, false, "was cut off (option `resume`");
    refused(&OutputFormat::Csv.into(), true, "changed: the format and the compression");
    refused(&Output { id_as: Some("x".to_owned()), ..scene.output.clone() }, true, "changed: the field for ids");
    fs::write(out.join("mine.csv"), "a\n").unwrap();
    refused(&scene.output, true, "has another file, mine.csv");
    fs::remove_file(out.join("mine.csv")).unwrap();
    let part = fs::read(out.join("part-000002.ndjson")).unwrap();
    fs::write(out.join("part-000002.ndjson"), &part[1..]).unwrap();
    refused(&scene.output, true, "has no part part-000002.ndjson of");
    fs::write(out.join("part-000002.ndjson"), part).unwrap();
    let other = fs::File::open(&out).unwrap();
    other.lock().unwrap();
    refused(&scene.output, true, "another process writes to");
    other.unlock().unwrap();
    let input = fs::read_to_string(scene.path("in.ndjson")).unwrap();
    fs::write(scene.path("in.ndjson"), input.replacen("\"n\":5,", "\"n\":6,", 1)).unwrap();
    refused(&scene.output, true, "in.ndjson has changed");
    fs::write(scene.path("in.ndjson"), "").unwrap();
    refused(&scene.output, true, "has 0 now");
}

#[test]
fn an_empty_source_has_no_parts() {
    for (output, again, ending) in outputs() {
        let scene = Scene::new(output, None, again);
        fs::write(scene.path("in.ndjson"), "").unwrap();
        let done = scene.run(false, u32::MAX).unwrap();
        assert_eq!((done.parts, done.converted.docs), (0, 0), "{ending}");
        assert_eq!(names(&scene.path("out")), BTreeSet::from(["_inrush.json".to_owned()]), "{ending}");
    }
}

/// The number is that of all runs.
#[test]
fn empty_lines_are_counted_over_all_runs() {
    let scene = Scene::new(OutputFormat::Csv, None, true);
    let null = format!("{{\"a\":null{}}}\n", " ".repeat(1000));
    fs::write(scene.path("in.ndjson"), null.repeat(2000)).unwrap();
    let done = scene.run_in_pieces(8);
    assert!(done.converted.notes[0].ends_with(": 2000"), "{:?}", done.converted.notes);
}

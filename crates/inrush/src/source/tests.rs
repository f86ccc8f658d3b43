//! Files from their bytes on disk to documents with their places.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use proptest::prelude::*;

use super::compression::Codec;
use super::compression::tests::{ALL, compress};
use super::*;

/// A document or a reject as a person would name it.
#[derive(Clone, Debug, PartialEq)]
struct Read {
    source: u32,
    byte: u64,
    line: u64,
    text: Vec<u8>,
    reject: Option<&'static str>,
}

#[derive(Debug, Default)]
struct All {
    reads: Vec<Read>,
    lines: u64,
    bytes_read: u64,
    error: Option<SourceError>,
}

impl All {
    fn texts(&self) -> Vec<String> {
        self.reads.iter().map(|r| String::from_utf8_lossy(&r.text).into_owned()).collect()
    }

    /// (byte, line) of each.
    fn places(&self) -> Vec<(u64, u64)> {
        self.reads.iter().map(|r| (r.byte, r.line)).collect()
    }

    fn rejects(&self) -> Vec<Option<&'static str>> {
        self.reads.iter().map(|r| r.reject).collect()
    }
}

fn options(format: Format) -> FormatOptions {
    FormatOptions { format: Some(format), ..FormatOptions::default() }
}

/// Reads everything, and puts the blocks one after another as the engine does.
fn read_all(source: &mut Files, chunk_bytes: usize) -> All {
    let mut all = All::default();
    let mut at = SourceId(0);
    loop {
        let block = match source.next_chunk(chunk_bytes) {
            Ok(Some(Chunk::Raw(raw))) => Arc::clone(&raw.decoder).decode(raw),
            Ok(Some(Chunk::Docs(block))) => block,
            Ok(None) => return all,
            Err(error) => {
                assert!(source.next_chunk(chunk_bytes).unwrap().is_none(), "an error is the end");
                all.error = Some(error);
                return all;
            }
        };
        if block.origin.source != at {
            at = block.origin.source;
            all.lines = 0;
        }
        let mut origin = block.origin;
        origin.first_line = all.lines + 1;
        let mut rejects = block.rejects.iter().peekable();
        for (i, record) in block.records.iter().enumerate() {
            let place = origin.position(i, *record);
            let reject = rejects.next_if(|r| r.record as usize == i).map(|r| r.kind);
            let text = block.record(i).to_vec();
            all.reads.push(Read { source: place.source.0, byte: place.byte, line: place.line, text, reject });
        }
        assert!(rejects.next().is_none(), "rejects name records in order");
        all.lines += block.lines;
        all.bytes_read += block.bytes_read;
    }
}

fn read_bytes(data: &[u8], options: FormatOptions, chunk_bytes: usize) -> All {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), data).unwrap();
    let mut files = open(&[SourceSpec::new(file.path())], options, &Warnings::default()).unwrap();
    assert_eq!(files.bytes_total(), Some(data.len() as u64));
    read_all(&mut files, chunk_bytes)
}

/// What lines are, as simply as it can be said.
fn naive(data: &[u8]) -> Vec<Read> {
    let mut reads = Vec::new();
    let mut byte = 0;
    for (i, text) in data.split(|&b| b == b'\n').enumerate() {
        let line = text.strip_suffix(b"\r").unwrap_or(text);
        if !line.iter().all(u8::is_ascii_whitespace) {
            reads.push(Read { source: 0, byte, line: i as u64 + 1, text: line.to_vec(), reject: None });
        }
        byte += text.len() as u64 + 1;
    }
    reads
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_in_any_chunks_are_their_lines(
        data in proptest::collection::vec(proptest::sample::select(&b"ab{ \t\r\n\n\xC3\x80\0"[..]), 0..300),
        chunk_bytes in 1..400_usize,
        codec in proptest::option::of(proptest::sample::select(&ALL[..])),
        cut in 0..300_usize,
    ) {
        let stored = match codec {
            None => data.clone(),
            Some(codec) => {
                let (one, two) = data.split_at(cut.min(data.len()));
                [compress(codec, one), compress(codec, two)].concat()
            }
        };
        let all = read_bytes(&stored, options(Format::Ndjson), chunk_bytes);
        prop_assert!(all.error.is_none(), "{:?}", all.error);
        prop_assert_eq!(all.bytes_read, stored.len() as u64);
        prop_assert_eq!(all.reads, naive(&data));

        // The same lines as text; those that are no UTF-8 stay as they are.
        let text = read_bytes(&stored, options(Format::Text), chunk_bytes);
        for (text, line) in text.reads.iter().zip(naive(&data)) {
            match std::str::from_utf8(&line.text) {
                Ok(expected) => {
                    let document: serde_json::Value = serde_json::from_slice(&text.text).unwrap();
                    prop_assert_eq!(document, serde_json::json!({ "message": expected }));
                    prop_assert_eq!(text.reject, None);
                }
                Err(_) => {
                    prop_assert_eq!(&text.text, &line.text);
                    prop_assert_eq!(text.reject, Some("invalid_utf8"));
                }
            }
            prop_assert_eq!((text.byte, text.line), (line.byte, line.line));
        }
        prop_assert_eq!(text.reads.len(), naive(&data).len());
    }
}

#[test]
fn line_ends_blank_lines_and_a_byte_order_mark() {
    let all = read_bytes(b"\xEF\xBB\xBF{\"a\":1}\r\n\r\n \n{\"b\":2}", options(Format::Ndjson), 8);
    assert_eq!(all.texts(), ["{\"a\":1}", "{\"b\":2}"]);
    assert_eq!(all.places(), [(3, 1), (16, 4)]);
    assert_eq!(all.lines, 4);
    for empty in [&b""[..], b"\n", b"\xEF\xBB\xBF", b"\r\n \n"] {
        let all = read_bytes(empty, FormatOptions::default(), 8);
        assert!(all.error.is_none() && all.reads.is_empty(), "{empty:?}: {all:?}");
        assert_eq!(all.bytes_read, empty.len() as u64, "{empty:?}");
    }
}

#[test]
fn other_encodings_become_utf_8() {
    let text = "{\"a\":\"é日𝄞\"}\r\n\n{\"b\":2}";
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        let data: Vec<u8> = std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(unit).collect();
        let all = read_bytes(&data, FormatOptions::default(), 1000);
        assert_eq!(all.texts(), ["{\"a\":\"é日𝄞\"}", "{\"b\":2}"]);
        assert_eq!(all.places(), [(0, 1), (20, 3)]);
        assert_eq!(all.bytes_read, data.len() as u64);
    }
    let latin = FormatOptions { charset: Some("latin1".parse().unwrap()), ..options(Format::Text) };
    assert_eq!(read_bytes(b"caf\xE9\nna\xEFve", latin, 4).texts(), [r#"{"message":"café"}"#, r#"{"message":"naïve"}"#]);
    let utf8 = read_bytes(b"caf\xE9\nok\n", options(Format::Text), 4);
    assert_eq!(utf8.rejects(), [Some("invalid_utf8"), None]);
}

#[test]
fn records_larger_than_a_chunk_are_read_and_those_larger_than_the_limit_are_rejects() {
    let (fits, exact, over) = ("a".repeat(1500), "b".repeat(2000), "c".repeat(2001));
    let huge = "é".repeat(50_000);
    let data = format!("1\n{fits}\n\n{exact}\r\n{over}\r\n2\n{huge}\n3\n{huge}");
    for chunk_bytes in [1, 64, 700, 2002, 5000, 1 << 20] {
        let options = FormatOptions { document_bytes_max: 2000, ..options(Format::Ndjson) };
        let all = read_bytes(data.as_bytes(), options, chunk_bytes);
        let rejected = Some("too_large");
        assert_eq!(all.rejects(), [None, None, None, rejected, None, rejected, None, rejected], "{chunk_bytes}");
        let expected: Vec<_> = naive(data.as_bytes()).iter().map(|r| (r.byte, r.line)).collect();
        assert_eq!(all.places(), expected, "{chunk_bytes}");
        assert_eq!(all.texts()[2], exact);
        assert_eq!(all.texts()[3], over[..TOO_LARGE_KEPT]);
        assert_eq!(all.texts()[7], "é".repeat(512));
        assert_eq!(all.lines, 9);
    }
}

#[test]
fn what_a_damaged_file_holds_is_delivered_before_the_error() {
    let mut text = Vec::new();
    for i in 0..20_000_u32 {
        writeln!(text, "{{\"n\":{},\"id\":{i}}}", i.wrapping_mul(2_654_435_761)).unwrap();
    }
    for codec in ALL {
        let mut data = compress(codec, &text);
        data.truncate(data.len() * 3 / 4);
        let all = read_bytes(&data, options(Format::Ndjson), 4096);
        let error = all.error.unwrap();
        assert_eq!(error.source_id, Some(SourceId(0)));
        let message = error.to_string();
        assert!(message.contains(&format!("the {} stream is ", codec.name())), "{message}");
        assert!(message.contains("bytes of content"), "{message}");
        assert!(all.reads.len() > 100 || codec == Codec::Bzip2, "{codec:?}: {}", all.reads.len());
        assert_eq!(all.reads[..], naive(&text)[..all.reads.len()], "{codec:?}");
    }
    let mut data = compress(Codec::Gzip, &text);
    let middle = data.len() / 2;
    data[middle..middle + 50].fill(0xFF);
    let message = read_bytes(&data, options(Format::Ndjson), 4096).error.unwrap().to_string();
    assert!(message.contains("gzip stream is damaged at byte"), "{message}");
}

fn specs(paths: &[PathBuf]) -> Vec<SourceSpec> {
    paths.iter().map(SourceSpec::new).collect()
}

fn open_error(specs: &[SourceSpec]) -> String {
    match open(specs, FormatOptions::default(), &Warnings::default()) {
        Ok(files) => panic!("opened {:?}", files.names()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn several_files_and_globs_are_read_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("b1.ndjson"), "{\"n\":1}\n{\"n\":2}").unwrap();
    fs::write(path("b0.ndjson"), compress(Codec::Zstd, b"{\"n\":0}\n")).unwrap();
    fs::write(path("x[1].log"), "{\n").unwrap();
    fs::write(path("a.txt"), "line\n").unwrap();
    fs::write(path("rows.csv"), "n,s\n7,x\n").unwrap();
    fs::create_dir(path("b2.ndjson")).unwrap();
    let wanted = specs(&[path("a.txt"), path("b*.ndjson"), path("rows.csv")]);
    let mut files = open(&wanted, FormatOptions::default(), &Warnings::default()).unwrap();
    let names = ["a.txt", "b0.ndjson", "b1.ndjson", "rows.csv"].map(|n| path(n).display().to_string());
    assert_eq!(files.names(), names);
    let total: u64 = names.iter().map(|n| fs::metadata(n).unwrap().len()).sum();
    assert_eq!(files.bytes_total(), Some(total));
    let all = read_all(&mut files, 1000);
    let expected = [r#"{"message":"line"}"#, r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":7,"s":"x"}"#];
    assert_eq!(all.texts(), expected);
    assert_eq!(all.reads.iter().map(|r| r.source).collect::<Vec<_>>(), [0, 1, 2, 2, 3]);
    assert_eq!(all.bytes_read, total);
    // A name that exists is meant, though it could be a pattern.
    let files = open(&specs(&[path("x[1].log")]), FormatOptions::default(), &Warnings::default()).unwrap();
    assert_eq!(files.names(), [path("x[1].log").display().to_string()]);
}

#[test]
fn what_cannot_be_opened_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(open_error(&specs(&[path("no.ndjson")])).contains("cannot be opened"));
    assert!(open_error(&specs(&[path("no*.ndjson")])).contains("matches no file"));
    assert!(open_error(&specs(&[path("[")])).contains("no valid glob pattern"));
    assert!(open_error(&specs(&[folder.path().to_owned()])).contains("is a directory"));
    assert!(open_error(&[SourceSpec::new("-"), SourceSpec::new("-")]).contains("given twice"));
    for (name, data, expected) in [
        ("a.json", &b"[{\"a\":1}]"[..], "JSON array"),
        ("a.parquet", b"PAR1\x15\x04\x15\x00", "Parquet"),
        ("a.avro", b"Obj\x01\x04\x14", "Avro"),
        ("a.xlsx", b"PK\x03\x04\x14\x00", "zip"),
        ("a", b"one two\n", "--format"),
    ] {
        for stored in [data.to_vec(), compress(Codec::Gzip, data)] {
            fs::write(path(name), stored).unwrap();
            let mut files = open(&specs(&[path(name)]), FormatOptions::default(), &Warnings::default()).unwrap();
            let message = read_all(&mut files, 1000).error.unwrap().to_string();
            assert!(message.contains(expected) && message.contains(name), "{message}");
        }
    }
}

/// Of a pipe that says a little and stays open.
#[cfg(unix)]
fn first_of_a_silent_pipe(said: &'static [u8], options: FormatOptions) -> (Vec<String>, Vec<String>) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let (arrived, wait) = mpsc::channel::<()>();
    let writer = {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
            pipe.write_all(said).unwrap();
            // Nothing more is said before the reader has handed on what was said.
            wait.recv().unwrap();
            pipe.write_all(b"9\n").unwrap();
        })
    };
    let mut files = open(&[SourceSpec::new(&path)], options, &Warnings::default()).unwrap();
    assert_eq!(files.bytes_total(), None);
    let Some(Chunk::Raw(raw)) = files.next_chunk(1 << 20).unwrap() else { panic!("a chunk") };
    arrived.send(()).unwrap();
    let block = Arc::clone(&raw.decoder).decode(raw);
    let texts = (0..block.records.len()).map(|i| String::from_utf8_lossy(block.record(i)).into_owned()).collect();
    let rest = read_all(&mut files, 1 << 20).texts();
    writer.join().unwrap();
    (texts, rest)
}

#[cfg(unix)]
#[test]
fn a_silent_pipe_does_not_hold_back_what_it_has_said() {
    let owned = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    let lines = first_of_a_silent_pipe(b"1\n2", options(Format::Ndjson));
    assert_eq!(lines, (owned(&["1"]), owned(&["29"])));
    let rows = first_of_a_silent_pipe(b"n\n1\n", options(Format::Csv));
    assert_eq!(rows, (owned(&["{\"n\":1}"]), owned(&["{\"n\":9}"])));
}

/// The real data beside the workspace, where it is there.
fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("INRUSH_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join(name);
    path.exists().then_some(path)
}

#[test]
fn real_files_have_the_records_they_are_known_to_have() {
    let text = || options(Format::Text);
    let bars = || {
        let csv = csv::CsvOptions { separator: Some(b'|'), ..csv::CsvOptions::default() };
        FormatOptions { csv, ..options(Format::Csv) }
    };
    for (name, options, count) in [
        ("tate/artworks.ndjson.zst", FormatOptions::default(), 69_202),
        ("http/apache_logs", text(), 10_000),
        ("folio/instances.ndjson", FormatOptions::default(), 29),
        ("dvf/hendaye-64.csv", FormatOptions::default(), 2_575),
        ("dvf/valeursfoncieres-2018-extrait.txt", bars(), 10_000),
    ] {
        let Some(path) = shared(name) else {
            eprintln!("skipped: {name} is not there; INRUSH_SHARED_DATA names its folder");
            continue;
        };
        let mut files = open(&[SourceSpec::new(&path)], options, &Warnings::default()).unwrap();
        let all = read_all(&mut files, 512 << 10);
        assert!(all.error.is_none(), "{name}: {:?}", all.error);
        assert_eq!(all.reads.len(), count, "{name}");
        assert_eq!(all.reads.iter().filter(|r| r.reject.is_some()).count(), 0, "{name}");
        assert_eq!(Some(all.bytes_read), files.bytes_total(), "{name}");
    }
    for (name, expected) in
        [("parquet/green_tripdata_2024-01.parquet", "Parquet"), ("xlsx/Dry_Bean_Dataset.xlsx", "spreadsheet")]
    {
        let Some(path) = shared(name) else {
            eprintln!("skipped: {name} is not there; INRUSH_SHARED_DATA names its folder");
            continue;
        };
        let mut files = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
        let message = read_all(&mut files, 512 << 10).error.unwrap().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

//! Files, globs, stdin, compression, charsets and lines, as the engine reads them.

use std::io::Write;
use std::process::{Command, Stdio};

use inrush_sources::{Format, FormatOptions, Source, SourceSpec, Warnings, open};
use proptest::prelude::*;

use crate::common::own_process;
use crate::source_support::{self, CODECS, compress, drain, load, shared, write};

fn options(format: Format) -> FormatOptions {
    FormatOptions { format: Some(format), ..FormatOptions::default() }
}

#[test]
fn files_are_read_one_after_another_and_globs_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for (name, data) in [("b.ndjson", "{\"b\":1}\n\n{\"b\":2}"), ("a.ndjson", "{\"a\":1}\n"), ("c.ndjson", "")] {
        write(&dir, name, data.as_bytes());
    }
    std::fs::create_dir(dir.path().join("d.ndjson")).unwrap();
    let first = write(&dir, "first.json", b"{}\n");
    let specs = [SourceSpec::new(first), SourceSpec::new(dir.path().join("?.ndjson"))];
    let mut source = open(&specs, FormatOptions::default(), &Warnings::default()).unwrap();
    let names: Vec<_> = source.describe().names.iter().map(|n| n.rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(names, ["first.json", "a.ndjson", "b.ndjson", "c.ndjson"]);
    assert_eq!(source.describe().bytes_total, Some(3 + 8 + 16));
    let outcome = drain(&mut source, 1 << 20);
    assert_eq!(outcome.texts(), ["{}", "{\"a\":1}", "{\"b\":1}", "{\"b\":2}"]);
    let at: Vec<_> = outcome.records.iter().map(|r| (r.at.source.0, r.at.doc, r.at.line, r.at.byte)).collect();
    assert_eq!(at, [(0, 0, 1, 0), (1, 0, 1, 0), (2, 0, 1, 0), (2, 1, 3, 9)]);
    assert_eq!(outcome.bytes_read, 27);
}

#[test]
fn folders_are_fields_of_files_of_every_kind() {
    let dir = tempfile::tempdir().unwrap();
    for (name, data) in [
        ("year=2024/a.csv", "n\n1\n"),
        ("year=2024/b.ndjson", "{\"n\":2,\"year\":7}\n{\"n\":3}\nno json\n"),
        ("year=2025/c.json", "[{\"n\":4}, {}]"),
        ("year=2025/d.log", "five\n"),
    ] {
        std::fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        write(&dir, name, data.as_bytes());
    }
    let (outcome, _) = load(dir.path(), FormatOptions::default(), 100);
    let expected = [
        r#"{"n":1,"year":2024}"#,
        r#"{"n":2,"year":7}"#,
        r#"{"n":3,"year":2024}"#,
        "no json",
        r#"{"n":4,"year":2025}"#,
        r#"{"year":2025}"#,
        r#"{"message":"five","year":2025}"#,
    ];
    assert_eq!(outcome.texts(), expected);
    let without = FormatOptions { hive_partitions: false, ..FormatOptions::default() };
    assert_eq!(load(&dir.path().join("year=2024/a.csv"), without, 100).0.texts(), [r#"{"n":1}"#]);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |spec: &std::path::Path| {
        open(&[SourceSpec::new(spec)], FormatOptions::default(), &Warnings::default()).err().unwrap().to_string()
    };
    assert!(fails(&dir.path().join("*.csv")).ends_with("*.csv: matches no file"));
    assert!(fails(&dir.path().join("none.csv")).contains("none.csv: cannot be opened: No such file"));
    assert!(fails(dir.path()).contains("is a folder without files"));
    let twice = [SourceSpec::Stdin, SourceSpec::new("-")];
    assert!(open(&twice, FormatOptions::default(), &Warnings::default()).err().unwrap().message.contains("twice"));
}

#[test]
fn a_file_whose_name_looks_like_a_glob_is_that_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a[1]*.ndjson", b"{\"x\":1}");
    write(&dir, "a1.ndjson", b"{}");
    assert_eq!(load(&path, FormatOptions::default(), 100).0.texts(), ["{\"x\":1}"]);
}

#[test]
fn an_error_of_one_file_names_it_and_ends_the_source() {
    let dir = tempfile::tempdir().unwrap();
    let specs: Vec<_> = [("a.ndjson", "{}\n"), ("b.json", "{\n"), ("c.ndjson", "{}\n")]
        .into_iter()
        .map(|(name, data)| SourceSpec::new(write(&dir, name, data.as_bytes())))
        .collect();
    let outcome = drain(&mut open(&specs, FormatOptions::default(), &Warnings::default()).unwrap(), 100);
    assert_eq!(outcome.texts(), ["{}"]);
    let error = outcome.error.unwrap();
    assert_eq!(error.source_id.map(|id| id.0), Some(1));
    assert!(
        error.to_string().contains("b.json: the JSON is cut off at byte 2, inside the document that begins at byte 0"),
        "{error}"
    );
}

/// What comes of a file that is read in small pieces, and is changed `then`, after the first of
/// them.
#[allow(clippy::unwrap_used, reason = "a failure in a test's helper is a failed test")]
fn changed_meanwhile(name: &str, data: &[u8], then: impl FnOnce(&std::path::Path)) -> source_support::Outcome {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, name, data);
    let mut source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
    let first = source.next_chunk(10_000).unwrap().unwrap().into_block();
    assert!(!first.records.is_empty(), "{name}");
    then(&path);
    drain(&mut source, 10_000)
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    let json: String = (0..500_000).map(|i| format!("{{\"i\":{i}}}\n")).collect();
    let rows: String = "n,text\n".to_owned() + &(0..500_000).map(|i| format!("{i},some text\n")).collect::<String>();
    let noise: String =
        (0..500_000_u64).map(|i| format!("{{\"i\":{}}}\n", i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    let array = format!("[{}]", json.trim_end().replace('\n', ","));
    let packed = CODECS.map(|codec| (format!("a.ndjson.{codec}"), compress(codec, noise.as_bytes())));
    let plain = [("a.ndjson", &json), ("a.csv", &rows), ("a.log", &rows), ("a.json", &array)];
    let plain = plain.map(|(name, text)| (name.to_owned(), text.clone().into_bytes()));
    for (name, data) in packed.into_iter().chain(plain) {
        let len = data.len() as u64;
        let shrink = |path: &std::path::Path| {
            std::fs::File::options().write(true).open(path).unwrap().set_len(len - 20_003).unwrap();
        };
        let outcome = changed_meanwhile(&name, &data, shrink);
        let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error")).to_string();
        let expected = format!("it had {len} bytes and has {} now", len - 20_003);
        assert!(error.contains("changed while it was read") && error.contains(&expected), "{name}: {error}");
        assert!(!error.contains("damaged") && !error.contains("cut off"), "{name}: {error}");
        // What was cut in the middle is not taken for a whole record.
        let last = outcome.records.last().unwrap().text().to_owned();
        assert!(last.ends_with('}') && (!name.ends_with("csv") || last.contains("\"some text\"")), "{name}: {last}");
    }
}

#[test]
fn a_file_that_is_written_anew_while_it_is_read_is_an_error_and_one_that_grows_is_not() {
    let line = |i: usize| format!("{{\"i\":{i}}}\n");
    let text: String = (0..500_000).map(line).collect();
    let rewrite = |path: &std::path::Path| {
        let other: String = (500_000..1_100_000).map(line).collect();
        std::fs::write(path, other).unwrap();
    };
    let error = changed_meanwhile("a.ndjson", text.as_bytes(), rewrite).error.unwrap();
    assert!(error.message.contains("its beginning has changed"), "{error}");
    let grow = |path: &std::path::Path| {
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        file.write_all(line(500_000).as_bytes()).unwrap();
    };
    let outcome = changed_meanwhile("a.ndjson", text.as_bytes(), grow);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.records.last().unwrap().text(), "{\"i\":500000}");
}

#[test]
fn a_file_that_is_exchanged_before_its_turn_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(&dir, "a.ndjson", b"{\"a\":1}\n");
    let second = write(&dir, "b.ndjson", b"{\"b\":1}\n{\"b\":2}\n");
    let specs = [SourceSpec::new(first), SourceSpec::new(&second)];
    let mut source = open(&specs, FormatOptions::default(), &Warnings::default()).unwrap();
    std::fs::rename(&second, dir.path().join("b.ndjson.1")).unwrap();
    write(&dir, "b.ndjson", b"{\"c\":1}\n");
    let outcome = drain(&mut source, 1000);
    assert_eq!(outcome.texts(), ["{\"a\":1}"]);
    assert!(outcome.error.unwrap().message.contains("another file has its path now"));
}

#[test]
fn files_whose_names_are_no_utf_8_are_read() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    for byte in [0xFE, 0xFF] {
        let name = [&[byte], &b".ndjson"[..]].concat();
        std::fs::write(dir.path().join(std::ffi::OsStr::from_bytes(&name)), format!("{{\"a\":{byte}}}\n")).unwrap();
    }
    for spec in [SourceSpec::new(dir.path()), SourceSpec::new(dir.path().join("*.ndjson"))] {
        let mut source = open(&[spec], FormatOptions::default(), &Warnings::default()).unwrap();
        let names: Vec<_> = source.describe().names.iter().map(|n| n.rsplit('/').next().unwrap().to_owned()).collect();
        assert_eq!(names, ["\\xFE.ndjson", "\\xFF.ndjson"]);
        assert_eq!(source.fingerprints().unwrap().len(), 2);
        assert_eq!(drain(&mut source, 1000).texts(), ["{\"a\":254}", "{\"a\":255}"]);
    }
}

#[test]
fn pipes_in_folders_are_left_out_and_told_of() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir, "a.ndjson", b"{}\n");
    assert!(Command::new("mkfifo").arg(dir.path().join("b.ndjson")).status().unwrap().success());
    for spec in [SourceSpec::new(dir.path()), SourceSpec::new(dir.path().join("*"))] {
        let warnings = Warnings::default();
        let mut source = open(&[spec], FormatOptions::default(), &warnings).unwrap();
        assert_eq!(drain(&mut source, 1000).texts(), ["{}"]);
        let list = warnings.list();
        assert!(list.len() == 1 && list[0].source.ends_with("b.ndjson") && list[0].kind == "no_file", "{list:?}");
    }
}

#[test]
fn formats_that_no_name_tells_are_found_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    for (name, data) in [("a.ndjson", &b"{}\n"[..]), ("b", b"[1]"), ("c.gz", &compress("gzip", b"{}"))] {
        write(&dir, name, data);
    }
    assert_eq!(load(dir.path(), FormatOptions::default(), 1000).0.records.len(), 3);
    write(&dir, "README.md", b"# What this is\n");
    let opened = |options| open(&[SourceSpec::new(dir.path())], options, &Warnings::default());
    let error = opened(FormatOptions::default()).err().unwrap().to_string();
    assert!(error.contains("README.md: cannot tell the format"), "{error}");
    assert!(opened(options(Format::Ndjson)).is_ok());
}

#[test]
fn contents_that_want_a_flag_are_found_before_anything_is_read() {
    let bulk = b"{\"index\":{\"_id\":\"1\"}}\n{\"a\":1}\n";
    let hits = b"[\n{\"_id\":\"1\",\n\"_source\":{}}]";
    for (name, data, flag) in [
        ("b.json", &bulk[..], "option `format=bulk`"),
        ("b.ndjson", bulk, "option `format=bulk`"),
        ("b.jsonl.gz", &compress("gzip", bulk), "option `format=bulk`"),
        ("b.json", hits, "option `format=hits`"),
        ("b.txt", bulk, "option `format=bulk`"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write(&dir, "a.json", b"{}\n");
        write(&dir, name, data);
        let opened = |options| open(&[SourceSpec::new(dir.path())], options, &Warnings::default());
        let error = opened(FormatOptions::default()).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains(flag), "{error}");
        assert!(opened(options(Format::Ndjson)).is_ok());
    }
}

#[test]
fn action_lines_that_bulk_does_not_take_are_named() {
    for (target, named) in [
        ("{\"_id\":\"1\",\"pipeline\":\"p\"}", Some("`pipeline`")),
        ("{\"dynamic_templates\":{\"a\":\"t\"},\"require_data_stream\":true}", Some("`require_data_stream`")),
        ("{\"_parent\":\"p\"}", Some("`_parent`")),
        ("{\"_id\":\"1\",\"_type\":\"t\",\"routing\":\"r\"}", None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("{{\"index\":{target}}}\n{{\"a\":1}}\n");
        let path = write(&dir, "a.ndjson", text.as_bytes());
        let error = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).err();
        let error = error.unwrap().to_string();
        assert!(error.contains("looks like the body of a bulk request"), "{error}");
        assert!(named.is_none_or(|named| error.contains(named)), "{error}");
        assert_eq!(named.is_some(), error.contains("does not accept"), "{error}");
        let (outcome, _) = load(&path, options(Format::Bulk), 1000);
        assert_eq!(outcome.records[0].kind().is_empty(), named.is_none());
    }
}

#[test]
fn compression_is_told_by_content() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..5000).map(|i| format!("{{\"i\":{i}}}")).collect();
    let text = lines.join("\n");
    for codec in CODECS {
        // Two streams in a row, cut within a line, under a name that promises nothing.
        let (a, b) = text.as_bytes().split_at(20_003);
        let path = write(&dir, "data.ndjson", &[compress(codec, a), compress(codec, b)].concat());
        for bytes in [1000, 1 << 20] {
            let (outcome, _) = load(&path, FormatOptions::default(), bytes);
            assert!(outcome.error.is_none(), "{codec}: {:?}", outcome.error);
            assert_eq!(outcome.texts(), lines, "{codec}");
            assert_eq!(outcome.bytes_read, path.metadata().unwrap().len(), "{codec}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_off_delivers_what_is_whole_and_then_an_error() {
    let dir = tempfile::tempdir().unwrap();
    // Not well compressible, so that half of the file is about half of the lines.
    let lines: Vec<String> =
        (0..200_000_u64).map(|i| format!("{{\"i\":{}}}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    let text = lines.join("\n");
    for codec in CODECS {
        let data = compress(codec, text.as_bytes());
        let path = write(&dir, "cut.ndjson", &data[..data.len() / 2]);
        let (outcome, _) = load(&path, FormatOptions::default(), 100_000);
        let error = outcome.error.as_ref().unwrap();
        let message = error.to_string();
        assert!(
            message.contains("cut.ndjson") && message.contains(codec) && message.contains("of the file"),
            "{message}"
        );
        assert!(outcome.records.len() > 10_000, "{codec}: {} of {}", outcome.records.len(), lines.len());
        assert_eq!(outcome.texts(), lines[..outcome.records.len()], "{codec}");
        assert_eq!(error.source_id.map(|id| id.0), Some(0));
    }
}

#[test]
fn a_damaged_stream_is_an_error_after_what_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let text = "{\"a\":1}\n".repeat(100);
    for codec in CODECS {
        let mut data = compress(codec, text.as_bytes());
        let second: String = (0..3000).map(|i| format!("{{\"b\":{i}}}\n")).collect();
        data.extend(compress(codec, second.as_bytes()));
        let at = data.len() - 30;
        for byte in &mut data[at..at + 20] {
            *byte ^= 0x55;
        }
        let path = write(&dir, "damaged.ndjson", &data);
        let (outcome, _) = load(&path, FormatOptions::default(), 100);
        assert!(outcome.records.len() >= 100, "{codec}: {}", outcome.records.len());
        assert!(outcome.error.is_some(), "{codec}");
    }
}

#[test]
fn a_wrong_checksum_and_what_zstd_needs_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let text = "{\"a\":1}\n".repeat(100);
    let mut data = compress("gzip", text.as_bytes());
    data.extend(compress("gzip", text.as_bytes()));
    let checksum = data.len() - 8;
    data[checksum] ^= 1;
    let error = load(&write(&dir, "a.ndjson", &data), FormatOptions::default(), 1000).0.error.unwrap();
    assert!(error.message.contains("bytes 800 to 1600 of the content may be wrong"), "{error}");

    let dictionary = b"{\"name\":\"somebody\",\"city\":\"somewhere\"}\n".repeat(20);
    let mut writer = zstd::stream::write::Encoder::with_dictionary(Vec::new(), 1, &dictionary).unwrap();
    writer.write_all(&dictionary).unwrap();
    let path = write(&dir, "b.ndjson.zst", &writer.finish().unwrap());
    let error = load(&path, FormatOptions::default(), 1000).0.error.unwrap();
    assert!(error.message.contains("zstd -d -D DICTIONARY"), "{error}");
}

#[test]
fn charsets_are_converted_before_lines_are_cut() {
    let dir = tempfile::tempdir().unwrap();
    let lines = ["{\"name\":\"é\"}", "{\"name\":\"日本 𝄞\"}", "{\"name\":\"ਊ\u{a0a}\"}"];
    let text = lines.join("\r\n");
    let (second, third) = (lines[0].len() as u64 + 2, (lines[0].len() + lines[1].len()) as u64 + 4);
    let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(unit).collect()
    };
    for data in [text.clone().into_bytes(), utf16(u16::to_le_bytes), utf16(u16::to_be_bytes)] {
        for bytes in [1, 7, 1000] {
            let (outcome, warnings) = load(&write(&dir, "a.ndjson", &data), FormatOptions::default(), bytes);
            assert_eq!(outcome.texts(), lines);
            let at: Vec<_> = outcome.records.iter().map(|r| (r.at.byte, r.at.line)).collect();
            assert_eq!(at, [(0, 1), (second, 2), (third, 3)]);
            assert!(warnings.list().is_empty());
        }
    }
    let marked = [b"\xEF\xBB\xBF", text.as_bytes()].concat();
    let (outcome, _) = load(&write(&dir, "a.ndjson", &marked), FormatOptions::default(), 10);
    assert_eq!(outcome.texts(), lines);
    assert_eq!(outcome.records[1].at.byte, 3 + second);
    let latin1 = FormatOptions { charset: Some("latin1".parse().unwrap()), ..FormatOptions::default() };
    let (outcome, _) = load(&write(&dir, "a.ndjson", b"{\"name\":\"\xE9\x80\"}"), latin1, 10);
    assert_eq!(outcome.texts(), ["{\"name\":\"é€\"}"]);
}

#[test]
fn malformed_text_is_an_error_of_its_record_and_replaced_where_it_is_converted() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a.log", b"one\ntw\xFFo\nthree");
    let (outcome, warnings) = load(&path, FormatOptions::default(), 100);
    let kinds: Vec<_> = outcome.records.iter().map(|r| r.kind()).collect();
    assert_eq!(kinds, ["", "invalid_utf8", ""]);
    assert!(warnings.list().is_empty());
    let of = |charset: &str| FormatOptions { charset: Some(charset.parse().unwrap()), ..FormatOptions::default() };
    let (outcome, warnings) = load(&path, of("utf-8"), 100);
    assert_eq!(outcome.records.iter().map(|r| r.kind()).collect::<Vec<_>>(), kinds);
    assert!(warnings.list().is_empty());
    let (outcome, _) = load(&path, of("ascii"), 100);
    assert_eq!(outcome.texts(), ["{\"message\":\"one\"}"]);
    let error = outcome.error.unwrap().message;
    assert!(error.contains("byte 6 of the text is 0xff") && error.contains("option `charset`"), "{error}");
    let (outcome, warnings) = load(&path, of("euc-jp"), 100);
    assert_eq!(outcome.records[1].text(), "{\"message\":\"tw\u{FFFD}o\"}");
    assert_eq!(outcome.records[1].kind(), "");
    let list = warnings.list();
    assert_eq!((list.len(), list[0].kind, list[0].count), (1, "replaced_characters", 1));
}

#[test]
fn a_table_that_was_taken_for_text_by_its_name_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let text = b"id|name\n1|a\n";
    let (outcome, warnings) = load(&write(&dir, "sales.txt", text), FormatOptions::default(), 100);
    assert_eq!(outcome.texts().len(), 2);
    let list = warnings.list();
    assert!(list.len() == 1 && list[0].message.contains("option `format=csv`"), "{list:?}");
    let told = FormatOptions { format: Some(Format::Text), ..FormatOptions::default() };
    for (name, options) in [("sales.txt", told), ("app.log", FormatOptions::default())] {
        assert!(load(&write(&dir, name, text), options, 100).1.list().is_empty(), "{name}");
    }
}

#[test]
fn a_record_may_be_larger_than_a_chunk_but_not_than_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let fits = "x".repeat(10_000);
    let large = "y".repeat(10_001);
    let path = write(&dir, "a", format!("a\n{fits}\r\nb\n{large}\r\n\nc\n{large}").as_bytes());
    for bytes in [1, 100, 1 << 20] {
        let options = FormatOptions { document_bytes_max: 10_000, ..options(Format::Ndjson) };
        let (outcome, _) = load(&path, options, bytes);
        assert_eq!(outcome.texts(), ["a", &fits, "b", &large[..1024], "c", &large[..1024]]);
        let kinds: Vec<_> = outcome.records.iter().map(|r| r.kind()).collect();
        let no = "invalid_json";
        assert_eq!(kinds, [no, no, no, "too_large", no, "too_large"]);
        assert!(
            outcome.records[3].reject.as_ref().unwrap().1.starts_with("record has 10001 bytes, expected at most 10000")
        );
        let at: Vec<_> = outcome.records.iter().map(|r| (r.at.doc, r.at.line, r.at.byte)).collect();
        assert_eq!(at, [(0, 1, 0), (1, 2, 2), (2, 3, 10_004), (3, 4, 10_006), (4, 6, 20_010), (5, 7, 20_012)]);
    }
}

/// Runs again in processes of its own, into whose stdin it writes.
#[test]
fn stdin_is_read_like_a_file() {
    let text: String = (0..50_000).map(|i| format!("{{\"i\":{i}}}\n")).collect();
    for data in [text.clone().into_bytes(), compress("zstd", text.as_bytes())] {
        let Some(mut reading) = own_process::command(module_path!(), "stdin_is_read_like_a_file") else {
            let mut source = open(&[SourceSpec::new("-")], FormatOptions::default(), &Warnings::default()).unwrap();
            assert_eq!(source.describe().bytes_total, None);
            let outcome = drain(&mut source, 100_000);
            println!("{} records, {} bytes, error {:?}", outcome.records.len(), outcome.bytes_read, outcome.error);
            return;
        };
        let mut child = reading.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let len = data.len();
        let writer = std::thread::spawn(move || stdin.write_all(&data).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.contains(&format!("50000 records, {len} bytes, error None")), "{output}");
    }
}

/// The documents from a pipe that writes `first` and pauses, and those after it has written `rest`.
#[cfg(unix)]
#[allow(clippy::unwrap_used, reason = "a failure in a test's helper is a failed test")]
fn of_a_slow_pipe(first: &'static [u8], rest: &'static [u8], format: Format) -> (Vec<String>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (seen, waits) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            pipe.write_all(first).unwrap();
            // The rest is written only after the first documents have come out.
            waits.recv().unwrap();
            pipe.write_all(rest).unwrap();
        }
    });
    let mut source = open(&[SourceSpec::new(path)], options(format), &Warnings::default()).unwrap();
    let Ok(Some(inrush_sources::Chunk::Raw(chunk))) = source.next_chunk(1 << 20) else { panic!("no chunk") };
    seen.send(()).unwrap();
    let block = std::sync::Arc::clone(&chunk.decoder).decode(chunk);
    let early = (0..block.records.len()).map(|i| String::from_utf8_lossy(block.record(i)).into_owned()).collect();
    let late = drain(&mut source, 1 << 20).texts().into_iter().map(str::to_owned).collect();
    writer.join().unwrap();
    (early, late)
}

#[cfg(unix)]
#[test]
fn what_a_slow_pipe_has_said_does_not_wait_for_more() {
    let owned = |texts: &[&str]| texts.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
    let lines = of_a_slow_pipe(b"{\"a\":1}\n{\"a\":2}\n{\"half\":", b"3}\n", Format::Ndjson);
    assert_eq!(lines, (owned(&["{\"a\":1}", "{\"a\":2}"]), owned(&["{\"half\":3}"])));
    // Fewer bytes than a magic number or a byte order mark may have.
    let short = of_a_slow_pipe(b"1\n", b"2\n", Format::Ndjson);
    assert_eq!(short, (owned(&["1"]), owned(&["2"])));
    let rows = of_a_slow_pipe(b"n\n1\n", b"2\n", Format::Csv);
    assert_eq!(rows, (owned(&["{\"n\":1}"]), owned(&["{\"n\":2}"])));
}

#[test]
fn dead_letters_are_documents_again() {
    let dir = tempfile::tempdir().unwrap();
    let text = concat!(
        r#"{"error":{"status":400},"position":{"line":1},"action":{"create":{"_index":"i","_id":"7"}},"document":{"a":1}}"#,
        "\n",
        r#"{"error":{"status":0},"text":"a,b,c"}"#,
    );
    let path = write(&dir, "dead.ndjson.gz", &compress("gzip", text.as_bytes()));
    let (outcome, _) = load(&path, options("dead-letters".parse().unwrap()), 10);
    assert_eq!(outcome.texts(), [r#"{"a":1}"#, "a,b,c"]);
    assert_eq!(outcome.records[0].meta.as_ref().unwrap().id.as_deref(), Some("7"));
    assert_eq!((outcome.records[1].kind(), outcome.records[1].at.line), ("not_json", 2));
}

#[test]
fn real_files_have_the_records_they_are_known_to_have() {
    if let Some(path) = shared("tate/artworks.ndjson.zst") {
        let (outcome, _) = load(&path, FormatOptions::default(), 2 << 20);
        assert_eq!((outcome.records.len(), outcome.error.is_none()), (69_202, true));
        assert_eq!(outcome.bytes_read, path.metadata().unwrap().len());
        assert!(
            outcome.records.iter().step_by(97).all(|r| serde_json::from_slice::<serde_json::Value>(&r.data).is_ok())
        );
    }
    if let Some(path) = shared("http/apache_logs") {
        let text = std::fs::read_to_string(&path).unwrap();
        let (outcome, _) = load(&path, options(Format::Text), 100_000);
        assert_eq!(outcome.records.len(), 10_000);
        for (record, line) in outcome.records.iter().zip(text.lines()) {
            let document: serde_json::Value = serde_json::from_slice(&record.data).unwrap();
            assert_eq!(document, serde_json::json!({ "message": line }));
        }
    }
    if let Some(path) = shared("folio/instances.ndjson") {
        assert_eq!(load(&path, FormatOptions::default(), 1000).0.records.len(), 29);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_chunks_are_the_lines_of_a_naive_split(
        data in proptest::collection::vec(prop_oneof![3 => proptest::sample::select(&b"ab \n\n\r"[..]), 1 => any::<u8>()], 0..400),
        bytes in 1..100_usize,
        document_bytes_max in 1..60_usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        // A line first, so that the random bytes are no magic number or byte order mark.
        let data = [b"{}\n", &data[..]].concat();
        let path = write(&dir, "a.ndjson", &data);
        let (outcome, _) = load(&path, FormatOptions { document_bytes_max, ..options(Format::Ndjson) }, bytes);
        prop_assert!(outcome.error.is_none());
        prop_assert_eq!(outcome.bytes_read, data.len() as u64);

        let mut expected = Vec::new();
        let mut byte = 0;
        for (i, line) in data.split(|&b| b == b'\n').enumerate() {
            let text = line.strip_suffix(b"\r").unwrap_or(line);
            if !text.trim_ascii().is_empty() || text.len() > document_bytes_max {
                expected.push((expected.len() as u64, i as u64 + 1, byte, text.len() > document_bytes_max, text.to_vec()));
            }
            byte += line.len() as u64 + 1;
        }
        let found: Vec<_> = outcome.records.iter()
            .map(|r| (r.at.doc, r.at.line, r.at.byte, r.kind() == "too_large", r.data.clone()))
            .collect();
        prop_assert_eq!(found, expected);
    }
}

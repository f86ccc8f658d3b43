//! The output of this crate and of Jackson, byte by byte. `scripts/jackson.sh` fetches the jars and
//! sets the class path.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "a test reads files")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use inrush_smile::{DEPTH_MAX, Decimals, EncodeError, SmileDecoder, SmileEncoder, SmileOptions};

/// Each part as Jackson transcodes it; `None` where Jackson cannot.
fn jackson(mode: &str, parts: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let class_path = std::env::var("INRUSH_JACKSON").expect("run scripts/jackson.sh");
    let mut java = Command::new("java")
        .args(["-Xmx2g", "-cp", &class_path])
        .args(["tests/jackson/Transcode.java", mode])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Jackson answers when it has read all parts.
    let mut input = java.stdin.take().unwrap();
    for part in parts {
        input.write_all(&(part.len() as u32).to_be_bytes()).unwrap();
        input.write_all(part).unwrap();
    }
    drop(input);
    let output = java.wait_with_output().unwrap();
    assert!(output.status.success());
    let mut rest = &output.stdout[..];
    let mut results = Vec::new();
    while let Some((head, tail)) = rest.split_first_chunk::<4>() {
        let len = u32::from_be_bytes(*head);
        let len_kept = if len == u32::MAX { 0 } else { len as usize };
        results.push((len != u32::MAX).then(|| tail[..len_kept].to_vec()));
        rest = &tail[len_kept..];
    }
    results
}

fn encode(encoder: &mut SmileEncoder, json: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    encoder.encode(json, &mut out).map(|()| out)
}

fn decode(smile: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let read = SmileDecoder::default().decode(smile, &mut out).unwrap();
    assert_eq!(read, smile.len());
    out
}

/// Encodes and decodes with both. Returns how many documents were encoded.
fn check(what: &str, documents: &[Vec<u8>]) -> usize {
    let mut done = 0;
    for (shared_values, mode) in [(false, "encode"), (true, "encode-shared")] {
        let theirs = jackson(mode, documents);
        assert_eq!(theirs.len(), documents.len());
        let back = jackson("decode", &theirs.iter().flatten().cloned().collect::<Vec<_>>());
        let mut back = back.into_iter();
        let mut encoder = SmileEncoder::new(
            SmileOptions::default().with_shared_values(shared_values).with_decimals(Decimals::ByValue),
        );
        done = 0;
        for (document, theirs) in documents.iter().zip(theirs) {
            let text = || String::from_utf8_lossy(&document[..document.len().min(2000)]);
            // The decoder reads everything that Jackson wrote, as Jackson does.
            if let Some(theirs) = &theirs {
                let json = back.next().unwrap().unwrap();
                assert_eq!(String::from_utf8_lossy(&decode(theirs)), String::from_utf8_lossy(&json), "{what}, {mode}");
            }
            match (encode(&mut encoder, document), theirs) {
                (Ok(ours), Some(theirs)) => {
                    assert_eq!(ours, theirs, "{what}, {mode}: {}", text());
                    done += 1;
                }
                (Ok(_), None) => panic!("{what}, {mode}: Jackson takes no {}", text()),
                (Err(_), _) => {}
            }
        }
    }
    done
}

fn shared(path: &str) -> PathBuf {
    std::env::var_os("INRUSH_SHARED_DATA").map_or_else(|| "../../../shared/data".into(), PathBuf::from).join(path)
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

#[test]
fn real_documents() {
    if !shared("").exists() {
        println!("skipped: {} is not there", shared("").display());
        return;
    }
    let tate = zstd::decode_all(&std::fs::read(shared("tate/artworks.ndjson.zst")).unwrap()[..]).unwrap();
    let tate = lines(&tate);
    assert_eq!(check("tate", &tate), tate.len());
    let folio = lines(&std::fs::read(shared("folio/instances.ndjson")).unwrap());
    assert_eq!(check("folio", &folio), folio.len());
    let dvf: Vec<Vec<u8>> = [("dvf/hendaye-64.csv", ','), ("dvf/valeursfoncieres-2018-extrait.txt", '|')]
        .iter()
        .flat_map(|(path, separator)| rows(&std::fs::read_to_string(shared(path)).unwrap(), *separator))
        .collect();
    assert!(dvf.len() > 1000);
    assert_eq!(check("dvf", &dvf), dvf.len());
}

/// The rows of a table without quotes as JSON. Numeric cells become numbers.
fn rows(table: &str, separator: char) -> Vec<Vec<u8>> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(separator).collect();
    let mut rows = Vec::new();
    for line in lines {
        let mut row = String::from("{");
        for (name, cell) in names.iter().zip(line.split(separator)).filter(|(name, _)| !name.is_empty()) {
            let number = serde_json::from_str::<serde_json::Number>(cell).is_ok();
            let value = if number { cell.to_owned() } else { serde_json::to_string(cell).unwrap() };
            let comma = if row.len() > 1 { "," } else { "" };
            write!(row, "{comma}{}:{value}", serde_json::to_string(name).unwrap()).unwrap();
        }
        rows.push((row + "}").into_bytes());
    }
    rows
}

#[test]
fn the_json_test_suite() {
    if !shared("").exists() {
        println!("skipped: {} is not there", shared("").display());
        return;
    }
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(shared("json/JSONTestSuite"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .filter(|(name, _)| name.ends_with(".json"))
        .collect();
    all.sort();
    let mut encoder = SmileEncoder::new(SmileOptions::default().with_decimals(Decimals::ByValue));
    for (name, document) in &all {
        let found = encode(&mut encoder, document);
        match (&name[..2], &found) {
            ("y_", Ok(_)) | ("n_", Err(_)) | ("i_", _) => {}
            // Behaviour that JSON leaves open, or documents without an exact SMILE form.
            ("y_", Err(EncodeError::DuplicateName { .. } | EncodeError::Inexact { .. })) => {
                assert!(
                    name.contains("duplicated")
                        || name.contains("negative_zero")
                        || name.contains("minus_zero")
                        || name.contains("close_to_zero"),
                    "{name}: {found:?}"
                );
            }
            _ => panic!("{name}: {found:?}"),
        }
    }
    let documents: Vec<Vec<u8>> =
        all.into_iter().map(|(_, document)| document).filter(|document| !document.is_empty()).collect();
    assert!(check("JSONTestSuite", &documents) > 85);
}

#[test]
fn generated_documents() {
    let mut documents: Vec<String> = Vec::new();
    let strings = |count: usize, each: &dyn Fn(usize) -> String| {
        (0..count).map(|n| serde_json::to_string(&each(n)).unwrap()).collect::<Vec<_>>()
    };
    for filler in ["a", "é", "€", "😀", "a\n", "\u{0}\u{7f}", "\"\\/"] {
        for len in (0..140).chain(2600..2700).chain([7999, 8000, 8001, 20_000, 100_000]) {
            let text: String = filler.chars().cycle().take(len).collect();
            let text = serde_json::to_string(&text).unwrap();
            let name = if len < 10_000 { &text } else { "\"name\"" };
            documents.push(format!("{{{name}:{text},\"x\":[{text},{text},\"\\u00e9\\ud83d\\ude00\"]}}"));
        }
    }
    // More names and values than can be shared, so that the tables are cleared and reserved
    // references are skipped.
    for count in [30, 31, 32, 63, 64, 65, 253, 254, 255, 256, 257, 300, 511, 512, 1023, 1024, 1025, 1500, 3000] {
        let values = strings(count, &|n| format!("v{n}"));
        let again = strings(count, &|n| format!("v{}", n * 7 % count));
        documents.push(format!("[[{}],[{}]]", values.join(","), again.join(",")));
        let object = |names: &[String]| names.iter().map(|name| format!("{name}:1")).collect::<Vec<_>>().join(",");
        documents.push(format!("[{{{}}},{{{}}}]", object(&values), object(&values)));
    }
    let mut numbers = vec!["0".to_owned(), "0.0".into(), "-0.0".into(), "1E2".into(), "100.0e-2".into()];
    for digits in 1..60 {
        for sign in ["", "-"] {
            numbers.push(format!("{sign}{}", "1234567890".chars().cycle().take(digits).collect::<String>()));
            numbers.push(format!("{sign}{}", "9".repeat(digits)));
            numbers.push(format!("{sign}1{}", "0".repeat(digits)));
            numbers.push(format!("{sign}0.{}5", "0".repeat(digits)));
            numbers.push(format!("{sign}{}.25", "1234567890".chars().cycle().take(digits).collect::<String>()));
        }
    }
    for bits in 0..64 {
        for offset in -2..=2_i128 {
            numbers.push(((1_i128 << bits) + offset).to_string());
            numbers.push((-(1_i128 << bits) + offset).to_string());
        }
    }
    numbers.extend((-330..310).map(|power| format!("1.7e{power}")));
    numbers.push("8".repeat(1000));
    // Pseudo-random numbers, the same in every run.
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let double = f64::from_bits(state.rotate_left(17));
        if double.is_normal() {
            numbers.push(serde_json::to_string(&double).unwrap());
            numbers.push(format!("{:.6}", (state >> 40) as f64 / 1e5));
        }
    }
    let numbers: Vec<String> = numbers.into_iter().filter(|number| *number != "-0").collect();
    documents.extend(numbers.iter().map(|number| format!("{{\"n\":{number}}}")));
    documents.push(format!("{}1{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX)));
    documents.push(format!("{}1{}", "{\"a\":".repeat(DEPTH_MAX), "}".repeat(DEPTH_MAX)));
    documents.push(" { \"\" : [ null , true , false , { } , [ ] , \"\" ] , \"b\" : { \"\" : 1 , \"b\" : 2 } } ".into());
    let documents: Vec<Vec<u8>> = documents.into_iter().map(String::into_bytes).collect();
    let done = check("generated", &documents);
    println!("{done} of {} documents", documents.len());
    assert!(done * 100 > documents.len() * 99);
}

#[test]
fn forms_that_json_lacks() {
    let forms: Vec<Vec<u8>> = jackson("forms", &[]).into_iter().flatten().collect();
    assert_eq!(forms.len(), 80);
    for (form, json) in forms.iter().zip(jackson("decode", &forms)) {
        assert_eq!(String::from_utf8(decode(form)).unwrap(), String::from_utf8(json.unwrap()).unwrap());
    }
    let decimals: Vec<Vec<u8>> =
        ["1.10", "1e400", "-0.000000100", "3.14159265358979323846264338327950288", "1E-7", "0.0000000"]
            .iter()
            .map(|number| format!("[{number}]").into_bytes())
            .collect();
    let exact: Vec<Vec<u8>> = jackson("encode-exact", &decimals).into_iter().flatten().collect();
    for (smile, json) in exact.iter().zip(jackson("decode", &exact)) {
        assert_eq!(String::from_utf8(decode(smile)).unwrap(), String::from_utf8(json.unwrap()).unwrap());
    }
}

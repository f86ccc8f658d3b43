//! Files on a web server, as the engine reads them: formats, compressions, connections that break,
//! servers that give no parts.

use std::fmt::Write as _;

use inrush_core::Code;
use inrush_sources::{Chosen, Files, Format, FormatOptions, Repeats, Source, SourceError, SourceSpec, Warnings, open};
use zip::CompressionMethod;

use crate::source_archive::{CSV, NDJSON, archives, zip};
use crate::source_support::{self, CODECS, Outcome, compress, drain};
use crate::web_server::{WebFile, WebServer};

fn lines(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        writeln!(text, r#"{{"n":{n},"text":"some words to fill it"}}"#).unwrap();
        text
    })
}

fn source(url: &str, format: Option<Format>) -> Result<Files, SourceError> {
    open(&[SourceSpec::new(url)], FormatOptions { format, ..FormatOptions::default() }, &Warnings::default())
}

fn read(url: &str) -> Outcome {
    drain(&mut source(url, None).unwrap(), 100_000)
}

#[test]
fn compressed_and_plain_files_are_read_to_their_end() {
    let server = WebServer::start();
    let text = lines(20_000);
    for codec in CODECS.into_iter().map(Some).chain([None]) {
        let data = codec.map_or_else(|| text.clone().into_bytes(), |codec| compress(codec, text.as_bytes()));
        let len = data.len() as u64;
        let outcome = read(&server.put("/a.ndjson", WebFile::new(data)));
        assert!(outcome.error.is_none(), "{codec:?}: {:?}", outcome.error);
        assert_eq!(outcome.texts().join("\n") + "\n", text, "{codec:?}");
        assert_eq!(outcome.bytes_read, len, "{codec:?}");
    }
    let outcome = read(&server.put("/a.csv", WebFile::new("a,b\n1,x\n")));
    assert_eq!(outcome.texts(), [r#"{"a":1,"b":"x"}"#]);
    let outcome = read(&server.put("/empty.ndjson", WebFile::new("")));
    assert!(outcome.error.is_none() && outcome.records.is_empty());
}

#[test]
fn members_of_an_archive_are_files() {
    let server = WebServer::start();
    let packed = compress("gzip", NDJSON);
    let members: [(&str, &[u8]); 4] =
        [("z.csv", CSV), ("year=2024/b.ndjson", NDJSON), ("_SUCCESS", b""), ("packed.ndjson.gz", &packed)];
    let expected = [
        r#"{"id":3}"#,
        r#"{"id":4}"#,
        r#"{"id":3,"year":2024}"#,
        r#"{"id":4,"year":2024}"#,
        r#"{"id":1,"town":"Rye"}"#,
        r#"{"id":2,"town":"Ely"}"#,
    ];
    for (name, data) in archives(&members) {
        let path = format!("/{name}");
        // Connections break, also where the server sends no parts.
        for ranges in [true, false] {
            let file = WebFile { ranges, breaks: (data.len() / 3, 2), ..WebFile::new(data.clone()) };
            let url = server.put(&path, file);
            let mut source = source(&url, None).unwrap();
            let info = source.describe();
            let names = ["packed.ndjson.gz", "year=2024/b.ndjson", "z.csv"].map(|name| format!("{url}/{name}"));
            assert_eq!((info.names, info.repeats), (names.into(), Repeats::Always), "{name}");
            source.check_all().unwrap();
            let outcome = drain(&mut source, 1000);
            assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
            assert_eq!(outcome.texts(), expected, "{name}");
            assert_eq!(info.bytes_total, Some(outcome.bytes_read), "{name}");
            assert_eq!(server.files.lock().unwrap()[&path].breaks.1, 0, "no connection was broken");
        }
        let data = [&data[..data.len() / 2], &[0; 64]].concat();
        let found = source(&server.put(&path, WebFile::new(data)), None);
        let error = found.map_or_else(|error| error, |mut source| drain(&mut source, 1000).error.unwrap());
        assert!(error.name.contains(&name) && error.code == Code::DamagedCompression, "{name}: {error}");
        // It is of another kind than its name says.
        let outcome = read_as_csv(&server.put(&path, WebFile::new(CSV)));
        assert_eq!(outcome.texts(), [r#"{"id":1,"town":"Rye"}"#, r#"{"id":2,"town":"Ely"}"#], "{name}");
    }
}

fn read_as_csv(url: &str) -> Outcome {
    drain(&mut source(url, "csv".parse().ok()).unwrap(), 1000)
}

#[test]
fn an_archive_is_fetched_once_and_again_when_it_is_another_one() {
    let server = WebServer::start();
    let url = server.put("/a.zip", WebFile::new(zip(&[("a.csv", CSV)], CompressionMethod::Deflated))) + "?part=1";
    let specs = [SourceSpec::new(&url)];
    let opened = || open(&specs, FormatOptions::default(), &Warnings::default()).unwrap();
    let fingerprints = |source: &Files| source.fingerprints().unwrap();
    let before = opened();
    // The format of a member is that of its own name.
    assert_eq!(before.describe().names, [url.replace('?', "/a.csv?")]);
    let after_one = server.requests.lock().unwrap().len();
    assert_eq!(drain(&mut opened(), 1000).records.len(), 2);
    assert_eq!(fingerprints(&opened()), fingerprints(&before));
    // It is only asked whether it is the same.
    assert_eq!(server.requests.lock().unwrap().len(), after_one + 2);
    let other = zip(&[("a.csv", b"id\n7\n")], CompressionMethod::Deflated);
    server.put("/a.zip", WebFile { etag: Some("\"v2\"".to_owned()), ..WebFile::new(other.clone()) });
    let mut now = opened();
    assert_ne!(fingerprints(&now), fingerprints(&before));
    assert_eq!(drain(&mut now, 1000).texts(), [r#"{"id":7}"#]);
    // Nothing tells versions apart.
    server.put("/a.zip", WebFile { etag: None, ..WebFile::new(other) });
    assert_eq!(opened().describe().repeats, Repeats::Once);
    let left_out = FormatOptions {
        chosen: Chosen { include: Vec::new(), exclude: vec!["*.zip".parse().unwrap()] },
        ..FormatOptions::default()
    };
    let asked = server.requests.lock().unwrap().len();
    let error = open(&specs, left_out, &Warnings::default()).err().unwrap().to_string();
    assert!(error.contains("no file is left"), "{error}");
    assert_eq!(server.requests.lock().unwrap().len(), asked, "it was not asked for");
}

#[test]
fn many_files_come_in_their_order() {
    let server = WebServer::start();
    let urls: Vec<SourceSpec> = (0..40)
        .map(|n| SourceSpec::new(server.put(&format!("/{n}.ndjson"), WebFile::new(format!("{{\"n\":{n}}}\n")))))
        .collect();
    let mut source = open(&urls, FormatOptions::default(), &Warnings::default()).unwrap();
    let outcome = drain(&mut source, 1000);
    let expected: Vec<String> = (0..40).map(|n| format!("{{\"n\":{n}}}")).collect();
    assert_eq!(outcome.texts(), expected);
    // One to find each, one to read it.
    assert_eq!(server.requests.lock().unwrap().len(), 80);
}

#[test]
fn a_connection_that_breaks_is_gone_on_with() {
    let server = WebServer::start();
    let text = lines(50_000);
    for (ranges, codec) in [(true, None), (false, None), (true, Some("gzip"))] {
        let data = codec.map_or_else(|| text.clone().into_bytes(), |codec| compress(codec, text.as_bytes()));
        let file = WebFile { ranges, breaks: (data.len() / 5, 3), ..WebFile::new(data) };
        let url = server.put("/a.ndjson", file);
        let outcome = read(&url);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert!(outcome.texts().join("\n") + "\n" == text);
        assert_eq!(server.files.lock().unwrap()["/a.ndjson"].breaks.1, 0, "no connection was broken");
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_stops_with_its_place() {
    let server = WebServer::start();
    let url = server.put("/a.ndjson.gz", WebFile::new(compress("gzip", lines(100_000).as_bytes())));
    let mut source = source(&url, None).unwrap();
    server.put("/a.ndjson.gz", WebFile { etag: Some("\"v2\"".to_owned()), ..WebFile::new("{}") });
    let error = drain(&mut source, 100_000).error.unwrap();
    assert!(error.message.contains("changed while it was read"), "{error}");
    assert!(!error.message.contains("damaged"), "{error}");
}

#[test]
fn a_stream_of_unknown_length_is_read_once() {
    let server = WebServer::start();
    let url = server.put("/a.ndjson", WebFile { length: false, ranges: false, ..WebFile::new(lines(1000)) });
    let mut source = source(&url, None).unwrap();
    assert_eq!((source.describe().bytes_total, source.describe().repeats), (None, Repeats::Once));
    assert_eq!(drain(&mut source, 1000).records.len(), 1000);
    let url = server.put("/b.ndjson", WebFile { etag: None, ..WebFile::new("{}") });
    assert_eq!(self::source(&url, None).unwrap().describe().repeats, Repeats::Once);
}

#[test]
fn fingerprints_tell_one_version_from_another() {
    let server = WebServer::start();
    let url = server.put("/a.ndjson", WebFile::new("{}"));
    let fingerprint = || {
        let source = source(&url, None).unwrap();
        assert_eq!((source.describe().bytes_total, source.describe().repeats), (Some(2), Repeats::Always));
        source.fingerprints().unwrap()
    };
    let before = fingerprint();
    assert_eq!(fingerprint(), before);
    server.put("/a.ndjson", WebFile { etag: Some("\"v2\"".to_owned()), ..WebFile::new("{}") });
    assert_ne!(fingerprint(), before);
}

#[test]
fn versions_that_nothing_tells_apart_are_not_mixed() {
    let server = WebServer::start();
    let text = lines(10_000);
    let unnamed = WebFile { etag: None, ..WebFile::new(text.clone()) };
    let outcome = read(&server.put("/a.ndjson", unnamed.clone()));
    assert!(outcome.error.is_none() && outcome.texts().join("\n") + "\n" == text);
    let outcome = read(&server.put("/a.ndjson", WebFile { breaks: (200_000, 1), ..unnamed }));
    let error = outcome.error.unwrap();
    assert!(error.message.contains("neither ETag nor Last-Modified"), "{error}");
    assert!(text.starts_with(&outcome.records.iter().map(|r| r.text().to_owned() + "\n").collect::<String>()));
}

#[test]
fn a_redirect_does_not_tell_where_it_came_from() {
    let (from, to) = (WebServer::start(), WebServer::start());
    let redirect = Some(to.put("/b.ndjson", WebFile::new("{}")));
    let url = from.put("/a.ndjson", WebFile { redirect, ..WebFile::new("") }) + "?token=TOPSECRET&sig=SIGN";
    assert_eq!(read(&url).texts(), ["{}"]);
    assert_eq!(*to.referers.lock().unwrap(), [""; 0]);
}

#[test]
fn files_that_differ_in_their_query_only_have_different_names() {
    let server = WebServer::start();
    let url = server.put("/d.ndjson", WebFile::new("{}"));
    let names = |query: &str| source(&format!("{url}?{query}"), None).unwrap().describe().names;
    assert_ne!(names("file=A&sig=S"), names("file=B&sig=S"));
    assert_eq!(names("file=A&sig=S&exp=1"), names("file=A&sig=T&exp=2"));
}

#[test]
fn names_hold_no_secrets_and_addresses_do() {
    let server = WebServer::start();
    let url = server.put("/a.ndjson", WebFile::new("{}"));
    let with_user = url.replace("http://", "http://me:pw@") + "?part=2&token=abc";
    let source = source(&with_user, None).unwrap();
    assert_eq!(source.describe().names, [url + "?part=2&token=***"]);
    let request = server.requests.lock().unwrap()[0].clone();
    assert_eq!((request.0.as_str(), request.2.as_str()), ("/a.ndjson?part=2&token=abc", "Basic bWU6cHc="));
}

#[test]
fn what_is_no_file_is_told() {
    let server = WebServer::start();
    let message = |url: &str| source(url, None).err().unwrap().to_string();
    assert!(message(&server.put("/index", WebFile::new("{}"))).contains("option `format=ndjson`"));
    assert!(message(&format!("{}/none.csv", server.url)).contains("404"));
    assert!(message(&format!("{}/*.csv", server.url)).contains("address of each"));
    assert!(message("http://127.0.0.1:1/a.csv").contains("refused"));
    let url = server.put("/index", WebFile::new("{}"));
    assert_eq!(drain(&mut source(&url, Some(Format::Ndjson)).unwrap(), 100).texts(), ["{}"]);
    #[cfg(not(feature = "cloud"))]
    assert!(message("s3://bucket/a.csv").contains("cargo feature cloud"));
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::{Int64Array, RecordBatch, StringArray};

    use super::*;

    const ROWS: i64 = 60_000;

    /// A file of about 3 MB: a column of noise, one of text, one of short text, in three row
    /// groups.
    fn file() -> Vec<u8> {
        let noise = Int64Array::from_iter_values((0..ROWS).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)));
        let text: StringArray = (0..ROWS).map(|n| Some(format!("{:x}", n * 0x9E37_79B9))).collect();
        let short: StringArray = (0..ROWS).map(|n| Some(format!("s{}", n % 7))).collect();
        let batch = RecordBatch::try_from_iter([
            ("noise", Arc::new(noise) as _),
            ("text", Arc::new(text) as _),
            ("short", Arc::new(short) as _),
        ]);
        let batch = batch.unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(20_000)).build();
        let mut data = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut data, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        data
    }

    #[test]
    fn is_read_in_parts() {
        let server = WebServer::start();
        let data = file();
        let dir = tempfile::tempdir().unwrap();
        let path = source_support::write(&dir, "a.parquet", &data);
        let (expected, _) = source_support::load(&path, FormatOptions::default(), 100_000);
        assert_eq!(expected.records.len(), ROWS as usize);

        let outcome = read(&server.put("/a.parquet", WebFile { breaks: (100_000, 4), ..WebFile::new(data.clone()) }));
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert!(outcome.texts() == expected.texts());
        assert_eq!(outcome.bytes_read, data.len() as u64);
        // The first byte, the head, the tail, and few for each of three row groups: its columns are
        // small.
        let requests = server.requests.lock().unwrap().len();
        assert!((6..=14).contains(&requests), "{requests}");
    }

    #[test]
    fn in_an_archive_needs_no_parts() {
        let server = WebServer::start();
        let data = archives(&[("a.parquet", &file())]).remove(0).1;
        let outcome = read(&server.put("/a.zip", WebFile { ranges: false, ..WebFile::new(data) }));
        assert_eq!((outcome.records.len(), outcome.error.is_none()), (ROWS as usize, true), "{:?}", outcome.error);
    }

    #[test]
    fn needs_parts() {
        let server = WebServer::start();
        let error = read(&server.put("/b.parquet", WebFile { etag: None, ..WebFile::new(file()) })).error.unwrap();
        assert!(error.message.contains("ETag"), "{error}");
        let error = read(&server.put("/a.parquet", WebFile { ranges: false, ..WebFile::new(file()) })).error.unwrap();
        assert!(error.message.contains("send parts"), "{error}");
    }
}

#[test]
fn a_page_in_place_of_the_file_is_refused_with_and_without_a_format() {
    let server = WebServer::start();
    let page = "\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>a, b</body></html>\n";
    let error = "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>";
    for (contents, expected) in [(page, "an HTML page with the title \"Sign in\""), (error, "NoSuchKey: gone")] {
        for (path, format) in [
            ("/export.csv", None),
            ("/export.ndjson", None),
            ("/export.log", None),
            ("/export.parquet", None),
            ("/export", Some(Format::Csv)),
            ("/export", Some(Format::Ndjson)),
            ("/export", Some(Format::Json)),
        ] {
            let url = server.put(path, WebFile::new(contents));
            let found = source(&url, format).map(|mut source| drain(&mut source, 1000));
            let found = found.map_or_else(
                |error| Some(error.to_string()),
                |outcome| {
                    assert!(outcome.records.is_empty());
                    outcome.error.map(|error| error.to_string())
                },
            );
            assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{path} {format:?}: {found:?}");
        }
    }
    // The first cell may be a part of a page where the format is told.
    let url = server.put("/texts", WebFile::new("<p>Hi</p>\t1\n<p>Ho</p>\t2\n"));
    let rows = drain(&mut source(&url, Some(Format::Tsv)).unwrap(), 1000);
    assert_eq!((rows.records.len(), rows.error.is_none()), (1, true));
}

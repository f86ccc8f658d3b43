//! Members of archives are files.

use std::io::{Cursor, Write};
use std::path::Path;

use inrush_load::ConfiguredLoad;
use inrush_sources::{FormatOptions, Source, SourceSpec, Warnings, open};
use serde_json::json;
use tempfile::TempDir;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::common::{config, fake};
use crate::source_csv::{csv, schema};
use crate::source_support::{CODECS, compress, drain, load, write};

pub const CSV: &[u8] = b"id,town\n1,Rye\n2,Ely\n";
pub const NDJSON: &[u8] = b"{\"id\":3}\n{\"id\":4}\n";

pub fn zip(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, data) in members {
        if name.ends_with('/') {
            zip.add_directory(*name, options).unwrap();
        } else {
            zip.start_file(*name, options).unwrap();
            zip.write_all(data).unwrap();
        }
    }
    zip.finish().unwrap().into_inner()
}

pub fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, data) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        if name.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        tar.append_data(&mut header, name, *data).unwrap();
    }
    tar.into_inner().unwrap()
}

/// A header of a file with this many bytes.
fn header(path: &str, bytes: usize) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_path(path).unwrap();
    header.set_size(bytes as u64);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

/// A name that is longer than the header of a tar archive has room for.
fn long_name() -> String {
    format!("{}/c.csv", "d".repeat(150))
}

/// Archives of all kinds with these members.
pub fn archives(members: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![
        ("a.zip".to_owned(), zip(members, CompressionMethod::Deflated)),
        ("stored.ZIP".to_owned(), zip(members, CompressionMethod::Stored)),
        ("a.tar".to_owned(), tar(members)),
    ];
    for (codec, ending) in CODECS.iter().zip(["tar.gz", "tar.zst", "tbz2", "txz"]) {
        all.push((format!("a.{ending}"), compress(codec, &tar(members))));
    }
    all
}

#[test]
fn members_are_read_as_the_files_of_a_folder() {
    let folder = TempDir::new().unwrap();
    let gzipped = compress("gzip", NDJSON);
    let long = long_name();
    let members: [(&str, &[u8]); 8] = [
        ("z.csv", CSV),
        ("year=2024/", b""),
        ("year=2024/b.ndjson", NDJSON),
        ("packed.ndjson.gz", &gzipped),
        ("__MACOSX/z.csv", b"\0\0"),
        (".DS_Store", b"\0\0"),
        ("empty.csv", b""),
        (&long, CSV),
    ];
    for (name, data) in archives(&members) {
        let path = write(&folder, &name, &data);
        let mut source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
        let info = source.describe();
        let shown: Vec<&str> =
            info.names.iter().map(|name| name.strip_prefix(path.to_str().unwrap()).unwrap()).collect();
        let long = format!("/{long}");
        assert_eq!(shown, [&long, "/empty.csv", "/packed.ndjson.gz", "/year=2024/b.ndjson", "/z.csv"], "{name}");
        source.check_all().unwrap();
        let outcome = drain(&mut source, 1000);
        assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
        let csv = [r#"{"id":1,"town":"Rye"}"#, r#"{"id":2,"town":"Ely"}"#];
        let packed = [r#"{"id":3}"#, r#"{"id":4}"#];
        let in_folder = [r#"{"id":3,"year":2024}"#, r#"{"id":4,"year":2024}"#];
        assert_eq!(outcome.texts(), [csv, packed, in_folder, csv].concat(), "{name}");
        let last = outcome.records.last().unwrap().at;
        assert_eq!((last.source.0, last.line), (4, 3), "{name}");
        assert_eq!(info.bytes_total, Some(outcome.bytes_read), "{name}");
    }
}

#[test]
fn parquet_in_an_archive_is_read() {
    use arrow_array::{Int32Array, RecordBatch};
    let folder = TempDir::new().unwrap();
    let batch = RecordBatch::try_from_iter([("n", std::sync::Arc::new(Int32Array::from(vec![1, 2])) as _)]).unwrap();
    let mut parquet = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut parquet, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    for (name, data) in archives(&[("a.parquet", &parquet)]) {
        let (outcome, _) = load(&write(&folder, &name, &data), FormatOptions::default(), 1000);
        assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
        assert_eq!(outcome.texts(), [r#"{"n":1}"#, r#"{"n":2}"#], "{name}");
    }
}

#[test]
fn archives_stand_beside_other_files() {
    let folder = TempDir::new().unwrap();
    write(&folder, "a.csv", CSV);
    write(&folder, "b.zip", &zip(&[("c.ndjson", NDJSON)], CompressionMethod::Deflated));
    for path in [folder.path().to_owned(), folder.path().join("*")] {
        let (outcome, _) = load(&path, FormatOptions::default(), 1000);
        assert_eq!(outcome.records.len(), 4, "{}: {:?}", path.display(), outcome.error);
    }
}

fn refused(path: &Path) -> String {
    match open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default()) {
        Err(error) => error.to_string(),
        Ok(mut source) => drain(&mut source, 1000).error.map(|error| error.to_string()).unwrap_or_default(),
    }
}

#[test]
fn what_is_damaged_or_no_data_is_named_with_its_member() {
    let folder = TempDir::new().unwrap();
    for (name, data) in archives(&[("sub/pic.csv", b"\x89PNG\r\n\x1a\n\0\0\0"), ("a.csv", CSV)]) {
        let message = refused(&write(&folder, &name, &data));
        assert!(message.contains(&format!("{name}/sub/pic.csv")) && message.contains("picture"), "{name}: {message}");
    }
    // A byte of a member that is not compressed.
    let mut damaged = zip(&[("a.csv", CSV)], CompressionMethod::Stored);
    let at = damaged.windows(3).position(|part| part == b"Rye").unwrap();
    damaged[at] = b'X';
    let message = refused(&write(&folder, "damaged.zip", &damaged));
    assert!(message.contains("damaged.zip/a.csv") && message.contains("checksum"), "{message}");
    // The end is missing.
    for (name, data) in
        [("cut.zip", zip(&[("a.csv", CSV)], CompressionMethod::Stored)), ("cut.tar", tar(&[("a.csv", CSV)]))]
    {
        let message = refused(&write(&folder, name, &data[..data.len().min(520)][..data.len().min(520) - 10]));
        assert!(message.contains(name), "{name}: {message}");
    }
    for (name, data) in archives(&[("_a/hidden.csv", CSV), ("_b.csv", CSV)]) {
        let message = refused(&write(&folder, &name, &data));
        let is_told = message.contains("is an archive without files") && message.contains("`_` are skipped: 2");
        assert!(is_told, "{name}: {message}");
    }
}

#[test]
fn a_tar_archive_that_is_cut_off_is_refused() {
    let folder = TempDir::new().unwrap();
    // Each member is a block of its header and one of its contents. Two blocks of zeros follow.
    let whole = tar(&[("a.csv", CSV), ("b.ndjson", NDJSON)]);
    assert_eq!(whole.len(), 6 * 512);
    for len in [512, 520, 540, 1024, 1100, 1536, 1540, 1600, 2047, 2048, 2300] {
        for (name, data) in [("a.tar", whole[..len].to_vec()), ("a.tar.gz", compress("gzip", &whole[..len]))] {
            let message = refused(&write(&folder, name, &data));
            let is_told = message.contains(name) && message.contains("cannot be read as an archive");
            assert!(is_told, "{name} of {len} bytes: {message}");
        }
    }
    for len in [2560, 3000, 3072] {
        let (outcome, _) = load(&write(&folder, "a.tar", &whole[..len]), FormatOptions::default(), 1000);
        assert_eq!(outcome.records.len(), 4, "{len} bytes: {:?}", outcome.error);
    }
}

#[test]
fn a_file_that_only_has_the_name_of_an_archive_is_read_as_it_is() {
    let folder = TempDir::new().unwrap();
    for (name, data) in [("a.tar", CSV.to_vec()), ("a.zip", CSV.to_vec()), ("a.tar.gz", compress("gzip", CSV))] {
        let options = FormatOptions { format: "csv".parse().ok(), ..FormatOptions::default() };
        let (outcome, _) = load(&write(&folder, name, &data), options, 1000);
        assert_eq!(outcome.records.len(), 2, "{name}: {:?}", outcome.error);
    }
}

#[test]
fn an_archive_that_was_changed_is_another_one() {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "a.zip", &zip(&[("a.csv", CSV), ("b.csv", CSV)], CompressionMethod::Stored));
    let opened = || open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
    let fingerprints = |source: &dyn Source| format!("{:?}", source.fingerprints().unwrap());
    let before = fingerprints(&opened());
    assert_eq!(before, fingerprints(&opened()));
    assert!(before.contains("a.zip/a.csv") && before.contains("a.zip/b.csv"), "{before}");
    let mut reading = opened();
    write(&folder, "a.zip", &zip(&[("a.csv", CSV)], CompressionMethod::Stored));
    assert_ne!(before, fingerprints(&opened()));
    let error = drain(&mut reading, 1000).error.expect("the archive has changed").to_string();
    assert!(error.contains("a.zip/"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_member_is_refused_before_anything_is_changed() {
    let fake = fake([]).await;
    fake.call("PUT", "/a", json!({})).unwrap();
    let before = fake.index_uuid("a");
    let (mut config, folder) = config(fake.urls(), "a");
    let archive = zip(&[("a.csv", CSV), ("b.csv", b"id,city\n3,Rye\n")], CompressionMethod::Deflated);
    let path = write(&folder, "a.zip", &archive);
    for recreate in [true, false] {
        config.create.recreate = recreate;
        let options = csv(schema("town:string"));
        let source = open(&[SourceSpec::new(&path)], options, &Warnings::default()).unwrap();
        let error = ConfiguredLoad::new(config.clone()).unwrap().run(source).await.unwrap_err().to_string();
        assert!(error.contains("a.zip/b.csv") && error.contains("\"town\""), "{recreate}: {error}");
        assert_eq!((fake.index_uuid("a"), fake.documents("a").len()), (before.clone(), 0), "{recreate}");
    }
}

#[test]
fn members_of_a_table_are_refused() {
    let folder = TempDir::new().unwrap();
    for (log, table) in [
        ("t/_delta_log/00000000000000000000.json", "/t is a table of Delta Lake (it has _delta_log)"),
        ("./t/.hoodie/hoodie.properties", "/t is a table of Hudi (it has .hoodie)"),
        ("metadata/v1.metadata.json", " is a table of Iceberg (it has metadata)"),
    ] {
        for (name, data) in archives(&[(log, b"{}"), ("t/day=1/a.parquet", b"x"), ("u/a.csv", CSV)]) {
            let message = refused(&write(&folder, &name, &data));
            assert!(message.contains(&format!("{name}{table}")), "{name}: {message}");
        }
        for (name, data) in archives(&[(log, b"{}"), ("t/day=1/a.csv", CSV)]) {
            let message = refused(&write(&folder, &name, &data));
            assert!(!message.contains("is a table of"), "{name}: {message}");
        }
    }
}

#[test]
fn of_equal_paths_the_last_one_is_read_where_that_is_what_the_archive_means() {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "a.tar", &tar(&[("./a.csv", CSV), ("b.ndjson", NDJSON), ("a.csv", b"id\n9\n")]));
    let (outcome, warnings) = load(&path, FormatOptions::default(), 1000);
    assert_eq!(outcome.texts(), [r#"{"id":9}"#, r#"{"id":3}"#, r#"{"id":4}"#], "{:?}", outcome.error);
    let list = warnings.list();
    let is_told = |w: &inrush_sources::Warning| w.source.ends_with("a.tar/a.csv") && w.kind == "member_repeated";
    assert!(list.iter().any(is_told), "{list:?}");
    let mut twice = zip(&[("a.csv", CSV), ("b.csv", b"id\n9\n")], CompressionMethod::Stored);
    while let Some(at) = twice.windows(5).position(|part| part == b"b.csv") {
        twice[at] = b'a';
    }
    let message = refused(&write(&folder, "a.zip", &twice));
    assert!(message.contains("a.zip") && message.contains("have the same path"), "{message}");
}

#[test]
fn sparse_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    let extensions: [(&str, &[u8]); 3] =
        [("GNU.sparse.major", b"1"), ("GNU.sparse.minor", b"0"), ("GNU.sparse.name", b"day/a.csv")];
    builder.append_pax_extensions(extensions).unwrap();
    builder.append(&header("GNUSparseFile.0/a.csv", CSV.len()), CSV).unwrap();
    let by_extension = builder.into_inner().unwrap();
    // The last one in the archive, of which one block of 512 bytes is there.
    let mut builder = tar::Builder::new(Vec::new());
    let mut sparse = header("day/a.csv", 512);
    sparse.set_entry_type(tar::EntryType::GNUSparse);
    let gnu = sparse.as_gnu_mut().unwrap();
    gnu.sparse[0].set_offset(1 << 20);
    gnu.sparse[0].set_length(512);
    gnu.set_real_size((1 << 20) + 512);
    sparse.set_cksum();
    builder.append(&sparse, &[b'1'; 512][..]).unwrap();
    let by_kind = builder.into_inner().unwrap();
    for data in [by_extension, by_kind] {
        let message = refused(&write(&folder, "a.tar", &data));
        assert!(message.contains("a.tar/day/a.csv") && message.contains("is a sparse file"), "{message}");
    }
}

#[test]
fn headers_of_whole_archives_are_no_members() {
    let folder = TempDir::new().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    let comment = b"18 comment=abcdef\n";
    for (kind, data) in [(b'V', &b""[..]), (b'g', &comment[..])] {
        let mut header = header("pax_global_header", data.len());
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_cksum();
        builder.append(&header, data).unwrap();
    }
    builder.append(&header("a.ndjson", NDJSON.len()), NDJSON).unwrap();
    let path = write(&folder, "a.tar", &builder.into_inner().unwrap());
    let (outcome, warnings) = load(&path, FormatOptions::default(), 1000);
    assert_eq!(outcome.records.len(), 2, "{:?}", outcome.error);
    assert_eq!(warnings.list(), []);
}

#[test]
fn a_hard_link_has_the_contents_of_its_file() {
    let folder = TempDir::new().unwrap();
    let link = |builder: &mut tar::Builder<Vec<u8>>, path: &str, target: &str| {
        let mut header = header(path, 0);
        header.set_entry_type(tar::EntryType::Link);
        builder.append_link(&mut header, path, target).unwrap();
    };
    let begun = || {
        let mut builder = tar::Builder::new(Vec::new());
        builder.append(&header("_hidden/a.csv", CSV.len()), CSV).unwrap();
        builder.append(&header("n.ndjson", NDJSON.len()), NDJSON).unwrap();
        builder
    };
    let mut builder = begun();
    link(&mut builder, "a.csv", "_hidden/a.csv");
    link(&mut builder, "b.csv", "./a.csv");
    let path = write(&folder, "a.tar", &builder.into_inner().unwrap());
    let (outcome, warnings) = load(&path, FormatOptions::default(), 1000);
    let csv = [r#"{"id":1,"town":"Rye"}"#, r#"{"id":2,"town":"Ely"}"#];
    assert_eq!(outcome.texts(), [csv, csv, [r#"{"id":3}"#, r#"{"id":4}"#]].concat(), "{:?}", outcome.error);
    assert!(warnings.list().iter().all(|warning| warning.kind != "no_file"), "{:?}", warnings.list());
    let mut builder = begun();
    link(&mut builder, "a.csv", "gone.csv");
    let message = refused(&write(&folder, "b.tar", &builder.into_inner().unwrap()));
    assert!(message.contains("b.tar/a.csv") && message.contains("hard link to gone.csv"), "{message}");
}

#[test]
fn the_folder_of_all_members_does_not_hide_them() {
    let folder = TempDir::new().unwrap();
    let members: [(&str, &[u8]); 4] = [
        ("_export/a.csv", CSV),
        ("_export/b.ndjson", NDJSON),
        ("_export/_SUCCESS", b""),
        ("__MACOSX/_export/a.csv", b"\0\0"),
    ];
    for (name, data) in archives(&members) {
        let (outcome, _) = load(&write(&folder, &name, &data), FormatOptions::default(), 1000);
        assert_eq!(outcome.records.len(), 4, "{name}: {:?}", outcome.error);
    }
}

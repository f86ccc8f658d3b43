//! Folders that are tables of Delta Lake, Hudi, Iceberg or Paimon are refused.

use std::fs;
use std::path::Path;

use inrush_sources::{FormatOptions, SourceSpec, Warnings, open};

fn refused(path: &Path) -> String {
    let opened = open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default());
    opened.err().map(|error| error.to_string()).unwrap_or_default()
}

fn put(folder: &Path, name: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x").unwrap();
}

#[test]
fn files_of_tables_are_refused_however_they_are_named() {
    for (log, name) in [
        ("t/_delta_log/00000000000000000000.json", "Delta Lake (it has _delta_log)"),
        ("t/.hoodie/hoodie.properties", "Hudi (it has .hoodie)"),
        ("t/metadata/version-hint.text", "Iceberg"),
        ("t/metadata/00001-4b1a.gz.metadata.json", "Iceberg"),
        ("t/schema/schema-0", "Paimon"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        for file in [log, "t/part-a.parquet", "t/day=1/hour=2/part-b.parquet", "u/part-c.csv"] {
            put(folder, file);
        }
        for path in [
            "t",
            "t/",
            "t/part-a.parquet",
            "t/day=1",
            "t/day=1/hour=2/part-b.parquet",
            "t/*.parquet",
            "t/**/*.parquet",
            "*/day=*/*/part-?.parquet",
            "u/../t/day=1",
            "",
        ] {
            let message = refused(&folder.join(path));
            let expected = format!("{} is a table of {name}", folder.canonicalize().unwrap().join("t").display());
            let is_named = message.contains(&expected)
                || message.contains(&format!("t is a table of {name}"))
                || message.contains(&format!("t/ is a table of {name}"));
            assert!(is_named && message.contains("read.format("), "{path}: {message}");
        }
        assert_eq!(refused(&folder.join("u")), "");
    }
}

#[test]
fn a_link_into_a_table_leads_into_it() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "t/_delta_log/0.json");
    put(dir.path(), "t/day=1/a.parquet");
    std::os::unix::fs::symlink(dir.path().join("t/day=1"), dir.path().join("day")).unwrap();
    assert!(refused(&dir.path().join("day")).contains("is a table of Delta Lake"));
}

#[test]
fn logs_and_other_files_are_read() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["t/_delta_log/0.json", "t/notes.csv", "v/metadata/photos.json", "w/a.csv", "w/schema/schema-1"] {
        put(dir.path(), file);
    }
    for path in ["t/_delta_log/0.json", "t/notes.csv", "v", "w"] {
        assert!(!refused(&dir.path().join(path)).contains("is a table of"), "{path}");
    }
}

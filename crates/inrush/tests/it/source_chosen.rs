//! Files of folders, archives and patterns that are chosen by their names, and those that are no
//! data.

use std::path::{Path, PathBuf};

use inrush_core::Code;
use inrush_sources::{Chosen, FormatOptions, Source, SourceSpec, Warnings, open};
use tempfile::TempDir;
use zip::CompressionMethod;

use crate::source_archive::{CSV, NDJSON, archives, zip};
use crate::source_support::drain;

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, data) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, data).unwrap();
    }
    folder
}

fn options(include: &[&str], exclude: &[&str]) -> FormatOptions {
    let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    FormatOptions {
        chosen: Chosen { include: patterns(include), exclude: patterns(exclude) },
        ..FormatOptions::default()
    }
}

/// The names of the files, without the folder, or the error.
fn names(specs: &[PathBuf], folder: &Path, options: FormatOptions) -> Result<Vec<String>, String> {
    let specs: Vec<_> = specs.iter().map(SourceSpec::new).collect();
    let mut source = open(&specs, options, &Warnings::default()).map_err(|error| error.to_string())?;
    let top = format!("{}/", folder.display());
    let names = source.describe().names.iter().map(|name| name.replace(&top, "")).collect();
    match drain(&mut source, 1000).error {
        None => Ok(names),
        Some(error) => Err(error.to_string()),
    }
}

#[test]
fn files_are_chosen_in_folders_archives_and_patterns() {
    let archive = zip(&[("z.csv", CSV), ("sub/z.ndjson", NDJSON)], CompressionMethod::Deflated);
    let folder = folder(&[
        ("a.csv", CSV),
        ("b.ndjson", NDJSON),
        ("2024/a.csv", CSV),
        ("2024/old/c.csv", CSV),
        ("notes.md", b"# Notes\n"),
        ("x.zip", &archive),
        ("_SUCCESS", b""),
    ]);
    let top = folder.path();
    let of = |arguments: &[&str], include: &[&str], exclude: &[&str]| {
        let specs: Vec<_> = arguments.iter().map(|argument| top.join(argument)).collect();
        names(&specs, top, options(include, exclude))
    };
    let csv = ["2024/a.csv", "2024/old/c.csv", "a.csv", "x.zip/z.csv"];
    assert_eq!(of(&[""], &["*.csv"], &[]).unwrap(), csv);
    assert_eq!(of(&[""], &["*.csv"], &["2024"]).unwrap(), ["a.csv", "x.zip/z.csv"]);
    assert_eq!(of(&[""], &["2024/*.csv", "b.*"], &[]).unwrap(), ["2024/a.csv", "b.ndjson"]);
    assert_eq!(of(&[""], &["/*.csv"], &[]).unwrap(), ["a.csv", "x.zip/z.csv"]);
    assert_eq!(of(&[""], &["x.zip"], &["z.csv"]).unwrap(), ["x.zip/sub/z.ndjson"]);
    assert_eq!(of(&[""], &[], &["*.md", "*.zip", "old"]).unwrap(), ["2024/a.csv", "a.csv", "b.ndjson"]);
    assert_eq!(of(&["x.zip"], &["sub/*"], &[]).unwrap(), ["x.zip/sub/z.ndjson"]);
    assert_eq!(of(&["*"], &["*.csv"], &["x.zip"]).unwrap(), ["a.csv"]);
    assert_eq!(of(&["2024/**/*.csv"], &["old/c.csv"], &[]).unwrap(), ["2024/old/c.csv"]);
    // As a shell makes arguments of a pattern.
    let expanded = ["a.csv", "b.ndjson", "notes.md", "x.zip"];
    assert_eq!(of(&expanded, &[], &["*.md", "*.zip"]).unwrap(), ["a.csv", "b.ndjson"]);
    for (arguments, include) in [(&[""][..], "*.json"), (&["x.zip"], "*.json"), (&["a.csv", "b.ndjson"], "c")] {
        let error = of(arguments, &[include], &[]).unwrap_err();
        assert!(error.contains("no file is left: option `include`"), "{arguments:?}: {error}");
    }
}

#[test]
fn what_is_left_out_is_not_opened() {
    let folder = folder(&[("a.csv", CSV), ("broken.zip", b"PK\x03\x04 and no more"), ("t/_delta_log/0.json", b"{}")]);
    std::fs::write(folder.path().join("t/a.parquet"), "no parquet").unwrap();
    let top = [folder.path().to_owned()];
    assert!(names(&top, folder.path(), options(&[], &["t"])).unwrap_err().contains("broken.zip"));
    assert!(names(&top, folder.path(), options(&[], &["*.zip"])).unwrap_err().contains("table of Delta Lake"));
    assert_eq!(names(&top, folder.path(), options(&[], &["*.zip", "t"])).unwrap(), ["a.csv"]);
    for (name, data) in archives(&[("a.csv", CSV), ("t/_delta_log/0.json", b"{}"), ("t/a.parquet", b"x")]) {
        let path = folder.path().join(&name);
        std::fs::write(&path, data).unwrap();
        let found = names(&[path], folder.path(), options(&["*.csv"], &[])).unwrap();
        assert_eq!(found, [format!("{name}/a.csv")]);
    }
}

#[test]
fn a_pattern_that_matches_nothing_is_told() {
    let folder = folder(&[("a.csv", CSV), ("b.ndjson", NDJSON)]);
    let warnings = Warnings::default();
    let options = options(&["*.csv", "*.jsn"], &["drafts"]);
    open(&[SourceSpec::new(folder.path())], options, &warnings).unwrap();
    let told: Vec<String> = warnings.list().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["no file matches option `include=*.jsn`, option `exclude=drafts`"]);
}

#[test]
fn files_that_are_no_data_are_named_with_how_to_leave_them_out() {
    let folder = folder(&[
        ("a.ndjson", NDJSON),
        ("LICENSE", b"Use it as you like.\n"),
        ("README.md", b"# Data\n"),
        ("more/NOTES.md", b"# More\n"),
        ("pic.csv", b"\x89PNG\r\n\x1a\n\0\0\0"),
        ("sums.sha256", b"0a0b  a.ndjson\n"),
    ]);
    let top = folder.path();
    let error = names(&[top.to_owned()], top, FormatOptions::default()).unwrap_err();
    assert!(error.contains("/LICENSE: cannot tell the format"), "{error}");
    let hint = "leave it out, and 4 more that cannot be read either, with option \
                `exclude=LICENSE,*.md,pic.csv,*.sha256`";
    assert!(error.contains(hint), "{error}");
    let out = ["LICENSE", "*.md", "pic.csv", "*.sha256"];
    assert_eq!(names(&[top.to_owned()], top, options(&[], &out)).unwrap(), ["a.ndjson"]);
    let error = names(&[top.join("*.ndjson"), top.join("*.md")], top, FormatOptions::default()).unwrap_err();
    assert!(error.contains("or leave it out with option `exclude=*.md`"), "{error}");
    // What the user named is not left out.
    let error = names(&[top.join("a.ndjson"), top.join("LICENSE")], top, FormatOptions::default()).unwrap_err();
    assert!(error.contains("LICENSE: cannot tell the format") && !error.contains("exclude"), "{error}");
    // Where nothing can be read, the format is the question.
    let error = names(&[top.join("*.md")], top, FormatOptions::default()).unwrap_err();
    assert!(error.contains("option `format=ndjson`") && !error.contains("exclude"), "{error}");
    for (name, data) in archives(&[("a.ndjson", NDJSON), ("doc/LICENSE", b"Use it.\n")]) {
        let path = top.join(&name);
        std::fs::write(&path, data).unwrap();
        let error = names(&[path], top, FormatOptions::default()).unwrap_err();
        assert!(error.contains("/doc/LICENSE: ") && error.contains("option `exclude=LICENSE`"), "{name}: {error}");
    }
}

#[test]
fn a_text_beside_other_formats_is_no_data_unless_it_is_chosen() {
    let folder = folder(&[("a.ndjson", NDJSON), ("README.txt", b"Two lines\nof text.\n")]);
    let top = [folder.path().to_owned()];
    let specs = [SourceSpec::new(folder.path())];
    let error = open(&specs, FormatOptions::default(), &Warnings::default()).err().unwrap();
    assert_eq!(error.code, Code::UnknownFormat);
    assert!(error.name.ends_with("/README.txt") && error.message.contains("other files here are ndjson"), "{error}");
    assert!(error.message.contains("option `exclude=README.txt`"), "{error}");
    assert_eq!(names(&top, folder.path(), options(&[], &["README.txt"])).unwrap(), ["a.ndjson"]);
    assert_eq!(names(&top, folder.path(), options(&["*"], &[])).unwrap(), ["README.txt", "a.ndjson"]);
    std::fs::remove_file(folder.path().join("a.ndjson")).unwrap();
    std::fs::write(folder.path().join("app.log"), "started\n").unwrap();
    assert_eq!(names(&top, folder.path(), FormatOptions::default()).unwrap(), ["README.txt", "app.log"]);
}

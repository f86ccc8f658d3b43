//! Archives that other programs wrote, also on stdin, and files that are chosen by their names.

use std::path::Path;

use super::*;

/// Programs that write an archive of the folder `data`, each with the name of the archive.
const WRITERS: [(&str, &[&str]); 12] = [
    ("a.tar", &["tar", "cf", "a.tar", "data"]),
    ("a.tar.gz", &["tar", "czf", "a.tar.gz", "data"]),
    ("pax.tgz", &["tar", "--format=pax", "-czf", "pax.tgz", "data"]),
    ("a.tar.bz2", &["tar", "cjf", "a.tar.bz2", "data"]),
    ("a.tar.zst", &["tar", "--zstd", "-cf", "a.tar.zst", "data"]),
    ("a.tar.xz", &["tar", "cJf", "a.tar.xz", "data"]),
    ("a.zip", &["zip", "-qr", "a.zip", "data"]),
    ("bsd.tar", &["bsdtar", "-cf", "bsd.tar", "data"]),
    ("bsd.zip", &["bsdtar", "-c", "--format=zip", "-f", "bsd.zip", "data"]),
    ("seven.zip", &["7z", "a", "-bd", "seven.zip", "data"]),
    ("py.zip", &["python3", "-m", "zipfile", "-c", "py.zip", "data"]),
    ("py.tar.gz", &["python3", "-m", "tarfile", "-c", "py.tar.gz", "data"]),
];

/// A folder with data, and with what stands beside data.
fn data() -> tempfile::TempDir {
    let (folder, _) = folder_with("other.csv", "id\n1\n");
    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("day=1")).unwrap();
    std::fs::write(data.join("day=1/a.ndjson"), lines(500)).unwrap();
    std::fs::write(data.join("b.csv"), "id,n\nj1,1\nj2,2\n").unwrap();
    std::fs::write(data.join("README.md"), "# Data\n").unwrap();
    // Compressed it is longer than the bytes of stdin that are looked at first.
    let mut state = 7_u64;
    let random = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'!' + (state >> 33) as u8 % 90
    });
    std::fs::write(data.join("_SUCCESS"), random.take(100_000).collect::<Vec<u8>>()).unwrap();
    folder
}

/// The archives that the programs of this machine write.
fn written(folder: &Path) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (name, command) in WRITERS {
        let run = std::process::Command::new(command[0]).args(&command[1..]).current_dir(folder).output();
        match run {
            Ok(output) if output.status.success() => names.push(name),
            _ => println!("skipped: {} does not run", command.join(" ")),
        }
    }
    assert!(names.contains(&"a.tar.gz"), "{names:?}");
    names
}

/// A load of stdin, which comes through a pipe in pieces.
async fn piped(folder: &Path, arguments: &[&str], data: &[u8]) -> Output {
    let mut load = inrush(folder, arguments);
    load.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = load.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let data = data.to_vec();
    let writer = tokio::spawn(async move {
        let (head, rest) = data.split_at(data.len().min(100));
        // A load that fails reads no further.
        if stdin.write_all(head).await.is_ok() && stdin.flush().await.is_ok() {
            let _ = stdin.write_all(rest).await;
        }
    });
    let output = child.wait_with_output().await.unwrap();
    writer.await.unwrap();
    output
}

#[tokio::test]
async fn archives_are_read_as_files_and_from_stdin() {
    let fake = fake([]).await;
    let folder = data();
    let to = fake.url();
    for (at, name) in written(folder.path()).into_iter().enumerate() {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        for (how, source) in [("file", name), ("pipe", "-"), ("stdin", "-")] {
            let index = format!("{how}{at}");
            let arguments =
                ["load", source, "--index", &index, "--id", "id", "--to", &to, "--json", "--exclude", "*.md"];
            let output = match how {
                "file" => run(folder.path(), &arguments).await,
                "pipe" => piped(folder.path(), &arguments, &bytes).await,
                _ => {
                    let file = std::fs::File::open(folder.path().join(name)).unwrap();
                    inrush(folder.path(), &arguments).stdin(file).output().await.unwrap()
                }
            };
            check(&output, 0);
            let report = report(&output);
            let names = [format!("{source}/data/b.csv"), format!("{source}/data/day=1/a.ndjson")];
            let found: Vec<_> =
                report["sources"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
            assert_eq!(found, names, "{name} as {how}");
            assert_eq!(report["docs_created"], 502, "{name} as {how}");
            let days = fake.documents(&index).iter().filter(|one| one.json()["day"] == 1).count();
            assert_eq!(days, 500, "{name} as {how}");
        }
    }
}

#[tokio::test]
async fn stdin_that_is_no_archive_is_read_as_before() {
    let fake = fake([]).await;
    let folder = data();
    let to = fake.url();
    let gzipped = |text: &str| {
        std::fs::write(folder.path().join("lines"), text).unwrap();
        let gzip = std::process::Command::new("gzip").args(["-c", "lines"]).current_dir(folder.path()).output();
        gzip.unwrap().stdout
    };
    for (index, bytes, docs) in [
        ("plain", lines(20_000).into_bytes(), 20_000),
        ("short", lines(1).into_bytes(), 1),
        ("gzip", gzipped(&lines(20_000)), 20_000),
        ("array", b"[{\"id\":\"a\"},{\"id\":\"b\"}]".to_vec(), 2),
    ] {
        let arguments = ["load", "-", "--index", index, "--to", &to, "--json"];
        let output = piped(folder.path(), &arguments, &bytes).await;
        check(&output, 0);
        let report = report(&output);
        assert_eq!((&report["docs_created"], &report["bytes_read"]), (&docs.into(), &bytes.len().into()), "{index}");
        assert_eq!(report["sources"][0]["name"], "-");
    }
}

#[tokio::test]
async fn a_temporary_file_that_cannot_be_written_is_told() {
    let folder = data();
    written(folder.path());
    for source in ["a.tar.gz", "-"] {
        let arguments = ["load", source, "--index", "i", "--to", "http://127.0.0.1:1"];
        let mut load = inrush(folder.path(), &arguments);
        let file = std::fs::File::open(folder.path().join("a.tar")).unwrap();
        let output = load.stdin(file).env("TMPDIR", folder.path().join("none")).output().await.unwrap();
        let (_, told) = check(&output, 2);
        assert!(told.contains("/none (TMPDIR says where)") && told.contains(source), "{told}");
    }
}

#[tokio::test]
async fn the_message_about_a_file_has_the_flag_that_leaves_it_out() {
    let fake = fake([]).await;
    let folder = data();
    let to = fake.url();
    let load = ["load", "data", "--index", "docs", "--id", "id", "--to", &to];
    let (_, told) = check(&run(folder.path(), &load).await, 2);
    assert!(told.contains("data/README.md: ") && told.contains("--exclude '*.md'"), "{told}");
    check(&run(folder.path(), &[&load[..], &["--exclude", "*.md"]].concat()).await, 0);
    assert_eq!(fake.documents("docs").len(), 502);
    let (_, told) = check(&run(folder.path(), &[&load[..], &["--include", "*.json,*.ndsjon"]].concat()).await, 2);
    assert!(told.contains("no file is left: --include and --exclude"), "{told}");
    let (_, told) = check(&run(folder.path(), &[&load[..], &["--include", "*.{csv,ndjson}"]].concat()).await, 2);
    assert!(told.contains("--include") && told.contains("*.csv,*.json"), "{told}");
    let dry = [&load[..], &["--include", "*.csv", "--exclude", "*.tmp", "--dry-run"]].concat();
    let (said, told) = check(&run(folder.path(), &dry).await, 0);
    assert!((said + &told).contains("no file matches --exclude '*.tmp'"));
    // The same in a job file, as a list or in one text.
    for (index, chosen) in [
        ("list", "include = [\"*.csv\", \"day=1\"]\nexclude = \"b.csv\""),
        ("text", "include = \"*.ndjson,*.md\"\nexclude = [\"*.md\"]"),
    ] {
        let job = format!("sources = [\"data\"]\nindex = \"{index}\"\nto = [\"{to}\"]\n{chosen}\n");
        std::fs::write(folder.path().join("job.toml"), job).unwrap();
        check(&run(folder.path(), &["load", "--job", "job.toml"]).await, 0);
        assert_eq!(fake.documents(index).len(), 500, "{index}");
    }
}

//! An option of a format that no source of the load has is refused by its name, before anything is
//! sent.

use std::path::Path;
use std::process::{Output, Stdio};

use inrush_fake::FakeCluster;
use tokio::io::AsyncWriteExt;

use crate::common::{check, fake, inrush, run};

fn write_files(folder: &Path) {
    for (name, text) in [
        ("p.csv", "id,name\n1,Ann\n"),
        ("a.ndjson", "{\"id\":1}\n"),
        ("a.json", "[{\"id\":1}]"),
        ("a.log", "one\n"),
        ("mixed/a.csv", "id;name\n1;Ann\n"),
        ("mixed/b.ndjson", "{\"id\":2}\n"),
        // The contents decide, not the name.
        ("named.csv", "{\"id\":1}\n"),
        ("empty.csv", ""),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[track_caller]
fn refused(fake: &FakeCluster, output: &Output, option: &str, whose: &str) {
    let (_, stderr) = check(output, 2);
    assert!(stderr.contains(&format!("--{option} is for {whose}, but ")), "{stderr}");
    assert!(stderr.contains("leave it out"), "{stderr}");
    assert_eq!(fake.index_uuid("x"), None, "{stderr}");
}

#[tokio::test]
async fn an_option_that_no_source_can_use_is_refused_by_name() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), fake([]).await);
    let folder = folder.path();
    write_files(folder);
    for (sources, option, whose) in [
        ("p.csv", "header-row=2", "workbooks"),
        ("p.csv", "sheet=Data", "workbooks"),
        ("p.csv", "workbook-bytes=1GiB", "workbooks"),
        ("p.csv", "field=line", "text and files of vectors"),
        ("p.csv", "validate", "NDJSON and JSON"),
        ("p.csv", "timestamps=epoch-millis", "Parquet, Arrow and Avro"),
        ("p.csv", "binary=text", "Parquet, Arrow and Avro"),
        ("a.ndjson", "separator=;", "CSV"),
        ("a.ndjson", "skip-lines=1", "CSV"),
        ("a.ndjson a.json", "columns=a,b", "CSV and workbooks"),
        ("a.json", "no-header", "CSV and workbooks"),
        ("a.json", "schema=id:string", "CSV and lines with fields"),
        ("a.log", "schema=id:string", "CSV and lines with fields"),
        ("a.log", "null=-", "CSV"),
        ("a.log", "comment=#", "CSV"),
        ("named.csv", "trim", "CSV"),
        ("mixed", "sheet=1", "workbooks"),
        ("*.csv", "field=line", "text and files of vectors"),
    ] {
        let option = format!("--{option}");
        let arguments: Vec<&str> = ["load"].into_iter().chain(sources.split(' ')).chain([&option[..]]).collect();
        let output = run(folder, &[&arguments[..], &["--index", "x", "--to", &fake.url()]].concat()).await;
        let name = option[2..].split('=').next().unwrap();
        refused(&fake, &output, name, whose);
    }
    let (_, stderr) = check(&run(folder, &["load", "p.csv", "--header-row", "2", "--index", "x"]).await, 2);
    assert!(stderr.contains("--skip-lines N"), "{stderr}");
}

#[tokio::test]
async fn one_source_that_can_use_it_is_enough() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), fake([]).await);
    let folder = folder.path();
    write_files(folder);
    for (source, options) in [
        ("mixed", &["--separator", ";"][..]),
        ("mixed", &["--validate", "--null", "x"]),
        ("empty.csv", &["--sheet", "1"]),
        ("a.log", &["--field", "line", "--charset", "latin1"]),
        ("p.csv", &["--timestamps", "iso", "--sql", "SELECT * FROM input"]),
        ("p.csv", &["--binary", "text", "--format", "csv", "--sql", "SELECT * FROM input"]),
        ("a.ndjson", &["--binary", "base64", "--sql", "SELECT * FROM input"]),
    ] {
        let to = ["--index", "x", "--to", &fake.url()];
        check(&run(folder, &[&["load", source], options, &to].concat()).await, 0);
    }
}

#[tokio::test]
async fn jobs_other_commands_and_pipes_refuse_it_too() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), fake([]).await);
    let folder = folder.path();
    write_files(folder);
    let to = fake.url();
    for (job, option) in [
        (format!("sources = [\"p.csv\"]\nheader_row = 2\nindex = \"x\"\nto = \"{to}\"\n"), "header-row"),
        (
            format!(
                "sources = [\"p.csv\"]\nsheet = \"1\"\nto = \"{to}\"\n[[output]]\nindex = \"x\"\nsql = \"SELECT * FROM input\"\n"
            ),
            "sheet",
        ),
    ] {
        std::fs::write(folder.join("job.toml"), job).unwrap();
        refused(&fake, &run(folder, &["load", "--job", "job.toml"]).await, option, "workbooks");
    }
    refused(&fake, &run(folder, &["mapping", "p.csv", "--sheet", "1"]).await, "sheet", "workbooks");
    refused(&fake, &run(folder, &["convert", "p.csv", "out.ndjson", "--sheet", "1"]).await, "sheet", "workbooks");
    let verify = ["verify", "p.csv", "--id", "id", "--sheet", "1", "--index", "x", "--to", &to];
    refused(&fake, &run(folder, &verify).await, "sheet", "workbooks");

    // What a pipe has is known once it is read, but nothing was changed before.
    let mut load = inrush(folder, &["load", "-", "--separator", ";", "--index", "x", "--to", &to]);
    let mut child = load.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"id\":1}\n").await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("--separator is for CSV, but the format is ndjson"), "{stderr}");
    assert!(!output.status.success() && fake.index_uuid("x").is_none(), "{stderr}");
}

/// The lines of Python's `json.dumps`.
#[tokio::test]
async fn values_that_are_not_finite_are_left_out_of_json() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), fake([]).await);
    let folder = folder.path();
    let text = "{\"id\": 1, \"a\": NaN, \"b\": [1, -Infinity]}\n{\"id\": 2, \"a\": 5, \"s\": \"NaN\"}\n{\"a\": Infinity, \"id\": 3}\n";
    std::fs::write(folder.join("a.ndjson"), text).unwrap();
    std::fs::write(folder.join("b.json"), format!("[{}]", text.trim_end().replace('\n', ",\n"))).unwrap();
    let behind = format!("{}{text}", "{\"id\": 0}\n".repeat(1000));
    std::fs::write(folder.join("behind.ndjson"), behind).unwrap();
    for (index, source, validate) in [
        ("a", "a.ndjson", &[][..]),
        ("b", "a.ndjson", &["--validate"]),
        ("c", "b.json", &[]),
        ("d", "behind.ndjson", &["--validate"]),
    ] {
        let to = ["--index", index, "--id", "id", "--to", &fake.url()];
        let (stdout, stderr) = check(&run(folder, &[&["load", source], validate, &to].concat()).await, 0);
        let told = format!("{stdout}{stderr}");
        assert!(told.contains("column a: NaN or infinity") && told.contains("(2 times)"), "{told}");
        let document = |id: &str| fake.document(index, id).unwrap().json();
        assert_eq!(document("1"), serde_json::json!({"id": 1, "b": [1, null]}));
        assert_eq!(document("2"), serde_json::json!({"id": 2, "a": 5, "s": "NaN"}));
        assert_eq!(document("3"), serde_json::json!({"id": 3}));
    }
}

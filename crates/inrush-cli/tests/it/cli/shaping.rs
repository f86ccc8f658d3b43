//! Documents that are changed on their way: names, fields, the time of a data stream, types of
//! cells, and the number of records.

use std::path::Path;

use inrush_fake::FakeCluster;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{check, fake, folder_with, report, run, stderr, stdout};

const CSV: &str = "Nr,ts,plz,secret\n1,28/Nov/2025:13:55:36 +0100,01067,x\n2,2025-11-28 13:55:36,00044,y\n";

/// The same rows in a file of each kind, in a database and in an index.
async fn sources(fake: &FakeCluster) -> (TempDir, Vec<Vec<String>>) {
    let (folder, _) = folder_with("rows.csv", CSV);
    let path = folder.path();
    let row = |no: u32, ts: &str, plz: &str, secret: &str| json!({"Nr": no, "ts": ts, "plz": plz, "secret": secret});
    let rows = [row(1, "28/Nov/2025:13:55:36 +0100", "01067", "x"), row(2, "2025-11-28 13:55:36", "00044", "y")]
        .map(Value::from);
    std::fs::write(path.join("rows.ndjson"), rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    std::fs::write(path.join("rows.json"), json!({"rows": rows}).to_string()).unwrap();
    check(&run(path, &["convert", "rows.csv", "rows.parquet"]).await, 0);
    let make = "import sqlite3, csv; db = sqlite3.connect('rows.db'); \
        db.execute('CREATE TABLE r (\"Nr\" INTEGER, ts TEXT, plz TEXT, secret TEXT)'); \
        db.executemany('INSERT INTO r VALUES (?,?,?,?)', list(csv.reader(open('rows.csv')))[1:]); db.commit()";
    assert!(Command::new("python3").current_dir(path).args(["-c", make]).status().await.unwrap().success());
    check(&run(path, &["load", "rows.ndjson", "--index", "source", "--id", "Nr", "--to", &fake.url()]).await, 0);
    let index = format!("{}/source", fake.url());
    let all = [
        &["rows.csv"][..],
        &["rows.ndjson"],
        &["rows.json", "--records", "rows"],
        &["rows.parquet"],
        &["sqlite://rows.db", "--db-table", "r"],
        &[&index],
        &["rows.csv", "--sql", "SELECT * FROM input"],
    ];
    let all = all.map(|words| words.iter().map(ToString::to_string).collect()).to_vec();
    (folder, all)
}

fn documents(fake: &FakeCluster, index: &str) -> Vec<(String, Value)> {
    let mut all: Vec<_> =
        fake.documents(index).into_iter().map(|document| (document.id.clone(), document.json())).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

async fn load(folder: &Path, source: &[String], more: &[&str], status: i32) -> (String, String) {
    let source = source.iter().map(String::as_str);
    let words: Vec<&str> = ["load"].into_iter().chain(source).chain(more.iter().copied()).collect();
    check(&run(folder, &words).await, status)
}

#[tokio::test]
async fn each_source_is_changed_in_the_same_way() {
    let fake = fake([]).await;
    let (folder, all) = sources(&fake).await;
    let to = fake.url();
    let expected = vec![
        ("1".to_owned(), json!({"no": 1, "@timestamp": "2025-11-28T13:55:36+01:00", "plz": "01067"})),
        ("2".to_owned(), json!({"no": 2, "@timestamp": "2025-11-28T13:55:36", "plz": "00044"})),
    ];
    let renamed = ["--rename", "Nr=no", "--timestamp", "ts"];
    for (number, source) in all.iter().enumerate() {
        for (way, more) in
            [&["--only", "plz", "--id", "no"][..], &["--drop", "secret", "--id", "Nr"]].iter().enumerate()
        {
            let index = format!("t-{number}-{way}");
            let target = ["--index", &index, "--to", &to];
            load(folder.path(), source, &[&renamed[..], more, &target].concat(), 0).await;
            assert_eq!(documents(&fake, &index), expected, "{source:?} {more:?}");
        }
    }
    // An index that is named by the time, and a comparison with what was loaded.
    let by_month = ["--index", "logs-{@timestamp:yyyy.MM}", "--id", "no", "--to", &to];
    load(folder.path(), &all[0], &[&renamed[..], &by_month].concat(), 0).await;
    assert_eq!(documents(&fake, "logs-2025.11").len(), 2);
    let target = ["--index", "t-0-0", "--id", "Nr", "--to", &to];
    let words: Vec<&str> = ["verify", "rows.csv", "--only", "plz"].into_iter().chain(renamed).chain(target).collect();
    assert!(check(&run(folder.path(), &words).await, 0).0.contains("equal\n"));
    check(&run(folder.path(), &[&["verify", "rows.csv"][..], &target].concat()).await, 4);
}

#[tokio::test]
async fn each_source_ends_where_the_limit_says() {
    let fake = fake([]).await;
    let (folder, all) = sources(&fake).await;
    let to = fake.url();
    for (number, source) in all.iter().enumerate() {
        for limit in ["1", "2", "3"] {
            let index = format!("l-{number}-{limit}");
            load(folder.path(), source, &["--limit", limit, "--index", &index, "--to", &to], 0).await;
            assert_eq!(documents(&fake, &index).len(), limit.parse::<usize>().unwrap().min(2), "{source:?}");
        }
    }
    let (told, _) = load(folder.path(), &all[0], &["--limit", "1", "--index", "t", "--dry-run", "--to", &to], 0).await;
    assert!(told.contains("1 document examined (all documents)"), "{told}");
    let (_, told) = load(folder.path(), &all[0], &["--limit", "0", "--index", "t", "--to", &to], 2).await;
    assert!(told.contains("--limit"), "{told}");
}

#[tokio::test]
async fn a_job_file_has_the_same_keys() {
    let fake = fake([]).await;
    let (folder, _) = sources(&fake).await;
    let job = format!(
        "sources = ['rows.ndjson']\nindex = 'job'\nid = 'no'\nto = '{}'\nrename = ['Nr=no', 'plz=town.plz']\n\
         timestamp = 'ts'\nonly = 'no'\nlimit = 1\n",
        fake.url()
    );
    std::fs::write(folder.path().join("job.toml"), job).unwrap();
    check(&run(folder.path(), &["load", "--job", "job.toml"]).await, 0);
    let expected = json!({"no": 1, "@timestamp": "2025-11-28T13:55:36+01:00", "town.plz": "01067"});
    assert_eq!(documents(&fake, "job"), [("1".to_owned(), expected)]);
}

#[tokio::test]
async fn a_name_that_is_taken_and_a_time_that_is_none_are_dead_letters_that_load_again() {
    let fake = fake([]).await;
    let text = "{\"id\":1,\"a\":1,\"b\":2,\"ts\":1764334536}\n{\"id\":2,\"a\":1,\"ts\":\"soon\"}\n{\"id\":3,\"a\":1,\"ts\":1764334536}\n";
    let (folder, _) = folder_with("a.ndjson", text);
    let to = fake.url();
    let options = ["--rename", "a=b", "--timestamp", "ts", "--index", "t", "--id", "id", "--to", &to];
    let output =
        run(folder.path(), &[&["load", "a.ndjson", "--dead-letters", "dead.ndjson"][..], &options].concat()).await;
    check(&output, 3);
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    let lines: Vec<Value> = letters.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reason = |at: usize| lines[at]["error"]["reason"].as_str().unwrap();
    assert!(
        reason(0).contains("the document has a field `b` already") && reason(0).contains("--rename a=b"),
        "{letters}"
    );
    assert!(reason(1).starts_with("field `ts` (the time) is \"soon\""), "{letters}");
    assert_eq!((&lines[0]["position"]["line"], &lines[1]["position"]["line"]), (&json!(1), &json!(2)));
    let mended = letters.replace("\\\"b\\\":2,", "").replace("\\\"soon\\\"", "1764334536000");
    std::fs::write(folder.path().join("dead.ndjson"), mended).unwrap();
    let again = ["load", "--from-dead-letters", "dead.ndjson", "--dead-letters", "still.ndjson"];
    let again = [&again[..], &["--rename", "a=b", "--timestamp", "ts", "--index", "t", "--to", &to]].concat();
    check(&run(folder.path(), &again).await, 0);
    for (id, document) in documents(&fake, "t") {
        let expected = json!({"id": id.parse::<u32>().unwrap(), "b": 1, "@timestamp": "2025-11-28T12:55:36Z"});
        assert_eq!(document, expected);
    }
    assert_eq!(documents(&fake, "t").len(), 3);
}

#[tokio::test]
async fn a_field_that_no_document_has_is_a_warning() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", "{\"a\":1}\n");
    let to = fake.url();
    let options = ["--rename", "x=y", "--timestamp", "z", "--only", "a,q", "--drop", "w"];
    let words = [&["load", "a.ndjson", "--index", "t", "--json", "--to", &to][..], &options].concat();
    let output = run(folder.path(), &words).await;
    let told = report(&output)["warnings"].to_string();
    for option in ["--rename x=y", "--timestamp z", "--only q", "--drop w"] {
        assert!(told.contains(&format!("{option}: no document had such a field")), "{option}: {told}");
    }
    assert!(!told.contains("--only a"), "{told}");
}

#[tokio::test]
async fn documents_of_a_data_stream_need_their_time() {
    let template = json!({"index_patterns": ["logs-*"], "data_stream": {}});
    let text = "{\"timestamp\":\"28/Nov/2025:13:55:36 +0100\",\"n\":1}\n";
    let (folder, _) = folder_with("a.ndjson", text);
    for is_there in [false, true] {
        let fake = fake([]).await;
        fake.call("PUT", "/_index_template/streams", template.clone()).unwrap();
        if is_there {
            fake.call("PUT", "/_data_stream/logs-web", Value::Null).unwrap();
        }
        let to = fake.url();
        let load = ["load", "a.ndjson", "--index", "logs-web", "--to", &to];
        let told = stderr(&run(folder.path(), &load).await);
        assert!(told.contains("logs-web is a data stream, whose documents need the field @timestamp"), "{told}");
        assert!(told.contains("their time seems to be timestamp: give --timestamp timestamp"), "{told}");
        assert!(fake.bulk_requests().is_empty());
        let (shown, _) = check(&run(folder.path(), &[&load[..], &["--dry-run"]].concat()).await, 4);
        assert!(shown.contains("problem: ") && shown.contains("give --timestamp timestamp"), "{shown}");
        let timed = [&load[..], &["--timestamp", "timestamp"]].concat();
        check(&run(folder.path(), &[&timed[..], &["--dry-run"]].concat()).await, 0);
        check(&run(folder.path(), &timed).await, 0);
        let expected = json!({"@timestamp": "2025-11-28T13:55:36+01:00", "n": 1});
        assert_eq!(documents(&fake, "logs-web")[0].1, expected);
    }
    // A pipeline may add the time.
    let fake = fake([]).await;
    let pipeline = json!({"processors": [{"set": {"field": "@timestamp", "value": "2026-01-01"}}]});
    fake.call("PUT", "/_ingest/pipeline/timed", pipeline).unwrap();
    let template = json!({"index_patterns": ["logs-*"], "data_stream": {},
        "template": {"settings": {"index.default_pipeline": "timed"}}});
    fake.call("PUT", "/_index_template/streams", template).unwrap();
    let told = stderr(&run(folder.path(), &["load", "a.ndjson", "--index", "logs-web", "--to", &fake.url()]).await);
    assert!(!told.contains("need the field @timestamp, but"), "{told}");
}

#[tokio::test]
async fn a_name_below_a_value_is_found_before_the_load() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.csv", "id,a,a.b\n1,x,2\n2,,3\n");
    let to = fake.url();
    let load = ["load", "a.csv", "--index", "t", "--id", "id", "--to", &to];
    let (shown, _) = check(&run(folder.path(), &[&load[..], &["--dry-run"]].concat()).await, 4);
    assert!(shown.contains("a is a value, and a.b makes it an object"), "{shown}");
    assert!(shown.contains("--rename a.b=a_b"), "{shown}");
    let (_, told) = check(&run(folder.path(), &[&load[..], &["--map", "auto"]].concat()).await, 2);
    assert!(told.contains("--rename a.b=a_b"), "{told}");
    let renamed = [&load[..], &["--map", "auto", "--rename", "a.b=a_b"]].concat();
    check(&run(folder.path(), &renamed).await, 0);
    assert_eq!(documents(&fake, "t")[0].1, json!({"id": 1, "a": "x", "a_b": 2}));
    let mapping = fake.call("GET", "/t/_mapping", Value::Null).unwrap();
    assert_eq!(mapping["t"]["mappings"]["properties"]["a_b"]["type"], "integer");
}

#[tokio::test]
async fn cells_of_a_german_table_have_their_types() {
    let fake = fake([]).await;
    let text = "id;preis;datum;aktiv;plz\n1;1.234,50;31.12.2025;ja;01067\n2;7;1.1.2026;WAHR;99999\n3;0,5;31.12.2025;0;00044\n4;x;31.12.2025;nein;1\n5;1,5;3/4/2026;ja;1\n";
    let (folder, _) = folder_with("a.csv", text);
    let to = fake.url();
    let target = ["--index", "t", "--id", "id", "--to", &to];
    let typed =
        ["--schema", "preis:float,datum:date,aktiv:boolean,plz:string", "--decimal", ",", "--dead-letters", "d.ndjson"];
    check(&run(folder.path(), &[&["load", "a.csv"][..], &typed, &target].concat()).await, 3);
    let document = |preis: f64, datum: &str, aktiv: bool, plz: &str, id: u32| json!({"id": id, "preis": preis, "datum": datum, "aktiv": aktiv, "plz": plz});
    let found: Vec<Value> = documents(&fake, "t").into_iter().map(|(_, document)| document).collect();
    assert_eq!(
        found,
        [
            document(1234.5, "2025-12-31", true, "01067", 1),
            document(7.0, "2026-01-01", true, "99999", 2),
            document(0.5, "2025-12-31", false, "00044", 3),
        ]
    );
    let letters = std::fs::read_to_string(folder.path().join("d.ndjson")).unwrap();
    for expected in [
        "column \\\"preis\\\" holds \\\"x\\\"",
        "column \\\"datum\\\" holds \\\"3/4/2026\\\"",
        "\"line\":5",
        "\"line\":6",
    ] {
        assert!(letters.contains(expected), "{expected}: {letters}");
    }

    // Without a schema the option is for the columns that have such numbers, and the mapping names
    // the options.
    let (folder, _) = folder_with("b.csv", "id;preis;datum\n1;1.234,50;31.12.2025\n2;7;01.01.2026\n");
    let load = ["load", "b.csv", "--index", "b", "--id", "id", "--to", &to];
    let (shown, _) = check(&run(folder.path(), &[&load[..], &["--dry-run"]].concat()).await, 0);
    assert!(shown.contains("--decimal ,") && shown.contains("--schema datum:timestamp"), "{shown}");
    check(&run(folder.path(), &[&load[..], &["--decimal", ","]].concat()).await, 0);
    assert_eq!(documents(&fake, "b")[0].1, json!({"id": 1, "preis": 1234.5, "datum": "31.12.2025"}));
    let queried = ["--decimal", ",", "--sql", "SELECT id, preis * 2 AS doppelt FROM input"];
    let load = ["load", "b.csv", "--index", "c", "--id", "id", "--to", &to];
    check(&run(folder.path(), &[&load[..], &queried].concat()).await, 0);
    assert_eq!(documents(&fake, "c")[0].1, json!({"id": 1, "doppelt": 2469.0}));
    assert!(stdout(&run(folder.path(), &["load", "--help"]).await).contains("--decimal <CHAR>"));
}

/// A mapping is that of the documents that the load sends.
#[tokio::test]
async fn a_mapping_is_inferred_of_what_is_sent() {
    let fake = fake([]).await;
    let (folder, all) = sources(&fake).await;
    let shape = ["--rename", "Nr=no", "--timestamp", "ts", "--drop", "secret,typo"];
    for source in all.iter().filter(|source| !source[0].starts_with("http")) {
        let words: Vec<&str> = source.iter().map(String::as_str).collect();
        let found = run(folder.path(), &[&["mapping", "--json"][..], &words, &shape].concat()).await;
        let found: Value = serde_json::from_str(&check(&found, 0).0).unwrap();
        let fields: Vec<&str> =
            found["mapping"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["@timestamp", "no", "plz"], "{source:?}");
        assert_eq!(found["mapping"]["properties"]["@timestamp"]["type"], "date", "{source:?}");
        let warnings = found["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|told| told.as_str().unwrap().contains("--drop typo")), "{source:?}: {warnings:?}");
    }
    let only = ["mapping", "rows.csv", "--only", "plz", "--limit", "1"];
    let (found, told) = check(&run(folder.path(), &only).await, 0);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["properties"].as_object().unwrap().len(), 1, "{found}");
    assert!(told.contains("1 document examined"), "{told}");
    check(&run(folder.path(), &[&only[..], &["--rows", "1"]].concat()).await, 2);
}

#[tokio::test]
async fn times_without_a_zone_are_of_the_zone_that_is_given() {
    let fake = fake([]).await;
    let (folder, all) = sources(&fake).await;
    let to = fake.url();
    let zone = ["--time-zone", "Europe/Paris", "--to", &to];
    let times = ["2025-11-28T13:55:36+01:00", "2025-11-28T13:55:36+01:00"];
    for (number, source) in all.iter().enumerate() {
        let index = format!("z-{number}");
        load(folder.path(), source, &[&zone[..], &["--timestamp", "ts", "--id", "Nr", "--index", &index]].concat(), 0)
            .await;
        let found = documents(&fake, &index);
        assert_eq!([0, 1].map(|at| found[at].1["@timestamp"].as_str().unwrap().to_owned()), times, "{source:?}");
    }
    // Columns of a table, and of lines.
    std::fs::write(folder.path().join("late.csv"), "Nr,ts\n1,2025-07-01 12:00\n2,2025-03-30 02:30\n").unwrap();
    let typed = [&zone[..], &["--schema", "ts:timestamp", "--index", "typed", "--id", "Nr"]].concat();
    let (said, _) = load(folder.path(), &["late.csv".to_owned()], &typed, 3).await;
    assert!(said.contains("line 3") || said.contains("1 rejected") || said.contains("dead letter"), "{said}");
    assert_eq!(documents(&fake, "typed"), [("1".to_owned(), json!({"Nr": 1, "ts": "2025-07-01T12:00:00+02:00"}))]);
    let lines = ["--parse-regex", r"^(?<n>\d+) (?<ts>.*)$", "--schema", "ts:timestamp", "--index", "lines"];
    std::fs::write(folder.path().join("rows.log"), "1 2025-07-01 12:00\n").unwrap();
    load(folder.path(), &["rows.log".to_owned()], &[&zone[..], &lines].concat(), 0).await;
    assert_eq!(documents(&fake, "lines")[0].1, json!({"n": "1", "ts": "2025-07-01T12:00:00+02:00"}));
    // What it cannot be about, and what is no zone.
    let (_, told) = load(folder.path(), &all[0], &[&zone[..], &["--index", "none"]].concat(), 2).await;
    assert!(told.contains("--time-zone") && told.contains("--timestamp FIELD"), "{told}");
    let wrong = ["--time-zone", "Europe/Pari", "--timestamp", "ts", "--index", "none", "--to", &to];
    let (_, told) = load(folder.path(), &all[0], &wrong, 2).await;
    assert!(told.contains("expected a zone such as Europe/Paris"), "{told}");
}

/// A partial document with a name with dots would leave both values in the index.
#[tokio::test]
async fn names_with_dots_of_partial_documents_are_nested_or_refused() {
    let fake = fake([]).await;
    let to = fake.url();
    let (folder, _) = folder_with("a.ndjson", "{\"id\":1,\"dim\":{\"w\":3,\"h\":6}}\n");
    std::fs::write(folder.path().join("rt.csv"), "id,dim.h,dim.w\n1,,1003\n").unwrap();
    std::fs::write(folder.path().join("rt.ndjson"), "{\"id\":1,\"dim.w\":{\"x\":1}}\n").unwrap();
    std::fs::write(folder.path().join("in.ndjson"), "{\"id\":1,\"labels\":{\"app.io/name\":1.5}}\n").unwrap();
    std::fs::write(folder.path().join("rt.bulk"), "{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"a.b\":1}}\n").unwrap();
    for (at, action) in ["update", "upsert"].into_iter().enumerate() {
        let index = format!("t{at}");
        check(&run(folder.path(), &["load", "a.ndjson", "--index", &index, "--id", "id", "--to", &to]).await, 0);
        let before = documents(&fake, &index);
        let dead = format!("dead{at}");
        let target = ["--index", &index, "--id", "id", "--action", action, "--to", &to, "--dead-letters", &dead];
        let load = async |words: &[&str], status: i32| {
            let words = [&["load"][..], words, &target].concat();
            check(&run(folder.path(), &words).await, status);
        };
        for (file, name) in [("rt.csv", "dim.h"), ("rt.ndjson", "dim.w")] {
            load(&[file], 3).await;
            // The letters, loaded again and again, are refused as well.
            let again = ["load", "--index", &index, "--to", &to, "--from-dead-letters"];
            for (letters, rest) in [(&*dead, "second"), ("second", "third")] {
                let words = [&again[..], &[letters, "--dead-letters", rest]].concat();
                check(&run(folder.path(), &words).await, 3);
            }
            for letters in [&*dead, "second", "third"] {
                let found = std::fs::read_to_string(folder.path().join(letters)).unwrap();
                for expected in [&*format!("field `{name}`"), "--dots nest", "--dots keep", "\"type\":\"bad_field\""] {
                    assert!(found.contains(expected), "{expected}: {found}");
                }
                std::fs::remove_file(folder.path().join(letters)).unwrap();
            }
        }
        assert_eq!(documents(&fake, &index), before, "nothing was sent");
        load(&["rt.csv", "--dots", "nest"], 0).await;
        let expected = json!({"id": 1, "dim": {"w": 1003, "h": null}});
        assert_eq!(documents(&fake, &index), [("1".to_owned(), expected)]);
        load(&["rt.csv", "--dots", "keep"], 0).await;
        assert_eq!(documents(&fake, &index)[0].1["dim.w"], json!(1003));
        load(&["in.ndjson"], 0).await;
        assert_eq!(documents(&fake, &index)[0].1["labels"], json!({"app.io/name": 1.5}));
    }
    // Whole documents, with other changes, and an action line that says what is done.
    let index = ["--index", "whole", "--id", "id", "--to", &to];
    let nested = ["load", "rt.csv", "--dots", "nest", "--rename", "dim.h=size.h"];
    check(&run(folder.path(), &[&nested[..], &index].concat()).await, 0);
    assert_eq!(documents(&fake, "whole")[0].1, json!({"id": 1, "dim": {"w": 1003}}));
    check(&run(folder.path(), &["load", "rt.bulk", "--index", "whole", "--to", &to]).await, 0);
    assert_eq!(documents(&fake, "whole")[0].1["a.b"], json!(1));
}

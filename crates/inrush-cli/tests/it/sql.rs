//! `--sql` as its users see it, against the fake cluster.

use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Command;

use crate::common::{check, inrush, run};

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let works = "work,title,artist\n1,One,a\n2,Two,a\n3,Three,b\n";
    std::fs::write(folder.path().join("works.csv"), works).unwrap();
    std::fs::write(
        folder.path().join("artists.ndjson"),
        "{\"id\":\"a\",\"name\":\"Ada\"}\n{\"id\":\"b\",\"name\":\"Ben\"}\n",
    )
    .unwrap();
    folder
}

#[cfg(not(feature = "sql"))]
#[tokio::test]
async fn a_build_without_sql_says_so() {
    let folder = folder();
    for arguments in [
        &["load", "works.csv", "--sql", "SELECT 1", "--index", "t", "--to", "http://127.0.0.1:1"][..],
        &["load", "works.csv", "--sql", "SELECT 1", "--explain"],
        &["verify", "works.csv", "--sql", "SELECT 1", "--index", "t", "--to", "http://127.0.0.1:1"],
        &["mapping", "works.csv", "--sql", "SELECT 1"],
    ] {
        let (_, stderr) = check(&run(folder.path(), arguments).await, 2);
        assert!(stderr.contains("built without SQL") && stderr.contains("--features sql"), "{stderr}");
    }
}

#[tokio::test]
async fn a_query_over_a_topic_is_refused_with_what_to_do_instead() {
    let target = ["--index", "t", "--to", "http://127.0.0.1:1"];
    for command in ["load", "mapping", "verify"] {
        let arguments = [command, "kafka://127.0.0.1:1/sales", "--sql", "SELECT * FROM input"];
        let of_target = if command == "mapping" { &[][..] } else { &target };
        let (_, stderr) = check(&run(folder().path(), &[&arguments[..], of_target].concat()).await, 2);
        assert!(stderr.contains("the source is a topic, which has no end"), "{stderr}");
        assert!(stderr.contains("load the topic without a query"), "{stderr}");
    }
}

#[cfg(feature = "sql")]
mod built {
    use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
    use tokio::process::Child;

    use super::*;
    use crate::common::fake;

    const ARTISTS: &str = "SELECT id, name, array_agg(named_struct('id', work, 'title', title) ORDER BY work) AS works
        FROM input JOIN artists ON artists.id = input.artist GROUP BY id, name ORDER BY id";

    /// By id.
    fn documents(fake: &FakeCluster, index: &str) -> Vec<Value> {
        let mut documents: Vec<Value> = fake.documents(index).iter().map(|document| document.json()).collect();
        documents.sort_by_key(|document| document["id"].to_string());
        documents
    }

    #[tokio::test]
    async fn rows_of_a_query_are_loaded_compared_and_mapped() {
        let (folder, fake) = (folder(), fake([]).await);
        let to = fake.urls().join(",");
        std::fs::write(folder.path().join("q.sql"), ARTISTS).unwrap();
        let query = ["works.csv", "--table", "artists=artists.ndjson", "--sql-file", "q.sql"];
        let target = ["--index", "artists", "--id", "id", "--to", &to, "--json"];
        let (stdout, _) = check(&run(folder.path(), &[&["load"], &query[..], &target].concat()).await, 0);
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((&report["docs_created"], &report["docs_updated"]), (&json!(2), &json!(0)));
        assert_eq!(
            documents(&fake, "artists"),
            [
                json!({"id": "a", "name": "Ada", "works": [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]}),
                json!({"id": "b", "name": "Ben", "works": [{"id": 3, "title": "Three"}]}),
            ]
        );
        check(&run(folder.path(), &[&["verify"], &query[..], &target].concat()).await, 0);
        let (mapping, _) = check(&run(folder.path(), &[&["mapping"], &query[..]].concat()).await, 0);
        assert!(mapping.contains("\"works\""), "{mapping}");
    }

    #[tokio::test]
    async fn a_plan_is_shown_and_nothing_sent() {
        let folder = folder();
        let arguments =
            ["load", "works.csv", "--sql", "SELECT artist, count(*) AS n FROM input GROUP BY artist", "--explain"];
        let (stdout, _) = check(&run(folder.path(), &arguments).await, 0);
        for expected in ["  work: Int64\n", "result\n  artist: Utf8\n  n: Int64\n", "Read: table=input"] {
            assert!(stdout.contains(expected), "{stdout}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_is_refused_before_anything_is_sent() {
        let folder = folder();
        let nowhere = ["--index", "t", "--to", "http://127.0.0.1:1"];
        for (arguments, expected) in [
            (&["works.csv", "--table", "a=artists.ndjson"][..], "--table needs a query"),
            (&["works.csv", "--explain"], "--explain needs a query"),
            (&["works.csv", "--sql", "SELECT titel FROM input"], "hint: did you mean title?"),
            (&["works.csv", "--sql", "SELECT 1", "--table", "b=none.csv"], "table b: none.csv"),
            (&["works.csv", "--sql-file", "none.sql"], "cannot read the query in none.sql"),
            (&["works.csv", "--sql", "SELECT 1", "--table", "b"], "expected a name and a path"),
        ] {
            let (_, stderr) = check(&run(folder.path(), &[&["load"], arguments, &nowhere].concat()).await, 2);
            assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        }
    }

    #[tokio::test]
    async fn a_wrong_query_is_a_usage_error_and_a_value_it_fails_at_is_not() {
        let (folder, fake) = (folder(), fake([]).await);
        let to = fake.urls().join(",");
        let more: &[&[&str]] = &[&["load", "--index", "t", "--to", &to], &["mapping"]];
        for &command in more {
            for (sql, status, expected) in [
                ("SELECT sum(title) FROM input", 2, "\nhint: write try_cast(title AS DOUBLE)"),
                (
                    "SELECT work,\n  nope\nFROM input",
                    2,
                    "error[bad_query]: line 2, column 3: there is no column nope\n      nope\n      ^^^^\n",
                ),
                ("SELECT count(DISTINCT title, artist) FROM input", 2, "count(DISTINCT …) takes one argument"),
                ("SELECT ntile(0) OVER (ORDER BY work) AS n FROM input", 2, "NTILE requires a positive integer"),
                ("SELECT encode(title, 'base99') AS x FROM input", 2, "no built-in encoding named 'base99'"),
                ("SELECT (9223372036854775800 + length(title)) * 2 AS n FROM input", 1, "does not fit BIGINT"),
                // The load reads the first row before it begins.
                (
                    "SELECT CAST(artist AS INT) AS n FROM input",
                    1,
                    "\"a\" is not a whole number: column artist in works.csv, line 2",
                ),
            ] {
                let status = if command[0] == "load" { 2 } else { status };
                let (stdout, stderr) =
                    check(&run(folder.path(), &[command, &["works.csv", "--sql", sql][..]].concat()).await, status);
                let told = stdout + &stderr;
                assert!(told.contains(expected), "{command:?} {sql}: {told}");
            }
        }
        let explain = ["load", "works.csv", "--explain", "--sql", "SELECT titel FROM input"];
        assert!(check(&run(folder.path(), &explain).await, 2).1.contains("did you mean title?"));
    }

    fn write_job(folder: &Path, to: &str, more: &str) {
        let job = format!(
            r#"
            sources = ["works.csv"]
            table = ["artists=artists.ndjson"]
            to = "{to}"
            {more}
            [[output]]
            index = "works"
            id = "id"
            sql = "SELECT work AS id, title, name AS artist FROM input JOIN artists ON artists.id = input.artist"
            [[output]]
            index = "artists"
            id = "id"
            settings = "settings.json"
            sql_file = "artists.sql"
            "#
        );
        std::fs::write(folder.join("job.toml"), job).unwrap();
        std::fs::write(folder.join("artists.sql"), ARTISTS).unwrap();
        std::fs::write(folder.join("settings.json"), r#"{"number_of_shards": 2}"#).unwrap();
    }

    #[tokio::test]
    async fn several_outputs_come_from_one_reading() {
        let (folder, fake) = (folder(), fake([]).await);
        write_job(folder.path(), &fake.urls().join(","), "");
        let (stdout, _) = check(&run(folder.path(), &["load", "--job", "job.toml", "--json"]).await, 0);
        let reports: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(reports["exit_status"], 0);
        let counts: Vec<_> = reports["outputs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|output| (output["output"].as_str().unwrap(), output["report"]["docs_created"].as_u64().unwrap()))
            .collect();
        assert_eq!(counts, [("works", 3), ("artists", 2)]);
        assert_eq!(documents(&fake, "works")[2], json!({"id": 3, "title": "Three", "artist": "Ben"}));
        assert_eq!(documents(&fake, "artists").len(), 2);

        let (stdout, _) = check(&run(folder.path(), &["load", "--job", "job.toml"]).await, 0);
        assert!(stdout.starts_with("works\nresult") && stdout.contains("\n\nartists\nresult"), "{stdout}");
    }

    #[tokio::test]
    async fn no_output_deletes_its_index_where_another_could_not_be_made_anew() {
        let (folder, fake) = (folder(), fake([]).await);
        write_job(folder.path(), &fake.urls().join(","), "recreate = true\nyes = true\ntolerate = 1\nshards = 'auto'");
        let load = ["load", "--job", "job.toml"];
        check(&run(folder.path(), &load).await, 0);
        check(&run(folder.path(), &load).await, 0);
        std::fs::write(folder.path().join("settings.json"), r#"{"no_such_setting": 1}"#).unwrap();
        let uuid = || fake.index_uuid("works").unwrap();
        let before = uuid();
        let (_, stderr) = check(&run(folder.path(), &load).await, 2);
        assert!(stderr.contains("artists: it was not deleted"), "{stderr}");
        assert_eq!((uuid(), documents(&fake, "works").len(), documents(&fake, "artists").len()), (before, 3, 2));
        // A row that is none is tolerated in the output that tells of it.
        std::fs::write(folder.path().join("settings.json"), "{}").unwrap();
        let ragged = std::fs::read_to_string(folder.path().join("works.csv")).unwrap() + "ragged\n";
        std::fs::write(folder.path().join("works.csv"), ragged).unwrap();
        let (stdout, _) = check(&run(folder.path(), &load).await, 0);
        assert!(stdout.contains("all documents were indexed, except 1 of 4, which --tolerate 1 allows"), "{stdout}");
    }

    #[tokio::test]
    async fn the_worst_output_decides_the_exit_status() {
        let (folder, fake) = (folder(), fake([]).await);
        write_job(folder.path(), &fake.urls().join(","), "");
        let ragged = std::fs::read_to_string(folder.path().join("works.csv")).unwrap() + "ragged\n";
        std::fs::write(folder.path().join("works.csv"), ragged).unwrap();
        let (stdout, stderr) = check(&run(folder.path(), &["load", "--job", "job.toml", "--json"]).await, 3);
        let reports: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(reports["exit_status"], 3);
        let letters = |at: usize| reports["outputs"][at]["report"]["docs_dead_lettered"].as_u64();
        assert_eq!((letters(0), letters(1)), (Some(1), Some(0)), "what is no row is told by the first output");
        assert!(stderr.contains("error[documents_not_in]: works: 1 document was not indexed"), "{stderr}");
    }

    #[tokio::test]
    async fn outputs_that_get_in_each_others_way_are_refused() {
        let folder = folder();
        for (more, flags, expected) in [
            ("dead_letters = \"dead.ndjson\"", &[][..], "two outputs write to"),
            ("", &["--resume"], "--resume does not work with several outputs"),
            ("", &["--index", "x"], "--index is set for each [[output]]"),
        ] {
            write_job(folder.path(), "http://127.0.0.1:1", more);
            let (_, stderr) = check(&run(folder.path(), &[&["load", "--job", "job.toml"], flags].concat()).await, 2);
            assert!(stderr.contains(expected), "{stderr}");
        }
        write_job(folder.path(), "http://127.0.0.1:1", "");
        let job =
            std::fs::read_to_string(folder.path().join("job.toml")).unwrap().replace("\"artists\"\n", "\"works\"\n");
        std::fs::write(folder.path().join("job.toml"), job).unwrap();
        let (_, stderr) = check(&run(folder.path(), &["load", "--job", "job.toml"]).await, 2);
        assert!(stderr.contains("two outputs go to the index works"), "{stderr}");
    }

    /// A load whose first output sends while the second one begins; a request of each is held.
    async fn half_begun(folder: &Path, more: &str) -> (FakeCluster, Child) {
        let held = |path: &str| Rule::new(Fault::HoldBeforeApplying).path(path).first(1);
        let faults = Faults::new([held("/works/_bulk"), held("/artists/_stats")]);
        let fake = FakeCluster::start(FakeConfig::default().faults(faults)).await.unwrap();
        write_job(folder, &fake.url(), &format!("replicas_off = true\n{more}"));
        let mut load = inrush(folder, &["load", "--job", "job.toml", "--json"]);
        let child = load.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        fake.wait_for_held(2).await;
        assert_eq!(fake.setting("works", "index.number_of_replicas").as_deref(), Some("0"));
        (fake, child)
    }

    /// The first output alone has a report, and its settings are put back.
    fn is_ended_in_order(fake: &FakeCluster, stdout: &str, status: u64) {
        let found: Value = serde_json::from_str(stdout).unwrap();
        let outputs = found["outputs"].as_array().unwrap();
        assert_eq!((found["exit_status"].as_u64(), outputs.len()), (Some(status), 1), "{found}");
        let (name, report) = (&outputs[0]["output"], &outputs[0]["report"]);
        assert_eq!((name, &report["settings"]["restored"]), (&json!("works"), &json!("yes")), "{found}");
        assert_eq!(report["docs_indexed"].as_u64(), Some(fake.documents("works").len() as u64), "{found}");
        assert_eq!(fake.setting("works", "index.number_of_replicas").as_deref(), Some("1"));
    }

    #[tokio::test]
    async fn a_signal_while_an_output_begins_ends_those_before_it_in_order() {
        let folder = folder();
        let (fake, mut child) = half_begun(folder.path(), "").await;
        let process = child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &process]).status().await.unwrap().success());
        // It says so before anything is let go on, so the signal was seen.
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("interrupted: waiting") {
            line.clear();
            assert!(stderr.read_line(&mut line).await.unwrap() > 0, "it ended");
        }
        fake.release_held();
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).await.unwrap();
        let (stdout, _) = check(&child.wait_with_output().await.unwrap(), 130);
        assert!(rest.contains("interrupted: nothing was sent to artists"), "{rest}");
        is_ended_in_order(&fake, &stdout, 130);
    }

    #[tokio::test]
    async fn an_output_that_cannot_begin_ends_those_before_it_in_order() {
        let folder = folder();
        let (fake, child) = half_begun(folder.path(), "bulk_routing = 'one-shard'").await;
        let shards = "/_cluster/state/metadata,routing_table/artists";
        fake.set_reply(shards, 400, json!({"error": "no", "status": 400}));
        fake.release_held();
        let (stdout, stderr) = check(&child.wait_with_output().await.unwrap(), 1);
        assert!(stderr.contains("needs to read the shards from the cluster state"), "{stderr}");
        assert!(!stderr.contains("stays") && fake.setting("artists", "index.uuid").is_none(), "{stderr}");
        is_ended_in_order(&fake, &stdout, 1);
    }
}

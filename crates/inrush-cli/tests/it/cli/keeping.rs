//! What can destroy an index: aliases that are swapped, `--recreate`. Nothing is deleted, and no
//! alias moved, for a load that could not fill the new index.

use inrush_fake::{FakeCluster, Fault, Faults, Rule};
use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{check, fake, folder_with, lines, report, run, stderr, stdout};

/// The index `shop-1` with ten documents behind the alias `shop`, and a folder with `a.ndjson`.
pub(super) async fn shop(text: &str) -> (FakeCluster, TempDir) {
    let fake = fake([]).await;
    let (folder, _) = folder_with("ten.ndjson", &lines(10));
    std::fs::write(folder.path().join("a.ndjson"), text).unwrap();
    check(
        &run(folder.path(), &["load", "ten.ndjson", "--index", "shop-1", "--id", "id", "--to", &fake.url()]).await,
        0,
    );
    let client = Client::new(&fake.url()).unwrap();
    assert_eq!(client.json("PUT", "/shop-1/_alias/shop", json!({})).await.unwrap().status, 200);
    (fake, folder)
}

fn stands_for(fake: &FakeCluster) -> Vec<String> {
    fake.indices().into_iter().filter(|index| !fake.aliases(index)["shop"].is_null()).collect()
}

#[tokio::test]
async fn an_alias_is_not_moved_to_an_empty_index() {
    let (fake, folder) = shop("").await;
    let to = fake.url();
    let load = ["load", "-", "--format", "ndjson", "--alias", "shop", "--delete-old", "--id", "id", "--to", &to];
    let output = run(folder.path(), &load).await;
    check(&output, 4);
    let text = stdout(&output);
    assert!(text.contains("holds 0 documents, and shop-1, which it would replace, holds 10"), "{text}");
    assert!(text.contains("--allow-empty") && text.contains("POST /_aliases"), "{text}");
    assert!(!text.contains("--resume"), "stdin cannot be read again: {text}");
    assert_eq!((stands_for(&fake), fake.documents("shop").len()), (vec!["shop-1".to_owned()], 10));

    // The same where a pipeline drops every document.
    let client = Client::new(&to).unwrap();
    let pipeline = json!({"processors": [{"drop": {}}]});
    assert_eq!(client.json("PUT", "/_ingest/pipeline/none", pipeline).await.unwrap().status, 200);
    let drops = ["load", "ten.ndjson", "--alias", "shop", "--delete-old", "--pipeline", "none", "--to", &to];
    let output = run(folder.path(), &drops).await;
    check(&output, 4);
    assert_eq!(fake.documents("shop").len(), 10, "{}", stdout(&output));

    check(&run(folder.path(), &[&load[..], &["--allow-empty"]].concat()).await, 0);
    assert_eq!(fake.documents("shop").len(), 0);
    assert!(fake.index_uuid("shop-1").is_none());
}

#[tokio::test]
async fn an_alias_is_not_moved_to_a_much_smaller_index_and_resume_moves_it() {
    let (fake, folder) = shop(&lines(4)).await;
    let to = fake.url();
    let load = ["load", "a.ndjson", "--alias", "shop", "--id", "id", "--to", &to];
    let output = run(folder.path(), &load).await;
    check(&output, 4);
    let text = stdout(&output);
    assert!(text.contains("60.0% fewer, and --allow-shrink allows 50% fewer"), "{text}");
    assert!(text.contains("the same command with --resume --allow-shrink any"), "{text}");
    assert_eq!(stands_for(&fake), ["shop-1"]);
    let bulks = || fake.bulk_requests().len();
    let before = bulks();
    let output = run(folder.path(), &[&load[..], &["--resume", "--allow-shrink", "60%"]].concat()).await;
    check(&output, 0);
    assert_eq!((bulks(), fake.documents("shop").len()), (before, 4), "nothing is loaded again");
    // A load of its own, from four documents to four.
    check(&run(folder.path(), &load).await, 0);
}

#[tokio::test]
async fn documents_that_are_tolerated_do_not_keep_an_alias_from_being_moved() {
    let (fake, folder) = shop(&lines(20)).await;
    let bad = || Faults::new([Rule::new(Fault::ItemBadRequest).ids(["i3", "i5"])]);
    let to = fake.url();
    let load = ["load", "a.ndjson", "--alias", "shop", "--id", "id", "--to", &to];
    fake.set_faults(bad());
    let output = run(folder.path(), &[&load[..], &["--tolerate", "1"]].concat()).await;
    check(&output, 3);
    assert!(
        stdout(&output).contains("2 documents not in, more than the 1 that --tolerate allows"),
        "{}",
        stdout(&output)
    );
    assert_eq!(stands_for(&fake), ["shop-1"]);

    fake.set_faults(bad());
    let output =
        run(folder.path(), &[&load[..], &["--tolerate", "10%", "--delete-old", "--force-merge", "1"]].concat()).await;
    check(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("all documents are in, except 2 of 20, which --tolerate 10% allows"), "{text}");
    assert!(text.contains("2 x 400") && text.contains("--from-dead-letters"), "the reasons are told: {text}");
    assert_eq!(fake.documents("shop").len(), 18);
    let merges = fake.requests().iter().filter(|request| request.path.contains("_forcemerge")).count();
    assert_eq!(merges, 1);
    assert!(fake.index_uuid("shop-1").is_none());

    // A job file says the same.
    fake.set_faults(bad());
    let job = format!("sources = ['a.ndjson']\nto = '{to}'\nindex = 'other'\nid = 'id'\ntolerate = 2\njson = true\n");
    std::fs::write(folder.path().join("job.toml"), job).unwrap();
    let output = run(folder.path(), &["load", "--job", "job.toml"]).await;
    check(&output, 0);
    let expected = json!({"limit": "2", "docs": 2, "docs_unknown": 0, "holds": true});
    assert_eq!(report(&output)["tolerance"], expected);
}

/// Names of the requests that change something.
pub(super) fn writes(fake: &FakeCluster) -> Vec<String> {
    let reads = ["_simulate_index", "_search", "_count", "_refresh", "_has_privileges", "_mget"];
    let all = fake.requests().into_iter().filter(|request| request.method != "GET" && request.method != "HEAD");
    let writing = all.filter(|request| !reads.iter().any(|read| request.path.contains(read)));
    writing.map(|request| format!("{} {}", request.method, request.path)).collect()
}

#[tokio::test]
async fn an_index_is_kept_that_could_not_be_made_anew() {
    let (fake, folder) = shop(&lines(3)).await;
    let to = fake.url();
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    file("wrong-mapping.json", b"{\"properties\":{\"n\":{\"type\":\"lnog\"}}}");
    file("wrong-settings.json", b"{\"no_such_setting\":1}");
    file("right.json", b"{\"properties\":{\"n\":{\"type\":\"long\"}}}");
    file("what.bin", b"what?\n");
    file("header.csv", b"a,\xff\xfe\n1,2\n");
    file("empty.ndjson", b"");
    file("blank.ndjson", b"\n\n");
    let uuid = || fake.index_uuid("shop-1").unwrap();
    let before = uuid();
    let load = |flags: &str| -> Vec<String> {
        let all = format!("load {flags} --index shop-1 --recreate --yes --to {to}");
        all.split_whitespace().map(str::to_owned).collect()
    };
    let refused = [
        ("a.ndjson --mapping wrong-mapping.json", "lnog", 4),
        ("a.ndjson --settings wrong-settings.json", "no_such_setting", 4),
        ("a.ndjson --shards 5000", "5000", 4),
        ("what.bin", "what.bin", 2),
        ("a.ndjson what.bin", "what.bin", 2),
        ("header.csv", "header.csv", 4),
        ("empty.ndjson", "--allow-empty", 4),
        ("blank.ndjson", "--allow-empty", 4),
        ("a.ndjson --trace none/trace", "cannot write the trace", 0),
    ];
    for (flags, expected, dry_run_status) in refused {
        let arguments = load(flags);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = run(folder.path(), &arguments).await;
        check(&output, 2);
        assert!(stderr(&output).contains(expected), "{flags}: {}", stderr(&output));
        assert_eq!((uuid(), fake.documents("shop-1").len()), (before.clone(), 10), "{flags}");
        // A dry run writes no trace.
        if dry_run_status != 0 {
            let written = writes(&fake).len();
            let output = run(folder.path(), &[&arguments[..], &["--dry-run"]].concat()).await;
            check(&output, dry_run_status);
            let text = format!("{}{}", stdout(&output), stderr(&output));
            assert!(text.contains(expected), "{flags}: {text}");
            assert_eq!(writes(&fake)[written..], Vec::<String>::new(), "{flags}");
        }
    }
    let made = [load("a.ndjson --mapping right.json --shards 2"), load("empty.ndjson --allow-empty")];
    for (arguments, documents) in made.iter().zip([3, 0]) {
        let before = uuid();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        check(&run(folder.path(), &arguments).await, 0);
        assert_ne!(uuid(), before);
        assert_eq!(fake.documents("shop-1").len(), documents);
    }
    let mut left: Vec<String> = fake.indices();
    left.retain(|name| name != inrush_load::LOADS_INDEX);
    assert_eq!(left, ["shop-1"], "the index of the trial is gone");
}

#[tokio::test]
async fn the_index_of_the_trial_is_under_no_alias() {
    let (fake, folder) = shop(&lines(3)).await;
    let client = Client::new(&fake.url()).unwrap();
    let template = json!({"index_patterns": ["shop-*"], "template": {"aliases": {"all": {}}}});
    assert_eq!(client.json("PUT", "/_index_template/shops", template).await.unwrap().status, 200);
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "shop-1", "--recreate", "--yes", "--to", &to];
    check(&run(folder.path(), &load).await, 0);
    assert_eq!(fake.documents("shop-1").len(), 3);
    let requests = fake.requests();
    let made = requests.iter().filter(|request| request.method == "PUT" && request.path.contains("inrush-trial-"));
    let made: Vec<&str> = made.map(|request| request.path.as_str()).collect();
    assert!(matches!(made[..], [path] if path.starts_with("/inrush-trial-")), "{made:?}");
}

#[tokio::test]
async fn an_index_whose_name_became_that_of_data_streams_is_kept() {
    let (fake, folder) = shop(&lines(3)).await;
    let client = Client::new(&fake.url()).unwrap();
    let template = json!({"index_patterns": ["shop-*"], "data_stream": {}});
    assert_eq!(client.json("PUT", "/_index_template/streams", template).await.unwrap().status, 200);
    let to = fake.url();
    let output =
        run(folder.path(), &["load", "a.ndjson", "--index", "shop-1", "--recreate", "--yes", "--to", &to]).await;
    check(&output, 2);
    assert!(stderr(&output).contains("creates data streams for this name"), "{}", stderr(&output));
    assert_eq!(fake.documents("shop-1").len(), 10);
}

#[tokio::test]
async fn a_load_of_nothing_says_so() {
    let (fake, folder) = shop("").await;
    let load = ["load", "a.ndjson", "--index", "other", "--to", &fake.url(), "--json"];
    let output = run(folder.path(), &load).await;
    check(&output, 0);
    assert!(report(&output)["warnings"][0].as_str().unwrap().contains("no document was read"));
    let output = run(folder.path(), &[&load[..], &["--allow-empty"]].concat()).await;
    assert_eq!(report(&output)["warnings"], json!([]));
    let output = run(folder.path(), &[&load[..6], &["--dry-run", "--json"]].concat()).await;
    check(&output, 0);
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(found["warnings"][0].as_str().unwrap().contains("no document was read"), "{found}");
}

#[tokio::test]
async fn a_load_without_replicas_goes_on_after_a_recovery() {
    // One node: an index with a replica is never green.
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(1).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to, "--replicas-off", "--yes", "--json"];
    let small = ["--batch-docs", "2", "--in-flight", "1"];
    let mut child = super::inrush(folder.path(), &[&load[..], &small].concat()).spawn().unwrap();
    fake.wait_for_held(1).await;
    child.kill().await.unwrap();
    fake.release_held();
    check(&run(folder.path(), &["recover", "--to", &to, "--force"]).await, 0);
    assert_eq!(fake.setting("docs", "index.number_of_replicas").as_deref(), Some("1"));
    assert!(!fake.documents("docs").is_empty());
    let output = run(folder.path(), &[&load[..], &["--resume"]].concat()).await;
    check(&output, 0);
    let report = report(&output);
    assert_eq!(report["settings"]["changed"]["index.number_of_replicas"]["to"], "0", "{report}");
    assert_eq!(fake.documents("docs").len(), 10);
    assert_eq!(fake.setting("docs", "index.number_of_replicas").as_deref(), Some("1"));
}

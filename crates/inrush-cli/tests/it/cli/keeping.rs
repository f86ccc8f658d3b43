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

/// The command that a report tells to run next, without the name of the program.
fn told(output: &std::process::Output) -> Vec<String> {
    let text = stdout(output);
    let command = text.split("`inrush ").nth(1).and_then(|rest| rest.split('`').next()).unwrap_or_default();
    command.split(' ').map(str::to_owned).collect()
}

#[tokio::test]
async fn mended_dead_letters_move_the_alias() {
    let (fake, folder) = shop(&lines(20)).await;
    let bad = |ids: [&'static str; 2]| fake.set_faults(Faults::new([Rule::new(Fault::ItemBadRequest).ids(ids)]));
    let to = fake.url();
    bad(["i3", "i5"]);
    let load = ["load", "a.ndjson", "--alias", "shop", "--id", "id", "--to", &to, "--dead-letters", "dead.ndjson"];
    let output = run(folder.path(), &load).await;
    check(&output, 3);
    let again = told(&output);
    let expected = ["load", "--from-dead-letters", "dead.ndjson", "--alias", "shop", "--to", &to];
    assert_eq!(again, expected, "{}", stdout(&output));
    let new = fake.indices().into_iter().find(|index| index.starts_with("shop-2")).unwrap();
    let run_words = async |words: &[String], more: &[&str]| {
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        run(folder.path(), &words).await
    };
    // One is mended, and the other is not.
    bad(["i5", "-"]);
    let output = run_words(&again, &["--dead-letters", "rest.ndjson"]).await;
    check(&output, 3);
    assert_eq!(stands_for(&fake), ["shop-1"]);
    // The rest, and not all of it.
    fake.set_faults(Faults::default());
    std::fs::write(folder.path().join("none.ndjson"), "").unwrap();
    let none = ["load", "--from-dead-letters", "none.ndjson", "--index", &new, "--alias", "shop", "--to", &to];
    let output = run(folder.path(), &none).await;
    check(&output, 4);
    assert!(stdout(&output).contains("has left 1 documents out, and 1 of them are not in yet"), "{}", stdout(&output));
    let rest = ["load", "--from-dead-letters", "rest.ndjson", "--alias", "shop", "--to", &to];
    let output = run(folder.path(), &rest).await;
    check(&output, 0);
    assert_eq!((stands_for(&fake), fake.documents("shop").len()), (vec![new.clone()], 20));
    // It is an index like others now.
    let output = run(folder.path(), &["rollback", "shop", "--to", &to]).await;
    check(&output, 0);
    assert!(stdout(&output).contains(&format!("was moved from {new} to shop-1, which has 10 documents")));
    assert_eq!(stands_for(&fake), ["shop-1"]);
    let output = run(folder.path(), &["rollback", "shop", "--list", "--to", &to]).await;
    assert!(stdout(&output).contains(&format!("could go back to {new}: 20 documents, complete since")));
}

/// Each load of letters that are mended wrongly writes letters that have all of the first ones.
#[tokio::test]
async fn a_letter_keeps_its_fields_through_every_round() {
    let fake = fake([]).await;
    let to = fake.url();
    for (action, fields) in [("index", "id"), ("index", "id routing"), ("create", "id routing"), ("upsert", "id")] {
        let (folder, _) = folder_with("0", "{\"order\":\"o256\",\"shop\":\"s\",\"n\":\n");
        let index = format!("{action}-{}", fields.len());
        let load = ["load", "0", "--format", "ndjson", "--index", &index, "--id", "order", "--action", action];
        let routing = if fields.contains("routing") { &["--routing", "shop"][..] } else { &[] };
        let rest = ["--to", &to, "--dead-letters", "1"];
        check(&run(folder.path(), &[&load[..], routing, &rest].concat()).await, 3);
        let letter = |round: &str| {
            let text = std::fs::read_to_string(folder.path().join(round)).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let mend = |round: &str, document: &str| {
            let mut mended = letter(round);
            mended["text"] = document.into();
            std::fs::write(folder.path().join(round), format!("{mended}\n")).unwrap();
        };
        let load_again = async |round: &str, rest: &str, status: i32| {
            let again = ["load", "--from-dead-letters", round, "--dead-letters", rest, "--to", &to];
            check(&run(folder.path(), &again).await, status);
        };
        let first = letter("1");
        for (round, next, document, error) in
            [("1", "2", "{\"order\":\"o256\"", "not_json"), ("2", "3", "{\"n\":1}", "missing_field")]
        {
            mend(round, document);
            load_again(round, next, 3).await;
            let next = letter(next);
            assert_eq!((&next["error"]["type"], &next["index"]), (&json!(error), &json!(index)), "{next}");
            assert_eq!(next["sent_with"]["id"], "order", "{next}");
            assert_eq!(next["sent_with"]["routing"], first["sent_with"]["routing"], "{next}");
        }
        // The document is right, and the line is none.
        mend("3", "{\"order\":\"o256\",\"shop\":\"s\"}");
        let line = std::fs::read_to_string(folder.path().join("3")).unwrap();
        let damaged = line.trim_end().strip_suffix('}').unwrap();
        std::fs::write(folder.path().join("3"), format!("{damaged}\n{line}").replacen("o256", "o257", 1)).unwrap();
        load_again("3", "4", 3).await;
        let next = letter("4");
        assert_eq!(next["error"]["type"], "bad_dead_letter", "{next}");
        mend("4", &format!("{}}}", next["text"].as_str().unwrap()));
        load_again("4", "5", 0).await;
        let routing = fields.contains("routing").then_some("s");
        let mut found: Vec<_> = fake.documents(&index).into_iter().map(|found| (found.id, found.routing)).collect();
        found.sort();
        assert_eq!(found, ["o256", "o257"].map(|id| (id.to_owned(), routing.map(str::to_owned))));
    }
}

#[tokio::test]
async fn dead_letters_are_not_the_rest_of_a_load_that_was_cut_off() {
    let (fake, folder) = shop(&lines(20)).await;
    let to = fake.url();
    fake.set_faults(Faults::new([Rule::new(Fault::ItemBadRequest).ids(["i3", "i5"])]));
    let load = ["load", "a.ndjson", "--alias", "shop", "--id", "id", "--to", &to, "--dead-letters", "dead.ndjson"];
    let output = run(folder.path(), &[&load[..], &["--strict"]].concat()).await;
    check(&output, 1);
    let letters = ["load", "--from-dead-letters", "dead.ndjson", "--to", &to, "--alias"];
    let output = run(folder.path(), &[&letters[..], &["shop"]].concat()).await;
    check(&output, 2);
    assert!(stderr(&output).contains("has not read all of its documents"), "{}", stderr(&output));
    let output = run(folder.path(), &[&letters[..], &["other"]].concat()).await;
    check(&output, 2);
    assert!(stderr(&output).contains("no load has made it for the alias other"), "{}", stderr(&output));
    assert_eq!(stands_for(&fake), ["shop-1"]);
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
        stdout(&output).contains("2 documents not indexed, more than the 1 that --tolerate allows"),
        "{}",
        stdout(&output)
    );
    assert_eq!(stands_for(&fake), ["shop-1"]);

    fake.set_faults(bad());
    let output =
        run(folder.path(), &[&load[..], &["--tolerate", "10%", "--delete-old", "--force-merge", "1"]].concat()).await;
    check(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("all documents were indexed, except 2 of 20, which --tolerate 10% allows"), "{text}");
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

//! The binary with an index of another cluster as its source, and the output of a dry run and of
//! `--shards auto`; against fake clusters.

use inrush_fake::{Auth, FakeCluster, FakeConfig, Flavor};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

use crate::common::{check, inrush, run};

async fn send(client: &Client, method: &str, path: &str, body: Value) {
    let reply = client.json(method, path, body).await.unwrap();
    assert!(reply.status < 300, "{method} {path}: {}", reply.json());
}

/// An Elasticsearch with an index, and an OpenSearch.
async fn clusters(auth: Option<Auth>) -> (FakeCluster, FakeCluster) {
    let flavor = Flavor::elasticsearch_8();
    let from = FakeCluster::start(FakeConfig::default().flavor(flavor).auth(auth.clone())).await.unwrap();
    let to = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let client = Client::new(&from.url()).unwrap().with_authorization(auth.as_ref().map(Auth::header));
    let mapping = json!({"properties": {"n": {"type": "long"}, "any": {"type": "flattened"}}});
    let settings = json!({"number_of_shards": 2, "refresh_interval": "7s"});
    send(&client, "PUT", "/old", json!({"settings": settings, "mappings": mapping})).await;
    let lines: String = (0..500).map(|n| format!("{{\"index\":{{\"_id\":\"i{n}\"}}}}\n{{\"n\":{n}}}\n")).collect();
    client.bulk("/old/_bulk", lines).await.unwrap();
    (from, to)
}

#[tokio::test]
async fn an_index_is_copied_with_its_mapping_and_compared() {
    let auth = Auth::Basic { user: "reader".into(), password: "hunter2".into() };
    let (from, to) = clusters(Some(auth)).await;
    let (source, url) = (format!("{}/old", from.url()), to.url());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let load = ["load", &source, "--index", "new", "--to", &url];
    let (_, stderr) = check(&run(folder, &load).await, 1);
    assert!(stderr.contains("401") && stderr.contains("--from-user"), "{stderr}");
    std::fs::write(folder.join("password"), "hunter2\n").unwrap();
    let login = ["--from-user", "reader", "--from-password-file", "password"];
    let copy = ["--copy-mapping", "--copy-settings"];
    let (stdout, stderr) = check(&run(folder, &[&load[..], &login, &copy].concat()).await, 0);
    assert!(stdout.contains("documents read  500") && stdout.contains("verified        yes"), "{stdout}");
    assert!(stderr.contains("--copy-mapping: any: flattened becomes flat_object"), "{stderr}");
    assert!(!stderr.contains("hunter2"));
    assert_eq!(to.mapping("new")["properties"]["any"]["type"], "flat_object");
    assert_eq!(to.setting("new", "index.number_of_shards").as_deref(), Some("2"));
    assert_eq!(to.setting("new", "index.refresh_interval").as_deref(), Some("7s"));
    assert_eq!(to.documents("new").len(), 500);

    let verify = ["verify", &source, "--index", "new", "--to", &url];
    let with_password = async |arguments: &[&str]| {
        let mut command = inrush(folder, arguments);
        command.env("INRUSH_FROM_PASSWORD", "hunter2").output().await.unwrap()
    };
    let arguments = [&verify[..], &["--from-user", "reader"]].concat();
    let (stdout, _) = check(&with_password(&arguments).await, 0);
    assert!(stdout.contains("equal"), "{stdout}");
    let client = Client::new(&to.url()).unwrap();
    send(&client, "PUT", "/new/_doc/i7?refresh=true", json!({"n": 8})).await;
    send(&client, "DELETE", "/new/_doc/i9?refresh=true", Value::Null).await;
    let (stdout, _) = check(&with_password(&arguments).await, 4);
    assert!(stdout.contains("i7") && stdout.contains("i9"), "{stdout}");
}

#[tokio::test]
async fn a_copy_is_like_its_source_unless_told_otherwise() {
    let (from, to) = clusters(None).await;
    send(&Client::new(&from.url()).unwrap(), "PUT", "/old/_alias/live", json!({})).await;
    let (source, url) = (format!("{}/old", from.url()), to.url());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let load = ["load", &source, "--to", &url, "--index"];
    let (stdout, stderr) = check(&run(folder, &[&load[..], &["new"]].concat()).await, 0);
    assert!(stdout.contains("new index       new: mapping of old (source), settings of old (source)"), "{stdout}");
    for part in ["copying the mapping: any: flattened becomes flat_object", "not copied of old: aliases live"] {
        assert!(stderr.contains(part) && stdout.contains(part), "{part}: {stderr}{stdout}");
    }
    assert_eq!(to.mapping("new")["properties"]["any"]["type"], "flat_object");
    assert_eq!(to.setting("new", "index.number_of_shards").as_deref(), Some("2"));
    // It exists now, and nothing is said of a mapping.
    let (stdout, stderr) = check(&run(folder, &[&load[..], &["new"]].concat()).await, 0);
    assert!(!stdout.contains("new index") && !stderr.contains("mapping"), "{stdout}{stderr}");
    let (stdout, stderr) = check(&run(folder, &[&load[..], &["bare", "--no-copy"]].concat()).await, 0);
    assert!(!stdout.contains("new index") && !stderr.contains("copied"), "{stdout}{stderr}");
    assert_eq!(to.setting("bare", "index.number_of_shards").as_deref(), Some("1"));
    let (_, stderr) = check(&run(folder, &[&load[..], &["half", "--copy-settings"]].concat()).await, 0);
    assert!(stderr.contains("not copied of old: mapping; aliases live"), "{stderr}");
    let (_, stderr) = check(&run(folder, &[&load[..], &["x", "--copy-settings", "--no-copy"]].concat()).await, 2);
    assert!(stderr.contains("--no-copy"), "{stderr}");
}

#[tokio::test]
async fn a_query_and_flags_of_a_load_apply() {
    let (from, to) = clusters(None).await;
    let (source, url) = (format!("{}/old", from.url()), to.url());
    let folder = tempfile::tempdir().unwrap();
    let query = r#"{"terms": {"n": [1, 2, 3]}}"#;
    std::fs::write(
        folder.path().join("job.toml"),
        format!("sources = [\"{source}\"]\nquery = '{query}'\nkeep_versions = true\n"),
    )
    .unwrap();
    let arguments = ["load", "--job", "job.toml", "--index", "few", "--to", &url, "--json"];
    let (stdout, _) = check(&run(folder.path(), &arguments).await, 0);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["docs_created"], 3, "{report}");
    // Another field as the id.
    let arguments = ["load", &source, "--index", "by-n", "--id", "n", "--catch-up", "--to", &url, "--quiet"];
    check(&run(folder.path(), &arguments).await, 0);
    assert!(to.document("by-n", "17").is_some());
}

#[tokio::test]
async fn what_does_not_fit_together_is_usage() {
    let (from, to) = clusters(None).await;
    let (source, url, bare) = (format!("{}/old", from.url()), to.url(), from.url());
    let nowhere = format!("{bare}/nowhere");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ndjson"), "{}\n").unwrap();
    for (arguments, code, expected) in [
        (&["a.ndjson", "--query", "{}"][..], 2, "--query is for an index"),
        (&["a.ndjson", "--from-insecure"], 2, "--from-insecure is for an index"),
        (&[&*source, "a.ndjson"], 2, "the only source"),
        (&[&*source, "--null", "x"], 2, "--null does not apply to the index"),
        (&[&*source, "--map", "auto"], 2, "--copy-mapping"),
        (&[&*source, "--query", "{"], 2, "--query: not valid JSON"),
        (&[&*source, "--keep-versions", "--action", "create"], 2, "only with the action index"),
        (&[&*source, "--id", "n", "--keep-versions"], 2, "keep their ids"),
        (&[&*source, "--id-from", "content"], 2, "those of an index have ids"),
        (&[&*bare], 2, "names no index"),
        (&[&*nowhere], 2, "nowhere"),
        (&["http://127.0.0.1:1/old"], 1, "SOURCE has its address"),
    ] {
        let all = [&["load"], arguments, &["--index", "t", "--to", &url]].concat();
        let (stdout, stderr) = check(&run(folder.path(), &all).await, code);
        assert!(stderr.contains(expected) && stdout.is_empty(), "{arguments:?}: {stderr}");
    }
    assert!(to.indices().is_empty());
}

#[tokio::test]
async fn a_dry_run_shows_what_would_be_and_writes_nothing() {
    let (from, to) = clusters(None).await;
    let url = to.url();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let csv = "id,n,when\n1,5,2026-01-31\n2,x,2026-02-01\n,7,2026-02-02\n";
    std::fs::write(folder.join("a.csv"), csv).unwrap();
    let load = ["load", "a.csv", "--id", "id", "--index", "new", "--to", &url, "--shards", "auto"];
    let dry = [&load[..], &["--dry-run"]].concat();
    let (stdout, stderr) = check(&run(folder, &dry).await, 4);
    for part in [
        "nothing was written; documents would go to new of OpenSearch 3.6.0, which does not exist yet",
        "{\"index\":{\"_id\":\"1\"}}",
        "\"index.number_of_shards\": 1",
        "3 documents examined (all documents), 1 would be dead letters",
        "a.csv line 4: missing_field: field `id`",
        "\"when\": {\n      \"type\": \"date\"",
    ] {
        assert!(stdout.contains(part), "{part} is not in\n{stdout}");
    }
    assert!(stderr.contains("--shards auto: 1 shard for an index of about"), "{stderr}");

    // Against an index that is there.
    let client = Client::new(&url).unwrap();
    let mapping =
        json!({"mappings": {"dynamic": "strict", "properties": {"id": {"type": "keyword"}, "n": {"type": "long"}}}});
    send(&client, "PUT", "/new", mapping).await;
    let before = to.requests().len();
    let (stdout, _) = check(&run(folder, &[&dry[..], &["--json"]].concat()).await, 4);
    let found: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&found["stands_for"], &found["docs_failing"]), (&json!("index"), &json!(3)), "{found}");
    let reasons = found["failures"].to_string();
    assert!(reasons.contains("field n is") && reasons.contains("`dynamic` is strict"), "{reasons}");
    let asked = to.requests();
    let writing = asked[before..].iter().filter(|request| request.method != "GET");
    let asks = ["_simulate_index", "_has_privileges"];
    let writing: Vec<_> = writing.filter(|request| !asks.iter().any(|ask| request.path.contains(ask))).collect();
    assert!(writing.is_empty(), "{writing:?}");
    assert!(!folder.join("state").exists(), "no checkpoint");

    // What stops a load is a problem.
    send(&client, "PUT", "/new/_block/write", Value::Null).await;
    let (stdout, _) = check(&run(folder, &dry).await, 4);
    assert!(stdout.contains("problem: new: index.blocks.write keeps documents out"), "{stdout}");
    let source = format!("{}/old", from.url());
    let arguments = ["load", &source, "--index", "copy", "--to", &url, "--copy-mapping", "--dry-run"];
    let (stdout, _) = check(&run(folder, &arguments).await, 0);
    assert!(stdout.contains("flat_object") && stdout.contains("500 documents examined (all documents)"), "{stdout}");
    let (_, stderr) = check(&run(folder, &[&dry[..], &["--resume"]].concat()).await, 2);
    assert!(stderr.contains("--dry-run reads the beginning"), "{stderr}");
    assert_eq!(to.indices(), ["new"]);
}

#[tokio::test]
async fn of_stdin_no_number_of_shards_can_be_told() {
    let (_from, to) = clusters(None).await;
    let folder = tempfile::tempdir().unwrap();
    let url = to.url();
    let arguments = ["load", "-", "--format", "ndjson", "--index", "t", "--shards", "auto", "--to", &url];
    let (_, stderr) = check(&run(folder.path(), &arguments).await, 0);
    assert!(stderr.contains("the size of the source is unknown"), "{stderr}");
    assert_eq!(to.setting("t", "index.number_of_shards").as_deref(), Some("1"));
}

#[tokio::test]
async fn an_index_is_not_copied_onto_itself() {
    let (from, _to) = clusters(None).await;
    let client = Client::new(&from.url()).unwrap();
    send(&client, "PUT", "/old/_alias/other-name", json!({})).await;
    let uuid = || from.index_uuid("old").unwrap();
    let before = uuid();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Another address of the same node.
    let elsewhere = from.url().replace("127.0.0.1", "localhost");
    for (source, index, flags) in [
        ("old", "old", &["--recreate", "--yes"][..]),
        ("old", "old", &[]),
        ("other-name", "old", &["--recreate", "--yes"]),
        ("old", "other-name", &[]),
        ("o*", "old", &["--recreate", "--yes", "--query", "{\"match_all\":{}}"]),
    ] {
        let source = format!("{}/{source}", from.url());
        let load = [&["load", &source, "--index", index, "--to", &elsewhere][..], flags].concat();
        let (_, stderr) = check(&run(folder, &load).await, 2);
        assert!(stderr.contains("is the source of the documents") && stderr.contains("_update_by_query"), "{stderr}");
        let (stdout, _) = check(&run(folder, &[&load[..], &["--dry-run"]].concat()).await, 4);
        assert!(stdout.contains("problem: old: this index"), "{stdout}");
        assert_eq!((uuid(), from.documents("old").len()), (before.clone(), 500), "{load:?}");
    }
    // A new index behind an alias of the source is another one.
    let source = format!("{}/old", from.url());
    check(&run(folder, &["load", &source, "--alias", "other-name", "--to", &elsewhere]).await, 0);
    assert_eq!((from.documents("old").len(), from.documents("other-name").len()), (500, 500));
}

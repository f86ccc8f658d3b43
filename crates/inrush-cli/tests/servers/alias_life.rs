//! The life of an alias with real servers: a second night without a mapping, a night that fails,
//! dead letters that are mended, old indices that are deleted, and the way back.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::program::inrush;
use crate::server::{Server, Version};

fn run(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output: Output = inrush().current_dir(folder).args(arguments).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{arguments:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// The index that the alias stands for.
async fn now(server: &Server, alias: &str) -> String {
    let found = server.send("GET", &format!("/_alias/{alias}"), Value::Null).await;
    found.as_object().unwrap().keys().next().unwrap().clone()
}

async fn life(version: Version) {
    let server = Server::shared(version).await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (to, alias) = (server.url(), "alias_life-shop");
    let mapping = json!({
        "dynamic": "strict", "_meta": {"owner": "shop"},
        "properties": {"sku": {"type": "keyword"}, "price": {"type": "double"},
            "name": {"type": "text", "analyzer": "folded"}, "parts": {"type": "nested", "properties": {"n": {"type": "long"}}}},
    });
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "7s", "analysis": {
        "analyzer": {"folded": {"tokenizer": "standard", "filter": ["lowercase"]}}}});
    std::fs::write(folder.join("mapping.json"), mapping.to_string()).unwrap();
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    let shop = |price: &str| format!("{{\"sku\":\"1\",\"price\":{price}}}\n{{\"sku\":\"2\",\"price\":2}}\n");
    std::fs::write(folder.join("shop.ndjson"), shop("1.5")).unwrap();
    let load = ["load", "shop.ndjson", "--alias", alias, "--id", "sku", "--to", &to];
    let given = ["--mapping", "mapping.json", "--settings", "settings.json"];
    run(folder, &[&load[..], &given].concat(), 0);
    let first = now(&server, alias).await;

    // The second night.
    let text = run(folder, &load, 0);
    let second = now(&server, alias).await;
    assert!(text.contains(&format!("{second}: mapping of {first}, settings of {first}")), "{text}");
    let of = server.send("GET", &format!("/{first},{second}?flat_settings=true"), Value::Null).await;
    for part in ["properties", "dynamic"] {
        assert_eq!(of[&first]["mappings"][part], of[&second]["mappings"][part], "{of}");
    }
    assert_eq!(of[&second]["mappings"]["_meta"]["owner"], "shop");
    for name in ["number_of_shards", "number_of_replicas", "refresh_interval", "analysis.analyzer.folded.filter"] {
        let name = format!("index.{name}");
        assert_eq!(of[&first]["settings"][&name], of[&second]["settings"][&name], "{name}: {of}");
    }

    // A night with a document that is refused, which is mended.
    std::fs::write(folder.join("shop.ndjson"), shop("\"x\"")).unwrap();
    let text = run(folder, &[&load[..], &["--dead-letters", "dead.ndjson"]].concat(), 3);
    assert!(text.contains(&format!("--from-dead-letters dead.ndjson --alias {alias} --to {to}")), "{text}");
    assert_eq!(now(&server, alias).await, second);
    let letters = std::fs::read_to_string(folder.join("dead.ndjson")).unwrap().replace("\"x\"", "9");
    std::fs::write(folder.join("dead.ndjson"), letters).unwrap();
    run(folder, &["load", "--from-dead-letters", "dead.ndjson", "--alias", alias, "--to", &to], 0);
    let third = now(&server, alias).await;
    assert!(third > second, "{third}");
    assert_eq!(server.count(alias).await, 2);

    // A night that fails, and the next one, which keeps one old index.
    run(folder, &[&load[..], &["--dead-letters", "other.ndjson"]].concat(), 3);
    std::fs::write(folder.join("shop.ndjson"), shop("1")).unwrap();
    let text = run(folder, &[&load[..], &["--keep", "1"]].concat(), 0);
    let fourth = now(&server, alias).await;
    assert!(text.contains("left by a load that failed") && text.contains(&format!("kept {third}")), "{text}");
    let left = server.send("GET", &format!("/{alias}-*/_alias"), Value::Null).await;
    let mut left: Vec<String> = left.as_object().unwrap().keys().cloned().collect();
    left.sort_unstable();
    // Names are in the order of time. The one between them is that of the load that failed.
    assert_eq!((left.len(), &left[0], &left[2]), (3, &third, &fourth), "{left:?}");

    // The way back.
    let text = run(folder, &["rollback", alias, "--list", "--to", &to], 0);
    assert!(text.contains(&format!("could go back to {third}: 2 documents, complete since")), "{text}");
    run(folder, &["rollback", alias, "--to", &to], 0);
    assert_eq!(now(&server, alias).await, third);
    // A second one does not go forward.
    run(folder, &["rollback", alias, "--to", &to], 2);
    assert_eq!(now(&server, alias).await, third);
    run(folder, &["rollback", alias, &fourth, "--to", &to], 0);
    assert_eq!(now(&server, alias).await, fourth);

    // A copy is like its source, and is no old index of the alias.
    let source = format!("{to}/{fourth}");
    let text = run(folder, &["load", &source, "--index", "alias_life-copy", "--to", &to], 0);
    assert!(text.contains(&format!("alias_life-copy: mapping of {fourth} (source)")), "{text}");
    let of = server.send("GET", &format!("/alias_life-copy,{fourth}"), Value::Null).await;
    let mappings = |index: &str| &of[index]["mappings"];
    assert_eq!(mappings("alias_life-copy")["properties"], mappings(&fourth)["properties"], "{of}");
    assert_eq!(mappings("alias_life-copy")["_meta"], json!({"owner": "shop"}), "{of}");
}

#[tokio::test(flavor = "multi_thread")]
async fn alias_life_with_opensearch() {
    life(Version::OpenSearch3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn alias_life_with_elasticsearch() {
    life(Version::Elasticsearch8).await;
}

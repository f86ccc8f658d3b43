//! Loads into a real OpenSearch are killed at random moments; and the other way round: the only
//! node is killed, and the load goes on by itself.
//!
//! `INRUSH_KILLS` sets how often (4), `INRUSH_NODE_KILLS` how often the node (1), `INRUSH_KILL_CSV`
//! and `INRUSH_KILL_DOCS` name real data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use inrush_testbed::client::Client;
use serde_json::{Value, json};

use crate::killing::{Contents, Ids, Load, Random, chaos, documents, hash, number};
use crate::server::{Server, Version};

/// All documents of an index; none where it does not exist.
async fn contents(client: &Client, index: &str) -> Contents {
    let mut contents = Contents::new();
    let refreshed = client.json("POST", &format!("/{index}/_refresh"), Value::Null).await.unwrap();
    if refreshed.status == 404 {
        return contents;
    }
    let first = json!({"size": 10_000, "sort": ["_doc"]});
    let mut page = client.json("POST", &format!("/{index}/_search?scroll=1m"), first).await.unwrap().json();
    loop {
        let hits = page["hits"]["hits"].as_array().cloned().unwrap_or_else(|| panic!("{page}"));
        if hits.is_empty() {
            return contents;
        }
        for hit in &hits {
            contents.insert(hit["_id"].as_str().unwrap().to_owned(), hash(&hit["_source"]));
        }
        let next = json!({"scroll": "1m", "scroll_id": page["_scroll_id"]});
        page = client.json("POST", "/_search/scroll", next).await.unwrap().json();
    }
}

async fn start() -> Server {
    Server::own_with(Version::OpenSearch3, 1, |spec| spec.heap_mib = 1024).await
}

fn real_documents(folder: &Path, docs: u64) -> PathBuf {
    match std::env::var_os("INRUSH_KILL_CSV") {
        None => documents(folder, docs),
        Some(csv) => {
            let path = folder.join("documents.csv");
            let text = std::fs::read_to_string(csv).unwrap();
            let lines: Vec<&str> = text.lines().take(docs as usize + 1).collect();
            std::fs::write(&path, lines.join("\n")).unwrap();
            path
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_moments_of_a_load_into_opensearch() {
    let server = start().await;
    let folder = tempfile::tempdir().unwrap();
    let docs = number("INRUSH_KILL_DOCS", 20_000);
    let data = real_documents(folder.path(), docs);
    let all_ids = [Ids::Position, Ids::None, Ids::Content];
    let found = async |index: &str| contents(&server.client, index).await;
    chaos(&data, &server.url(), docs, number("INRUSH_KILLS", 4), &all_ids, found).await;
    server.stop().await;
}

/// The only node is killed while a load is under way, and started again on the same port and data.
/// The load goes on by itself.
async fn node_chaos(durability: &str) {
    let mut random = Random::new();
    let mut server = start().await;
    let url = server.url();
    let folder = tempfile::tempdir().unwrap();
    let docs = number("INRUSH_KILL_DOCS", 20_000);
    let data = real_documents(folder.path(), docs);
    let reference = Load {
        folder: folder.path(),
        data: &data,
        url: &url,
        index: "reference".to_owned(),
        ids: Ids::Position,
        docs,
        durability,
        rate: None,
    };
    reference.make_index().await;
    reference.finish(false).await;
    let expected = contents(&server.client, "reference").await;
    assert_eq!(expected.len() as u64, docs);
    let kills = number("INRUSH_NODE_KILLS", 1);
    let (mut done, mut sent_again, mut recovered) = (0, 0, 0);
    for round in 0.. {
        if done >= kills {
            break;
        }
        let folder = tempfile::tempdir().unwrap();
        // Six seconds and the time that the node is away.
        let index = format!("round-{round}");
        let load = Load { folder: folder.path(), index, rate: Some(docs / 6), ..reference.clone() };
        let settings = load.make_index().await;
        let mut child = load.command(false).spawn().unwrap();
        // From here on it has begun.
        while !load.has_checkpoint() && child.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for _ in 0..=random.below(2) {
            let delay = Duration::from_millis(random.below(5_500));
            if done >= kills || tokio::time::timeout(delay, child.wait()).await.is_ok() {
                break;
            }
            server.kill();
            server.restart().await;
            done += 1;
        }
        let output = child.wait_with_output().await.unwrap();
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_str(&text).unwrap_or_default();
        let there = contents(&server.client, &load.index).await;
        let missing = expected.keys().filter(|id| !there.contains_key(*id)).count();
        assert!(there == expected, "{}: {} there, {missing} missing: {text}{errors}", load.index, there.len());
        assert_eq!(report["docs_read"], docs, "{text}{errors}");
        sent_again += report["retried_items"].as_u64().unwrap_or_default();
        // 4: a node that was killed at the very end kept it from checking, or from putting settings
        // back.
        assert!(matches!(output.status.code(), Some(0 | 4)), "{text}{errors}");
        recovered += u64::from(!load.settings_are(&settings).await);
        server.client.json("DELETE", &format!("/{}", load.index), Value::Null).await.unwrap();
    }
    println!(
        "node killed {done} times, durability {durability}: nothing lost, nothing twice; {sent_again} items were sent \
         again; settings as before, {recovered} times by inrush recover"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_node_is_killed_with_durability_request() {
    node_chaos("request").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_node_is_killed_with_durability_async() {
    node_chaos("async").await;
}

//! The segments of a load into real servers, moment by moment, against `_cat/segments`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inrush_cluster::api::ClusterError;
use inrush_commands::segments::{Header, Recorder, Recording, SegmentsMoment, SegmentsReader, Totals, advise};
use inrush_load::{ConfiguredLoad, Status};
use serde_json::{Value, json};

use crate::common::{Lines, documents};
use crate::server::{Server, Version, on_servers};

const DOCS: u64 = 200_000;

/// Documents, deletions, bytes, whether searchable, whether committed; by copy and name.
type Picture = BTreeMap<(String, u32, bool, String), (u64, u64, u64, bool, bool)>;

fn picture(moment: &SegmentsMoment) -> Picture {
    let mut picture = Picture::new();
    for shard in &moment.shards {
        for one in &shard.segments {
            let place = (shard.index.clone(), shard.shard, shard.primary, one.name());
            picture.insert(place, (one.docs, one.deleted, one.bytes, one.searchable, one.committed));
        }
    }
    picture
}

/// The same as `_cat/segments` tells it.
async fn cat(server: &Server, index: &str) -> Picture {
    let columns = "index,shard,prirep,segment,docs.count,docs.deleted,size,searchable,committed";
    let path = format!("/_cat/segments/{index}?format=json&bytes=b&h={columns}");
    let rows = server.send("GET", &path, Value::Null).await;
    let row = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("{key}: {row}")).to_owned();
        let number = |key: &str| text(key).parse::<u64>().unwrap();
        let place = (text("index"), text("shard").parse().unwrap(), text("prirep") == "p", text("segment"));
        let flag = |key: &str| text(key) == "true";
        (place, (number("docs.count"), number("docs.deleted"), number("size"), flag("searchable"), flag("committed")))
    };
    rows.as_array().unwrap().iter().map(row).collect()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A load of documents, a third of which replace others, into two shards that are refreshed all the
/// time.
async fn watch_a_load(version: Version) {
    let server = Server::shared(version).await;
    // With a dot, at which a path in a reply could be split.
    let index = "segments.load";
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "200ms"});
    server.send("PUT", &format!("/{index}"), json!({"settings": settings})).await;
    let (mut config, _folder) = server.config(index);
    config.id = Some("id".parse().unwrap());
    config.limits.batch_bytes = Some(200_000);
    let lines = Lines::new(documents(DOCS, DOCS * 2 / 3));
    let load = tokio::spawn(ConfiguredLoad::new(config).unwrap().run(lines));

    let mut reader = SegmentsReader::new(Arc::clone(&server.transport), Some(index.to_owned()));
    let header = Header::new(&server.title, server.url());
    let mut file = Vec::new();
    let mut recorder = Recorder::new(&mut file, &header).unwrap();
    let (mut seen, mut agreed, mut merging) = (Vec::new(), 0, 0);
    let mut merge = None;
    loop {
        // Where nothing has changed between two answers of `_cat`, the moment between them is the
        // same.
        let before = cat(&server, index).await;
        let moment = reader.read(now()).await.unwrap();
        if before == cat(&server, index).await {
            assert_eq!(picture(&moment), before, "{}", server.title);
            agreed += 1;
        }
        recorder.add(&moment).unwrap();
        merging += usize::from(Totals::of(&moment.shards).merging > 0);
        seen.push(moment);
        match &merge {
            None if load.is_finished() => merge = Some(force_merge(&server, index)),
            Some(task) if task.is_finished() => break,
            _ => {}
        }
    }
    let report = load.await.unwrap().unwrap();
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, DOCS), "{report:?}");
    server.send("POST", &format!("/{index}/_refresh"), Value::Null).await;
    server.send("POST", &format!("/{index}/_flush"), Value::Null).await;
    let last = reader.read(now()).await.unwrap();
    recorder.add(&last).unwrap();
    assert_eq!(picture(&last), cat(&server, index).await, "{}", server.title);
    let totals = Totals::of(&last.shards);
    // A merge may keep deleted documents for replicas that come back (soft deletes).
    assert_eq!((totals.docs, totals.copies), (DOCS * 2 / 3, 2), "{last:?}");
    assert_eq!((totals.segments, totals.left_bytes), (2, 0), "{last:?}");
    assert_eq!(last.refresh.get(index).map(String::as_str), Some("200ms"));
    let activity = last.activity.unwrap();
    assert!(activity.indexed >= DOCS && activity.refreshes > 0 && activity.merged > 0, "{activity:?}");
    seen.push(last);
    assert!(agreed > 0, "{}: no two answers were equal in {} moments", server.title, seen.len());
    assert!(advise(&seen[0], None).len() < 10);

    let played: Vec<SegmentsMoment> = Recording::open(file.as_slice()).unwrap().map(Result::unwrap).collect();
    assert!(played == seen, "{}: the recording has other moments", server.title);
    let most = seen.iter().map(|moment| Totals::of(&moment.shards).segments).max().unwrap();
    println!(
        "{}: {} moments, {agreed} agreed with _cat/segments, {merging} with merges, up to {most} segments; recording {} bytes",
        server.title,
        seen.len(),
        file.len()
    );
    if let Some(path) = std::env::var_os("INRUSH_SEGMENTS_FILE") {
        std::fs::write(path, &file).unwrap();
    }
    server.send("DELETE", &format!("/{index}"), Value::Null).await;
    server.stop().await;
}

/// Starts a force-merge to one segment a shard. The task ends with it.
fn force_merge(server: &Server, index: &str) -> tokio::task::JoinHandle<()> {
    let (client, path) = (server.client.clone(), format!("/{index}/_forcemerge?max_num_segments=1"));
    tokio::spawn(async move {
        let reply = client.json("POST", &path, Value::Null).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.json());
    })
}

async fn read(server: &Server, index: &str) -> Result<SegmentsMoment, ClusterError> {
    SegmentsReader::new(Arc::clone(&server.transport), Some(index.to_owned())).read(now()).await
}

/// A data stream with two indices behind it.
async fn data_stream(server: &Server) {
    let template = json!({"index_patterns": ["segments-stream*"], "data_stream": {},
        "template": {"settings": {"number_of_shards": 1, "number_of_replicas": 0}}});
    server.send("PUT", "/_index_template/segments-stream", template).await;
    server.send("PUT", "/_data_stream/segments-stream", Value::Null).await;
    let document = json!({"@timestamp": "2026-11-25T00:00:00Z"});
    server.send("POST", "/segments-stream/_doc?refresh=true", document.clone()).await;
    server.send("POST", "/segments-stream/_rollover", Value::Null).await;
    server.send("POST", "/segments-stream/_doc?refresh=true", document).await;
    for name in ["segments-stream", "segments-str*"] {
        let totals = Totals::of(&read(server, name).await.unwrap().shards);
        assert_eq!((totals.indices, totals.docs), (2, 2), "{name}: {totals:?}");
    }
    server.send("DELETE", "/_data_stream/segments-stream", Value::Null).await;
    server.send("DELETE", "/_index_template/segments-stream", Value::Null).await;
}

/// An alias, a pattern that finds a closed index, and names that cannot be read.
async fn names(server: &Server) {
    let settings = json!({"number_of_shards": 1, "number_of_replicas": 1});
    let aliases = json!({"segments-alias": {}});
    server.send("PUT", "/segments-open", json!({"settings": settings, "aliases": aliases})).await;
    server.send("POST", "/segments-open/_doc?refresh=true", json!({"n": 1})).await;
    server.send("PUT", "/segments-closed", Value::Null).await;
    server.send("POST", "/segments-closed/_close", Value::Null).await;
    for name in ["segments-open", "segments-alias", "segments-op*,segments-closed*"] {
        let moment = read(server, name).await.unwrap();
        assert_eq!((moment.shards.len(), Totals::of(&moment.shards).docs), (1, 1), "{name}: {moment:?}");
        let node = &moment.shards[0].node;
        assert!(node.len() < 20 && !node.is_empty(), "{node} is an id, no name");
        // The replica has no node.
        assert_eq!(moment.absent, 1, "{name}: {moment:?}");
    }
    let error = read(server, "segments-closed").await.unwrap_err().to_string();
    assert!(error.contains("segments-closed: the index is closed"), "{error}");
    let error = read(server, "segments-none").await.unwrap_err().to_string();
    assert!(error.contains("segments-none: there is no such index"), "{error}");
    server.send("DELETE", "/segments-closed", Value::Null).await;
    server.send("DELETE", "/segments-open", Value::Null).await;
}

async fn check(version: Version) {
    let server = Server::shared(version).await;
    names(&server).await;
    // The distributions of Elasticsearch for tests have no module for data streams.
    if matches!(version, Version::OpenSearch2 | Version::OpenSearch38) {
        data_stream(&server).await;
    }
    server.stop().await;
    tokio::time::timeout(Duration::from_secs(300), watch_a_load(version)).await.unwrap();
}

on_servers!(check: opensearch_3_8 = OpenSearch38, elasticsearch_9_5 = Elasticsearch9, opensearch_2_19 = OpenSearch2,
    elasticsearch_7_17 = Elasticsearch7);

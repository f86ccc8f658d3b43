//! A node whose data disk is full. The node closes the shard and answers each document about that,
//! which is no fault of a document. Needs root, to mount a disk of 48 MB.

use std::time::Duration;

use inrush_load::config::StateFolder;
use inrush_load::{ConfiguredLoad, Status};
use inrush_testbed::users::SmallDisk;
use serde_json::json;

use crate::common::Lines;
use crate::server::{Server, Version, folder, on_servers};

/// Documents of 2 kB whose text does not compress: more than the disk holds.
const DOCS: u64 = 60_000;

async fn no_sound_document_is_a_dead_letter(version: Version) {
    let mounted = folder();
    std::fs::create_dir(&mounted).unwrap();
    let Some(disk) = SmallDisk::mount(&mounted, 48, "full_node").unwrap() else { return };
    // As a setting of the server, since a node is not started with so little room in its `data`.
    let data = mounted.join("data").display().to_string();
    let server = Server::own_with(version, 1, |spec| {
        spec.settings.push(("path.data".into(), data));
        spec.settings.push(("cluster.routing.allocation.disk.threshold_enabled".into(), "false".into()));
    })
    .await;
    server.send("PUT", "/full", json!({"settings": {"number_of_shards": 1, "number_of_replicas": 0}})).await;
    let (mut config, folder) = server.config("full");
    config.id = Some("id".parse().unwrap());
    config.state = Some(StateFolder::new(folder.path().join("state")));
    config.limits.retries = 6;
    config.limits.retry_for = Duration::from_secs(15);
    config.limits.pause_max = Duration::from_secs(3);
    config.limits.grace = Duration::from_secs(5);
    // The node holds a request for a minute, in the hope that the shard returns.
    config.limits.request_timeout = Duration::from_secs(8);
    config.limits.health_every = Duration::from_millis(500);
    config.verify = false;
    let mut seed = 1u64;
    let lines = (0..DOCS).map(|n| {
        let words = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            format!("{:016x}", seed)
        });
        format!("{{\"id\":\"i{n}\",\"text\":\"{}\"}}", words.take(120).collect::<String>())
    });
    let report = ConfiguredLoad::new(config).unwrap().run(Lines::new(lines)).await.unwrap();
    println!("{}: {:?}; {:?}; {:?}", server.title, report.failure, report.pauses, report.counts);
    assert_eq!(report.status, Status::Failed, "{report:?}");
    let failure = report.failure.as_ref().unwrap();
    let named = ["accepted no document", "full is red", "No space left"];
    assert!(named.iter().any(|words| failure.contains(words)), "{failure}");
    let counts = &report.counts;
    assert_eq!(counts.docs_dead_lettered, 0, "{report:?}");
    assert!(counts.docs_created > 0 && counts.add_up(), "{counts:?}");
    server.stop().await;
    drop(disk);
    std::fs::remove_dir(mounted).unwrap();
}

on_servers!(no_sound_document_is_a_dead_letter:
    opensearch_3_6 = OpenSearch3,
);

//! Loads without downtime on real servers, which the test starts and stops itself. Needs Java; see `make servers`.
#![cfg(feature = "real-servers")]
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::path::PathBuf;

use inrush::node::{Distribution, NodeSpec, OwnedNode};
use inrush_testbed::conformance::{Outcome, Target, cases, run};

async fn check(distribution: Distribution) {
    let title = distribution.title();
    let folder = PathBuf::from(format!("/var/tmp/inrush-swap-{}-{}", std::process::id(), distribution.version));
    let spec = NodeSpec { heap_mib: 768, ..NodeSpec::new(distribution, "test", folder.clone()) };
    let node = OwnedNode::start(spec).await.unwrap();

    // What a swap relies on.
    let target = Target::connect(&node.url(), None).await.unwrap();
    let relied_on = ["alias_", "health_", "force_merge", "shard_stats", "changes_"];
    let mut failed = 0;
    for case in cases().iter().filter(|case| relied_on.iter().any(|name| case.name.starts_with(name))) {
        let outcome = run(case, &target).await;
        println!("{title}: {} {outcome:?}", case.name);
        failed += usize::from(matches!(outcome, Outcome::Failed(_)));
    }
    assert_eq!(failed, 0, "{title}");
    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_3_6() {
    check(Distribution::opensearch("3.6.0")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_8_19() {
    check(Distribution::elasticsearch("8.19.21")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_2_19() {
    check(Distribution::opensearch("2.19.6")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_7_17() {
    check(Distribution::elasticsearch("7.17.29")).await;
}

//! Loads that begin with what earlier ones left in the state folder, against the fake cluster.

use std::path::Path;
use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig};
use inrush_load::config::{Learning, LoadConfig, StateFolder};
use inrush_load::{Report, StartFrom, StartOutcome, StartReport, Status};
use inrush_testbed::{Proxy, ProxyConfig};

use crate::common::{config, documents, load};

/// A cluster behind a link of half a megabyte a second, which is the limit, and not the source.
struct Far {
    fake: FakeCluster,
    proxy: Proxy,
}

async fn far() -> Far {
    let fake = FakeCluster::start(FakeConfig::default().max_content_length_bytes(10_000)).await.unwrap();
    let link = ProxyConfig { bits_per_second: Some(4_000_000), ..ProxyConfig::new(fake.url()) };
    Far { proxy: Proxy::start(link).await.unwrap(), fake }
}

/// A load whose plan is tuned, in a memory that its source can fill.
fn tuned(far: &Far, index: &str, state: &Path) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(vec![far.proxy.url()], index);
    (config.limits.batch_bytes, config.limits.in_flight) = (None, None);
    config.limits.memory = 800_000;
    // A request that leaves before it is full says nothing about the cluster.
    config.limits.linger = Duration::from_secs(10);
    config.state = Some(StateFolder::new(state));
    (config, folder)
}

async fn loaded(config: &LoadConfig) -> (Report, StartReport) {
    let report = load(config, documents(6_000, 6_000)).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let start = report.plan.start.clone().unwrap();
    (report, start)
}

fn files(state: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(state.join("learned"));
    entries.map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_load_begins_where_the_first_one_ended() {
    let (far, state) = (far().await, tempfile::tempdir().unwrap());
    let (config, _folder) = tuned(&far, "docs", state.path());
    let (first, start) = loaded(&config).await;
    assert_eq!((start.from, start.outcome, start.in_flight), (StartFrom::Defaults, None, 2));
    let learned = first.plan.learned.unwrap();
    assert!(learned.seconds > 0.3, "{learned:?}");

    let (second, start) = loaded(&config).await;
    let of_first = (learned.plan.batch_bytes, learned.plan.in_flight);
    assert_eq!((start.from, start.batch_bytes, start.in_flight), (StartFrom::EarlierLoad, of_first.0, of_first.1));
    assert!(start.outcome.is_some() && start.learned_at.is_some(), "{start:?}");
    assert!(second.plan.learned.is_some());
    let text = std::fs::read_to_string(&files(state.path())[0]).unwrap();
    assert!(!text.contains("127.0.0.1") && !text.contains("some words"), "{text}");

    // What a report has can be passed on, and then the folder has no part in it.
    let elsewhere = tempfile::tempdir().unwrap();
    let (mut config, _folder) = tuned(&far, "docs", elsewhere.path());
    config.learning = Learning::Given(Some(learned));
    let (_, start) = loaded(&config).await;
    assert_eq!((start.from, start.in_flight), (StartFrom::Given, of_first.1));
    assert_eq!(files(elsewhere.path()), Vec::<std::path::PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_cluster_and_forget_drop_the_memory() {
    let (far, state) = (far().await, tempfile::tempdir().unwrap());
    let (mut config, _folder) = tuned(&far, "docs", state.path());
    loaded(&config).await;
    far.fake.set_data_nodes(3);
    let (_, start) = loaded(&config).await;
    assert_eq!(start.from, StartFrom::Defaults);
    assert!(start.detail.contains("3 data nodes, and 1 before"), "{start:?}");
    // The load left its own.
    assert_eq!(loaded(&config).await.1.from, StartFrom::EarlierLoad);
    config.learning = Learning::Anew;
    let (_, start) = loaded(&config).await;
    assert!(start.from == StartFrom::Defaults && start.detail.contains("`forget`"), "{start:?}");
    config.learning = Learning::Kept;
    assert_eq!(loaded(&config).await.1.from, StartFrom::EarlierLoad);
    // Fixed values and gentle loads have no part in it.
    config.limits.in_flight = Some(2);
    assert!(load(&config, documents(100, 100)).await.plan.start.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn other_documents_contradict_the_memory() {
    let (far, state) = (far().await, tempfile::tempdir().unwrap());
    let (config, _folder) = tuned(&far, "docs", state.path());
    loaded(&config).await;
    let long = |n| format!("{{\"id\":\"i{n}\",\"text\":\"{}\"}}", "word ".repeat(80));
    let report = load(&config, (0..1_500).map(long)).await;
    let start = report.plan.start.clone().unwrap();
    assert_eq!((start.from, start.outcome), (StartFrom::EarlierLoad, Some(StartOutcome::Contradicted)), "{start:?}");
    assert!(start.detail.contains("documents have"), "{start:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_a_warning_and_not_an_error() {
    let (far, state) = (far().await, tempfile::tempdir().unwrap());
    let (config, _folder) = tuned(&far, "docs", state.path());
    loaded(&config).await;
    std::fs::write(&files(state.path())[0], "{\"format\":1,").unwrap();
    let (report, start) = loaded(&config).await;
    assert_eq!(start.from, StartFrom::Defaults);
    assert!(report.warnings.iter().any(|warning| warning.contains("it is damaged")), "{:?}", report.warnings);
    assert_eq!(loaded(&config).await.1.from, StartFrom::EarlierLoad, "the load replaced it");
}

//! Waits of a cutover, in paused time.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::clock;
use inrush_core::retry::RetryPolicy;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_testbed::in_process::InProcess;
use serde_json::{Map, json};
use tokio::sync::watch;

use super::swapping::{Old, Swapping};
use super::waiting::Waiting;
use super::{Finishing, Noted, WithoutGraphs, swap, wait_for};
use crate::config::{FinishConfig, GraphTime, SwapConfig};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A cluster on which the alias `live` stands for `old`, and is to stand for `new`.
async fn cluster() -> (Arc<FakeCluster>, Arc<InProcess>, Waiting) {
    let (fake, way) = InProcess::start(FakeConfig::default()).await;
    fake.call("PUT", "/old", json!({"aliases": {"live": {}}})).unwrap();
    fake.call("PUT", "/new", json!({})).unwrap();
    let limits = RetryPolicy { retries: 1000, ..RetryPolicy::default() };
    let transport = Arc::new(way.transport().patient(limits));
    (fake, way, Waiting { transport, show: Arc::new(|_| {}), timeout: HOUR })
}

fn swapping(fake: &FakeCluster) -> Swapping {
    let old = Old { name: "old".to_owned(), uuid: fake.index_uuid("old").unwrap(), marks: None };
    Swapping {
        options: SwapConfig::new("live"),
        noted: Noted { index: "new".to_owned(), old: Some(old) },
        is_done: false,
        resumed: false,
        allow_empty: false,
        missing: None,
        carried: Map::new(),
        warnings: Vec::new(),
        during: "during the load",
    }
}

/// Does something to the cluster later.
fn later(after: Duration, work: impl FnOnce() + Send + 'static) {
    tokio::spawn(async move {
        clock::sleep(after).await;
        work();
    });
}

#[tokio::test(start_paused = true)]
async fn an_alias_is_moved_as_soon_as_the_cluster_is_back() {
    let (fake, way, waiting) = cluster().await;
    way.cut(true);
    later(8 * MINUTE, move || way.cut(false));
    let begun = clock::now();
    let done = swap::swap(&waiting, &swapping(&fake), &mut false).await.unwrap();
    assert_eq!(done, "the alias live was moved from old to new");
    assert!((8 * MINUTE..9 * MINUTE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!((fake.aliases("old"), fake.aliases("new")), (json!({}), json!({"live": {}})));
    // A load that finds it moved does not claim the move.
    let done = swap::swap(&waiting, &swapping(&fake), &mut false).await.unwrap();
    assert_eq!(done, "another load or client has already moved the alias live to new");
}

#[tokio::test(start_paused = true)]
async fn an_alias_that_was_moved_stays_and_the_error_says_since_when() {
    let (fake, _way, waiting) = cluster().await;
    for during in ["during the load", "since the rollback began"] {
        let noted = swapping(&fake);
        let old = noted.noted.old.map(|old| Old { uuid: "another".to_owned(), ..old });
        let swapping = Swapping { noted: Noted { old, ..noted.noted }, during, ..swapping(&fake) };
        let why = swap::swap(&waiting, &swapping, &mut false).await.unwrap_err();
        assert_eq!(why, format!("old was deleted and created again {during}"));
    }
    assert_eq!(fake.aliases("old"), json!({"live": {}}));
}

#[tokio::test(start_paused = true)]
async fn an_alias_stays_where_the_cluster_does_not_come_back() {
    let (fake, way, waiting) = cluster().await;
    way.cut(true);
    let begun = clock::now();
    let why = swap::swap(&waiting, &swapping(&fake), &mut false).await.unwrap_err();
    assert!(why.contains("the alias may or may not have been moved"), "{why}");
    // The limits of retries hold for the move, and for the look after it.
    assert!(begun.elapsed() < 21 * MINUTE, "{:?}", begun.elapsed());
    assert_eq!(fake.aliases("old"), json!({"live": {}}));
}

#[tokio::test(start_paused = true)]
async fn an_index_that_turns_green_late_is_waited_for() {
    let (fake, _way, waiting) = cluster().await;
    let of = Arc::clone(&fake);
    later(40 * MINUTE, move || of.set_data_nodes(2));
    let begun = clock::now();
    assert_eq!(wait_for::green(&waiting, &["new".to_owned()], false).await.unwrap(), "new is green");
    let late = begun.elapsed().checked_sub(40 * MINUTE).unwrap();
    assert!(late <= Duration::from_secs(1), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn an_index_that_stays_yellow_ends_the_wait_with_its_option() {
    let (_fake, _way, waiting) = cluster().await;
    let begun = clock::now();
    let why = wait_for::green(&waiting, &["new".to_owned()], false).await.unwrap_err();
    assert!(why.ends_with("still after 3600 s (option `wait_timeout`)"), "{why}");
    assert!((HOUR..HOUR + MINUTE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_merge_for_graphs_ends_only_by_an_option() {
    for (graph_timeout, failure) in [(None, None), (Some(HOUR), Some("still builds graphs"))] {
        let (fake, _way, waiting) = cluster().await;
        // The task cannot be asked for.
        fake.set_faults(Faults::new([Rule::new(Fault::Unavailable).path("_tasks")]));
        let of = Arc::clone(&fake);
        later(2 * HOUR, move || of.set_faults(Faults::default()));
        let config = FinishConfig { graph: GraphTime::End, graph_timeout, ..FinishConfig::default() };
        let without = WithoutGraphs::of(&waiting.transport, "new", false).await;
        let mut finishing = Finishing::new(waiting.transport, waiting.show, config, None);
        let (_stop, mut stopped) = watch::channel(false);
        finishing.force_merge(&["new".to_owned()], Some(&without), &mut stopped).await;
        let found = finishing.failure();
        match failure {
            None => assert_eq!(found, None),
            Some(part) => {
                let found = found.unwrap();
                assert!(found.contains(part) && found.contains("option `wait_timeout`"), "{found}");
            }
        }
    }
}

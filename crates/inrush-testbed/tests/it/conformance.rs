//! The fake passes the cases that the real servers pass, in each version.

use inrush_fake::{FakeCluster, FakeConfig, Flavor};
use inrush_testbed::conformance::{CaseOutcome, TestedServer, cases, run_all};

#[tokio::test]
async fn the_fake_does_as_the_servers_do() {
    for flavor in Flavor::all() {
        let cluster = FakeCluster::start(FakeConfig::default().flavor(flavor.clone())).await.expect("start");
        let target = TestedServer::connect(&cluster.url(), None).await.expect("target");
        assert_eq!(target.flavor, flavor);
        let outcomes = run_all(&target).await;
        let failed: Vec<_> = outcomes.iter().filter(|(_, outcome)| matches!(outcome, CaseOutcome::Failed(_))).collect();
        assert!(failed.is_empty(), "{flavor}: {failed:#?}");
        let skipped: Vec<_> =
            outcomes.iter().filter(|(_, outcome)| matches!(outcome, CaseOutcome::Skipped(_))).collect();
        // Five cases are about modes of indices, which Elasticsearch 9 has.
        let most = if flavor.is_elasticsearch_9() { 2 } else { 7 };
        assert!(skipped.len() <= most, "{flavor}: {skipped:#?}");
        assert_eq!(outcomes.len(), cases().len());
        cluster.shutdown().await;
    }
}

#[test]
fn every_case_has_a_name_of_its_own_and_says_something() {
    let mut names: Vec<&str> = cases().iter().map(|case| case.name).collect();
    assert!(cases().iter().all(|case| case.says.len() > 20));
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

//! The fake passes the cases that the real servers pass, in each of the four versions.

use inrush_fake::{FakeCluster, FakeConfig, Flavor};
use inrush_testbed::conformance::{Outcome, Target, cases, run_all};

#[tokio::test]
async fn the_fake_does_as_the_servers_do() {
    for flavor in Flavor::all() {
        let cluster = FakeCluster::start(FakeConfig::default().flavor(flavor.clone())).await.expect("start");
        let target = Target::connect(&cluster.url(), None).await.expect("target");
        assert_eq!(target.flavor, flavor);
        let outcomes = run_all(&target).await;
        let failed: Vec<_> = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_))).collect();
        assert!(failed.is_empty(), "{flavor}: {failed:#?}");
        let skipped = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Skipped(_))).count();
        assert!(skipped <= 2, "{flavor}: {outcomes:#?}");
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

//! Indices under a policy (ILM, ISM), against the fake cluster: the reduced distributions have
//! neither.

use inrush_fake::{FakeCluster, FakeConfig, Flavor};
use inrush_load::config::LoadConfig;
use inrush_load::{ConfiguredLoad, Report, Status};
use serde_json::{Value, json};

use crate::common::{Lines, config, documents};

async fn fake(flavor: Flavor) -> FakeCluster {
    let fake = FakeCluster::start(FakeConfig::default().flavor(flavor)).await.unwrap();
    let settings = json!({"settings": {"index.lifecycle.name": "p"}});
    let settings = if fake.flavor().is_elasticsearch() { settings } else { json!({}) };
    fake.call("PUT", "/docs", settings.clone()).unwrap();
    fake
}

fn can(fake: &FakeCluster, path: &str, status: u16, body: Value) {
    fake.set_reply(path, status, body);
}

async fn load(config: &LoadConfig) -> Result<Report, String> {
    let lines = Lines::new(documents(10, 10));
    ConfiguredLoad::new(config.clone()).unwrap().run(lines).await.map_err(|error| error.to_string())
}

/// What is refused, what is only a warning then, and what the warning says of later.
async fn check(fake: &FakeCluster, soon: impl FnOnce(), later: impl FnOnce()) {
    let (mut config, _folder) = config(fake.urls(), "docs");
    soon();
    let refused = load(&config).await.unwrap_err();
    assert!(refused.contains("docs: the policy p manages it, and delete is due in"), "{refused}");
    assert!(refused.contains("option `under_policy`"), "{refused}");
    assert_eq!(fake.bulk_requests().len(), 0);
    config.under_policy = true;
    let report = load(&config).await.unwrap();
    assert_eq!(report.status, Status::Complete);
    assert!(report.warnings.iter().any(|warning| warning.contains("delete is due in")), "{:?}", report.warnings);
    config.under_policy = false;
    later();
    let report = load(&config).await.unwrap();
    assert_eq!(
        report.warnings,
        ["the policy p manages docs: delete is due in 30 days, after which it takes no documents"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lifecycle_policy_that_is_about_to_delete_the_index() {
    for flavor in Flavor::all().into_iter().filter(|flavor| flavor.is_elasticsearch()) {
        let fake = fake(flavor).await;
        let explain = json!({"indices": {"docs": {"index": "docs", "managed": true, "policy": "p", "phase": "hot", "action": "complete", "age": "1h"}}});
        can(&fake, "/docs/_ilm/explain", 200, explain);
        let policy = |min_age: &str| {
            let phases = json!({"hot": {"min_age": "0ms", "actions": {}}, "delete": {"min_age": min_age, "actions": {"delete": {}}}});
            can(&fake, "/_ilm/policy/p", 200, json!({"p": {"version": 1, "policy": {"phases": phases}}}));
        };
        check(&fake, || policy("5h"), || policy("721h")).await;
        can(&fake, "/docs/_ilm/explain", 403, json!({"error": {"type": "security_exception", "reason": "no"}}));
        let (config, _folder) = config(fake.urls(), "docs");
        let report = load(&config).await.unwrap();
        assert!(report.warnings[0].contains("manages docs and cannot be read"), "{:?}", report.warnings);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_policy_that_is_about_to_delete_the_index() {
    let fake = fake(Flavor::opensearch_3()).await;
    // Without the plugin there is nothing to say.
    let (config, _folder) = config(fake.urls(), "docs");
    let report = load(&config).await.unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
    fake.clear_requests();
    let explain = json!({"docs": {"policy_id": "p", "enabled": true, "state": {"name": "hot"}, "action": {"name": "transition"}}});
    can(&fake, "/_plugins/_ism/explain/docs", 200, explain);
    let policy = |min_age: &str| {
        let states = json!([
            {"name": "hot", "actions": [], "transitions": [{"state_name": "gone", "conditions": {"min_index_age": min_age}}]},
            {"name": "gone", "actions": [{"delete": {}}], "transitions": []},
        ]);
        can(
            &fake,
            "/_plugins/_ism/policies/p",
            200,
            json!({"_id": "p", "policy": {"policy_id": "p", "default_state": "hot", "states": states}}),
        );
    };
    check(&fake, || policy("5h"), || policy("720h")).await;
}

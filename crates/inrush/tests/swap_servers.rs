//! Loads without downtime on real servers, which the test starts and stops itself. Needs Java; see `make servers`.
#![cfg(feature = "real-servers")]
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::path::PathBuf;

use common::{Lines, documents};
use inrush::config::{DeadLetters, LoadConfig, OldWrites, SwapConfig, WaitFor};
use inrush::node::{Distribution, NodeSpec, OwnedNode};
use inrush::source::push::Document;
use inrush::{GUARD_INDEX, Loader, OldIndex, Report, Status, Step, VerifiedState};
use inrush_testbed::client::Client;
use inrush_testbed::conformance::{Outcome, Target, cases, run};
use serde_json::{Value, json};

struct Server {
    node: OwnedNode,
    client: Client,
    folder: tempfile::TempDir,
    title: String,
}

impl Server {
    /// A load that is to take the place of what `flights` stands for.
    fn config(&self, old_writes: OldWrites) -> LoadConfig {
        let mut config = LoadConfig::new(vec![self.node.url()], "flights".parse().unwrap());
        config.dead_letters = DeadLetters::Folder(self.folder.path().to_owned());
        config.guard.state = Some(self.folder.path().join("state"));
        config.id = Some("id".parse().unwrap());
        config.create.replicas = Some(0);
        config.create.shards = Some(2);
        config.finish.force_merge = Some(1);
        config.finish.wait_for = Some(WaitFor::Replicated);
        let warm = vec![json!({"query": {"range": {"n": {"gte": 10}}}}), json!({"size": 0})];
        // Later loads of it are smaller.
        config.finish.swap = Some(SwapConfig { old_writes, warm, shrink_max: 100.0, ..SwapConfig::new("flights") });
        config
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        let reply = self.client.json(method, path, body).await.unwrap();
        assert!(reply.status < 300, "{}: {method} {path}: {}", self.title, reply.json());
        reply.json()
    }

    /// The indices behind the alias, with what it carries.
    async fn alias(&self) -> Value {
        self.send("GET", "/_alias/flights", Value::Null).await
    }

    async fn count(&self, name: &str) -> Value {
        self.send("GET", &format!("/{name}/_count"), Value::Null).await["count"].clone()
    }

    async fn load(&self, config: LoadConfig, count: u64) -> Report {
        let report = Loader::new(config).unwrap().run(Lines::new(documents(count, count))).await.unwrap();
        assert_eq!(
            (report.status, report.verified.state),
            (Status::Complete, VerifiedState::Yes),
            "{}: {report:?}",
            self.title
        );
        report
    }

    async fn swaps(&self) {
        let title = &self.title;
        // The name of an index becomes an alias.
        self.send("PUT", "/flights", json!({"settings": {"number_of_replicas": 0}})).await;
        self.send("PUT", "/flights/_doc/1", json!({"n": 1})).await;
        let mut config = self.config(OldWrites::Report);
        config.finish.swap.as_mut().unwrap().delete_old = true;
        let report = self.load(config, 20_000).await;
        let steps: Vec<Step> = report.finish.steps.iter().map(|step| step.step).collect();
        assert_eq!(
            steps,
            [Step::ForceMerge, Step::Searchable, Step::Green, Step::Replicated, Step::Warm, Step::Swap],
            "{title}"
        );
        let first = report.swap.unwrap();
        assert_eq!((first.swapped, first.old), (true, OldIndex::Deleted), "{title}: {first:?}");
        assert_eq!(self.alias().await, json!({first.index.clone(): {"aliases": {"flights": {}}}}), "{title}");
        assert_eq!(self.count("flights").await, 20_000, "{title}");
        let segments = self.send("GET", &format!("/{}/_stats/segments", first.index), Value::Null).await;
        assert_eq!(segments["_all"]["total"]["segments"]["count"], 2, "{title}");

        // With what it carries, to a second index; what is written meanwhile is copied.
        let carried = json!({"index": first.index, "alias": "flights", "filter": {"range": {"n": {"gte": 50}}}, "is_write_index": true});
        self.send("POST", "/_aliases", json!({"actions": [{"add": carried}]})).await;
        let carried = self.alias().await[&first.index]["aliases"].clone();
        let load = Loader::new(self.config(OldWrites::CatchUp)).unwrap().sender().await.unwrap();
        for line in documents(1_000, 1_000) {
            load.send(Document { body: line.into(), ..Document::default() }).await.unwrap();
        }
        let written: String =
            (0..300).map(|n| format!("{{\"index\":{{\"_id\":\"late{n}\"}}}}\n{{\"n\":{n}}}\n")).collect();
        assert_eq!(self.client.bulk("/flights/_bulk", written).await.unwrap().json()["errors"], false, "{title}");
        self.send("PUT", &format!("/{}/_doc/i7?routing=r", first.index), json!({"n": 70})).await;
        let report = load.finish().await;
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        let second = report.swap.unwrap();
        let writes = second.old_writes.unwrap();
        assert_eq!((writes.operations, writes.operations_not_in), (Some(301), Some(0)), "{title}: {writes:?}");
        assert_eq!((writes.docs_copied, second.old), (301, OldIndex::Kept), "{title}: {writes:?}");
        assert_eq!(self.alias().await, json!({second.index.clone(): {"aliases": carried}}), "{title}");
        // Through the filter, which leaves out those below 50 of both.
        assert_eq!(self.count("flights").await, 950 + 250 + 1, "{title}");
        assert_eq!(self.count(&first.index).await, 20_000 + 301, "{title}");

        // Blocked until the end, and open again after it, whether the alias was moved or not.
        let mut config = self.config(OldWrites::Block);
        config.finish.swap.as_mut().unwrap().warm = vec![json!({"query": {"no_such_query": {}}})];
        let load = Loader::new(config).unwrap().sender().await.unwrap();
        load.send(Document { body: "{\"id\":\"1\",\"n\":1}".into(), ..Document::default() }).await.unwrap();
        load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
        let refused = self.client.json("PUT", "/flights/_doc/x", json!({"n": 1})).await.unwrap();
        assert_eq!(refused.status, 403, "{title}: {}", refused.json());
        let report = load.finish().await;
        assert_eq!(report.status, Status::CheckFailed, "{title}: {report:?}");
        assert!(report.finish.failure.unwrap().contains("no_such_query"), "{title}");
        let third = report.swap.unwrap();
        assert_eq!((third.swapped, third.old), (false, OldIndex::Untouched), "{title}: {third:?}");
        assert_eq!(self.alias().await, json!({second.index.clone(): {"aliases": carried}}), "{title}");
        self.send("PUT", "/flights/_doc/x?refresh=true", json!({"n": 100})).await;
        self.send("POST", &format!("/{GUARD_INDEX}/_refresh"), Value::Null).await;
        assert_eq!(self.count(GUARD_INDEX).await, 0, "{title}");
    }

    /// One node has no place for a replica: that is said, and it is not waited for.
    async fn one_node(&self) {
        let mut config = self.config(OldWrites::Report);
        config.index = "single".parse().unwrap();
        (config.create.replicas, config.finish.wait_for) = (Some(1), None);
        config.finish.swap = Some(SwapConfig::new("single"));
        let report = self.load(config, 100).await;
        let green = report.finish.steps.iter().find(|step| step.step == Step::Green).unwrap();
        assert!(
            green.detail.contains("2 of 4 shard copies") && green.detail.contains("as good as it gets"),
            "{green:?}"
        );
        assert_eq!(self.count("single").await, 100, "{}", self.title);
    }
}

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

    let client = Client::new(&node.url()).unwrap();
    let server = Server { node, client, folder: tempfile::tempdir().unwrap(), title };
    server.swaps().await;
    server.one_node().await;
    println!("{}: swapped, with writes reported, copied and blocked", server.title);
    server.node.stop().await.unwrap();
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

//! Loads without downtime on real servers.

use inrush_load::config::{DeadLetters, LoadConfig, OldWrites, SwapConfig, WaitFor};
use inrush_load::{ConfiguredLoad, OldIndex, Report, Status, Step, VerifiedState};
use inrush_sources::push::Document;
use inrush_testbed::conformance::{CaseOutcome, TestedServer, cases, run};
use serde_json::{Value, json};

use crate::common::{Lines, documents};
use crate::server::{Server, Version, on_servers};

struct Scene {
    server: Server,
    folder: tempfile::TempDir,
    title: String,
}

impl Scene {
    /// A load that is to take the place of what `swap-flights` stands for.
    fn config(&self, old_writes: OldWrites) -> LoadConfig {
        let mut config = LoadConfig::new(vec![self.server.url()], "swap-flights".parse().unwrap());
        config.dead_letters = DeadLetters::Folder(self.folder.path().to_owned());
        config.guard.state = Some(self.folder.path().join("state"));
        config.id = Some("id".parse().unwrap());
        config.create.replicas = Some(0);
        config.create.shards = Some(2);
        config.finish.force_merge = Some(1);
        config.finish.wait_for = Some(WaitFor::Replicated);
        let warm = vec![json!({"query": {"range": {"n": {"gte": 10}}}}), json!({"size": 0})];
        // Later loads of it are smaller.
        config.finish.swap =
            Some(SwapConfig { old_writes, warm, shrink_max: 100.0, ..SwapConfig::new("swap-flights") });
        config
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        self.server.send(method, path, body).await
    }

    /// The indices behind the alias, with what it carries.
    async fn alias(&self) -> Value {
        self.send("GET", "/_alias/swap-flights", Value::Null).await
    }

    async fn count(&self, name: &str) -> Value {
        self.send("GET", &format!("/{name}/_count"), Value::Null).await["count"].clone()
    }

    async fn load(&self, config: LoadConfig, count: u64) -> Report {
        let report = ConfiguredLoad::new(config).unwrap().run(Lines::new(documents(count, count))).await.unwrap();
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
        self.send("PUT", "/swap-flights", json!({"settings": {"number_of_replicas": 0}})).await;
        self.send("PUT", "/swap-flights/_doc/1", json!({"n": 1})).await;
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
        assert_eq!(self.alias().await, json!({first.index.clone(): {"aliases": {"swap-flights": {}}}}), "{title}");
        assert_eq!(self.count("swap-flights").await, 20_000, "{title}");
        let segments = self.send("GET", &format!("/{}/_stats/segments", first.index), Value::Null).await;
        assert_eq!(segments["_all"]["total"]["segments"]["count"], 2, "{title}");

        // With what it carries, to a second index; what is written meanwhile is copied.
        let carried = json!({"index": first.index, "alias": "swap-flights", "filter": {"range": {"n": {"gte": 50}}}, "is_write_index": true});
        self.send("POST", "/_aliases", json!({"actions": [{"add": carried}]})).await;
        let carried = self.alias().await[&first.index]["aliases"].clone();
        let load = ConfiguredLoad::new(self.config(OldWrites::CatchUp)).unwrap().sender().await.unwrap();
        for line in documents(1_000, 1_000) {
            load.send(Document { body: line.into(), ..Document::default() }).await.unwrap();
        }
        let written: String =
            (0..300).map(|n| format!("{{\"index\":{{\"_id\":\"late{n}\"}}}}\n{{\"n\":{n}}}\n")).collect();
        assert_eq!(
            self.server.client.bulk("/swap-flights/_bulk", written).await.unwrap().json()["errors"],
            false,
            "{title}"
        );
        self.send("PUT", &format!("/{}/_doc/i7?routing=3", first.index), json!({"n": 70})).await;
        let report = load.finish().await;
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        let second = report.swap.unwrap();
        let writes = second.old_writes.unwrap();
        assert_eq!((writes.operations, writes.operations_not_in), (Some(301), Some(0)), "{title}: {writes:?}");
        assert_eq!((writes.docs_copied, second.old), (301, OldIndex::Kept), "{title}: {writes:?}");
        assert_eq!(self.alias().await, json!({second.index.clone(): {"aliases": carried}}), "{title}");
        // Through the filter, which leaves out those below 50 of both.
        assert_eq!(self.count("swap-flights").await, 950 + 250 + 1, "{title}");
        assert_eq!(self.count(&first.index).await, 20_000 + 301, "{title}");

        // Blocked until the end, and open again after it, whether the alias was moved or not.
        let mut config = self.config(OldWrites::Block);
        config.finish.swap.as_mut().unwrap().warm = vec![json!({"query": {"no_such_query": {}}})];
        let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
        load.send(Document { body: "{\"id\":\"1\",\"n\":1}".into(), ..Document::default() }).await.unwrap();
        load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
        let refused = self.server.client.json("PUT", "/swap-flights/_doc/x", json!({"n": 1})).await.unwrap();
        assert_eq!(refused.status, 403, "{title}: {}", refused.json());
        let report = load.finish().await;
        assert_eq!(report.status, Status::CheckFailed, "{title}: {report:?}");
        assert!(report.finish.failure.unwrap().contains("no_such_query"), "{title}");
        let third = report.swap.unwrap();
        assert_eq!((third.swapped, third.old), (false, OldIndex::Untouched), "{title}: {third:?}");
        assert_eq!(self.alias().await, json!({second.index.clone(): {"aliases": carried}}), "{title}");
        self.send("PUT", "/swap-flights/_doc/x?refresh=true", json!({"n": 100})).await;
        assert_eq!(self.server.leases("swap-").await, 0, "{title}");
    }

    /// One node has no place for a replica: that is said, and it is not waited for.
    async fn one_node(&self) {
        let mut config = self.config(OldWrites::Report);
        config.index = "swap-single".parse().unwrap();
        (config.create.replicas, config.finish.wait_for) = (Some(1), None);
        config.finish.swap = Some(SwapConfig::new("swap-single"));
        let report = self.load(config, 100).await;
        let green = report.finish.steps.iter().find(|step| step.step == Step::Green).unwrap();
        assert!(
            green.detail.contains("2 of 4 shard copies")
                && green.detail.contains("the best state that the nodes allow"),
            "{green:?}"
        );
        assert_eq!(self.count("swap-single").await, 100, "{}", self.title);
    }
}

async fn check(version: Version) {
    let server = Server::shared(version).await;
    let title = server.title.clone();

    // What a swap relies on.
    let target = TestedServer::connect(&server.url(), None).await.unwrap();
    let relied_on = ["alias_", "health_", "force_merge", "shard_stats", "changes_"];
    let mut failed = 0;
    for case in cases().iter().filter(|case| relied_on.iter().any(|name| case.name.starts_with(name))) {
        let outcome = run(case, &target).await;
        println!("{title}: {} {outcome:?}", case.name);
        failed += usize::from(matches!(outcome, CaseOutcome::Failed(_)));
    }
    assert_eq!(failed, 0, "{title}");

    let scene = Scene { server, folder: tempfile::tempdir().unwrap(), title };
    scene.swaps().await;
    scene.one_node().await;
    println!("{}: swapped, with writes reported, copied and blocked", scene.title);
    scene.server.stop().await;
}

on_servers!(check: opensearch_3_8 = OpenSearch38, elasticsearch_9_5 = Elasticsearch9, opensearch_2_19 = OpenSearch2,
    elasticsearch_7_17 = Elasticsearch7);

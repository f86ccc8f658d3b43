//! Indices that a server builds beside their cluster and hands over, on real servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_bake::{BakeConfig, BakeError, BakeReport, Baker, BuilderConfig, Engine, OpenSource, Place};
use inrush_load::config::{DeadLetters, LoadConfig, StateFolder, SwapConfig, Tolerance};
use inrush_load::{ConfiguredLoad, OldIndex, Report, Status, VerifiedState};
use inrush_sources::{FormatOptions, Source, SourceSpec, Warnings, open};
use inrush_testbed::users;
use serde_json::{Value, json};

use crate::server::{self, Server, Version, on_servers};

const HEAP_MIB: u32 = 600;
const DOCS: u64 = 20_000;

struct Target {
    server: Server,
    folder: PathBuf,
    data: PathBuf,
    title: String,
}

impl Target {
    async fn start(version: Version) -> Target {
        let folder = server::folder();
        server::make_shared(&folder.join("shared"));
        let path_repo = ("path.repo".to_owned(), format!("{:?}", folder.join("shared")));
        let data = folder.join("documents.ndjson");
        let lines = (0..DOCS).map(|n| {
            format!("{{\"id\":\"i{n}\",\"n\":{n},\"text\":\"some words {}\",\"tag\":\"t{}\"}}\n", n * 7919, n % 7)
        });
        std::fs::write(&data, lines.collect::<String>()).unwrap();
        let target = Server::own_with(version, 2, |spec| {
            (spec.heap_mib, spec.settings) = (HEAP_MIB, vec![path_repo]);
        });
        let server = target.await;
        let title = server.title.clone();
        Target { server, folder, data, title }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        self.server.send(method, path, body).await
    }

    fn load(&self, index: &str) -> LoadConfig {
        let mut config = LoadConfig::new(vec![self.server.url()], index.parse().unwrap());
        config.dead_letters = DeadLetters::Folder(self.folder.clone());
        config.state = Some(StateFolder::new(self.folder.join("state")));
        config.guard.state = Some(self.folder.join("state"));
        config.id = Some("id".parse().unwrap());
        config.create.mapping = Some(json!({"properties": {"n": {"type": "long"}, "tag": {"type": "keyword"}}}));
        config.create.settings = Some(json!({"index": {"codec": "best_compression", "refresh_interval": "7s",
            "analysis": {"analyzer": {"own": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase"]}}}}}));
        config.create.shards = Some(3);
        config.create.replicas = Some(0);
        config
    }

    fn bake(&self, load: LoadConfig) -> BakeConfig {
        let builder = BuilderConfig { heap_mib: HEAP_MIB, ..BuilderConfig::default() };
        let engine = Engine::Server;
        BakeConfig { builder, engine, ..BakeConfig::new(load, Place::Path(self.folder.join("shared"))) }
    }

    fn source(&self) -> OpenSource {
        let data = self.data.clone();
        Arc::new(move || -> Result<Box<dyn Source>, _> {
            Ok(Box::new(open(&[SourceSpec::Path(data.clone())], FormatOptions::default(), &Warnings::default())?))
        })
    }

    async fn baked(&self, config: BakeConfig) -> Report {
        let BakeReport { load: report, hand_over: bake, .. } =
            Baker::new(config, self.source()).unwrap().run().await.unwrap();
        assert_eq!(
            (report.status, report.verified.state),
            (Status::Complete, VerifiedState::Yes),
            "{}: {report:#?}",
            self.title
        );
        assert!(bake.handed_over && bake.left.is_empty(), "{}: {bake:?}", self.title);
        for step in &bake.steps {
            println!("{}: {} {:.2} s: {}", self.title, step.step.name(), step.seconds, step.detail);
        }
        report
    }

    /// Everything of the cluster that a bake could leave changed.
    async fn state(&self) -> Value {
        let indices = self.send("GET", "/_all/_settings?expand_wildcards=all", Value::Null).await;
        let aliases = self.send("GET", "/_alias", Value::Null).await;
        let repositories = self.send("GET", "/_snapshot", Value::Null).await;
        let settings = self.send("GET", "/_cluster/settings", Value::Null).await;
        json!([indices, aliases, repositories, settings])
    }

    /// No file of inrush is left on this machine.
    fn is_clean(&self) {
        let inside = |folder: &Path| {
            std::fs::read_dir(folder).map(|entries| entries.flatten().map(|e| e.path()).collect::<Vec<_>>())
        };
        assert_eq!(inside(&self.folder.join("shared")).unwrap(), Vec::<PathBuf>::new(), "{}", self.title);
        let bakes: Vec<_> = inside(&self.folder.join("state/bakes")).unwrap_or_default();
        assert_eq!(bakes, Vec::<PathBuf>::new(), "{}", self.title);
    }

    /// What an index is like, without what differs in each.
    async fn like(&self, index: &str) -> Value {
        let mut settings = self.send("GET", &format!("/{index}/_settings?flat_settings=true"), Value::Null).await
            [index]["settings"]
            .clone();
        for own in ["index.uuid", "index.creation_date", "index.provided_name"] {
            settings.as_object_mut().unwrap().remove(own);
        }
        let mapping = self.send("GET", &format!("/{index}/_mapping"), Value::Null).await[index]["mappings"].clone();
        let count = self.send("GET", &format!("/{index}/_count"), Value::Null).await["count"].clone();
        json!({"settings": settings, "mapping": mapping, "count": count})
    }

    async fn bakes_what_a_load_loads(&self) {
        let title = &self.title;
        let template = json!({"index_patterns": ["*ed"], "template": {"settings": {"index.max_result_window": 33_333},
            "mappings": {"properties": {"text": {"type": "text", "analyzer": "whitespace"}}}, "aliases": {"all": {}}}});
        self.send("PUT", "/_index_template/both", template).await;
        let report = ConfiguredLoad::new(self.load("loaded"))
            .unwrap()
            .start(self.source()().unwrap())
            .await
            .unwrap()
            .finish()
            .await;
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        let before = self.send("GET", "/_cluster/settings", Value::Null).await;
        let mut config = self.bake(self.load("baked"));
        config.unthrottle = true;
        config.load.finish.force_merge = Some(1);
        self.baked(config).await;
        assert_eq!(self.like("baked").await, self.like("loaded").await, "{title}");
        assert_eq!(self.send("GET", "/_cluster/settings", Value::Null).await, before, "{title}");
        assert_eq!(self.send("GET", "/_snapshot", Value::Null).await, json!({}), "{title}");
        let all = self.send("GET", "/_alias/all", Value::Null).await;
        assert_eq!(all, json!({"baked": {"aliases": {"all": {}}}, "loaded": {"aliases": {"all": {}}}}), "{title}");
        for n in (0..DOCS).step_by(997) {
            let document = |index: &str| format!("/{index}/_source/i{n}");
            let baked = self.send("GET", &document("baked"), Value::Null).await;
            assert_eq!(baked, self.send("GET", &document("loaded"), Value::Null).await, "{title}");
        }
        // It is an index like any other.
        let update = self.send("POST", "/baked/_update/i1?refresh=true", json!({"doc": {"n": 70_000}})).await;
        assert_eq!(update["result"], "updated", "{title}");
        self.send("DELETE", "/baked/_doc/i2?refresh=true", Value::Null).await;
        self.send("PUT", "/baked/_doc/new?refresh=true", json!({"n": 80_000})).await;
        let high = self.send("POST", "/baked/_search", json!({"query": {"range": {"n": {"gte": 70_000}}}})).await;
        assert_eq!(high["hits"]["total"]["value"], 2, "{title}");
        assert_eq!(self.send("GET", "/baked/_count", Value::Null).await["count"], DOCS, "{title}");
        self.is_clean();
        println!("{title}: a baked index equals a loaded one");
    }

    async fn swaps(&self) {
        let title = &self.title;
        self.send("PUT", "/old", json!({"aliases": {"flights": {"filter": {"range": {"n": {"gte": 50}}}}}})).await;
        let mut load = self.load("flights");
        load.create.settings = None;
        load.finish.swap =
            Some(SwapConfig { delete_old: true, warm: vec![json!({"size": 0})], ..SwapConfig::new("flights") });
        let report = self.baked(self.bake(load)).await;
        let swap = report.swap.unwrap();
        assert_eq!((swap.swapped, swap.old), (true, OldIndex::Deleted), "{title}: {swap:?}");
        let alias = self.send("GET", "/_alias/flights", Value::Null).await;
        assert_eq!(
            alias,
            json!({swap.index: {"aliases": {"flights": {"filter": {"range": {"n": {"gte": 50}}}}}}}),
            "{title}"
        );
        assert_eq!(self.send("GET", "/flights/_count", Value::Null).await["count"], DOCS - 50, "{title}");
        self.is_clean();
        println!("{title}: an alias was moved to a baked index");
    }

    /// A slice of the past becomes a part of a data stream, where the server can do that.
    async fn fills_a_data_stream(&self, can_attach: bool) {
        let title = &self.title;
        let template = json!({"index_patterns": ["stream-*"], "data_stream": {}, "priority": 300, "template": {"settings": {"number_of_replicas": 0}}});
        self.send("PUT", "/_index_template/streams", template).await;
        // Elasticsearch's archive from Maven comes without its module for data streams.
        let has_streams =
            self.server.client.json("PUT", "/_data_stream/stream-a", Value::Null).await.unwrap().status < 300;
        let can = can_attach && has_streams;
        if has_streams {
            self.send("POST", "/stream-a/_doc?refresh=true", json!({"@timestamp": "2024-05-01T00:00:00Z"})).await;
        }
        let past = self.folder.join("past.ndjson");
        let lines =
            (0..1000).map(|n| format!("{{\"id\":\"p{n}\",\"@timestamp\":\"2024-01-{:02}T00:00:00Z\"}}\n", 1 + n % 28));
        std::fs::write(&past, lines.collect::<String>()).unwrap();
        let source: OpenSource = Arc::new(move || -> Result<Box<dyn Source>, _> {
            Ok(Box::new(open(&[SourceSpec::Path(past.clone())], FormatOptions::default(), &Warnings::default())?))
        });
        let mut load = self.load("slice-2024-01");
        (load.create.mapping, load.create.settings, load.create.shards) = (None, None, Some(1));
        let mut config = self.bake(load);
        config.data_stream = Some("stream-a".to_owned());
        let before = self.state().await;
        let run = async |config: BakeConfig| Baker::new(config, Arc::clone(&source)).unwrap().run().await;
        let missing = BakeConfig { data_stream: Some("stream-b".to_owned()), ..config.clone() };
        let error = run(missing).await.unwrap_err().to_string();
        let expected = match (can_attach, has_streams) {
            (false, _) => "cannot attach an index to a data stream",
            (true, false) => "has no data streams",
            (true, true) => "there is no data stream stream-b",
        };
        assert!(error.contains(expected), "{title}: {error}");
        assert_eq!(self.state().await, before, "{title}");
        if can {
            let BakeReport { load: report, hand_over, .. } = run(config).await.unwrap();
            assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 1000), "{title}: {report:#?}");
            let detail = hand_over.steps.into_iter().map(|step| step.detail).collect::<Vec<_>>();
            assert!(detail.contains(&"slice-2024-01, in the data stream stream-a".to_owned()), "{title}: {detail:?}");
            assert_eq!(self.send("GET", "/stream-a/_count", Value::Null).await["count"], 1001, "{title}");
            self.send("POST", "/stream-a/_doc?refresh=true", json!({"@timestamp": "2024-05-02T00:00:00Z"})).await;
            assert_eq!(self.send("GET", "/slice-2024-01/_count", Value::Null).await["count"], 1000, "{title}");
            let stream = self.send("GET", "/_data_stream/stream-a", Value::Null).await;
            let indices = stream["data_streams"][0]["indices"].as_array().unwrap().clone();
            assert_eq!((indices.len(), &indices[0]["index_name"]), (2, &json!("slice-2024-01")), "{title}: {stream}");
        }
        self.is_clean();
        if has_streams {
            self.send("DELETE", "/_data_stream/stream-a", Value::Null).await;
        }
        self.send("DELETE", "/_index_template/streams", Value::Null).await;
        println!("{title}: a data stream {}", if can { "got a slice that was baked" } else { "is refused" });
    }

    /// What may be missing decides on the alias.
    async fn tolerates(&self) {
        let title = &self.title;
        self.send("PUT", "/shop-1", json!({"aliases": {"shop": {}}})).await;
        // Documents that do not fit the mapping.
        let data = self.folder.join("bad.ndjson");
        let lines = (0..400).map(|n| match n % 20 {
            7 => format!("{{\"id\":\"i{n}\",\"n\":\"many\"}}\n"),
            _ => format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n"),
        });
        std::fs::write(&data, lines.collect::<String>()).unwrap();
        for (name, tolerance, complete) in [("shop-2", 19, false), ("shop-3", 20, true)] {
            let mut load = self.load(name);
            load.tolerate = Some(Tolerance::Count(tolerance));
            load.finish.swap = Some(SwapConfig::new("shop"));
            let config = self.bake(load);
            let path = data.clone();
            let source: OpenSource = Arc::new(move || -> Result<Box<dyn Source>, _> {
                Ok(Box::new(open(&[SourceSpec::Path(path.clone())], FormatOptions::default(), &Warnings::default())?))
            });
            let report = Baker::new(config, source).unwrap().run().await.unwrap().load;
            assert_eq!(report.counts.docs_dead_lettered, 20, "{title}");
            let expected = if complete { Status::Complete } else { Status::Incomplete };
            assert_eq!(report.status, expected, "{title}: {report:#?}");
            let alias = self.send("GET", "/_alias/shop", Value::Null).await;
            let behind = if complete { name } else { "shop-1" };
            assert!(alias.get(behind).is_some(), "{title}: {alias}");
        }
        println!("{title}: what may be missing decides on the alias");
    }

    async fn end(self) {
        self.server.stop().await;
        users::delete(&self.folder).unwrap();
    }

    /// The target is in its former state after any failure.
    async fn refuses(&self) {
        let title = &self.title;
        self.send("PUT", "/taken", json!({})).await;
        let before = self.state().await;
        let refused = async |config: BakeConfig| {
            let error: BakeError = Baker::new(config, self.source()).unwrap().run().await.unwrap_err();
            assert_eq!(self.state().await, before, "{title}: {error}");
            self.is_clean();
            error.to_string()
        };
        let error = refused(self.bake(self.load("taken"))).await;
        assert!(error.contains("taken exists on the target"), "{title}: {error}");
        let mut config = self.bake(self.load("b"));
        config.builder.version = Some("99.0.0".into());
        assert!(refused(config).await.contains("is newer than the target's"), "{title}");
        let mut config = self.bake(self.load("b"));
        config.place = Place::Repository("none".into());
        assert!(refused(config).await.contains("no repository none"), "{title}");
        // A folder that the target's nodes may not use.
        let elsewhere = self.folder.join("elsewhere");
        server::make_shared(&elsewhere);
        let mut config = self.bake(self.load("b"));
        config.place = Place::Path(elsewhere);
        let error = refused(config).await;
        assert!(error.contains("path.repo") && error.contains("docs/bake/repository.md"), "{title}: {error}");
        // An analyser that the builder lacks.
        let mut config = self.bake(self.load("b"));
        config.load.create.settings = Some(json!({"analysis": {"analyzer": {"a": {"tokenizer": "of_a_plugin"}}}}));
        let error = refused(config).await;
        assert!(error.contains("creating the index b") && error.contains("option `builder_home`"), "{title}: {error}");
        println!("{title}: refusals leave the target as it was");
    }
}

async fn check(version: Version) {
    let target = Target::start(version).await;
    target.bakes_what_a_load_loads().await;
    target.swaps().await;
    target.tolerates().await;
    target.fills_a_data_stream(version == Version::Elasticsearch9).await;
    target.refuses().await;
    target.end().await;
}

on_servers!(check: opensearch_3_8 = OpenSearch38, opensearch_2_19 = OpenSearch2, elasticsearch_9_5 = Elasticsearch9);

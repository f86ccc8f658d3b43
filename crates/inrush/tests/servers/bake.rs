//! Indices that are built beside their cluster and handed over, on real servers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_bake::{BakeConfig, BakeError, BakeReport, Baker, BuilderConfig, Engine, Layout, OpenSource, Place};
use inrush_load::config::{DeadLetters, LoadConfig, StateFolder, SwapConfig, Tolerance};
use inrush_load::{Loader, OldIndex, Report, Status, VerifiedState};
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
    /// `builders`: how many nodes build an index at once.
    async fn start(version: Version, builders: usize) -> Target {
        let folder = server::folder();
        server::make_shared(&folder.join("shared"));
        let path_repo = ("path.repo".to_owned(), format!("{:?}", folder.join("shared")));
        let data = folder.join("documents.ndjson");
        let lines = (0..DOCS).map(|n| {
            format!("{{\"id\":\"i{n}\",\"n\":{n},\"text\":\"some words {}\",\"tag\":\"t{}\"}}\n", n * 7919, n % 7)
        });
        std::fs::write(&data, lines.collect::<String>()).unwrap();
        let target = Server::own_with(version, 1 + builders, |spec| {
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
        let report =
            Loader::new(self.load("loaded")).unwrap().start(self.source()().unwrap()).await.unwrap().finish().await;
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

    /// Several builders. Each index is found whole under its name.
    async fn bakes_with_several(&self, layout: Layout, builders: u32) {
        let (title, name) = (&self.title, format!("several-{builders}"));
        let mut load = self.load(&name);
        (load.create.shards, load.create.mapping) = (None, None);
        if layout == Layout::Cluster {
            load.create.shards = Some(builders);
        }
        let mut config = self.bake(load);
        (config.builders, config.layout) = (builders, layout);
        config.builder.heap_mib = 450;
        let report = self.baked(config).await;
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (DOCS, DOCS), "{title}: {report:?}");
        assert_eq!(self.send("GET", &format!("/{name}/_count"), Value::Null).await["count"], DOCS, "{title}");
        for n in (0..DOCS).step_by(499) {
            let query = json!({"query": {"ids": {"values": [format!("i{n}")]}}});
            let found = self.send("POST", &format!("/{name}/_search"), query).await;
            assert_eq!(
                (&found["hits"]["total"]["value"], &found["hits"]["hits"][0]["_source"]["n"]),
                (&json!(1), &json!(n)),
                "{title}"
            );
        }
        let shards = self.send("GET", &format!("/_cat/shards/{name}?format=json&h=docs,prirep"), Value::Null).await;
        let docs: Vec<u64> =
            shards.as_array().unwrap().iter().map(|s| s["docs"].as_str().unwrap().parse().unwrap()).collect();
        assert_eq!((docs.len(), docs.iter().sum()), (builders as usize, DOCS), "{title}: {shards}");
        assert!(docs.iter().all(|docs| *docs > DOCS / u64::from(builders) / 2), "{title}: {docs:?}");
        self.is_clean();
        println!("{title}: {builders} builders, {layout:?}: {docs:?}");
        if layout == Layout::Stitched {
            self.is_one_index(&name, builders).await;
        }
        // Servers delete no indices by a pattern.
        match layout {
            Layout::Alias => {
                for n in 1..=builders {
                    self.send("DELETE", &format!("/{name}-{n}"), Value::Null).await;
                }
            }
            Layout::Cluster | Layout::Stitched => drop(self.send("DELETE", &format!("/{name}"), Value::Null).await),
        }
    }

    /// What may be missing is judged of all parts together, and decides on the alias.
    async fn tolerates(&self) {
        let title = &self.title;
        self.send("PUT", "/shop-1", json!({"aliases": {"shop": {}}})).await;
        // Documents that do not fit the mapping, some in each builder's part.
        let data = self.folder.join("bad.ndjson");
        let lines = (0..400).map(|n| match n % 20 {
            7 => format!("{{\"id\":\"i{n}\",\"n\":\"many\"}}\n"),
            _ => format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n"),
        });
        std::fs::write(&data, lines.collect::<String>()).unwrap();
        for (name, tolerance, complete) in [("shop-2", 19, false), ("shop-3", 20, true)] {
            let mut load = self.load(name);
            load.create.shards = None;
            load.tolerate = Some(Tolerance::Count(tolerance));
            load.finish.swap = Some(SwapConfig::new("shop"));
            let mut config = self.bake(load);
            (config.builders, config.layout) = (2, Layout::Stitched);
            config.builder.heap_mib = 450;
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
        println!("{title}: what may be missing is judged of all parts of a bake together");
    }

    /// An index of shards that were built apart is an index like any other.
    async fn is_one_index(&self, name: &str, shards: u32) {
        let title = &self.title;
        let state = self.send("GET", &format!("/_cluster/state/metadata/{name}"), Value::Null).await;
        let metadata = &state["metadata"]["indices"][name];
        assert_eq!(metadata["settings"]["index"]["number_of_shards"], shards.to_string(), "{title}");
        let terms: BTreeSet<u64> =
            metadata["primary_terms"].as_object().unwrap().values().map(|t| t.as_u64().unwrap()).collect();
        assert_eq!(terms.len(), 1, "{title}: equal primary terms: {}", metadata["primary_terms"]);
        let properties =
            self.send("GET", &format!("/{name}/_mapping"), Value::Null).await[name]["mappings"]["properties"].clone();
        assert_eq!(properties["n"]["type"], "long", "{title}: {properties}");
        for n in (0..DOCS).step_by(20) {
            let found = self.send("GET", &format!("/{name}/_doc/i{n}"), Value::Null).await;
            assert_eq!(
                (&found["_source"]["n"], &found["_source"]["id"]),
                (&json!(n), &json!(format!("i{n}"))),
                "{title}: get by id"
            );
        }
        let terms = json!({"size": 0, "track_total_hits": true, "query": {"term": {"tag.keyword": "t3"}}, "aggs": {"sum": {"sum": {"field": "n"}}}});
        let found = self.send("POST", &format!("/{name}/_search"), terms).await;
        let expected: Vec<u64> = (0..DOCS).filter(|n| n % 7 == 3).collect();
        assert_eq!(found["hits"]["total"]["value"], expected.len(), "{title}: term search");
        assert_eq!(
            found["aggregations"]["sum"]["value"].as_f64(),
            Some(expected.iter().sum::<u64>() as f64),
            "{title}: sum"
        );
        for n in 0..200 {
            let update =
                self.send("POST", &format!("/{name}/_update/i{n}"), json!({"doc": {"n": 1_000_000 + n}})).await;
            assert_eq!((&update["result"], &update["_version"]), (&json!("updated"), &json!(2)), "{title}");
            let delete = self.send("DELETE", &format!("/{name}/_doc/i{}", 1000 + n), Value::Null).await;
            assert_eq!(delete["result"], "deleted", "{title}");
            let id = format!("new{n}");
            let new = self.send("PUT", &format!("/{name}/_doc/{id}"), json!({"id": id, "n": n})).await;
            assert_eq!(new["result"], "created", "{title}");
        }
        let again = self.send("PUT", &format!("/{name}/_doc/i5"), json!({"id": "i5", "n": 5})).await;
        assert_eq!(again["result"], "updated", "{title}: overwritten, not there twice");
        self.send("POST", &format!("/{name}/_forcemerge?max_num_segments=1"), Value::Null).await;
        self.send("POST", &format!("/{name}/_refresh"), Value::Null).await;
        assert_eq!(self.send("GET", &format!("/{name}/_count"), Value::Null).await["count"], DOCS, "{title}");
        self.send("POST", &format!("/{name}/_close"), Value::Null).await;
        self.send("POST", &format!("/{name}/_open?wait_for_active_shards=all"), Value::Null).await;
        // A snapshot of its own, and back.
        let location = self.folder.join("shared/again");
        server::make_shared(&location);
        self.send("PUT", "/_snapshot/again", json!({"type": "fs", "settings": {"location": location}})).await;
        let snapshot = self
            .send(
                "PUT",
                "/_snapshot/again/s?wait_for_completion=true",
                json!({"indices": name, "include_global_state": false}),
            )
            .await;
        assert_eq!(snapshot["snapshot"]["state"], "SUCCESS", "{title}: {snapshot}");
        let rename = json!({"indices": name, "include_global_state": false, "include_aliases": false, "rename_pattern": "(.+)", "rename_replacement": "again"});
        let restored = self.send("POST", "/_snapshot/again/s/_restore?wait_for_completion=true", rename).await;
        assert_eq!(restored["snapshot"]["shards"]["successful"], shards, "{title}: {restored}");
        assert_eq!(self.send("GET", "/again/_count", Value::Null).await["count"], DOCS, "{title}");
        for (id, n) in [("i7", 1_000_007), ("new7", 7), ("i19999", 19_999)] {
            assert_eq!(self.send("GET", &format!("/again/_doc/{id}"), Value::Null).await["_source"]["n"], n, "{title}");
        }
        let gone = self.server.client.json("GET", "/again/_doc/i1007", Value::Null).await.unwrap();
        assert_eq!(gone.status, 404, "{title}");
        self.send("DELETE", "/again", Value::Null).await;
        self.send("DELETE", "/_snapshot/again/s", Value::Null).await;
        self.send("DELETE", "/_snapshot/again", Value::Null).await;
        users::delete(&location).unwrap();
        println!("{title}: an index of {shards} shards that were built apart is one");
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

async fn check_one(version: Version) {
    let target = Target::start(version, 1).await;
    target.bakes_what_a_load_loads().await;
    target.swaps().await;
    target.fills_a_data_stream(version == Version::Elasticsearch8).await;
    target.refuses().await;
    target.end().await;
}

async fn check_several(version: Version) {
    let target = Target::start(version, 2).await;
    target.tolerates().await;
    for (layout, builders) in [(Layout::Stitched, 2), (Layout::Cluster, 2), (Layout::Alias, 2)] {
        target.bakes_with_several(layout, builders).await;
    }
    target.end().await;
}

/// With one builder.
mod one {
    use super::*;

    on_servers!(check_one: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}

/// With two builders.
mod several {
    use super::*;

    on_servers!(check_several: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}

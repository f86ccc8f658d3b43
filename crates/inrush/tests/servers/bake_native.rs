//! Indices whose files are written by this process and restored by real servers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use inrush_bake::{BakeConfig, BakeError, BakeReport, Baker, Engine, OpenSource, Place};
use inrush_core::{Action, Code, OnConflict};
use inrush_load::config::{DeadLetters, LoadConfig, StateFolder, SwapConfig};
use inrush_load::observe::ObserverSet;
use inrush_load::{ConfiguredLoad, OldIndex, Report, Status, VerifiedState};
use inrush_node::OwnedNode;
use inrush_sources::{FormatOptions, Source, SourceSpec, Warnings, open};
use inrush_testbed::client::Client;
use inrush_testbed::{Proxy, ProxyConfig, users};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use crate::cluster::{self, ask};
use crate::server::turn::{Needs, Turn};
use crate::server::{self, Server, Version, on_servers};

const DOCS: u64 = 20_000;
/// Every hundredth document comes again with the same id.
const AGAIN: u64 = 100;

struct Target {
    server: Server,
    folder: PathBuf,
    title: String,
}

fn line(n: u64) -> String {
    format!(
        "{{\"id\":\"i{n}\",\"n\":{n},\"text\":\"some words {}\",\"tag\":\"t{}\",\"at\":\"2024-01-{:02}T00:00:00Z\",\"ip\":\"10.0.{}.{}\",\"parts\":[{{\"name\":\"p{}\",\"size\":{}}},{{\"name\":\"q\",\"size\":1}}]}}\n",
        n * 7919,
        n % 7,
        1 + n % 28,
        n % 256,
        n % 250,
        n % 5,
        n % 9
    )
}

/// Searches of the fields without `parts`.
fn searches() -> Vec<Value> {
    vec![
        json!({"term": {"tag": "t3"}}),
        json!({"match": {"text": "words 79190"}}),
        json!({"match_phrase": {"text": "some words 15838"}}),
        json!({"range": {"n": {"gte": 100, "lt": 250}}}),
        json!({"range": {"at": {"gte": "2024-01-27"}}}),
        json!({"term": {"ip": "10.0.3.0/24"}}),
        json!({"prefix": {"text.raw": "some words 79"}}),
        json!({"ids": {"values": ["i1", "i77", "none"]}}),
    ]
}

/// The documents without `parts`, as a Parquet file.
fn write_parquet(path: &Path) {
    let texts = |text: fn(u64) -> String| Arc::new(StringArray::from_iter_values((0..DOCS).map(text))) as ArrayRef;
    let at = TimestampMicrosecondArray::from_iter_values((0..DOCS as i64).map(|n| (19_723 + n % 28) * 86_400_000_000));
    let columns = [
        ("id", texts(|n| format!("i{n}"))),
        ("n", Arc::new(Int64Array::from_iter_values(0..DOCS as i64)) as ArrayRef),
        ("text", texts(|n| format!("some words {}", n * 7919))),
        ("tag", texts(|n| format!("t{}", n % 7))),
        ("at", Arc::new(at.with_timezone("UTC")) as ArrayRef),
        ("ip", texts(|n| format!("10.0.{}.{}", n % 256, n % 250))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn source_of(path: PathBuf) -> OpenSource {
    Arc::new(move || -> Result<Box<dyn Source>, _> {
        Ok(Box::new(open(&[SourceSpec::Path(path.clone())], FormatOptions::default(), &Warnings::default())?))
    })
}

/// A load that has everything in a folder.
fn load(urls: Vec<String>, folder: &Path, index: &str, shards: u32) -> LoadConfig {
    let mut config = LoadConfig::new(urls, index.parse().unwrap());
    config.dead_letters = DeadLetters::Folder(folder.to_owned());
    config.state = Some(StateFolder::new(folder.join("state")));
    config.guard.state = Some(folder.join("state"));
    config.id = Some("id".parse().unwrap());
    config.create.mapping = Some(json!({"dynamic": "strict", "properties": {"id": {"type": "keyword"},
        "n": {"type": "long"}, "tag": {"type": "keyword"}, "at": {"type": "date"}, "ip": {"type": "ip"},
        "parts": {"type": "nested", "properties": {"name": {"type": "keyword"}, "size": {"type": "integer"}}},
        "text": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}}));
    config.create.settings = Some(json!({"index": {"refresh_interval": "7s", "max_result_window": 33_333}}));
    config.create.shards = Some(shards);
    config.create.replicas = Some(0);
    config
}

impl Target {
    async fn start(version: Version) -> Target {
        let folder = server::folder();
        server::make_shared(&folder.join("shared"));
        let path_repo = ("path.repo".to_owned(), format!("{:?}", folder.join("shared")));
        let target = Server::own_with(version, 2, |spec| (spec.heap_mib, spec.settings) = (600, vec![path_repo]));
        let server = target.await;
        let title = server.title.clone();
        let target = Target { server, folder, title };
        target.write("documents.ndjson", (0..DOCS).map(line));
        target
    }

    fn write(&self, name: &str, lines: impl Iterator<Item = String>) -> OpenSource {
        let path = self.folder.join(name);
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        source_of(path)
    }

    fn source(&self) -> OpenSource {
        source_of(self.folder.join("documents.ndjson"))
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        self.server.send(method, path, body).await
    }

    async fn count(&self, index: &str) -> Value {
        self.send("GET", &format!("/{index}/_count"), Value::Null).await["count"].clone()
    }

    fn load(&self, index: &str, shards: u32) -> LoadConfig {
        load(vec![self.server.url()], &self.folder, index, shards)
    }

    fn bake(&self, load: LoadConfig) -> BakeConfig {
        BakeConfig { engine: Engine::Native, ..BakeConfig::new(load, Place::Path(self.folder.join("shared"))) }
    }

    async fn run(&self, config: BakeConfig, source: OpenSource) -> Report {
        self.run_baker(Baker::new(config, source).unwrap()).await.load
    }

    async fn run_baker(&self, baker: Baker) -> BakeReport {
        let ended = baker.run().await.unwrap();
        let BakeReport { load: report, hand_over: bake } = &ended;
        assert!(bake.handed_over && bake.left.is_empty(), "{}: {report:#?}{bake:?}", self.title);
        assert_eq!(bake.engine == Engine::Server, bake.server_because.is_some(), "{}: {bake:?}", self.title);
        for step in &bake.steps {
            println!("{}: {} {:.2} s: {}", self.title, step.step.name(), step.seconds, step.detail);
        }
        self.is_clean().await;
        ended
    }

    async fn baked(&self, config: BakeConfig, source: OpenSource) -> Report {
        let report = self.run(config, source).await;
        let ended = (report.status, report.verified.state);
        assert_eq!(ended, (Status::Complete, VerifiedState::Yes), "{}: {report:#?}", self.title);
        report
    }

    /// Nothing of the bake is left on the target or on this machine.
    async fn is_clean(&self) {
        let inside = |folder: &Path| {
            std::fs::read_dir(folder).map(|entries| entries.flatten().map(|e| e.path()).collect::<Vec<_>>())
        };
        assert_eq!(inside(&self.folder.join("shared")).unwrap(), Vec::<PathBuf>::new(), "{}", self.title);
        let bakes: Vec<_> = inside(&self.folder.join("state/bakes")).unwrap_or_default();
        assert_eq!(bakes, Vec::<PathBuf>::new(), "{}", self.title);
        assert_eq!(self.send("GET", "/_snapshot", Value::Null).await, json!({}), "{}", self.title);
        let aliases = self.send("GET", "/_alias", Value::Null).await.to_string();
        assert!(!aliases.contains("inrush-bake"), "{}: {aliases}", self.title);
    }

    /// What an index is like, without what differs in each.
    async fn like(&self, index: &str) -> Value {
        let path = format!("/{index}/_settings?flat_settings=true");
        let mut settings = self.send("GET", &path, Value::Null).await[index]["settings"].clone();
        for own in ["index.uuid", "index.creation_date", "index.provided_name"] {
            settings.as_object_mut().unwrap().remove(own);
        }
        let mapping = self.send("GET", &format!("/{index}/_mapping"), Value::Null).await[index]["mappings"].clone();
        json!({"settings": settings, "mapping": mapping, "count": self.count(index).await})
    }

    /// What searches of all kinds find.
    async fn answers(&self, index: &str) -> Vec<Value> {
        let nested = json!({"nested": {"path": "parts", "query": {"bool": {"filter": [
            {"term": {"parts.name": "p3"}}, {"range": {"parts.size": {"gte": 6}}}]}}}});
        self.answers_to(index, searches().into_iter().chain([nested])).await
    }

    async fn answers_to(&self, index: &str, queries: impl IntoIterator<Item = Value>) -> Vec<Value> {
        let mut answers = Vec::new();
        for query in queries {
            let body = json!({"query": query, "size": 20, "sort": ["n"], "track_total_hits": true, "aggs": {
                "tags": {"terms": {"field": "tag"}}, "sum": {"sum": {"field": "n"}}, "days": {"date_histogram": {"field": "at", "fixed_interval": "7d"}}}});
            let mut found = self.send("POST", &format!("/{index}/_search"), body).await;
            assert!(found["hits"]["total"]["value"].as_u64() > Some(0), "{}: {query}", self.title);
            for hit in found["hits"]["hits"].as_array_mut().unwrap() {
                hit.as_object_mut().unwrap().remove("_index");
            }
            answers.push(json!([found["hits"], found["aggregations"]]));
        }
        answers
    }

    /// A baked index equals a loaded one, and is an index like any other.
    async fn equals_a_load(&self, shards: u32) {
        let (title, loaded, baked) = (&self.title, format!("loaded-{shards}"), format!("baked-{shards}"));
        let loader = ConfiguredLoad::new(self.load(&loaded, shards)).unwrap();
        let report = loader.start(self.source()().unwrap()).await.unwrap().finish().await;
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        let mut config = self.bake(self.load(&baked, shards));
        // Several segments in each shard.
        config.build_memory = 16 << 20;
        let report = self.baked(config, self.source()).await;
        assert_eq!((report.counts.docs_created, report.counts.docs_updated), (DOCS, 0), "{title}");
        assert_eq!(self.like(&baked).await, self.like(&loaded).await, "{title}");
        assert_eq!(self.answers(&baked).await, self.answers(&loaded).await, "{title}");
        for n in (0..DOCS).step_by(499) {
            let found = self.send("GET", &format!("/{baked}/_doc/i{n}"), Value::Null).await;
            let other = self.send("GET", &format!("/{loaded}/_doc/i{n}"), Value::Null).await;
            let (a, b) = ((&found["_source"], &found["_version"]), (&other["_source"], &other["_version"]));
            assert_eq!(a, b, "{title}: i{n}");
        }
        self.lives_on(&baked).await;
        println!("{title}: an index of {shards} shards equals a loaded one");
    }

    /// An index of columns, which are not read as JSON, equals a loaded one.
    async fn takes_columns(&self) {
        let title = &self.title;
        let csv = |n| {
            format!(
                "i{n},{n},some words {},t{},2024-01-{:02}T00:00:00Z,10.0.{}.{}\n",
                n * 7919,
                n % 7,
                1 + n % 28,
                n % 256,
                n % 250
            )
        };
        let csv = self.write("rows.csv", ["id,n,text,tag,at,ip\n".to_owned()].into_iter().chain((0..DOCS).map(csv)));
        let parquet = self.folder.join("rows.parquet");
        write_parquet(&parquet);
        for (name, source) in [("csv", csv), ("parquet", source_of(parquet))] {
            let (loaded, baked) = (format!("{name}-loaded"), format!("{name}-baked"));
            let loader = ConfiguredLoad::new(self.load(&loaded, 2)).unwrap();
            let report = loader.start(source().unwrap()).await.unwrap().finish().await;
            assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
            let baker = Baker::new(self.bake(self.load(&baked, 2)), source).unwrap();
            let steps = self.run_baker(baker).await.hand_over.steps;
            let read = format!("{DOCS} read, {DOCS} of them from columns");
            assert!(steps.iter().any(|step| step.detail.starts_with(&read)), "{title}: {name}: {steps:?}");
            assert_eq!(self.like(&baked).await, self.like(&loaded).await, "{title}: {name}");
            let answers = self.answers_to(&loaded, searches()).await;
            assert_eq!(self.answers_to(&baked, searches()).await, answers, "{title}: {name}");
            self.lives_on(&baked).await;
            self.send("DELETE", &format!("/{loaded}"), Value::Null).await;
        }
        println!("{title}: indices of CSV and Parquet, of two shards, equal loaded ones");
    }

    /// Updates or deletes the documents of a tag; returns how many.
    async fn by_query(&self, index: &str, what: &str, tag: u64) -> u64 {
        let title = &self.title;
        let path = format!("/{index}/_{what}_by_query?refresh=true");
        let query = json!({"query": {"term": {"tag": format!("t{tag}")}}});
        let done = self.server.client.json("POST", &path, query).await.unwrap();
        // Some of the archives come without the module for it.
        let count = if done.status == 400 { 0 } else { done.json()[format!("{what}d")].as_u64().unwrap() };
        let expected = (0..DOCS).filter(|n| n % 7 == tag).count() as u64;
        assert!(count == expected || (count == 0 && !title.contains("OpenSearch 3")), "{title}: {count}");
        count
    }

    /// A node that is killed, a snapshot, a split and a shrink leave all answers as they were.
    async fn survives(&mut self) {
        let title = self.title.clone();
        self.baked(self.bake(self.load("kept", 2)), self.source()).await;
        let answers = self.answers("kept").await;
        self.server.restart().await;
        self.answers_as("kept", &answers).await;
        let repository = self.folder.join("shared/own");
        let settings = json!({"type": "fs", "settings": {"location": repository}});
        self.send("PUT", "/_snapshot/own", settings).await;
        let only = json!({"indices": "kept", "include_global_state": false});
        self.send("PUT", "/_snapshot/own/one?wait_for_completion=true", only).await;
        let renamed = json!({"indices": "kept", "rename_pattern": "kept", "rename_replacement": "again"});
        self.send("POST", "/_snapshot/own/one/_restore?wait_for_completion=true", renamed).await;
        self.answers_as("again", &answers).await;
        self.send("DELETE", "/_snapshot/own/one", Value::Null).await;
        self.send("DELETE", "/_snapshot/own", Value::Null).await;
        users::delete(&repository).unwrap();
        self.send("PUT", "/kept/_settings", json!({"index.blocks.write": true})).await;
        for (how, index, shards) in [("_split", "more", 4), ("_shrink", "fewer", 1)] {
            let settings =
                json!({"index": {"number_of_shards": shards, "number_of_replicas": 0, "blocks.write": null}});
            self.send("PUT", &format!("/kept/{how}/{index}"), json!({"settings": settings})).await;
            self.answers_as(index, &answers).await;
        }
        for index in ["kept", "again", "more", "fewer"] {
            self.send("DELETE", &format!("/{index}"), Value::Null).await;
        }
        println!("{title}: all answers after a kill, a restored snapshot, a split and a shrink");
    }

    async fn answers_as(&self, index: &str, answers: &[Value]) {
        let path = format!("/_cluster/health/{index}?wait_for_status=green&timeout=60s");
        let health = self.send("GET", &path, Value::Null).await;
        assert_eq!(health["timed_out"], false, "{}: {index}: {health}", self.title);
        assert_eq!(self.answers(index).await, answers, "{}: {index}", self.title);
    }

    async fn lives_on(&self, index: &str) {
        let title = &self.title;
        let update = self.send("POST", &format!("/{index}/_update/i1"), json!({"doc": {"n": 70_000}})).await;
        assert_eq!((&update["result"], &update["_version"]), (&json!("updated"), &json!(2)), "{title}");
        let delete = self.send("DELETE", &format!("/{index}/_doc/i2"), Value::Null).await;
        assert_eq!(delete["result"], "deleted", "{title}");
        let new = self.send("PUT", &format!("/{index}/_doc/new"), json!({"n": 80_000})).await;
        assert_eq!(new["result"], "created", "{title}");
        self.by_query(index, "update", 4).await;
        let gone = self.by_query(index, "delete", 5).await;
        for path in ["_forcemerge?max_num_segments=1", "_flush?force=true", "_refresh", "_close"] {
            self.send("POST", &format!("/{index}/{path}"), Value::Null).await;
        }
        self.send("POST", &format!("/{index}/_open?wait_for_active_shards=all"), Value::Null).await;
        assert_eq!(self.count(index).await, DOCS - gone, "{title}");
        let replica = json!({"index": {"number_of_replicas": 1}});
        self.send("PUT", &format!("/{index}/_settings"), replica).await;
        self.send("DELETE", &format!("/{index}"), Value::Null).await;
    }

    /// Of documents with one id, the last one stays, or the first.
    async fn keeps_one_of_each_id(&self) {
        let title = &self.title;
        // Long texts, so that little memory makes several segments.
        let words = "again and ".repeat(100);
        let line = |n| line(n).replace("some words", &words);
        let lines = (0..DOCS).map(line);
        let again = (0..DOCS).step_by(AGAIN as usize).map(|n| line(n).replace("\"n\":", "\"n\":1000000"));
        let source = self.write("again.ndjson", lines.chain(again));
        let duplicates = DOCS / AGAIN;
        for (name, action) in [("last", Action::Index), ("first", Action::Create)] {
            let mut load = self.load(name, 2);
            load.action = action;
            let mut config = self.bake(load);
            config.build_memory = 16 << 20;
            if action == Action::Create {
                let error =
                    Baker::new(config.clone(), Arc::clone(&source)).unwrap().run().await.unwrap_err().to_string();
                assert!(error.contains(&format!("{duplicates} documents have the id")), "{title}: {error}");
                self.is_clean().await;
                config.load.on_conflict = OnConflict::Skip;
            }
            let report = self.baked(config, Arc::clone(&source)).await;
            let counts = &report.counts;
            let stats = self.send("GET", &format!("/{name}/_stats/segments,docs"), Value::Null).await;
            let primaries = &stats["_all"]["primaries"];
            assert!(primaries["segments"]["count"].as_u64() > Some(4), "{title}: {primaries}");
            // Each has two nested objects.
            assert_eq!(primaries["docs"]["deleted"], 3 * duplicates, "{title}: {primaries}");
            let expected = if action == Action::Index { (duplicates, 0) } else { (0, duplicates) };
            assert_eq!(counts.docs_created, DOCS, "{title}: {counts:?}");
            assert_eq!((counts.docs_updated, counts.docs_conflicting), expected, "{title}: {counts:?}");
            assert_eq!(self.count(name).await, DOCS, "{title}");
            let high = json!({"query": {"range": {"n": {"gte": 1_000_000}}}, "track_total_hits": true});
            let found = self.send("POST", &format!("/{name}/_search"), high).await;
            assert_eq!(found["hits"]["total"]["value"], expected.0, "{title}");
            let one = self.send("GET", &format!("/{name}/_doc/i100"), Value::Null).await;
            let expected = if action == Action::Index { 1_000_000_100_u64 } else { 100 };
            assert_eq!(one["_source"]["n"], expected, "{title}");
            self.lives_on(name).await;
        }
        println!("{title}: one document of each id stays");
    }

    /// An index whose documents are sorted equals a loaded one, also in the order of its segments.
    async fn sorts(&self) {
        let title = &self.title;
        let load = |index: &str| {
            let mut load = self.load(index, 2);
            let properties = load.create.mapping.as_mut().unwrap();
            properties["properties"]["parts"] = json!({"type": "object", "enabled": false});
            let sort = json!({"field": ["tag", "at", "n"], "order": ["desc", "asc", "desc"], "missing": ["_first", "_last", "_last"]});
            load.create.settings = Some(json!({"index": {"sort": sort}}));
            load
        };
        let loader = ConfiguredLoad::new(load("sorted-loaded")).unwrap();
        let report = loader.start(self.source()().unwrap()).await.unwrap().finish().await;
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        let mut config = self.bake(load("sorted"));
        config.build_memory = 16 << 20;
        self.baked(config, self.source()).await;
        assert_eq!(self.like("sorted").await, self.like("sorted-loaded").await, "{title}");
        for index in ["sorted", "sorted-loaded"] {
            for path in ["_forcemerge?max_num_segments=1", "_refresh"] {
                self.send("POST", &format!("/{index}/{path}"), Value::Null).await;
            }
        }
        // In the order of the index, which a search of one segment has.
        let body = json!({"size": 1000, "sort": ["_doc"], "query": {"range": {"n": {"lt": 5000}}}});
        let mut found = Vec::new();
        for index in ["sorted", "sorted-loaded"] {
            let path = format!("/{index}/_search?preference=_shards:1");
            let hits = self.send("POST", &path, body.clone()).await["hits"]["hits"].clone();
            found.push(hits.as_array().unwrap().iter().map(|hit| hit["_source"].clone()).collect::<Vec<_>>());
        }
        let first = |found: &[Value]| found.iter().take(3).cloned().collect::<Vec<_>>();
        let seen = (found[0].len(), first(&found[0]), first(&found[1]));
        assert!(found[0].len() > 500 && found[0] == found[1], "{title}: {seen:?}");
        self.lives_on("sorted").await;
        self.send("DELETE", "/sorted-loaded", Value::Null).await;
        println!("{title}: documents are sorted");
    }

    /// New fields become in all shards what they become in a load, and the target has them.
    async fn adds_fields(&self) {
        let title = &self.title;
        let line = |n| {
            let day = 1 + n % 28;
            let more = match n % 5 {
                0 => format!("\"long\":{n}"),
                1 => format!("\"text\":\"some words {n}\",\"at\":\"2024-01-{day:02}\""),
                2 => format!("\"inner\":{{\"flag\":{},\"float\":{n}.5}}", n % 2 == 0),
                3 => format!("\"inner.list\":[[{n}],[]],\"day\":\"2024/01/{day:02}\""),
                _ => "\"none\":[null]".to_owned(),
            };
            format!("{{\"id\":\"i{n}\",{more}}}\n")
        };
        let source = self.write("new.ndjson", (0..DOCS).map(line));
        let load = |index: &str| {
            let mut load = self.load(index, 3);
            load.create.mapping = None;
            load
        };
        let queries = [
            json!({"range": {"long": {"gte": 500, "lt": 700}}}),
            json!({"match_phrase": {"text": "words 1001"}}),
            json!({"term": {"text.keyword": "some words 16"}}),
            json!({"range": {"at": {"gte": "2024-01-20"}}}),
            json!({"term": {"inner.flag": true}}),
            json!({"range": {"inner.float": {"lt": 90}}}),
            json!({"terms": {"inner.list": [8, 13]}}),
            json!({"range": {"day": {"lt": "2024/01/03"}}}),
            json!({"exists": {"field": "inner"}}),
        ];
        let like = self.equals_its_load("new", load, source, "id.keyword", &queries).await;
        assert_eq!(like["mapping"]["properties"]["inner"]["properties"]["flag"]["type"], "boolean", "{title}: {like}");
        let put = |body: Value| self.server.client.json("PUT", "/new/_doc/later", body);
        assert_eq!(put(json!({"long": "x"})).await.unwrap().status, 400, "{title}");
        assert_eq!(put(json!({"long": 5, "later": "x"})).await.unwrap().status, 201, "{title}");
        self.send("POST", "/new/_forcemerge?max_num_segments=1", Value::Null).await;
        for index in ["new", "new-loaded"] {
            self.send("DELETE", &format!("/{index}"), Value::Null).await;
        }
        println!("{title}: new fields are as in a load");
    }

    /// Loads and bakes a source, and returns what both indices are like.
    async fn equals_its_load(
        &self,
        baked: &str,
        load: impl Fn(&str) -> LoadConfig,
        source: OpenSource,
        sort: &str,
        queries: &[Value],
    ) -> Value {
        let (title, loaded) = (&self.title, format!("{baked}-loaded"));
        let loader = ConfiguredLoad::new(load(&loaded)).unwrap();
        let report = loader.start(source().unwrap()).await.unwrap().finish().await;
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        let mut config = self.bake(load(baked));
        config.build_memory = 16 << 20;
        self.baked(config, source).await;
        let like = self.like(baked).await;
        assert_eq!(like, self.like(&loaded).await, "{title}");
        for query in queries {
            let ask = async |index: &str| {
                let body =
                    json!({"query": query, "size": 50, "sort": [sort], "track_total_hits": true, "track_scores": true});
                let found = self.send("POST", &format!("/{index}/_search"), body).await;
                let hits = found["hits"]["hits"].as_array().unwrap().iter();
                let hits = hits.map(|hit| json!([hit["_source"], hit["_score"], hit["_ignored"]]));
                (found["hits"]["total"].clone(), hits.collect::<Vec<_>>())
            };
            let found = ask(baked).await;
            assert!(found.0["value"].as_u64() > Some(0), "{title}: {query}");
            assert_eq!(found, ask(&loaded).await, "{title}: {query}");
        }
        like
    }

    /// Parameters as text, defaults of fields from the settings, a codec for later merges, and a
    /// similarity of searches, as index bodies of applications have them.
    async fn reads_settings_of_applications(&self) {
        let line = |n: u64| {
            let size = match n % 4 {
                0 => "\"many\"".to_owned(),
                1 => format!("\"{n}\""),
                _ => n.to_string(),
            };
            let at = if n.is_multiple_of(3) { "\"yesterday\"" } else { "\"2024-01-02\"" };
            format!(
                "{{\"id\":\"i{n}\",\"size\":{size},\"at\":{at},\"text\":\"some {} words\",\"blob\":{{\"a\":[{n}]}},\"long\":\"{}\"}}\n",
                "more ".repeat((n % 50) as usize),
                "x".repeat((n % 9) as usize)
            )
        };
        let source = self.write("settings.ndjson", (0..DOCS).map(line));
        let mut mapping = json!({"dynamic": "false", "date_detection": "false", "_source": {"enabled": "true"}, "properties": {
            "id": {"type": "keyword", "doc_values": "true"}, "size": {"type": "integer"},
            "at": {"type": "date"}, "blob": {"enabled": "false"}, "long": {"type": "keyword", "ignore_above": "5", "index": "true"},
            "text": {"type": "text", "fielddata": "true", "similarity": "flat", "norms": "true"}}});
        let mut settings = json!({"index": {"codec": "best_compression", "queries.cache.enabled": "false",
            "store.type": "niofs", "mapping": {"coerce": "false"}, "default_pipeline": "_none",
            "similarity": {"flat": {"type": "BM25", "b": "0.1"}}}});
        // Elasticsearch ignores malformed booleans, too, which only a server does.
        if self.title.starts_with("OpenSearch") {
            settings["index"]["mapping"]["ignore_malformed"] = json!("true");
        } else {
            for name in ["size", "at"] {
                mapping["properties"][name]["ignore_malformed"] = json!("true");
            }
        }
        let load = |index: &str| {
            let mut load = self.load(index, 2);
            (load.create.mapping, load.create.settings) = (Some(mapping.clone()), Some(settings.clone()));
            load
        };
        let queries = [
            json!({"exists": {"field": "size"}}),
            json!({"range": {"size": {"lt": 900}}}),
            json!({"term": {"_ignored": "at"}}),
            json!({"match": {"text": "more words"}}),
            json!({"term": {"long": "xxxxx"}}),
            json!({"bool": {"must_not": {"exists": {"field": "long"}}}}),
        ];
        self.equals_its_load("settings", load, source, "id", &queries).await;
        self.send("POST", "/settings/_forcemerge?max_num_segments=1", Value::Null).await;
        assert_eq!(self.count("settings").await, DOCS, "{}", self.title);
        for index in ["settings", "settings-loaded"] {
            self.send("DELETE", &format!("/{index}"), Value::Null).await;
        }
        println!("{}: settings of applications are as in a load", self.title);
    }

    /// Fields that searches compute become those of a load, in Elasticsearch.
    async fn adds_runtime_fields(&self) {
        let title = &self.title;
        let line =
            |n| format!("{{\"id\":\"i{n}\",\"long\":{n},\"o\":{{\"text\":\"t{}\",\"at\":\"2024-01-01\"}}}}\n", n % 7);
        let source = self.write("runtime.ndjson", (0..DOCS).map(line));
        let load = |index: &str| {
            let mut load = self.load(index, 3);
            load.create.mapping = Some(json!({"dynamic": "runtime", "properties": {"id": {"type": "keyword"}}}));
            load
        };
        let loader = ConfiguredLoad::new(load("runtime-loaded")).unwrap();
        let report = loader.start(source().unwrap()).await.unwrap().finish().await;
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        self.baked(self.bake(load("runtime")), source).await;
        let like = self.like("runtime").await;
        assert_eq!(like["mapping"]["runtime"]["o.text"]["type"], "keyword", "{title}: {like}");
        assert_eq!(like, self.like("runtime-loaded").await, "{title}");
        let query = json!({"bool": {"filter": [
            {"range": {"long": {"lt": 100}}}, {"term": {"o.text": "t3"}}, {"term": {"o.at": "2024-01-01"}}]}});
        for index in ["runtime", "runtime-loaded"] {
            let body = json!({"query": query, "track_total_hits": true});
            let found = self.send("POST", &format!("/{index}/_search"), body).await;
            assert_eq!(found["hits"]["total"]["value"], 14, "{title}: {index}: {found}");
            self.send("DELETE", &format!("/{index}"), Value::Null).await;
        }
        println!("{title}: searches compute new fields as in a load");
    }

    /// Ids that are made here lead to the shard in which they are.
    async fn makes_ids(&self) {
        let title = &self.title;
        let mut load = self.load("made", 3);
        load.id = None;
        self.baked(self.bake(load), self.source()).await;
        let all = json!({"size": 500, "query": {"range": {"n": {"lt": 500}}}});
        let found = self.send("POST", "/made/_search", all).await;
        let hits = found["hits"]["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 500, "{title}");
        for hit in hits.iter().step_by(25) {
            let one = self.send("GET", &format!("/made/_doc/{}", hit["_id"].as_str().unwrap()), Value::Null).await;
            assert_eq!(one["_source"], hit["_source"], "{title}");
        }
        self.send("DELETE", "/made", Value::Null).await;
        println!("{title}: ids that are made lead to their shards");
    }

    async fn swaps(&self) {
        let title = &self.title;
        self.send("PUT", "/old", json!({"aliases": {"flights": {}}})).await;
        let mut load = self.load("flights", 2);
        load.finish.swap = Some(SwapConfig { delete_old: true, ..SwapConfig::new("flights") });
        // With the default engine.
        let config = BakeConfig::new(load, Place::Path(self.folder.join("shared")));
        let BakeReport { load: report, hand_over } = self.run_baker(Baker::new(config, self.source()).unwrap()).await;
        assert_eq!((report.status, hand_over.engine), (Status::Complete, Engine::Native), "{title}: {hand_over:?}");
        let swap = report.swap.unwrap();
        assert_eq!((swap.swapped, swap.old), (true, OldIndex::Deleted), "{title}: {swap:?}");
        assert_eq!(self.count("flights").await, DOCS, "{title}");
        self.send("DELETE", &format!("/{}", swap.index), Value::Null).await;
        println!("{title}: an alias was moved to an index that was written here");
    }

    /// What a server refuses is a dead letter with its reason.
    async fn refuses_documents(&self) {
        let title = &self.title;
        let lines = (0..400).map(|n| match n % 40 {
            7 => format!("{{\"id\":\"i{n}\",\"n\":\"many\"}}\n"),
            9 => format!("{{\"id\":\"i{n}\",\"unknown\":1}}\n"),
            _ => line(n),
        });
        let source = self.write("bad.ndjson", lines);
        let report = self.run(self.bake(self.load("bad", 1)), source).await;
        assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 20), "{title}: {report:#?}");
        let kinds: Vec<&str> = report.errors.iter().map(|error| error.kind.as_str()).collect();
        assert!(kinds.contains(&"strict_dynamic_mapping_exception"), "{title}: {kinds:?}");
        assert_eq!(self.count("bad").await, 380, "{title}");
        let letters = std::fs::read_to_string(report.dead_letters.unwrap()).unwrap();
        assert!(letters.contains("\"n\":\"many\"") && letters.lines().count() >= 20, "{title}");
        self.send("DELETE", "/bad", Value::Null).await;
    }

    /// What cannot be built is refused by its name and leaves the target as it was, or is built
    /// with a server.
    async fn refuses_mappings(&self) {
        let title = &self.title;
        let refused = async |config: BakeConfig, source: OpenSource| {
            let error: BakeError = Baker::new(config, source).unwrap().run().await.unwrap_err();
            self.is_clean().await;
            let found = self.server.client.json("GET", "/b", Value::Null).await.unwrap();
            assert_eq!(found.status, 404, "{title}: no index is left");
            error.to_string()
        };
        let mut load = self.load("b", 1);
        load.create.mapping = Some(json!({"properties": {"v": {"type": "percolator"}}}));
        let error = refused(self.bake(load), self.source()).await;
        assert!(error.contains("percolator") && error.contains("engine=server"), "{title}: {error}");
        let mut load = self.load("b", 1);
        load.create.settings = Some(json!({"index": {"routing_partition_size": 2}}));
        let error = refused(self.bake(load), self.source()).await;
        assert!(error.contains("index.routing_partition_size"), "{title}: {error}");
        let mut load = self.load("b", 1);
        load.create.settings = Some(json!({"index": {"sort.field": "parts.size"}}));
        let error = refused(self.bake(load), self.source()).await;
        assert!(error.contains("index.sort.field"), "{title}: {error}");
        println!("{title}: what cannot be built is refused");
    }

    /// Parents and children find each other as in a loaded index, and a child that the server
    /// refuses is a dead letter.
    async fn joins(&self) {
        let title = &self.title;
        let line = |n| match n % 5 {
            0 => format!("{{\"id\":\"i{n}\",\"n\":{n},\"rel\":\"question\",\"at\":\"i{n}\"}}\n"),
            // A comment on the answer before it.
            4 => format!(
                "{{\"id\":\"i{n}\",\"n\":{n},\"rel\":{{\"name\":\"comment\",\"parent\":\"i{}\"}},\"at\":\"i{}\"}}\n",
                n - 1,
                n - 4
            ),
            child => format!(
                "{{\"id\":\"i{n}\",\"n\":{n},\"rel\":{{\"name\":\"answer\",\"parent\":\"i{0}\"}},\"at\":\"i{0}\"}}\n",
                n - child
            ),
        };
        let load = |index: &str| {
            let mut load = self.load(index, 3);
            load.routing = Some("at".parse().unwrap());
            load.create.mapping = Some(json!({"properties": {"n": {"type": "long"}, "at": {"type": "keyword"},
                "rel": {"type": "join", "relations": {"question": ["answer", "vote"], "answer": "comment"}}}}));
            load
        };
        let some = |from: u64| json!({"range": {"n": {"gte": from, "lt": from + 9}}});
        let queries = [
            json!({"term": {"rel": "comment"}}),
            json!({"has_child": {"type": "answer", "query": some(300), "score_mode": "sum"}}),
            json!({"has_child": {"type": "answer", "min_children": 3, "query": {"match_all": {}}}}),
            json!({"has_child": {"type": "answer", "query": {"has_child": {"type": "comment", "query": some(500)}}}}),
            json!({"has_parent": {"parent_type": "question", "query": some(300), "score": true}}),
            json!({"has_parent": {"parent_type": "answer", "query": some(300)}}),
            json!({"parent_id": {"type": "comment", "id": "i603"}}),
        ];
        let source = self.write("joined.ndjson", (0..DOCS).map(line));
        self.equals_its_load("joined", load, source, "n", &queries).await;
        let mut sums = Vec::new();
        for index in ["joined", "joined-loaded"] {
            let sum = json!({"sum": {"sum": {"field": "n"}}});
            let body = json!({"size": 0, "query": some(300), "aggs": {
                "down": {"children": {"type": "answer"}, "aggs": sum}, "up": {"parent": {"type": "answer"}, "aggs": sum}}});
            sums.push(self.send("POST", &format!("/{index}/_search"), body).await["aggregations"].clone());
            self.send("DELETE", &format!("/{index}"), Value::Null).await;
        }
        assert_eq!((&sums[0]["down"]["doc_count"], &sums[0]), (&json!(6), &sums[1]), "{title}");
        let lines =
            ["{\"id\":\"a\",\"rel\":\"question\"}", "{\"id\":\"b\",\"rel\":{\"name\":\"answer\",\"parent\":\"a\"}}"];
        let source = self.write("orphans.ndjson", lines.iter().map(|line| format!("{line}\n")));
        let load = LoadConfig { routing: None, ..load("orphans") };
        let report = self.run(self.bake(load), source).await;
        assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 1), "{title}: {report:#?}");
        let letters = std::fs::read_to_string(report.dead_letters.unwrap()).unwrap();
        assert!(letters.contains("a routing value of the document"), "{title}: {letters}");
        self.send("DELETE", "/orphans", Value::Null).await;
        println!("{title}: parents and children are as in a load");
    }

    async fn end(self) {
        self.server.stop().await;
        users::delete(&self.folder).unwrap();
    }
}

async fn check(version: Version) {
    let mut target = Target::start(version).await;
    target.refuses_mappings().await;
    target.equals_a_load(1).await;
    target.equals_a_load(3).await;
    target.takes_columns().await;
    target.keeps_one_of_each_id().await;
    target.sorts().await;
    target.adds_fields().await;
    target.reads_settings_of_applications().await;
    if version == Version::Elasticsearch8 {
        target.adds_runtime_fields().await;
    }
    // The other servers for tests are without the module.
    if matches!(version, Version::OpenSearch3 | Version::OpenSearch38) {
        target.joins().await;
    }
    target.makes_ids().await;
    target.survives().await;
    target.swaps().await;
    target.refuses_documents().await;
    target.end().await;
}

/// What differs in Elasticsearch 9.5, the shard of a document and values of new fields, and in
/// Lucene 9.
async fn check_what_differs(version: Version) {
    let target = Target::start(version).await;
    target.equals_a_load(3).await;
    target.adds_fields().await;
    target.makes_ids().await;
    target.end().await;
}

on_servers!(check_what_differs: elasticsearch_9_5 = Elasticsearch9, lucene_9_elasticsearch_8_19 = Elasticsearch8);

on_servers!(check:
    opensearch_2_19 = OpenSearch2,
    opensearch_3_6 = OpenSearch3,
    opensearch_3_8 = OpenSearch38,
    elasticsearch_8_19 = Elasticsearch8,
);

/// Where documents need a server after all, one builds the index.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_over() {
    let target = Target::start(Version::OpenSearch3).await;
    let lines = (0..2000).map(|n| match n {
        1500 => "{\"id\":\"i1500\",\"n\":1500,\"later\":\"x\"}\n".to_owned(),
        _ => line(n),
    });
    let source = target.write("later.ndjson", lines);
    let mut load = target.load("later", 1);
    load.create.mapping = Some(json!({
        "dynamic_templates": [{"own": {"match_pattern": "regex", "match": "^later$", "mapping": {"type": "keyword"}}}],
        "properties": load.create.mapping.unwrap()["properties"]
    }));
    let mut config = target.bake(load);
    let error = Baker::new(config.clone(), Arc::clone(&source)).unwrap().run().await.unwrap_err().to_string();
    assert!(error.contains("later") && error.contains("engine=server"), "{error}");
    target.is_clean().await;
    config.engine = Engine::Auto;
    config.builder.heap_mib = 600;
    let (state, seen) = (target.folder.join("state/bakes"), Arc::new(Mutex::new(Vec::new())));
    let reasons = Arc::clone(&seen);
    let baker = Baker::new(config, source).unwrap().observe(move || {
        reasons.lock().unwrap().push(record(&state)["server_because"].clone());
        ObserverSet::default()
    });
    let BakeReport { load: report, hand_over } = target.run_baker(baker).await;
    assert_eq!((report.status, hand_over.engine), (Status::Complete, Engine::Server));
    assert!(report.warnings[0].contains("built with a server, because"), "{:?}", report.warnings);
    // A resumed bake would know it, too.
    let because = Value::from(hand_over.server_because);
    assert_eq!(*seen.lock().unwrap(), [Value::Null, because]);
    assert_eq!(target.count("later").await, 2000);
    a_refused_mapping_needs_a_server(&target).await;
    target.end().await;
}

/// The record of the only bake in a folder.
fn record(folder: &Path) -> Value {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let records: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    let [record] = &records[..] else { panic!("{records:?}") };
    serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap()
}

/// A target that does not take new fields after the restore gets an index with them from a server,
/// and nothing of the first try is left.
async fn a_refused_mapping_needs_a_server(target: &Target) {
    let proxy = async |end: &str| {
        let link = ProxyConfig { forbid_put: Some(end.to_owned()), ..ProxyConfig::new(target.server.url()) };
        Proxy::start(link).await.unwrap()
    };
    let (no_mapping, no_repository) = (proxy("/_mapping").await, proxy("-empty").await);
    let lines = (0..2000).map(|n| match n {
        700 => "{\"id\":\"i700\",\"n\":\"many\"}\n".to_owned(),
        _ => line(n),
    });
    let source = target.write("added.ndjson", lines);
    let mut load = target.load("added", 2);
    load.create.mapping = Some(json!({"properties": {"n": {"type": "long"}}}));
    let letters = target.folder.join("added-letters.ndjson");
    load.dead_letters = DeadLetters::File(letters.clone());
    let mut config = target.bake(load);
    for (proxy, why) in [(&no_repository, "cannot use the repository"), (&no_mapping, "does not take the new fields")] {
        config.load.to = vec![proxy.url()];
        let error = Baker::new(config.clone(), Arc::clone(&source)).unwrap().run().await.unwrap_err();
        assert_eq!(error.code(), Code::BakeNotNative, "{error}");
        assert!(error.to_string().contains(why), "{error}");
        target.is_clean().await;
        assert_eq!(target.server.client.json("GET", "/added", Value::Null).await.unwrap().status, 404);
        assert!(!letters.exists(), "the dead letters are gone with the index");
    }
    config.engine = Engine::Auto;
    config.builder.heap_mib = 600;
    let BakeReport { load: report, hand_over } = target.run_baker(Baker::new(config, source).unwrap()).await;
    assert_eq!((report.status, hand_over.engine), (Status::Incomplete, Engine::Server), "{report:#?}");
    let because = hand_over.server_because.unwrap();
    assert!(because.contains("does not take the new fields") && because.contains("403"), "{because}");
    assert!(report.warnings[0].contains(&because), "{:?}", report.warnings);
    assert_eq!((report.counts.docs_read, report.counts.docs_dead_lettered), (2000, 1), "{report:#?}");
    assert_eq!(std::fs::read_to_string(&letters).unwrap().lines().count(), 1);
    assert_eq!(target.count("added").await, 1999);
    assert_eq!(target.like("added").await["mapping"]["properties"]["tag"]["type"], "text");
}

/// A replica is a copy on another node, which has all documents when the first one is gone.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_on_another_node() {
    const SHARDS: u32 = 3;
    let _turn = Turn::take(Needs::nodes(2)).await;
    let folder = server::folder();
    server::make_shared(&folder.join("shared"));
    let path_repo = ("path.repo".to_owned(), format!("{:?}", folder.join("shared")));
    let mut nodes = cluster::start(&folder, 2, &[path_repo]).await;
    let client = Client::new(&nodes[0].url()).unwrap();
    ask(&client, "GET", "/_cluster/health?wait_for_nodes=2&timeout=60s", Value::Null).await;
    let path = folder.join("documents.ndjson");
    std::fs::write(&path, (0..DOCS).map(line).collect::<String>()).unwrap();
    let mut load = load(nodes.iter().map(OwnedNode::url).collect(), &folder, "copied", SHARDS);
    load.create.replicas = Some(1);
    let config = BakeConfig { engine: Engine::Native, ..BakeConfig::new(load, Place::Path(folder.join("shared"))) };
    let BakeReport { load: report, hand_over, .. } = Baker::new(config, source_of(path)).unwrap().run().await.unwrap();
    assert!(report.status == Status::Complete && hand_over.left.is_empty(), "{report:#?}{hand_over:?}");
    let settings = ask(&client, "GET", "/copied/_settings?flat_settings=true", Value::Null).await;
    assert_eq!(settings["copied"]["settings"]["index.number_of_replicas"], "1", "{settings}");
    let green = "/_cluster/health/copied?wait_for_status=green&timeout=120s";
    assert_eq!(ask(&client, "GET", green, Value::Null).await["active_shards"], 2 * SHARDS);
    // The other one is the cluster's manager.
    nodes[1].kill().unwrap();
    let yellow = "/_cluster/health/copied?wait_for_nodes=1&wait_for_status=yellow&timeout=120s";
    let health = ask(&client, "GET", yellow, Value::Null).await;
    assert_eq!((&health["timed_out"], &health["active_shards"]), (&json!(false), &json!(SHARDS)), "{health}");
    let counted = ask(&client, "GET", "/copied/_count", Value::Null).await;
    assert_eq!((&counted["count"], &counted["_shards"]["failed"]), (&json!(DOCS), &json!(0)), "{counted}");
    for node in nodes {
        node.stop().await.unwrap();
    }
    users::delete(&folder).unwrap();
}

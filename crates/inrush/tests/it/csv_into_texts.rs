//! Cells of CSV that look like numbers, dates or booleans, for fields that the target maps as
//! strings.

use std::path::Path;
use std::sync::Arc;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_commands::verify::{VerifyOptions, VerifyOutcome, verify};
use inrush_core::Action;
use inrush_fake::FakeCluster;
use inrush_load::config::LoadConfig;
use inrush_load::dry_run::dry_run;
use inrush_load::{ConfiguredLoad, Status};
use inrush_sources::{FormatOptions, Source, SourceSpec, Warnings, open};
use serde_json::{Value, json};

use crate::common::{config, fake};

const ROWS: &str = "id,version,flag,at,n\na,1.10,TRUE,2025-01-31 10:00:00,1.10\nb,1.20,FALSE,2025-02-28 10:00:00,2\n";

fn mapping() -> Value {
    json!({"properties": {
        "id": {"type": "keyword"}, "version": {"type": "keyword"}, "flag": {"type": "wildcard"},
        "at": {"type": "text"}, "n": {"type": "double"},
    }})
}

/// What both rows are in an index with this mapping.
fn expected() -> [Value; 2] {
    [
        json!({"id": "a", "version": "1.10", "flag": "TRUE", "at": "2025-01-31 10:00:00", "n": 1.1}),
        json!({"id": "b", "version": "1.20", "flag": "FALSE", "at": "2025-02-28 10:00:00", "n": 2.0}),
    ]
}

fn source(path: &Path) -> impl Source + use<> {
    open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default()).unwrap()
}

async fn load(config: LoadConfig, path: &Path) {
    let report = ConfiguredLoad::new(config).unwrap().run(source(path)).await.unwrap();
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

fn found(fake: &FakeCluster) -> Vec<Value> {
    let mut found: Vec<Value> = fake.documents("t").iter().map(|document| document.json()).collect();
    found.sort_by_key(|document| document["id"].to_string());
    found
}

async fn verified(fake: &FakeCluster, path: &Path) -> VerifyOutcome {
    let transport = Transport::new(&fake.urls(), Credentials::None, &HttpOptions::default()).unwrap();
    let options = VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new("t".parse().unwrap()) };
    verify(Arc::new(transport), Box::new(source(path)), &options, |_| {}).await.unwrap().result
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_for_fields_of_strings_are_their_texts_with_every_action() {
    for action in [Action::Index, Action::Create, Action::Update, Action::Upsert] {
        let fake = fake([]).await;
        let (mut config, folder) = config(fake.urls(), "t");
        let path = folder.path().join("a.csv");
        std::fs::write(&path, ROWS).unwrap();
        (config.action, config.id) = (action, Some("id".parse().unwrap()));
        fake.call("PUT", "/t", json!({"mappings": mapping()})).unwrap();
        if action == Action::Update {
            for id in ["a", "b"] {
                fake.call("PUT", &format!("/t/_doc/{id}"), json!({"id": id, "version": "0"})).unwrap();
            }
        }
        load(config, &path).await;
        assert_eq!(found(&fake), expected(), "{action:?}");
        assert_eq!(verified(&fake, &path).await, VerifyOutcome::Equal, "{action:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_has_its_strings_from_the_mapping_or_from_a_template() {
    let mapped = json!({"mappings": {"properties": {"version": {"type": "keyword"}}}});
    let composable = ("/_index_template/t", json!({"index_patterns": ["t*"], "template": mapped}));
    let legacy = ("/_template/t", json!({"index_patterns": ["t*"], "mappings": mapped["mappings"]}));
    let of_another = ("/_template/t", json!({"index_patterns": ["u*"], "mappings": mapped["mappings"]}));
    let named = json!({"dynamic_templates": [{"v": {"match": "vers*", "mapping": {"type": "keyword"}}}]});
    let of_names = ("/_index_template/t", json!({"index_patterns": ["t*"], "template": {"mappings": named}}));
    let versions = |found: &[Value]| found.iter().map(|found| found["version"].clone()).collect::<Vec<_>>();
    let (texts, numbers) = ([json!("1.10"), json!("1.20")], [json!(1.1), json!(1.2)]);
    for (template, own, expected) in [
        (None, Some(mapping()), &texts),
        (Some(&composable), None, &texts),
        (Some(&legacy), None, &texts),
        (Some(&legacy), Some(json!({"properties": {"n": {"type": "float"}}})), &texts),
        (Some(&composable), Some(json!({"properties": {"n": {"type": "float"}}})), &texts),
        (None, Some(named.clone()), &texts),
        (Some(&of_names), None, &texts),
        (Some(&of_another), None, &numbers),
        (None, None, &numbers),
    ] {
        let fake = fake([]).await;
        if let Some((path, body)) = template {
            fake.call("PUT", path, body.clone()).unwrap();
        }
        let (mut config, folder) = config(fake.urls(), "t");
        let path = folder.path().join("a.csv");
        std::fs::write(&path, ROWS).unwrap();
        config.id = Some("id".parse().unwrap());
        config.create.mapping = own.clone();
        let dry = dry_run(config.clone(), Box::new(source(&path))).await.unwrap();
        assert!(dry.problems.is_empty(), "{:?}", dry.problems);
        let shown = dry.documents.iter().map(|shown| serde_json::from_str(&shown.document).unwrap());
        assert_eq!(versions(&shown.collect::<Vec<_>>()), expected, "dry run: {template:?} {own:?}");
        load(config, &path).await;
        assert_eq!(versions(&found(&fake)), expected, "{template:?} {own:?}");
        assert_eq!(verified(&fake, &path).await, VerifyOutcome::Equal);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_an_index_of_strings_has_are_compared_as_their_texts() {
    let fake = fake([]).await;
    let (_config, folder) = config(fake.urls(), "t");
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "id,zip,version\na,80331,1.10\n").unwrap();
    let mapping = json!({"properties": {"zip": {"type": "keyword"}, "version": {"type": "keyword"}}});
    fake.call("PUT", "/t", json!({"mappings": mapping})).unwrap();
    for (version, outcome) in [(json!("1.10"), VerifyOutcome::Equal), (json!(1.1), VerifyOutcome::Different)] {
        fake.call("PUT", "/t/_doc/a", json!({"id": "a", "zip": 80331, "version": version})).unwrap();
        assert_eq!(verified(&fake, &path).await, outcome);
    }
}

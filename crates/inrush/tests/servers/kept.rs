//! What real servers keep or read as the engine says: aliases of an index that is created again,
//! ids of several indices, dates.

use inrush_load::config::StateFolder;
use inrush_load::{ConfiguredLoad, Report, Status};
use inrush_sources::Warnings;
use inrush_sources::index::{IndexAddress, IndexOptions, IndexSource};
use serde_json::{Value, json};

use crate::common::{Lines, documents};
use crate::server::{Server, Version, on_servers};

async fn check(version: Version) {
    let server = Server::shared(version).await;
    aliases_are_kept(&server).await;
    shared_ids_are_counted(&server).await;
    dates_are_those_of_a_date_field(&server).await;
    server.stop().await;
}

on_servers!(check: opensearch_3_8 = OpenSearch38, opensearch_2_19 = OpenSearch2, elasticsearch_9_5 = Elasticsearch9,
    elasticsearch_7_17 = Elasticsearch7);

async fn aliases_are_kept(server: &Server) {
    let title = &server.title;
    let aliases = json!({
        "kept-live": {},
        "kept-some": {"filter": {"term": {"n": 1}}},
        "kept-routed": {"index_routing": "a", "search_routing": "a,b"},
        "kept-written": {"is_write_index": true},
        "kept-hidden": {"is_hidden": true},
    });
    let nested = json!({"nested": {"path": "list", "query": {"term": {"list.k": 1}}}});
    let mappings = json!({"properties": {"list": {"type": "nested"}, "k": {"type": "keyword"}}});
    server.send("PUT", "/kept-a", json!({"aliases": aliases, "mappings": mappings})).await;
    server.send("PUT", "/kept-b", json!({"aliases": {"kept-written": {"is_write_index": false}}})).await;
    let (mut config, folder) = server.config("kept-a");
    config.create.recreate = true;
    config.state = Some(StateFolder::new(folder.path().join("state")));
    let report = ConfiguredLoad::new(config.clone()).unwrap().run(Lines::new(documents(30, 30))).await.unwrap();
    assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
    let now = async || server.send("GET", "/kept-a/_alias", Value::Null).await["kept-a"]["aliases"].clone();
    assert_eq!(now().await, aliases, "{title}");
    let lost = report.warnings.iter().find(|warning| warning.contains("will not have")).unwrap();
    assert!(lost.contains("its mapping of k, list"), "{title}: {lost}");

    // A filter that needs the mapping does not stop the load, and is told before the deletion.
    server.send("PUT", "/kept-c", json!({"mappings": mappings, "aliases": {"kept-nested": {"filter": nested}}})).await;
    let (mut config, _folder) = server.config("kept-c");
    config.create.recreate = true;
    let report = ConfiguredLoad::new(config).unwrap().run(Lines::new(documents(3, 3))).await.unwrap();
    let left = server.send("GET", "/kept-c/_alias", Value::Null).await["kept-c"]["aliases"]["kept-nested"].clone();
    let told = report.warnings.iter().any(|warning| warning.contains("will not have its aliases kept-nested"));
    assert_eq!((report.status, told), (Status::Complete, left.is_null()), "{title}: {report:?}");
}

async fn shared_ids_are_counted(server: &Server) {
    let title = &server.title;
    for index in ["kept-ids-1", "kept-ids-2"] {
        server.send("PUT", &format!("/{index}/_doc/1"), json!({"of": index})).await;
        server.send("PUT", &format!("/{index}/_doc/{index}"), json!({"of": index})).await;
    }
    let copy = async |expression: &str, index_in_id: bool, to: &str| -> Report {
        let address = IndexAddress::parse(&format!("{}/{expression}", server.url())).unwrap();
        let options = IndexOptions { index_in_id, ..IndexOptions::new(address) };
        let source = IndexSource::open(options, &Warnings::default()).await.unwrap();
        let (config, _folder) = server.config(to);
        ConfiguredLoad::new(config).unwrap().run(source).await.unwrap()
    };
    let told = |report: &Report| report.warnings.iter().filter(|warning| warning.contains("several indices")).count();
    let report = copy("kept-ids-*", false, "kept-copy").await;
    assert_eq!((told(&report), report.counts.docs_created), (1, 3), "{title}: {report:?}");
    let report = copy("kept-ids-1,kept-ids-2", true, "kept-apart").await;
    assert_eq!((told(&report), report.counts.docs_created), (0, 4), "{title}: {report:?}");
    server.send("GET", "/kept-apart/_doc/kept-ids-2:1", Value::Null).await;
}

/// The month that the name of an index gets is the one in which a date field finds the value.
async fn dates_are_those_of_a_date_field(server: &Server) {
    let title = &server.title;
    let mappings = json!({"properties": {"d": {"type": "date"}}});
    server.send("PUT", "/kept-dates", json!({"mappings": mappings})).await;
    let dates = [
        (json!(2024), "2024-01"),
        (json!("2024"), "2024-01"),
        (json!("2024-03"), "2024-03"),
        (json!("2024-01-31T"), "2024-01"),
        (json!("2024-01-31T23"), "2024-01"),
        (json!("2024-01-31T23:59Z"), "2024-01"),
        (json!(1_706_659_200_000_u64), "2024-01"),
        // Those that are refused as parts of a name.
        (json!("20240131"), "1970-01"),
        (json!(20_240_131), "1970-01"),
        (json!(1_706_659_200), "1970-01"),
        (json!(202_401), "1970-01"),
    ];
    for (at, (value, month)) in dates.into_iter().enumerate() {
        server.send("PUT", "/kept-dates/_doc/1?refresh=true", json!({"d": value})).await;
        let query =
            json!({"query": {"range": {"d": {"gte": format!("{month}||/M"), "lt": format!("{month}||+1M/M")}}}});
        let found = server.send("POST", "/kept-dates/_count", query).await["count"].clone();
        assert_eq!(found, 1, "{title}: {value} in {month}");
        // Each in an index of its own, which has the type of this value.
        let (config, _folder) = server.config(&format!("kept-{at}-{{d:yyyy-MM}}"));
        let report =
            ConfiguredLoad::new(config).unwrap().run(Lines::new([json!({"d": value}).to_string()])).await.unwrap();
        let expected = if month == "1970-01" { 0 } else { 1 };
        assert_eq!(report.counts.docs_indexed, expected, "{title}: {value}: {report:?}");
        assert!(report.indices.keys().all(|index| *index == format!("kept-{at}-{month}")), "{title}: {value}");
    }
}

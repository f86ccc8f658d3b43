//! Real data through SQL into real servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use inrush_commands::verify::{VerifyOptions, VerifyOutcome, VerifyReport, verify};
use inrush_load::{ConfiguredLoad, Report, Status, VerifiedState};
use inrush_sources::{Format, FormatOptions, SourceSpec};
use inrush_sql::{QueryOptions, Session, SessionOptions, SqlSource, TableSpec};
use serde_json::{Value, json};

use crate::server::{Server, Version, on_servers};
use crate::source_support::shared;

const GEO: &str = include_str!("../../../../docs/sql/dvf-geo.sql");
const RAW: &str = include_str!("../../../../docs/sql/dvf-raw.sql");
const ARTISTS: &str = include_str!("../../../../docs/sql/tate-artists.sql");
const SUBJECTS: &str = include_str!("../../../../docs/sql/tate-subjects.sql");

on_servers!(check: on_opensearch = OpenSearch38, on_elasticsearch = Elasticsearch9);

async fn check(version: Version) {
    let target = Server::shared(version).await;
    if let (Some(geo), Some(raw)) = (shared("dvf/hendaye-64.csv"), shared("dvf/valeursfoncieres-2018-extrait.txt")) {
        both_forms(&target, &geo).await;
        published(&target, &raw).await;
    }
    if let Some(works) = shared("tate/artworks.ndjson.zst") {
        entities(&target, &works).await;
    }
    target.stop().await;
}

async fn load(target: &Server, index: &str, mapping: Value, source: SqlSource) -> Report {
    let (mut config, _folder) = target.config(index);
    config.id = Some("id".parse().unwrap());
    config.create.mapping = Some(mapping);
    let report = ConfiguredLoad::new(config).unwrap().run(source).await.unwrap();
    assert_eq!((report.status, &report.verified.state), (Status::Complete, &VerifiedState::Yes), "{report:?}");
    println!("{} {index}: {} documents in {:.1} s", target.title, report.counts.docs_indexed, report.seconds);
    report
}

async fn compare(target: &Server, index: &str, source: SqlSource) -> VerifyReport {
    let options = VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new(index.parse().unwrap()) };
    verify(Arc::clone(&target.transport), Box::new(source), &options, |_| {}).await.unwrap()
}

async fn ask(target: &Server, path: &str, body: Value) -> Value {
    let method = if body.is_null() { "GET" } else { "POST" };
    target.send(method, path, body).await
}

fn table(name: &str, path: &Path, format: FormatOptions) -> TableSpec {
    TableSpec { name: name.to_owned(), sources: vec![SourceSpec::new(path)], format }
}

async fn query(sql: &str, tables: Vec<TableSpec>) -> SqlSource {
    let session = Session::open(tables, SessionOptions::default()).await.unwrap();
    let id = Some("id".parse().unwrap());
    session.query(sql, QueryOptions { id, ..QueryOptions::default() }).await.unwrap()
}

fn text(separator: u8) -> FormatOptions {
    let mut format = FormatOptions { format: Some(Format::Csv), ..FormatOptions::default() };
    (format.csv.separator, format.csv.all_strings) = (Some(separator), true);
    format
}

fn dvf_mapping() -> Value {
    json!({ "properties": {
        "id": { "type": "keyword" }, "date": { "type": "date" }, "price": { "type": "double" },
        "location": { "type": "geo_point" }, "lots": { "type": "nested" }, "parcels": { "type": "keyword" },
    }})
}

/// Rows of cells without quotes, by the names of a header.
fn rows(text: &str, separator: char) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(separator).collect();
    lines.map(|line| header.iter().copied().zip(line.split(separator)).collect()).collect()
}

/// The second form of publication of sales in the first one: decimal commas, French dates, codes in
/// parts, no coordinates.
fn as_published(geo: &str) -> (String, String) {
    let mut raw = "Date mutation|Nature mutation|Valeur fonciere|No disposition|Code departement|Code commune|Commune|Code postal|\
                   Prefixe de section|Section|No plan|Type local|Surface reelle bati|Nombre pieces principales"
        .to_owned();
    for lot in ["1er", "2eme", "3eme", "4eme", "5eme"] {
        raw.push_str(&format!("|{lot} lot|Surface Carrez du {lot} lot"));
    }
    raw.push_str("\r\n");
    let mut parcels = BTreeSet::new();
    let comma = |number: &str| number.replace('.', ",");
    for row in rows(geo, ',') {
        let day: Vec<&str> = row["date_mutation"].split('-').rev().collect();
        let parcel = row["id_parcelle"];
        let prefix = if &parcel[5..8] == "000" { "" } else { &parcel[5..8] };
        let price = match row["valeur_fonciere"] {
            whole if !whole.is_empty() && !whole.contains('.') => format!("{whole},00"),
            price => comma(price),
        };
        let mut cells = vec![
            day.join("/"),
            row["nature_mutation"].to_owned(),
            price,
            row["numero_disposition"].to_owned(),
            parcel[..2].to_owned(),
            parcel[2..5].trim_start_matches('0').to_owned(),
            row["nom_commune"].to_uppercase(),
            row["code_postal"].to_owned(),
            prefix.to_owned(),
            parcel[8..10].trim_start_matches('0').to_owned(),
            parcel[10..].trim_start_matches('0').to_owned(),
            row["type_local"].to_owned(),
            row["surface_reelle_bati"].split('.').next().unwrap().to_owned(),
            row["nombre_pieces_principales"].to_owned(),
        ];
        for lot in 1..=5 {
            cells.push(row[&*format!("lot{lot}_numero")].to_owned());
            cells.push(comma(row[&*format!("lot{lot}_surface_carrez")]));
        }
        raw.push_str(&(cells.join("|") + "\r\n"));
        if !row["latitude"].is_empty() {
            parcels.insert(format!("{parcel},{},{}\n", row["latitude"], row["longitude"]));
        }
    }
    (raw, "parcel,lat,lon\n".to_owned() + &parcels.into_iter().collect::<String>())
}

async fn both_forms(target: &Server, geo: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let text_of_geo = std::fs::read_to_string(geo).unwrap();
    let (raw, parcels) = as_published(&text_of_geo);
    let (raw_path, parcels_path) = (folder.path().join("raw.txt"), folder.path().join("parcels.csv"));
    std::fs::write(&raw_path, raw).unwrap();
    std::fs::write(&parcels_path, parcels).unwrap();
    let from_geo = || query(GEO, vec![table("input", geo, text(b','))]);
    let from_raw = || {
        query(
            RAW,
            vec![table("input", &raw_path, text(b'|')), table("parcels", &parcels_path, FormatOptions::default())],
        )
    };

    let report = load(target, "sql-dvf", dvf_mapping(), from_geo().await).await;
    let sales: BTreeSet<_> = rows(&text_of_geo, ',')
        .into_iter()
        .map(|row| {
            ["date_mutation", "nature_mutation", "valeur_fonciere", "code_commune", "numero_disposition"]
                .map(|name| row[name])
        })
        .collect();
    assert_eq!((report.counts.docs_created, report.counts.docs_updated), (sales.len() as u64, 0));
    for source in [from_geo().await, from_raw().await] {
        let compared = compare(target, "sql-dvf", source).await;
        assert_eq!(
            (compared.result, compared.docs_compared),
            (VerifyOutcome::Equal, Some(sales.len() as u64)),
            "{compared:?}"
        );
        assert!(compared.not_proven.is_empty(), "{compared:?}");
    }

    let near =
        json!({ "query": { "geo_distance": { "distance": "20km", "location": { "lat": 43.36, "lon": -1.78 } } } });
    let located = ask(target, "/sql-dvf/_count", near).await["count"].as_u64().unwrap();
    assert!(located + 4 >= sales.len() as u64 && located <= sales.len() as u64, "{located} of {}", sales.len());
    let lots = json!({ "query": { "nested": { "path": "lots", "query": { "exists": { "field": "lots.number" } } } } });
    assert!(ask(target, "/sql-dvf/_count", lots).await["count"].as_u64().unwrap() > 2_000);
}

/// The extract of the second form as it was published, ten thousand rows of another county.
async fn published(target: &Server, raw: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let parcels = folder.path().join("parcels.csv");
    std::fs::write(&parcels, "parcel,lat,lon\n010530000AN0073,46.2,5.2\n").unwrap();
    let source =
        || query(RAW, vec![table("input", raw, text(b'|')), table("parcels", &parcels, FormatOptions::default())]);
    let report = load(target, "sql-dvf-2018", dvf_mapping(), source().await).await;
    let contents = std::fs::read_to_string(raw).unwrap();
    let rows = rows(&contents, '|');
    let names = ["Date mutation", "Nature mutation", "Valeur fonciere", "Code commune", "No disposition"];
    let sales: BTreeSet<_> = rows.iter().map(|row| names.map(|name| row[name])).collect();
    assert_eq!((report.counts.docs_created, report.counts.docs_updated), (sales.len() as u64, 0));
    let compared = compare(target, "sql-dvf-2018", source().await).await;
    assert_eq!(compared.result, VerifyOutcome::Equal, "{compared:?}");

    // Days and months are not confused, and prices not their hundredfold.
    let sum: f64 = sales.iter().filter_map(|sale| sale[2].parse::<f64>().ok()).sum();
    let december = sales.iter().filter(|sale| sale[0].ends_with("/12/2018")).count() as u64;
    let found = ask(
        target,
        "/sql-dvf-2018/_search?size=0",
        json!({ "aggs": { "sum": { "sum": { "field": "price" } },
            "december": { "filter": { "range": { "date": { "gte": "2018-12-01", "lte": "2018-12-31" } } } } } }),
    )
    .await;
    let found_sum = found["aggregations"]["sum"]["value"].as_f64().unwrap();
    assert!((found_sum / sum - 1.0).abs() < 1e-9, "{found_sum} {sum}");
    assert_eq!(found["aggregations"]["december"]["doc_count"].as_u64(), Some(december));
}

/// Artists and subjects of the works of a museum: computed first, written once.
async fn entities(target: &Server, works: &Path) {
    let decoder = zstd::Decoder::new(std::fs::File::open(works).unwrap()).unwrap();
    let (mut artists, mut credits) = (BTreeSet::new(), 0);
    for line in std::io::BufRead::lines(std::io::BufReader::new(decoder)) {
        let work: Value = serde_json::from_str(&line.unwrap()).unwrap();
        for artist in work["contributors"].as_array().into_iter().flatten() {
            artists.insert(artist["id"].as_u64().unwrap());
            credits += 1;
        }
    }
    let mapping =
        json!({ "properties": { "id": { "type": "integer" }, "works": { "type": "object", "enabled": false } } });
    for (index, sql) in [("sql-artists", ARTISTS), ("sql-subjects", SUBJECTS)] {
        let input = || vec![table("input", works, FormatOptions::default())];
        let report = load(target, index, mapping.clone(), query(sql, input()).await).await;
        let counts = &report.counts;
        assert_eq!((counts.docs_created, counts.docs_updated), (counts.docs_read, 0), "{report:?}");
        assert_eq!((report.sizes[index].after.unwrap().docs_deleted, counts.retried_items), (0, 0), "{report:?}");
        let stats = ask(target, &format!("/{index}/_stats/indexing"), Value::Null).await;
        assert_eq!(stats["_all"]["primaries"]["indexing"]["index_total"].as_u64(), Some(counts.docs_read));
        let compared = compare(target, index, query(sql, input()).await).await;
        assert_eq!(compared.result, VerifyOutcome::Equal, "{compared:?}");
        if index == "sql-artists" {
            assert_eq!(counts.docs_created, artists.len() as u64);
            let sum = json!({ "aggs": { "credits": { "sum": { "field": "works_count" } } } });
            let found = ask(target, "/sql-artists/_search?size=0", sum).await;
            assert_eq!(found["aggregations"]["credits"]["value"].as_f64(), Some(f64::from(credits)));
        }
    }
}

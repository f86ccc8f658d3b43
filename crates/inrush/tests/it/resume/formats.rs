//! Loads of formats whose records end somewhere else than lines do, or whose ids are not in their
//! documents, that are cut off and go on.

use inrush_fake::FakeCluster;
use inrush_sources::{CsvOptions, FixedColumn, Format, FormatOptions, Parse};

use super::*;
use crate::source_archive::archives;
use crate::web_server::{WebFile, WebServer};

/// The documents of [`documents`], each over several lines.
fn pretty(lines: &str) -> String {
    let pretty =
        |line| serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(line).unwrap()).unwrap();
    lines.lines().map(|line| pretty(line) + "\n").collect()
}

/// A few on each line, with and without a space between them.
fn beside_each_other(lines: &str) -> String {
    let between = |at: usize| [" ", "", "\n"][at % 3];
    lines.lines().enumerate().map(|(at, line)| line.to_owned() + between(at)).collect()
}

/// Elements of an array.
fn elements(lines: &str) -> String {
    format!("[{}]", lines.lines().collect::<Vec<_>>().join(",\n"))
}

/// As an interface gives it out: an object a page, each with an array.
fn pages(lines: &str) -> String {
    let lines: Vec<&str> = lines.lines().collect();
    let page = |page: &[&str]| format!("{{\"ok\":[{{}}],\"data\":{{\"rows\":[{}]}},\"next\":1}}\n", page.join(", "));
    lines.chunks(700).map(page).collect()
}

/// As one object that holds them all.
fn collection(lines: &str) -> String {
    format!("{{\n  \"type\": \"all\",\n  \"data\": {{ \"rows\": {} }},\n  \"after\": 1\n}}\n", elements(lines))
}

fn json(records: Option<&str>) -> FormatOptions {
    let records = records.map(|path| path.parse().unwrap());
    FormatOptions { format: Some(Format::Json), records, ..FormatOptions::default() }
}

/// A way to write documents down.
type Shape = fn(&str) -> String;

/// Every document of `job` is in `index` once, and nothing else.
async fn cut_off_and_gone_on(fake: &FakeCluster, job: &Job, index: &str, cut: u64) {
    job.crash(job.config.clone(), cut).await;
    job.crash(job.resumed(), cut + 300).await;
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{index}: {report:?}");
    assert_eq!((report.counts.docs_read, report.counts.possible_duplicates), (DOCS, 0), "{index}: {report:?}");
    assert!(report.this_run.is_some_and(|run| run.counts.docs_read < DOCS), "{index} goes on");
    let mut numbers: Vec<u64> = fake.documents(index).iter().map(|d| d.json()["n"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..DOCS).collect::<Vec<_>>(), "{index}");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_values_wherever_they_end() {
    let fake = fake([Rule::new(Fault::ResetAfterApplying).probability(0.05)]).await;
    let shapes: [(&str, Shape, Option<&str>); 5] = [
        ("pretty", pretty, None),
        ("beside", beside_each_other, None),
        ("elements", elements, None),
        ("pages", pages, Some("data.rows")),
        ("collection", collection, Some("/data/rows")),
    ];
    let lines = documents(DOCS, DOCS);
    for (name, shape, records) in shapes {
        let mut job = Job::new(fake.urls(), name, &shape(&lines));
        job.format = json(records);
        // Numbers of documents that were counted wrongly would be other ids.
        job.config.id_from = Some(IdFrom::Position);
        cut_off_and_gone_on(&fake, &job, name, 700).await;

        let index = format!("{name}-stopped");
        job.config.index = index.parse().unwrap();
        job.config.id_from = None;
        stopped_and_gone_on(&fake, &job, &index).await;
    }
}

/// Without ids: what was stopped in order has no document twice.
async fn stopped_and_gone_on(fake: &FakeCluster, job: &Job, index: &str) {
    let load = ConfiguredLoad::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled > 500).await.unwrap();
    load.stop_handle().stop();
    let first = load.finish().await;
    assert_eq!(first.status, Status::Interrupted, "{index}: {first:?}");
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{index}: {report:?}");
    let there = fake.documents(index);
    let twice = there.len() as u64 - DOCS;
    assert!(twice <= report.counts.possible_duplicates, "{index}: {twice} twice: {report:?}");
    let different: std::collections::BTreeSet<u64> = there.iter().map(|d| d.json()["n"].as_u64().unwrap()).collect();
    assert_eq!(different.len() as u64, DOCS, "{index}: documents are missing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_value_is_one_dead_letter_however_often_the_load_is_cut_off() {
    let fake = fake([]).await;
    let text = pretty(&documents(DOCS, DOCS)).replace("\"n\": 1500,", "\"n\": ,");
    let mut job = Job::new(fake.urls(), "damaged", &text);
    job.format = FormatOptions { validate: true, ..json(None) };
    job.config.id = Some("id".parse().unwrap());
    job.config.dead_letters = DeadLetters::Folder(job.folder.path().to_owned());
    job.crash(job.config.clone(), 1000).await;
    job.crash(job.resumed(), 2000).await;
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 1), "{report:?}");
    assert_eq!((report.counts.docs_read, fake.documents("damaged").len() as u64), (DOCS, DOCS - 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_and_routing_of_cells_and_lines_are_their_text() {
    let fake = fake([]).await;
    let pad = "x".repeat(250);
    let rows = |separator: &str| -> String {
        (0..DOCS)
            .map(|n| [format!("{n:<6}"), format!("{:<3}", n % 7), n.to_string(), pad.clone()].join(separator) + "\n")
            .collect()
    };
    let columns: Vec<FixedColumn> =
        ["id:1-6", "r:7-9", "n:10-13", "pad:14-"].map(|column| column.parse().unwrap()).into();
    let fixed: String = (0..DOCS).map(|n| format!("{n:<6}{:<3}{n:<4}{pad}\n", n % 7)).collect();
    let csv = format!("id,r,n,pad\n{}", rows(",").replace(' ', ""));
    let pattern = r"^(?<id>\d+) *;(?<r>\d) *;(?<n>\d+);(?<pad>x+)$";
    for (index, text, format, parse) in [
        ("csv", csv, Some(Format::Csv), None),
        ("fixed", fixed, None, Some(Parse::FixedWidth(columns))),
        ("pattern", rows(";"), None, Some(Parse::Regex(pattern.to_owned()))),
    ] {
        let mut job = Job::new(fake.urls(), index, &text);
        let schema = CsvOptions::parse_schema("id:float,r:float,n:integer").unwrap();
        let csv = CsvOptions { schema, ..CsvOptions::default() };
        job.format = FormatOptions { format, parse, csv, ..FormatOptions::default() };
        job.config.id = Some("id".parse().unwrap());
        job.config.routing = Some("r".parse().unwrap());
        cut_off_and_gone_on(&fake, &job, index, 700).await;
        for document in fake.documents(index) {
            let (json, n) = (document.json(), document.json()["n"].as_u64().unwrap());
            assert_eq!((document.id, document.routing), (n.to_string(), Some((n % 7).to_string())), "{index}");
            assert_eq!(json["id"].to_string(), format!("{n}.0"), "{index}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_on_a_web_server_goes_on_within_its_members() {
    let server = WebServer::start();
    let text = documents(DOCS, DOCS);
    let (first, second) = text.split_at(text.match_indices('\n').nth(1_000).unwrap().0 + 1);
    let members = [("a.ndjson", first.as_bytes()), ("b.ndjson", second.as_bytes())];
    for (at, (name, data)) in archives(&members).into_iter().enumerate() {
        let fake = fake([]).await;
        let index = format!("archive-{at}");
        let mut job = Job::new(fake.urls(), &index, "");
        job.path = server.put(&format!("/{name}"), WebFile::new(data.clone())).into();
        job.config.id_from = Some(IdFrom::Position);
        cut_off_and_gone_on(&fake, &job, &index, 700).await;
        job.crash(job.config.clone(), 1_500).await;
        server.put(&format!("/{name}"), WebFile { etag: Some("\"v2\"".to_owned()), ..WebFile::new(data) });
        let refused = job.refusal(job.resumed()).await;
        assert!(refused.contains(&format!("{name}/a.ndjson was replaced since")), "{refused}");
        fake.shutdown().await;
    }
}

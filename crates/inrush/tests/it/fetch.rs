//! Documents that are looked up: the options of a load, a web service and SQLite, against the fake
//! cluster.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_commands::Loader;
use inrush_commands::options::{Environment, LoaderBuilder};
use inrush_fake::FakeCluster;
use inrush_load::{LoadError, Report, Status};
use serde_json::Value;

use crate::common;

/// How the service answers a request: the target, the `Authorization` and the body become a status
/// and a body.
type Answers = dyn Fn(&Asked) -> (u16, String) + Send + Sync;

#[derive(Clone, Debug)]
struct Asked {
    /// Method and target.
    line: String,
    authorization: String,
    body: String,
}

/// A service on a port of its own, until the process ends.
struct Service {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Service {
    fn start(answers: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answers, shared): (Arc<Answers>, _) = (Arc::new(answers), Arc::clone(&asked));
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (answers, asked) = (Arc::clone(&answers), Arc::clone(&shared));
                // A client that leaves is no failure.
                std::thread::spawn(move || serve(&connection, &*answers, &asked));
            }
        });
        Service { url, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut connection: &TcpStream, answers: &Answers, asked: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut incoming = BufReader::new(connection);
    loop {
        let mut line = String::new();
        if incoming.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let (mut length, mut authorization) = (0, String::new());
        loop {
            let mut header = String::new();
            incoming.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" => authorization = value.to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        incoming.read_exact(&mut body)?;
        let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
        let question = Asked { line, authorization, body: String::from_utf8(body).unwrap() };
        let (status, answer) = answers(&question);
        asked.lock().unwrap().push(question);
        write!(connection, "HTTP/1.1 {status} Any\r\ncontent-length: {}\r\n\r\n{answer}", answer.len())?;
    }
}

/// The numbers of a question, from `?ids=1,2`.
fn ids(asked: &Asked) -> Vec<u32> {
    let (_, ids) = asked.line.split_once("?ids=").unwrap();
    ids.split(',').map(|id| id.parse().unwrap()).collect()
}

/// The record of a number; each tenth has none.
fn record(id: u32) -> Option<String> {
    (!id.is_multiple_of(10)).then(|| format!("{{\"id\":{id},\"name\":\"record {id}\"}}"))
}

fn records(ids: &[u32]) -> Vec<String> {
    ids.iter().filter_map(|id| record(*id)).collect()
}

/// The number of keys with an event.
const KEYS: u32 = 3_000;

fn events(folder: &Path) -> LoaderBuilder {
    let lines: Vec<String> = (0..KEYS).map(|n| format!("{{\"key\":\"{n}\",\"changed\":true}}")).collect();
    let file = folder.join("events.ndjson");
    std::fs::write(&file, lines.join("\n")).unwrap();
    Loader::builder().source(file).id("key").environment(Environment::empty().in_folder(folder))
}

async fn load(builder: LoaderBuilder, fake: &FakeCluster) -> Report {
    builder.to(fake.urls().join(",")).index("docs").run().await.unwrap()
}

fn indexed(fake: &FakeCluster) -> BTreeMap<String, String> {
    let documents = fake.documents("docs").into_iter();
    documents.map(|document| (document.id, String::from_utf8_lossy(&document.source).into_owned())).collect()
}

fn expected() -> BTreeMap<String, String> {
    (0..KEYS).filter_map(|id| Some((id.to_string(), record(id)?))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_service_is_asked_in_short_addresses_until_it_answers() {
    let calls = Mutex::new(0);
    let service = Service::start(move |asked| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        match *calls % 5 {
            0 => (503, "busy".to_owned()),
            _ => (200, format!("[{}]", records(&ids(asked)).join(","))),
        }
    });
    let (folder, fake) = (tempfile::tempdir().unwrap(), common::fake([]).await);
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "pw").unwrap();
    let builder = events(folder.path()).fetch_url(format!("{}/items?ids={{keys}}", service.url));
    let report = load(builder.fetch_user("me").fetch_password_file(secret), &fake).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(indexed(&fake), expected());
    assert_eq!(report.counts.docs_not_found, u64::from(KEYS / 10));
    let asked = service.asked();
    assert!(asked.iter().all(|asked| asked.line.starts_with("GET /items?ids=") && asked.line.len() < 8_000));
    assert!(asked.iter().all(|asked| asked.authorization == "Basic bWU6cHc="));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_in_a_body_and_records_come_as_lines() {
    let service = Service::start(|asked| {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        let ids: Vec<u32> = serde_json::from_value(body["ids"].clone()).unwrap();
        (200, records(&ids).join("\n"))
    });
    let (folder, fake) = (tempfile::tempdir().unwrap(), common::fake([]).await);
    let builder = events(folder.path()).fetch_url(format!("{}/items", service.url));
    let builder = builder.fetch_body("{\"ids\": {keys:number}}").fetch_missing("dead-letter");
    let report = load(builder, &fake).await;
    assert_eq!(indexed(&fake), expected());
    assert_eq!(report.counts.docs_dead_lettered, u64::from(KEYS / 10));
    assert_eq!((report.errors.len(), report.errors[0].kind.as_str()), (1, "no_record"));
    assert!(service.asked().iter().all(|asked| asked.line == "POST /items"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_service_refuses_is_a_dead_letter() {
    let service = Service::start(|asked| match ids(asked) {
        ids if ids.contains(&77) => (400, "77 is unlucky".to_owned()),
        ids => (200, format!("[{}]", records(&ids).join(","))),
    });
    let (folder, fake) = (tempfile::tempdir().unwrap(), common::fake([]).await);
    let builder = events(folder.path()).fetch_url(format!("{}/items?ids={{keys}}", service.url));
    let report = load(builder.fetch_missing("skip"), &fake).await;
    let mut expected = expected();
    expected.remove("77");
    assert_eq!(indexed(&fake), expected);
    let counts = &report.counts;
    assert_eq!((counts.docs_dead_lettered, counts.docs_dropped), (1, u64::from(KEYS / 10)));
    let error = &report.errors[0];
    assert!(error.kind == "refused_key" && error.reason.contains("77 is unlucky"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_never_answers_ends_the_load_with_its_answer() {
    let service = Service::start(|_| (403, "who are you".to_owned()));
    let (folder, fake) = (tempfile::tempdir().unwrap(), common::fake([]).await);
    let builder = events(folder.path()).fetch_url(format!("{}/items?token=hunter2&ids={{keys}}", service.url));
    let report = load(builder.retry_for(Duration::from_secs(1)), &fake).await;
    let failure = report.failure.clone().unwrap();
    assert!(failure.contains("/items answers 403: who are you") && !failure.contains("hunter2"), "{failure}");
    assert!(indexed(&fake).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn look_ups_that_cannot_be_made_are_refused_before_the_load() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), common::fake([]).await);
    let builder = || events(folder.path()).to(fake.urls().join(",")).index("docs");
    let url = "http://127.0.0.1:9/?ids={keys}";
    let refused = async |builder: LoaderBuilder, expected: &str| {
        let Err(LoadError::Usage(error)) = builder.run().await else { panic!("{expected}") };
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(builder().fetch_url("http://127.0.0.1:9/"), "needs {keys} once").await;
    refused(builder().fetch_url(url).encoding(inrush_core::Encoding::Smile), "sent as JSON").await;
    refused(builder().fetch_url(url).action(inrush_core::Action::Update), "the action index").await;
    let file = folder.path().join("events.ndjson");
    let without_ids =
        Loader::builder().source(file).environment(Environment::empty()).to(fake.urls().join(",")).index("docs");
    refused(without_ids.fetch_url(url), "those of the source have none").await;
    let Err(LoadError::Usage(error)) = builder().fetch_url(url).dry_run().await else { panic!("a dry run") };
    assert!(error.to_string().contains("a dry run"), "{error}");
}

#[cfg(feature = "databases")]
mod sqlite {
    use inrush_sources::fetch::Answer;
    use inrush_sources::{DatabaseAddress, FetchFrom, FetchOptions, Warnings, open_fetch};
    use sqlx::{ConnectOptions, Connection, Executor};

    use super::*;

    async fn execute(path: &Path, statements: &'static str) {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        connection.execute(statements).await.unwrap();
        connection.close().await.unwrap();
    }

    const ITEMS: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT); \
        INSERT INTO items WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2999) \
        SELECT id, 'record ' || id FROM n WHERE id % 10 <> 0;";

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_become_documents() {
        let (folder, fake) = (tempfile::tempdir().unwrap(), common::fake([]).await);
        let path = folder.path().join("items.db");
        execute(&path, ITEMS).await;
        let fetch = format!("sqlite://{} SELECT * FROM items WHERE id IN ($keys)", path.display());
        let report = load(events(folder.path()).fetch(fetch), &fake).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        assert_eq!(indexed(&fake), expected());
    }

    async fn look_up(path: &Path, query: &str, id: &str, ids: &[&str]) -> Result<Vec<Answer>, String> {
        let address = DatabaseAddress::new(&format!("sqlite://{}", path.display())).unwrap();
        let from = FetchFrom::Database { address, query: query.to_owned(), password: None };
        let options = FetchOptions { id: id.to_owned(), ..FetchOptions::new(from) };
        let fetch = open_fetch(options, &Warnings::default()).await.map_err(|error| error.text())?;
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        fetch.fetch(&ids).await.map_err(|error| error.text())
    }

    fn document(text: &'static str) -> Answer {
        Answer::Document(bytes::Bytes::from_static(text.as_bytes()))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn keys_are_bound_and_rows_matched_by_a_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        execute(
            &path,
            "CREATE TABLE t (k TEXT COLLATE NOCASE, n INTEGER); \
             INSERT INTO t VALUES ('a', 1), ('it''s', 2), ('B', 3), ('twice', 4), ('twice', 5);",
        )
        .await;
        let query = "SELECT n, k AS _id FROM t WHERE k IN ($keys); ";
        let answers = look_up(&path, query, "_id", &["it's", "x') OR 1 --", "a", "it's"]).await.unwrap();
        let its = document("{\"n\":2}");
        assert_eq!(answers, [its.clone(), Answer::NoRecord, document("{\"n\":1}"), its]);
        let kinds = |answers: Vec<Answer>| -> Vec<&str> {
            let kind = |answer: Answer| match answer {
                Answer::Document(_) => "document",
                Answer::NoRecord => "no record",
                Answer::Refused { kind, .. } => kind.name(),
            };
            answers.into_iter().map(kind).collect()
        };
        let answers = look_up(&path, query, "_id", &["b", "a", "twice"]).await.unwrap();
        assert_eq!(kinds(answers), ["unclear_record", "document", "several_records"]);
        let wrong = async |query: &str, expected: &str| {
            let error = look_up(&path, query, "id", &["a"]).await.unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        wrong("SELECT n FROM t", "has no $keys").await;
        wrong("SELECT n FROM t WHERE k IN ($keys)", "has no column id").await;
        wrong("SELECT n FROM nowhere WHERE k IN ($keys)", "no such table").await;
        let nowhere = look_up(Path::new("/nowhere/a.db"), query, "id", &["a"]).await.unwrap_err();
        assert!(nowhere.contains("cannot be opened"), "{nowhere}");
    }
}

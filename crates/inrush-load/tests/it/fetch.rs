//! Documents that are looked up, against a cluster with faults and a look-up that fails at times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use inrush_core::Action;
use inrush_core::block::DocMeta;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{DeadLetters, Encoding, LoadConfig};
use inrush_load::fetch::MissingRecord;
use inrush_load::{ConfiguredLoad, Report};
use inrush_sources::fetch::{Answer, Fetch, FetchError, Fetched};
use inrush_sources::push::Document;

const IDS: u32 = 2_000;
const IDS_AT_ONCE: u32 = 100;

/// A database with the records of all ids but each tenth one. Each fifth look-up fails.
#[derive(Default)]
struct Database {
    calls: AtomicU32,
    asked: Mutex<Vec<String>>,
}

fn record(id: u32) -> Option<String> {
    (!id.is_multiple_of(10)).then(|| format!("{{\"id\":{id},\"name\":\"record {id}\"}}"))
}

struct Handle(Arc<Database>);

impl Fetch for Handle {
    fn fetch<'a>(&'a self, ids: &'a [String]) -> Fetched<'a> {
        let database = &self.0;
        let call = database.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            if call.is_multiple_of(5) {
                return Err(FetchError::new("looking up records").with_source(std::io::Error::other("connection lost")));
            }
            assert!(ids.len() <= IDS_AT_ONCE as usize);
            database.asked.lock().unwrap().extend(ids.iter().cloned());
            let answer = |id: &String| match record(id.parse().unwrap()) {
                Some(record) => Answer::Document(Bytes::from(record)),
                None => Answer::NoRecord,
            };
            Ok(ids.iter().map(answer).collect())
        })
    }
}

/// Loads two events of each id, and a delete of each hundredth one, whose record exists.
async fn load(fake: &FakeCluster, missing: MissingRecord, coalesce: Option<&str>) -> (Report, Arc<Database>) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.coalesce = coalesce.map(|option| option.parse().unwrap());
    config.limits.batch_docs = Some(IDS_AT_ONCE);
    config.limits.retry_wait = Duration::from_millis(2);
    config.limits.linger = Duration::from_millis(20);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    let database = Arc::new(Database::default());
    let loader = ConfiguredLoad::new(config).unwrap().fetch(Handle(Arc::clone(&database)), missing).unwrap();
    let load = loader.sender().await.unwrap();
    let events = (0..2 * IDS).map(|n| (n % IDS, Action::Index));
    let deletes = (1..IDS).step_by(100).map(|id| (id, Action::Delete));
    for (id, action) in events.chain(deletes) {
        let body = if action == Action::Index { "{}" } else { "" };
        let meta = DocMeta::default().with_id(id.to_string()).with_action(action);
        load.send(Document { body: body.into(), meta }).await.unwrap();
    }
    let report = load.finish().await;
    assert!(report.failure.is_none() && report.counts.add_up(), "{report:?}");
    (report, database)
}

fn indexed(fake: &FakeCluster) -> BTreeMap<String, String> {
    let documents = fake.documents("docs").into_iter();
    documents.map(|document| (document.id, String::from_utf8_lossy(&document.source).into_owned())).collect()
}

fn expected() -> BTreeMap<String, String> {
    let there = (0..IDS).filter(|id| id % 100 != 1);
    there.filter_map(|id| Some((id.to_string(), record(id)?))).collect()
}

fn faults() -> Faults {
    Faults::new([
        Rule::new(Fault::ResetAfterApplying).probability(0.05),
        Rule::new(Fault::ItemRejected).probability(0.05),
        Rule::new(Fault::Unavailable).path("_bulk").probability(0.05),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_become_documents_and_ids_without_a_record_are_deleted() {
    for coalesce in [None, Some("0s"), Some("1h")] {
        let fake = FakeCluster::start(FakeConfig::default().faults(faults())).await.unwrap();
        let (report, _) = load(&fake, MissingRecord::Delete, coalesce).await;
        assert_eq!(indexed(&fake), expected(), "{coalesce:?}");
        assert_eq!(report.counts.docs_dead_lettered, 0, "{:?}", report.errors);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_looked_up_once_a_window_and_is_a_dead_letter_where_it_has_no_record() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (report, database) = load(&fake, MissingRecord::DeadLetter, Some("1h")).await;
    assert_eq!(indexed(&fake), expected());
    let asked = std::mem::take(&mut *database.asked.lock().unwrap());
    let distinct: BTreeSet<&String> = asked.iter().collect();
    // The event before one without a record is tried as well.
    let without_record = IDS / 10;
    assert_eq!((asked.len(), distinct.len()), ((IDS - 20 + without_record) as usize, (IDS - 20) as usize));
    let counts = &report.counts;
    assert_eq!(counts.docs_dead_lettered, u64::from(2 * without_record));
    assert_eq!((report.errors.len(), report.errors[0].kind.as_str(), report.errors[0].status), (1, "no_record", 404));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_without_a_record_can_be_skipped() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (report, _) = load(&fake, MissingRecord::Skip, None).await;
    assert_eq!(indexed(&fake), expected());
    let counts = &report.counts;
    assert_eq!((counts.docs_dropped, counts.docs_dead_lettered), (u64::from(2 * IDS / 10), 0));
}

#[test]
fn options_that_exclude_look_ups_are_refused() {
    let config = || LoadConfig::new(vec!["http://localhost:9200".into()], "docs".parse().unwrap());
    let mut smile = config();
    smile.encoding = Some(Encoding::Smile);
    let mut create = config();
    create.action = Action::Create;
    for (config, problem) in [(smile, "`encoding=smile`"), (create, "action create is given")] {
        let loader = ConfiguredLoad::new(config).unwrap();
        let error = loader.fetch(Handle(Arc::default()), MissingRecord::Delete).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

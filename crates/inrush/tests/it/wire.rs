//! Loads in SMILE and with gzip against the fake cluster, with faults.

use std::collections::BTreeMap;
use std::path::Path;

use inrush_core::Action;
use inrush_fake::{FakeCluster, FakeConfig, Fault, RequestLog, Rule};
use inrush_load::config::{Compression, DeadLetters, Encoding, GzipLevel, LoadConfig};
use inrush_load::{Status, VerifiedState};
use inrush_testbed::{Proxy, ProxyConfig};

use crate::common::{config, documents, fake, load, numbers};

const GZIP: Compression = Compression::Gzip(GzipLevel::new(1).unwrap());

fn smile(config: &mut LoadConfig) {
    config.encoding = Some(Encoding::Smile);
}

/// The bulk requests of a load, without those that ask what the cluster takes.
fn requests(fake: &FakeCluster) -> Vec<RequestLog> {
    fake.bulk_requests().into_iter().filter(|request| request.opaque_id.is_some()).collect()
}

/// Of each id the last one in the source.
fn expected(count: u64, ids: u64) -> BTreeMap<String, u64> {
    (0..count).map(|n| (format!("i{}", n % ids), n)).collect()
}

/// As [`documents`], but SMILE cannot say every third number as it is written.
fn with_exceptions(count: u64, ids: u64) -> impl Iterator<Item = String> {
    (0..count).map(move |n| {
        let exponent = if n % 3 == 1 { "e0" } else { "" };
        format!("{{\"id\":\"i{}\",\"n\":{n}{exponent},\"text\":\"some words to fill it\"}}", n % ids)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_go_as_smile_compressed_or_not() {
    for compression in [Compression::None, GZIP] {
        let fake = fake([]).await;
        let (mut config, _folder) = config(fake.urls(), "docs");
        smile(&mut config);
        config.compression = Some(compression);
        let report = load(&config, documents(1000, 1000)).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 1000), "{report:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
        let stored = fake.documents("docs");
        assert_eq!(stored.len(), 1000);
        assert_eq!(stored.iter().filter(|d| d.json()["text"] == "some words to fill it").count(), 1000);
        let requests = requests(&fake);
        let coding = (compression == GZIP).then(|| "gzip".to_owned());
        assert!(requests.iter().all(|request| request.smile && request.coding == coding), "{requests:?}");
        assert_eq!(requests.len() as u64, report.counts.requests);
        let wire: usize = requests.iter().map(|request| request.body_bytes).sum();
        assert_eq!(report.counts.bytes_sent, wire as u64);
        assert_eq!((report.plan.encoding, report.plan.compression), (Encoding::Smile, compression.to_string()));
        assert!(report.plan.wire_why.starts_with("smile as given"), "{}", report.plan.wire_why);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_smile_cannot_say_goes_as_json_and_the_order_of_ids_holds() {
    let faults = [Fault::ItemRejected, Fault::RequestRejected, Fault::ResetAfterApplying, Fault::ReplyTruncated];
    for fault in [None].into_iter().chain(faults.map(Some)) {
        let share = |fault: Fault| Rule::new(fault).probability(if fault.is_item() { 0.3 } else { 0.2 });
        let fake = fake(fault.map(share)).await;
        let (mut config, _folder) = config(fake.urls(), "docs");
        smile(&mut config);
        config.id = Some("id".parse().unwrap());
        let report = load(&config, with_exceptions(900, 100)).await;
        assert_eq!(report.status, Status::Complete, "{fault:?}: {report:?}");
        assert_eq!(numbers(&fake, "docs"), expected(900, 100), "{fault:?}");
        assert_eq!(report.counts.possible_duplicates, 0);
        let requests = requests(&fake);
        assert!(requests.iter().any(|request| request.smile) && requests.iter().any(|request| !request.smile));
        assert_eq!(report.plan.encoding, Encoding::Smile, "{}", report.plan.wire_why);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exceptions_do_not_make_requests_small() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    smile(&mut config);
    let report = load(&config, with_exceptions(3000, 3000)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 3000));
    // A batch of 4,000 bytes holds about 50 documents; beside each of them goes one with what it
    // left.
    assert!(report.counts.requests < 150, "{}", report.counts.requests);
}

/// The dead letters of a load, without what tells one run from another.
async fn letters(encoding: Encoding, action: Action) -> (String, u64) {
    let fake = fake([
        Rule::new(Fault::ItemBadRequest).containing("\"n\":77,"),
        Rule::new(Fault::RequestBadRequest).containing("\"n\":13,"),
    ])
    .await;
    let (mut config, folder) = config(fake.urls(), "docs");
    config.encoding = Some(encoding);
    (config.action, config.id) = (action, Some("id".parse().unwrap()));
    config.limits.in_flight = Some(1);
    let spaced =
        |line: String| if line.contains("\"n\":77,") { line.replace("\"text\":", " \"te\\u0078t\" : ") } else { line };
    let report = load(&config, documents(200, 200).map(spaced)).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 2), "{report:?}");
    assert_eq!(report.counts.docs_created, 198);
    // The source line stands in it as it was.
    let text = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    assert!(text.contains(" \"te\\u0078t\" : \"some words"), "{text}");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let sent = requests(&fake).iter().filter(|request| request.smile).count() as u64;
    (lines.join("\n"), sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_the_same_as_those_of_json() {
    for action in [Action::Index, Action::Create, Action::Upsert] {
        let (json, none) = letters(Encoding::Json, action).await;
        let (smile, some) = letters(Encoding::Smile, action).await;
        assert_eq!(json, smile);
        assert!(none == 0 && some > 0, "{none} {some}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_of_smile_load_again() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).containing("\"n\":77,").first(1)]).await;
    let (mut config, folder) = config(fake.urls(), "docs");
    smile(&mut config);
    let report = load(&config, documents(200, 200)).await;
    assert_eq!(report.counts.docs_dead_lettered, 1);
    let text = std::fs::read_to_string(report.dead_letters.unwrap()).unwrap();
    let letter: serde_json::Value = serde_json::from_str(&text).unwrap();
    config.dead_letters = DeadLetters::Folder(folder.path().join(Path::new("")));
    let report = load(&config, [letter["document"].to_string()]).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_stay_below_the_servers_limit_in_either_form() {
    for (encoding, compression) in [(Encoding::Smile, Compression::None), (Encoding::Smile, GZIP)] {
        let fake = fake([Rule::new(Fault::RequestTooLarge).min_body_bytes(700)]).await;
        let (mut config, _folder) = config(fake.urls(), "docs");
        (config.encoding, config.compression) = (Some(encoding), Some(compression));
        let unique =
            (0..300_u64).map(|n| format!("{{\"n\":{n},\"x\":\"{:x}\"}}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let report = load(&config, unique).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 300), "{report:?}");
        assert!(report.plan.batch_bytes < 4000, "{:?}", report.plan);
        assert_eq!(report.plan.encoding, encoding);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_does_not_take_a_form_gets_json() {
    for (takes_smile, takes_gzip) in [(false, true), (true, false), (false, false)] {
        let taken = FakeConfig::default().smile(takes_smile).gzip(takes_gzip);
        let fake = FakeCluster::start(taken).await.unwrap();
        let (mut config, _folder) = config(fake.urls(), "docs");
        (config.encoding, config.compression) = (Some(Encoding::Smile), Some(GZIP));
        let report = load(&config, documents(300, 300)).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 300), "{report:?}");
        let requests = requests(&fake);
        assert!(requests.iter().all(|request| request.status == 200 && request.smile == takes_smile), "{requests:?}");
        assert!(requests.iter().all(|request| request.coding.is_some() == takes_gzip), "{requests:?}");
        let said = |what: &str| report.warnings.iter().any(|warning| warning.contains(what));
        assert_eq!(said("documents go as JSON, because the cluster does not accept SMILE"), !takes_smile);
        assert_eq!(said("bodies go uncompressed, because the cluster does not accept gzip"), !takes_gzip);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_changes_nothing() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    (config.encoding, config.compression) = (Some(Encoding::Smile), Some(GZIP));
    let report = load(&config, []).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let asked = fake.bulk_requests();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|request| request.status == 200 && request.items == 2), "{asked:?}");
    assert!(fake.documents("docs").is_empty());
    // Not even an index, where documents name theirs.
    config.index = "t-{id}".parse().unwrap();
    load(&config, []).await;
    assert!(fake.documents("inrush-probe").is_empty());
    let names: Vec<String> = fake.requests().into_iter().map(|request| request.path).collect();
    assert!(names.iter().any(|path| path.starts_with("/_bulk")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_smile_wrongly_gets_json_from_then_on() {
    // At once, which the question notices, and in the middle of the load.
    for after in [0, 5] {
        let fake = fake([Rule::new(Fault::SmileReplyGarbled).after(after)]).await;
        let (mut config, _folder) = config(fake.urls(), "docs");
        smile(&mut config);
        config.id = Some("id".parse().unwrap());
        let report = load(&config, documents(1000, 1000)).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        assert_eq!(numbers(&fake, "docs"), expected(1000, 1000));
        assert_eq!(report.plan.encoding, Encoding::Json);
        let requests = requests(&fake);
        let in_smile = requests.iter().filter(|request| request.smile).count();
        // Those that were under way when the first one came back.
        assert!(if after == 0 { in_smile == 0 } else { (4..=9).contains(&in_smile) }, "{in_smile}");
        assert!(report.plan.wire_why.contains("does not accept"), "{}", report.plan.wire_why);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repetition_sends_the_same_compressed_body() {
    let fake = fake([Rule::new(Fault::Unavailable).first(3)]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    (config.encoding, config.compression) = (Some(Encoding::Json), Some(GZIP));
    config.limits.in_flight = Some(1);
    let report = load(&config, documents(40, 40)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 40), "{report:?}");
    let sizes: Vec<usize> = requests(&fake).iter().map(|request| request.body_bytes).collect();
    assert!(sizes.len() >= 3 && sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    assert_eq!(report.counts.bytes_sent, sizes.iter().map(|size| *size as u64).sum::<u64>());
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_slow_link_bodies_are_compressed_without_being_told() {
    let fake = fake([]).await;
    let mut slow = ProxyConfig::new(fake.url());
    slow.bits_per_second = Some(20_000_000);
    let proxy = Proxy::start(slow).await.unwrap();
    let (mut config, _folder) = config(vec![proxy.url()], "docs");
    config.limits.batch_bytes = Some(1 << 20);
    config.limits.memory = 16 << 20;
    let text = "a line of a log that says much the same as all others do; ".repeat(8);
    let lines = (0..120_000).map(|n| format!("{{\"n\":{n},\"text\":\"{text}\"}}"));
    let report = load(&config, lines).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 120_000), "{report:?}");
    assert_eq!(report.plan.compression, "gzip:1", "{}", report.plan.wire_why);
    assert!(report.counts.bytes_sent < report.counts.bytes_read, "{:?}", report.counts);
}

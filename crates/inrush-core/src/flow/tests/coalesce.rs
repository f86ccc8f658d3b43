//! Coalescing: the index ends as without it, and every document ends in one bucket.

use super::*;
use crate::block::DocMeta;
use crate::coalesce::Coalesce;
use crate::codes::Code;
use crate::operation::VersionType;
use crate::outcome::Settled;

/// An operation of a test: its id, its action and the word of its document.
#[derive(Clone, Debug, PartialEq)]
struct Op {
    id: Option<&'static str>,
    action: Action,
    word: &'static str,
    routing: Option<&'static str>,
    version: Option<u64>,
}

fn index(id: &'static str, word: &'static str) -> Op {
    Op { id: Some(id), action: Action::Index, word, routing: None, version: None }
}

fn delete(id: &'static str) -> Op {
    Op { action: Action::Delete, ..index(id, "") }
}

fn encoder() -> Encoder {
    Encoder::new(operations(Action::Index, false))
}

/// A block of the documents `{"n":position,"w":word}`.
fn block(first_doc: u64, ops: &[Op]) -> DocBlock {
    let (mut data, mut records, mut rejects, mut meta) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, op) in ops.iter().enumerate() {
        let start = data.len() as u32;
        data.extend_from_slice(content(first_doc + at as u64, op.word).as_bytes());
        records.push(Record { start, end: data.len() as u32, byte: start, line: at as u32 });
        if op.word == "reject" {
            rejects.push(Reject { record: at as u32, kind: Code::BadValue, reason: "no".into() });
        }
        let (id, routing) = (op.id.map(str::to_owned), op.routing.map(str::to_owned));
        meta.push(DocMeta { action: Some(op.action), id, routing, version: op.version, ..DocMeta::default() });
    }
    let origin = crate::Origin { first_doc, ..crate::Origin::default() };
    DocBlock { origin, data: data.into(), records, rejects, meta, ..DocBlock::default() }
}

fn content(n: u64, word: &str) -> String {
    let number = if word == "exception" { format!("{n}e0") } else { n.to_string() };
    format!("{{\"n\":{number},\"w\":\"{word}\"}}")
}

fn at(ms: u64) -> Time {
    Time::START + Duration::from_millis(ms)
}

fn coalescing(option: &str) -> FlowConfig {
    FlowConfig { coalesce: Some(option.parse().unwrap()), linger: Duration::ZERO, settlements: true, ..config() }
}

/// A flow that took these operations at the start.
fn started(option: &str, ops: &[Op]) -> Flow {
    let mut flow = flow(coalescing(option), 1 << 20, 1);
    flow.handle_block(Time::START, encoder().encode(block(0, ops))).unwrap();
    flow
}

/// The next request.
fn sent(flow: &mut Flow, now: Time) -> Option<Request> {
    let mut request = None;
    while let Some(command) = flow.poll(now) {
        match command {
            Command::Send(next) => assert!(request.replace(next).is_none(), "one request at a time"),
            Command::DeadLetter(_) | Command::Settled(_) | Command::Note(_) => {}
            other => panic!("{other:?}"),
        }
    }
    request
}

/// Sends the next request, and answers it. Returns the body.
fn round(flow: &mut Flow, cluster: &mut Cluster, now: Time) -> String {
    let request = sent(flow, now).expect("something is due");
    let body = json_body(&request);
    flow.handle_attempt(now, request.id, Duration::ZERO, 0, cluster.bulk(&request, Fault::None));
    body
}

/// Drives a flow whose source has ended to its end.
fn finish(flow: &mut Flow, cluster: &mut Cluster, now: Time) {
    flow.handle_source_end();
    while !flow.is_done() {
        match sent(flow, now) {
            Some(request) => {
                let attempt = cluster.bulk(&request, Fault::None);
                flow.handle_attempt(now, request.id, Duration::ZERO, 0, attempt);
            }
            None => assert!(flow.is_done(), "nothing more is sent"),
        }
    }
    flow.close().unwrap();
}

#[test]
fn only_the_last_operation_of_an_id_in_its_window_is_sent() {
    let ops = [index("a", "1"), index("b", "1"), index("a", "2"), index("c", "1"), delete("c"), index("a", "3")];
    let (mut flow, mut cluster) = (started("5s", &ops), Cluster::default());
    assert!(sent(&mut flow, at(4_999)).is_none());
    assert_eq!(flow.poll_timeout(), Some(at(5_000)));
    let body = round(&mut flow, &mut cluster, at(5_000));
    let expected = format!(
        "{{\"index\":{{\"_id\":\"a\"}}}}\n{}\n{{\"index\":{{\"_id\":\"b\"}}}}\n{}\n{{\"delete\":{{\"_id\":\"c\"}}}}\n",
        content(5, "3"),
        content(1, "1")
    );
    assert_eq!(body, expected);
    finish(&mut flow, &mut cluster, at(5_000));
    let counts = flow.counts();
    assert_eq!((counts.docs_read, counts.docs_created, counts.docs_not_found, counts.docs_superseded), (6, 2, 1, 3));
    assert_eq!(flow.not_found(), ["c"]);
}

#[test]
fn a_replaced_document_is_settled_with_the_one_that_replaced_it() {
    let mut flow = started("5s", &[index("a", "1"), index("b", "1"), index("a", "2")]);
    let request = sent(&mut flow, at(5_000)).unwrap();
    let below = |flow: &Flow| flow.settled_below().into_values().next();
    assert_eq!((flow.counts().docs_read, below(&flow)), (0, Some(0)));
    flow.handle_attempt(at(5_001), request.id, Duration::ZERO, 0, Cluster::default().bulk(&request, Fault::None));
    assert_eq!((flow.counts().docs_superseded, below(&flow)), (1, Some(3)));
    let mut ends = Vec::new();
    while let Some(command) = flow.poll(at(5_001)) {
        let Command::Settled(end) = command else { panic!("{command:?}") };
        ends.extend((0..u64::from(end.docs)).map(|doc| (end.first_doc + doc, end.settled)));
    }
    ends.sort_by_key(|(doc, _)| *doc);
    assert_eq!(ends, [(0, Settled::Superseded), (1, Settled::Created), (2, Settled::Created)]);
}

#[test]
fn an_id_that_changes_all_the_time_is_sent_once_a_window() {
    let (mut flow, mut cluster) = (flow(coalescing("5s"), 1 << 20, 1), Cluster::default());
    let mut bodies = 0;
    for second in 0..20 {
        flow.handle_block(at(second * 1_000), encoder().encode(block(second, &[index("a", "x")]))).unwrap();
        if let Some(request) = sent(&mut flow, at(second * 1_000)) {
            bodies += 1;
            let attempt = cluster.bulk(&request, Fault::None);
            flow.handle_attempt(at(second * 1_000), request.id, Duration::ZERO, 0, attempt);
        }
    }
    assert_eq!((bodies, flow.counts().docs_superseded), (3, 15));
}

#[test]
fn a_window_ends_after_its_number_of_documents() {
    let (mut flow, mut cluster) =
        (started("1h,3docs", &[index("a", "1"), index("b", "1"), index("a", "2")]), Cluster::default());
    assert!(sent(&mut flow, at(0)).is_none());
    flow.handle_block(at(1), encoder().encode(block(3, &[index("c", "1")]))).unwrap();
    let body = round(&mut flow, &mut cluster, at(1));
    assert_eq!(body.lines().next(), Some("{\"index\":{\"_id\":\"a\"}}"));
    assert_eq!((body.lines().count(), flow.counts().docs_superseded), (2, 1));
    finish(&mut flow, &mut cluster, at(2));
    assert_eq!(flow.counts().docs_created, 3);
}

#[test]
fn what_waits_for_the_cluster_is_coalesced_without_a_window() {
    let (mut flow, mut cluster) = (started("0s", &[index("a", "1")]), Cluster::default());
    let first = sent(&mut flow, at(0)).unwrap();
    for n in 1..10 {
        flow.handle_block(at(n), encoder().encode(block(n, &[index("a", "x")]))).unwrap();
        assert!(sent(&mut flow, at(n)).is_none(), "the cluster is busy");
    }
    // A rejected one is sent again first: it may not overtake the later ones.
    flow.handle_attempt(at(10), first.id, Duration::ZERO, 0, cluster.bulk(&first, Fault::Refused(429)));
    let retry = flow.poll_timeout().unwrap();
    assert_eq!(round(&mut flow, &mut cluster, retry).lines().nth(1), Some(content(0, "1").as_str()));
    assert_eq!(round(&mut flow, &mut cluster, retry).lines().nth(1), Some(content(9, "x").as_str()));
    finish(&mut flow, &mut cluster, retry);
    let counts = flow.counts();
    assert_eq!((counts.docs_created, counts.docs_updated, counts.docs_superseded), (1, 1, 8));
}

#[test]
fn the_one_before_a_refused_document_is_sent() {
    let ops = [index("a", "1"), index("a", "2"), index("a", "poison"), index("a", "poison")];
    let (mut flow, mut cluster) = (started("1s", &ops), Cluster::default());
    finish(&mut flow, &mut cluster, at(0));
    assert_eq!(cluster.documents, BTreeMap::from([("a".to_owned(), content(1, "2"))]));
    let counts = flow.counts();
    assert_eq!((counts.docs_dead_lettered, counts.docs_created, counts.docs_superseded), (2, 1, 1));

    // A later one that waits replaces it as well.
    let (mut flow, mut cluster) = (started("1s", &ops), Cluster::default());
    let request = sent(&mut flow, at(1_000)).unwrap();
    flow.handle_block(at(1_001), encoder().encode(block(4, &[index("a", "5")]))).unwrap();
    flow.handle_attempt(at(1_002), request.id, Duration::ZERO, 0, cluster.bulk(&request, Fault::None));
    finish(&mut flow, &mut cluster, at(1_003));
    assert_eq!(cluster.documents, BTreeMap::from([("a".to_owned(), content(4, "5"))]));
    let counts = flow.counts();
    assert_eq!((counts.docs_dead_lettered, counts.docs_created, counts.docs_superseded), (1, 1, 3));
}

#[test]
fn documents_whose_replacement_got_no_answer_are_unknown() {
    let mut flow = started("1s", &[index("a", "1"), index("b", "1"), index("a", "2")]);
    assert!(sent(&mut flow, at(1_000)).is_some());
    flow.handle_stop(at(1_000), Stop::Interrupted);
    let due = flow.poll_timeout().unwrap();
    assert!(sent(&mut flow, due).is_none() && flow.is_done());
    flow.close().unwrap();
    assert_eq!((flow.counts().docs_unknown, flow.counts().docs_superseded), (3, 0));
    assert_eq!(flow.settled_below().into_values().collect::<Vec<_>>(), [0]);
    assert_eq!(flow.last_checkpoint().counts.docs_read, 0, "a later run sends them again");
}

#[test]
fn nothing_waits_for_later_documents_while_the_source_waits() {
    let mut flow = started("1h", &[index("a", "1"), index("b", "1"), index("a", "2")]);
    assert!(sent(&mut flow, at(1)).is_none());
    flow.handle_source_wait(at(1));
    assert_eq!(sent(&mut flow, at(1)).map(|request| request.items), Some(2));
}

#[test]
fn what_waits_at_a_stop_is_given_back() {
    let mut flow = started("1s", &[index("a", "1"), index("a", "2")]);
    flow.handle_stop(at(0), Stop::Interrupted);
    assert!(sent(&mut flow, at(0)).is_none() && flow.is_done());
    flow.close().unwrap();
    assert_eq!((flow.counts().docs_read, flow.counts().docs_given_back), (0, 2));
}

#[test]
fn operations_that_do_not_replace_each_other_are_all_sent_in_order() {
    let routed = |routing| Op { routing: Some(routing), ..index("a", "x") };
    let versioned = |version| Op { version: Some(version), ..index("a", "x") };
    let update = Op { action: Action::Upsert, ..index("a", "x") };
    let create = Op { action: Action::Create, ..index("a", "x") };
    let without_id = Op { id: None, ..index("a", "x") };
    for (ops, superseded) in [
        (vec![index("a", "x"), update.clone(), index("a", "x")], 0),
        (vec![index("a", "x"), index("a", "y"), update.clone(), index("a", "x"), delete("a")], 2),
        (vec![create, index("a", "x"), index("a", "x")], 1),
        (vec![update.clone(), update], 0),
        (vec![routed("1"), routed("2"), routed("2"), routed("1"), index("a", "x")], 1),
        (vec![versioned(1), versioned(2), versioned(2), versioned(1), versioned(10)], 2),
        (vec![versioned(1), index("a", "x"), versioned(2)], 0),
        (vec![without_id.clone(), index("a", "x"), without_id], 0),
        // An id that looks like a version.
        (vec![index("a\",\"version\":7,\"b", "x"), index("a\",\"version\":7,\"b", "x")], 1),
        (vec![index("a\",\"version\":7,\"b", "x"), index("a\",\"version\":8,\"b", "x")], 0),
    ] {
        let (mut flow, mut cluster) = (started("1h", &ops), Cluster::default());
        finish(&mut flow, &mut cluster, at(0));
        let counts = flow.counts();
        assert_eq!((counts.docs_superseded, counts.docs_read), (superseded, ops.len() as u64), "{ops:?}");
    }
}

#[test]
fn the_same_version_replaces_where_its_type_allows_that() {
    let versioned = |version| Op { version: Some(version), ..index("a", "x") };
    let ops = [versioned(1), versioned(1), versioned(3), versioned(2), versioned(3)];
    for (version_type, superseded) in [(VersionType::External, 2), (VersionType::ExternalGte, 3)] {
        let mut flow = flow(coalescing("1h"), 1 << 20, 1);
        let mut block = block(0, &ops);
        block.meta.iter_mut().for_each(|meta| meta.version_type = version_type);
        flow.handle_block(Time::START, encoder().encode(block)).unwrap();
        finish(&mut flow, &mut Cluster::default(), at(0));
        assert_eq!(flow.counts().docs_superseded, superseded, "{version_type:?}");
    }
}

#[test]
fn ids_with_the_same_hash_do_not_replace_each_other() {
    let mut items = encoder().encode(block(0, &[index("a", "1"), index("b", "1"), index("a", "2")]));
    items.keys = vec![7; 3];
    let (mut flow, mut cluster) = (flow(coalescing("1h"), 1 << 20, 4), Cluster::default());
    flow.handle_block(Time::START, items).unwrap();
    finish(&mut flow, &mut cluster, at(0));
    assert_eq!((flow.counts().docs_superseded, cluster.documents.len()), (0, 2));
    assert_eq!(cluster.documents["a"], content(2, "2"));
}

#[test]
fn an_operation_that_is_not_coalesced_waits_for_no_window() {
    let update = Op { action: Action::Upsert, ..index("a", "3") };
    let mut flow = started("1h", &[index("a", "1"), index("a", "2"), index("b", "1"), update]);
    let mut cluster = Cluster::default();
    assert_eq!(round(&mut flow, &mut cluster, at(0)).lines().nth(1), Some(content(1, "2").as_str()));
    assert!(round(&mut flow, &mut cluster, at(0)).starts_with("{\"update\""));
    assert!(sent(&mut flow, at(0)).is_none(), "b waits");
}

#[test]
fn documents_that_an_earlier_run_may_have_sent_are_sent_again() {
    let mut flow = flow(coalescing("1s"), 1 << 20, 1);
    let horizon = crate::PartitionCheckpoint {
        source: crate::SourceId(0),
        partition: 0,
        settled: crate::ranges::Ranges::default(),
        absent: 0,
        horizon: 2,
    };
    flow.enable_checkpoints(Some(&crate::Checkpoint { partitions: vec![horizon], ..Default::default() })).unwrap();
    flow.handle_checkpoint(&flow.checkpoint(&BTreeMap::from([((crate::SourceId(0), 0), 100)])));
    let ops = [index("a", "1"), index("a", "2"), index("a", "3"), index("a", "4")];
    flow.handle_block(Time::START, encoder().encode(block(0, &ops))).unwrap();
    let mut cluster = Cluster::default();
    // The earlier run had applied the first one.
    cluster.documents.insert("a".into(), content(0, "1"));
    finish(&mut flow, &mut cluster, at(0));
    let counts = flow.counts();
    assert_eq!((counts.docs_updated, counts.uncertain_updates, counts.docs_superseded), (3, 2, 1));
}

#[test]
fn a_window_that_does_not_fit_into_memory_is_sent_earlier() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let (mut flow, mut cluster) = (flow(FlowConfig { memory: 4_000, ..coalescing("1h") }, 200, 1), Cluster::default());
    let (mut next, mut requests, mut most) = (0, 0, 0);
    while next < 400 {
        while flow.input_room() > 0 && next < 400 {
            let one = block(next, &[index(ids[(next % 8) as usize], "x")]);
            flow.handle_block(at(next), encoder().encode(one)).unwrap();
            next += 1;
        }
        most = most.max(flow.held_bytes());
        if let Some(request) = sent(&mut flow, at(next)) {
            requests += 1;
            let attempt = cluster.bulk(&request, Fault::None);
            flow.handle_attempt(at(next), request.id, Duration::ZERO, 0, attempt);
        }
    }
    assert!(requests > 3 && most <= 4_000, "{requests} requests, {most} bytes");
    finish(&mut flow, &mut cluster, at(next));
    let counts = flow.counts();
    assert_eq!(counts.docs_read, 400);
    assert!(counts.docs_superseded > 250, "{counts:?}");
}

/// A window.
pub(super) fn option() -> impl Strategy<Value = Coalesce> {
    (0u64..6_000, prop::option::of(1u64..30))
        .prop_map(|(ms, docs)| Coalesce::new(Duration::from_millis(ms), docs.and_then(std::num::NonZeroU64::new)))
}

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

fn op() -> impl Strategy<Value = Op> {
    let words = prop_oneof![12 => Just("x"), 2 => Just("poison"), 1 => Just("reject"), 1 => Just("spoils"), 2 => Just("exception")];
    let actions = prop_oneof![8 => Just(Action::Index), 3 => Just(Action::Delete), 1 => Just(Action::Upsert)];
    let routing = prop_oneof![8 => Just(None), 1 => Just(Some("r"))];
    (prop::sample::select(&IDS[..]), actions, words, routing).prop_map(|(id, action, word, routing)| Op {
        id: Some(id),
        action,
        word,
        routing,
        version: None,
    })
}

/// The documents after these operations, one by one.
fn applied(mut documents: BTreeMap<String, String>, ops: &[Op], from: u64) -> BTreeMap<String, String> {
    for (n, op) in ops.iter().enumerate().skip(from as usize).filter(|(_, op)| is_good(op)) {
        let id = op.id.unwrap().to_owned();
        let content = content(n as u64, op.word);
        match op.action {
            Action::Delete => drop(documents.remove(&id)),
            Action::Upsert => {
                let found = documents.entry(id).or_default();
                let end = found.find('+').unwrap_or(found.len());
                found.replace_range(end.., &format!("+{{\"doc\":{content},\"doc_as_upsert\":true}}"));
            }
            _ => drop(documents.insert(id, content)),
        }
    }
    documents
}

/// Whether the cluster accepts the operation. A delete has no content.
fn is_good(op: &Op) -> bool {
    op.word != "reject" && (op.action == Action::Delete || !matches!(op.word, "poison" | "spoils"))
}

proptest! {
    #[test]
    fn the_index_ends_as_without_coalescing(
        ops in prop::collection::vec(op(), 1..80),
        per_block in 1usize..10,
        gaps in prop::collection::vec(0u64..3_000, 80),
        option in option(),
        memory in 1_000u64..8_000,
        batch_bytes in 1u64..600,
        in_flight in 1u32..5,
        faults in prop::collection::vec(fault(), 0..30),
        order in any::<u64>(),
        smile in any::<bool>(),
        shards in prop::option::of(1u32..5),
    ) {
        let encoder = match shards {
            Some(shards) => encoder().with_shards(Routing::new(shards, None, 1).unwrap()),
            None => encoder(),
        };
        let mut when = 0;
        let mut source = VecDeque::new();
        for (nth, (ops, gap)) in ops.chunks(per_block).zip(&gaps).enumerate() {
            when += gap;
            source.push_back((at(when), block((nth * per_block) as u64, ops)));
        }
        let config = FlowConfig { coalesce: Some(option), settlements: true, memory, ..patient() };
        let mut flow = flow(config, batch_bytes, in_flight);
        let encoding = if smile { Encoding::Smile } else { Encoding::Json };
        let format = BodyFormat::PLAIN.with_encoding(encoding);
        flow.set_body_format_tuner(BodyFormatTuner::new(format, BodyFormatChoices::default(), ""));
        let expected = applied(BTreeMap::new(), &ops, 0);
        // Another load that begins with this index and at this position comes to the same end.
        let mut steps: Vec<(u64, BTreeMap<String, String>)> = Vec::new();
        let watch = |flow: &Flow, cluster: &Cluster| {
            if let Some(&below) = flow.settled_below().values().next() {
                steps.push((below, cluster.documents.clone()));
            }
        };
        let out = drive_timed(flow, |block| encoder.encode(block), source, &faults, order, watch);
        prop_assert_eq!(out.flow.stopped(), None);
        prop_assert_eq!(&out.cluster.documents, &expected);
        for (below, documents) in steps {
            prop_assert_eq!(&applied(documents, &ops, below), &expected, "from {}", below);
        }
        let counts = out.flow.counts();
        prop_assert_eq!(counts.docs_read, ops.len() as u64);
        prop_assert!(counts.add_up());
        prop_assert_eq!(counts.docs_given_back, 0);
        prop_assert!(out.letters.iter().all(|letter| !is_good(&ops[letter.position.doc as usize])));
        let settled = out.settlements.iter().flat_map(|s| s.first_doc..s.first_doc + u64::from(s.docs));
        let mut ends: Vec<u64> = settled.chain(out.letters.iter().map(|letter| letter.position.doc)).collect();
        ends.sort_unstable();
        prop_assert_eq!(ends, (0..ops.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!((out.flow.buffered, out.flow.buffered_extra), (0, 0));
        prop_assert_eq!((out.flow.pending.held(), out.flow.pending.windows_overhead()), (0, 0));
    }
}

//! Replies of requests behind an ingest pipeline: entries are not at the positions of their items.

use super::*;

/// The fate of a document follows from its word. A pipeline drops `drop`, and fails `fail`, `busy`,
/// `brief` twice, and `fickle` every other time. The index refuses `poison` and, once, `full`.
#[derive(Default)]
struct Piped {
    cluster: Cluster,
    /// How often each document was sent.
    tries: BTreeMap<String, u32>,
    /// Entries have no ids, as behind a gateway that removes them.
    hides_ids: bool,
    /// When each document was last rejected for a retry.
    sent_back: BTreeMap<String, Time>,
}

/// The value of a field in a line of a body.
fn value<'a>(line: &'a str, field: &str) -> Option<&'a str> {
    line.split(&format!("\"{field}\":\"")).nth(1)?.split('"').next()
}

impl Piped {
    /// The entry of a document, and whether the pipeline produced it.
    fn entry(&mut self, action: &str, document: &str) -> (ItemReply, bool) {
        let key = document.split("\"n\":").nth(1).unwrap().split(',').next().unwrap();
        let tries = self.tries.entry(key.to_owned()).or_default();
        *tries += 1;
        // Reasons differ, because they contain the value.
        let error = |kind: &str, why: &str| {
            let reason = format!("{why} {key}");
            Some(ItemError { kind: kind.into(), reason, ..ItemError::default() })
        };
        let (status, result, error) = match (value(document, "w").unwrap(), *tries) {
            ("drop", _) => (200, Some(ItemResult::Noop), None),
            ("fail", _) => (400, None, error("illegal_argument_exception", "bad value")),
            ("busy", _) | ("brief", 1 | 2) | ("fickle", 1 | 3 | 5 | 7) => {
                (500, None, error("fail_processor_exception", "bad value"))
            }
            ("full", 1) => (429, None, error("es_rejected_execution_exception", "rejected execution of")),
            _ => {
                let id = self.cluster.id(action);
                return (self.cluster.apply(action, document, id), false);
            }
        };
        let piped = status != 429;
        let key = match action.starts_with("{\"create") {
            true => ItemAction::Create,
            false => ItemAction::Index,
        };
        (ItemReply { action: key, status, index: None, result, error, failure_store_used: false }, piped)
    }

    /// The result of a request that meets this fault.
    fn answer(&mut self, request: &Request, fault: Fault) -> Attempt {
        match fault {
            Fault::NotSent | Fault::ResetBeforeApplying | Fault::Refused(_) | Fault::Gateway(_) => {
                Cluster::default().bulk(request, fault)
            }
            fault => {
                let reply = self.reply(request);
                match fault {
                    Fault::ResetAfterApplying => Attempt::Lost { reason: "reset".into() },
                    _ => Attempt::Replied(reply),
                }
            }
        }
    }

    /// A reply as OpenSearch builds it: drops of the pipeline, its failures, and all other entries
    /// inserted at their positions.
    fn reply(&mut self, request: &Request) -> BulkReply {
        let text = json_body(request);
        let lines: Vec<&str> = text.lines().collect();
        let (mut drops, mut failures, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (place, pair) in lines.chunks(2).enumerate() {
            let id: Option<Box<str>> = value(pair[0], "_id").filter(|_| !self.hides_ids).map(Into::into);
            match self.entry(pair[0], pair[1]) {
                (item, true) if item.error.is_none() => drops.push((id, item)),
                (item, true) => failures.push((id, item)),
                (item, false) => others.push((place, (id, item))),
            }
        }
        let mut entries = drops;
        entries.extend(failures);
        others.into_iter().for_each(|(place, entry)| entries.insert(place, entry));
        let ids = entries.iter().map(|(id, _)| id.clone());
        BulkReply {
            marks: vec![None; if request.item_ids { entries.len() } else { 0 }],
            took_ms: Some(1),
            errors: true,
            ids: if request.item_ids { ids.collect() } else { Vec::new() },
            runs: entries.into_iter().map(|(_, item)| ItemRun { count: 1, item }).collect(),
        }
    }
}

struct Loaded {
    flow: Flow,
    /// The words of the dead letters in the order of their documents.
    letters: Vec<String>,
    reasons: Vec<String>,
    /// The number of documents of each request.
    requests: Vec<u32>,
    elapsed: Duration,
    /// The number of documents in the index at the end.
    there: u64,
}

/// Loads one document for each word. The faults hit the first requests. `order` decides the order
/// of answers.
fn load_through(
    mut flow: Flow,
    words: &[&str],
    operations: Operations,
    faults: &[Fault],
    mut piped: Piped,
    mut order: u64,
) -> Loaded {
    let ids = vec![None; words.len()];
    let encoder = Encoder::new(operations);
    for block in blocks(&ids, words, 3) {
        flow.handle_block(Time::START, encoder.encode(block)).unwrap();
    }
    flow.handle_source_end();
    let mut faults = faults.iter().copied();
    let (mut now, mut letters, mut requests) = (Time::START, Vec::new(), Vec::new());
    let mut in_flight: Vec<(Request, Attempt)> = Vec::new();
    while !flow.is_done() {
        match flow.poll(now) {
            Some(Command::Send(request)) => {
                requests.push(request.items);
                for document in json_body(&request).lines().skip(1).step_by(2) {
                    let alone = request.items == 1;
                    let back =
                        piped.sent_back.get(document).is_none_or(|&at| now.since(at) >= Duration::from_millis(50));
                    assert!(alone || back, "{document} was sent again without a wait");
                }
                let attempt = piped.answer(&request, faults.next().unwrap_or(Fault::None));
                in_flight.push((request, attempt));
            }
            Some(Command::AwaitGone { request }) => flow.handle_gone(now, request),
            Some(Command::Compare { request, items }) => {
                let unlike = Comparison::Failed("a pipeline may have changed the document".to_owned());
                flow.handle_compared(now, request, &vec![unlike; items.len()]);
            }
            Some(Command::DeadLetter(letter)) => letters.push(*letter),
            Some(_) => {}
            None if in_flight.is_empty() => now = flow.poll_timeout().unwrap(),
            None => {
                order = order.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (request, attempt) = in_flight.swap_remove((order >> 33) as usize % in_flight.len());
                now = now + Duration::from_millis(1);
                if let Attempt::Replied(reply) = &attempt
                    && reply.runs.iter().any(|run| run.item.status >= 429)
                {
                    let busy = |document: &&str| ["busy", "brief", "fickle"].contains(&value(document, "w").unwrap());
                    let documents = json_body(&request);
                    let documents = documents.lines().skip(1).step_by(2).filter(busy);
                    piped.sent_back.extend(documents.map(|document| (document.to_owned(), now)));
                }
                flow.handle_attempt(now, request.id, Duration::ZERO, 0, attempt);
            }
        }
        assert!(requests.len() < 5000, "requests without end");
    }
    flow.close().unwrap();
    letters.sort_by_key(|letter| letter.position.doc);
    let text = |letter: &DeadLetter| String::from_utf8(letter.document.to_vec()).unwrap();
    Loaded {
        flow,
        reasons: letters.iter().map(|letter| letter.reason.clone()).collect(),
        letters: letters.iter().map(|letter| value(&text(letter), "w").unwrap().to_owned()).collect(),
        requests,
        elapsed: now.since_start(),
        there: piped.cluster.documents.len() as u64,
    }
}

fn load(config: FlowConfig, words: &[&str], with_ids: bool) -> Loaded {
    load_through(in_one(config), words, operations(Action::Index, with_ids), &[], Piped::default(), 0)
}

/// One request at a time, with all documents.
fn in_one(config: FlowConfig) -> Flow {
    flow(FlowConfig { memory: 1 << 20, ..config }, 1 << 20, 1)
}

fn few_retries() -> FlowConfig {
    FlowConfig { retry: RetryPolicy { retries: 2, ..RetryPolicy::default() }, ..config() }
}

const MIXED: [&str; 8] = ["fail", "drop", "good", "drop", "poison", "fail", "good", "drop"];

fn check(loaded: &Loaded) {
    let counts = loaded.flow.counts();
    assert_eq!((counts.docs_created, counts.docs_dropped, counts.docs_dead_lettered), (2, 3, 3), "{counts:?}");
    assert_eq!(counts.possible_duplicates, 0);
    assert_eq!(loaded.letters, ["fail", "poison", "fail"]);
    assert_eq!((loaded.reasons[0].as_str(), loaded.reasons[2].as_str()), ("bad value 0", "bad value 5"));
}

#[test]
fn entries_behind_a_known_pipeline_are_matched_by_id() {
    let loaded = load(FlowConfig { pairing: Pairing::Ids, ..config() }, &MIXED, true);
    check(&loaded);
    assert_eq!(loaded.requests, [8]);
}

#[test]
fn an_unknown_pipeline_is_noticed() {
    let loaded = load(config(), &MIXED, true);
    check(&loaded);
    // The shard's entries are final; the other items are sent again with ids.
    assert_eq!(loaded.requests, [8, 5]);
}

#[test]
fn items_without_an_id_are_sent_alone() {
    for pairing in [Pairing::PlacesAtFirst, Pairing::Ids] {
        let loaded = load(FlowConfig { pairing, ..config() }, &MIXED, false);
        check(&loaded);
        assert_eq!(loaded.requests, [8, 1, 1, 1, 1, 1]);
    }
}

#[test]
fn a_server_that_keeps_the_order_is_believed() {
    let words = ["drop", "fail", "good"];
    let loaded = load(FlowConfig { pairing: Pairing::Places, ..config() }, &words, false);
    assert_eq!((loaded.letters.len(), loaded.requests), (1, vec![3]));
}

#[test]
fn items_that_fail_for_now_wait_together() {
    let loaded = load(few_retries(), &["good", "busy", "busy", "busy"], false);
    assert_eq!(loaded.letters.len(), 3);
    assert_eq!(loaded.requests, [4, 3, 3]);
    assert!(loaded.elapsed >= Duration::from_millis(150), "{:?}", loaded.elapsed);
}

#[test]
fn dropped_items_wait_with_items_that_fail_for_now() {
    let words = ["busy", "drop", "busy", "drop", "fail"];
    let loaded = load(few_retries(), &words, false);
    assert_eq!(loaded.flow.counts().docs_dropped, 2);
    assert_eq!(loaded.letters, ["busy", "busy", "fail"]);
    // Only the last attempt has to match the entries.
    assert_eq!(loaded.requests, [5, 5, 5, 1, 1, 1, 1, 1]);
    assert_eq!(loaded.flow.counts().rejected_items, 8);
    assert!(loaded.elapsed >= Duration::from_millis(150), "{:?}", loaded.elapsed);
    let healed = load(few_retries(), &["brief", "drop", "brief"], false);
    assert_eq!((healed.flow.counts().docs_created, healed.requests), (2, vec![3, 3, 3]));
}

#[test]
fn a_create_whose_answer_was_lost_stays_uncertain() {
    let piped = Piped { hides_ids: true, ..Piped::default() };
    let faults = [Fault::None, Fault::ResetAfterApplying];
    let words = ["fickle", "drop", "good"];
    let loaded = load_through(in_one(config()), &words, operations(Action::Create, true), &faults, piped, 0);
    let counts = loaded.flow.counts();
    assert_eq!((counts.docs_already_there, counts.docs_dropped, counts.docs_dead_lettered), (1, 1, 0), "{counts:?}");
}

#[test]
fn refusals_of_many_shards_are_not_sent_again_one_by_one() {
    let error = |kind: &str, reason: String| ItemError { kind: kind.into(), reason, permanent: false };
    for with_ids in [false, true] {
        let mut flow = flow(FlowConfig { memory: 1 << 20, ..config() }, 1 << 20, 1);
        let encoder = Encoder::new(operations(Action::Index, with_ids));
        flow.handle_block(Time::START, encoder.encode(blocks(&[None; 4], &["a"; 4], 4).remove(0))).unwrap();
        flow.handle_source_end();
        let Some(Command::Send(first)) = flow.poll(Time::START) else { panic!("something is sent") };
        let entry = |status, error| ItemReply {
            action: ItemAction::Index,
            status,
            index: None,
            result: None,
            error: Some(error),
            failure_store_used: false,
        };
        let breaker = |bytes| {
            let reason =
                format!("[parent] Data too large, data for [indices:data/write/bulk[s]] would be [{bytes}/9b]");
            entry(429, error("circuit_breaking_exception", reason))
        };
        let immense = |at| entry(400, error("illegal_argument_exception", format!("immense term {at}")));
        let runs = [breaker(10), immense(1), breaker(11), immense(2)].map(|item| ItemRun { count: 1, item });
        let reply = BulkReply { took_ms: Some(1), errors: true, runs: runs.into(), ..BulkReply::default() };
        flow.handle_attempt(Time::START, first.id, Duration::ZERO, 0, Attempt::Replied(reply));
        assert_eq!((flow.counts().docs_dead_lettered, flow.counts().rejected_items), (2, 2));
        while flow.poll(Time::START).is_some_and(|command| !matches!(command, Command::Send(_))) {}
        let Some(Command::Send(second)) = flow.poll(flow.poll_timeout().unwrap()) else { panic!("it is sent again") };
        assert_eq!(second.items, 2);
    }
}

#[test]
fn one_kind_is_in_order_whatever_it_is() {
    for words in [["drop", "good", "drop", "poison"], ["fail", "good", "fail", "poison"]] {
        let loaded = load(config(), &words, false);
        assert_eq!(loaded.requests, [4]);
        assert!(loaded.letters.contains(&"poison".to_owned()));
    }
}

proptest! {
    #[test]
    fn behind_a_pipeline_every_document_meets_its_own_end(
        kinds in prop::collection::vec(0usize..9, 1..24),
        with_ids in any::<bool>(),
        hides_ids in any::<bool>(),
        create in any::<bool>(),
        known in any::<bool>(),
        faults in prop::collection::vec(prop_oneof![
            4 => Just(Fault::None),
            1 => Just(Fault::NotSent),
            1 => Just(Fault::ResetBeforeApplying),
            1 => Just(Fault::ResetAfterApplying),
            1 => Just(Fault::Refused(429)),
        ], 0..8),
        batch_bytes in prop_oneof![Just(1u64 << 20), 200u64..800],
        in_flight in 1u32..5,
        order in any::<u64>(),
    ) {
        let kinds: Vec<&str> = kinds.into_iter()
            .map(|kind| ["good", "good", "drop", "fail", "busy", "brief", "fickle", "full", "poison"][kind]).collect();
        // Each request contains an item that is accepted, so that the run does not stop for lack of
        // progress.
        let words: Vec<&str> = kinds.into_iter().chain(["drop"]).flat_map(|word| [word, "good"]).collect();
        let pairing = if known { Pairing::Ids } else { Pairing::PlacesAtFirst };
        let action = if create { Action::Create } else { Action::Index };
        let retry = RetryPolicy { retries: 12, retry_for: Duration::from_secs(3600), ..RetryPolicy::default() };
        let piped = Piped { hides_ids, ..Piped::default() };
        let config = FlowConfig { pairing, retry, memory: 1 << 20, ..config() };
        let flow = flow(config, batch_bytes, in_flight);
        let loaded = load_through(flow, &words, operations(action, with_ids), &faults, piped, order);
        let counts = loaded.flow.counts();
        prop_assert_eq!(loaded.flow.stopped(), None);
        let number = |of: &[&str]| words.iter().filter(|word| of.contains(word)).count() as u64;
        prop_assert_eq!(counts.docs_dropped, number(&["drop"]));
        let bad: Vec<&str> = words.iter().copied().filter(|word| ["fail", "busy", "poison"].contains(word)).collect();
        prop_assert_eq!(&loaded.letters, &bad);
        let there = counts.docs_created + counts.docs_updated + counts.docs_already_there;
        let expected = number(&["good", "brief", "fickle", "full"]);
        prop_assert_eq!(there, expected);
        prop_assert!(loaded.there >= expected && loaded.there - expected <= counts.possible_duplicates);
        if with_ids {
            prop_assert_eq!(counts.possible_duplicates, 0);
        }
        // Each document is sent alone once or twice. Each request is retried as often as allowed,
        // and again after progress.
        let progresses = number(&["brief", "fickle", "full"]) as usize;
        let batches = if batch_bytes < 1 << 20 { words.len() / 2 } else { 1 };
        let most = 2 * words.len() + 13 * (batches + 1 + progresses) + 2 * faults.len();
        prop_assert!(loaded.requests.len() <= most, "{:?}", loaded.requests);
    }
}

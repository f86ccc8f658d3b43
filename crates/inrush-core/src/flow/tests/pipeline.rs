//! Replies to requests behind an ingest pipeline, whose entries do not stand at the places of their items.

use super::*;

/// What became of a document, by its word: a pipeline drops `drop` and fails `fail`, the index refuses `poison`.
fn entry(word: &str) -> ItemReply {
    let error = |kind: &str| Some(ItemError { kind: kind.into(), ..ItemError::default() });
    let (status, result, error) = match word {
        "drop" => (200, Some(ItemResult::Noop), None),
        "fail" => (400, None, error("illegal_argument_exception")),
        "busy" => (500, None, error("fail_processor_exception")),
        "poison" => (400, None, error("mapper_parsing_exception")),
        _ => (201, Some(ItemResult::Created), None),
    };
    ItemReply { action: ItemAction::Index, status, index: None, result, error, failure_store_used: false }
}

/// As OpenSearch answers: what the pipeline dropped, what it refused, and everything else put between them at its place.
fn reply(request: &Request) -> BulkReply {
    let text = json_body(request);
    let lines: Vec<&str> = text.lines().collect();
    let items: Vec<(Option<Box<str>>, &str)> = lines
        .chunks(2)
        .map(|pair| {
            let id = pair[0].split("\"_id\":\"").nth(1).map(|rest| rest.split('"').next().unwrap().into());
            (id, pair[1].split("\"w\":\"").nth(1).unwrap().split('"').next().unwrap())
        })
        .collect();
    let early = |words: &[&str]| -> Vec<_> { items.iter().filter(|(_, w)| words.contains(w)).cloned().collect() };
    let mut entries = [early(&["drop"]), early(&["fail", "busy"])].concat();
    for (place, item) in items.iter().enumerate() {
        if !["drop", "fail", "busy"].contains(&item.1) {
            entries.insert(place, item.clone());
        }
    }
    BulkReply {
        took_ms: Some(1),
        errors: true,
        runs: entries.iter().map(|(_, word)| ItemRun { count: 1, item: entry(word) }).collect(),
        ids: if request.item_ids { entries.into_iter().map(|(id, _)| id).collect() } else { Vec::new() },
    }
}

/// Loads one document a word and returns the flow, the words of its dead letters, and the requests.
fn load(config: FlowConfig, words: &[&str], with_ids: bool) -> (Flow, Vec<String>, Vec<u32>) {
    let ids: Vec<Option<u8>> = (0..words.len()).map(|n| Some(n as u8)).collect();
    let encoder = Encoder::new(operations(Action::Index, with_ids));
    let mut flow = flow(FlowConfig { memory: 1 << 20, ..config }, 1 << 20, 1);
    for block in blocks(&ids, words, 3) {
        flow.handle_block(Time::START, encoder.encode(block)).unwrap();
    }
    flow.handle_source_end();
    let (mut now, mut letters, mut requests) = (Time::START, Vec::new(), Vec::new());
    while !flow.is_done() {
        match flow.poll(now) {
            Some(Command::Send(request)) => {
                requests.push(request.items);
                now = now + Duration::from_millis(1);
                flow.handle_attempt(now, request.id, Duration::ZERO, 0, Attempt::Replied(reply(&request)));
            }
            Some(Command::DeadLetter(letter)) => {
                let text = String::from_utf8(letter.document.to_vec()).unwrap();
                letters.push(text.split("\"w\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned());
            }
            Some(_) => {}
            None => now = flow.poll_timeout().unwrap(),
        }
        assert!(requests.len() < 1000);
    }
    flow.close().unwrap();
    (flow, letters, requests)
}

const MIXED: [&str; 8] = ["fail", "drop", "good", "drop", "poison", "fail", "good", "drop"];

fn check(flow: &Flow, letters: &[String]) {
    let counts = flow.counts();
    assert_eq!((counts.docs_created, counts.docs_dropped, counts.docs_dead_lettered), (2, 3, 3), "{counts:?}");
    assert_eq!(counts.possible_duplicates, 0);
    let mut letters = letters.to_vec();
    letters.sort();
    assert_eq!(letters, ["fail", "fail", "poison"]);
}

#[test]
fn where_a_pipeline_is_known_entries_are_told_apart_by_their_ids() {
    let (flow, letters, requests) = load(FlowConfig { pipelines: true, ..config() }, &MIXED, true);
    check(&flow, &letters);
    assert_eq!(requests, [8]);
}

#[test]
fn a_pipeline_that_nobody_knew_of_is_noticed() {
    let (flow, letters, requests) = load(config(), &MIXED, true);
    check(&flow, &letters);
    // What the shard said stands; the rest is asked for again with its ids.
    assert_eq!(requests, [8, 5]);
}

#[test]
fn what_has_no_id_is_sent_alone() {
    for pipelines in [false, true] {
        let (flow, letters, requests) = load(FlowConfig { pipelines, ..config() }, &MIXED, false);
        check(&flow, &letters);
        assert_eq!(requests, [8, 1, 1, 1, 1, 1]);
    }
}

#[test]
fn what_fails_for_now_waits_together() {
    let words = ["busy", "drop", "busy", "drop", "busy"];
    let retry = RetryPolicy { retries: 2, ..RetryPolicy::default() };
    let (flow, letters, requests) = load(FlowConfig { retry, ..config() }, &words, false);
    assert_eq!((flow.counts().docs_dropped, letters.len()), (2, 3));
    assert_eq!(requests, [5, 1, 1, 1, 1, 1, 3, 3, 3]);
}

#[test]
fn one_kind_is_in_order_whatever_it_is() {
    for words in [["drop", "good", "drop", "poison"], ["fail", "good", "fail", "poison"]] {
        let (_, letters, requests) = load(config(), &words, false);
        assert_eq!(requests, [4]);
        assert!(letters.contains(&"poison".to_owned()));
    }
}

//! The flow against a small cluster that misbehaves on purpose, in virtual time.

mod coalesce;
mod compare;
mod durable;
mod late;
mod lost;
mod pause;
mod pipeline;
mod resume;

use std::collections::BTreeMap;

use inrush_smile::SmileDecoder;
use proptest::prelude::*;

use super::*;
use crate::block::{DocBlock, Record, Reject};
use crate::codes::Code;
use crate::columns::{Cells, Column, Columns, Texts};
use crate::encode::{Encoder, SmileItemEncoder};
use crate::operation::{Action, Operations};
use crate::outcome::{Attempt, Condition};
use crate::reply::{BulkReply, ItemAction, ItemError, ItemReply, ItemResult, ItemRun};
use crate::routing::Routing;
use crate::tune::{self, Fixed, Sample};

/// The fault of a request, or of single items of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Every nth item is rejected because of load.
    Rejects(u32),
    NotSent,
    /// Nothing was sent, and another attempt ends alike.
    Lasting,
    ResetBeforeApplying,
    ResetAfterApplying,
    Refused(u16),
    /// A page of a gateway.
    Gateway(u16),
    /// 429 or 503, with a `Retry-After` in seconds.
    Later(u16, u64),
    /// A circuit breaker of durability PERMANENT.
    Breaker,
    /// Flood stage, for all items.
    Flood,
    /// The primary changes, and the coordinating node repeats the operations.
    Repeats,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        4 => Just(Fault::None),
        2 => (1u32..4).prop_map(Fault::Rejects),
        1 => Just(Fault::NotSent),
        1 => Just(Fault::ResetBeforeApplying),
        1 => Just(Fault::ResetAfterApplying),
        1 => prop_oneof![Just(413), Just(429), Just(502), Just(503)].prop_map(Fault::Refused),
        1 => prop_oneof![Just(Fault::Flood), Just(Fault::Breaker)],
    ]
}

/// The body of a request as NDJSON.
fn json_body(request: &Request) -> String {
    let body = request.body.slices.concat();
    if request.body.format.encoding == Encoding::Json {
        return String::from_utf8(body).unwrap();
    }
    let (mut decoder, mut text, mut at) = (SmileDecoder::default(), Vec::new(), 0);
    while at < body.len() {
        at += decoder.decode(&body[at..], &mut text).unwrap();
        text.push(b'\n');
    }
    String::from_utf8(text).unwrap()
}

/// The rows of a request are those of its documents, in their order.
fn check_rows<'a>(request: &Request, mut documents: impl Iterator<Item = &'a str>) {
    for rows in &*request.body.rows {
        let of_rows: Vec<_> = documents.by_ref().take(rows.items as usize).collect();
        assert_eq!(of_rows.len(), rows.items as usize);
        if let Some((columns, records)) = &rows.columns {
            let Cells::Json(texts) = &columns.columns[0].cells else { panic!("other columns") };
            assert_eq!(records.iter().map(|record| texts.get(*record as usize)).collect::<Vec<_>>(), of_rows);
        }
    }
    assert!(request.body.rows.is_empty() || documents.next().is_none(), "documents without rows");
}

/// Documents by id. Documents without an id get a number.
#[derive(Default)]
struct Cluster {
    documents: BTreeMap<String, String>,
    made_up: u64,
    /// Ids that the cluster wrote twice for one request.
    repeated: std::collections::BTreeSet<String>,
    /// How often documents met a mapping that was made meanwhile, by id.
    raced: BTreeMap<String, u32>,
}

impl Cluster {
    fn id(&mut self, action: &str) -> String {
        match action.split("\"_id\":\"").nth(1) {
            Some(rest) => rest.split('"').next().unwrap().to_owned(),
            None => {
                self.made_up += 1;
                format!("#{}", self.made_up)
            }
        }
    }

    fn apply(&mut self, action: &str, document: &str, id: String) -> ItemReply {
        let reply = |action, status, result, error| ItemReply {
            action,
            status,
            index: None,
            result,
            error,
            failure_store_used: false,
        };
        let action_key = if action.starts_with("{\"create") { ItemAction::Create } else { ItemAction::Index };
        let error = |kind: &str| Some(ItemError { kind: kind.into(), ..ItemError::default() });
        if document.contains("poison") {
            return reply(action_key, 400, None, error("mapper_parsing_exception"));
        }
        if document.contains("races") {
            let met = self.raced.entry(id.clone()).or_default();
            *met += 1;
            if *met == 1 || document.contains("on and on") {
                let reason = "mapper [w] cannot be changed from type [text] to [date]".to_owned();
                let error = ItemError { reason, ..ItemError::default() };
                let error = ItemError { kind: "illegal_argument_exception".to_owned(), ..error };
                return reply(action_key, 400, None, Some(error));
            }
        }
        if action.starts_with("{\"delete") {
            return match self.documents.remove(&id) {
                Some(_) => reply(ItemAction::Delete, 200, Some(ItemResult::Deleted), None),
                None => reply(ItemAction::Delete, 404, Some(ItemResult::NotFound), None),
            };
        }
        if action.starts_with("{\"update") {
            // It replaces the part of an earlier update, so a repeated one changes nothing.
            let found = self.documents.entry(id).or_default();
            let end = found.find('+').unwrap_or(found.len());
            found.replace_range(end.., &format!("+{document}"));
            return reply(ItemAction::Update, 200, Some(ItemResult::Updated), None);
        }
        if action_key == ItemAction::Create && self.documents.contains_key(&id) {
            let reason = format!("[{id}]: version conflict, document already exists (current version [1])");
            let kind = "version_conflict_engine_exception".to_owned();
            return reply(action_key, 409, None, Some(ItemError { kind, reason, permanent: false }));
        }
        match self.documents.insert(id, document.to_owned()) {
            None => reply(action_key, 201, Some(ItemResult::Created), None),
            Some(_) => reply(action_key, 200, Some(ItemResult::Updated), None),
        }
    }

    fn bulk(&mut self, request: &Request, fault: Fault) -> Attempt {
        let text = json_body(request);
        let (mut lines, mut pairs) = (text.lines(), Vec::new());
        while let Some(action) = lines.next() {
            let document = if action.starts_with("{\"delete") { "" } else { lines.next().unwrap() };
            pairs.push((action, document));
        }
        assert_eq!(pairs.len(), request.items as usize);
        check_rows(request, pairs.iter().map(|(_, document)| *document));
        let error = |kind: &str| ItemError { kind: kind.into(), ..ItemError::default() };
        let lost = || Attempt::Lost { reason: "reset".into() };
        match fault {
            Fault::NotSent => return Attempt::NotSent { reason: "refused".into(), lasting: false },
            Fault::Lasting => return Attempt::NotSent { reason: "no permission to look up".into(), lasting: true },
            Fault::ResetBeforeApplying => return lost(),
            // A single document that is refused as too large is a dead letter, which is right.
            Fault::Refused(413) if request.items == 1 => {}
            Fault::Gateway(status) => {
                let error = ItemError::from_body(b"<html><head><title>Bad Gateway</title></head></html>");
                return Attempt::Refused { status, error, retry_after: None };
            }
            Fault::Refused(status) => return Attempt::Refused { status, error: error("x"), retry_after: None },
            Fault::Later(status, seconds) => {
                let retry_after = Some(Duration::from_secs(seconds));
                return Attempt::Refused { status, error: error("x"), retry_after };
            }
            Fault::Breaker => {
                let error = ItemError { permanent: true, ..error("circuit_breaking_exception") };
                return Attempt::Refused { status: 429, error, retry_after: None };
            }
            Fault::None | Fault::Rejects(_) | Fault::ResetAfterApplying | Fault::Flood | Fault::Repeats => {}
        }
        // Like an id that is too long: it spoils the whole request.
        if text.contains("spoils") {
            let error = error("action_request_validation_exception");
            return Attempt::Refused { status: 400, error, retry_after: None };
        }
        let runs = pairs
            .into_iter()
            .enumerate()
            .map(|(at, pair)| {
                let rejected = |kind: &str| ItemReply {
                    action: ItemAction::Index,
                    status: 429,
                    index: None,
                    result: None,
                    error: Some(error(kind)),
                    failure_store_used: false,
                };
                let item = match fault {
                    Fault::Rejects(n) if (at as u32).is_multiple_of(n) => rejected("es_rejected_execution_exception"),
                    Fault::Flood => rejected("cluster_block_exception"),
                    Fault::Repeats => {
                        let id = self.id(pair.0);
                        let is_new = !self.documents.contains_key(&id);
                        self.apply(pair.0, pair.1, id.clone());
                        if is_new {
                            self.repeated.insert(id.clone());
                        }
                        self.apply(pair.0, pair.1, id)
                    }
                    _ => {
                        let id = self.id(pair.0);
                        self.repeated.remove(&id);
                        self.apply(pair.0, pair.1, id)
                    }
                };
                ItemRun { count: 1, item }
            })
            .collect();
        if fault == Fault::ResetAfterApplying {
            return lost();
        }
        Attempt::Replied(BulkReply { took_ms: Some(1), errors: fault != Fault::None, runs, ..BulkReply::default() })
    }
}

fn config() -> FlowConfig {
    FlowConfig {
        memory: 2000,
        rate: None,
        samples: false,
        settlements: false,
        linger: Duration::from_secs(1),
        coalesce: None,
        retry: RetryPolicy::default(),
        pause_max: Duration::from_secs(60),
        drain_max: Duration::from_secs(30),
        on_conflict: OnConflict::Fail,
        versioned: false,
        incremental_bulk: false,
        summary_replies: false,
        pairing: Pairing::PlacesAtFirst,
        max_errors: MaxErrors::Percent(100.0),
        ids_of_documents: false,
        seed: 7,
    }
}

/// Large limits, because all faults of a test may occur in a row.
fn patient() -> FlowConfig {
    let hour = Duration::from_secs(3600);
    FlowConfig {
        pause_max: hour,
        retry: RetryPolicy { retries: 100, retry_for: hour, ..RetryPolicy::default() },
        ..config()
    }
}

fn flow(config: FlowConfig, batch_bytes: u64, in_flight: u32) -> Flow {
    Flow::new(config, Box::new(Fixed(Plan { batch_bytes, batch_docs: u32::MAX, in_flight })))
}

/// A document without an exact SMILE form contains a number with an exponent.
fn document(id: &str, n: u64, word: &str) -> String {
    let number = if word == "exception" { format!("{n}e0") } else { n.to_string() };
    format!("{{\"id\":\"{id}\",\"n\":{number},\"w\":\"{word}\"}}")
}

/// Blocks of documents `{"id":…,"n":position}`. The position makes contents differ.
fn blocks(ids: &[Option<u8>], words: &[&str], per_block: usize) -> Vec<DocBlock> {
    let mut first_doc = 0;
    ids.chunks(per_block)
        .zip(words.chunks(per_block))
        .map(|(ids, words)| {
            let mut data = Vec::new();
            let mut records = Vec::new();
            let mut rejects = Vec::new();
            for (at, (id, word)) in ids.iter().zip(words).enumerate() {
                let start = data.len() as u32;
                let n = first_doc + at as u64;
                let id = id.map_or(format!("u{n}"), |id| format!("i{id}"));
                data.extend_from_slice(document(&id, n, word).as_bytes());
                if *word == "reject" {
                    rejects.push(Reject { record: at as u32, kind: Code::BadValue, reason: "no".into() });
                }
                records.push(Record { start, end: data.len() as u32, byte: start, line: at as u32 });
            }
            let origin = crate::Origin { first_doc, ..crate::Origin::default() };
            first_doc += records.len() as u64;
            DocBlock { origin, data: data.into(), records, rejects, ..DocBlock::default() }
        })
        .collect()
}

/// A column with all documents of a block.
fn columns(block: &DocBlock) -> Columns {
    let mut texts = Texts::default();
    (0..block.records.len()).for_each(|at| texts.push(str::from_utf8(block.record(at)).unwrap()));
    let columns = vec![Column { cells: Cells::Json(texts), present: None }];
    Columns { names: ["document".to_owned()].into(), columns, text_only: Vec::new() }
}

fn operations(action: Action, with_ids: bool) -> Operations {
    Operations::new(action, "x".parse().unwrap(), with_ids.then(|| "id".parse().unwrap()))
}

struct Outcome {
    flow: Flow,
    cluster: Cluster,
    letters: Vec<DeadLetter>,
    notes: Vec<Note>,
    samples: Vec<Sample>,
    settlements: Vec<Settlement>,
    elapsed: Duration,
}

/// Drives a flow to its end. `order` decides the order of answers.
fn drive(flow: Flow, encoder: &Encoder, blocks: Vec<DocBlock>, faults: &[Fault], order: u64) -> Outcome {
    let blocks = blocks.into_iter().map(|block| (Time::START, block)).collect();
    drive_timed(flow, |block| encoder.encode(block), blocks, faults, order, |_, _| {})
}

/// As [`drive`], with the times at which the source has the blocks. `watch` sees each step.
fn drive_timed(
    mut flow: Flow,
    encode: impl Fn(DocBlock) -> ItemBlock,
    mut blocks: VecDeque<(Time, DocBlock)>,
    faults: &[Fault],
    mut order: u64,
    mut watch: impl FnMut(&Flow, &Cluster),
) -> Outcome {
    let mut cluster = Cluster::default();
    let mut smile = SmileItemEncoder::default();
    let mut in_flight: Vec<(u64, Attempt)> = Vec::new();
    let (mut gone, mut over) = (Vec::new(), Vec::new());
    let (mut letters, mut notes, mut samples, mut settlements) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut faults = faults.iter().copied();
    let mut now = Time::START;
    for _ in 0..100_000 {
        while flow.input_room() > 0 && blocks.front().is_some_and(|(at, _)| *at <= now) {
            let mut items = encode(blocks.pop_front().unwrap().1);
            if flow.encoding() == Encoding::Smile {
                smile.encode(&mut items, Vec::new(), Into::into);
            }
            flow.handle_block(now, items).unwrap();
        }
        if blocks.is_empty() {
            flow.handle_source_end();
        }
        while let Some(command) = flow.poll(now) {
            match command {
                Command::Send(request) => {
                    let attempt = cluster.bulk(&request, faults.next().unwrap_or(Fault::None));
                    in_flight.push((request.id, attempt));
                }
                Command::AwaitGone { request } => gone.push(request),
                Command::AwaitOver { request } => over.push(request),
                Command::ReadBack { request, writes } => {
                    flow.handle_read_back(request, &vec![ReadBack::Same; writes.len()]);
                }
                Command::Compare { request, items } => {
                    assert!(!items.is_empty());
                    let results: Vec<Comparison> = items.iter().map(|item| compare::of(&cluster, item)).collect();
                    flow.handle_compared(now, request, &results);
                }
                Command::Flush { .. } => unreachable!("flushes are not enabled"),
                Command::Probe(_) => flow.handle_probe(Ok(()), Ok(())),
                Command::DeadLetter(letter) => letters.push(*letter),
                Command::Note(note) => notes.push(note),
                Command::Sample { sample, .. } => samples.push(sample),
                Command::Break { .. } => {}
                Command::Settled(settlement) => settlements.push(settlement),
            }
        }
        watch(&flow, &cluster);
        if flow.is_done() {
            flow.close().unwrap();
            let elapsed = now.since_start();
            return Outcome { flow, cluster, letters, notes, samples, settlements, elapsed };
        }
        assert!(in_flight.len() as u32 <= flow.plan().in_flight);
        order = order.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        if let Some(request) = gone.pop() {
            flow.handle_gone(now, request);
        } else if let Some(request) = over.pop() {
            flow.handle_over(now, request, Over::Ended);
        } else if !in_flight.is_empty() {
            let (request, attempt) = in_flight.swap_remove((order >> 33) as usize % in_flight.len());
            now = now + Duration::from_millis(1);
            flow.handle_attempt(now, request, Duration::from_millis(1), 0, attempt);
        } else {
            let next_block = blocks.front().filter(|_| flow.input_room() > 0).map(|(at, _)| now.max(*at));
            let due = flow.poll_timeout().into_iter().chain(next_block).min();
            let due = due.expect("a flow that is not done waits for something");
            assert!(due >= now, "a timeout in the past would spin");
            now = due;
        }
    }
    panic!("the flow does not come to an end");
}

proptest! {
    #![proptest_config(ProptestConfig { ..ProptestConfig::default() })]

    #[test]
    fn every_document_is_settled_once_and_takes_effect_in_order(
        ids in prop::collection::vec(prop::option::weighted(0.5, 0u8..4), 1..60),
        kinds in prop::collection::vec(0u8..20, 60),
        per_block in 1usize..10,
        batch_bytes in 1u64..600,
        in_flight in 1u32..5,
        with_ids in any::<bool>(),
        faults in prop::collection::vec(fault(), 0..30),
        order in any::<u64>(),
        rate in prop::option::of(prop_oneof![(1u64..5000).prop_map(Rate::Bytes), (1u64..50).prop_map(Rate::Docs)]),
        smile in any::<bool>(),
        shards in prop::option::of(1u32..5),
    ) {
        let words: Vec<&str> = kinds.iter().take(ids.len())
            .map(|k| match k { 0 => "poison", 1 => "reject", 2 => "spoils", 3 | 4 => "exception", _ => "good" }).collect();
        let encoder = Encoder::new(operations(Action::Index, with_ids));
        let encoder = match shards {
            Some(shards) => encoder.with_shards(Routing::new(shards, None, 1).unwrap()),
            None => encoder,
        };
        let source = blocks(&ids, &words, per_block);
        let format = BodyFormat::PLAIN.with_encoding(if smile { Encoding::Smile } else { Encoding::Json });
        let mut flow = flow(FlowConfig { rate, settlements: true, ..patient() }, batch_bytes, in_flight);
        flow.set_body_format_tuner(BodyFormatTuner::new(format, BodyFormatChoices::default(), ""));
        flow.route_batches(shards.iter().flat_map(|&shards| Routing::new(shards, None, 1).unwrap().values()));
        // Some blocks have columns.
        let encode = |block: DocBlock| {
            let columns = (block.origin.first_doc % 3 == 1).then(|| Arc::new(columns(&block)));
            ItemBlock { columns, ..encoder.encode(block) }
        };
        let source = source.into_iter().map(|block| (Time::START, block)).collect();
        let out = drive_timed(flow, encode, source, &faults, order, |_, _| {});
        prop_assert_eq!(out.flow.stopped(), None);
        let counts = out.flow.counts();
        prop_assert_eq!(counts.docs_read, ids.len() as u64);
        prop_assert!(counts.add_up());
        prop_assert_eq!(counts.docs_given_back, 0);
        let is_good = |n: usize| matches!(words[n], "good" | "exception");
        let bad: Vec<u64> = (0..ids.len() as u64).filter(|&n| !is_good(n as usize)).collect();
        let mut lettered: Vec<u64> = out.letters.iter().map(|l| l.position.doc).collect();
        lettered.sort_unstable();
        prop_assert_eq!(&lettered, &bad);
        prop_assert_eq!(counts.docs_dead_lettered, bad.len() as u64);
        let settled = out.settlements.iter().flat_map(|s| s.first_doc..s.first_doc + u64::from(s.docs));
        let mut told: Vec<u64> = settled.chain(lettered).collect();
        told.sort_unstable();
        prop_assert_eq!(told, (0..ids.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(out.flow.watermarks()[0].1.docs, ids.len() as u64);
        prop_assert_eq!((out.flow.buffered, out.flow.buffered_extra), (0, 0));
        let good = (0..ids.len()).filter(|&n| is_good(n));
        if with_ids {
            let mut expected = BTreeMap::new();
            for n in good {
                let id = ids[n].map_or(format!("u{n}"), |id| format!("i{id}"));
                expected.insert(id.clone(), document(&id, n as u64, words[n]));
            }
            prop_assert_eq!(out.cluster.documents, expected);
            prop_assert_eq!(counts.possible_duplicates, 0);
        } else {
            let there = out.cluster.documents.len() as u64;
            let expected = good.count() as u64;
            prop_assert!(there >= expected, "nothing is lost");
            prop_assert!(there - expected <= counts.possible_duplicates, "{} twice, {} reported", there - expected, counts.possible_duplicates);
        }
    }
}

fn good(n: usize) -> (Vec<Option<u8>>, Vec<&'static str>) {
    (vec![None; n], vec!["good"; n])
}

fn run(config: FlowConfig, action: Action, n: usize, faults: &[Fault]) -> Outcome {
    let (ids, words) = good(n);
    let encoder = Encoder::new(operations(action, true));
    drive(flow(config, 200, 1), &encoder, blocks(&ids, &words, 5), faults, 1)
}

#[test]
fn a_create_that_was_applied_without_our_knowing_is_already_there() {
    let out = run(config(), Action::Create, 3, &[Fault::ResetAfterApplying]);
    assert_eq!((out.flow.counts().docs_already_there, out.flow.counts().uncertain_creates), (3, 3));
    assert_eq!(out.flow.counts().docs_dead_lettered, 0);
}

#[test]
fn a_create_that_meets_a_foreign_document_follows_the_choice() {
    let ids = vec![Some(1), Some(1)];
    let words = vec!["good", "good"];
    let check = |on_conflict, expected: fn(&Counts) -> u64| {
        let encoder = Encoder::new(operations(Action::Create, true));
        let out =
            drive(flow(FlowConfig { on_conflict, ..config() }, 200, 1), &encoder, blocks(&ids, &words, 5), &[], 1);
        assert_eq!((out.flow.counts().docs_created, expected(out.flow.counts())), (1, 1));
    };
    check(OnConflict::Fail, |c| c.docs_dead_lettered);
    check(OnConflict::Skip, |c| c.docs_conflicting);
    check(OnConflict::Compare, |c| c.docs_already_there);
}

#[test]
fn no_more_is_sent_than_the_rate_allows() {
    let limited = FlowConfig { rate: Some(Rate::Docs(10)), samples: true, ..config() };
    let out = run(limited, Action::Index, 101, &[]);
    assert_eq!(out.flow.counts().docs_created, 101);
    // The last request does not delay the end.
    assert!(out.elapsed >= Duration::from_millis(9500) && out.elapsed < Duration::from_secs(11), "{:?}", out.elapsed);
    assert!(out.samples.iter().all(|s| s.docs <= 5 && s.source_limited), "the rate is the limit, not the cluster");
}

#[test]
fn repetitions_keep_to_the_rate_as_well() {
    let limited = FlowConfig { rate: Some(Rate::Docs(10)), samples: true, ..config() };
    let out = run(limited, Action::Index, 60, &[Fault::Refused(429); 20]);
    assert_eq!(out.flow.counts().docs_created, 60);
    let sent: u32 = out.samples.iter().map(|s| s.docs).sum();
    assert!(sent > 60);
    let mut starts: Vec<(Time, u32)> = out.samples.iter().map(|s| (s.sent, s.docs)).collect();
    starts.sort();
    // Each request waits for the time that the documents before it take at 10 a second.
    for pair in starts.windows(2) {
        let gap = pair[1].0.since(pair[0].0).as_secs_f64();
        assert!(gap >= f64::from(pair[0].1) / 10.0 - 1e-6, "{pair:?}");
    }
}

#[test]
fn comparing_documents_that_are_there_is_work_that_the_tuner_hears_of() {
    let encoder = Encoder::new(operations(Action::Create, true));
    let compared = FlowConfig { on_conflict: OnConflict::Compare, samples: true, ..config() };
    let out = drive(flow(compared, 200, 1), &encoder, blocks(&[Some(1), Some(1)], &["a", "a"], 5), &[], 1);
    assert_eq!(out.flow.counts().docs_already_there, 1);
    assert_eq!(out.samples.iter().map(|s| s.accepted).sum::<u32>(), 2);
}

#[test]
fn a_gateway_without_a_server_is_not_a_server_with_too_much_to_do() {
    for (status, outcome) in
        [(429, tune::SampleOutcome::Refused), (502, tune::SampleOutcome::Lost), (503, tune::SampleOutcome::Lost)]
    {
        let out = run(FlowConfig { samples: true, ..config() }, Action::Index, 5, &[Fault::Refused(status)]);
        let first = &out.samples[0];
        assert_eq!((first.outcome, first.rejected), (outcome, first.docs), "{status}");
    }
}

#[test]
fn memory_at_its_bound_is_no_limit_of_the_source() {
    // Two thirds of the memory are in flight, as tuners are bounded.
    let bounded = FlowConfig { memory: 3000, samples: true, ..config() };
    let encoder = Encoder::new(operations(Action::Index, false));
    let out = drive(flow(bounded, 500, 4), &encoder, blocks(&vec![None; 600], &vec!["w"; 600], 5), &[], 3);
    let limited = out.samples.iter().filter(|sample| sample.source_limited).count();
    // Only the last ones are.
    assert!(out.samples.len() > 40 && limited <= 8, "{limited} of {}", out.samples.len());
}

#[test]
fn the_rest_of_a_rejected_request_is_marked() {
    let sampled = FlowConfig { samples: true, ..config() };
    let out = run(sampled, Action::Index, 10, &[Fault::Rejects(2)]);
    let remainders: Vec<u32> = out.samples.iter().filter(|sample| sample.remainder).map(|sample| sample.docs).collect();
    assert_eq!(remainders, [out.samples[0].rejected]);
    assert!(remainders[0] > 0 && remainders[0] < out.samples[0].docs);
    assert_eq!(out.flow.counts().docs_created, 10);
}

#[test]
fn a_flood_stage_pauses_and_passes() {
    let out = run(config(), Action::Index, 10, &[Fault::Flood, Fault::Flood]);
    assert_eq!(out.notes, [Note::Paused(Condition::FloodStage.into()), Note::Resumed]);
    assert_eq!(out.flow.counts().docs_created, 10);
}

#[test]
fn a_flood_stage_that_lasts_stops_the_run_without_dead_letters() {
    let out = run(config(), Action::Index, 10, &[Fault::Flood; 1000]);
    assert!(matches!(out.flow.stopped(), Some(Stop::Failed(why)) if why.message.contains("flood stage")));
    assert!(out.letters.is_empty());
    assert_eq!((out.flow.counts().docs_read, out.flow.counts().docs_given_back > 0), (0, true));
    assert!(out.elapsed < Duration::from_secs(100), "{:?}", out.elapsed);
    // Every probe is a whole request. After the first few there is one in several seconds.
    assert!(out.flow.counts().requests < 60, "{} requests in a minute", out.flow.counts().requests);
}

#[test]
fn an_unreachable_cluster_ends_the_run_with_unknown_documents() {
    let out = run(config(), Action::Index, 10, &[Fault::NotSent; 1000]);
    assert!(matches!(out.flow.stopped(), Some(Stop::Failed(why)) if why.message.contains("accepted no document")));
    assert_eq!(out.flow.counts().docs_unknown, 0);
    let out = run(config(), Action::Index, 10, &[Fault::ResetBeforeApplying; 1000]);
    assert!(out.flow.counts().docs_unknown > 0);
    assert!(out.flow.counts().add_up());
}

/// Whichever request was the last that the cluster accepted.
#[test]
fn a_way_to_the_cluster_that_is_lost_ends_the_run_without_a_dead_letter() {
    for status in [502, 503, 504] {
        for accepted in 1..6 {
            let faults = [&[Fault::Gateway(status)][..], &vec![Fault::None; accepted], &[Fault::Gateway(status); 2000]];
            let out = run(config(), Action::Index, 100, &faults.concat());
            let Some(Stop::Failed(why)) = out.flow.stopped() else { panic!("{status} {accepted}: not stopped") };
            assert_eq!((why.code, out.letters.len()), (Code::RetriesSpent, 0), "{status} {accepted}: {}", why.message);
            assert!(why.message.ends_with("the last attempt ended with 502: Bad Gateway") || status != 502, "{why:?}");
            assert!(out.flow.counts().add_up());
        }
    }
}

#[test]
fn a_fault_that_lasts_ends_the_run_with_its_reason_and_without_a_dead_letter() {
    // Another request succeeds in between, so the documents look like the cause.
    let faults = [&[Fault::Lasting; 3][..], &[Fault::None], &[Fault::Lasting; 1000]].concat();
    let out = run(config(), Action::Index, 40, &faults);
    assert!(
        matches!(out.flow.stopped(), Some(Stop::Failed(why)) if why.code == Code::LookUpFailed && why.message == "no permission to look up")
    );
    let counts = out.flow.counts();
    assert_eq!((counts.docs_dead_lettered, counts.docs_unknown), (0, 0));
    assert!(counts.add_up() && out.elapsed < Duration::from_secs(60), "{:?}", out.elapsed);
}

#[test]
fn a_cluster_that_comes_back_after_minutes_gets_the_documents() {
    let out = run(config(), Action::Index, 3, &[Fault::NotSent; 100]);
    assert_eq!((out.flow.counts().docs_created, out.flow.stopped()), (3, None));
    assert!(out.elapsed > Duration::from_secs(150) && out.elapsed < Duration::from_secs(330), "{:?}", out.elapsed);
}

#[test]
fn a_server_is_left_alone_for_as_long_as_it_asks() {
    for (asked_for_s, waited_s) in [(0, 0), (7, 7), (3600, 30)] {
        for status in [429, 503] {
            let outcome = run(config(), Action::Index, 3, &[Fault::Later(status, asked_for_s)]);
            assert_eq!(outcome.flow.counts().docs_created, 3);
            assert_eq!(outcome.elapsed.as_secs(), waited_s, "{status} {asked_for_s}");
        }
    }
}

#[test]
fn refusals_that_never_heal_stop_at_once() {
    let out = run(config(), Action::Index, 10, &[Fault::Refused(401)]);
    assert!(
        matches!(out.flow.stopped(), Some(Stop::Failed(why)) if why.code == Code::Unauthenticated && why.message.contains("401"))
    );
    assert_eq!((out.letters.len(), out.flow.counts().requests), (0, 1));
    let out = run(config(), Action::Index, 10, &[Fault::Refused(405)]);
    assert!(matches!(out.flow.stopped(), Some(Stop::Failed(why)) if why.code == Code::BulkRefused));
}

#[test]
fn a_413_teaches_the_limit() {
    let out = run(config(), Action::Index, 10, &[Fault::Refused(413)]);
    assert!(matches!(out.notes[..], [Note::BodyLimit(bytes)] if bytes < 200));
    assert_eq!(out.flow.counts().docs_created, 10);
    assert!(out.flow.plan().batch_bytes < 200);
}

#[test]
fn a_body_that_is_refused_again_and_again_is_halved() {
    let config = || FlowConfig { memory: 16 << 20, samples: true, ..config() };
    let sizes = |in_flight: u32, kib: usize, faults: &[Fault]| {
        let long = "x".repeat(kib << 10);
        let encoder = Encoder::new(operations(Action::Index, true));
        let blocks = blocks(&[Some(1), Some(2), Some(3), Some(4)], &[long.as_str(); 4], 4);
        let out = drive(flow(config(), (4 * kib as u64) << 10, in_flight), &encoder, blocks, faults, 1);
        assert_eq!((out.flow.counts().docs_created, out.letters.len()), (4, 0));
        out.samples.iter().map(|sample| sample.docs).collect::<Vec<_>>()
    };
    let refused = [Fault::Refused(429); 7];
    assert_eq!(sizes(1, 1024, &refused[..3]), [3, 3, 3, 2, 1, 1], "a third refusal halves");
    assert_eq!(sizes(1, 1024, &refused[..2]), [3, 3, 3, 1], "a full node may have room later");
    assert_eq!(sizes(1, 16, &refused), [3; 8].into_iter().chain([1]).collect::<Vec<_>>(), "a small body fits");
    let gateway = [Fault::Refused(503); 3];
    assert_eq!(sizes(1, 1024, &gateway), [3, 3, 3, 3, 1], "only a 429 is about load");
}

#[test]
fn a_document_that_met_a_mapping_made_meanwhile_is_sent_again() {
    let words = ["good", "races", "poison", "races on and on", "races"];
    let run = |retries| {
        let encoder = Encoder::new(operations(Action::Index, true));
        let policy = RetryPolicy { retries, ..RetryPolicy::default() };
        let config = FlowConfig { retry: policy, samples: true, ..config() };
        let blocks = blocks(&[Some(1), Some(2), Some(3), Some(4), Some(5)], &words, 5);
        drive(flow(config, 1000, 1), &encoder, blocks, &[], 1)
    };
    let reasons = |out: &Outcome| out.letters.iter().map(|letter| letter.reason.clone()).collect::<Vec<_>>();
    let out = run(20);
    assert_eq!((out.flow.counts().docs_created, out.flow.stopped()), (3, None));
    assert_eq!(reasons(&out), ["", "mapper [w] cannot be changed from type [text] to [date]"]);
    assert_eq!(
        out.samples.iter().map(|sample| (sample.docs, sample.rejected)).collect::<Vec<_>>(),
        [(5, 0), (3, 0), (1, 0), (1, 0)]
    );
    assert!(out.flow.counts().add_up() && out.elapsed < Duration::from_secs(1), "{:?}", out.elapsed);
    // Without retries it is a dead letter at once, and no reason to stop.
    let out = run(0);
    assert_eq!((out.flow.counts().docs_created, out.letters.len(), out.flow.stopped()), (1, 4, None));
}

#[test]
fn too_many_dead_letters_end_the_run() {
    let n = 50;
    let words = vec!["poison"; n];
    let encoder = Encoder::new(operations(Action::Index, true));
    let limited = FlowConfig { max_errors: MaxErrors::Count(7), ..config() };
    let out = drive(flow(limited, 200, 1), &encoder, blocks(&vec![None; n], &words, 5), &[], 1);
    assert!(matches!(out.flow.stopped(), Some(Stop::Failed(why)) if why.message.contains("option `max_errors`")));
    assert!(out.letters.len() < 20);
}

#[test]
fn an_interrupt_gives_back_unsent_documents() {
    let (ids, words) = good(40);
    let encoder = Encoder::new(operations(Action::Index, true));
    let mut flow = flow(config(), 100, 1);
    for block in blocks(&ids, &words, 40) {
        flow.handle_block(Time::START, encoder.encode(block)).unwrap();
    }
    let Some(Command::Send(request)) = flow.poll(Time::START) else { panic!("something is sent") };
    flow.handle_stop(Time::START, Stop::Interrupted);
    assert!(flow.poll(Time::START).is_none());
    assert!(!flow.is_done(), "the answer is waited for");
    let attempt = Cluster::default().bulk(&request, Fault::None);
    flow.handle_attempt(Time::START, request.id, Duration::ZERO, 0, attempt);
    assert!(flow.poll(Time::START).is_none() && flow.is_done());
    flow.close().unwrap();
    let counts = flow.counts();
    assert_eq!(
        (counts.docs_created, counts.docs_given_back),
        (u64::from(request.items), 40 - u64::from(request.items))
    );
}

#[test]
fn an_answer_that_never_comes_after_an_interrupt_is_unknown() {
    let (ids, words) = good(2);
    let encoder = Encoder::new(operations(Action::Index, true));
    let mut flow = flow(config(), 1000, 1);
    flow.handle_block(Time::START, encoder.encode(blocks(&ids, &words, 2).remove(0))).unwrap();
    flow.handle_source_end();
    assert!(matches!(flow.poll(Time::START), Some(Command::Send(_))));
    flow.handle_stop(Time::START, Stop::Interrupted);
    let due = flow.poll_timeout().unwrap();
    assert_eq!(due.since_start(), config().drain_max);
    assert!(flow.poll(due).is_none() && flow.is_done());
    flow.close().unwrap();
    assert_eq!(flow.counts().docs_unknown, 2);
}

#[test]
fn a_stop_at_the_end_of_a_pause_waits_for_the_probe_without_spinning() {
    let (ids, words) = good(2);
    let encoder = Encoder::new(operations(Action::Index, true));
    let mut flow = flow(config(), 1000, 1);
    flow.handle_block(Time::START, encoder.encode(blocks(&ids, &words, 2).remove(0))).unwrap();
    flow.handle_source_end();
    let Some(Command::Send(first)) = flow.poll(Time::START) else { panic!("something is sent") };
    flow.handle_attempt(Time::START, first.id, Duration::ZERO, 0, Cluster::default().bulk(&first, Fault::Flood));
    while !matches!(flow.poll(flow.poll_timeout().unwrap()), Some(Command::Send(_))) {}
    let end = Time::START + config().pause_max;
    assert!(flow.poll(end).is_none());
    assert!(matches!(flow.stopped(), Some(Stop::Failed(_))));
    assert_eq!(flow.poll_timeout(), Some(end + config().drain_max));
}

#[test]
fn summaries_count_as_created_until_there_are_errors() {
    let summary = FlowConfig { summary_replies: true, ..config() };
    let (ids, words) = good(3);
    let encoder = Encoder::new(operations(Action::Index, false));
    let mut flow = flow(summary, 1000, 1);
    flow.handle_block(Time::START, encoder.encode(blocks(&ids, &words, 3).remove(0))).unwrap();
    flow.handle_source_end();
    let Some(Command::Send(first)) = flow.poll(Time::START) else { panic!("something is sent") };
    assert!(!first.item_replies);
    let errors = Attempt::Replied(BulkReply { took_ms: None, errors: true, ..BulkReply::default() });
    flow.handle_attempt(Time::START, first.id, Duration::ZERO, 0, errors);
    let Some(Command::Send(second)) = flow.poll(Time::START) else { panic!("it is sent again") };
    assert!(second.item_replies);
    assert_eq!(flow.counts().possible_duplicates, 3);
}

#[test]
fn attempts_that_get_most_in_do_not_make_the_waits_grow() {
    let (ids, words) = good(200);
    let encoder = Encoder::new(operations(Action::Index, true));
    let roomy = FlowConfig { memory: 1 << 20, ..config() };
    // Two thirds of each request are accepted: 200, 67, 23, 8, 3.
    let out = drive(flow(roomy, 1 << 20, 1), &encoder, blocks(&ids, &words, 200), &[Fault::Rejects(3); 5], 1);
    assert_eq!((out.flow.counts().docs_created, out.flow.counts().requests), (200, 6));
    assert!(out.elapsed < Duration::from_millis(5 * 100 + 10), "{:?}", out.elapsed);
}

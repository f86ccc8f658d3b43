//! Requests that the cluster carries out after the loader has given them up, at every point: later
//! operations on their ids must not be undone, or must be named.
//!
//! When it is compiled, `INRUSH_ORDERS` is the number of runs of each kind, `INRUSH_SEED` the first
//! seed.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::block::DocMeta;
use crate::coalesce::Coalesce;
use crate::reply::WriteMark;

const IDS: u64 = 4;
/// Memory of a load, bytes.
const MEMORY: u64 = 1 << 20;

/// Numbers that follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The fields of a document.
type Document = BTreeMap<String, u64>;

#[derive(Clone, Debug, PartialEq)]
struct Operation {
    action: Action,
    id: u64,
    fields: Document,
    /// The external version. The cluster of the test does not compare it.
    version: Option<u64>,
}

/// Documents, as a server keeps them.
#[derive(Clone, Default)]
struct Index {
    documents: BTreeMap<u64, (Document, WriteMark)>,
    versions: BTreeMap<u64, u64>,
    writes: u64,
}

impl Index {
    /// Carries out one operation. Returns its status, result and mark.
    fn apply(&mut self, operation: &Operation) -> (u16, Option<ItemResult>, Option<WriteMark>) {
        let Operation { action, id, fields, .. } = operation;
        let found = self.documents.get(id).cloned();
        let document = match (action, found) {
            (Action::Create, Some(_)) => return (409, None, None),
            (Action::Update, None) => return (404, None, None),
            (Action::Delete, found) => {
                let mark = self.write(*id);
                self.documents.remove(id);
                return match found {
                    Some(_) => (200, Some(ItemResult::Deleted), Some(mark)),
                    None => (404, Some(ItemResult::NotFound), Some(mark)),
                };
            }
            (Action::Update | Action::Upsert, Some((mut document, mark))) => {
                let before = document.clone();
                document.extend(fields.clone());
                if document == before {
                    return (200, Some(ItemResult::Noop), Some(mark));
                }
                document
            }
            (Action::Index | Action::Create | Action::Upsert, _) => fields.clone(),
        };
        let mark = self.write(*id);
        match self.documents.insert(*id, (document, mark)) {
            None => (201, Some(ItemResult::Created), Some(mark)),
            Some(_) => (200, Some(ItemResult::Updated), Some(mark)),
        }
    }

    fn write(&mut self, id: u64) -> WriteMark {
        self.writes += 1;
        let version = self.versions.entry(id).or_default();
        *version += 1;
        WriteMark { primary_term: 1, seq_no: self.writes, version: *version }
    }

    fn contents(&self) -> BTreeMap<u64, Document> {
        self.documents.iter().map(|(id, (document, _))| (*id, document.clone())).collect()
    }
}

/// What the loader can find out about requests without an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Watch {
    /// When each is over.
    Right,
    /// Some that are not over seem to be, because their node has not read them yet.
    Hasty,
    /// Some never become known.
    Blind,
    /// Each counts as over at once, as before later operations waited.
    Never,
}

/// A request that the cluster will carry out later.
struct Late {
    request: u64,
    at: Time,
    operations: Vec<Operation>,
}

/// One load of random operations into a cluster that carries out requests late.
struct Trial {
    random: Random,
    watch: Watch,
    index: Index,
    late: Vec<Late>,
    /// When the loader is told that a request is over.
    over: BTreeMap<u64, (Time, Over)>,
    answers: Vec<(Time, u64, Attempt)>,
    gone: Vec<u64>,
    letters: BTreeSet<u64>,
    now: Time,
}

impl Trial {
    fn later(&mut self, most_ms: u64) -> Time {
        self.now + Duration::from_millis(self.random.below(most_ms))
    }

    /// Carries out the late requests that are due.
    fn catch_up(&mut self) {
        self.late.sort_by_key(|late| late.at);
        while self.late.first().is_some_and(|late| late.at <= self.now) {
            for operation in self.late.remove(0).operations {
                self.index.apply(&operation);
            }
        }
    }

    fn reply(&mut self, operations: &[Operation]) -> BulkReply {
        let mut reply = BulkReply { took_ms: Some(1), ..BulkReply::default() };
        for operation in operations {
            let (status, result, mark) = self.index.apply(operation);
            let kind = if status == 409 { "version_conflict_engine_exception" } else { "document_missing_exception" };
            let error = result.is_none().then(|| ItemError { kind: kind.into(), ..ItemError::default() });
            reply.errors |= error.is_some();
            let action = item_action(operation.action);
            let item = ItemReply { action, status, index: None, result, error, failure_store_used: false };
            reply.runs.push(ItemRun { count: 1, item });
            reply.ids.push(Some(operation.id.to_string().into()));
            reply.marks.push(mark);
        }
        reply
    }

    /// The node of a shard is lost on the way. It carries its operations out later, or never.
    fn reply_without_a_shard(&mut self, request: u64, operations: &[Operation]) -> BulkReply {
        let shard = self.random.below(2);
        let is_lost = |operation: &&Operation| operation.id % 2 == shard;
        let lost: Vec<Operation> = operations.iter().filter(is_lost).cloned().collect();
        let mut done = {
            let others: Vec<Operation> = operations.iter().filter(|operation| !is_lost(operation)).cloned().collect();
            self.reply(&others)
        };
        let mut whole = BulkReply { errors: done.errors || !lost.is_empty(), took_ms: Some(1), ..BulkReply::default() };
        let mut others = done.runs.drain(..).zip(done.marks.drain(..));
        for operation in operations {
            let (run, mark) = match is_lost(&operation) {
                true => (unavailable(operation), None),
                // One for each.
                false => others.next().unwrap(),
            };
            whole.runs.push(run);
            whole.ids.push(Some(operation.id.to_string().into()));
            whole.marks.push(mark);
        }
        if !lost.is_empty() && self.random.one_in(2) {
            let at = self.later(3000);
            self.late.push(Late { request, at, operations: lost });
        }
        whole
    }

    fn send(&mut self, request: &Request) {
        let operations = parse(&json_body(request));
        let lost = Attempt::Lost { reason: "timed out".into() };
        let gateway = Attempt::Refused { status: 504, error: ItemError::default(), retry_after: None };
        let answer = match self.random.below(10) {
            0 => lost,
            1 => {
                self.reply(&operations);
                lost
            }
            // A part is carried out at once and the rest, or all of it, later.
            2..4 => {
                let done = self.random.below(operations.len() as u64 + 1) as usize;
                self.reply(&operations[..done]);
                let at = self.later(3000);
                let from = if self.random.one_in(2) { done } else { 0 };
                self.late.push(Late { request: request.id, at, operations: operations[from..].to_vec() });
                if self.random.one_in(3) { gateway } else { lost }
            }
            4 => Attempt::NotSent { reason: "refused".into(), lasting: false },
            number => {
                let mut reply = match number {
                    5 => self.reply_without_a_shard(request.id, &operations),
                    _ => self.reply(&operations),
                };
                if !request.item_ids {
                    (reply.ids, reply.marks) = (Vec::new(), Vec::new());
                }
                Attempt::Replied(reply)
            }
        };
        let at = self.later(40);
        self.answers.push((at, request.id, answer));
    }

    /// Decides when the loader is told that a request is over.
    fn watch(&mut self, request: u64) {
        let late = self.late.iter().find(|late| late.request == request).map(|late| late.at);
        let at = late.unwrap_or(self.now).max(self.now) + Duration::from_millis(self.random.below(100));
        let soon = self.later(100);
        let told = match self.watch {
            Watch::Right => (at, Over::Ended),
            Watch::Hasty if self.random.one_in(2) => (soon, Over::Ended),
            Watch::Blind if self.random.one_in(2) => (soon, Over::Unknown("a node does not answer".into())),
            Watch::Hasty | Watch::Blind => (at, Over::Ended),
            Watch::Never => (self.now, Over::Ended),
        };
        self.over.insert(request, told);
    }

    fn execute(&mut self, flow: &mut Flow, command: Command) {
        match command {
            Command::Send(request) => self.send(&request),
            Command::AwaitGone { request } => self.gone.push(request),
            Command::AwaitOver { request } => self.watch(request),
            Command::ReadBack { request, writes } => {
                // What is late was carried out before, as far as it can be found.
                self.now = self.late.iter().map(|late| late.at).fold(self.now, Time::max);
                self.catch_up();
                let found: Vec<ReadBack> = writes.iter().map(|write| self.read(write)).collect();
                flow.handle_read_back(request, &found);
            }
            Command::Compare { request, items } => {
                flow.handle_compared(self.now, request, &vec![Comparison::Other; items.len()]);
            }
            Command::DeadLetter(letter) => drop(self.letters.insert(letter.position.doc)),
            Command::Note(_) | Command::Probe(_) => {}
            other => unreachable!("{other:?}"),
        }
    }

    fn read(&self, write: &LastWrite) -> ReadBack {
        let line: serde_json::Value = serde_json::from_slice(&write.action).unwrap();
        let meta = line.as_object().unwrap().values().next().unwrap();
        let id: u64 = meta["_id"].as_str().unwrap().parse().unwrap();
        let is_same = match (self.index.documents.get(&id), &write.left) {
            (None, left) => *left == Left::Absent,
            (Some((_, found)), Left::Write(mark)) => found == mark,
            (Some((found, _)), Left::Document(document)) => {
                serde_json::from_slice::<Document>(document).unwrap() == *found
            }
            (Some(_), Left::Absent) => false,
        };
        match is_same {
            true => ReadBack::Same,
            false => ReadBack::Written,
        }
    }

    /// Passes on what happens next.
    fn step(&mut self, flow: &mut Flow) {
        if let Some(request) = self.gone.pop() {
            return flow.handle_gone(self.now, request);
        }
        let over = self.over.iter().map(|(request, (at, _))| (*at, *request)).min();
        let answer = self.answers.iter().map(|(at, request, _)| (*at, *request)).min();
        let next = [over, answer].into_iter().flatten().map(|(at, _)| at).chain(flow.poll_timeout()).min();
        self.now = self.now.max(next.expect("a flow that is not done waits for something"));
        self.catch_up();
        if let Some((_, request)) = over.filter(|(at, _)| *at <= self.now) {
            let (_, over) = self.over.remove(&request).unwrap();
            flow.handle_over(self.now, request, over);
        } else if let Some((_, request)) = answer.filter(|(at, _)| *at <= self.now) {
            let at = self.answers.iter().position(|(_, id, _)| *id == request).unwrap();
            let (_, _, attempt) = self.answers.swap_remove(at);
            flow.handle_attempt(self.now, request, Duration::from_millis(1), 0, attempt);
        }
    }
}

/// The answer for an operation whose primary was lost.
fn unavailable(operation: &Operation) -> ItemRun {
    let error = ItemError { kind: "unavailable_shards_exception".into(), ..ItemError::default() };
    let action = item_action(operation.action);
    let item =
        ItemReply { action, status: 503, index: None, result: None, error: Some(error), failure_store_used: false };
    ItemRun { count: 1, item }
}

fn item_action(action: Action) -> ItemAction {
    match action {
        Action::Index => ItemAction::Index,
        Action::Create => ItemAction::Create,
        Action::Update | Action::Upsert => ItemAction::Update,
        Action::Delete => ItemAction::Delete,
    }
}

/// The operations of a body.
fn parse(body: &str) -> Vec<Operation> {
    let (mut lines, mut operations) = (body.lines(), Vec::new());
    while let Some(line) = lines.next() {
        let line: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        let (key, meta) = line.into_iter().next().unwrap();
        let (id, version) = (meta["_id"].as_str().unwrap().parse().unwrap(), meta["version"].as_u64());
        let (action, fields) = match key.as_str() {
            "delete" => (Action::Delete, Document::default()),
            "update" => {
                let update: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
                let action = if update["doc_as_upsert"] == true { Action::Upsert } else { Action::Update };
                (action, serde_json::from_value(update["doc"].clone()).unwrap())
            }
            key => (key.parse().unwrap(), serde_json::from_str(lines.next().unwrap()).unwrap()),
        };
        operations.push(Operation { action, id, fields, version });
    }
    operations
}

fn operations_of(actions: &[Action], random: &mut Random) -> Vec<Operation> {
    let count = 1 + random.below(40);
    (0..count)
        .map(|n| {
            let field = ["a", "b"][random.below(2) as usize].to_owned();
            let action = actions[random.below(actions.len() as u64) as usize];
            Operation { action, id: random.below(IDS), fields: Document::from([(field, n)]), version: None }
        })
        .collect()
}

fn blocks_of(operations: &[Operation], random: &mut Random) -> VecDeque<ItemBlock> {
    let encoder = Encoder::new(super::operations(Action::Index, false));
    let (mut blocks, mut first_doc) = (VecDeque::new(), 0);
    while (first_doc as usize) < operations.len() {
        let count = (1 + random.below(8) as usize).min(operations.len() - first_doc as usize);
        let (mut data, mut records, mut meta) = (Vec::new(), Vec::new(), Vec::new());
        for (line, operation) in operations[first_doc as usize..][..count].iter().enumerate() {
            let start = data.len() as u32;
            if operation.action != Action::Delete {
                data.extend_from_slice(&serde_json::to_vec(&operation.fields).unwrap());
            }
            records.push(Record { start, end: data.len() as u32, byte: start, line: line as u32 });
            let of_operation = DocMeta::default().with_action(operation.action).with_id(operation.id.to_string());
            meta.push(DocMeta { version: operation.version, ..of_operation });
        }
        let origin = crate::Origin { first_doc, ..crate::Origin::default() };
        blocks.push_back(encoder.encode(DocBlock { origin, data: data.into(), records, meta, ..DocBlock::default() }));
        first_doc += count as u64;
    }
    blocks
}

/// A cluster without documents.
fn trial(random: Random, watch: Watch) -> Trial {
    Trial {
        random,
        watch,
        index: Index::default(),
        late: Vec::new(),
        over: BTreeMap::new(),
        answers: Vec::new(),
        gone: Vec::new(),
        letters: BTreeSet::new(),
        now: Time::START,
    }
}

/// Runs a flow to its end, or for some steps. Returns the flow, and whether it is done.
fn run(trial: &mut Trial, operations: &[Operation], steps: u64) -> (Flow, bool) {
    let mut blocks = blocks_of(operations, &mut trial.random);
    let windows = trial.random.one_in(3);
    let coalesce: Option<Coalesce> = windows.then(|| "50ms".parse().unwrap());
    let config = FlowConfig { coalesce, memory: MEMORY, linger: Duration::ZERO, ..patient() };
    let mut flow = flow(config, 1 + trial.random.below(300), 1 + trial.random.below(4) as u32);
    for _ in 0..steps {
        if let Some(block) = blocks.pop_front() {
            flow.handle_block(trial.now, block).unwrap();
        } else {
            flow.handle_source_end();
        }
        while let Some(command) = flow.poll(trial.now) {
            trial.execute(&mut flow, command);
        }
        if flow.is_done() {
            return (flow, true);
        }
        if blocks.is_empty() || !trial.answers.is_empty() {
            trial.step(&mut flow);
        }
    }
    (flow, false)
}

/// Steps that no load needs.
const TO_THE_END: u64 = 100_000;

/// Whether the index is as the order of the operations says, once all requests are over.
fn judge(trial: &mut Trial, operations: &[Operation]) -> (bool, String) {
    trial.now = trial.now + Duration::from_secs(3600);
    trial.catch_up();
    let mut expected = Index::default();
    for operation in operations {
        expected.apply(operation);
    }
    let (found, expected) = (trial.index.contents(), expected.contents());
    // Of operations that were coalesced, those in between are missing in `found` as well.
    (found == expected, format!("{found:?} instead of {expected:?}"))
}

/// Runs one load. Returns whether the index is as the order of the operations says, what is known
/// of that, and the content for messages.
fn load(seed: u64, watch: Watch) -> (bool, Order, String) {
    let mut random = Random(seed);
    let actions = [Action::Index, Action::Create, Action::Update, Action::Upsert, Action::Delete];
    let operations = operations_of(&actions, &mut random);
    let mut trial = trial(random, watch);
    let (mut flow, is_done) = run(&mut trial, &operations, TO_THE_END);
    assert!(is_done, "seed {seed}: the flow does not come to an end");
    flow.close().unwrap();
    let order = flow.order().clone();
    let (right, what) = judge(&mut trial, &operations);
    (right, order, format!("seed {seed}: {what}"))
}

/// Runs a load that dies, and another one that goes on where the first had settled. `waits`: until
/// the requests of the first are over. Documents are whole, because some operations are repeated.
fn two_members(seed: u64, waits: bool) -> (bool, String) {
    let mut random = Random(seed);
    let operations = operations_of(&[Action::Index, Action::Delete], &mut random);
    let steps = random.below(60);
    let mut trial = trial(random, Watch::Right);
    let (first, _) = run(&mut trial, &operations, steps);
    let settled = first.settled_below().into_values().next().unwrap_or_default();
    (trial.over, trial.answers, trial.gone) = Default::default();
    if waits {
        trial.now = trial.late.iter().map(|late| late.at).fold(trial.now, Time::max);
        trial.catch_up();
    }
    let (_, is_done) = run(&mut trial, &operations[settled as usize..], TO_THE_END);
    assert!(is_done, "seed {seed}: the second load does not come to an end");
    let (right, what) = judge(&mut trial, &operations);
    (right, format!("seed {seed}: {what}"))
}

/// The seeds of this run.
fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |text: Option<&str>| text.map(|text| text.parse::<u64>().unwrap());
    let first = number(option_env!("INRUSH_SEED")).unwrap_or(1);
    first..first + number(option_env!("INRUSH_ORDERS")).unwrap_or(default)
}

#[test]
fn later_operations_are_not_undone() {
    let (mut unchecked, seeds) = (0, seeds(2000));
    let runs = seeds.end - seeds.start;
    for seed in seeds {
        let (right, order, what) = load(seed, Watch::Right);
        assert!(right, "{what}");
        assert_eq!(order.written, 0, "{what}");
        assert_eq!(order.unknown, 0, "{what}");
        unchecked += u64::from(order.unchecked > 0);
    }
    assert!(unchecked < runs, "no order was checked");
    println!("loads whose requests are watched: {runs}, undone 0, with an order that could not be checked {unchecked}");
}

#[test]
fn what_is_undone_by_a_request_that_seemed_to_be_over_is_named() {
    let (mut undone, seeds) = (0, seeds(2000));
    for seed in seeds.clone() {
        let (right, order, what) = load(seed, Watch::Hasty);
        assert!(right || order.written + order.unknown + order.unchecked > 0, "{what}");
        undone += u64::from(!right);
    }
    assert!(undone > 0, "no request was late");
    println!("loads with requests that seem to be over: {}, undone and told {undone}", seeds.end - seeds.start);
}

#[test]
fn what_may_be_undone_by_a_request_that_may_not_be_over_is_told() {
    let (mut undone, seeds) = (0, seeds(2000));
    for seed in seeds.clone() {
        let (right, order, what) = load(seed, Watch::Blind);
        assert!(right || order.written + order.unknown + order.unchecked > 0, "{what}");
        undone += u64::from(!right);
    }
    println!("loads with requests of which nothing is known: {}, undone and told {undone}", seeds.end - seeds.start);
}

#[test]
fn a_member_that_takes_over_is_not_undone() {
    let seeds = seeds(2000);
    for seed in seeds.clone() {
        let (right, what) = two_members(seed, true);
        assert!(right, "{what}");
    }
    println!("loads that a second member goes on with: {}, undone 0", seeds.end - seeds.start);
}

/// 4,000 documents of 500 bytes, then others with the same ids.
fn twice(are_versioned: bool) -> Vec<Operation> {
    let fields = |n: u64| (0..50).map(|field| (format!("field{field}"), n)).collect();
    let version = |n: u64| are_versioned.then_some(n);
    let operation = |n: u64| Operation { action: Action::Index, id: n % 4000, fields: fields(n), version: version(n) };
    (0..8000).map(operation).collect()
}

/// Many requests get no answer.
#[test]
fn ids_beyond_the_memory_are_told_and_not_kept() {
    for (watch, is_told) in
        [(Watch::Right, (|order| order.unchecked) as fn(&Order) -> u64), (Watch::Blind, |order| order.unknown)]
    {
        let operations = twice(false);
        let mut trial = trial(Random(7), watch);
        let (flow, is_done) = run(&mut trial, &operations, TO_THE_END);
        assert!(is_done);
        assert!(is_told(flow.order()) > 500, "{:?}", flow.order());
        assert!(flow.open.bytes() <= MEMORY / 4, "{} bytes", flow.open.bytes());
        let (right, what) = judge(&mut trial, &operations);
        assert!(right || flow.order().written + flow.order().unknown > 0, "{what}");
    }
}

/// The server protects them.
#[test]
fn ids_with_versions_are_not_told() {
    for watch in [Watch::Right, Watch::Blind] {
        let mut trial = trial(Random(7), watch);
        let (flow, is_done) = run(&mut trial, &twice(true), TO_THE_END);
        assert!(is_done);
        let order = flow.order();
        assert_eq!((order.checked, order.unchecked, order.unknown), (0, 0, 0), "{order:?}");
    }
}

#[test]
fn without_the_wait_the_simulation_finds_older_content() {
    let undone = seeds(200).filter(|seed| !load(*seed, Watch::Never).0).count();
    assert!(undone > 0, "the simulation finds no fault");
    let of_members = seeds(200).filter(|seed| !two_members(*seed, false).0).count();
    assert!(of_members > 0, "the simulation finds no fault of members");
    println!("without the wait: {undone} undone, {of_members} with two members");
}

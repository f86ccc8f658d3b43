//! An index that acknowledges before it syncs. Its shards restart at any time and lose what was not
//! flushed, and the loader is killed now and then.

use std::collections::BTreeSet;

use super::*;
use crate::checkpoint::Checkpoint;
use crate::codes::Code;

const SHARDS: usize = 2;

/// A cluster whose shards lose what was not flushed.
struct Shaky {
    now: Cluster,
    disk: BTreeMap<String, String>,
    terms: Vec<u64>,
}

fn shard_of(id: &str) -> usize {
    id.bytes().map(usize::from).sum::<usize>() % SHARDS
}

impl Shaky {
    fn new() -> Self {
        Shaky { now: Cluster::default(), disk: BTreeMap::new(), terms: vec![1; SHARDS] }
    }

    fn terms(&self) -> PrimaryTerms {
        PrimaryTerms { index: "x".into(), uuid: "u".into(), terms: self.terms.clone() }
    }

    /// Loses what was not flushed, unless another copy takes over.
    fn crash(&mut self, shard: usize, loses: bool) {
        self.terms[shard] += 1;
        if loses {
            self.now.documents.retain(|id, _| shard_of(id) != shard);
            let kept = self.disk.iter().filter(|(id, _)| shard_of(id) == shard);
            self.now.documents.extend(kept.map(|(id, text)| (id.clone(), text.clone())));
        }
    }

    fn flush(&mut self, shards: &[usize]) {
        self.disk.retain(|id, _| !shards.contains(&shard_of(id)));
        let there = self.now.documents.iter().filter(|(id, _)| shards.contains(&shard_of(id)));
        self.disk.extend(there.map(|(id, text)| (id.clone(), text.clone())));
    }
}

/// The document's number in the source, which is part of its content.
fn number(text: &str) -> u64 {
    let rest = text.split("\"n\":").nth(1).unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

/// The events that may still occur, with their numbers.
#[derive(Clone, Copy, Debug)]
struct Mishaps {
    crashes: u32,
    flush_failures: u32,
    deaths: u32,
}

struct Sent {
    request: Request,
    attempt: Option<Attempt>,
}

enum Flushing {
    Asked,
    Flushed { whole: bool },
    Read(Flushed),
}

struct Chaos<'a> {
    config: FlowConfig,
    batch_bytes: u64,
    in_flight: u32,
    encoder: &'a Encoder,
    blocks: Vec<DocBlock>,
    words: Vec<&'a str>,
    ids: Option<Vec<String>>,
    faults: std::vec::IntoIter<Fault>,
    mishaps: Mishaps,
    seed: u64,
    server: Shaky,
    disk: Option<String>,
    letters: Vec<u64>,
    /// How often each document was sent.
    sends: BTreeMap<u64, u64>,
}

impl Chaos<'_> {
    fn random(&mut self, n: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) % n
    }

    /// Runs until all is done, with as many restarts as necessary.
    fn run(&mut self) -> Flow {
        loop {
            if let Some(flow) = self.live() {
                return flow;
            }
        }
    }

    fn checkpoint(&mut self, flow: &mut Flow, blocked: Option<&DocBlock>) {
        let reach = |b: &DocBlock| (Default::default(), b.origin.first_doc + b.records.len() as u64 + 5);
        let checkpoint = flow.checkpoint(&blocked.map(reach).into_iter().collect());
        self.disk = Some(serde_json::to_string(&checkpoint).unwrap());
        flow.handle_checkpoint(&checkpoint);
    }

    fn live(&mut self) -> Option<Flow> {
        let mut flow = flow(self.config, self.batch_bytes, self.in_flight);
        let earlier: Option<Checkpoint> = self.disk.as_ref().map(|text| serde_json::from_str(text).unwrap());
        flow.enable_checkpoints(earlier.as_ref()).unwrap();
        flow.wait_for_flushes(self.server.terms());
        let mut blocks = VecDeque::from(self.blocks.clone());
        let (mut sent, mut gone): (Vec<Sent>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut flushing: Option<(u64, Flushing)> = None;
        let mut now = Time::START;
        for _ in 0..100_000 {
            self.feed(&mut flow, now, &mut blocks);
            self.execute(&mut flow, now, &mut sent, &mut gone, &mut flushing);
            self.check(&flow);
            if flow.is_done() {
                flow.close().unwrap();
                return Some(flow);
            }
            let blocked = blocks.front().filter(|b| !flow.may_take(&self.encoder.encode((*b).clone()))).cloned();
            if blocked.is_some() || flow.has_waiting_repeats() || self.random(5) == 0 {
                self.checkpoint(&mut flow, blocked.as_ref());
            }
            match self.random(12) {
                0 if self.mishaps.crashes > 0 => {
                    self.mishaps.crashes -= 1;
                    let shard = self.random(SHARDS as u64) as usize;
                    let loses = self.random(4) > 0;
                    self.server.crash(shard, loses);
                }
                1 if self.mishaps.deaths > 0 => {
                    self.mishaps.deaths -= 1;
                    return None;
                }
                2..=4 => self.step_flush(&mut flow, now, &mut flushing),
                5..=7 => {
                    let waiting: Vec<usize> = (0..sent.len()).filter(|&at| sent[at].attempt.is_none()).collect();
                    if !waiting.is_empty() {
                        let at = waiting[self.random(waiting.len() as u64) as usize];
                        let fault = self.faults.next().unwrap_or(Fault::None);
                        sent[at].attempt = Some(self.server.now.bulk(&sent[at].request, fault));
                    }
                }
                8..=10 => {
                    if let Some(request) = gone.pop() {
                        flow.handle_gone(now, request);
                    } else if let Some(at) = (0..sent.len()).find(|&at| sent[at].attempt.is_some()) {
                        let Sent { request, attempt } = sent.swap_remove(at);
                        flow.handle_attempt(now, request.id, Duration::ZERO, 0, attempt.unwrap());
                    }
                }
                _ if sent.is_empty() && gone.is_empty() && flushing.is_none() => {
                    now = flow.poll_timeout().filter(|&due| due > now).unwrap_or(now + Duration::from_millis(1));
                }
                _ => now = now + Duration::from_millis(1),
            }
        }
        panic!("the flow does not end");
    }

    /// Hands over as many blocks as the flow takes.
    fn feed(&self, flow: &mut Flow, now: Time, blocks: &mut VecDeque<DocBlock>) {
        while let Some(block) = blocks.front().filter(|_| flow.input_room() > 0) {
            let items = self.encoder.encode(block.clone());
            if !flow.may_take(&items) {
                break;
            }
            flow.handle_block(now, items).unwrap();
            blocks.pop_front();
        }
        if blocks.is_empty() {
            flow.handle_source_end();
        }
        let largest = self.blocks.iter().map(|b| b.data.len() + 60 * b.records.len()).max().unwrap() as u64;
        assert!(flow.buffered <= self.config.memory + largest, "{} bytes", flow.buffered);
    }

    /// Executes the commands of the flow. The server processes requests later.
    fn execute(
        &mut self,
        flow: &mut Flow,
        now: Time,
        sent: &mut Vec<Sent>,
        gone: &mut Vec<u64>,
        flushing: &mut Option<(u64, Flushing)>,
    ) {
        while let Some(command) = flow.poll(now) {
            match command {
                Command::Send(request) => {
                    for line in json_body(&request).lines().skip(1).step_by(2) {
                        *self.sends.entry(number(line)).or_default() += 1;
                    }
                    sent.push(Sent { request, attempt: None });
                }
                Command::AwaitGone { request } => gone.push(request),
                Command::AwaitOver { request } => flow.handle_over(now, request, Over::Ended),
                Command::ReadBack { request, writes } => {
                    flow.handle_read_back(request, &vec![ReadBack::Same; writes.len()]);
                }
                Command::Compare { .. } => unreachable!("nothing is compared"),
                Command::Flush { request, index } => {
                    assert!(index == "x" && flushing.is_none(), "one at a time");
                    *flushing = Some((request, Flushing::Asked));
                }
                Command::DeadLetter(letter) => self.letters.push(letter.position.doc),
                Command::Note(_)
                | Command::Sample { .. }
                | Command::Break { .. }
                | Command::Probe(_)
                | Command::Settled(_) => {}
            }
        }
    }

    fn step_flush(&mut self, flow: &mut Flow, now: Time, flushing: &mut Option<(u64, Flushing)>) {
        let Some((request, state)) = flushing.take() else { return };
        let next = match state {
            Flushing::Asked if self.mishaps.flush_failures > 0 && self.random(2) == 0 => {
                self.mishaps.flush_failures -= 1;
                let some = self.random(SHARDS as u64) as usize;
                self.server.flush(&[some]);
                Flushing::Flushed { whole: false }
            }
            Flushing::Asked => {
                self.server.flush(&[0, 1]);
                Flushing::Flushed { whole: true }
            }
            Flushing::Flushed { whole: true } => Flushing::Read(Flushed::Done(self.server.terms())),
            Flushing::Flushed { whole: false } => Flushing::Read(Flushed::Failed("one copy did not".into())),
            Flushing::Read(flushed) => return flow.handle_flushed(now, request, flushed),
        };
        *flushing = Some((request, next));
    }

    /// Every settled document is on disk or a dead letter.
    fn check(&self, flow: &Flow) {
        let checkpoint = flow.ledger.checkpoint();
        let settled = checkpoint.iter().flat_map(|p| p.settled.iter()).flat_map(|(first, end)| first..end);
        let on_disk: BTreeSet<u64> = self.server.disk.values().map(|text| number(text)).collect();
        for doc in settled.filter(|&doc| self.words[doc as usize] == "good") {
            match &self.ids {
                // A later document with the same id may have replaced it.
                Some(ids) => {
                    let there = self.server.disk.get(&ids[doc as usize]).map(|text| number(text));
                    assert!(there.is_some_and(|there| there >= doc), "{doc} is settled, and {there:?} is on disk");
                }
                None => assert!(on_disk.contains(&doc), "{doc} is settled, and not on disk"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]
    #[test]
    fn nothing_is_settled_that_a_lost_translog_could_lose(
        ids in prop::collection::vec(prop::option::of(0u8..6), 1..60),
        kinds in prop::collection::vec(0u8..20, 60),
        per_block in 1usize..10,
        batch_bytes in 1u64..600,
        in_flight in 1u32..5,
        memory in 200u64..4000,
        with_ids in any::<bool>(),
        faults in prop_oneof![Just(Vec::new()), prop::collection::vec(fault(), 0..20)],
        (crashes, flush_failures, deaths) in (0u32..6, 0u32..4, prop_oneof![3 => Just(0u32), 1 => 1u32..4]),
        coalesce in prop::option::of(coalesce::option()),
        seed in any::<u64>(),
    ) {
        let words: Vec<&str> = kinds.iter().take(ids.len()).map(|k| if *k == 0 { "poison" } else { "good" }).collect();
        let encoder = Encoder::new(operations(Action::Index, with_ids));
        let names: Vec<String> =
            ids.iter().enumerate().map(|(n, id)| id.map_or(format!("u{n}"), |id| format!("i{id}"))).collect();
        let calm = faults.is_empty() && deaths == 0;
        let mut chaos = Chaos {
            config: FlowConfig { memory, coalesce, ..patient() },
            batch_bytes,
            in_flight,
            encoder: &encoder,
            blocks: blocks(&ids, &words, per_block),
            words: words.clone(),
            ids: with_ids.then(|| names.clone()),
            faults: faults.into_iter(),
            mishaps: Mishaps { crashes, flush_failures, deaths },
            seed,
            server: Shaky::new(),
            disk: None,
            letters: Vec::new(),
            sends: BTreeMap::new(),
        };
        let flow = chaos.run();
        prop_assert_eq!(flow.stopped(), None);
        let counts = flow.counts();
        prop_assert_eq!(counts.docs_read, ids.len() as u64);
        prop_assert!(counts.add_up());
        prop_assert_eq!((counts.docs_given_back, counts.docs_unknown), (0, 0));
        prop_assert_eq!(flow.buffered, 0);
        let good = || (0..ids.len()).filter(|&n| words[n] == "good");
        let bad = (ids.len() - good().count()) as u64;
        prop_assert!(counts.docs_dead_lettered <= bad && bad <= counts.docs_dead_lettered + counts.docs_superseded);
        // Nothing can be lost any more.
        chaos.server.crash(0, true);
        chaos.server.crash(1, true);
        let there = &chaos.server.now.documents;
        if with_ids {
            let expected: BTreeMap<String, u64> = good().map(|n| (names[n].clone(), n as u64)).collect();
            let found: BTreeMap<String, u64> = there.iter().map(|(id, text)| (id.clone(), number(text))).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(counts.possible_duplicates, 0);
        } else {
            let found: BTreeSet<u64> = there.values().map(|text| number(text)).collect();
            prop_assert_eq!(found, good().map(|n| n as u64).collect());
            let twice = (there.len() - good().count()) as u64;
            prop_assert!(twice <= counts.possible_duplicates, "{} twice, {} possible", twice, counts.possible_duplicates);
            if calm {
                let repeats: u64 = chaos.sends.values().map(|sends| sends - 1).sum();
                prop_assert_eq!(counts.possible_duplicates, repeats);
            }
        }
    }
}

/// A flow with acknowledged documents, and the flush that it requested.
fn acknowledged(n: usize) -> (Flow, u64, Shaky) {
    let (ids, words) = good(n);
    let encoder = Encoder::new(operations(Action::Index, true));
    let mut flow = flow(config(), 2000, 1);
    let mut server = Shaky::new();
    flow.wait_for_flushes(server.terms());
    flow.handle_block(Time::START, encoder.encode(blocks(&ids, &words, n).remove(0))).unwrap();
    flow.handle_source_end();
    let Some(Command::Send(request)) = flow.poll(Time::START) else { panic!("something is sent") };
    let attempt = server.now.bulk(&request, Fault::None);
    flow.handle_attempt(Time::START, request.id, Duration::ZERO, 0, attempt);
    assert_eq!((flow.counts().docs_read, flow.is_done()), (0, false), "acknowledged is not settled");
    let Some(Command::Flush { request, .. }) = flow.poll(Time::START) else {
        panic!("a flush is the last thing to do")
    };
    (flow, request, server)
}

#[test]
fn documents_settle_with_the_flush_that_follows_them() {
    let (mut flow, flush, server) = acknowledged(3);
    assert!(flow.poll(Time::START).is_none(), "one flush at a time");
    flow.handle_flushed(Time::START, flush + 7, Flushed::Done(server.terms()));
    assert_eq!(flow.counts().docs_read, 0, "that was another one");
    flow.handle_flushed(Time::START, flush, Flushed::Done(server.terms()));
    assert!(flow.poll(Time::START).is_none() && flow.is_done());
    assert_eq!((flow.counts().docs_created, flow.counts().retried_items), (3, 0));
}

#[test]
fn a_slow_source_is_flushed_every_few_seconds() {
    let (ids, words) = good(4);
    let encoder = Encoder::new(operations(Action::Index, true));
    let mut flow = flow(config(), 2000, 1);
    let mut server = Shaky::new();
    flow.wait_for_flushes(server.terms());
    flow.handle_block(Time::START, encoder.encode(blocks(&ids, &words, 2).remove(0))).unwrap();
    let linger = Time::START + config().linger;
    let Some(Command::Send(request)) = flow.poll(linger) else { panic!("it has lingered") };
    flow.handle_attempt(linger, request.id, Duration::ZERO, 0, server.now.bulk(&request, Fault::None));
    assert!(flow.poll(linger).is_none(), "more may come");
    let due = flow.poll_timeout().unwrap();
    assert_eq!(due.since(linger), Duration::from_secs(5));
    assert!(matches!(flow.poll(due), Some(Command::Flush { .. })));
}

#[test]
fn flushes_that_never_succeed_end_the_run_with_unknown_documents() {
    let (mut flow, mut flush, _) = acknowledged(3);
    let mut now = Time::START;
    while !flow.is_done() {
        flow.handle_flushed(now, flush, Flushed::Failed("no primary".into()));
        while let Some(command) = flow.poll(now) {
            if let Command::Flush { request, .. } = command {
                flush = request;
            }
        }
        now = flow.poll_timeout().unwrap_or(now);
    }
    let patience = config().retry.retry_for + config().drain_max;
    assert!(now.since_start() >= config().retry.retry_for && now.since_start() <= patience + Duration::from_secs(30));
    assert!(
        matches!(flow.stopped(), Some(Stop::Failed(why)) if why.code == Code::NotDurable && why.message.contains("no primary")),
        "{:?}",
        flow.stopped()
    );
    flow.close().unwrap();
    assert_eq!((flow.counts().docs_unknown, flow.counts().docs_created), (3, 0));
    // The next run sends them again.
    assert_eq!(flow.last_checkpoint().counts.docs_read, 0);
}

#[test]
fn an_interrupt_waits_for_its_flush() {
    let (mut flow, flush, server) = acknowledged(3);
    flow.handle_stop(Time::START, Stop::Interrupted);
    assert!(flow.poll(Time::START).is_none() && !flow.is_done());
    flow.handle_flushed(Time::START, flush, Flushed::Done(server.terms()));
    assert!(flow.poll(Time::START).is_none() && flow.is_done());
    assert_eq!((flow.counts().docs_created, flow.counts().docs_unknown), (3, 0));
    let (mut flow, _, _) = acknowledged(3);
    flow.handle_stop(Time::START, Stop::Interrupted);
    let over = flow.poll_timeout().unwrap();
    assert!(flow.poll(over).is_none() && flow.is_done());
    assert_eq!(flow.counts().docs_unknown, 3);
}

#[test]
fn an_index_that_was_created_again_ends_the_run() {
    let (mut flow, flush, server) = acknowledged(3);
    let other = PrimaryTerms { uuid: "another".into(), ..server.terms() };
    flow.handle_flushed(Time::START, flush, Flushed::Done(other));
    assert!(matches!(flow.stopped(), Some(Stop::Failed(why)) if why.message.contains("created again")));
    assert!(flow.poll(Time::START).is_none() && flow.is_done());
    assert_eq!(flow.counts().docs_unknown, 3);
}

#[test]
fn documents_in_another_index_are_not_durable() {
    let (ids, words) = good(2);
    let encoder = Encoder::new(operations(Action::Index, true));
    let mut flow = flow(config(), 2000, 1);
    flow.wait_for_flushes(Shaky::new().terms());
    flow.handle_block(Time::START, encoder.encode(blocks(&ids, &words, 2).remove(0))).unwrap();
    flow.handle_source_end();
    let Some(Command::Send(request)) = flow.poll(Time::START) else { panic!("something is sent") };
    let Attempt::Replied(mut reply) = Cluster::default().bulk(&request, Fault::None) else { panic!("a reply") };
    reply.runs[1].item.index = Some("rerouted".into());
    flow.handle_attempt(Time::START, request.id, Duration::ZERO, 0, Attempt::Replied(reply));
    assert!(matches!(flow.stopped(), Some(Stop::Failed(why)) if why.message.contains("rerouted")));
    assert_eq!(flow.counts().docs_unknown, 1);
}

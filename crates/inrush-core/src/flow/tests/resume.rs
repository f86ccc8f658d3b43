//! Loads that are interrupted at any time, any number of times, and resume from the disk.

use super::*;
use crate::checkpoint::Checkpoint;

/// The state that survives a crash.
#[derive(Default)]
struct World {
    cluster: Cluster,
    /// The checkpoint, and the number of dead letters written before it.
    disk: Option<(String, usize)>,
    letters: Vec<DeadLetter>,
}

/// How one run of the loader ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Crash { after: u32 },
    Interrupt { after: u32 },
    Natural,
}

struct Job<'a> {
    config: FlowConfig,
    batch_bytes: u64,
    in_flight: u32,
    encoder: &'a Encoder,
    blocks: Vec<DocBlock>,
    format: BodyFormat,
}

impl Job<'_> {
    /// Hands over as many blocks as the flow takes.
    fn feed(&self, flow: &mut Flow, now: Time, blocks: &mut VecDeque<DocBlock>, smile: &mut SmileItemEncoder) {
        if flow.stopped().is_some() {
            return;
        }
        while let Some(block) = blocks.front()
            && flow.input_room() > 0
        {
            let mut items = self.encoder.encode(block.clone());
            if !flow.may_take(&items) {
                break;
            }
            if flow.encoding() == Encoding::Smile {
                smile.encode(&mut items, Vec::new(), Into::into);
            }
            flow.handle_block(now, items).unwrap();
            blocks.pop_front();
        }
        if blocks.is_empty() {
            flow.handle_source_end();
        }
    }
}

/// A checkpoint on its way to the disk.
struct Writing {
    checkpoint: Checkpoint,
    letters: usize,
    rounds_left: u64,
}

impl World {
    fn earlier(&self) -> Option<Checkpoint> {
        self.disk.as_ref().map(|(text, _)| serde_json::from_str(text).unwrap())
    }

    fn written(&mut self, checkpoint: &Checkpoint, letters: usize) {
        self.disk = Some((serde_json::to_string(checkpoint).unwrap(), letters));
    }

    /// Executes the commands of the flow.
    fn execute(
        &mut self,
        flow: &mut Flow,
        now: Time,
        faults: &mut impl Iterator<Item = Fault>,
        in_flight: &mut Vec<(u64, Attempt)>,
        gone: &mut Vec<u64>,
    ) {
        while let Some(command) = flow.poll(now) {
            match command {
                Command::Send(request) => {
                    let attempt = self.cluster.bulk(&request, faults.next().unwrap_or(Fault::None));
                    in_flight.push((request.id, attempt));
                }
                Command::AwaitGone { request } => gone.push(request),
                Command::AwaitOver { request } => flow.handle_over(now, request, Over::Ended),
                Command::ReadBack { request, writes } => {
                    flow.handle_read_back(request, &vec![ReadBack::Same; writes.len()]);
                }
                Command::Compare { request, items } => {
                    flow.handle_compared(now, request, &vec![Comparison::Equal; items.len()]);
                }
                Command::DeadLetter(letter) => self.letters.push(*letter),
                Command::Flush { .. } => unreachable!("flushes are not enabled"),
                Command::Note(_)
                | Command::Sample { .. }
                | Command::Break { .. }
                | Command::Probe(_)
                | Command::Settled(_) => {}
            }
        }
    }

    /// One run. Returns the flow at its end, unless it crashed.
    fn live(
        &mut self,
        job: &Job<'_>,
        faults: &mut impl Iterator<Item = Fault>,
        seed: &mut u64,
        end: End,
    ) -> Option<Flow> {
        let mut random = |n: u64| {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*seed >> 33) % n
        };
        let mut flow = flow(job.config, job.batch_bytes, job.in_flight);
        flow.enable_checkpoints(self.earlier().as_ref()).unwrap();
        flow.set_body_format_tuner(BodyFormatTuner::new(job.format, BodyFormatChoices::default(), ""));
        let mut smile = SmileItemEncoder::default();
        self.letters.truncate(self.disk.as_ref().map_or(0, |disk| disk.1));
        let mut blocks = VecDeque::from(job.blocks.clone());
        let mut writing: Option<Writing> = None;
        let mut in_flight: Vec<(u64, Attempt)> = Vec::new();
        let mut gone = Vec::new();
        let mut now = Time::START;
        for round in 0..100_000 {
            match end {
                End::Crash { after } if round == after => return None,
                End::Interrupt { after } if round == after => flow.handle_stop(now, Stop::Interrupted),
                _ => {}
            }
            job.feed(&mut flow, now, &mut blocks, &mut smile);
            self.execute(&mut flow, now, faults, &mut in_flight, &mut gone);
            if flow.is_done() {
                flow.close().unwrap();
                self.written(&flow.last_checkpoint(), self.letters.len());
                return Some(flow);
            }
            match &mut writing {
                Some(w) if w.rounds_left > 0 => w.rounds_left -= 1,
                Some(_) => {
                    let w = writing.take().unwrap();
                    self.written(&w.checkpoint, w.letters);
                    flow.handle_checkpoint(&w.checkpoint);
                    continue;
                }
                None => {
                    let blocked = blocks.front().filter(|b| !flow.may_take(&job.encoder.encode((*b).clone())));
                    if blocked.is_some() || flow.has_waiting_repeats() || random(3) == 0 {
                        let mut reach = |b: &DocBlock| b.origin.first_doc + b.records.len() as u64 + random(30);
                        let horizons = blocked.map(|b| (Default::default(), reach(b))).into_iter().collect();
                        let checkpoint = flow.checkpoint(&horizons);
                        writing = Some(Writing { checkpoint, letters: self.letters.len(), rounds_left: random(4) });
                    }
                }
            }
            if let Some(request) = gone.pop() {
                flow.handle_gone(now, request);
            } else if in_flight.is_empty() && writing.is_none() {
                now = flow.poll_timeout().filter(|&t| t > now).unwrap_or(now + Duration::from_millis(1));
            } else if in_flight.is_empty() || random(3) == 0 {
                now = now + Duration::from_millis(1);
            } else {
                let (request, attempt) = in_flight.swap_remove(random(in_flight.len() as u64) as usize);
                now = now + Duration::from_millis(5);
                flow.handle_attempt(now, request, Duration::from_millis(5), 0, attempt);
            }
        }
        panic!("the flow does not end");
    }
}

fn ends() -> impl Strategy<Value = Vec<End>> {
    let end = prop_oneof![
        3 => (0u32..120).prop_map(|after| End::Crash { after }),
        1 => (0u32..120).prop_map(|after| End::Interrupt { after }),
    ];
    prop::collection::vec(end, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::default())]
    #[test]
    fn every_document_is_settled_once_however_often_the_load_is_cut_off(
        ids in prop::collection::vec(prop::option::of(0u8..6), 1..60),
        kinds in prop::collection::vec(0u8..20, 60),
        per_block in 1usize..10,
        batch_bytes in 1u64..600,
        in_flight in 1u32..5,
        with_ids in any::<bool>(),
        faults in prop::collection::vec(fault(), 0..40),
        ends in ends(),
        mut seed in any::<u64>(),
        smile in any::<bool>(),
        coalesce in prop::option::of(coalesce::option()),
    ) {
        let words: Vec<&str> = kinds.iter().take(ids.len())
            .map(|k| match k { 0 => "poison", 1 => "reject", 2..5 => "exception", _ => "good" }).collect();
        let encoder = Encoder::new(operations(Action::Index, with_ids));
        let config = FlowConfig { coalesce, ..patient() };
        let format = BodyFormat::PLAIN.with_encoding(if smile { Encoding::Smile } else { Encoding::Json });
        let blocks = blocks(&ids, &words, per_block);
        let job = Job { config, batch_bytes, in_flight, encoder: &encoder, blocks, format };
        let mut world = World::default();
        let mut faults = faults.into_iter();
        for end in ends {
            if let Some(flow) = world.live(&job, &mut faults, &mut seed, end) {
                prop_assert!(flow.counts().add_up());
            }
        }
        let earlier = world.earlier().unwrap_or_default().counts.docs_read;
        let flow = world.live(&job, &mut faults, &mut seed, End::Natural).unwrap();
        prop_assert_eq!(flow.stopped(), None);
        let counts = flow.counts();
        prop_assert_eq!(counts.docs_read, ids.len() as u64);
        prop_assert_eq!(flow.counts_of_this_run().docs_read, ids.len() as u64 - earlier);
        prop_assert!(counts.add_up());
        prop_assert_eq!((counts.docs_given_back, counts.docs_unknown), (0, 0));
        let is_good = |n: usize| matches!(words[n], "good" | "exception");
        let bad: Vec<u64> = (0..ids.len() as u64).filter(|&n| !is_good(n as usize)).collect();
        let mut lettered: Vec<u64> = world.letters.iter().map(|l| l.position.doc).collect();
        lettered.sort_unstable();
        let superseded = bad.len() - lettered.len();
        prop_assert!(superseded as u64 <= counts.docs_superseded, "{:?} of {:?}", lettered, bad);
        prop_assert!(lettered.iter().all(|letter| bad.contains(letter)), "{:?} of {:?}", lettered, bad);
        prop_assert_eq!(flow.watermarks()[0].1.docs, ids.len() as u64);
        prop_assert_eq!((flow.buffered, flow.buffered_extra), (0, 0));
        let good = (0..ids.len()).filter(|&n| is_good(n));
        if with_ids {
            let mut expected = BTreeMap::new();
            for n in good {
                let id = ids[n].map_or(format!("u{n}"), |id| format!("i{id}"));
                expected.insert(id.clone(), document(&id, n as u64, words[n]));
            }
            let there = expected.len() as u64;
            prop_assert_eq!(world.cluster.documents, expected);
            prop_assert_eq!(counts.possible_duplicates, 0);
            let allowed = counts.docs_created..=counts.docs_created + counts.uncertain_updates;
            prop_assert!(allowed.contains(&there), "{} documents: {:?}", there, counts);
        } else {
            let there = world.cluster.documents.len() as u64;
            let expected = good.count() as u64;
            prop_assert!(there >= expected, "nothing is lost");
            prop_assert!(there - expected <= counts.possible_duplicates, "{} twice, {} reported", there - expected, counts.possible_duplicates);
        }
    }
}

#[test]
fn a_create_of_an_earlier_run_is_already_there() {
    let (ids, words) = good(40);
    let encoder = Encoder::new(operations(Action::Create, true));
    let job = Job {
        config: config(),
        batch_bytes: 200,
        in_flight: 2,
        encoder: &encoder,
        blocks: blocks(&ids, &words, 5),
        format: BodyFormat::PLAIN,
    };
    let mut world = World::default();
    let mut seed = 3;
    assert!(world.live(&job, &mut std::iter::empty(), &mut seed, End::Crash { after: 12 }).is_none());
    let there = world.cluster.documents.len() as u64;
    let settled = world.earlier().unwrap().counts.docs_read;
    assert!(there > settled, "{there} are there, {settled} of them known");
    let flow = world.live(&job, &mut std::iter::empty(), &mut seed, End::Natural).unwrap();
    let counts = flow.counts();
    assert_eq!((counts.docs_created, counts.docs_already_there), (40 - (there - settled), there - settled));
    assert_eq!(counts.docs_dead_lettered, 0);
}

#[test]
fn unknown_documents_are_sent_again_by_the_next_run() {
    let (ids, words) = good(10);
    let encoder = Encoder::new(operations(Action::Index, false));
    let job = Job {
        config: config(),
        batch_bytes: 200,
        in_flight: 1,
        encoder: &encoder,
        blocks: blocks(&ids, &words, 5),
        format: BodyFormat::PLAIN,
    };
    let mut world = World::default();
    let mut seed = 1;
    let gone = [Fault::ResetBeforeApplying; 1000];
    let flow = world.live(&job, &mut gone.into_iter(), &mut seed, End::Natural).unwrap();
    assert!(matches!(flow.stopped(), Some(Stop::Failed(_))));
    let unknown = flow.counts().docs_unknown;
    assert!(unknown > 0);
    assert_eq!(world.earlier().unwrap().counts.docs_read, 0);
    let flow = world.live(&job, &mut std::iter::empty(), &mut seed, End::Natural).unwrap();
    assert_eq!((flow.counts().docs_created, flow.counts().docs_unknown), (10, 0));
    assert!(flow.counts().possible_duplicates >= unknown);
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let mut damaged = Checkpoint::default();
    damaged.counts.docs_read = 1;
    damaged.counts.docs_indexed = 1;
    assert!(flow(config(), 100, 1).enable_checkpoints(Some(&damaged)).is_err());
}

#[test]
fn nothing_is_taken_beyond_the_horizon() {
    let (ids, words) = good(10);
    let encoder = Encoder::new(operations(Action::Index, true));
    let mut flow = flow(config(), 1000, 1);
    flow.enable_checkpoints(None).unwrap();
    let block = encoder.encode(blocks(&ids, &words, 10).remove(0));
    assert!(!flow.may_take(&block));
    let checkpoint = flow.checkpoint(&BTreeMap::from([(block.partition(), 9)]));
    flow.handle_checkpoint(&checkpoint);
    assert!(!flow.may_take(&block) && flow.handle_block(Time::START, block.clone()).is_err());
    let checkpoint = flow.checkpoint(&BTreeMap::from([(block.partition(), 10)]));
    flow.handle_checkpoint(&checkpoint);
    assert!(flow.may_take(&block));
}

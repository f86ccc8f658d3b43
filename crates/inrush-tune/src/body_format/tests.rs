//! The body format tuner on a small model of a link and a server, in virtual time.

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::SampleOutcome;

const BATCH: u64 = 1 << 20;
/// The compression ratio of gzip.
const RATIO: f64 = 7.0;
const SMILE_SIZE: f64 = 0.82;

/// A link and a server, one after the other.
#[derive(Clone, Copy, Debug)]
struct World {
    /// Bytes a second.
    link: f64,
    /// Bytes of JSON a second.
    server: f64,
    /// The server's speed with SMILE, as a factor.
    smile: f64,
    /// The server's speed with gzip, as a factor.
    gzip: f64,
    in_flight: u32,
    /// The source is slower than link and server.
    source_limited: bool,
    /// The source is slower than compressed bodies only.
    gzip_outruns_the_source: bool,
}

const NEAR: World = World {
    link: 1e9,
    server: 20e6,
    smile: 1.0,
    gzip: 0.9,
    in_flight: 4,
    source_limited: false,
    gzip_outruns_the_source: false,
};

struct Load {
    tuner: BodyFormatTuner,
    world: World,
    now: f64,
    link_free: f64,
    server_free: f64,
    cpu: f64,
    /// By their end, in microseconds.
    in_flight: BTreeMap<(u64, u64), (f64, BodyFormat, f64)>,
    /// Batches that were read in an earlier encoding.
    encodings: VecDeque<Encoding>,
    sent: u64,
    accepted: f64,
    changes: Vec<(f64, BodyFormat)>,
}

impl Load {
    fn new(choices: BodyFormatChoices, world: World) -> Self {
        let tuner = BodyFormatTuner::new(BodyFormat::PLAIN, choices, "");
        Load {
            tuner,
            world,
            now: 0.0,
            link_free: 0.0,
            server_free: 0.0,
            cpu: 0.0,
            in_flight: BTreeMap::new(),
            encodings: VecDeque::from([Encoding::Json; 3]),
            sent: 0,
            accepted: 0.0,
            changes: Vec::new(),
        }
    }

    /// Between 0.85 and 1.15.
    fn noise(&self) -> f64 {
        let bits = (self.sent + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        0.85 + 0.3 * ((bits ^ (bits >> 29)) >> 40) as f64 / (1_u64 << 24) as f64
    }

    fn send(&mut self) {
        let wanted = self.tuner.format();
        self.encodings.push_back(wanted.encoding);
        let format = BodyFormat { encoding: self.encodings.pop_front().unwrap(), ..wanted };
        let (smile, gzip) = (format.encoding == Encoding::Smile, format.compression != Compression::None);
        let body = BATCH as f64 * if smile { SMILE_SIZE } else { 1.0 } / if gzip { RATIO } else { 1.0 };
        self.link_free = self.link_free.max(self.now) + body / self.world.link;
        let speed = if smile { self.world.smile } else { 1.0 } * if gzip { self.world.gzip } else { 1.0 };
        let took = BATCH as f64 / self.world.server / speed * self.noise();
        let begins = self.server_free.max(self.link_free);
        self.server_free = begins + took;
        self.cpu += BATCH as f64 / 1e9 + if smile { 2e-3 } else { 0.0 } + if gzip { 3e-3 } else { 0.0 };
        self.sent += 1;
        let end = (self.server_free * 1e6) as u64;
        // The server's own time includes the wait for its threads.
        self.in_flight.insert((end, self.sent), (self.now, format, self.server_free - self.link_free));
    }

    fn run(&mut self, seconds: f64) -> &mut Self {
        let until = self.now + seconds;
        while self.now < until {
            while (self.in_flight.len() as u32) < self.world.in_flight {
                self.send();
            }
            let ((end, _), (sent, format, took)) = self.in_flight.pop_first().unwrap();
            self.now = self.now.max(end as f64 / 1e6);
            self.accepted += BATCH as f64;
            let sample = Sample {
                sent: Time::from_start(Duration::from_secs_f64(sent)),
                wall: Duration::from_secs_f64(self.now - sent),
                took: Some(Duration::from_secs_f64(took)),
                bytes: BATCH,
                docs: 7000,
                accepted: 7000,
                rejected: 0,
                outcome: SampleOutcome::Answered,
                in_flight: self.world.in_flight,
                source_limited: self.world.source_limited
                    || (self.world.gzip_outruns_the_source && format.compression != Compression::None),
                remainder: false,
                node: 0,
            };
            let now = Time::from_start(Duration::from_secs_f64(self.now));
            self.tuner.handle_cpu(Duration::from_secs_f64(self.cpu));
            self.tuner.handle_sample(now, &sample, format, true);
            if let Some(asked) = self.tuner.poll_probe() {
                assert_eq!(asked, all());
                self.tuner.handle_probe(Ok(()), Ok(()));
            }
            while let Some(change) = self.tuner.poll_change() {
                assert_eq!(self.changes.last().map_or(BodyFormat::PLAIN, |last| last.1), change.from);
                self.changes.push((self.now, change.to));
            }
        }
        self
    }

    fn steady(&self) -> String {
        self.tuner.steady().to_string()
    }
}

fn all() -> BodyFormatChoices {
    BodyFormatChoices { smile: true, gzip: Some(GzipLevel::default()) }
}

#[test]
fn a_slow_link_gets_gzip_within_seconds() {
    for in_flight in [2, 4, 16] {
        let world = World { link: 2.5e6, in_flight, ..NEAR };
        let mut load = Load::new(all(), world);
        load.run(10.0 + f64::from(in_flight));
        assert!(load.steady().ends_with("gzip:1"), "{in_flight}: {:?} {}", load.changes, load.tuner.why());
        // Requests that were sent before have to pass the link first.
        let waits = f64::from(in_flight) * BATCH as f64 / world.link;
        assert!(load.changes[0].0 < 3.0 + 2.5 * waits, "{in_flight}: {:?}", load.changes);
        // At most the ratio of the two rates, for every window of comparison.
        let why = load.tuner.why();
        let gain = why
            .strip_prefix("gzip:1 brought +")
            .and_then(|rest| rest.split_once(' '))
            .map(|(gain, _)| gain.parse::<u32>());
        assert!(matches!(gain, Some(Ok(200..=2_000))), "{in_flight}: {why}");
        load.run(100.0);
        assert!(load.accepted > 3.0 * 2.5e6 * 100.0);
    }
}

#[test]
fn a_format_that_outruns_the_source_is_better() {
    let mut load = Load::new(all(), World { link: 2.5e6, gzip_outruns_the_source: true, ..NEAR });
    load.run(10.0);
    assert!(load.steady().ends_with("gzip:1"), "{:?} {}", load.changes, load.tuner.why());
}

#[test]
fn a_format_without_a_gain_is_rejected_at_low_cost() {
    for smile in [0.9, 1.0, 1.02] {
        let world = World { smile, ..NEAR };
        let mut load = Load::new(all(), world);
        load.run(300.0);
        assert_eq!(load.steady(), "json", "{smile}: {:?}", load.changes);
        assert!(load.accepted > 0.98 * world.server * 300.0, "{smile}: {}", load.accepted / 300.0);
        let why = load.tuner.why();
        assert!(why.contains("smile brought") && why.contains("against json"), "{why}");
    }
}

#[test]
fn smile_is_chosen_if_it_is_clearly_faster() {
    let mut load = Load::new(all(), World { smile: 1.15, ..NEAR });
    load.run(59.0);
    assert_eq!((load.steady().as_str(), load.tuner.is_trying()), ("json", false));
    load.run(60.0);
    assert_eq!(load.steady(), "smile", "{:?}", load.tuner.why());
    // And given up when it is no longer faster.
    load.world.smile = 0.8;
    load.run(300.0);
    assert_eq!(load.steady(), "json", "{:?}", load.changes);
}

#[test]
fn a_link_that_becomes_slow_or_fast_is_noticed() {
    let mut load = Load::new(all(), NEAR);
    load.run(60.0);
    assert_eq!(load.steady(), "json");
    load.world.link = 2.5e6;
    load.run(40.0);
    assert!(load.steady().ends_with("gzip:1"), "{:?}", load.changes);
    load.world.link = 1e9;
    load.run(120.0);
    assert_eq!(load.tuner.steady().compression, Compression::None, "{:?}", load.changes);
}

#[test]
fn equal_forms_are_chosen_by_the_work_they_make() {
    let world = World { gzip: 1.0, ..NEAR };
    let mut load = Load::new(all(), World { link: 2.5e6, ..world });
    load.run(30.0);
    assert!(load.steady().ends_with("gzip:1"));
    // Both are equally fast now, and compression takes work.
    load.world = world;
    load.run(200.0);
    assert_eq!(load.tuner.steady().compression, Compression::None, "{}", load.tuner.why());
}

#[test]
fn nothing_is_compared_while_the_source_is_the_limit() {
    for link in [1e9, 2.5e6] {
        let mut load = Load::new(all(), World { link, source_limited: true, ..NEAR });
        load.run(100.0);
        assert_eq!((load.steady().as_str(), load.changes.len(), load.tuner.is_trying()), ("json", 0, false));
        assert!(load.tuner.why().contains("its source was the limit"), "{}", load.tuner.why());
    }
}

#[test]
fn fixed_and_forbidden_formats_are_not_tried() {
    let mut load = Load::new(BodyFormatChoices::default(), World { link: 2.5e6, ..NEAR });
    load.run(30.0);
    assert_eq!(load.steady(), "json");
    let smile = BodyFormat { encoding: Encoding::Smile, ..BodyFormat::PLAIN };
    let mut tuner = BodyFormatTuner::new(smile, BodyFormatChoices::default(), "as given");
    assert_eq!((tuner.why().as_str(), tuner.poll_change()), ("as given", None));
    tuner.forbid(Time::START, smile, "it answers in riddles");
    let change = tuner.poll_change().unwrap();
    assert_eq!((change.from, change.to, change.forced), (smile, BodyFormat::PLAIN, true));
    assert!(tuner.why().contains("does not accept smile: it answers in riddles"), "{}", tuner.why());
    tuner.forbid(Time::START, BodyFormat::PLAIN, "why not");
    assert_eq!((tuner.format(), tuner.poll_change()), (BodyFormat::PLAIN, None));

    let mut load = Load::new(all(), World { link: 2.5e6, smile: 1.5, ..NEAR });
    load.tuner.handle_probe(Err("406".into()), Err("400".into()));
    load.run(30.0);
    assert_eq!((load.steady().as_str(), load.tuner.poll_probe()), ("json", None));
    assert_eq!(load.tuner.why(), "the server does not accept smile: 406; the server does not accept gzip: 400");
}

#[test]
fn a_format_of_an_earlier_load_is_used_at_once_and_given_up_with_what_it_learned() {
    let gzip = BodyFormat { compression: Compression::Gzip(GzipLevel::default()), ..BodyFormat::PLAIN };
    let smile = BodyFormat { encoding: Encoding::Smile, ..BodyFormat::PLAIN };
    let all = BodyFormatChoices { smile: true, gzip: Some(GzipLevel::default()) };
    let tuner = || BodyFormatTuner::new(BodyFormat::PLAIN, all, "");
    assert_eq!(tuner().learned(), None);
    let mut recalled = tuner().recalling(gzip);
    assert_eq!((recalled.format(), recalled.learned()), (gzip, Some(gzip)));
    assert_eq!(recalled.why(), "an earlier load found json gzip:1 best");
    recalled.forget(Time::START);
    assert_eq!((recalled.format(), recalled.learned()), (BodyFormat::PLAIN, None));
    assert_eq!(recalled.poll_change().map(|change| change.to), Some(BodyFormat::PLAIN));
    recalled.forget(Time::START);
    assert!(recalled.poll_change().is_none(), "once");
    // What is fixed stays.
    let only_gzip = BodyFormatChoices { smile: false, ..all };
    let fixed = BodyFormatTuner::new(BodyFormat::PLAIN, only_gzip, "json as given").recalling(smile);
    assert_eq!((fixed.format(), fixed.learned()), (BodyFormat::PLAIN, None));
}

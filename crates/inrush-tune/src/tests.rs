//! The rules of the tuner by example, on a small model of a cluster. The simulator judges it on
//! realistic clusters.

mod model;
mod remembering;

use std::time::Duration;

use proptest::prelude::*;

use super::knobs::Knobs;
use super::*;
use model::{Cluster, Model};

const MIB: u64 = 1 << 20;

fn bounds() -> Bounds {
    Bounds { batch_bytes: (64 << 10, 64 * MIB), batch_docs: u32::MAX, in_flight: (1, 128), memory: 64 * MIB }
}

fn auto_within(bounds: Bounds) -> Box<dyn Tuner> {
    Box::new(AutoTuner::new(bounds))
}

fn auto() -> Box<dyn Tuner> {
    auto_within(bounds())
}

fn model(cluster: &Cluster) -> Model {
    Model::new(cluster.clone(), vec![auto()])
}

/// The rate of the best fixed plan of a grid, MiB/s.
fn best_fixed(cluster: &Cluster) -> f64 {
    best_of(cluster, &[1, 2, 4, 8, 16, 32, 64, 128])
}

fn best_of(cluster: &Cluster, in_flight: &[u32]) -> f64 {
    let sizes = (0..=6).map(|doublings| (256 << 10) << doublings);
    let plans = sizes.flat_map(|batch_bytes| in_flight.iter().map(move |&in_flight| (batch_bytes, in_flight)));
    let plans = plans.filter(|&(batch_bytes, in_flight)| batch_bytes * u64::from(in_flight) <= 64 * MIB);
    let rates = plans.map(|(batch_bytes, in_flight)| {
        let plan = Plan { batch_bytes, batch_docs: u32::MAX, in_flight };
        Model::new(cluster.clone(), vec![Box::new(Fixed(plan))]).run_until(20.0)[0]
    });
    rates.fold(0.0, f64::max)
}

/// The rate after 10 s, as a part of the best fixed plan's.
fn steady(cluster: &Cluster) -> f64 {
    let mut model = model(cluster);
    model.run_until(10.0);
    model.run_until(60.0)[0] / best_fixed(cluster)
}

#[track_caller]
fn at_least(ratio: f64, wanted: f64) {
    assert!(ratio >= wanted, "{ratio:.3} is below {wanted}");
}

#[test]
fn a_small_node_is_kept_busy() {
    at_least(steady(&Cluster { threads: 2, ..Cluster::default() }), 0.95);
}

#[test]
fn a_long_way_is_filled_within_seconds() {
    let cluster = Cluster { delay: 0.2, threads: 16, ..Cluster::default() };
    let best = best_fixed(&cluster);
    let mut model = model(&cluster);
    model.run_until(4.0);
    at_least(model.run_until(10.0)[0] / best, 0.9);
    at_least(model.run_until(60.0)[0] / best, 0.95);
}

#[test]
fn a_thin_line_is_not_flooded() {
    let cluster = Cluster { bandwidth: 1.2, ..Cluster::default() };
    at_least(steady(&cluster), 0.95);
    let mut model = model(&cluster);
    model.run_until(60.0);
    let plan = model.loaders[0].tuner.plan();
    assert!(plan.batch_bytes * u64::from(plan.in_flight) <= 6 * MIB, "{plan:?}");
}

#[test]
fn slow_first_bodies_do_not_count() {
    // The first bodies are slow if they bring an index its mapping. A slow link makes all bodies
    // slow.
    let size = |cluster: Cluster, seconds: f64| {
        let mut model = model(&cluster);
        model.run_until(seconds);
        model.loaders[0].tuner.poll_decision().unwrap().to.batch_bytes
    };
    let usual = size(Cluster::default(), 3.0);
    assert_eq!(size(Cluster { cold: (0.1, 0.4), ..Cluster::default() }, 3.0), usual);
    assert!(size(Cluster { bandwidth: 1.0, ..Cluster::default() }, 5.0) < usual, "at once: it takes seconds");
}

#[test]
fn expensive_requests_become_larger() {
    let cluster = Cluster { per_request: 0.05, ..Cluster::default() };
    let mut model = model(&cluster);
    // Requests take a second, and fewer of them are compared first.
    model.run_until(120.0);
    assert!(model.loaders[0].tuner.plan().batch_bytes >= 3 * MIB, "{}", model.loaders[0].tuner.why());
    at_least(model.run_until(140.0)[0] / best_fixed(&cluster), 0.9);
}

#[test]
fn a_full_queue_is_remembered() {
    let cluster = Cluster { queue: 12, ..Cluster::default() };
    let mut model = model(&cluster);
    // Smaller bodies are compared once: a memory that counts bytes has room for more of them.
    model.run_until(20.0);
    let before = (model.loaders[0].docs, model.loaders[0].rejected);
    at_least(model.run_until(70.0)[0] / best_fixed(&cluster), 0.95);
    let l = &model.loaders[0];
    let rejected = (l.rejected - before.1) as f64 / (l.docs - before.0) as f64;
    assert!(rejected < 0.01, "{rejected}");
}

#[test]
fn rejections_that_less_does_not_lower_are_no_limit() {
    let unlucky = Cluster { unlucky: 0.05, ..Cluster::default() };
    let mut model = model(&unlucky);
    model.run_until(20.0);
    at_least(model.run_until(60.0)[0] / best_fixed(&unlucky), 0.95);
    let decisions: Vec<Decision> = std::iter::from_fn(|| model.loaders[0].tuner.poll_decision()).collect();
    let mut cuts = decisions.iter().filter(|d| d.why.contains("were rejected"));
    assert!(cuts.all(|d| d.to.batch_bytes == d.from.batch_bytes), "a queue counts requests: {decisions:?}");
}

#[test]
fn chance_is_known_before_anything_is_cut() {
    let mut model = model(&Cluster { unlucky: 0.03, ..Cluster::default() });
    model.run_until(20.0);
    let decisions: Vec<Decision> = std::iter::from_fn(|| model.loaders[0].tuner.poll_decision()).collect();
    assert!(decisions.iter().all(|d| !d.why.contains("rejected")), "{decisions:?}");
    assert!(decisions.iter().any(|d| d.to.in_flight > 4), "the plan grows: {decisions:?}");
}

#[test]
fn fewer_requests_are_taken_where_many_slow_the_cluster_down() {
    let cluster = Cluster { crowd: 0.001, ..Cluster::default() };
    let mut model = model(&cluster);
    model.run_until(40.0);
    at_least(model.run_until(80.0)[0] / best_fixed(&cluster), 0.9);
    let decisions: Vec<Decision> = std::iter::from_fn(|| model.loaders[0].tuner.poll_decision()).collect();
    let taken = |d: &Decision| d.to.batch_bytes == d.from.batch_bytes && d.why.contains("bytes per second against");
    assert!(decisions.iter().any(taken), "{decisions:?}");
}

#[test]
fn a_body_that_was_too_large_is_never_sent_again() {
    let mut model = Model::new(Cluster { body_limit: 3 * MIB / 4, ..Cluster::default() }, vec![auto()]);
    model.run_until(60.0);
    let decisions: Vec<Decision> = std::iter::from_fn(|| model.loaders[0].tuner.poll_decision()).collect();
    let refused = decisions.iter().position(|d| d.why.contains("too large")).unwrap();
    assert!(decisions[refused..].iter().all(|d| d.to.batch_bytes <= MIB), "{decisions:?}");
    assert!(model.loaders[0].tuner.plan().batch_bytes <= 3 * MIB / 4);
}

#[test]
fn a_slow_source_leads_to_no_growth() {
    let mut model = Model::new(Cluster { source: 0.5, ..Cluster::default() }, vec![auto()]);
    model.run_until(60.0);
    let plan = model.loaders[0].tuner.plan();
    assert!(plan.in_flight <= 2 && plan.batch_bytes <= 8 * MIB, "{plan:?}");
    assert!(model.loaders[0].tuner.why().contains("the source"), "{}", model.loaders[0].tuner.why());
}

#[test]
fn the_end_of_a_source_is_no_reason_for_a_plan() {
    let mut model = model(&Cluster::default());
    model.run_until(20.0);
    model.cluster.source = 0.5;
    model.run_until(60.0);
    assert!(!model.loaders[0].tuner.why().contains("the source"), "{}", model.loaders[0].tuner.why());
}

#[test]
fn a_source_that_pauses_is_no_cluster_that_stalls() {
    // A batch every 2 s, then unlimited.
    let mut model = Model::new(Cluster { source: 2.0, ..Cluster::default() }, vec![auto()]);
    model.run_until(60.0);
    model.cluster.source = 0.0;
    model.run_until(70.0);
    let plan = model.loaders[0].tuner.steady_plan();
    let mut busy = Model::new(Cluster::default(), vec![auto()]);
    busy.run_until(70.0);
    let usual = busy.loaders[0].tuner.steady_plan();
    let bytes_in_flight = |plan: Plan| plan.batch_bytes as f64 * f64::from(plan.in_flight);
    assert!(bytes_in_flight(plan) < 2.0 * bytes_in_flight(usual), "{plan:?}, {usual:?}");
}

#[test]
fn an_experiment_does_not_change_the_steady_plan() {
    let mut model = model(&Cluster::default());
    model.run_until(10.0);
    let mut probes = 0;
    for step in 0..2500 {
        model.run_until(10.0 + 0.02 * f64::from(step));
        let tuner = &model.loaders[0].tuner;
        probes += u32::from(tuner.plan() != tuner.steady_plan());
        assert!(tuner.steady_plan().in_flight >= 4, "half of what keeps four threads busy: {:?}", tuner.steady_plan());
    }
    assert!(probes > 0);
}

#[test]
fn bodies_stay_small_if_only_they_can_grow() {
    for in_flight in [1, 4] {
        let fixed = Bounds { in_flight: (in_flight, in_flight), ..bounds() };
        let mut model = Model::new(Cluster::default(), vec![auto_within(fixed)]);
        model.run_until(10.0);
        at_least(model.run_until(60.0)[0] / best_of(&Cluster::default(), &[in_flight]), 0.95);
        let plan = model.loaders[0].tuner.steady_plan();
        assert!(plan.batch_bytes <= 8 * MIB, "{plan:?}: {}", model.loaders[0].tuner.why());
    }
}

#[test]
fn stalls_do_not_tear_the_plan_down() {
    let mut model = model(&Cluster { stall: Some((30.0, 20.0, 3.0)), ..Cluster::default() });
    model.run_until(10.0);
    // Two stalls of 3 s in these 50 s.
    at_least(model.run_until(60.0)[0] / (best_fixed(&Cluster::default()) * 44.0 / 50.0), 0.95);
}

#[test]
fn a_cluster_that_becomes_slow_is_no_stall_even_with_one_request() {
    for in_flight in [1, 2] {
        let fixed = Bounds { batch_bytes: (4 * MIB, 4 * MIB), in_flight: (in_flight, in_flight), ..bounds() };
        let cluster = Cluster { threads: 1, noise: 0.0, ..Cluster::default() };
        let mut model = Model::new(cluster, vec![auto_within(fixed)]);
        model.run_until(30.0);
        model.cluster.per_mib *= 8.0;
        model.run_until(150.0);
        let why = model.loaders[0].tuner.why();
        assert!(why.contains(&format!("takes {}", 32 * in_flight)), "{why}");
    }
}

#[test]
fn a_cluster_that_is_away_for_a_while_leaves_the_plan_unchanged() {
    let mut model = model(&Cluster::default());
    model.run_until(30.0);
    let before = model.loaders[0].tuner.steady_plan();
    model.cluster.away = true;
    model.run_until(90.0);
    model.cluster.away = false;
    model.run_until(91.0);
    let after = model.loaders[0].tuner.steady_plan();
    assert!(Knobs::bytes_in_flight(&after) > 0.4 * Knobs::bytes_in_flight(&before), "{before:?}, {after:?}");
    at_least(model.run_until(100.0)[0] / best_fixed(&Cluster::default()), 0.9);
}

#[test]
fn a_request_without_an_answer_is_an_alarm_by_itself() {
    let mut tuner = auto();
    let before = tuner.plan();
    let lost = Sample {
        sent: Time::START,
        wall: Duration::from_secs(15),
        took: None,
        bytes: MIB,
        docs: 10,
        accepted: 0,
        rejected: 0,
        outcome: SampleOutcome::Lost,
        in_flight: 2,
        source_limited: false,
        remainder: false,
        node: 0,
    };
    tuner.handle_sample(Time::from_start(lost.wall), &lost);
    assert!(Knobs::bytes_in_flight(&tuner.plan()) < Knobs::bytes_in_flight(&before), "{:?}", tuner.plan());
    let mut tuner = auto();
    let broken = Sample { wall: Duration::from_millis(10), ..lost };
    tuner.handle_sample(Time::from_start(broken.wall), &broken);
    assert_eq!(tuner.plan(), before, "a connection that breaks may be chance");
}

#[test]
fn a_change_is_followed_within_ten_seconds() {
    type Step = (&'static str, fn(&mut Cluster));
    let steps: [Step; 5] = [
        ("threads gone", |c| c.threads = 2),
        ("threads added", |c| c.threads = 8),
        ("half as fast", |c| c.per_mib = 0.2),
        ("twice as fast", |c| c.per_mib = 0.05),
        ("a longer way", |c| c.delay += 0.1),
    ];
    for (name, step) in steps {
        let mut model = model(&Cluster::default());
        model.run_until(30.0);
        step(&mut model.cluster);
        let best = best_fixed(&model.cluster);
        model.run_until(40.0);
        let ratio = model.run_until(60.0)[0] / best;
        assert!(ratio >= 0.9, "{name}: {ratio}");
    }
}

#[test]
fn loaders_share() {
    for loaders in [2, 4] {
        let mut model = Model::new(Cluster::default(), (0..loaders).map(|_| auto()).collect());
        model.run_until(20.0);
        let rates = model.run_until(80.0);
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), r| (sum + r, squares + r * r));
        let jain = sum * sum / (squares * f64::from(loaders));
        assert!(jain >= 0.8, "{loaders}: {jain} {rates:?}");
        at_least(sum / best_fixed(&Cluster::default()), 0.9);
    }
}

#[test]
fn gentle_keeps_the_wall_time_low() {
    let tuner = GentleTuner::new(bounds(), Gentle::default());
    let mut model = Model::new(Cluster { noise: 0.0, ..Cluster::default() }, vec![Box::new(tuner)]);
    model.run_until(60.0);
    // There are four threads. More than five requests would queue longer than allowed.
    let in_flight = model.loaders[0].tuner.plan().in_flight;
    assert!((2..=5).contains(&in_flight), "{}", model.loaders[0].tuner.why());
}

#[test]
fn gentle_is_not_slowed_down_by_chance() {
    let rate = |unlucky: f64| {
        let cluster = Cluster { unlucky, threads: 16, ..Cluster::default() };
        let mut model = Model::new(cluster, vec![Box::new(GentleTuner::new(bounds(), Gentle::default()))]);
        model.run_until(10.0);
        model.run_until(60.0)[0]
    };
    at_least(rate(0.05) / rate(0.0), 0.85);
}

#[test]
fn gentle_learns_that_a_cluster_has_become_slower_for_good() {
    let tuner = GentleTuner::new(bounds(), Gentle::default());
    let mut model = Model::new(Cluster { noise: 0.0, ..Cluster::default() }, vec![Box::new(tuner)]);
    model.run_until(60.0);
    model.cluster.per_mib *= 4.0;
    model.run_until(400.0);
    let in_flight = model.loaders[0].tuner.plan().in_flight;
    assert!(in_flight >= 2, "{}", model.loaders[0].tuner.why());
}

#[test]
fn a_knob_that_is_fixed_stays() {
    for fixed in [
        Bounds { batch_bytes: (3 * MIB, 3 * MIB), ..bounds() },
        Bounds { in_flight: (5, 5), ..bounds() },
        Bounds { batch_bytes: (MIB, MIB), in_flight: (4, 4), ..bounds() },
    ] {
        let mut model = Model::new(Cluster::default(), vec![auto_within(fixed)]);
        model.run_until(30.0);
        while let Some(decision) = model.loaders[0].tuner.poll_decision() {
            let (bytes, in_flight) = (decision.to.batch_bytes, decision.to.in_flight);
            assert!((fixed.batch_bytes.0..=fixed.batch_bytes.1).contains(&bytes), "{decision:?}");
            assert!((fixed.in_flight.0..=fixed.in_flight.1).contains(&in_flight), "{decision:?}");
        }
    }
}

#[test]
fn decisions_form_a_chain_and_say_why() {
    let mut model = model(&Cluster::default());
    let mut plan = model.loaders[0].tuner.plan();
    model.run_until(30.0);
    while let Some(decision) = model.loaders[0].tuner.poll_decision() {
        assert!(decision.why.len() > 10, "{decision:?}");
        plan = decision.to;
    }
    assert_eq!(plan, model.loaders[0].tuner.plan());
    assert!(model.loaders[0].tuner.why().contains("MB/s"));
}

fn sample() -> impl Strategy<Value = (u64, Sample)> {
    let outcome = prop_oneof![
        8 => Just(SampleOutcome::Answered),
        1 => Just(SampleOutcome::Refused),
        1 => Just(SampleOutcome::TooLarge),
        1 => Just(SampleOutcome::Lost)
    ];
    let numbers = (0u64..2000, 0u64..5_000, 1u64..(80 << 20), 0u32..1000, 0u32..1000, 0u32..300);
    (outcome, numbers, any::<bool>()).prop_map(
        |(outcome, (gap, wall, bytes, accepted, rejected, in_flight), limited)| {
            let sample = Sample {
                sent: Time::START,
                wall: Duration::from_millis(wall),
                took: None,
                bytes,
                docs: accepted + rejected,
                accepted,
                rejected,
                outcome,
                in_flight,
                source_limited: limited && wall % 7 == 0,
                remainder: false,
                node: 0,
            };
            (gap, sample)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// For any reports in any order: plans stay within the bounds, and equal calls give equal
    /// plans.
    #[test]
    fn plans_stay_within_the_bounds(samples in prop::collection::vec(sample(), 1..400), gentle in any::<bool>()) {
        let bounds = Bounds { batch_bytes: (1 << 16, 1 << 25), batch_docs: 9, in_flight: (2, 60), memory: 1 << 27 };
        let tuner = || -> Box<dyn Tuner> {
            if gentle { Box::new(GentleTuner::new(bounds, Gentle::default())) } else { auto_within(bounds) }
        };
        let (mut one, mut two) = (tuner(), tuner());
        let mut now = Time::START;
        let mut body_limit = u64::MAX;
        for (gap, sample) in samples {
            now = now + Duration::from_millis(gap);
            let sample = Sample { sent: now - sample.wall, ..sample };
            if sample.outcome == SampleOutcome::TooLarge {
                body_limit = body_limit.min(sample.bytes);
            }
            one.handle_sample(now, &sample);
            two.handle_sample(now, &sample);
            let plan = one.plan();
            prop_assert_eq!(plan, two.plan());
            prop_assert!(plan.batch_bytes <= bounds.batch_bytes.1 && plan.batch_bytes <= body_limit, "{:?}", plan);
            prop_assert!(plan.batch_bytes >= bounds.batch_bytes.0.min(body_limit / 2).max(1), "{:?}", plan);
            prop_assert!((bounds.in_flight.0..=bounds.in_flight.1).contains(&plan.in_flight), "{:?}", plan);
            prop_assert!(plan.batch_bytes * u64::from(plan.in_flight) <= bounds.memory, "{:?}", plan);
            prop_assert_eq!(plan.batch_docs, 9);
        }
        prop_assert_eq!(one.why(), two.why());
        while let Some(decision) = one.poll_decision() {
            prop_assert_eq!(Some(decision), two.poll_decision());
        }
    }
}

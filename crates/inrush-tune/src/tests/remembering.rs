//! Loads that begin with what an earlier load learned, rightly and wrongly.

use super::*;

fn remembering(learned: Option<&Learned>) -> Box<dyn Tuner> {
    Box::new(RememberingTuner::new(bounds(), learned))
}

/// A load of this length, with what it accepted (MiB a second), what it learned and what became of
/// its memory.
fn load(cluster: &Cluster, seconds: f64, learned: Option<&Learned>) -> (f64, Option<Learned>, Option<Recollection>) {
    let mut model = Model::new(cluster.clone(), vec![remembering(learned)]);
    let rate = model.run_until(seconds)[0];
    let tuner = &model.loaders[0].tuner;
    (rate, tuner.learned(), tuner.recollection().cloned())
}

fn learned(cluster: &Cluster) -> Learned {
    load(cluster, 60.0, None).1.unwrap()
}

fn far() -> Cluster {
    Cluster { delay: 0.2, threads: 16, ..Cluster::default() }
}

#[test]
fn the_second_load_of_ten_seconds_begins_at_its_best() {
    for (cluster, wanted) in [
        (Cluster { threads: 2, ..Cluster::default() }, 0.97),
        (Cluster { threads: 8, ..Cluster::default() }, 0.97),
        // The first load of ten seconds did not find all of it.
        (far(), 0.9),
    ] {
        let best = best_fixed(&cluster);
        let (first, learned, none) = load(&cluster, 10.0, None);
        assert_eq!(none, None);
        let (second, _, recollection) = load(&cluster, 10.0, learned.as_ref());
        println!("{:.3} {:.3}", first / best, second / best);
        assert_eq!(recollection, Some(Recollection::Held), "{cluster:?}");
        at_least(second / best, wanted);
        at_least(second / first, 0.99);
    }
}

#[test]
fn a_wrong_memory_costs_five_per_cent_at_most() {
    let half = Cluster { threads: 8, ..far() };
    let near = Cluster { delay: 0.02, ..far() };
    let slower = Cluster { per_mib: 0.6, ..far() };
    for (then, now) in [(&far(), &half), (&half, &far()), (&near, &far()), (&far(), &near), (&far(), &slower)] {
        let (without, ..) = load(now, 30.0, None);
        let (with, _, recollection) = load(now, 30.0, Some(&learned(then)));
        println!("{:.3} {recollection:?}", with / without);
        at_least(with / without, 0.95);
    }
}

/// A plan of a fast cluster far away, as `bench/short.py --wrong` has it.
fn many_requests() -> Learned {
    Learned {
        plan: Plan { batch_bytes: 256 << 10, batch_docs: u32::MAX, in_flight: 128 },
        bytes_per_second: 4e8,
        wall_seconds: 0.08,
        doc_bytes: 1024.0,
        rejected: 0.0,
        unloaded: Some(Unloaded { wall_seconds: 0.07, body_bytes: 262_144.0, fixed: 0.9 }),
        seconds: 60.0,
        body_bytes_max: None,
        format: None,
    }
}

#[test]
fn a_plan_of_many_requests_is_checked_before_all_of_them_are_back() {
    // 32 MiB in flight take two seconds here.
    let slow = Cluster { threads: 2, per_mib: 0.12, ..Cluster::default() };
    let mut model = Model::new(slow.clone(), vec![remembering(Some(&many_requests()))]);
    model.run_until(2.0);
    let recollection = model.loaders[0].tuner.recollection().cloned();
    assert!(matches!(recollection, Some(Recollection::Contradicted(_))), "{recollection:?}");
    let (with, _, _) = load(&slow, 10.0, Some(&many_requests()));
    at_least(with / load(&slow, 10.0, None).0, 0.95);
    // On the cluster that it was learned of, it holds.
    let fast = Cluster { threads: 64, delay: 0.07, per_mib: 0.02, ..Cluster::default() };
    let learned = learned(&fast);
    assert!(learned.plan.in_flight > 16, "{learned:?}");
    assert_eq!(load(&fast, 5.0, Some(&learned)).2, Some(Recollection::Held), "{learned:?}");
}

#[test]
fn a_much_longer_way_is_noticed_in_the_first_seconds() {
    let near = Cluster { delay: 0.02, ..far() };
    let (.., recollection) = load(&Cluster { delay: 1.0, ..far() }, 10.0, Some(&learned(&near)));
    let Some(Recollection::Contradicted(why)) = recollection else { panic!("{recollection:?}") };
    assert!(why.contains("a request takes"), "{why}");
}

#[test]
fn other_documents_are_noticed_after_one_round() {
    let cluster = Cluster::default();
    let large = Learned { doc_bytes: 20_000.0, ..learned(&cluster) };
    let mut model = Model::new(cluster.clone(), vec![remembering(Some(&large))]);
    model.run_until(5.0);
    let tuner = &mut model.loaders[0].tuner;
    let why = "documents have 1024 bytes, and 20000 before".to_owned();
    assert_eq!(tuner.recollection(), Some(&Recollection::Contradicted(why)));
    let decisions: Vec<Decision> = std::iter::from_fn(|| tuner.poll_decision()).collect();
    assert_eq!(decisions[0].to, RememberingTuner::new(bounds(), None).plan(), "it begins anew");
    assert!(tuner.learned().unwrap().doc_bytes < 1100.0);
}

#[test]
fn what_a_load_rejects_by_chance_is_no_contradiction() {
    let cluster = Cluster { unlucky: 0.05, ..Cluster::default() };
    let learned = learned(&cluster);
    assert!((0.03..0.07).contains(&learned.rejected), "{learned:?}");
    assert_eq!(load(&cluster, 5.0, Some(&learned)).2, Some(Recollection::Held));
    let none = Learned { rejected: 0.0, ..learned };
    let worse = Cluster { unlucky: 0.3, ..Cluster::default() };
    assert_ne!(load(&worse, 5.0, Some(&none)).2, Some(Recollection::Held));
}

#[test]
fn a_load_that_ends_in_its_fast_start_hands_on_nothing() {
    let cluster = Cluster { threads: 16, per_mib: 0.5, ..Cluster::default() };
    assert_eq!(load(&cluster, 1.0, None).1, None);
    assert!(load(&cluster, 20.0, None).1.is_some());
}

#[test]
fn a_source_that_is_the_limit_teaches_nothing() {
    let cluster = Cluster { source: 0.5, ..Cluster::default() };
    assert_eq!(load(&cluster, 30.0, None).1, None);
    let earlier = learned(&Cluster::default());
    let (_, learned, recollection) = load(&cluster, 30.0, Some(&earlier));
    assert_eq!((learned, recollection), (None, Some(Recollection::Unchecked)));
}

#[test]
fn a_plan_outside_of_the_bounds_is_moved_into_them() {
    let learned = learned(&far());
    let narrow = Bounds { in_flight: (1, 2), memory: 1 << 20, ..bounds() };
    let plan = RememberingTuner::new(narrow, Some(&learned)).plan();
    assert!(plan.in_flight <= 2 && plan.batch_bytes * u64::from(plan.in_flight) <= 1 << 20, "{plan:?}");
}

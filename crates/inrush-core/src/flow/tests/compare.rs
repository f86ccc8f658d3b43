//! Documents that met one of their own id.

use super::*;

/// What a driver finds out about an item that met a document of its id.
pub(super) fn of(cluster: &Cluster, item: &Item) -> Comparison {
    let id = item.reason.strip_prefix('[').unwrap().split("]: ").next().unwrap();
    match cluster.documents.get(id) {
        _ if item.is_in => Comparison::IsIn,
        Some(_) if id.starts_with('#') => Comparison::Written,
        Some(document) if cluster.repeated.contains(id) && document.as_bytes() == item.document => Comparison::Repeated,
        // The documents of a test with one id differ in a number alone, which does not matter here.
        Some(_) => Comparison::Equal,
        None => Comparison::Different,
    }
}

proptest! {
    #[test]
    fn a_create_that_the_cluster_repeated_is_no_conflict(
        ids in prop::collection::vec(prop::option::weighted(0.3, 0u8..4), 1..60),
        batch_bytes in 1u64..600,
        in_flight in 1u32..5,
        with_ids in any::<bool>(),
        faults in prop::collection::vec(prop_oneof![2 => Just(Fault::Repeats), 3 => fault()], 0..30),
        order in any::<u64>(),
    ) {
        let words = vec!["good"; ids.len()];
        let encoder = Encoder::new(operations(Action::Create, with_ids));
        let out = drive(flow(patient(), batch_bytes, in_flight), &encoder, blocks(&ids, &words, 7), &faults, order);
        let counts = out.flow.counts();
        prop_assert_eq!(counts.docs_read, ids.len() as u64);
        prop_assert!(counts.add_up());
        let there = out.cluster.documents.len() as u64;
        if with_ids {
            // Only the second document of an id is refused.
            let mut seen = std::collections::BTreeSet::new();
            let again = ids.iter().enumerate().filter(|(n, id)| !seen.insert(id.map_or(100 + n, usize::from))).count();
            prop_assert!(counts.docs_dead_lettered <= again as u64, "{:?}", counts);
            prop_assert_eq!(there + again as u64, ids.len() as u64);
            let most = counts.docs_created + counts.uncertain_creates;
            prop_assert!((counts.docs_created..=most).contains(&there), "{} of {:?}", there, counts);
        } else {
            prop_assert_eq!(counts.docs_dead_lettered, 0);
            prop_assert_eq!(counts.docs_created, ids.len() as u64);
            let most = counts.docs_created + counts.possible_duplicates;
            prop_assert!((counts.docs_created..=most).contains(&there), "{} of {:?}", there, counts);
        }
    }
}

/// The end of one `create` without an id, or with one, after this comparison.
fn end(with_id: bool, on_conflict: OnConflict, result: &Comparison) -> (Counts, Vec<DeadLetter>) {
    let encoder = Encoder::new(operations(Action::Create, with_id));
    let mut flow = flow(FlowConfig { on_conflict, ..config() }, 200, 1);
    let mut block = blocks(&[Some(1)], &["good"], 5);
    flow.handle_block(Time::START, encoder.encode(block.remove(0))).unwrap();
    flow.handle_source_end();
    let mut letters = Vec::new();
    while let Some(command) = flow.poll(Time::START) {
        match command {
            Command::Send(request) => {
                let error = ItemError {
                    kind: "version_conflict_engine_exception".into(),
                    reason: "[x]: version conflict, document already exists (current version [1])".into(),
                    permanent: false,
                };
                let item = ItemReply {
                    action: ItemAction::Create,
                    status: 409,
                    index: Some("i".into()),
                    result: None,
                    error: Some(error),
                    failure_store_used: false,
                };
                let runs = vec![ItemRun { count: 1, item }];
                let reply = BulkReply { took_ms: None, errors: true, runs, ..BulkReply::default() };
                flow.handle_attempt(Time::START, request.id, Duration::ZERO, 0, Attempt::Replied(reply));
            }
            Command::Compare { request, items } => {
                assert_eq!((items[0].index.as_deref(), items[0].reason.starts_with("[x]")), (Some("i"), true));
                flow.handle_compared(Time::START, request, std::slice::from_ref(result));
            }
            Command::DeadLetter(letter) => letters.push(*letter),
            _ => {}
        }
    }
    assert!(flow.is_done());
    (flow.counts().clone(), letters)
}

#[test]
fn the_end_of_a_conflict_follows_what_wrote_the_document_and_then_the_choice() {
    use OnConflict::{Compare, Fail, Skip};
    for choice in [Fail, Skip, Compare] {
        assert_eq!(end(false, choice, &Comparison::Written).0.docs_created, 1);
        let (repeated, _) = end(true, choice, &Comparison::Repeated);
        assert_eq!((repeated.docs_already_there, repeated.uncertain_creates), (1, 1));
        let (known, _) = end(true, choice, &Comparison::IsIn);
        assert_eq!((known.docs_already_there, known.uncertain_creates), (1, 0));
    }
    let failed = || Comparison::Failed("why".into());
    for result in [Comparison::Equal, Comparison::Different, Comparison::Other, failed()] {
        assert_eq!(end(true, Skip, &result).0.docs_conflicting, 1);
        let (_, letters) = end(true, Fail, &result);
        assert!(letters[0].reason.starts_with("[x]: version conflict, document already exists"), "{letters:?}");
    }
    assert_eq!(end(true, Compare, &Comparison::Equal).0.docs_already_there, 1);
    assert!(end(true, Compare, &Comparison::Different).1[0].reason.contains("with different content"));
    assert!(end(true, Compare, &failed()).1[0].reason.contains("could not be compared: why"));
}

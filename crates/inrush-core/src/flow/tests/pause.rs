//! Pauses by request and because of the cluster.

use super::*;
use crate::codes::StopReason;

fn at(seconds: u64) -> Time {
    Time::from_start(Duration::from_secs(seconds))
}

/// A flow of eight documents with two a request and two requests at once, and its first requests.
fn started(config: FlowConfig) -> (Flow, Vec<Request>) {
    let (ids, words) = good(8);
    let encoder = Encoder::new(operations(Action::Index, true));
    let two = 2 * encoder.encode(blocks(&ids, &words, 8).remove(0)).body.len() as u64 / 8;
    let mut flow = flow(config, two + 2, 2);
    flow.handle_block(Time::START, encoder.encode(blocks(&ids, &words, 8).remove(0))).unwrap();
    flow.handle_source_end();
    let sent = sent(&mut flow, Time::START);
    assert_eq!(sent.len(), 2);
    (flow, sent)
}

fn sent(flow: &mut Flow, now: Time) -> Vec<Request> {
    let mut requests = Vec::new();
    while let Some(command) = flow.poll(now) {
        if let Command::Send(request) = command {
            requests.push(request);
        }
    }
    requests
}

fn answer(flow: &mut Flow, now: Time, request: &Request, fault: Fault) {
    let attempt = Cluster::default().bulk(request, fault);
    flow.handle_attempt(now, request.id, Duration::from_millis(1), 0, attempt);
}

fn cluster_pause() -> Pause {
    Pause { kind: PauseKind::IndexRed, why: "the index x is red".to_owned() }
}

#[test]
fn a_requested_pause_lets_requests_in_flight_end_and_has_no_limit() {
    let (mut flow, requests) = started(config());
    flow.handle_pause_request(at(1), true);
    flow.handle_pause_request(at(2), true);
    answer(&mut flow, at(3), &requests[0], Fault::None);
    answer(&mut flow, at(3), &requests[1], Fault::Refused(503));
    // A day: longer than a batch is retried, and longer than other pauses may last.
    for now in [at(3), at(600), at(86_400)] {
        assert!(sent(&mut flow, now).is_empty() && flow.poll_timeout().is_none());
    }
    assert_eq!((flow.paused().unwrap().kind, flow.counts().docs_read), (PauseKind::ByHand, 2));
    flow.handle_pause_request(at(86_401), false);
    let mut again = sent(&mut flow, at(86_401));
    assert_eq!(again.len(), 2, "the one that was refused and a new one");
    assert!(flow.paused().is_none() && flow.stopped().is_none());
    for seconds in 86_402..86_410 {
        for request in std::mem::take(&mut again) {
            answer(&mut flow, at(seconds), &request, Fault::None);
        }
        again = sent(&mut flow, at(seconds));
    }
    assert!(flow.is_done());
    assert_eq!((flow.counts().docs_created, flow.stopped()), (8, None));
    let pauses = flow.pauses(at(90_000));
    let expected = PauseTotal { kind: PauseKind::ByHand, why: "by hand".into(), times: 1, seconds: 86_400.0 };
    assert_eq!(pauses, [expected]);
}

#[test]
fn a_pause_spends_no_retries() {
    let (mut flow, requests) = started(config());
    answer(&mut flow, at(0), &requests[0], Fault::Refused(503));
    flow.handle_cluster_pause(at(1), Some(cluster_pause()));
    answer(&mut flow, at(2), &requests[1], Fault::NotSent);
    flow.handle_pause_request(at(3), true);
    flow.handle_cluster_pause(at(50), None);
    assert!(sent(&mut flow, at(5000)).is_empty(), "it is still held by hand");
    flow.handle_pause_request(at(10_000), false);
    // The second try, although much more than the retry time has passed.
    let again = sent(&mut flow, at(10_000));
    assert_eq!(again.len(), 2);
    answer(&mut flow, at(10_000), &again[0], Fault::Refused(503));
    assert_eq!((flow.stopped(), flow.counts().docs_dead_lettered), (None, 0));
    assert_eq!(sent(&mut flow, at(10_100)).len(), 1);
}

#[test]
fn a_lasting_cluster_pause_ends_the_run_and_a_passing_one_is_counted() {
    let (mut flow, requests) = started(config());
    flow.handle_cluster_pause(at(10), Some(cluster_pause()));
    answer(&mut flow, at(11), &requests[0], Fault::None);
    let worse = Pause { why: "the index y is red".to_owned(), ..cluster_pause() };
    flow.handle_cluster_pause(at(30), Some(worse.clone()));
    assert_eq!((flow.paused(), flow.poll_timeout()), (Some(&worse), Some(at(70))), "it lasts since the first of them");
    flow.handle_cluster_pause(at(40), None);
    assert_eq!(sent(&mut flow, at(40)).len(), 1);
    let disk = Pause { kind: PauseKind::DiskHigh, why: "a disk is full".to_owned() };
    flow.handle_cluster_pause(at(50), Some(disk));
    answer(&mut flow, at(51), &requests[1], Fault::None);
    assert!(sent(&mut flow, at(109)).is_empty() && flow.stopped().is_none());
    assert!(sent(&mut flow, at(110)).is_empty());
    let Some(Stop::Failed(StopReason { message: why, .. })) = flow.stopped() else { panic!("it stops") };
    assert!(why.contains("after a pause of 60 s: a disk is full"), "{why}");
    let pauses = flow.pauses(at(200));
    let pauses: Vec<_> = pauses.iter().map(|p| (p.kind, p.times, p.seconds, p.why.as_str())).collect();
    assert_eq!(
        pauses,
        [(PauseKind::IndexRed, 1, 30.0, "the index x is red"), (PauseKind::DiskHigh, 1, 60.0, "a disk is full")]
    );
}

#[test]
fn a_stop_during_a_pause_gives_back_unsent_documents() {
    let (mut flow, requests) = started(config());
    flow.handle_pause_request(at(1), true);
    answer(&mut flow, at(2), &requests[0], Fault::None);
    flow.handle_stop(at(3), Stop::Interrupted);
    assert!(sent(&mut flow, at(3)).is_empty() && !flow.is_done());
    answer(&mut flow, at(4), &requests[1], Fault::Refused(429));
    assert!(sent(&mut flow, at(4)).is_empty() && flow.is_done());
    flow.close().unwrap();
    assert_eq!((flow.counts().docs_created, flow.counts().docs_given_back), (2, 6));
    assert!((flow.pauses(at(10))[0].seconds - 2.0).abs() < 1e-9);
}

#[test]
fn a_condition_is_probed_only_without_another_pause() {
    let (mut flow, requests) = started(config());
    answer(&mut flow, at(0), &requests[0], Fault::Flood);
    assert_eq!(flow.paused().unwrap().kind, PauseKind::FloodStage);
    flow.handle_cluster_pause(at(1), Some(Pause { kind: PauseKind::DiskHigh, why: "a disk is full".to_owned() }));
    answer(&mut flow, at(1), &requests[1], Fault::Flood);
    assert!(sent(&mut flow, at(20)).is_empty());
    flow.handle_cluster_pause(at(21), None);
    assert_eq!(flow.paused().unwrap().kind, PauseKind::FloodStage);
    let probe = sent(&mut flow, at(30));
    assert_eq!(probe.len(), 1);
    answer(&mut flow, at(31), &probe[0], Fault::None);
    assert!(flow.paused().is_none());
    let kinds: Vec<_> = flow.pauses(at(31)).iter().map(|p| (p.kind, p.times)).collect();
    assert_eq!(kinds, [(PauseKind::FloodStage, 2), (PauseKind::DiskHigh, 1)]);
}

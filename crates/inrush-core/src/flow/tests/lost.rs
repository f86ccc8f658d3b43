//! Partitions that are lost: documents that wait are given back, and no others.

use super::*;
use crate::block::{DocMeta, SourceId};

/// A block of a partition whose documents have these ids.
fn block(partition: u32, first: u64, ids: &[&str]) -> ItemBlock {
    let (mut data, mut records, mut meta) = (Vec::new(), Vec::new(), Vec::new());
    for (line, id) in ids.iter().enumerate() {
        let start = data.len() as u32;
        data.extend_from_slice(format!("{{\"n\":{}}}", u64::from(partition) * 100 + first + line as u64).as_bytes());
        records.push(Record { start, end: data.len() as u32, byte: start, line: line as u32 });
        meta.push(DocMeta::default().with_id((*id).to_owned()));
    }
    let origin = crate::Origin { partition, first_doc: first, own_numbers: true, ..crate::Origin::default() };
    let lines = ids.len() as u64;
    let block = DocBlock { origin, data: data.into(), records, meta, lines, ..DocBlock::default() };
    Encoder::new(operations(Action::Index, false)).encode(block)
}

fn lost(partition: u32) -> [Partition; 1] {
    [(SourceId(0), partition)]
}

/// The requests that are sent now.
fn requests(flow: &mut Flow, now: Time) -> Vec<Request> {
    std::iter::from_fn(|| flow.poll(now))
        .filter_map(|command| match command {
            Command::Send(request) => Some(request),
            _ => None,
        })
        .collect()
}

fn answer(flow: &mut Flow, cluster: &mut Cluster, requests: &[Request]) {
    for request in requests {
        let attempt = cluster.bulk(request, Fault::None);
        flow.handle_attempt(Time::START, request.id, Duration::from_millis(1), 0, attempt);
    }
}

fn bodies(requests: &[Request]) -> String {
    requests.iter().map(json_body).collect()
}

#[test]
fn what_is_not_sent_of_a_lost_partition_is_given_back() {
    let mut flow = flow(FlowConfig { linger: Duration::ZERO, ..config() }, 1 << 20, 1);
    flow.handle_block(Time::START, block(0, 0, &["a", "b"])).unwrap();
    let first = requests(&mut flow, Time::START);
    flow.handle_block(Time::START, block(0, 2, &["a", "c"])).unwrap();
    flow.handle_block(Time::START, block(1, 0, &["d"])).unwrap();
    flow.handle_lost(lost(0));
    flow.handle_block(Time::START, block(0, 4, &["e"])).unwrap();
    let mut cluster = Cluster::default();
    answer(&mut flow, &mut cluster, &first);
    let second = requests(&mut flow, Time::START);
    assert!(bodies(&second).contains("\"d\"") && !bodies(&second).contains("\"c\""), "{}", bodies(&second));
    answer(&mut flow, &mut cluster, &second);
    flow.handle_source_end();
    assert!(requests(&mut flow, Time::START).is_empty() && flow.is_done() && flow.is_settled());
    assert_eq!(flow.held_bytes(), 0);
    assert_eq!(flow.settled_below()[&(SourceId(0), 0)], 2, "the other consumer reads the rest");
    flow.close().unwrap();
    assert_eq!((flow.counts().docs_read, flow.counts().docs_given_back), (3, 2));
}

#[test]
fn a_retry_of_a_lost_partition_is_not_sent() {
    let mut flow = flow(FlowConfig { linger: Duration::ZERO, ..config() }, 1 << 20, 1);
    flow.handle_block(Time::START, block(0, 0, &["a"])).unwrap();
    flow.handle_block(Time::START, block(1, 0, &["b"])).unwrap();
    let [request] = &requests(&mut flow, Time::START)[..] else { panic!("one request") };
    let refused = Cluster::default().bulk(request, Fault::Refused(429));
    flow.handle_attempt(Time::START, request.id, Duration::from_millis(1), 0, refused);
    flow.handle_lost(lost(0));
    let later = Time::START + Duration::from_secs(600);
    let again = requests(&mut flow, later);
    assert!(bodies(&again).contains("\"b\"") && !bodies(&again).contains("\"a\""), "{}", bodies(&again));
    answer(&mut flow, &mut Cluster::default(), &again);
    flow.handle_source_end();
    assert!(requests(&mut flow, later).is_empty() && flow.is_done());
    flow.close().unwrap();
    assert_eq!((flow.counts().docs_created, flow.counts().docs_given_back), (1, 1));
}

#[test]
fn a_document_that_a_lost_one_replaced_is_sent() {
    let coalesce = Some("1h".parse().unwrap());
    let mut flow = flow(FlowConfig { coalesce, linger: Duration::ZERO, ..config() }, 1 << 20, 1);
    flow.handle_block(Time::START, block(0, 0, &["a"])).unwrap();
    flow.handle_block(Time::START, block(1, 0, &["a"])).unwrap();
    flow.handle_lost(lost(1));
    flow.handle_source_wait(Time::START);
    let sent = requests(&mut flow, Time::START);
    assert!(bodies(&sent).contains("{\"n\":0}"), "{}", bodies(&sent));
    answer(&mut flow, &mut Cluster::default(), &sent);
    flow.handle_source_end();
    assert!(requests(&mut flow, Time::START).is_empty() && flow.is_done());
    flow.close().unwrap();
    assert_eq!((flow.counts().docs_created, flow.counts().docs_given_back), (1, 1));
}

#[test]
fn partitions_that_have_ended_take_no_memory() {
    let mut flow = flow(FlowConfig { linger: Duration::ZERO, ..config() }, 1 << 20, 1);
    let mut cluster = Cluster::default();
    for partition in 0..100_000 {
        flow.handle_block(Time::START, block(partition, 5, &["a"])).unwrap();
        let sent = requests(&mut flow, Time::START);
        if partition % 3 == 0 {
            flow.handle_lost(lost(partition));
        }
        flow.handle_ended(lost(partition));
        assert_eq!(flow.settled_below()[&(SourceId(0), partition)], 5, "its document is in flight");
        answer(&mut flow, &mut cluster, &sent);
        flow.handle_ended([]);
        assert!(flow.settled_below().is_empty());
    }
    flow.handle_source_end();
    assert!(requests(&mut flow, Time::START).is_empty() && flow.is_done());
    flow.close().unwrap();
    assert_eq!(flow.counts().docs_read, 100_000);
}

//! Several members of a group, which come and go.

use std::collections::BTreeMap;

use crate::common::{Cluster, Document, Reader, ids, keys};

fn times(documents: &[Document]) -> BTreeMap<&str, usize> {
    let mut times = BTreeMap::new();
    for id in documents.iter().filter_map(|document| document.id.as_deref()) {
        *times.entry(id).or_default() += 1;
    }
    times
}

#[test]
fn a_partition_changes_its_member_without_a_record_read_twice() {
    let cluster = Cluster::new(4);
    cluster.count(4, 0, 500);
    let mut first = Reader::open(cluster.options("group"));
    first.wait_for(2000);
    let mut second = Reader::open(cluster.options("group"));
    // Records come while partitions move.
    let mut number = 500;
    while second.wait_for(0).is_empty() {
        cluster.count(4, number, number + 10);
        number += 10;
        std::thread::yield_now();
        second.take_what_is_there();
    }
    cluster.count(4, number, number + 10);
    number += 10;
    let mut all = second.stop();
    for partition in 0..4 {
        let last = format!("{partition}-{}", number - 1);
        if !ids(&all).contains(&last) {
            first.wait_for_id(&last);
        }
    }
    all.extend(first.stop());
    assert_eq!(ids(&all), keys(4, 0, number));
    let twice: Vec<_> = times(&all).into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

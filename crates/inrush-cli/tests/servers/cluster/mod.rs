//! Loads into a cluster of three nodes, while nodes are killed, frozen and restarted, directly and
//! through nginx and haproxy. The index and the dead letters have to be exactly what the order of
//! the operations says, and the report has to say so.
//!
//! `make servers` runs five loads, and the part `more` of `scripts/chaos.sh` five others. Its part
//! `cluster` runs `INRUSH_LOADS` (300) with the seeds from `INRUSH_SEED` (2) on, the first half on
//! OpenSearch. Four loads run at a time and meet one fault: those with the seeds from 4n to 4n + 3.
//! Each load is a row of a table on stdout.

mod drawn;
mod nodes;
mod proxies;
mod run;

use inrush_testbed::operations::Form;

use self::drawn::{AT_ONCE, Drawn, Fault, Group, Way, Who};
use self::nodes::{Detection, ThreeNodes};
use self::proxies::Kind;
use crate::killing::number;
use crate::server::Version;

/// Operations of a short load.
const FEW: u64 = 20_000;

/// Runs groups one after the other, prints a row for each load, and fails at the end if one is not
/// right.
async fn run_all(version: Version, detection: Detection, groups: impl Iterator<Item = Group>) {
    let mut nodes = ThreeNodes::start(version, detection).await;
    let mut faults = Vec::new();
    // The harness has begun a line.
    println!("\n{}", run::COLUMNS);
    for group in groups {
        for line in run::run(&mut nodes, &group).await {
            println!("{}", line.row);
            if let Some(fault) = line.faults {
                println!("{fault}");
                faults.push(fault.lines().next().unwrap_or_default().to_owned());
            }
        }
    }
    // The files of loads that are not right stay.
    assert!(faults.is_empty(), "{} loads are not right:\n{}", faults.len(), faults.join("\n"));
    nodes.stop().await;
}

/// A few operations of all kinds.
fn bulk(seed: u64, way: Way, timeout: u64) -> Drawn {
    Drawn::of(seed, Form::Bulk, FEW, way, timeout)
}

#[tokio::test(flavor = "multi_thread")]
async fn five_loads_opensearch_3_6() {
    let proxy = Way::Proxy { kind: Kind::NginxTls, read: 2, repeats: false };
    let groups = [
        Group::of(
            Fault::Freeze(Who::Holder, 12),
            vec![bulk(303, Way::All, 2), bulk(304, Way::All, 2), bulk(104, proxy, 20)],
        ),
        Group::of(
            Fault::Kill(Who::Manager),
            vec![bulk(102, Way::Others, 120), Drawn::of(103, Form::Stream, FEW, Way::All, 10)],
        ),
    ];
    run_all(Version::OpenSearch3, Detection::Quick, groups.into_iter()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_loads_elasticsearch_8_19() {
    // A proxy that repeats requests by itself is not seen (docs/guarantees.md); `many` has them.
    let proxy = |kind, read| Way::Proxy { kind, read, repeats: false };
    let groups = [
        Group::of(
            Fault::Freeze(Who::Holder, 12),
            vec![bulk(201, Way::All, 2), Drawn::of(204, Form::Lines, FEW, Way::Victim, 2)],
        ),
        Group::of(
            Fault::Kill(Who::Holder),
            vec![bulk(202, Way::All, 5), bulk(203, proxy(Kind::Haproxy, 3), 20), bulk(205, proxy(Kind::Nginx, 1), 10)],
        ),
    ];
    run_all(Version::Elasticsearch8, Detection::Quick, groups.into_iter()).await;
}

/// The long test: see `scripts/chaos.sh`.
#[tokio::test(flavor = "multi_thread")]
async fn many_loads_opensearch_3_6() {
    many(Version::OpenSearch3, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_loads_elasticsearch_8_19() {
    many(Version::Elasticsearch8, 1).await;
}

/// One half of all loads.
async fn many(version: Version, half: u64) {
    let (first, count) = (number("INRUSH_SEED", 2), number("INRUSH_LOADS", 300));
    let middle = first + count.div_ceil(2);
    let seeds = if half == 0 { first..middle } else { middle..first + count };
    if !seeds.is_empty() {
        let numbers = seeds.start / AT_ONCE..=(seeds.end - 1) / AT_ONCE;
        run_all(version, Detection::Default, numbers.map(|number| Group::long(number, &seeds, version))).await;
    }
}

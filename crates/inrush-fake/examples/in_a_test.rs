//! A test of a loader: the fake rejects two documents, the loader retries them, and the test reads
//! the documents back.
//!
//! `cargo run --example in_a_test`

#![allow(clippy::print_stdout)]

use inrush_fake::serde_json::{self, Value};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};

/// The code under test: writes documents and retries those that the cluster rejected. Returns the
/// number of requests.
fn load(url: &str, documents: &[(&str, &str)]) -> Result<usize, Box<dyn std::error::Error>> {
    let mut pending = documents.to_vec();
    let mut requests = 0;
    while !pending.is_empty() {
        let body: String =
            pending.iter().map(|(id, source)| format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{source}\n")).collect();
        let reply = minreq::post(format!("{url}/docs/_bulk"))
            .with_header("content-type", "application/x-ndjson")
            .with_body(body)
            .send()?;
        requests += 1;
        let reply: Value = serde_json::from_slice(reply.as_bytes())?;
        // The items are in the order of the request.
        let statuses: Vec<&Value> =
            reply["items"].as_array().into_iter().flatten().map(|item| &item["index"]["status"]).collect();
        let mut status = statuses.iter();
        pending.retain(|_| status.next().is_none_or(|status| **status == 429));
    }
    Ok(requests)
}

// The nodes of the fake need a worker thread while `load` blocks this one.
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Each of the documents 2 and 3 is rejected once.
    let faults = Faults::new([Rule::new(Fault::ItemRejected).ids(["2", "3"]).times_per_id(1)]);
    let fake = FakeCluster::start(FakeConfig::default().faults(faults)).await?;

    let requests = load(&fake.url(), &[("1", r#"{"n":1}"#), ("2", r#"{"n":2}"#), ("3", r#"{"n":3}"#)])?;

    assert_eq!(requests, 2);
    let log = fake.bulk_requests();
    assert_eq!(log.iter().map(|request| request.items).collect::<Vec<_>>(), [3, 2]);
    let mut ids: Vec<String> = fake.documents("docs").into_iter().map(|document| document.id).collect();
    ids.sort();
    assert_eq!(ids, ["1", "2", "3"]);
    println!("3 documents are in after {requests} requests");
    fake.shutdown().await;
    Ok(())
}

//! A server for tests in any language. The arguments are a port and, optionally, a file with a
//! script of faults in JSON.
//!
//! ```sh
//! cargo run --example server 9200 faults.json
//! curl localhost:9200/docs/_bulk -H 'content-type: application/json' --data-binary @docs.bulk
//! curl localhost:9200/_fake/requests
//! ```
//!
//! The program `inrush-fake`, with the feature `cli`, does the same with flags, and reads TOML,
//! too.

#![allow(clippy::print_stdout)]

use inrush_fake::{FakeCluster, FakeConfig, Faults};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = match arguments.next() {
        Some(port) => port.parse()?,
        None => 0,
    };
    let faults: Faults = match arguments.next() {
        Some(path) => std::fs::read_to_string(path)?.parse()?,
        None => Faults::default(),
    };
    let fake = FakeCluster::start(FakeConfig::default().ports([port]).faults(faults)).await?;
    println!("{} at {}; end stdin to stop", fake.flavor(), fake.url());
    // Blocks this thread; the nodes run in the worker threads.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    println!("{} requests", fake.requests().len());
    fake.shutdown().await;
    Ok(())
}

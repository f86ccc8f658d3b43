//! The source against librdkafka's own cluster, which runs in the process of the tests. It waits
//! 3 s for the members of a group, so each test has one.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod load;
#[path = "../common/reader.rs"]
#[allow(dead_code, reason = "the tests with a real broker use the rest")]
mod reader;
mod reading;
#[path = "../common/topic.rs"]
#[allow(dead_code, reason = "the tests with a real broker use the rest")]
mod topic;
mod values;

//! The source against a real broker, which the tests start.

mod broker;
mod group;
#[path = "../common/reader.rs"]
mod reader;
mod reading;
#[path = "../common/topic.rs"]
mod topic;
mod transactions;

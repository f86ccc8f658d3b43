//! The source against a real broker, which the tests start.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

mod alias;
mod broker;
mod dead_letters;
mod envelopes;
mod gaps;
mod group;
mod lag;
mod load;
mod logins;
mod memory;
#[path = "../common/reader.rs"]
mod reader;
mod reading;
#[path = "../common/topic.rs"]
mod topic;
mod transactions;
mod versions;

//! The source against librdkafka's own cluster, which runs in the process of the tests.

mod common;
mod reading;
mod rebalancing;

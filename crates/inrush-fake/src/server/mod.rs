//! The fake cluster over HTTP: several nodes, each on a port, over one state.

mod answer;
mod body;
mod bulk;
mod cluster;
mod config;
mod connection;
mod control;
mod log;
mod managed;
mod node;
mod receive;
mod serve;
mod shared;
mod spoil;

pub use self::cluster::FakeCluster;
pub use self::config::{Auth, FakeConfig};
pub use self::log::RequestLog;
pub use self::node::FakeNode;

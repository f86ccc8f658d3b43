//! Local servers: the OpenSearch node for loads without an address, and the real servers for tests.
//!
//! A node is the maker's distribution, unpacked and started on the loopback interface with its own
//! configuration, data and logs. Servers refuse to run as root: root starts them as another user.

mod configuration;
mod distribution;
mod error;
mod folders;
mod group;
mod http;
mod java;
pub mod lock_file;
mod managed;
mod owned;
mod paths;
mod process;
mod spec;
mod tell;
pub mod user;

pub use distribution::{Distribution, KnownProduct};
pub use error::NodeError;
pub use folders::make_writable;
pub use java::javas;
pub use managed::{Log, NodeState, RunState, StartOptions, Started, Status, remove, start, status, stop, version_in};
pub use owned::OwnedNode;
pub use spec::NodeSpec;
pub use tell::Tell;

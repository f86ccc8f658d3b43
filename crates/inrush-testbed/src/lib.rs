//! What `inrush` is tested against: a fake cluster over HTTP that keeps documents as the real ones do, faults by
//! script, a null server that only counts, a proxy that spoils what a real server does, a conformance suite that holds the
//! fake to the real servers, and a simulator in virtual time that the tuner is judged in.
//!
//! Never published; the other crates use it in their tests only.

pub mod api;
pub mod bulk;
pub mod client;
mod coding;
pub mod conformance;
mod error;
pub mod fake;
pub mod faults;
mod json;
mod mapping;
mod model;
pub mod null;
mod pattern;
mod pipeline;
mod product;
pub mod proxy;
mod routing;
mod settings;
pub mod sim;

pub use error::EsError;
pub use fake::{Auth, FakeCluster, FakeConfig, FakeNode, RequestLog};
pub use faults::{Fault, Faults, Rule};
pub use model::{Action, Cluster, Index, Op, Reached, StoredDocument, VersionType};
pub use product::{Flavor, Product};
pub use proxy::{Proxy, ProxyConfig, ProxyStats};

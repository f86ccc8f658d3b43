#![doc = include_str!("../README.md")]

mod api;
mod bulk;
mod clock;
mod coding;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod command;
mod error;
mod faults;
mod filter;
#[doc(hidden)]
pub mod internal;
mod json;
mod model;
mod null;
mod pattern;
mod product;
mod random;
mod routing;
mod server;

// Types of these crates are part of the signatures.
pub use bytes;
pub use http;
pub use serde_json;

pub use self::error::{ParseError, ServerError};
pub use self::faults::{Fault, Faults, Rule};
pub use self::model::Document;
pub use self::null::{NullServer, NullStats, ReplyKind};
pub use self::product::{Flavor, Product};
pub use self::server::{Auth, FakeCluster, FakeConfig, FakeNode, RequestLog};

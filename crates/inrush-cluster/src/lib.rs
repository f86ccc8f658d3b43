//! The connection of `inrush` to a cluster of Elasticsearch or OpenSearch. [`transport`] sends
//! requests to the nodes. [`api`] reads and changes everything that a loader needs besides its
//! documents.
//!
//! Nothing here knows where documents come from, what a bulk request holds, or what a load is.

pub mod api;
pub mod clock;
pub mod run_id;
pub mod transport;
mod wait;

pub use wait::{Late, Wait};

use std::pin::Pin;

/// The future of a function that is compiled once, in its own crate.
///
/// The future of an `async fn` is compiled again in each crate that awaits it, with the futures of
/// everything that it calls. So functions that others call, and below which much work is, return
/// this one.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

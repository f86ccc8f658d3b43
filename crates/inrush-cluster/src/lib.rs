//! The connection of `inrush` to a cluster of Elasticsearch or OpenSearch. [`transport`] sends
//! requests to the nodes. [`api`] reads and changes everything that a loader needs besides its
//! documents.
//!
//! Nothing here knows where documents come from, what a bulk request holds, or what a load is.

pub mod api;
pub mod transport;

//! The way of `inrush` to a cluster of Elasticsearch or OpenSearch: [`transport`] sends requests to its nodes, [`api`]
//! asks everything that a loader has to know or change besides its documents.
//!
//! Nothing here knows where documents come from, what a bulk request holds, or what a load is.

pub mod api;
pub mod transport;

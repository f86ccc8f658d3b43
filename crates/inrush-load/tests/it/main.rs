//! The engine against the fake cluster, without any of the sources that users name.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod coalesce;
mod dead_letters;
mod fetch;
mod graphs;
mod local;
mod vectors;
mod versions;

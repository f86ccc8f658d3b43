//! The page over loopback, with and without a load into the fake cluster.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod client;
mod load;
mod openmetrics;
mod otlp;
mod parts;
mod server;

//! The transport and the questions to the cluster, over real connections on loopback.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod cluster;
mod exchange;
mod server;
mod signature;
mod tls;

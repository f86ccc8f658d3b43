//! The transport and the questions to the cluster, over real connections on loopback.

mod cluster;
mod exchange;
mod server;
mod signature;
mod tls;

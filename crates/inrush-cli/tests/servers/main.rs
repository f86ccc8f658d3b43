//! The binary with real servers: OpenSearch, Elasticsearch and S3, which the tests start
//! themselves. `make servers` installs what they need and runs those that take no half hour;
//! `scripts/chaos.sh` runs the others. They run only when they are named (`test = false` in
//! Cargo.toml).
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../full_disk/mod.rs"]
mod full_disk;
#[path = "../killing/mod.rs"]
mod killing;
#[path = "../program/mod.rs"]
mod program;
mod s3_server;
#[path = "../../../inrush/tests/servers/server/mod.rs"]
mod server;
#[cfg(feature = "kafka")]
#[allow(dead_code)]
#[path = "../../../inrush/tests/it/web_server.rs"]
mod web_server;

mod alias_life;
mod bake_elsewhere;
mod bake_kill;
mod bake_s3;
mod bake_users;
#[cfg(feature = "kafka")]
mod broker;
mod cluster;
mod embeddings;
#[cfg(feature = "kafka")]
mod kafka_envelopes;
#[cfg(feature = "kafka")]
mod kafka_iam;
#[cfg(feature = "kafka")]
mod kafka_kill;
#[cfg(feature = "kafka")]
mod kafka_stream;
mod kill;
mod local_first;
mod rights;
#[cfg(feature = "cloud")]
mod s3;
mod stream_time;
mod stuck;

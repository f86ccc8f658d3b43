//! The engine against real OpenSearch and Elasticsearch, Postgres, MariaDB and MySQL, which the
//! tests start themselves. `make servers` installs what they need and runs them; `cargo test -p
//! inrush --test servers swap::` runs those of a module. They run only when they are named (`test =
//! false` in Cargo.toml).
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "databases")]
mod database_server;
mod server;
#[path = "../source_support/mod.rs"]
mod source_support;

mod bake;
mod bake_native;
mod cluster;
#[cfg(feature = "databases")]
mod database_fetch;
#[cfg(feature = "databases")]
mod database_mysql;
#[cfg(feature = "databases")]
mod database_mysql_server;
#[cfg(feature = "databases")]
mod database_postgres;
#[cfg(feature = "databases")]
mod database_since;
#[cfg(feature = "databases")]
mod database_types;
mod full_node;
mod graphs;
mod guard;
mod kept;
mod learned;
mod load;
mod node;
mod rebuilt_source;
mod segments;
mod smile;
mod source_index;
#[cfg(feature = "sql")]
mod sql;
mod swap;
mod trouble;
mod vectors;
mod verify;
mod wire;

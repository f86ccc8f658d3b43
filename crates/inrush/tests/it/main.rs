//! The engine without servers: against the fake cluster, files and a web server of its own. One
//! executable, since each one is linked with DataFusion, Parquet and sqlx. `cargo test -p inrush
//! --test it swap::` runs the tests of a module; a test that depends on what a whole process shares
//! runs again in one of its own (`common::own_process`).
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;
mod cut_off;
#[path = "../source_support/mod.rs"]
mod source_support;
mod web_server;

mod answers;
mod before_the_first;
mod beside;
mod convert;
mod csv_into_texts;
#[cfg(feature = "databases")]
mod database_sqlite;
mod durability;
mod endless;
mod failures;
mod fetch;
mod grace;
mod index_names;
mod job;
mod late;
mod learned;
mod load;
#[cfg(all(feature = "parquet", feature = "arrow"))]
mod load_columns;
mod managed;
mod modes;
mod observers;
mod once;
mod options_used;
mod pauses;
mod policies;
mod recreate;
mod resume;
mod routing;
mod settings;
#[cfg(feature = "databases")]
mod since;
mod source;
mod source_archive;
mod source_chosen;
#[cfg(all(feature = "parquet", feature = "arrow", feature = "avro"))]
mod source_columns;
mod source_csv;
mod source_csv_odd;
mod source_index;
mod source_json;
mod source_lake;
mod source_parse;
#[cfg(feature = "excel")]
mod source_sheet;
mod source_web;
#[cfg(all(feature = "sql", feature = "parquet", feature = "arrow"))]
mod sql;
#[cfg(feature = "sql")]
mod sql_docs;
#[cfg(feature = "sql")]
mod sql_load;
mod stuck;
mod swap;
mod swap_resume;
mod transport;
mod tuned;
#[cfg(all(feature = "parquet", feature = "arrow"))]
mod vectors;
#[cfg(all(feature = "parquet", feature = "arrow"))]
mod vectors_files;
mod verify;
mod wire;

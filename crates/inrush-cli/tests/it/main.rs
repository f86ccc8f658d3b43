//! The binary as its users call it, against the fake cluster. `cargo test -p inrush-cli --test it
//! verify::` runs the tests of a module. The binary's environment, folder, terminal and signals are
//! those of its own process: the tests share theirs.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

mod common;
#[path = "../full_disk/mod.rs"]
mod full_disk;
#[path = "../killing/mod.rs"]
mod killing;
#[path = "../program/mod.rs"]
mod program;

// The server that plays the places uses `date` and `sha1sum`.
#[cfg(target_os = "linux")]
mod aws;
// Its builder is watched in /proc.
#[cfg(target_os = "linux")]
mod bake;
mod cli;
mod convert;
#[cfg(feature = "databases")]
mod database;
mod export;
mod from_index;
mod kill;
mod pause;
mod placeholders;
mod progress;
mod report_file;
mod report_pages;
#[cfg(feature = "databases")]
mod rows;
mod segments;
mod sql;
mod sweep;
mod terminal;
mod unused_options;
mod verify;

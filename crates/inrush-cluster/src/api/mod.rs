//! Everything that the loader asks of a cluster besides taking documents: product and version, what
//! the target is, whether the cluster can take the documents, how many documents it holds.
//!
//! A function sends one request (or a few at once). `again.rs` decides which of them are sent again
//! and for how long. Every reply is parsed here, once. Errors name the index, what was expected and
//! what to do.

mod again;
pub mod aliases;
pub mod allocation;
pub mod body_formats;
pub mod changes;
pub mod check;
pub mod copies;
pub mod data_streams;
mod disk;
pub mod documents;
mod error;
pub mod graphs;
pub mod guarded;
pub mod health;
pub mod history;
pub mod index;
pub mod index_mode;
pub mod like;
mod limits;
pub mod lookup;
pub mod lost;
pub mod made;
pub mod members;
pub mod merge;
pub mod names;
mod nodes;
pub mod own;
mod policy;
pub mod primary_terms;
pub mod product;
mod rest;
pub mod rights;
pub mod segments;
pub mod sequence_numbers;
pub mod shard_state;
pub mod shards;
pub mod snapshots;
pub mod source_kept;
pub mod stats;
pub mod stored;
pub mod tasks;
pub mod templates;
pub mod topology;
pub mod trial;
pub mod vectors;
pub mod watermark;

pub use again::Again;
pub use check::{Needs, Preflight, preflight};
pub use error::ClusterError;
pub use index::{CreateIndex, Created, IndexInfo, Target, TargetKind};
pub use nodes::{ConnectError, connect};
pub use product::{ClusterInfo, Product, Version};

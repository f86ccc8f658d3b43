//! What the threads build, and why they stop.

use std::io;
use std::sync::Arc;

use inrush_core::routing::Routing;
use inrush_lucene::{KnownProduct, LiveMapping};

/// A shard before its first document.
#[derive(Clone, Debug)]
pub(super) struct ShardPlan {
    pub(super) folder: std::path::PathBuf,
    pub(super) random: [u8; 32],
    /// The generation and the user data of its commit.
    pub(super) generation: u64,
    pub(super) user_data: Vec<(String, String)>,
}

/// What is built.
pub(super) struct BuildPlan {
    pub(super) index: String,
    pub(super) product: KnownProduct,
    /// All shards have one, so a new field has one type in all of them.
    pub(super) mapping: Arc<LiveMapping>,
    pub(super) routing: Routing,
    pub(super) shards: Vec<ShardPlan>,
    /// The number of the only shard, if others are built elsewhere.
    pub(super) only: Option<u32>,
    pub(super) keep: inrush_lucene::Keep,
    /// Bytes of all segments that are not written yet, and of writing them.
    pub(super) memory: usize,
    /// Threads, if the memory is enough for as many.
    pub(super) threads: usize,
}

/// Why no further document is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// A server would take a document that cannot be built here.
    Unsupported(String),
    /// The index cannot be written, because of a defect.
    Failed(String),
    /// A file of the index cannot be written.
    Files(io::ErrorKind, String),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Stopped::Files(error.kind(), error.to_string())
    }
}

//! From documents to the files of a segment, and of a shard.

pub(crate) mod column;
pub(crate) mod content;
pub(crate) mod duplicates;
pub(crate) mod intern;
mod offsets;
mod order;
mod rows;
pub(crate) mod segment;
pub(crate) mod shard;
mod sorting;
mod stored;
mod syncing;
pub(crate) mod values;
mod write;

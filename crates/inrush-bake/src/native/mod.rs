//! Building the index in this process, without a server beside the target.
//!
//! The target makes the index without documents and writes its snapshot (`empty.rs`). A load with
//! all its checks (`load.rs`) sends the documents to a server in this process (`local_server.rs`),
//! which puts them into the files of the shards (`items.rs`, `writers.rs`). Other machines can do
//! that, too (`shard.rs`), by what this one tells them (`blueprint.rs`, `order.rs`,
//! `elsewhere.rs`). The files take the place of the empty ones in a copy of the snapshot
//! (`fill.rs`), which the target restores as that of a builder. Where the repository is in an
//! object store, the snapshots are copied from there and to there (`remote/`).

mod blueprint;
mod build_plan;
mod check;
mod elsewhere;
mod empty;
mod engine;
mod fill;
mod folders;
mod items;
mod load;
mod local_server;
mod names;
mod options;
mod order;
mod remote;
mod shard;
mod snapshot;
mod tested;
mod writers;

pub(crate) use elsewhere::no_documents;
pub(crate) use engine::Native;
pub(crate) use options::NativeOptions;
pub use order::{BuiltShard, ShardBuilders, ShardOrder};
pub use shard::ShardBuild;

//! What machines that build shards get and give: an order, and a shard that is built.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_cluster::BoxFuture;
use inrush_core::FieldPath;
use inrush_core::routing::Routing;
use inrush_load::Report;
use inrush_sources::Parting;
use serde::{Deserialize, Serialize};

use super::blueprint::Blueprint;
use crate::config::BakeError;
use crate::record::Shared;

/// What a machine needs to build shards of an index. As JSON it goes to other machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardOrder {
    pub(super) blueprint: Blueprint,
    /// The bake.
    pub(super) id: String,
    pub(super) place: Place,
    /// Bytes for the segment of a shard that grows, and for writing it.
    pub(super) memory: usize,
}

/// Where the files of shards go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Place {
    /// The folder for the attempts, which all machines have at the same path.
    Folder(PathBuf),
    /// The object store with the repository, and the folder of each shard in it.
    Store { shared: Box<Shared>, shards: Vec<String> },
}

impl ShardOrder {
    /// The number of shards.
    pub fn shards(&self) -> u32 {
        self.blueprint.shards()
    }

    /// The division of documents into shards, by the fields of their ids and routing values.
    ///
    /// # Errors
    /// An order that was changed.
    pub fn parting(&self, id: Option<FieldPath>, routed_by: Option<FieldPath>) -> Result<Parting, BakeError> {
        let routing: Routing = self.blueprint.routing()?;
        Ok(Parting { routing, id, routed_by })
    }
}

/// A shard that is built. As JSON it goes to the machine of the bake.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BuiltShard {
    /// The number of the shard, from 0.
    pub shard: u32,
    /// The folder of the attempt.
    pub(super) attempt: String,
    /// In an object store: the lists of files that the shard's folder gets, by their names.
    pub(super) lists: BTreeMap<String, Vec<u8>>,
    /// Documents that a search finds.
    pub docs: u64,
    /// Documents that were indexed from columns and not from their text, duplicates included.
    #[serde(default)]
    pub from_columns: u64,
    /// The report of the load into the shard. Its dead letters are on the machine that built it.
    pub report: Report,
}

/// Has shards built by an order. An error ends the bake with its text.
pub type ShardBuilders = Arc<dyn Fn(ShardOrder) -> BoxFuture<'static, Result<Vec<BuiltShard>, String>> + Send + Sync>;

//! What the shards of an index are built by, on this machine or on others.

use std::path::PathBuf;
use std::sync::Arc;

use inrush_cluster::api::Version;
use inrush_core::Action;
use inrush_core::routing::Routing;
use inrush_lucene::{Keep, LiveMapping, Mapping, ServerVersion, ShardSnapshot};
use inrush_node::KnownProduct;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::build_plan::{BuildPlan, ShardPlan};
use super::folders::Folders;
use super::names::{native, refuse};
use super::snapshot::snapshots;
use crate::config::BakeError;
use crate::context::Context;
use crate::record::Saved;

/// The index as the target has made it, without documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Blueprint {
    pub(super) index: String,
    pub(super) product: KnownProduct,
    /// The version of the target's oldest node.
    pub(super) version: String,
    lucene: [u32; 3],
    mapping: Value,
    settings: Map<String, Value>,
    shards: u32,
    routing_shards: u32,
    pub(super) action: Action,
    /// One for each shard.
    empty: Vec<Empty>,
}

/// What the commit of a shard has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Empty {
    generation: u64,
    user_data: Vec<(String, String)>,
}

impl Blueprint {
    /// Reads the snapshot of the index without documents.
    pub(super) fn read(context: &Context, saved: &Saved) -> Result<Blueprint, BakeError> {
        let native = native(saved)?;
        let snapshots = snapshots(&Folders::of(context, saved).form, &saved.index)?;
        let routing = saved.plan.routing().map_err(BakeError::Refused)?;
        let empty = |snapshot: &ShardSnapshot| Empty {
            generation: snapshot.generation(),
            user_data: snapshot.user_data().to_vec(),
        };
        Ok(Blueprint {
            index: saved.index.clone(),
            product: native.product,
            version: native.version.clone(),
            lucene: snapshots.first().map(ShardSnapshot::lucene).unwrap_or_default(),
            mapping: native.mapping.clone(),
            settings: saved.plan.building.clone(),
            shards: routing.shards(),
            routing_shards: native.slots.unwrap_or(routing.routing_shards()),
            action: context.load.action,
            empty: snapshots.iter().map(empty).collect(),
        })
    }

    /// The number of shards.
    pub(super) fn shards(&self) -> u32 {
        self.shards
    }

    /// The function from documents to shards.
    pub(super) fn routing(&self) -> Result<Routing, BakeError> {
        let routing = Routing::new(self.shards, Some(self.routing_shards), 1);
        routing.ok_or_else(|| refuse(format!("no index has {} shards", self.shards)))
    }

    /// A shard that is written into a folder.
    pub(super) fn shard(&self, number: usize, folder: PathBuf, random: [u8; 32]) -> Result<ShardPlan, BakeError> {
        let empty = self.empty.get(number).ok_or_else(|| refuse(format!("the index has no shard {number}")))?;
        Ok(ShardPlan { folder, random, generation: empty.generation, user_data: empty.user_data.clone() })
    }

    /// Which of several documents with one id stays.
    pub(super) fn keep(&self) -> Keep {
        if self.action == Action::Create { Keep::First } else { Keep::Last }
    }

    /// Whether the mapping names a field.
    pub(super) fn has_fields(&self) -> bool {
        self.mapping.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty())
    }

    /// The mapping as the target has it. No document adds fields to it where other machines build
    /// parts of the index.
    pub(super) fn mapping(&self, in_part: bool) -> Result<LiveMapping, BakeError> {
        let version: Version = self.version.parse().map_err(refuse)?;
        let target = ServerVersion {
            product: self.product,
            version: [version.major, version.minor, version.patch],
            lucene: self.lucene,
        };
        let mapping = Mapping::with_settings(&self.mapping, &self.settings, target)
            .map_err(|unsupported| BakeError::NotNative(unsupported.to_string()))?;
        Ok(if in_part { LiveMapping::fixed(mapping) } else { LiveMapping::new(mapping) })
    }

    /// What is built of all shards, or of the shard `only`.
    pub(super) fn plan(
        &self,
        shards: Vec<ShardPlan>,
        only: Option<u32>,
        (memory, threads): (usize, usize),
    ) -> Result<BuildPlan, BakeError> {
        Ok(BuildPlan {
            index: self.index.clone(),
            product: self.product,
            mapping: Arc::new(self.mapping(only.is_some())?),
            routing: self.routing()?,
            shards,
            only,
            keep: self.keep(),
            memory,
            threads,
        })
    }
}

//! What is found out and made before the first document.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_cluster::api::check::{Needs, Preflight, preflight};
use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::api::{ClusterError, Created, Product, Target, TargetKind, Version, index, primary_terms, stats};
use inrush_cluster::transport::Transport;
use inrush_core::flow::PrimaryTerms;
use inrush_core::report::Tally;
use inrush_sources::Source;

use super::group::{self, Entering, Member};
use super::recreate;
use crate::config::{Durability, IndexCreation, LoadConfig};
use crate::cutover::Swapping;
use crate::error::LoadError;
use crate::settings_guard::{self, Earlier};
use crate::targets;

/// What is known about the documents that are coming.
pub(super) struct Coming<'a> {
    /// Their bytes, as far as that is known.
    pub(super) bytes: Option<u64>,
    /// Whether all have ids.
    pub(super) with_ids: bool,
    /// The UUIDs of the indices that they are read from.
    pub(super) read_from: Vec<String>,
    /// The run of the same load that was cut off, where this one goes on with it.
    pub(super) earlier: Option<Earlier>,
    /// That one, and those before it.
    pub(super) runs: &'a [String],
    pub(super) run_id: &'a str,
}

/// The UUIDs of the indices that are read; none where the source is something else.
pub(crate) fn index_uuids(source: &dyn Source) -> Result<Vec<String>, LoadError> {
    // Fingerprints of files cost reading them.
    if !source.describe().own_numbers {
        return Ok(Vec::new());
    }
    Ok(source.fingerprints()?.into_iter().filter_map(|fingerprint| fingerprint.index_uuid).collect())
}

/// Refuses to write to an index that is read: documents would be written over themselves, or
/// deleted before they are read. UUIDs are random, so two indices of one UUID are the same one,
/// whatever addresses and names lead to them.
pub(crate) fn reads_itself(target: Option<&Target>, read_from: &[String]) -> Result<(), ClusterError> {
    let Some(index) = target.and_then(Target::write_index).filter(|index| read_from.contains(&index.uuid)) else {
        return Ok(());
    };
    let problem = format!(
        "the documents are read from this index ({}), so it cannot be loaded into; name another with option `index`, or change the documents in place with POST /{}/_update_by_query",
        index.uuid, index.name
    );
    Err(ClusterError::Target { name: index.name.clone(), problem })
}

/// What was found out before the first document.
pub(super) struct Prepared {
    pub(super) preflight: Preflight,
    /// What a fixed index name stands for.
    pub(super) target: Option<Target>,
    /// Documents that the index held, or why they could not be counted.
    pub(super) before: Result<u64, String>,
    /// The place among the loads that write to the index at the same time.
    pub(super) member: Option<Member>,
    /// What the settings guard looks after, if anything.
    pub(super) guard: Option<settings_guard::Plans>,
    /// What the index was before the first document, where that matters and can be seen.
    pub(super) life: Option<PrimaryTerms>,
    /// How large the index was, by its own name, where that may be asked.
    pub(super) sizes_before: BTreeMap<String, IndexStats>,
    /// The indices that the documents of earlier runs of the same load were to go to.
    pub(super) earlier_indices: Vec<String>,
    /// What tells the index that takes the documents first from another one of its name.
    pub(super) uuids: BTreeMap<String, String>,
}

impl Prepared {
    /// Whether a shard of the index has another primary than at the beginning, or its primary has started again.
    pub(super) async fn has_another_primary(&self, transport: &Transport) -> bool {
        let Some(first) = &self.life else { return false };
        primary_terms::read(transport, &first.index).await.is_ok_and(|now| now.terms != first.terms)
    }

    /// Whether one index takes the place of another during the load: a data stream, or an alias as those of policies.
    pub(super) fn rolls_over(&self) -> bool {
        let alias = |target: &Target| matches!(target.kind, TargetKind::Alias { .. });
        self.target.as_ref().is_some_and(|target| target.is_data_stream() || alias(target))
    }

    /// Says in the log what was found and decided.
    pub(super) fn tell(&self, config: &LoadConfig) {
        let stands_for = match self.target.as_ref().map(|target| &target.kind) {
            None => "named by each document".to_owned(),
            Some(TargetKind::Missing { .. }) => "made for this load".to_owned(),
            Some(TargetKind::Index(index)) => format!("an index of {} shards", index.shards),
            Some(TargetKind::Alias { write, .. }) => format!("an alias that writes to {}", write.name),
            Some(TargetKind::DataStream { write, .. }) => format!("a data stream that writes to {}", write.name),
            Some(TargetKind::Hidden) => "not to be looked at".to_owned(),
        };
        let pipelines = if self.preflight.pipelines { "; a pipeline is in force, or may be" } else { "" };
        tracing::info!("{}; target {}: {stands_for}{pipelines}", self.preflight.info, config.index);
    }

    /// Whether requests can insist on it that the target is an alias. The servers know that since
    /// Elasticsearch 7.10. They look at the name that a pipeline has left, which may be that of an
    /// index.
    pub(super) fn must_stay_an_alias(&self) -> bool {
        let info = &self.preflight.info;
        let known = match info.product {
            Product::OpenSearch => true,
            Product::Elasticsearch => info.serverless || info.version >= Some(Version::new(7, 10, 0)),
            Product::Unknown => false,
        };
        let sent_elsewhere = self.preflight.pipelines;
        known
            && !sent_elsewhere
            && self.target.as_ref().is_some_and(|target| matches!(target.kind, TargetKind::Alias { .. }))
    }

    /// The first index that is not any more what it was: another one has its name.
    pub(super) async fn replaced(&self, transport: &Transport) -> Option<String> {
        targets::another_index(transport, &self.uuids).await
    }

    /// The index that takes the documents, where one name stands for all of them.
    pub(super) fn index<'a>(&'a self, config: &'a LoadConfig) -> Option<&'a str> {
        let target = self.target.as_ref()?;
        match target.write_index() {
            Some(index) => Some(&index.name),
            // It was made just now; a data stream names its indices with the first document.
            None => config.index.fixed().filter(|_| !target.is_data_stream()),
        }
    }
}

impl Prepared {
    /// The names that stand for everything that was loaded.
    pub(super) fn names(&self, tally: &Tally) -> Vec<String> {
        match &self.target {
            Some(target) => vec![target.name.clone()],
            None => tally.indices.keys().cloned().collect(),
        }
    }
}

/// What a load of so many bytes needs of the cluster.
pub(crate) fn needs(config: &LoadConfig, bytes: Option<u64>) -> Needs {
    let fixed = config.index.fixed();
    Needs {
        index: fixed.map(str::to_owned),
        recreate: config.create.recreate,
        replicas: fixed.and_then(|name| config.create.for_index(name).replicas),
        settings: fixed.and_then(|name| config.create.for_index(name).settings),
        pipeline: config.pipeline.clone(),
        bytes_expected: bytes,
        action: config.action,
        under_policy: config.under_policy,
    }
}

pub(super) async fn prepare(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    Coming { bytes, with_ids, read_from, earlier, runs, run_id }: Coming<'_>,
    swapping: Option<&Swapping>,
) -> Result<Prepared, LoadError> {
    let fixed = config.index.fixed();
    let preflight = preflight(transport, &needs(config, bytes)).await?;
    let mut target = preflight.target.clone();
    if let Some(swapping) = swapping {
        swapping.check_new(target.as_ref())?;
    }
    reads_itself(target.as_ref(), &read_from)?;
    // Only now, when nothing stands in the way of a load.
    if config.create.recreate
        && let Some(found) = target
    {
        target = Some(recreate::delete(transport, config, found, run_id).await?);
    }
    let mut made = false;
    if let (Some(name), Some(found)) = (fixed, &target) {
        match &found.kind {
            TargetKind::Missing { .. } if !found.is_data_stream() => {
                let created = index::create(transport, name, &config.create.for_index(name)).await?;
                made = created == Created::New;
                if created == Created::Existing {
                    target = Some(index::resolve(transport, name).await?);
                }
                if let Some(swapping) = swapping {
                    swapping.check_new(target.as_ref())?;
                    swapping.check_made(transport).await?;
                }
            }
            TargetKind::Missing { .. } => {}
            TargetKind::Index(_) | TargetKind::Alias { .. } | TargetKind::DataStream { .. } => {
                if config.create.is_given() {
                    tracing::warn!(
                        "{name} exists: option `mapping`, option `settings`, option `shards` and option `replicas` are left out; option `recreate` makes it anew"
                    );
                }
            }
            TargetKind::Hidden => {}
        }
    }
    let coming = settings_guard::Coming { bytes, created: made, earlier };
    let guard = settings_guard::plan(transport, config, target.as_ref(), coming).await?;
    let mut prepared = Prepared {
        preflight,
        target,
        before: Ok(0),
        member: None,
        guard,
        life: None,
        sizes_before: BTreeMap::new(),
        earlier_indices: Vec::new(),
        uuids: BTreeMap::new(),
    };
    if config.durability == Durability::Async {
        prepared.life = Some(first_life(transport, config, &prepared).await?);
    } else if let (true, Some(index)) = (with_ids, prepared.index(config)) {
        prepared.life = primary_terms::read(transport, index).await.ok();
    }
    prepared.uuids = match prepared.target.as_ref().and_then(Target::write_index) {
        Some(index) => [(index.name.clone(), index.uuid.clone())].into(),
        None => match prepared.index(config) {
            Some(index) => index::uuids(transport, index).await.unwrap_or_default(),
            None => BTreeMap::new(),
        },
    };
    if let Some(index) = prepared.index(config) {
        let index = index.to_owned();
        if let Ok(size) = stats::stats(transport, &index).await {
            prepared.sizes_before.insert(index, size);
        }
    }
    if let (true, Some(target)) = (config.verify, &prepared.target) {
        let made = prepared.uuids.get(&target.name).map(String::as_str);
        let entering = Entering { target, made, guard: &config.guard, run: run_id, earlier, runs };
        (prepared.before, prepared.member) = group::enter(transport, entering).await?;
    }
    Ok(prepared)
}

/// What the index is before the first document, for a load that waits for flushes.
async fn first_life(
    transport: &Transport,
    config: &LoadConfig,
    prepared: &Prepared,
) -> Result<PrimaryTerms, LoadError> {
    if prepared.target.as_ref().is_some_and(Target::is_data_stream) {
        let why = "option `durability=async` is for one index, and a data stream goes on to another one at any time; leave it out";
        return Err(LoadError::usage(why.to_owned()));
    }
    let Some(index) = prepared.index(config) else {
        let why = "option `durability=async` needs to see the index, and this user may not look at it; leave it out";
        return Err(LoadError::usage(why.to_owned()));
    };
    life_of(transport, index).await
}

/// What tells whether a shard of the index starts again.
pub(super) async fn life_of(transport: &Transport, index: &str) -> Result<PrimaryTerms, LoadError> {
    match primary_terms::read(transport, index).await {
        Err(error) if error.status() == Some(403) => Err(LoadError::usage(format!(
            "option `durability=async` needs to read the cluster state, which tells whether a shard has started again: {error}; grant it (cluster:monitor/state), or leave it out"
        ))),
        life => Ok(life?),
    }
}

impl IndexCreation {
    /// Whether anything was said about how to make an index.
    pub(crate) fn is_given(&self) -> bool {
        self.mapping.is_some() || self.settings.is_some() || self.shards.is_some() || self.replicas.is_some()
    }

    /// How to make the index `name`: the first pattern that matches, or what holds for all.
    pub fn for_index(&self, name: &str) -> index::CreateIndex {
        match self.patterns.iter().find(|p| index::matches_pattern(&p.pattern, name)) {
            Some(p) => index::CreateIndex {
                settings: p.settings.clone(),
                mappings: p.mapping.clone(),
                shards: p.shards,
                replicas: p.replicas,
            },
            None => index::CreateIndex {
                settings: self.settings.clone(),
                mappings: self.mapping.clone(),
                shards: self.shards,
                replicas: self.replicas,
            },
        }
    }
}

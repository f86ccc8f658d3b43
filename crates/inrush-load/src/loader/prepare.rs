//! Preparation of the index before the first document.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_cluster::api::check::{Needs, Preflight, preflight};
use inrush_cluster::api::made::{delete_if_empty, delete_if_ours};
use inrush_cluster::api::rights::{Need, Right};
use inrush_cluster::api::stats::IndexStats;
use inrush_cluster::api::{
    ClusterError, CreateIndex, Created, Product, Target, TargetKind, Version, history, index, primary_terms, stats,
};
use inrush_cluster::transport::Transport;
use inrush_core::flow::PrimaryTerms;
use inrush_core::report::Tally;
use inrush_core::{Action, FieldTypes, wildcard};
use inrush_guard::GUARD_INDEX;
use inrush_sources::Source;
use serde_json::{Map, Value};

use super::group::{self, Entering, Member, Silent};
use super::kept_aliases::{self, KeptAliases, Made};
use super::managed::Managed;
use super::new_index;
use super::recreate;
use crate::beginnings::{Beginnings, Repeated};
use crate::config::{Durability, FinishConfig, IndexCreation, LoadConfig, WaitFor};
use crate::count_check::Before;
use crate::cutover::{BY_ALIAS, Swapping};
use crate::error::LoadError;
use crate::guard_plan::{self, Earlier};
use crate::report::NewIndexReport;
use crate::targets;
use crate::vector_check::Vectors;

/// Properties of the documents and of the run before the first document.
pub(super) struct LoadInput<'a> {
    /// Bytes of the documents, as far as they are known.
    pub(super) bytes: Option<u64>,
    /// The interrupted run that this one resumes.
    pub(super) earlier: Option<Earlier>,
    /// The documents with vectors before that run, by field.
    pub(super) vectors_before: BTreeMap<String, u64>,
    /// Documents are looked up while they are sent.
    pub(super) looks_up: bool,
    /// Ids of the interrupted run and of the runs before it.
    pub(super) runs: &'a [String],
    pub(super) run_id: &'a str,
    /// The record of the loads into an index that is to be created again.
    pub(super) silent: Silent,
}

/// UUIDs of the indices that the source reads. Empty where it reads something else.
pub(crate) fn index_uuids(source: &dyn Source) -> Result<Vec<String>, LoadError> {
    // Other sources need no UUIDs, and the fingerprint of a file costs a read.
    if !source.describe().own_numbers {
        return Ok(Vec::new());
    }
    Ok(source.fingerprints()?.into_iter().filter_map(|fingerprint| fingerprint.index_uuid).collect())
}

/// Refuses an index that is its own source: its documents would be overwritten, or deleted before
/// they are read. UUIDs are random, so two addresses and names with one UUID are the same index.
pub(crate) fn reads_itself(target: Option<&Target>, read_from: &[String]) -> Result<(), ClusterError> {
    let Some(index) = target.and_then(Target::write_index).filter(|index| read_from.contains(&index.uuid)) else {
        return Ok(());
    };
    let problem = format!(
        "this index ({}) is the source of the documents, so it cannot be their target; name another index with option `index`, or change the documents in place with POST /{}/_update_by_query",
        index.uuid, index.name
    );
    Err(ClusterError::Target { name: index.name.clone(), problem })
}

/// The index and the cluster before the first document.
pub(super) struct Prepared {
    pub(super) preflight: Preflight,
    /// Target of a fixed index name.
    pub(super) target: Option<Target>,
    /// The managed endpoint that takes the documents.
    pub(super) managed: Option<Managed>,
    /// This load has created the index.
    pub(super) created: bool,
    /// Where the mapping and the settings of a new index come from, as far as that is a question.
    pub(super) new_index: Option<NewIndexReport>,
    /// A request of this load to create the index has no answer yet.
    is_creating: bool,
    /// The index of another name may be there that shows whether vectors can be packed.
    pub(super) is_trying_vectors: bool,
    /// The index that option `recreate` has deleted.
    deleted: Option<String>,
    /// The aliases of that index.
    aliases: Map<String, Value>,
    /// The index has the aliases of the one that was deleted.
    has_kept_aliases: bool,
    /// Documents of the index before the load, or why they could not be counted.
    pub(super) before: Result<u64, String>,
    /// Membership in the group of loads that write to the index at the same time.
    pub(super) member: Option<Member>,
    /// Plans of the settings guard, where it changes settings.
    pub(super) guard: Option<inrush_guard::Plans>,
    /// The guard of the graphs of vectors that are built after the load.
    pub(super) graphs: Option<inrush_guard::Plan>,
    /// An earlier run of the load has written segments without graphs, and has given the index its
    /// graphs back.
    pub(super) has_segments_without_graphs: bool,
    /// The user wants graphs that wait, and is told where they cannot.
    pub(super) graphs_are_asked: bool,
    /// Why the cluster does not let the graphs of a new index wait.
    pub(super) why_graphs_are_built: Option<String>,
    /// Primary terms before the first document, for a load that waits for flushes.
    pub(super) primary_terms: Option<PrimaryTerms>,
    /// The shards before the first document.
    pub(super) beginnings: Arc<Beginnings>,
    /// Sizes of the indices, by name, where the user may read them.
    pub(super) sizes_before: BTreeMap<String, IndexStats>,
    /// Indices of earlier runs of the same load.
    pub(super) earlier_indices: Vec<String>,
    /// UUIDs by index, which tell an index from a later one of the same name.
    pub(super) uuids: BTreeMap<String, String>,
    /// The fields of the index of all documents, as far as they are known.
    fields: FieldTypes,
    /// Its fields with vectors, if the load verifies it.
    pub(super) vectors: Vectors,
    /// Documents with vectors before the load, by field.
    pub(super) vectors_before: BTreeMap<String, u64>,
}

impl Prepared {
    /// Whether a shard of an index that got documents has another primary than at the beginning, or
    /// its primary restarted.
    pub(super) async fn repeated(&self, transport: &Transport, tally: &Tally) -> Repeated {
        match tally.indices.is_empty() {
            // A summary of replies names no index.
            true => self.beginnings.repeated(transport, &self.beginnings.names()).await,
            false => self.beginnings.repeated(transport, tally.indices.keys()).await,
        }
    }

    /// Whether the target may switch to another index during the load: a data stream, or an alias.
    pub(super) fn rolls_over(&self) -> bool {
        let alias = |target: &Target| matches!(target.kind, TargetKind::Alias { .. });
        self.target.as_ref().is_some_and(|target| target.is_data_stream() || alias(target))
    }

    /// Documents before the load, for the run that goes on with it.
    pub(super) fn noted_before(&self, verifies: bool) -> Option<u64> {
        match &self.managed {
            Some(managed) => managed.before(),
            None => self.before.as_ref().ok().copied().filter(|_| verifies),
        }
    }

    /// Logs the target and the decisions.
    pub(super) fn log(&self, config: &LoadConfig) {
        let stands_for = match self.target.as_ref().map(|target| &target.kind) {
            None => "named by each document".to_owned(),
            Some(TargetKind::Missing { .. }) => "a new index".to_owned(),
            Some(TargetKind::Index(index)) => format!("an index of {} shards", index.shards),
            Some(TargetKind::Alias { write, .. }) => format!("an alias that writes to {}", write.name),
            Some(TargetKind::DataStream { write, .. }) => format!("a data stream that writes to {}", write.name),
            Some(TargetKind::Hidden) => "not readable by this user".to_owned(),
        };
        let pipelines = if self.preflight.pipelines { "; an ingest pipeline may change the documents" } else { "" };
        tracing::info!("{}; target {}: {stands_for}{pipelines}", self.preflight.info, config.index);
    }

    /// Whether a request can require that the target is an alias. Elasticsearch has that parameter
    /// since 7.10. The server checks the name after pipelines have run, and a pipeline may set the
    /// name of an index.
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

    /// The first index that was replaced by another one of its name.
    pub(super) async fn replaced(&self, transport: &Transport) -> Option<String> {
        targets::another_index(transport, &self.uuids).await
    }

    /// The index of all documents, where a fixed name stands for one.
    pub(super) fn index<'a>(&'a self, config: &'a LoadConfig) -> Option<&'a str> {
        let target = self.target.as_ref()?;
        match target.write_index() {
            Some(index) => Some(&index.name),
            // The load created it. A data stream names its indices with the first document.
            None => config.index.fixed().filter(|_| !target.is_data_stream()),
        }
    }
}

impl Prepared {
    /// Reads primary terms, UUID and size of the index before the first document.
    async fn read_index(&mut self, transport: &Transport, config: &LoadConfig) -> Result<(), LoadError> {
        if config.durability == Durability::Async {
            self.primary_terms = Some(first_primary_terms(transport, config, self).await?);
        }
        if let Some(index) = self.index(config) {
            self.beginnings.note(transport, index, self.created).await;
        }
        let made = match (self.target.as_ref().and_then(Target::write_index), self.index(config)) {
            (None, Some(index)) => index::resolve(transport, index).await.ok(),
            _ => None,
        };
        if let Some(index) = made.as_ref().or(self.target.as_ref()).and_then(Target::write_index) {
            self.uuids = [(index.name.clone(), index.uuid.clone())].into();
            self.fields = index.field_types.clone();
        }
        if let Some(index) = self.index(config) {
            let index = index.to_owned();
            if let Ok(size) = stats::stats(transport, &index).await {
                self.sizes_before.insert(index, size);
            }
        }
        Ok(())
    }

    /// Names that cover everything that was loaded.
    pub(super) fn names(&self, tally: &Tally) -> Vec<String> {
        match &self.target {
            Some(target) => vec![target.name.clone()],
            None => tally.indices.keys().cloned().collect(),
        }
    }
}

/// Requirements on the cluster for a load of `bytes` bytes. `has_ids`: all documents have ids.
pub(crate) fn needs(config: &LoadConfig, bytes: Option<u64>, has_ids: bool) -> Needs {
    let fixed = config.index.fixed();
    let made = fixed.map(|name| config.create.for_index(name)).unwrap_or_default();
    Needs {
        index: fixed.map(str::to_owned),
        recreate: config.create.recreate,
        replicas: made.replicas,
        creates: made != CreateIndex::default() || config.finish.swap.is_some(),
        settings: made.settings,
        pipeline: config.pipeline.clone(),
        bytes_expected: bytes,
        action: config.action,
        under_policy: config.under_policy,
        wait_max: config.limits.pause_max,
        has_ids,
        restores: false,
        rights: rights_at_end(config, bytes),
        rights_of_guard: rights_of_guard(fixed),
    }
}

/// The rights that changing settings of the index needs. A lease that cannot be deleted at the end
/// would stand for a load that still runs.
fn rights_of_guard(index: Option<&str>) -> Vec<Need> {
    let lease = Need::new(Right::DeleteDocument, GUARD_INDEX, "is needed at the end");
    let settings = index.map(|index| Need::new(Right::Settings, index, "is needed for that"));
    settings.into_iter().chain([lease]).collect()
}

/// The rights that the steps after the last document need, on the index that is loaded.
fn rights_at_end(config: &LoadConfig, bytes: Option<u64>) -> Vec<Need> {
    let FinishConfig { wait_for, force_merge, graph, swap, .. } = &config.finish;
    let index = config.index.fixed().unwrap_or_default();
    let mut rights = Vec::new();
    let mut add = |by, asked: &[Right]| rights.extend(asked.iter().map(|right| Need::new(*right, index, by)));
    if force_merge.is_some() {
        let by = "option `force_merge` needs at the end";
        add(by, &[Right::ForceMerge, Right::Task, Right::Refresh, Right::Stats]);
    }
    if graph.waits(bytes) {
        let by = "option `graph` needs at the end";
        add(by, &[Right::ForceMerge, Right::Task, Right::Refresh, Right::Stats]);
    }
    let by = "option `wait_for` needs at the end";
    match wait_for {
        None => {}
        Some(WaitFor::Searchable) => add(by, &[Right::Refresh]),
        Some(WaitFor::Green) => add(by, &[Right::Refresh, Right::Health]),
        Some(WaitFor::Replicated) => add(by, &[Right::Refresh, Right::Health, Right::Stats]),
    }
    if let Some(swap) = swap {
        add(BY_ALIAS, &[Right::Refresh, Right::Health, Right::Aliases]);
        if !swap.warm.is_empty() {
            add("option `warm` needs at the end", &[Right::Search]);
        }
    }
    // Documents that name their index are checked by its first document.
    rights.retain(|need: &Need| !index.is_empty() || need.right.is_of_cluster());
    rights
}

/// Checks the cluster and the target, and changes nothing. `read_from` has the UUIDs of the indices
/// that the documents are read from.
///
/// # Errors
/// An error that stops the load.
pub(super) async fn look(
    transport: &Transport,
    config: &LoadConfig,
    (bytes, with_ids): (Option<u64>, bool),
    read_from: &[String],
    swapping: Option<&Swapping>,
) -> Result<Prepared, LoadError> {
    let mut needs = needs(config, bytes, with_ids);
    needs.rights.extend(swapping.map(Swapping::rights).unwrap_or_default());
    let preflight = preflight(transport, &needs).await?;
    let target = preflight.target.clone();
    if let Some(swapping) = swapping {
        swapping.check_new(target.as_ref())?;
    }
    reads_itself(target.as_ref(), read_from)?;
    let mut prepared = Prepared::new(preflight, target);
    prepared.preflight.warnings.extend(config.create.notes.iter().cloned());
    prepared.new_index = new_index::report(config, prepared.target.as_ref());
    // The documents name the new indices.
    if config.index.fixed().is_none() {
        config.tell_inferred();
    }
    Ok(prepared)
}

impl Prepared {
    /// The cluster, if it tells of the index.
    pub(super) fn asked<'a>(&self, transport: &'a Transport) -> Option<&'a Transport> {
        self.managed.is_none().then_some(transport)
    }

    /// Before a load through a managed endpoint, which tells nothing of the index.
    pub(super) fn of_managed(preflight: Preflight, managed: Managed) -> Self {
        Prepared { managed: Some(managed), ..Prepared::new(preflight, None) }
    }

    fn new(preflight: Preflight, target: Option<Target>) -> Self {
        Prepared {
            preflight,
            target,
            managed: None,
            created: false,
            new_index: None,
            is_creating: false,
            is_trying_vectors: false,
            deleted: None,
            aliases: Map::new(),
            has_kept_aliases: false,
            before: Ok(0),
            member: None,
            guard: None,
            graphs: None,
            has_segments_without_graphs: false,
            graphs_are_asked: true,
            why_graphs_are_built: None,
            primary_terms: None,
            beginnings: Beginnings::new(),
            sizes_before: BTreeMap::new(),
            earlier_indices: Vec::new(),
            uuids: BTreeMap::new(),
            fields: FieldTypes::default(),
            vectors: Vectors::default(),
            vectors_before: BTreeMap::new(),
        }
    }
}

impl Prepared {
    /// Deletes the index where the load is to create it again, creates it where it does not exist,
    /// and enters the group of loads into it.
    ///
    /// # Errors
    /// An error that stops the load before its first document. [`Prepared::take_back`] is next.
    pub(super) async fn change(
        &mut self,
        transport: &Arc<Transport>,
        config: &LoadConfig,
        LoadInput { bytes, earlier, vectors_before, looks_up, runs, run_id, silent }: LoadInput<'_>,
        swapping: Option<&Swapping>,
    ) -> Result<(), LoadError> {
        if let (true, Some(name), Some(_)) = (config.create.recreate, config.index.fixed(), &self.target) {
            let deleted = recreate::delete(transport, config, name, silent).await?;
            self.deleted = deleted.was_there.then(|| name.to_owned());
            (self.target, self.aliases) = (Some(deleted.target), deleted.aliases);
        }
        self.create_index(transport, config, swapping, earlier.is_some()).await?;
        let input = guard_plan::GuardInput { bytes, created: self.created, earlier };
        let guard = guard_plan::plan(transport, config, self.target.as_ref(), input).await?;
        self.guard = match (guard, &self.preflight.lacks_for_guard) {
            (Some(_), Some(lacks)) => {
                let index = config.index.as_str();
                // Of the log only, as it is so in each load of this user.
                tracing::warn!("the settings of {index} are not changed for the load: {lacks}");
                None
            }
            (plan, _) => plan,
        };
        self.read_index(transport, config).await?;
        if let (true, Some(target)) = (config.verify, &self.target) {
            let unlike = if self.preflight.pipelines {
                Some("an ingest pipeline may add or remove it")
            } else {
                looks_up.then_some("documents are looked up while they are sent")
            };
            self.vectors = Vectors::new(&self.fields, unlike);
            let created = self.uuids.get(&target.name).map(String::as_str);
            let (guard, pause_max, vectors) = (&config.guard, config.limits.pause_max, &self.vectors);
            let known = earlier.and_then(|earlier| earlier.docs_before);
            let known = known.map(|docs| Before { docs, vectors: vectors_before });
            let entering = Entering {
                target,
                created,
                guard,
                run: run_id,
                is_resumed: earlier.is_some(),
                known,
                runs,
                pause_max,
                vectors,
            };
            let (before, member) = group::enter(transport, entering).await?;
            self.vectors_before = before.as_ref().map(|before| before.vectors.clone()).unwrap_or_default();
            (self.before, self.member) = (before.map(|before| before.docs), member);
        }
        Ok(())
    }

    /// Takes back what [`Prepared::change`] has made, for a load that does not begin. An index
    /// stays where other loads or clients write to it by now, and is named.
    pub(super) async fn take_back(mut self, transport: &Transport, config: &LoadConfig) {
        let is_alone = match self.member.take() {
            Some(member) => member.withdraw().await,
            None => true,
        };
        // The index that was deleted is gone. Its aliases stay where they are.
        let keeps_aliases = self.created && self.has_kept_aliases;
        if let (true, Some(name)) = ((self.created || self.is_creating) && !keeps_aliases, config.index.fixed()) {
            let how = config.create.for_index(name);
            let gone = match self.uuids.get(name) {
                _ if !is_alone => Err("another load into it has begun".to_owned()),
                Some(uuid) => delete_if_empty(transport, name, uuid).await.map_err(|error| error.to_string()),
                None => delete_if_ours(transport, name, &how).await.map_err(|error| error.to_string()),
            };
            if let Err(why) = gone {
                tracing::warn!("the index {name}, which this load has created, stays without its documents: {why}");
            }
        }
        if let Some(name) = &self.deleted {
            let left = match keeps_aliases {
                true => "; a new one with its aliases is there, without documents".to_owned(),
                false if self.aliases.is_empty() => String::new(),
                false => {
                    let request = kept_aliases::request(name, &self.aliases);
                    format!("; its aliases are put on it by the next load that creates it, or by {request}")
                }
            };
            tracing::warn!(
                "the index {name} was deleted (option `recreate`), and the load that was to fill it again has not begun{left}"
            );
        }
    }
}

impl Prepared {
    /// Creates the index of a fixed name where it does not exist.
    async fn create_index(
        &mut self,
        transport: &Transport,
        config: &LoadConfig,
        swapping: Option<&Swapping>,
        is_resumed: bool,
    ) -> Result<(), LoadError> {
        let (Some(name), Some(found)) = (config.index.fixed(), &self.target) else { return Ok(()) };
        if let TargetKind::Index(index) = &found.kind {
            self.preflight.warnings.extend(KeptAliases::of(config, name).give_up(&index.uuid));
        }
        match &found.kind {
            TargetKind::Missing { .. } if !found.is_data_stream() => {
                self.is_creating = true;
                let (kept, how) = (KeptAliases::of(config, name), config.create.for_index(name));
                let made = match kept.create(transport, &how, &self.aliases).await {
                    Err(error) if may_be_made_by_document(config, &error) => {
                        self.target = Some(found.clone().by_document());
                        self.is_creating = false;
                        return Ok(());
                    }
                    made => made?,
                };
                let Made { created, has_aliases, warnings } = made;
                self.has_kept_aliases = has_aliases;
                self.preflight.warnings.extend(warnings);
                (self.created, self.is_creating) = (created == Created::New, false);
                if self.created {
                    config.tell_inferred();
                }
                if created == Created::Existing {
                    self.target = Some(index::resolve(transport, name).await?);
                }
                if let Some(swapping) = swapping {
                    swapping.check_new(self.target.as_ref())?;
                    swapping.check_made(transport).await?;
                }
            }
            // An earlier run, or another load of the same index, has made it.
            _ if is_resumed || swapping.is_some_and(Swapping::may_go_on) => {}
            TargetKind::Index(_) | TargetKind::Alias { .. } | TargetKind::DataStream { .. } => {
                // Of the log only: a load that runs each night says what its first one needs.
                config.create.without_effect(name).into_iter().for_each(|warning| tracing::warn!("{warning}"));
            }
            TargetKind::Missing { .. } | TargetKind::Hidden => {}
        }
        Ok(())
    }
}

/// Whether the first document can create what the cluster did not create as an index: a template
/// that the user may not read makes a data stream of the name.
fn may_be_made_by_document(config: &LoadConfig, error: &ClusterError) -> bool {
    let adds = matches!(config.action, Action::Index | Action::Create);
    let is_plain = !config.create.is_given() && config.finish.swap.is_none() && !config.create.recreate;
    adds && is_plain && index::needs_data_stream(error)
}

/// Primary terms before the first document, for a load that waits for flushes.
async fn first_primary_terms(
    transport: &Transport,
    config: &LoadConfig,
    prepared: &Prepared,
) -> Result<PrimaryTerms, LoadError> {
    if prepared.target.as_ref().is_some_and(Target::is_data_stream) {
        let why = "option `durability=async` needs one index, and a data stream can switch to another one at any time; leave option `durability` out";
        return Err(LoadError::usage(why.to_owned()));
    }
    let Some(index) = prepared.index(config) else {
        let why = "option `durability=async` needs to read the metadata of the index, and this user has no permission for it; leave option `durability` out";
        return Err(LoadError::usage(why.to_owned()));
    };
    read_primary_terms(transport, index).await
}

/// Primary terms of the index, which reveal the restart of a shard.
pub(super) async fn read_primary_terms(transport: &Transport, index: &str) -> Result<PrimaryTerms, LoadError> {
    match primary_terms::read(transport, index).await {
        Err(error) if error.status() == Some(403) => Err(LoadError::usage(format!(
            "option `durability=async` needs to read the cluster state to detect the restart of a shard: {error}; grant the permission cluster:monitor/state, or leave option `durability` out"
        ))),
        terms => Ok(terms?),
    }
}

impl LoadConfig {
    /// Warns of what was found while the mapping of a new index was inferred.
    #[doc(hidden)]
    pub fn tell_inferred(&self) {
        self.create.inferred.iter().flatten().for_each(|warning| self.told.add(warning.clone()));
    }
}

impl IndexCreation {
    /// Whether the user gave a mapping or settings for a new index.
    pub(crate) fn is_given(&self) -> bool {
        self.mapping.is_some() || self.settings.is_some() || self.shards.is_some() || self.replicas.is_some()
    }

    /// A warning about an index that exists, where the user gave what a new one gets. A mapping
    /// that is inferred is for a new index only.
    pub(crate) fn without_effect(&self, name: &str) -> Option<String> {
        let mapping = if self.mapping_of.is_some() { "option `copy_mapping`" } else { "option `mapping`" };
        let settings = if self.settings_of.is_some() { "option `copy_settings`" } else { "option `settings`" };
        let is_given = [
            (mapping, self.mapping.is_some() && self.inferred.is_none()),
            (settings, self.settings.is_some()),
            ("option `shards`", self.shards.is_some()),
            ("option `replicas`", self.replicas.is_some()),
        ];
        let given: Vec<&str> = is_given.into_iter().filter(|(_, is)| *is).map(|(option, _)| option).collect();
        let have = if given.len() == 1 { "has" } else { "have" };
        (!given.is_empty()).then(|| {
            format!(
                "index {name} exists, so {} {have} no effect; give option `recreate` to delete the index and create it again",
                given.join(", ")
            )
        })
    }

    /// Mapping and settings of the new index `name`: those of the first pattern that matches, or
    /// the general ones. With the mark of an index for an alias.
    pub fn for_index(&self, name: &str) -> index::CreateIndex {
        let given = self.given_for(name);
        match &self.mark {
            Some(mark) => index::CreateIndex { mappings: Some(history::marked(given.mappings, mark)), ..given },
            None => given,
        }
    }

    /// The same as the user gave them.
    pub(crate) fn given_for(&self, name: &str) -> index::CreateIndex {
        match self.patterns.iter().find(|p| wildcard::matches(&p.pattern, name)) {
            Some(p) => index::CreateIndex {
                settings: p.settings.clone(),
                mappings: p.mapping.clone(),
                shards: p.shards,
                replicas: p.replicas,
                ..index::CreateIndex::default()
            },
            None => index::CreateIndex {
                settings: self.settings.clone(),
                mappings: self.mapping.clone(),
                shards: self.shards,
                replicas: self.replicas,
                ..index::CreateIndex::default()
            },
        }
    }
}

//! Graphs of vectors that are built once, after the load.

use http::Method;
use inrush_cluster::api::{IndexInfo, Product, Target, TargetKind, graphs, index, stats, trial};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::settings_guard::{Changes, LoadProfile, Part, policy};
use inrush_core::vectors::graph;
use inrush_core::wildcard;
use inrush_guard::{GUARD_INDEX, Plan, default_folder};
use inrush_sources::SourceInfo;
use serde_json::Value;

use super::prepare::Prepared;
use crate::config::{GraphTime, IndexCreation, LoadConfig};
use crate::error::LoadError;
use crate::guard_plan::Earlier;

/// Decides whether `graph=auto` lets the graphs of this index wait.
pub(super) fn decide(config: &mut LoadConfig, prepared: &mut Prepared, source: &SourceInfo) {
    if config.finish.graph != GraphTime::Auto {
        return;
    }
    let target = prepared.target.as_ref();
    let is_new =
        config.create.recreate || target.is_some_and(|target| matches!(target.kind, TargetKind::Missing { .. }));
    // An earlier run of the load, or another instance of it, has decided.
    let waits = target.and_then(Target::write_index).is_some_and(|index| index.graphs_are_to_come);
    let is_large = !source.is_endless && config.finish.graph.waits(source.bytes_total);
    let may_wait = !config.guard.leave_settings && config.finish.force_merge.is_none_or(|segments| segments == 1);
    prepared.graphs_are_asked = false;
    config.finish.graph = match may_wait && (waits || is_new && is_large) {
        true => GraphTime::End,
        false => GraphTime::Load,
    };
}

/// Lets a new index of Elasticsearch begin without graphs, if its cluster shows that they can be
/// built later. The wanted options are noted in its mapping. It creates an index of another name,
/// and deletes it.
pub(super) async fn begin_without(
    transport: &Transport,
    config: &mut LoadConfig,
    prepared: &mut Prepared,
    run_id: &str,
) {
    let (Some(name), Some(target)) = (config.index.fixed().map(str::to_owned), &prepared.target) else { return };
    let is_new = matches!(target.kind, TargetKind::Missing { .. }) || config.create.recreate;
    let info = prepared.preflight.info.clone();
    let is_asked = config.finish.graph == GraphTime::End && info.product == Product::Elasticsearch;
    if !is_asked || !is_new || target.is_data_stream() || prepared.preflight.lacks_for_guard.is_some() {
        return;
    }
    let how = config.create.for_index(&name);
    let body = trial::with_templates(transport, &name, &how).await;
    let whole = body.get("mappings").cloned().unwrap_or_default();
    let fields = graph::with_graph(&whole);
    if fields.is_empty() {
        return;
    }
    match graphs::try_out(transport, &info, &name, &fields, run_id).await {
        Ok(wanted) => {
            let given = config.create.given_for(&name).mappings;
            *mapping_of(&mut config.create, &name) = Some(graph::without_graphs(given, &whole, &wanted));
        }
        Err(why) => prepared.why_graphs_are_built = Some(why),
    }
}

/// The place of the mapping of the new index `name`.
fn mapping_of<'c>(create: &'c mut IndexCreation, name: &str) -> &'c mut Option<Value> {
    match create.patterns.iter_mut().find(|p| wildcard::matches(&p.pattern, name)) {
        Some(p) => &mut p.mapping,
        None => &mut create.mapping,
    }
}

/// The guard of the graphs that are to be built after the load, by this load or by an earlier one
/// that was killed. Where the load wants it and it cannot be, a warning says why.
///
/// # Errors
/// [`LoadError`] if the index cannot be read.
pub(super) async fn plan(
    transport: &Transport,
    config: &LoadConfig,
    prepared: &mut Prepared,
    earlier: Option<Earlier>,
) -> Result<Option<Plan>, LoadError> {
    let created = prepared.created;
    let is_wanted = config.finish.graph == GraphTime::End;
    let known = prepared.target.as_ref().and_then(Target::write_index);
    let was_left = known.is_some_and(|index| index.graphs_are_to_come);
    let Some(name) = config.index.fixed().filter(|_| !config.guard.leave_settings && (is_wanted || was_left)) else {
        return Ok(None);
    };
    let made;
    let found = match known {
        None if created => {
            made = index::resolve(transport, name).await?;
            made.write_index()
        }
        known => known,
    };
    let planned = match found {
        Some(index) if !prepared.rolls_over() => {
            let is_ours = created || earlier.is_some_and(|earlier| earlier.docs_before == Some(0));
            of_index(transport, prepared, index, is_ours).await?
        }
        _ => Err("only one index that the load creates, or that is empty, can wait for them".to_owned()),
    };
    match planned {
        Ok((index, job, changes)) => {
            let folder = config.guard.state.clone().or_else(default_folder);
            let (index, uuid) = (index.name, index.uuid);
            Ok(Some(Plan { index, uuid, job, folder, graphs: Some(changes) }))
        }
        Err(why) if is_wanted => {
            let is_elasticsearch = prepared.preflight.info.product == Product::Elasticsearch;
            prepared.has_segments_without_graphs =
                is_elasticsearch && earlier.is_some_and(|earlier| earlier.docs_before == Some(0));
            warn_that_they_are_built(prepared, name, &why);
            Ok(None)
        }
        Err(_) => Ok(None),
    }
}

/// Warns that option `graph=end` has no effect on an index, where it was given.
pub(super) fn warn_that_they_are_built(prepared: &mut Prepared, index: &str, why: &str) {
    if !prepared.graphs_are_asked {
        tracing::info!("the graphs of vectors of {index} are built while it is loaded: {why}");
        return;
    }
    let warning = format!("option `graph=end`: the graphs of vectors of {index} are built while it is loaded: {why}");
    tracing::warn!("{warning}");
    prepared.preflight.warnings.push(warning);
}

/// What the guard of the graphs of an index changes, or why they cannot wait.
type Planned = Result<(IndexInfo, LoadProfile, Changes), String>;

async fn of_index(
    transport: &Transport,
    prepared: &Prepared,
    index: &IndexInfo,
    is_ours: bool,
) -> Result<Planned, LoadError> {
    let mapping = graphs::mapping(transport, &index.name).await?;
    let made = graph::made(&mapping);
    if !made.is_empty() {
        return Ok(Ok((index.clone(), LoadProfile::default(), made)));
    }
    let info = &prepared.preflight.info;
    if let Some(lacks) = &prepared.preflight.lacks_for_guard {
        return Ok(Err(lacks.clone()));
    }
    if info.product == Product::Elasticsearch {
        return Ok(Err(match &prepared.why_graphs_are_built {
            Some(why) => why.clone(),
            None if graph::with_graph(&mapping).is_empty() => "no field of it has vectors with a graph".to_owned(),
            None => "Elasticsearch takes a graph from no field that has one, so only an index that the load creates can wait for it".to_owned(),
        }));
    }
    if index.graphs_are_to_come {
        // Another load waits for them, or was killed. The last one that shares the lease puts the
        // setting back.
        return Ok(match has_lease(transport, index).await? {
            true => Ok((index.clone(), LoadProfile::default(), Changes::new())),
            false => Err(format!("its setting {} is -1, so it gets none", policy::GRAPH_THRESHOLD)),
        });
    }
    let version = info.version.map_or((u32::MAX, 0), |version| (version.major, version.minor));
    if let Err(why) = graph::can_wait(&mapping, version) {
        return Ok(Err(why));
    }
    if !has_graphs(transport, &index.name).await? {
        return Ok(Err("its setting index.knn is not true, so it gets none".to_owned()));
    }
    if !is_ours && count(transport, &index.name).await? > 0 {
        return Ok(Err("it has documents, whose graphs a merge would drop meanwhile".to_owned()));
    }
    let job = LoadProfile { no_graphs: true, ..LoadProfile::default() };
    Ok(Ok((index.clone(), job, Changes::new())))
}

/// Whether an index of OpenSearch has graphs at all.
async fn has_graphs(transport: &Transport, index: &str) -> Result<bool, LoadError> {
    let path = format!("/{}/_settings/index.knn?flat_settings=true", path_segment(index));
    let found = transport.demand("reading index.knn", Method::GET, &path, None).await?;
    let setting = found.get(index).and_then(|found| found["settings"].get("index.knn"));
    Ok(setting.is_some_and(|on| on == "true"))
}

/// Whether a load has changed when the graphs of an index are built, and has not put it back.
async fn has_lease(transport: &Transport, index: &IndexInfo) -> Result<bool, LoadError> {
    let what = format!("reading the lease of {}", index.name);
    let path = format!("/{GUARD_INDEX}/_doc/{}", path_segment(&Part::Graphs.lease_id(&index.uuid)));
    match transport.demand(&what, Method::GET, &path, None).await {
        Err(error) if matches!(error.status(), Some(403 | 404)) => Ok(false),
        found => Ok(found.map(|_| true)?),
    }
}

async fn count(transport: &Transport, index: &str) -> Result<u64, LoadError> {
    stats::refresh(transport, index).await?;
    Ok(stats::count(transport, index).await?)
}

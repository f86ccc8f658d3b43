//! The checks before anything is started: whether the target can take an index that was built
//! elsewhere, and how that index has to be created.

use std::path::Path;

use http::Method;
use inrush_cluster::BoxFuture;
use inrush_cluster::api::check::{Needs, Preflight, preflight};
use inrush_cluster::api::rights::{Need, Right};
use inrush_cluster::api::{
    ClusterError, ClusterInfo, Target, TargetKind, Version, data_streams, index as cluster_index, templates,
};
use inrush_cluster::run_id::run_id;
use inrush_cluster::transport::Transport;
use inrush_load::checkpoint::Job;
use inrush_load::cutover::{self, Swapping};
use inrush_node::{Distribution, Product};
use serde_json::Value;

use super::access::{self, User};
use super::builder::{self, Note};
use super::config::{BakeConfig, BakeError, Engine, Layout};
use super::native;
use super::place::Shared;
use super::plan::Plan;
use super::state::{Native, Part, Saved, Whole};

/// The name of the index of a single shard on its builder.
pub(super) const PART: &str = "inrush-bake-part";

/// A target for which a bake is possible.
pub(super) struct Prepared {
    pub(super) saved: Saved,
    pub(super) swapping: Option<Swapping>,
    /// Versions of the builder to try.
    pub(super) versions: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Checks the target, without changing it.
pub(super) fn prepare<'a>(
    target: &'a Transport,
    config: &'a mut BakeConfig,
    job: Job,
    bytes: Option<u64>,
) -> BoxFuture<'a, Result<Prepared, BakeError>> {
    Box::pin(async move {
        let swapping = cutover::begin(target, &mut config.load, None).await?;
        let load = &config.load;
        let index = load.index.fixed().unwrap_or_default().to_owned();
        let create = load.create.for_index(&index);
        let Preflight { info, target: found, warnings, .. } = look(target, config, swapping.as_ref(), bytes).await?;
        check_name(swapping.as_ref(), found.as_ref(), &index)?;
        if let Some(stream) = &config.data_stream {
            check_data_stream(target, &info, stream).await?;
        }
        let oldest = oldest_node(target).await?;
        let made_as = match config.parted() {
            Some(Layout::Alias) => format!("{index}-1"),
            _ => index.clone(),
        };
        let given = templates::given(target, &made_as).await?;
        if let Some(swap) = load.finish.swap.as_ref().filter(|swap| given.aliases.contains_key(&swap.alias)) {
            return Err(BakeError::Refused(format!(
                "an index template gives {index} the alias {}, which must move only when the index is complete; remove the alias from the template",
                swap.alias
            )));
        }
        let id = run_id();
        let shared = Shared::find(config, &format!("inrush-bake-{id}"), target).await?;
        let nodes = match &shared.folder {
            Some(_) if config.path_on_target.is_none() => access::of_nodes(target).await,
            _ => Vec::new(),
        };
        if let Some(around) = shared.folder.as_deref().and_then(Path::parent) {
            access::check(around, &nodes)?;
        }
        let plan = Plan::new(given, &create);
        if config.data_stream.is_some() {
            has_timestamp(&plan.mappings)?;
        }
        let (native, server_because) = native(config, &plan, (&shared, &nodes), (&info, oldest)).await?;
        if let Some(native) = native {
            tracing::info!("building {index} with {} for {info}", native::title());
            let parts = vec![part(Vec::new(), index.clone(), plan.clone())];
            let mut saved = Saved::new(job, id, index, plan, shared, parts);
            saved.native = Some(native);
            saved.data_stream.clone_from(&config.data_stream);
            saved.swap = swapping.as_ref().map(|swapping| swapping.noted.clone());
            return Ok(Prepared { saved, swapping, versions: Vec::new(), warnings });
        }
        let versions = builder::versions(&info, oldest, &config.builder)?;
        let (mut saved, versions) = with_builders(target, config, (job, id, index, plan, shared), versions).await?;
        saved.server_because = server_because;
        saved.data_stream.clone_from(&config.data_stream);
        saved.swap = swapping.as_ref().map(|swapping| swapping.noted.clone());
        Ok(Prepared { saved, swapping, versions, warnings })
    })
}

/// What a bake is of: its job, its id, the index, how that is created, and the place between both
/// sides.
type Subject = (Job, String, String, Plan, Shared);

/// The record of a bake with builders. `fits`: what they run, and the versions to try.
async fn with_builders(
    target: &Transport,
    config: &BakeConfig,
    (job, id, index, plan, shared): Subject,
    fits: (Product, Vec<String>),
) -> Result<(Saved, Vec<String>), BakeError> {
    let (product, versions) = fits;
    let version = versions.first().cloned().unwrap_or_default();
    let notes = notes(&config.builder.urls, config.builders as usize, &id, product, &version);
    tracing::info!("building {index} with {}", Distribution { product, version }.title());
    let (plan, parts, whole) = parts(config, &index, plan, notes)?;
    if whole.is_some() && shared.folder.is_none() {
        return Err(BakeError::Refused(
            "option `layout=stitched` puts files of the repository together, but this one is not a folder; give option `repository_path`, or another value of option `layout`".to_owned(),
        ));
    }
    for part in parts.iter().filter(|part| part.index != index && whole.is_none()) {
        if cluster_index::exists(target, &part.index).await? {
            return Err(BakeError::Refused(format!(
                "{} exists on the target; name another with option `index`",
                part.index
            )));
        }
    }
    let mut saved = Saved::new(job, id, index, plan, shared, parts);
    (saved.layout, saved.whole) = (config.parted(), whole);
    Ok((saved, versions))
}

/// The record of a bake without a builder, if the options ask for it and the index can be built so;
/// else why it cannot, where the options leave the choice. `target`: what the target says of
/// itself, and the version of its oldest node.
///
/// # Errors
/// [`BakeError::NotNative`] if it cannot, and the options leave no choice.
async fn native(
    config: &BakeConfig,
    plan: &Plan,
    (shared, nodes): (&Shared, &[User]),
    (info, oldest): (&ClusterInfo, Option<Version>),
) -> Result<(Option<Native>, Option<String>), BakeError> {
    if config.engine == Engine::Server {
        return Ok((None, None));
    }
    let found = async {
        let target = native::target(info, oldest)?;
        native::check(config, plan, shared, target)?;
        if let Some(around) = shared.folder.as_deref().and_then(Path::parent) {
            access::check_reading(around, nodes)?;
        }
        native::reach(config, shared).await?;
        Ok::<_, String>(target)
    };
    match (config.engine, found.await) {
        (Engine::Auto, Err(why)) => Ok((None, Some(why))),
        (Engine::Server | Engine::Native, Err(why)) => Err(BakeError::NotNative(why)),
        (_, Ok((product, version))) => {
            Ok((Some(Native::new(product, version.to_string(), config.repository_options.clone())), None))
        }
    }
}

/// Checks that the target can get a new index of the name `index`. `found`: what the name stands
/// for now.
fn check_name(swapping: Option<&Swapping>, found: Option<&Target>, index: &str) -> Result<(), BakeError> {
    match (swapping, found.map(|found| &found.kind)) {
        (_, Some(TargetKind::Missing { template: Some(template), .. })) if template.data_stream => {
            Err(BakeError::Refused(format!(
                "the index template {} creates data streams of the name {index}, but a bake hands over an index; load into it with `inrush load`",
                template.name
            )))
        }
        (Some(swapping), _) => Ok(swapping.check_new(found)?),
        (None, Some(TargetKind::Missing { .. })) => Ok(()),
        (None, Some(TargetKind::Alias { .. })) => Err(BakeError::Refused(format!(
            "{index} is an alias on the target, but a bake hands over a new index; give option `alias={index}` in place of option `index` to replace the index behind it"
        ))),
        (None, _) => Err(BakeError::Refused(format!(
            "{index} exists on the target, but a bake hands over a new index; give another name, or load into it with `inrush load`"
        ))),
    }
}

/// The records of `count` builders. The first ones are the servers at `urls`.
fn notes(urls: &[String], count: usize, id: &str, product: Product, version: &str) -> Vec<Note> {
    let note = |n: usize| {
        let name = if count == 1 { format!("bake-{id}") } else { format!("bake-{id}-{n}") };
        let url = urls.get(n - 1).cloned();
        Note { name, product, version: version.to_owned(), is_lent: url.is_some(), url, transport_port: None }
    };
    (1..=count).map(note).collect()
}

/// Checks that the target has that data stream, and can attach an index to it.
async fn check_data_stream(target: &Transport, info: &ClusterInfo, stream: &str) -> Result<(), BakeError> {
    if !data_streams::can_attach(info) {
        return Err(BakeError::Refused(format!(
            "{info} cannot attach an index to a data stream (Elasticsearch 7.16 and newer can); load into {stream} with `inrush load`, or bake an index of its own and search both"
        )));
    }
    match data_streams::indices(target, stream).await {
        Ok(Some(_)) => Ok(()),
        // The path means something else on this server.
        Err(error) if matches!(error.status(), Some(400 | 405)) => {
            Err(BakeError::Refused(format!("this {info} has no data streams; bake an index by itself")))
        }
        Err(error) => Err(error.into()),
        Ok(None) => Err(BakeError::Refused(format!(
            "there is no data stream {stream} on the target; create it with PUT /_data_stream/{stream}, which needs an index template"
        ))),
    }
}

/// Checks what every index of a data stream needs, as far as the mapping tells.
fn has_timestamp(mappings: &Value) -> Result<(), BakeError> {
    match mappings.pointer("/properties/@timestamp/type").and_then(Value::as_str) {
        None | Some("date" | "date_nanos") => Ok(()),
        Some(other) => Err(BakeError::Refused(format!(
            "the mapping has @timestamp as {other}, but in a data stream it must be date or date_nanos"
        ))),
    }
}

/// The parts that are built separately, and how: by one builder, by the nodes of one, or by
/// several.
fn parts(
    config: &BakeConfig,
    index: &str,
    plan: Plan,
    notes: Vec<Note>,
) -> Result<(Plan, Vec<Part>, Option<Whole>), BakeError> {
    let count = config.builders;
    Ok(match config.parted() {
        None | Some(Layout::Cluster) => {
            let parts = vec![part(notes, index.to_owned(), plan.clone())];
            (plan, parts, None)
        }
        Some(Layout::Alias) => {
            let each = notes.into_iter().enumerate();
            let parts = each.map(|(n, note)| part(vec![note], format!("{index}-{}", n + 1), plan.clone())).collect();
            (plan, parts, None)
        }
        Some(Layout::Stitched) => {
            let plan = plan.with_shards(count);
            plan.routing().map_err(BakeError::Refused)?;
            let each = notes.into_iter();
            let parts = each.map(|note| part(vec![note], PART.to_owned(), plan.one_shard())).collect();
            (plan, parts, Some(Whole::default()))
        }
    })
}

fn part(nodes: Vec<Note>, index: String, plan: Plan) -> Part {
    Part { nodes, index, plan, made: None, loaded: None, snapshot: false, mapping: Value::Null, new_fields: None }
}

/// Reads product, version, disks and pipelines of the target, and what the name of the index stands
/// for.
async fn look(
    target: &Transport,
    config: &BakeConfig,
    swapping: Option<&Swapping>,
    bytes: Option<u64>,
) -> Result<Preflight, BakeError> {
    let load = &config.load;
    let create = load.index.fixed().map(|name| load.create.for_index(name)).unwrap_or_default();
    let needs = Needs {
        index: load.index.fixed().map(str::to_owned),
        recreate: false,
        replicas: create.replicas,
        settings: create.settings,
        pipeline: load.pipeline.clone(),
        bytes_expected: bytes,
        action: load.action,
        under_policy: load.under_policy,
        wait_max: load.limits.pause_max,
        has_ids: true,
        creates: true,
        restores: true,
        rights: rights(config, swapping),
        rights_of_guard: Vec::new(),
    };
    Ok(preflight(target, &needs).await?)
}

/// The rights that a bake needs on the target, most of them after the index is built.
fn rights(config: &BakeConfig, swapping: Option<&Swapping>) -> Vec<Need> {
    let index = config.load.index.fixed().unwrap_or_default();
    let made = match config.parted() {
        Some(Layout::Alias) => format!("{index}-1"),
        _ => index.to_owned(),
    };
    let mut rights = Vec::new();
    let mut add = |by, on: &str, asked: &[Right]| rights.extend(asked.iter().map(|right| Need::new(*right, on, by)));
    let always = [
        Right::Templates,
        Right::PutRepository,
        Right::GetSnapshot,
        Right::Restore,
        Right::DeleteRepository,
        Right::State,
        Right::Health,
        Right::Metadata,
        Right::CreateRestored,
        Right::Index,
        Right::Stats,
        Right::Refresh,
        Right::Search,
    ];
    add("every bake needs", &made, &always);
    if config.engine != Engine::Server {
        let native = [
            Right::CreateIndex,
            Right::CreateSnapshot,
            Right::DeleteSnapshot,
            Right::DeleteIndex,
            Right::ReadMapping,
            Right::Mapping,
            Right::Settings,
        ];
        let by = "a bake without option `engine=server` needs";
        add(by, &made, &native);
        // The index without documents is marked by an alias.
        add(by, &made, &[Right::Aliases]);
        add(by, "inrush-bake-*", &[Right::CreateAliased]);
    }
    if let Some(swapping) = swapping {
        add("option `alias` needs at the end", &made, &[Right::Aliases]);
        rights.extend(swapping.rights());
    }
    rights
}

/// The oldest version among the nodes: all of them have to be able to read the index. `None` if the
/// user may not read the versions.
async fn oldest_node(target: &Transport) -> Result<Option<Version>, ClusterError> {
    let path = "/_nodes?filter_path=nodes.*.version";
    let body = match target.demand("asking the nodes for their versions", Method::GET, path, None).await {
        Ok(body) => body,
        Err(error) if error.cannot_be_asked() => return Ok(None),
        Err(error) => return Err(error),
    };
    let nodes = body.get("nodes").and_then(|nodes| nodes.as_object()).into_iter().flat_map(|nodes| nodes.values());
    Ok(nodes.filter_map(|node| node.get("version")?.as_str()?.parse().ok()).min())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stream_wants_a_date() {
        let mapping = |of: &str| json!({"properties": {"@timestamp": {"type": of}}});
        assert!(has_timestamp(&json!({})).is_ok() && has_timestamp(&mapping("date_nanos")).is_ok());
        assert!(has_timestamp(&mapping("keyword")).unwrap_err().to_string().contains("@timestamp as keyword"));
    }
}

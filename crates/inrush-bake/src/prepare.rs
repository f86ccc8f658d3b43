//! What is found out before anything is started: whether the target can take an index that was built elsewhere, and how that has to be made.

use http::Method;
use inrush_cluster::api::check::{Needs, Preflight, preflight};
use inrush_cluster::api::{
    ClusterError, ClusterInfo, TargetKind, Version, data_streams, index as cluster_index, templates,
};
use inrush_cluster::transport::Transport;
use inrush_load::checkpoint::Job;
use inrush_load::cutover::{self, Swapping};
use inrush_load::run_id::run_id;
use inrush_node::Distribution;
use serde_json::Value;

use super::builder::{self, Note};
use super::config::{BakeConfig, BakeError, Layout};
use super::fitting::Plan;
use super::place::Shared;
use super::state::{Part, Saved, Whole};

/// What the index of a single shard is called on its builder.
pub(super) const PART: &str = "inrush-bake-part";

/// A target that can be baked for.
pub(super) struct Prepared {
    pub(super) saved: Saved,
    pub(super) swapping: Option<Swapping>,
    /// Versions of the builder to try.
    pub(super) versions: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Looks at the target; nothing is changed there.
pub(super) async fn prepare(
    target: &Transport,
    config: &mut BakeConfig,
    job: Job,
    bytes: Option<u64>,
) -> Result<Prepared, BakeError> {
    let swapping = cutover::begin(target, &mut config.load, None).await?;
    let load = &config.load;
    let index = load.index.fixed().unwrap_or_default().to_owned();
    let create = load.create.for_index(&index);
    let Preflight { info, target: found, warnings, .. } = look(target, config, bytes).await?;
    match (&swapping, found.as_ref().map(|found| &found.kind)) {
        (_, Some(TargetKind::Missing { template: Some(template) })) if template.data_stream => {
            return Err(BakeError::Refused(format!(
                "the index template {} makes data streams of the name {index}, and a bake hands over an index; load into it with `inrush load`",
                template.name
            )));
        }
        (Some(swapping), _) => swapping.check_new(found.as_ref())?,
        (None, Some(TargetKind::Missing { .. })) => {}
        (None, _) => {
            return Err(BakeError::Refused(format!(
                "{index} exists on the target, and a bake hands over a new index; give option `alias={index}` if it is an alias, or another name, or load into it with `inrush load`"
            )));
        }
    }
    if let Some(stream) = &config.data_stream {
        takes(target, &info, stream).await?;
    }
    let oldest = oldest_node(target).await?;
    let (product, versions) = builder::versions(&info, oldest, &config.builder)?;
    let made_as = match config.parted() {
        Some(Layout::Alias) => format!("{index}-1"),
        _ => index.clone(),
    };
    let given = templates::given(target, &made_as).await?;
    if let Some(swap) = load.finish.swap.as_ref().filter(|swap| given.aliases.contains_key(&swap.alias)) {
        return Err(BakeError::Refused(format!(
            "an index template gives {index} the alias {}, which is to be moved when the index is complete; take the alias out of the template",
            swap.alias
        )));
    }
    let id = run_id();
    let shared = Shared::find(&config.place, &format!("inrush-bake-{id}"), target).await?;
    let version = versions.first().cloned().unwrap_or_default();
    let count = config.builders as usize;
    let notes: Vec<Note> = (1..=count)
        .map(|n| {
            let name = if count == 1 { format!("bake-{id}") } else { format!("bake-{id}-{n}") };
            let url = config.builder.urls.get(n - 1).cloned();
            Note { name, product, version: version.clone(), is_lent: url.is_some(), url, transport_port: None }
        })
        .collect();
    tracing::info!("building {index} with {} for {info}", Distribution { product, version }.title());
    let plan = Plan::new(given, &create);
    if config.data_stream.is_some() {
        has_timestamp(&plan.mappings)?;
    }
    let (plan, parts, whole) = parts(config, &index, plan, notes)?;
    if whole.is_some() && shared.folder.is_none() {
        return Err(BakeError::Refused(
            "option `layout=stitched` puts files of the repository together, and this one is no folder; give option `repository_path`, or another value of option `layout`".to_owned(),
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
    saved.data_stream.clone_from(&config.data_stream);
    saved.swap = swapping.as_ref().map(|swapping| swapping.noted.clone());
    Ok(Prepared { saved, swapping, versions, warnings })
}

/// Whether the target has that data stream, and can give it an index.
async fn takes(target: &Transport, info: &ClusterInfo, stream: &str) -> Result<(), BakeError> {
    if !data_streams::can_attach(info) {
        return Err(BakeError::Refused(format!(
            "{info} has no request that gives a data stream an index (Elasticsearch 7.16 and newer have one); load into {stream} with `inrush load`, or bake an index of its own and search both"
        )));
    }
    match data_streams::indices(target, stream).await {
        Ok(Some(_)) => Ok(()),
        // The path means something else there.
        Err(error) if matches!(error.status(), Some(400 | 405)) => {
            Err(BakeError::Refused(format!("this {info} has no data streams; bake an index by itself")))
        }
        Err(error) => Err(error.into()),
        Ok(None) => Err(BakeError::Refused(format!(
            "there is no data stream {stream} on the target; make it with PUT /_data_stream/{stream}, for which it needs an index template"
        ))),
    }
}

/// What every index of a data stream needs, as far as the mapping tells.
fn has_timestamp(mappings: &Value) -> Result<(), BakeError> {
    match mappings.pointer("/properties/@timestamp/type").and_then(Value::as_str) {
        None | Some("date" | "date_nanos") => Ok(()),
        Some(other) => Err(BakeError::Refused(format!(
            "the mapping has @timestamp as {other}, and in a data stream it is a date or date_nanos"
        ))),
    }
}

/// What is built apart, and how: by one builder, by nodes of one, or by several.
fn parts(
    config: &BakeConfig,
    index: &str,
    plan: Plan,
    notes: Vec<Note>,
) -> Result<(Plan, Vec<Part>, Option<Whole>), BakeError> {
    let part = |nodes, index: String, plan| Part {
        nodes,
        index,
        plan,
        made: None,
        loaded: None,
        snapshot: false,
        mapping: Value::Null,
    };
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

/// Product, version, disks, pipelines, and what the index's name stands for.
async fn look(target: &Transport, config: &BakeConfig, bytes: Option<u64>) -> Result<Preflight, BakeError> {
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
    };
    Ok(preflight(target, &needs).await?)
}

/// The oldest version among the nodes: an index has to be readable on all of them. `None`: they may not be looked at.
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

//! The plan of the settings guard of a load: the indices to guard, and the profile of the load.

use http::Method;
use inrush_cluster::api::{ClusterError, IndexInfo, Target, TargetKind, index, stats};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::settings_guard::LoadProfile;
use inrush_guard::{Next, Plan, Plans, default_folder};
use serde_json::Value;

use crate::config::{Durability, GuardConfig, LoadConfig};
use crate::error::LoadError;

/// Properties of the load besides its configuration.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GuardInput {
    /// Bytes of the sources, as far as they are known.
    pub(crate) bytes: Option<u64>,
    /// The load created the index.
    pub(crate) created: bool,
    /// The interrupted run that this one resumes.
    pub(crate) earlier: Option<Earlier>,
}

/// An interrupted run of the same load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier {
    /// Documents of the index before that run, where they were counted.
    pub(crate) docs_before: Option<u64>,
}

/// Makes the plan before the first document.
///
/// # Errors
/// [`LoadError::Usage`] and [`ClusterError`] where option `replicas_off` is unsafe for the index.
pub(crate) async fn plan(
    transport: &Transport,
    config: &LoadConfig,
    target: Option<&Target>,
    GuardInput { bytes: bytes_total, created, earlier }: GuardInput,
) -> Result<Option<Plans>, LoadError> {
    let guard = &config.guard;
    let async_translog = config.durability == Durability::Async;
    let mut job =
        LoadProfile { bytes_total, replicas_off: guard.replicas_off, async_translog, ..LoadProfile::default() };
    let (Some(name), Some(target)) = (config.index.fixed(), target) else { return Ok(None) };
    if guard.leave_settings || job.changes_nothing() {
        return Ok(None);
    }
    let folder = guard.state.clone().or_else(default_folder);
    let made;
    let write = match target.write_index() {
        Some(write) => write,
        None if created => {
            made = index::resolve(transport, name).await?;
            let Some(write) = made.write_index() else { return Ok(None) };
            write
        }
        // The first document creates the index, which is empty then.
        None if target.is_data_stream() => {
            job.empty = true;
            job.data_nodes = data_nodes(transport).await;
            return Ok(Some(Plans { first: None, next: Some(Next { name: name.to_owned(), job, folder }) }));
        }
        None => {
            config
                .told
                .warn(format!("the metadata of {name} cannot be read, so its settings are not changed for the load"));
            return Ok(None);
        }
    };
    job.data_nodes = data_nodes(transport).await;
    // Documents belong to an interrupted run of this load where the index is not public yet, or was
    // empty before.
    let was_empty = earlier.is_some_and(|earlier| earlier.docs_before == Some(0));
    let ours = created || config.finish.swap.is_some() || was_empty;
    let documents = if ours { 0 } else { documents(transport, write).await? };
    job.empty = documents == 0;
    if guard.replicas_off && documents > 0 && write.replicas > 0 {
        match check_replicas_off(transport, write, documents, guard.replicas_off_confirmed).await {
            // The earlier run was allowed to remove the replicas. The rest of the load can run with
            // them.
            Err(error) if earlier.is_some() => {
                config.told.warn(format!("the replicas are kept for the rest of the load: {error}"));
                job.replicas_off = false;
            }
            checked => checked?,
        }
    }
    let rolls_over = matches!(target.kind, TargetKind::DataStream { .. } | TargetKind::Alias { .. });
    let next = rolls_over.then(|| Next { name: name.to_owned(), job, folder: folder.clone() });
    let first = Plan { index: write.name.clone(), uuid: write.uuid.clone(), job, folder, graphs: None };
    Ok(Some(Plans { first: Some(first), next }))
}

/// The plan of a write block on an index that a swap replaces.
pub(crate) fn plan_write_block(config: &GuardConfig, index: &str, uuid: &str) -> Plan {
    let job = LoadProfile { block_writes: true, ..LoadProfile::default() };
    let folder = config.state.clone().or_else(default_folder);
    Plan { index: index.to_owned(), uuid: uuid.to_owned(), job, folder, graphs: None }
}

async fn documents(transport: &Transport, index: &IndexInfo) -> Result<u64, ClusterError> {
    let counted = match stats::refresh(transport, &index.name).await {
        Ok(_) => stats::count(transport, &index.name).await,
        Err(error) => Err(error),
    };
    match counted {
        // A user who may not count has to treat the index as full.
        Err(error) if error.status() == Some(403) => Ok(u64::MAX),
        counted => counted,
    }
}

/// Checks that the replicas of an index with documents may be removed: without them, the loss of a
/// node loses documents.
async fn check_replicas_off(
    transport: &Transport,
    index: &IndexInfo,
    documents: u64,
    confirmed: bool,
) -> Result<(), LoadError> {
    let name = &index.name;
    if !confirmed {
        return Err(LoadError::usage(format!(
            "{name} holds {documents} documents, and without replicas the loss of a node loses some of them; give option `yes` to confirm option `replicas_off`"
        )));
    }
    let path = format!("/_cluster/health/{}?filter_path=status", path_segment(name));
    let health = transport.demand("asking for the health of the index", Method::GET, &path, None).await?;
    let status = health.get("status").and_then(Value::as_str).unwrap_or("unknown");
    if status == "green" {
        return Ok(());
    }
    let problem = format!(
        "its health is {status}, and option `replicas_off` needs health green on an index with documents: a removed copy could be the only good one"
    );
    Err(ClusterError::Target { name: name.clone(), problem }.into())
}

async fn data_nodes(transport: &Transport) -> Option<u64> {
    let path = "/_cluster/health?filter_path=number_of_data_nodes";
    let body = transport.demand("asking for data nodes", Method::GET, path, None).await.ok()?;
    body.get("number_of_data_nodes")?.as_u64()
}

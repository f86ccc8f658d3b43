//! Whether the settings of an index are looked after during a load, and what has to be known for that.

use std::path::PathBuf;

use http::Method;
use inrush_cluster::api::{ClusterError, IndexInfo, Target, TargetKind, index, stats};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::settings_guard::LoadProfile;
use serde_json::Value;

use super::{Next, Plans, state};
use crate::config::{Durability, GuardConfig, LoadConfig};
use crate::error::LoadError;

/// What the guard is to look after.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) index: String,
    pub(crate) uuid: String,
    pub(crate) job: LoadProfile,
    /// Where this machine keeps its records.
    pub(crate) folder: Option<PathBuf>,
}

/// What is known about the load besides its configuration.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coming {
    /// Bytes of the sources, as far as they are known.
    pub(crate) bytes: Option<u64>,
    /// The index was made just now.
    pub(crate) created: bool,
    /// The run that this one goes on with.
    pub(crate) earlier: Option<Earlier>,
}

/// A run of the same load that was cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier {
    /// Documents that the index held before it, where they were counted.
    pub(crate) docs_before: Option<u64>,
}

/// Decides before the first document.
///
/// # Errors
/// [`LoadError::Usage`] and [`ClusterError`] where replicas are to be off on an index that should keep them.
pub(crate) async fn plan(
    transport: &Transport,
    config: &LoadConfig,
    target: Option<&Target>,
    Coming { bytes: bytes_total, created, earlier }: Coming,
) -> Result<Option<Plans>, LoadError> {
    let guard = &config.guard;
    let async_translog = config.durability == Durability::Async;
    let mut job =
        LoadProfile { bytes_total, replicas_off: guard.replicas_off, async_translog, ..LoadProfile::default() };
    let (Some(name), Some(target)) = (config.index.fixed(), target) else { return Ok(None) };
    if guard.leave_settings || job.changes_nothing() {
        return Ok(None);
    }
    let folder = guard.state.clone().or_else(state::default_folder);
    let made;
    let write = match target.write_index() {
        Some(write) => write,
        None if created => {
            made = index::resolve(transport, name).await?;
            let Some(write) = made.write_index() else { return Ok(None) };
            write
        }
        // Its first document makes it, and then it is as empty as can be.
        None if target.is_data_stream() => {
            job.empty = true;
            job.data_nodes = data_nodes(transport).await;
            return Ok(Some(Plans { first: None, next: Some(Next { name: name.to_owned(), job, folder }) }));
        }
        None => {
            tracing::warn!("{name} cannot be looked at yet, so its settings are left as they are during the load");
            return Ok(None);
        }
    };
    job.data_nodes = data_nodes(transport).await;
    // What is in an index that no alias shows yet, or that was empty before, is ours, from a run
    // that was cut off.
    let was_empty = earlier.is_some_and(|earlier| earlier.docs_before == Some(0));
    let ours = created || config.finish.swap.is_some() || was_empty;
    let documents = if ours { 0 } else { documents(transport, write).await? };
    job.empty = documents == 0;
    if guard.replicas_off && documents > 0 && write.replicas > 0 {
        match check_replicas_off(transport, write, documents, guard.replicas_off_confirmed).await {
            // The earlier run was allowed to; the rest of the load does as well with them.
            Err(error) if earlier.is_some() => {
                tracing::warn!("replicas stay on for the rest of the load: {error}");
                job.replicas_off = false;
            }
            checked => checked?,
        }
    }
    let rolls_over = matches!(target.kind, TargetKind::DataStream { .. } | TargetKind::Alias { .. });
    let next = rolls_over.then(|| Next { name: name.to_owned(), job, folder: folder.clone() });
    let first = Plan { index: write.name.clone(), uuid: write.uuid.clone(), job, folder };
    Ok(Some(Plans { first: Some(first), next }))
}

/// Keeps writes from an index that is being replaced.
pub(crate) fn plan_write_block(config: &GuardConfig, index: &str, uuid: &str) -> Plan {
    let job = LoadProfile { block_writes: true, ..LoadProfile::default() };
    let folder = config.state.clone().or_else(state::default_folder);
    Plan { index: index.to_owned(), uuid: uuid.to_owned(), job, folder }
}

async fn documents(transport: &Transport, index: &IndexInfo) -> Result<u64, ClusterError> {
    let counted = match stats::refresh(transport, &index.name).await {
        Ok(_) => stats::count(transport, &index.name).await,
        Err(error) => Err(error),
    };
    match counted {
        // Whoever may not count has to take it for full.
        Err(error) if error.status() == Some(403) => Ok(u64::MAX),
        counted => counted,
    }
}

/// Without replicas, a node that is lost takes its documents along.
async fn check_replicas_off(
    transport: &Transport,
    index: &IndexInfo,
    documents: u64,
    confirmed: bool,
) -> Result<(), LoadError> {
    let name = &index.name;
    if !confirmed {
        return Err(LoadError::usage(format!(
            "{name} holds {documents} documents, and without replicas a node that is lost takes some of them along; add option `yes` if option `replicas_off` is meant"
        )));
    }
    let path = format!("/_cluster/health/{}?filter_path=status", path_segment(name));
    let health = transport.demand("asking for the health of the index", Method::GET, &path, None).await?;
    let status = health.get("status").and_then(Value::as_str).unwrap_or("unknown");
    if status == "green" {
        return Ok(());
    }
    let problem = format!(
        "its health is {status}, and option `replicas_off` on an index with documents wants green: a copy that is dropped could be the good one"
    );
    Err(ClusterError::Target { name: name.clone(), problem }.into())
}

async fn data_nodes(transport: &Transport) -> Option<u64> {
    let path = "/_cluster/health?filter_path=number_of_data_nodes";
    let body = transport.demand("asking for data nodes", Method::GET, path, None).await.ok()?;
    body.get("number_of_data_nodes")?.as_u64()
}

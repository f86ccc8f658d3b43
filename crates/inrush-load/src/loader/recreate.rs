//! Checks before the load changes anything in the cluster, and those before an index is deleted to
//! be created again.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::{ClusterError, Target, TargetKind, index, trial};
use inrush_cluster::transport::Transport;
use inrush_core::Code;
use inrush_sources::{Begun, Source};

use super::group::{self, Silent};
use super::prepare::read_primary_terms;
use crate::config::{Durability, LoadConfig};
use crate::error::LoadError;
use crate::option_error::OptionError;

/// How long a load waits for the first document of an idle source before it goes on without one. A
/// program that feeds a source may wait for the load to begin.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most files that a load opens before it begins. Each costs a look at up to 4 MiB.
const FILES_MAX: usize = 32;

/// Reads the source up to its first document, so that the cluster is unchanged where it cannot be
/// read. A source that a program feeds has no document yet, and a source that never ends may have
/// none for a long time, so neither is read.
///
/// # Errors
/// The source cannot be read. With option `recreate`: it has no document.
pub async fn begin_reading(mut source: Box<dyn Source>, config: &LoadConfig) -> Result<Box<dyn Source>, LoadError> {
    let info = source.describe();
    if info.is_fed || info.is_endless {
        return Ok(source);
    }
    source.keep_texts(&config.operations(config.action).fields());
    let bytes = config.limits.chunk_bytes();
    let patience = if config.create.recreate { Duration::MAX } else { PATIENCE };
    let check_all = config.create.recreate || (2..=FILES_MAX).contains(&info.names.len());
    let reading = tokio::task::spawn_blocking(move || {
        // The first file is read in any case.
        if check_all {
            source.check_all()?;
        }
        Begun::new(source, bytes, patience)
    });
    let begun = reading.await.map_err(|e| LoadError::usage(format!("the reading thread panicked: {e}")))??;
    if config.create.recreate && !begun.has_documents() && !config.allow_empty {
        let message = format!(
            "index {} was not deleted: the source has no readable document, and option `recreate` would leave the index empty; give option `allow_empty` to allow an empty index",
            config.index.as_str()
        );
        return Err(OptionError::conflict(message).coded(Code::EmptySource).into());
    }
    Ok(Box::new(begun))
}

/// Checks that the load can create its index again.
///
/// # Errors
/// An error that stops the load. The index is unchanged.
pub(super) async fn check(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    target: Option<&Target>,
    run_id: &str,
) -> Result<Silent, LoadError> {
    let Some(target) = target.filter(|target| config.create.recreate && is_there(target)) else {
        return Ok(Silent::default());
    };
    let silent = check_no_writers(transport, config, target, Silent::default()).await?;
    check_creation(transport, config, &target.name, run_id).await?;
    Ok(silent)
}

/// Deletes the index, which was checked. Returns the new target of the name, and whether there was
/// an index.
///
/// # Errors
/// An error that stops the load. The index is unchanged.
pub(super) async fn delete(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    name: &str,
    silent: Silent,
) -> Result<(Target, bool), LoadError> {
    // Other loads may have begun since the check, and the index may be another one.
    let target = index::resolve(transport, name).await?;
    if !is_there(&target) {
        return Ok((target, false));
    }
    check_no_writers(transport, config, &target, silent).await?;
    match index::delete(transport, name).await? {
        true => Ok((index::resolve(transport, name).await?, true)),
        false => Ok((target, false)),
    }
}

fn is_there(target: &Target) -> bool {
    !matches!(target.kind, TargetKind::Missing { .. })
}

/// Refuses an index that another load writes to, before it is deleted.
async fn check_no_writers(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    target: &Target,
    silent: Silent,
) -> Result<Silent, LoadError> {
    match group::writing(transport, target, &config.guard, silent).await {
        Ok(silent) => Ok(silent),
        Err(load) => Err(LoadError::usage(format!(
            "index {} was not deleted: another load is writing to it ({load}); wait for the end of that load, or stop it, before you load with option `recreate`",
            target.name
        ))),
    }
}

/// Refuses an index that the load could not create again, before it is deleted.
async fn check_creation(transport: &Transport, config: &LoadConfig, name: &str, run_id: &str) -> Result<(), LoadError> {
    if let Some(template) = index::template_for(transport, name).await?.filter(|template| template.data_stream) {
        let problem = format!(
            "it was not deleted: the index template {} now creates data streams for this name, so the index could not be created again",
            template.name
        );
        return Err(ClusterError::Target { name: name.to_owned(), problem }.into());
    }
    if config.durability == Durability::Async {
        read_primary_terms(transport, name).await?;
    }
    Ok(trial::make(transport, name, &config.create.for_index(name), run_id).await?)
}

//! Checks before an index is deleted to be created again.

use std::sync::Arc;

use inrush_cluster::api::check::preflight;
use inrush_cluster::api::{ClusterError, Target, TargetKind, connect, index, trial};
use inrush_cluster::transport::Transport;
use inrush_core::Code;
use inrush_sources::{Begun, Source};

use super::group;
use super::prepare::{index_uuids, needs, read_primary_terms, reads_itself};
use super::{Loader, http_options};
use crate::config::{Durability, LoadConfig};
use crate::error::LoadError;
use crate::option_error::OptionError;
use inrush_cluster::run_id::run_id;

impl Loader {
    /// Checks that a load with `recreate` can create its index again and fill it. It is for several
    /// loads that begin one after another. It returns the loader and the source for
    /// [`Loader::start`]; the beginning of the source may have been read. `start` checks the
    /// cluster once more before it deletes the index, because other loads may have begun meanwhile.
    /// It does not read the beginning of the source again. A load without `recreate` is not
    /// checked.
    ///
    /// # Errors
    /// An error that would stop the load. Nothing was deleted.
    pub async fn check_recreate(self, source: Box<dyn Source>) -> Result<(Loader, Box<dyn Source>), LoadError> {
        let config = &self.config;
        let Some(name) = config.index.fixed().filter(|_| config.create.recreate) else { return Ok((self, source)) };
        let source = begin_reading(source, config).await?;
        let transport = connect(&config.to, config.credentials.clone(), &http_options(config)).await?;
        let found = preflight(&transport, &needs(config, source.describe().bytes_total)).await?;
        reads_itself(found.target.as_ref(), &index_uuids(source.as_ref())?)?;
        if let Some(target) = found.target.filter(|target| !matches!(target.kind, TargetKind::Missing { .. })) {
            check_no_writers(&transport, config, &target).await?;
            check_creation(&transport, config, name, &run_id()).await?;
        }
        Ok((Loader { has_begun: true, ..self }, source))
    }
}

/// Reads the source up to its first document. A source that a program feeds has no document yet,
/// and a source that never ends may have none for a long time, so neither is read.
///
/// # Errors
/// The source cannot be read, or has no document.
pub(super) async fn begin_reading(
    mut source: Box<dyn Source>,
    config: &LoadConfig,
) -> Result<Box<dyn Source>, LoadError> {
    let info = source.describe();
    if info.is_fed || info.is_endless {
        return Ok(source);
    }
    source.keep_texts(&config.operations(config.action).fields());
    let bytes = config.limits.chunk_bytes();
    let reading = tokio::task::spawn_blocking(move || Begun::new(source, bytes));
    let begun = reading.await.map_err(|e| LoadError::usage(format!("the reading thread panicked: {e}")))??;
    if !begun.has_documents() && !config.allow_empty {
        let message = format!(
            "index {} was not deleted: the source has no readable document, and option `recreate` would leave the index empty; give option `allow_empty` to allow an empty index",
            config.index.as_str()
        );
        return Err(OptionError::conflict(message).coded(Code::EmptySource).into());
    }
    Ok(Box::new(begun))
}

/// Deletes the index after checks that the load can create it again. Returns the new target of the
/// name.
///
/// # Errors
/// An error that stops the load. The index is unchanged.
pub(super) async fn delete(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    target: Target,
    run_id: &str,
) -> Result<Target, LoadError> {
    let name = target.name.clone();
    if matches!(target.kind, TargetKind::Missing { .. }) {
        return Ok(target);
    }
    check_no_writers(transport, config, &target).await?;
    check_creation(transport, config, &name, run_id).await?;
    if !index::delete(transport, &name).await? {
        return Ok(target);
    }
    Ok(index::resolve(transport, &name).await?)
}

/// Refuses an index that another load writes to, before it is deleted.
async fn check_no_writers(transport: &Arc<Transport>, config: &LoadConfig, target: &Target) -> Result<(), LoadError> {
    match group::writing(transport, target, &config.guard).await {
        None => Ok(()),
        Some(load) => Err(LoadError::usage(format!(
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

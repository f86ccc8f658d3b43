//! What has to be known before an index is deleted to be made anew.

use std::sync::Arc;

use inrush_cluster::api::check::preflight;
use inrush_cluster::api::{ClusterError, Target, TargetKind, connect, index, trial};
use inrush_cluster::transport::Transport;
use inrush_sources::{Begun, Source};

use super::group;
use super::prepare::{index_uuids, life_of, needs, reads_itself};
use super::{Loader, http_options, run_id};
use crate::config::{Durability, LoadConfig};
use crate::error::LoadError;

impl Loader {
    /// Looks whether a load that deletes its index first could make it anew and fill it, for
    /// several loads that begin one after the other. Returns the loader with the source, of which
    /// the beginning may have been read, for [`Loader::start`]. That looks at the cluster once more
    /// before it deletes the index, because other loads begin meanwhile; the source is begun once.
    /// Loads that delete nothing are not looked at.
    ///
    /// # Errors
    /// What would keep the load from going on; nothing was deleted.
    pub async fn check_recreate(self, source: Box<dyn Source>) -> Result<(Loader, Box<dyn Source>), LoadError> {
        let config = &self.config;
        let Some(name) = config.index.fixed().filter(|_| config.create.recreate) else { return Ok((self, source)) };
        let source = begin_reading(source, config).await?;
        let transport = connect(&config.to, config.credentials.clone(), &http_options(config)).await?;
        let found = preflight(&transport, &needs(config, source.describe().bytes_total)).await?;
        reads_itself(found.target.as_ref(), &index_uuids(source.as_ref())?)?;
        if let Some(target) = found.target.filter(|target| !matches!(target.kind, TargetKind::Missing { .. })) {
            nobody_writes(&transport, config, &target).await?;
            could_be_made(&transport, config, name, &run_id()).await?;
        }
        Ok((Loader { has_begun: true, ..self }, source))
    }
}

/// Reads the source up to its first document. One that a program feeds has none yet, and one that
/// never ends may have none for long.
///
/// # Errors
/// A source that cannot be read, or has no document.
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
    let begun = reading.await.map_err(|e| LoadError::usage(format!("reading panicked: {e}")))??;
    if !begun.has_documents() && !config.allow_empty {
        return Err(LoadError::usage(format!(
            "{} is kept: the source has no document that can be read, and option `recreate` would leave the index empty; give option `allow_empty` if that is meant",
            config.index.as_str()
        )));
    }
    Ok(Box::new(begun))
}

/// Deletes the index, once it is known that the load can make it anew. Returns what the name stands
/// for then.
///
/// # Errors
/// What keeps the load from going on; the index is as it was.
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
    nobody_writes(transport, config, &target).await?;
    could_be_made(transport, config, &name, run_id).await?;
    if !index::delete(transport, &name).await? {
        return Ok(target);
    }
    Ok(index::resolve(transport, &name).await?)
}

/// Refuses an index that another load writes to, before it is deleted.
async fn nobody_writes(transport: &Arc<Transport>, config: &LoadConfig, target: &Target) -> Result<(), LoadError> {
    match group::writing(transport, target, &config.guard).await {
        None => Ok(()),
        Some(who) => Err(LoadError::usage(format!(
            "{} is kept: another load is writing to it ({who}); wait for its end, or end it, before option `recreate` deletes the index",
            target.name
        ))),
    }
}

/// Refuses an index that the load could not make anew, before it is deleted.
async fn could_be_made(transport: &Transport, config: &LoadConfig, name: &str, run_id: &str) -> Result<(), LoadError> {
    if let Some(template) = index::template_for(transport, name).await?.filter(|template| template.data_stream) {
        let problem = format!(
            "it is kept: the index template {} makes data streams of this name now, so the index could not be made anew",
            template.name
        );
        return Err(ClusterError::Target { name: name.to_owned(), problem }.into());
    }
    if config.durability == Durability::Async {
        life_of(transport, name).await?;
    }
    Ok(trial::make(transport, name, &config.create.for_index(name), run_id).await?)
}

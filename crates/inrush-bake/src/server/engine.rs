//! The engine that builds with a server, the builder.

use std::sync::Arc;

use inrush_cluster::BoxFuture;
use inrush_cluster::api::{index, snapshots};
use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_load::LoadError;
use serde_json::Value;

use super::build::BuilderRun;
use super::versions::versions;
use crate::config::{BakeError, BuilderConfig};
use crate::context::{Context, Patience};
use crate::engine::{BuildEngine, Ended, Subject};
use crate::record::{Build, Saved, ServerRecord};

/// Builds with a server.
pub(crate) struct Server {
    pub(crate) builder: BuilderConfig,
}

impl BuildEngine for Server {
    fn title(&self, saved: &Saved) -> String {
        saved.server().map(ServerRecord::title).unwrap_or_default()
    }

    fn prepare<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<Build, BakeError>> {
        Box::pin(async move {
            let (product, versions) = versions(subject.info, subject.oldest, &self.builder)?;
            let (name, url) = (format!("bake-{}", subject.id), self.builder.url.clone());
            let version = versions.first().cloned().unwrap_or_default();
            Ok(Build::Server(ServerRecord { name, product, version, versions, is_lent: url.is_some(), url }))
        })
    }

    fn build<'a>(&'a self, context: &'a Arc<Context>) -> BoxFuture<'a, Result<(), BakeError>> {
        Box::pin(async move { BuilderRun::new(Arc::clone(context), &self.builder).build().await })
    }

    fn undo<'a>(&'a self, _: &'a Transport, _: &'a mut Saved, _: &'a Patience) -> BoxFuture<'a, Option<String>> {
        // The target has only what it restores.
        Box::pin(async { None })
    }

    fn rest<'a>(&'a self, saved: &'a Saved) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let record = saved.server().filter(|record| !record.is_lent)?;
            let stopped = inrush_node::stop(&record.name, false).await;
            stopped.err().map(|error| format!("the builder {}: {error}", record.name))
        })
    }

    fn forget<'a>(&'a self, ended: &'a Ended<'a>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let Some(record) = ended.saved.server() else { return Ok(()) };
            if ended.saved.shared.folder.is_none() && ended.keep.is_begun(ended.saved) {
                forget_snapshot(ended, &self.builder).await?;
            }
            let name = &record.name;
            match record.is_lent {
                true => delete_from_lent(ended.saved, record)
                    .await
                    .map_err(|error| format!("the index on the builder: {error}")),
                false => inrush_node::remove(name).await.map_err(|error| format!("the builder {name}: {error}")),
            }
        })
    }
}

/// Deletes the snapshot from a repository that is no folder: only the builder can do that.
async fn forget_snapshot(ended: &Ended<'_>, builder: &BuilderConfig) -> Result<(), String> {
    if let Some(context) = ended.context {
        let deleted = BuilderRun::new(Arc::clone(context), builder).delete_snapshot().await;
        return deleted.map_err(|error| format!("the snapshot in the repository: {error}"));
    }
    // It is not started for that.
    let place = ended.saved.shared.repository.settings.get("base_path").and_then(Value::as_str).unwrap_or_default();
    tracing::warn!("its snapshot stays in the repository, below {place}: delete it there");
    Ok(())
}

/// Deletes the index on a builder that keeps running.
async fn delete_from_lent(saved: &Saved, record: &ServerRecord) -> Result<(), BakeError> {
    let urls: Vec<&String> = record.url.iter().collect();
    let builder = Transport::new(&urls, Credentials::None, &HttpOptions::default()).map_err(LoadError::Setup)?;
    index::delete(&builder, &saved.index).await?;
    snapshots::unregister(&builder, &saved.repository()).await?;
    Ok(())
}

//! The engine that builds without a server.

use std::sync::Arc;

use inrush_cluster::BoxFuture;
use inrush_cluster::transport::Transport;

use super::check;
use super::elsewhere;
use super::empty::{self, forget_empty};
use super::fill::{begun, fill};
use super::load::load;
use super::names::{native, refuse};
use super::options::NativeOptions;
use super::order::ShardBuilders;
use super::remote::{self, Remote};
use crate::access;
use crate::config::BakeError;
use crate::context::{Context, Patience};
use crate::engine::{BuildEngine, Ended, Subject};
use crate::files;
use crate::record::{Build, NativeRecord, Saved};
use crate::report::BakeStepName as Step;

/// Builds in this process, or by `tasks` on other machines.
pub(crate) struct Native {
    pub(crate) options: NativeOptions,
    pub(crate) tasks: Option<ShardBuilders>,
}

impl BuildEngine for Native {
    fn title(&self, _: &Saved) -> String {
        format!("inrush {} (engine native)", env!("CARGO_PKG_VERSION"))
    }

    fn prepare<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<Build, BakeError>> {
        Box::pin(async move {
            let record = prepare(&self.options, subject).await.map_err(BakeError::NotNative)?;
            Ok(Build::Native(Box::new(record)))
        })
    }

    fn build<'a>(&'a self, context: &'a Arc<Context>) -> BoxFuture<'a, Result<(), BakeError>> {
        Box::pin(build(context, &self.options, self.tasks.as_ref()))
    }

    fn undo<'a>(
        &'a self,
        target: &'a Transport,
        saved: &'a mut Saved,
        patience: &'a Patience,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(undo(target, saved, patience))
    }

    fn rest<'a>(&'a self, _: &'a Saved) -> BoxFuture<'a, Option<String>> {
        // Its threads have ended with the load.
        Box::pin(async { None })
    }

    fn forget<'a>(&'a self, ended: &'a Ended<'a>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(remote::remove(ended.saved, &self.options.store))
    }
}

/// The record, if the index can be built so.
///
/// # Errors
/// The first thing that stands against it.
async fn prepare(options: &NativeOptions, subject: &Subject<'_>) -> Result<NativeRecord, String> {
    let Subject { load, shared, .. } = subject;
    let (product, version) = check::target(subject.info, subject.oldest)?;
    check::check(options, load, (subject.plan, shared), (product, version))?;
    if let Some(around) = shared.around() {
        access::check_reading(around, subject.nodes)?;
    }
    if let Some(remote) = Remote::open(shared, &options.store, load.limits.retry_for).await? {
        remote.check().await?;
    }
    Ok(NativeRecord::new(product, version.to_string(), options.store.clone()))
}

/// Takes back the index without documents, and its snapshot.
async fn undo(target: &Transport, saved: &mut Saved, patience: &Patience) -> Option<String> {
    saved.native().filter(|native| native.making || native.registered)?;
    let before = saved.clone();
    let forgotten = patience.retry(|| {
        let mut saved = before.clone();
        async move { empty::forget(target, &mut saved).await.map(|()| saved.build) }
    });
    match forgotten.await {
        Ok(build) => {
            saved.build = build;
            None
        }
        Err(why) => Some(format!(
            "the index {} without documents and the repository inrush-bake-{}-empty on the target: {why}; delete them",
            saved.index, saved.id
        )),
    }
}

/// Builds the index, or the rest of it after an earlier run.
async fn build(
    context: &Arc<Context>,
    NativeOptions { store, memory, .. }: &NativeOptions,
    tasks: Option<&ShardBuilders>,
) -> Result<(), BakeError> {
    let shared = context.saved().shared.clone();
    let options = store.over(&native(&context.saved())?.options);
    context.write_native(|native| native.options = options.clone())?;
    let remote = Remote::open(&shared, &options, context.times.retry_for).await;
    let remote = remote.map_err(refuse)?;
    let copied = context.saved().native().is_some_and(|native| native.copied);
    if !copied {
        // What an earlier run has left of the index without documents.
        forget_empty(context).await?;
        shared.remove().map_err(BakeError::Refused)?;
        if let Some(remote) = &remote {
            let folder = context.keep.of_load(&context.saved().id);
            let what = format!("cannot create {} (option `state`)", folder.display());
            files::make_private(&folder).map_err(|source| BakeError::Files { what, source })?;
            context.until_stopped(remote.delete_all(begun(context).as_ref())).await?;
        }
        let made = async {
            context.step(Step::Repository, empty::share(context)).await?;
            context.step(Step::Create, empty::make(context, remote.as_ref())).await
        };
        made.await.map_err(|error| {
            if error.is_refusal_of_target() { BakeError::NotNative(error.to_string()) } else { error }
        })?;
    }
    let is_loaded = context.saved().loaded.is_some();
    let load = async {
        match (is_loaded, tasks) {
            (true, _) => Ok(()),
            (false, Some(tasks)) => {
                context.step(Step::Load, elsewhere::build(context, tasks, remote.as_ref(), *memory)).await
            }
            (false, None) => context.step(Step::Load, load(context, *memory)).await,
        }
    };
    // The target deletes what is left of the index without documents meanwhile.
    let (loaded, forgotten) = tokio::join!(load, forget_empty(context));
    loaded.and(forgotten)?;
    context.step(Step::Snapshot, fill(context, remote.as_ref())).await
}

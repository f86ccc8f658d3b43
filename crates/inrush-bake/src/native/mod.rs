//! Building the index in this process, without a server beside the target.
//!
//! The target makes the index without documents and writes its snapshot (`empty.rs`). A load with
//! all its checks (`load.rs`) sends the documents to a server in this process (`server.rs`), which
//! puts them into the files of the shards (`items.rs`, `writers.rs`). Other machines can do that,
//! too (`shard.rs`), by what this one tells them (`blueprint.rs`, `elsewhere.rs`). The files take
//! the place of the empty ones in a copy of the snapshot, which the target restores as that of a
//! builder. Where the repository is in an object store, the snapshots are copied from there and to
//! there (`remote.rs`).

mod blueprint;
mod check;
mod elsewhere;
mod empty;
mod folders;
mod items;
mod load;
mod remote;
mod server;
mod shard;
mod tested;
mod writers;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub(super) use check::{check, target};
pub(super) use elsewhere::no_documents;
pub use elsewhere::{BuiltShard, ShardBuilders, ShardOrder};
pub(super) use empty::{WRITE_BLOCK, forget};
use inrush_load::LoadError;
use inrush_lucene::ShardSnapshot;
pub(super) use load::forget_letters;
use load::load;
pub(super) use remote::{Upload, remove as remove_objects};
use sha2::{Digest, Sha256};
pub use shard::ShardBuild;

use super::config::{BakeConfig, BakeError};
use super::context::Context;
use super::files::{self, copy_over, readable, sync};
use super::hand_over::Target;
use super::place::Shared;
use super::report::BakeStepName as Step;
use super::state::{Native, Saved};
use super::stitch::shard_folders;
use folders::{Folders, WHOLE};
use remote::{Remote, Watcher};

/// The engine for messages.
pub(super) fn title() -> String {
    format!("inrush {} (engine native)", env!("CARGO_PKG_VERSION"))
}

/// Checks that this machine reaches the object store of the repository, if it is in one.
///
/// # Errors
/// A sentence with what stands against it.
pub(super) async fn reach(config: &BakeConfig, shared: &Shared) -> Result<(), String> {
    match Remote::open(shared, &config.repository_options, config.load.limits.retry_for).await? {
        Some(remote) => remote.check().await,
        None => Ok(()),
    }
}

/// Builds the index, or the rest of it after an earlier run.
pub(super) async fn build(context: &Arc<Context>) -> Result<(), BakeError> {
    let target = Target::new(Arc::clone(context));
    let config = &context.config;
    let shared = context.saved().shared.clone();
    let options = config.repository_options.over(&native(&context.saved())?.options);
    context.write(|saved| saved.native.iter_mut().for_each(|native| native.options = options.clone()))?;
    let remote = Remote::open(&shared, &options, config.load.limits.retry_for).await;
    let remote = remote.map_err(refuse)?;
    let copied = context.saved().native.as_ref().is_some_and(|native| native.copied);
    if !copied {
        // What an earlier run has left of the index without documents.
        forget_empty(context, &target).await?;
        shared.remove().map_err(BakeError::Refused)?;
        if let Some(remote) = &remote {
            let folder = context.keep.of_load(&context.saved().id, 0);
            let what = format!("cannot create {} (option `state`)", folder.display());
            files::make_private(&folder).map_err(|source| BakeError::Files { what, source })?;
            context.until_stopped(remote.delete_all(begun(context).as_ref())).await?;
        }
        let made = async {
            context.step(Step::Repository, None, empty::share(context, &target)).await?;
            context.step(Step::Create, None, empty::make(context, &target, remote.as_ref())).await
        };
        made.await.map_err(|error| if is_refused(&error) { BakeError::NotNative(error.to_string()) } else { error })?;
    }
    let is_loaded = context.saved().parts[0].loaded.is_some();
    let load = async {
        match is_loaded {
            true => Ok(()),
            false if context.documents.builders.is_some() => {
                context.step(Step::Load, Some(0), elsewhere::build(context, remote.as_ref())).await
            }
            false => context.step(Step::Load, Some(0), load(context)).await,
        }
    };
    // The target deletes what is left of the index without documents meanwhile.
    let (loaded, forgotten) = tokio::join!(load, forget_empty(context, &target));
    loaded.and(forgotten)?;
    context.step(Step::Snapshot, Some(0), fill(context, remote.as_ref())).await
}

/// Whether the target has refused a request that only a bake without a builder makes. Wrong
/// credentials (401), and an index that is gone (404), would end any bake.
pub(super) fn is_refused(error: &BakeError) -> bool {
    match error {
        BakeError::Load(LoadError::Cluster(cause)) => cause.cannot_be_asked() && cause.status() != Some(404),
        _ => false,
    }
}

/// Deletes the index without documents, its snapshot and its repository from the target.
async fn forget_empty(context: &Context, target: &Target) -> Result<(), BakeError> {
    let saved = context.saved().clone();
    let forgotten = target
        .ask(|| {
            let mut saved = saved.clone();
            async move { forget(&context.target, &mut saved).await.map(|()| saved.native) }
        })
        .await?;
    if let Some(empty) = saved.shared.within(folders::EMPTY).folder
        && let Err(error) = files::set_mode(&empty, 0o755)
    {
        tracing::debug!("{} stays open: {error}", empty.display());
    }
    // The documents are loaded meanwhile.
    context.write(|saved| {
        if let (Some(native), Some(done)) = (&mut saved.native, forgotten) {
            (native.making, native.registered) = (done.making, done.registered);
        }
    })
}

fn refuse(why: String) -> BakeError {
    BakeError::Refused(why)
}

fn native(saved: &Saved) -> Result<&Native, BakeError> {
    saved.native.as_ref().ok_or_else(|| refuse("this bake has a builder".to_owned()))
}

/// The snapshots of the shards in a repository, in their order.
fn snapshots(repository: &Path, index: &str) -> Result<Vec<ShardSnapshot>, BakeError> {
    let cannot = |error: io::Error| refuse(format!("the snapshot without documents cannot be read: {error}"));
    let folders = shard_folders(repository, index).map_err(cannot)?;
    folders.iter().map(|folder| ShardSnapshot::open(folder).map_err(cannot)).collect()
}

/// Bytes that differ between bakes and shards. `id` is that of the bake.
fn random(id: &str, what: &str, shard: usize) -> [u8; 32] {
    Sha256::digest(format!("{id} {what} {shard}")).into()
}

/// Puts the files of the shards into the snapshot.
async fn fill(context: &Arc<Context>, remote: Option<&Remote>) -> Result<String, BakeError> {
    let saved = context.saved().clone();
    if saved.parts[0].snapshot {
        return Ok("its files are in the repository".to_owned());
    }
    let folders = Folders::of(context, &saved);
    let (build, whole) = (folders.build.clone(), folders.whole.clone());
    let work = tokio::task::spawn_blocking(move || fill_shards(&folders, &saved));
    let bytes = work.await.unwrap_or_else(|error| Err(refuse(error.to_string()))).inspect_err(|_| {
        // It is made again from the others. On a full disk it would be in the way of the target.
        if let Err(error) = files::remove(&whole) {
            tracing::warn!("{} is deleted at the end only: {error}", whole.display());
        }
    })?;
    if let Some(remote) = remote {
        context.until_stopped(upload(context, remote, &whole)).await?;
    }
    context.write_part(0, |part| part.snapshot = true)?;
    let local = if remote.is_some() { [Some(&build), Some(&whole)] } else { [Some(&build), None] };
    for folder in local.into_iter().flatten() {
        if let Err(error) = files::remove(folder) {
            tracing::warn!("{} is deleted at the end only: {error}", folder.display());
        }
    }
    Ok(format!("{bytes} bytes"))
}

fn fill_shards(folders: &Folders, saved: &Saved) -> Result<u64, BakeError> {
    let Folders { form, build, whole, .. } = folders;
    let what = format!("the files cannot be put into the snapshot in {}", whole.display());
    let cannot = |source: io::Error| BakeError::Files { what: what.clone(), source };
    copy_over(form, whole).map_err(&cannot)?;
    let mut bytes = 0;
    for (shard, snapshot) in snapshots(whole, &saved.index)?.into_iter().enumerate() {
        let folder = build.join(shard.to_string());
        let mut names = [0; 16];
        names.copy_from_slice(&random(&saved.id, "names", shard)[..16]);
        bytes += snapshot.fill(&folder, names).map_err(&cannot)?;
    }
    if saved.shared.folder.is_some() {
        readable(whole).map_err(&cannot)?;
    }
    // What is recorded as done has to survive a crash, too.
    sync(whole).map_err(cannot)?;
    Ok(bytes)
}

/// Copies a snapshot into the object store from which the target restores it.
async fn upload(context: &Context, remote: &Remote, folder: &Path) -> Result<(), BakeError> {
    let record = |upload: Option<Upload>| {
        context.write(|saved| saved.native.iter_mut().for_each(|native| native.upload.clone_from(&upload)))
    };
    let show = |written, all| context.show(&format!("snapshot: {written} of {all} bytes are in the object store"));
    // One that was cut off.
    remote.abort(begun(context).as_ref()).await?;
    record(None)?;
    remote.upload(folder, WHOLE, &Watcher { record: &record, show: &show }).await.map(drop)
}

/// The object that an earlier run has begun to write in parts.
fn begun(context: &Context) -> Option<Upload> {
    context.saved().native.as_ref().and_then(|native| native.upload.clone())
}

#[cfg(test)]
mod tests {
    use inrush_cluster::api::ClusterError;
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_what_a_builder_would_not_meet_needs_one() {
        for (status, expected) in
            [(400, true), (401, false), (403, true), (404, false), (429, false), (500, true), (503, false)]
        {
            let error = BakeError::from(ClusterError::from_status("-", status, &Value::Null));
            assert_eq!(is_refused(&error), expected, "{status}");
        }
        assert!(!is_refused(&refuse("no shard started in time".to_owned())));
    }
}

//! The last step of a build: the files of the shards take the place of the empty ones in a copy of
//! the snapshot.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::folders::Folders;
use super::names::{random, refuse};
use super::remote::{Remote, Watcher};
use super::snapshot::snapshots;
use crate::config::BakeError;
use crate::context::Context;
use crate::files::{self, copy_over, readable, sync};
use crate::record::{Saved, Upload, WHOLE};

/// Puts the files of the shards into the snapshot.
pub(super) async fn fill(context: &Arc<Context>, remote: Option<&Remote>) -> Result<String, BakeError> {
    let saved = context.saved().clone();
    if saved.is_built {
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
    context.write(|saved| saved.is_built = true)?;
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
pub(super) async fn upload(context: &Context, remote: &Remote, folder: &Path) -> Result<(), BakeError> {
    let record = |upload: Option<Upload>| context.write_native(|native| native.upload = upload);
    let show = |written, all| context.show(&format!("snapshot: {written} of {all} bytes are in the object store"));
    // One that was cut off.
    remote.abort(begun(context).as_ref()).await?;
    record(None)?;
    remote.upload(folder, WHOLE, &Watcher { record: &record, show: &show }).await.map(drop)
}

/// The object that an earlier run has begun to write in parts.
pub(super) fn begun(context: &Context) -> Option<Upload> {
    context.saved().native().and_then(|native| native.upload.clone())
}

//! The beginning of a bake: a new one, or the one that was cut off.

use inrush_cluster::api::{aliases, data_streams};
use inrush_cluster::transport::Transport;
use inrush_load::LoadError;
use inrush_load::checkpoint::Job;
use inrush_load::config::LoadConfig;
use inrush_load::cutover::{self, Swapping};
use inrush_load::loader::check_files;
use tokio::sync::watch;

use crate::config::{BakeError, Engine};
use crate::context::Patience;
use crate::engine::{BuildEngine, Ended};
use crate::parts::Parts;
use crate::prepare::{Prepared, prepare};
use crate::record::{Keep, Saved};
use crate::target::undo;

/// The state before the first step.
pub(crate) struct Beginning {
    pub(crate) saved: Saved,
    pub(crate) swapping: Option<Swapping>,
    pub(crate) warnings: Vec<String>,
}

/// Prepares a new bake, or the one that was cut off.
pub(crate) async fn begin(
    target: &Transport,
    parts: &Parts,
    keep: &Keep,
    (job, earlier): (Job, Option<Saved>),
    bytes: Option<u64>,
    because: Option<String>,
) -> Result<Beginning, BakeError> {
    if parts.load.resume {
        return resumed(target, parts, keep, &job, earlier).await;
    }
    if let Some(saved) = earlier {
        forget_earlier(target, parts, keep, saved).await?;
    }
    // The load begins when the target is changed already. Other machines have files of their own.
    if !parts.engines.is_elsewhere {
        check_files(&parts.load)?;
    }
    let Prepared { mut saved, swapping, warnings } = prepare(target, parts, job, bytes).await?;
    saved.server_because = saved.server_because.or(because);
    keep.write(&saved).map_err(BakeError::Refused)?;
    Ok(Beginning { saved, swapping, warnings })
}

/// Deletes what an earlier run has left.
async fn forget_earlier(target: &Transport, parts: &Parts, keep: &Keep, mut saved: Saved) -> Result<(), BakeError> {
    let how = if keep.stays { "; with option `resume` it would have continued" } else { "" };
    tracing::warn!("an earlier run of this bake was cut off; its index and files are deleted{how}");
    saved.published |= is_published(target, &parts.load, &saved).await?;
    saved.in_doubt = false;
    // A stop drops this as a whole.
    let patience = Patience::new(watch::channel(false).1, parts.load.limits.grace);
    let mut left = undo(target, &mut saved, &patience).await;
    let engine = parts.engines.of(&saved);
    left.extend(engine.undo(target, &mut saved, &patience).await);
    if !left.is_empty() {
        keep.write(&saved).map_err(BakeError::Refused)?;
        let why = format!("what an earlier run left behind cannot be deleted: {}", left.join("; "));
        return Err(BakeError::Load(LoadError::State(why)));
    }
    if !saved.published {
        saved.forget_letters();
    }
    let ended = Ended { keep, saved: &saved, context: None };
    clear(engine, &ended).await.map_err(BakeError::Refused)
}

/// Deletes everything on this machine, and in an object store what the bake has written there: the
/// build, the snapshot, and finally the record.
pub(crate) async fn clear(engine: &dyn BuildEngine, ended: &Ended<'_>) -> Result<(), String> {
    engine.forget(ended).await?;
    ended.saved.shared.remove()?;
    ended.keep.remove(&ended.saved.id)
}

/// Takes up the bake that was cut off.
async fn resumed(
    target: &Transport,
    parts: &Parts,
    keep: &Keep,
    job: &Job,
    earlier: Option<Saved>,
) -> Result<Beginning, BakeError> {
    let refuse = |why: String| Err(BakeError::Load(LoadError::State(why)));
    let Some(mut saved) = earlier else {
        return refuse(format!(
            "there is no bake of this index from these sources in {}: it never began, came to its end, or had another index, target, action, id or other sources; leave option `resume` out",
            keep.path().display()
        ));
    };
    let differences = saved.job.differences(job);
    if !differences.is_empty() {
        return refuse(format!(
            "this is not the bake that was cut off: {}; restore that, or leave option `resume` out to bake from the beginning",
            differences.join("; ")
        ));
    }
    if saved.data_stream != parts.delivery.data_stream {
        let stream = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
        return refuse(format!(
            "this is not the bake that was cut off: its data stream (option `data_stream`) was {}, but is {} now; restore that, or leave option `resume` out to bake from the beginning",
            stream(&saved.data_stream),
            stream(&parts.delivery.data_stream)
        ));
    }
    let is_native = saved.native().is_some();
    if matches!((parts.engines.wanted, is_native), (Engine::Server, true) | (Engine::Native, false)) {
        let difference = match is_native {
            true => {
                "it is built without a server, and the options ask for one (option `engine`, or one about the builder)"
            }
            false => "it is built with a server, and option `engine` is native now",
        };
        return refuse(format!(
            "this is not the bake that was cut off: {difference}; restore the options, or leave option `resume` out to bake from the beginning"
        ));
    }
    let swapping = cutover::begin(target, &parts.load, saved.swap.clone()).await?;
    saved.published |=
        swapping.as_ref().is_some_and(|swapping| swapping.is_done) || is_attached(target, &saved).await?;
    saved.in_doubt = false;
    Ok(Beginning { saved, swapping, warnings: Vec::new() })
}

/// Whether the alias stands for the index already, or the data stream has it.
async fn is_published(target: &Transport, load: &LoadConfig, saved: &Saved) -> Result<bool, BakeError> {
    if is_attached(target, saved).await? {
        return Ok(true);
    }
    let Some(swap) = &load.finish.swap else { return Ok(false) };
    Ok(aliases::behind(target, &swap.alias).await?.contains_key(&saved.index))
}

/// Whether the data stream has the index.
async fn is_attached(target: &Transport, saved: &Saved) -> Result<bool, BakeError> {
    let Some(stream) = &saved.data_stream else { return Ok(false) };
    Ok(data_streams::indices(target, stream).await?.is_some_and(|indices| indices.contains(&saved.index)))
}

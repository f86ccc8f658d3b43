//! A bake from its options to its report. This file alone sees both engines.

use std::sync::Arc;

use inrush_cluster::api::connect;
use inrush_cluster::clock;
use inrush_load::LoadError;
use inrush_load::config::FinishConfig;
use inrush_load::cutover::Finishing;
use inrush_load::loader::{begin_reading, http_options};
use inrush_load::{Phase, Progress, ShowPhase, StopSignal};
use inrush_sources::{Repeats, SourceInfo};
use tokio::sync::watch;

use crate::begin::{Beginning, begin};
use crate::config::{BakeConfig, BakeError, Engine, with_server};
use crate::context::{Context, Documents};
use crate::engine::Engines;
use crate::native::{Native, ShardBuilders};
use crate::record::Keep;
use crate::report::BakeReport;
use crate::server::Server;
use crate::steps::Bake;

/// Why some sources cannot be baked.
pub(crate) const READ_ONCE: &str = "a bake may have to read its sources again, and one of these can be read only once, such as stdin; write it to a file first";

/// Both engines. `tasks`: what has the shards built, if other machines build them.
pub(crate) fn engines(tasks: Option<ShardBuilders>) -> Engines {
    let is_elsewhere = tasks.is_some();
    Engines { server: Box::new(Server), native: Box::new(Native { tasks }), is_elsewhere }
}

/// Bakes to the end. If the options leave the choice, what turns out later that only a server can
/// build begins again with one.
pub(crate) async fn bake(
    config: BakeConfig,
    documents: Documents,
    tasks: Option<ShardBuilders>,
    progress: watch::Sender<Progress>,
    stop: watch::Receiver<bool>,
) -> Result<BakeReport, BakeError> {
    let may_repeat = config.engine == Engine::Auto && tasks.is_none();
    let again = may_repeat.then(|| (config.clone(), documents.clone()));
    let mut ended = bake_once(config, documents, (engines(tasks), None), progress.clone(), stop.clone()).await;
    let why = ended.as_ref().err().and_then(BakeError::needs_server).map(str::to_owned);
    if let (Some(why), Some((mut config, documents))) = (why, again) {
        (config.engine, config.load.resume) = (Engine::Server, false);
        progress.send_replace(Progress::default());
        ended = bake_once(config, documents, (engines(None), Some(why)), progress.clone(), stop).await;
    }
    progress.send_modify(|progress| progress.phase = Phase::Done);
    ended
}

/// `because`: why a server builds it, if an earlier try has shown that.
async fn bake_once(
    mut config: BakeConfig,
    documents: Documents,
    (engines, because): (Engines, Option<String>),
    progress: watch::Sender<Progress>,
    mut stop: watch::Receiver<bool>,
) -> Result<BakeReport, BakeError> {
    let started = clock::now();
    let load = &config.load;
    let target = connect(&load.to, load.credentials.clone(), &http_options(load)).await?;
    let source = (documents.open)()?;
    let info = source.describe();
    // A builder would be started first.
    load.check_source(&info).map_err(LoadError::usage)?;
    let SourceInfo { bytes_total: bytes, repeats, rows, .. } = info;
    let is_read_here = !engines.is_elsewhere;
    if repeats != Repeats::Always {
        return Err(LoadError::usage(READ_ONCE.to_owned()).into());
    }
    let (keep, job, earlier) = Keep::open(&config.load, source.as_ref())?;
    // The bake reads it again. A query could take long until its first row.
    match !config.load.resume && is_read_here && rows.is_none() {
        true => drop(begin_reading(source, &config.load).await?),
        false => drop(source),
    }
    let beginning = begin(&target, &mut config, &engines, &keep, (job, earlier), bytes, because);
    let Beginning { saved, swapping, mut warnings } = tokio::select! {
        beginning = beginning => beginning?,
        () = stop.stopped() => return Err(BakeError::Interrupted),
    };
    if let Some(why) = &saved.server_because {
        let note = with_server(why);
        tracing::warn!("{note}");
        warnings.insert(0, note);
    }
    let waiting = FinishConfig { force_merge: None, ..config.load.finish.clone() };
    let shown = progress.clone();
    let show: ShowPhase = Arc::new(move |phase| shown.send_modify(|progress| progress.phase = phase));
    let finishing = Finishing::new(Arc::clone(&target), show, waiting, swapping);
    let context = Arc::new(Context::new(config, documents, target, keep, saved, (progress, stop)));
    Bake::new(context, engines, warnings, started).run(finishing).await
}

//! A bake from its options to its report. This file alone sees both engines.

use std::sync::Arc;

use inrush_cluster::api::connect;
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_load::LoadError;
use inrush_load::config::{FinishConfig, LoadConfig};
use inrush_load::cutover::Finishing;
use inrush_load::loader::{begin_reading, http_options};
use inrush_load::{Progress, ShowPhase, StopSignal};
use inrush_sources::{Repeats, SourceInfo};
use tokio::sync::watch;

use crate::begin::{Beginning, begin};
use crate::config::{BakeConfig, BakeError, Delivery, Engine, with_server};
use crate::context::{Context, Documents};
use crate::engine::Engines;
use crate::native::{Native, NativeOptions, ShardBuilders};
use crate::parts::Parts;
use crate::record::Keep;
use crate::report::BakeReport;
use crate::server::Server;
use crate::steps::Bake;
use crate::target::Target;

/// Why some sources cannot be baked.
pub(crate) const READ_ONCE: &str = "a bake may have to read its sources again, and one of these can be read only once, such as stdin; write it to a file first";

/// Gives each part of a bake its options. `tasks`: what has the shards built, if other machines
/// build them.
pub(crate) fn parts(config: BakeConfig, tasks: Option<ShardBuilders>) -> Parts {
    let has_builder = config.has_builder();
    let BakeConfig {
        load,
        place,
        path_on_target,
        engine,
        build_memory: memory,
        repository_options: store,
        builder,
        data_stream,
        unthrottle,
        no_resume,
    } = config;
    let is_elsewhere = tasks.is_some();
    let options = NativeOptions { store, memory, untested: engine == Engine::Native, has_builder };
    let (server, native) = (Box::new(Server { builder }), Box::new(Native { options, tasks }));
    let engines = Engines { wanted: engine, server, native, is_elsewhere };
    let delivery = Delivery { place, path_on_target, data_stream, unthrottle };
    Parts { load, delivery, engines, stays: !no_resume }
}

/// The way to the target of a load.
pub(crate) async fn way_to_target(load: &LoadConfig) -> Result<Arc<Transport>, BakeError> {
    Ok(connect(&load.to, load.credentials.clone(), &http_options(load)).await?)
}

/// Bakes to the end. If the options leave the choice, what turns out later that only a server can
/// build begins again with one.
pub(crate) async fn bake(
    config: BakeConfig,
    target: Arc<Transport>,
    documents: Documents,
    tasks: Option<ShardBuilders>,
    (progress, stop): (watch::Sender<Progress>, watch::Receiver<bool>),
) -> Result<BakeReport, BakeError> {
    let mut parts = parts(config, tasks);
    let mut because = None;
    loop {
        let (to, from, shown) = (Arc::clone(&target), documents.clone(), (progress.clone(), stop.clone()));
        let ended = bake_once(&parts, to, from, because, shown).await;
        let why = ended.as_ref().err().and_then(BakeError::needs_server).map(str::to_owned);
        if why.is_none() || !parts.engines.leave_the_choice() {
            return ended;
        }
        because = why;
        (parts.engines.wanted, parts.load.resume) = (Engine::Server, false);
        progress.send_replace(Progress::default());
    }
}

/// `because`: why a server builds it, if an earlier try has shown that.
async fn bake_once(
    parts: &Parts,
    target: Arc<Transport>,
    documents: Documents,
    because: Option<String>,
    (progress, mut stop): (watch::Sender<Progress>, watch::Receiver<bool>),
) -> Result<BakeReport, BakeError> {
    let started = clock::now();
    let load = &parts.load;
    let source = (documents.open)()?;
    let info = source.describe();
    // A builder would be started first.
    load.check_source(&info).map_err(LoadError::usage)?;
    let SourceInfo { bytes_total: bytes, repeats, rows, .. } = info;
    let is_read_here = !parts.engines.is_elsewhere;
    if repeats != Repeats::Always {
        return Err(LoadError::usage(READ_ONCE.to_owned()).into());
    }
    let (keep, job, earlier) = Keep::open(load, parts.stays, source.as_ref())?;
    // The bake reads it again. A query could take long until its first row.
    match !load.resume && is_read_here && rows.is_none() {
        true => drop(begin_reading(source, load).await?),
        false => drop(source),
    }
    let Beginning { saved, swapping, mut warnings } = tokio::select! {
        beginning = begin(&target, parts, &keep, (job, earlier), bytes, because) => beginning?,
        () = stop.stopped() => return Err(BakeError::Interrupted),
    };
    if let Some(why) = &saved.server_because {
        let note = with_server(why);
        tracing::warn!("{note}");
        warnings.insert(0, note);
    }
    let waiting = FinishConfig { force_merge: None, ..load.finish.clone() };
    let shown = progress.clone();
    let show: ShowPhase = Arc::new(move |phase| shown.send_modify(|progress| progress.phase = phase));
    let finishing = Finishing::new(Arc::clone(&target), show, waiting, swapping);
    let context = Arc::new(Context::new(load.clone(), documents, target, keep, saved, (progress, stop)));
    let target = Target::new(Arc::clone(&context), parts.delivery.unthrottle);
    Bake { context, engines: &parts.engines, target, warnings, started }.run(finishing).await
}

//! The load of a bake: that of its options, without the parts that are about the target.

use inrush_cluster::transport::{Credentials, TlsOptions};
use inrush_load::config::{IndexCreation, Learning, LoadConfig};
use inrush_load::{LoadError, Phase, Report, RunningLoad};

use super::work::Context;
use crate::config::BakeError;

/// Waits for a load, and passes its progress on. It is stopped where the bake is, or when `dies`
/// ends, whose result is returned.
pub(crate) async fn follow<E>(
    context: &Context,
    running: RunningLoad,
    dies: impl Future<Output = E>,
) -> (Report, Option<E>) {
    let (mut loading, load_stop) = (running.progress(), running.stop_handle());
    let finish = running.finish();
    tokio::pin!(finish, dies);
    let (mut stopping, mut watched, mut dead) = (false, true, None);
    let report = loop {
        tokio::select! {
            report = &mut finish => break report,
            changed = loading.changed(), if watched => {
                watched = changed.is_ok();
                let now = loading.borrow_and_update().clone();
                if now.phase != Phase::Done {
                    context.show_loading(now);
                }
            }
            () = context.stopped(), if !stopping => {
                stopping = true;
                load_stop.stop();
            }
            error = &mut dies, if dead.is_none() => {
                dead = Some(error);
                load_stop.stop();
            }
        }
    };
    (report, dead)
}

/// The load of a bake into a builder. What concerns the target alone is left out.
pub(crate) fn aside(load: &LoadConfig, index: &str, to: Vec<String>) -> Result<LoadConfig, BakeError> {
    let mut config = load.clone();
    config.index = index.parse().map_err(LoadError::usage)?;
    (config.to, config.credentials) = (to, Credentials::None);
    config.tls = TlsOptions::default();
    config.create = IndexCreation::default();
    config.guard.leave_settings = true;
    config.under_policy = true;
    // Tolerance is judged at the end, of what all processes have loaded.
    config.tolerate = None;
    config.allow_empty = true;
    // The builder is a cluster of its own, which no later load meets.
    config.learning = Learning::Given(None);
    Ok(config)
}

//! A bake whose shards other processes build.

use std::sync::{Arc, Mutex, PoisonError};

use inrush_bake::{Baker, BuiltShard, RunningBake, ShardBuilders, ShardOrder};
use inrush_cluster::transport::Secret;
use inrush_commands::options::Environment;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{Error, Load, take_of_bake};

/// A bake that has begun, and waits for its shards. Other processes build them, each with a
/// [`Load`] into one ([`Load::of_shard`]).
pub struct ShardsBake {
    /// The bake. Its end is never before the shards are there, unless it fails.
    pub running: RunningBake,
    /// What the other processes need, once the target has made the index without documents. It is
    /// dropped if the bake ends before.
    pub order: oneshot::Receiver<ShardOrder>,
    /// Takes the shards, or the reason why there are none, which ends the bake.
    pub built: oneshot::Sender<Result<Vec<BuiltShard>, String>>,
}

impl ShardsBake {
    /// Begins the bake. `options` are the keys of a job file without sources, `name` stands for the
    /// documents in messages, and `login` are the password, the API key and the bearer token. Must
    /// be called in a tokio runtime.
    ///
    /// # Errors
    /// An option cannot be used.
    pub async fn start(mut options: Map<String, Value>, name: &str, login: [Option<Secret>; 3]) -> Result<Self, Error> {
        let bake = take_of_bake(&mut options)?;
        let mut load = Load::new(options)?.options;
        [load.login.password, load.login.api_key, load.login.bearer] = login;
        let config = bake.resolve_elsewhere(load, name, &Environment::of_process()).await?;
        let (order, ordered) = oneshot::channel();
        let (built, building) = oneshot::channel();
        let once = Mutex::new(Some((order, building)));
        let builders: ShardBuilders = Arc::new(move |asked| {
            let taken = once.lock().unwrap_or_else(PoisonError::into_inner).take();
            Box::pin(async move {
                let (order, building) = taken.ok_or("the shards were built before")?;
                // Who does not take it says why there are no shards, or drops the sender.
                let _ = order.send(asked);
                building.await.unwrap_or_else(|_| Err("the program that has the shards built has ended".to_owned()))
            })
        });
        let running = Baker::elsewhere(config, name, builders)?.start();
        Ok(ShardsBake { running, order: ordered, built })
    }
}

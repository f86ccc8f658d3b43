//! How long the steps of a bake wait.

use std::time::Duration;

use inrush_load::config::LoadConfig;

/// The longest waits, as the options of the load say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// For a target that does not answer: option `retry_for`.
    pub(crate) retry_for: Duration,
    /// For a node that can hold a shard: option `pause_for`.
    pub(crate) pause_max: Duration,
    /// For a state of the target or the builder: option `wait_timeout`.
    pub(crate) wait_timeout: Duration,
    /// For the end after a stop: option `grace`.
    pub(crate) grace: Duration,
}

impl Times {
    pub(crate) fn of(LoadConfig { limits, finish, .. }: &LoadConfig) -> Times {
        Times {
            retry_for: limits.retry_for,
            pause_max: limits.pause_max,
            wait_timeout: finish.wait_timeout,
            grace: limits.grace,
        }
    }
}

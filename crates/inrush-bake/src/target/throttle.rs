//! The target's throttle for restores. It is removed if the user asks for that. Its value is
//! recorded before and restored afterwards.

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::Transport;
use serde_json::{Value, json};

use crate::record::Throttle;

/// The limit of restores besides the repository's own setting, on both servers. By default 40mb a
/// second on each node.
const SETTING: &str = "indices.recovery.max_bytes_per_sec";
/// The value for no limit.
const LIFTED: &str = "-1";

/// Reads the present throttle.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub(super) async fn look(target: &Transport) -> Result<Throttle, ClusterError> {
    let body = settings(target).await?;
    let set = |scope: &str| body.get(scope)?.get(SETTING)?.as_str().map(str::to_owned);
    Ok(match set("transient") {
        Some(value) => Throttle { scope: "transient".to_owned(), original: Some(value) },
        None => Throttle { scope: "persistent".to_owned(), original: set("persistent") },
    })
}

/// Removes the throttle.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub(super) async fn lift(target: &Transport, throttle: &Throttle) -> Result<(), ClusterError> {
    put(target, throttle, json!(LIFTED)).await
}

/// Restores the throttle, unless another program has changed it meanwhile.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub(super) async fn put_back(target: &Transport, throttle: &Throttle) -> Result<(), ClusterError> {
    let body = settings(target).await?;
    let now = body.get(&throttle.scope).and_then(|scope| scope.get(SETTING)?.as_str());
    // The servers may return a value in another form.
    match now {
        Some(now) if now.trim_end_matches('b') == LIFTED => put(target, throttle, json!(throttle.original)).await,
        _ => Ok(()),
    }
}

async fn settings(target: &Transport) -> Result<Value, ClusterError> {
    let path = "/_cluster/settings?flat_settings=true";
    target.demand("reading the cluster's settings", Method::GET, path, None).await
}

async fn put(target: &Transport, throttle: &Throttle, value: Value) -> Result<(), ClusterError> {
    let body = json!({ throttle.scope.clone(): { SETTING: value } });
    target.demand("setting the cluster's throttle", Method::PUT, "/_cluster/settings", Some(&body)).await.map(|_| ())
}

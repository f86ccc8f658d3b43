//! The target's throttles for restores: lifted if somebody asks for it, written down before, and put back.

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What limits restores besides the repository's own setting, on both servers; 40mb a second on each node by default.
const SETTING: &str = "indices.recovery.max_bytes_per_sec";
/// No limit, in the servers' words.
const LIFTED: &str = "-1";

/// What was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Throttle {
    /// `persistent`, or `transient` where somebody has set it there, which wins.
    scope: String,
    /// What it was; none: it was not set.
    original: Option<String>,
}

/// What the throttle is now.
///
/// # Errors
/// As every question.
pub(super) async fn look(target: &Transport) -> Result<Throttle, ClusterError> {
    let body = settings(target).await?;
    let set = |scope: &str| body.get(scope)?.get(SETTING)?.as_str().map(str::to_owned);
    Ok(match set("transient") {
        Some(value) => Throttle { scope: "transient".to_owned(), original: Some(value) },
        None => Throttle { scope: "persistent".to_owned(), original: set("persistent") },
    })
}

/// Lifts it.
///
/// # Errors
/// As every question.
pub(super) async fn lift(target: &Transport, throttle: &Throttle) -> Result<(), ClusterError> {
    put(target, throttle, json!(LIFTED)).await
}

/// Puts it back, unless somebody has set something else meanwhile.
///
/// # Errors
/// As every question.
pub(super) async fn put_back(target: &Transport, throttle: &Throttle) -> Result<(), ClusterError> {
    let body = settings(target).await?;
    let now = body.get(&throttle.scope).and_then(|scope| scope.get(SETTING)?.as_str());
    // The servers may write a value back in another form.
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

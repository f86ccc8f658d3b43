//! Examines a cluster for settings that slow a load down or let it fail.

#[doc(inline)]
pub use inrush_commands::doctor::{Confidence, Diagnosis, Finding};

use crate::cluster::{Cluster, ClusterError};

/// Examines a cluster, or one index of it (a name, alias, data stream or pattern). Sends only GET
/// requests.
///
/// # Errors
/// [`ClusterError`] if no node answers, the cluster refuses the credentials, or the index does not
/// exist. Other requests that the cluster refuses are listed in [`Diagnosis::not_checked`].
pub async fn examine(cluster: &Cluster, index: Option<&str>) -> Result<Diagnosis, ClusterError> {
    inrush_commands::doctor::examine(cluster.transport(), index).await
}

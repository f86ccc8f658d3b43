//! A connection to a cluster, for the use cases that are not a load.
//!
//! ```no_run
//! use inrush::cluster::{Cluster, Credentials, HttpOptions, Secret};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let password = Secret::from_env("PASSWORD")?;
//! let credentials = Credentials::Basic { user: "alice".to_owned(), password };
//! let http = HttpOptions::default();
//! let cluster = Cluster::connect(&["https://search:9200"], credentials, &http).await?;
//! println!("{}", cluster.info().await?);
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

#[doc(inline)]
pub use inrush_cluster::api::product::{ClusterInfo, Product, Version};
#[doc(inline)]
pub use inrush_cluster::api::{ClusterError, ConnectError};
use inrush_cluster::transport::Transport;
#[doc(inline)]
pub use inrush_cluster::transport::{
    Credentials, HttpError, HttpErrorKind, HttpOptions, Secret, SetupError, TlsOptions,
};
#[doc(inline)]
pub use inrush_load::{RecoverOptions, Recovered, RecoveredState};

/// The nodes of one cluster.
#[derive(Clone, Debug)]
pub struct Cluster(Arc<Transport>);

impl Cluster {
    /// Connects to the nodes at these addresses. If there are several, each is asked for the UUID
    /// of its cluster. A node that does not answer within 5 s counts as a node of the same cluster.
    ///
    /// # Errors
    /// [`ConnectError::Setup`] for an address, a certificate or credentials that cannot be used,
    /// [`ConnectError::SeveralClusters`] for nodes of several clusters.
    pub async fn connect(
        to: &[impl AsRef<str>],
        credentials: Credentials,
        options: &HttpOptions,
    ) -> Result<Self, ConnectError> {
        inrush_cluster::api::connect(to, credentials, options).await.map(Cluster)
    }

    /// Asks the cluster for its product and version.
    ///
    /// # Errors
    /// [`ClusterError`] if the cluster does not answer as Elasticsearch or OpenSearch.
    pub async fn info(&self) -> Result<ClusterInfo, ClusterError> {
        inrush_cluster::api::product::detect(&self.0).await
    }

    pub(crate) fn transport(&self) -> &Arc<Transport> {
        &self.0
    }
}

/// Restores the settings that loads changed and did not restore, as after a crash. Loads that
/// still run are left alone. `watching` is called once, with the names of the indices that are
/// watched for a sign of life.
///
/// # Errors
/// [`ClusterError`] if the cluster does not say which settings were changed.
pub async fn recover(
    cluster: &Cluster,
    options: &RecoverOptions,
    watching: impl FnMut(&[&str]),
) -> Result<Vec<Recovered>, ClusterError> {
    inrush_load::recover(Arc::clone(cluster.transport()), options, watching).await
}

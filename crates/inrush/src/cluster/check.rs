//! The preflight.

use inrush_core::Action;

use super::product::{self, ClusterInfo};
use super::{ClusterError, Target, index};
use crate::transport::Transport;

/// What a load needs of the cluster.
#[derive(Clone, Debug)]
pub struct Needs {
    /// The index, if all documents go to one.
    pub index: Option<String>,
    /// The pipeline.
    pub pipeline: Option<String>,
    /// Bytes that are coming.
    pub bytes_expected: Option<u64>,
    /// What is done with the documents.
    pub action: Action,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Preflight {
    /// Product and version.
    pub info: ClusterInfo,
    /// What the index stands for.
    pub target: Option<Target>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Asks.
pub async fn preflight(transport: &Transport, needs: &Needs) -> Result<Preflight, ClusterError> {
    let info = product::detect(transport).await?;
    let target = match &needs.index {
        Some(name) => Some(index::resolve(transport, name).await?),
        None => None,
    };
    Ok(Preflight { info, target, warnings: Vec::new() })
}

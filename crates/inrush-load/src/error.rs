//! Why a load could not begin. What goes wrong once it has begun is in the report.

use std::path::PathBuf;

use crate::option_error::OptionError;
use inrush_cluster::api::{ClusterError, ConnectError};
use inrush_cluster::transport::SetupError;
use inrush_sources::SourceError;

/// Why a load could not begin; nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Options that cannot be used, or not together.
    #[error(transparent)]
    Usage(#[from] OptionError),
    /// An address, a certificate or credentials that cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The cluster or the index is not ready.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A source that cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The cluster that is read, or its index, cannot be read.
    #[error(transparent)]
    OfSource(Box<LoadError>),
    /// No checkpoint can be kept, or none can be gone on from; says why and what to do.
    #[error("{0}")]
    State(String),
    /// Another process loads the same now; says which, as far as that is known.
    #[error("{0}")]
    Busy(String),
    /// The system lets this process start no more threads. Fewer of [`workers`](crate::config::Limits::workers) may do.
    #[error("cannot start {workers} reading threads")]
    Threads {
        /// How many were wanted.
        workers: usize,
        /// What the system says.
        source: std::io::Error,
    },
    /// The dead-letter file cannot be used.
    #[error("dead-letter file {path}: {reason}")]
    DeadLetters {
        /// Which file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
}

impl From<ConnectError> for LoadError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Setup(error) => LoadError::Setup(error),
            ConnectError::Cluster(error) => LoadError::Cluster(error),
            other => LoadError::usage(other.to_string()),
        }
    }
}

impl LoadError {
    /// Options that cannot be used, in words.
    pub fn usage(problem: impl Into<OptionError>) -> Self {
        LoadError::Usage(problem.into())
    }
}

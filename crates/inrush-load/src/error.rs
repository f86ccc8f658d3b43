//! Errors that prevent a load from beginning. The report holds errors of a load that has begun.

use std::path::PathBuf;

use crate::option_error::OptionError;
use inrush_cluster::api::{ClusterError, ConnectError};
use inrush_cluster::transport::SetupError;
use inrush_core::Code;
use inrush_sources::SourceError;

/// An error before the first request: nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Options with invalid values, or that exclude each other.
    #[error(transparent)]
    Usage(#[from] OptionError),
    /// An unusable address, certificate or credential.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The cluster or the index is not ready.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The source cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The cluster or index that is the source cannot be read.
    #[error(transparent)]
    OfSource(Box<LoadError>),
    /// No checkpoint can be kept, or the load cannot be resumed from one. The text has the cause
    /// and the remedy.
    #[error("{0}")]
    State(String),
    /// Another process runs the same load now. The text names it as far as it is known.
    #[error("{0}")]
    Busy(String),
    /// A [`BeginningHandle`](crate::BeginningHandle) stopped the load before its first document.
    #[error("the load was stopped before its first document")]
    Stopped,
    /// The system lets this process start no more threads. A lower value of
    /// [`workers`](crate::config::Limits::workers) may help.
    #[error("cannot start {workers} reading threads")]
    Threads {
        /// Number of threads that the load needs.
        workers: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// A change of the cluster that may have been carried out. The text says how to find out.
    #[error("{0}")]
    InDoubt(String),
    /// The dead-letter file cannot be used.
    #[error("dead-letter file {path}: {reason}")]
    DeadLetters {
        /// Path of the file.
        path: PathBuf,
        /// Cause and remedy.
        reason: String,
    },
}

impl From<ConnectError> for LoadError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Setup(error) => LoadError::Setup(error),
            ConnectError::Cluster(error) => LoadError::Cluster(error),
            other => LoadError::Usage(OptionError::conflict(other.to_string()).coded(other.code())),
        }
    }
}

impl LoadError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            LoadError::Usage(error) => error.code(),
            LoadError::Setup(error) => error.code(),
            LoadError::Cluster(error) => error.code(),
            LoadError::Source(error) => error.code,
            LoadError::OfSource(error) => error.code(),
            LoadError::State(_) => Code::StateUnusable,
            LoadError::Busy(_) => Code::Busy,
            LoadError::Stopped => Code::Interrupted,
            LoadError::InDoubt(_) => Code::StepFailed,
            LoadError::Threads { .. } => Code::NoThreads,
            LoadError::DeadLetters { .. } => Code::DeadLettersUnusable,
        }
    }

    /// An error of the options, from its message.
    pub fn usage(problem: impl Into<OptionError>) -> Self {
        LoadError::Usage(problem.into())
    }
}

//! Why a source cannot be read.

use std::io;

use inrush_core::SourceId;

/// An error of the transfer of a file's bytes: a connection broke, or the file was changed while it
/// was read. It says nothing about the contents of the file. The [`io::Error`] of a read carries
/// it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    message: String,
    changed: bool,
}

impl InputError {
    /// The bytes cannot be read. The message says why and what to do.
    pub fn new(message: impl Into<String>) -> Self {
        InputError { message: message.into(), changed: false }
    }

    /// The file has changed since the load began.
    pub fn changed(message: impl Into<String>) -> Self {
        InputError { message: message.into(), changed: true }
    }

    /// An `io::Error` that carries this error.
    pub fn into_io(self) -> io::Error {
        io::Error::other(self)
    }

    /// The [`InputError`] that an `io::Error` carries, if any.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Whether the file has changed since the load began.
    pub fn is_change(&self) -> bool {
        self.changed
    }
}

/// Why a source cannot be read any further. What was read before is valid.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {message}")]
pub struct SourceError {
    /// The source of the job, if known.
    pub source_id: Option<SourceId>,
    /// The path, `-` or URL.
    pub name: String,
    /// What was found, where, and what to do.
    pub message: String,
    /// The cause. Its text is part of `message`: a program that prints both shows it twice.
    #[source]
    pub cause: Option<io::Error>,
}

impl SourceError {
    /// An error without a deeper cause.
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        SourceError { source_id: None, name: name.into(), message: message.into(), cause: None }
    }

    /// An error of the operating system. `what` says which operation failed.
    pub fn io(name: impl Into<String>, what: &str, cause: io::Error) -> Self {
        SourceError { source_id: None, name: name.into(), message: format!("{what}: {cause}"), cause: Some(cause) }
    }

    /// Whether the source has changed since the load began, so that it cannot be continued.
    pub fn is_change(&self) -> bool {
        self.cause.as_ref().and_then(InputError::of).is_some_and(InputError::is_change)
    }

    /// The same error, for this source of the job.
    pub fn of(mut self, source_id: SourceId) -> Self {
        self.source_id = Some(source_id);
        self
    }
}

//! Why a source cannot be read.

use std::io;

use inrush_core::{Code, SourceId};

/// An error of the transfer of a file's bytes: a connection broke, or the file was changed while it
/// was read. It says nothing about the contents of the file. The [`io::Error`] of a read carries
/// it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    message: String,
    code: Code,
}

impl InputError {
    /// The bytes cannot be read from a server. The message says why and what to do.
    pub fn new(message: impl Into<String>) -> Self {
        InputError { message: message.into(), code: Code::RemoteFailed }
    }

    /// The file has changed since the load began.
    pub fn changed(message: impl Into<String>) -> Self {
        InputError { message: message.into(), code: Code::SourceChanged }
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
        self.code == Code::SourceChanged
    }
}

/// Why a source cannot be read any further. What was read before is valid.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {message}")]
pub struct SourceError {
    /// The source of the job, if known.
    pub source_id: Option<SourceId>,
    /// The kind.
    pub code: Code,
    /// The path, `-` or URL.
    pub name: String,
    /// What was found, where, and what to do.
    pub message: String,
    /// The cause. Its text is part of `message`: a program that prints both shows it twice.
    #[source]
    pub cause: Option<io::Error>,
}

impl SourceError {
    /// An error of the contents, without a deeper cause.
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        SourceError { source_id: None, code: Code::BadSource, name: name.into(), message: message.into(), cause: None }
    }

    /// The same error as one of this kind.
    #[must_use]
    pub fn coded(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// An error of the operating system. `what` says which operation failed.
    pub fn io(name: impl Into<String>, what: &str, cause: io::Error) -> Self {
        let code = match InputError::of(&cause) {
            Some(input) => input.code,
            None => Code::of_io(&cause),
        };
        let message = format!("{what}: {cause}");
        SourceError { source_id: None, code, name: name.into(), message, cause: Some(cause) }
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

//! Look-ups: documents by their ids, from a database or a web service.
//!
//! [`open_fetch`](crate::open_fetch) makes a [`Fetch`] of options. A database (`database/fetch/`)
//! and a web service (`web.rs`) are asked for a batch of keys at a time. `batches.rs` makes
//! batches, and finds the keys that a batch is refused for; `answer.rs` matches records with the
//! keys that were asked for.

pub(crate) mod answer;
pub(crate) mod batches;
pub(crate) mod web;

use inrush_core::Code;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

/// Looks up documents by their ids.
pub trait Fetch: Send + Sync {
    /// The answers for these ids, in their order.
    ///
    /// # Errors
    /// No document could be looked up. The engine asks again, with the waits and limits of a
    /// request that could not be sent.
    fn fetch<'a>(&'a self, ids: &'a [String]) -> Fetched<'a>;
}

impl<F: Fetch + ?Sized> Fetch for Arc<F> {
    fn fetch<'a>(&'a self, ids: &'a [String]) -> Fetched<'a> {
        (**self).fetch(ids)
    }
}

/// The result of a look-up.
pub type Fetched<'a> = Pin<Box<dyn Future<Output = Result<Vec<Answer>, FetchError>> + Send + 'a>>;

/// The answer for one id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The document: one JSON object.
    Document(Bytes),
    /// No record has the id.
    NoRecord,
    /// It is not known whether there is a record, or it cannot be a document: a dead letter.
    Refused {
        /// The type of the dead letter, as in `bad_key`.
        kind: Code,
        /// The cause and the remedy.
        reason: String,
    },
}

/// Why documents could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    lasting: bool,
}

impl FetchError {
    /// An error with this message: the question, and the answer to it.
    pub fn new(message: impl Into<String>) -> Self {
        FetchError { message: message.into(), source: None, lasting: false }
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        FetchError { source: Some(Box::new(source)), ..self }
    }

    /// Another question is likely to fail alike, such as one without permission. A load tries for
    /// less than a minute before it ends with this error.
    #[must_use]
    pub fn lasting(self) -> Self {
        FetchError { lasting: true, ..self }
    }

    /// Whether another question is likely to fail alike.
    pub fn is_lasting(&self) -> bool {
        self.lasting
    }

    /// The message with its causes.
    pub fn text(&self) -> String {
        let mut text = format!("documents could not be looked up: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        text
    }
}

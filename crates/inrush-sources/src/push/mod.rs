//! A source that a program feeds from any number of tasks and threads. It takes documents, which
//! are gathered into blocks, and record batches, whose rows become documents in the reading
//! threads.
//!
//! [`channel`] makes both ends. A task sends documents with [`Sender::send`], and a thread with
//! [`Sender::blocking_send`]. A thread that must not wait inside a call, because it holds a lock of
//! its program, calls [`Sender::wait_for_room`] first and then [`Sender::add`].

mod gathered;
mod queue;
mod sender;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use inrush_core::DocMeta;
use inrush_formats::format::{Binary, Timestamps};

use queue::Shared;
pub use sender::Sender;
pub use source::PushSource;

/// Largest document that a block can hold, bytes: positions in a block are 32 bits.
const DOCUMENT_BYTES_MAX: usize = 512 << 20;

/// A document to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// One JSON object, also over several lines. Empty for an action without a document.
    pub body: Bytes,
    /// Action, id and the like, which take precedence over the options of the load.
    pub meta: DocMeta,
}

/// Options of a push source.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// Bytes of documents that wait to be read, at least 1. [`Sender::send`] waits for room within
    /// this limit, and a larger document waits alone. Default: 8 MiB.
    pub memory: usize,
    /// Longest time that a document waits for others to share its block. Default: 100 ms.
    pub linger: Duration,
    /// Largest document, bytes. A larger one is a reject of kind `too_large`. Default: 100 MiB, at
    /// most 512 MiB.
    pub document_bytes_max: usize,
    /// Name of the source in reports and dead letters. Default: `push`.
    pub name: String,
    /// Form of timestamps in record batches. Default: ISO 8601.
    pub timestamps: Timestamps,
    /// Form of binary values in record batches. Default: base64, also for [`Binary::Auto`], because
    /// other processes may send other parts of the rows.
    pub binary: Binary,
}

impl Default for PushOptions {
    fn default() -> Self {
        PushOptions {
            memory: 8 << 20,
            linger: Duration::from_millis(100),
            document_bytes_max: 100 << 20,
            name: "push".to_owned(),
            timestamps: Timestamps::default(),
            binary: Binary::default(),
        }
    }
}

/// The load has ended and accepts no more documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the load has ended and accepts no more documents")]
pub struct Closed;

/// Makes a source and its sender. The source ends with [`Sender::end`], or when all senders are
/// dropped.
pub fn channel(options: PushOptions) -> (Sender, PushSource) {
    let options = PushOptions {
        memory: options.memory.max(1),
        document_bytes_max: options.document_bytes_max.clamp(1, DOCUMENT_BYTES_MAX),
        ..options
    };
    let shared = Arc::new(Shared::new(options));
    (Sender::new(Arc::clone(&shared)), PushSource::new(shared))
}

//! A source that a program feeds, from any number of tasks and threads: documents, which are
//! gathered into blocks, and record batches, whose rows become documents in the reading threads.
//!
//! [`channel`] makes both ends. A task gives documents with [`Sender::send`], a thread with
//! [`Sender::blocking_send`]. A thread that may not wait inside of a call, because it holds a lock
//! of its program, asks [`Sender::wait_for_room`] and gives documents with [`Sender::add`].

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
use inrush_formats::format::Timestamps;

use queue::Shared;
pub use sender::Sender;
pub use source::PushSource;

/// The largest document that can be handed on at all, bytes: positions in a block are 32 bits.
const DOCUMENT_BYTES_MAX: usize = 512 << 20;

/// A document to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// One JSON object; empty for an action that has none. It may be written over several lines.
    pub body: Bytes,
    /// What wins over the options of the job.
    pub meta: DocMeta,
}

/// How documents are gathered.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// Bytes of documents that wait to be taken, 1 at least. [`Sender::send`] waits for room below
    /// that, and a larger document waits alone. Default 8 MiB.
    pub memory: usize,
    /// How long a document waits for others to share its block. Default 100 ms.
    pub linger: Duration,
    /// The largest document; a larger one is a reject of kind `too_large`. Default 100 MiB, at most
    /// 512 MiB.
    pub document_bytes_max: usize,
    /// What reports and dead letters call this source. Default `push`.
    pub name: String,
    /// How timestamps of record batches are written. Default: ISO 8601.
    pub timestamps: Timestamps,
}

impl Default for PushOptions {
    fn default() -> Self {
        PushOptions {
            memory: 8 << 20,
            linger: Duration::from_millis(100),
            document_bytes_max: 100 << 20,
            name: "push".to_owned(),
            timestamps: Timestamps::default(),
        }
    }
}

/// The load has ended and takes no more documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the load has ended and takes no more documents")]
pub struct Closed;

/// Makes a source and what feeds it. The source ends with [`Sender::end`], or when all senders are
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

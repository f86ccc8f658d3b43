//! The end of the channel that a program holds.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "columns")]
use arrow_array::RecordBatch;
use inrush_core::DocMeta;

use super::queue::{Offer, Shared};
use super::{Closed, Document};
use crate::SourceError;

/// Feeds a load. Cheap to clone; documents of one task or thread keep their order. The source ends
/// with [`Sender::end`], or when all clones are dropped.
#[derive(Clone)]
pub struct Sender {
    shared: Arc<Shared>,
    _ends: Arc<Ends>,
}

/// Ends the source when the last sender goes.
struct Ends(Arc<Shared>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end(Ok(()));
    }
}

impl Sender {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Sender { _ends: Arc::new(Ends(Arc::clone(&shared))), shared }
    }

    /// Hands over a document, and waits while there is no room for it
    /// ([`PushOptions::memory`](super::PushOptions::memory)). If the future is dropped before it is
    /// done, the document was not sent.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub async fn send(&self, document: Document) -> Result<(), Closed> {
        if let Offer::Taken = self.shared.offer(&document)? {
            return Ok(());
        }
        loop {
            let mut taken = pin!(self.shared.taken());
            // From here on it sees everything that is taken, also between the offer and the wait.
            taken.as_mut().enable();
            match self.shared.offer(&document)? {
                Offer::Taken => return Ok(()),
                Offer::Full => taken.await,
            }
        }
    }

    /// As [`Sender::send`], in a thread that may wait. Not for the threads of an asynchronous
    /// runtime.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub fn blocking_send(&self, document: &Document) -> Result<(), Closed> {
        self.shared.wait_and_take(document)
    }

    /// Waits in this thread until less than [`PushOptions::memory`](super::PushOptions::memory)
    /// bytes wait to be taken, but no longer than `wait`; whether there is room.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub fn wait_for_room(&self, wait: Duration) -> Result<bool, Closed> {
        self.shared.wait_for_room(wait)
    }

    /// Hands over a document: one JSON object, or nothing for an action that has none. Never waits;
    /// ask [`Sender::wait_for_room`] before.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub fn add(&self, body: &[u8], meta: DocMeta) -> Result<(), Closed> {
        let bytes_max = self.shared.options.document_bytes_max;
        self.shared.add(body.len(), |gathered| gathered.push(body, meta, bytes_max))
    }

    /// Hands over something that is no document: a dead letter with `text` in the document's place.
    /// Never waits.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub fn reject(&self, text: &[u8], kind: &'static str, reason: String) -> Result<(), Closed> {
        self.shared.add(text.len(), |gathered| gathered.push_reject(text, kind, reason))
    }

    /// Hands over a record batch. Each row becomes a document, in the reading threads. Batches may
    /// differ in their schema. Never waits; ask [`Sender::wait_for_room`] before.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    #[cfg(feature = "columns")]
    pub fn add_rows(&self, batch: RecordBatch) -> Result<(), Closed> {
        self.shared.add_rows(batch)
    }

    /// Counts numbers that JSON has no text for and that the program left out: a warning of the
    /// report.
    pub fn left_out(&self, not_finite: u64) {
        let message = || "NaN or infinity, which JSON has no number for: it is left out, and null in a list".to_owned();
        self.shared.warnings.add(&self.shared.options.name, "not_finite", "", not_finite, message);
    }

    /// Hands on what was gathered without waiting for more.
    pub fn flush(&self) {
        self.shared.state().flush = true;
        self.shared.more.notify_one();
    }

    /// Documents and rows that were handed over so far, through all clones.
    pub fn given(&self) -> u64 {
        self.shared.state().given
    }

    /// Ends the source after what was handed over. Further calls do nothing.
    pub fn end(&self) {
        self.shared.end(Ok(()));
    }

    /// Ends the source with this error after what was handed over.
    pub fn fail(&self, message: impl Into<String>) {
        self.shared.end(Err(SourceError::new(&self.shared.options.name, message)));
    }

    /// Ends the source at once: what waits is thrown away, and nothing is taken any more.
    pub fn close(&self) {
        self.shared.close();
    }
}

//! The end of the channel for the program.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "columns")]
use arrow_array::RecordBatch;
use inrush_core::Code;
use inrush_core::DocMeta;

use super::queue::{Offer, Shared};
use super::{Closed, Document};
use crate::SourceError;

/// Sends documents to a load. Cheap to clone. Documents of one task or thread keep their order. The
/// source ends with [`Sender::end`], or when all clones are dropped.
#[derive(Clone)]
pub struct Sender {
    shared: Arc<Shared>,
    _ends: Arc<Ends>,
}

/// Ends the source when the last sender is dropped.
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

    /// Sends a document, and waits for room ([`PushOptions::memory`](super::PushOptions::memory)).
    /// If the future is dropped before it is done, the document was not sent.
    ///
    /// # Errors
    /// [`Closed`] after the end of the load. The report has the reason.
    pub async fn send(&self, document: Document) -> Result<(), Closed> {
        if let Offer::Taken = self.shared.offer(&document)? {
            return Ok(());
        }
        loop {
            let mut taken = pin!(self.shared.taken());
            // From here on the future sees every piece that is taken, also between the offer and
            // the wait.
            taken.as_mut().enable();
            match self.shared.offer(&document)? {
                Offer::Taken => return Ok(()),
                Offer::Full => taken.await,
            }
        }
    }

    /// As [`Sender::send`], for a thread that may wait. Not for the threads of an asynchronous
    /// runtime.
    ///
    /// # Errors
    /// [`Closed`] after the end of the load. The report has the reason.
    pub fn blocking_send(&self, document: &Document) -> Result<(), Closed> {
        self.shared.wait_and_take(document)
    }

    /// Waits in this thread until fewer than [`PushOptions::memory`](super::PushOptions::memory)
    /// bytes wait, for at most `wait`. Returns whether there is room.
    ///
    /// # Errors
    /// [`Closed`] after the end of the load. The report has the reason.
    pub fn wait_for_room(&self, wait: Duration) -> Result<bool, Closed> {
        self.shared.wait_for_room(wait)
    }

    /// Sends a document: one JSON object, or nothing for an action without a document. Never waits,
    /// so call [`Sender::wait_for_room`] before.
    ///
    /// # Errors
    /// [`Closed`] after the end of the load. The report has the reason.
    pub fn add(&self, body: &[u8], meta: DocMeta) -> Result<(), Closed> {
        let bytes_max = self.shared.options.document_bytes_max;
        self.shared.add(body.len(), |gathered| gathered.push(body, meta, bytes_max))
    }

    /// Sends a text that is not a document. It becomes a dead letter with `text` in place of the
    /// document. Never waits.
    ///
    /// # Errors
    /// [`Closed`] after the end of the load. The report has the reason.
    pub fn reject(&self, text: &[u8], kind: Code, reason: String) -> Result<(), Closed> {
        self.shared.add(text.len(), |gathered| gathered.push_reject(text, kind, reason))
    }

    /// Sends a record batch. Each row becomes a document in the reading threads. Batches may differ
    /// in their schema. Never waits, so call [`Sender::wait_for_room`] before.
    ///
    /// # Errors
    /// [`Closed`] after the end of the load. The report has the reason.
    #[cfg(feature = "columns")]
    pub fn add_rows(&self, batch: RecordBatch) -> Result<(), Closed> {
        self.shared.add_rows(batch)
    }

    /// Counts numbers that JSON cannot represent and that the program left out, for a warning in
    /// the report.
    pub fn left_out(&self, not_finite: u64) {
        let message = || {
            "NaN or infinity, which JSON cannot represent: the field is left out, and an element of a list is null"
                .to_owned()
        };
        self.shared.warnings.add(&self.shared.options.name, "not_finite", "", not_finite, message);
    }

    /// Makes a block of the gathered documents without waiting for more.
    pub fn flush(&self) {
        self.shared.state().flush = true;
        self.shared.more.notify_one();
    }

    /// Documents and rows that all clones have sent so far.
    pub fn given(&self) -> u64 {
        self.shared.state().given
    }

    /// Ends the source after the documents that were sent. Further calls do nothing.
    pub fn end(&self) {
        self.shared.end(Ok(()));
    }

    /// Ends the source with an error, after the documents that were sent.
    pub fn fail(&self, message: impl Into<String>) {
        self.shared.end(Err(SourceError::new(&self.shared.options.name, message).coded(Code::SourceFailed)));
    }

    /// Ends the source at once. It drops waiting documents and accepts no more.
    pub fn close(&self) {
        self.shared.close();
    }
}

//! Dead letters that a source keeps itself.

use std::fmt;
use std::io;

use inrush_core::DeadLetter;

/// A place for the dead letters of a source, besides a file: a topic.
///
/// A document counts as settled only after [`DeadLetterSink::sync`] has returned.
pub trait DeadLetterSink: fmt::Debug + Send + Sync {
    /// The name of the place, for the report and for messages.
    fn name(&self) -> &str;

    /// Takes a dead letter of this source. Must not wait.
    fn write(&self, letter: &DeadLetter);

    /// The memory of dead letters that were taken and are not kept yet, bytes. The load reads less
    /// for that.
    fn waiting_bytes(&self) -> u64;

    /// Waits until all dead letters that were taken before are kept, on a thread that may wait.
    ///
    /// # Errors
    /// One of them cannot be kept, or [`DeadLetterSink::close`] was called.
    fn sync(&self) -> io::Result<()>;

    /// Ends the work. A thread that waits in [`DeadLetterSink::sync`] gets an error. Must not wait.
    ///
    /// # Errors
    /// Dead letters that are not kept, and why. With [`io::ErrorKind::TimedOut`] none of them was
    /// refused: the end came first.
    fn close(&self) -> io::Result<()>;
}

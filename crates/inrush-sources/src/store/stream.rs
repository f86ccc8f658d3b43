//! A file on a server as a stream of bytes. After a broken connection it continues at the next
//! byte.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use inrush_cluster::{Wait, clock};
use inrush_formats::input;
use tokio::sync::Notify;

use super::object::{FetchError, Object, ended_early, pause_after};
use crate::ahead::{Gone, Next, Receiver, Sender, queue};

/// Bytes that are read at once: enough to detect the format, and all of a small file.
const HEAD_BYTES: u64 = 64 << 10;

/// Bytes that are read ahead.
const AHEAD_BYTES: usize = 8 << 20;

/// The bytes of a file, which a task reads ahead.
pub(crate) struct ObjectStream {
    incoming: Receiver<Result<Bytes, FetchError>>,
    current: Bytes,
    ended: bool,
    /// The error that ended the stream, until a read returns it.
    error: Option<FetchError>,
    /// Bytes that were received from `incoming`.
    received: u64,
    /// Bytes that were read from the stream, for the progress.
    consumed: Arc<AtomicU64>,
    /// Notified when the reader needs the rest of the file.
    more: Arc<Notify>,
}

impl Object {
    /// Begins to read the file from its beginning to its end.
    pub(crate) fn stream(self: &Arc<Self>) -> ObjectStream {
        ObjectStream::new(Arc::clone(self))
    }
}

impl ObjectStream {
    /// Begins to read.
    pub(super) fn new(object: Arc<Object>) -> Self {
        let (outgoing, incoming) = queue(AHEAD_BYTES);
        let more = Arc::new(Notify::new());
        let (network, consumed) = (Arc::clone(&object.network), Arc::default());
        network.spawn(Pump { object, at: 0, outgoing, more: Arc::clone(&more) }.run());
        ObjectStream { incoming, current: Bytes::new(), ended: false, error: None, received: 0, consumed, more }
    }

    /// Counter of the bytes that are read from the stream.
    pub(crate) fn consumed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.consumed)
    }

    /// Waits for the next bytes, for at most `timeout` where one is given. Returns false where none
    /// arrived.
    fn fill(&mut self, timeout: Option<Duration>) -> bool {
        if !self.current.is_empty() || self.ended {
            return true;
        }
        if self.received >= HEAD_BYTES {
            self.more.notify_one();
        }
        match self.incoming.next(timeout) {
            Next::Item(Ok(bytes)) => {
                self.received += bytes.len() as u64;
                self.current = bytes;
            }
            Next::Item(Err(error)) => {
                self.ended = true;
                self.error = Some(error);
            }
            Next::Silence => return false,
            Next::End => self.ended = true,
        }
        true
    }
}

impl Read for ObjectStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        self.fill(None);
        if let Some(error) = self.error.take() {
            return Err(error.into_io());
        }
        let n = self.current.len().min(buf.len());
        buf[..n].copy_from_slice(&self.current.split_to(n));
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl input::Bytes for ObjectStream {
    fn ready_within(&mut self, timeout: Duration) -> bool {
        // The next read reports an error.
        self.fill(Some(timeout))
    }
}

impl Drop for ObjectStream {
    fn drop(&mut self) {
        // Wakes a waiting task, which then ends.
        self.incoming.close();
        self.more.notify_one();
    }
}

/// Reads ahead.
struct Pump {
    object: Arc<Object>,
    at: u64,
    outgoing: Sender<Result<Bytes, FetchError>>,
    more: Arc<Notify>,
}

impl Pump {
    async fn run(mut self) {
        let mut wait = Wait::of_failures(self.object.waits);
        loop {
            let before = self.at;
            let error = match self.read().await {
                Ok(Ok(true)) | Err(Gone) => return,
                Ok(Ok(false)) => continue,
                Ok(Err(error)) => error,
            };
            let text = error.to_string();
            match pause_after(&mut wait, error, self.at > before) {
                Ok(pause) => {
                    tracing::debug!(
                        "{}: reading continues at byte {} after an error: {text}",
                        self.object.name,
                        self.at
                    );
                    clock::sleep(pause).await;
                }
                Err(error) => {
                    // The stream may be dropped.
                    let _ = self.outgoing.send(Err(error), 0).await;
                    return;
                }
            }
        }
    }

    /// Reads the beginning or the rest. Returns true at the end of the file.
    async fn read(&mut self) -> Result<Result<bool, FetchError>, Gone> {
        let size = self.object.size;
        if size.is_some_and(|size| self.at >= size) {
            return Ok(Ok(true));
        }
        let to = match size {
            Some(size) if self.object.ranges && self.at < HEAD_BYTES && size > HEAD_BYTES => Some(HEAD_BYTES),
            size => size,
        };
        if self.at == HEAD_BYTES {
            self.more.notified().await;
            if self.outgoing.is_closed() {
                return Err(Gone);
            }
        }
        let mut part = match self.object.part(self.at, to.filter(|_| self.object.ranges)).await {
            Ok(part) => part,
            Err(error) => return Ok(Err(error)),
        };
        while let Some(piece) = part.next().await {
            match piece {
                Ok(bytes) => self.pass_on(bytes, to).await?,
                Err(error) => return Ok(Err(error)),
            }
            if to.is_some_and(|to| self.at >= to) {
                return Ok(Ok(false));
            }
        }
        match to {
            Some(to) => Ok(Err(FetchError::again(ended_early(self.at, to)))),
            None => Ok(Ok(true)),
        }
    }

    /// Sends the bytes that belong to the part, and waits for room.
    async fn pass_on(&mut self, mut bytes: Bytes, to: Option<u64>) -> Result<(), Gone> {
        if let Some(to) = to {
            bytes.truncate(usize::try_from(to - self.at).unwrap_or(usize::MAX));
        }
        // Empty bytes would mean the end of the file.
        let len = bytes.len();
        if len == 0 {
            return Ok(());
        }
        self.outgoing.send(Ok(bytes), len).await?;
        self.at += len as u64;
        Ok(())
    }
}

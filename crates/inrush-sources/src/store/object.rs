//! A file that is read over the network, and reads of its parts.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use inrush_formats::InputError;

use super::stream::ObjectStream;
use crate::network::Network;

/// Retries of a request that may succeed later.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryLimits {
    /// Wait before the first retry. Each further wait is twice as long.
    pub(super) first_wait: Duration,
    /// Longest wait.
    pub(super) wait_max: Duration,
    /// Longest time without a new byte.
    pub(super) retry_for: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        RetryLimits {
            first_wait: Duration::from_millis(100),
            wait_max: Duration::from_secs(15),
            retry_for: Duration::from_secs(300),
        }
    }
}

/// A file on a server. It existed when the load began, and must not change while it is read.
#[derive(Clone)]
pub(crate) struct Object {
    /// Name for messages, without secrets.
    pub(crate) name: String,
    /// Path on the server, or key in the store.
    pub(crate) path: String,
    /// Bytes, where the server sends the size.
    pub(crate) size: Option<u64>,
    /// ETag, or else the time of the last change, as the server sends it.
    pub(crate) version: Option<String>,
    /// Whether the server sends parts of the file, with the version of each part.
    pub(crate) ranges: bool,
    pub(super) fetch: Arc<dyn Fetch>,
    pub(super) retry_limits: RetryLimits,
    pub(super) network: Arc<Network>,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.name)
    }
}

/// A server.
pub(super) trait Fetch: Send + Sync {
    /// Begins to read a file from byte `from` to `to`, or to its end.
    fn get(&self, from: u64, to: Option<u64>) -> BoxFuture<'static, Result<Part, FetchError>>;
}

/// A part of a file that begins to arrive.
pub(super) struct Part {
    /// First byte of `body`: the requested one, or 0 where the server sends no parts.
    pub(super) from: u64,
    /// Current value of [`Object::version`].
    pub(super) version: Option<String>,
    /// Current value of [`Object::size`].
    pub(super) size: Option<u64>,
    pub(super) body: BoxStream<'static, Result<Bytes, FetchError>>,
}

/// An error of reading over the network.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct FetchError {
    pub(super) message: String,
    /// A retry may succeed.
    pub(super) again: bool,
    /// The file has changed since the load began.
    pub(super) changed: bool,
}

impl FetchError {
    pub(super) fn last(message: impl Into<String>) -> Self {
        FetchError { message: message.into(), again: false, changed: false }
    }

    pub(super) fn again(message: impl Into<String>) -> Self {
        FetchError { again: true, ..FetchError::last(message) }
    }

    pub(super) fn into_io(self) -> io::Error {
        match self.changed {
            true => InputError::changed(self.message),
            false => InputError::new(self.message),
        }
        .into_io()
    }
}

impl Object {
    /// Begins to read the file from its beginning to its end.
    pub(crate) fn stream(self: &Arc<Self>) -> ObjectStream {
        ObjectStream::new(Arc::clone(self))
    }

    /// Begins to read from byte `from` to `to`, or to the end. The stream has exactly the requested
    /// bytes.
    pub(super) async fn part(
        &self,
        from: u64,
        to: Option<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, FetchError>>, FetchError> {
        if from > 0 && self.version.is_none() {
            return Err(FetchError::last(format!(
                "the connection broke at byte {from}, and the server sends neither ETag nor Last-Modified, so a change \
                 of the file could not be detected; download the file first"
            )));
        }
        let part = self.fetch.get(from, to).await?;
        let another_size = part.size.zip(self.size).is_some_and(|(now, before)| now != before);
        if part.version != self.version || another_size {
            let what =
                "it changed while it was read; load it again, without option `resume`, when no process writes to it";
            return Err(FetchError { changed: true, ..FetchError::last(what) });
        }
        if part.from == from {
            return Ok(part.body);
        }
        if part.from > from {
            return Err(FetchError::last(format!(
                "byte {from} was requested, and the server sent data from byte {} on; download the file first",
                part.from
            )));
        }
        let mut skip = from - part.from;
        Ok(part
            .body
            .map(move |piece| {
                piece.map(|mut bytes| {
                    let now = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
                    skip -= now as u64;
                    bytes.split_off(now)
                })
            })
            .boxed())
    }

    /// Reads all of `range`.
    pub(super) async fn read(&self, range: Range<u64>) -> Result<Bytes, FetchError> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut data = BytesMut::with_capacity(len);
        let mut retries = Retries::new(self.retry_limits);
        loop {
            let had = data.len();
            let error = match self.read_more(range.start + had as u64, range.end, &mut data).await {
                Ok(()) if data.len() == len => return Ok(data.freeze()),
                Ok(()) => FetchError::again(ended_early(range.start + data.len() as u64, range.end)),
                Err(error) => error,
            };
            let wait = retries.wait(error, data.len() > had)?;
            tokio::time::sleep(wait).await;
        }
    }

    async fn read_more(&self, from: u64, to: u64, data: &mut BytesMut) -> Result<(), FetchError> {
        let mut body = self.part(from, Some(to)).await?;
        let mut left = to - from;
        while let Some(piece) = body.next().await {
            let mut piece = piece?;
            piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= piece.len() as u64;
            data.extend_from_slice(&piece);
        }
        Ok(())
    }
}

pub(super) fn ended_early(at: u64, end: u64) -> String {
    format!("the reply ended at byte {at} of {end}")
}

/// The failures since the last progress, and the decision about another try.
pub(super) struct Retries {
    retry_limits: RetryLimits,
    failures: u32,
    since: Option<Instant>,
}

impl Retries {
    pub(super) fn new(retry_limits: RetryLimits) -> Self {
        Retries { retry_limits, failures: 0, since: None }
    }

    /// Wait before the next try, or the error that ends the tries. `progress` says that bytes
    /// arrived before the failure.
    pub(super) fn wait(&mut self, error: FetchError, progress: bool) -> Result<Duration, FetchError> {
        if !error.again {
            return Err(error);
        }
        if progress {
            self.failures = 0;
            self.since = None;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.retry_limits.retry_for {
            let message = format!(
                "{}; gave up after {} retries in {} s",
                error.message,
                self.failures,
                since.elapsed().as_secs()
            );
            return Err(FetchError::last(message));
        }
        let wait =
            self.retry_limits.first_wait.saturating_mul(1 << self.failures.min(16)).min(self.retry_limits.wait_max);
        self.failures += 1;
        Ok(wait)
    }
}

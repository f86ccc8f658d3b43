//! A file that is read over the network, and what it takes to read a part of it.

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

/// What is done where a request fails that may succeed later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long to wait before the first repetition; doubled each further time.
    pub(super) first_wait: Duration,
    /// The longest wait.
    pub(super) wait_max: Duration,
    /// For how long no byte may come in.
    pub(super) retry_for: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            first_wait: Duration::from_millis(100),
            wait_max: Duration::from_secs(15),
            retry_for: Duration::from_secs(300),
        }
    }
}

/// A file on a server. It was there when the load began, and has to be the same while it is read.
#[derive(Clone)]
pub(crate) struct Object {
    /// What people call it; without secrets.
    pub(crate) name: String,
    /// Its path on the server, or its key.
    pub(crate) path: String,
    /// Bytes, where the server says it.
    pub(crate) size: Option<u64>,
    /// Its ETag, or else when it was changed last, in the server's words.
    pub(crate) version: Option<String>,
    /// Whether the server gives parts of it, and says of each which version it is of.
    pub(crate) ranges: bool,
    pub(super) fetch: Arc<dyn Fetch>,
    pub(super) patience: Patience,
    pub(super) network: Arc<Network>,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.name)
    }
}

/// A server.
pub(super) trait Fetch: Send + Sync {
    /// Begins to read a file from byte `from` on, up to `to` or its end.
    fn get(&self, from: u64, to: Option<u64>) -> BoxFuture<'static, Result<Part, FetchError>>;
}

/// A part of a file that begins to come in.
pub(super) struct Part {
    /// The first byte of `body`: what was asked for, or 0 where the server gives no parts.
    pub(super) from: u64,
    /// What [`Object::version`] is now.
    pub(super) version: Option<String>,
    /// What [`Object::size`] is now.
    pub(super) size: Option<u64>,
    pub(super) body: BoxStream<'static, Result<Bytes, FetchError>>,
}

/// Why something could not be read over the network.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct FetchError {
    pub(super) message: String,
    /// It may succeed if it is tried again.
    pub(super) again: bool,
    /// The file is not what it was when the load began.
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
    /// Begins to read it from its beginning to its end.
    pub(crate) fn stream(self: &Arc<Self>) -> ObjectStream {
        ObjectStream::new(Arc::clone(self))
    }

    /// Begins to read from byte `from` on, up to `to` or the end. The bytes that come are those that were asked for.
    pub(super) async fn part(
        &self,
        from: u64,
        to: Option<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, FetchError>>, FetchError> {
        if from > 0 && self.version.is_none() {
            return Err(FetchError::last(format!(
                "the connection broke at byte {from}, and the server does not say whether the file is still the same \
                 (it sends neither ETag nor Last-Modified); download it first"
            )));
        }
        let part = self.fetch.get(from, to).await?;
        let another_size = part.size.zip(self.size).is_some_and(|(now, before)| now != before);
        if part.version != self.version || another_size {
            let what =
                "it was changed while it was read; load it again, without option `resume`, when nobody writes to it";
            return Err(FetchError { changed: true, ..FetchError::last(what) });
        }
        if part.from == from {
            return Ok(part.body);
        }
        if part.from > from {
            return Err(FetchError::last(format!(
                "byte {from} was asked for, and the server sends what begins at byte {}; download the file first",
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

    /// Reads `range`, all of it.
    pub(super) async fn read(&self, range: Range<u64>) -> Result<Bytes, FetchError> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut data = BytesMut::with_capacity(len);
        let mut trouble = Trouble::new(self.patience);
        loop {
            let had = data.len();
            let error = match self.read_more(range.start + had as u64, range.end, &mut data).await {
                Ok(()) if data.len() == len => return Ok(data.freeze()),
                Ok(()) => FetchError::again(ended_early(range.start + data.len() as u64, range.end)),
                Err(error) => error,
            };
            let wait = trouble.wait(error, data.len() > had)?;
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

/// How long it does not go on already, and whether it is worth another try.
pub(super) struct Trouble {
    patience: Patience,
    failures: u32,
    since: Option<Instant>,
}

impl Trouble {
    pub(super) fn new(patience: Patience) -> Self {
        Trouble { patience, failures: 0, since: None }
    }

    /// How long to wait before the next try, or the error that ends it. `progress`: bytes came in before it failed.
    pub(super) fn wait(&mut self, error: FetchError, progress: bool) -> Result<Duration, FetchError> {
        if !error.again {
            return Err(error);
        }
        if progress {
            self.failures = 0;
            self.since = None;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.patience.retry_for {
            let message =
                format!("{}; tried {} times, for {} s", error.message, self.failures, since.elapsed().as_secs());
            return Err(FetchError::last(message));
        }
        let wait = self.patience.first_wait.saturating_mul(1 << self.failures.min(16)).min(self.patience.wait_max);
        self.failures += 1;
        Ok(wait)
    }
}

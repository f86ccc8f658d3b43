//! A file that is read over the network, and reads of its parts.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use inrush_cluster::{Wait, clock};
use inrush_core::waits::Waits;
use inrush_formats::InputError;

use crate::network::Network;

/// Pauses of retries, and the longest time without a new byte.
pub(super) const WAITS: Waits =
    Waits::new(Duration::from_secs(300), Duration::from_millis(100), Duration::from_secs(15));

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
    pub(super) waits: Waits,
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
        let mut wait = Wait::of_failures(self.waits);
        loop {
            let had = data.len();
            let error = match self.read_more(range.start + had as u64, range.end, &mut data).await {
                Ok(()) if data.len() == len => return Ok(data.freeze()),
                Ok(()) => FetchError::again(ended_early(range.start + data.len() as u64, range.end)),
                Err(error) => error,
            };
            clock::sleep(pause_after(&mut wait, error, data.len() > had)?).await;
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

/// The pause before the next try, or the error that ends the tries. `progress` says that bytes
/// arrived before the failure.
pub(super) fn pause_after(wait: &mut Wait, error: FetchError, progress: bool) -> Result<Duration, FetchError> {
    if !error.again {
        return Err(error);
    }
    if progress {
        wait.succeeded();
    }
    wait.next(None).ok_or_else(|| {
        let (retries, seconds) = (wait.failures(), wait.elapsed().as_secs());
        FetchError::last(format!("{}; gave up after {retries} retries in {seconds} s", error.message))
    })
}

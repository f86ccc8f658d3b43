//! Objects of a store, written in pieces of which few are in memory. An object appears when all of
//! it is there.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use inrush_cluster::{BoxFuture, Wait, clock};
use inrush_sources::{Blob, BlobError, Blobs, SourceUrl, open_blobs_of};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Bytes of a piece of an object whose size is not known.
const PIECE_BYTES: usize = 16 << 20;
/// Bytes of a piece of an object that is a part of an output.
const PIECE_BYTES_OF_PART: u64 = 8 << 20;
/// The most pieces of an object that S3 takes.
const PIECES_MAX: usize = 10_000;
/// Pieces that are sent at the same time.
const AT_ONCE: usize = 3;
/// How long a request is repeated.
const RETRY_FOR: Duration = Duration::from_secs(600);
/// The same before the store has answered: its address may be wrong.
const FIRST_RETRY_FOR: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);

/// A folder of an object store. Its requests wait in threads that may wait.
#[derive(Clone)]
pub struct Bucket {
    blobs: Arc<dyn Blobs>,
    runtime: Handle,
    title: String,
    piece_bytes: usize,
    /// The time before a request is repeated.
    pause: Duration,
    /// Whether the store has answered a request.
    answered: Arc<AtomicBool>,
}

/// An upload whose object is not there yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Upload {
    pub(super) name: String,
    pub(super) id: String,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.title)
    }
}

impl Bucket {
    /// Opens the folder that an address is in. Also returns the name of the object in it, which is
    /// empty where the address ends with `/`. It needs a tokio runtime, whose threads send later.
    ///
    /// # Errors
    /// An address, an option or credentials that cannot be used.
    pub async fn open(url: &SourceUrl) -> Result<(Self, String), BlobError> {
        let (blobs, name) = open_blobs_of(url).await?;
        let title = url.to_string();
        let title = title.strip_suffix(name.as_str()).unwrap_or(&title).trim_end_matches('/').to_owned();
        let (blobs, runtime) = (blobs.into(), Handle::current());
        let answered = Arc::default();
        Ok((Bucket { blobs, runtime, title, piece_bytes: PIECE_BYTES, pause: PAUSE, answered }, name))
    }

    /// The address without its last `/`.
    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Writes an object, which appears with [`ObjectWriter::finish`].
    pub fn writer(&self, name: &str) -> ObjectWriter {
        let (bucket, name) = (self.clone(), name.to_owned());
        ObjectWriter {
            bucket,
            name,
            buffer: Vec::new(),
            upload: None,
            is_new: false,
            bytes: 0,
            sent: Vec::new(),
            flying: VecDeque::new(),
        }
    }

    /// The same for a part of about `bytes`, of whose name there is no object. Its upload has an id
    /// from the beginning.
    pub(super) fn part_writer(&self, name: &str, bytes: u64) -> io::Result<ObjectWriter> {
        // A part can be larger by a row group, and is far below the most pieces.
        let piece_bytes = PIECE_BYTES_OF_PART.max(bytes.div_ceil(PIECES_MAX as u64 / 2));
        let piece_bytes = usize::try_from(piece_bytes).unwrap_or(usize::MAX);
        let mut writer = Bucket { piece_bytes, ..self.clone() }.writer(name);
        writer.is_new = true;
        writer.begin()?;
        Ok(writer)
    }

    pub(super) fn list(&self) -> io::Result<Vec<Blob>> {
        self.ask("", |blobs| blobs.list(""))
    }

    pub(super) fn read(&self, name: &str) -> io::Result<Bytes> {
        self.ask(name, |blobs| blobs.read(name))
    }

    pub(super) fn write(&self, name: &str, contents: &Bytes) -> io::Result<()> {
        self.ask(name, |blobs| blobs.write(name, contents.clone()))
    }

    pub(super) fn delete(&self, name: &str) -> io::Result<()> {
        self.ask(name, |blobs| blobs.delete(name))
    }

    pub(super) fn abort(&self, upload: &Upload) -> io::Result<()> {
        self.ask(&upload.name, |blobs| blobs.abort(&upload.name, &upload.id))
    }

    /// Sends a request, and waits for its end.
    fn ask<'a, T>(
        &'a self,
        name: &str,
        work: impl Fn(&'a dyn Blobs) -> BoxFuture<'a, Result<T, BlobError>>,
    ) -> io::Result<T> {
        let limit = if self.answered.load(Ordering::Relaxed) { RETRY_FOR } else { FIRST_RETRY_FOR };
        let asked = self.runtime.block_on(again((name, self.pause, limit), || work(&*self.blobs)));
        if asked.as_ref().err().is_none_or(|error| !error.passes) {
            self.answered.store(true, Ordering::Relaxed);
        }
        asked.map_err(|error| self.failed(name, &error))
    }

    fn failed(&self, name: &str, error: &BlobError) -> io::Error {
        io::Error::other(format!("{}/{name}: {error}", self.title))
    }
}

/// Sends a request, and repeats it while that may help.
async fn again<'a, T>(
    (name, pause, limit): (&str, Duration, Duration),
    work: impl Fn() -> BoxFuture<'a, Result<T, BlobError>>,
) -> Result<T, BlobError> {
    let pause = |error: BlobError| async move {
        tracing::warn!("the object store does not answer, and the request is repeated: {name} {error}");
        clock::sleep(pause).await;
        Ok(())
    };
    Wait::new(limit).ask_and_pause(work, |error| error.passes, pause).await
}

/// An object that is being written. It is not there before [`ObjectWriter::finish`].
pub struct ObjectWriter {
    bucket: Bucket,
    name: String,
    /// The next piece.
    buffer: Vec<u8>,
    upload: Option<Upload>,
    /// There is no older object of this name.
    is_new: bool,
    bytes: u64,
    /// The ids of the pieces that the store has, and those that are on the way.
    sent: Vec<String>,
    flying: VecDeque<JoinHandle<Result<String, BlobError>>>,
}

impl ObjectWriter {
    pub(super) fn upload(&self) -> Option<&Upload> {
        self.upload.as_ref()
    }

    fn begin(&mut self) -> io::Result<Upload> {
        if let Some(upload) = &self.upload {
            return Ok(upload.clone());
        }
        let id = self.bucket.ask(&self.name, |blobs| blobs.begin(&self.name))?;
        Ok(self.upload.insert(Upload { name: self.name.clone(), id }).clone())
    }

    fn send(&mut self) -> io::Result<()> {
        let upload = self.begin()?;
        let number = self.sent.len() + self.flying.len();
        if number == PIECES_MAX {
            return Err(io::Error::other(format!(
                "{}/{} would have more than {PIECES_MAX} pieces of {} bytes, which object stores refuse; write several files into a folder, whose name ends with /",
                self.bucket.title, self.name, self.bucket.piece_bytes
            )));
        }
        while self.flying.len() >= AT_ONCE {
            self.wait()?;
        }
        let (blobs, pause) = (Arc::clone(&self.bucket.blobs), self.bucket.pause);
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        self.flying.push_back(self.bucket.runtime.spawn(async move {
            let Upload { name, id } = &upload;
            again((name, pause, RETRY_FOR), || blobs.put_part(name, id, number, piece.clone())).await
        }));
        Ok(())
    }

    /// Waits for the first piece that is on the way.
    fn wait(&mut self) -> io::Result<()> {
        let Some(piece) = self.flying.pop_front() else { return Ok(()) };
        let id = self.bucket.runtime.block_on(piece).map_err(io::Error::other)?;
        self.sent.push(id.map_err(|error| self.bucket.failed(&self.name, &error))?);
        Ok(())
    }

    /// Makes the object of what was written.
    ///
    /// # Errors
    /// The store refuses it, or does not answer. The caller calls [`ObjectWriter::abort`].
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(upload) = self.upload.clone() else {
            return self.bucket.write(&self.name, &std::mem::take(&mut self.buffer).into());
        };
        if !self.buffer.is_empty() || self.sent.is_empty() && self.flying.is_empty() {
            self.send()?;
        }
        while !self.flying.is_empty() {
            self.wait()?;
        }
        let blobs = &*self.bucket.blobs;
        let is_lost = AtomicBool::new(false);
        let noted = &is_lost;
        let complete = || -> BoxFuture<'_, Result<(), BlobError>> {
            let asked = blobs.complete(&upload.name, &upload.id, self.sent.clone());
            Box::pin(async move {
                let completed = asked.await;
                if completed.as_ref().is_err_and(|error| error.passes) {
                    noted.store(true, Ordering::Relaxed);
                }
                completed
            })
        };
        let completed = again((&self.name, self.bucket.pause, RETRY_FOR), complete);
        let completed = self.bucket.runtime.block_on(completed);
        // The reply may be lost, and the next request finds no upload. If every reply came, an
        // object of the same size is an older one.
        let whole = Blob { name: self.name.clone(), size: self.bytes };
        if let Err(error) = completed
            && (error.is_denied
                || !(self.is_new || is_lost.load(Ordering::Relaxed))
                || !self.bucket.list()?.contains(&whole))
        {
            return Err(self.bucket.failed(&self.name, &error));
        }
        // There is nothing to abort.
        self.upload = None;
        Ok(())
    }

    /// Deletes the pieces. The object is not there.
    ///
    /// # Errors
    /// The pieces stay in the store.
    pub fn abort(mut self) -> io::Result<()> {
        for piece in self.flying.drain(..) {
            piece.abort();
            // A piece that arrives later than the request to abort would stay.
            let _ = self.bucket.runtime.block_on(piece);
        }
        self.upload.take().map_or(Ok(()), |upload| self.bucket.abort(&upload))
    }
}

impl Write for ObjectWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = data.len().min(self.bucket.piece_bytes - self.buffer.len());
        self.buffer.extend_from_slice(&data[..taken]);
        self.bytes += taken as u64;
        if self.buffer.len() == self.bucket.piece_bytes {
            self.send()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;

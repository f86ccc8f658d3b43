//! A database as a source: tasks read rows ahead, and threads make documents of them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use inrush_cluster::Wait;
use inrush_core::block::Origin;
use inrush_core::{Code, DocBlock, SourceId};
use inrush_formats::Warnings;

use super::address::Product;
use super::{DatabaseOptions, mysql, postgres, sqlite};
use crate::ahead::{Gone, Next, Receiver, Sender, queue};
use crate::network::Network;
use crate::recorded;
use crate::repeat::{Fingerprint, Repeats};
use crate::{Chunk, Decode, IDLE_AFTER, RawChunk, Source, SourceError, SourceInfo, Step};

/// How long a database may take to accept a connection. A query may take as long as it likes.
const CONNECT_MAX: Duration = Duration::from_secs(60);

/// Bytes that are read ahead.
const AHEAD_BYTES: usize = 16 << 20;

/// Connects within [`CONNECT_MAX`].
pub(super) async fn answered<T>(connecting: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    Wait::new(CONNECT_MAX).limit("connecting", connecting).await.unwrap_or_else(|late| Err(late.to_string()))
}

/// A message of a reader.
pub(super) enum Rows {
    /// Whole lines, and their decoder.
    Lines(Bytes, Arc<dyn Decode>),
    Documents(DocBlock),
    /// The reader has ended.
    Done,
}

/// The sender of a reader's messages.
#[derive(Clone)]
pub(super) struct Outgoing(Sender<Result<Rows, String>>);

impl Outgoing {
    pub(super) async fn send(&self, rows: Rows, bytes: usize) -> Result<(), Gone> {
        self.0.send(Ok(rows), bytes).await
    }

    /// The last message of a reader: the end, or its error.
    pub(super) async fn end(&self, result: Result<(), String>) {
        // The source may be dropped.
        let _ = self.0.send(result.map(|()| Rows::Done), 0).await;
    }
}

/// Why a reader stopped early.
pub(super) enum Stopped {
    Gone,
    Failed(String),
}

impl From<Gone> for Stopped {
    fn from(_: Gone) -> Self {
        Stopped::Gone
    }
}

impl From<sqlx::Error> for Stopped {
    fn from(error: sqlx::Error) -> Self {
        Stopped::Failed(explain(&error))
    }
}

/// State of a database source before its first row.
pub(super) struct Opened {
    /// Number of readers.
    pub(super) readers: usize,
    pub(super) repeats: Repeats,
    pub(super) fingerprints: Vec<Fingerprint>,
    /// Starts the readers.
    pub(super) begin: Begin,
}

/// Starts the readers.
pub(super) type Begin = Box<dyn FnOnce(&Network, Outgoing) + Send>;

/// A database that is being read.
pub struct Database {
    name: String,
    reading: String,
    incoming: Receiver<Result<Rows, String>>,
    /// Readers that have not ended.
    readers: usize,
    ended: bool,
    repeats: Repeats,
    fingerprints: Vec<Fingerprint>,
    /// Bytes of rows so far.
    byte: u64,
    warnings: Warnings,
    _network: Arc<Network>,
}

impl Database {
    pub(super) fn open(options: &DatabaseOptions, warnings: &Warnings) -> Result<Self, SourceError> {
        let name = options.name();
        let failed = |message: String| SourceError::new(name.clone(), message).coded(Code::DatabaseFailed);
        let network = Network::new().map_err(|e| SourceError::io(name.clone(), "cannot be read", e))?;
        let (wanted, of_rows, title) = (options.clone(), warnings.clone(), name.clone());
        let opened = network.begin(async move {
            match wanted.address.product() {
                Product::Postgres => postgres::open(wanted, title, of_rows).await,
                Product::MySql => mysql::open(wanted, title, of_rows).await,
                Product::Sqlite => sqlite::open(wanted, title, of_rows).await,
            }
        });
        let opened = opened
            .recv()
            .unwrap_or_else(|_| Err("the task that opens the database panicked".to_owned()))
            .map_err(failed)?;
        let (outgoing, incoming) = queue(AHEAD_BYTES);
        (opened.begin)(&network, Outgoing(outgoing));
        Ok(Database {
            name,
            reading: recorded::of_database(&options.rows, options.split_by.as_deref()),
            incoming,
            readers: opened.readers,
            ended: false,
            repeats: opened.repeats,
            fingerprints: opened.fingerprints,
            byte: 0,
            warnings: warnings.clone(),
            _network: network,
        })
    }

    fn fail(&mut self, message: String) -> SourceError {
        self.ended = true;
        SourceError::new(self.name.clone(), message).coded(Code::DatabaseFailed).of(SourceId(0))
    }
}

impl Source for Database {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new([self.name.clone()]);
        info.repeats = self.repeats;
        info.reading.clone_from(&self.reading);
        info.warnings = Some(self.warnings.clone());
        info
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        while !self.ended && self.readers > 0 {
            let origin = Origin { first_byte: self.byte, ..Origin::default() };
            match self.incoming.next(Some(IDLE_AFTER)) {
                Next::Item(Ok(Rows::Lines(data, decoder))) => {
                    let bytes_read = data.len() as u64;
                    self.byte += bytes_read;
                    return Ok(Step::Chunk(Chunk::Raw(RawChunk { origin, data, bytes_read, decoder })));
                }
                Next::Item(Ok(Rows::Documents(block))) => {
                    self.byte += block.bytes_read;
                    return Ok(Step::Chunk(Chunk::Docs(DocBlock { origin, ..block })));
                }
                Next::Item(Ok(Rows::Done)) => self.readers -= 1,
                Next::Item(Err(message)) => return Err(self.fail(message)),
                Next::Silence => return Ok(Step::Idle),
                Next::End => return Err(self.fail("the task that reads the database panicked".to_owned())),
            }
        }
        Ok(Step::End)
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        Ok(self.fingerprints.clone())
    }
}

/// The message of a database's error, without the library's text around it.
pub(super) fn explain(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
            format!("{}{code}", error.message())
        }
        sqlx::Error::Io(error) => format!("cannot be reached: {error}"),
        error => error.to_string(),
    }
}

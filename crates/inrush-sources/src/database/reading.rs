//! A database as a source: tasks read rows ahead, threads make documents of them.

use std::sync::Arc;

use bytes::Bytes;
use inrush_core::block::Origin;
use inrush_core::{DocBlock, SourceId};
use inrush_formats::Warnings;

use super::address::Product;
use super::{DatabaseOptions, mysql, postgres, sqlite};
use crate::ahead::{Gone, Next, Receiver, Sender, queue};
use crate::network::Network;
use crate::repeat::{Fingerprint, Repeats};
use crate::{Chunk, Decode, IDLE_AFTER, RawChunk, Source, SourceError, SourceInfo, Step};

/// How much is read ahead, bytes.
const AHEAD_BYTES: usize = 16 << 20;

/// What comes of a database.
pub(super) enum Rows {
    /// Lines, whole ones, and what decodes them.
    Lines(Bytes, Arc<dyn Decode>),
    Documents(DocBlock),
    /// A reader has come to its end.
    Done,
}

/// Where readers put rows.
#[derive(Clone)]
pub(super) struct Outgoing(Sender<Result<Rows, String>>);

impl Outgoing {
    pub(super) async fn send(&self, rows: Rows, bytes: usize) -> Result<(), Gone> {
        self.0.send(Ok(rows), bytes).await
    }

    /// The last thing that a reader says: all is read, or why not.
    pub(super) async fn end(&self, result: Result<(), String>) {
        // Who has left does not want to know.
        let _ = self.0.send(result.map(|()| Rows::Done), 0).await;
    }
}

/// What ends a reader before its end.
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

/// What was found before the first row.
pub(super) struct Opened {
    /// How many readers will say that they are done.
    pub(super) readers: usize,
    pub(super) repeats: Repeats,
    pub(super) fingerprints: Vec<Fingerprint>,
    /// Begins to read.
    pub(super) begin: Begin,
}

/// Starts the readers.
pub(super) type Begin = Box<dyn FnOnce(&Network, Outgoing) + Send>;

/// A database that is being read.
pub struct Database {
    name: String,
    reading: String,
    incoming: Receiver<Result<Rows, String>>,
    /// Readers that have not come to their end.
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
        let failed = |message: String| SourceError::new(name.clone(), message);
        let network = Network::new().map_err(|e| SourceError::io(name.clone(), "cannot be read", e))?;
        let (wanted, of_rows, title) = (options.clone(), warnings.clone(), name.clone());
        let opened = network.begin(async move {
            match wanted.address.product() {
                Product::Postgres => postgres::open(wanted, title, of_rows).await,
                Product::MySql => mysql::open(wanted, title, of_rows).await,
                Product::Sqlite => sqlite::open(wanted, title, of_rows).await,
            }
        });
        let opened = opened.recv().unwrap_or_else(|_| Err("reading panicked".to_owned())).map_err(failed)?;
        let (outgoing, incoming) = queue(AHEAD_BYTES);
        (opened.begin)(&network, Outgoing(outgoing));
        Ok(Database {
            name,
            reading: format!("{:?} {:?}", options.rows, options.split_by),
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
        SourceError::new(self.name.clone(), message).of(SourceId(0))
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
                Next::End => return Err(self.fail("reading panicked".to_owned())),
            }
        }
        Ok(Step::End)
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        Ok(self.fingerprints.clone())
    }
}

/// An error of a database in its own words, without those of the library around them.
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

//! A database as a source: tasks read rows ahead, and threads make documents of them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use inrush_cluster::Wait;
use inrush_core::block::Origin;
use inrush_core::{Code, DocBlock, RowForm, SourceId};
use inrush_formats::Warnings;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::DatabaseOptions;
use super::columns::Columns;
use super::since::Marked;
use crate::ahead::{Gone, Next, Receiver, Sender, queue};
use crate::network::Network;
use crate::recorded;
use crate::repeat::{Fingerprint, Repeats};
use crate::{Chunk, Decode, IDLE_AFTER, RawChunk, SinceValue, Source, SourceError, SourceInfo, Step};

/// How long a database may take to accept a connection. A query may take as long as it likes.
const CONNECT_MAX: Duration = Duration::from_secs(60);

/// Bytes that are read ahead.
const AHEAD_BYTES: usize = 16 << 20;

/// Statements that are built here contain only names and queries of the user, who may run any
/// query.
pub(super) fn safe(statement: &str) -> SqlStr {
    AssertSqlSafe(statement).into_sql_str()
}

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

    /// The last message of a reader that may have stopped early.
    pub(super) async fn close(&self, result: Result<(), Stopped>) {
        match result {
            Ok(()) => self.end(Ok(())).await,
            Err(Stopped::Failed(problem)) => self.end(Err(problem)).await,
            Err(Stopped::Gone) => {}
        }
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
    pub(super) columns: Columns,
    /// The column of option `since`.
    pub(super) since: Option<Marked>,
    /// Starts the readers.
    pub(super) begin: Begin,
}

/// Starts the readers. They write documents with these columns, of the rows with this condition
/// where there is one.
pub(super) type Begin = Box<dyn FnOnce(&Network, Outgoing, Columns, Option<String>) + Send>;

/// A database that is being read.
pub struct Database {
    name: String,
    reading: String,
    incoming: Receiver<Result<Rows, String>>,
    /// What starts the readers, before the first chunk.
    waiting: Option<(Begin, Outgoing, Columns)>,
    since: Option<Marked>,
    /// The condition of the rows since the last load.
    condition: Option<String>,
    /// Readers that have not ended.
    readers: usize,
    ended: bool,
    repeats: Repeats,
    fingerprints: Vec<Fingerprint>,
    /// Bytes of rows so far.
    byte: u64,
    warnings: Warnings,
    network: Arc<Network>,
}

impl Database {
    /// Waits for what `opening` finds in the database.
    pub(super) fn open(
        options: &DatabaseOptions,
        warnings: &Warnings,
        opening: impl Future<Output = Result<Opened, String>> + Send + 'static,
    ) -> Result<Self, SourceError> {
        let name = options.name();
        options
            .address
            .check()
            .map_err(|problem| SourceError::new(options.address.to_string(), problem).coded(Code::OptionsConflict))?;
        let failed = |message: String| SourceError::new(name.clone(), message).coded(Code::DatabaseFailed);
        let network = Network::new().map_err(|e| SourceError::io(name.clone(), "cannot be read", e))?;
        let opened = network
            .begin(opening)
            .recv()
            .unwrap_or_else(|_| Err("the task that opens the database panicked".to_owned()))
            .map_err(failed)?;
        let (outgoing, incoming) = queue(AHEAD_BYTES);
        Ok(Database {
            name,
            reading: recorded::of_database(&options.rows, options.split_by.as_deref()),
            incoming,
            waiting: Some((opened.begin, Outgoing(outgoing), opened.columns)),
            since: opened.since,
            condition: None,
            readers: opened.readers,
            ended: false,
            repeats: opened.repeats,
            fingerprints: opened.fingerprints,
            byte: 0,
            warnings: warnings.clone(),
            network,
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
        info.since = self.since.as_ref().map(|marked| marked.since.clone());
        info.reading.clone_from(&self.reading);
        info.warnings = Some(self.warnings.clone());
        info
    }

    fn keep_texts(&mut self, fields: &[String]) {
        if let Some((.., columns)) = &mut self.waiting {
            columns.keep_texts(fields);
        }
    }

    fn form_rows(&mut self, form: &RowForm) {
        if let Some((.., columns)) = &mut self.waiting {
            columns.form_rows(form);
        }
    }

    fn read_since(&mut self, value: &SinceValue) -> Result<(), SourceError> {
        let Some(marked) = &self.since else { return Ok(()) };
        let failed = |problem| SourceError::new(self.name.clone(), problem).coded(Code::OptionsConflict);
        self.condition = Some(marked.condition(value).map_err(failed)?);
        Ok(())
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        if let Some((begin, outgoing, columns)) = self.waiting.take() {
            begin(&self.network, outgoing, columns, self.condition.take());
        }
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
        // Servers with OpenSSL 1.0.2, such as MySQL 8.0.15, offer DHE only.
        sqlx::Error::Io(error) if error.to_string().contains("HandshakeFailure") => format!(
            "the server refuses this connection's versions and ciphers of TLS ({error}); TLS 1.3 or ECDHE is expected; update \
             the server, or give `ssl-mode=DISABLED` (Postgres: `sslmode=disable`) in the address to go without TLS"
        ),
        sqlx::Error::Io(error) => format!("cannot be reached: {error}"),
        // The library names a feature of its own.
        sqlx::Error::Configuration(error) if error.to_string().contains("mysql-rsa") => {
            "the server takes the password of this user over TLS only (caching_sha2_password or sha256_password), and the \
             connection has none; leave `ssl-mode=DISABLED` out of the address, or turn TLS on at the server"
                .to_owned()
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_tls_say_what_to_change() {
        let refused = std::io::Error::other("received fatal alert: HandshakeFailure");
        let no_rsa = "RSA auth backend disabled; enable feature `mysql-rsa` or use TLS.";
        for (error, expected) in [
            (sqlx::Error::Io(refused), ["ECDHE", "`ssl-mode=DISABLED`"]),
            (sqlx::Error::Configuration(no_rsa.into()), ["over TLS only", "leave `ssl-mode=DISABLED` out"]),
            (sqlx::Error::Io(std::io::Error::other("refused")), ["cannot be reached", "refused"]),
        ] {
            let text = explain(&error);
            assert!(expected.iter().all(|part| text.contains(part)), "{text}");
        }
    }
}

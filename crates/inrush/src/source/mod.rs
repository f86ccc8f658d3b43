//! Where documents come from.
//!
//! Reading is split in two, so that two cores are enough for a gigabyte a second: a [`Source`] is read in order
//! by one worker at a time and only cuts its bytes at places where a record ends; what costs time (parsing CSV,
//! finding line ends, building JSON) happens in [`Chunk::into_block`], in all workers side by side.
//!
//! [`open()`] makes a source of files and stdin; [`push::channel`] and [`feed::feed`] make sources that a program feeds.

mod ahead;
mod begun;
mod binary;
mod buffer;
mod bulk;
mod charset;
#[cfg(feature = "columns")]
mod columns;
mod compression;
mod csv;
mod cut;
mod cut_file;
mod database;
mod dead_letters;
pub mod feed;
mod format;
#[cfg(any(feature = "columns", feature = "excel"))]
mod guard;
mod hits;
pub mod index;
mod input;
mod json_head;
mod json_scan;
mod json_string;
mod json_values;
mod lines;
mod network;
mod one_line;
mod open;
mod parse;
mod parted;
mod partitions;
mod paths;
pub mod push;
mod raw;
mod repeat;
mod sampled;
#[cfg(feature = "excel")]
mod sheet;
mod smile;
mod steady;
mod store;
mod validate;
mod warnings;
mod with_fields;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use inrush_core::block::Origin;
use inrush_core::ledger::Partition;
use inrush_core::{DocBlock, SourceId};

pub(crate) use begun::Begun;
pub(crate) use buffer::BufferPool;
pub use charset::Charset;
#[cfg(feature = "columns")]
pub use columns::Rows;
#[cfg(feature = "sql")]
pub(crate) use columns::{Pieces, RowWriter, json};
pub use csv::{ColumnType, CsvOptions, Header};
#[cfg(not(feature = "databases"))]
pub use database::without_databases;
#[cfg(feature = "databases")]
pub use database::{Database, open_database};
pub use database::{DatabaseAddress, DatabaseOptions, DatabaseRows};
#[cfg(feature = "sql")]
pub(crate) use format::is_delimited;
pub use format::{Format, FormatOptions, SheetOptions, Timestamps};
pub use json_scan::RecordsPath;
pub use json_string::push_escaped;
pub use open::{Files, SourceSpec, open};
pub use parse::{FixedColumn, LogFormat, Parse};
pub(crate) use parted::{Parted, Parting};
pub use paths::shown as shown_path;
pub use repeat::{Fingerprint, Repeats};
pub(crate) use sampled::Sampled;
pub use store::{SourceUrl, StoreOptions};
pub use warnings::{Warning, Warnings};

/// Bytes of a source that begin where a record begins and end where one ends.
pub struct RawChunk {
    /// Source, partition and first byte; document and line are filled in later ([`Origin`]).
    pub origin: Origin,
    /// The bytes, decompressed and in UTF-8 as far as the source is text.
    pub data: Bytes,
    /// Bytes that were read from the file for it, before decompression.
    pub bytes_read: u64,
    /// What turns it into documents.
    pub decoder: Arc<dyn Decode>,
}

/// The next piece of a source.
pub enum Chunk {
    /// Bytes to be decoded.
    Raw(RawChunk),
    /// Rows of columns.
    #[cfg(feature = "columns")]
    Rows(Rows),
    /// Work that makes documents, for sources that are neither bytes nor columns: rows of a sheet, say.
    Deferred(Box<dyn FnOnce() -> DocBlock + Send>),
    /// Documents as they are. The block may be without documents: then it only counts bytes and lines.
    Docs(DocBlock),
}

impl Chunk {
    /// Does the work, in the calling thread.
    pub fn into_block(self) -> DocBlock {
        match self {
            Chunk::Raw(raw) => {
                let decoder = Arc::clone(&raw.decoder);
                decoder.decode(raw)
            }
            #[cfg(feature = "columns")]
            Chunk::Rows(rows) => rows.into_block(),
            Chunk::Deferred(work) => work(),
            Chunk::Docs(block) => block,
        }
    }
}

/// Something that is read from its beginning to its end, by one thread at a time.
pub trait Source: Send {
    /// The next piece, of about `bytes` or of one record if that is larger; `None` at the end. May block. After an
    /// error the source is at its end.
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError>;

    /// What people call each source of the job, indexed by [`SourceId`]: a path, `-`, a URL.
    fn names(&self) -> Vec<String>;

    /// Bytes to be read in all (before decompression), where that is known.
    fn bytes_total(&self) -> Option<u64>;

    /// What reading it once more would give. Default: [`Repeats::Unordered`], so that there are neither checkpoints nor ids from
    /// positions.
    fn repeats(&self) -> Repeats {
        Repeats::Unordered
    }

    /// What tells whether the sources are still the same, one for each of [`Source::names`]; only for [`Repeats::Always`].
    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        Ok(Vec::new())
    }

    /// All options on which the documents and their order depend, in any form that tells one from another.
    fn reading(&self) -> String {
        String::new()
    }

    /// Rows behind the documents, where there are such.
    fn rows_read(&self) -> Option<RowsRead> {
        None
    }

    /// Whether all documents bring ids of their own.
    fn has_ids(&self) -> bool {
        false
    }

    /// Whether they bring versions, too, to be written as external ones.
    fn has_versions(&self) -> bool {
        false
    }

    /// Whether it numbers its documents itself ([`Origin::own_numbers`]), and can begin in the middle.
    fn has_own_numbers(&self) -> bool {
        false
    }

    /// Fields that ids and the like are made of: the text that the source has for them stands in [`inrush_core::DocMeta::texts`] from then
    /// on, where the document may write another. Called before the first chunk. Default: nothing, documents write what is there.
    fn keep_texts(&mut self, _fields: &[String]) {}

    /// Goes on where an earlier run was: by part of the sources, the number below which all is settled. Called before the first chunk,
    /// and only of use where the source numbers its documents itself; others are read from their beginnings. Default: nothing.
    fn go_on(&mut self, _settled: &BTreeMap<Partition, u64>) {}

    /// Whether a program hands the documents over while the load runs, so that none can be read
    /// before it begins. Default: no.
    fn is_fed(&self) -> bool {
        false
    }

    /// Looks at the beginnings of all parts that can be read again, so that one that cannot be read
    /// is known before anything is deleted for the load. Default: nothing is looked at.
    ///
    /// # Errors
    /// The first part that cannot be read, and why.
    fn check_all(&self) -> Result<(), SourceError> {
        Ok(())
    }

    /// What a person should know at the end although nothing failed.
    fn warnings(&self) -> Option<Warnings> {
        None
    }
}

/// How many rows a source has read, where they are not its documents: those of the tables of a query.
#[derive(Clone, Debug)]
pub struct RowsRead {
    /// So far; it goes on.
    pub read: Arc<AtomicU64>,
    /// In all, where that is known.
    pub total: Option<u64>,
}

/// Turns chunks into documents; runs in several threads at once.
pub trait Decode: Send + Sync {
    /// Never fails as a whole: a record that cannot be read becomes a reject of the block.
    fn decode(&self, chunk: RawChunk) -> DocBlock;

    /// Bytes of the source that are no chunk were passed over, with so many lines: a record that is too large. Default: nothing.
    fn passed(&self, _bytes: Range<u64>, _lines: u64) {}

    /// Fields that documents may have even if none of them does: columns whose cells are all empty. Default: not known.
    fn columns(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why a source cannot be read any further. What was read before is valid.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {message}")]
pub struct SourceError {
    /// Which source of the job, where it is known.
    pub source_id: Option<SourceId>,
    /// The path, `-` or URL.
    pub name: String,
    /// What was found, where, and what to do.
    pub message: String,
    /// The cause. Its text is part of `message` already, so it is not the error's `source()`, which would show it twice.
    pub cause: Option<std::io::Error>,
}

impl SourceError {
    /// An error that has no deeper cause.
    pub(crate) fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        SourceError { source_id: None, name: name.into(), message: message.into(), cause: None }
    }

    /// An error of the system.
    pub(crate) fn io(name: impl Into<String>, what: &str, cause: std::io::Error) -> Self {
        SourceError { source_id: None, name: name.into(), message: format!("{what}: {cause}"), cause: Some(cause) }
    }

    /// Whether the source is not what it was when the load began, so that nothing can go on with it.
    pub(crate) fn is_change(&self) -> bool {
        let change = |cause| steady::Changed::is_cause_of(cause) || store::FetchError::is_change(cause);
        self.cause.as_ref().is_some_and(change)
    }

    pub(crate) fn of(mut self, source_id: SourceId) -> Self {
        self.source_id = Some(source_id);
        self
    }
}

/// The beginning of a text for a message, of at most 100 bytes.
pub(crate) fn beginning(text: &[u8]) -> String {
    const BYTES_MAX: usize = 100;
    let shown = String::from_utf8_lossy(&text[..text.len().min(BYTES_MAX)]);
    if text.len() > BYTES_MAX { format!("{}…", shown.trim_end_matches('\u{FFFD}')) } else { shown.into_owned() }
}

/// How much of a record that is too large is kept as text, bytes.
pub(crate) const TOO_LARGE_KEPT: usize = 1024;

/// The reject of a record that is larger than the limit.
pub(crate) fn too_large(record: u32, bytes: u64, bytes_max: usize) -> inrush_core::Reject {
    inrush_core::Reject {
        record,
        kind: "too_large",
        reason: format!(
            "record has {bytes} bytes, expected at most {bytes_max}; raise the largest size of a document or split it \
             (only its first {TOO_LARGE_KEPT} bytes are kept here)"
        ),
    }
}

/// The beginning of a record that is too large, without a character that is cut in two.
pub(crate) fn too_large_head(record: &[u8]) -> &[u8] {
    let mut end = record.len().min(TOO_LARGE_KEPT);
    if end < record.len() {
        // A UTF-8 character has at most three continuation bytes.
        for _ in 0..3 {
            if record[end] & 0xC0 == 0x80 {
                end -= 1;
            }
        }
    }
    &record[..end]
}

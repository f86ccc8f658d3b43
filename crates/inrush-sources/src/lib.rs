//! Sources of documents: files and stdin, files on web servers and in object stores, databases,
//! indices of a cluster, and documents that a program sends.
//!
//! [`open()`] makes a [`Source`] of files and stdin. [`push::channel`] makes one that a program
//! feeds. A [`SourceKind`] finds its arguments and opens them. This crate knows no bulk requests.

mod ahead;
mod archives;
mod begun;
#[cfg(feature = "columns")]
mod beside;
mod database;
mod dead_letters;
pub mod fetch;
mod files;
pub mod index;
mod lag;
mod lake;
mod limited;
mod lookup;
mod network;
mod parted;
pub mod path_json;
pub mod push;
#[cfg(feature = "databases")]
mod recorded;
mod registry;
mod repeat;
mod since;
mod source;
mod store;

pub use begun::Begun;
#[cfg(feature = "columns")]
pub use beside::Beside;
#[cfg(not(feature = "databases"))]
pub use database::without_databases;
#[cfg(feature = "databases")]
pub use database::{Database, open_database};
pub use database::{DatabaseAddress, DatabaseKind, DatabaseOptions, DatabaseRows, SinceColumn};
pub use dead_letters::DeadLetterSink;
pub use files::{FileOptions, Files, FilesKind, SourceSpec, open, shown_path};
pub use inrush_core::block::{Origin, Record};
pub use inrush_core::ledger::Partition;
pub use inrush_core::{DocBlock, DocMeta, Reject, SourceId};
pub use inrush_formats::charset::Charset;
pub use inrush_formats::chosen::{Chosen, NamePattern};
#[cfg(feature = "columns")]
pub use inrush_formats::columns::Rows;
pub use inrush_formats::csv::{ColumnType, CsvOptions, Header};
pub use inrush_formats::format::{Binary, Format, FormatOptions, SheetOptions, Timestamps};
pub use inrush_formats::json_scan::RecordsPath;
pub use inrush_formats::json_string::push_escaped;
pub use inrush_formats::parse::{FixedColumn, LogFormat, Parse};
pub use inrush_formats::uses::{Formats, Given};
pub use inrush_formats::{Chunk, Decode, RawChunk, SourceError, VectorFormat, Warning, Warnings};
use inrush_formats::{too_large, too_large_head};
pub use lag::{Lag, PartitionLag};
pub use limited::Limited;
pub use lookup::{FetchFrom, FetchOptions, open_fetch};
pub use parted::Parting;
pub use registry::{OpenError, Opened, Opening, Reopen, Request, SourceKind};
pub use repeat::{Fingerprint, Repeats};
pub use since::{Since, SinceValue};
pub use source::{Feedback, IDLE_AFTER, IDLE_MIN, RowsRead, Source, SourceInfo, Step, TopicPartition, Topics};
pub use store::{Blob, BlobError, Blobs, SourceUrl, Store, StoreOptions, open_blobs, open_blobs_of};

/// Bytes of one read. A chunk fits into the second-level cache, and is large enough that work for
/// each chunk costs nothing.
pub const CHUNK_BYTES: usize = 512 << 10;

//! From bytes to documents: recognises the format of a file, cuts it at record boundaries, and
//! makes JSON documents of its records.
//!
//! Reading has two parts, so that two cores are enough for a gigabyte a second. One worker at a
//! time reads a file in order, and only cuts its bytes at record boundaries. Parsing CSV, finding
//! line ends and building JSON happen in [`Chunk::into_block`], in all workers in parallel.
//!
//! Nothing here waits for a network, and nothing knows bulk requests.

mod binary;
pub mod buffer;
mod bulk;
#[cfg(any(feature = "columns", feature = "excel"))]
mod catch_panic;
pub mod charset;
pub mod chosen;
mod chunk;
#[cfg(feature = "columns")]
pub mod columns;
mod compression;
pub mod csv;
mod cut;
mod cut_file;
pub mod dead_letters;
mod error;
pub mod extended_json;
mod foreign;
pub mod format;
pub mod hits;
pub mod input;
mod json_head;
pub mod json_scan;
pub mod json_string;
mod json_values;
mod known;
pub mod lines;
mod not_finite;
pub mod numbers;
pub mod one_line;
#[cfg(feature = "columns")]
mod open_columns;
pub mod parse;
pub mod raw;
pub mod reading;
pub mod recorded;
#[cfg(feature = "excel")]
mod sheet;
mod smile;
mod state;
pub mod time;
pub mod uses;
pub mod validate;
mod vector_format;
mod warnings;
mod with_fields;

pub use bulk::bulk_item;
pub use chunk::{Chunk, Decode, RawChunk, TOO_LARGE_KEPT, beginning, too_large, too_large_head};
pub use cut_file::ReadFile;
pub use error::{InputError, SourceError};
#[cfg(feature = "parquet")]
pub use open_columns::ParquetOpen;
pub use vector_format::VectorFormat;
pub use warnings::{FRACTIONS, OF_TABLES, Warning, Warnings, fractions_of};
pub use with_fields::add_members;

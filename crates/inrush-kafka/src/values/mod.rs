//! What record values are, and the documents that they become.
//!
//! ```text
//! value ── form: JSON, text, Avro, Protobuf ── envelope ── metadata as fields ── document
//! key ──── form ───────────────────────────── envelope ──────────────────────── id
//! ```

#[cfg(feature = "avro")]
mod avro;
#[cfg(feature = "client")]
mod fields;
#[cfg(feature = "client")]
mod framing;
#[cfg(feature = "client")]
mod headers;
#[cfg(feature = "client")]
mod key;
#[cfg(feature = "client")]
mod more;
mod options;
#[cfg(feature = "protobuf")]
mod protobuf;
#[cfg(feature = "client")]
mod registry;
#[cfg(feature = "client")]
mod shape;
#[cfg(feature = "client")]
mod unwrap;
mod with;

#[cfg(feature = "client")]
pub(crate) use framing::SchemaKey;
#[cfg(feature = "client")]
pub(crate) use key::text as key_text;
#[cfg(feature = "client")]
pub(crate) use more::{More, Needs};
pub use options::{SchemaIds, SchemaRegistry, Unwrap, Values};
#[cfg(feature = "client")]
pub(crate) use shape::{BLOCK_BYTES_MAX, Kept, Made, Problem, Shape};
pub use with::{Metadata, With};

#[cfg(feature = "client")]
#[cfg(test)]
mod tests;

//! What record values are, and the documents that they become.
//!
//! ```text
//! value ── form: JSON, text, Avro, Protobuf ── envelope ── metadata as fields ── document
//! key ──── form ───────────────────────────── envelope ──────────────────────── id
//!               └──── logical types ─────────────┘
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
mod hints;
#[cfg(feature = "client")]
mod key;
#[cfg(feature = "client")]
mod logical;
#[cfg(feature = "client")]
mod mongo;
#[cfg(feature = "client")]
mod more;
mod options;
#[cfg(feature = "client")]
mod plan;
#[cfg(feature = "protobuf")]
mod protobuf;
#[cfg(feature = "client")]
mod registry;
#[cfg(feature = "client")]
mod shape;
#[cfg(feature = "client")]
mod unavailable;
#[cfg(feature = "client")]
mod unwrap;
mod with;

#[cfg(feature = "client")]
pub(crate) use framing::SchemaKey;
#[cfg(feature = "client")]
pub(crate) use hints::Hints;
#[cfg(feature = "client")]
pub(crate) use key::text as key_text;
#[cfg(feature = "client")]
pub(crate) use more::{More, Needs};
pub use options::{SchemaIds, SchemaRegistry, Unwrap, Values};
#[cfg(feature = "client")]
pub(crate) use shape::{BLOCK_BYTES_MAX, Kept, Made, Problem, Shape, without_registry};
pub use with::{Metadata, With};

#[cfg(feature = "client")]
#[cfg(test)]
mod tests;
